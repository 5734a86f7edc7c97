"""Plans: kernels for arguments of certain shapes; numeric arguments are computed once, so that calls are cheap.

A plan also decides, by trials, how each product of matrices is made, and calls the kernel with memory for its results.
"""

from __future__ import annotations

import ctypes
import threading
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np

from scanopt.array.numerics.contractions import SMALL
from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.ir import Var
from scanopt.backends.kernels.nodes import Product
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.backends.kernels.print_c import c_text
from scanopt.backends.kernels.recipe import (
    ALIGNED,
    Given,
    Number,
    Recipe,
    Tiling,
    evaluated,
    scratch_bytes,
    scratch_offsets,
)
from scanopt.backends.kernels.rows_ahead import rows_alike
from scanopt.backends.kernels.sum_orders import order_of
from scanopt.backends.kernels.tiles import FUNCTIONS, TiledProduct, address, better, ready, trouble
from scanopt.backends.kernels.turned import across, as_it_lies
from scanopt.backends.kernels.vector_functions import put_vectors, vectors_known
from scanopt.forks import lock
from scanopt.records import dataclass

__all__ = ["Plan", "Variant"]

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Numbers = Sequence[tuple[str, int, int]]
ROOM = 1 << 20
"""Bytes allocated first for the rows of a loop that may end early, or 1,024 rows if these take more."""
NO_ROOM = -2
_OF_TILES = ("tiled", "across", "summed")


@dataclass
class Variant:
    """A kernel for one pattern of lengths.

    loops: addresses of NumPy's inner loops and of their data; those of tiles are 0 until these are compiled.
    ready: whether the kernel is compiled and `loops` has the better ones.
    """

    recipe: Recipe
    text: str
    build: Build
    loops: Any
    ready: bool = False
    _lock: threading.RLock = field(default_factory=lock, repr=False, compare=False)

    @staticmethod
    def of(recipe: Recipe) -> Variant:
        """Make the kernel of a recipe; it is not compiled yet."""
        text = c_text(recipe.kernel, recipe.loops)
        pointers = [p for name, dtypes in recipe.loops for p in inner_loop(name, dtypes) or (0, 0)]
        ready({n.tiling.dtype for n in recipe.numbers if n.tiling})  # compiled at the same time as the kernel
        vectors_known(recipe.loops)
        return Variant(recipe, text, Build(text), (ctypes.c_void_p * max(len(pointers), 1))(*pointers))

    def compiled(self, seconds: float) -> Any:
        """The kernel's function, or None if it is not compiled yet.  seconds: how long to wait for it."""
        if not self.ready:
            with self._lock:  # no other thread calls the kernel while its loops are replaced
                done = self.build.poll(seconds) is not None and vectors_known(self.recipe.loops, seconds)
                if done and not self.ready:
                    put_vectors(self.recipe.loops, self.loops)
                    self.ready = True
        return self.build.function if self.ready else None

    def with_tiles(self) -> None:
        """Fill in the addresses of tiles."""
        for slot, (name, dtypes) in enumerate(self.recipe.loops):
            if name in FUNCTIONS:
                self.loops[2 * slot] = address(name, dtypes[0])


class InParts(Protocol):
    """A kernel that can be called in parts, each on a thread."""

    def count(self, n: int) -> int:
        """The number of threads on which n steps run."""
        ...

    def run(self, n: int, given: Mapping[tuple[int, str], Array], outs: Sequence[Array]) -> int | None:
        """Run the parts; return the number of steps taken, or a negative status; None: run on one thread instead.

        given: the arrays, by the number of the outer name and the kind of what is given (`recipe.Given`).
        """
        ...


