"""Which recurrences compose: the effect of many steps of a loop on its state, summarized before the state is known.

The states of a loop form groups that feed one another.  The step of a group, as a function of its state, is one of

| kind | step | summary of many steps | exact |
|---|---|---|---|
| `Folded` | op(s, c), op associative | their result from op's identity | integers, bool, extrema |
| `Finite` | any, entry by entry, of bool states | their result from each state | yes |
| `Affine` | a s + b entry by entry, states of a group mixed | a and b | integers |
| `Linear` | s A + b, any linear operators | its matrix and b | integers |
| `Forgotten` | reads no state | their result | yes |
| `Clamped` | min(max(s + a, low), high) entry by entry | a, low and high | no |

where a, b, c, low, high, A depend on no state of the group.  The kind is derived operator by operator from the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from scanopt.array.registry import FUNCTIONS
from scanopt.array.types import COMPLEX, FLOATS
from scanopt.array.variable import Apply, Variable, apply
from scanopt.loops.graph import schedule
from scanopt.loops.node import MitSot, Scan
from scanopt.records import dataclass
from scanopt.scale.axis_rules import elementwise, rule_of
from scanopt.scale.kinds import named

__all__ = ["Composition", "Group", "NoComposition", "composition", "groups", "identity"]

ASSOCIATIVE = ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "logical_xor", "bitwise_and",
               "bitwise_or", "bitwise_xor", "gcd", "lcm", "logaddexp")  # fmt: skip


class NoComposition(ValueError):  # noqa: N818
    """Raised if the step of a loop does not compose in any known way; its text says why."""


@dataclass(frozen=True, eq=False)
class Lag:
    """The value of a state `back` steps ago, which a step may read.  read: its variable, None if the step does not."""

    state: int
    back: int
    read: Variable | None


@dataclass(frozen=True, eq=False)
class Group:
    """States that feed one another, by number.  lags: all their values that a step passes to the next."""

    states: tuple[int, ...]
    lags: tuple[Lag, ...]
    before: tuple[int, ...] = ()
    """The states of earlier groups that it reads."""


@dataclass(frozen=True)
class Composition:
    """How a group composes.  name: the kind.  exact: whether parts give the bits of single steps.

    ufunc: the operator of a `Folded` group.
    """

    name: str
    exact: bool
    ufunc: str = ""
    sure: bool = True
    """False if the same bits are only known for values that are neither zero nor NaN."""


@dataclass
class _Step:
    """The graph of one step, with the variables that depend on the states of a group."""

    node: Scan
    group: Group
    dependent: set[Variable] = field(default_factory=set[Variable])
    order: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        self.dependent = {lag.read for lag in self.group.lags if lag.read is not None}
        self.order = schedule(self.updates, self.node.inner_inputs)
        for x in self.order:
            if any(v in self.dependent for v in x.inputs):
                self.dependent.update(x.outputs)

    @property
    def updates(self) -> list[Variable]:
        return [self.node.states[i].output_state for i in self.group.states]

    def nodes(self) -> Iterator[Any]:
        """The nodes that depend on the states, in order."""
        for x in self.order:
            if x.outputs[0] in self.dependent:
                yield x

    def refuse(self, what: str) -> NoComposition:
        names = ", ".join(self.node.label(i) for i in self.group.states)
        return NoComposition(f"{names} of {self.node}: {what}")


def lags_of(node: Scan, i: int) -> list[Lag]:
    """The values of state i that a step passes to the next, the newest first."""
    s = node.states[i]
    by_tap = dict(zip(s.taps, s.input_states, strict=True))
    return [Lag(i, k, by_tap.get(-k)) for k in range(1, -min(s.taps) + 1)]


def groups(node: Scan) -> list[Group]:
    """The states of a loop in groups, each after those that it reads."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(node.states)))
    reads = {v: i for i, s in enumerate(node.states) for v in s.input_states}
    for i, s in enumerate(node.states):
        todo = schedule([s.output_state], node.inner_inputs)
        seen = {v for x in todo for v in (x.dependencies if isinstance(x, Scan) else x.inputs)} | {s.output_state}
        graph.add_edges_from((reads[v], i) for v in seen if v in reads)
    condensed = nx.condensation(graph)
    found = []
    for c in nx.lexicographical_topological_sort(condensed, key=lambda c: min(condensed.nodes[c]["members"])):
        states = tuple(sorted(condensed.nodes[c]["members"]))
        before = {i for a in nx.ancestors(condensed, c) for i in condensed.nodes[a]["members"]}
        found.append(Group(states, tuple(lag for i in states for lag in lags_of(node, i)), tuple(sorted(before))))
    return found


