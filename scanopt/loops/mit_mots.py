"""Removes mit-mots from loops: replaces their buffers by states, sequences and slices.

A row of a mit-mot's buffer that an in-tap reads at step t was last written by the smallest out-tap above that
in-tap, so an in-tap reads either a state some steps back or the buffer as it was:

    in-tap i, out-tap o the least above i:   the value of o, o - i steps back, initially B[i - lo + t]
    in-tap i, no out-tap above it:           the sequence B[i - lo : i - lo + n]

After the loop each row r has its last write, that of the least out-tap o with 0 <= r + lo - o < n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from dataclasses import replace as altered

from scanopt.array.op import step_of
from scanopt.array.registry import FUNCTIONS
from scanopt.array.shown import quoted
from scanopt.array.variable import Apply, Node, Variable, apply
from scanopt.loops.flat import mapped
from scanopt.loops.graph import loops_of, schedule, unchanged
from scanopt.loops.node import MitMot, MitSot, NitSot, Scan, SitSot, State
from scanopt.loops.node import Sequence as SequenceSlot
from scanopt.records import dataclass

__all__ = ["desugared", "without_mit_mots"]

Steps = int | Variable
Written = MitSot | SitSot | NitSot
"""The slot that replaces an out-tap: a state if some in-tap reads it, else an output that is not fed back."""


def without_mit_mots(outputs: Iterable[Variable]) -> list[Variable]:
    """The same graph with every loop that has mit-mots, in steps of other loops too, replaced by an equal one.

    The inner inputs and outputs stay the same variables, except in steps that contain such loops.

    >>> from scanopt import interpret, tensor as T
    >>> from scanopt.array.variable import Constant
    >>> B, old, new = T.dvector("B"), T.dscalar(), T.dscalar()
    >>> sums = Scan(Constant(2), mit_mots=(MitMot(B, (0, 1), (1,), (old, new), (old + new,)),))
    >>> interpret(without_mit_mots(sums.outputs)[0], {B: [1.0, 10.0, 100.0]})
    array([  1.,  11., 111.])
    """
    outputs = list(outputs)
    if not any(node.mit_mots for node in loops_of(outputs)):
        return outputs
    return _Removal().variables(outputs)


class _Removal:
    """Maps each variable of the old graph, in any step, to its replacement; one map does for all steps."""

    def __init__(self) -> None:
        self.env: dict[Variable, Variable] = {}

    def variables(self, outputs: Sequence[Variable]) -> list[Variable]:
        """The outputs without mit-mots.  Recursion follows nested loops only."""
        for node in schedule(outputs, self.env):
            new = self.node(node)
            self.env |= {old: _named(v, old) for old, v in zip(node.outputs, new, strict=True)}
        return [self.now(v) for v in outputs]

    def now(self, v: Variable) -> Variable:
        """The replacement of a variable whose node is done."""
        return self.env.get(v, v)

    def node(self, node: Node) -> Sequence[Variable]:
        """The outputs of a node whose inputs are done."""
        if isinstance(node, Apply):
            args = tuple(map(self.now, node.inputs))
            return node.outputs if unchanged(args, node.inputs) else [apply(node.op, *args)]
        if not isinstance(node, Scan):
            raise TypeError(f"no way to rebuild a {type(node).__name__}")
        with step_of(node.n_steps.operand):
            now = [*map(self.now, node.dependencies), *self.variables(node.inner_outputs)]
        if not unchanged(now, [*node.dependencies, *node.inner_outputs]):
            values = {f.name: getattr(node, f.name) for f in fields(node) if f.init}
            node = Scan(**{name: mapped(value, Variable, self.now) for name, value in values.items()})
        return desugared(node)[1]


def desugared(node: Scan) -> tuple[Scan, list[Variable]]:
    """An equal loop without mit-mots, and for each of the node's outputs the variable that is equal to it.

    The step is the same: its inner inputs and outputs are the same variables in other slots.
    Loops inside the step stay as they are.  A loop without mit-mots is returned unchanged.
    """
    if not node.mit_mots:
        return node, list(node.outputs)
    parts = [_Parts.of(node, m) for m in node.mit_mots]
    written = [slot for part in parts for slot in part.written]
    nit_sots = (*node.nit_sots, *(s for s in written if isinstance(s, NitSot)))
    plain = altered(
        node,
        mit_mots=(),
        sequences=(*node.sequences, *(s for part in parts for s in part.sequences)),
        mit_sots=(*node.mit_sots, *(s for s in written if isinstance(s, MitSot))),
        sit_sots=(*node.sit_sots, *(s for s in written if isinstance(s, SitSot))),
        nit_sots=nit_sots,
        labels=(),
        order=None,
    )
    slots: list[State | NitSot] = [*plain.states, *nit_sots]
    place = {slot: i for i, slot in enumerate(slots)}
    old: list[State | NitSot] = [*node.states, *node.nit_sots]
    labels = dict(zip(old, node.labels, strict=True)) if node.labels else {}
    labels |= {slot: part.label for part in parts for slot in part.written} if node.labels else {}
    order = range(len(old)) if node.order is None else node.order
    plain = altered(
        plain, labels=tuple(labels[slot] for slot in slots if labels), order=tuple(place[old[i]] for i in order)
    )
    traces = dict(zip(slots, plain.outputs, strict=True))
    buffers = [part.after([traces[slot] for slot in part.written]) for part in parts]
    return plain, [*(traces[slot] for slot in old), *buffers]


@dataclass(frozen=True, eq=False)
class _Parts:
    """The slots that replace one mit-mot.

    last: the highest tap's row at step 0, if the buffer ends there after the last step.  places: for
    each out-tap, in ascending order, the row it writes at step 0.  written: their slots.
    """

    buffer: Variable
    steps: Steps
    label: str
    sequences: tuple[SequenceSlot, ...]
    last: int | None
    places: tuple[int, ...]
    written: tuple[Written, ...]

    @classmethod
    def of(cls, node: Scan, m: MitMot) -> _Parts:
        """The slots that replace the mit-mot m of a loop."""
        steps, last = _steps(node), m.span if m.exact else None
        outs = dict(sorted(zip(m.out_taps, m.output_states, strict=True)))
        readers: dict[int, list[tuple[int, Variable]]] = {o: [] for o in outs}
        sequences: list[SequenceSlot] = []
        for i, v in zip(m.in_taps, m.input_states, strict=True):
            above = [o for o in outs if o > i]
            if above:
                readers[above[0]].append((i - above[0], v))
            else:
                first = i - m.low
                stop = None if first == last else _sum(steps, first)
                sequences.append(SequenceSlot(_cut(m.buffer_outer, first, stop), v, i))
        written = tuple(_slot(m.buffer_outer, o - m.low, readers[o], v) for o, v in outs.items())
        label = f"the buffer {quoted(m.buffer_outer.name)}" if m.buffer_outer.name else "the buffer of a gradient"
        return cls(m.buffer_outer, steps, label, tuple(sequences), last, tuple(o - m.low for o in outs), written)

    def after(self, traces: Sequence[Variable]) -> Variable:
        """The buffer after the loop; where two out-taps write the same row, the lower one does so last."""
        if not traces:
            return self.buffer
        pieces: list[Variable] = []
        end: Steps = 0  # the end of the rows that are done
        before: int | None = None
        for place, trace in zip(self.places, traces, strict=True):
            pieces += _kept(self.buffer, end, place)
            pieces.append(trace if before is None else _last_rows(trace, place - before))
            before, end = place, _sum(self.steps, place)
        pieces += _kept(self.buffer, end, None) if before != self.last else []
        joined: Variable = FUNCTIONS["concatenate"](pieces, 0) if len(pieces) > 1 else pieces[0]
        return joined


def _slot(buffer: Variable, place: int, readers: Sequence[tuple[int, Variable]], value: Variable) -> Written:
    """The slot of an out-tap that first writes row `place`.  readers: (tap, variable of the step)."""
    if not readers:
        return NitSot(value)
    taps, variables = tuple(tap for tap, _ in readers), tuple(v for _, v in readers)
    if taps == (-1,):
        return SitSot(buffer[place - 1], variables[0], value)
    return MitSot(_cut(buffer, place + min(taps), place), taps, variables, value)


def _cut(buffer: Variable, start: Steps, stop: Steps | None) -> Variable:
    """Rows start to stop of a buffer; the buffer itself if these are all."""
    rows = buffer.type.shape[0]
    if isinstance(start, int) and start == 0 and (stop is None or (isinstance(stop, int) and stop == rows)):
        return buffer
    part: Variable = buffer[start:stop]
    return part


def _kept(buffer: Variable, start: Steps, stop: int | None) -> list[Variable]:
    """Rows start to stop of a buffer in a list, an empty list if there are known to be none."""
    if stop is not None and isinstance(start, int):
        if stop <= start:
            return []
        if stop == start + 1:  # as the initial state of the loop, so that both are one term
            return [FUNCTIONS["expand_dims"](buffer[start], 0)]
    part = _cut(buffer, start, stop)
    return [] if part.type.shape[0] == 0 else [part]


def _last_rows(trace: Variable, k: int) -> Variable:
    """The last k rows of a trace, or all if there are fewer."""
    rows = trace.type.shape[0]
    if rows is not None and rows <= k:
        return trace
    last: Variable = trace[-k:]
    return last


def _steps(node: Scan) -> Steps:
    value = node.n_steps.operand.value
    return node.n_steps if value is None else int(value)


def _sum(steps: Steps, k: int) -> Steps:
    return steps + k if k else steps


def _named(new: Variable, old: Variable) -> Variable:
    if new.owner is not None:
        new.name = new.name or old.name
    return new
