"""A pass on stages: fuses reductions over the rows of a matrix into its computation, so that it is never stored.

A block of columns goes through all rows, with the partial results in registers.  It applies if the operations are
elementwise, nothing else reads the matrix, and NumPy also reduces row by row, so the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from scanopt.backends.kernels.few_reduced import further
from scanopt.backends.kernels.forms import in_c
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Declare,
    Do,
    Expr,
    For,
    If,
    Let,
    Lit,
    Load,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, operation
from scanopt.backends.kernels.nodes import IDENTITY, Extreme, Lookup, Map, Reduce
from scanopt.backends.kernels.stages import Fused, Stage, is_few
from scanopt.backends.kernels.values import Axes, Scalar, element_of
from scanopt.records import dataclass

__all__ = ["Columns", "with_columns", "write_columns"]

WIDTH = 16
"""Columns of a block: in a loop over a fixed number of them, compilers keep the elements in vector registers."""

End = Reduce | Extreme
Elements = Callable[[Expr, Expr], tuple[list[Stmt], Mapping[str, Expr]]]
"""For a row and a column, gives statements that compute elements, and the elements by the names of their matrices."""


@dataclass(frozen=True)
class Columns:
    """Elementwise operations that make a matrix, and the reductions over its rows that read it."""

    axes: Axes
    nodes: tuple[Map, ...]
    ends: tuple[End, ...]

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it defines."""
        return tuple(e.out for e in self.ends)

    @property
    def args(self) -> tuple[str, ...]:
        """The names that it reads."""
        made = {n.out for n in self.nodes}
        return tuple(dict.fromkeys(a for n in self.nodes for a in n.args if a not in made))


def with_columns(stages: Sequence[Stage], wanted: Collection[str]) -> list[Stage | Columns]:
    """Fuse reductions over rows into the stages that make their matrices.  wanted: names that are read afterwards."""
    found: list[Stage | Columns] = []
    gone: set[str] = set()
    for stage in stages:
        ends = _ends(stage, stages, wanted) if isinstance(stage, Fused) else ()
        if isinstance(stage, Fused) and ends:
            found.append(Columns(stage.axes, tuple(stage.nodes), ends))
            gone |= {e.out for e in ends}
        elif isinstance(stage, Fused) or not gone.intersection(stage.outs):
            found.append(stage)
    return found


def _ends(stage: Fused, stages: Sequence[Stage], wanted: Collection[str]) -> tuple[End, ...]:
    """The reductions over rows that read the results of a stage; () if anything else reads them."""
    made = {n.out: n.dtype for n in stage.nodes}
    if any(isinstance(n, Lookup) for n in stage.nodes):
        return ()
    if len(stage.axes) != 2 or ONE in stage.axes or is_few(stage.axes) or not made.keys().isdisjoint(wanted):
        return ()
    ends: list[End] = []
    for other in stages:
        read = {a for n in (other.nodes if isinstance(other, Fused) else (other,)) for a in n.args}
        if other is stage or made.keys().isdisjoint(read):
            continue
        if not isinstance(other, Reduce | Extreme) or not _by_rows(other, made[other.args[0]]):
            return ()
        ends.append(other)
    return tuple(ends)


def _by_rows(node: End, dtype: str) -> bool:
    """Whether NumPy reduces elements of this dtype row by row, by an operation that C has."""
    if isinstance(node, Extreme):
        return node.axis == 0
    in_order = node.axes == (0,) and not node.counted and node.dtype == dtype
    return in_order and in_c(node.op, (dtype, dtype)) == (dtype,) * 3


