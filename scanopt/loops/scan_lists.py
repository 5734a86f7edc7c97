"""`scan_args` with Theano's and Aesara's arguments: divides the documents' four lists by kind of slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanopt.array.variable import Variable
from scanopt.loops.node import Scan
from scanopt.loops.scan_args import LISTS, ScanArgs
from scanopt.loops.scan_args import scan_args as of_node
from scanopt.loops.scan_info import ScanInfo
from scanopt.loops.site import show

__all__ = ["scan_args"]

_Lists = dict[str, Any]


def scan_args(
    outer_inputs: Scan | Sequence[Variable],
    outer_outputs: Sequence[Variable] | None = None,
    inner_inputs: Sequence[Variable] | None = None,
    inner_outputs: Sequence[Variable] | None = None,
    info: ScanInfo | None = None,
) -> ScanArgs:
    """The inputs and outputs of a loop by kind of slot.

    outer_inputs: the Scan node, `xs.owner` of an output xs, and nothing else; or, with the other four, lists of
        variables in the documented order, and how many of each kind they are: `node.op.info`.  The node's own
        `inputs` and `outputs`, whose order is ours, are taken for the documented lists.
    Raises TypeError for anything but a Scan node or lists, ValueError for lists of a wrong length.

    >>> from scanopt import scan, tensor as T
    >>> xs, _ = scan(lambda u, x: u + x, T.vector("u"), outputs_info=T.scalar("x0"))
    >>> node = xs.owner
    >>> args = scan_args(node)
    >>> args.inner_in_seqs, args.outer_in_sit_sot, args.info.n_nit_sot
    (('u[t]' float64[],), ('x0' float64[],), 0)
    >>> scan_args(node.inputs, node.outputs, node.op.inputs, node.op.outputs, node.op.info).outer_in_seqs
    ('u' float64[?],)

    Source: the internals document, "Accessing/manipulating Scan's inputs and outputs by type"; Theano's and Aesara's
    five arguments.
    """
    given = {
        "outer_inp": outer_inputs,
        "outer_out": outer_outputs,
        "inner_inp": inner_inputs,
        "inner_out": inner_outputs,
    }
    if all(x is None for x in (outer_outputs, inner_inputs, inner_outputs, info)):
        return of_node(outer_inputs)  # type: ignore[arg-type]  # anything else is refused there
    if not isinstance(info, ScanInfo):
        raise TypeError(f"info must say how many slots there are, as node.op.info does, found {show(info)}")
    sections: _Lists = {}
    for name, variables in _documented(given).items():
        sections |= _sections(name, variables, info)
    slices = ("mit_mot_in_slices", "mit_mot_out_slices", "mit_sot_in_slices", "sit_sot_in_slices")
    return ScanArgs(**sections, **{key: getattr(info, key) for key in slices})


def _word(name: str) -> str:
    """The name of a list of LISTS as an argument of scan_args: "inner_inp" is `inner_inputs`."""
    return f"{name.removesuffix('p')}puts"


def _documented(given: _Lists) -> dict[str, list[Variable]]:
    """The four lists, with a node's own `inputs` and `outputs` replaced by those in the documented order."""
    out: dict[str, list[Variable]] = {}
    for name, variables in given.items():
        if not isinstance(variables, list | tuple) or not all(isinstance(v, Variable) for v in variables):
            raise TypeError(f"{_word(name)} must be a list of variables, found {show(variables)}")
        out[name] = list(variables)
    node = next((v.owner for v in out["outer_out"]), None)
    if isinstance(node, Scan):
        args = of_node(node)
        if _same(out["outer_out"], node.outputs):
            out["outer_out"] = list(args.outer_outputs)
        if _same(out["outer_inp"], node.inputs):
            out["outer_inp"] = list(args.outer_inputs)
    return out


def _same(a: Sequence[Variable], b: Sequence[Variable]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _sections(name: str, variables: list[Variable], info: ScanInfo) -> _Lists:
    """Divide one list into its parts, by their names in ScanArgs."""
    lengths = {kind: _lengths(name, kind, info) for kind in LISTS[name]}
    expected = sum(n or 1 for many in lengths.values() for n in many)
    if expected != len(variables):
        raise ValueError(f"{_word(name)} has {len(variables)} variables, but info says that there are {expected}")
    rest = iter(variables)
    out: _Lists = {}
    for kind, many in lengths.items():
        found = tuple(tuple(next(rest) for _ in range(n)) if n else next(rest) for n in many)
        key = kind if kind in ("n_steps", "cond") else f"{name.removesuffix('p')}_{kind}"
        out[key] = found[0] if kind == "n_steps" else found
    return out


def _lengths(name: str, kind: str, info: ScanInfo) -> list[int]:
    """For each slot of a kind how many variables it has in this list; 0 means a single variable, not in a tuple."""
    if name == "inner_inp" and kind in ("mit_mot", "mit_sot"):
        return [len(taps) for taps in getattr(info, f"{kind}_in_slices")]
    if name == "inner_out" and kind == "mit_mot":
        return [len(taps) for taps in info.mit_mot_out_slices]
    counts = {"n_steps": 1, "seqs": info.n_seqs, "shared": info.n_shared_outs, "non_seqs": info.n_non_seqs,
              "nit_sot": info.n_nit_sot, "cond": int(info.as_while)}  # fmt: skip
    return [0] * (counts[kind] if kind in counts else getattr(info, f"n_{kind}"))
