"""Arrays taken apart: split and its relatives, unstack."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from scanopt.array.batching import dim, dims_of
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import expect_axes, known_int
from scanopt.array.operators.elementwise import elementwise
from scanopt.array.operators.shaping import reshape_to
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import public
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Constant, Variable, describe

__all__ = ["array_split", "split", "unstack"]


def _parts(v: Variable, bounds: list[Any], axis: int) -> list[Variable]:
    """The parts of v between consecutive bounds along an axis."""
    before = (slice(None),) * axis
    return [getitem(v, (*before, slice(low, high))) for low, high in pairwise(bounds)]


def _places(indices: Any) -> list[Any]:
    """Where to cut, as ints and integer scalars."""
    if isinstance(indices, Variable) and not isinstance(indices, Constant):
        count = indices.type.shape[0] if indices.ndim == 1 else None
        if count is None:
            raise ValueError(
                f"the number of parts must be known before the run, found places to cut at {describe(indices)}: "
                "give a list, or take the parts x[i:j] in a loop"
            )
        return [getitem(indices, i) for i in range(count)]
    if isinstance(indices, Constant):
        indices = indices.data
    return [i if isinstance(i, Variable) else int(i) for i in indices]


def _cut(ary: Any, indices_or_sections: Any, axis: int, equal: bool) -> list[Variable]:
    v = as_variable(ary)
    i = axis_of(axis, v)
    sections = known_int(indices_or_sections)
    if isinstance(indices_or_sections, np.ndarray) and indices_or_sections.ndim == 0:
        sections = int(indices_or_sections)
    if sections is None:
        if isinstance(indices_or_sections, Variable) and indices_or_sections.ndim == 0:
            raise TypeError(
                f"the number of parts must be known before the run, found {describe(indices_or_sections)}: "
                "take the parts x[i:j] in a loop, or reshape to one more axis"
            )
        return _parts(v, [None, *_places(indices_or_sections), None], i)
    if sections <= 0:
        raise ValueError(f"the number of parts must be larger than 0, found {sections}")
    n = dim(v, i)
    size: Any
    extra: Any
    if isinstance(n, int):
        if equal and n % sections:
            raise ValueError(f"split cannot cut axis {i} of {describe(v)} into {sections} equal parts: use array_split")
        size, extra = divmod(n, sections)
        return _parts(v, [k * size + min(k, extra) for k in range(sections + 1)], i)
    if equal:
        return _equal_parts(v, sections, i)
    size, extra = elementwise("floor_divide", n, sections), elementwise("remainder", n, sections)
    return _parts(v, [0, *(elementwise("add", size * k, elementwise("minimum", extra, k)) for k in range(1, sections)),
                      n], i)  # fmt: skip


def _equal_parts(v: Variable, sections: int, axis: int) -> list[Variable]:
    """Split into equal parts by a reshape, which raises where the length is no multiple of `sections`."""
    dims = dims_of(v)
    size = elementwise("floor_divide", dims[axis], sections)
    apart = reshape_to(v, (*dims[:axis], sections, size, *dims[axis + 1 :]))
    return [getitem(apart, (*[slice(None)] * axis, k)) for k in range(sections)]


@public("split", numpy=("split",))
def split(ary: Any, indices_or_sections: Any, axis: int = 0, *theirs: Any, **named: Any) -> list[Variable]:
    """The parts of an array along an axis, as a list.

    indices_or_sections: a number of equal parts, or the places to cut at (ints or integer scalars).
    Raises ValueError where there are no such equal parts, in the run where the length is not known before; TypeError
    for Theano's arguments (theirs, named), which are the lengths of the parts and their number `n_splits`.

    >>> import numpy as np
    >>> [part.type.shape for part in split(np.ones(9), [2, 5])]
    [(2,), (3,), (4,)]
    """
    v = as_variable(ary)
    if unknown := named.keys() - {"n_splits"}:
        raise TypeError(f"split has no argument {', '.join(sorted(unknown))}")
    if theirs or named or _is_count(axis, indices_or_sections, v):
        raise TypeError(
            "split takes the places to cut at, as NumPy does, and no number of parts: where Theano has the lengths "
            f"{indices_or_sections!r} of the parts, write {_with_places(indices_or_sections)}"
        )
    return _cut(v, indices_or_sections, axis, equal=True)


def _is_count(axis: Any, lengths: Any, v: Variable) -> bool:
    """Whether the argument `axis` is not an axis of v but the number of `lengths`, as in Theano's calls."""
    several = isinstance(lengths, list | tuple) or (isinstance(lengths, np.ndarray) and lengths.ndim == 1)
    return several and known_int(axis) == len(lengths) >= v.ndim


def _with_places(lengths: Any) -> str:
    """The text of a call of `split` that gives parts of these lengths."""
    if isinstance(lengths, list | tuple) and all(isinstance(n, int) for n in lengths):
        return f"T.split(x, {[sum(lengths[:k]) for k in range(1, len(lengths))]}, axis)"
    return "T.split(x, [n[0], n[0] + n[1], ...], axis)"


@public("array_split", numpy=("array_split",))
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Variable]:
    """As `split`; if parts cannot be equally long, the first ones are longer by 1."""
    return _cut(ary, indices_or_sections, axis, equal=False)


@public("hsplit", numpy=("hsplit",))
def hsplit(ary: Any, indices_or_sections: Any) -> list[Variable]:
    """`split` along the second axis, or the only one.  Raises ValueError for a scalar."""
    v = expect_axes("hsplit", ary, 1)
    return split(v, indices_or_sections, min(v.ndim - 1, 1))


@public("vsplit", numpy=("vsplit",))
def vsplit(ary: Any, indices_or_sections: Any) -> list[Variable]:
    """`split` along the first axis.  Raises ValueError for fewer than 2 axes."""
    return split(expect_axes("vsplit", ary, 2), indices_or_sections, 0)


@public("dsplit", numpy=("dsplit",))
def dsplit(ary: Any, indices_or_sections: Any) -> list[Variable]:
    """`split` along the third axis.  Raises ValueError for fewer than 3 axes."""
    return split(expect_axes("dsplit", ary, 3), indices_or_sections, 2)


@public("unstack", numpy=("unstack",))
def unstack(x: Any, *, axis: int = 0) -> tuple[Variable, ...]:
    """The entries along an axis, whose length must be known before the run.

    Raises ValueError where it is not, and for a scalar.
    """
    v = expect_axes("unstack", x, 1)
    i = axis_of(axis, v)
    n = v.type.shape[i]
    if n is None:
        raise ValueError(
            f"unstack needs a length that is known before the run, found axis {i} of {describe(v)}: "
            "loop over it with scanopt.scan"
        )
    return tuple(getitem(v, (*[slice(None)] * i, k)) for k in range(n))