def composition(node: Scan, group: Group) -> Composition:
    """How the states of a group compose.  Raises NoComposition, which names the operator that prevents it."""
    step = _Step(node, group)
    kinds: set[str] = {np.dtype(node.states[i].output_state.dtype).kind for i in group.states}
    if not any(v in step.dependent for v in step.updates):
        return Composition("Forgotten", True)
    first: NoComposition | None = None
    for attempt in (_folded, _finite, _affine, _clamped):
        try:
            return attempt(step, kinds)
        except NoComposition as error:
            first = error if first is None or attempt is _affine else first
    assert first is not None
    raise first


# Attempts


def _folded(step: _Step, kinds: set[str]) -> Composition:
    """The composition of s = op(op(s, c), d) ..., with one associative op throughout.  Raises NoComposition."""
    if len(step.group.lags) > 1:
        raise step.refuse("several states feed one another")
    found = list(step.nodes())
    names = {x.op.name for x in found if isinstance(x, Apply)}
    name = next(iter(names), "")
    if len(names) != 1 or name not in ASSOCIATIVE or any(isinstance(x, Scan) for x in found):
        raise step.refuse("it is not a fold by one associative operator")
    for x in found:
        if sum(v in step.dependent for v in x.inputs) != 1 or x.outputs[0].dtype != step.updates[0].dtype:
            raise step.refuse(f"{name} of {named(x.outputs[0])} takes the state twice, or changes its dtype")
    exact = bool(kinds & set("biu")) or name in ("maximum", "minimum")
    if kinds & set("fc"):
        return Composition("Folded", exact, name, sure=False)
    return Composition("Folded", True, name)


def _finite(step: _Step, kinds: set[str]) -> Composition:
    if kinds != {"b"} or len(step.group.lags) > 3:
        raise step.refuse("its states are not a few truth values")
    for x in step.nodes():
        if isinstance(x, Scan) or rule_of(x.op.name) is not elementwise:
            raise step.refuse(f"{_text(x)} does not work entry by entry")
    return Composition("Finite", True)


def _affine(step: _Step, kinds: set[str]) -> Composition:
    if "b" in kinds:
        raise step.refuse("its states are not all numbers")
    dtypes = {v.dtype for v in step.updates}
    if len(dtypes) > 1:
        raise step.refuse(f"its states have the dtypes {', '.join(sorted(dtypes))}")
    plain = True
    for x in step.nodes():
        plain &= _check_linear(step, x)
    return Composition("Affine" if plain else "Linear", kinds <= set("iu"), sure=kinds <= set("iu"))


_SUMS = ("add", "subtract")
_SIGNS = ("negative", "positive", "disconnected_grad")
_ARRANGED = ("transpose", "expand_dims", "squeeze", "reshape", "broadcast_to", "spread_like", "shaped_like",
             "specify_shape", "concatenate", "stack", "sum", "swap_rows")  # fmt: skip
_PRODUCTS = ("dot", "matmul", "tensordot", "outer")


def _text(x: Any) -> str:
    return f"the loop {x}" if isinstance(x, Scan) else f"{x.op.name} of {', '.join(map(named, x.inputs))}"


def _check_linear(step: _Step, x: Any) -> bool:
    """Whether an operator works entry by entry.  Raises NoComposition unless it is affine in the states."""
    if isinstance(x, Scan):
        raise step.refuse(f"{_text(x)} in its step cannot be analysed")
    name, dependent = x.op.name, [v in step.dependent for v in x.inputs]
    integers = np.dtype(x.outputs[0].dtype).kind in "iu"
    if name in _SUMS or name in _SIGNS:
        return True
    if name == "multiply" and sum(dependent) == 1:
        return True
    if name == "divide" and dependent == [True, False] and not integers:
        return True
    if name == "where" and not dependent[0]:
        return True
    if name == "cast":
        a, b = x.inputs[0].dtype, x.outputs[0].dtype
        if {a, b} <= set(FLOATS) or {a, b} <= set(COMPLEX):
            return True
    if name in _PRODUCTS and sum(dependent) == 1:
        return False
    if name in _ARRANGED and (name in ("concatenate", "stack") or (dependent[0] and not any(dependent[1:]))):
        return False
    if name == "getitem" and dependent[0] and not any(dependent[1:]):
        return False
    raise step.refuse(
        f"{_text(x)} is not linear in what the loop carries, nor is all of its step of another known form"
    )


