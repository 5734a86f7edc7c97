"""Lowers systems of few equations, and inverses of small matrices: they are written out, with LAPACK's bits.

Trials find how NumPy solves them (`eliminations.py`).  For tiny pivots, and where a number is NaN, as where there is no
solution, NumPy's loop is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from scanopt.backends.kernels import eliminations
from scanopt.backends.kernels.eliminations import LARGEST, LEAST, Rows, Way, way_of
from scanopt.backends.kernels.ir import ZERO, Declare, Do, Expr, If, Let, Lit, Load, Set, Steps, Store, Var
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Solve
from scanopt.backends.kernels.small_products import name_elements
from scanopt.backends.kernels.values import Axes, element_of, index, packed

__all__ = ["MOST_ROWS", "known_way", "write_systems"]

MOST_ROWS = 4
"""The most rows of a matrix."""
MOST = 64
"""The most multiplications in the substitution of all columns."""
DOUBLE = "float64"
Calling = Callable[[Sequence[str], str], None]
"""Writes the call of NumPy's loop, given the places of its arguments and of its result."""


def known_way(node: Solve, w: Lowering) -> Way | None:
    """How NumPy solves a small system, or inverts a small matrix; None for other nodes, or if it is not known."""
    skipped = len(w.axes(node.args[0])) - 2
    axes = [n for name in node.args for n in w.axes(name)[skipped:]]
    lengths = [int(n.value) for n in axes if isinstance(n, Lit)]
    if w.device or len(lengths) < len(axes) or node.op not in ("solve", "inv") or node.dtype != DOUBLE:
        return None
    n, columns = lengths[0], lengths[3] if len(lengths) > 3 else 0
    inverse = node.op == "inv"
    few = n <= MOST_ROWS and n * n * (n if inverse else max(columns, 1)) <= MOST
    return way_of(inverse, n, columns) if few else None


def write_systems(node: Solve, way: Way, lead: Axes, call: Calling, w: Lowering) -> None:
    """Write a system out, or those of a stack of matrices, one after the other.  call: writes the call for one."""
    if not lead:
        name_elements(node, _solved(node, way, (), call, w), w)
        return
    out, axes = w.place(node.out), w.axes(node.out)
    names, places = w.places(lead)
    with w.into([]) as body:
        found = _solved(node, way, places, call, w)
        lengths = [int(n.value) for n in axes[len(lead) :] if isinstance(n, Lit)]
        each = [(*places, *map(Lit, place)) for place in np.ndindex(*lengths)]
        body += [Store(out, index(ZERO, p, packed(axes)), Var(x, DOUBLE)) for p, x in zip(each, found, strict=True)]
    code = tuple(body)
    for n, name in reversed([*zip(lead, names, strict=True)]):
        code = (Steps(name, n, code),)
    w.code += code


def _solved(node: Solve, way: Way, places: Sequence[Expr], call: Calling, w: Lowering) -> list[str]:
    """Write a solution; return the variables of its elements.

    Where bits may differ, and where there is no solution, NumPy's loop is called.
    """
    given = [_elements(name, places, w) for name in node.args]
    n = int(len(given[0]) ** 0.5)
    right = given[1] if len(given) > 1 else [Lit(float(i == j), DOUBLE) for i, j in np.ndindex(n, n)]
    rows, pivots = eliminations.solved(_rows(given[0], n), _rows(right, n), way, _written(w), Lit(0.0, DOUBLE))
    found = [x for row in rows for x in row]
    names = [w.variable(DOUBLE) for _ in found]
    here = tuple(Set(name, x) for name, x in zip(names, found, strict=True))
    with w.into([]) as there:
        cells = [_cells(w, len(xs)) for xs in (*given, found)]
        there += [Store(c, Lit(i), x) for c, xs in zip(cells[:-1], given, strict=True) for i, x in enumerate(xs)]
        call(cells[:-1], cells[-1])
        there += [Set(name, Load(cells[-1], Lit(i), DOUBLE)) for i, name in enumerate(names)]
    w.code.append(If(_is_sure(found, pivots), here, tuple(there)))
    return names


def _cells(w: Lowering, count: int) -> str:
    name = w.fresh("c")
    w.head.append(Declare(name, DOUBLE, elements=count))
    return name


def _elements(name: str, lead: Sequence[Expr], w: Lowering) -> list[Expr]:
    """The elements of an argument, each a variable.  lead: the place of its matrix in a stack."""
    axes = w.axes(name)
    if name in w.few and not lead:
        return [x.value for x in w.few[name]]
    places = np.ndindex(*(int(n.value) for n in axes[len(lead) :] if isinstance(n, Lit)))
    do, value = _written(w), w.value(name)
    return [do("positive", element_of(value, [*lead, *map(Lit, place)], axes)) for place in places]


def _rows(elements: Sequence[Expr], n: int) -> Rows[Expr]:
    columns = len(elements) // n
    return [[*elements[i * columns : (i + 1) * columns]] for i in range(n)]


def _written(w: Lowering) -> eliminations.Do[Expr]:
    """A function that writes operations as statements, each result a variable."""

    def do(op: str, *args: Expr) -> Expr:
        dtype, name = "bool" if op == "greater" else DOUBLE, w.fresh("v")
        w.code.append(Let(name, Do(op, args, dtype, DOUBLE), dtype))
        return Var(name, dtype)

    return do


def _is_sure(found: Sequence[Expr], pivots: Sequence[Expr]) -> Expr:
    """The test whether the bits are LAPACK's: see `solved`."""
    sizes = [Do("absolute", (p,), DOUBLE, DOUBLE) for p in pivots]
    tests = [Do("greater_equal", (x, Lit(LEAST, DOUBLE)), "bool", DOUBLE) for x in sizes]
    tests += [Do("less_equal", (x, Lit(LARGEST, DOUBLE)), "bool", DOUBLE) for x in sizes]
    tests += [Do("equal", (x, x), "bool", DOUBLE) for x in found]
    return reduce(lambda a, b: Do("logical_and", (a, b), "bool", "bool"), tests)
