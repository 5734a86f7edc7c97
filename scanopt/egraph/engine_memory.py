"""How much memory this process uses, and how much is left.

The engine's process imports this file by its path, so it must not import other modules of the project.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

__all__ = ["addresses_left", "available", "bound_memory", "soft_limit", "used"]

_MOST = 1 << 62
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def used() -> tuple[int, int]:
    """Resident bytes and bytes of address space of this process; 0 if the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:
        pages, resident = file.read().split()[:2]
        return int(resident) * _PAGE, int(pages) * _PAGE
    return 0, 0


def soft_limit() -> int:
    """The limit of address space of this process, in bytes."""
    with contextlib.suppress(ImportError, OSError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        return _MOST if soft == resource.RLIM_INFINITY else soft
    return _MOST


def addresses_left() -> int:
    """Bytes of address space that this process may still take."""
    return soft_limit() - used()[1]


def bound_memory(limit: int) -> None:
    """Limit this process to the free memory: if that is too little, this process ends and no other.

    limit: bytes of address space that it may use at most, however much is free.
    """
    free, addresses = available(), used()[1]
    if not addresses or free >= _MOST:
        return
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (min(limit, addresses + free), hard))


def available() -> int:
    """Free bytes on the machine and in the control groups (containers) of this process."""
    machine = numbers("/proc/meminfo")
    free = [1024 * (machine["MemAvailable"] + machine.get("SwapFree", 0))] if "MemAvailable" in machine else []
    with contextlib.suppress(OSError), open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file.read().splitlines():
            _, kinds, path = line.split(":", 2)
            if not kinds:
                free += groups(f"/sys/fs/cgroup{path}", "memory.max", "memory.current", "inactive_file")
            elif "memory" in kinds.split(","):
                names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
                free += groups(f"/sys/fs/cgroup/memory{path}", *names)
    return max(0, min(free, default=_MOST))


def groups(path: str, limit: str, usage: str, cached: str) -> Iterator[int]:
    """Free bytes in a control group and in its parents."""
    while path.startswith("/sys/fs/cgroup"):
        most, now = (numbers(f"{path}/{name}").get("") for name in (limit, usage))
        if most is not None and now is not None:
            yield most - now + numbers(f"{path}/memory.stat").get(cached, 0)
        path = os.path.dirname(path.rstrip("/"))


def numbers(path: str) -> dict[str, int]:
    """The numbers in a system file by name; a number without a name is under ""."""
    out: dict[str, int] = {}
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        for line in file:
            words = line.replace(":", " ").split()
            if words and words[-1] == "kB":
                words.pop()
            if words and words[-1].isdecimal():
                out[" ".join(words[:-1])] = int(words[-1])
    return out
