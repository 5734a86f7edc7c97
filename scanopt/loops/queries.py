"""Queries on a Scan node: which variables belong to the same slot, and which depend on which.

All indices count along the lists of `scan_args`.  The answers are derived by rules over slots,
in `scanopt.egraph.queries`, when first asked for.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from scanopt import features
from scanopt.array.variable import Variable
from scanopt.loops.scan_args import ScanArgs, scan_args
from scanopt.loops.scan_info import ScanInfo
from scanopt.loops.scan_op import ScanOp

if TYPE_CHECKING:
    from scanopt.loops.node import Scan

__all__ = ["ScanQueries"]

Table = dict[int, int] | dict[int, list[int]]
Taps = tuple[tuple[int, ...], ...]


def _part(name: str, kind: str) -> Callable[..., tuple[Variable, ...]]:
    """A method that returns the variables of one kind of slot in one of the four lists."""
    what = f"{name.removesuffix('p')}puts"

    def part(self: ScanQueries, given: Sequence[Variable] | ScanQueries | None = None) -> tuple[Variable, ...]:
        places = list(self._args().places(name))
        if given is self or given is getattr(self, what.replace("outer_", ""), ()):
            given = None  # called as in Theano: op.outer_seqs(node), or op.outer_seqs(node.inputs)
        if isinstance(given, ScanQueries):
            raise ValueError(f"{self} was asked for variables of {given}: ask each node for its own")
        if given is not None and len(given) != len(places):
            raise ValueError(
                f"{self} has {len(places)} {what} but was given {len(given)} variables to choose from: pass "
                f"scan_args(node).{what}, or others in the same order, or nothing"
            )
        return tuple(given[p.index] if given else p.variable for p in places if p.kind == kind)

    part.__doc__ = (
        f"The variables of kind {kind} among the `{what}` of `scan_args`, or among as many `given` ones.\n\n"
        "        given: the node, or its own `inputs` or `outputs` for outer ones, stand for the list itself."
    )
    return part


def _number(name: str) -> property:
    """A property that reads the field `name` of `info`."""
    return property(lambda self: getattr(self.info, name), doc=f"`info.{name}`.")


class ScanQueries:
    """The part of a Scan node that answers questions; `Scan` inherits it."""

    inner_seqs, outer_seqs = _part("inner_inp", "seqs"), _part("outer_inp", "seqs")
    inner_mitmot, outer_mitmot = _part("inner_inp", "mit_mot"), _part("outer_inp", "mit_mot")
    inner_mitmot_outs, outer_mitmot_outs = _part("inner_out", "mit_mot"), _part("outer_out", "mit_mot")
    inner_mitsot, outer_mitsot = _part("inner_inp", "mit_sot"), _part("outer_inp", "mit_sot")
    inner_mitsot_outs, outer_mitsot_outs = _part("inner_out", "mit_sot"), _part("outer_out", "mit_sot")
    inner_sitsot, outer_sitsot = _part("inner_inp", "sit_sot"), _part("outer_inp", "sit_sot")
    inner_sitsot_outs, outer_sitsot_outs = _part("inner_out", "sit_sot"), _part("outer_out", "sit_sot")
    outer_nitsot = _part("outer_inp", "nit_sot")
    inner_nitsot_outs, outer_nitsot_outs = _part("inner_out", "nit_sot"), _part("outer_out", "nit_sot")
    inner_shared, outer_shared = _part("inner_inp", "shared"), _part("outer_inp", "shared")
    inner_shared_outs, outer_shared_outs = _part("inner_out", "shared"), _part("outer_out", "shared")
    inner_non_seqs, outer_non_seqs = _part("inner_inp", "non_seqs"), _part("outer_inp", "non_seqs")

    def _args(self) -> ScanArgs:
        return scan_args(cast("Scan", self))

    @property
    def op(self) -> ScanOp:
        """The Scan op of this node, as in the documents; the node itself answers all its queries too."""
        return ScanOp(cast("Scan", self))

    @property
    def info(self) -> ScanInfo:
        """The numbers of slots and their taps."""
        return self._args().info

    n_seqs, n_mit_mot, n_mit_mot_outs = _number("n_seqs"), _number("n_mit_mot"), _number("n_mit_mot_outs")
    n_mit_sot, n_sit_sot, n_nit_sot = _number("n_mit_sot"), _number("n_sit_sot"), _number("n_nit_sot")
    n_shared_outs, n_non_seqs, n_outs = _number("n_shared_outs"), _number("n_non_seqs"), _number("n_outs")
    tap_array, mit_mot_in_slices = _number("tap_array"), _number("mit_mot_in_slices")
    mit_mot_out_slices, mit_sot_in_slices = _number("mit_mot_out_slices"), _number("mit_sot_in_slices")
    sit_sot_in_slices, as_while = _number("sit_sot_in_slices"), _number("as_while")

    def _derived(self) -> Any:
        return features.queries(cast("Scan", self))

    def mitmot_taps(self) -> Taps:
        """For each mit-mot the steps at which it reads, relative to the present one."""
        return self._args().mit_mot_in_slices

    def mitmot_out_taps(self) -> Taps:
        """For each mit-mot the steps at which it writes, relative to the present one."""
        return self._args().mit_mot_out_slices

    def mitsot_taps(self) -> Taps:
        """For each mit-sot the steps at which it reads, relative to the present one."""
        return self._args().mit_sot_in_slices

    @property
    def var_mappings(self) -> dict[str, Table]:
        """Which variables belong to the same slot: 12 tables, such as "inner_inp_from_outer_inp".

        A table gives for each index of one list what belongs to it in another one: of outer
        variables the index, or -1 where there is none; of inner variables the list of indices.

        >>> from scanopt import scan, tensor as T
        >>> xs, _ = scan(lambda u, x: u + x, T.vector("u"), outputs_info=T.scalar("x0"))
        >>> xs.owner.var_mappings["inner_inp_from_outer_inp"]
        {0: [], 1: [0], 2: [1]}
        >>> xs.owner.var_mappings["outer_out_from_inner_inp"]
        {0: -1, 1: 0}

        Source: the internals document, "Navigating between outer inputs/outputs and inner
        inputs/outputs".
        """
        tables: dict[str, Table] = copy.deepcopy(self._derived().var_mappings)
        return tables

    def get_oinp_iinp_iout_oout_mappings(self) -> dict[str, Table]:
        """Aesara's name for `var_mappings`."""
        return self.var_mappings

    def connection_pattern(self, node: object = None) -> list[list[bool]]:
        """Per outer input and outer output: whether the one is used to compute values of the other.

        node: this node, as Theano asks its op; no other one.

        Dependence through any number of steps counts.  Inputs that only decide how many rows there are (n_steps,
        rows of nit-sots, the condition of `until`) are not connected; an input that cancels out (x - x) is.

        >>> from scanopt import scan, tensor as T
        >>> (xs, ys), _ = scan(lambda u, x: (u + x, u), T.vector("u"), outputs_info=[T.scalar("x0"), None])
        >>> xs.owner.connection_pattern()  # n_steps, u, x0, rows of ys
        [[False, False], [True, True], [True, False], [False, False]]

        Source: the internals document, as `var_mappings`.
        """
        if node is not None and node is not self:
            raise ValueError(
                f"connection_pattern of {self} was asked of another node: use node.op.connection_pattern(node)"
            )
        pattern: list[list[bool]] = copy.deepcopy(self._derived().connected)
        return pattern

    def inner_connection_pattern(self) -> list[list[bool]]:
        """Per inner input and inner output: whether one step uses the one to compute the other.

        >>> from scanopt import scan, tensor as T
        >>> (xs, ys), _ = scan(lambda u, x: (u + x, u), T.vector("u"), outputs_info=[T.scalar("x0"), None])
        >>> xs.owner.inner_connection_pattern()  # u, x
        [[True, True], [True, False]]

        Source: the internals document, as `var_mappings`.
        """
        pattern: list[list[bool]] = copy.deepcopy(self._derived().inner_connected)
        return pattern
