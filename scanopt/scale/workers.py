"""The functions that workers call for one part of the lanes: pure functions of saved programs and arrays.

They run in threads, in other processes and on machines that have NumPy and scanopt.  A program is read and compiled
once in each process.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.compilation.saved import SavedFunction, from_text
from scanopt.forks import lock
from scanopt.records import dataclass
from scanopt.scale.arrays import Part, Sink, value_of
from scanopt.scale.compositions import identity

__all__ = ["Saved", "Summary", "adopted", "advance", "combined", "parts", "run", "start", "summary"]

Arrays = list[Any]
_KNOWN: dict[str, SavedFunction] = {}
_LOCK = lock()
MOST_ENTRIES = 4096
"""The greatest size of a linear state for which the matrix of many steps is computed."""
_MOST = 64


@dataclass(frozen=True)
class Saved:
    """A saved function, as the text of its file.  digest: a hash of the text, by which it is cached."""

    text: str
    digest: str

    @staticmethod
    def of(text: str) -> Saved:
        """The saved function with this text."""
        return Saved(text, hashlib.sha256(text.encode()).hexdigest())

    def ready(self) -> SavedFunction:
        """The function, compiled on first use in this process."""
        with _LOCK:
            found = _KNOWN.get(self.digest)
            if found is None:
                while len(_KNOWN) >= _MOST:
                    del _KNOWN[next(iter(_KNOWN))]
                found = _KNOWN[self.digest] = from_text(self.text)
        return found

    def __call__(self, values: Sequence[Any]) -> Arrays:
        """The outputs for values of its inputs, which may be references to parts of arrays in files."""
        f = self.ready()
        return list(f._results(f._signature.read([value_of(x) for x in values], {})))


@dataclass(frozen=True)
class Summary:
    """The summary program of one group of states, how the group composes, and which carries belong to it.

    places: the numbers of its carries.  depths: the number of rows of each, 0 for a state that is read one step back
    only.  lags: for each value that a step passes on the index of its carry and how many steps it looks back.
    """

    program: Saved
    name: str
    ufunc: str
    strict: bool
    """Whether results must have the bits of single steps."""
    places: tuple[int, ...]
    depths: tuple[int, ...]
    lags: tuple[tuple[int, int], ...]


def run(program: Saved, values: Sequence[Any], sinks: Sequence[Sink | None], part: Part) -> Arrays:
    """The outputs of a function for a part of the lanes; outputs with a sink are written to it."""
    return _kept(program(values), sinks, part)


def _kept(found: Arrays, sinks: Sequence[Sink | None], part: Part) -> Arrays:
    kept = []
    for x, sink in zip(found, sinks, strict=True):
        if sink is not None:
            sink.write(part, x)
        kept.append(x if sink is None else None)
    return kept


def start(program: Saved, values: Sequence[Any]) -> Arrays:
    """The carries before the first step."""
    return program(values)


def parts(
    program: Saved, values: Sequence[Any], carries: Arrays, sinks: Sequence[Sink | None], part: Part
) -> tuple[Arrays, Arrays]:
    """The outputs for some steps, and the carries after them."""
    found = program([*values, *carries])
    return _kept(found[: len(sinks)], sinks, part), found[len(sinks) :]


def combined(ufunc: str, found: Sequence[Any]) -> Any:
    """The values of parts of the lanes, combined by the ufunc in order."""
    out = found[0]
    for x in found[1:]:
        out = np.asarray(getattr(np, ufunc)(out, x)).astype(x.dtype, copy=False)
    return out


# Summaries


def _lag_values(s: Summary, carries: Sequence[Any]) -> Arrays:
    own = [carries[i] for i in s.places]
    return [own[i][-back] if s.depths[i] else own[i] for i, back in s.lags]


def summary(s: Summary, values: Sequence[Any], carries: Arrays) -> Arrays:
    """The effect of some steps on any state.  carries: before the steps; of the group's own only the shapes matter."""
    own = [np.asarray(carries[i]) for i in s.places]
    if s.name == "Folded":
        return s.program([*values, *carries, *(np.full_like(x, identity(s.ufunc, x.dtype.name)) for x in own)])
    if s.name == "Forgotten":
        return s.program([*values, *carries, *own])
    if s.name == "Finite":
        return _of_each_state(s, values, carries, own)
    if s.name == "Clamped":
        (x,) = own
        return s.program([*values, *carries, np.zeros_like(x), np.full_like(x, -np.inf), np.full_like(x, np.inf)])
    lags = [np.asarray(x) for x in _lag_values(s, carries)]
    if s.name == "Affine":
        basis = [np.full_like(x, i == j) for j in range(len(lags)) for i, x in enumerate(lags)]
    else:
        basis = unit_columns(lags)
    return s.program([*values, *carries, *(np.zeros_like(x) for x in own), *basis])


