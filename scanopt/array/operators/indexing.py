"""The operators of indexing: getitem is `x[...]`, setitem the array with a part replaced.

An index is a tuple of entries: an int; ("slice", a, b, c) where a, b, c are ints, None or "in"
(an integer scalar among the arguments); "in" (an integer scalar); "array" (an integer array);
"mask" (a bool array, or a bool, which takes no axis and gives one of length 1 or 0); "newaxis".
Ellipsis and trailing full slices do not occur: they are replaced or dropped before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import expand, front, rows, spread, transpose
from scanopt.array.gradients.indexing import gradient_of_getitem, gradient_of_setitem
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import elementwise, where
from scanopt.array.parameters import INDEX, one_of
from scanopt.array.shapes import axes_text, broadcast, shape_text
from scanopt.array.types import Dim, TensorType
from scanopt.array.variable import Variable, apply

__all__ = [
    "FULL", "Label", "axis_labels", "batch_setitem", "index_pairs", "infer_setitem", "key_of", "may_miss",
    "refuse_setitem", "span",
]  # fmt: skip

Flags = Sequence[bool]
Args = Sequence[Variable]
Index = tuple[Any, ...]
Label = tuple[str, int]
FULL: Any = ("slice", None, None, None)


# Reading an index


def _is_slice(entry: Any) -> bool:
    return isinstance(entry, tuple)


def _advanced(index: Index) -> bool:
    return "array" in index or "mask" in index


def index_pairs(index: Index, inputs: Sequence[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Pair each entry of the index with the arguments that it uses."""
    rest = iter(inputs)
    for entry in index:
        if _is_slice(entry):
            yield entry, [next(rest) for part in entry if part == "in"]
        else:
            yield entry, [next(rest)] if entry in ("in", "array", "mask") else []


def span(entry: Any, inputs: Sequence[Any]) -> int:
    """The number of axes of the array that an entry indexes."""
    return 0 if entry == "newaxis" else inputs[0].ndim if entry == "mask" else 1


def axis_labels(index: Index, inputs: Sequence[Any], ndim: int) -> list[Label]:
    """A label for each axis of the result: ("axis", of x), ("new", number) or ("block", number).

    The block is the joint shape of the advanced indices: it takes their place, or comes first if
    they are apart.
    """
    advanced = _advanced(index)
    labels: list[Label] = []
    places: list[tuple[int, int]] = []  # places of advanced entries in the index and in the result
    sizes, axis, new = [0], 0, 0
    for i, (entry, given) in enumerate(index_pairs(index, inputs)):
        if entry == "newaxis":
            labels.append(("new", new))
            new += 1
        elif _is_slice(entry):
            labels.append(("axis", axis))
        elif advanced:
            places.append((i, len(labels)))
            sizes += [1 if entry == "mask" else given[0].ndim] if given else []
        axis += span(entry, given)
    labels += [("axis", k) for k in range(axis, ndim)]
    if places:
        together = places[-1][0] - places[0][0] == len(places) - 1
        at = places[0][1] if together else 0
        labels[at:at] = [("block", j) for j in range(max(sizes))]
    return labels


# Dtype and shape rules


def _slice_length(n: Dim, entry: Any, inputs: Sequence[Operand]) -> Dim:
    rest = iter(inputs)
    parts = [next(rest).value if part == "in" else part for part in entry[1:]]
    unknown = [p is None and e == "in" for p, e in zip(parts, entry[1:], strict=True)]
    if n == 0 or (parts[2] is not None and int(parts[2]) == 0):
        return 0
    if n is None or any(unknown):
        return None
    return len(range(*slice(*(None if p is None else int(p) for p in parts)).indices(n)))


def _check_range(value: Any, n: Dim, axis: int) -> None:
    if n is None or value is None:
        return
    bad = (value < -n) | (value >= n)
    if np.any(bad):
        wrong = int(np.asarray(value)[bad].flat[0]) if np.ndim(value) else int(value)
        raise IndexError(f"index {wrong} is out of bounds for axis {axis} with length {n}")


