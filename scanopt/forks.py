"""What makes a process that was forked from one with several threads work: only one thread is there in it.

A lock that another thread held stays locked for ever, and what another thread was importing stays half imported.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload
from weakref import WeakSet

__all__ = ["HELD", "lock", "once"]

HELD = threading.RLock()
"""Held while modules are imported on first use and while processes start: a fork waits for it."""

_PATIENCE = 60.0
"""Seconds that a fork waits at most: a thread that holds the lock may itself wait for the one that forks."""

_LOCKS: WeakSet[Any] = WeakSet()

Value = TypeVar("Value")


def lock() -> threading.RLock:
    """A lock that is free in a forked process."""
    made = threading.RLock()
    _LOCKS.add(made)
    return made


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
        """The value; of the class, the property itself."""
        if instance is None:
            return self
        kept: dict[str, Any] = instance.__dict__
        if self._name not in kept:
            kept.setdefault(self._name, self._compute(instance))
        return kept[self._name]


_waited = False


def _before() -> None:
    global _waited
    _waited = HELD.acquire(timeout=_PATIENCE)


def _in_parent() -> None:
    if _waited:
        HELD.release()


def _in_child() -> None:
    if _waited:
        HELD.release()
    for x in (*_LOCKS, *([] if _waited else [HELD])):
        x._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
