"""What is being traced: a step, or a function, that is called with symbolic arrays to see what it computes.

What such a function requests beside its results (`check`, `debug_print`) is kept until it returns, and then made
part of its results.
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
    """What the function that is traced has asked for so far, None where none is traced."""
    return _PENDING.get()


@contextmanager
def collecting() -> Iterator[list[Variable]]:
    """While it lasts a function is traced; gives what that asks for."""
    asked: list[Variable] = []
    before = _PENDING.get()
    _PENDING.set(asked)
    try:
        yield asked
    finally:
        _PENDING.set(before)  # a generator may end in another context, where a token of this one is not valid


def attached(results: Any, asked: list[Variable]) -> Any:
    """A structure of results that are available only after what was requested."""
    if not asked:
        return results

    def one(x: Any) -> Any:
        if isinstance(x, until):
            return until(after(x.condition, asked))
        return after(x, asked) if isinstance(x, Variable) and not isinstance(x, SharedVariable) else x

    return mapped_leaves(one, results)
