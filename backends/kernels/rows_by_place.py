"""A pass on steps: a nested loop reads rows of x[a:b], for a and b that differ from step to step, directly from x.

A kernel cannot allocate arrays whose lengths steps decide.  So x[a:b], arange(a, b), x[arange(a, b)], repeated numbers,
and elementwise results of them are not made where only nested loops read their rows.  The loop counts its steps, and
takes or computes each row by its place; the number of rows is computed before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import scanopt.loops.require  # an operator of its own, beside those of the table  # noqa: F401
from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import cast_is_known, in_c, needs_whole, through_numpy
from scanopt.backends.kernels.inner_bodies import rewritten_inside
from scanopt.backends.kernels.parts_by_ends import counted_by, counts_up
from scanopt.program.ir import CarriedState, Compute, Loop, Read, Step
from scanopt.program.text import names_read

__all__ = ["with_rows_by_place"]

Types = dict[str, TensorType]
_LENGTH = Op.make("shape_i", axis=0)


def with_rows_by_place(
    steps: Sequence[Step], wanted: Collection[str], types: Types, steady: Collection[str], top: bool = False
) -> tuple[Step, ...]:
    """Rewrite steps so that nested loops read such rows by place.

    wanted: names that are read afterwards.  steady: names that are the same at all steps.  top: whether the steps are
    those of a program, which run once.  types: of all names; names made here are added.
    """
    known = {*steady}
    for x in steps:
        if isinstance(x, Compute) and (known.issuperset(x.args) or x.op.name == "shape_i"):
            known.add(x.out)
    found = [rewritten_inside(x, lambda body, after: with_rows_by_place(body, after, types, known)) for x in steps]
    made = {} if top else _read_by_loops(_not_made(found, known, types), found, wanted)
    return tuple(_Rows(made, types).written(found)) if made else tuple(found)


def _not_made(steps: Sequence[Step], steady: Collection[str], types: Types) -> dict[str, Compute]:
    """The arrays whose lengths steps decide and whose rows can be taken by place, by name."""
    found: dict[str, Compute] = {}
    for x in steps:
        if not isinstance(x, Compute) or x.out in steady:
            continue
        one = counts_up(x, types) or _is_part(x, found) or _is_repeated(x, types)
        if one or _is_taken(x, found) or _is_by_element(x, found, types):
            found[x.out] = x
    return found


def _is_repeated(x: Compute, types: Types) -> bool:
    """Whether a step repeats one number a computed number of times."""
    return x.op.name == "repeat_rows" and not types[x.args[0]].ndim and types[x.args[1]].dtype == "int64"


def _is_part(x: Compute, rows: Collection[str]) -> bool:
    """Whether a step is x[a:b], x[a:] or x[:b]."""
    entry = x.op.options["index"][0] if x.op.name == "getitem" and len(x.op.options["index"]) == 1 else None
    ends = isinstance(entry, tuple) and {*entry[1:3]} <= {None, "in"} and "in" in entry and entry[3] in (None, 1)
    return ends and x.args[0] not in rows


def _is_taken(x: Compute, rows: Collection[str]) -> bool:
    """Whether a step is x[places]."""
    places = x.op.name == "getitem" and x.op.options["index"] == ("array",)
    return places and x.args[1] in rows and x.args[0] not in rows


def _is_by_element(x: Compute, rows: Collection[str], types: Types) -> bool:
    """Whether a step is an elementwise operation on such arrays and numbers whose bits are those of single elements."""
    if not any(a in rows and types[a].ndim == x.type.ndim for a in x.args):
        return False
    dtypes = tuple(types[a].dtype for a in x.args)
    if x.op.name == "where":
        known = all(cast_is_known(d, x.type.dtype) for d in dtypes[1:])
    elif x.op.name == "cast":
        known = cast_is_known(dtypes[0], x.type.dtype)
    else:
        name = x.op.spec.ufunc
        found = (in_c(name, dtypes) or through_numpy(name, dtypes)) if name is not None else None
        known = found is not None and not x.op.can_raise and not needs_whole(x.op, found[-1])
    return known and all(not types[a].ndim or (a in rows and types[a].ndim == x.type.ndim) for a in x.args)


def _read_by_loops(rows: Mapping[str, Compute], steps: Sequence[Step], wanted: Collection[str]) -> dict[str, Compute]:
    """The arrays of which nothing is read but rows, by loops, lengths, and elements, by others of these arrays.

    An array that is made all the same is read whole, so what is computed from it is made, too.
    """
    found, gone = dict(rows), {*wanted}
    for x in steps:
        if isinstance(x, Loop):
            gone.update(names_read(replace(x, reads=())))
            if x.until is not None:  # places that the loop never reaches may be out of range
                gone.update(r.source for r in x.reads if any(_is_taken(y, rows) for y in _behind(r.source, rows)))
        elif x.op != _LENGTH if isinstance(x, Compute) else True:
            gone.update(() if isinstance(x, Compute) and x.out in rows else names_read(x))
    while lost := found.keys() & gone:
        for name in lost:
            gone.update(found.pop(name).args)
        gone.update(y.out for y in found.values() if any(a in rows and a not in found for a in y.args))
    return found


def _behind(name: str, rows: Mapping[str, Compute]) -> Iterator[Compute]:
    yield from (rows[x] for x in _behind_names(name, rows))


def _behind_names(name: str, rows: Mapping[str, Compute]) -> Iterator[str]:
    """Yield an array and those from which it is computed."""
    if name in rows:
        yield name
        for a in rows[name].args:
            yield from _behind_names(a, rows)


class _Rows:
    """Rewrites steps without such arrays.

    made: the arrays that are no longer made.  counts: for each, the name of its number of rows; first, apart: for parts
    and evenly spaced integers, the names of the first place or integer, and of the spacing.
    """

    def __init__(self, made: Mapping[str, Compute], types: Types) -> None:
        self.made, self.types = made, types
        self.counts: dict[str, str] = {}
        self.first: dict[str, str] = {}
        self.apart: dict[str, str] = {}
        self.found: list[Step] = []
        self.number = 0

    def written(self, steps: Sequence[Step]) -> Iterator[Step]:
        """All steps."""
        for x in steps:
            self.found = []
            if isinstance(x, Compute) and x.out in self.made:
                self._count(x)
            elif isinstance(x, Compute) and x.op == _LENGTH and x.args[0] in self.made:
                self.found.append(Compute(x.out, Op.make("cast", dtype="int64"), (self.counts[x.args[0]],), x.type))
            elif isinstance(x, Loop):
                self.found.append(self._loop(x))
            else:
                self.found.append(x)
            yield from self.found

    # The numbers of rows

    def _count(self, x: Compute) -> None:
        if counts_up(x, self.types):
            self.first[x.out], self.apart[x.out], self.counts[x.out] = counted_by(x, self._of)
        elif _is_part(x, self.made):
            rows = self._of("shape_i", x.args[0], axis=0)
            zero, (entry,), ends = self._of("subtract", rows, rows), x.op.options["index"], [*x.args[1:]]
            begin = self._end(ends.pop(0), rows, zero) if entry[1] == "in" else zero
            end = self._end(ends.pop(0), rows, zero) if entry[2] == "in" else rows
            self.counts[x.out] = self._of("maximum", self._of("subtract", end, begin), zero)
            self.first[x.out] = begin
            self.apart[x.out] = self._of("cast", self._of("equal", rows, rows, result="bool"), dtype="int64")
        elif _is_repeated(x, self.types):
            zero = self._of("subtract", x.args[1], x.args[1])
            self._of("require", x.args[1], zero, relation="ge", error="ValueError", message="a length below 0")
            self.counts[x.out] = x.args[1]
        else:
            first, *others = (self.counts[a] for a in x.args if a in self.made)
            for count in others:
                self._same(count, first, "eq")
            self.counts[x.out] = first

    def _end(self, end: str, rows: str, zero: str) -> str:
        """An end of a slice, clipped to an array of `rows` rows."""
        end = self._of("cast", end, dtype="int64")
        before = self._of("maximum", self._of("add", end, rows), zero)
        return self._of("where", self._of("less", end, zero, result="bool"), before, self._of("minimum", end, rows))

    def _same(self, a: str, b: str, relation: str) -> None:
        if a != b:
            self._of("require", a, b, relation=relation, error="ValueError", message="the sequences differ in length")

    def _of(self, op: str, *args: str, result: str = "int64", **options: object) -> str:
        """Add a step that computes a number, before the step being written; return its name."""
        return self._into(self.found, Op.make(op, **options), args, TensorType(result, ()))

    def _into(self, steps: list[Step], op: Op, args: tuple[str, ...], type: TensorType, out: str = "") -> str:
        name = out or self._fresh(args[0], type)
        steps.append(Compute(name, op, args, type))
        return name

    def _fresh(self, near: str, type: TensorType) -> str:
        name = ""
        while not name or name in self.types:
            self.number += 1
            name = f"{near.partition('#')[0]}#p{self.number}"
        self.types[name] = type
        return name

    # Rows

    def _loop(self, loop: Loop) -> Loop:
        """A loop that counts, and takes rows by their places."""
        mine = [r for r in loop.reads if r.source in self.made]
        if not mine:
            return loop
        rows, body, states = dict[str, str](), list[Step](), list[CarriedState]()
        for r in mine:
            self._same(self.counts[r.source], loop.steps, "ge")
            self._row(r.source, rows, body, states, r)
        reads = tuple(r for r in loop.reads if r not in mine)
        return replace(loop, reads=reads, states=(*loop.states, *states), body=(*body, *loop.body))

    def _row(
        self, name: str, rows: dict[str, str], body: list[Step], states: list[CarriedState], read: Read | None = None
    ) -> str:
        """The name of a row of an array.  rows: names so far; body, states: of the loop; read: the read it replaces."""
        if name not in self.made:
            return name
        x, out, type = self.made[name], "" if read is None else read.out, self.types[name].row()
        if name in rows:
            return self._into(body, Op.make("cast", dtype=type.dtype), (rows[name],), type, out) if out else rows[name]
        if _is_repeated(x, self.types):
            rows[name] = x.args[0]
            return self._row(name, rows, body, states, read)
        if name not in self.first:
            args = tuple(self._row(a, rows, body, states) for a in x.args)
            op = Op.make("getitem", index=("in",)) if _is_taken(x, self.made) else x.op
            rows[name] = self._into(body, op, args, type, out)
            return rows[name]
        number, numbers = TensorType("int64", ()), TensorType("int64", (1,))
        start = self._into(self.found, Op.make("expand_dims", axis=(0,)), (self.first[name],), numbers)
        evenly = counts_up(x, self.types)
        place = out if evenly and out else self._fresh(start, number)
        after = self._into(body, Op.make("add"), (place, self.apart[name]), number)
        states.append(CarriedState(start, 1, ((1, place),), after, number))
        at = Op.make("getitem", index=("in",))
        rows[name] = place if evenly else self._into(body, at, (x.args[0], place), type, out)
        return rows[name]
