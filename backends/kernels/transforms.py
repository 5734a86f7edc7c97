"""Lowers discrete Fourier transforms to calls of NumPy's loops.

A loop gets all transforms of an array in one call, as np.fft makes it: their number decides whether NumPy computes
several at once.
"""

from __future__ import annotations

from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import INDEX, ZERO, Cast, Do, Expr, If, Inner, Lit, Store, product, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import NoForm, Transform
from scanopt.backends.kernels.reading_transforms import LOOPS, loop_dtypes_of
from scanopt.backends.kernels.values import item_size

__all__: list[str] = []

DOUBLE = "float64"


@written.register(Transform)
def _transform(node: Transform, w: Lowering) -> None:
    if w.device:
        raise NoForm("a Fourier transform")
    (x,), dtypes = node.args, loop_dtypes_of(node.op)
    axes, results = w.axes(x), w.axes(node.out)
    source, out = w.whole(w.value(x), axes, dtypes[0]), w.place(node.out)
    factor = w.cell(DOUBLE)
    w.code.append(Store(factor, ZERO, _factor(node, axes[-1] if node.op == "rfft" else results[-1])))
    items = item_size(dtypes[0]), item_size(dtypes[2])
    strides = (times(axes[-1], items[0]), ZERO, times(results[-1], items[1]), *items)
    arrays, dims = (source, factor, out), (product(axes[:-1]), axes[-1], results[-1])
    calls = [Inner(w.slot(name, dtypes), arrays, dims, strides) for name in LOOPS[node.op]]
    if len(calls) == 1:
        w.code += calls
        return
    odd = Do("remainder", (axes[-1], Lit(2)), INDEX, INDEX)
    w.code.append(If(Do("equal", (odd, ZERO), "bool", INDEX), (calls[0],), (calls[1],)))


def _factor(node: Transform, points: Expr) -> Expr:
    """What np.fft multiplies by: 1, or the reciprocal of the number of points or of its square root."""
    forward = node.op in ("fft", "rfft")
    if node.norm == ("backward" if forward else "forward"):
        return Lit(1.0, DOUBLE)
    count: Expr = Cast(points, DOUBLE)
    if node.norm == "ortho":
        count = Do("sqrt", (count,), DOUBLE, DOUBLE)
    return Do("reciprocal", (count,), DOUBLE, DOUBLE)
