"""A random program as plain Python loops over NumPy arrays, straight from the documents.

Written without scanopt: what the interpreter, and every optimized program, is compared with.  A
state is the list of its past values, a sequence is read where its taps say, an update is a value in
a dict.  Values are computed when they are asked for, as only what is needed can raise.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from corpus.plain_names import NAMES, UnknownError, translated
from corpus.spec import Change, Line, Loop, Out, Spec, Statement, changed, makes, needs, used

__all__ = ["Loose", "UnknownError", "evaluate", "initial", "run"]

Array = np.ndarray[Any, Any]


class Loose(np.ndarray[Any, Any]):
    """An array of no entries whose lengths are not known, as it is made of rows that no step computed."""


def initial(spec: Spec) -> dict[str, Array]:
    """The values of the shared variables before the first call."""
    return {x.name: x.array for x in spec.shared}


def run(
    spec: Spec, shared: Mapping[str, Array], idle: list[Loop] | None = None
) -> tuple[list[Array], dict[str, Array]]:
    """One call: the outputs, and the shared variables after it.  Raises what the program raises, UnknownError.

    idle: gets the loops that take no step.
    """
    top = _Scope(spec.statements, {x.name: x.array for x in spec.inputs} | dict(shared), spec.disturbed, idle=idle)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing
        outputs = [np.array(top[name], subok=True) for name in spec.outputs]
        new = top.updates(spec.passed, spec.changes)
    return outputs, {**shared, **{a: np.array(x) for a, x in new.items()}}


def evaluate(s: Statement, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a statement makes of these values; errors stand for what raises when it is asked for."""
    scope = _Scope([s], dict(values), disturbed=False)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scope._make(s)
    return {name: scope.values[name] for name in makes(s)}


@cache
def _compiled(text: str) -> CodeType:
    plain = translated(text)
    if any(name in plain for name in ("trng.", "T.random.", "T.grad(", "scanopt.")):
        raise UnknownError(text)
    return compile(plain, "<text>", "eval")


class _Scope:
    """The names of the program, or of one step.

    values: what is known; an error where asking for it raises.  statements: what makes further
    names.  outer: the scope around a step.  alias: parameters that are shared variables of the
    program.  anew: names from around that rest on a shared variable which the loop changes: a step
    computes them again with its present value.  idle: gets the loops that take no step.
    """

    def __init__(
        self,
        statements: Iterable[Statement],
        values: dict[str, Any],
        disturbed: bool,
        outer: _Scope | None = None,
        alias: Mapping[str, str] | None = None,
        anew: Mapping[str, Statement] | None = None,
        idle: list[Loop] | None = None,
    ) -> None:
        self.makers = {name: s for s in statements for name in makes(s)}
        self.values, self.disturbed, self.outer = values, disturbed, outer
        self.alias, self.anew = alias or {}, anew or {}
        self.idle: list[Loop] = outer.idle if outer is not None else [] if idle is None else idle

    def __getitem__(self, name: str) -> Any:
        if name in self.alias:
            return self[self.alias[name]]
        if name not in self.values:
            maker = self.makers.get(name) or self.anew.get(name)
            if maker is None and self.outer is None:
                raise KeyError(name)
            if maker is None:
                assert self.outer is not None
                return self.outer[name]
            self._make(maker)
        value = self.values[name]
        if isinstance(value, Exception):
            raise value
        return value

    def eval(self, text: str) -> Any:
        """The value of a text."""
        return eval(_compiled(text), NAMES, self)  # type: ignore[arg-type]

    def _make(self, s: Statement) -> None:
        if isinstance(s, Line):
            self.values[s.name] = self._line(s)
        elif s.function in ("loop", "fori_loop", "while_loop"):
            _Carry(s, self).run()
        else:
            _Scan(s, self).run()

    def _line(self, s: Line) -> Array:
        """The value of a line: made of loose values, it is one itself unless its shape tells it."""
        try:
            value = np.asarray(self.eval(s.text))
        except Exception as error:
            if not isinstance(error, UnknownError) and self._loose(s):
                raise UnknownError(s.text) from error
            raise
        if not value.ndim or not self._loose(s):
            return value
        if value.size:
            raise UnknownError(s.text)
        return value.view(Loose)

    def _loose(self, s: Line) -> bool:
        names = (n for n in used(s.text) if not n.startswith("u"))
        return any(isinstance(self.values.get(n), Loose) for n in names)

    def updates(self, passed: Iterable[str], changes: Iterable[Change]) -> dict[str, Array]:
        """The updates of loops by name, then further ones; all read the values before."""
        out: dict[str, Array] = {}
        for name in passed:
            out |= self[name]
        return out | {c.shared: np.asarray(self.eval(c.text)) for c in changes}

    # What a step shares with what is around it

    def maker(self, name: str) -> Statement | None:
        """What makes a name, here or around; None for inputs, parameters and shared variables."""
        if name in self.alias:
            return None
        return self.makers.get(name) or (self.outer.maker(name) if self.outer else None)

    def shared(self, text: str) -> str | None:
        """The shared variable that a text is just another name of, or None."""
        if used(text) != {text}:
            return None
        if text in self.alias:
            return self.alias[text]
        maker = self.maker(text)
        if isinstance(maker, Line):
            return self.shared(maker.text)
        return text if text.startswith("a") else None

    def resting_on(self, changes: set[str], loop: Loop) -> dict[str, Statement]:
        """The names from here or around that rest on shared variables of `changes`, and that a loop needs."""
        out: dict[str, Statement] = {}

        def rests(name: str) -> bool:
            if name in changes or self.shared(name) in changes:
                return True
            maker = self.maker(name)
            found = [] if maker is None else [n for n in needs(maker) if rests(n)]
            if maker is not None and found:
                out[name] = maker
            return bool(found)

        for n in needs(loop) if changes else ():
            rests(n)
        return out

    def ends_early(self, loop: Loop) -> bool:
        """Whether lengths in a step may be those of a loop that ends on a condition: values tell them."""
        makers = {name: s for s in loop.body for name in makes(s)}
        todo, seen = [*needs(loop)], set[str]()
        while todo:
            name = todo.pop()
            maker = makers.get(name) or self.maker(name)
            if name in seen or maker is None:
                continue
            seen.add(name)
            if isinstance(maker, Loop) and maker.until:
                return True
            todo += needs(maker)
        return False


