"""Lowers products of matrices: calls of NumPy's inner loop, or tiles, where these are faster and have the same bits.

A kernel contains both ways; a plan decides by trials which one runs.  In exact programs factors are packed.  A
transposed factor, such as the transpose of weights, is copied only where a trial finds that its product without a copy,
by BLAS or as tiles, has other bits or takes longer (`turned.py`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scanopt.array.types import COMPLEX
from scanopt.backends.kernels.bodies import walk
from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.integer_products import of_integers, write_integers
from scanopt.backends.kernels.ir import (
    ONE,
    ZERO,
    Cast,
    Do,
    Expr,
    Fail,
    For,
    If,
    Inner,
    Lit,
    Load,
    Stmt,
    Store,
    Var,
    plus,
    times,
)
from scanopt.backends.kernels.ir import product as product_of
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Call, Map, Nested, NoForm, Product, Reshape, SumTo, View
from scanopt.backends.kernels.product_ways import (
    by_tiles,
    chosen,
    dotted,
    matrix_by_column,
    row_by_matrix,
    tiled,
    tiling_of,
)
from scanopt.backends.kernels.recipe import Given, Number, Tiling
from scanopt.backends.kernels.rows_ahead import ROWS, can_be_ahead
from scanopt.backends.kernels.small_products import known_sums, write_out
from scanopt.backends.kernels.tiles import SPACE, haswell_orders
from scanopt.backends.kernels.values import Ahead, Array, element_of, item_size, packed

__all__: list[str] = []

Strides = tuple[Expr, ...]
_CERTAIN = Lit(True, "bool")
"""A test that needs no code."""


@written.register(Product)
def _product(node: Product, w: Lowering) -> None:
    """Write a product; a small one is written out if the order of its sums is known."""
    if node.args[0] in w.part:
        _of_part(node, w)
        return
    if sums := known_sums(node, w):
        write_out(node, sums, _packed(node, w), lambda out: _called(node, out, w), w)
        return
    if node.out in w.in_order and can_be_ahead(node, w):
        _ahead(node, w)
        return
    out = w.place(node.out) if w.axes(node.out) else w.cell(node.dtype)
    _called(node, out, w)
    if not w.axes(node.out):
        w.let(node.out, Load(out, ZERO, node.dtype), node.dtype)


def _ahead(node: Product, w: Lowering) -> None:
    """Write a product of which the loop that reads its rows may make some rows ahead; else all rows at once."""
    (m, k), (_, n) = (w.axes(a) for a in node.args)
    item = item_size(node.dtype)
    (left, _), (right, _) = (_factor(w, a, node) for a in node.args)
    name, each = w.in_order[node.out]
    ring = w.scratch(node.dtype, (Lit(ROWS), n) if each == ZERO else (each,))
    known, rows = len(w.numbers), w.place(node.out)
    copies = [len(w.given) - 1]
    with w.into([]) as code:
        _called(node, rows, w)
    copies += [x.tiling.panels for x in w.numbers[known:] if x.tiling and x.kind == "tiled"]
    tiling = Tiling(node.dtype, (m, k, n), (times(k, item), item), (times(n, item), item), False, -1, tuple(copies))
    test = w.number(Number("ahead", tiling=replace(tiling, each=each)))
    w.code.append(If(test, (), tuple(code)))
    w.ahead[name] = Ahead(node.dtype, (m, k, n), test, left, right, ring, rows, each)


def _called(node: Product, out: str, w: Lowering) -> None:
    """Write a call; if a factor is one number, multiply by it as `np.dot` does, which gives 0 if the number is 0."""
    if node.by_dot and node.dtype in COMPLEX:
        _refuse_numbers(node, w)
    tests = [_is_number(x, w) if node.by_dot and node.dtype in ("float32", "float64") else None for x in node.args]
    numbers = [(test, _first(x, test, node, w)) for x, test in zip(node.args, tests, strict=True) if test is not None]
    if not numbers:
        _by_loop(node, out, w)
        return
    only = Do("multiply", tuple(x for _, x in numbers), node.dtype, node.dtype)
    if tests == [_CERTAIN, _CERTAIN]:
        w.code.append(Store(out, ZERO, only))
        return
    with w.into([]) as multiplied:
        _by_loop(node, out, w)
    i, zero = w.fresh("i"), Lit(0.0, node.dtype)
    nothing = For(i, product_of(w.axes(node.out)), (Store(out, Var(i), zero),))
    for test, number in numbers:  # without a test an empty part would be read
        is_zero = Do("equal", (number, zero), "bool", node.dtype)
        checked = is_zero if test == _CERTAIN else Do("where", (test, is_zero, Lit(False, "bool")), "bool", "bool")
        multiplied = [If(checked, (nothing,), tuple(multiplied))]
    if len(numbers) == 2:
        both = Do("bitwise_and", tuple(test for test, _ in numbers), "bool", "bool")
        multiplied = [If(both, (Store(out, ZERO, only),), tuple(multiplied))]
    w.code += multiplied


def _of_part(node: Product, w: Lowering) -> None:
    """Write some rows of a product: by tiles, if those have the bits of the whole product; else the kernel fails."""
    (left, strides_a), (right, strides_b) = (_factor(w, x, node) for x in node.args)
    rows = product_of(w.given_axes(node.rows_of)[:2]) if node.rows_of else w.given_axes(node.args[0])[0]
    w.code.append(by_tiles(node, (left, right, w.place(node.out)), (strides_a, strides_b), Fail(), w, rows))


def _is_number(name: str, w: Lowering) -> Expr | None:
    """The test whether a factor has one element, where its lengths may differ from step to step; None if it has not."""
    test: Expr = _CERTAIN
    for n in w.axes(name):
        if n == ONE:
            continue
        if not w.grows(n):
            return None
        is_one = Do("equal", (n, ONE), "bool", "int64")
        test = is_one if test == _CERTAIN else Do("bitwise_and", (test, is_one), "bool", "bool")
    return test


def _first(name: str, test: Expr, node: Product, w: Lowering) -> Expr:
    """The first element of a factor that is one number, or may be."""
    if test == _CERTAIN:
        return Load(_factor(w, name, node)[0], ZERO, node.dtype)
    axes = w.axes(name)
    found = element_of(w.value(name), [ZERO] * len(axes), axes)
    return found if w.dtype(name) == node.dtype else Cast(found, node.dtype)


def _refuse_numbers(node: Product, w: Lowering) -> None:
    """Raise NoForm if complex factors may have lengths for which `np.dot` rounds otherwise than NumPy's loop."""
    axes = [[n == ONE or w.grows(n) for n in w.axes(x)] for x in node.args]
    if any(map(all, axes)):
        raise NoForm("np.dot by one complex number is no product of matrices")
    if axes[0][-1]:
        raise NoForm("np.dot of a complex column and a row rounds otherwise than the loop of matmul")


