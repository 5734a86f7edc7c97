"""Facts about traced values whose shapes are known before the run, in loops that raise nothing if they take no step.

A loop that is known to take no step vanishes: what it reads is no longer computed, so the shape of its empty trace must
be known without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from scanopt.analysis.lengths import KnownLengths, changing
from scanopt.array.op import Op
from scanopt.calculus.encoded import Encoded, clocks_of, needed
from scanopt.calculus.forms import ROOT

__all__ = ["stacked_states", "static_shapes"]


def static_shapes(g: Encoded, lengths: Callable[[], KnownLengths]) -> Iterator[tuple[str, tuple[int | str, ...]]]:
    """Facts about traced values of known shapes, of loops whose shapes fit, and that read only what cannot raise."""
    traced = [(f.clock, f.args[0]) for _, f in g.forms() if f.clock != ROOT and f.kind in ("stack", "tail")]
    traced = [(c, v) for c, v in dict.fromkeys(traced) if None not in g.types[v].shape]
    misfits = _misfits(g, lengths()) if traced else set()
    for c, v in traced:
        if c not in misfits and not _may_raise(g, lengths(), _read(g, c)):
            type = g.types[v]
            yield "static_shape", (v, ",".join([f"{type.dtype}:0", *map(str, type.shape)]))


def stacked_states(g: Encoded, lengths: Callable[[], KnownLengths]) -> Iterator[tuple[str, tuple[int | str, ...]]]:
    """Facts about states that are stacked at each step and keep their shape."""
    updates = {s: g.classes[info.updates[0]][0].operator for s, info in g.states.items()}
    stacked = [s for s, op in updates.items() if isinstance(op, Op) and op.name == "stack"]
    if stacked:
        may_change = changing(g, lengths())
        yield from (("keeps_shape", (s,)) for s in stacked if s not in may_change)


def _misfits(g: Encoded, known: KnownLengths) -> set[int]:
    """Loops in which shapes may not fit, or that of a state may change, and those around them."""
    clocks, states = clocks_of(g), changing(g, known)
    found = {clocks[i] for i, f in g.forms() if f.kind == "apply" and i not in known.fitting} - {ROOT}
    found |= {f.clock for _, f in g.forms() if f.kind == "delay" and f.state in states}
    return {outer for c in found for outer in g.chain(c)}


def _read(g: Encoded, c: int) -> Iterator[int]:
    """The terms that a loop reads and that are computed before it."""
    return (a for _, f in g.forms() if f.kind in ("hold", "seq", "delay") and f.clock == c for a in f.args)


def _may_raise(g: Encoded, known: KnownLengths, terms: Iterable[int]) -> bool:
    """Whether an operator may raise that these terms, or the loops that they are computed by, need."""
    return any(g.classes[i][0].kind == "apply" and i not in known.harmless for i in needed(g, terms))
