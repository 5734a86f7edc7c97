"""Lowers `Contract` nodes, sums of products over any axes: they become one product of matrices by NumPy's inner loop.

The matrices are laid out as in `scanopt.array.numerics.contractions`, since the order of additions affects rounding.
If the axes summed over are not adjacent, the number of elements decides which matrix is copied, and how; the kernel
contains both ways and decides when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.array.numerics.contractions import SMALL
from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Do,
    If,
    Inner,
    Lit,
    Point,
    Set,
    Store,
    Var,
    plus,
    product,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Contract, NoForm
from scanopt.backends.kernels.summed_rows import laid
from scanopt.backends.kernels.values import Axes, Scalar, index, item_size, nest, packed

__all__: list[str] = []


@written.register(Contract)
def _contract(node: Contract, w: Lowering) -> None:
    (a, b), (ia, ib) = node.args, node.axes
    axes_a, axes_b = w.axes(a), w.axes(b)
    kept_a, kept_b = ([i for i in range(len(x)) if i not in y] for x, y in ((axes_a, ia), (axes_b, ib)))
    size = plus(product(axes_a), product(axes_b))
    small = Do("less_equal", (size, Lit(SMALL)), "bool", INDEX)
    order = sorted(range(len(ia)), key=lambda k: ia[k])
    left = _Factor(w, a, kept_a, ia, [ia[k] for k in order])
    right = _Factor(w, b, ib, kept_b, [ib[k] for k in order])
    branches = []
    for way in (0, 1):
        with w.into([]) as code:
            left.lay(kept_a, list(ia) if not way else left.summed, way)
            right.lay(list(ib) if not way else right.summed, kept_b, way)
        branches.append(tuple(code))
    w.code.append(If(small, *branches))
    rows, inner, columns = (product(tuple(x)) for x in (
        [axes_a[i] for i in kept_a], [axes_a[i] for i in ia], [axes_b[i] for i in kept_b]))  # fmt: skip
    if ONE in (rows, inner, columns):
        raise NoForm("a contraction of vectors, some of which have one element")
    out, item = w.place(node.out), item_size(node.dtype)
    strides = (ZERO, ZERO, ZERO, *left.strides, *right.strides, times(columns, item), item)
    w.code.append(
        Inner(
            w.slot("matmul", (node.dtype,) * 3),
            (left.pointer, right.pointer, out),
            (ONE, rows, inner, columns),
            strides,
        )
    )


class _Factor:
    """A factor as a matrix: a pointer and two strides, which depend on its layout."""

    def __init__(self, w: Lowering, name: str, rows: Sequence[int], columns: Sequence[int], summed: list[int]) -> None:
        value = w.value(name)
        if isinstance(value, Scalar):
            raise NoForm("a contraction of a number")
        self.w, self.dtype, self.axes, self.summed = w, w.dtype(name), w.axes(name), summed
        self.value = value
        self.pointer = w.pointer(self.dtype)
        self.strides = [Var(w.variable(INDEX)) for _ in range(2)]

    def lay(self, rows: Sequence[int], columns: Sequence[int], large: int) -> None:
        """Lay out as a matrix of `rows` by `columns` axes.  large: transposed if columns lie further apart."""
        w, item = self.w, item_size(self.dtype)
        order, found = laid(self.axes, rows, columns, large)
        self._in_order(order, large)
        w.code += [Set(v.name, times(x, item)) for v, x in zip(self.strides, found, strict=True)]

    def _in_order(self, order: Sequence[int], large: int) -> None:
        """Point to the elements packed with the axes in this order; they are copied unless they lie so already."""
        w, value = self.w, self.value
        lengths: Axes = tuple(self.axes[i] for i in order)
        pairs = zip(order, packed(lengths), strict=True)
        if not value.picks and all(value.strides[i] == n or self.axes[i] == ONE for i, n in pairs):
            w.code.append(Point(self.pointer, value.pointer, ZERO, self.dtype))
            return
        room = product(lengths)
        copy = w.scratch(self.dtype, (room if large else Do("minimum", (room, Lit(SMALL)), INDEX, INDEX),))
        names, places = w.places(lengths)
        element = value.at([places[list(order).index(i)] for i in range(len(order))], self.axes)
        w.code += nest(lengths, names, (Store(copy, index(ZERO, places, packed(lengths)), element),))
        w.code.append(Point(self.pointer, copy, ZERO, self.dtype))
