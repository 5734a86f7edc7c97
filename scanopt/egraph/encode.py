"""Encodes the symbolic graph as terms: inputs stand where they are used, and every loop gets a clock.

A scope is a path into nested loops; a variable is encoded once for each scope in which it is read.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from scanopt.analysis.lengths import changing, known_lengths
from scanopt.array.op import Op
from scanopt.array.shown import shown
from scanopt.array.types import TensorType
from scanopt.array.variable import Apply, Constant, Node, Variable
from scanopt.calculus.encoded import Encoded, clocks_of
from scanopt.calculus.forms import ROOT, ClockInfo, Form, StateInfo, const_key
from scanopt.config import config
from scanopt.loops.graph import leaves, unconditional
from scanopt.loops.mit_mots import without_mit_mots
from scanopt.loops.node import MitSot, NonSequence, Scan, State
from scanopt.loops.node import Sequence as ScanSequence
from scanopt.records import dataclass

__all__ = ["Encoder", "encode"]

_LENGTH = Op.make("shape_i", axis=0)
_SUM = Op.make("sum", axis=(0,), keepdims=False)
FIRST_ROWS = Op.make("getitem", index=(("slice", None, "in", None),))
MOST_TAKEN_APART = 3
"""Loops of more steps than this are not unrolled (see `rewrites/few_steps.py`)."""

Slot = ScanSequence | NonSequence | tuple[State, int]


@dataclass(frozen=True, eq=False)
class LoopScope:
    """The inside of a loop: its clock, the terms of its inner variables, and the enclosing scope."""

    scan: Scan
    parent: LoopScope | None
    clock: int
    slots: dict[Variable, Slot]
    states: dict[State, int]


Task = tuple[Variable, LoopScope | None]


class Encoder:
    """Encodes the requested variables as terms, each once.

    watched: states whose shape each step checks.
    """

    def __init__(self, inputs: Sequence[Variable], watched: Set[State] = frozenset(), profiled: bool = False) -> None:
        self.graph = Encoded()
        self._profiled = profiled
        self._watched = watched
        self._of_few_steps: dict[int, State] = {}
        self._ids: dict[Form, int] = {}
        self._done: dict[tuple[Variable, LoopScope | None], int] = {}
        self._scopes: dict[tuple[Scan, LoopScope | None], LoopScope] = {}
        self._pending: list[tuple[int, State, LoopScope]] = []
        self._checks: list[Task] = []
        self._always: set[Node] = set()
        self._endings: list[tuple[LoopScope, Variable]] = []
        for i, x in enumerate(inputs):
            key = f"{i}"
            self.graph.inputs[key] = x.type
            self.graph.input_labels[key] = shown(x.name or "")
            self.graph.input_axes[key] = tuple(map(shown, x.axes))
            self._done[x, None] = self._new(Form("input", key=key), x.type)

    def run(self, outputs: Sequence[Variable]) -> Encoded:
        """Encode the outputs and everything they need."""
        self._always = unconditional(outputs)
        roots = [self._encode(x, None) for x in outputs]
        checks = self._completed()
        self.graph.roots, self.graph.checks = tuple(roots), tuple(checks)
        self.graph.written = _written(self.graph)
        return self.graph

    def _completed(self) -> list[int]:
        """Encode all pending updates, end conditions and requirements of loops; return the terms of the latter."""
        checks: list[int] = []
        while self._pending or self._checks or self._endings:
            while self._endings:
                scope, condition = self._endings.pop()
                info = self.graph.clocks[scope.clock]
                self.graph.clocks[scope.clock] = replace(info, until=(self._encode(condition, scope),))
            while self._pending:
                state, s, scope = self._pending.pop()
                label = self.graph.states[state].label
                self.graph.states[state] = StateInfo(label, (self._checked(s.output_state, scope),))
            if self._checks:
                checks.append(self._check(*self._checks.pop()))
        return checks

    def may_change(self) -> set[State]:
        """States whose shape may change unnoticed: laws may split or remove their loop, or no step reads them.

        States that no step reads are terms of this graph from then on.
        """
        doubtful = self._of_few_steps.copy()
        for i, (s, scope) in self._unread().items():
            doubtful[i] = s
            self._encode(s.input_states[0], scope)
        self._completed()
        if not doubtful:
            return set()
        return {doubtful[s] for s in changing(self.graph, known_lengths(self.graph)) if s in doubtful}

    def _unread(self) -> dict[int, tuple[State, LoopScope]]:
        """The states of which steps read nothing but lengths, and whose shape the types do not fix."""
        g = self.graph
        delays = {i: f.state for i, f in g.forms() if f.kind == "delay"}
        readers = (f for _, f in g.forms() if f.operator is None or f.operator.name != "shape_i")
        read = {delays[a] for f in readers for a in f.args if a in delays}
        states = ((i, s, scope) for scope in self._scopes.values() for s, i in scope.states.items())
        return {i: (s, scope) for i, s, scope in states if i not in read and not _keeps_shape(s)}

    def tell_lengths(self) -> None:
        """Record in `same_lengths` which lengths equal a length of an array further out, or a number.

        If x[:n] is all of x, n is the length of x.  Terms of one loop that are the minimum of the same lengths are
        recorded as equal.
        """
        g = self.graph
        clocks, scalar = clocks_of(g), TensorType("int64", ())
        known = known_lengths(g, raised=True)
        for f in [f for _, f in g.forms() if f.operator == FIRST_ROWS]:
            x, n = f.args
            if known.axes[x][0] == known.values[n]:
                g.same_lengths.append((self._new(Form("apply", (x,), operator=_LENGTH), scalar), n))
        named: dict[tuple[Hashable, int], int] = {}
        for i, key in known.values.items():
            form = g.classes[i][0]
            if form.kind in ("hold", "const", "input") or g.types[i] != scalar:
                continue
            match key:
                case ("axis", int() as j, int() as k) if clocks[j] in (ROOT, *g.chain(clocks[i])):
                    found = self._new(Form("apply", (j,), operator=Op.make("shape_i", axis=k)), scalar)
                    around = g.chain(clocks[i])[len(g.chain(clocks[j])) :]
                case ("least", _) if (first := named.setdefault((key, clocks[i]), i)) != i:
                    found, around = first, ()
                case ("number", int() as n):
                    found, around = self._constant(np.array(n, "int64")), g.chain(clocks[i])
                case _:
                    continue
            for c in around:
                found = self._new(Form("hold", (found,), clock=c), scalar)
            if found != i:
                g.same_lengths.append((i, found))

    def _constant(self, value: np.ndarray[Any, Any]) -> int:
        key = const_key(value)
        self.graph.consts[key] = value
        return self._new(Form("const", key=key), TensorType(value.dtype.name, value.shape))

    def _check(self, x: Variable, scope: LoopScope | None) -> int:
        """Encode a requirement; inside loops its trace is a result, since rows that are not kept need not be computed.

        For an inner loop it is the sum of the trace, since the loop may take another number of steps each time.
        """
        value, type = self._encode(x, scope), x.type
        while scope is not None:
            value = self._new(Form("stack", (value,), clock=scope.clock), type.rows(None))
            scope = scope.parent
            if scope is not None:
                value = self._new(Form("apply", (value,), operator=_SUM), type)
        return value

    # One variable at a time, without recursion: graphs may be deep.

    def _encode(self, x: Variable, scope: LoopScope | None) -> int:
        todo: list[Task] = [(x, scope)]
        while todo:
            task = todo[-1]
            if task in self._done:
                todo.pop()
                continue
            missing = [t for t in self._needs(*task) if t not in self._done]
            if missing:
                todo.extend(missing)
            else:
                self._done[task] = self._build(*task)
                todo.pop()
        return self._done[x, scope]

    def _needs(self, x: Variable, scope: LoopScope | None) -> list[Task]:
        if scope is not None and (slot := scope.slots.get(x)) is not None:
            return [(_outer(slot), scope.parent)]
        if isinstance(x.owner, Apply) and (x.owner.inputs or scope is None):
            some = 1 if x.owner.op.spec.for_gradients else None
            return [(a, scope) for a in x.owner.inputs[:some]]
        if isinstance(x.owner, Scan):
            inner = self._scope(x.owner, scope)
            return [(x.owner.n_steps, scope), (x.owner.traced[x.index], inner)]
        if scope is not None:
            return [(x, scope.parent)]
        if isinstance(x, Constant):
            return []
        raise KeyError(f"{x!r} is neither an input nor made from inputs")

    def _build(self, x: Variable, scope: LoopScope | None) -> int:
        if scope is not None and (slot := scope.slots.get(x)) is not None:
            return self._slot(x, slot, scope)
        if isinstance(x.owner, Apply) and (x.owner.inputs or scope is None):
            if x.owner.op.spec.for_gradients:
                return self._done[x.owner.inputs[0], scope]
            args = tuple(self._done[a, scope] for a in x.owner.inputs)
            return self._new(Form("apply", args, operator=x.owner.op), x.type)
        if isinstance(x.owner, Scan):
            scan, inner = x.owner, self._scope(x.owner, scope)
            value = self._checked(scan.traced[x.index], inner)
            return self._new(Form("stack", (value,), clock=inner.clock), x.type)
        if scope is not None:
            return self._new(Form("hold", (self._done[x, scope.parent],), clock=scope.clock), x.type)
        assert isinstance(x, Constant)
        return self._constant(x.data)

    def _slot(self, x: Variable, slot: Slot, scope: LoopScope) -> int:
        outer, c = self._done[_outer(slot), scope.parent], scope.clock
        if isinstance(slot, NonSequence):
            return self._new(Form("hold", (outer,), clock=c), x.type)
        if isinstance(slot, ScanSequence):
            return self._new(Form("seq", (outer,), clock=c), x.type)
        state, tap = slot
        init = self._initial_rows(state, outer)
        return self._new(Form("delay", (init,), clock=c, state=scope.states[state], k=-tap), x.type)

    def _checked(self, kept: Variable, scope: LoopScope) -> int:
        """Encode `kept`, a result of a step; if it updates watched states, with a check that it has their shape."""
        found = self._encode(kept, scope)
        for state in scope.scan.states:
            if state.output_state is kept and state in self._watched:
                op, first = Op.make("shaped_like", axes=kept.ndim), self._encode(state.init_outer, scope.parent)
                first = self._new(Form("hold", (first,), clock=scope.clock), state.init_outer.type)
                found = self._new(Form("apply", (found, first), operator=op), kept.type)
        return found

    def _initial_rows(self, state: State, outer: int) -> int:
        """Row 0 of a sit-sot's buffer is its initial state; a mit-sot reads its first `depth` rows."""
        type = state.init_outer.type
        if not isinstance(state, MitSot):
            op, type = Op.make("expand_dims", axis=(0,)), type.rows(1)
        elif type.shape[0] == state.depth:
            return outer
        else:
            op = Op.make("getitem", index=(("slice", None, state.depth, None),))
            type = TensorType(type.dtype, (state.depth, *type.shape[1:]))
        return self._new(Form("apply", (outer,), operator=op), type)

    def _scope(self, scan: Scan, parent: LoopScope | None) -> LoopScope:
        if (found := self._scopes.get((scan, parent))) is not None:
            return found
        clock = len(self.graph.clocks)
        title = scan.title if self._profiled else scan.profile
        labels, titles = ((shown(text),) if text else () for text in (scan.name, title))
        level = parent.clock if parent else ROOT
        frees = config.allow_gc and config.scan.allow_gc if scan.allow_gc is None else scan.allow_gc
        sites = (str(scan),) if scan.name or scan.location else ()
        self.graph.clocks[clock] = ClockInfo(level, -1, labels, (), titles, not frees, sites, scan.bounded, scan.mode)
        self.graph.locations[clock] = scan.location
        slots: dict[Variable, Slot] = {s.u_inner: s for s in scan.sequences}
        slots |= {w.w_inner: w for w in scan.non_sequences}
        states: dict[State, int] = {}
        scope = LoopScope(scan, parent, clock, slots, states)
        self._scopes[scan, parent] = scope
        for s in scan.states:
            states[s] = len(self.graph.states)
            self.graph.states[states[s]] = StateInfo(shown(s.output_state.name or _label(s)), ())
            self._pending.append((states[s], s, scope))
            if _may_be_few(scan):
                self._of_few_steps[states[s]] = s
            slots |= {x: (s, tap) for tap, x in zip(s.taps, s.input_states, strict=True)}
        steps = self._encode(scan.n_steps, parent)
        if scan in self._always:
            self._checks.extend((r.check, parent) for r in scan.requires)
        else:
            steps = self._checked_steps(scan, steps, parent)
        self.graph.clocks[clock] = replace(self.graph.clocks[clock], steps=steps)
        if scan.until is not None:
            self._endings.append((scope, scan.until))
        return scope

    def _checked_steps(self, scan: Scan, steps: int, parent: LoopScope | None) -> int:
        """Steps of a loop that also checks its requirements if it runs none: max(n, min(check, n)) = n."""
        for r in scan.requires:
            check, type = self._encode(r.check, parent), scan.n_steps.type
            low = self._new(Form("apply", (check, steps), operator=Op.make("minimum")), type)
            steps = self._new(Form("apply", (steps, low), operator=Op.make("maximum")), type)
        return steps

    def _new(self, form: Form, type: TensorType) -> int:
        if (found := self._ids.get(form)) is not None:
            return found
        i = self._ids[form] = len(self._ids)
        self.graph.classes[i] = [form]
        self.graph.types[i] = type
        return i


