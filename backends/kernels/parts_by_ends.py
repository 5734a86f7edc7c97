"""A pass on the steps of nested loops: rewrites parts whose bounds are computed into forms that kernels have.

x[arange(a, b)] becomes x[a:b], with checks that the places are consecutive and in range; array steps run where they are
not.  The maximum or minimum of such a part and a number becomes a branch that gives the number if the part is empty.
Repeated rows of which only the last one is read are not made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import scanopt.loops.require  # an operator of its own, beside those of the table  # noqa: F401
from scanopt.array.op import Op
from scanopt.array.operators.idle import guarded
from scanopt.array.types import TensorType
from scanopt.backends.kernels.inner_bodies import rewritten_inside
from scanopt.program.ir import Branch, Compute, Either, Loop, Step, all_steps
from scanopt.program.text import names_read

__all__ = [
    "LAST",
    "counted_by",
    "counts_up",
    "first_index",
    "joins_rows",
    "readers_of",
    "where_it_runs",
    "with_parts_by_ends",
]

Types = dict[str, TensorType]
LAST = ("slice", -1, None, None)
"""An index of the last row, as an array."""
_EXTREMES = {"max": "maximum", "min": "minimum"}
_INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}
_WHERE = "the places are not in order within the array"


def with_parts_by_ends(
    steps: Sequence[Step], wanted: Collection[str], types: Types, top: bool = False
) -> tuple[Step, ...]:
    """Rewrite the steps in nested loops.

    wanted: names that are read afterwards.  top: whether the steps are those of a program, which run once, and are
    left. types: of all names; names made here are added.
    """
    if not top:
        there = (_counted_anyway(x, types) for x in _with_rows_that_are_there(steps))
        steps = [*_counted_deeper([*there], types)]
    found = [rewritten_inside(x, lambda body, after: with_parts_by_ends(body, after, types)) for x in steps]
    if top:
        return tuple(found)
    evenly = _evenly(found, types)
    parts = [y for x in found for y in _as_part(x, evenly, types)] if evenly else found
    before = {id(x) for x in found}
    new = {x.out for x in parts if isinstance(x, Compute) and id(x) not in before}
    parts = [*_with_starts_of_extremes([*_without_repeats(parts, wanted, types)], wanted, new, types)]
    made = {x.out for x in parts if isinstance(x, Compute)}
    return tuple(y for x in parts for y in ((x,) if _of_last(x) else where_it_runs(x, made, types)))


def _counted_anyway(x: Step, types: Types) -> Step:
    """Drop the guard of a step that makes evenly spaced integers only if a loop runs: kernels do not store them."""
    op = guarded(x.op) if isinstance(x, Compute) else None
    if op is None or not isinstance(x, Compute):
        return x
    plain = replace(x, op=op, args=x.args[1:])
    return plain if counts_up(plain, types) else x


def _counted_deeper(steps: Sequence[Step], types: Types) -> Iterator[Step]:
    """Move evenly spaced integers into the loop whose nested loops read their rows."""
    counted = {x.out: x for x in steps if isinstance(x, Compute) and counts_up(x, types)}
    for x in steps:
        if (
            isinstance(x, Loop)
            and x.keeps
            and (names := {a: f"{a}#{x.keeps[0].out}" for a in counted if _reads_rows(x.body, a)})
        ):
            types |= {new: types[a] for a, new in names.items()}
            made = tuple(replace(counted[a], out=new) for a, new in names.items())
            yield replace(x, body=(*made, *_reading(x.body, names)))
        else:
            yield x


def _reads_rows(steps: Sequence[Step], name: str) -> bool:
    """Whether any loop among the steps reads rows of an array."""
    return any(r.source == name for x in all_steps(steps) if isinstance(x, Loop) for r in x.reads)


def _reading(steps: Sequence[Step], names: Mapping[str, str]) -> tuple[Step, ...]:
    """Rename the sequences that loops read.  names: the new names, by the old ones."""

    def read(x: Step) -> Step:
        if not isinstance(x, Loop):
            return x
        return replace(x, reads=tuple(replace(r, source=names.get(r.source, r.source)) for r in x.reads))

    return tuple(rewritten_inside(read(x), lambda body, _: _reading(body, names)) for x in steps)


def _of_last(x: Step) -> bool:
    return isinstance(x, Compute) and guarded(x.op) == Op.make("getitem", index=(-1,))


def readers_of(steps: Sequence[Step], wanted: Collection[str]) -> Mapping[str, Sequence[Step]]:
    """For each name that is not read afterwards, the steps that read it."""
    found: dict[str, list[Step]] = {}
    for x in steps:
        for name in dict.fromkeys(names_read(x)):
            found.setdefault(name, []).append(x)
    return {name: some for name, some in found.items() if name not in wanted}


def first_index(step: Step, name: str) -> object:
    """The index along the first axis of an array that a step reads a part of; None for other steps."""
    if isinstance(step, Compute) and step.op.name == "getitem" and step.args[0] == name not in step.args[1:]:
        index = step.op.options["index"]
        return next(iter(index), None) if isinstance(index, tuple) else None
    return None


def joins_rows(x: Step) -> bool:
    """Whether a step concatenates two arrays along the first axis."""
    joins = isinstance(x, Compute) and x.op.name == "concatenate" and x.op.options["axis"] % x.type.ndim == 0
    return joins and isinstance(x, Compute) and len(x.args) == 2


def _with_rows_that_are_there(steps: Sequence[Step]) -> Iterator[Step]:
    """Remove branches that test whether arrays have rows: in a kernel all arrays have."""
    tests = {x.out for x in steps if isinstance(x, Compute) and x.op.name == "has_rows"}
    plain = {
        x.condition
        for x in steps
        if isinstance(x, Branch) and x.condition in tests and all(isinstance(y, Compute) for y in x.then)
    }
    others = {name for x in steps if not (isinstance(x, Branch) and x.condition in plain) for name in names_read(x)}
    for x in steps:
        if isinstance(x, Branch) and x.condition in plain:
            names = {r.then: r.out for r in x.results}
            made = {y.out for y in x.then if isinstance(y, Compute)}
            if len(names) == len(x.results) and made.issuperset(names):
                for y in x.then:
                    assert isinstance(y, Compute)
                    yield replace(y, out=names.get(y.out, y.out), args=tuple(names.get(a, a) for a in y.args))
                continue
            others.add(x.condition)
            yield x
        elif isinstance(x, Compute) and x.out in plain - others:
            continue
        else:
            yield x


def _without_repeats(steps: Sequence[Step], wanted: Collection[str], types: Types) -> Iterator[Step]:
    """Remove repeated rows, as of a state that a loop does not change, of which only the last one is read."""
    readers, alike, joined = readers_of(steps, wanted), dict[str, str](), dict[str, Compute]()
    for x in steps:
        if not isinstance(x, Compute):
            yield x
        elif x.op.name == "repeat_rows" and _only(readers.get(x.out, ()), x.out, (-1, 0)):
            alike[x.out] = x.args[0]
            yield from _counted(x, "gt", types)
        elif x.op.name == "repeat_rows" and _one_join(readers.get(x.out, ()), x.out, readers):
            joined[x.out] = x
            yield from _counted(x, "ge", types)
        elif joins_rows(x) and x.args[1] in joined:
            same, (some, last, row) = joined[x.args[1]], (f"{x.out}#{part}" for part in ("some", "first", "row"))
            one = TensorType(x.type.dtype, x.type.shape[1:])
            types |= {some: TensorType("bool", ()), last: one, row: one}
            yield Compute(some, Op.make("cast", dtype="bool"), (same.args[1],), types[some])
            yield Compute(last, Op.make("getitem", index=(-1,)), x.args[:1], one)
            yield Compute(row, Op.make("where"), (some, same.args[0], last), one)
            alike[x.out] = row
        elif x.args and x.args[0] in alike:
            index = x.op.options["index"]
            assert isinstance(index, tuple)
            yield replace(x, op=Op.make("getitem", index=index[1:]), args=(alike[x.args[0]], *x.args[1:]))
        else:
            yield x


def _counted(x: Compute, relation: str, types: Types) -> Iterator[Step]:
    """Yield a check of a number of rows: that it is greater than 0 ("gt"), or not negative ("ge")."""
    zero, some = f"{x.out}#zero", f"{x.out}#some"
    types |= dict.fromkeys((zero, some), TensorType("int64", ()))
    op = Op.make("require", relation=relation, error="IndexError", message="there is no row")
    yield Compute(zero, Op.make("subtract"), (x.args[1], x.args[1]), types[zero])
    yield Compute(some, op, (x.args[1], zero), types[some])


def _only(steps: Sequence[Step], name: str, places: tuple[int, ...]) -> bool:
    """Whether all readers take a row of an array, at one of these places."""
    return bool(steps) and all(first_index(x, name) in places for x in steps)


def _one_join(steps: Sequence[Step], name: str, readers: Mapping[str, Sequence[Step]]) -> bool:
    """Whether rows are only joined behind others, and only the last row of that is read."""
    if len(steps) != 1 or not joins_rows(steps[0]):
        return False
    (x,) = steps
    assert isinstance(x, Compute)
    dtype = x.args[1] == name != x.args[0]
    return dtype and _only(readers.get(x.out, ()), x.out, (-1,))


def counts_up(x: Compute, types: Types) -> bool:
    """Whether a step makes evenly spaced integers."""
    return x.op.name == "arange" and x.type.dtype == "int64" and all(types[a].dtype in _INTEGERS for a in x.args)


def counted_by(x: Compute, of: Callable[..., str]) -> tuple[str, str, str]:
    """The names of the first of evenly spaced integers, their spacing, and their number.  of: adds a step."""
    first, last, apart = (of("cast", a, dtype="int64") for a in x.args)
    zero = of("subtract", apart, apart)
    of("require", apart, zero, relation="ne", error="ValueError", message="a step of 0")
    left = of("negative", of("floor_divide", of("subtract", first, last), apart))
    return first, apart, of("maximum", left, zero)


def _evenly(steps: Sequence[Step], types: Types) -> dict[str, tuple[Compute, tuple[tuple[str, str], ...]]]:
    """For each name of evenly spaced integers, the step that makes them, and the additions that shift them."""
    found: dict[str, tuple[Compute, tuple[tuple[str, str], ...]]] = {}
    for x in steps:
        if not isinstance(x, Compute):
            continue
        if counts_up(x, types):
            found[x.out] = x, ()
        elif x.op.name in ("add", "subtract") and x.type == TensorType("int64", (None,)):
            a, b = x.args
            places, by = (b, a) if x.op.name == "add" and b in found else (a, b)
            if places in found and types[by] == TensorType("int64", ()):
                made, moved = found[places]
                found[x.out] = made, (*moved, (x.op.name, by))
    return found


def _as_part(
    x: Step, evenly: Mapping[str, tuple[Compute, tuple[tuple[str, str], ...]]], types: Types
) -> Iterator[Step]:
    """Yield a read at evenly spaced places as a slice, with checks that the places are consecutive and in range."""
    index = x.op.options["index"] if isinstance(x, Compute) and x.op.name == "getitem" else ()
    if not isinstance(x, Compute) or not isinstance(index, tuple) or index.count("array") != 1:
        yield x
        return
    numbers = all(i in ("array", "in") or (isinstance(i, int) and not isinstance(i, bool)) for i in index)
    at = index.index("array")
    before = index[:at].count("in")
    places = x.args[1 + before]
    if not numbers or places not in evenly:
        yield x
        return
    names = iter(range(1000))

    def of(op: str, *args: str, **options: object) -> Compute:
        name = f"{x.out}#e{next(names)}"
        types[name] = TensorType("bool" if op == "equal" else "int64", ())
        return Compute(name, Op.make(op, **options), args, types[name])

    made, moved = evenly[places]
    ends = [of("cast", a, dtype="int64") for a in made.args]
    yield from ends
    first, last, apart = (a.out for a in ends)
    for op, by in moved:
        both = [of(op, first, by), of(op, last, by)]
        yield from both
        first, last = (a.out for a in both)
    zero, true = of("subtract", apart, apart), of("equal", apart, apart)
    one, rows = of("cast", true.out, dtype="int64"), of("shape_i", x.args[0], axis=at)
    yield from (zero, true, one, rows)
    for a, b, relation in ((apart, one.out, "eq"), (first, zero.out, "ge"), (rows.out, last, "ge")):
        yield of("require", a, b, relation=relation, error="IndexError", message=_WHERE)
    end = of("maximum", first, last)  # an end below 0 would count from the end
    yield end
    entries = (*index[:at], ("slice", "in", "in", None), *index[at + 1 :])
    yield replace(
        x, op=Op.make("getitem", index=entries), args=(*x.args[: 1 + before], first, end.out, *x.args[2 + before :])
    )


def where_it_runs(step: Step, idle: Collection[str], types: Types) -> tuple[Step, ...]:
    """Write a number that is computed only if a loop runs as a branch, if the loop may take no step.

    idle: the numbers of steps of such loops.
    """
    op = guarded(step.op) if isinstance(step, Compute) else None
    if op is None or not isinstance(step, Compute) or step.args[0] not in idle or step.type.ndim:
        return (step,)
    runs, then, otherwise = (f"{step.out}#{x}" for x in ("runs", "then", "else"))
    types |= {runs: TensorType("bool", ()), then: step.type, otherwise: step.type}
    side = (
        Compute(then, op, step.args[1:], step.type),
        Compute(otherwise, Op.make("cast", dtype=step.type.dtype), (runs,), step.type),
    )
    return (
        Compute(runs, Op.make("cast", dtype="bool"), step.args[:1], types[runs]),
        Branch(runs, side[:1], side[1:], (Either(step.out, then, otherwise, step.type),)),
    )


def _with_starts_of_extremes(
    steps: Sequence[Step], wanted: Collection[str], new: Collection[str], types: Types
) -> Iterator[Step]:
    """Write extremes of parts that may be empty as branches.  new: the parts that became slices here."""
    readers, parts, gone = readers_of(steps, wanted), {*new}, dict[str, Compute]()
    for x in steps:
        if not isinstance(x, Compute):
            yield x
            continue
        if _is_part(x) or (x.op.spec.ufunc is not None and any(a in parts for a in x.args)):
            parts.add(x.out)
        if x.op.name in _EXTREMES and x.args[0] in parts and not x.type.ndim and _meets(x, readers.get(x.out, ())):
            gone[x.out] = x
        elif len(x.args) == 2 and x.args[1] in gone and x.op.name == _EXTREMES[gone[x.args[1]].op.name]:
            yield from _or_first(x, gone[x.args[1]], types)
        else:
            yield x


def _meets(x: Compute, steps: Sequence[Step]) -> bool:
    """Whether an extreme is that of a fold (`recurrences.py`): of no elements it is the start, not an error."""
    if len(steps) != 1 or not isinstance(steps[0], Compute) or x.out != f"{steps[0].out}#r":
        return False
    return steps[0].op.name == _EXTREMES[x.op.name] and steps[0].args[1] == x.out != steps[0].args[0]


def _is_part(x: Compute) -> bool:
    """Whether a step is x[:i] or x[i:] with a computed i; x[i:j] usually has a fixed length."""
    index = x.op.options["index"] if x.op.name == "getitem" else ()
    return isinstance(index, tuple) and any(isinstance(i, tuple) and i.count("in") == 1 for i in index)


def _or_first(x: Compute, extreme: Compute, types: Types) -> Iterator[Step]:
    """Yield a branch: the extreme of a number and of a part, or, if the part is empty, the number."""
    rows, some, then, first = (f"{x.out}#{part}" for part in ("rows", "some", "then", "first"))
    types |= {rows: TensorType("int64", ()), some: TensorType("bool", ())} | dict.fromkeys((then, first), x.type)
    yield Compute(rows, Op.make("shape_i", axis=0), extreme.args, types[rows])
    yield Compute(some, Op.make("cast", dtype="bool"), (rows,), types[some])
    otherwise = Compute(first, Op.make("cast", dtype=x.type.dtype), x.args[:1], x.type)
    yield Branch(some, (extreme, replace(x, out=then)), (otherwise,), (Either(x.out, then, first, x.type),))