def unit_columns(lags: Sequence[Any]) -> Arrays:
    """All unit vectors of the joint entries of these arrays: for each array its entries of all of them, stacked."""
    total, first, found = sum(x.size for x in lags), 0, []
    if total > MOST_ENTRIES:
        raise ValueError(
            f"what a loop with a linear state of {total} entries does to any state is {total} x {total} numbers for "
            f'each part, and at most {MOST_ENTRIES} entries are meant for that: use schedule="chain"'
        )
    for x in lags:
        rows = np.zeros((total, x.size), x.dtype)
        rows[first : first + x.size] = np.eye(x.size, dtype=x.dtype)
        found.append(rows.reshape(total, *x.shape))
        first += x.size
    return found


def _of_each_state(s: Summary, values: Sequence[Any], carries: Arrays, own: Arrays) -> Arrays:
    found: Arrays = []
    for states in itertools.product((False, True), repeat=len(s.lags)):
        seeds = [np.array(x) for x in own]
        for (i, back), state in zip(s.lags, states, strict=True):
            if s.depths[i]:
                seeds[i][-back] = state
            else:
                seeds[i] = np.full_like(seeds[i], state)
        found += s.program([*values, *carries, *seeds])
    return found


def advance(s: Summary, found: Arrays, carries: Arrays, again: Saved, values: Sequence[Any], steps: int) -> Arrays:
    """All carries, with those of one group after some steps: from their summary, or step by step if that is unsafe."""
    new = None if steps < max((back for _, back in s.lags), default=1) else _applied(s, found, carries)
    if new is None:
        after = again([*values, *carries])
        new = [after[i] for i in s.places]
    out = list(carries)
    for i, x in zip(s.places, new, strict=True):
        out[i] = x
    return out


def adopted(s: Summary, known: Arrays, told: Arrays) -> Arrays:
    """The carries `known` of a part, with those of one group replaced by the ones in `told`."""
    return [told[i] if i in s.places else x for i, x in enumerate(known)]


def _applied(s: Summary, found: Arrays, carries: Arrays) -> Arrays | None:
    """The new carries of a group from its summary; None if they might differ, by zeros, NaN or overflow."""
    own = [np.asarray(carries[i]) for i in s.places]
    if s.name == "Forgotten":
        return found
    with np.errstate(all="ignore"):
        if s.name == "Folded":
            new = [np.asarray(getattr(np, s.ufunc)(own[0], found[0])).astype(own[0].dtype, copy=False)]
            return new if _sure(s, [*new, *found]) else None
        if s.name == "Finite":
            return _chosen(s, found, carries)
        if s.name == "Clamped":
            a, low, high = found
            new = [np.minimum(np.maximum(own[0] + a, low), high)]
            return new if _sure(s, [*new, a]) else None
        new = _affine(s, found, carries)
    return new if _sure(s, [*new, *found]) else None


def _sure(s: Summary, found: Sequence[Any]) -> bool:
    """Whether all numbers are finite; for extrema, whether none is NaN or, if strict, 0: their bits depend on order."""
    if all(np.dtype(x.dtype).kind in "biu" for x in found):
        return True
    if s.ufunc in ("maximum", "minimum"):
        return not any(np.isnan(x).any() or (s.strict and not np.all(x)) for x in found)
    return all(bool(np.isfinite(x).all()) for x in found)


def _affine(s: Summary, found: Arrays, carries: Arrays) -> Arrays:
    n, k = len(s.lags), len(s.places)
    before, added, columns = _lag_values(s, carries), found[:k], found[k:]
    new: Arrays = []
    for i in range(n):
        if s.name == "Affine":
            terms = [columns[j * n + i] * before[j] for j in range(n)]
            new.append(sum(terms[1:], terms[0]))
        else:
            flat = np.concatenate([np.ravel(x) for x in before])
            new.append(np.tensordot(flat, columns[i], 1))
    return _by_carry(s, new, added)


def _by_carry(s: Summary, lags: Arrays, added: Arrays) -> Arrays:
    """The carries of a group from the values of their lags, plus the constant terms `added`."""
    out: Arrays = []
    for i, (depth, rest) in enumerate(zip(s.depths, added, strict=True)):
        own = {back: x for (j, back), x in zip(s.lags, lags, strict=True) if j == i}
        whole = np.stack([own[k] for k in range(depth, 0, -1)]) if depth else own[1]
        out.append(np.asarray(whole + rest, rest.dtype))
    return out


def _chosen(s: Summary, found: Arrays, carries: Arrays) -> Arrays:
    k = len(s.places)
    number = np.zeros((), np.int64)
    for x in _lag_values(s, carries):
        number = number * 2 + x
    out = []
    for i, depth in enumerate(s.depths):
        results = found[i::k]
        index = np.broadcast_to(number, results[0].shape[1:] if depth else results[0].shape)
        new = results[0]
        for j, x in enumerate(results[1:], 1):
            new = np.where(index == j, x, new)
        out.append(new)
    return out