def _clamped(step: _Step, kinds: set[str]) -> Composition:
    if len(step.group.lags) > 1 or kinds != {"f"} or isinstance(step.node.states[step.group.states[0]], MitSot):
        raise step.refuse("it is not one state of floating point numbers")
    for x in step.nodes():
        dependent = [v in step.dependent for v in x.inputs]
        name = "" if isinstance(x, Scan) else x.op.name
        fits = (
            (name in ("add", "maximum", "minimum") and sum(dependent) == 1)
            or (name == "subtract" and dependent == [True, False])
            or (name == "clip" and dependent == [True, False, False])
            or (name == "where" and not dependent[0])
            or name == "positive"
        )
        if not fits or x.outputs[0].dtype != step.updates[0].dtype:
            raise step.refuse(f"{_text(x)} is neither a sum nor an extremum of what the loop carries")
    return Composition("Clamped", False, sure=False)


def identity(ufunc: str, dtype: str) -> Any:
    """The e of this dtype with ufunc(e, x) = x for all x."""
    d = np.dtype(dtype)
    if ufunc in ("maximum", "minimum"):
        low = ufunc == "maximum"
        if d.kind == "b":
            return d.type(not low)
        if d.kind == "f":
            return d.type(-np.inf if low else np.inf)
        info = np.iinfo(d)
        return d.type(info.min if low else info.max)
    if ufunc == "bitwise_and" and d.kind != "b":
        return np.invert(d.type(0))
    ones = ("multiply", "lcm", "logical_and", "bitwise_and")
    return d.type(1 if ufunc in ones else -np.inf if ufunc == "logaddexp" else 0)


# Graphs for summaries


def linear_part(node: Scan, group: Group, given: Mapping[Variable, Variable]) -> list[Variable]:
    """The linear part of a step: its results without constant terms.  given: a variable for each lag that is read."""
    step = _Step(node, group)
    made: dict[Variable, Variable] = dict(given)
    for x in step.nodes():
        made[x.outputs[0]] = _linear(x, made)
    return [made[v] if v in made else zeros_of(v) for v in step.updates]


def zeros_of(v: Variable) -> Variable:
    """Zeros of the shape and dtype of v."""
    made: Variable = FUNCTIONS["zeros_like"](v)
    return made


def _linear(x: Any, made: Mapping[Variable, Variable]) -> Variable:
    args, name = list(x.inputs), x.op.name
    dependent = [v in made for v in args]
    if name in _SUMS and not all(dependent):
        place = dependent.index(True)
        v = made[args[place]]
        v = apply(x.op.make("negative"), v) if name == "subtract" and place else v
        other = args[1 - place]
        return v if other.ndim == 0 else v + zeros_of(other).astype(v.dtype)
    if name in (*_SUMS, "where", "concatenate", "stack"):
        first = 1 if name == "where" else 0
        new = [
            made[v] if d else v if i < first else zeros_of(v)
            for i, (v, d) in enumerate(zip(args, dependent, strict=True))
        ]
        return apply(x.op, *new)
    return apply(x.op, *(made.get(v, v) for v in args))


def clamped_part(node: Scan, group: Group, given: Sequence[Variable]) -> list[Variable]:
    """(a, low, high) after a step, from those before it, where the state is min(max(s + a, low), high)."""
    F = FUNCTIONS
    step = _Step(node, group)
    (start,) = [lag.read for lag in group.lags]
    assert start is not None
    made: dict[Variable, tuple[Variable, ...]] = {start: tuple(given)}
    for x in step.nodes():
        out = x.outputs[0]
        made[out] = _clamp_of(x, made, F)
    return list(made[step.updates[0]])


def _clamp_of(x: Any, made: Mapping[Variable, tuple[Variable, ...]], F: Mapping[str, Any]) -> tuple[Variable, ...]:
    name, args = x.op.name, x.inputs

    def moved(bound: Variable, c: Variable, sign: int) -> Variable:
        there = bound + c if sign > 0 else bound - c
        found: Variable = F["where"](F["isinf"](bound), bound + zeros_of(c), there)  # an infinite bound stays infinite
        return found

    if name == "where":
        sides = [made.get(v) or (zeros_of(v), v, v) for v in args[1:]]
        return tuple(F["where"](args[0], a, b) for a, b in zip(*sides, strict=True))
    place = next(i for i, v in enumerate(args) if v in made)
    a, low, high = made[args[place]]
    if name == "positive":
        return a, low, high
    if name in ("add", "subtract"):
        c, sign = args[1 - place], 1 if name == "add" else -1
        return a + c if sign > 0 else a - c, moved(low, c, sign), moved(high, c, sign)
    for f, bound in {"maximum": [("maximum", -1)], "minimum": [("minimum", -1)],
                     "clip": [("maximum", 1), ("minimum", 2)]}[name]:  # fmt: skip
        c = args[1 - place] if bound < 0 else args[bound]
        low, high = F[f](low, c), F[f](high, c)
    return a, low, high
