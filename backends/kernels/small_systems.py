"""Systems of few equations, and inverses of small matrices, written out: without a call, with LAPACK's bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from scanopt.backends.kernels import eliminations
from scanopt.backends.kernels.eliminations import LARGEST, LEAST, Rows, Way, way_of
from scanopt.backends.kernels.ir import Declare, Do, Expr, If, Let, Lit, Load, Set, Store, Var
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Solve
from scanopt.backends.kernels.small_products import name_elements
from scanopt.backends.kernels.values import element_of

__all__ = ["MOST_ROWS", "known_way", "write_system"]

MOST_ROWS = 4
"""So many rows has a matrix at most."""
MOST = 64
"""Multiplications of a substitution of all columns, at most."""
DOUBLE = "float64"
Calling = Callable[[Sequence[str], str], None]
"""Writes the call of NumPy's loop, by where its arguments are and where its result is to be."""


def known_way(node: Solve, w: Lowering) -> Way | None:
    """How NumPy solves a small system, or inverts a small matrix; None for others."""
    lengths = [n.value for name in node.args for n in w.axes(name) if isinstance(n, Lit)]
    known = len(lengths) == sum(len(w.axes(name)) for name in node.args)
    if w.device or not known or node.op not in ("solve", "inv"):
        return None
    n, columns = int(lengths[0]), int(lengths[3]) if len(lengths) > 3 else 0
    inverse = node.op == "inv"
    few = n <= MOST_ROWS and n * n * (n if inverse else max(columns, 1)) <= MOST
    return way_of(inverse, n, columns) if few else None


def write_system(node: Solve, way: Way, call: Calling, w: Lowering) -> None:
    """Write it out; where bits may differ, and where there is no solution, NumPy's loop is called."""
    given = [_elements(name, w) for name in node.args]
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
    name_elements(node, names, w)


def _cells(w: Lowering, count: int) -> str:
    name = w.fresh("c")
    w.head.append(Declare(name, DOUBLE, elements=count))
    return name


def _elements(name: str, w: Lowering) -> list[Expr]:
    """The elements of an argument, each a variable."""
    axes = w.axes(name)
    places = np.ndindex(*(int(n.value) for n in axes if isinstance(n, Lit)))
    if name in w.few:
        return [x.value for x in w.few[name]]
    do, value = _written(w), w.value(name)
    return [do("positive", element_of(value, [*map(Lit, place)], axes)) for place in places]


def _rows(elements: Sequence[Expr], n: int) -> Rows[Expr]:
    columns = len(elements) // n
    return [[*elements[i * columns : (i + 1) * columns]] for i in range(n)]


def _written(w: Lowering) -> eliminations.Do[Expr]:
    """Operations as statements, each result a variable."""

    def do(op: str, *args: Expr) -> Expr:
        dtype, name = "bool" if op == "greater" else DOUBLE, w.fresh("v")
        w.code.append(Let(name, Do(op, args, dtype, DOUBLE), dtype))
        return Var(name, dtype)

    return do


def _is_sure(found: Sequence[Expr], pivots: Sequence[Expr]) -> Expr:
    """Whether the bits are LAPACK's: see `solved`."""
    sizes = [Do("absolute", (p,), DOUBLE, DOUBLE) for p in pivots]
    tests = [Do("greater_equal", (x, Lit(LEAST, DOUBLE)), "bool", DOUBLE) for x in sizes]
    tests += [Do("less_equal", (x, Lit(LARGEST, DOUBLE)), "bool", DOUBLE) for x in sizes]
    tests += [Do("equal", (x, x), "bool", DOUBLE) for x in found]
    return reduce(lambda a, b: Do("logical_and", (a, b), "bool", "bool"), tests)
