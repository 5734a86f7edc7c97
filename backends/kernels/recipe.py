"""What a kernel is given at each call: arrays, scratch memory, lengths, inner loops, by what they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from scanopt.backends.kernels.ir import Do, Expr, Kernel, Lit, Var
from scanopt.backends.kernels.scratch import Life, placed
from scanopt.backends.kernels.sizes import Axis, Lengths

__all__ = ["ALIGNED", "Given", "Number", "Recipe", "Tiling", "evaluated", "scratch_offsets"]

ALIGNED = 64
"""Each scratch array begins at a multiple of so many bytes, a line of the cache; smaller ones than two lines at any
multiple of 16."""


@dataclass(frozen=True)
class Given:
    """An array that the kernel is given.

    kind: "array", a value made before the loop, packed; "strided", one as it lies; "source", a sequence, its rows
    packed; "out", what is kept, by number; "scratch", memory for `rows` times `axes` elements.
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

    once: whether what is laid out or copied for it is so before the loop, not in each step.
    panels: the number of the scratch memory for them, which is needed where it is made so.  copies: of that for
    factors copied for BLAS, or for all rows, which is not.
    """

    dtype: str
    dims: tuple[Expr, Expr, Expr]
    left: tuple[Expr, Expr]
    right: tuple[Expr, Expr]
    once: bool
    panels: int
    copies: tuple[int, ...] = ()
    apart: bool = False


@dataclass(frozen=True)
class Number:
    """A number that the kernel is given.

    kind: "steps", "size" of an axis, "stride" of an axis in bytes, "start" of a slice of an axis, "rows"
    that are kept at most and "skipped" steps of what is kept, by number; "offset" of scratch memory, in bytes; "tiled",
    whether a product is made of tiles, 1 or 0; "turned", whether BLAS takes its factors as they lie; "across", whether
    tiles do, of a right factor that lies turned; "ahead", whether the loop that reads its rows makes them.
    Of a kernel that goes through a part of an axis: "all" of its length, "part", where that begins in an array that is
    given, in bytes.
    """

    kind: str
    axis: Axis = ("", 0)
    slice: tuple[Any, ...] = ()
    keep: int = -1
    tiling: Tiling | None = None


@dataclass(frozen=True)
class Recipe:
    """A kernel and what it is to be given, in order.  loops: the ufuncs and dtypes of its inner loops.

    lives: by number of a scratch array between which statements it is needed, where it is not needed all the time.
    onto: by number of a scratch array the one that it is written onto.
    named: by variable of the text the name that its value has in the program, where there is one.
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
        case Do(op="minimum", args=(a, b)):
            return min(evaluated(a, numbers), evaluated(b, numbers))
        case _:
            raise ValueError(f"{x} is not an expression of lengths")


def scratch_offsets(
    given: Sequence[Given],
    known: Mapping[str, int],
    lives: Mapping[int, Life] | None = None,
    onto: Mapping[int, int] | None = None,
) -> tuple[dict[int, int], int]:
    """By number the places of scratch arrays, in bytes, and how many bytes they take together.

    lives: between which statements they are needed; others share no memory.  onto: see `placed`.
    """
    sizes: dict[int, int] = {}
    for i, g in enumerate(given):
        if g.kind == "scratch":
            count = g.rows * prod([evaluated(n, known) for n in g.axes])
            size = count * np.dtype(g.dtype).itemsize
            apart = ALIGNED if size >= 2 * ALIGNED or not lives else 16
            sizes[i] = -(-size // apart) * apart
    return placed(sizes, lives or {}, onto)
