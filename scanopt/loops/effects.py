"""Operators with effects: raise if a condition does not hold, and print.

Both give a truth value, and `after(x, done)` is x once that value is available, so they run where, and as often as,
x is computed.  Each print has its own number, so that no two prints are the same operator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from string import Formatter
from typing import Any

import numpy as np

from scanopt.array.batching import elementwise, rows, spread
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import TEXT, Parameter, integer, one_of
from scanopt.array.shown import shown
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["ATTRIBUTES", "CheckError", "after", "assert_true", "printed", "shows"]

ATTRIBUTES = ("__str__", "shape", "dtype", "ndim", "size", "min", "max", "mean", "sum", "std", "var", "all", "any")
"""The attributes of an array that can be printed."""


class CheckError(AssertionError):
    """A check failed.

    message: its text.  steps: the number of the step of each loop around it, outermost first, as far as known.
    """

    def __init__(self, message: str, steps: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.message, self.steps = message, tuple(steps)

    def in_step(self, t: int) -> None:
        """Add that it happened at step t of a loop around those known so far."""
        self.steps = (t, *self.steps)

    def __str__(self) -> str:
        if not self.steps:
            return self.message
        word = "step" if len(self.steps) == 1 else "steps"
        return f"{self.message} (at {word} {', '.join(map(str, self.steps))})"


def _check(xp: Any, message: str) -> Callable[[Any], Any]:
    def check(ok: Any) -> Any:
        if not bool(xp.all(ok)):
            first = np.unravel_index(int(xp.argmin(ok)), np.shape(ok)) if np.ndim(ok) else ()
            raise CheckError(message, [int(i) for i in first])
        return ok

    return check


def _infer_check(ok: Operand, message: str) -> TensorType:
    if ok.dtype != "bool":
        raise TypeError(f"a check must be of truth values, found {ok.type}")
    return ok.type


register(
    OpSpec(
        "assert_true",
        numpy=_check,
        infer=_infer_check,
        batch=elementwise,
        batch_exact=True,
        can_raise=True,
        cost="free",
        view=True,
        doc="truth values that must all be true, else an error with the given message",
        params={"message": TEXT},
    )
)


def shows(text: Any) -> bool:
    """Whether a text is a format string with no fields but {0}, {1}, ..., perhaps with a format, and no attributes.

    >>> shows("x = {0:.3f}"), shows("{0.__class__}")
    (True, False)
    """
    if not TEXT.holds(text):
        return False
    try:
        places = [place for place in Formatter().parse(text) if place[1] is not None]
    except ValueError:
        return False
    return all(str(name).isdigit() and "{" not in (form or "") for _, name, form, _ in places)


def _print(xp: Any, text: str, attributes: Sequence[str], number: int) -> Callable[..., Any]:
    def show(*args: Any) -> Any:
        values = [_on_host(x) for x in args]
        if attributes:
            for name in attributes:
                found = getattr(values[0], name)
                print(text, name, "=", found() if callable(found) else found)
        else:
            print(text.format(*(x[()] if x.ndim == 0 else x for x in values)))
        return np.bool_(True)

    return show


def _on_host(x: Any) -> Any:
    return np.asarray(x.get() if hasattr(x, "get") else x)


def _infer_print(*args: Operand, text: str, attributes: Sequence[str], number: int) -> TensorType:
    return TensorType("bool", ())


_ATTRIBUTE = one_of(*ATTRIBUTES)
register(
    OpSpec(
        "printed",
        numpy=_print,
        infer=_infer_print,
        can_raise=True,
        effect=True,
        doc="True, once its arguments are printed",
        params={
            "text": Parameter("text on one line, in braces the numbers of arguments", shows),
            "attributes": Parameter(
                "a list of attributes of arrays", lambda x: isinstance(x, tuple) and all(map(_ATTRIBUTE.holds, x))
            ),
            "number": integer(0),
        },
    )
)


def _batch_after(op: Op, batched: Sequence[bool], args: Sequence[Variable]) -> Variable:
    x, *done = args
    return apply(op, x if batched[0] else spread(x, rows(batched, args)), *done)


def _gradient_after(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    return [g, *(None for _ in args[1:])]


register(
    OpSpec(
        "after",
        numpy=lambda xp: lambda x, *done: x,
        infer=lambda x, *done: x.type,
        batch=_batch_after,
        batch_exact=True,
        cost="free",
        view=True,
        gradient=_gradient_after,
        doc="its first argument, once the others are there",
    )
)


def after(x: Variable, done: Sequence[Variable]) -> Variable:
    """x, once all of `done` are available."""
    return apply(Op.make("after"), x, *done) if done else x


def assert_true(ok: Variable, message: str) -> Variable:
    """True if the bool scalar `ok` is; else running it raises CheckError with this message."""
    return apply(Op.make("assert_true", message=shown(message)), ok)


_NUMBERS = itertools.count()


def printed(text: str, args: Sequence[Variable], attributes: Sequence[str] = ()) -> Variable:
    """True, after printing the text with the arguments filled in, or these attributes of the only argument."""
    op = Op.make("printed", text=shown(text), attributes=tuple(attributes), number=next(_NUMBERS))
    return apply(op, *args)
