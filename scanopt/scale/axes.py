"""Which axis of each result depends on which axis of each input: follows kinds through a graph and its loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

import scanopt.scale.axis_rules_of_parts  # registers its rules
import scanopt.scale.axis_rules_of_reductions  # noqa: F401
from scanopt.array.variable import Apply, Constant, Variable, describe
from scanopt.loops.graph import schedule
from scanopt.loops.node import MitSot, Scan, State
from scanopt.records import dataclass
from scanopt.scale.axis_rules import Use, rule_of
from scanopt.scale.kinds import COUNT, WHOLE, ZERO, Dependence, Kind, LaneKind, Mixed, Partial, join, named

__all__ = ["Flow", "kinds_of"]

Env = dict[Variable, Kind]


def kinds_of(outputs: Sequence[Variable], lanes: Mapping[Variable, int], carries: bool = False) -> Flow:
    """The kinds of `outputs`, and of all they are computed from.  lanes: by input the axis of its lanes.

    carries: assume that loops over the lanes are given the values that they carry from lane to lane, and list them.
    """
    env: Env = {v: LaneKind(axis) for v, axis in lanes.items()}
    flow = Flow(carries)
    flow.follow(outputs, env)
    flow.kinds = env
    return flow


def kind_of_leaf(v: Variable) -> Kind:
    """The kind of an input, a constant or a shared variable without lanes."""
    zeros = isinstance(v, Constant) and v.data.size <= 1 and not np.any(v.data) and not np.any(np.signbit(v.data.real))
    return ZERO if zeros else WHOLE


@dataclass
class Flow:
    """One analysis.  loops: over the lanes, with states.  noted: operators whose rounding may depend on other lanes."""

    carries: bool = False
    kinds: Env = field(default_factory=Env)
    loops: list[Scan] = field(default_factory=list[Scan])
    noted: dict[str, None] = field(default_factory=dict[str, None])
    place: str = ""
    depth: int = 0

    def follow(self, outputs: Sequence[Variable], env: Env) -> list[Kind]:
        """The kinds of `outputs`, from those in `env`; adds the kinds of all variables on the way to `env`."""
        for node in schedule(outputs, env.keys()):
            if isinstance(node, Scan):
                env.update(zip(node.outputs, self._loop(node, env), strict=True))
            else:
                assert isinstance(node, Apply)
                env[node.outputs[0]] = self._apply(node, env)
        return [self._kind(v, env) for v in outputs]

    def _kind(self, v: Variable, env: Env) -> Kind:
        found = env.get(v)
        if found is None:
            found = env[v] = kind_of_leaf(v)
        return found

    def _apply(self, node: Apply, env: Env) -> Kind:
        kinds = [self._kind(v, env) for v in node.inputs]
        if node.op.name in ("full_like", "shape_i") and isinstance(kinds[0], Mixed) and kinds[0].shaped:
            kinds[0] = WHOLE  # only its shape is read
        for k in kinds:
            if isinstance(k, Mixed):
                return k.passed()
        known = rule_of(node.op.name)
        use = Use(node.op, node.inputs, kinds, node.outputs[0], self.place, lambda text: self.noted.setdefault(text))
        if all(k in (WHOLE, ZERO) for k in kinds):
            return ZERO if kinds and kinds[0] == ZERO and node.op.name in _KEEP_ZEROS else self._filled(use)
        if known is None:
            return use.mixed("it is not known of this operator which of its entries depend on which")
        return known(use)

    def _filled(self, use: Use) -> Kind:
        value = {"full": 0, "full_like": 1}.get(use.op.name)
        return ZERO if value is not None and use.kinds[value] == ZERO else WHOLE

    # Loops

    def _loop(self, node: Scan, env: Env) -> list[Kind]:
        outer = {v: self._kind(v, env) for v in node.inputs}
        for k in outer.values():
            if isinstance(k, Mixed):
                return [k.passed()] * len(node.outputs)
        before, self.place = self.place, node.location or self.place
        self.depth += 1
        try:
            over = outer[node.n_steps] == COUNT
            if not over and any(outer[q.u_outer] == LaneKind(0) for q in node.sequences):
                q = next(q for q in node.sequences if outer[q.u_outer] == LaneKind(0))
                return self._all(node, "the loop takes another number of steps than there are entries", q.u_outer)
            return self._over_lanes(node, outer) if over else self._beside_lanes(node, outer)
        finally:
            self.place = before
            self.depth -= 1

    def _all(self, node: Scan, why: str, v: Variable | None = None, carried: str = "") -> list[Kind]:
        what = named(v) if v is not None else str(node)
        return [Mixed(Dependence("scan", what, node.location, why, carried))] * len(node.outputs)

    def _over_lanes(self, node: Scan, outer: Env) -> list[Kind]:
        """The kinds of a loop with a step for each lane: a map without states, else dependent on what it carries."""
        inner: Env = {}
        if node.until is not None:
            return self._all(node, "the loop may end early, which later entries cannot tell by themselves")
        for q in node.sequences:
            if outer[q.u_outer] != LaneKind(0):
                return self._all(node, "a sequence of it does not run along the entries", q.u_outer)
            inner[q.u_inner] = WHOLE
        for w in node.non_sequences:
            if outer[w.w_outer] not in (WHOLE, ZERO):
                return self._all(node, "each step reads all entries", w.w_outer)
            inner[w.w_inner] = WHOLE
        carries = self.carries and self.depth == 1  # only outer loops can be given their carries
        if node.mit_mots:
            return self._all(node, "a step reads and writes rows of others", node.mit_mots[0].buffer_outer)
        for i, s in enumerate(node.states):
            why = f"{node.label(i)} is carried from the step of one entry to that of the next"
            carried = Mixed(Dependence("scan", named(s.init_outer), node.location, why, node.label(i)))
            given = outer[s.init_outer] in (WHOLE, ZERO)
            inner.update(dict.fromkeys(s.input_states, WHOLE if carries and given else carried))
        if node.states and carries and node not in self.loops:
            self.loops.append(node)
        found = self.follow(node.traced, inner)
        return [LaneKind(0) if k in (WHOLE, ZERO) else k.passed() if isinstance(k, Mixed) else k for k in found]

    def _beside_lanes(self, node: Scan, outer: Env) -> list[Kind]:
        """The kinds of a loop whose steps are the same for all lanes, found as a fixpoint over its states."""
        first: Env = {q.u_inner: _row(outer[q.u_outer]) for q in node.sequences}
        first |= {w.w_inner: outer[w.w_outer] for w in node.non_sequences}
        if outer[node.n_steps] not in (WHOLE, ZERO):
            return self._all(node, "the number of steps depends on the entries", node.n_steps)
        states = [_start(s, outer) for s in node.states]
        buffers = [_row(outer[m.buffer_outer]) for m in node.mit_mots]
        while True:
            inner = dict(first)
            for s, k in zip(node.states, states, strict=True):
                inner.update(dict.fromkeys(s.input_states, k))
            for m, k in zip(node.mit_mots, buffers, strict=True):
                inner.update(dict.fromkeys(m.input_states, k))
            found = iter(self.follow(node.inner_outputs, inner))
            written = [[next(found) for _ in m.output_states] for m in node.mit_mots]
            traced = [next(found) for _ in node.traced]
            if node.until is not None and (k := next(found)) not in (WHOLE, ZERO):
                return self._all(node, f"when it ends depends on the entries ({k})", node.until)
            new = [_joined(node, i, k, traced[i]) for i, k in enumerate(states)]
            rows = list(buffers)
            for i, (k, writes) in enumerate(zip(buffers, written, strict=True)):
                for w in writes:
                    k = _joined(node, None, k, w)
                rows[i] = k
            if (new, rows) == (states, buffers):
                break
            states, buffers = new, rows
        merged = [*states, *traced[len(states) :]]
        return [_traced(k) for k in [*merged, *buffers]]


_KEEP_ZEROS = {"expand_dims", "squeeze", "transpose", "broadcast_to", "reshape", "getitem", "swap_rows", "repeat_rows",
               "spread_like", "shaped_like", "specify_shape", "sum", "cast", "sum_to"}  # fmt: skip


def _row(k: Kind) -> Kind:
    return LaneKind(k.axis - 1) if isinstance(k, LaneKind) else k


def _traced(k: Kind) -> Kind:
    if isinstance(k, Mixed):
        return k.passed()
    return LaneKind(k.axis + 1) if isinstance(k, LaneKind) else k


def _start(s: State, outer: Env) -> Kind:
    found = outer[s.init_outer]
    return _row(found) if isinstance(s, MitSot) else found


def _joined(node: Scan, i: int | None, before: Kind, after: Kind) -> Kind:
    """The kind of a state or buffer whose initial value has one kind and whose new value has another."""
    found = join(before, after)
    if found is not None:
        return found
    what = "a buffer" if i is None else node.label(i)
    v = node.states[i].init_outer if i is not None else node.mit_mots[0].buffer_outer
    hint = ""
    if isinstance(after, LaneKind) and before in (WHOLE, ZERO):
        hint = ": let its start have the symbolic length of the entries, as T.zeros((x.shape[0], n))"
    elif isinstance(after, Partial):
        hint = ": let it start with zeros, and add the start afterwards"
    why = f"{what} starts {before} and becomes {after}{hint}"
    return Mixed(Dependence("scan", describe(v), node.location, why))