@dataclass
class Plan:
    """A kernel for arguments of certain shapes.

    shapes: of all names of the loop.  taken: the number of steps of the last run.  short: whether there was too little
    room for the rows of a loop that may end early.  open: products for which it is not
    decided yet whether they are made of tiles, by the argument that says so.  parted: calls it in parts on threads.
    """

    body: Body
    variant: Variant
    shapes: Mapping[str, Shape]
    taken: int = 0
    short: bool = False
    parted: InParts | None = None
    _arguments: list[tuple[int, str]] = field(init=False)

    def __post_init__(self) -> None:
        places = {name: i for i, name in enumerate(self.body.outer)}
        recipe, loop = self.variant.recipe, self.body.loop
        taken = [g for g in recipe.given if g.kind in ("array", "source", "strided")]
        whole = _by_vectors(self.body, self.shapes)
        self._arguments = [
            (places[g.name], "whole" if g.kind == "strided" and g.name in whole else g.kind) for g in taken
        ]
        self._known = self._lengths()
        self.products = products = {n: _tiles(n.tiling, self._known) for n in recipe.numbers if n.tiling}
        self._tried = frozenset(n for n, x in products.items() if _is_found_well(n, x))
        self.open = {n: x for n, x in products.items() if n.kind in _OF_TILES}
        self._lay_out(self._tried)
        self._ahead = frozenset(n for n in self._tried if n.kind == "ahead")
        self._where = [self._place(i, taken) for i in range(len(recipe.given))]
        self.rows = [self.shapes[k.value] for k in loop.keeps]
        self._kept = [places[k.rows] if isinstance(k.rows, str) else -1 for k in loop.keeps]
        self._dtypes = [np.dtype(k.type.dtype) for k in loop.keeps]

    def _lengths(self) -> dict[str, int]:
        """The values of lengths, by their names in the kernel."""
        return self.variant.recipe.lengths.known(self.shapes)

    def _lay_out(self, chosen: frozenset[Number]) -> None:
        """Fix the layout of scratch memory, and all numbers.  chosen: the numbers of the ways of products in use."""
        self.chosen, self._layout = chosen, self._layout_for(chosen)

    def _layout_for(self, chosen: frozenset[Number]) -> tuple[int, list[tuple[str, int, int]]]:
        """The number of bytes of scratch memory, and all numeric arguments."""
        recipe = self.variant.recipe
        unused = {n.tiling.panels for n in recipe.numbers if n.tiling and n.kind in _OF_TILES and n not in chosen}
        unused |= {i for n in chosen if n.tiling for i in n.tiling.copies}
        given = [replace(g, rows=0) if i in unused else g for i, g in enumerate(recipe.given)]
        offsets, size = scratch_offsets(given, self._known, recipe.lives, recipe.onto)
        told = {n: int(n in chosen) for n in recipe.numbers if n.tiling}
        told |= {n: order_of(self.products[n]) for n in chosen if n.kind == "summed"}
        told |= {n: offsets[n.keep] for n in recipe.numbers if n.kind == "offset"}
        return size, [self._number(name, told) for name in recipe.kernel.numbers]

    @cached_property
    def _at_once(self) -> tuple[int, list[tuple[str, int, int]]]:
        """The layout in which no rows of products are made ahead, for arguments that are not packed."""
        return self._layout_for(self._tried - self._ahead)

    @property
    def size(self) -> int:
        """The number of bytes of scratch memory."""
        return self._layout[0]

    @property
    def given(self) -> list[tuple[int, int]]:
        """For each array of the kernel: 0 and the number of the outer name, 1 and that of the result, or 2: scratch."""
        return [(kind, self._arguments[i][0] if kind == 0 else i) for kind, i in self._where]

    def results(self) -> list[tuple[Shape, Any]]:
        """The shapes and dtypes of the results of a program."""
        return list(zip(self.rows, self._dtypes, strict=True))

    @cached_property
    def work(self) -> float:
        """The number of elements of all its values: about the work of one step of each loop."""
        return float(sum(prod(shape) for shape in self.shapes.values()))

    def row_bytes(self) -> list[int]:
        """For each result, the bytes of a row if it may have fewer rows than allocated; else 0."""
        rows = [prod(shape[1:]) * d.itemsize for shape, d in zip(self.rows, self._dtypes, strict=True)]
        return [n if i in self.ended else 0 for i, n in enumerate(rows)]

    @cached_property
    def ended(self) -> frozenset[int]:
        """The numbers of the results that have one row for each step of the loop that may end early."""
        lengths = self.variant.recipe.lengths
        values = [k.value for k in self.body.loop.keeps] if self.body.whole else []
        first = {i: lengths.axes[name][0] for i, name in enumerate(values) if lengths.axes[name]}
        growing = {i for i, n in first.items() if isinstance(n, Var) and n.name in lengths.growing}
        return frozenset(growing | {i for i, name in enumerate(values) if name in self.body.cut_rows})

    def packed_numbers(self) -> list[int]:
        """The numeric arguments of a program's kernel for arrays that are all packed."""
        found: list[int] = []
        for kind, i, value in self._layout[1]:
            if not kind:
                found.append(value)
                continue
            name = self.body.outer[self._arguments[i][0]]
            lengths = self.shapes[name][value + 1 :]
            found.append(prod(lengths) * np.dtype(self.body.types[name].dtype).itemsize)
        return found

    def _place(self, i: int, taken: Sequence[Given]) -> tuple[int, int]:
        """For array argument i of the kernel: whether it is an argument, a result or scratch memory, and its number."""
        g = self.variant.recipe.given[i]
        if g.kind == "scratch":
            return 2, 0
        return (1, g.keep) if g.kind == "out" else (0, taken.index(g))

    def _number(self, name: str, told: Mapping[Number, int]) -> tuple[str, int, int]:
        """For a numeric argument: its kind ("": known), the number of its array, and its value or axis."""
        recipe = self.variant.recipe
        if name in self._known:
            return "", 0, self._known[name]
        number = recipe.numbers[recipe.kernel.numbers.index(name)]
        if number in told:
            return "", 0, told[number]
        kinds = {"stride": "source", "stride in bytes": "strided"}
        if number.kind == "room":
            return "", 0, self.shapes[number.axis[0]][number.axis[1]]
        if number.kind == "start":
            length = self.shapes[number.axis[0]][number.axis[1]]
            return "", 0, slice(*number.slice).indices(length)[0]
        if number.kind in kinds:
            taken = [g for g in recipe.given if g.kind in ("array", "source", "strided")]
            found = next(i for i, g in enumerate(taken) if (g.kind, g.name) == (kinds[number.kind], number.axis[0]))
            return number.kind, found, number.axis[1]
        return number.kind, number.keep, 0

    def settle(self) -> None:
        """Decide which products are made of tiles, once these are compiled; until then none is, with the same bits."""
        dtypes = {x.dtype for x in self.open.values()}
        if ready(dtypes):
            self.variant.with_tiles()
            summed = self._added_up()
            ahead = [n for n in self._tried if n.kind == "ahead"]
            gone = {i for n in (*ahead, *summed) if n.tiling for i in n.tiling.copies}
            left = {n: x for n, x in self.open.items() if n.tiling and n.tiling.panels not in gone}
            chosen = self._tried | summed | {n for n, x in left.items() if n.kind == "tiled" and self._pays(x)}
            done = {n.tiling.copies for n in chosen if n.tiling}
            others = [n for n in left if n.kind == "across" and n.tiling and n.tiling.copies not in done]
            self._lay_out(chosen | {n for n in others if across(left[n], self._is_large(n))})
            self.open = {}
        elif trouble(dtypes):
            self.open = {}

    def _pays(self, product: TiledProduct) -> bool:
        """Whether a product is made of tiles."""
        return better(product)

    def _added_up(self) -> frozenset[Number]:
        """The products that a loop adds up where that saves memory: all those that read the same rows, or none."""
        sums = {n: n.tiling for n in self.open if n.kind == "summed" and n.tiling}
        kept = {t.panels for n, t in sums.items() if self._bytes(t.copies[0]) <= self._bytes(t.panels)}
        kept |= {t.panels for n, t in sums.items() if t.panels not in kept and not order_of(self.products[n])}
        return frozenset(n for n, t in sums.items() if t.panels not in kept)

    def _is_large(self, n: Number) -> bool:
        """Whether the panels of a product take more memory than copies of its factors."""
        assert n.tiling is not None
        return self._bytes(n.tiling.panels) > sum(map(self._bytes, n.tiling.copies))

    def _bytes(self, i: int) -> int:
        """The bytes of a scratch array."""
        return scratch_bytes(self.variant.recipe.given[i], self._known)

    def run(self, function: Any, n: int, arrays: Sequence[Array], kept: Any = None) -> list[Array] | None:
        """Run at most n steps; return the arrays that the loop keeps, or None where array steps have to run.

        kept: an object whose attribute `memory` is the scratch memory of the last call, to be reused.
        """
        if self.open:
            self.settle()
        given: list[Array] = []
        order = self.body.order
        for place, kind in self._arguments:
            x = _laid_out(arrays[place], kind, order)
            if x is None:
                return None
            given.append(x)
        loop = self.body.loop
        wanted = [
            n if k.rows is None else min(n, int(arrays[at]) if at >= 0 else int(k.rows))
            for k, at in zip(loop.keeps, self._kept, strict=True)
        ]
        packed = not self._ahead or all(x.flags.c_contiguous for x in given)
        size, known = self._layout if packed else self._at_once  # read once, since another thread may replace the pair
        memory = getattr(kept, "memory", None)
        if memory is None or memory.size != size + ALIGNED:
            memory = np.empty(size + ALIGNED, "uint8")
            if kept is not None:
                kept.memory = memory
        room = wanted if loop.until is None else [self._room(i, rows) for i, rows in enumerate(wanted)]
        while True:
            outs = [np.empty((r, *s), d) for r, s, d in zip(room, self.rows, self._dtypes, strict=True)]
            shared = self.parted.run(n, dict(zip(self._arguments, given, strict=True)), outs) if self.parted else None
            taken = self._call(function, (n, known), given, outs, memory) if shared is None else shared
            if taken != NO_ROOM or self.body.whole:
                break
            room = [min(8 * r, w) for r, w in zip(room, wanted, strict=True)]
        self.short = taken == NO_ROOM
        if taken < 0:
            return None
        self.taken = taken
        if loop.until is None:
            return [x[:, :taken].copy() if i in self.ended else x for i, x in enumerate(outs)]
        return [x if k.rows == 1 else _ended(x, taken) for k, x in zip(loop.keeps, outs, strict=True)]

    def _room(self, i: int, rows: int) -> int:
        """The rows to allocate first for a loop that may end early; a ring of last rows gets all of its rows."""
        if self.body.loop.keeps[i].rows is not None:
            return rows
        return min(rows, max(1024, ROOM // (self._dtypes[i].itemsize * prod(self.rows[i]))))

    def _call(
        self, function: Any, told: tuple[int, Numbers], given: Sequence[Array], outs: Sequence[Array], memory: Array
    ) -> int:
        """Call the kernel; return the number of steps taken, or a negative status.  told: most steps, and numbers."""
        n, known = told
        kinds = (given, outs, (memory,))
        objects = array("Q", [id(kinds[kind][i]) for kind, i in self._where])
        numbers: list[int] = []
        for kind, i, value in known:
            if not kind:
                numbers.append(value)
            elif kind == "steps":
                numbers.append(n)
            elif kind == "stride":
                numbers.append(given[i].strides[0] // given[i].itemsize)
            elif kind == "stride in bytes":
                numbers.append(given[i].strides[value])
            else:
                numbers.append(len(outs[i]) if kind == "rows" else n - len(outs[i]))
        packed = array("q", numbers)
        try:
            taken: int = function(objects.buffer_info()[0], packed.buffer_info()[0], self.variant.loops)
        except SystemError:  # a function of SciPy raised an error, as scipy.special.errstate can demand
            return -1
        return taken


def _is_found_well(number: Number, product: TiledProduct) -> bool:
    """Whether a trial finds that the way of making a product that a number stands for has NumPy's bits."""
    return as_it_lies(product) if number.kind == "turned" else number.kind == "ahead" and rows_alike(product)


def _tiles(t: Tiling, known: Mapping[str, int]) -> TiledProduct:
    factors = t.large if t.large and evaluated(t.size, known) > SMALL else (t.left, t.right)
    m, k, n, *strides, each = (evaluated(x, known) for x in (*t.dims, *factors[0], *factors[1], t.each))
    left, right = (strides[0], strides[1]), (strides[2], strides[3])
    return TiledProduct(t.dtype, (m, k, n), left, right, t.once, t.apart, each, t.as_it_lies)


def _by_vectors(body: Body, shapes: Mapping[str, Shape]) -> set[str]:
    """Matrices that are multiplied by vectors: NumPy copies one that is in neither C nor Fortran order."""
    products = [n for n in walk(body.root.nodes) if isinstance(n, Product)]
    axes = {name: len(shapes.get(name, ())) for n in products for name in n.args}
    return {name for n in products if {axes[x] for x in n.args} == {1, 2} for name in n.args if axes[name] == 2}


def _laid_out(x: Array, kind: str, order: str) -> Array | None:
    """An argument in a layout that the kernel accepts, perhaps copied; None if array steps round differently.

    kind: of what is given (`recipe.Given`), or "whole": in C or in Fortran order.
    """
    flags = x.flags
    if flags.aligned:
        if flags.c_contiguous or not x.ndim or (kind == "whole" and flags.f_contiguous):
            return x
        if kind == "strided" and (x.ndim > 1 or x.strides[0] > 0):  # NumPy copies a vector that runs backwards
            return x
        if kind == "source" and x[0].flags.c_contiguous and not x.strides[0] % x.itemsize:
            return x
    if order == "packed" or (order and (not flags.aligned or min(x.strides) < 0)):
        return None
    return np.array(x, order="C")


def _ended(rows: Array, taken: int) -> Array:
    """The rows that remain in a ring buffer after `taken` writes, oldest first."""
    if taken <= len(rows):
        return rows if taken == len(rows) else rows[:taken].copy()
    return np.roll(rows, -(taken % len(rows)), axis=0) if len(rows) else rows
