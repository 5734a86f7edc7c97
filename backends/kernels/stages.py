"""Which nodes run together: operations over arrays of one shape are one loop over its elements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from scanopt.backends.kernels.ir import Expr
from scanopt.backends.kernels.nodes import Map, Node

__all__ = ["Fused", "Stage", "stages_of", "stored"]

Axes = tuple[Expr, ...]


@dataclass
class Fused:
    """Operations over elements of one shape, in order."""

    axes: Axes
    nodes: list[Map] = field(default_factory=list[Map])


Stage = Fused | Node


def stages_of(nodes: Sequence[Node], axes: Mapping[str, Axes]) -> list[Stage]:
    """The nodes in an order in which they can run, operations of one shape together as far as that goes."""
    stages: list[Stage] = []
    made: dict[str, int] = {}
    for node in nodes:
        shape = axes[node.out] if isinstance(node, Map) else ()
        if not isinstance(node, Map) or not shape:
            made |= dict.fromkeys(node.outs, len(stages))
            stages.append(node)
            continue
        first = 0
        for a in node.args:
            if a in made:
                stage = stages[made[a]]
                together = isinstance(stage, Fused) and stage.axes == shape == axes[a]
                first = max(first, made[a] + (not together))
        found = (i for i in range(first, len(stages)) if _takes(stages[i], shape))
        place = next(found, None)
        if place is None:
            place = len(stages)
            stages.append(Fused(shape))
        stage = stages[place]
        assert isinstance(stage, Fused)
        stage.nodes.append(node)
        made[node.out] = place
    return stages


def _takes(stage: Stage, axes: Axes) -> bool:
    return isinstance(stage, Fused) and stage.axes == axes


def stored(stages: Sequence[Stage], wanted: Collection[str]) -> set[str]:
    """The names of fused nodes that need a place in memory.  wanted: those needed after the step."""
    found = set(wanted)
    for stage in stages:
        if isinstance(stage, Fused):
            mine = {n.out for n in stage.nodes}
            found |= {a for n in stage.nodes for a in n.args if a not in mine}
        else:
            found |= set(stage.args)
    return found & {n.out for s in stages if isinstance(s, Fused) for n in s.nodes}
