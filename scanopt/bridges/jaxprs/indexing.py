"""gather and scatter of JAX, expressed as indexing with arrays.

Both describe windows of an operand whose size is known and whose start is computed.  Along each axis of the operand
the indices are the sum of the start and the offsets in the window; an axis taken whole is a slice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.jaxprs.reading import JaxprEquation, rule
from scanopt.bridges.peers import written
from scanopt.records import dataclass


@dataclass(frozen=True)
class _Windows:
    """Windows of an operand.

    starts: by axis of the operand the starts of the windows, an array with the shape of the batch (without entry: 0).
    sizes: of a window along each axis.  gone: axes of length 1 that results lack.  paired: axis of the operand -> axis
    of the batch that runs along with it.  batch: the shape of the batch of windows.
    """

    operand: tuple[int, ...]
    starts: dict[int, Variable]
    sizes: tuple[int, ...]
    gone: frozenset[int]
    paired: dict[int, int]
    batch: tuple[int, ...]

    @property
    def window(self) -> list[int]:
        """The axes of the operand that results keep, in order."""
        return [d for d in range(len(self.operand)) if d not in self.gone]

    def inside(self) -> Variable | None:
        """A mask of the windows that lie within the operand; None if all are known to."""
        found: Variable | None = None
        for d, start in self.starts.items():
            last = self.operand[d] - self.sizes[d]
            if isinstance(start, Constant) and (start.data >= 0).all() and (start.data <= last).all():
                continue
            here = T.ge(start, 0) & T.le(start, last)
            found = here if found is None else found & here
        return found

    def clipped(self) -> _Windows:
        """The windows, with those that reach beyond the operand moved inside."""
        starts = {d: self._clip(d, start) for d, start in self.starts.items()}
        return _Windows(self.operand, starts, self.sizes, self.gone, self.paired, self.batch)

    def _clip(self, d: int, start: Variable) -> Variable:
        last = self.operand[d] - self.sizes[d]
        if isinstance(start, Constant):
            return Constant(np.clip(start.data, 0, last))
        return T.minimum(T.maximum(start, 0), last)

    def index(self) -> tuple[tuple[Any, ...], list[int]]:
        """The pair (index, order): operand.transpose(order)[index] has the batch first, then the axes of `window`.

        Axes that windows take whole come last, as slices.
        """
        n = len(self.operand)
        whole = [d for d in range(n) if d not in self.starts and d not in self.paired and d not in self.gone]
        single = [d for d in range(n) if d not in whole]
        ranged = [d for d in single if d not in self.gone]  # axes with a computed start and more than one entry
        lead, tail = len(self.batch), len(ranged)
        key: list[Any] = []
        for d in single:
            place = self._place(d)
            place = T.reshape(place, (*place.type.shape, *(1,) * tail)) if tail and place.ndim else place
            if d in ranged:
                offsets = np.arange(self.sizes[d]).reshape([-1 if r == d else 1 for r in ranged])
                place = place + Constant(offsets)
            key.append(place)
        assert all(k.ndim in (0, lead + tail) or k.ndim <= lead + tail for k in key)
        return (*key, *(slice(None) for _ in whole)), [*single, *whole]

    def _place(self, d: int) -> Variable:
        if d in self.paired:
            axis = self.paired[d]
            line = np.arange(self.batch[axis]).reshape([-1 if k == axis else 1 for k in range(len(self.batch))])
            return Constant(line)
        return self.starts.get(d, Constant(np.zeros((1,) * len(self.batch), np.int64)))

    def result_order(self) -> list[int]:
        """For each axis that `index` gives after the batch its number among the axes of `window`."""
        whole = [d for d in self.window if d not in self.starts and d not in self.paired]
        ranged = [d for d in self.window if d not in whole]
        return [self.window.index(d) for d in (*ranged, *whole)]


def _windows(eq: JaxprEquation, numbers: Any, words: tuple[str, ...], sizes: tuple[int, ...]) -> _Windows:
    """The windows of a gather or scatter.  words: the fields of `numbers` for dropped axes, the map, paired axes."""
    operand, indices = eq.inputs[:2]
    gone, mapped, paired, pairs = (tuple(int(d) for d in getattr(numbers, w)) for w in words)
    shape = tuple(int(n or 0) for n in operand.type.shape)
    batch = tuple(int(n or 0) for n in indices.type.shape[:-1])
    starts: dict[int, Variable] = {}
    for k, d in enumerate(mapped):
        start = T.cast(indices[..., k], "int64")
        if shape[d] == sizes[d]:  # the window is as long as the axis: it begins at 0 or does not fit
            if eq.name != "gather" or "FILL" in str(eq.params["mode"]):
                starts[d] = start
        else:
            starts[d] = start
    starts = {d: Constant(s.eval()) if isinstance(indices, Constant) else s for d, s in starts.items()}
    return _Windows(shape, starts, sizes, frozenset((*gone, *paired)), dict(zip(paired, pairs, strict=True)), batch)


@rule("gather")
def _gather(eq: JaxprEquation) -> Variable:
    p, numbers, x = eq.params, eq.params["dimension_numbers"], eq.inputs[0]
    words = ("collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims")
    w = _windows(eq, numbers, words, tuple(int(n) for n in p["slice_sizes"]))
    key, order = (clipped := w.clipped()).index()
    cut = tuple(slice(0, w.sizes[d]) for d in order[len(order) - sum(isinstance(k, slice) for k in key) :])
    key = (*key[: len(key) - len(cut)], *cut)
    found = _picked(T.transpose(x, order), key)
    lead = len(w.batch)
    back = clipped.result_order()
    places = [int(d) for d in numbers.offset_dims]
    rest = [d for d in range(lead + len(back)) if d not in places]
    source = dict(zip(rest, range(lead), strict=True))
    source |= {places[window]: lead + j for j, window in enumerate(back)}
    found = T.transpose(found, [source[d] for d in range(len(source))])
    return _filled(eq, w, found, rest)


def _picked(x: Variable, key: tuple[Any, ...]) -> Variable:
    """x[key], or x itself if the key is empty."""
    found: Variable = x[key] if key else x
    return found


def _filled(eq: JaxprEquation, w: _Windows, found: Variable, batch_axes: list[int]) -> Variable:
    """Replace entries of windows outside the operand by a fixed value, if the mode asks for it."""
    if "FILL" not in str(eq.params["mode"]):
        return found
    inside = w.inside()
    if inside is None:
        return found
    shape = [1] * found.ndim
    for axis, n in zip(batch_axes, w.batch, strict=True):
        shape[axis] = n
    value = eq.params["fill_value"]
    kind = np.dtype(found.dtype)
    if value is None:
        value = np.nan if kind.kind in "fc" else np.iinfo(kind).min if kind.kind == "i" else (
            np.iinfo(kind).max if kind.kind == "u" else True)  # fmt: skip
    outside: Variable = T.where(T.reshape(inside, shape), found, Constant(np.asarray(value, kind)))
    return outside


# Scatter


@rule("scatter", "scatter-add", "scatter_add", "scatter-mul", "scatter_mul", "scatter-min", "scatter_min",
      "scatter-max", "scatter_max")  # fmt: skip
def _scatter(eq: JaxprEquation) -> Variable:
    x, _, updates = eq.inputs
    numbers, how = eq.params["dimension_numbers"], eq.name.replace("-", "_").removeprefix("scatter").removeprefix("_")
    words = ("inserted_window_dims", "scatter_dims_to_operand_dims", "operand_batching_dims",
             "scatter_indices_batching_dims")  # fmt: skip
    window_axes = [int(d) for d in numbers.update_window_dims]
    left_out = {int(d) for d in (*numbers.inserted_window_dims, *numbers.operand_batching_dims)}
    lengths = iter([updates.type.shape[d] for d in window_axes])
    sizes = tuple(1 if d in left_out else int(next(lengths) or 0) for d in range(x.ndim))
    w = _windows(eq, numbers, words, sizes)
    inside = None if "CLIP" in str(eq.params["mode"]) or "PROMISE" in str(eq.params["mode"]) else w.inside()
    clipped = w.clipped()
    key, order = clipped.index()
    cut = tuple(slice(0, w.sizes[d]) for d in order[len(order) - sum(isinstance(k, slice) for k in key) :])
    key = (*key[: len(key) - len(cut)], *cut)
    batch_axes = [d for d in range(updates.ndim) if d not in window_axes]
    moved = T.transpose(updates, [*batch_axes, *(window_axes[j] for j in clipped.result_order())])
    turned = T.transpose(x, order)
    if inside is not None:
        inside = T.reshape(inside, (*w.batch, *(1,) * (moved.ndim - len(w.batch))))
    done = _put(turned, key, moved, how, inside, bool(w.batch))
    return T.transpose(done, np.argsort(order).tolist())


def _put(x: Variable, key: tuple[Any, ...], y: Variable, how: str, inside: Variable | None, many: bool) -> Variable:
    """x with y written to x[key].  inside: a mask of the windows to write, None for all.  many: several windows."""
    if inside is not None and how in ("add", "mul"):
        y = T.where(inside, y, Constant(np.asarray(how == "mul", y.dtype)))
    elif inside is not None and not many:
        y = T.where(inside, y, x[key])
    elif inside is not None:  # windows left out are written to an extra row at the end
        n = x.type.shape[0]
        aside = T.concatenate([x, T.zeros((1, *x.type.shape[1:]), x.dtype)], 0)
        first = T.where(T.reshape(inside, inside.type.shape[: np.ndim(key[0])]), key[0], n)
        return _put(aside, (first, *key[1:]), y, how, None, many)[:n]
    return written(x[key] if key else x[()], y, how or "set")
