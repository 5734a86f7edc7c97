"""A loop on a device for arguments of certain shapes: one kernel, how it is launched, and its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np

from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.device_costs import fewest_beside_graphs, fewest_steps
from scanopt.backends.kernels.grid_tiles import GRID_THREADS, PARTS, GridFactor, Tile, most_tiles, tiles_of
from scanopt.backends.kernels.ir import Fail, For, If, Steps, Stmt
from scanopt.backends.kernels.lanes import Lanes, lanes_of, no_lanes
from scanopt.backends.kernels.lower import lowered
from scanopt.backends.kernels.nodes import NoForm
from scanopt.backends.kernels.print_grid import grid_text
from scanopt.backends.kernels.print_lanes import THREADS, lanes_text
from scanopt.backends.kernels.print_rows import MOST_ROWS, MOST_THREADS, rows_run_alike, rows_text
from scanopt.backends.kernels.recipe import ALIGNED, Given, Number, Recipe, evaluated, scratch_offsets
from scanopt.backends.kernels.shared_memory import FOLDING, HeldFactor, Holding, Staged, declared
from scanopt.backends.kernels.sizes import Lengths
from scanopt.extraction.device_rates import ESTIMATES, DeviceRates

__all__ = ["DeviceLimits", "DevicePlan", "DeviceVariant", "Launcher"]

Array = Any
Shape = tuple[int, ...]
MOST_NUMBERS = 400
"""A kernel is given 4 kB at most."""
MOST_ROOM = 1 << 30
"""Bytes of rows that a loop that may end early is given room for."""


@dataclass(frozen=True)
class DeviceLimits:
    """The limits of a device: multiprocessors, and bytes of shared memory that a block may use.

    together: whether all blocks of a launch can be made to run at the same time.  threads: of a block, at most.
    rates: what it takes for what kernels do.
    """

    multiprocessors: int
    shared: int
    together: bool
    threads: int = MOST_THREADS
    rates: DeviceRates = ESTIMATES


class Launcher(Protocol):
    """Compiles texts to functions and launches them."""

    @property
    def xp(self) -> Any:
        """The array module."""
        ...

    @property
    def limits(self) -> DeviceLimits:
        """Of the current device."""
        ...

    def load(self, text: str, exact: bool, together: bool = False) -> Any:
        """Compile the function of a text.  exact: without contraction; together: all blocks run at the same time."""
        ...

    def launch(self, function: Any, blocks: int, threads: int, args: Sequence[Any], shared: int = 0) -> None:
        """Launch it on the current stream.  shared: bytes of shared memory beside those that the text declares."""
        ...


@dataclass
class DeviceVariant:
    """A kernel for one pattern of lengths.  checked: it may end early, so its status has to be looked at.

    grid: all blocks run each step together; rows: so many lanes are run by a block.  held: factors that may lie in
    shared memory; tiled: those of which each block of a grid holds a part; loose: whether a grid makes products of
    others, too; staged: vectors that have to lie there; cells: bytes for numbers that all blocks read.
    """

    lanes: Lanes
    recipe: Recipe
    text: str
    checked: bool
    grid: bool = False
    rows: int = 1
    held: tuple[HeldFactor, ...] = ()
    tiled: tuple[GridFactor, ...] = ()
    loose: bool = False
    staged: tuple[Staged, ...] = ()
    cells: int = 0
    function: Any = None

    @staticmethod
    def of(body: Body, lengths: Lengths, exact: bool, grid: bool = False, rows: int = 1) -> DeviceVariant:
        """The kernel of a loop, by lanes or by a grid of blocks that share each step.  Raises NoForm.

        exact: without tensor cores.
        """
        lanes = no_lanes(body, lengths) if grid else lanes_of(body, lengths)
        recipe = lowered(lanes.body, lanes.lengths, device=True)
        held: tuple[HeldFactor, ...] = ()
        tiled: tuple[GridFactor, ...] = ()
        staged: tuple[Staged, ...] = ()
        cells, loose = 0, False
        if grid:
            text, tiled, loose, cells = grid_text(recipe, exact)
        elif lanes.numbers:
            text = lanes_text(recipe, len(lanes.axes))
        else:
            fixed = {f"g{i}" for i, g in enumerate(recipe.given) if g.kind == "array" and _alike(lanes, g.name)}
            text, held, staged = rows_text(recipe, len(lanes.axes), fixed, rows, exact)
        if len(recipe.kernel.numbers) + len(recipe.given) * (2 + len(lanes.axes)) > MOST_NUMBERS:
            raise NoForm("it has too many arrays for one kernel")
        checked = body.loop.until is not None or any(isinstance(x, Fail) for x in _walk(recipe.kernel.body))
        return DeviceVariant(lanes, recipe, text, checked, grid, rows, held, tiled, loose, staged, cells)

    @property
    def may_share(self) -> bool:
        """Whether a block may run several lanes, and multiplies them by the same factors."""
        return not self.grid and bool(self.lanes.axes and self.held) and rows_run_alike(self.recipe.kernel)

    @property
    def barriers(self) -> int:
        """About how many barriers each step has."""
        return self.text.rsplit("while (", 1)[-1].count("BARRIER;") if not self.lanes.numbers else 0


def _has_near_elements(x: Array) -> bool:
    """Whether lanes that are neighbours read neighbours: such an array needs no copy, however its rows lie."""
    return x.ndim > 0 and x.strides[-1] == x.itemsize and all(n % x.itemsize == 0 for n in x.strides)


def _alike(lanes: Lanes, name: str) -> bool:
    """Whether an array is the same for all lanes."""
    return all(axis is None for axis in lanes.of.get(name, ()))


def _walk(body: Sequence[Stmt]) -> Iterator[Stmt]:
    for x in body:
        yield x
        if isinstance(x, For | Steps):
            yield from _walk(x.body)
        elif isinstance(x, If):
            yield from _walk((*x.then, *x.otherwise))


@dataclass
class DevicePlan:
    """A variant for arguments of certain shapes.  shapes: of all names of the loop."""

    body: Body
    variant: DeviceVariant
    shapes: Mapping[str, Shape]
    limits: DeviceLimits
    places: Mapping[str, int] = field(init=False)
    holding: Holding = field(init=False)
    tiles: list[Tile] = field(init=False, default_factory=list[Tile])
    orders: dict[tuple[str, int], list[int]] = field(init=False, default_factory=dict[tuple[str, int], list[int]])
    steps: dict[str, tuple[list[int], int]] = field(init=False, default_factory=dict[str, tuple[list[int], int]])
    nowhere: Array = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.places = {name: i for i, name in enumerate(self.body.outer)}
        recipe, lanes = self.variant.recipe, self.variant.lanes
        self.counts = [self.shapes[name][i] for name, i in lanes.axes]
        self.total = prod(self.counts)
        known = {name: self.shapes[axis[0]][axis[1]] for name, axis in recipe.lengths.numbers.items()}
        self.offsets, size = scratch_offsets(recipe.given, known)
        self.size = -(-size // ALIGNED) * ALIGNED
        self.sizes = known
        loop = self.body.loop
        self.time = {r.source for r in loop.reads} | {s.init for s in loop.states}
        if lanes.numbers:
            self.threads, self.blocks, self.holding = THREADS, -(-self.total // THREADS), Holding()
        elif self.variant.grid:
            self._share_grid()
        else:
            self._share_rows()

    def _share_grid(self) -> None:
        """All blocks share the elements of a step, and the columns of its products."""
        widest = max((prod(s) for name, s in self.shapes.items() if name not in self.body.outer), default=1)
        tiled, free = self.variant.tiled, self.limits.shared - FOLDING
        most = max((most_tiles(f, self.sizes) for f in tiled), default=1)
        self.threads = GRID_THREADS
        self.blocks = min(self.limits.multiprocessors, max(-(-widest // GRID_THREADS), most))
        self.tiles = tiles_of(tiled, self.sizes, self.blocks, free)
        stage = max(PARTS if self.variant.loose else 0, *(t.stage for t in self.tiles), 0)
        self.holding = Holding.of(free, stage, tuple(t.held or -1 for t in self.tiles))

    def _share_rows(self) -> None:
        """The threads of a block share its rows: a row has the `per`-th part of them."""
        rows, of = self.variant.rows, min(32, self.limits.threads // self.variant.rows)
        widest = max((prod(self._left(name)) for name in self.shapes if name not in self.places), default=1)
        self.per = min(self.limits.threads // rows, -(-widest // (rows * of)) * of or of)
        self.threads, self.blocks = rows * self.per, -(-self.total // rows)
        stage = rows * max((evaluated(v.length, self.sizes) * v.item for v in self.variant.staged), default=0)
        factors = (evaluated(h.rows, self.sizes) * evaluated(h.columns, self.sizes) * h.item for h in self.variant.held)
        free = self.limits.shared - FOLDING - declared(self.variant.text)
        self.holding = Holding.of(free, stage, tuple(factors), rows * self.size or -1)

    def _left(self, name: str) -> list[int]:
        """The axes of a name that are not lanes."""
        of = self.variant.lanes.of.get(name, ())
        return [n for i, n in enumerate(self.shapes[name]) if i not in of]

    def run(self, launcher: Launcher, n: int, arrays: Sequence[Array]) -> list[Array] | None:
        """What the loop keeps after at most n steps; None where array steps have to run."""
        xp, loop, recipe = launcher.xp, self.body.loop, self.variant.recipe
        rows = [self._rows(k.rows, n, arrays) for k in loop.keeps]
        wanted = [self._out(i, r) for i, r in enumerate(rows)]
        if loop.until is not None and sum(prod(s) * np.dtype(d).itemsize for s, _, d in wanted) > MOST_ROOM:
            return None
        outs = [xp.empty(shape, dtype) for shape, _, dtype in wanted]
        given: list[Array] = []
        steps: list[int] = []
        for g in recipe.given:
            if g.kind == "scratch":
                continue
            x, by_lane, row = self._given(xp, g, arrays, outs)
            given.append(x)
            steps += [*by_lane, *([row] if self.variant.lanes.numbers else [])]
        counted = self.variant.checked or self.variant.grid
        status = xp.zeros(3, "int64") if counted else self._unread(xp)
        room = (0 if self.holding.own >= 0 else self.size * self.total) + self.variant.cells
        scratch = xp.empty(room + ALIGNED, "uint8") if room else status.view("uint8")  # none is used
        numbers = [self._number(x, n, rows) for x in recipe.numbers]
        own = [*self.counts, *steps, *self._where()]
        args = (*given, scratch, status, *(np.int64(x) for x in (*numbers, *own)))
        launcher.launch(self.variant.function, self.blocks, self.threads, args, self.holding.taken)
        taken = n
        if self.variant.checked:
            code, taken = (int(x) for x in status[:2].tolist())
            if code < 0:
                return None
        return [self._back(xp, i, x, taken) for i, x in enumerate(outs)]

    def _unread(self, xp: Any) -> Array:
        """Memory for what a kernel tells and nobody reads, the same for all calls."""
        if self.nowhere is None:
            self.nowhere = xp.empty(3, "int64")
        return self.nowhere

    @cached_property
    def fewest(self) -> float:
        """From how many steps on it is expected to take less time than array steps."""
        return fewest_steps(self)

    @cached_property
    def fewest_beside_graphs(self) -> float:
        """From how many steps on it is expected to take less time than CUDA graphs."""
        return fewest_beside_graphs(self)

    @property
    def rows_worth_sharing(self) -> int:
        """So many lanes may be run by a block, and there are still blocks for all multiprocessors."""
        rows = 1
        while self.variant.may_share and rows < MOST_ROWS and self.total > rows * self.limits.multiprocessors:
            rows *= 2
        return rows

    def _where(self) -> list[int]:
        """The numbers that say what lies where in shared memory, and how large scratch memory is."""
        if self.variant.lanes.numbers:
            return []
        if self.variant.grid:
            tiles = zip(self.holding.places, self.tiles, strict=True)
            return [*(x for place, t in tiles for x in (place, t.high, t.wide, t.next)), self.holding.stage, self.size]
        return [*self.holding.places, self.holding.stage, self.holding.own, self.size, self.per]

    def _rows(self, rows: int | str | None, n: int, arrays: Sequence[Array]) -> int:
        """How many rows of n steps are kept."""
        return n if rows is None else min(n, int(arrays[self.places[rows]]) if isinstance(rows, str) else rows)

    # Where arrays lie

    def _order(self, name: str, lead: int) -> list[int]:
        """The axes of an array, lanes first.  lead: 1 for rows that the shape of the name does not have."""
        if (name, lead) not in self.orders:
            of = [i + lead for i in self.variant.lanes.of[name] if i is not None]
            self.orders[name, lead] = [*of, *(i for i in range(len(self.shapes[name]) + lead) if i not in of)]
        return self.orders[name, lead]

    def _steps(self, name: str, shape: Shape, lead: int, lanes_first: bool) -> list[int]:
        """How many elements lie between one lane and the next, for each lane axis, in an array of this shape."""
        order = self._order(name, lead) if lanes_first else list(range(len(shape)))
        strides = {axis: prod(shape[i] for i in order[at + 1 :]) for at, axis in enumerate(order)}
        return [0 if i is None else strides[i + lead] for i in self.variant.lanes.of[name]]

    def _given(self, xp: Any, g: Given, arrays: Sequence[Array], outs: Sequence[Array]) -> tuple[Array, list[int], int]:
        """An array as the kernel takes it, its steps from lane to lane, and from row to row."""
        numbers = self.variant.lanes.numbers
        if g.kind == "out":
            value = self.body.loop.keeps[g.keep].value
            shape = (self._kept_rows(outs[g.keep], value), *self.shapes[value])
            return outs[g.keep], self._steps(value, shape, 1, not numbers), prod(shape[1:])
        x, shape = arrays[self.places[g.name]], self.shapes[g.name]
        if g.name not in self.steps:
            self.steps[g.name] = self._steps(g.name, shape, 0, not numbers), prod(shape[1:])
        x = xp.asarray(x)
        if numbers and _has_near_elements(x):
            step, *_ = steps = [n // x.itemsize for n in x.strides]
            return x, [0 if i is None else steps[i] for i in self.variant.lanes.of[g.name]], step
        if not numbers and self.variant.lanes.axes:
            x = x.transpose(self._order(g.name, 0))
        return xp.ascontiguousarray(x), *self.steps[g.name]

    def _kept_rows(self, out: Array, value: str) -> int:
        return int(out.shape[0 if self.variant.lanes.numbers else sum(i is not None for i in self._of(value))])

    def _of(self, name: str) -> tuple[int | None, ...]:
        return self.variant.lanes.of[name]

    def _out(self, i: int, rows: int) -> tuple[Shape, list[int], str]:
        """The shape in which what is kept is written, the order of its axes in that, and its dtype."""
        k = self.body.loop.keeps[i]
        shape = (rows, *self.shapes[k.value])
        order = list(range(len(shape))) if self.variant.lanes.numbers else self._order(k.value, 1)
        return tuple(shape[j] for j in order), order, k.type.dtype

    def _back(self, xp: Any, i: int, out: Array, taken: int) -> Array:
        """What is kept, its axes in order, cut where the loop ended early."""
        k = self.body.loop.keeps[i]
        if not self.variant.lanes.numbers:
            order = self._order(k.value, 1)
            out = xp.ascontiguousarray(out.transpose([order.index(j) for j in range(len(order))]))
        if self.body.loop.until is None or k.rows == 1 or taken == len(out):
            return out
        if taken < len(out):
            return out[:taken].copy()
        return xp.roll(out, -(taken % len(out)), axis=0) if len(out) else out

    # Numbers

    def _number(self, x: Number, n: int, rows: Sequence[int]) -> int:
        name, axis = x.axis
        match x.kind:
            case "steps":
                return n
            case "size":
                return self.shapes[name][axis]
            case "start":
                return slice(*x.slice).indices(self.shapes[name][axis])[0]
            case "offset":
                return self.offsets[x.keep]
            case "rows":
                return rows[x.keep]
            case "stride":
                return 1 if self.variant.lanes.numbers else prod(self._left(name)[1:])
            case _:
                raise NoForm(f"a number that is {x.kind}")
