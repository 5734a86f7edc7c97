"""Calls a kernel in parts on several threads (`workers.py`), if the predicted work pays for waking the threads.

The number of threads depends only on lengths, numbers of steps and processors; the bits do not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.compilers import LONGEST
from scanopt.backends.kernels.lower import lowered
from scanopt.backends.kernels.nodes import NoForm
from scanopt.backends.kernels.part_axes import PartAxis, part_axes, why_none
from scanopt.backends.kernels.plans import Plan, Variant
from scanopt.backends.kernels.recipe import ALIGNED, Number
from scanopt.backends.kernels.sizes import Lengths, Pattern
from scanopt.backends.kernels.tiles import TiledProduct, agree, haswell_orders
from scanopt.backends.kernels.unexpected import unexpected
from scanopt.backends.kernels.work import Predicted, predicted
from scanopt.backends.kernels.workers import Threads, run_together
from scanopt.records import dataclass

__all__ = ["PAYS", "PartKernels", "PartedPlan"]

Array = np.ndarray[Any, Any]
Shapes = Mapping[str, tuple[int, ...]]
PAYS = 150_000.0
"""The least nanoseconds of predicted work per thread: to wake a thread and wait for it takes 10,000 to 30,000 if calls
follow each other, and up to 150,000 if it has slept."""


PIECES = 3
"""Parts per thread: if the system suspends a thread for a while, others take its remaining parts."""


@dataclass
class PartKernels:
    """The kernels of a body that handle a part of an axis: one for each pattern of lengths and each axis."""

    body: Body
    threads: Threads
    axes: dict[Pattern, list[PartAxis] | str] = field(default_factory=dict[Pattern, Any])
    made: dict[tuple[Pattern, int], Variant | str] = field(default_factory=dict[tuple[Pattern, int], Any])

    def plan(self, pattern: Pattern, lengths: Lengths, shapes: Shapes, steps: Mapping[str, int]) -> PartedPlan | None:
        """Plan calls in parts; None if they must run on one thread.  steps: of nested loops, by name, where known."""
        limit = self.threads.limit()
        if limit < 2:
            return None
        if pattern not in self.axes:
            none = "lengths change from step to step" if lengths.growing else ""
            self.axes[pattern] = none or part_axes(self.body, lengths) or why_none(self.body, lengths)
        axes = self.axes[pattern]
        if isinstance(axes, str):
            return None
        counts = [min(limit, shapes[a.axis[0]][a.axis[1]] // a.unit) for a in axes]
        best = counts.index(max(counts))
        axis = axes[best]
        shapes = {**shapes, **{row: shapes[x][1:] for row, x in axis.rows.items()}}
        apart = axis.rows and haswell_orders() and shapes[axis.axis[0]][axis.axis[1]] % axis.unit
        work = predicted(axis.body, shapes, steps, axis.of)
        return PartedPlan(self, (pattern, best), axis, shapes, work, alone=bool(apart))

    def variant(self, key: tuple[Pattern, int]) -> Variant | str:
        """Make a kernel of parts, once; or return why there is none."""
        if key not in self.made:
            axes = self.axes[key[0]]
            assert not isinstance(axes, str)
            axis = axes[key[1]]
            try:
                self.made[key] = Variant.of(lowered(axis.body, axis.lengths, part=axis.of))
            except NoForm as reason:
                self.made[key] = str(reason)
            except Exception as error:  # the kernel of the whole axis can always run instead
                self.made[key] = unexpected(error)
        return self.made[key]

    def texts(self) -> tuple[str, ...]:
        """The texts of the kernels of parts that are compiled."""
        found = [v for v in list(self.made.values()) if isinstance(v, Variant)]
        return tuple(v.text for v in found if v.build.function is not None)

    def told(self) -> str:
        """Say on how many threads calls run, and why on no more."""
        limit = self.threads.limit()
        if limit < 2:
            return "on one thread"
        kinds = list(self.axes.values())
        reasons = [x for x in kinds if isinstance(x, str)]
        reasons += [v if isinstance(v, str) else v.build.trouble for v in list(self.made.values())]
        told = (
            [f"on up to {limit} threads, where work pays for them"]
            if any(not isinstance(x, str) for x in kinds)
            else []
        )
        return "; ".join([*told, *dict.fromkeys(f"on one thread: {r}" for r in reasons if r)])


@dataclass
class PartedPlan:
    """Calls a kernel in parts, for arguments of certain shapes.

    alone: whether a trial found a product that cannot be made in parts.
    """

    kernels: PartKernels
    key: tuple[Pattern, int]
    axis: PartAxis
    shapes: Shapes
    work: Predicted
    alone: bool = False
    _parts: dict[int, list[KernelPart]] = field(default_factory=dict[int, Any])

    @property
    def length(self) -> int:
        """The length of the whole axis."""
        return self.shapes[self.axis.axis[0]][self.axis.axis[1]]

    def count(self, n: int) -> int:
        """The number of threads on which n steps run."""
        if self.alone or self.work.alone > self.work.shared:
            return 1
        return max(
            1, min(self.kernels.threads.limit(), int(self.work.shared * n / PAYS), self.length // self.axis.unit)
        )

    def run(self, n: int, given: Mapping[tuple[int, str], Array], outs: Sequence[Array]) -> int | None:
        """Run the parts; return the number of steps taken, or a negative status; None: run on one thread instead."""
        count = self.count(n)
        if count < 2:
            return None
        variant = self.kernels.variant(self.key)
        if isinstance(variant, str):
            return None
        wait = LONGEST if self.kernels.threads.wait else 0.0
        function = variant.compiled(wait)
        if not function:
            return None
        if self.axis.products and not all(x.flags.c_contiguous for x in given.values()):
            return None
        pieces = min(PIECES * count, self.length // self.axis.unit)
        if pieces not in self._parts:
            parts = self._made(variant, pieces)
            if not all(part.is_settled() for part in parts):
                return None
            self._parts[pieces] = parts
            self.alone = not all(part.is_alike() for part in parts)
        parts = self._parts[pieces]
        arrays = parts[0].taken_from(given)
        if self.alone or arrays is None:
            return None
        found = run_together([partial(part.called, function, n, arrays, outs) for part in parts], count)
        return None if found is None else min(found)

    def _made(self, variant: Variant, count: int) -> list[KernelPart]:
        units = self.length // self.axis.unit
        ends = [self.axis.unit * (units * i // count) for i in range(count)]
        return [self._part(variant, first, last) for first, last in pairwise([*ends, self.length])]

    def _part(self, variant: Variant, first: int, last: int) -> KernelPart:
        of = self.axis.of
        own = {
            name: (*shape[: of[name]], last - first, *shape[of[name] + 1 :]) if name in of else shape
            for name, shape in self.shapes.items()
        }
        return KernelPart(self.axis.body, variant, own, first=first, whole=self.length, of=of)


@dataclass
class KernelPart(Plan):
    """The plan of one part of an axis.  first: where it begins; whole: the length of the axis; of: see `PartAxis`."""

    first: int = 0
    whole: int = 0
    of: Mapping[str, int] = field(default_factory=dict[str, int])

    def _lengths(self) -> dict[str, int]:
        recipe = self.variant.recipe
        names = zip(recipe.kernel.numbers, recipe.numbers, strict=True)
        return {**super()._lengths(), **{name: self.whole for name, n in names if n.kind == "all"}}

    def _pays(self, product: TiledProduct) -> bool:
        return agree(product)

    def is_settled(self) -> bool:
        """Whether it is decided for all products whether they are made of tiles."""
        if self.open:
            self.settle()
        return not self.open

    def is_alike(self) -> bool:
        """Whether all products along the axis are made of tiles, and so have the bits of whole ones."""
        return self.chosen >= {n for n in self.products if n.kind == "tiled"}

    def _number(self, name: str, told: Mapping[Number, int]) -> tuple[str, int, int]:
        recipe = self.variant.recipe
        number = recipe.numbers[recipe.kernel.numbers.index(name)]
        if number.kind == "part":
            g = recipe.given[number.keep]
            array = self.body.loop.keeps[g.keep].value if g.kind == "out" else g.name
            after = prod(self.shapes[array][self.of[array] + 1 :])
            return "", 0, self.first * after * np.dtype(g.dtype).itemsize
        return super()._number(name, told)

    def taken_from(self, given: Mapping[tuple[int, str], Array]) -> list[Array] | None:
        """The arrays that the kernel takes, in order; None if one is not among those given to the whole kernel."""
        packed = {place: x for (place, _), x in given.items() if x.flags.c_contiguous}
        found = [given[key] if key in given else packed.get(key[0]) for key in self._arguments]
        there = [x for x in found if x is not None]
        return there if len(there) == len(found) else None

    def called(self, function: Any, n: int, given: Sequence[Array], outs: Sequence[Array]) -> int:
        """Run the part; return the number of steps taken, or a negative status."""
        size, known = self._layout
        return self._call(function, (n, known), given, outs, np.empty(size + ALIGNED, "uint8"))
