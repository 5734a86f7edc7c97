"""The e-graph of a history: classes of equal terms, the cost and the origin of each form, and equalities from laws."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.array.op_text import nested_text, tight
from scanopt.array.shown import shown
from scanopt.calculus.forms import Batched, Form, TermGraph, const_value, unbatched
from scanopt.egraph.derivation import Look
from scanopt.extraction.problem import Problem
from scanopt.history.names import StableNames

__all__ = ["FORM_COLUMNS", "MOST_FORMS", "EGraphTables"]

MOST_FORMS = 6000
"""About the most forms that are listed: those near the programs come first."""

FORM_COLUMNS = ("class", "kind", "label", "text", "args", "cost", "total", "law", "round", "written", "chosen")

_ENTRIES = 4  # of an array that is written out


class EGraphTables:
    """Classes, forms and equalities of an e-graph, as rows of numbers and texts."""

    def __init__(self, look: Look, problem: Problem, names: StableNames, chosen: Iterable[tuple[int, Form]]) -> None:
        self._graph, self._from, self._problem, self._names = look.graph, look.provenance, problem, names
        self._chosen = dict(chosen)
        self._written = {look.places[c] for c in look.places}
        self._cheapest: dict[int, tuple[float, Form]] = {}
        self.forms: list[tuple[int, Form]] = []
        self.number: dict[Form, int] = {}

    def tables(self) -> dict[str, Any]:
        """The tables, as they stand in the document."""
        self._cheapest = _cheapest(self._graph, self._problem)
        near = self._near()
        for c in near:
            for f in self._graph.classes[c]:
                self._number(c, f)
        equalities = [*self._equalities(near)]
        total = _Totals(self._cheapest, self._price)
        return {
            "classes": {str(c): self._class(c) for c in near},
            "form_columns": [*FORM_COLUMNS],
            "forms": [self._row(c, f, total) for c, f in self.forms],
            "equalities": equalities,
            "loops": {str(c): self._loop(c) for c in self._graph.clocks},
            "roots": [*self._graph.roots],
            "left_out": len(self._graph.classes) - len(near),
        }

    def _number(self, c: int, f: Form) -> int:
        if f not in self.number:
            self.number[f] = len(self.forms)
            self.forms.append((c, f))
        return self.number[f]

    def _near(self) -> list[int]:
        """The classes to list: those of the programs, then those that their terms are made of, and so on."""
        classes, seen, count = self._graph.classes, dict[int, None](), 0
        todo = deque(c for c in (*self._graph.roots, *self._chosen, *sorted(self._written)) if c in classes)
        while todo and count < MOST_FORMS:
            c = todo.popleft()
            if c not in seen:
                seen[c] = None
                count += len(classes[c])
                todo.extend(a for f in classes[c] for a in f.args if a in classes)
        return [*seen]

    def _class(self, c: int) -> dict[str, Any]:
        row: dict[str, Any] = {}
        if name := self._names.by_class.get(self._names.value(c)):
            row["name"] = name
        if sized := self._problem.sizes.of.get(c):
            x = sized.operand
            row |= {"type": f"{x.dtype}[{', '.join(map(str, x.shape))}]", "loop": sized.clock}
        return row

    def _row(self, c: int, f: Form, total: _Totals) -> list[Any]:
        price = self._price(c, f)
        all_of_it = total.of(c, f) if price is not None else None
        law = self._from.made.get(f)
        written = f in self._from.written
        chosen = self._chosen.get(c) == f
        begun = self._from.rounds.get(law or "", -1)
        return [
            c, f.kind, f.label, self.text(f), [*f.args], _rounded(price), _rounded(all_of_it), law or "", begun,
            int(written), int(chosen),
        ]  # fmt: skip

    def _price(self, c: int, f: Form) -> float | None:
        usable = c in self._problem.sizes.of and all(a in self._problem.sizes.of for a in f.args)
        return self._problem.price(c, f)[0] if usable and self._problem.usable(f) else None

    def _equalities(self, near: Sequence[int]) -> Iterator[list[Any]]:
        """Yield class, law, and the two forms that it says are equal: None for a side that is not a form."""
        there = {*near}
        for c, found in self._from.equalities.items():
            if c in there:
                for x in found:
                    sides = [None if f is None else self._number(c, f) for f in (x.left, x.right)]
                    yield [c, x.law, *sides]

    def _loop(self, clock: int) -> dict[str, Any]:
        info = self._graph.clocks[clock]
        row: dict[str, Any] = {"label": shown("&".join(info.labels)), "inside": info.level}
        if info.steps in self._problem.sizes.of:
            row |= {"steps": self._problem.sizes.steps(clock), "trips": self._problem.sizes.trips(clock)}
        return row | ({"sites": [*info.sites]} if info.sites else {})

    # Texts

    def name(self, c: int) -> str:
        """The name of a class: that of its value in a program, else the text of a leaf, else its number."""
        return self._names.by_class.get(self._names.value(c)) or self._leaf(c) or f"e{c}"

    def _leaf(self, c: int) -> str:
        for f in self._graph.classes.get(c, ()):
            if f.kind in ("const", "input"):
                return self.text(f)
        return ""

    def text(self, f: Form) -> str:
        """A form as text for people."""
        args = [self.name(a) for a in f.args]
        match f.kind:
            case "input":
                return shown(self._graph.input_labels.get(f.key, "")) or f"input {f.key}"
            case "const":
                return _const_text(const_value(f.key, self._graph.consts))
            case "apply" if isinstance(f.operator, Op):
                return nested_text(f.operator, args)
            case "apply":
                assert isinstance(f.operator, Batched)
                op, flags = unbatched(f.operator)
                spread = [f"{a}[:]" if any(s[n] == "1" for s in flags) else a for n, a in enumerate(args)]
                return f"{nested_text(op, spread)} at all steps"
            case "hold":
                return f"{args[0]} at every step"
            case "seq":
                return f"{tight(args[0])}[t]"
            case "delay":
                label = shown(self._graph.states[f.state].label) or f"state{f.state}"
                return f"{label}[t-{f.k}], from {args[0]}"
            case "stack":
                return f"all rows of {args[0]}"
            case "tail":
                return f"last {f'{f.k} rows' if f.k > 1 else 'row'} of {args[0]}"
            case "recent":
                return f"last {args[1]} rows of {args[0]}"
            case _:
                return f"row {f.k} of {args[0]}"


def _const_text(value: np.ndarray[Any, Any]) -> str:
    if value.size <= _ENTRIES:
        return np.array2string(value, separator=", ")
    return f"constant {value.dtype}{list(value.shape)}"


def _rounded(x: float | None) -> float | None:
    return None if x is None or x == inf else float(f"{x:.6g}")


def _cheapest(graph: TermGraph, problem: Problem) -> dict[int, tuple[float, Form]]:
    """For each class its cheapest form and that form's cost, shared parts counted each time."""
    best: dict[int, tuple[float, Form]] = {}
    usable = [(c, f) for c, f in graph.forms() if c in problem.sizes.of and problem.usable(f)]
    prices = [problem.price(c, f)[0] for c, f in usable]
    changed = True
    while changed:
        changed = False
        for (c, f), price in zip(usable, prices, strict=True):
            if all(a in best for a in f.args):
                cost = price + sum(best[a][0] for a in f.args)
                if c not in best or cost < best[c][0] * (1 - 1e-12):
                    best[c], changed = (cost, f), True
    return best


class _Totals:
    """The costs of forms with all their parts, each of them the cheapest of its class and computed once."""

    def __init__(self, best: Mapping[int, tuple[float, Form]], price: Any) -> None:
        self._best, self._price = best, price
        self._parts: dict[int, frozenset[int]] = {}
        self._own = {c: price(c, f) or 0.0 for c, (_, f) in best.items()}

    def of(self, c: int, f: Form) -> float | None:
        """The cost of one form of a class; None where a part of it cannot be computed."""
        if any(a not in self._best for a in f.args):
            return None
        parts = frozenset[int]().union(*(self._within(a) for a in f.args)) - {c}
        return (self._price(c, f) or 0.0) + sum(self._own[p] for p in parts)

    def _within(self, c: int) -> frozenset[int]:
        """A class, and all classes that its cheapest form is computed from."""
        todo = [c]
        while todo:
            here = todo[-1]
            args = self._best[here][1].args
            missing = [a for a in args if a not in self._parts and a not in todo]
            if here not in self._parts and missing:
                todo += missing
                continue
            todo.pop()
            if here not in self._parts:
                inner = (self._parts.get(a, frozenset({a})) for a in args)
                self._parts[here] = frozenset({here}).union(*inner)
        return self._parts[c]
