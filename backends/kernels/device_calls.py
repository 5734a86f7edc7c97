"""Calls the kernel of a device plan: finds its arguments by the layout of the arrays, launches it, returns its results.

For arrays with the same shapes and strides, and the same number of steps, all numeric arguments of a launch are the
same: they are computed once and remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Any

import numpy as np

from scanopt.backends.kernels.device_plans import DevicePlan, Launcher
from scanopt.backends.kernels.nodes import NoForm
from scanopt.backends.kernels.recipe import ALIGNED, Number
from scanopt.records import dataclass

__all__ = ["DeviceCalls"]

Array = Any
Shape = tuple[int, ...]
MOST_ROOM = 1 << 30
"""The most bytes that are allocated for the rows of a loop that may end early; beyond that array steps run."""
REMEMBERED = 64
"""The most launches of a plan that are remembered."""


@dataclass(frozen=True)
class Launch:
    """A launch for arrays with certain strides.

    outs: shape and dtype of each kept array, as the kernel writes it.  given: for each array that the kernel reads or
    writes, the index of the argument, or, if it is a kept array, its negative index from the end of `outs`; and the
    order of axes in which it must be packed, None where it is taken as it lies.  room: bytes of scratch memory.
    numbers: the other arguments.
    """

    outs: tuple[tuple[Shape, str], ...]
    given: tuple[tuple[int, tuple[int, ...] | None], ...]
    room: int
    numbers: tuple[np.int64, ...]


@dataclass
class DeviceCalls:
    """All launches of a plan."""

    plan: DevicePlan
    launches: dict[Any, Launch] = field(default_factory=dict[Any, Launch])
    nowhere: tuple[Array, Array] | None = None

    def __post_init__(self) -> None:
        plan = self.plan
        self._until = plan.body.loop.until is not None
        self._by_number = plan.variant.lanes.numbers
        self._given = [g for g in plan.variant.recipe.given if g.kind != "scratch"]
        self._read = [plan.places[g.name] for g in self._given if g.kind != "out"]
        self._rows = [k.rows for k in plan.body.loop.keeps]
        self._counted = plan.variant.checked or plan.variant.grid

    def run(self, launcher: Launcher, n: int, arrays: Sequence[Array]) -> list[Array] | None:
        """Run at most n steps; return the arrays that the loop keeps, or None where array steps have to run."""
        xp, plan = launcher.xp, self.plan
        rows = tuple([self._kept(r, n, arrays) for r in self._rows])
        key = n, rows, tuple([arrays[i].strides for i in self._read])
        launch = self.launches.get(key) or self._remembered(key, n, rows, arrays)
        if self._until and sum(prod(s) * np.dtype(d).itemsize for s, d in launch.outs) > MOST_ROOM:
            return None
        outs = [xp.empty(shape, dtype) for shape, dtype in launch.outs]
        given = [outs[i] if i < 0 else _as_taken(xp, arrays[i], order) for i, order in launch.given]
        status, scratch = self._told(xp)
        if launch.room:
            scratch = xp.empty(launch.room + ALIGNED, "uint8")
        args = (*given, scratch, status, *launch.numbers)
        launcher.launch(plan.variant.function, plan.blocks, plan.threads, args, plan.holding.taken)
        taken = n
        if plan.variant.checked:
            code, taken = (int(x) for x in status[:2].tolist())
            if code < 0:
                return None
        if self._by_number and not self._until:
            return outs
        return [self._back(xp, i, x, taken) for i, x in enumerate(outs)]

    def _told(self, xp: Any) -> tuple[Array, Array]:
        """Memory for the status of a kernel, as integers and as bytes; shared by all calls where nothing reads it."""
        if self.nowhere is not None:
            return self.nowhere
        status = xp.zeros(3, "int64")
        found = status, status.view("uint8")
        if not self._counted:
            self.nowhere = found
        return found

    def _kept(self, rows: int | str | None, n: int, arrays: Sequence[Array]) -> int:
        """The number of rows that are kept of n steps."""
        return n if rows is None else min(n, int(arrays[self.plan.places[rows]]) if isinstance(rows, str) else rows)

    # The arguments of a launch

    def _remembered(self, key: Any, n: int, rows: Sequence[int], arrays: Sequence[Array]) -> Launch:
        if len(self.launches) >= REMEMBERED:
            self.launches.clear()
        found = self.launches[key] = self._launch(n, rows, arrays)
        return found

    def _launch(self, n: int, rows: Sequence[int], arrays: Sequence[Array]) -> Launch:
        plan = self.plan
        outs = [self._out(i, r) for i, r in enumerate(rows)]
        given: list[tuple[int, tuple[int, ...] | None]] = []
        steps: list[int] = []
        apart: dict[str, int] = {}
        for g in self._given:
            if g.kind == "out":
                given.append((g.keep - len(outs), None))
                by_lane, row = self._steps_of_rows(g.keep, rows[g.keep])
            else:
                at = plan.places[g.name]
                order, by_lane, row = self._taken(g.name, arrays[at])
                if plan.variant.grid and g.kind == "source" and (step := _step_of_rows(arrays[at])) is not None:
                    order, apart[g.name] = None, step
                given.append((at, order))
            steps += [*by_lane, *([row] if self._by_number else [])]
        room = (0 if plan.holding.own >= 0 else plan.size * plan.total) + plan.variant.cells
        numbers = [self._number(x, n, rows, apart) for x in plan.variant.recipe.numbers]
        all_numbers = tuple(np.int64(x) for x in (*numbers, *plan.counts, *steps, *self._where()))
        return Launch(tuple(outs), tuple(given), room, all_numbers)

    def _where(self) -> list[int]:
        """The numbers that say where things lie in shared memory, and how large scratch memory is."""
        plan, holding = self.plan, self.plan.holding
        if self._by_number:
            return []
        if plan.variant.grid:
            tiles = zip(holding.places, plan.tiles, strict=True)
            return [*(x for place, t in tiles for x in (place, t.high, t.wide, t.next)), holding.stage, plan.size]
        return [*holding.places, holding.stage, holding.own, plan.size, plan.per]

    def _number(self, x: Number, n: int, rows: Sequence[int], apart: Mapping[str, int]) -> int:
        """A numeric argument of the kernel.  apart: strides of rows, in elements, of unpacked sequences."""
        name, axis = x.axis
        match x.kind:
            case "steps":
                return n
            case "size":
                return self.plan.shapes[name][axis]
            case "start":
                return slice(*x.slice).indices(self.plan.shapes[name][axis])[0]
            case "offset":
                return self.plan.offsets[x.keep]
            case "rows":
                return rows[x.keep]
            case "stride":
                return 1 if self._by_number else apart.get(name, prod(self.plan.left(name)[1:]))
            case _:
                raise NoForm(f"a number that is {x.kind}")

    # Where arrays lie

    def _order(self, name: str, lead: int) -> list[int]:
        """The axes of an array, lanes first.  lead: 1 for rows that the shape of the name does not have."""
        of = [i + lead for i in self._lanes(name) if i is not None]
        return [*of, *(i for i in range(len(self.plan.shapes[name]) + lead) if i not in of)]

    def _lanes(self, name: str) -> tuple[int | None, ...]:
        return self.plan.variant.lanes.of[name]

    def _steps(self, name: str, shape: Shape, lead: int) -> list[int]:
        """The stride from one lane to the next, in elements, for each lane axis, in an array of this shape."""
        order = list(range(len(shape))) if self._by_number else self._order(name, lead)
        strides = {axis: prod(shape[i] for i in order[at + 1 :]) for at, axis in enumerate(order)}
        return [0 if i is None else strides[i + lead] for i in self._lanes(name)]

    def _steps_of_rows(self, keep: int, rows: int) -> tuple[list[int], int]:
        """The strides of a kept array by lane axis, and from row to row, in elements."""
        name = self.plan.body.loop.keeps[keep].value
        shape = self.plan.shapes[name]
        return self._steps(name, (rows, *shape), 1), prod(shape)

    def _taken(self, name: str, x: Array) -> tuple[tuple[int, ...] | None, list[int], int]:
        """How the kernel takes an array: the order of axes in which to pack it, its strides by lane, and by row."""
        shape = self.plan.shapes[name]
        if self._by_number and _has_near_elements(x):
            step, *_ = steps = [n // x.itemsize for n in x.strides]
            return None, [0 if i is None else steps[i] for i in self._lanes(name)], step
        axes = tuple(range(x.ndim))
        order = axes if self._by_number or not self.plan.variant.lanes.axes else tuple(self._order(name, 0))
        as_it_lies = order == axes and x.flags.c_contiguous
        return None if as_it_lies else order, self._steps(name, shape, 0), prod(shape[1:])

    # Results

    def _out(self, i: int, rows: int) -> tuple[Shape, str]:
        """The shape in which a kept array is written, and its dtype."""
        k = self.plan.body.loop.keeps[i]
        shape = (rows, *self.plan.shapes[k.value])
        return shape if self._by_number else tuple(shape[j] for j in self._order(k.value, 1)), k.type.dtype

    def _back(self, xp: Any, i: int, out: Array, taken: int) -> Array:
        """A kept array with its axes in order, cut where the loop ended early."""
        k = self.plan.body.loop.keeps[i]
        if not self._by_number:
            order = self._order(k.value, 1)
            out = xp.ascontiguousarray(out.transpose([order.index(j) for j in range(len(order))]))
        if not self._until or k.rows == 1 or taken == len(out):
            return out
        if taken < len(out):
            return out[:taken].copy()
        return xp.roll(out, -(taken % len(out)), axis=0) if len(out) else out


def _as_taken(xp: Any, x: Array, order: Sequence[int] | None) -> Array:
    """An array on the device, packed with its axes in this order, if one is given."""
    x = x if isinstance(x, xp.ndarray) else xp.asarray(x)
    return x if order is None else xp.ascontiguousarray(x.transpose(order))


def _step_of_rows(x: Array) -> int | None:
    """The stride of rows, in elements, if they are packed and follow each other, or are all the same row.

    None for rows that lie further apart; they are copied, since prefetching ahead of a row could read past the array.
    """
    row = prod(x.shape[1:])
    packed = all(s == x.itemsize * prod(x.shape[i + 1 :]) for i, s in enumerate(x.strides) if i and x.shape[i] > 1)
    steps = {k * row * x.itemsize: k * row for k in (0, 1, -1)}
    return steps.get(x.strides[0]) if packed else None


def _has_near_elements(x: Array) -> bool:
    """Whether neighbouring lanes read neighbouring elements: such an array needs no copy, however its rows lie."""
    return x.ndim > 0 and x.strides[-1] == x.itemsize and all(n % x.itemsize == 0 for n in x.strides)
