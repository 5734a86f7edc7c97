"""Lengths of axes, as far as they follow from the text of a program, traced to their origins.

Each length has a key: axes with the same key have the same length, whatever the values of the inputs are.  The shape
rules of operators are not repeated here but tried, on lengths that are all different, all 0, all 1, and all different
but for one that is 1.  A minimum of some lengths, like the number of rows that a loop over several sequences reads of
each, has a key that says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import combinations
from math import isqrt
from typing import NamedTuple

import numpy as np

from scanopt.array.abstract import cannot_raise
from scanopt.array.op import Op, Operand
from scanopt.array.types import Dim
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form
from scanopt.records import dataclass

__all__ = ["KnownLengths", "changing", "known_lengths"]

Keys = tuple[Hashable, ...]


@dataclass(frozen=True)
class KnownLengths:
    """What is known of the lengths of a program's terms.

    axes: a key for each axis of a term.  values: a key for the value of each scalar term.  fitting: the operators
    whose arguments have shapes that fit, whatever the inputs are.  harmless: those that cannot raise.
    """

    axes: dict[int, Keys] = field(default_factory=dict[int, Keys])
    values: dict[int, Hashable] = field(default_factory=dict[int, Hashable])
    fitting: set[int] = field(default_factory=set[int])
    harmless: set[int] = field(default_factory=set[int])


def known_lengths(g: Encoded, raised: bool = False) -> KnownLengths:
    """The lengths of all terms of a program as it was written.

    raised: whether each step that would change the shape of a state raises, so that no state changes its shape.
    """
    out = KnownLengths()
    states = {u: i for i, f in g.forms() if f.kind == "delay" for u in g.states[f.state].updates[:1]}
    before = states if raised else {}
    for i, f in g.forms():
        if not g.types[i].ndim:
            out.values[i] = _value(g, i, f, out)
        found = _axes(g, i, f, out, states)
        found = out.axes.get(before.get(i, -1), found)
        own: Keys = tuple(("axis", i, k) for k in range(g.types[i].ndim))
        out.axes[i] = tuple(
            ("number", n) if n is not None else key
            for n, key in zip(g.types[i].shape, own if found is None else found, strict=True)
        )
    return out


def changing(g: Encoded, known: KnownLengths) -> set[int]:
    """The states that may change their shape from step to step: all others keep it, as long as these do."""
    axes = known.axes
    states = ((i, f.state, g.states[f.state].updates[0]) for i, f in g.forms() if f.kind == "delay")
    return {state for i, state, update in states if axes[update] != axes[i]}


def _value(g: Encoded, i: int, f: Form, known: KnownLengths) -> Hashable:
    op = f.operator
    if f.kind == "const" and g.types[i].dtype.startswith(("int", "uint")):
        return "number", int(g.consts[f.key])
    if f.kind == "hold":
        return known.values[f.args[0]]
    if isinstance(op, Op) and op.name == "shape_i":
        return known.axes[f.args[0]][int(op.options["axis"])]
    if isinstance(op, Op) and op.name in ("minimum", "maximum", "chunk_count") and g.types[i].dtype == "int64":
        keys = [known.values[j] for j in f.args]
        if op.name == "chunk_count":
            return _chunks(op, keys[0]) if _is_length(keys[0]) else ("value", i)
        if keys[0] == keys[1]:
            return keys[0]
        if op.name == "minimum":
            return _least(keys)
        return ("count", i) if any(_is_length(key) and (_number(key) or 0) >= 0 for key in keys) else ("value", i)
    return "value", i


def _axes(g: Encoded, i: int, f: Form, known: KnownLengths, states: Mapping[int, int]) -> Keys | None:
    """Keys for the axes of a term, None where nothing is known.  states: by their updates."""
    match f.kind:
        case "hold":
            return known.axes[f.args[0]]
        case "seq" | "delay":  # a state keeps the shape of its initial rows
            return known.axes[f.args[0]][1:]
        case "stack" | "tail":  # the rows of a trace of a state have its shape, or the loop has raised
            each = known.axes.get(states.get(f.args[0], -1), known.axes[f.args[0]])
            whole = f.kind == "stack" and not g.clocks[f.clock].until
            return (known.values[g.clocks[f.clock].steps] if whole else ("axis", i, 0), *each)
        case "apply" if f.operator == _COUNT and (n := _counted_down(g, f, known)) is not None:
            return (n,)
        case "apply" if isinstance(f.operator, Op) and f.operator.name == "in_chunks":
            (rows, *rest), own = known.axes[f.args[0]], ("axis", i, 1)
            return (_chunks(f.operator, rows), own, *rest)
        case "apply" if isinstance(f.operator, Op):
            return _tried(g, i, f, f.operator, known)
        case _:
            return None


_COUNT, _SUBTRACT = Op.make("arange", dtype="int64"), Op.make("subtract")


def _counted_down(g: Encoded, f: Form, known: KnownLengths) -> Hashable | None:
    """The length n of the array n-1, n-2, ... 0, if n is a length; other ways to write the array are not looked at."""
    first, (down, end) = g.classes[f.args[0]][0], (known.values[i] for i in f.args[:0:-1])
    if (down, end) != (("number", -1), ("number", -1)) or first.operator != _SUBTRACT:
        return None
    n, one = (known.values[i] for i in first.args)
    return n if one == ("number", 1) and _is_length(n) else None


# Shape rules, tried

_ROOTS = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
_DIFFERENT = tuple(isqrt(p * 10**26) for p in _ROOTS)
"""No sum or difference of a few of these lengths, roots of primes, is near another one."""

_NEAR = 10_000
"""A result that is one of them minus less than this is that length minus a fixed number; one below this is fixed."""


class _Slot(NamedTuple):
    """The k-th of the lengths on which a shape rule is tried, minus `less`."""

    k: int
    less: int = 0


class _Least(NamedTuple):
    """The least of some lengths."""

    of: frozenset[int | _Slot]


_Entry = int | _Slot | _Least
"""A length that is known, or one of those that are tried."""

_MOST_PAIRS = 6
"""A result is tried as the least of any two lengths only if there are at most this many."""


class _Argument(NamedTuple):
    """An argument of a shape rule.  value: that of a scalar, where it is a length or a number."""

    dtype: str
    axes: tuple[_Entry, ...]
    value: _Entry | None


def _tried(g: Encoded, i: int, f: Form, op: Op, known: KnownLengths) -> Keys | None:
    """The result of an operator's shape rule for lengths of which only equality is known."""
    slots: dict[Hashable, _Slot] = {}

    def single(key: Hashable) -> int | _Slot:
        n = _number(key)
        return slots.setdefault(key, _Slot(len(slots))) if n is None else n

    def entry(key: Hashable) -> _Entry:
        return _Least(frozenset(map(single, sorted(some, key=repr)))) if (some := _some(key)) else single(key)

    def argument(a: int) -> _Argument:
        dtype, value = g.types[a].dtype, known.values.get(a)
        length = _is_length(value) and dtype == "int64"
        return _Argument(dtype, tuple(map(entry, known.axes[a])), entry(value) if length else None)

    args = tuple(argument(a) for a in f.args)
    if len(slots) > len(_DIFFERENT):
        return None
    found, fits = _rule(op, args, len(slots))
    if fits:
        known.fitting.add(i)
        if _never_raises(op, args, len(slots)):
            known.harmless.add(i)
    return found and tuple(_key(x, [*slots], ("axis", i, k)) for k, x in enumerate(found))


