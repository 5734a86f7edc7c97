"""The types of states, valid at every step, found by building the step until they are stable.

A length of a state is known only if both the initial state and the step's result have it, so the step is built again
with a more general type until nothing changes.  A bare Python number as initial state takes the dtype that the same
loop in plain Python would arrive at.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from scanopt.array.shown import shown
from scanopt.array.types import TensorType
from scanopt.array.variable import Constant, Variable
from scanopt.array.weak import Weak
from scanopt.loops.canonical import Initial, slice_name
from scanopt.loops.graph import sources
from scanopt.loops.site import Site
from scanopt.loops.step import Result, as_result
from scanopt.records import dataclass

__all__ = ["Asking", "Built", "Calls", "build_states"]

T = TypeVar("T")

Built = tuple[list[tuple[Variable, ...]], list[Variable]]
"""The inner variables of each state, and the results of the step."""

Asking = Generator[Sequence[Any], Any, T]
"""A generator that yields arguments for the user's step and is sent its results, as often as needed."""


@dataclass(frozen=True)
class Calls:
    """How a step is called.  arguments: makes all of them from each state's taps.  results: reads what it returns."""

    arguments: Callable[[Sequence[Sequence[Any]]], Sequence[Any]]
    results: Callable[[Any], tuple[Result, ...]]


def fits(number: Any, dtype: str) -> bool:
    """Whether an array of `dtype` can hold a bare Python number.

    >>> fits(0, "float32"), fits(0.5, "int64"), fits(-1, "uint8"), fits(True, "int8")
    (True, False, False, True)
    """
    try:
        if np.result_type(number, np.dtype(dtype)) != np.dtype(dtype):
            return False
        with np.errstate(over="ignore"):
            stored = np.asarray(number, dtype=dtype)
    except OverflowError:
        return False
    return bool(np.isfinite(stored) or not np.isfinite(number))


def _inputs(initial: Initial, type: TensorType) -> tuple[Variable, ...]:
    return tuple(Variable(type, slice_name(initial.name, tap)) for tap in initial.taps)


def _plain_guess(initials: Sequence[Initial], calls: Calls) -> Asking[list[TensorType]]:
    """Guess first types: that of the initial state, or for a bare number the type after a step in plain Python."""
    open_dtype = [i for i in initials if i.fed_back and i.row is None]
    try:
        results = calls.results((yield calls.arguments([_guess_args(i) for i in initials]))) if open_dtype else ()
    except Exception:  # the step may need an array there: a real error is raised again by the later call
        results = ()
    types: list[TensorType] = []
    for k, initial in enumerate(initials):
        row = initial.row or _number_type(initial)
        if initial in open_dtype and k < len(results):
            dtype = as_result(results[k]).dtype
            row = TensorType(dtype, ()) if fits(initial.value, dtype) else row
        types.append(row)
    return types


def _number_type(initial: Initial) -> TensorType:
    """The type of a bare number; for an output that is not fed back any type, as nothing reads it."""
    return TensorType(np.asarray(initial.value if initial.fed_back else 0.0).dtype.name, ())


def _guess_args(initial: Initial) -> Sequence[Any]:
    return _inputs(initial, initial.row) if initial.row else [initial.value] * len(initial.taps)


def _suggestion(initial: Initial, start: str, result: str) -> str:
    place = "init" if initial.written else "outputs_info"
    name = initial.written or shown(initial.name or "initial_state")
    lossy = " (which loses part of the value)"
    forward, back = np.can_cast(start, result, "safe"), np.can_cast(result, start, "safe")
    first = f"write {name}.astype('{result}') in {place}{'' if forward else lossy}"
    second = f"cast the step's result with .astype('{start}'){'' if back else lossy}"
    return f"{second}, or {first}" if back and not forward else f"{first}, or {second}"


class _Relax:
    """Finds a state's next type from its present type and the step's result."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def next(self, initial: Initial, now: TensorType, update: Variable) -> TensorType:
        """The next type of a state whose type is `now`.  Raises ValueError if there is none."""
        result = update.type
        if initial.row is None:
            now = self._number(initial, now, result)
        else:
            self._dtype(initial, now, update)
        if now.ndim != result.ndim:
            raise self._mismatch(
                initial,
                result,
                "a state must keep its number of axes: give the initial state the shape of the "
                "step's result, or index or sum the result down to the state's shape",
            )
        for axis, (a, b) in enumerate(zip(now.shape, result.shape, strict=True)):
            if a is not None and b is not None and a != b:
                raise self._mismatch(
                    initial,
                    result,
                    f"a state must keep its shape, but axis {axis} has length {a} and then {b}: "
                    f"start from an array that is broadcast to {result} already",
                )
        shape = zip(now.shape, result.shape, strict=True)
        return TensorType(now.dtype, tuple(a if a == b else None for a, b in shape))

    def _mismatch(self, initial: Initial, result: TensorType, advice: str) -> Exception:
        return self.site.error(
            ValueError, f"{initial.label} starts as {initial.row} but the step gives {result}: {advice}"
        )

    def _dtype(self, initial: Initial, now: TensorType, update: Variable) -> None:
        if now.dtype != update.dtype:
            advice = _suggestion(initial, now.dtype, update.dtype)
            cause = sources(update, update.dtype)
            through = f" ({update.dtype} comes in through {' and '.join(cause[:3])})" if cause else ""
            raise self._mismatch(initial, update.type, advice + through)

    def _number(self, initial: Initial, now: TensorType, result: TensorType) -> TensorType:
        wider = np.promote_types(now.dtype, result.dtype) == np.dtype(result.dtype)
        if fits(initial.value, result.dtype) and wider and not result.ndim:
            return TensorType(result.dtype, ())
        text = f"{initial.label} starts as the Python number {initial.value!r}"
        if result.ndim:
            zeros = f"np.full({_shape(result)}, {initial.value!r}, '{result.dtype}')"
            raise self.site.error(
                ValueError,
                f"{text}, but the step gives {result}: start from an array of the result's shape, for example {zeros}",
            )
        dtype = np.promote_types(now.dtype, result.dtype).name
        raise self.site.error(
            ValueError,
            f"{text}, which does not fit into {result.dtype}, but the step gives {result}: cast the step's "
            f"result with .astype('{dtype}'), or start from np.{result.dtype}(...)",
        )


def _shape(type: TensorType) -> str:
    if None in type.shape:
        return "shape"
    return str(type.shape[0]) if type.ndim == 1 else str(type.shape)


def _as_state(initial: Initial, result: Result, type: TensorType) -> Variable:
    """A result as an array; a bare number takes the state's dtype if it fits."""
    if not isinstance(result, Variable) and initial.fed_back and fits(result, type.dtype):
        return Constant(np.asarray(result, dtype=type.dtype))
    return as_result(result)


