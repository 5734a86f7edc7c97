"""The state of tracing: a step or function is called with symbolic arrays to record what it computes.

Effects that such a function requests beside its results (`check`, `debug_print`) are collected until it returns,
and then attached to its results.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from scanopt.array.variable import SharedVariable, Variable
from scanopt.loops.effects import after
from scanopt.loops.trees import mapped_leaves
from scanopt.loops.until import until

__all__ = ["attached", "collecting", "pending"]

_PENDING: ContextVar[list[Variable] | None] = ContextVar("pending", default=None)


def pending() -> list[Variable] | None:
    """The effects that the function being traced has requested so far; None if none is being traced."""
    return _PENDING.get()


@contextmanager
def collecting() -> Iterator[list[Variable]]:
    """A context in which a function is traced; gives the list of effects that it requests."""
    asked: list[Variable] = []
    before = _PENDING.get()
    _PENDING.set(asked)
    try:
        yield asked
    finally:
        _PENDING.set(before)  # a generator may end in another context, where this one's token would not be valid


def attached(results: Any, asked: list[Variable]) -> Any:
    """The structure of results, available only after all effects in `asked`."""
    if not asked:
        return results

    def one(x: Any) -> Any:
        if isinstance(x, until):
            return until(after(x.condition, asked))
        return after(x, asked) if isinstance(x, Variable) and not isinstance(x, SharedVariable) else x

    return mapped_leaves(one, results)
