"""The operator `require`: a run-time check as a value.

`require(a, b)` is `a` where `a >= b` and raises otherwise.  Since it is a value, the check goes through
all rewrites like any other term, and still raises when the loop that it guarded is gone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.batching import elementwise
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import MESSAGE, one_of
from scanopt.array.shapes import broadcast
from scanopt.array.shown import quoted, shown
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["require"]

RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "ge": operator.ge, "gt": operator.gt, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
ERRORS: dict[str, type[Exception]] = {
    "ValueError": ValueError, "IndexError": IndexError, "TypeError": TypeError,
}  # fmt: skip


def _numpy(xp: Any, *, relation: str, error: str, message: str) -> Callable[..., Any]:
    holds, kind = RELATIONS[relation], ERRORS[error]

    def check(a: Any, b: Any) -> Any:
        if np.ndim(a) == np.ndim(b) == 0 and holds(a, b):
            return xp.array(a)
        a, b = xp.broadcast_arrays(xp.asarray(a), xp.asarray(b))
        if not bool(xp.all(holds(a, b))):
            first = int(xp.argmin(holds(a, b).ravel()))
            found, expected = int(a.ravel()[first]), int(b.ravel()[first])
            raise kind(message.format(found=found, expected=expected))
        return a.copy()

    return check


def _infer(a: Operand, b: Operand, *, relation: str, error: str, message: str) -> TensorType:
    if relation not in RELATIONS or error not in ERRORS:
        raise ValueError(f"unknown relation {relation!r} or kind of error {error!r}")
    if not MESSAGE.holds(message):
        raise ValueError(f"a message is {MESSAGE.text}, found {quoted(message)}")
    if a.dtype != "int64" or b.dtype != "int64":
        raise TypeError(f"require compares int64 values, found {a.type} and {b.type}")
    return TensorType("int64", broadcast(a.shape, b.shape))


register(
    OpSpec(
        "require",
        numpy=_numpy,
        infer=_infer,
        batch=elementwise,
        batch_exact=True,
        can_raise=True,
        doc="require(a, b): a where `a relation b` holds, else an error with the given message.",
        params={"relation": one_of(*RELATIONS), "error": one_of(*ERRORS), "message": MESSAGE},
    )
)


def require(a: Variable, b: Variable, message: str, *, relation: str = "ge", error: str = "ValueError") -> Variable:
    """`a`, or an error where `a >= b` does not hold.  a, b: int64 scalars.

    message: text of the error; {found} and {expected} stand for the values of a and b.
    Raises ValueError for an unknown relation or kind of error.

    >>> from scanopt.array.variable import Constant
    >>> import numpy as np
    >>> n = Constant(np.int64(3))
    >>> str(require(n, n, "{found} rows, {expected} needed").type)
    'int64[]'
    """
    return apply(Op.make("require", relation=relation, error=error, message=shown(message)), a, b)
