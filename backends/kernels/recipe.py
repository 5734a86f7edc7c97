"""The result of lowering: a kernel, and a description of all that it must be given at each call.

These are arrays, scratch memory, numbers and inner loops; a plan finds their values for the shapes of a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import isqrt, prod
from typing import Any

import numpy as np

from scanopt.backends.kernels.ir import ZERO, Do, Expr, Kernel, Lit, Var
from scanopt.backends.kernels.scratch import Life, placed
from scanopt.backends.kernels.sizes import Axis, Lengths
from scanopt.records import dataclass

__all__ = ["ALIGNED", "Given", "Number", "Recipe", "Tiling", "evaluated", "scratch_bytes", "scratch_offsets"]

ALIGNED = 64
"""Each scratch array begins at a multiple of this many bytes, a cache line; one smaller than two lines may begin at
any multiple of 16."""


@dataclass(frozen=True)
class Given:
    """An array that the kernel is given.

    kind: "array", a value made before the loop, packed; "strided", the same with its own strides; "source", a sequence
    with packed rows; "out", a result, by number; "scratch", memory for `rows` times `axes` elements.
    """

    kind: str
    dtype: str
    name: str = ""
    keep: int = -1
    rows: int = 1
    axes: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Tiling:
    """A product that may be made of tiles, as `tiles.TiledProduct`, of lengths that a plan knows.

    once: whether factors are laid out or copied for it before the loop, not in each step. panels: the number of the
    scratch array for panels, needed only if tiles are used.  copies: of the scratch arrays for copied factors, or for
    all rows, which are then not needed.  apart: whether both factors are certainly different arrays.
    large: the strides of a contraction of more than few elements; size: their number.  each: elements of a step that
    reads several rows of the product, else 0.  as_it_lies: whether the right matrix is read without panels.
    """

    dtype: str
    dims: tuple[Expr, Expr, Expr]
    left: tuple[Expr, Expr]
    right: tuple[Expr, Expr]
    once: bool
    panels: int
    copies: tuple[int, ...] = ()
    apart: bool = False
    large: tuple[tuple[Expr, Expr], tuple[Expr, Expr]] | None = None
    size: Expr = ZERO
    each: Expr = ZERO
    as_it_lies: bool = False


@dataclass(frozen=True)
class Number:
    """A number that the kernel is given.

    kind: "steps"; "size" of an axis; "room", the most rows of an axis whose length the kernel finds; "stride" of rows,
    in elements; "stride in bytes" of an axis; "start" of a slice of an axis; "rows" that are kept at most, and
    "skipped" steps, of a result, by number; "offset" of scratch memory, in bytes; "summed", the order in which a loop
    adds up a product, 0 if it does not; and, 1 or 0 for a product: "tiled", whether it is made of tiles, "turned",
    whether BLAS takes its factors with their own strides, "across", whether tiles multiply columns of a transposed
    right factor, "ahead", whether the loop that reads its rows makes them.

    For a kernel of a part of an axis: "all", the length of the whole axis, and "part", where the part begins in an
    array, in bytes.
    """

    kind: str
    axis: Axis = ("", 0)
    slice: tuple[Any, ...] = ()
    keep: int = -1
    tiling: Tiling | None = None


@dataclass(frozen=True)
class Recipe:
    """A kernel and its arguments, in order.  loops: the ufuncs and dtypes of its inner loops.

    lives: the live range of each scratch array, by number; arrays not listed are always live.  onto: for a scratch
    array, the one that it may be written onto.  named: for variables of the text, the name of their value in the
    program.
    """

    kernel: Kernel
    lengths: Lengths
    given: tuple[Given, ...]
    numbers: tuple[Number, ...]
    loops: tuple[tuple[str, tuple[str, ...]], ...]
    lives: Mapping[int, Life] = field(default_factory=dict[int, Life])
    onto: Mapping[int, int] = field(default_factory=dict[int, int])
    named: Mapping[str, str] = field(default_factory=dict[str, str])


def evaluated(x: Expr, numbers: Mapping[str, int]) -> int:
    """The value of an expression of lengths."""
    match x:
        case Lit(value=value):
            return int(value)
        case Var(name=name):
            return numbers[name]
        case Do(op="multiply", args=(a, b)):
            return evaluated(a, numbers) * evaluated(b, numbers)
        case Do(op="add", args=(a, b)):
            return evaluated(a, numbers) + evaluated(b, numbers)
        case Do(op="floor_divide", args=(a, b)):
            return evaluated(a, numbers) // max(evaluated(b, numbers), 1)
        case Do(op="minimum", args=(a, b)):
            return min(evaluated(a, numbers), evaluated(b, numbers))
        case Do(op="sqrt", args=(a,)):  # the least number whose square is no less
            return isqrt(max(evaluated(a, numbers), 1) - 1) + 1
        case _:
            raise ValueError(f"{x} is not an expression of lengths")


def scratch_bytes(g: Given, known: Mapping[str, int]) -> int:
    """The bytes of a scratch array.  known: the values of lengths."""
    return g.rows * prod([evaluated(n, known) for n in g.axes]) * np.dtype(g.dtype).itemsize


def scratch_offsets(
    given: Sequence[Given],
    known: Mapping[str, int],
    lives: Mapping[int, Life] | None = None,
    onto: Mapping[int, int] | None = None,
) -> tuple[dict[int, int], int]:
    """The offsets of scratch arrays in bytes, by number, and the bytes that they take together.

    lives: their live ranges; arrays without one share no memory.  onto: see `placed`.
    """
    sizes: dict[int, int] = {}
    for i, g in enumerate(given):
        if g.kind == "scratch":
            size = scratch_bytes(g, known)
            apart = ALIGNED if size >= 2 * ALIGNED or not lives else 16
            sizes[i] = -(-size // apart) * apart
    return placed(sizes, lives or {}, onto)
