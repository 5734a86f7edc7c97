"""The functions that generated source text calls besides operators: checks, buffers, results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.device import to_host
from scanopt.array.shapes import shape_text, widened

__all__ = ["support"]

Array = Any
FIRST_ROOM = 32


def support(xp: Any, labels: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Return the functions, by the names that they have in generated text.

    labels: texts for error messages; generated text refers to them by number, so that no name
    chosen by a user gets into it.
    """
    return {**_checks(labels), **_buffers(xp), **_results(xp), **_numbers(xp)}


def _checks(labels: Sequence[str]) -> dict[str, Callable[..., Any]]:
    def steps(n: Array, label: int) -> int:
        """The number of steps as an int."""
        count = int(n)
        if count < 0:
            raise ValueError(f"{labels[label]}: asked for a negative number of steps, {count}")
        return count

    def too_short(label: int, found: int, expected: int) -> Exception:
        return ValueError(f"{labels[label]}: expected at least {expected} rows, found {found}")

    def wrong_depth(label: int, found: int, expected: int) -> Exception:
        return ValueError(f"{labels[label]}: expected {expected} initial rows, one per step back, found {found}")

    def wrong_shape(label: int, found: Any, expected: Any) -> Exception:
        return ValueError(f"{labels[label]}: expected shape {shape_text(expected)}, found {shape_text(found)}")

    def wrong_start(label: int, found: Any, expected: Any) -> Exception:
        return ValueError(f"{wrong_shape(label, found, expected)}{widened(expected, found)}")

    return {
        "steps": steps, "too_short": too_short, "wrong_depth": wrong_depth,
        "wrong_shape": wrong_shape, "wrong_start": wrong_start,
    }  # fmt: skip


def _buffers(xp: Any) -> dict[str, Callable[..., Any]]:
    def renew(x: Array, row: Array | None) -> Array:
        """Copy x into `row`, or into a new array if `row` is None; return the copy."""
        if row is None:
            return xp.array(x)
        xp.copyto(row, x)
        return row

    def spare(row: Array, *others: Array) -> Array | None:
        """Return `row` if it can be written to and a result of it and `others` has its shape; else None."""
        fits = np.broadcast_shapes(row.shape, *(x.shape for x in others)) == row.shape
        writable = row.flags.c_contiguous and getattr(row.flags, "writeable", True)
        return row if fits and writable else None

    def fewer(n: int, rows: Array) -> int:
        """The number of rows kept of n steps, where the last `rows` are wanted."""
        return min(n, int(rows))

    def room(n: int) -> int:
        """The number of rows to allocate first, if at most n will be written."""
        return n if n < FIRST_ROOM else FIRST_ROOM

    def grow(rows: Array, n: int) -> Array:
        """Copy the rows into an array of twice as many, but at most n."""
        more = xp.empty((min(2 * len(rows), n), *rows.shape[1:]), rows.dtype)
        more[: len(rows)] = rows
        return more

    def cut(rows: Array, n: int) -> Array:
        """Return the first n rows, copied unless they are all, so that no more memory stays in use."""
        return rows if len(rows) == n else rows[:n].copy()

    def recent(rows: Array, n: int) -> Array:
        """After n writes to a ring buffer, return the rows written last, oldest first."""
        if n <= len(rows) or not len(rows):
            return cut(rows, n)
        return xp.roll(rows, -(n % len(rows)), axis=0)

    return {
        "spare": spare, "fewer": fewer, "renew": renew, "room": room, "grow": grow, "cut": cut, "recent": recent,
        "empty": xp.empty, "contiguous": xp.ascontiguousarray,
    }  # fmt: skip


def _numbers(xp: Any) -> dict[str, Callable[..., Any]]:
    def here(x: Array) -> Any:
        """Copy a number to the host, as a scalar."""
        return np.asarray(to_host(x))[()]

    return {"here": here, "there": xp.asarray}


def _results(xp: Any) -> dict[str, Callable[..., Any]]:
    def owned(x: Array) -> Array:
        """Copy x."""
        return xp.array(x)

    def writable(x: Array) -> Array:
        """Return x, copied if it is read-only or if several of its entries share memory."""
        spread = any(s == 0 and n > 1 for s, n in zip(x.strides, x.shape, strict=True))
        return x.copy() if spread or not getattr(x.flags, "writeable", True) else x

    return {"owned": owned, "writable": writable}
