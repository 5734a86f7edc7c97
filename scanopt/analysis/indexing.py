"""Facts from the text of a program about parts of arrays: parts of parts, and which rows a part reads.

Only parts by one integer or slice with fixed bounds are considered.  Claims about two of them are tried for all lengths
up to one beyond which nothing new can happen: bounds count from the start or from the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import islice, product
from typing import Any

from scanopt.analysis.parts_of_elements import taking_parts
from scanopt.array.op import Op
from scanopt.array.operators.parts import rows_left, rows_read
from scanopt.calculus.encoded import Encoded

__all__ = ["arrangements", "entries_taken", "facts_of_parts", "of_two", "operators_of_parts", "parts", "whole_rows"]

Entry = Any  # an integer, or ("slice", start, stop, step)
Row = tuple[str, tuple[Any, ...]]

_MOST = 24
"""The most parts of one program, parts of parts among them, that are compared, unless it takes more itself."""

_JOIN = Op.make("concatenate", axis=0)
_ALL = ("slice", None, None, None)
_EVERY = tuple(("slice", start, None, step) for start in (None, 0) for step in (None, 1))

_FEW = 8
"""Parts of parts that are no parts themselves are left alone if they read more rows than this."""

_COUNTS = 8
"""Parts of joined arrays are compared for this many known numbers of rows, the smallest ones."""

_WIDE = 200
"""Parts with bounds of this size or more are left alone."""


OF_PARTS = ("getitem", "concatenate", "transpose", "expand_dims", "squeeze")
"""The operators that these facts are about."""


def facts_of_parts(counts: Sequence[Row], ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about the parts of arrays that a program takes, and about arrays arranged anew.  counts: of its rows."""
    some = tuple(op for op in ops if op.name in OF_PARTS)
    yield from _facts_of_parts(some)
    found = [*counts, *joined({k for _, (_, k) in counts}, some)]
    yield from found
    yield from whole_rows(x for _, row in found for x in row if isinstance(x, Op))


@lru_cache(maxsize=256)
def _facts_of_parts(ops: tuple[Op, ...]) -> Sequence[Row]:
    found = [*parts(ops)]
    whole = whole_rows(dict.fromkeys([*ops, *(x for _, row in found for x in row if isinstance(x, Op))]))
    taken = (*taking_parts(ops), *entries_taken(ops))
    return (*found, *in_two(ops), *computed_parts(ops), *whole, *arrangements(ops), *taken)


def written_bounds(g: Encoded) -> Iterator[Row]:
    """Facts about the bounds by which the program itself takes parts."""
    for _, f in g.forms():
        if f.operator is not None and f.operator.name == "getitem":
            yield from (("written_bound", (k,)) for k in f.args[1:])