def _check_mask(mask: Operand, lengths: Sequence[Dim]) -> None:
    for n, m in zip(lengths, mask.shape, strict=False):
        if n is not None and m is not None and n != m:
            raise IndexError(f"a mask {shape_text(mask.shape)} on axes {shape_text(lengths)}")


def _block_shape(entry: Any, given: Sequence[Operand]) -> tuple[Dim, ...]:
    if entry != "mask":
        return given[0].shape if given else ()
    value = given[0].value
    return (None if value is None else int(np.count_nonzero(value)),)


def _check_inputs(entry: Any, given: Sequence[Operand]) -> None:
    for x in given:
        mask = entry == "mask"
        if np.dtype(x.dtype).kind not in ("b" if mask else "iu") or (not mask and (x.ndim > 0) != (entry == "array")):
            raise TypeError(f"{x.type} cannot be an index of the form {entry!r}")


def _infer_getitem(x: Operand, *inputs: Operand, index: Index) -> TensorType:
    lengths: dict[Label, Dim] = {}
    blocks: list[tuple[Dim, ...]] = []
    axis = 0
    for entry, given in index_pairs(index, inputs):
        _check_inputs(entry, given)
        here = x.shape[axis : axis + span(entry, given)]
        if len(here) < span(entry, given):
            raise IndexError(f"too many indices: {shape_text(x.shape)} has {axes_text(x.ndim)}")
        if _is_slice(entry):
            lengths["axis", axis] = _slice_length(here[0], entry, given)
        elif entry != "newaxis":
            if entry == "mask":
                _check_mask(given[0], here)
            blocks.append(_block_shape(entry, given))
        axis += len(here)
    lengths |= {("block", j): n for j, n in enumerate(broadcast(*blocks))}
    lengths |= {("axis", k): x.shape[k] for k in range(axis, x.ndim)}
    labels = axis_labels(index, inputs, x.ndim)
    return TensorType(x.dtype, tuple(lengths.get(label, 1) for label in labels))


def _refuse_getitem(x: Operand, *inputs: Operand, index: Index) -> None:
    """Raise for an index out of range and for a slice of step 0."""
    axis = 0
    for entry, given in index_pairs(index, inputs):
        here = x.shape[axis : axis + span(entry, given)]
        if _is_slice(entry):
            step = given[-1].value if entry[3] == "in" else entry[3]
            if step is not None and int(step) == 0:
                raise ValueError("slice step cannot be zero")
        elif entry not in ("newaxis", "mask") and here:
            _check_range(given[0].value if given else entry, here[0], axis)
        axis += len(here)


def infer_setitem(x: Operand, y: Operand, *inputs: Operand, index: Index, mode: str) -> TensorType:
    """The type of an array with a part replaced."""
    if x.dtype != y.dtype:
        raise TypeError(f"cannot set entries of {x.dtype} to {y.dtype}: cast them")
    if mode not in ("set", "inc"):
        raise ValueError(f"the mode of setitem is 'set' or 'inc', found {mode!r}")
    _check_part(_infer_getitem(x, *(Operand(i.dtype, i.shape) for i in inputs), index=index), y)
    return x.type


def refuse_setitem(x: Operand, y: Operand, *inputs: Operand, index: Index, mode: str) -> None:
    """Raise for an index out of range, and for a y that does not broadcast to the part."""
    _refuse_getitem(x, *inputs, index=index)
    _check_part(_infer_getitem(x, *inputs, index=index), y)


def _check_part(part: TensorType, y: Operand) -> None:
    """Raise ValueError if y does not broadcast to the part of an array that it replaces or is added to."""
    lead = part.ndim - y.ndim
    fits = lead >= 0 and all(
        n is None or n == 1 or m is None or n == m for n, m in zip(y.shape, part.shape[lead:], strict=False)
    )
    if not fits:
        raise ValueError(f"cannot put {shape_text(y.shape)} into {shape_text(part.shape)}")


