"""Calling the user's step function once, and reading what it returned."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.variable import Constant, SharedVariable, Variable
from scanopt.loops.site import Number, Site, is_bare, show

__all__ = ["call_step", "check_step", "step_results"]

Result = Variable | Number

_ORDER = "the order is: every tap of each sequence, every tap of each output, then non_sequences"


def check_step(site: Site, fn: Any, labels: Sequence[str]) -> None:
    """Raise TypeError when `fn` cannot be called with one argument per label."""
    if not callable(fn):
        raise site.error(TypeError, f"fn must be a function that builds one step, found {show(fn)}")
    if getattr(fn, "is_compiled", False):
        raise site.error(
            TypeError,
            f"fn is {show(fn)}, which is compiled already: pass the Python function that builds "
            "the step from symbolic arrays",
        )
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return  # a function written in C: calling it will tell
    try:
        signature.bind(*labels)
    except TypeError as error:
        passed = f"({', '.join(labels)})" if labels else "no arguments"
        raise site.error(
            TypeError,
            f"fn {show(fn).removeprefix('the function ')} takes {signature} but {site.function} "
            f"passes {passed}: {error}; {_ORDER}",
        ) from None


def call_step(site: Site, fn: Callable[..., Any], args: Sequence[Any]) -> Any:
    """fn(*args).  An error in it carries a note that says in which loop it arose."""
    try:
        return fn(*args)
    except Exception as error:
        error.add_note(f"while building a step of {site.function} at {site.location}")
        raise


def _is_updates(x: Any) -> bool:
    """Whether x is a dict of updates, or a list of pairs (shared variable, value)."""
    if isinstance(x, Mapping):
        return True
    return (
        isinstance(x, list | tuple)
        and len(x) > 0
        and all(isinstance(p, list | tuple) and len(p) == 2 and isinstance(p[0], SharedVariable) for p in x)
    )


def _without_updates(site: Site, raw: Any) -> Any:
    """What was returned beside the updates, which must be empty in this version."""
    parts: list[Any] = list(raw) if isinstance(raw, list | tuple) and not _is_updates(raw) else [raw]
    rest = [p for p in parts if not _is_updates(p)]
    if any(_is_updates(p) and len(p) for p in parts):
        raise site.error(
            ValueError,
            "the step returned updates of shared variables, which this version does not support "
            "yet: return the new value as an output and feed it back through outputs_info",
        )
    if len(rest) == len(parts):
        return raw
    return rest[0] if len(rest) == 1 else rest


def _result(site: Site, x: Any, i: int) -> Result:
    if x is None:
        raise site.error(TypeError, f"result {i} of the step is None: every result must be an array")
    if is_bare(x):
        return x
    if isinstance(x, list | tuple) and any(isinstance(y, Variable) for y in x):
        raise site.error(
            TypeError,
            f"result {i} of the step is a {type(x).__name__} of arrays: return one flat list, an array per output",
        )
    return site.array(x, f"result {i} of the step")


def step_results(site: Site, raw: Any) -> tuple[Result, ...]:
    """The results of one step in order; bare Python numbers stay as they are.

    Raises TypeError for None and what is no array, ValueError for updates (not supported yet).
    """
    if raw is None:
        raise site.error(TypeError, "the step returned None: does it lack a return? A step without outputs returns []")
    outputs = _without_updates(site, raw)
    if not isinstance(outputs, list | tuple):
        outputs = [outputs]
    return tuple(_result(site, x, i) for i, x in enumerate(outputs))


def as_result(x: Result) -> Variable:
    """A result as an array: a bare number becomes bool, int64, float64 or complex128."""
    return x if isinstance(x, Variable) else Constant(np.asarray(x))