def parts(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about the parts that a program takes, and about parts of parts that are parts, too."""
    known = dict.fromkeys(entry for op in ops if (entry := _entry(op)) is not None)
    most = max(_MOST, len(known))
    tried: set[tuple[Entry, Entry]] = set()
    while new := [p for p in product(known, known) if p not in tried]:
        for outer, inner in new:
            tried.add((outer, inner))
            found = _together(outer, inner)
            if found == _ALL:
                yield "undone", (_op(outer), _op(inner))
            elif found in known or (found is not None and len(known) < most and _narrow(found)):
                known.setdefault(found)
                yield "part_of_part", (_op(outer), _op(inner), _op(found))
    for entry in known:
        yield from _read(entry)
    for outer, inner in product(known, known):
        yield from _read_together(outer, inner)


def arrangements(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about two operators, one after the other, that only rearrange axes."""
    known = list(dict.fromkeys(op for op in ops if op.name in ("transpose", "expand_dims", "squeeze", "getitem")))
    for outer, inner in product(known, known):
        match outer.name, inner.name:
            case "getitem", "transpose" if (part := _before_turning(outer, inner)) is not None:
                yield "part_of_part", (outer, inner, part)
            case "getitem", "expand_dims" if _only_entry(outer) == inner.options["axis"]:
                yield "undone", (outer, inner)
            case "squeeze", "expand_dims" if outer.options["axis"] == inner.options["axis"]:
                yield "undone", (outer, inner)
            case "transpose", "transpose" if len(outer.options["axes"]) == len(inner.options["axes"]):
                axes = tuple(inner.options["axes"][i] for i in outer.options["axes"])
                if axes == tuple(range(len(axes))):
                    yield "undone", (outer, inner)
                else:
                    yield "part_of_part", (outer, inner, Op.make("transpose", axes=axes))
            case _:
                pass


def _before_turning(op: Op, transpose: Op) -> Op | None:
    """The part of an array that op takes of it transposed, where the axes that are left are in order."""
    index, axes = op.options["index"], transpose.options["axes"]
    if len(index) > len(axes) or not all(_basic(entry) and not _given(entry) for entry in index) or "newaxis" in index:
        return None
    entries = dict(zip(axes, (*index, *[_ALL] * (len(axes) - len(index))), strict=True))
    left = [axis for axis in axes if not isinstance(entries[axis], int)]
    taken = max((axis for axis in axes if entries[axis] != _ALL), default=-1)
    if left != sorted(left) or taken < 0:
        return None
    return Op.make("getitem", index=tuple(entries[axis] for axis in range(taken + 1)))


def entries_taken(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about parts that are one entry of one axis."""
    for op in ops:
        if op.name == "getitem":
            index = op.options["index"]
            some = [axis for axis, entry in enumerate(index) if entry != _ALL]
            if len(some) == 1 and isinstance(index[some[0]], int):
                yield "takes_entry", (op, some[0], index[some[0]])
            elif len(some) == 1 and (place := _place_of_one(index[some[0]])) is not None:
                yield "takes_part_of_one", (op, some[0], place)


def _place_of_one(entry: Entry) -> int | None:
    """The place k of a slice [k : k + 1], or -1 for the last entry alone."""
    match entry:
        case ("slice", -1, None, None | 1):
            return -1
        case ("slice", None, 1, None | 1):
            return 0
        case ("slice", int(start), int(stop), None | 1) if 0 <= start == stop - 1:
            return start
        case _:
            return None


def _only_entry(op: Op) -> tuple[int, ...]:
    """The axis of which an index takes the only entry, if the axis has length 1, and all of the others; else none."""
    index = op.options["index"]
    found = tuple(axis for axis, entry in enumerate(index) if entry != _ALL)
    return found if [index[axis] for axis in found] in ([0], [-1]) else ()


def in_two(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about parts by several index entries, taken in two: a part of the rows, and a part of each row."""
    known = [op for op in ops if op.name == "getitem" and all(map(_basic, op.options["index"]))]
    for op in known:
        first, *rest = op.options["index"]
        if rest and first not in (_ALL, "newaxis"):
            rest = rest if first == "in" or isinstance(first, int) else [_ALL, *rest]
            if not any(map(_given, rest)):
                yield "in_two", (op, _parts_of(rest), _op(first))
            elif not _given(first):
                yield "rows_before", (op, _parts_of(rest), _op(first))
    for outer, inner in product(known, known):
        (first, *more), (all_rows, *rest) = outer.options["index"], inner.options["index"]
        if not more and rest and all_rows == _ALL and first != "newaxis" and not any(map(_given, rest)):
            later = rest if first == "in" or isinstance(first, int) else [_ALL, *rest]
            yield "rows_first", (outer, inner, _parts_of(later))


def _basic(entry: Entry) -> bool:
    return isinstance(entry, int | tuple) or entry in ("in", "newaxis")


def _given(entry: Entry) -> bool:
    """Whether an index entry has bounds that are arguments of the operator."""
    return entry == "in" or (isinstance(entry, tuple) and "in" in entry)


def _parts_of(entries: Iterable[Entry]) -> Op:
    return Op.make("getitem", index=tuple(entries))


def whole_rows(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about parts that are one row, those that are all rows, and those that are all rows of an array of one."""
    for op in ops:
        if op.name == "getitem" and len(op.options["index"]) == 1:
            (entry,) = op.options["index"]
            if entry == "in" or isinstance(entry, int):
                yield "takes_a_row", (op,)
            elif entry in _EVERY:
                yield "takes_all", (op,)
            elif _entry(op) is not None and _taken(range(1), entry) == range(1):
                yield "takes_one", (op,)


def counts_of_rows(g: Encoded) -> Iterator[Row]:
    """Facts about arrays that a program concatenates: those with a known number of rows."""
    for a in [a for _, f in g.forms() if f.operator == _JOIN for a in f.args]:
        if (k := g.types[a].shape[0]) is not None and 0 < k < _WIDE:
            yield "count_of_rows", (a, k)


def joined(counts: Set[int], ops: Collection[Op]) -> Iterator[Row]:
    """Facts about parts of two arrays that are concatenated, one of which has one of these numbers of rows, or one."""
    if counts - {1} or _JOIN in ops:
        entries = dict.fromkeys(entry for op in ops if (entry := _entry(op)) is not None)
        for entry, k in product(entries, sorted({1, *counts})[:_COUNTS]):
            yield from of_two(entry, k)


@lru_cache(maxsize=4096)
def of_two(entry: Entry, k: int) -> tuple[Row, ...]:
    """Facts about a part of an array that is a part of its first or last k rows, or of all others."""
    found: list[Row] = []
    for name, rows in (
        ("in_first", ("slice", None, k, None)), ("past_first", ("slice", k, None, None)),
        ("in_last", ("slice", -k, None, None)), ("past_last", ("slice", None, -k, None)),
    ):  # fmt: skip
        for g in _within(entry, k):
            lengths = map(range, range(k, k + _enough(entry, rows)))
            if all(_taken(_taken(x, rows), g) == _taken(x, entry) for x in lengths):
                found.append((name, (_op(entry), k, _op(g))))
                break
    return tuple(found)


def _within(entry: Entry, k: int) -> Iterator[Entry]:
    """Candidates for a part of the k rows, or of the others, that is the same as a part of all rows."""
    if isinstance(entry, int):
        yield from (entry, entry - k, entry + k)
        return
    _, start, stop, step = entry
    for first, last in product(_moved(start, k), _moved(stop, k)):
        yield ("slice", 0 if first is None and last is None and step is None else first, last, step)


def _moved(bound: int | None, k: int) -> tuple[int | None, ...]:
    return (None,) if bound is None else tuple(dict.fromkeys((bound, bound - k, bound + k, None)))


def computed_parts(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about parts by computed bounds: how many rows of a trace they need."""
    for op in ops:
        if (entry := _computed(op)) is None:
            continue
        yield "reads_rows", (op, rows_read(entry, False), rows_left(entry, False))
        if entry == "in":
            yield "takes_row", (op, rows_read(entry, True))
        elif entry[3] in (None, 1):
            yield "takes_rows", (op, rows_read(entry, True), rows_left(entry, True))


@lru_cache(maxsize=256)
def operators_of_parts(ops: tuple[Op, ...]) -> Sequence[Op]:
    """The operators into which these parts are taken in two, and those that count the rows that they need."""
    made = [op for _, row in in_two(ops) for op in row[1:]]
    taking, turning = ([op for op in dict.fromkeys(ops) if op.name == name] for name in ("getitem", "transpose"))
    made += [part for pair in product(taking, turning) if (part := _before_turning(*pair)) is not None]
    if _JOIN in ops:
        made += [g for op in ops if (entry := _entry(op)) is not None for _, (_, _, g) in of_two(entry, 1)]
    entries = (entry for op in (*ops, *made) if (entry := _computed(op)) is not None)
    return [*made] + [
        count(entry, exact) for entry in entries for count in (rows_read, rows_left) for exact in (False, True)
    ]


def _computed(op: Op) -> Entry | None:
    """The entry of a part by computed bounds, in steps forwards, of the first axis alone."""
    if op.name != "getitem" or len(op.options["index"]) != 1:
        return None
    match op.options["index"][0]:
        case "in":
            return "in"
        case ("slice", start, stop, step) as entry if "in" in (start, stop) and (step is None or _positive(step)):
            return entry
        case _:
            return None


def _positive(step: Any) -> bool:
    return isinstance(step, int) and step > 0


@lru_cache(maxsize=4096)
def _read(entry: Entry) -> tuple[Row, ...]:
    """Facts about the first or last rows that contain all rows of a part."""
    return () if isinstance(entry, int) else tuple(_rows_read(entry))


def _rows_read(entry: Entry) -> Iterator[Row]:
    _, start, stop, step = entry
    counts = sorted({abs(b) + more for b in (start, stop) if b is not None for more in (-1, 0, 1)} - {-1, 0})
    rest = [("slice", *bounds, step) for bounds in ((None, None), (None, stop), (start, None), (start, stop))]
    if not start and step in (None, 1):
        if stop is not None and stop > 0:
            yield "takes_first", (_op(entry), stop)
    elif (k := next((k for k in counts if _equal(entry, _first(k), entry)), None)) is not None:
        yield "reads_first", (_op(entry), k)
    if stop is not None or step not in (None, 1):
        found = ((k, g) for k in counts for g in rest if _equal(g, ("slice", -k, None, None), entry))
        yield from (("reads_last", (_op(entry), k, _op(g))) for k, g in islice(found, 1))


@lru_cache(maxsize=4096)
def _read_together(outer: Entry, inner: Entry) -> tuple[Row, ...]:
    """The same for a part of a part that is not one part, like [1:][-1]: of an array of one row it is an error."""
    if isinstance(inner, int) or _together(outer, inner) is not None:
        return ()
    most = sum(abs(b) for e in (outer, inner) for b in ((e,) if isinstance(e, int) else e[1:]) if b is not None)
    counts = (k for k in range(1, min(most, _FEW) + 1) if _in_last(outer, inner, k))
    return tuple(("reads_last_of", (_op(outer), _op(inner), k)) for k in islice(counts, 1))


def _in_last(outer: Entry, inner: Entry, k: int) -> bool:
    """Whether a part of a part of the last k rows equals that of all rows, for all lengths."""
    last = ("slice", -k, None, None)
    lengths = map(range, range(k + 1, _enough(outer, inner, last)))
    return all(_taken(_taken(_taken(x, last), inner), outer) == _taken(_taken(x, inner), outer) for x in lengths)


def _first(k: int) -> Entry:
    """The first k rows."""
    return ("slice", None, k, None)


def _entry(op: Op) -> Entry | None:
    if op.name != "getitem" or len(op.options["index"]) != 1:
        return None
    match op.options["index"][0]:
        case int() as k:
            return k if _narrow(k) else None
        case ("slice", *bounds) if all(b is None or isinstance(b, int) for b in bounds):
            entry = ("slice", *bounds)
            return entry if bounds[2] != 0 and _narrow(entry) else None
        case _:
            return None


def _narrow(entry: Entry) -> bool:
    """Whether its bounds and its step are small."""
    return all(b is None or abs(b) < _WIDE for b in ((entry,) if isinstance(entry, int) else entry[1:]))


@lru_cache(maxsize=4096)
def _op(entry: Entry) -> Op:
    return Op.make("getitem", index=(entry,))


@lru_cache(maxsize=4096)
def _together(outer: Entry, inner: Entry) -> Entry | None:
    """The part that equals a part of a part for all lengths; None if there is none."""
    if isinstance(inner, int):
        return None
    n = 8 * _enough(outer, inner)
    found = _candidate(_taken(_taken(range(n), inner), outer), n)
    return found if found is not None and _equal(outer, inner, found) else None


def _equal(outer: Entry, inner: Entry, entry: Entry) -> bool:
    """Whether the part `outer` of the part `inner` equals the part `entry`, for all lengths."""
    lengths = map(range, range(_enough(outer, inner)))
    return all(_taken(_taken(rows, inner), outer) == _taken(rows, entry) for rows in lengths)


def _enough(*entries: Entry) -> int:
    """A length beyond all that their bounds could count to."""
    bounds = [b for e in entries for b in ((e,) if isinstance(e, int) else e[1:]) if b is not None]
    return 2 * sum(abs(int(b)) for b in bounds) + 8


def _taken(rows: range | int, entry: Entry) -> range | int:
    """The rows that an entry takes of `rows`; -1 for a row that does not exist."""
    if isinstance(rows, int):
        return rows
    if isinstance(entry, int):
        return rows[entry] if -len(rows) <= entry < len(rows) else -1
    return rows[slice(*entry[1:])]


def _candidate(taken: range | int, n: int) -> Entry | None:
    """The part of n rows that has been taken, if it is one of fixed bounds."""

    def bound(i: int, after_last: bool = False) -> int | None:
        if after_last and i in (-1, n):
            return None
        return i if i < n // 2 else i - n

    if isinstance(taken, int):
        return bound(taken)
    if not len(taken):
        return ("slice", None, 0, None)
    step = taken.step if len(taken) > 1 else 1
    first, end = taken[0], taken[-1] + (1 if step > 0 else -1)
    start = None if first == (0 if step > 0 else n - 1) else bound(first)
    return ("slice", start, bound(end, after_last=True), None if step == 1 else step)
