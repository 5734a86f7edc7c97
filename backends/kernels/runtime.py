"""What the generated Python source calls in place of a loop: its kernel, or None where array steps have to run.

Whatever is not as a kernel needs it (a length that does not fit, an index out of range, no memory, no compiler) is left
to the array steps of the same loop, which stand behind it in the source: they give the result, or say what is wrong.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.lower import lowered
from scanopt.backends.kernels.nodes import Body, NoForm
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.backends.kernels.print_c import c_text
from scanopt.backends.kernels.recipe import Given, Number, Recipe, evaluated
from scanopt.backends.kernels.sizes import Pattern, lengths_of, pattern_of, shapes_of
from scanopt.forks import lock

__all__ = ["LoopKernel"]

Shapes = tuple[tuple[int, ...], ...]
VARIANTS, PLANS = 4, 64
"""So many patterns of lengths have a kernel, and so many lists of shapes are remembered."""
STEP = 0.7e-6
"""Seconds of an operator of an array step, about; what a compiler takes is many times that."""
WORTH, WAIT = 2e-3, 0.1
"""Seconds of array steps, in all, after which a kernel is made, and in one call, for which it is waited for."""
ROOM = 1 << 20
"""Bytes to begin with for rows of a loop that may end early, where 1,024 rows are no more."""
NO_ROOM = -2
ALIGNED = 64


@dataclass
class _Variant:
    """A kernel for one pattern of lengths."""

    recipe: Recipe
    text: str
    build: Build
    loops: Any

    @staticmethod
    def of(recipe: Recipe) -> _Variant:
        text = c_text(recipe.kernel)
        pointers = [p for name, dtypes in recipe.loops for p in inner_loop(name, dtypes) or (0, 0)]
        return _Variant(recipe, text, Build(text), (ctypes.c_void_p * max(len(pointers), 1))(*pointers))


@dataclass(frozen=True)
class _Plan:
    """A variant for arguments of certain shapes.

    rows: of what is kept, the shapes of a row.  scratch: by number of what is given its place in one piece of memory,
    of `size` bytes.
    """

    variant: _Variant
    numbers: Mapping[str, int]
    rows: tuple[tuple[int, ...], ...]
    scratch: Mapping[int, int]
    size: int


@dataclass
class LoopKernel:
    """The kernel of one loop, made when it is worth it.

    always: whether it is waited for in every case.  name: that it is called by in the source.
    """

    name: str
    body: Body
    always: bool
    spent: float = 0.0
    plans: dict[Shapes, _Plan | None] = field(default_factory=dict[Shapes, Any])
    variants: dict[Pattern, _Variant | str] = field(default_factory=dict[Pattern, Any])

    def __post_init__(self) -> None:
        self._lock = lock()
        self._places = {name: i for i, name in enumerate(self.body.outer)}
        self._ops = max(1, len(self.body.nodes))

    @property
    def fewest(self) -> int:
        """So many steps are run faster by a kernel that is there."""
        return 1 if self.always else max(2, 24 // self._ops)

    def texts(self) -> list[str]:
        """The C texts of the variants that were made."""
        return [v.text for v in list(self.variants.values()) if isinstance(v, _Variant)]

    def state(self) -> str:
        """What to tell of it."""
        found = list(self.variants.values())
        if not found:
            return "array steps: so far it took too little time for a kernel"
        reasons = [v if isinstance(v, str) else v.build.trouble for v in found]
        made = sum(isinstance(v, _Variant) and v.build.function is not None for v in found)
        told = [f"{made} of {len(found)} kernels compiled", *(f"array steps: {r}" for r in reasons if r)]
        return "; ".join(told)

    def __call__(self, n: int, *values: Any) -> list[Any] | None:
        """What the loop keeps after at most n steps; None where array steps have to run."""
        try:
            return self._called(n, values)
        except (MemoryError, OSError, ArithmeticError, TypeError, ValueError):
            return None

    def _called(self, n: int, values: Sequence[Any]) -> list[Any] | None:
        cost = n * self._ops * STEP
        if not self.always and self.spent < WORTH:
            self.spent += cost
            if self.spent < WORTH:
                return None
        arrays = [np.asarray(v) for v in values]
        plan = self._plan(tuple([x.shape for x in arrays]))
        if plan is None:
            return None
        function = plan.variant.build.function
        if function is None:
            function = plan.variant.build.poll(self.always or cost > WAIT)
            if function is None:
                return None
        return self._run(plan, function, n, arrays)

    # Plans

    def _plan(self, shapes: Shapes) -> _Plan | None:
        if shapes in self.plans:
            return self.plans[shapes]
        with self._lock:
            if len(self.plans) >= PLANS:
                self.plans.clear()
            try:
                plan = self._planned(shapes)
            except (ValueError, TypeError, IndexError):  # array steps tell what does not fit
                plan = None
            self.plans[shapes] = plan
        return plan

    def _planned(self, shapes: Shapes) -> _Plan | None:
        body = self.body
        found = shapes_of(body, dict(zip(body.outer, shapes, strict=True)))
        if found is None:
            return None
        pattern = pattern_of(body, found)
        if pattern not in self.variants and len(self.variants) < VARIANTS:
            try:
                self.variants[pattern] = _Variant.of(lowered(body, lengths_of(body, pattern, found)))
            except NoForm as reason:
                self.variants[pattern] = str(reason)
        variant = self.variants.get(pattern)
        if variant is None or isinstance(variant, str) or not variant.recipe.lengths.hold(found):
            return None
        recipe = variant.recipe
        numbers = {name: found[axis[0]][axis[1]] for name, axis in recipe.lengths.numbers.items()}
        scratch, size = _offsets(recipe.given, numbers)
        for name, number in zip(recipe.kernel.numbers, recipe.numbers, strict=True):
            if number.kind in ("start", "step"):
                length = found[number.axis[0]][number.axis[1]]
                numbers[name] = slice(*number.slice).indices(length)[0]
        rows = tuple(found[k.value] for k in body.loop.keeps)
        return _Plan(variant, numbers, rows, scratch, size)

    # Calls

    def _run(self, plan: _Plan, function: Any, n: int, arrays: Sequence[np.ndarray[Any, Any]]) -> list[Any] | None:
        loop, recipe, places = self.body.loop, plan.variant.recipe, self._places
        if any(len(arrays[places[r.source]]) < n for r in loop.reads):
            return None
        if any(len(arrays[places[s.init]]) != s.depth for s in loop.states):
            return None
        if any(x.dtype.name != self.body.types[name].dtype for name, x in zip(self.body.outer, arrays, strict=True)):
            return None
        given: dict[Given, np.ndarray[Any, Any]] = {}
        for g in recipe.given:
            if g.kind in ("array", "source", "strided"):
                x = self._laid_out(g, arrays[places[g.name]])
                if x is None:
                    return None
                given[g] = x
        wanted = [_rows(k.rows, n, arrays, places) for k in loop.keeps]
        room = wanted
        if loop.until is not None:
            room = [_room(k.rows, w, row) for k, w, row in zip(loop.keeps, wanted, plan.rows, strict=True)]
        memory = np.empty(plan.size + ALIGNED, "uint8")
        while True:
            outs = [np.empty((r, *row), k.type.dtype) for k, r, row in zip(loop.keeps, room, plan.rows, strict=True)]
            taken = _call(plan, function, n, given, outs, memory)
            if taken != NO_ROOM:
                break
            room = [min(8 * r, w) for r, w in zip(room, wanted, strict=True)]
        if taken < 0:
            return None
        if loop.until is None:
            return outs
        return [x if k.rows == 1 else _ended(x, taken) for k, x in zip(loop.keeps, outs, strict=True)]

    def _laid_out(self, g: Given, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
        """An argument as the kernel takes it; None where array steps would round in another way."""
        if not x.flags.aligned:
            return None if self.body.straight else np.array(x, order="C")
        if g.kind == "strided" or x.flags.c_contiguous or not x.ndim:
            return x
        if g.kind == "source" and x[0].flags.c_contiguous and not x.strides[0] % x.itemsize:
            return x
        return None if self.body.straight else np.array(x, order="C")


def _offsets(given: Sequence[Given], numbers: Mapping[str, int]) -> tuple[dict[int, int], int]:
    offsets: dict[int, int] = {}
    size = 0
    for i, g in enumerate(given):
        if g.kind == "scratch":
            offsets[i] = size
            count = g.rows * prod([evaluated(n, numbers) for n in g.axes])
            size += -(-count * np.dtype(g.dtype).itemsize // ALIGNED) * ALIGNED
    return offsets, size


def _rows(rows: int | str | None, n: int, arrays: Sequence[Any], places: Mapping[str, int]) -> int:
    """How many rows are kept at most."""
    if rows is None:
        return n
    return min(n, int(arrays[places[rows]]) if isinstance(rows, str) else rows)


def _room(rows: int | str | None, wanted: int, row: tuple[int, ...]) -> int:
    """Rows to begin with; what is kept of the last steps is a ring of all its rows."""
    return min(wanted, max(1024, ROOM // (8 * max(1, prod(row))))) if rows is None else wanted


def _call(
    plan: _Plan, function: Any, n: int, given: Mapping[Given, np.ndarray[Any, Any]], outs: Sequence[Any], memory: Any
) -> int:
    """The number of steps taken, or a negative status."""
    recipe = plan.variant.recipe
    start = -(-_address(memory) // ALIGNED) * ALIGNED
    pointers = array("Q")
    for i, g in enumerate(recipe.given):
        if g.kind == "scratch":
            pointers.append(start + plan.scratch[i])
        else:
            pointers.append(_address(outs[g.keep] if g.kind == "out" else given[g]))
    by_name = {(g.kind, g.name): x for g, x in given.items()}
    numbers = array("q")
    for name, number in zip(recipe.kernel.numbers, recipe.numbers, strict=True):
        numbers.append(plan.numbers[name] if name in plan.numbers else _number(number, n, outs, by_name))
    taken = function(pointers.buffer_info()[0], numbers.buffer_info()[0], ctypes.addressof(plan.variant.loops))
    return int(taken)


def _address(x: np.ndarray[Any, Any]) -> int:
    found: int = x.__array_interface__["data"][0]
    return found


def _number(what: Number, n: int, outs: Sequence[Any], given: Mapping[tuple[str, str], Any]) -> int:
    match what.kind:
        case "steps":
            return n
        case "stride":
            x = given["source", what.axis[0]]
            return int(x.strides[0] // x.itemsize)
        case "stride in bytes":
            return int(given["strided", what.axis[0]].strides[what.axis[1]])
        case "rows":
            return len(outs[what.keep])
        case "skipped":
            return n - len(outs[what.keep])
        case _:
            raise ValueError(f"no number of kind {what.kind!r}")


def _ended(rows: np.ndarray[Any, Any], taken: int) -> np.ndarray[Any, Any]:
    """The rows that were written last, oldest first, after so many were written in a circle."""
    if taken <= len(rows):
        return rows if taken == len(rows) else rows[:taken].copy()
    return np.roll(rows, -(taken % len(rows)), axis=0) if len(rows) else rows
