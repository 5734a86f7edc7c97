"""Indexing as users write it: `x[...]`, `set_subtensor` and `inc_subtensor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import expand, transpose
from scanopt.array.constants import as_tensor_variable, as_variable, is_weak, weak_constant
from scanopt.array.no_arrays import show
from scanopt.array.op import Op
from scanopt.array.operators.elementwise import cast
from scanopt.array.operators.indexing import FULL, Label, axis_labels, span
from scanopt.array.registry import public
from scanopt.array.variable import Apply, Constant, Variable, apply, describe

__all__ = ["along", "getitem", "inc_subtensor", "set_subtensor"]

Index = tuple[Any, ...]

_LARGEST = 2**63 - 1
"""No array is longer than this, so larger indices and bounds of slices are replaced by it."""


def _whole(x: Any) -> int:
    return max(-_LARGEST, min(int(x), _LARGEST))


def _read_one(item: Any) -> tuple[Any, tuple[Variable, ...]]:
    """Read one item of a user's index as an entry and its arguments."""
    if item is None:
        return "newaxis", ()
    if isinstance(item, slice):
        return _read_slice(item)
    if isinstance(item, bool | np.bool_):
        raise TypeError(f"the bool {item} cannot be an index; use a mask array")
    if isinstance(item, int | np.integer):
        return _whole(item), ()
    v = None if isinstance(item, str | float | complex) else as_tensor_variable(item)
    if v is not None and isinstance(item, list | tuple) and v.type.shape == (0,):
        v = Constant(np.zeros(0, "int64"))
    kind = "" if v is None else np.dtype(v.dtype).kind
    if v is None or kind not in "iub":
        cast = "" if v is None else ": cast it with .astype('int64') if that is meant"
        raise TypeError(f"an index is an integer, a slice or a mask, found {show(item)}{cast}")
    if v.ndim == 0 and kind != "b":
        return (_whole(v.data), ()) if isinstance(v, Constant) else ("in", (v,))
    return ("mask" if kind == "b" else "array"), (v,)


def _read_slice(item: slice) -> tuple[Any, tuple[Variable, ...]]:
    parts: list[Any] = []
    inputs: list[Variable] = []
    for part in (item.start, item.stop, item.step):
        entry, given = (None, ()) if part is None else _read_one(part)
        if not (entry is None or isinstance(entry, int) or entry == "in"):
            raise TypeError(f"a bound of a slice is an integer scalar, found {show(part)}")
        parts.append(entry)
        inputs += given
    start, stop, step = parts
    step = None if step == 1 else step
    if start == 0 and (step is None or (isinstance(step, int) and step > 0)):
        start = None
    return ("slice", start, stop, step), tuple(inputs)


def _picked(item: Any) -> list[Any]:
    """The item; a mask known to have no elements becomes empty index arrays, which fit axes of any length."""
    if isinstance(item, np.ndarray | Variable) and item.dtype == "bool":
        shape = item.type.shape if isinstance(item, Variable) else item.shape
        return [np.zeros(0, "int64")] * len(shape) if 0 in shape else [item]
    return [item]


