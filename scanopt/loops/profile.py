"""Where the time of loops goes: calls, steps, time in the steps and around them, per titled loop."""

from __future__ import annotations

import atexit
import sys
from dataclasses import dataclass, field
from threading import RLock

from scanopt import forks
from scanopt.array.shown import shown

__all__ = ["ScanProfile", "profile_summary", "reset_profiles", "scan_profile"]


@dataclass(eq=False)
class ScanProfile:
    """What the runs of the loops with one title took.  Safe to share between threads.

    in_step: seconds inside the steps.  total: seconds of the whole loops.

    >>> p = ScanProfile("rnn")
    >>> p.record(steps=10, in_step=0.75, total=1.0)
    >>> p.calls, p.steps, p.overhead
    (1, 10, 0.25)
    """

    title: str
    calls: int = 0
    steps: int = 0
    in_step: float = 0.0
    total: float = 0.0
    _lock: RLock = field(default_factory=forks.lock, repr=False)

    def record(self, *, calls: int = 1, steps: int = 0, in_step: float = 0.0, total: float = 0.0) -> None:
        """Add runs of the loop."""
        with self._lock:
            self.calls += calls
            self.steps += steps
            self.in_step += in_step
            self.total += total
        _Registry.unread = True

    @property
    def overhead(self) -> float:
        """Seconds of the loops that no step accounts for."""
        return max(self.total - self.in_step, 0.0)

    def row(self) -> list[str]:
        """Title, calls, steps, and seconds in all, in the steps, around them, per step."""
        with self._lock:
            per_step = f"{self.total / self.steps * 1e6:.2f} us" if self.steps else ""
            if self.calls and not self.total:  # as no clock was read
                per_step = "no loop left"
            times = [f"{t:.6f} s" for t in (self.total, self.in_step, self.overhead)]
            return [self.title, str(self.calls), str(self.steps), *times, per_step]


class _Registry:
    """The collectors by title, and whether they hold what no summary has shown yet."""

    lock = forks.lock()
    profiles: dict[str, ScanProfile] = {}  # noqa: RUF012  one for the process
    unread = False


def scan_profile(title: str) -> ScanProfile:
    """The collector of this title, made on first use; what it holds at exit is printed then.

    >>> scan_profile("a loop") is scan_profile("a loop")
    True
    >>> reset_profiles()
    """
    title = shown(title)
    with _Registry.lock:
        if not _Registry.profiles:
            atexit.unregister(_print_at_exit)
            atexit.register(_print_at_exit)
        return _Registry.profiles.setdefault(title, ScanProfile(title))


def profile_summary() -> str:
    """A table of all profiled loops, those that took longest first; "" when none ran.

    >>> scan_profile("rnn").record(calls=2, steps=20, in_step=0.5, total=1.0)
    >>> print(profile_summary())
    scan  calls  steps       total     in step    overhead      per step
    rnn       2     20  1.000000 s  0.500000 s  0.500000 s  50000.00 us
    >>> reset_profiles()

    Source: the documents' `profile` argument of scan.
    """
    with _Registry.lock:
        ran = sorted((p for p in _Registry.profiles.values() if p.calls), key=lambda p: -p.total)
        _Registry.unread = False
    if not ran:
        return ""
    head = ["scan", "calls", "steps", "total", "in step", "overhead", "per step"]
    table = [head, *(p.row() for p in ran)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    return "\n".join(_line(row, widths) for row in table)


def _line(row: list[str], widths: list[int]) -> str:
    cells = [
        f"{cell:>{width}}" if i else f"{cell:{width}}" for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def reset_profiles() -> None:
    """Forget all that was collected."""
    with _Registry.lock:
        _Registry.profiles.clear()
        _Registry.unread = False


def _print_at_exit() -> None:
    if _Registry.unread:
        print(profile_summary(), file=sys.stderr)
