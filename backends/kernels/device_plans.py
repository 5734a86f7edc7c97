"""Plans a loop on a device for arguments of certain shapes: one kernel, and how many blocks and threads run it.

There are three ways: one thread per lane, one block of threads for some rows of a batch, or a grid whose blocks share
each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import prod
from typing import Any, Protocol

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
from scanopt.backends.kernels.recipe import ALIGNED, Recipe, evaluated, scratch_offsets
from scanopt.backends.kernels.shared_memory import FOLDING, HeldFactor, Holding, Staged, declared
from scanopt.backends.kernels.sizes import Lengths
from scanopt.extraction.device_rates import ESTIMATES, DeviceRates
from scanopt.records import dataclass

__all__ = ["DeviceLimits", "DevicePlan", "DeviceVariant", "Launcher"]

Array = Any
Shape = tuple[int, ...]
MOST_NUMBERS = 400
"""The most arguments of 8 bytes: all arguments of a kernel may take 4 kB."""


@dataclass(frozen=True)
class DeviceLimits:
    """The limits of a device: multiprocessors, and bytes of shared memory that a block may use.

    together: whether all blocks of a launch can be made to run at the same time.  threads: the most in a block.  rates:
    the time that each kind of work takes.
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
        """The limits of the current device."""
        ...

    def load(self, text: str, exact: bool, together: bool = False) -> Any:
        """Compile the function of a text.  exact: no contraction of a * b + c; together: all blocks run at once."""
        ...

    def launch(self, function: Any, blocks: int, threads: int, args: Sequence[Any], shared: int = 0) -> None:
        """Launch a function on the current stream.  shared: bytes of shared memory that its text does not declare."""
        ...


@dataclass
class DeviceVariant:
    """A kernel for one pattern of lengths.  checked: it may end early or fail, so the host reads its status.

    grid: all blocks run each step together; rows: the number of lanes that a block runs.  held: factors that may lie in
    shared memory; tiled: factors of which each block of a grid holds a part; loose: whether a grid also makes products
    of other factors; staged: vectors that must lie in shared memory; cells: bytes for numbers that all blocks read.
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
        """Make the kernel of a loop, by lanes or by a grid of blocks that share each step.  Raises NoForm.

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
        """Whether a block may run several lanes, which it multiplies by the same factors."""
        return not self.grid and bool(self.lanes.axes and self.held) and rows_run_alike(self.recipe.kernel)

    @property
    def barriers(self) -> int:
        """The approximate number of barriers in each step."""
        return self.text.rsplit("while (", 1)[-1].count("BARRIER;") if not self.lanes.numbers else 0


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
        """Plan a grid: all blocks share the elements of a step, and the columns of its products."""
        widest = max((prod(s) for name, s in self.shapes.items() if name not in self.body.outer), default=1)
        tiled, free = self.variant.tiled, self.limits.shared - FOLDING
        most = max((most_tiles(f, self.sizes) for f in tiled), default=1)
        self.threads = GRID_THREADS
        self.blocks = min(self.limits.multiprocessors, max(-(-widest // GRID_THREADS), most))
        self.tiles = tiles_of(tiled, self.sizes, self.blocks, free)
        stage = max(PARTS if self.variant.loose else 0, *(t.stage for t in self.tiles), 0)
        self.holding = Holding.of(free, stage, tuple(t.held or -1 for t in self.tiles))

    def _share_rows(self) -> None:
        """Plan blocks of rows: the threads of a block share its rows, `per` threads for each row."""
        rows, of = self.variant.rows, min(32, self.limits.threads // self.variant.rows)
        widest = max((prod(self.left(name)) for name in self.shapes if name not in self.places), default=1)
        self.per = min(self.limits.threads // rows, -(-widest // (rows * of)) * of or of)
        self.threads, self.blocks = rows * self.per, -(-self.total // rows)
        stage = rows * max((evaluated(v.length, self.sizes) * v.item for v in self.variant.staged), default=0)
        factors = (evaluated(h.rows, self.sizes) * evaluated(h.columns, self.sizes) * h.item for h in self.variant.held)
        free = self.limits.shared - FOLDING - declared(self.variant.text)
        self.holding = Holding.of(free, stage, tuple(factors), rows * self.size or -1)

    def left(self, name: str) -> list[int]:
        """The axes of a name that are not lanes."""
        of = self.variant.lanes.of.get(name, ())
        return [n for i, n in enumerate(self.shapes[name]) if i not in of]

    @cached_property
    def fewest(self) -> float:
        """The number of steps from which on it is expected to take less time than array steps."""
        return fewest_steps(self)

    @cached_property
    def fewest_beside_graphs(self) -> float:
        """The number of steps from which on it is expected to take less time than CUDA graphs."""
        return fewest_beside_graphs(self)

    @property
    def rows_worth_sharing(self) -> int:
        """The number of lanes that a block may run such that there still are blocks for all multiprocessors."""
        rows = 1
        while self.variant.may_share and rows < MOST_ROWS and self.total > rows * self.limits.multiprocessors:
            rows *= 2
        return rows