def _read(x: Variable, key: Any) -> tuple[Index, tuple[Variable, ...], bool]:
    """A user's index in normal form, its arguments, and whether an ellipsis of no axes separates two arrays."""
    items = [part for item in (key if isinstance(key, tuple) else (key,)) for part in _picked(item)]
    try:
        read = [(Ellipsis, ()) if item is Ellipsis else _read_one(item) for item in items]
    except TypeError as error:
        raise TypeError(f"{error} (an index of {describe(x)})") from None
    taken = sum(span(e, given) for e, given in read if e is not Ellipsis)
    if taken > x.ndim:
        raise IndexError(f"too many indices: {taken} for {describe(x)}")
    dots = [i for i, (e, _) in enumerate(read) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have one ellipsis only")
    apart = bool(dots) and taken == x.ndim and all(_picks(part) for part in (read[: dots[0]], read[dots[0] + 1 :]))
    if dots:
        read[dots[0] : dots[0] + 1] = [(FULL, ())] * (x.ndim - taken)
    while read and read[-1][0] == FULL:
        read.pop()
    return tuple(e for e, _ in read), tuple(p for _, given in read for p in given), apart


def _picks(part: Sequence[tuple[Any, tuple[Variable, ...]]]) -> bool:
    """Whether a part of an index has an array, or a number, which counts as one beside arrays."""
    return any(e != "newaxis" and not isinstance(e, tuple) for e, _ in part)


def _block_first(x: Variable, labels: Sequence[Label]) -> Variable:
    """x with the axes of its advanced indices first, where NumPy puts them if these indices are apart."""
    return transpose(x, sorted(range(x.ndim), key=lambda k: labels[k][0] != "block"))


def along(v: Variable, axis: int, item: Any) -> Variable:
    """`v[..., item, ...]`, with the item at this axis."""
    return getitem(v, (*[slice(None)] * axis, item))


def getitem(x: Any, key: Any) -> Variable:
    """`x[key]` as NumPy reads it: ints, slices, Ellipsis, None, integer arrays, masks, any mixed.

    An index that takes all of x gives x.  Raises IndexError for too many indices or one known to be out of range.

    >>> getitem(np.ones((3, 4)), (0, slice(1, None))).type.shape
    (3,)
    """
    v = as_variable(x)
    index, inputs, apart = _read(v, key)
    if not index:
        return v
    if all(e in ("newaxis", FULL) for e in index):
        return expand(v, [i for i, e in enumerate(index) if e == "newaxis"])
    found = apply(Op.make("getitem", index=index), v, *inputs)
    return _block_first(found, axis_labels(index, inputs, v.ndim)) if apart else found


@public("getitem")
def part(x: Any, key: Any) -> Variable:
    """`x[key]` as users write it, a part that `set` and `inc` can change; an index that takes all of x gives one too.

    >>> v = as_tensor_variable(np.zeros(3))[1:]
    >>> part(v, slice(None)) is v, part(v, slice(None)).set(1.0).type.shape
    (False, (2,))
    """
    v = as_variable(x)
    found = getitem(v, key)
    if found is not v:
        return found
    return apply(Op.make("getitem", index=(FULL,)), v) if v.ndim else apply(Op.make("reshape", shape=()), v)


def _turned_back(y: Any, axes: Sequence[int]) -> Any:
    """y with its axes in the order of the part, if y was given for the part transposed by `axes`."""
    if is_weak(y):
        return y
    new = as_tensor_variable(y)
    if not 0 < new.ndim <= len(axes):
        return new
    return transpose(expand(new, range(len(axes) - new.ndim)), np.argsort(axes).tolist())


def _update(part: Variable, y: Any, mode: str) -> Variable:
    owner = part.owner if isinstance(part, Variable) else None
    if isinstance(owner, Apply) and owner.op.name == "transpose":
        return _update(owner.inputs[0], _turned_back(y, owner.op.options["axes"]), mode)
    if isinstance(owner, Apply) and owner.op.name == "reshape" and part.ndim == owner.inputs[0].ndim == 0:
        return getitem(_update(getitem(expand(owner.inputs[0], (0,)), 0), y, mode), 0)
    if not isinstance(owner, Apply) or owner.op.name not in ("getitem", "expand_dims"):
        found = describe(part) if isinstance(part, Variable) else repr(part)
        raise TypeError(f"{mode}_subtensor takes a part x[...] of an array, written in place, found {found}")
    x, *inputs = owner.inputs
    weak = is_weak(y)
    new = y if weak else as_tensor_variable(y)
    if not np.can_cast(np.result_type(x.dtype, y) if weak else new.dtype, x.dtype, "same_kind"):
        what = describe(new) if isinstance(new, Variable) else repr(y)
        raise TypeError(f"{mode}_subtensor cannot put {what} into {describe(x)}: cast it first")
    value = weak_constant(y, x.dtype, (x,)) if weak else new
    options = owner.op.options
    if owner.op.name == "expand_dims":  # x[None]
        index: Any = tuple("newaxis" if i in options["axis"] else FULL for i in range(part.ndim))
    else:
        index = options["index"]
    op = Op.make("setitem", index=index, mode=mode)
    return apply(op, x, cast(value, x.dtype), *inputs)


@public()
def set_subtensor(x: Any, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False) -> Variable:
    """The array v with its part x = v[...] replaced by y; v itself is not changed.

    x: the result of indexing, as in `set_subtensor(v[1:3], 0)`, also with its axes in another order.  y: broadcasts
        to it.  inplace, tolerate_inplace_aliasing: without effect; if nothing else reads v, it is overwritten anyway.
    Raises TypeError when x is not such a part, or for a cast that loses precision.

    >>> set_subtensor(as_tensor_variable(np.zeros(3))[1:], 1.0)
    a result of setitem float64[3]
    """
    return _update(x, y, "set")


@public()
def inc_subtensor(x: Any, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False) -> Variable:
    """The array v with y added to its part x = v[...]; repeated indices add up.  The rest as for `set_subtensor`."""
    return _update(x, y, "inc")
