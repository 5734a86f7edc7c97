"""The slots of a Scan node as the documents' four lists: outer and inner inputs, outer and inner outputs.

An index in a table of `Scan.var_mappings` and a row or column of a connection pattern count along
these lists, and not along `Scan.inputs` and `Scan.outputs`, whose contents are scanopt's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from scanopt.array.variable import Apply, Node, Variable
from scanopt.loops.scan_info import ScanInfo, Taps
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.loops.node import Scan

__all__ = ["LISTS", "ListPosition", "ScanArgs", "scan_args"]

LISTS = {
    "outer_inp": ("n_steps", "seqs", "mit_mot", "mit_sot", "sit_sot", "shared", "nit_sot", "non_seqs"),
    "inner_inp": ("seqs", "mit_mot", "mit_sot", "sit_sot", "shared", "non_seqs"),
    "inner_out": ("mit_mot", "mit_sot", "sit_sot", "nit_sot", "shared", "cond"),
    "outer_out": ("mit_mot", "mit_sot", "sit_sot", "nit_sot", "shared"),
}
"""For each list the kinds of slots in the documented order.  Among inputs shared states come before
nit-sots, among outputs after them."""

Variables = tuple[Variable, ...]


@dataclass(frozen=True, eq=False)
class ListPosition:
    """Variable number `index` of a list, which belongs to slot number `slot` of its kind."""

    kind: str
    slot: int
    index: int
    variable: Variable


@dataclass(frozen=True, eq=False)
class ScanArgs:
    """The inputs and outputs of a loop by kind of slot, `outer_` in the graph around it, `inner_` in its step.

    Slots with several taps have a tuple of inner variables each, one for every tap in their
    `_slices`.  outer_in_nit_sot: the numbers of rows to keep, which here are all of them: n_steps.
    outer_out_shared: all rows; the documents' loops keep the last alone.  cond: the condition of
    `until`, or empty.

    Source: the internals document, `scan_args`; Aesara's `ScanArgs`.
    """

    n_steps: Variable
    outer_in_seqs: Variables
    inner_in_seqs: Variables
    outer_in_mit_mot: Variables
    mit_mot_in_slices: tuple[Taps, ...]
    inner_in_mit_mot: tuple[Variables, ...]
    mit_mot_out_slices: tuple[Taps, ...]
    inner_out_mit_mot: tuple[Variables, ...]
    outer_out_mit_mot: Variables
    outer_in_mit_sot: Variables
    mit_sot_in_slices: tuple[Taps, ...]
    inner_in_mit_sot: tuple[Variables, ...]
    inner_out_mit_sot: Variables
    outer_out_mit_sot: Variables
    outer_in_sit_sot: Variables
    sit_sot_in_slices: tuple[Taps, ...]
    inner_in_sit_sot: Variables
    inner_out_sit_sot: Variables
    outer_out_sit_sot: Variables
    outer_in_nit_sot: Variables
    inner_out_nit_sot: Variables
    outer_out_nit_sot: Variables
    outer_in_shared: Variables
    inner_in_shared: Variables
    inner_out_shared: Variables
    outer_out_shared: Variables
    outer_in_non_seqs: Variables
    inner_in_non_seqs: Variables
    cond: Variables

    def places(self, name: str) -> Iterator[ListPosition]:
        """The variables of one list (a key of `LISTS`), each with the slot that it belongs to."""
        index = count()
        for kind in LISTS[name]:
            for slot, found in enumerate(self._section(name, kind)):
                for v in found if isinstance(found, tuple) else (found,):
                    yield ListPosition(kind, slot, next(index), v)

    def _section(self, name: str, kind: str) -> tuple[Any, ...]:
        if kind in ("n_steps", "cond"):
            return (self.n_steps,) if kind == "n_steps" else self.cond
        section: tuple[Any, ...] = getattr(self, f"{name.removesuffix('p')}_{kind}")
        return section

    @property
    def outer_inputs(self) -> Variables:
        """n_steps, sequences, mit-mots, mit-sots, sit-sots, shared, rows of nit-sots, non-sequences."""
        return tuple(p.variable for p in self.places("outer_inp"))

    @property
    def inner_inputs(self) -> Variables:
        """Sequences, in-taps of mit-mots, taps of mit-sots, sit-sots, shared, non-sequences."""
        return tuple(p.variable for p in self.places("inner_inp"))

    @property
    def inner_outputs(self) -> Variables:
        """Out-taps of mit-mots, mit-sots, sit-sots, nit-sots, shared, and last the condition of `until`."""
        return tuple(p.variable for p in self.places("inner_out"))

    @property
    def outer_outputs(self) -> Variables:
        """Mit-mots, mit-sots, sit-sots, nit-sots, shared."""
        return tuple(p.variable for p in self.places("outer_out"))

    @staticmethod
    def from_node(node: Scan) -> ScanArgs:
        """As `scan_args(node)`."""
        return scan_args(node)

    @property
    def info(self) -> ScanInfo:
        """The number of slots of each kind, and their taps."""
        return ScanInfo(
            n_seqs=len(self.outer_in_seqs),
            mit_mot_in_slices=self.mit_mot_in_slices,
            mit_mot_out_slices=self.mit_mot_out_slices,
            mit_sot_in_slices=self.mit_sot_in_slices,
            sit_sot_in_slices=self.sit_sot_in_slices,
            n_nit_sot=len(self.outer_in_nit_sot),
            n_shared_outs=len(self.outer_in_shared),
            n_non_seqs=len(self.outer_in_non_seqs),
            as_while=bool(self.cond),
        )


def _words(other: object) -> str:
    return f"the operator {other.op.name}" if isinstance(other, Apply) else repr(other)


def scan_args(node: Scan) -> ScanArgs:
    """The inputs and outputs of a loop by kind of slot.

    node: the Scan node, `xs.owner` of an output xs.  Raises TypeError for anything else.

    >>> from scanopt import scan, tensor as T
    >>> xs, _ = scan(lambda u, x: u + x, T.vector("u"), outputs_info=T.scalar("x0"))
    >>> args = scan_args(xs.owner)
    >>> args.inner_in_seqs, args.outer_in_sit_sot, args.info.n_nit_sot
    (('u[t]' float64[],), ('x0' float64[],), 0)

    Source: the internals document, "Accessing/manipulating Scan's inputs and outputs by type".
    """
    given: object = node
    if isinstance(given, Apply) or not isinstance(given, Node):
        raise TypeError(f"scan_args takes a Scan node, the owner of an output of scan, found {_words(given)}")
    mit, sit = len(node.mit_sots), len(node.mit_sots) + len(node.sit_sots)
    nit = sit + len(node.shared)
    return ScanArgs(
        n_steps=node.n_steps,
        outer_in_seqs=tuple(s.u_outer for s in node.sequences),
        inner_in_seqs=tuple(s.u_inner for s in node.sequences),
        outer_in_mit_mot=tuple(s.buffer_outer for s in node.mit_mots),
        mit_mot_in_slices=tuple(s.in_taps for s in node.mit_mots),
        inner_in_mit_mot=tuple(s.input_states for s in node.mit_mots),
        mit_mot_out_slices=tuple(s.out_taps for s in node.mit_mots),
        inner_out_mit_mot=tuple(s.output_states for s in node.mit_mots),
        outer_out_mit_mot=node.mit_mot_outputs,
        outer_in_mit_sot=tuple(s.init_outer for s in node.mit_sots),
        mit_sot_in_slices=tuple(s.taps for s in node.mit_sots),
        inner_in_mit_sot=tuple(s.input_states for s in node.mit_sots),
        inner_out_mit_sot=tuple(s.output_state for s in node.mit_sots),
        outer_out_mit_sot=node.outputs[:mit],
        outer_in_sit_sot=tuple(s.init_outer for s in node.sit_sots),
        sit_sot_in_slices=tuple(s.taps for s in node.sit_sots),
        inner_in_sit_sot=tuple(s.input_state for s in node.sit_sots),
        inner_out_sit_sot=tuple(s.output_state for s in node.sit_sots),
        outer_out_sit_sot=node.outputs[mit:sit],
        outer_in_nit_sot=(node.n_steps,) * len(node.nit_sots),
        inner_out_nit_sot=tuple(s.output for s in node.nit_sots),
        outer_out_nit_sot=node.outputs[nit : nit + len(node.nit_sots)],
        outer_in_shared=tuple(s.shared for s in node.shared),
        inner_in_shared=tuple(s.input_state for s in node.shared),
        inner_out_shared=tuple(s.output_state for s in node.shared),
        outer_out_shared=node.shared_traces,
        outer_in_non_seqs=tuple(s.w_outer for s in node.non_sequences),
        inner_in_non_seqs=tuple(s.w_inner for s in node.non_sequences),
        cond=() if node.until is None else (node.until,),
    )