@lru_cache(maxsize=10_000)
def _rule(op: Op, args: tuple[_Argument, ...], slots: int) -> tuple[tuple[_Entry | None, ...] | None, bool]:
    """The axes of the result, None where it is not known, and whether the arguments fit whatever the lengths are."""
    few = [s for s in (_shape(op, args, [n] * slots) for n in (0, 1)) if s is not None]
    rising = _DIFFERENT[:slots]
    found = [_result(op, args, lengths, few) for lengths in (rising, rising[::-1])]
    (one, other), fits = found, len(few) == 2
    if one is None or other is None:
        return None, False
    # The least or the greatest of some lengths is another one of them if they are tried in another order.
    same = [x if x == y else None for x, y in zip(one, other, strict=True)]
    if None in same and (slots > 1 or any(isinstance(x, _Least) for x in _entries(args))):
        same = [_least_of_some(op, args, slots, k) if x is None else x for k, x in enumerate(same)]
    for lengths in _with_one(rising) if slots > 1 else ():  # of length 1: may be stretched to another
        shape = _shape(op, args, lengths)
        if shape is not None:
            same = [x if x is None or _made(x, lengths) == n else None for x, n in zip(same, shape, strict=True)]
    return tuple(same), fits


def _with_one(lengths: Sequence[int]) -> Iterable[list[int]]:
    """The same lengths, one of which is 1."""
    return ([*lengths[:i], 1, *lengths[i + 1 :]] for i in range(len(lengths)))


def _made(x: _Entry, lengths: Sequence[int]) -> int:
    """The length that an axis of a result has for these lengths."""
    n = _tried_number(x, lengths)
    return max(n - x.less, 0) if isinstance(x, _Slot) else n


def _entries(args: Sequence[_Argument]) -> list[_Entry]:
    """The lengths and numbers that a shape rule is given."""
    found = [x for a in args for x in (*a.axes, *(() if a.value is None else (a.value,)))]
    return list(dict.fromkeys(found))