class _Rows:
    """The rows of an output, all of one shape."""

    def __init__(self, out: Out | None, first: Array | None = None) -> None:
        self.out, self.rows = out, [] if first is None else [first]
        self.before = len(self.rows)

    def append(self, row: Array) -> None:
        if self.rows and np.shape(self.rows[-1]) != np.shape(row):
            raise ValueError("an output of the loop has changed its shape")
        self.rows.append(row)

    def stacked(self, loop: Loop, scope: _Scope) -> Array | Exception:
        """The rows of the steps as one array."""
        assert self.out is not None
        rows = self.rows[self.before :]
        if rows:
            loose = any(isinstance(row, Loose) for row in rows)
            return np.stack(rows).view(Loose) if loose else np.stack(rows)
        found = np.empty((0, *self.out.shape[1:]), self.out.dtype)
        return found.view(Loose) if found.ndim > 1 and (scope.disturbed or scope.ends_early(loop)) else found

    def last(self) -> Array | Exception:
        """The row of the last step."""
        return self.rows[-1] if len(self.rows) > self.before else IndexError("no step was taken")


class _Loop:
    """What all loops have in common: shared variables that change from step to step."""

    def __init__(self, loop: Loop, scope: _Scope) -> None:
        self.loop, self.scope = loop, scope
        self.shared = {a: _Rows(None, scope[a]) for a in sorted(changed(loop))}
        self.alias = {s.params[0]: a for s in loop.given if (a := scope.shared(s.text)) is not None}
        self.held = {s.params[0]: scope.eval(s.text) for s in loop.given if s.params[0] not in self.alias}
        self.anew = scope.resting_on({*self.shared}, loop)

    def step(self, params: Mapping[str, Any]) -> _Scope:
        """The scope of one step."""
        values = {**self.held, **params, **{a: x.rows[-1] for a, x in self.shared.items()}}
        return _Scope(self.loop.body, values, self.scope.disturbed, self.scope, self.alias, self.anew)

    def change(self, step: _Scope) -> dict[str, Array]:
        """What the shared variables become after a step."""
        return step.updates(self.loop.passed, self.loop.changes)

    def finish(self) -> None:
        """Give the updates."""
        if self.loop.updates:
            self.scope.values[self.loop.updates] = {a: x.rows[-1] for a, x in self.shared.items()}


