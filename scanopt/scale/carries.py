"""Cuts functions along time: makes programs for a part of the steps that are given the carries from earlier steps.

For the loops over the lanes of a function (`Flow.loops`) it makes

- `start`: inputs -> the first carries, which are the initial states of each loop;
- `part`: inputs and carries -> the outputs for these steps, and the carries for the steps after them;
- `advance`: the same without the outputs;
- for each group of states that composes, `summary`: inputs, carries and seeds -> the effect of the steps on any state.

The carry of a state that is read several steps back has as many rows, the oldest first; of others it is the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from dataclasses import replace as altered
from typing import Any

from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable
from scanopt.loops.derived import map as scan_map
from scanopt.loops.graph import schedule
from scanopt.loops.node import MitSot, Scan, SitSot, State
from scanopt.loops.rebuild import rebuild
from scanopt.records import dataclass
from scanopt.scale.compositions import Composition, Group, clamped_part, composition, groups, linear_part

__all__ = ["CutLoop", "CutProgram", "PrefixRound", "carried_on", "cut", "starting_with"]

Env = dict[Variable, Variable]


@dataclass(frozen=True, eq=False)
class CutLoop:
    """A loop over the lanes.  made: the same loop, starting with `carries`.  first: the number of its first carry."""

    node: Scan
    made: Scan
    carries: tuple[Variable, ...]
    first: int

    def after(self, outputs: Sequence[Variable]) -> list[Variable]:
        """Its carries after the steps, from the traces of its states."""
        return [carried_on(s, c, x) for s, c, x in zip(self.made.states, self.carries, outputs, strict=False)]


@dataclass(frozen=True, eq=False)
class PrefixRound:
    """The summary program of one group of states.  seeds: further inputs, from which the summary starts."""

    loop: CutLoop
    group: Group
    how: Composition
    seeds: tuple[Variable, ...]
    outputs: tuple[Variable, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """The numbers of its carries."""
        return tuple(self.loop.first + i for i in self.group.states)

    @property
    def lags(self) -> tuple[tuple[int, int], ...]:
        """For each lag the index of its carry in `places`, and how many steps it looks back."""
        return tuple((self.group.states.index(lag.state), lag.back) for lag in self.group.lags)


@dataclass
class CutProgram:
    """A program cut along time.  loops: in order.  outputs: those of the function, computed from inputs and carries."""

    loops: list[CutLoop] = field(default_factory=list[CutLoop])
    outputs: list[Variable] = field(default_factory=list[Variable])

    @property
    def carries(self) -> list[Variable]:
        """The variables of all carries."""
        return [v for loop in self.loops for v in loop.carries]

    @property
    def start(self) -> list[Variable]:
        """The carries before the first step."""
        return [s.init_outer for loop in self.loops for s in loop.node.states]

    @property
    def after(self) -> list[Variable]:
        """The carries after these steps."""
        return [v for loop in self.loops for v in loop.after(loop.made.outputs)]

    def rounds(self) -> list[PrefixRound]:
        """The rounds in which the carries of all parts are computed, one for each group.  Raises NoComposition."""
        return [
            _round(loop, group, composition(loop.made, group)) for loop in self.loops for group in groups(loop.made)
        ]


def cut(outputs: Sequence[Variable], loops: Sequence[Scan]) -> CutProgram:
    """Rebuild `outputs` with each of these loops starting from carries, which become inputs."""
    found, env, count = CutProgram(), Env(), 0
    for node in [x for x in schedule(outputs) if x in set(loops)]:
        assert isinstance(node, Scan)
        current = rebuild(node.outputs, env)
        owner = current[0].owner
        assert isinstance(owner, Scan)
        carries = tuple(Variable(s.init_outer.type, f"{node.label(i)} carried") for i, s in enumerate(owner.states))
        made = starting_with(owner, carries)
        env |= {old: made.outputs[v.index] for old, v in zip(node.outputs, current, strict=True)}
        found.loops.append(CutLoop(node, made, carries, count))
        count += len(carries)
    found.outputs = rebuild(outputs, env)
    return found


def starting_with(node: Scan, inits: Sequence[Variable]) -> Scan:
    """The loop with other initial states; states of shared variables become ordinary ones."""
    given = iter(inits)
    mit_sots = tuple(altered(s, init_outer=next(given)) for s in node.mit_sots)
    sit_sots = tuple(altered(s, init_outer=next(given)) for s in node.sit_sots)
    changed = {s.shared: next(given) for s in node.shared}
    plain = tuple(SitSot(changed[s.shared], s.shared, s.output_state) for s in node.shared)
    return altered(node, mit_sots=mit_sots, sit_sots=(*sit_sots, *plain), shared=())


def carried_on(s: State, carry: Variable, trace: Variable) -> Variable:
    """The carry of a state after some steps, from its carry before them and its trace."""
    if not isinstance(s, MitSot):
        return trace[-1]
    rows: Variable = FUNCTIONS["concatenate"]([carry, trace], axis=0)
    return rows[-s.depth :]


# Summaries


def _round(loop: CutLoop, group: Group, how: Composition) -> PrefixRound:
    node = loop.made
    seeds = tuple(Variable(loop.carries[i].type, f"{node.label(i)} from") for i in group.states)
    replaced = dict(zip(group.states, seeds, strict=True))
    base = starting_with(node, [replaced.get(i, c) for i, c in enumerate(loop.carries)])
    if how.name in ("Folded", "Finite", "Forgotten"):
        return PrefixRound(loop, group, how, seeds, tuple(_after(base, group, seeds)))
    if how.name == "Clamped":
        (i,) = group.states
        v = loop.carries[i]
        three = tuple(Variable(v.type, f"{node.label(i)} {part}") for part in ("sum", "low", "high"))
        traces = _with_states(node, three, lambda inner: clamped_part(node, group, inner))
        return PrefixRound(loop, group, how, three, tuple(x[-1] for x in traces))
    n = len(group.lags)
    rows = [_row_type(node.states[lag.state], loop.carries[lag.state]) for lag in group.lags]
    if how.name == "Affine":  # one basis vector for each lag, with the value 1 there
        more = tuple(Variable(rows[i], f"{node.label(group.lags[i].state)} of {j}") for j in range(n) for i in range(n))
        traces = _with_states(base, more, lambda inner: [
            x for j in range(n) for x in _next_lags(base, group, inner[j * n : (j + 1) * n])
        ])  # fmt: skip
    else:
        more = tuple(
            Variable(t.rows(None), f"{node.label(lag.state)} of all") for t, lag in zip(rows, group.lags, strict=True)
        )

        def step(inner: Sequence[Variable]) -> list[Variable]:
            found = scan_map(lambda *columns: _next_lags(base, group, columns), list(inner), return_list=True)[0]
            return list(found)

        traces = _with_states(base, more, step)
    return PrefixRound(loop, group, how, (*seeds, *more), (*_after(base, group, seeds), *(x[-1] for x in traces)))


def _row_type(s: State, carry: Variable) -> Any:
    return carry.type.row() if isinstance(s, MitSot) else carry.type


def _after(base: Scan, group: Group, seeds: Sequence[Variable]) -> list[Variable]:
    return [carried_on(base.states[i], c, base.outputs[i]) for i, c in zip(group.states, seeds, strict=True)]


def _next_lags(node: Scan, group: Group, values: Sequence[Variable]) -> list[Variable]:
    """Apply the linear part of a step to values of all lags."""
    by_lag = {(lag.state, lag.back): v for lag, v in zip(group.lags, values, strict=True)}
    given = {lag.read: v for lag, v in zip(group.lags, values, strict=True) if lag.read is not None}
    new = dict(zip(group.states, linear_part(node, group, given), strict=True))
    return [new[lag.state] if lag.back == 1 else by_lag[lag.state, lag.back - 1] for lag in group.lags]


def _with_states(
    node: Scan, inits: Sequence[Variable], step: Callable[[Sequence[Variable]], Sequence[Variable]]
) -> list[Variable]:
    """Add states to a loop: `step` maps their values to new ones; returns their traces."""
    inner = [Variable(v.type, v.name) for v in inits]
    new = [SitSot(v, i, o) for v, i, o in zip(inits, inner, step(inner), strict=True)]
    made = altered(node, sit_sots=(*node.sit_sots, *new), labels=(), order=None)
    first = len(made.mit_sots) + len(node.sit_sots)
    return list(made.outputs[first : first + len(new)])