# NumPy functions


def key_of(index: Index, inputs: Sequence[Any]) -> Any:
    """The index in NumPy's form, as in `x[key]`."""
    key: list[Any] = []
    for entry, given in index_pairs(index, inputs):
        if _is_slice(entry):
            rest = iter(given)
            key.append(slice(*(int(next(rest)) if p == "in" else p for p in entry[1:])))
        elif entry == "newaxis":
            key.append(None)
        else:
            key.append(int(given[0]) if entry == "in" else given[0] if given else entry)
    return tuple(key) if len(key) > 1 else key[0]


def _has_inputs(index: Index) -> bool:
    return any(e in ("in", "array", "mask") or (_is_slice(e) and "in" in e) for e in index)


def _bind_getitem(xp: Any, index: Index) -> Callable[..., Any]:
    if not _has_inputs(index):
        key = key_of(index, ())
        return lambda x: x[key]
    *before, last = index
    if last == ("slice", "in", "in", None) and not _has_inputs(tuple(before)):  # frequent: the columns of a product
        first = tuple(key_of((entry,), ()) for entry in before)
        return lambda x, start, stop: x[(*first, slice(int(start), int(stop)))]
    return lambda x, *inputs: x[key_of(index, inputs)]


def _bind_setitem(xp: Any, index: Index, mode: str) -> Callable[..., Any]:
    count = sum(len(given) for _, given in index_pairs(index, [None] * len(str(index))))
    at = _advanced(index)

    def setitem(x: Any, y: Any, *rest: Any) -> Any:
        out = rest[count] if len(rest) > count else None
        if out is None:
            out = xp.array(x, order="C")
        elif out is not x:
            out[...] = x
        given: Sequence[Any] = rest[:count]
        if mode == "set" and at:  # in C order, so that of two values for one place the last one stays
            y, *given = (xp.asarray(v, order="C") for v in (y, *given))
        key = key_of(index, given)
        if mode == "set":
            out[key] = y
        elif at:
            xp.add.at(out, key, y)
        else:
            out[key] += y
        return out

    return setitem


# Batched forms


def _batch_index(index: Index, with_x: bool, flags: Flags, inputs: Args, n: Any) -> Any:
    """The index of all rows at once: the new index, its arguments, and the label of the axis of rows.

    The fourth result is a function from labels for one row to labels for all rows.  None where rows
    have parts of different lengths, and for an index that may be 2**63 or more: NumPy refuses it as
    a number, but counts such entries of an array from the end.
    """
    if not any(flags):
        return (FULL, *index), tuple(inputs), ("axis", 0), lambda k: (k[0], k[1] + (k[0] == "axis"))
    block = _block_ndim(index, flags, inputs)
    entries: list[Any] = ["array"] if with_x else []
    new: list[Variable] = [expand(arange(n), range(1, 1 + block))] if with_x else []
    for entry, given in index_pairs(index, list(zip(inputs, flags, strict=True))):
        batched = [p for p, f in given if f]
        if batched and (_is_slice(entry) or entry == "mask"):
            return None
        if entry == "in" and given[0][0].dtype == "uint64":
            return None
        entries.append("array" if batched else entry)
        new += [front(p, block) if f else p for p, f in given]
    shift = {"axis": int(with_x), "block": 1, "new": 0}
    return tuple(entries), tuple(new), ("block", 0), lambda k: (k[0], k[1] + shift[k[0]])


def _block_ndim(index: Index, flags: Flags, inputs: Args) -> int:
    sizes = [0]
    for entry, given in index_pairs(index, list(zip(inputs, flags, strict=True))):
        if entry in ("array", "mask"):
            sizes += [1 if entry == "mask" else p.ndim - f for p, f in given]
    return max(sizes)


class _Entry:
    """Stands for one row of an argument: only its number of axes is known."""

    def __init__(self, x: Variable, batched: bool) -> None:
        self.ndim = x.ndim - batched


