"""Divides a function at its loops: into the part before each loop, some steps of each, and the part after all loops.

The steps of a loop run in pieces of the same program, each starting from the carries of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as altered

from scanopt.array.registry import FUNCTIONS
from scanopt.array.types import TensorType
from scanopt.array.variable import Apply, Constant, Node, SharedVariable, Variable
from scanopt.loops.graph import dependencies, schedule
from scanopt.loops.node import NitSot, Scan
from scanopt.loops.node import Sequence as SequenceSlot
from scanopt.records import dataclass
from scanopt.scale.carries import carried_on, starting_with

__all__ = ["LoopPiece", "pieces"]


@dataclass(frozen=True, eq=False)
class LoopPiece:
    """The program for some steps of a loop.

    node: the loop.  before: the variables computed before it: the number of steps, its sequences, its initial states,
    its non-sequences, its checks.  inputs: of the piece: the number of steps, rows of sequences, carries,
    non-sequences.  outputs: of the piece: rows of the traces in `kept`, the carries after it and, if the loop may end
    early, for each step whether it ends there.  kept: the numbers of the traces that are read, each with whether only
    its last row is.
    """

    node: Scan
    before: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    kept: tuple[tuple[int, bool], ...]

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of sequences, carries and non-sequences."""
        n, k = len(self.node.sequences), len(self.node.states)
        return n, k, len(self.inputs) - 1 - n - k


def pieces(results: Sequence[Variable]) -> list[LoopPiece]:
    """The loops that the results depend on, in order, without loops of gradients, whose buffers cannot be cut."""
    nodes = schedule(results)
    return [_piece(x, _reads(x, nodes, results)) for x in nodes if isinstance(x, Scan) and not x.mit_mots]


def _reads(node: Scan, nodes: Sequence[Node], results: Sequence[Variable]) -> tuple[tuple[int, bool], ...]:
    """The numbers of the traces that are read, each with whether only its last row is."""
    whole = {v for v in results if v.owner is node}
    last: set[Variable] = set()
    for x in nodes:
        for i, v in enumerate(dependencies(x)):
            if v.owner is node:
                (last if i == 0 and _is_last(x) else whole).add(v)
    return tuple((v.index, v not in whole) for v in node.outputs if v in whole or v in last)


def _is_last(x: Node) -> bool:
    return isinstance(x, Apply) and x.op.name == "getitem" and x.op.options["index"][:1] == (-1,)


def _piece(node: Scan, kept: tuple[tuple[int, bool], ...]) -> LoopPiece:
    n = Variable(TensorType("int64", ()), "steps")
    rows = [Variable(q.u_outer.type.row().rows(None), q.u_outer.name) for q in node.sequences]
    carries = [Variable(s.init_outer.type, f"{node.label(i)} carried") for i, s in enumerate(node.states)]
    held = tuple(
        v for v in dict.fromkeys(w.w_outer for w in node.non_sequences) if not isinstance(v, Constant | SharedVariable)
    )
    given = zip(node.sequences, rows, strict=True)
    made = starting_with(
        altered(
            node,
            n_steps=n,
            sequences=tuple(SequenceSlot(v, q.u_inner, q.tap) for q, v in given),
            nit_sots=(*node.nit_sots, *(() if node.until is None else (NitSot(node.until),))),
            requires=(),
            labels=(),
            order=None,
        ),
        carries,
    )
    traces = [made.outputs[i][-1:] if last else made.outputs[i] for i, last in kept]
    some = FUNCTIONS["greater"](n, 0)
    after = [
        FUNCTIONS["ifelse"](some, carried_on(s, c, x), c)
        for s, c, x in zip(made.states, carries, made.outputs, strict=False)
    ]
    ends = [] if node.until is None else [made.outputs[-1]]
    checks = [r.check for r in node.requires]
    inits = [s.init_outer for s in node.states]
    before = (node.n_steps, *(q.u_outer for q in node.sequences), *inits, *held, *checks)
    return LoopPiece(node, before, (n, *rows, *carries, *held), (*traces, *after, *ends), kept)
