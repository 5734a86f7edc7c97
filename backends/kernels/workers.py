"""The threads on which parts of a kernel run beside the thread that called it: a few for each process.

They are made when they are first needed, sleep when there is nothing to do, and never hold a program open.  A forked
process makes its own.  Where they are busy with another call, a call runs on its own thread alone, so that there are
never more threads at work than callers and workers.  Whoever is free takes the next part: a thread that the system does
not run delays nobody.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue

from scanopt.forks import lock

__all__ = ["cores", "run_together"]

Call = Callable[[], int]
_BUSY = lock()


@dataclass
class _Workers:
    """The workers of the process `owner`: how many there are, and what they are to do."""

    owner: int
    count: int = 0
    asked: SimpleQueue[_Parts] = field(default_factory=SimpleQueue)

    def grow(self, count: int) -> None:
        """Have so many at least.  Raises RuntimeError where the system gives no more."""
        while self.count < count:
            threading.Thread(target=self._work, name=f"scanopt-{self.count}", daemon=True).start()
            self.count += 1

    def _work(self) -> None:
        while True:
            parts = self.asked.get()
            for status in parts.taken():
                parts.done.put(status)


class _Parts:
    """The parts of one call that are left to do, and what those gave that workers did."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.left = deque(calls)
        self.done: SimpleQueue[int] = SimpleQueue()

    def taken(self) -> Iterator[int]:
        """Do parts until none is left, and give what each gave; a negative status where it raised."""
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
    """How many processors this process may use."""
    known = getattr(os, "sched_getaffinity", None)
    return len(known(0)) if known else os.cpu_count() or 1


def run_together(calls: Sequence[Call], threads: int) -> list[int] | None:
    """What some calls give, in any order, run by this thread and by workers, so many threads in all.

    None where the workers are busy, or cannot be had.  After an interrupt calls may go on by themselves for a while:
    they must hold what they write to.
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
