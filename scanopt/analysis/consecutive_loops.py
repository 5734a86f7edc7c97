"""Facts from the text of a program about loops in parts: a loop and what goes on where it ended, a loop or a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scanopt.array.op import Op
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form

__all__ = ["LAST", "WITHOUT_LAST", "loops_in_parts", "steps_after"]

Fact = tuple[str, tuple[Any, ...]]

_JOIN = Op.make("concatenate", axis=0)
_ROW = Op.make("expand_dims", axis=(0,))
_FIRST, LAST = Op.make("getitem", index=(0,)), Op.make("getitem", index=(-1,))
_MOST_ROWS = 10
"""A state that goes on may start from fewer rows than this."""
_MOST_TRIES = 10_000
"""The most ways to pair operands that are tried for two values."""
_DEEPEST = 100
"""The greatest depth of operators to which two values are compared."""
_FIRST_ROWS = Op.make("getitem", index=(("slice", None, "in", None),))
_WITHOUT_FIRST = Op.make("getitem", index=(("slice", 1, None, None),))
WITHOUT_LAST = Op.make("getitem", index=(("slice", None, -1, None),))


def loops_in_parts(g: Encoded) -> Iterator[Fact]:
    """Facts about what the program joins: the traces of two loops, or that of a loop and one row, computed alike.

    They are read off the text alone, so the loops that laws make of such parts are not parts of longer ones.
    """
    facts: dict[Fact, None] = {}
    for name, loop, v, rest, w in _candidates(g):
        pairs = loop.alike(v, w)
        if pairs is not None:
            facts[name, (loop.c, v, *rest, w)] = None
            facts.update(((loop.name, (loop.c, a, *rest, b)), None) for a, b in pairs)
    for c, v, w in g.last_steps:
        facts.update((("step_after_alike", (c, a, b)), None) for a, b in _StepAfter(g, c).alike(v, w) or ())
    yield from facts


def steps_after(g: Encoded) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Per row that the program joins behind the trace of a loop: the loop, and the values that both compute alike."""
    for name, loop, v, _, w in _candidates(g):
        if name == "followed_by" and (pairs := loop.alike(v, w)) is not None:
            yield loop.c, pairs


def _candidates(g: Encoded) -> Iterator[tuple[str, _Part, int, tuple[int, ...], int]]:
    """Parts that may be one loop: the fact, the parts, a value of the loop, the other loop if any, and its value."""
    for _, f in g.forms():
        if f.kind == "delay" and (end := _end(g, f)) is not None and _level(g, end) == _level(g, f):
            for w in g.states[f.state].updates:
                yield "goes_on", _TwoLoops(g, end.clock, f.clock), end.args[0], (f.clock,), w
        if f.operator == _JOIN and len(f.args) == 2:
            first, rest = (g.classes[a][0] for a in f.args)
            if first.kind == rest.kind == "stack":
                if _level(g, first) == _level(g, rest):
                    loop = _TwoLoops(g, first.clock, rest.clock)
                    yield "joined", loop, first.args[0], (rest.clock,), rest.args[0]
            elif first.kind == "stack" and rest.operator == _ROW:
                yield "followed_by", _StepAfter(g, first.clock), first.args[0], (), rest.args[0]
            elif rest.kind == "stack" and first.operator == _ROW:
                yield "preceded_by", _StepBefore(g, rest.clock), rest.args[0], (), first.args[0]


def _level(g: Encoded, f: Form) -> int:
    return g.clocks[f.clock].level


def _end(g: Encoded, delay: Form) -> Form | None:
    """The trace from whose last row, or last rows, a state starts, if there is one."""
    row = _of(g, delay.args[0], _ROW)
    return _last_rows(g, delay) if row is None else _trace(g, row) if delay.k == 1 else None


def _last_rows(g: Encoded, delay: Form) -> Form | None:
    """The trace whose last rows, no fewer than a delay reads, are those that it starts from: S[-n:][:n]."""
    for n in range(delay.k, _MOST_ROWS):
        f = g.classes[delay.args[0]][0]
        while f.operator == _slice(None, n):
            f = g.classes[f.args[0]][0]
        if f.operator == _slice(-n, None):
            trace = g.classes[f.args[0]][0]
            return trace if trace.kind == "stack" else None
    return None


def _slice(start: int | str | None, stop: int | str | None) -> Op:
    return Op.make("getitem", index=(("slice", start, stop, None),))


def _trace(g: Encoded, last: int) -> Form | None:
    """The trace whose last row a term is, if it is one."""
    trace = _of(g, last, LAST)
    return None if trace is None or g.classes[trace][0].kind != "stack" else g.classes[trace][0]


def _of(g: Encoded, i: int, op: Op) -> int | None:
    """The argument x of term i, if i is op(x)."""
    f = g.classes[i][0]
    return f.args[0] if f.operator == op and len(f.args) == 1 else None


def _array(g: Encoded, X: int) -> int:
    """The array that a sequence reads: X or, if X is cut to as many rows as a loop has steps, what it is cut from."""
    f = g.classes[X][0]
    return f.args[0] if f.operator == _FIRST_ROWS else X


