"""Lowers small products of matrices and vectors: they are written out, without a call, in NumPy's order of additions.

Trials find the order of each element's sum (`orders.py`); if none gives NumPy's bits, NumPy's loop is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import product as pairs

import numpy as np

from scanopt.backends.kernels.ir import ONE, Declare, Do, Expr, If, Let, Lit, Load, Set, Store, Var
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Product, Solve
from scanopt.backends.kernels.orders import FusedSum, OneProduct, Order, SumOfTwo, UnlessZero, orders_of
from scanopt.backends.kernels.recipe import Given
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Array, Scalar
from scanopt.backends.kernels.values import packed as strides_of

__all__ = ["known_sums", "name_elements", "write_out"]

MOST = 64
"""The most multiplications of a product that is written out."""
Sums = tuple[Order, ...]
Calling = Callable[[str], None]
"""Writes the call of NumPy's loop, given the place of its result."""


def known_sums(node: Product, w: Lowering) -> Sums | None:
    """For a small product of packed factors, the order of the sum of each element, any for integers; else None.

    In programs that are not exact, arguments keep their strides: calls show whether these are packed.
    """
    dims = _dims(node, w)
    if dims is None or not w.tiles or node.as_they_lie or any(w.dtype(x) != node.dtype for x in node.args):
        return None
    m, k, n = dims
    if np.dtype(node.dtype).kind in "iu":
        places: Iterator[Order] = map(OneProduct, range(k))
        return (reduce(SumOfTwo, places),) * (m * n)
    if node.dtype not in ("float32", "float64"):
        return None
    item = np.dtype(node.dtype).itemsize
    found = orders_of(node.dtype, dims, (k * item, item), (n * item, item))
    if found is None or not node.by_dot or k > 1 or 1 not in (m, n):
        return found
    return (OneProduct(0),) if m == n else tuple(UnlessZero(order, left=m == 1) for order in found)


def _dims(node: Product, w: Lowering) -> tuple[int, int, int] | None:
    """m, k and n of a small product; None for others."""
    a, b = (w.axes(x) for x in node.args)
    lengths = (a[0] if len(a) == 2 else ONE, a[-1], b[1] if len(b) == 2 else ONE)
    found = [int(n.value) for n in lengths if isinstance(n, Lit)]
    if len(found) < len(lengths) or found[0] * found[1] * found[2] > MOST:
        return None
    return found[0], found[1], found[2]


def write_out(node: Product, sums: Sums, packed: Expr | None, call: Calling, w: Lowering) -> None:
    """Write a product out.

    packed: the test whether factors are packed, if that is not certain; if they are not, NumPy's loop is called.
    """
    values = _values(node, sums, w)
    if packed is None:
        names = [w.fresh("v") for _ in values]
        w.code += [Let(name, x, node.dtype) for name, x in zip(names, values, strict=True)]
    else:
        names = [w.variable(node.dtype) for _ in values]
        here = tuple(Set(name, x) for name, x in zip(names, values, strict=True))
        cells = w.fresh("c")
        w.head.append(Declare(cells, node.dtype, elements=len(values)))
        with w.into([]) as there:
            call(cells)
            there += [Set(name, Load(cells, Lit(i), node.dtype)) for i, name in enumerate(names)]
        w.code.append(If(packed, here, tuple(there)))
    name_elements(node, names, w)


def name_elements(node: Product | Solve, names: Sequence[str], w: Lowering) -> None:
    """Define a product, or a solution, by its elements.  names: the variables of its elements."""
    found = [Scalar(Var(name, node.dtype), node.dtype) for name in names]
    if not w.axes(node.out):
        w.env[node.out] = found[0]
    elif is_few(w.axes(node.out)):
        w.keep_few(node.out, found)
    else:
        pointer = w.place(node.out)
        w.code += [Store(pointer, Lit(i), x.value) for i, x in enumerate(found)]


def _values(node: Product, sums: Sums, w: Lowering) -> list[Expr]:
    """The elements of a product, row by row."""
    m, k, n = _dims(node, w) or (0, 0, 0)
    left, right = (_elements(name, w) for name in node.args)
    return [
        _sum(order, left[i * k : i * k + k], right[j::n], node.dtype)
        for order, (i, j) in zip(sums, pairs(range(m), range(n)), strict=True)
    ]


def _elements(name: str, w: Lowering) -> list[Expr]:
    """The elements of a factor."""
    if name in w.few:
        return [x.value for x in w.few[name]]
    lengths = [int(n.value) for n in w.axes(name) if isinstance(n, Lit)]
    if w.body.exact or name not in w.body.outer:
        value = w.value(name)
    else:  # with its own strides, see `write_out`
        axes, dtype = w.axes(name), w.dtype(name)
        value = Array(w.give(Given("strided", dtype, name)), axes, strides_of(axes), dtype)
    assert isinstance(value, Array)
    return [value.at(tuple(map(Lit, place)), value.axes) for place in np.ndindex(*lengths)]


def _sum(order: Order, x: Sequence[Expr], y: Sequence[Expr], dtype: str) -> Expr:
    """The expression of a sum of products in this order.  x, y: the factors of the products."""
    match order:
        case OneProduct(place=i):
            return Do("multiply", (x[i], y[i]), dtype, dtype)
        case FusedSum(place=i, sum=rest):
            return Do("fma", (x[i], y[i], _sum(rest, x, y, dtype)), dtype, dtype)
        case SumOfTwo(left=a, right=b):
            return Do("add", (_sum(a, x, y, dtype), _sum(b, x, y, dtype)), dtype, dtype)
        case UnlessZero(sum=rest, left=left):
            zero = Lit(0.0, dtype)
            is_zero = Do("equal", (x[0] if left else y[0], zero), "bool", dtype)
            return Do("where", (is_zero, zero, _sum(rest, x, y, dtype)), dtype, dtype)
    return Lit(0.0, dtype)
