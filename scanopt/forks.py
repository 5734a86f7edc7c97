"""Keep a process usable that was forked from one with several threads: only the forking thread exists in it.

A lock held by another thread would stay locked for ever, and a module that another thread was importing would stay
half imported.  So locks made by `lock` are free in the child, and a fork waits for imports and for `whole` locks.

concurrent.futures and logging register functions that take a lock before a fork and release it after.  If another
thread imported them in between, only the release would run.  So they are imported with this module.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Generic, TypeVar, overload
from weakref import WeakSet

__all__ = ["STARTING", "lock", "once"]

_PATIENCE = 30.0
"""Seconds that a fork waits at most: another thread may itself wait for the one that forks."""

_LOCKS: WeakSet[Any] = WeakSet()
_WHOLE: list[Any] = []
_held = threading.local()
"""The `_WHOLE` locks that the forking thread holds during a fork."""

Value = TypeVar("Value")


def lock(whole: bool = False) -> threading.RLock:
    """A lock that is free in a forked process.

    whole: the lock is held for moments only, and a fork waits for it, so that what it guards is never half done.
    """
    made = threading.RLock()
    _LOCKS.add(made)
    if whole:
        _WHOLE.append(made)
    return made


STARTING = lock(whole=True)
"""Held while processes are started, and extensions and laws loaded."""


class once(Generic[Value]):  # noqa: N801
    """A property that is computed when it is first asked for, and kept in the instance.

    Unlike functools.cached_property before Python 3.12 it holds no lock, which would be one for all instances:
    two threads compile at the same time, and a process forked meanwhile can compile.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        """The value; read from the class, the property itself."""
        if instance is None:
            return self
        kept: dict[str, Any] = instance.__dict__
        if self._name not in kept:
            kept.setdefault(self._name, self._compute(instance))
        return kept[self._name]


def _importing() -> bool:
    """Whether another thread is inside an import that scanopt makes."""
    here = threading.get_ident()
    return any(_imports(frame) for ident, frame in sys._current_frames().items() if ident != here)


def _imports(frame: FrameType | None) -> bool:
    inside = False
    while frame is not None:
        inside = inside or frame.f_code.co_filename.startswith("<frozen importlib")
        if inside and str(frame.f_globals.get("__name__")).partition(".")[0] == "scanopt":
            return True
        frame = frame.f_back
    return False


def _before() -> None:
    end = time.monotonic() + _PATIENCE
    while (left := end - time.monotonic()) > 0:
        held = [x for x in _WHOLE if x.acquire(timeout=left)]
        if not _importing():
            _held.locks = held
            return
        _let_go(held)  # the import may need these locks
        time.sleep(0.001)


def _let_go(held: Iterable[Any]) -> None:
    for x in held:
        x.release()


def _in_parent() -> None:
    _let_go(_held.__dict__.pop("locks", ()))


def _in_child() -> None:
    held = _held.__dict__.pop("locks", ())
    _let_go(held)
    for x in {*_LOCKS} - {*held}:
        x._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