def _least_of_some(op: Op, args: Sequence[_Argument], slots: int, k: int) -> _Least | None:
    """The lengths of which axis k of the result is the least in all trials, also with one of them 0; else None."""
    given = _entries(args)
    candidates = [x for x in given if isinstance(x, _Least)]
    if len(given) <= _MOST_PAIRS:
        candidates += [_Least(_members(x) | _members(y)) for x, y in combinations(given, 2)]
    rising = _DIFFERENT[:slots]
    trials = [rising, rising[::-1], *([n] * slots for n in (0, 1))]
    trials += [[*order[:i], 0, *order[i + 1 :]] for order in (rising, rising[::-1]) for i in range(slots)]
    found = [(lengths, shape[k]) for lengths in trials if (shape := _shape(op, args, lengths)) is not None]
    fits = (c for c in candidates if all(n == _tried_number(c, lengths) for lengths, n in found))
    return next(fits, None)


def _members(x: _Entry) -> frozenset[int | _Slot]:
    return x.of if isinstance(x, _Least) else frozenset([x])


def _result(
    op: Op, args: Sequence[_Argument], lengths: Sequence[int], few: Sequence[tuple[Dim, ...]]
) -> tuple[_Entry | None, ...] | None:
    """What the axes of the result are for these lengths, None where the arguments do not fit."""
    found = _shape(op, args, lengths)
    if found is None:
        return None
    if any(len(s) != len(found) for s in few) or len(few) < 2:
        return (None,) * len(found)
    return tuple(_recognized(n, lengths, [s[k] for s in few]) for k, n in enumerate(found))


def _shape(op: Op, args: Sequence[_Argument], lengths: Sequence[int]) -> tuple[Dim, ...] | None:
    """The shape of a result for these lengths, None where the arguments do not fit."""
    try:
        return op.idle(*_operands(args, lengths)).shape
    except (TypeError, ValueError, IndexError, OverflowError, ArithmeticError):
        return None


@lru_cache(maxsize=10_000)
def _never_raises(op: Op, args: tuple[_Argument, ...], slots: int) -> bool:
    """Whether an operator whose arguments fit cannot raise whatever the lengths are."""
    different = _DIFFERENT[:slots]
    trials = (different, different[::-1], [0] * slots, [1] * slots)
    return not op.can_raise or all(cannot_raise(op, _operands(args, lengths)) for lengths in trials)


def _operands(args: Sequence[_Argument], lengths: Sequence[int]) -> list[Operand]:
    """The arguments for these lengths."""
    found = []
    for a in args:
        value = None if a.value is None else np.array(_tried_number(a.value, lengths), a.dtype)
        found.append(Operand(a.dtype, tuple(_tried_number(x, lengths) for x in a.axes), value))
    return found


def _tried_number(x: _Entry, lengths: Sequence[int]) -> int:
    match x:
        case int():
            return x
        case _Slot(k):
            return lengths[k]
        case _Least(of):
            return min(_tried_number(y, lengths) for y in of)


def _number(key: Hashable) -> int | None:
    match key:
        case ("number", int() as n):
            return n
        case _:
            return None


def _is_length(value: Hashable) -> bool:
    """Whether a scalar is known to be a number or the length of some axis."""
    match value:
        case None | ("value", _):
            return False
        case ("least", frozenset() as some):
            return all(map(_is_length, some))
        case _:
            return True


def _recognized(n: Dim, lengths: Sequence[int], few: Sequence[Dim]) -> _Entry | None:
    """What a length n in a result is in terms of the lengths tried: all different, and (`few`) all 0 and all 1."""
    if n is None:
        return None
    if n < _NEAR:
        return n if [*few] == [n, n] else None
    for k, length in enumerate(lengths):
        less = length - n
        if 0 <= less < _NEAR and [*few] == [0, max(1 - less, 0)]:
            return _Slot(k, less)
    return None


def _key(x: _Entry | None, slots: Sequence[Hashable], own: Hashable) -> Hashable:
    """The key of a length that a shape rule gives."""
    match x:
        case int():
            return "number", x
        case _Slot(k, less):
            return _less(slots[k], less)
        case _Least(of):
            return _least([_key(y, slots, own) for y in of])
        case None:
            return own


def _less(length: Hashable, k: int) -> Hashable:
    """max(length - k, 0)."""
    match length:
        case ("less", rest, int() as j):
            return "less", rest, j + k
        case _:
            return ("less", length, k) if k else length


def _some(key: Hashable) -> frozenset[Hashable]:
    """The keys of which a key is the least one."""
    match key:
        case ("least", frozenset() as some):
            return some
        case _:
            return frozenset()


def _least(keys: Iterable[Hashable]) -> Hashable:
    """The key of the minimum of some lengths."""
    some = {x for key in keys for x in _some(key) or (key,)}
    numbers = {n for x in some if (n := _number(x)) is not None}
    rest = {x for x in some if _number(x) is None}
    if numbers and min(numbers) <= 0 and all(map(_is_length, rest)):
        return "number", min(numbers)
    left = rest | {("number", min(numbers))} if numbers else rest
    return ("least", frozenset(left)) if len(left) > 1 else next(iter(left))


def _chunks(op: Op, rows: Hashable) -> Hashable:
    """The key of the number of chunks that these rows make."""
    return "chunks", op.options["size"], rows