def _check_count(site: Site, initials: Sequence[Initial], results: Sequence[Result]) -> None:
    if len(initials) != len(results):
        raise site.error(
            ValueError,
            f"outputs_info describes {len(initials)} output{'s' * (len(initials) != 1)} but the step returned "
            f"{len(results)}: give one entry per output, None for one that is not fed back",
        )


def _at_once(site: Site, initials: Sequence[Initial], calls: Calls, relax: _Relax, more: bool) -> Asking[Built | None]:
    """Build the step once although initial states are bare numbers; None if that does not determine their types.

    The step gets scalars whose dtype is open.  It succeeds if each takes the same dtype wherever the step reads it, and
    its update has that dtype.
    """
    weak = {
        i: [Weak(type(initial.value), slice_name(initial.name, tap)) for tap in initial.taps]
        for i, initial in enumerate(initials)
        if initial.fed_back and type(initial.value) in (int, float, complex)
    }
    if not weak:
        return None
    inputs: list[Sequence[Variable]] = [
        weak[i] if i in weak else _inputs(x, x.row or _number_type(x)) for i, x in enumerate(initials)
    ]
    try:
        raw = calls.results((yield calls.arguments(inputs)))
    except Exception:  # a real error is raised again by the step with variables of known types
        return None
    _check_count(site, initials, raw[: len(initials)] if more else raw)
    results = _closed(raw, weak)
    for i, initial in enumerate(initials):
        if i in weak:
            dtype = results[i].dtype
            if any(x.taken or {*x.by_dtype} - {dtype} for x in weak[i]) or not fits(initial.value, dtype):
                return None
            inputs[i] = [x.as_dtype(dtype) for x in weak[i]]
        elif initial.fed_back and not isinstance(raw[i], Weak):
            results[i] = _as_state(initial, raw[i], inputs[i][0].type)
    return ([tuple(state) for state in inputs], results) if _stable(relax, initials, inputs, results) else None


def _closed(raw: Sequence[Result], weak: Mapping[int, Sequence[Weak]]) -> list[Variable]:
    """The results as arrays; one whose dtype is open gets that of the states from which it is computed."""
    results = [r if isinstance(r, Weak) else as_result(r) for r in raw]
    known = {x: results[i].dtype for i, found in weak.items() for x in found if not isinstance(results[i], Weak)}
    for i, r in enumerate(results):
        if isinstance(r, Weak):
            results[i] = r.as_those(known)
            known |= dict.fromkeys(weak.get(i, ()), results[i].dtype)
    return results


def _stable(
    relax: _Relax, initials: Sequence[Initial], inputs: Sequence[Sequence[Variable]], results: Sequence[Variable]
) -> bool:
    """Whether the types of all states are stable."""
    try:
        return all(
            not initial.fed_back or relax.next(initial, state[0].type, result) == state[0].type
            for initial, state, result in zip(initials, inputs, results, strict=False)
        )
    except (TypeError, ValueError):
        return False


def build_states(site: Site, initials: Sequence[Initial], calls: Calls, more: bool = False) -> Asking[Built]:
    """Build the step, by asking for its results, until the types of its states are stable.

    initials: one per output, or, with `more`, one for each of the first outputs; further ones are not fed back.
    Raises ValueError where a state would change its dtype, its number of axes or a known length.
    """
    relax = _Relax(site)
    built = yield from _at_once(site, initials, calls, relax, more)
    if built is not None:
        return built
    types = yield from _plain_guess(initials, calls)
    while True:
        inputs = [_inputs(i, type) for i, type in zip(initials, types, strict=True)]
        raw = calls.results((yield calls.arguments(inputs)))
        _check_count(site, initials, raw[: len(initials)] if more else raw)
        triples: list[tuple[Initial, Result, TensorType]] = list(zip(initials, raw, types, strict=False))
        results = [_as_state(*triple) for triple in triples]
        new = [relax.next(i, type, r) if i.fed_back else type for (i, _, type), r in zip(triples, results, strict=True)]
        if new == types:
            return inputs, [*results, *map(as_result, raw[len(initials) :])]
        types = new
