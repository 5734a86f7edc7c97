"""Lowers sorting of rows of few elements: a sorting network (Batcher's merge exchange), the same for all rows.

Equal elements have equal bits, so every way of sorting gives the same result, except for NaN and for zeros of both
signs: where any row has these, NumPy's function sorts all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise

import numpy as np

from scanopt.backends.kernels.ir import INDEX, ZERO, Cast, Do, Expr, For, Let, Lit, Set, Stmt, Store, Var
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.values import Array, Axes, Value, element_of, index

__all__ = ["rows_sorted"]

MOST_SORTED = 9
"""The most elements of a row."""


def rows_sorted(x: Value, out: Array, axis: int, w: Lowering) -> tuple[list[Stmt], Expr | None] | None:
    """The statements that sort along an axis, and a test whether bits may differ from NumPy's (None: they cannot).

    None where the axis is long, or of unknown length.
    """
    count = out.axes[axis]
    if not isinstance(count, Lit) or not 1 < count.value <= MOST_SORTED or np.dtype(out.dtype).kind not in "iuf":
        return None
    rest = (*out.axes[:axis], *out.axes[axis + 1 :])
    names, places = w.places(rest)
    here = [[*places[:axis], Lit(i), *places[axis:]] for i in range(int(count.value))]
    body: list[Stmt] = []
    elements = [_named(element_of(x, place, out.axes), out.dtype, body, w) for place in here]
    unordered = [_do("not_equal", e, e) for e in elements]
    for i, k in _exchanges(len(elements)):
        a, b = elements[i], elements[k]
        elements[i] = _named(Do("minimum_of_few", (b, a), out.dtype, out.dtype), out.dtype, body, w)
        elements[k] = _named(Do("maximum_of_few", (a, b), out.dtype, out.dtype), out.dtype, body, w)
    body += [Store(out.pointer, index(Lit(0), place, out.strides), e) for place, e in zip(here, elements, strict=True)]
    if np.dtype(out.dtype).kind != "f":
        return _nested(rest, names, body), None
    odd = Var(w.variable(INDEX))  # compilers vectorize a reduction of integers, not one of truth values
    tests = [*unordered, *(_signs_differ(a, b) for a, b in pairwise(elements))]
    body.append(Set(odd.name, Do("bitwise_or", (odd, Cast(reduce(_either, tests), INDEX)), INDEX, INDEX)))
    return [Set(odd.name, ZERO), *_nested(rest, names, body)], Do("not_equal", (odd, ZERO), "bool", INDEX)


def _exchanges(n: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs of places to compare, in order, to sort n elements.

    >>> [*_exchanges(3)]
    [(0, 2), (0, 1), (1, 2)]
    """
    top = 1 << ((n - 1).bit_length() - 1)
    p = top
    while p:
        q, r, d = top, 0, p
        while True:
            yield from ((i, i + d) for i in range(n - d) if i & p == r)
            if q == p:
                break
            q, r, d = q >> 1, p, q - p
        p >>= 1


def _nested(axes: Axes, names: Sequence[str], body: Sequence[Stmt]) -> list[Stmt]:
    code = [*body]
    for n, name in reversed([*zip(axes, names, strict=True)]):
        code = [For(name, n, tuple(code))]
    return code


def _named(x: Expr, dtype: str, body: list[Stmt], w: Lowering) -> Var:
    name = w.fresh("v")
    body.append(Let(name, x, dtype))
    return Var(name, dtype)


def _do(op: str, a: Var, b: Var) -> Expr:
    return Do(op, (a, b), "bool", a.dtype)


def _either(a: Expr, b: Expr) -> Expr:
    return Do("logical_or", (a, b), "bool", "bool")


def _signs_differ(a: Var, b: Var) -> Expr:
    """Whether two sorted neighbours are zeros of different signs."""
    signs = [Do("signbit", (x,), "bool", x.dtype) for x in (a, b)]
    differ = Do("not_equal", (signs[0], signs[1]), "bool", "bool")
    return Do("logical_and", (_do("equal", a, b), differ), "bool", "bool")
