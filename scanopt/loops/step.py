"""Calls the user's step function and reads its results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, Generic, TypeVar

import numpy as np

from scanopt.array.variable import Constant, SharedVariable, Variable, describe
from scanopt.loops.frozen import generators, warn_if_drawn
from scanopt.loops.site import Number, Site, is_bare, show, to_keep
from scanopt.loops.tracing import attached, collecting
from scanopt.records import dataclass

__all__ = ["Building", "Result", "call_step", "check_step", "split_updates", "step_results"]

T = TypeVar("T")
Result = Variable | Number

_ORDER = "the order is: every tap of each sequence, every tap of each output, then non_sequences"


def check_step(site: Site, fn: Any, labels: Sequence[str], order: str = _ORDER) -> None:
    """Raise TypeError when `fn` cannot be called with one argument per label.  order: a hint on them."""
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
        return  # a function without a signature, written in C: calling it will show
    try:
        signature.bind(*labels)
    except TypeError as error:
        passed = f"({', '.join(labels)})" if labels else "no arguments"
        raise site.error(
            TypeError,
            f"fn {show(fn).removeprefix('the function ')} takes {signature} but {site.function} "
            f"passes {passed}: {error}; {order}",
        ) from None


def call_step(site: Site, fn: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call fn(*args); an error in it gets a note that names the loop."""
    try:
        return fn(*args)
    except Exception as error:
        _note(site, error)
        raise


def _note(site: Site, error: Exception) -> None:
    note = f"while building a step of {site.function} at {site.location}"
    if note not in getattr(error, "__notes__", ()):  # one call may build a loop in the step of another one
        error.add_note(note)


@dataclass(frozen=True)
class Building(Generic[T]):
    """Builds something from the results of a step: `asking` yields arguments for fn and is sent its results.

    So while a step runs, no other function of the builder is on the stack: loops in the steps of loops take one frame
    each, and can nest as deep as the user's own functions.
    """

    site: Site
    fn: Callable[..., Any]
    asking: Generator[Sequence[Any], Any, T]

    def done(self) -> T:
        """Run `asking` to its result.  An error in fn gets a note that names the loop."""
        answer: Callable[[Any], Sequence[Any]] = self.asking.send
        given: Any = None
        with closing(self.asking):  # closing it undoes context that it set, whatever is raised
            while True:
                try:
                    arguments = answer(given)
                except StopIteration as end:
                    made: T = end.value
                    return made
                before = generators(self.fn)
                try:
                    with collecting() as asked:
                        returned = self.fn(*arguments)
                    answer, given = self.asking.send, attached(returned, asked)
                except Exception as error:
                    _note(self.site, error)
                    answer, given = self.asking.throw, error
                else:
                    warn_if_drawn(self.site, self.fn, before)


def _is_updates(x: Any) -> bool:
    """Whether x is a dict of updates, or a list of pairs (shared variable, value)."""
    if isinstance(x, Mapping):
        return True
    return (
        isinstance(x, list | tuple)
        and len(x) > 0
        and all(isinstance(p, list | tuple) and len(p) == 2 and isinstance(p[0], SharedVariable) for p in x)
    )


def split_updates(site: Site, raw: Any) -> tuple[Any, dict[SharedVariable, Variable]]:
    """The outputs that a step returned and its updates, which it may return in either order."""
    if _is_updates(raw):
        return [], _updates(site, raw)
    if not isinstance(raw, list | tuple):
        return raw, {}
    if not any(map(_is_updates, raw)):
        return (_beside_none(raw) if len(raw) == 2 else raw), {}
    given = [p for p in raw if _is_updates(p)]
    if len(given) > 1:
        raise site.error(ValueError, "the step returned two collections of updates: put all updates into one dict")
    rest = [p for p in raw if not _is_updates(p)]
    return (rest[0] if len(rest) == 1 else rest), _updates(site, given[0])


def _beside_none(raw: Any) -> Any:
    """The outputs, if a step returned them together with an empty list, which means no updates; else raw itself."""
    first, second = (isinstance(p, list | tuple) and not p for p in raw)
    return raw[0] if second else raw[1] if first else raw


def _updates(site: Site, given: Any) -> dict[SharedVariable, Variable]:
    out: dict[SharedVariable, Variable] = {}
    for x, new in given.items() if isinstance(given, Mapping) else given:
        if not isinstance(x, SharedVariable):
            hint = "; outputs are returned in a list (scanopt.loop takes dicts of arrays)" if isinstance(x, str) else ""
            raise site.error(TypeError, f"the step updates {show(x)}, which is not a shared variable{hint}")
        if x in out:
            raise site.error(ValueError, f"the step updates {describe(x)} twice")
        value = _fitting(site, x, new)
        if not value.type.compatible(x.type):
            raise site.error(TypeError, f"the step updates {describe(x)} with {describe(value)}: {to_keep(x, value)}")
        out[x] = value
    return out


def _fitting(site: Site, x: SharedVariable, new: Any) -> Variable:
    """The new value as an array; a bare number takes the dtype of the shared variable if it fits."""
    if is_bare(new) and np.can_cast(np.min_scalar_type(new), x.dtype, "same_kind"):
        return Constant(np.asarray(new, dtype=x.dtype))
    return site.array(new, f"the update of {describe(x)}")


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

    Raises TypeError for None, and for anything but arrays.
    """
    if raw is None:
        raise site.error(TypeError, "the step returned None: does it lack a return? A step without outputs returns []")
    outputs = raw if isinstance(raw, list | tuple) else [raw]
    return tuple(_result(site, x, i) for i, x in enumerate(outputs))


def as_result(x: Result) -> Variable:
    """A result as an array: a bare number becomes bool, int64, float64 or complex128."""
    return x if isinstance(x, Variable) else Constant(np.asarray(x))
