"""The shapes of a step's values, found without running the step, as a loop of zero steps needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanopt.array.abstract import abstract_eval, concrete, executed, last_row, trace
from scanopt.array.op import Operand
from scanopt.array.shapes import shape_text, widened
from scanopt.array.types import Dim
from scanopt.array.variable import Apply, SharedVariable, Variable, describe
from scanopt.loops.graph import is_lazy, schedule
from scanopt.loops.node import MitMot, MitSot, Scan

__all__ = ["abstract_values", "changed_shape", "other_rows", "step_shapes"]

Known = Mapping[Variable, Operand]
Shape = tuple[Dim, ...]


def changed_shape(node: Scan, i: int, before: Sequence[Dim], after: Sequence[Dim], step: int) -> ValueError:
    """The error for traced value i whose shape at `step` differs from the shape before."""
    initial = step == 0 and i < len(node.states)
    start = "its initial state has shape" if initial else "it had shape"
    return ValueError(
        f"{node.label(i)} of {node} changes its shape: {start} {shape_text(before)}, but at step "
        f"{step} it has shape {shape_text(after)}; the rows of a trace must all have one shape"
        f"{widened(before, after) if initial else ''}"
    )


def other_rows(node: Scan, m: MitMot, row: Sequence[Dim], found: Sequence[Dim]) -> ValueError:
    """The error for a step that writes rows of shape `found` into a mit-mot's buffer with rows of shape `row`."""
    return ValueError(
        f"{node} writes rows of shape {shape_text(found)} into its buffer {describe(m.buffer_outer)}, whose rows have "
        f"shape {shape_text(row)}: the rows of a buffer must all have one shape"
    )


def step_shapes(node: Scan, outer: Known) -> list[Shape]:
    """The shape of each traced value of a step, None for lengths that depend on unknown values.

    outer: the operands known for the node's inputs.  Raises the errors of shape rules, and ValueError
    if a state would change its shape, or rows written into a mit-mot's buffer differ in shape from its rows.
    """
    return [row.shape for row in _step(node, outer)[0]]


def _step(node: Scan, outer: Known) -> tuple[list[Operand], Operand | None]:
    """The operands known for a step's traced values, and for the condition that ends the loop, if it has one."""
    known = _step_operands(node, outer)
    states = zip(node.states, node.traced, strict=False)
    env = abstract_values(node.inner_outputs, known, {v: known[s.input_states[0]].shape for s, v in states})
    for m in node.mit_mots:
        row = outer[m.buffer_outer].shape[1:]
        for v in m.output_states:
            if any(a is not None and b is not None and a != b for a, b in zip(row, env[v].shape, strict=True)):
                raise other_rows(node, m, row, env[v].shape)
    rows = [_checked(node, i, env[v], known) for i, v in enumerate(node.traced)]
    return rows, None if node.until is None else env[node.until]


def abstract_values(
    outputs: Sequence[Variable], known: Known, shapes: Mapping[Variable, Shape] | None = None
) -> dict[Variable, Operand]:
    """The operands known for `outputs` and for all that they depend on, computed from the operands `known`.

    shapes: shapes that some of the values must have; they give lengths that are otherwise unknown.
    For an ifelse it is the branch chosen, if the condition is known, else what both branches have in
    common; a branch whose shapes do not fit, so that it could only raise, counts as not chosen.
    """
    env = dict(known)
    _evaluate(outputs, env, shapes or {})
    return env


def _evaluate(outputs: Sequence[Variable], env: dict[Variable, Operand], shapes: Mapping[Variable, Shape]) -> None:
    """Add `outputs` and all that they depend on to `env`."""
    for node in schedule(outputs, env, lazy=True):
        if isinstance(node, Scan):
            found = _loop_values(node, {v: _operand(v, env) for v in node.inputs})
        elif isinstance(node, Apply) and is_lazy(node):
            found = {node.outputs[0]: _ifelse(node, env, shapes)}
        elif isinstance(node, Apply):
            found = {node.outputs[0]: abstract_eval(node.op, [_operand(x, env) for x in node.inputs])}
        env.update((v, x.within(shapes[v]) if v in shapes else x) for v, x in found.items())
    for v in outputs:
        _operand(v, env)


def _operand(v: Variable, env: dict[Variable, Operand]) -> Operand:
    if v not in env and isinstance(v, SharedVariable):
        env[v] = concrete(v.get_value(borrow=True))
    return env.setdefault(v, v.operand)


def _ifelse(node: Apply, env: dict[Variable, Operand], shapes: Mapping[Variable, Shape]) -> Operand:
    test, *sides = node.inputs
    condition = _operand(test, env)
    if condition.value is not None:
        chosen = sides[0 if condition.value else 1]
        _evaluate([chosen], env, shapes)
        return env[chosen]
    found: list[Operand] = []
    errors: list[Exception] = []
    for side in sides:
        try:
            _evaluate([side], env, shapes)
            found.append(env[side])
        except (TypeError, ValueError, IndexError) as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return abstract_eval(node.op, [condition, found[0], found[-1]])


def _loop_values(node: Scan, outer: Known) -> dict[Variable, Operand]:
    """The operands known for the outputs of a loop."""
    n = outer[node.n_steps].value
    rows, until = _step(node, outer)
    steps = executed(None if n is None else int(n), until)
    found = [trace(row, steps) for row in rows]
    found += [Operand(m.buffer_outer.dtype, outer[m.buffer_outer].shape) for m in node.mit_mots]
    return dict(zip(node.outputs, found, strict=True))


def _step_operands(node: Scan, outer: Known) -> dict[Variable, Operand]:
    """The operands known for the variables that a step reads; only those that never change have a known value."""
    known = {held.w_inner: outer[held.w_outer] for held in node.non_sequences}
    for x in node.sequences:
        known[x.u_inner] = Operand(x.u_inner.dtype, outer[x.u_outer].shape[1:])
    for m in node.mit_mots:
        known.update((v, Operand(v.dtype, outer[m.buffer_outer].shape[1:])) for v in m.input_states)
    for state in node.states:
        init = outer[state.init_outer].shape
        row = init[1:] if isinstance(state, MitSot) else init
        known.update((v, Operand(v.dtype, row)) for v in state.input_states)
    for state, becomes in zip(node.states, node.traced, strict=False):
        if -1 in state.taps and becomes is state.input_states[state.taps.index(-1)]:  # the state never changes
            start = outer[state.init_outer]
            known[becomes] = last_row(start) if isinstance(state, MitSot) else start
    return known


def _checked(node: Scan, i: int, result: Operand, known: Known) -> Operand:
    """The operand of traced value i.  Raises ValueError for a state whose shape differs from its initial one."""
    if i >= len(node.states):
        return result
    start = known[node.states[i].input_states[0]].shape
    if any(a != b for a, b in zip(start, result.shape, strict=True) if a is not None and b is not None):
        raise changed_shape(node, i, start, result.shape, 0)
    return result