def write_columns(stage: Columns, w: Lowering) -> None:
    """Write such reductions: full blocks of columns, then the remaining columns."""
    outs = [w.place(e.out) for e in stage.ends]
    size = stage.axes[1]
    block, left = w.fresh("b"), w.fresh("k")
    start = times(Var(block), Lit(WIDTH))

    def elements(row: Expr, column: Expr) -> tuple[list[Stmt], Mapping[str, Expr]]:
        return _elements(stage, [row, plus(start, column)], w)

    if isinstance(size, Lit) and size.value <= WIDTH:
        w.code += _block(stage, outs, ZERO, size, lambda row, column: _elements(stage, [row, column], w), w)
        return
    full, rest = (_block(stage, outs, start, width, elements, w) for width in (Lit(WIDTH), Var(left)))
    body: list[Stmt] = [Let(left, Do("subtract", (size, start), INDEX, INDEX), INDEX)]
    body.append(If(Do("greater_equal", (Var(left), Lit(WIDTH)), "bool", INDEX), full, rest))
    blocks = Do("right_shift", (plus(size, Lit(WIDTH - 1)), Lit(WIDTH.bit_length() - 1)), INDEX, INDEX)
    w.code.append(Steps(block, blocks, tuple(body)))


def _elements(stage: Columns, places: Sequence[Expr], w: Lowering) -> tuple[list[Stmt], Mapping[str, Expr]]:
    code: list[Stmt] = []
    mine: dict[str, Scalar] = {}
    for node in stage.nodes:
        values = [mine[a] if a in mine else w.value(a) for a in node.args]
        found = [element_of(v, places, stage.axes) for v in values]
        name = w.fresh("v")
        code.append(Let(name, operation(node, found, [v.dtype for v in values]), node.dtype))
        mine[node.out] = Scalar(Var(name, node.dtype), node.dtype)
    return code, {name: x.value for name, x in mine.items()}


def _block(
    stage: Columns, outs: Sequence[str], start: Expr, width: Expr, elements: Elements, w: Lowering
) -> tuple[Stmt, ...]:
    """Write the loop of a block of columns through all rows; partial results, and places, are in local arrays."""
    dtypes = {n.out: n.dtype for n in stage.nodes}
    of = [dtypes[e.args[0]] for e in stage.ends]
    kept = [w.fresh("s") for _ in stage.ends]
    at = [w.fresh("s") if isinstance(e, Extreme) else "" for e in stage.ends]
    body: list[Stmt] = [Declare(name, dtype, WIDTH) for name, dtype in zip(kept, of, strict=True)]
    body += [Declare(name, INDEX, WIDTH) for name in at if name]
    i, row = w.fresh("i"), w.fresh("i")
    first, values = elements(ZERO, Var(i))
    for e, name, place, dtype in zip(stage.ends, kept, at, of, strict=True):
        x = values[e.args[0]]
        if isinstance(e, Extreme):
            first += [Store(name, Var(i), x), Store(place, Var(i), ZERO)]
        else:
            known = Lit(IDENTITY[e.op], dtype) if e.op in IDENTITY else None
            first.append(Store(name, Var(i), x if known is None else Do(e.op, (known, x), dtype, dtype)))
    body.append(For(i, width, tuple(first)))
    here = plus(Var(row), ONE)
    look, values = elements(here, Var(i))
    for e, name, place, dtype in zip(stage.ends, kept, at, of, strict=True):
        x, old = values[e.args[0]], Load(name, Var(i), dtype)
        if isinstance(e, Extreme):
            was, found = w.fresh("v"), w.fresh("j")
            look += [Let(was, old, dtype), Let(found, Load(place, Var(i), INDEX), INDEX)]
            beyond = further(e.op, x, Var(was, dtype), dtype)
            look.append(Store(name, Var(i), Do("where", (beyond, x, Var(was, dtype)), dtype, dtype)))
            look.append(Store(place, Var(i), Do("where", (beyond, here, Var(found)), INDEX, INDEX)))
        else:
            look.append(Store(name, Var(i), Do(e.op, (old, x), dtype, dtype)))
    body.append(Steps(row, plus(stage.axes[0], Lit(-1)), (For(i, width, tuple(look)),)))
    told = [Load(p, Var(i), INDEX) if p else Load(k, Var(i), d) for p, k, d in zip(at, kept, of, strict=True)]
    body.append(For(i, width, tuple(Store(o, plus(start, Var(i)), x) for o, x in zip(outs, told, strict=True))))
    return tuple(body)
