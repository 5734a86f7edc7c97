"""The e-graph read back: all of its rows as forms of a `TermGraph`, in an order that does not depend on the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import ROOT, ClockInfo, Form, Operator, StateInfo, TermGraph
from scanopt.egraph.canonical import RANKED, ranks
from scanopt.egraph.decoding import OPERATORS, OperatorTables
from scanopt.egraph.descent import loops_behind, states_behind
from scanopt.egraph.engine import Engine

__all__ = ["UNKNOWN", "Binding", "ReadBack", "read_back", "read_foldings", "read_terms"]

_FORMS = ("hold", "seq", "stack")
_TABLES = (
    "node", *RANKED, *OPERATORS, "within", "until", "runs_all", "becomes", "expanded", "needless",
)  # fmt: skip

_BESIDE = ("followed", "and_last", "and_first")
"""The constructors of moves that lead from a loop to a longer one."""

Binding = int | str | Operator | tuple[int, ...] | None
"""What a variable of a pattern stands for: the number of a value, clock or state, an integer, a text, an
operator, a list of values."""

UNKNOWN = -2
"""A clock whose place among the others is not known."""


class ReadBack:
    """Tables of an e-graph as they were when they were read: all that programs are made of, and further ones.

    places, loops: after `term_graph`, the class and clock of each term and loop of the program.
    classes: the class of each form, also of forms that the term graph leaves out because others express them.
    """

    def __init__(self, engine: Engine, tables: Sequence[str]) -> None:
        self._tables = engine.tables(tables)
        self.places: dict[int, int] = {}
        self.loops: dict[int, int] = {}
        self.classes: dict[Form, int] = {}
        self._operators = OperatorTables(self._rows)
        self._lists = {out: (a, r) for (a, r), out in self._rows("cons")}
        self._empty = {out for _, out in self._rows("nil")}
        self._numbers: dict[str, dict[Any, int]] = {}

    def _rows(self, name: str) -> list[tuple[tuple[Any, ...], Any]]:
        return self._tables[name].rows if name in self._tables else []

    def _sort(self) -> None:
        """Sort the rows of all tables in an order that does not depend on the engine."""
        named = ([(int(n), x) for (n,), x in self._rows(name)] for name in ("node", "loop", "state"))
        first = [x for found in named for _, x in sorted(found)]
        rank = ranks({name: self._rows(name) for name in RANKED}, self._operators_in_use(), first)
        for name in _TABLES:
            self._rows(name).sort(key=lambda row: [rank.get(x, x) for x in row[0]])

    def _operators_in_use(self) -> dict[Any, Operator]:
        """The operators that terms are made with."""
        places = [(name, n) for name, sorts in RANKED.items() for n, sort in enumerate(sorts) if sort == "Op"]
        used = dict.fromkeys(row[n] for name, n in places for row, _ in self._rows(name))
        return {x: op for x in used if (op := self._operators.get(x)) is not None}

    def _list(self, args: Any) -> tuple[Any, ...] | None:
        """The values of a list; None if an interrupted run left it incomplete."""
        out: list[Any] = []
        while args in self._lists:
            first, args = self._lists[args]
            out.append(first)
        return tuple(out) if args in self._empty else None

    def nodes(self) -> dict[int, Any]:
        """The class of each term of the program."""
        return {i: v for (i,), v in self._rows("node")}

    def foldings(self) -> list[tuple[Operator, list[str]]]:
        """Operators of constants found by laws that fold, with the keys of the constants."""
        consts = {out: k for (k,), out in self._rows("const")}
        found = ((self._operators.get(op), self._list(args)) for (op, args), _ in self._rows("fold_"))
        return [
            (op, [consts[a] for a in x])
            for op, x in found
            if op is not None and x is not None and all(a in consts for a in x)
        ]

    def rows(self, relation: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a relation, in the engine's numbers."""
        return (row for row, _ in self._rows(relation))

    def binding(self, row: Sequence[Any], sorts: Sequence[str]) -> tuple[Binding, ...]:
        """The entries of a row: values, clocks and states by their numbers in `term_graph`, which must come first."""
        return tuple(map(self._binding, row, sorts))

    def valued(self, function: str, sorts: Sequence[str]) -> Iterator[tuple[tuple[Binding, ...], Any]]:
        """The rows of a function, each as a `binding`, with the function's values."""
        for row, value in self._rows(function):
            yield self.binding(row, sorts), value

    def _binding(self, x: Any, sort: str) -> Binding:
        match sort:
            case "i64":
                return int(x)
            case "String":
                return str(x)
            case "Op":
                return self._operators.get(x)
            case "Args":
                values = self._list(x)
                return None if values is None else tuple(self._numbers["Value"][a] for a in values)
            case "Clock":
                return self._numbers["Clock"].get(x, UNKNOWN)
            case _:
                return int(self._numbers[sort][x])

    def term_graph(self, program: Encoded, consts: dict[str, np.ndarray[Any, Any]]) -> TermGraph:
        """The classes of values with all their forms."""
        self._sort()
        clocks = self._clocks()
        states = _Numbering()
        values = _Numbering()
        self._numbers = {"Clock": clocks, "State": states, "Value": values}
        g = TermGraph(
            inputs=program.inputs, input_labels=program.input_labels, input_axes=program.input_axes, consts=dict(consts)
        )
        for v, form in self._forms(clocks, states, values):
            g.classes.setdefault(v, []).append(form)
            self.classes[form] = v
        self._read_clocks(g, program, clocks, values)
        self._read_states(g, program, states, values)
        where = {i: values[v] for (i,), v in self._rows("node")}
        self.places = {i: v for i, v in where.items() if i in program.classes}
        for i, c in self.places.items():
            if i in program.written:
                g.written[c] = tuple(dict.fromkeys((*g.written.get(c, ()), *program.written[i])))
        self.loops = {int(name): clocks[c] for (name,), c in self._rows("loop") if c in clocks}
        self._written_first(g, program, states)
        g.roots = tuple(where[r] for r in program.roots)
        g.checks = tuple(where[r] for r in program.checks if not _is_there(g, where[r]))
        self._bound(g, program, clocks)
        return g

    def _written_first(self, g: TermGraph, program: Encoded, states: Mapping[Any, int]) -> None:
        """Put forms of the program as written first, so that they win among forms of equal cost."""
        named = {int(name): states[s] for (name,), s in self._rows("state") if s in states}
        written = {
            f._replace(
                args=tuple(self.places[a] for a in f.args),
                clock=self.loops.get(f.clock, f.clock),
                state=named.get(f.state, f.state),
            )
            for i, f in program.forms()
            if i in self.places and all(a in self.places for a in f.args)
        }
        for forms in g.classes.values():
            if len(forms) > 1:
                forms.sort(key=lambda f: f not in written)

    def _bound(self, g: TermGraph, program: Encoded, clocks: Mapping[Any, int]) -> None:
        """Restrict bounded loops to the rows that they read and keep as written, to save memory.

        No loop inside them runs for all their steps at once, and they are no part of longer ones.
        """
        bounded = {c for c, info in g.clocks.items() if info.bounded}
        if not bounded:
            return
        beside = {clocks.get(e, UNKNOWN) for (c, _), e in self._rows("lift") if clocks.get(c, UNKNOWN) in bounded}
        moves = {m for kind in _BESIDE for (c, *_), m in self._rows(kind) if clocks.get(c, UNKNOWN) in bounded}
        beside |= {clocks.get(e, UNKNOWN) for (m,), e in self._rows("joint") if m in moves}
        beside -= {*self.loops.values()}
        rows = [f for _, f in program.forms() if f.kind in ("seq", "stack")]
        written = {(f.kind, self.loops[f.clock], self.places[f.args[0]]) for f in rows}

        def stays(f: Form) -> bool:
            if f.clock in beside:
                return False
            other = f.clock not in bounded or f.kind not in ("seq", "stack")
            return other or (f.kind, f.clock, f.args[0]) in written

        for c, forms in g.classes.items():
            g.classes[c] = [f for f in forms if stays(f)]

    def _clocks(self) -> dict[Any, int]:
        """The clocks whose parent is known."""
        root = {out for _, out in self._rows("root")}
        out: dict[Any, int] = dict.fromkeys(root, ROOT)
        for (c, _), _o in self._rows("within"):
            if c not in out:
                out[c] = len(out) - len(root)
        return out

    def _forms(self, clocks: dict[Any, int], states: _Numbering, values: _Numbering) -> Iterator[tuple[int, Form]]:
        expanded = {row for row, _ in self._rows("expanded")}
        for (op, args), v in self._rows("apply"):
            operator, listed = self._operators.get(op), self._list(args)
            if operator is None or listed is None:
                continue
            form = Form("apply", tuple(values[a] for a in listed), operator=operator)
            self.classes[form] = values[v]
            if (op, args) not in expanded:
                yield values[v], form
        for kind in ("input", "const"):
            for (key,), v in self._rows(kind):
                yield values[v], Form(kind, key=key)
        needless = {row for row, _ in self._rows("needless")}
        for kind in _FORMS:
            for (c, x), v in self._rows(kind):
                if c in clocks and (kind != "seq" or (c, x) not in needless):
                    yield values[v], Form(kind, (values[x],), clock=clocks[c])
        for kind in ("tail", "at"):
            for (c, x, k), v in self._rows(kind):
                if c in clocks:
                    yield values[v], Form(kind, (values[x],), clock=clocks[c], k=k)
        for (c, x, n), v in self._rows("recent"):
            if c in clocks:
                yield values[v], Form("recent", (values[x], values[n]), clock=clocks[c])
        for (c, init, s, k), v in self._rows("delay"):
            if c in clocks:
                form = Form("delay", (values[init],), "", None, clocks[c], states[s], k)
                yield values[v], form

    def _read_clocks(self, g: TermGraph, program: Encoded, clocks: dict[Any, int], values: _Numbering) -> None:
        merged = {c: [program.clocks[int(n)] for n in names] for c, names in loops_behind(self._rows).items()}
        written = {c for _, c in self._rows("loop")}
        steps = {c: values[n] for (c,), n in self._rows("steps")}
        until: dict[Any, list[int]] = {}
        complete = {c for (c,), _ in self._rows("runs_all")}
        for (c, v), _ in self._rows("until"):
            if c in complete:
                continue
            until.setdefault(c, []).append(values[v])
        for (c, parent), _ in self._rows("within"):
            if parent in clocks and c in steps and clocks[c] != ROOT:
                loops = merged.get(c, [])
                names = tuple(dict.fromkeys(x for loop in loops for x in loop.labels))
                titles = tuple(dict.fromkeys(x for loop in loops for x in loop.profile))
                keep = any(loop.keep for loop in loops)
                sites = tuple(dict.fromkeys(x for loop in loops for x in loop.sites))
                bounded = c in written and any(loop.bounded for loop in loops)
                ends = tuple(until.get(c, ()))
                g.clocks[clocks[c]] = ClockInfo(clocks[parent], steps[c], names, ends, titles, keep, sites, bounded)

    def _read_states(self, g: TermGraph, program: Encoded, states: _Numbering, values: _Numbering) -> None:
        behind = states_behind(self._rows)
        labels = {s: next((x for n in names if (x := program.states[int(n)].label)), "") for s, names in behind.items()}
        updates: dict[int, list[int]] = {}
        for (s, v), _ in self._rows("becomes"):
            updates.setdefault(states[s], []).append(values[v])
        for value, s in list(states.items()):
            g.states[s] = StateInfo(labels.get(value, ""), tuple(updates.get(s, ())))


def _is_there(g: TermGraph, c: int) -> bool:
    """Whether a class is an input, a constant or a length of one, so that computing it cannot raise."""
    return any(
        f.kind in ("input", "const")
        or (
            f.operator is not None
            and f.operator.name == "shape_i"
            and any(h.kind in ("input", "const") for h in g.classes[f.args[0]])
        )
        for f in g.classes[c]
    )


class _Numbering(dict[Any, int]):
    """Small numbers for e-class values, in the order of first use."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


def read_back(engine: Engine, questions: Sequence[str] = ()) -> ReadBack:
    """Read the tables of an e-graph as they are now.  questions: further relations."""
    return ReadBack(engine, [*_TABLES, *questions])


def read_terms(engine: Engine) -> dict[int, Any]:
    """The class of each term of the program as it is now."""
    return ReadBack(engine, ["node"]).nodes()


def read_foldings(engine: Engine) -> list[tuple[Operator, list[str]]]:
    """Operators of constants found by laws that fold, with the keys of the constants, as they are now."""
    return ReadBack(engine, ["fold_", "const", "cons", "nil", *OPERATORS]).foldings()
