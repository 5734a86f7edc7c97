"""Loops of as many steps, as far as lengths of arrays tell, followed to where they come from."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Any

import scanopt.calculus.facts_states  # noqa: F401  # declares what is given here
from scanopt.array.op import Op
from scanopt.calculus.encode import Encoded
from scanopt.calculus.forms import Form
from scanopt.calculus.given import Given

__all__ = ["as_many_steps", "with_equal_lengths"]


def with_equal_lengths(g: Encoded) -> Encoded:
    """The program with one term for numbers of steps that are the same."""
    out = Encoded()
    vars(out).update(vars(g))
    out.clocks = {
        c: replace(g.clocks[c], steps=g.clocks[first].steps) for c, first in zip(g.clocks, _first(g), strict=True)
    }
    return out


def as_many_steps(g: Encoded) -> Iterator[Given]:
    """Loops, side by side, with the same number of steps."""
    for c, first in zip(g.clocks, _first(g), strict=True):
        if g.clocks[c].steps != g.clocks[first].steps:
            yield "as_many_steps", (first, c)


def _first(g: Encoded) -> list[int]:
    """Per loop the one in the same loop with as many steps whose number of steps is the first term."""
    counts = _counts(g)
    keys = {c: (info.level, counts[info.steps]) for c, info in g.clocks.items()}
    known: dict[Hashable, int] = {}
    for c in sorted(g.clocks, key=lambda c: g.clocks[c].steps):
        known.setdefault(keys[c], c)
    return [known[keys[c]] for c in g.clocks]


def _counts(g: Encoded) -> dict[int, Hashable]:
    """Per term what its value is (an integer) or what its length is (an array): the same for the same number."""
    out: dict[int, Hashable] = {}
    for i, f in g.forms():
        out[i] = (_length if g.types[i].ndim else _value)(g, i, f, out)
    return out


def _value(g: Encoded, i: int, f: Form, known: dict[int, Hashable]) -> Hashable:
    op = f.operator
    if f.kind == "const" and g.types[i].dtype.startswith(("int", "uint")):
        return "number", int(g.consts[f.key])
    if f.kind == "hold":
        return "held", f.clock, known[f.args[0]]
    if isinstance(op, Op) and op.name == "shape_i" and op.options["axis"] == 0:
        return known[f.args[0]]
    if isinstance(op, Op) and op.name in ("minimum", "maximum") and known[f.args[0]] == known[f.args[1]]:
        return known[f.args[0]]
    return "value", i


def _length(g: Encoded, i: int, f: Form, known: dict[int, Hashable]) -> Hashable:
    type, op = g.types[i], f.operator
    if type.shape[0] is not None:
        return "number", type.shape[0]
    if f.kind == "hold":
        return "held", f.clock, known[f.args[0]]
    if f.kind == "stack" and not g.clocks[f.clock].until:
        return known[g.clocks[f.clock].steps]
    if isinstance(op, Op) and op.name == "getitem":
        return _sliced(known[f.args[0]], op.options["index"]) or ("length", i)
    if isinstance(op, Op) and op.spec.ufunc is not None:
        lengths = {known[a] for a in f.args if g.types[a].ndim == type.ndim and g.types[a].shape[0] != 1}
        if len(lengths) == 1:
            return lengths.pop()
    return "length", i


def _sliced(length: Hashable, index: Any) -> Hashable:
    """The length of what a basic index whose first entry is a slice of fixed bounds leaves of so many rows."""
    if any(entry in ("array", "mask") for entry in index):
        return None
    match index[0]:
        case ("slice", None, None, None | -1):
            return length
        case ("slice", None | int() as start, None | int() as stop, None):
            from_start = (start or 0) >= 0 and (stop is None or stop < 0)
            return _less(length, (start or 0) - (stop or 0)) if from_start else None
        case _:
            return None


def _less(length: Hashable, k: int) -> Hashable:
    """max(length - k, 0)."""
    match length:
        case ("less", rest, int() as j):
            return "less", rest, j + k
        case _:
            return ("less", length, k) if k else length
