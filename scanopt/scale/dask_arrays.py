"""Divided functions of Dask arrays: the same plans, written as lazy graphs of Dask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import dim
from scanopt.array.constants import as_variable
from scanopt.compilation.callable import Runnable
from scanopt.compilation.function import function
from scanopt.interpreter import read_value
from scanopt.libraries import library
from scanopt.scale import workers
from scanopt.scale.arrays import Part, part_of
from scanopt.scale.kinds import LAST, Kind, LaneKind, Partial
from scanopt.scale.pattern import graph_of, lanes_of
from scanopt.scale.plans import PartPlan, plan

__all__ = ["lazily", "map_blocks"]


def map_blocks(f: Runnable, args: Sequence[Any], axis: Any, schedule: str) -> Any:
    """The implementation of `f.map_blocks`: see there."""
    array = library("dask.array", "scale", "map_blocks")
    values = f._signature.in_order(args, {})
    blocks = [i for i, x in enumerate(values) if isinstance(x, array.Array)]
    if not blocks:
        raise TypeError(f"map_blocks of {f!r} is given no Dask array: call the function, or scanopt.distribute")
    over = axis if isinstance(axis, dict) else {i: axis for i in blocks if values[i].ndim}
    made = plan(f, lanes_of(f, over, "map_blocks"), schedule, "map_blocks")
    return f._signature.pack(lazily(made, values, None))


def lazily(plan: PartPlan, values: Sequence[Any], chunks: int | None) -> list[Any]:
    """The outputs as Dask arrays, with the blocks of the first divided input, or with `chunks` lanes each."""
    array, delayed = library("dask.array", "scale", "distribute"), library("dask", "scale", "distribute").delayed
    first = next((i for i in plan.lanes if isinstance(values[i], array.Array)), next(iter(plan.lanes)))
    n = np.shape(values[first])[plan.lanes[first]]
    sizes = _sizes(values[first], plan.lanes[first], n, chunks)
    ends = np.cumsum(sizes).tolist()
    parts = [Part(i, len(sizes), end - size, end) for i, (size, end) in enumerate(zip(sizes, ends, strict=True))]
    columns = [_blocks(array, x, plan.lanes.get(i), sizes, parts) for i, x in enumerate(values)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    found = _results(delayed, plan, rows, parts)
    shapes = _shapes(plan, values)
    return [
        _joined(array, delayed, kind, [x[i] for x in found], shape, v.dtype, sizes)
        for i, (kind, shape, v) in enumerate(zip(plan.kinds, shapes, plan.f.outputs, strict=True))
    ]


def _sizes(x: Any, axis: int, n: int, chunks: int | None) -> list[int]:
    if chunks is None and hasattr(x, "chunks"):
        return [int(size) for size in x.chunks[axis] if size]
    size = chunks or -(-n // 8)
    return [min(size, n - i) for i in range(0, n, size)]


def _blocks(array: Any, x: Any, axis: int | None, sizes: Sequence[int], parts: Sequence[Part]) -> list[Any]:
    """The argument x for each part."""
    if isinstance(x, array.Array):
        whole = dict.fromkeys(range(x.ndim), -1)
        if axis is None:
            return [x.rechunk(whole).to_delayed().ravel()[0]] * len(parts)
        return list(x.rechunk({**whole, axis: tuple(sizes)}).to_delayed().ravel())
    if axis is None:
        return [x] * len(parts)
    return [part_of(np.asarray(x), axis, p, True) for p in parts]


def _results(delayed: Any, plan: PartPlan, rows: Sequence[list[Any]], parts: Sequence[Part]) -> list[Any]:
    """The delayed outputs of each part."""
    sinks = [None] * len(plan.kinds)
    if plan.cut is None:
        program, compute = plan.whole(), delayed(workers.run, pure=True)
        return [compute(program, row, sinks, p) for row, p in zip(rows, parts, strict=True)]
    program, compute = plan.part(), delayed(workers.parts, pure=True)
    carries = delayed(workers.start, pure=True)(plan.start(), rows[0])
    if not plan.rounds:
        found = []
        for row, p in zip(rows, parts, strict=True):
            both = compute(program, row, carries, sinks, p)
            found.append(both[0])
            carries = both[1]
        return found
    before, again = [carries] * len(parts), plan.again()
    summary, advance = delayed(workers.summary, pure=True), delayed(workers.advance, pure=True)
    adopt = delayed(workers.adopted, pure=True)
    for s in plan.summaries():
        told = [summary(s, row, c) for row, c in zip(rows[:-1], before[:-1], strict=True)]
        now = before[0]
        after = [now]
        for row, p, x, known in zip(rows[:-1], parts, told, before[1:], strict=False):
            now = adopt(s, known, advance(s, x, now, again, row, p.length))
            after.append(now)
        before = after
    return [compute(program, row, c, sinks, p)[0] for row, c, p in zip(rows, before, parts, strict=True)]


def _shapes(plan: PartPlan, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The shapes of the outputs for one lane, with NaN for lengths that are only known in the run."""
    inputs, outputs = graph_of(plan.f)
    lengths = [as_variable(dim(v, i)) for v in outputs for i in range(v.ndim)]
    try:
        measure = function(inputs, lengths, on_unused_input="ignore")
        found = iter(
            measure(*[_like(v, x, plan.lanes.get(i)) for i, (v, x) in enumerate(zip(inputs, values, strict=True))])
        )
        return [tuple(int(next(found)) for _ in range(v.ndim)) for v in outputs]
    except Exception:  # caused by the stand-ins' values; the run has the true ones
        return [tuple(np.nan if n is None else n for n in v.type.shape) for v in outputs]


def _like(v: Any, x: Any, axis: int | None) -> Any:
    """A stand-in for an argument, with one lane; for a Dask array it has zeros in place of values."""
    if hasattr(x, "chunks"):
        shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
        return np.zeros(shape, v.dtype)
    data = read_value(v, x)
    return data if axis is None else data[tuple(slice(0, 1) if i == axis else slice(None) for i in range(data.ndim))]


def _joined(
    array: Any, delayed: Any, kind: Kind, parts: Sequence[Any], shape: tuple[Any, ...], dtype: str, sizes: Sequence[int]
) -> Any:
    if isinstance(kind, LaneKind):
        a = kind.axis
        return array.concatenate(
            [array.from_delayed(x, (*shape[:a], n, *shape[a + 1 :]), dtype) for x, n in zip(parts, sizes, strict=True)],
            axis=a,
        )
    if isinstance(kind, Partial):
        whole = delayed(workers.combined, pure=True)(kind.ufunc, list(parts))
    else:
        whole = parts[-1] if kind == LAST else parts[0]
    return array.from_delayed(whole, shape, dtype)
