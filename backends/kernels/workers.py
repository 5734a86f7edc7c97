"""The threads on which parts of a kernel run beside the thread that called it: a few for each process.

They are made when they are first needed, sleep when there is nothing to do, and never hold a program open.  A forked
process makes its own.  Where they are busy with another call, a call runs on its own thread alone, so that there are
never more threads at work than callers and workers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
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
    todo: SimpleQueue[tuple[Call, SimpleQueue[int]]] = field(default_factory=SimpleQueue)

    def grow(self, count: int) -> None:
        """Have so many at least.  Raises RuntimeError where the system gives no more."""
        while self.count < count:
            threading.Thread(target=self._work, name=f"scanopt-{self.count}", daemon=True).start()
            self.count += 1

    def _work(self) -> None:
        while True:
            call, done = self.todo.get()
            done.put(_status(call))


_workers = _Workers(-1)


def _status(call: Call) -> int:
    """What a call gives; a negative status where it raises."""
    try:
        return call()
    except Exception:
        return -1


def cores() -> int:
    """How many processors this process may use."""
    known = getattr(os, "sched_getaffinity", None)
    return len(known(0)) if known else os.cpu_count() or 1


def run_together(calls: Sequence[Call]) -> list[int] | None:
    """What some calls give, the first of them run by this thread and each other one by a worker.

    None where the workers are busy, or cannot be had.  Calls that were interrupted go on by themselves: they must hold
    what they write to.
    """
    global _workers
    if not _BUSY.acquire(blocking=False):
        return None
    try:
        if _workers.owner != os.getpid():
            _workers = _Workers(os.getpid())
        try:
            _workers.grow(len(calls) - 1)
        except RuntimeError:
            return None
        done: SimpleQueue[int] = SimpleQueue()
        for call in calls[1:]:
            _workers.todo.put((call, done))
        first = _status(calls[0])
        return [first, *(done.get() for _ in calls[1:])]
    finally:
        _BUSY.release()
