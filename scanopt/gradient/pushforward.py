"""Derivatives forwards: how fast outputs change when the inputs change along given tangents.

For an operator it is the gradient taken twice: the gradient is linear in the cotangent g, and its own
gradient with respect to g is the derivative along the tangent.  For a loop it is the loop itself with
a tangent beside every state, sequence and map, so no history is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as altered
from typing import Any

from scanopt.array.derivatives import UNKNOWN, smooth
from scanopt.array.op import step_of
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Apply, Node, Variable, describe
from scanopt.gradient.arguments import Asked, choice, disconnected, like_given, variables, vector, vectors
from scanopt.gradient.captured import with_copies
from scanopt.gradient.errors import DisconnectedInputError, NullTypeGradError
from scanopt.gradient.flows import inner_flows
from scanopt.gradient.pullback import no_derivative, no_way_through, pull, zeros_like
from scanopt.loops.graph import schedule
from scanopt.loops.location import user_location
from scanopt.loops.mit_mots import desugared
from scanopt.loops.node import MitSot, NitSot, NonSequence, Scan, SitSot, State
from scanopt.loops.node import Sequence as SequenceSlot
from scanopt.loops.rebuild import rebuild

__all__ = ["Rop", "push"]

_READ_THE_SHAPE_ALONE = {"shape_i", "full_like"}

Tangents = dict[Variable, Variable]
Slot = State | NitSot


def Rop(  # noqa: N802  the documented name
    f: Any, wrt: Any, eval_points: Any, disconnected_outputs: str = "raise", return_disconnected: str = "zero"
) -> Any:
    """The product of the Jacobian and a column vector: how fast f changes as wrt moves along eval_points.

    f: an array or a list of them.  wrt: one variable or a list; eval_points: for each an array of its
    shape, or None to keep it still.  disconnected_outputs: "raise", "warn" or "ignore" for an f that does
    not depend on wrt; return_disconnected: the result for it, "zero" or "none" (also "disconnected").
    Returns an array of the shape of each f.  Raises TypeError, ValueError for arguments that do not fit,
    DisconnectedInputError for such an f and for an integer that is to move, NullTypeGradError where an operator
    on the way has no gradient.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.dvector("x")
    >>> interpret(Rop(x**2, x, T.ones_like(x)), {x: [1.0, 2.0]})
    array([2., 4.])

    Source: the documents' `theano.gradient.Rop`.
    """
    asked = Asked.of("Rop", wrt)
    how = choice(asked.site, "disconnected_outputs", disconnected_outputs, ("raise", "warn", "ignore"))
    missing = choice(asked.site, "return_disconnected", return_disconnected, ("zero", "none", "disconnected"))
    outputs = variables(asked.site, "f", f)
    points = vectors(asked.site, asked.wrt, eval_points, "variables")
    tangents: Tangents = {}
    for i, (x, t) in enumerate(zip(asked.wrt, points, strict=True)):
        if t is None:
            continue
        label = f"eval_points[{i}]" if isinstance(eval_points, list | tuple) else "eval_points"
        if x in tangents:
            raise asked.site.error(ValueError, f"wrt names {describe(x)} twice: add its evaluation points up")
        if not smooth(x):
            raise asked.site.error(
                DisconnectedInputError,
                f"{label} moves {describe(x)}, but only floats and complex numbers have derivatives: cast it before "
                "its use, or give None to keep it still",
            )
        tangents[x] = vector(asked.site, label, x, t)
    results, sources, _ = with_copies(outputs, list(tangents), [])
    found = push(results, dict(zip(sources, tangents.values(), strict=True)))
    for v, t in zip(outputs, found, strict=True):
        if t is None:
            text = f"{describe(v)} does not move smoothly with {', '.join(map(describe, tangents)) or 'anything'}"
            advice = "disconnected_outputs='ignore' gives zeros"
            disconnected(asked.site, how, f"{text} {asked.site.place}; {advice}")
    still = zeros_like if missing == "zero" else lambda v: None
    return like_given(f, [still(v) if t is None else t for v, t in zip(outputs, found, strict=True)])


def push(outputs: Sequence[Variable], tangents: Mapping[Variable, Variable]) -> list[Variable | None]:
    """The derivatives of outputs along the tangents of some variables, None for an output that does not move."""
    moving: Tangents = {v: _cast(t, v) for v, t in tangents.items() if smooth(v)}
    for node in schedule(outputs):
        for v, t in _through(node, moving).items():
            moving[v] = _cast(t, v) if v not in moving else moving[v]
    return [moving.get(v) for v in outputs]


def _cast(t: Variable, like: Variable) -> Variable:
    cast: Variable = FUNCTIONS["cast"](t, like.dtype)
    return cast


def _through(node: Node, moving: Tangents) -> Tangents:
    if not any(v in moving for v in node.inputs):
        return {}
    if isinstance(node, Scan):
        if node.mit_mots:
            _, outputs = desugared(node)
            found = push(outputs, {v: moving[v] for v in node.inputs if v in moving})
            return {v: t for v, t in zip(node.outputs, found, strict=True) if t is not None}
        return _Forward(node, moving).tangents()
    assert isinstance(node, Apply)
    (out,) = node.outputs
    t = _through_operator(node, out, moving) if smooth(out) else None
    return {} if t is None else {out: t}


def _through_operator(node: Apply, out: Variable, moving: Tangents) -> Variable | None:
    if node.op.spec.gradient is None:
        raise no_way_through(node, [x for x in node.inputs if x in moving])
    g = Variable(out.type)
    parts = node.op.spec.gradient(node.op, node.inputs, out, g)
    for i, (x, p) in enumerate(zip(node.inputs, parts, strict=True)):
        if p is UNKNOWN and x in moving:
            raise no_derivative(node, i)
    used = [(_cast(p, x), moving[x]) for x, p in zip(node.inputs, parts, strict=True) if p is not None and x in moving]
    if not used:
        return None
    found = pull([p for p, _ in used], [t for _, t in used], [g])[0]
    if found is None:
        return None
    if _reads(found, g):
        raise NullTypeGradError(
            f"{node.op.name} changes gradients on their way back: it has no derivative forwards (at {user_location()})"
        )
    return rebuild([found], {g: out})[0]


def _reads(v: Variable, g: Variable) -> bool:
    """Whether v depends on values of g, not only on its shape."""
    todo, seen = [v], {v}
    while todo:
        node = todo.pop().owner
        inputs = () if node is None else node.inputs
        if isinstance(node, Apply) and node.op.name in _READ_THE_SHAPE_ALONE:
            inputs = node.inputs[1:]
        new = [x for x in inputs if x not in seen]
        seen.update(new)
        todo += new
    return g in seen


class _Forward:
    """Builds a loop with tangents beside its values."""

    def __init__(self, node: Scan, moving: Tangents) -> None:
        self.node, self.moving = node, moving
        self.varying = inner_flows(node, {v for v in node.inputs if v in moving})
        self.inner: Tangents = {}

    def tangents(self) -> Tangents:
        """The tangents of the outputs that move."""
        node = self.node
        sequences = [self._read(SequenceSlot, s.u_outer, s.u_inner) for s in node.sequences if s.u_outer in self.moving]
        held = [self._read(NonSequence, w.w_outer, w.w_inner) for w in node.non_sequences if w.w_outer in self.moving]
        with step_of(node.n_steps.operand):
            beside = self._slots()
        new = list(beside.values())
        both = altered(
            node,
            sequences=(*node.sequences, *sequences),
            mit_sots=(*node.mit_sots, *(s for s in new if isinstance(s, MitSot))),
            sit_sots=(*node.sit_sots, *(s for s in new if isinstance(s, SitSot))),
            nit_sots=(*node.nit_sots, *(s for s in new if isinstance(s, NitSot))),
            non_sequences=(*node.non_sequences, *held),
            name=f"rop_of_{node.name}" if node.name else None,
            labels=(),
            order=None,
        )
        traces: dict[Slot, Variable] = dict(zip([*both.states, *both.nit_sots], both.outputs, strict=True))
        slots: list[Slot] = [*node.states, *node.nit_sots]
        return {v: traces[beside[s]] for v, s in zip(node.outputs, slots, strict=True) if s in beside}

    def _slots(self) -> dict[Slot, Slot]:
        """For each state and map that moves, the slot of its tangent."""
        node = self.node
        states = [s for s in node.states if any(v in self.varying for v in (s.output_state, *s.input_states))]
        inputs = {s: tuple(self._tangent(v) for v in s.input_states) for s in states}
        values = list(dict.fromkeys(node.traced))
        found = {v: t for v, t in zip(values, push(values, self.inner), strict=True) if t is not None}
        slots: dict[Slot, Slot] = {}
        for s in states:
            start = self.moving[s.init_outer] if s.init_outer in self.moving else zeros_like(s.init_outer)
            new = found[s.output_state] if s.output_state in found else zeros_like(s.output_state)
            if isinstance(s, MitSot):
                slots[s] = MitSot(start, s.taps, inputs[s], new)
            else:
                slots[s] = SitSot(start, inputs[s][0], new)
        return slots | {n: NitSot(found[n.output]) for n in node.nit_sots if n.output in found}

    def _tangent(self, v: Variable) -> Variable:
        if v not in self.inner:
            self.inner[v] = Variable(v.type, f"d{v.name}" if v.name else None)
        return self.inner[v]

    def _read(self, slot: Any, outer: Variable, inner: Variable) -> Any:
        return slot(self.moving[outer], self._tangent(inner))
