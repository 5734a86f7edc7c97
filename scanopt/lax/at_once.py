"""A decorator for functions that build a graph: it runs the graph at once if nothing in it is symbolic."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from scanopt.array.constants import as_variable
from scanopt.array.variable import SharedVariable, Variable
from scanopt.interpreter import interpret
from scanopt.loops.graph import leaves, refuse_stray
from scanopt.loops.tracing import attached, collecting, pending
from scanopt.loops.trees import mapped_leaves, rebuilt, tree_leaves

__all__ = ["at_once"]

F = TypeVar("F", bound=Callable[..., Any])


def _has_variables(x: Any) -> bool:
    return any(isinstance(v, Variable) for _, v in tree_leaves(x, ""))


def at_once(build: F) -> F:
    """`build`, made to run its graph at once when it is called with arrays only, outside of traced functions.

    Results that read symbolic arrays it was not passed, or shared variables, stay symbolic.
    """

    @functools.wraps(build)
    def run(*args: Any, **kwargs: Any) -> Any:
        if pending() is not None:
            return build(*args, **kwargs)
        with collecting() as asked:
            results = build(*args, **kwargs)
        results = attached(mapped_leaves(as_variable, results), asked)
        found = [v for _, v in tree_leaves(results, "")]
        read = leaves(found)
        refuse_stray(read)
        if _has_variables((args, kwargs)) or read or any(isinstance(v, SharedVariable) for v in found):
            return results
        return rebuilt(results, iter(interpret(found)).__next__)

    return run  # type: ignore[return-value]
