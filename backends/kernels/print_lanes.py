"""Prints a kernel of scalars as CUDA text: each lane is run by one thread, which holds its states in registers."""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.fetched_rows import FETCHING, Fetched, fetched_rows
from scanopt.backends.kernels.ir import ONE, Expr, Fail, For, Inner, Kernel, Load, Point, Steps, Stmt, Store
from scanopt.backends.kernels.print_cuda import (
    CudaPrinter,
    assembled,
    parameters,
    places_of_lane,
    product_of,
    signature,
    start_of_lane,
)  # fmt: skip
from scanopt.backends.kernels.recipe import Recipe
from scanopt.backends.kernels.steps_in_c import is_short

__all__ = ["THREADS", "lanes_text"]

THREADS = 128
"""Threads of a block; each runs one lane."""


def lanes_text(recipe: Recipe, lanes: int) -> str:
    """The text of a kernel NAME(arrays, scratch memory, status, numbers) in which each lane is a thread.

    lanes: the number of lane axes.  status: two numbers: a negative one if array steps have to run, and the number of
    steps taken.
    """
    w = _Lanes(recipe)
    head = signature(recipe, [*recipe.kernel.numbers, *parameters(recipe, lanes, True)])
    body = [*_start(recipe, lanes), *w.body_of(recipe.kernel)]
    return assembled(recipe, w, f"__launch_bounds__({THREADS}) ", head, body, FETCHING if w.fetched else "")


def _start(recipe: Recipe, lanes: int) -> Iterator[str]:
    """The lines that find which lane this is, and where its arrays start."""
    yield f"    const int64 lanes = {product_of(lanes)};"
    yield "    const int64 lane = (int64)blockIdx.x * blockDim.x + threadIdx.x;"
    yield "    if (lane >= lanes) return;"
    yield from places_of_lane(lanes)
    for i, (g, p) in enumerate(zip(recipe.given, recipe.kernel.params, strict=True)):
        t = TYPES[g.dtype]
        if g.kind == "scratch":
            yield f"    {t} *const {p.name} = ({t} *)(scratch + {p.offset} * lanes) + lane; const int64 r{i} = lanes;"
        else:
            yield f"    {t} *const {p.name} = {start_of_lane(i, lanes)};"


class _Lanes(CudaPrinter):
    """Prints statements of a lane, run by one thread; the rows of array i lie `r{i}` elements apart."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe)
        self.rows = {p.name: f"r{i}" for i, p in enumerate(recipe.kernel.params)}
        self.fetched = fetched_rows(recipe.kernel, recipe.given)
        self.ahead = {x.name: f"ahead{i}" for i, x in enumerate(self.fetched.points)} if self.fetched else {}

    def _place(self, array: str, index: Expr) -> Expr:
        return index

    def body_of(self, kernel: Kernel) -> Iterator[str]:
        """As for any kernel; the first thread stores the number of steps taken."""
        yield from super().body_of(kernel)
        yield f"    if (lane == 0) status[1] = {kernel.result};"

    def expression(self, x: Expr) -> str:
        """As in C, except for the places of rows."""
        if isinstance(x, Load) and x.array in self.rows:
            at = self.expression(x.index)
            text = f"{x.array}[{'0' if at == '0' else f'{at} * {self.rows[x.array]}'}]"
            return f"({text} != 0)" if x.dtype == "bool" else text
        return super().expression(x)

    def unrolls(self, x: Steps) -> bool:
        """As in C, and short loops that cannot end early, in which counting takes as long as the computation."""
        return super().unrolls(x) or (x.until is None and is_short(x.body))

    def statement(self, x: Stmt, depth: int) -> Iterator[str]:
        """As in C, except for the places of rows, failures, and functions of scalars."""
        space = "    " * depth
        match x:
            case Steps() if self.fetched and x is self.fetched.steps:
                yield from self._fetching(x, self.fetched, space)
            case Point(name=name) if self.fetched and name in self.ahead:
                yield f"{space}{name} = {self._slot(self.fetched, name, self.fetched.steps.var)};"
            case Point(name=name, array=array, index=index) if array in self.rows:
                yield f"{space}{name} = {array} + {self.expression(index)} * {self.rows[array]};"
            case Store(array=array, index=index, value=value) if array in self.rows:
                yield f"{space}{array}[{self.expression(index)} * {self.rows[array]}] = {self.expression(value)};"
            case Fail(status=status):
                yield from [f"{space}FETCHED(0);"] * bool(self.fetched)
                yield from self._failed(status, space)
            case Inner(slot=slot, arrays=arrays, dims=(count,)) if count == ONE and len(arrays) <= 4:
                given = ", ".join(f"*{a}" for a in arrays[:-1])
                yield f"{space}*{arrays[-1]} = F{slot}::of({given});"
            case Inner():
                yield f"{space}{self._serial(x)}"
            case For(var=var, count=count, body=body):
                yield f"{space}for (int64 {var} = 0; {var} < {self.expression(count)}; {var}++) {{"
                yield from self._body(body, depth)
                yield f"{space}}}"
            case _:
                yield from super().statement(x, depth)

    def _fetching(self, x: Steps, found: Fetched, space: str) -> Iterator[str]:
        """The lines of steps, each of which prefetches the rows of a later step.

        A slot is overwritten one step after it was read.
        """
        before, count = found.depth - 1, self.expression(x.count)
        for point in found.points:
            yield f"{space}__shared__ {TYPES[point.dtype]} {self.ahead[point.name]}[{found.depth * THREADS}];"
        yield f"{space}for (int64 at = 0; at < {before}; at++) {{"
        yield from self._fetch(found, count, space + "    ")
        yield f"{space}}}"
        yield f"{space}int64 {x.var} = 0;"
        yield f"{space}while ({x.var} < {count}) {{"
        yield f"{space}    FETCHED({before - 1});"
        yield f"{space}    const int64 at = {x.var} + {before};"
        yield from self._fetch(found, count, space + "    ")
        yield from self._body(x.body, len(space) // 4)
        yield f"{space}    {x.var}++;"
        if x.until is not None:
            yield f"{space}    if ({self.expression(x.until)}) break;"
        yield f"{space}}}"
        yield f"{space}FETCHED(0);"

    def _fetch(self, found: Fetched, count: str, space: str) -> Iterator[str]:
        """The lines that prefetch the rows of the step `at`."""
        yield f"{space}if (at < {count}) {{"
        for point, stride in zip(found.points, found.strides, strict=True):
            row = f"{point.array} + at * {self.expression(stride)} * {self.rows[point.array]}"
            yield f"{space}    FETCH({self._slot(found, point.name, 'at')}, {row});"
        yield f"{space}}}"
        yield f"{space}FETCH_END;"

    def _slot(self, found: Fetched, pointer: str, step: str) -> str:
        return f"{self.ahead[pointer]} + ({step} & {found.depth - 1}) * {THREADS} + threadIdx.x"