class _Scan(_Loop):
    """scan, map, reduce, foldl, foldr.

    sequences: per parameter its rows, in the order in which they are read.
    """

    def run(self) -> None:
        loop, scope = self.loop, self.scope
        sequences, steps = self._sequences()
        states = [(o, *self._past(o)) for o in loop.outs if o.is_state]
        scope.idle += [] if steps else [loop]
        traces = {
            o.name: _Rows(o, next((past[-1] for s, past, _ in states if s is o), None)) for o in loop.outs
        }  # fmt: skip
        for t in range(steps):
            params = {name: rows[t] for name, rows in sequences.items()}
            for o, past, taps in states:
                params |= {name: past[tap] for name, tap in zip(o.params, taps, strict=True)}
            step = self.step(params)
            results = [np.asanyarray(step[o.result]) for o in loop.outs]
            new = self.change(step)
            ends = loop.until is not None and bool(step[loop.until])
            for o, x in zip(loop.outs, results, strict=True):
                traces[o.name].append(x)
            for o, past, _ in states:
                past.append(results[loop.outs.index(o)])
            for a, x in new.items():
                self.shared[a].append(x)
            if ends:
                break
        folds = loop.function in ("reduce", "foldl", "foldr")
        scope.values |= {name: x.last() if folds else x.stacked(loop, scope) for name, x in traces.items()}
        self.finish()

    def _sequences(self) -> tuple[dict[str, Sequence[Array]], int]:
        """The rows that each parameter reads, step by step, and the number of steps."""
        loop = self.loop
        backwards, steps = loop.go_backwards or loop.function == "foldr", None
        if loop.n_steps is not None:
            n = int(self.scope.eval(loop.n_steps))
            backwards, steps = backwards != (n < 0), abs(n)
        out: dict[str, Sequence[Array]] = {}
        counts: list[int] = []
        for slot in loop.sequences:
            given = self.scope.eval(slot.text)
            x, taps = (given["input"], given.get("taps", [0])) if isinstance(given, dict) else (given, [0])
            if isinstance(x, Loose):
                raise UnknownError("a sequence of unknown lengths")
            low, high = min(0, *taps), max(0, *taps)  # the present counts as read
            counts.append(max(len(x) - (high - low), 0))
            for name, tap in zip(slot.params, taps, strict=True):
                rows = x[tap - low : tap - low + counts[-1]]
                out[name] = rows[::-1] if backwards else rows
        if steps is None:
            return out, min(counts)
        if any(n < steps for n in counts):
            raise ValueError("a sequence has fewer rows than n_steps")
        return out, steps

    def _past(self, o: Out) -> tuple[list[Array], list[int]]:
        """The values of a state before the first step, the oldest first, and its taps."""
        given = self.scope.eval(o.text)
        initial, taps = (given["initial"], given.get("taps", [-1])) if isinstance(given, dict) else (given, [-1])
        start = np.asarray(initial, o.dtype) if isinstance(initial, int | float) else np.asanyarray(initial)
        if list(taps) == [-1]:
            return [start], [-1]
        depth = -min(taps)
        if len(start) < depth:
            raise ValueError("an initial state has too few rows")
        return list(start[:depth]), list(taps)


class _Carry(_Loop):
    """loop, fori_loop, while_loop."""

    def run(self) -> None:
        loop, scope = self.loop, self.scope
        self.states = [o for o in loop.outs if o.is_state]
        carry: list[Array] = []
        for o in self.states:
            x = scope.eval(o.text)
            carry.append(np.asarray(x, o.dtype) if isinstance(x, int | float) else np.asarray(x))
        sequences, steps = self._sequences()
        ends = loop.function == "while_loop" and not self._goes_on(carry)
        scope.idle += [loop] if ends or not steps else []
        traces = {o.name: _Rows(o) for o in loop.outs if not o.is_state}
        for t in range(0 if ends else steps):
            step = self.step({**self._named(carry), **{name: rows[t] for name, rows in sequences.items()}})
            found = {o.name: np.asanyarray(step[o.result]) for o in loop.outs}
            new = [found[o.name] for o in self.states]
            if any(x.shape != y.shape for x, y in zip(carry, new, strict=True)):
                raise ValueError("the carry has changed its shape")
            for o in loop.outs:
                if not o.is_state:
                    traces[o.name].append(found[o.name])
            carry = new
            if loop.function == "while_loop":
                ends = not self._goes_on(carry)
            elif loop.until is not None:
                ends = bool(step[loop.until])
            if ends:
                break
        scope.values |= self._last(carry)
        for name, rows in traces.items():  # results lie where their entries do
            x = rows.stacked(loop, scope)
            scope.values[name] = x[::-1] if loop.go_backwards and isinstance(x, np.ndarray) else x

    def _named(self, carry: list[Array]) -> dict[str, Array]:
        return {o.params[0]: x for o, x in zip(self.states, carry, strict=True)}

    def _last(self, carry: list[Array]) -> dict[str, Array]:
        return {o.name: x for o, x in zip(self.states, carry, strict=True)}

    def _goes_on(self, carry: list[Array]) -> bool:
        assert self.loop.until is not None
        return bool(_Scope([], self._named(carry), self.scope.disturbed, self.scope).eval(self.loop.until))

    def _sequences(self) -> tuple[dict[str, Sequence[Array]], int]:
        """The entries of each step, and the number of steps."""
        loop = self.loop
        if loop.function == "fori_loop":
            indices = np.arange(*self.scope.eval(loop.sequences[0].text))
            return {loop.sequences[0].params[0]: list(indices)}, len(indices)
        counts = [] if loop.n_steps is None else [int(self.scope.eval(loop.n_steps))]
        if counts and counts[0] < 0:
            raise ValueError("the number of steps is negative")
        out: dict[str, Sequence[Array]] = {}
        for slot in loop.sequences:
            x = self.scope.eval(slot.text)
            x = np.arange(x) if isinstance(x, int) else x
            if isinstance(x, Loose):
                raise UnknownError("a sequence of unknown lengths")
            counts.append(len(x))
            out[slot.params[0]] = x[::-1] if loop.go_backwards else x
        if len(set(counts)) > 1:
            raise ValueError("entries and length differ")
        return out, counts[0]
