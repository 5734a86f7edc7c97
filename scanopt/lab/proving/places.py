"""Where the variables of a law lie: on which loop, in which loop that one lies, which of them are bools or counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

from scanopt.calculus.law import Law
from scanopt.calculus.terms import Args, Clock, Move, State, Term, Value
from scanopt.lab.proving.forms import TableOperator, Vmap, arguments, is_variable, operator_form, subterms
from scanopt.records import dataclass

__all__ = ["LawPlaces", "places_of"]

_BOOLS = {"where": (0,), "ifelse": (0,), "logical_not": (0,), "forward_fill": (1,), "first_true": (0,)}
_COUNTS = {
    "getitem": (1, 2, 3), "arange": (0, 1, 2), "repeat_rows": (1,), "geometric": (2,), "affine_power": (3,),
    "unless_flagged": (1,), "eye": (0, 1),
}  # fmt: skip
_NUMBERS = {"powers": (1,), "eye": (2,)}
"""By operator, the arguments that are bools, integers that say where or how many, and other integers."""

WHERE: dict[str, str] = {
    "entries": "-c.", "held": "-c.-", "sliced": "-c.-", "traced_all": "---c.-", "same_entries": "-..",
    "same_value": "-..", "rows": ".-", "mirrors": "-cc", "tells_no_length": "-c", "batchable": "--c",
    "hoistable": "--c", "raises_alike": "--c", "chunked": "-ck", "ends_in_chunks": "-k", "beside": "-c...-",
    "sums_until": "--c", "before": "-.", "lies_on": "c-",
}  # fmt: skip
"""Where the arguments of facts lie: on the fact's loop (c), on its chunks (k), outside of it (.)."""


@dataclass
class LawPlaces:
    """Where a law's variables lie.  home: the loop that both sides are on, None outside of all.

    on: the loop of a variable by its name; inside: the loop around a loop; kinds: "bool", "count" or "number";
    states: the loop of a state; depths: how many rows before the first step are read; clocks: the names of all.
    """

    home: Clock | None
    on: dict[str, Clock | None] = field(default_factory=dict[str, Clock | None])
    inside: dict[str, Clock | None] = field(default_factory=dict[str, Clock | None])
    kinds: dict[str, str] = field(default_factory=dict[str, str])
    states: dict[str, Clock] = field(default_factory=dict[str, Clock])
    depths: dict[str, int] = field(default_factory=dict[str, int])
    clocks: set[str] = field(default_factory=set[str])

    def around(self, c: Clock) -> Clock | None:
        """The loop that a loop lies in."""
        if c.args is None:
            return self.inside.get(c.head)
        first = c.args[0] if c.args else None
        if isinstance(first, Move) and first.args:
            first = first.args[0]
        return self.around(first) if isinstance(first, Clock) else None

    def put(self, x: Any, c: Clock | None) -> None:
        """Note that a term lies on a loop, and where the terms in it lie then."""
        match x:
            case Value(args=None) | Args(args=None):
                self.on.setdefault(x.head, c)
            case Term(head="hold" | "seq", args=(Clock() as d, inner)):
                self.put(inner, self.around(d))
            case Term(head="delay", args=(Clock() as d, Term() as init, State() as s, k)):
                self.states[s.head] = d
                self.depths[init.head] = max(self.depths.get(init.head, 1), k if isinstance(k, int) else 1)
                self.put(init, self.around(d))
            case Term(head="stack" | "tail" | "at", args=(Clock() as d, inner, *_)):
                if d.args is None and c is not None:
                    self.inside[d.head] = c
                self.put(inner, d)
            case Term(head="on", args=(Term(head=move, args=(Clock() as d, other)), inner)):
                if move == "lifted" and isinstance(other, Clock):
                    self.inside[other.head] = d
                self.put(inner, other if move == "lifted" and isinstance(other, Clock) else d)
            case Term(head="both", args=(Term(args=(Clock() as first, *rest)), v, w)):
                self.put(v, first)
                self.put(w, rest[0] if rest and isinstance(rest[0], Clock) else self.around(first))
            case Term(head="apply", args=(Term() as op, Term() as args)):
                self._kinds(op, arguments(args))
                for a in arguments(args):
                    self.put(a, c)
            case _:
                pass

    def _kinds(self, op: Term, args: list[Term]) -> None:
        form = operator_form(op)
        form = operator_form(form.op) if isinstance(form, Vmap) else form
        if isinstance(form, TableOperator):
            for kind, table in (("bool", _BOOLS), ("count", _COUNTS), ("number", _NUMBERS)):
                for i in table.get(form.op.name, ()):
                    if i < len(args) and is_variable(args[i]):
                        self.kinds.setdefault(args[i].head, kind)


def places_of(law: Law) -> LawPlaces:
    """Where the variables of a law lie, by its equation first and by its conditions then."""
    e = law.equation
    lies = [c.args[1] for c in e.when if c.fact == "lies_on"]
    around = [_home(x) for x in (e.left, e.right)]
    home = next((x for x in [*around, *lies] if isinstance(x, Clock)), None)
    places = LawPlaces(home)
    everything = [e.left, e.right, *(a for c in e.when for a in c.args)]
    places.clocks = {x.head for y in everything for x in subterms(y) if isinstance(x, Clock) and x.args is None}
    if isinstance(e.left, Value):
        for x in (e.left, e.right):
            places.put(x, home)
    for c in e.when:
        _placed(places, c.fact, c.args)
    for c in e.when:
        if c.fact == "entries":
            _alike(places, c.args[1], c.args[2])
    return places


def _placed(places: LawPlaces, fact: str, args: Iterable[Any]) -> None:
    args = list(args)
    clock = next((a for a in args if isinstance(a, Clock)), None)
    state = next((a for a in args if isinstance(a, State)), None)
    if clock is not None and state is not None and state.args is None:
        places.states.setdefault(state.head, clock)
    for a, where in zip(args, WHERE.get(fact, "=" * len(args)), strict=True):
        if not isinstance(a, Value | Args):
            continue
        if where == "=" or clock is None:
            on = places.states.get(state.head) if state is not None else places.home
            places.put(a, on if on is not None else places.home)
        else:
            places.put(a, {"c": clock, "k": Clock("chunks", (clock,)), ".": places.around(clock)}[where])


def _alike(places: LawPlaces, x: Any, rows: Any) -> None:
    """A sequence is of the same kind as its entries."""
    if is_variable(x) and is_variable(rows):
        for a, b in ((x.head, rows.head), (rows.head, x.head)):
            if a in places.kinds:
                places.kinds.setdefault(b, places.kinds[a])


def _home(x: Any) -> Clock | None:
    """The loop that a pattern is on, None where it does not say or is outside of all."""
    match x:
        case Term(head="hold" | "seq" | "delay", args=(Clock() as c, *_)):
            return c
        case Term(head="apply", args=(_, Term() as args)):
            return next((home for a in arguments(args) if (home := _home(a)) is not None), None)
        case _:
            return None
