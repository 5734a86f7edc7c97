"""Places in sorted arrays, and how often each integer occurs: searchsorted, digitize, bincount."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import dim
from scanopt.array.constants import as_variable
from scanopt.array.derivatives import no_gradient
from scanopt.array.functions.arguments import expect_axes, known_int
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.elementwise import as_float, cast
from scanopt.array.operators.specify_shape import specify_shape
from scanopt.array.operators.subtensor import getitem
from scanopt.array.parameters import FLAG, integer, one_of
from scanopt.array.registry import public
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply, describe

__all__ = ["bincount", "digitize", "searchsorted"]

Args = Sequence[Variable]


def _infer_places(name: str) -> Callable[..., TensorType]:
    def infer(line: Operand, values: Operand, **options: Any) -> TensorType:
        if line.ndim != 1:
            raise ValueError(f"{name} needs a vector to look in, found {line.type}")
        if name == "digitize" and "c" in (np.dtype(line.dtype).kind, np.dtype(values.dtype).kind):
            raise TypeError(f"digitize takes no complex numbers, found {values.type} and {line.type}")
        return TensorType("int64", values.shape)

    return infer


def _batch_places(op: Op, batched: Sequence[bool], args: Args) -> Variable | None:
    """The batched form: look for the values of all rows at once; there is none if the vector differs by row."""
    return None if batched[0] else apply(op, *args)


def _places(name: str, bind: Callable[..., Any], can_raise: bool, **params: Any) -> None:
    register(
        OpSpec(
            name, bind, _infer_places(name), _batch_places, batch_exact=True, cost="sort", can_raise=can_raise,
            gradient=no_gradient, doc=f"np.{name}", params=params,
        )
    )  # fmt: skip


_places(
    "searchsorted",
    lambda xp, side: lambda line, values: xp.searchsorted(line, values, side=side),
    False,
    side=one_of("left", "right"),
)
_places("digitize", lambda xp, right: lambda line, values: xp.digitize(values, line, right=right), True, right=FLAG)


@public("searchsorted", numpy=("searchsorted",))
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Variable:
    """Where in the sorted vector `a` the elements of v would be inserted, as int64 of v's shape.

    side: "left" before equal elements, "right" behind them.  sorter: the indices that sort `a`.
    Raises ValueError if `a` or sorter is not a vector, for another side, or where sorter is not as long as `a`.

    >>> searchsorted([1, 2, 2, 5], [2, 3]).eval()
    array([1, 3])
    """
    line = expect_axes("searchsorted", a, 1, 1)
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', found {side!r}")
    if sorter is not None:
        order = specify_shape(expect_axes("searchsorted", sorter, 1, 1), (dim(line, 0),))
        line = getitem(line, order)
    return apply(Op.make("searchsorted", side=side), line, as_variable(v))


@public("digitize", numpy=("digitize",))
def digitize(x: Any, bins: Any, right: bool = False) -> Variable:
    """The number of the bin that each element of x is in, int64 of x's shape.

    bins: a vector that increases or decreases.  right: whether bins are closed on their right.
    Raises ValueError if bins is not a vector; when run, where it is not monotonic.

    >>> digitize([0.5, 1.0, 7.0], [0.0, 1.0, 2.0]).eval()
    array([1, 2, 3])
    """
    return apply(Op.make("digitize", right=bool(right)), expect_axes("digitize", bins, 1, 1), as_variable(x))


def _infer_bincount(x: Operand, *weights: Operand, minlength: int) -> TensorType:
    if x.ndim != 1 or any(w.ndim != 1 for w in weights):
        raise ValueError(f"bincount counts in a vector, found {', '.join(str(o.type) for o in (x, *weights))}")
    if np.dtype(x.dtype).kind not in "biu" or x.dtype == "uint64":
        raise TypeError(f"bincount counts integers that fit into int64, found {x.type}: cast them if that is meant")
    if x.value is not None:
        found: int | None = max(int(x.value.max()) + 1 if x.value.size else 0, minlength)
    else:
        found = minlength if x.shape == (0,) else None
    return TensorType("float64" if weights else "int64", (found,))


def _bind_bincount(xp: Any, minlength: int) -> Callable[..., Any]:
    def count(x: Any, *weights: Any) -> Any:
        found = xp.bincount(x.astype("int64"), *weights, minlength=minlength)
        return found.astype("float64") if weights else found  # NumPy counts in int64 where x is empty

    return count


def _gradient_bincount(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    return [None, *(getitem(g, cast(args[0], "int64")) for _ in args[1:])]


register(
    OpSpec(
        "bincount", _bind_bincount, _infer_bincount, cost="gather", can_raise=True, data_shape=True,
        gradient=_gradient_bincount, doc="np.bincount", params={"minlength": integer(0)},
    )
)  # fmt: skip


@public("bincount", numpy=("bincount",))
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Variable:
    """How often 0, 1, 2 ... occur in a vector of integers, up to the largest: int64, float64 with weights.

    weights: a vector; the weights at the places of a number are added up.  minlength: least length.
    Raises TypeError for a vector of other dtypes, ValueError for other numbers of axes; when run, for negative numbers.

    >>> bincount([1, 1, 3]).eval()
    array([0, 2, 0, 1])
    """
    v, least = expect_axes("bincount", x, 1, 1), known_int(minlength)
    if least is None or least < 0:
        found = describe(minlength) if isinstance(minlength, Variable) else repr(minlength)
        raise ValueError(f"minlength must be an integer from 0 on that is known before the run, found {found}")
    if v.type.shape == (0,) and v.dtype != "bool":
        v = cast(v, "int64")
    more = [] if weights is None else [cast(as_float(expect_axes("bincount", weights, 1, 1)), "float64")]
    return apply(Op.make("bincount", minlength=least), v, *more)
