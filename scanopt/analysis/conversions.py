"""Facts about operators that convert arrays to a shape or to a dtype, found from the operators alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.facts.values import INTEGERS

__all__ = ["conversions"]

Row = tuple[str, tuple[Any, ...]]

_EXACT = {
    "float16": ("float32", "float64", "complex64", "complex128"),
    "float32": ("float64", "complex64", "complex128"),
    "float64": ("complex128",),
}
"""For a dtype of floats, the dtypes that have all of its values."""


_CASTING = ("add", "subtract", "multiply", "divide")
"""Operators that compute in the wider dtype of their arguments, to which they cast the other one."""


@cache
def _cast_beside(d: str) -> tuple[str, ...]:
    """The dtypes of integers and truth values that such an operator casts to the dtype d beside them."""
    return tuple(e for e in ("bool", *INTEGERS) if np.result_type(d, e) == d)


def conversions(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about two operators in turn of which the first leaves no trace, and about reshapes of numbers."""
    some = dict.fromkeys(ops)
    known = [op for op in some if op.name in ("cast", "real", "reshape", "expand_dims")]
    casts = [op for op in known if op.name == "cast" and op.options["dtype"] in ("float32", "float64")]
    for op, h in product([op for op in some if op.name in _CASTING] if casts else (), casts):
        d = h.options["dtype"]
        yield from (("casts_beside", (op, h, d, e)) for e in _cast_beside(d))
    for op in known:
        shape = op.options["shape"] if op.name == "reshape" and "lead" not in op.options else ()
        if shape and all(n in (1, -1) for n in shape):
            yield "makes_axes", (op, Op.make("expand_dims", axis=tuple(range(len(shape)))))
    for outer, inner in product(known, known):
        if outer.name == "reshape" and "lead" not in outer.options and _keeps_order(inner):
            yield "order_alone", (outer, inner)
        if inner.name == "cast":
            yield from (("cast_back", (outer, inner, d)) for d in _EXACT if _returns(outer, inner, d))


def _keeps_order(op: Op) -> bool:
    return op.name == "expand_dims" or (op.name == "reshape" and op.options == {"shape": (-1,)})


def _returns(outer: Op, inner: Op, d: str) -> bool:
    """Whether an array of dtype d comes back from these two as it was."""
    wide = inner.options["dtype"]
    if wide not in _EXACT[d]:
        return False
    if outer.name == "real":
        return np.zeros((), wide).real.dtype == d
    return outer.name == "cast" and outer.options["dtype"] == d and np.dtype(wide).kind == "f"
