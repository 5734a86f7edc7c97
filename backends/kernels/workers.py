"""The threads that run parts of a kernel besides the calling thread: a small pool for each process.

They are started at first use, sleep when idle, and do not keep a program from ending.  A forked process starts its own.
If they are busy with another call, a call runs only on its own thread, so there are never more active threads than
callers and workers.  Idle threads take the next part, so a thread that the system does not schedule delays no other.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from queue import SimpleQueue

from scanopt.forks import lock
from scanopt.records import dataclass

__all__ = ["Threads", "cores", "run_together"]

Call = Callable[[], int]
_BUSY = lock()


@dataclass
class _Workers:
    """The workers of the process `owner`: their number and their queue."""

    owner: int
    count: int = 0
    asked: SimpleQueue[_Parts] = field(default_factory=SimpleQueue)

    def grow(self, count: int) -> None:
        """Start workers until there are this many.  Raises RuntimeError if the system allows no more."""
        while self.count < count:
            threading.Thread(target=self._work, name=f"scanopt-{self.count}", daemon=True).start()
            self.count += 1

    def _work(self) -> None:
        while True:
            parts = self.asked.get()
            for status in parts.taken():
                parts.done.put(status)


class _Parts:
    """The remaining parts of one call, and the results of those that workers ran."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.left = deque(calls)
        self.done: SimpleQueue[int] = SimpleQueue()

    def taken(self) -> Iterator[int]:
        """Run parts until none is left; yield the status of each, -1 if it raised."""
        while True:
            try:
                call = self.left.popleft()
            except IndexError:
                return
            try:
                yield call()
            except Exception:
                yield -1


_workers = _Workers(-1)


def cores() -> int:
    """The number of processors that this process may use."""
    known = getattr(os, "sched_getaffinity", None)
    return len(known(0)) if known else os.cpu_count() or 1


@dataclass(frozen=True)
class Threads:
    """The threads on which a kernel may run.  most: their number, or None for as many as there are processors.

    wait: whether calls wait until the kernel of parts is compiled; else they run on one thread until then.
    """

    most: int | None = None
    wait: bool = False

    def limit(self) -> int:
        """The maximal number of threads."""
        return cores() if self.most is None else self.most


def run_together(calls: Sequence[Call], threads: int) -> list[int] | None:
    """Run some calls, in any order, on this thread and workers, this many threads in all; return their results.

    None if the workers are busy or cannot be started.  After an interrupt calls may go on for a while: they must keep
    alive what they write to.
    """
    global _workers
    if not _BUSY.acquire(blocking=False):
        return None
    try:
        if _workers.owner != os.getpid():
            _workers = _Workers(os.getpid())
        try:
            _workers.grow(threads - 1)
        except RuntimeError:
            return None
        parts = _Parts(calls)
        for _ in range(threads - 1):
            _workers.asked.put(parts)
        found = [*parts.taken()]
        while len(found) < len(calls):
            found.append(parts.done.get())
        return found
    finally:
        _BUSY.release()
