"""Facts from the text of a program about parts of what operators compute element by element, or row by row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from scanopt.analysis.batched_operators import recipe
from scanopt.analysis.lengths import Keys, KnownLengths
from scanopt.array.batching import elementwise
from scanopt.array.op import Op, Operand
from scanopt.array.operators.indexing import FULL
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Batched, Form

__all__ = ["arguments_in_parts", "related_to_parts", "taking_parts"]

Row = tuple[str, tuple[Any, ...]]


def taking_parts(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about operators that take parts by integers and bounds, constant or computed."""
    for op in ops:
        index = op.options["index"] if op.name == "getitem" else ()
        if index and all(isinstance(x, int) or x == "in" or x[0] == "slice" for x in index):
            yield "is_a_part", (op,)
            yield from _of_one_axis(op, index)


def _of_one_axis(op: Op, index: Sequence[Any]) -> Iterator[Row]:
    match index:
        case [first, int() | "in" as entry] if first == FULL:
            yield "takes_a_column", (op, Op.make("getitem", index=(entry,)))
        case [(_, None | 0, _, None | 1)]:
            yield from ((name, (op,)) for name in ("is_a_part_of_rows", "takes_consecutive_rows", "takes_leading_rows"))
        case [tuple()]:
            yield from ((name, (op,)) for name in ("is_a_part_of_rows", "takes_consecutive_rows"))
        case [_]:
            yield "is_a_part_of_rows", (op,)
        case _:
            pass


def related_to_parts(ops: Collection[Op]) -> list[Op]:
    """The operators that laws about parts may introduce into a program with these operators."""
    parts = [op for op in ops if op.name == "getitem"]
    made = [one for op in ops if parts and (one := _of_a_row(op)) is not None]
    if any(op.name in ("dot", "outer") for op in ops):
        last = [op.options["index"][-1] for op in parts if len(op.options["index"]) <= 2]
        entries = [k for k in last if not isinstance(k, tuple)]
        made += [Op.make("getitem", index=index) for k in entries for index in ((k,), (FULL, k))]
    return made


def arguments_in_parts(g: Encoded, fp: str, lengths: Callable[[], KnownLengths]) -> Iterator[Row]:
    """Facts about results by element, or by row, of which the program takes parts, and about their arguments."""
    forms = dict(g.forms())
    todo = [f.args[0] for f in forms.values() if f.operator is not None and f.operator.name == "getitem"]
    seen: set[int] = set()
    while todo:
        i = todo.pop()
        f = forms[i]
        if i in seen or not isinstance(f.operator, Op):
            continue
        seen.add(i)
        if f.operator.name == "dot":  # parts of products are taken of the factors
            todo += f.args
        if f.operator.spec.batch is elementwise and not f.operator.can_raise:
            rows = [*_by_element(i, f, lengths().axes)]
        else:
            rows = [*_by_row(g, i, f, fp)]
        yield from rows
        todo += [x for _, (x, *_) in rows]


def _by_element(i: int, f: Form, axes: Mapping[int, Keys]) -> Iterator[Row]:
    args = [x for x in dict.fromkeys(f.args) if axes[i] and len(axes[x]) == len(axes[i])]
    for x in args:
        if axes[x] == axes[i]:
            yield "has_shape_of", (x, i)
        elif len(args) == 1 or axes[x][0] == axes[i][0]:
            yield "has_rows_of", (x, i)


def _by_row(g: Encoded, i: int, f: Form, fp: str) -> Iterator[Row]:
    """The fact that an operator along later axes is the batched form of another one, which works on one row."""
    op = f.operator
    if not isinstance(op, Op) or len(f.args) != 1 or g.types[f.args[0]].ndim < 2:
        return
    (x,) = f.args
    given = g.types[x]
    one = _of_a_row(op)
    if one is None or (fp == "exact" and not one.batch_exact(given.dtype)):
        return
    made = recipe(Batched(one, "1"), [Operand(given.dtype, (None,) * given.ndim)])
    if made is not None and [step for step, _ in made.steps] == [op] and not made.constants:
        yield "row_by_row", (x, i, one)


def _of_a_row(op: Op) -> Op | None:
    """The operator that does to one row what op, along later axes, does to each row; None if there is none."""
    axis = op.options.get("axis")
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not axes or not all(isinstance(a, int) and a > 0 for a in axes) or op.spec.batch is None or op.can_raise:
        return None
    less = tuple(a - 1 for a in axes)
    return Op.make(op.name, **{**op.options, "axis": less if isinstance(axis, tuple) else less[0]})