def _one_row(index: Index, flags: Flags, inputs: Args, ndim: int) -> list[Label]:
    return axis_labels(index, [_Entry(p, f) for p, f in zip(inputs, flags, strict=True)], ndim)


def _batch_getitem(op: Op, batched: Flags, args: Args) -> Variable | None:
    index, (x, *inputs), flags = op.options["index"], args, batched[1:]
    ndim = x.ndim - batched[0]
    found = _batch_index(index, batched[0], flags, inputs, rows(batched, args))
    if found is None:
        return None
    new_index, new_inputs, first, rename = found
    have = axis_labels(new_index, new_inputs, x.ndim)
    want = [first, *map(rename, _one_row(index, flags, inputs, ndim))]
    result = apply(Op.make("getitem", index=new_index), x, *new_inputs)
    return transpose(result, [have.index(k) for k in want])


def batch_setitem(op: Op, batched: Flags, args: Args) -> Variable | None:
    """The batched form of operators that take an array, the values put into it, and an index."""
    index, (x, y, *inputs), flags = op.options["index"], args, batched[2:]
    n = rows(batched, args)
    if not batched[0]:
        x = spread(x, n)
    found = _batch_index(index, True, flags, inputs, n)
    if found is None:
        return _batch_mask(op, batched, (x, *args[1:]))
    new_index, new_inputs, first, rename = found
    have = axis_labels(new_index, new_inputs, x.ndim)
    want = [first, *map(rename, _one_row(index, flags, inputs, x.ndim - 1))]
    order = [want.index(k) for k in have]
    if batched[1]:
        y = front(y, len(want) - 1)
    elif order != list(range(len(want))):
        y = expand(y, range(len(want) - y.ndim))
    y = transpose(y, order) if y.ndim == len(want) else y
    return apply(Op.make(op.name, **{**op.options, "index": new_index}), x, y, *new_inputs)


def _batch_mask(op: Op, batched: Flags, args: Args) -> Variable | None:
    """The batched form with a single mask as the index, if y has the same values for all it picks: a `where`."""
    x, y, *masks = args
    if op.options["index"] != ("mask",):
        return None
    mask = masks[0]
    tail = x.ndim - 1 - (mask.ndim - batched[2])
    if y.ndim - batched[1] > tail:
        return None
    mask = expand(mask, range(mask.ndim, mask.ndim + tail))
    y = front(y, x.ndim - 1) if batched[1] else y
    return where(mask, elementwise("add", x, y) if op.options["mode"] == "inc" else y, x)


def may_miss(op: Op) -> bool:
    """Whether an index may be out of range, or a step 0."""
    index = op.options["index"]
    if index == ("mask",):
        return False
    return any(e[3] in ("in", 0) if _is_slice(e) else e != "newaxis" for e in index)


def _depends_on_values(op: Op) -> bool:
    return any(e == "mask" or (_is_slice(e) and "in" in e) for e in op.options["index"])


register(
    OpSpec(
        "getitem",
        _bind_getitem,
        _infer_getitem,
        _batch_getitem,
        batch_exact=True,
        cost=lambda op: "gather" if _advanced(op.options["index"]) else "free",
        view=lambda op: not _advanced(op.options["index"]),
        can_raise=may_miss,
        data_shape=_depends_on_values,
        gradient=gradient_of_getitem,
        refuse=_refuse_getitem,
        accepts_longer=lambda op: "mask" not in op.options["index"],  # which is as long as the axis
        doc="part of an array",
        params={"index": INDEX},
    )
)
register(
    OpSpec(
        "setitem",
        _bind_setitem,
        infer_setitem,
        batch_setitem,
        cost="memory",
        out=True,
        batch_exact=lambda op: op.options["mode"] == "set" or not _advanced(op.options["index"]),
        can_raise=may_miss,
        gradient=gradient_of_setitem,
        refuse=refuse_setitem,
        doc="the array with a part replaced or added to",
        params={"index": INDEX, "mode": one_of("set", "inc")},
    )
)