def _by_loop(node: Product, out: str, w: Lowering) -> None:
    """Write the call of NumPy's loop, or tiles; a vector is one row on the left, one column on the right."""
    item = item_size(node.dtype)
    a, b = node.args
    if of_integers(node, w):
        write_integers(node, out, (_packed_factor(w, a, node), _packed_factor(w, b, node)), w)
        return
    if any(_is_turned(x, node, w) for x in node.args) and a != b:
        _as_it_lies(node, out, w)
        return
    left, strides_a = _factor(w, a, node)
    right, strides_b = _factor(w, b, node)
    axes_a, axes_b = w.axes(a), w.axes(b)
    if node.as_they_lie and len(axes_a) == len(axes_b) == 2 and not _are_apart(node, w):
        right = _second(b, node, w)
    rows = axes_a[0] if len(axes_a) == 2 else ONE
    columns = axes_b[1] if len(axes_b) == 2 else ONE
    if len(axes_a) == 1:
        strides_a = (times(axes_a[0], item), strides_a[0])
    if len(axes_b) == 1:
        strides_b = (strides_b[0], item)
    plain = _plain(node, (left, right, out), (rows, axes_a[-1], columns), (*strides_a, *strides_b), w)
    known = not any(map(w.grows, (rows, axes_a[-1], columns)))
    if not w.tiles or not known or node.dtype not in ("float32", "float64"):
        w.code.append(plain)
    elif rows == columns == ONE:
        w.code.append(dotted(node, (left, right, out), (strides_a, strides_b), plain, w))
    elif columns != ONE and rows == ONE and haswell_orders():
        w.code.append(row_by_matrix(node, (left, right, out), (strides_a, strides_b), plain, w))
    elif rows != ONE and columns == ONE and haswell_orders():
        w.code.append(matrix_by_column(node, (left, right, out), (strides_a, strides_b), plain, w))
    elif a != b and ONE not in (rows, columns):
        w.code.append(by_tiles(node, (left, right, out), (strides_a, strides_b), plain, w))
    else:
        w.code.append(plain)


