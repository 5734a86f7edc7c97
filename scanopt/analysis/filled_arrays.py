"""Facts from the text of a program about arrays that loops fill row by row: states of which step t writes row t."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from scanopt.analysis.lengths import KnownLengths
from scanopt.array.op import Op
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form

__all__ = ["written_in_order"]

_ROW = Op.make("expand_dims", axis=(0,))
_LAST = Op.make("getitem", index=(-1,))
_REVERSED = Op.make("getitem", index=(("slice", None, None, -1),))
_FIRST_ROWS = Op.make("getitem", index=(("slice", None, "in", None),))
_COUNT = Op.make("arange", dtype="int64")
_SET = Op.make("setitem", index=("in",), mode="set")
_SET_ENTRY = Op.make("setitem", index=("in", "in"), mode="set")
_SIGNS = {"add": (1, 1), "subtract": (1, -1), "neg": (-1,)}

_Linear = Counter[Hashable]
"""A sum of multiples of lengths, of numbers of steps and of 1, by their keys."""

_ONE = ("number", 1)

Given = Iterator[tuple[str, tuple[Any, ...]]]


def written_in_order(g: Encoded, lengths: Callable[[], KnownLengths]) -> Given:
    """The states that, after all steps of their loop, are the trace of what each step writes, or its reverse."""
    setting = [(i, f) for i, f in g.forms() if f.operator in (_SET, _SET_ENTRY)]
    if not setting:
        return
    filled = _Filled(g, lengths())
    for new, f in setting:
        yield from (filled.by_rows if f.operator == _SET else filled.by_entries)(new, *f.args)


class _Filled:
    """Recognizes in which order steps write to arrays."""

    def __init__(self, g: Encoded, lengths: KnownLengths) -> None:
        self._g, self._lengths = g, lengths

    def by_rows(self, new: int, array: int, row: int, place: int) -> Given:
        """Facts about `new`, an array of which each step sets a row."""
        g, axes = self._g, self._lengths.axes
        start = self._start(array, new)
        if start is None or g.types[row].dtype != g.types[array].dtype:
            return
        before = next((i for i, f in g.forms() if f.kind == "delay" and row in g.states[f.state].updates), row)
        if axes[start] == (self._steps(array), *axes[before]) and (way := self._way(place, array)):
            yield f"written_{way}", (new, row)

    def by_entries(self, new: int, array: int, entry: int, i: int, j: int) -> Given:
        """Facts about `new`, a matrix carried by an outer loop, of which each step of an inner loop sets an entry."""
        g = self._g
        outer = self._start(array, new)
        if outer is None or g.types[entry].dtype != g.types[array].dtype:
            return
        f = self._form(outer)
        updates = g.states[f.state].updates if f.kind == "delay" else ()
        if len(updates) != 1 or not self._is_last(updates[0], new):
            return
        start = self._start(outer, updates[0])
        if start is None or self._lengths.axes[start] != (self._steps(outer), self._steps(array)):
            return
        if self._way(i, outer) == self._way(j, array) == "in_order":
            yield "written_by_entries", (updates[0], self._form(array).clock, entry)

    def _form(self, i: int) -> Form:
        (f,) = self._g.classes[i]
        return f

    def _start(self, array: int, new: int) -> int | None:
        """The initial value of the state that `array` reads one step back, if it becomes `new`; else None."""
        f = self._form(array)
        if f.kind != "delay" or f.k != 1 or self._g.states[f.state].updates != (new,):
            return None
        rows = self._form(f.args[0])
        return rows.args[0] if rows.operator == _ROW else None

    def _steps(self, state: int) -> Hashable:
        """How many steps the loop of a state takes."""
        return self._lengths.values[self._g.clocks[self._form(state).clock].steps]

    def _is_last(self, x: int, v: int) -> bool:
        """Whether x is the last row of the trace of v."""
        f = self._form(x)
        rows = self._form(f.args[0]) if f.operator == _LAST else f
        return rows.kind in ("stack", "tail") and rows.args[0] == v

    def _way(self, place: int, state: int) -> str:
        """The order in which a loop goes through as many places as it takes steps; "" if it is not known."""
        found, step = self._value(place), ("step", self._form(state).clock)
        n = _times(1, self._steps(state))
        last = _sum((1, n), (-1, Counter({_ONE: 1, step: 1})))
        if found in (_times(1, step), _sum((1, _times(1, step)), (-1, n))):
            return "in_order"
        return "backwards" if found in (last, _sum((1, last), (-1, n))) else ""

    def _value(self, i: int) -> _Linear:
        """An integer as a sum of multiples of lengths, numbers of steps and 1."""
        f = self._form(i)
        if self._g.types[i].dtype == "int64":
            if f.kind == "hold":
                return self._value(f.args[0])
            if f.kind == "seq":
                found = self._entry(f.args[0], _times(1, ("step", f.clock)))
                return _times(1, ("value", i)) if found is None else found
            if f.operator is not None and f.operator.name in _SIGNS:
                return _sum(*zip(_SIGNS[f.operator.name], map(self._value, f.args), strict=True))
        return _times(1, self._lengths.values.get(i, ("value", i)))

    def _entry(self, x: int, t: _Linear) -> _Linear | None:
        """Entry t of a vector of integers, None where it is not known."""
        f = self._form(x)
        if f.kind == "hold" or f.operator == _FIRST_ROWS:
            return self._entry(f.args[0], t)
        if f.operator == _REVERSED:
            n = _times(1, self._lengths.axes[f.args[0]][0])
            return self._entry(f.args[0], _sum((1, n), (-1, Counter({_ONE: 1})), (-1, t)))
        if f.operator == _COUNT:
            first, step = self._value(f.args[0]), self._value(f.args[2])
            return _sum((1, first), (step[_ONE], t)) if step.keys() == {_ONE} else None
        if f.operator is not None and f.operator.name in _SIGNS and self._g.types[x].dtype == "int64":
            return self._entry_of_sum(_SIGNS[f.operator.name], f.args, t)
        return None

    def _entry_of_sum(self, signs: tuple[int, ...], args: tuple[int, ...], t: _Linear) -> _Linear | None:
        """Entry t of a sum of one vector and numbers, None where it is not known."""
        types = self._g.types
        if [types[a].ndim for a in args].count(1) != 1:
            return None
        found = ((k, self._entry(a, t) if types[a].ndim else self._value(a)) for k, a in zip(signs, args, strict=True))
        known = [(k, x) for k, x in found if x is not None]
        return _sum(*known) if len(known) == len(args) else None


def _times(k: int, key: Hashable) -> _Linear:
    """k times the value that has this key."""
    match key:
        case ("number", int(n)):
            return Counter({_ONE: k * n} if k * n else {})
        case _:
            return Counter({key: k})


def _sum(*terms: tuple[int, _Linear]) -> _Linear:
    found: _Linear = Counter()
    for k, x in terms:
        for key, n in x.items():
            found[key] += k * n
    return Counter({key: n for key, n in found.items() if n})
