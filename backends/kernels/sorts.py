"""Lowers `sort` and `argsort`: they call NumPy's own functions, so that ties and NaN are ordered as by NumPy.

Rows of few elements are sorted without a call (`few_sorted.py`) where equal elements cannot be distinguished.
"""

from __future__ import annotations

from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.few_sorted import rows_sorted
from scanopt.backends.kernels.ir import ZERO, For, If, Inner, Load, Point, Steps, Stmt, Store, Var
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import NoForm, Sort
from scanopt.backends.kernels.values import Array, element_of, index, packed

__all__: list[str] = []


@written.register(Sort)
def _sort(node: Sort, w: Lowering) -> None:
    """Write the sorting of rows: each is copied to its place and sorted there; if strided, in scratch memory."""
    if w.device:
        raise NoForm("rows are sorted by one thread")
    source, dtype, axes, axis = w.value(node.args[0]), w.dtype(node.args[0]), w.axes(node.out), node.axis
    out, strides, count = w.place(node.out), packed(axes), axes[axis]
    few = rows_sorted(source, Array(out, axes, strides, dtype), axis, w) if node.op.startswith("sort") else None
    if few is not None and few[1] is None:
        w.code += few[0]
        return
    names, places = w.places(axes)
    together = axis == len(axes) - 1
    found = w.pointer(node.dtype) if together else w.scratch(node.dtype, (count,))
    is_sort = node.op.startswith("sort")
    row = found if is_sort else w.scratch(dtype, (count,))
    each = w.fresh("i")
    here = [*places[:axis], Var(each), *places[axis + 1 :]]
    body: list[Stmt] = [Store(row, Var(each), element_of(source, here, axes))]
    if not is_sort:
        body.append(Store(found, Var(each), Var(each)))
    code: list[Stmt] = [Point(found, out, index(ZERO, places[:-1], strides[:-1]), node.dtype)] if together else []
    code += [For(each, count, tuple(body))]
    code += [Inner(w.slot(node.op, (dtype,)), (row,) if is_sort else (row, found), (count,), ())]
    if not together:
        code.append(For(each, count, (Store(out, index(ZERO, here, strides), Load(found, Var(each), node.dtype)),)))
    rest = [(n, name) for i, (n, name) in enumerate(zip(axes, names, strict=True)) if i != axis]
    for n, name in reversed(rest):
        code = [Steps(name, n, tuple(code))]
    w.code += code if few is None or few[1] is None else [*few[0], If(few[1], tuple(code))]
