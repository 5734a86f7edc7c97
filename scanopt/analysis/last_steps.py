"""What states become in a step outside a loop that does not say so, since nothing reads it.

A loop and its last step outside are one loop.  In that step the loop computes the states once more: what they become
is written beside the program, made of the last rows of sequences and the last values of states.
"""

from __future__ import annotations

from copy import copy

from scanopt.analysis.consecutive_loops import LAST, WITHOUT_LAST, steps_after
from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form

__all__ = ["with_last_steps"]

_MOST = 60
"""The most values of a loop that are computed once more."""


def with_last_steps(g: Encoded) -> Encoded:
    """The program, with what all states of loops become in a step that the program joins behind them; itself if it says
    so."""
    if g.last_steps:
        return g
    out = g
    for c, pairs in steps_after(g):
        more = _LastStep(out, c, pairs).added()
        out = out if more is None else more
    return out


class _LastStep:
    """Adds the terms of a step after the loop c.  pairs: values of the loop, and what computes them in that step."""

    def __init__(self, g: Encoded, c: int, pairs: list[tuple[int, int]]) -> None:
        self.g, self._c = copy(g), c
        self.g.classes, self.g.types = dict(g.classes), dict(g.types)
        self._after = dict(pairs)
        self._states = [f.state for a, _ in pairs if (f := g.classes[a][0]).kind == "delay"]
        self._ids = {f: i for i, f in g.forms()}
        self._next = 1 + max(g.classes, default=-1)
        self._left = _MOST

    def added(self) -> Encoded | None:
        """The program with these terms, if there are any and they are known; else None."""
        found: list[tuple[int, int, int]] = []
        for s in self._states:  # more are found on the way
            for u in self.g.states[s].updates:
                if u not in self._after:
                    new = self._one_later(u)
                    if new is None:
                        return None
                    found.append((self._c, u, new))
        self.g.last_steps = [*self.g.last_steps, *found]
        return self.g if found else None

    def _one_later(self, a: int) -> int | None:
        """The term of a value of the loop in the step after it; None if it may raise, is not known, or is too long."""
        if a not in self._after and self._left:
            self._left -= 1
            if (found := self._made(self.g.classes[a][0], self.g.types[a])) is not None:
                self._after[a] = found
        return self._after.get(a)

    def _made(self, f: Form, type: TensorType) -> int | None:
        if f.kind == "apply" and isinstance(f.operator, Op) and not f.operator.can_raise:
            args = [self._one_later(a) for a in f.args]
            known = tuple(a for a in args if a is not None)
            return self._new(f._replace(args=known), type) if len(known) == len(args) else None
        if f.clock != self._c:
            return None
        if f.kind == "hold":
            return f.args[0]
        if f.kind == "seq" and (rows := self.g.classes[f.args[0]][0]).operator == WITHOUT_LAST:
            return self._new(Form("apply", rows.args, operator=LAST), type)
        if f.kind == "delay" and f.k == 1:
            self._states += [] if f.state in self._states else [f.state]
            (update, *_) = self.g.states[f.state].updates
            kept = self._new(Form("stack", (update,), clock=self._c), type.rows(None))
            return self._new(Form("apply", (kept,), operator=LAST), type)
        return None

    def _new(self, form: Form, type: TensorType) -> int:
        i = self._ids.get(form)
        if i is None:
            i, self._next = self._next, self._next + 1
            self._ids[form], self.g.classes[i], self.g.types[i] = i, [form], type
        return i
