"""Builds graphs with some variables replaced by others, for `clone` and the `givens` of a function.

All replacements happen at once: replacements are not replaced again.  Graphs never change; nodes that depend on a
replaced variable are built anew, and the rest is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace as altered
from functools import cache
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.op import step_of
from scanopt.array.variable import Apply, Constant, SharedVariable, Variable, apply, describe
from scanopt.loops.graph import dependencies, leaves, schedule, unchanged
from scanopt.loops.node import MitMot, MitSot, NitSot, NonSequence, Scan, SharedState, SitSot
from scanopt.loops.node import Sequence as SequenceSlot
from scanopt.loops.site import is_bare, show

__all__ = ["clone", "rebuild", "replacements"]

Env = dict[Variable, Variable]
Leaves = frozenset[Variable]


def clone(output: Any, replace: Any = None, strict: bool = True, share_inputs: bool = True) -> Any:
    """The graph of `output` (a variable or a list of them) with some variables replaced.

    replace: dict, or pairs, of a variable (an input, a computed one, a shared one) and its replacement, also inside
        the steps of loops.  All at once: {a: b, b: a} swaps.
    strict: replacements must have the dtype of what they replace; otherwise dtypes follow from them.
    share_inputs: read the same inputs as `output`; otherwise new ones with the same names and types.
        Shared variables and constants are the same either way.
    Raises TypeError for a replacement of another dtype or number of axes, naming both.

    >>> from scanopt import interpret, tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> interpret(clone(x + 2 * y, {x: y, y: x}), {x: 1, y: 10})
    array(12.)

    Source: the documents' `theano.clone`.
    """
    many = isinstance(output, list | tuple)
    outputs = list(output) if many else [output]
    for v in outputs:
        if not isinstance(v, Variable):
            raise TypeError(f"clone rebuilds symbolic arrays, found {show(v)}")
    found = replacements("replace", replace, strict)
    if not share_inputs:
        inputs = [v for v in leaves(outputs) if not isinstance(v, SharedVariable) and v not in found]
        found |= {v: Variable(v.type, v.name) for v in inputs}
    results = rebuild(outputs, found)
    return results if many else results[0]


def replacements(argument: str, given: Any, strict: bool = True) -> Env:
    """The user's argument as a dict from variables to their replacements, checked.

    Raises TypeError if one is not a variable or the two do not fit, ValueError if one is named twice.
    """
    if given is not None and (isinstance(given, str | Variable) or not isinstance(given, Iterable)):
        raise TypeError(f"{argument} must be a dict or pairs of a variable and its replacement, found {show(given)}")
    out: Env = {}
    for pair in given.items() if isinstance(given, Mapping) else given or ():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"{argument} must be pairs of a variable and its replacement, found {show(pair)}")
        old, new = pair
        if not isinstance(old, Variable):
            raise TypeError(f"{argument} replaces {show(old)}, which is not a symbolic array")
        if old in out:
            raise ValueError(f"{argument} replaces {describe(old)} twice")
        out[old] = _fitting(argument, old, new, strict)
    return out


def _fitting(argument: str, old: Variable, new: Any, strict: bool) -> Variable:
    """`new` as a variable that may replace `old`; bare numbers take the dtype of `old` if they fit."""
    if is_bare(new) and np.can_cast(np.min_scalar_type(new), old.dtype, "same_kind"):
        new = Constant(np.asarray(new, dtype=old.dtype))
    try:
        v = as_tensor_variable(new)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{argument} replaces {describe(old)} by {show(new)}: {error}") from None
    if v.ndim != old.ndim or (strict and v.dtype != old.dtype):
        hint = f"write .astype('{old.dtype}') if that is meant" if v.ndim == old.ndim else "the number of axes differs"
        raise TypeError(f"{argument} replaces {describe(old)} by {describe(v)}, which is of another type: {hint}")
    if any(n is not None and n != m for n, m in zip(old.type.shape, v.type.shape, strict=True)):
        raise TypeError(
            f"{argument} replaces {describe(old)} by {describe(v)}: lengths that are known before the run must be "
            "known to be the same; declare them for the replacement too"
        )
    return v


def rebuild(outputs: Sequence[Variable], replace: Mapping[Variable, Variable]) -> list[Variable]:
    """`outputs` with every variable of `replace` replaced, also inside the steps of nested loops.

    Works on graphs of any depth.  Raises what building the graph by hand would raise.
    """
    if not replace:
        return list(outputs)
    env: Env = dict(replace)
    rests_on = cache(lambda v: frozenset(leaves([v])))
    for node in schedule(outputs, replace):
        if isinstance(node, Scan):
            _Loop(node, env, replace, rests_on).rebuild()
        elif isinstance(node, Apply):
            args = tuple(env.get(x, x) for x in node.inputs)
            if not unchanged(args, node.inputs):
                env[node.outputs[0]] = _named(apply(node.op, *args), node.outputs[0])
        else:
            raise TypeError(f"no way to rebuild a {type(node).__name__}")
    return [env.get(v, v) for v in outputs]


def _named(new: Variable, old: Variable) -> Variable:
    new.name = new.name or old.name
    return new


def _inside(
    node: Scan, wanted: Mapping[Variable, Variable], rests_on: Callable[[Variable], Leaves]
) -> Iterator[Variable]:
    """The variables of `wanted` that a step, or a step of a loop inside it, reads from outside the loop.

    A variable that depends on a shared variable changed by the loop is not from outside: it differs at each step.
    """
    captured = _captured(node)
    own = {v for v in node.inner_inputs if v not in captured}
    captured -= {s.shared for s in node.shared}
    rest = {v: w for v, w in wanted.items() if v not in own and rests_on(v) <= captured}
    yield from (v for v in node.inner_outputs if v in rest)
    for inner in schedule(node.inner_outputs, own | rest.keys()) if rest else ():
        yield from (v for v in dependencies(inner) if v in rest)
        if isinstance(inner, Scan):
            yield from _inside(inner, rest, rests_on)


def _captured(node: Scan) -> set[Variable]:
    """The non-sequences that scan discovered by itself."""
    return {s.w_inner for s in node.non_sequences if s.w_inner is s.w_outer}


class _Loop:
    """Rebuilds one loop whose inputs, or whose step, may be affected by replacements."""

    def __init__(
        self, node: Scan, env: Env, replace: Mapping[Variable, Variable], rests_on: Callable[[Variable], Leaves]
    ) -> None:
        self.node, self.env, self.replace, self.rests_on = node, env, replace, rests_on
        self.inner: Env = {}  # variable of the old step -> of the new one
        self.read: list[NonSequence] = []  # replacements that enter the step

    def outer(self, v: Variable) -> Variable:
        """The present replacement of a variable outside the loop, else the variable itself."""
        return self.env.get(v, v)

    def rebuild(self) -> None:
        """Build a new loop if anything it reads has changed, and put its outputs into the environment."""
        node = self.node
        replaced = list(dict.fromkeys(_inside(node, self.replace, self.rests_on)))
        if not replaced and unchanged(map(self.outer, node.dependencies), node.dependencies):
            return
        for v in replaced:
            self.inner[v] = self._enter(v)
        self._inner_inputs()
        old = node.inner_outputs
        with step_of(self.outer(node.n_steps).operand):
            step = dict(zip(old, rebuild(old, self.inner), strict=True))
        new, places = self._node(step)
        for i, v in enumerate(node.outputs):
            self.env[v] = _named(new.outputs[places.index(i)], v)

    def _enter(self, v: Variable) -> Variable:
        """The variable that the step reads in place of `v`."""
        new = self.replace[v]
        if isinstance(new, Constant | SharedVariable):
            return new
        inner = Variable(new.type, v.name or new.name)
        self.read.append(NonSequence(new, inner))
        return inner

    def _inner_inputs(self) -> None:
        """Make new inner variables for inputs whose dtype has changed."""
        for q in self.node.sequences:
            self._retype(q.u_inner, q.u_outer)
        for w in self.node.non_sequences:
            if w.w_inner is not w.w_outer:
                self._retype(w.w_inner, w.w_outer)
        for m in self.node.mit_mots:
            for v in m.input_states:
                self._retype(v, m.buffer_outer)
        for s in self.node.states:
            for v in s.input_states if not isinstance(s, SharedState) else ():
                self._retype(v, s.init_outer)
        for shared in self.node.shared:
            new = self.outer(shared.shared)
            if new is not shared.shared:
                self.inner[shared.shared] = new if isinstance(new, SharedVariable) else _like(shared.shared, new)

    def _retype(self, inner: Variable, outer: Variable) -> None:
        new = self.outer(outer)
        if new.dtype != inner.dtype:
            self.inner[inner] = _like(inner, new)

    def _node(self, step: Mapping[Variable, Variable]) -> tuple[Scan, list[int]]:
        """The new loop, and for each of its outputs the number of the corresponding old output.

        A shared state whose shared variable is replaced by a computed value becomes a sit-sot.
        """
        node, inner, outer = self.node, self.inner, self.outer
        states = [(i, s) for i, s in enumerate(node.shared, len(node.mit_sots) + len(node.sit_sots))]
        plain = [(i, s) for i, s in states if not isinstance(outer(s.shared), SharedVariable)]
        stays = [(i, s) for i, s in states if (i, s) not in plain]
        places = [*range(len(node.mit_sots) + len(node.sit_sots)), *(i for i, _ in (*plain, *stays))]
        places += range(len(places), len(node.outputs))
        shared = tuple(SharedState(_shared(outer(s.shared)), step[s.output_state]) for _, s in stays)
        if len({s.shared for s in shared}) < len(shared):
            raise ValueError(f"{node} would change one shared variable twice: two of its own are replaced by the same")
        sit_sots = [*node.sit_sots, *(SitSot(s.shared, s.shared, s.output_state) for _, s in plain)]
        made = altered(
            node,
            n_steps=outer(node.n_steps),
            sequences=tuple(SequenceSlot(outer(q.u_outer), _in(inner, q.u_inner), q.tap) for q in node.sequences),
            mit_mots=tuple(self._mit_mot(m, step) for m in node.mit_mots),
            mit_sots=tuple(
                MitSot(
                    outer(s.init_outer), s.taps, tuple(_in(inner, v) for v in s.input_states), step[s.output_state]
                )
                for s in node.mit_sots
            ),
            sit_sots=tuple(
                SitSot(outer(s.init_outer), _in(inner, s.input_state), step[s.output_state]) for s in sit_sots
            ),
            shared=shared,
            nit_sots=tuple(NitSot(step[s.output]) for s in node.nit_sots),
            non_sequences=self._non_sequences(step, {s.shared for s in shared}),
            until=None if node.until is None else step[node.until],
            requires=tuple(
                altered(r, found=outer(r.found), expected=outer(r.expected), check=outer(r.check))
                for r in node.requires
            ),
            labels=tuple(node.labels[i] for i in places[: len(node.traced)]) if node.labels else (),
            order=tuple(places.index(i) for i in (range(len(node.traced)) if node.order is None else node.order)),
        )  # fmt: skip
        _check_states(made)
        return made, places

    def _mit_mot(self, m: MitMot, step: Mapping[Variable, Variable]) -> MitMot:
        return altered(
            m,
            buffer_outer=self.outer(m.buffer_outer),
            input_states=tuple(_in(self.inner, v) for v in m.input_states),
            output_states=tuple(step[v] for v in m.output_states),
        )

    def _non_sequences(
        self, step: Mapping[Variable, Variable], changed: set[SharedVariable]
    ) -> tuple[NonSequence, ...]:
        """The non-sequences: those with inner variables, those from replacements, and others that the new step uses."""
        node = self.node
        named = [s for s in node.non_sequences if s.w_inner is not s.w_outer]
        slots = [NonSequence(self.outer(s.w_outer), _in(self.inner, s.w_inner)) for s in named] + self.read
        own = {_in(self.inner, v) for v in node.inner_inputs if v not in _captured(node)}
        own |= {s.w_inner for s in slots} | changed
        return (*slots, *(NonSequence(v, v) for v in leaves(step.values(), own)))


def _in(env: Env, v: Variable) -> Variable:
    return env.get(v, v)


def _like(inner: Variable, outer: Variable) -> Variable:
    """A variable with the name and axes of `inner` and the dtype of `outer`."""
    return Variable(altered(inner.type, dtype=outer.dtype), inner.name)


def _shared(v: Variable) -> SharedVariable:
    assert isinstance(v, SharedVariable)
    return v


def _check_states(node: Scan) -> None:
    """Raise TypeError for a state whose initial value and step result have different dtypes."""
    for i, s in enumerate(node.states):
        if s.init_outer.dtype != s.output_state.dtype:
            raise TypeError(
                f"{node.label(i)} of {node} starts as {describe(s.init_outer)}, but after the replacement the step "
                f"gives {describe(s.output_state)}"
            )
