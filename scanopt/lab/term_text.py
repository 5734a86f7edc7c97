"""Terms of a saturated program in the words of the user: `tanh(x[t] + h[t-1]) in loop0 (model.py:7)`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanopt.array.op import Op
from scanopt.array.op_text import nested_text, tight
from scanopt.calculus.encoded import clocks_of
from scanopt.calculus.forms import ROOT, Batched, Form, Operator, TermGraph, const_value
from scanopt.egraph.readback import Binding
from scanopt.lab.law_probe import Match, ProbedProgram

__all__ = ["Teller"]

_DEPTH = 4


class Teller:
    """Describes classes of terms: by the term that the user wrote, else by the smallest one."""

    def __init__(self, scene: ProbedProgram) -> None:
        self._scene = scene
        self._written: dict[int, int] = {}
        for term, c in sorted(scene.places.items(), reverse=True):
            self._written[c] = term
        self._clocks = clocks_of(scene.program)
        self._smallest = _smallest(scene.graph)
        self._loops: dict[int, list[int]] = {}
        for loop, clock in scene.loops.items():
            self._loops.setdefault(clock, []).append(loop)

    def rank(self, match: Match) -> tuple[bool, int]:
        """A key to sort matches by: first those in loops, in the order in which the program was written."""
        c = match.get("lhs_", 0)
        term = self._written.get(c, len(self._clocks)) if isinstance(c, int) else 0
        return self._clocks.get(term, ROOT) == ROOT, term

    def place(self, match: Match, sorts: dict[str, str]) -> str:
        """Where a pattern was found: its left side, the loop that is on, and what its variables stand for."""
        given = {v: (sorts[v], x) for v, x in match.items() if v != "lhs_"}
        wanted = ("Clock", "i64") if "lhs_" in match else tuple(sorts.values())
        bound = [f"{v} = {self.binding(sort, x)}" for v, (sort, x) in given.items() if sort in wanted]
        if "lhs_" not in match:
            return ", ".join(bound)
        c = match["lhs_"]
        assert isinstance(c, int)
        return self.value(c) + self._on(c, given) + (f", where {', '.join(bound)}" if bound else "")

    def _on(self, c: int, given: dict[str, tuple[str, Binding]]) -> str:
        if any(sort == "Clock" for sort, _ in given.values()) or c not in self._written:
            return ""
        loop = self._clocks[self._written[c]]
        return f" in {self._loop(loop)}" if loop != ROOT else ""

    def binding(self, sort: str, x: Binding) -> str:
        """The text of what a variable of a pattern stands for."""
        if isinstance(x, tuple) and not isinstance(x, Op | Batched):
            return f"[{', '.join(map(self.value, x))}]"
        if isinstance(x, int):
            match sort:
                case "Value":
                    return self.value(x)
                case "Clock":
                    return self.clock(x)
                case "State":
                    return self._scene.graph.states[x].label or f"state {x}"
        return str(x)

    def clock(self, c: int) -> str:
        """A loop with the line that the user wrote it at."""
        if c == ROOT:
            return "what lies outside all loops"
        return " and ".join(map(self._loop, self._loops.get(c, []))) or "a loop that laws made"

    def _loop(self, n: int) -> str:
        name = "&".join(self._scene.program.clocks[n].labels) or f"loop{n}"
        place = self._scene.program.locations.get(n)
        return f"{name} ({place})" if place else name

    def value(self, c: int) -> str:
        """The text of a class of values."""
        if c in self._written:
            return self._text(self._scene.program, self._written[c], _DEPTH)
        return self._text(self._scene.graph, c, _DEPTH)

    def _text(self, g: TermGraph, c: int, depth: int) -> str:
        written = g is self._scene.program
        form = g.classes[c][0] if written else self._smallest.get(c)
        if form is None:
            return f"value {c}"
        if depth == 0 and form.args:
            return "..."
        args = [self._text(g, a, depth - 1) for a in form.args]
        return self._form(g, form, args)

    def _form(self, g: TermGraph, form: Form, args: Sequence[str]) -> str:
        match form.kind:
            case "input":
                return g.input_labels.get(form.key) or f"input {form.key}"
            case "const":
                return _const(g, form.key)
            case "apply":
                assert form.operator is not None
                return _operator(form.operator, args)
            case "hold":
                return args[0]
            case "seq":
                return f"{tight(args[0])}[t]"
            case "delay":
                return f"{g.states[form.state].label or f'state{form.state}'}[t-{form.k}]"
            case "stack":
                return f"all rows of {tight(args[0])}"
            case "tail":
                return f"last {f'{form.k} rows' if form.k > 1 else 'row'} of {tight(args[0])}"
            case "recent":
                return f"last {args[1]} rows of {tight(args[0])}"
            case kind:
                return f"{kind} {form.k} of {tight(args[0])}"


def _operator(op: Operator, args: Sequence[str]) -> str:
    if isinstance(op, Batched):
        return f"{op}({', '.join(args)})"
    return nested_text(op, args)


def _const(g: TermGraph, key: str) -> str:
    value = const_value(key, g.consts)
    if value.size <= 4:
        return np.array2string(value, separator=", ")
    return f"a constant {value.dtype}{list(value.shape)}"


def _smallest(g: TermGraph) -> dict[int, Form]:
    """For each class the form with the fewest parts; a state's new value is not part of reading it."""
    size: dict[int, int] = {}
    best: dict[int, Form] = {}
    changed = True
    while changed:
        changed = False
        for c, f in g.forms():
            if all(a in size for a in f.args):
                n = 1 + sum(size[a] for a in f.args)
                if n < size.get(c, n + 1):
                    size[c], best[c], changed = n, f, True
    return best