class _Part:
    """A loop c, and a loop or step directly after or before it.  name: of the fact about values computed alike."""

    name: str

    def __init__(self, g: Encoded, c: int) -> None:
        self.g, self.c = g, c

    def alike(self, v: int, w: int) -> list[tuple[int, int]] | None:
        """If v and w are computed alike, that pair and the pairs of values that they are computed from; else None."""
        pairs: dict[tuple[int, int], None] = {}
        self._tries = _MOST_TRIES
        return [*pairs] if self._add((v, w), pairs) else None

    def _add(self, pair: tuple[int, int], pairs: dict[tuple[int, int], None], depth: int = 0) -> bool:
        """Add a pair, and the pairs it is computed from, if they are alike given all pairs so far; return whether."""
        if pair in pairs or depth > _DEEPEST:
            return pair in pairs
        count = len(pairs)
        pairs[pair] = None
        for more in self._made_of(*pair):
            self._tries -= 1
            if self._tries > 0 and all(self._add(p, pairs, depth + 1) for p in more):
                return True
            for p in [*pairs][count + 1 :]:
                del pairs[p]
        del pairs[pair]
        return False

    def _made_of(self, v: int, w: int) -> Iterator[list[tuple[int, int]]]:
        """The pairs of operands that have to be alike for two values to be so: a list for each way to pair them."""
        a, b = self.g.classes[v][0], self.g.classes[w][0]
        if a.kind == "apply":
            if (a.operator, len(a.args)) == (b.operator, len(b.args)):
                yield [*zip(a.args, b.args, strict=True)]
                if self._commutes(a, b):
                    yield [*zip(a.args, reversed(b.args), strict=True)]
        elif a.clock == self.c and self.g.types[v].ndim == self.g.types[w].ndim:
            if a.kind == "delay":
                more = self.states(a, w)
                yield from [] if more is None else [more]
            elif self.held(a.args[0], w) if a.kind == "hold" else a.kind == "seq" and self.rows(a.args[0], w):
                yield []

    def _commutes(self, *forms: Form) -> bool:
        """Whether the operands of two arguments, all of one dtype, may be swapped."""
        op, dtypes = forms[0].operator, {self.g.types[x].dtype for f in forms for x in f.args}
        if not isinstance(op, Op) or len(forms[0].args) != 2 or len(dtypes) > 1:
            return False
        return op.spec.traits.holds("commutative", *dtypes)

    def held(self, x: int, w: int) -> bool:
        """Whether w is x, which the loop holds."""
        return x == w

    def rows(self, X: int, w: int) -> bool:
        """Whether w reads the rows of an array that come after, or before, its rows X."""
        raise NotImplementedError

    def states(self, state: Form, w: int) -> list[tuple[int, int]] | None:
        """The pairs of updates that have to be alike, if w is the state after, or before, this loop; else None."""
        raise NotImplementedError

    def _updates(self, state: Form) -> tuple[int, ...]:
        return self.g.states[state.state].updates


class _TwoLoops(_Part):
    """A loop c, and a loop d that goes on where it ended."""

    name = "goes_on_alike"

    def __init__(self, g: Encoded, c: int, d: int) -> None:
        super().__init__(g, c)
        self.d = d

    def _on_other(self, w: int, kind: str) -> Form | None:
        f = self.g.classes[w][0]
        return f if f.kind == kind and f.clock == self.d else None

    def held(self, x: int, w: int) -> bool:
        """Whether both hold x."""
        f = self._on_other(w, "hold")
        return f is not None and f.args == (x,)

    def rows(self, X: int, w: int) -> bool:
        """Whether both read rows of one array, in which those of d follow those of c."""
        f = self._on_other(w, "seq")
        if f is None:
            return False
        pairs = (X, f.args[0]), (_array(self.g, X), _array(self.g, f.args[0]))
        return any(self._in_turn(self.g.classes[a][0], self.g.classes[b][0]) for a, b in pairs)

    def _in_turn(self, first: Form, rest: Form) -> bool:
        """Whether one form is some rows of an array, and the other one all rows after these."""
        if first.args != rest.args or not isinstance(rest.operator, Op) or rest.operator.name != "getitem":
            return False
        index = rest.operator.options["index"]
        if len(index) != 1 or not isinstance(index[0], tuple) or index[0][2:] != (None, None):
            return False
        return first.operator == _slice(None, index[0][1])

    def states(self, state: Form, w: int) -> list[tuple[int, int]] | None:
        """The pairs of updates, if w is a state of d that starts where that of c ended; else None."""
        f = self._on_other(w, "delay")
        trace = None if f is None or f.k != state.k else _end(self.g, f)
        if f is None or trace is None or (trace.clock, trace.args) != (self.c, self._updates(state)):
            return None
        return [*zip(self._updates(state), self._updates(f), strict=True)]


class _StepAfter(_Part):
    """A loop c, and one more step."""

    name = "step_after_alike"

    def rows(self, X: int, w: int) -> bool:
        """Whether the step reads the last row of an array, and the loop those before it."""
        array = _of(self.g, X, WITHOUT_LAST)
        return array is not None and array == _of(self.g, w, LAST)

    def states(self, state: Form, w: int) -> list[tuple[int, int]] | None:
        """No pairs, if the step reads the last value of the state: its update is in the result alone; else None."""
        trace = _trace(self.g, w)
        found = trace is not None and (trace.clock, trace.args) == (self.c, self._updates(state))
        return [] if found and state.k == 1 else None


class _StepBefore(_Part):
    """One step, and a loop c that goes on from there."""

    name = "step_before_alike"

    def rows(self, X: int, w: int) -> bool:
        """Whether the step reads the first row of an array, and the loop those after it."""
        array = _of(self.g, _array(self.g, X), _WITHOUT_FIRST)
        return array is not None and array == _of(self.g, w, _FIRST)

    def states(self, state: Form, w: int) -> list[tuple[int, int]] | None:
        """The pairs of each update with the row where the loop starts, which the step has to make of w; else None."""
        first = _of(self.g, state.args[0], _ROW)
        return None if first is None or state.k != 1 else [(u, first) for u in self._updates(state)]
