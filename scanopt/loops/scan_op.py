"""`node.op`: the operator of a Scan node as in Theano and Aesara; here it only refers to the node, which has all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scanopt.array.shown import quoted
from scanopt.array.variable import Variable
from scanopt.loops.profile import ScanProfile, scan_profile
from scanopt.loops.scan_args import scan_args
from scanopt.loops.scan_info import INFO, ScanInfo
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.loops.node import Scan

__all__ = ["ScanOp"]

_OPTIONS = ("name", "mode", "allow_gc", "truncate_gradient", "go_backwards")
_QUERIES = ("var_mappings", "connection_pattern", "inner_connection_pattern", "get_oinp_iinp_iout_oout_mappings")


@dataclass(frozen=True, eq=False)
class ScanOp:
    """The operator of a Scan node, with the interface that the documents describe.

    inputs, outputs (also inner_inputs, inner_outputs): the variables of the step, in the documented order.  Beside
    them the queries of the node: `info` and all its fields (`n_seqs`, `tap_array`, `mit_mot_out_slices`),
    `var_mappings`, `connection_pattern(node)`, `inner_connection_pattern()`, the slots by kind
    (`inner_nitsot_outs()`), and the options of the call (`name`, `mode`, `profile`, `allow_gc`, `truncate_gradient`).

    >>> from scanopt import scan, tensor as T
    >>> xs, _ = scan(lambda u, x: u + x, T.vector("u"), outputs_info=T.scalar("x0"), name="sums")
    >>> op = xs.owner.op
    >>> op.n_seqs, op.name, op.inputs, op.connection_pattern(xs.owner)
    (1, 'sums', ('u[t]' float64[], 'x0[t-1]' float64[]), [[False], [True], [True]])

    Source: the internals document, "Helper classes and functions"; Theano's `Scan` op.
    """

    node: Scan

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """The inner inputs: sequences, taps of mit-mots and mit-sots, sit-sots, shared, non-sequences."""
        return scan_args(self.node).inner_inputs

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The inner outputs: mit-mots, mit-sots, sit-sots, nit-sots, shared, the condition of `until`."""
        return scan_args(self.node).inner_outputs

    @property
    def profile(self) -> ScanProfile | None:
        """The profile of the loop, None if it is not profiled."""
        return scan_profile(self.node.profile) if self.node.profile else None

    inner_inputs, inner_outputs = inputs, outputs

    @property
    def info(self) -> ScanInfo:
        """The numbers of slots and their taps."""
        return scan_args(self.node).info

    def __getattr__(self, name: str) -> Any:
        if name in INFO:
            return getattr(self.info, name)
        if name in _OPTIONS or name in _QUERIES or name.startswith(("inner_", "outer_", "mitmot_", "mitsot_")):
            return getattr(self.node, name)
        raise AttributeError(f"the operator of {self.node} has no attribute {quoted(name)}; see dir(node.op)")

    def __dir__(self) -> list[str]:
        parts = [name for name in dir(self.node) if name.startswith(("inner_", "outer_", "mitmot_", "mitsot_"))]
        return sorted({"info", "inputs", "node", "outputs", "profile", *INFO, *_OPTIONS, *_QUERIES, *parts})

    def __str__(self) -> str:
        return str(self.node)
