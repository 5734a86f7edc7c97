"""`scanopt.distribute(f, over={"x": 0})`: computes f part by part on threads, processes or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.shown import quoted
from scanopt.compilation.callable import Runnable
from scanopt.loops.site import show
from scanopt.scale import workers
from scanopt.scale.arrays import Part, Sink, divided, part_of, sink_of, usual_size, whole_of, written_apart
from scanopt.scale.dask_arrays import lazily
from scanopt.scale.kinds import LAST, Kind, LaneKind, Partial
from scanopt.scale.pattern import lanes_of
from scanopt.scale.plans import PartPlan, plan
from scanopt.scale.runners import Here, Runner, runner

__all__ = ["Distributed", "distribute"]

Progress = Callable[[int, int], object]


class Distributed:
    """A function that is computed part by part: it is called in the same way, with arrays of any size.

    plan: how it is divided; prints as text.
    """

    def __init__(self, plan: PartPlan, chunks: int | None, on: Any, workers: int | None) -> None:
        self.plan, self._chunks, self._on, self._workers = plan, chunks, on, workers
        self.name = plan.f.name
        self.__name__ = plan.f.name or "distributed"

    def __call__(self, *args: Any, out: Any = None, progress: Progress | None = None, **kwargs: Any) -> Any:
        """The outputs.

        out: arrays to write outputs into that have an entry for each lane, such as a mapped file or an array of Zarr;
        one, a list or a dict, as the function returns its outputs, with None for outputs to return as usual.  For
        outputs written there, these arrays are returned.  progress: is called after each part with the number of parts
        done and their total.  Raises what the function raises; ValueError for inputs whose lengths differ along the
        divided axes.
        """
        f = self.plan.f
        values = f._signature.in_order(args, kwargs)
        if any(_is_dask(x) for x in values):
            return f._signature.pack(lazily(self.plan, values, self._chunks))
        given = [x if hasattr(x, "shape") and hasattr(x, "dtype") else np.asarray(x) for x in values]
        n = self._length(given)
        if n == 0:
            return f(*[np.asarray(x[...]) for x in given])
        size = self._chunks or usual_size([(given[i], a) for i, a in self.plan.lanes.items()], n)
        made = _Run(self.plan, given, divided(n, size), _places(self.plan, out, n), progress)
        who = runner(self._on, self._workers)
        done = False
        try:
            results = made.results(who)
            done = True
        finally:
            who.close(wait=done)
        return f._signature.pack(results)

    def _length(self, values: Sequence[Any]) -> int:
        found = {i: values[i].shape[a] for i, a in self.plan.lanes.items() if values[i].ndim > a}
        if len(set(found.values())) != 1:
            inputs = self.plan.f.inputs
            text = ", ".join(f"{inputs[i]!r} has {n} along axis {self.plan.lanes[i]}" for i, n in found.items())
            raise ValueError(f"the inputs that are divided have different lengths: {text}")
        return int(next(iter(found.values())))

    def __repr__(self) -> str:
        return f"<distributed {self.plan.f!r}: {self.plan}>"


def _is_dask(x: Any) -> bool:
    return hasattr(x, "__dask_graph__") and hasattr(x, "chunks")


def _places(plan: PartPlan, out: Any, n: int) -> list[Sink | None]:
    """The sink of each output, None for an output that is returned.  Raises ValueError if `out` does not fit."""
    s = plan.f._signature
    if out is None:
        return [None] * len(plan.kinds)
    if s.form == "dict" and isinstance(out, Mapping):
        unknown = [k for k in out if k not in s.keys]
        if unknown:
            raise ValueError(f"out names {show(unknown[0])}, which is not an output: they are {', '.join(s.keys)}")
        listed = [out.get(k) for k in s.keys]
    else:
        listed = [out] if s.form == "single" else list(out)
    if len(listed) != len(plan.kinds):
        raise ValueError(f"out has {len(listed)} arrays for {len(plan.kinds)} outputs")
    found: list[Sink | None] = []
    for x, name, kind, v in zip(listed, plan.names, plan.kinds, s.outputs, strict=True):
        if x is not None and not isinstance(kind, LaneKind):
            raise ValueError(f"out for {name} has no place: that output is {kind}, and is given back")
        found.append(None if x is None else sink_of(x, kind.axis, name, v.dtype, v.ndim, n))  # type: ignore[attr-defined]
    return found


class _Run:
    """One call: its arguments, parts and sinks."""

    def __init__(
        self, plan: PartPlan, values: Sequence[Any], parts: Sequence[Part], sinks: Sequence[Sink | None], progress: Any
    ) -> None:
        self.plan, self.values, self.parts, self.sinks, self.progress = plan, values, parts, sinks, progress

    def results(self, who: Runner) -> list[Any]:
        """The outputs."""
        apart = [
            s is None or (written_apart(s, self.parts) and (s_in_file(s) or not who.elsewhere)) for s in self.sinks
        ]
        there = [s if a else None for s, a in zip(self.sinks, apart, strict=True)]
        whole = Whole(self.plan.kinds, self.sinks, apart, self.parts)
        for part, found in zip(self.parts, self._found(who, there), strict=True):
            whole.take(part, found)
            if self.progress is not None:
                self.progress(part.i + 1, part.count)
        return whole.results()

    def _found(self, who: Runner, sinks: Sequence[Sink | None]) -> Iterator[list[Any]]:
        """The outputs of each part, in order, without those that workers write."""
        if self.plan.cut is None:
            program = self.plan.whole()
            return who.map(workers.run, ((program, self._part(p, who), sinks, p) for p in self.parts))
        if not self.plan.rounds:
            return self._chain(who, sinks)
        return self._three_phases(who, sinks)

    def _part(self, part: Part, who: Runner) -> list[Any]:
        """The arguments for a part."""
        lanes = self.plan.lanes
        return [
            part_of(x, lanes[i], part, who.elsewhere) if i in lanes else whole_of(x) for i, x in enumerate(self.values)
        ]

    def _start(self, who: Runner) -> list[Any]:
        (found,) = who.map(workers.start, [(self.plan.start(), self._part(self.parts[0], who))])
        return list(found)

    def _chain(self, who: Runner, sinks: Sequence[Sink | None]) -> Iterator[list[Any]]:
        program, carries = self.plan.part(), self._start(who)
        for p in self.parts:
            ((found, carries),) = who.map(workers.parts, [(program, self._part(p, who), carries, sinks, p)])
            yield found

    def _three_phases(self, who: Runner, sinks: Sequence[Sink | None]) -> Iterator[list[Any]]:
        first = self._start(who)
        before = [list(first) for _ in self.parts]  # the carries of each part, as far as known from the rounds so far
        again = self.plan.again()
        for s in self.plan.summaries():
            asked = ((s, self._part(p, who), before[p.i]) for p in self.parts[:-1])
            for p, found in zip(self.parts[:-1], who.map(workers.summary, asked), strict=True):
                after = workers.advance(s, found, before[p.i], again, self._part(p, Here()), p.length)
                before[p.i + 1] = workers.adopted(s, before[p.i + 1], after)
        program = self.plan.part()
        for found, _ in who.map(
            workers.parts, ((program, self._part(p, who), before[p.i], sinks, p) for p in self.parts)
        ):
            yield found


def s_in_file(sink: Sink) -> bool:
    """Whether another process can write to the sink."""
    return not isinstance(sink.array, np.ndarray)


class Whole:
    """Combines the outputs of parts, in the order of the parts."""

    def __init__(
        self, kinds: Sequence[Kind], sinks: Sequence[Sink | None], apart: Sequence[bool], parts: Sequence[Part]
    ) -> None:
        self._kinds, self._sinks, self._apart, self._n = kinds, sinks, apart, parts[-1].stop
        self._found: list[Any] = [None] * len(kinds)

    def take(self, part: Part, found: Sequence[Any]) -> None:
        """Add the outputs of the next part."""
        for i, (kind, sink, x) in enumerate(zip(self._kinds, self._sinks, found, strict=True)):
            if sink is not None:
                if not self._apart[i]:
                    sink.write(part, x)
            elif isinstance(kind, LaneKind):
                self._lanes(i, kind.axis, part, np.asarray(x))
            elif part.i == 0 or kind == LAST:
                self._found[i] = x
            elif isinstance(kind, Partial):
                self._found[i] = workers.combined(kind.ufunc, [self._found[i], x])

    def _lanes(self, i: int, axis: int, part: Part, x: Any) -> None:
        if part.i == 0:
            self._found[i] = np.empty((*x.shape[:axis], self._n, *x.shape[axis + 1 :]), x.dtype)
        Sink(self._found[i], axis).write(part, x)

    def results(self) -> list[Any]:
        """All outputs; for one with a sink, the array that it was written to."""
        return [
            x if s is None else s.array.open() if not hasattr(s.array, "__setitem__") else s.array
            for x, s in zip(self._found, self._sinks, strict=True)
        ]


def distribute(
    f: Runnable,
    over: Mapping[str | int, int],
    *,
    chunks: int | None = None,
    schedule: str = "auto",
    on: Any = "threads",
    workers: int | None = None,
) -> Distributed:
    """Compute f part by part along axes of its inputs.

    f: a compiled or loaded function that updates no shared variables.  over: the axis to divide, by name (or number)
        of each input that has one; other inputs are given to all parts.  Whether parts can be computed
        separately is derived from the graph (`axis_pattern`): each output must have an entry for each lane, be a sum or
        an extremum over lanes, or be that of the last lane; or lanes are steps of a loop, and its step composes.
    chunks: lanes in a part; by default at least 8 parts of at most 16 MB.
    schedule: "auto", or "chain": loops over the lanes run one part after the other, bit for bit as f does, and may
        have any step.
    on: "threads", "processes", "here" (this thread), "dask" or a client of Dask.  workers: their number.
    Inputs may be mapped from files, or arrays of Zarr.  With Dask arrays the result is a lazy Dask array.
    Raises DependenceError (a ValueError), which names the dependence, if parts are not independent; TypeError and
    ValueError for arguments that do not fit.

    >>> import numpy as np
    >>> from scanopt import function, scan, tensor as T
    >>> x = T.dvector("x")
    >>> f = function([x], scan(lambda x, s: 0.5 * s + x, x, np.float64(0.0))[0])
    >>> distribute(f, {"x": 0}, chunks=2)(np.ones(5))
    array([1.    , 1.5   , 1.75  , 1.875 , 1.9375])
    """
    what = "distribute"
    if not isinstance(f, Runnable):
        raise TypeError(f"{what} is given a compiled function, found {show(f)}")
    if schedule not in ("auto", "chain"):
        raise ValueError(f'schedule must be "auto" or "chain", found {show(schedule)}')
    if chunks is not None and (type(chunks) is not int or chunks < 1):
        raise ValueError(f"chunks must be a positive number of lanes, found {show(chunks)}")
    if f._signature.changes:
        names = ", ".join(quoted(v.name or "a shared variable") for v in f.updates) or "an input"
        raise ValueError(
            f"{what}: {f!r} updates {names}, which parts computed apart cannot do: make the new value an output"
        )
    runner("here", workers)
    return Distributed(plan(f, lanes_of(f, over, what), schedule, what), chunks, on, workers)