def _plain(node: Product, arrays: tuple[str, str, str], dims: Strides, strides: Strides, w: Lowering) -> Inner:
    """The statement that calls NumPy's loop."""
    item = item_size(node.dtype)
    slot = w.slot("matmul", (node.dtype,) * 3)
    return Inner(slot, arrays, (ONE, *dims), (ZERO, ZERO, ZERO, *strides, times(dims[2], item), item))


def _is_turned(name: str, node: Product, w: Lowering) -> bool:
    """Whether a factor of a product of matrices is the transpose of a packed one."""
    axes = [w.axes(x) for x in node.args]
    known = all(len(x) == 2 and ONE not in x and not any(map(w.grows, x)) for x in axes)
    if not known or not w.tiles or not w.body.exact or node.as_they_lie or node.dtype not in ("float32", "float64"):
        return False
    value = w.value(name) if name not in w.few else None
    alike = isinstance(value, Array) and value.dtype == node.dtype and not value.picks and not value.packed
    return alike and isinstance(value, Array) and value.strides == (ONE, w.axes(name)[0])


def _as_it_lies(node: Product, out: str, w: Lowering) -> None:
    """Write a product with a transposed factor: without a copy where the plan says so."""
    (m, k), (_, n) = (w.axes(x) for x in node.args)
    dims, item, dtype = (m, k, n), item_size(node.dtype), node.dtype
    lies: list[tuple[str, Strides]] = []
    copied: list[tuple[str, Strides]] = []
    copies: list[tuple[list[Stmt], tuple[Stmt, ...]]] = []
    numbers: list[int] = []
    for name in node.args:
        axes, value = w.axes(name), w.value(name)
        strides = tuple(times(x, item) for x in packed(axes))
        if not _is_turned(name, node, w):
            lies.append((w.whole(value, axes, dtype), strides))
            copied.append(lies[-1])
            continue
        assert isinstance(value, Array)
        before = w.before(name)
        copy = w.scratch(dtype, axes)
        numbers.append(len(w.given) - 1)
        lies.append((value.pointer, tuple(times(x, item) for x in value.strides)))
        copied.append((copy, strides))
        copies.append((w.code if before is None else before, w.copied(value, copy, ZERO, axes)))
    (left, by_rows), (right, by_columns) = lies
    packed_strides = _pair(copied[0][1]), _pair(copied[1][1])
    tiling = replace(tiling_of(node, packed_strides, w), copies=tuple(numbers))
    in_tiles = chosen(tiling, (*packed_strides[0], *packed_strides[1]), w)
    once = all(place is not w.code for place, _ in copies)
    here = replace(tiling, left=_pair(by_rows), right=_pair(by_columns), panels=-1)
    here = replace(here, once=once, apart=_are_apart(node, w))
    as_lies = w.number(Number("turned", tiling=here))
    call = _plain(node, (left, right, out), dims, (*by_rows, *by_columns), w)
    other = _plain(node, (copied[0][0], copied[1][0], out), dims, (*copied[0][1], *copied[1][1]), w)
    plain = If(as_lies, (call,), (other,))
    ways = Do("bitwise_or", (as_lies, in_tiles), "int64", "int64")
    if lies[0] == copied[0]:  # only the right factor is transposed
        across, multiply = _across(node, (left, right, out), here, w)
        plain = If(across, (multiply,), (plain,))
        ways = Do("bitwise_or", (ways, across), "int64", "int64")
    needed = Do("equal", (ways, ZERO), "bool", "int64")
    for place, copy_all in copies:
        place.append(If(needed, copy_all))
    w.code.append(tiled(node, (left, right, out), (by_rows, by_columns), tiling, in_tiles, plain, w))


