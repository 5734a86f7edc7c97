"""Recognizes operators that return an array that existed before, so that gradients can bypass them.

`stack([x, y])[0]` is x, and so are `concatenate([x[:k], x[k:]])` and `where(m, x, x)`.  A gradient through these
operators would be put into zeros, cut apart and added up again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from scanopt.array.batching import elementwise, has_lengths
from scanopt.array.operators.indexing import FULL
from scanopt.array.variable import Apply, Constant, Node, Variable

__all__ = ["returned"]

Found = tuple[Variable, list[Variable]] | None
"""The variable whose value an operator returns, and the variables in between; None if there is none."""


def returned(node: Node) -> Found:
    """The variable whose value an operator returns, and the variables in between; None if there is none."""
    rule = _RULES.get(node.op.name) if isinstance(node, Apply) else None
    found = None if rule is None or not isinstance(node, Apply) else rule(node)
    if found is None or (found[0].dtype, found[0].ndim) != (node.outputs[0].dtype, node.outputs[0].ndim):
        return None
    return found


def _made(v: Variable, *names: str) -> Apply | None:
    return v.owner if isinstance(v.owner, Apply) and v.owner.op.name in names else None


def _part(node: Apply) -> Found:
    """getitem: one of several stacked arrays, or the whole array that was padded by a row."""
    return _entry(node) or _padded(node)


def _padded(node: Apply) -> Found:
    """x in concatenate([r, x])[1:] and concatenate([x, r])[:-1], where r has one row if x has any."""
    (x, *bounds), index = node.inputs, node.op.options["index"]
    made = _made(x, "concatenate")
    if made is None or bounds or len(made.inputs) != 2 or made.op.options["axis"]:
        return None
    first, last = made.inputs
    match index:
        case (("slice", 1, None, None),) if _row_of(first, last):
            return last, [x, first]
        case (("slice", None, -1, None),) if _row_of(last, first):
            return first, [x, last]
        case _:
            return None


def _row_of(r: Variable, x: Variable) -> bool:
    """Whether r is x[:1] or x[-1:], or a full_like of these."""
    while (made := _made(r, "full_like")) is not None:
        r = made.inputs[0]
    cut = _made(r, "getitem")
    ends = ((("slice", None, 1, None),), (("slice", -1, None, None),))
    return cut is not None and cut.inputs[0] is x and cut.op.options["index"] in ends


def _entry(node: Apply) -> Found:
    """x[k] in stack([..., x[k], ...])[k]."""
    (x, *bounds), index = node.inputs, node.op.options["index"]
    made = _made(x, "stack")
    if made is None or bounds or not isinstance(index[-1], int) or any(e != FULL for e in index[:-1]):
        return None
    k, n = index[-1], len(made.inputs)
    return (made.inputs[k], [x]) if len(index) - 1 == made.op.options["axis"] and -n <= k < n else None


def _joined(node: Apply) -> Found:
    """concatenate of all parts of one array, in order.

    x[:k] and x[k:] are all parts for any k; more than two parts are if their bounds ascend and are not negative.
    """
    cuts = [made for v in node.inputs if (made := _made(v, "getitem")) is not None]
    if len(cuts) < len(node.inputs) or len({c.inputs[0] for c in cuts}) > 1:
        return None
    bounds = [b for c in cuts if (b := _bounds(c, node.op.options["axis"])) is not None]
    if len(bounds) < len(cuts) or bounds[0][0] is not None or bounds[-1][1] is not None:
        return None
    ends = [end for _, end in bounds[:-1]]
    meet = all(_same(a[1], b[0]) for a, b in pairwise(bounds))
    return (cuts[0].inputs[0], [*node.inputs]) if meet and (len(ends) == 1 or _ascending(ends)) else None


def _bounds(cut: Apply, axis: int) -> tuple[Any, Any] | None:
    """The bounds of a slice along an axis, each None if open; None if `cut` is no such slice."""
    (*before, entry), rest = cut.op.options["index"], iter(cut.inputs[1:])
    if before != [FULL] * axis or not isinstance(entry, tuple) or entry[3] is not None:
        return None
    start, stop = (next(rest) if e == "in" else e for e in entry[1:3])
    return start, stop


def _same(a: Any, b: Any) -> bool:
    """Whether two bounds are the same int or the same expression."""
    if isinstance(a, Constant) and isinstance(b, Constant):
        return bool(a.data == b.data)
    if isinstance(a, Variable) and isinstance(b, Variable):
        x, y = a.owner, b.owner
        if a is b or not isinstance(x, Apply) or not isinstance(y, Apply):
            return a is b
        return x.op == y.op and len(x.inputs) == len(y.inputs) and all(map(_same, x.inputs, y.inputs))
    return isinstance(a, int) and isinstance(b, int) and a == b


def _ascending(ends: list[Any]) -> bool:
    return all(isinstance(e, int) and e >= 0 for e in ends) and ends == sorted(ends)


def _back(node: Apply) -> Found:
    """cast, real: an array of floats that was cast to a dtype that has all its values, and back."""
    x = node.inputs[0]
    made = _made(x, "cast")
    if made is None:
        return None
    y = made.inputs[0]
    fits = np.dtype(y.dtype).kind == "f" and np.can_cast(y.dtype, x.dtype, "safe")
    return (y, [x]) if fits else None


def _reshaped(node: Apply) -> Found:
    """reshape: an earlier array that had this shape before it was reshaped or got axes of length 1."""
    x = node.inputs[0]
    if "lead" in node.op.options:
        return None
    dims = _lengths(node)
    between: list[Variable] = []
    for v in _before(x):
        if has_lengths(v, dims):
            return v, between
        between.append(v)
    return None


def _lengths(node: Apply) -> list[Any]:
    """The lengths to which a node reshapes or broadcasts."""
    given = iter(node.inputs[1:])
    return [next(given) if n is None else n for n in node.op.options["shape"]]


def _before(v: Variable) -> Iterator[Variable]:
    """An array, then the arrays it was made from by reshaping, or by adding or dropping axes of length 1."""
    yield v
    while (made := _made(v, "reshape", "expand_dims", "squeeze")) is not None:
        v = made.inputs[0]
        yield v


def _broadcast(node: Apply) -> Found:
    """broadcast_to: an array that already has the shape."""
    x = node.inputs[0]
    return (x, []) if has_lengths(x, _lengths(node)) else None


def _chosen(node: Apply) -> Found:
    """x in where(m, x, x), if m does not broadcast it."""
    m, x, y = node.inputs
    return (x, []) if x is y and _shaped_as(m, x) else None


def _shaped_as(v: Variable, x: Variable) -> bool:
    """Whether v surely has the shape of x or is a scalar: it is computed elementwise from x and scalars."""
    if v is x or not v.ndim:
        return True
    if not isinstance(v.owner, Apply):
        return False
    if v.owner.op.name == "full_like":
        return _shaped_as(v.owner.inputs[0], x)
    return v.owner.op.spec.batch is elementwise and all(_shaped_as(a, x) for a in v.owner.inputs)


def _written(node: Apply) -> Found:
    """setitem: y if it replaces the whole array, or x if a slice of x is set to the value that it has."""
    (x, y, *rest), index = node.inputs, node.op.options["index"]
    own = _made(y, "getitem")
    if node.op.options["mode"] != "set" or not all(isinstance(e, tuple) for e in index):
        return None
    if all(e == FULL for e in index) and x.ndim == y.ndim and _shaped_as(x, y):
        return y, [x]
    if own is None or own.op.options["index"] != index:
        return None
    return (x, [y]) if all(a is b for a, b in zip(own.inputs, (x, *rest), strict=True)) else None


def _of_one(node: Apply) -> Found:
    """sum, mean, prod, max, min over an axis of length 1 that expand_dims added: the array without it."""
    made = _made(node.inputs[0], "expand_dims")
    if made is None or node.op.options.get("keepdims") or made.op.options["axis"] != node.op.options["axis"]:
        return None
    return made.inputs[0], [node.inputs[0]]


def _first_power(node: Apply) -> Found:
    """x in x ** 1."""
    x, k = node.inputs
    return (x, [k]) if isinstance(k, Constant) and not k.ndim and k.data == 1 else None


def _either(node: Apply) -> Found:
    """x in maximum(x, x) and minimum(x, x)."""
    x, y = node.inputs
    return (x, []) if x is y else None


_RULES = {
    "getitem": _part, "concatenate": _joined, "real": _back, "cast": _back, "reshape": _reshaped, "maximum": _either,
    "minimum": _either, "broadcast_to": _broadcast, "where": _chosen, "setitem": _written, "power": _first_power,
    **dict.fromkeys(("sum", "mean", "prod", "max", "min"), _of_one),
}  # fmt: skip
