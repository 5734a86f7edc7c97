"""The gradient of a loop is a loop that runs backwards: an ordinary scan over the reversed history.

At its step r the backward loop is at time t = n-1-r of the forward one.  It reads again what the
forward step read and returned, recomputes what else the gradients need, and carries the gradients with
respect to the states: a state with taps -k becomes a *mit-mot*, whose row r is the gradient with
respect to the state at time n-1-r.  In-tap 0 is complete when step r reads it; to the row of each tap
the step adds its own part.  Source: the internal documentation of scan (mit-mots).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from scanopt.array.derivatives import smooth
from scanopt.array.op import Op, step_of
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable, apply
from scanopt.gradient.flows import flows, inner_flows
from scanopt.gradient.one_row import only_row
from scanopt.gradient.pullback import Contributions, pull, register_loop_rule, zeros_like
from scanopt.loops.graph import leaves
from scanopt.loops.mit_mots import desugared
from scanopt.loops.node import MitMot, MitSot, NitSot, NonSequence, Scan, SitSot, State
from scanopt.loops.node import Sequence as SequenceSlot
from scanopt.loops.rebuild import rebuild
from scanopt.records import dataclass

__all__ = ["scan_pullback"]

Cotangents = Sequence[Variable | None]
Parts = Mapping[Variable, Variable]


@register_loop_rule
def scan_pullback(node: Scan, cotangents: Cotangents, wanted: Collection[Variable]) -> Contributions:
    """The contributions of a loop to the gradients with respect to its inputs `wanted`.

    cotangents: gradients with respect to node.outputs, None for an output without one.
    """
    if node.mit_mots:
        _, outputs = desugared(node)
        given = list(dict.fromkeys(v for v in node.inputs if v in wanted))
        parts = zip(given, pull(outputs, cotangents, given, given=node.inputs), strict=True)
        return [(v, part) for v, part in parts if part is not None]
    return _Backward(node, cotangents, wanted).contributions()


@dataclass(frozen=True, eq=False)
class _Flow:
    """The gradient with respect to one state or map on its way backwards in time.

    complete: the variable from which the step reads the whole gradient with respect to the value at its time.
    outside: the gradient with respect to the trace from outside the loop, None for nothing.
    """

    value: Variable
    complete: Variable
    outside: Variable | None
    state: State | None


class _Backward:
    """The backward loop of a loop without mit-mots."""

    def __init__(self, node: Scan, cotangents: Cotangents, wanted: Collection[Variable]) -> None:
        self.node, self.cotangents, self.wanted = node, cotangents, wanted
        self.steps = _length(node.outputs[0]) if node.until is not None else node.n_steps
        limit = node.truncate_gradient
        self.truncated = limit >= 0
        self.back: Variable = FUNCTIONS["minimum"](self.steps, np.int64(limit)) if self.truncated else self.steps

    def contributions(self) -> Contributions:
        """Pairs of an input of the loop and its part."""
        flowing = [self._flow(i) for i in self._active()]
        wrt = self._sources([f.state for f in flowing if f.state is not None])
        with step_of(self.node.n_steps.operand):
            found = pull([f.value for f in flowing], [f.complete for f in flowing], wrt)
        parts = {v: part for v, part in zip(wrt, found, strict=True) if part is not None}
        if not parts:
            return ()
        return list(_Loop(self, flowing, *self._with_traces(parts)).contributions())

    def _with_traces(self, parts: Parts) -> tuple[Parts, list[SequenceSlot]]:
        """The parts, rewritten to read results of the forward step that they need, and sequences of these results."""
        rows = {v: i for i, v in reversed(list(enumerate(self.node.traced))) if v.owner is not None}
        names = {s.output_state: f"{s.init_outer.name}[t]" for s in self.node.states if s.init_outer.name}
        read: dict[Variable, Variable] = {v: Variable(v.type, v.name or names.get(v)) for v in rows}
        new = rebuild(list(parts.values()), read)
        used = set(leaves(new))
        kept = [(read[v], self.node.outputs[i]) for v, i in rows.items() if read[v] in used]
        return dict(zip(parts, new, strict=True)), [SequenceSlot(self.reversed(trace), v) for v, trace in kept]

    def _active(self) -> list[int]:
        """The numbers of the traced values that cotangents reach, directly or through states, and that vary.

        A state also varies if only its initial rows do.
        """
        node = self.node
        varying = inner_flows(node, self.wanted)
        reads = [flows(node.traced, s.input_states) for s in node.states]
        active = {i for i, g in enumerate(self.cotangents) if g is not None}
        grown: set[int] = set()
        while grown != active:
            grown = active
            values = [node.traced[i] for i in active]
            active = active | {i for i, read in enumerate(reads) if any(v in read for v in values)}
        past = [s.input_states for s in node.states] + [()] * len(node.nit_sots)
        return sorted(i for i in active if any(v in varying for v in (node.traced[i], *past[i])))

    def _flow(self, i: int) -> _Flow:
        node, g = self.node, self.cotangents[i]
        value = node.traced[i]
        state = node.states[i] if i < len(node.states) else None
        return _Flow(value, Variable(value.type, f"d{value.name}" if value.name else None), g, state)

    def _sources(self, states: Sequence[State]) -> list[Variable]:
        """The inner variables whose gradients are needed."""
        node, wanted = self.node, self.wanted
        read = [s.u_inner for s in node.sequences if s.u_outer in wanted]
        read += [v for s in states for v in s.input_states]
        read += [w.w_inner for w in node.non_sequences if w.w_outer in wanted]
        return [v for v in dict.fromkeys(read) if smooth(v)]

    # Rows of the forward loop, in the order of the backward one

    def reversed(self, rows: Variable) -> Variable:
        """Rows, one per forward step, from the last to the first; for a truncated gradient only its steps."""
        back = rows[::-1]
        return back[: self.back] if self.truncated else back

    def sequence(self, x: SequenceSlot) -> Variable:
        """The rows that the steps read from a sequence."""
        return self.reversed(x.u_outer if self.node.until is None else x.u_outer[: self.steps])

    def past(self, state: State, trace: Variable, tap: int) -> Variable:
        """The rows that the steps read from a state at a tap."""
        init = initial_rows(state)
        history = FUNCTIONS["concatenate"]([init, trace], 0)
        return self.reversed(history[depth(state) + tap : tap])


def depth(state: State) -> int:
    """The number of initial rows of a state."""
    return -min(state.taps)


def initial_rows(state: State) -> Variable:
    """The rows of a state before its first step."""
    rows: Variable = state.init_outer if isinstance(state, MitSot) else FUNCTIONS["expand_dims"](state.init_outer, 0)
    return rows


def _length(x: Variable) -> Variable:
    return apply(Op.make("shape_i", axis=0), x)


class _Loop:
    """The backward loop, assembled from the parts that its step computes."""

    def __init__(
        self, backward: _Backward, flowing: Sequence[_Flow], parts: Parts, traces: Sequence[SequenceSlot]
    ) -> None:
        self.backward, self.forward, self.parts = backward, backward.node, parts
        self.sequences: list[SequenceSlot] = list(traces)
        self.buffers: dict[State, MitMot] = {}
        self.carried: dict[State, SitSot] = {}
        for f in flowing:
            self._carry(f)
        node = self.forward
        self.maps = {s: NitSot(parts[s.u_inner]) for s in node.sequences if self._asked(s.u_outer, s.u_inner)}
        self.sums = {w: _sum(w, parts[w.w_inner]) for w in node.non_sequences if self._asked(w.w_outer, w.w_inner)}
        self._read_again()
        self.node = self._scan()

    def _asked(self, outer: Variable, inner: Variable) -> bool:
        return outer in self.backward.wanted and inner in self.parts

    def _carry(self, f: _Flow) -> None:
        """Add the slot for one gradient: a mit-mot if the past of the state gets parts, else a sequence.

        With a single tap -1, and at most the last value used outside, all rows but the first would start
        as zeros: then it is a plain state.  The buffer of a mit-mot ends with rows for the initial rows,
        as many as the deepest tap needs.
        """
        taps = [] if f.state is None else [
            (-k, self.parts[v]) for k, v in zip(f.state.taps, f.state.input_states, strict=True) if v in self.parts
        ]  # fmt: skip
        if f.state is None or not taps:
            self.sequences.append(SequenceSlot(self._rows(f), f.complete))
            return
        last = _last_alone(f.outside)
        if [k for k, _ in taps] == [1] and (f.outside is None or last is not None):
            start = zeros_like(initial_rows(f.state)[0]) if last is None else last
            self.carried[f.state] = SitSot(start, f.complete, _cast(taps[0][1], f.complete.dtype))
            return
        pending = [Variable(f.complete.type, f.complete.name) for _ in taps]
        self.buffers[f.state] = MitMot(
            self._buffer(f),
            (0, *(k for k, _ in taps)),
            tuple(k for k, _ in taps),
            (f.complete, *pending),
            tuple(_cast(p + part, p.dtype) for p, (_, part) in zip(pending, taps, strict=True)),
            exact=max(k for k, _ in taps) == depth(f.state),
        )

    def _trace(self, state: State | None) -> Variable:
        assert state is not None
        return self.forward.outputs[self.forward.states.index(state)]

    def _buffer(self, f: _Flow) -> Variable:
        """The buffer of a mit-mot: the gradient from outside for each time, and zeros for the initial rows."""
        assert f.state is not None
        buffer: Variable = FUNCTIONS["concatenate"]([self._rows(f), zeros_like(initial_rows(f.state))], 0)
        return buffer

    def _rows(self, f: _Flow) -> Variable:
        """The gradient with respect to the trace from outside the loop, one row per backward step."""
        return self.backward.reversed(zeros_like(self._trace(f.state)) if f.outside is None else f.outside)

    def _read_again(self) -> None:
        """Add sequences for the values of the forward steps that the backward step reads."""
        back, needed = self.backward, set(leaves(self._inner_outputs()))
        for x in self.forward.sequences:
            if x.u_inner in needed:
                self.sequences.append(SequenceSlot(back.sequence(x), x.u_inner))
        for state, trace in zip(self.forward.states, self.forward.outputs, strict=False):
            for tap, v in zip(state.taps, state.input_states, strict=True):
                if v in needed:
                    self.sequences.append(SequenceSlot(back.past(state, trace, tap), v))

    def _inner_outputs(self) -> list[Variable]:
        written = [v for m in self.buffers.values() for v in m.output_states]
        kept = [*self.carried.values(), *self.sums.values()]
        return [*written, *(s.output_state for s in kept), *(m.output for m in self.maps.values())]

    def _scan(self) -> Scan:
        """The Scan node of the backward loop."""
        node = self.forward
        sit_sots = (*self.carried.values(), *self.sums.values())
        known = {x.u_inner for x in self.sequences} | {s.input_state for s in sit_sots}
        known |= {v for m in self.buffers.values() for v in m.input_states}
        free = leaves(self._inner_outputs(), known)
        named = {w.w_inner: w for w in node.non_sequences}
        return Scan(
            n_steps=self.backward.back,
            sequences=tuple(self.sequences),
            mit_mots=tuple(self.buffers.values()),
            sit_sots=sit_sots,
            nit_sots=tuple(self.maps.values()),
            non_sequences=tuple(named.get(v, NonSequence(v, v)) for v in free),
            name=f"grad_of_{node.name}" if node.name else None,
            location=node.location,
            mode=node.mode,
            allow_gc=node.allow_gc,
            bounded=node.bounded,
        )

    # From the outputs of the backward loop to the inputs of the forward one

    def contributions(self) -> Iterator[tuple[Variable, Variable]]:
        """Pairs of an input of the forward loop and its part."""
        made = self.node
        for state, buffer in zip(self.buffers, made.mit_mot_outputs, strict=True):
            if state.init_outer in self.backward.wanted:
                yield state.init_outer, self._initial(state, buffer)
        traces = iter(made.outputs)
        for (state, s), trace in zip(self.carried.items(), traces, strict=False):
            if state.init_outer in self.backward.wanted:
                yield state.init_outer, self._carried(state, s, trace)
        for (w, s), trace in zip(self.sums.items(), traces, strict=False):
            yield w.w_outer, _last(s, trace)
        for x, rows in zip(self.maps, traces, strict=False):
            yield x.u_outer, self._sequence(x, rows[::-1])

    def _carried(self, state: State, s: SitSot, trace: Variable) -> Variable:
        """The part of the gradient for the initial value; a truncated gradient reaches it only if it has all steps.

        Of several initial rows only the newest gets it; the step reads none of the others.
        """
        back, part = self.backward, _last(s, trace)
        if back.truncated:
            part = FUNCTIONS["where"](FUNCTIONS["eq"](back.back, back.steps), part, zeros_like(part))
        if not isinstance(state, MitSot):
            return part
        row: Variable = FUNCTIONS["expand_dims"](part, 0)
        unread = [zeros_like(state.init_outer[: depth(state) - 1])] if depth(state) > 1 else []
        return FUNCTIONS["concatenate"]([*unread, row], 0) if unread else row

    def _initial(self, state: State, buffer: Variable) -> Variable:
        """The part of the gradient for the initial rows: the last rows of the buffer, which has the newest first.

        For rows that a truncated gradient does not reach it is 0.
        """
        back, d = self.backward, depth(state)
        if not back.truncated:
            return buffer[: -d - 1 : -1] if isinstance(state, MitSot) else buffer[-1]
        nothing = zeros_like(initial_rows(state))
        rows: Variable = FUNCTIONS["concatenate"]([nothing, buffer[back.steps :][::-1]], 0)
        return rows[-d:] if isinstance(state, MitSot) else rows[-1]

    def _sequence(self, x: SequenceSlot, rows: Variable) -> Variable:
        """The part of the gradient for a sequence: 0 for steps that did not run or that the gradient does not reach."""
        back = self.backward
        pieces = [rows]
        if back.truncated:
            pieces.insert(0, zeros_like(x.u_outer[: back.steps - back.back]))
        if self.forward.until is not None:
            pieces.append(zeros_like(x.u_outer[back.steps :]))
        if len(pieces) == 1:
            return rows
        padded: Variable = FUNCTIONS["concatenate"](pieces, 0)
        return padded


def _last_alone(g: Variable | None) -> Variable | None:
    """The gradient with respect to the last row, if g has the form that `trace[-1]` passes back, else None."""
    found = None if g is None else only_row(g)
    return found[1] if found is not None and found[0] == -1 else None


def _last(s: SitSot, trace: Variable) -> Variable:
    """The last value of a state, or its initial one if no step ran."""
    rows: Variable = FUNCTIONS["concatenate"]([FUNCTIONS["expand_dims"](s.init_outer, 0), trace], 0)
    return rows[-1]


def _sum(w: NonSequence, part: Variable) -> SitSot:
    """A state of the backward loop that sums the parts of a non-sequence over all steps."""
    so_far = Variable(w.w_inner.type, f"d{w.w_inner.name}" if w.w_inner.name else None)
    return SitSot(zeros_like(w.w_outer), so_far, _cast(so_far + part, so_far.dtype))


def _cast(x: Variable, dtype: str) -> Variable:
    cast: Variable = FUNCTIONS["cast"](x, dtype)
    return cast