def _are_apart(node: Product, w: Lowering) -> bool:
    """Whether both factors are certainly different arrays: views of two arrays, at least one of them computed.

    Results of one loop may be the same array, if it keeps a value twice, and a last row may be what the loop holds.
    """
    made = {out: n for n in walk(w.body.root.nodes) for out in n.outs}
    roots: list[str] = []
    for name in node.args:
        while isinstance(found := made.get(name), View | Reshape | SumTo):
            name = found.args[0]
        roots.append(name)
    nodes = [made.get(x) for x in roots]
    computed = [n for n in nodes if isinstance(n, Map | Call | Product)]
    loops = [n for n in nodes if isinstance(n, Nested)]
    kept = all(k.rows != 1 for n in loops for k in n.loop.keeps if k.out in roots)
    looped = kept and loops == [n for n in nodes if n is not None] and nodes[0] is not nodes[1]
    return roots[0] != roots[1] and (looped or any(not isinstance(n, Map) or n.op != "copy" for n in computed))


def _second(name: str, node: Product, w: Lowering) -> str:
    """A pointer to a copy of the right factor, which lies like it.

    Of two factors that share memory NumPy's loop computes one half, and rounds otherwise; array steps copy one, too.
    """
    value, axes, before = w.value(name), w.axes(name), w.before(name)
    assert isinstance(value, Array)
    copy = w.scratch(node.dtype, axes)
    (w.code if before is None else before).extend(w.copied(value, copy, ZERO, axes, node.dtype, value.strides))
    return copy


def _across(node: Product, arrays: tuple[str, str, str], here: Tiling, w: Lowering) -> tuple[Expr, Stmt]:
    """The test, and the call, for multiplying columns of a transposed right matrix by panels of the left one."""
    (left, right, out), (m, k, n) = arrays, here.dims
    panels = w.scratch(node.dtype, (k, plus(m, Lit(SPACE // np.dtype(node.dtype).itemsize))))
    test = w.number(Number("across", tiling=replace(here, panels=len(w.given) - 1)))
    strides = (*here.right[::-1], *here.left[::-1])
    return test, Inner(w.slot("across", (node.dtype,)), (right, panels, out, left), (m, k, n), strides)


def _pair(strides: Strides) -> tuple[Expr, Expr]:
    return strides[0], strides[1]


def _packed(node: Product, w: Lowering) -> Expr | None:
    """The test whether factors that keep their own strides are packed; None where there are none."""
    test: Expr | None = None
    for name in node.args:
        if w.body.exact or name not in w.body.outer:
            continue
        _, strides = _factor(w, name, node)
        for found, want in zip(strides, packed(w.axes(name)), strict=True):
            one = Do("equal", (found, times(want, item_size(node.dtype))), "bool", "int64")
            test = one if test is None else Do("bitwise_and", (test, one), "bool", "bool")
    return test


def _packed_factor(w: Lowering, name: str, node: Product) -> str:
    """A pointer to a factor in C order."""
    if name in w.env or name not in w.few:
        return w.packed_before(name, node.dtype)
    pointer = w.scratch(node.dtype, w.axes(name))
    w.code += [Store(pointer, Lit(i), x.value) for i, x in enumerate(w.few[name])]
    return pointer


def _factor(w: Lowering, name: str, node: Product) -> tuple[str, Strides]:
    """A pointer to a factor, and its strides in bytes; an argument keeps its own if the program is not exact."""
    axes, dtype = w.axes(name), node.dtype
    if name in w.few and name not in w.env:
        return _packed_factor(w, name, node), tuple(times(s, item_size(dtype)) for s in packed(axes))
    if node.as_they_lie:
        value = w.value(name)
        assert isinstance(value, Array)
        return value.pointer, tuple(times(s, item_size(dtype)) for s in value.strides)
    if not w.body.exact and name in w.body.outer and w.dtype(name) == dtype:
        strides = tuple(w.number(Number("stride in bytes", (name, i))) for i in range(len(axes)))
        return w.give(Given("strided", dtype, name)), strides
    return _packed_factor(w, name, node), tuple(times(s, item_size(dtype)) for s in packed(axes))
