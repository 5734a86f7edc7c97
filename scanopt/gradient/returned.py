"""Operators that return an array that was there before: gradients pass them by.

`stack([x, y])[0]` is x, `concatenate([x[:k], x[k:]])` too.  A gradient that went through would be put into zeros, cut
apart and added up again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from scanopt.array.batching import has_lengths
from scanopt.array.operators.indexing import FULL
from scanopt.array.variable import Apply, Constant, Node, Variable

__all__ = ["returned"]

Found = tuple[Variable, list[Variable]] | None
"""The variable whose value an operator returns, and those in between."""


def returned(node: Node) -> Found:
    """The variable whose value an operator returns, and those in between."""
    rule = _RULES.get(node.op.name) if isinstance(node, Apply) else None
    found = None if rule is None or not isinstance(node, Apply) else rule(node)
    if found is None or (found[0].dtype, found[0].ndim) != (node.outputs[0].dtype, node.outputs[0].ndim):
        return None
    return found


def _made(v: Variable, *names: str) -> Apply | None:
    return v.owner if isinstance(v.owner, Apply) and v.owner.op.name in names else None


def _entry(node: Apply) -> Found:
    """One of stacked arrays."""
    (x, *bounds), index = node.inputs, node.op.options["index"]
    made = _made(x, "stack")
    if made is None or bounds or not isinstance(index[-1], int) or any(e != FULL for e in index[:-1]):
        return None
    k, n = index[-1], len(made.inputs)
    return (made.inputs[k], [x]) if len(index) - 1 == made.op.options["axis"] and -n <= k < n else None


def _joined(node: Apply) -> Found:
    """All parts of one array, one after the other.

    x[:k] and x[k:] are that for any k, more parts if their bounds ascend from 0.
    """
    cuts = [made for v in node.inputs if (made := _made(v, "getitem")) is not None]
    if node.op.options["axis"] or len(cuts) < len(node.inputs) or len({c.inputs[0] for c in cuts}) > 1:
        return None
    bounds = [b for c in cuts if (b := _bounds(c)) is not None]
    if len(bounds) < len(cuts) or bounds[0][0] is not None or bounds[-1][1] is not None:
        return None
    ends = [end for _, end in bounds[:-1]]
    meet = all(_same(a[1], b[0]) for a, b in pairwise(bounds))
    return (cuts[0].inputs[0], [*node.inputs]) if meet and (len(ends) == 1 or _ascending(ends)) else None


def _bounds(cut: Apply) -> tuple[Any, Any] | None:
    """Where a slice of rows begins and ends; None counts as no bound."""
    index, rest = cut.op.options["index"], iter(cut.inputs[1:])
    if len(index) != 1 or not isinstance(index[0], tuple) or index[0][3] is not None:
        return None
    start, stop = (next(rest) if e == "in" else e for e in index[0][1:3])
    return start, stop


def _same(a: Any, b: Any) -> bool:
    """Whether two bounds are written alike."""
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
    """An array of floats that was cast to a dtype with all of its values, and back."""
    x = node.inputs[0]
    made = _made(x, "cast")
    if made is None:
        return None
    y = made.inputs[0]
    fits = np.dtype(y.dtype).kind == "f" and np.can_cast(y.dtype, x.dtype, "safe")
    return (y, [x]) if fits else None


def _reshaped(node: Apply) -> Found:
    """An array that has this shape, before it was reshaped or got axes of length 1."""
    (x, *inputs), shape = node.inputs, iter(node.op.options["shape"])
    if "lead" in node.op.options:
        return None
    given = iter(inputs)
    dims = [next(given) if n is None else n for n in shape]
    between: list[Variable] = []
    for v in _before(x):
        if has_lengths(v, dims):
            return v, between
        between.append(v)
    return None


def _before(v: Variable) -> Iterator[Variable]:
    """An array, and those that it is an arrangement of."""
    yield v
    while (made := _made(v, "reshape", "expand_dims", "squeeze")) is not None:
        v = made.inputs[0]
        yield v


def _either(node: Apply) -> Found:
    """One of two that are the same."""
    x, y = node.inputs
    return (x, []) if x is y else None


_RULES = {
    "getitem": _entry, "concatenate": _joined, "real": _back, "cast": _back, "reshape": _reshaped, "maximum": _either,
    "minimum": _either,
}  # fmt: skip