def _keeps_shape(state: State) -> bool:
    """Whether the types show that a state keeps its shape."""
    before, after = state.input_states[0].type.shape, state.output_state.type.shape
    return None not in after and before == after


def _may_be_few(scan: Scan) -> bool:
    """Whether laws may find that a loop has so few steps that they unroll it."""
    n = scan.n_steps
    if isinstance(n, Constant) and not isinstance(scan.until, Constant):
        return bool(n.data <= MOST_TAKEN_APART)
    return not leaves([n])


def _outer(slot: Slot) -> Variable:
    if isinstance(slot, NonSequence):
        return slot.w_outer
    if isinstance(slot, ScanSequence):
        return slot.u_outer
    return slot[0].init_outer


def _label(s: State) -> str:
    return (s.input_states[0].name or "").partition("[")[0]


def _written(graph: Encoded) -> dict[int, tuple[str, ...]]:
    """For each term in a loop, the scans whose step contains it, as messages call them."""
    found = {i: graph.clocks[c].sites for i, c in clocks_of(graph).items() if c != ROOT}
    return {i: sites for i, sites in found.items() if sites}


def encode(inputs: Sequence[Variable], outputs: Sequence[Variable], profiled: bool = False) -> Encoded:
    """Encode a program.  inputs: the variables that calls give values for.  profiled: whether all loops are."""
    outputs = without_mit_mots(outputs)
    encoder = Encoder(inputs, profiled=profiled)
    graph = encoder.run(outputs)
    size, watched = len(graph.types), encoder.may_change()
    if watched or len(graph.types) > size:
        encoder = Encoder(inputs, watched, profiled)
        graph = encoder.run(outputs)
    encoder.tell_lengths()
    return graph
