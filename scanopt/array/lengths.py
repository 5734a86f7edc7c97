"""Where the length of an axis comes from: two axes from one place are equally long, whatever that length is."""

from __future__ import annotations

from scanopt.array import batching
from scanopt.array.variable import Apply, Variable

__all__ = ["Place", "length", "lengths", "origin", "same_shape"]

Place = tuple[Variable, int]
"""An axis of a variable."""

_KEEPING = {"full_like", "cumsum", "cumprod", "cumaffine", "sort", "argsort", "softmax", "disconnected_grad",
            "zero_grad", "grad_clip", "inv", "cholesky"}  # fmt: skip
"""Operators, no elementwise ones, whose result has the shape of the first argument."""

_SYSTEMS = {"solve", "solve_triangular", "cho_solve", "lu_solve"}
"""Operators whose result has the shape of the second argument, where the first is one matrix."""

_LOOKS = 200
"""So many axes are looked at for one question."""


def origin(x: Variable, axis: int) -> int | Place:
    """The length of an axis where it is known, else the axis that it is the length of, as far back as can be seen.

    >>> from scanopt import tensor as T
    >>> x, W = T.dvector("x"), T.dmatrix("W")
    >>> origin(T.tanh(T.dot(x, W) + 1.0), 0)
    ('W' float64[?, ?], 1)
    """
    return _origin(x, axis, {})


def length(x: Variable, axis: int) -> int | Variable:
    """The length of an axis, asked of what it comes from: x itself need not be computed for it."""
    found = origin(x, axis)
    return found if isinstance(found, int) else batching.dim(*found)


def lengths(x: Variable) -> list[int | Variable]:
    """The same for all axes."""
    return [length(x, i) for i in range(x.ndim)]


def same_shape(x: Variable, y: Variable) -> bool:
    """Whether it can be seen that two arrays have one shape.

    >>> from scanopt import tensor as T
    >>> x, y = T.dvectors("x", "y")
    >>> same_shape(T.exp(x) * 2.0, x), same_shape(x, y)
    (True, False)
    """
    return x.ndim == y.ndim and all(same_length(x, i, y, i) for i in range(x.ndim))


def same_length(x: Variable, i: int, y: Variable, j: int) -> bool:
    """Whether it can be seen that axis i of x is as long as axis j of y."""
    a, b = origin(x, i), origin(y, j)
    if isinstance(a, int) or isinstance(b, int):
        return a == b
    return a[0] is b[0] and a[1] == b[1]


def _origin(x: Variable, axis: int, known: dict[Place, int | Place]) -> int | Place:
    n = x.type.shape[axis]
    if n is not None:
        return n
    here = (x, axis)
    if here not in known:
        known[here] = here
        sources = _sources(x, axis) if len(known) < _LOOKS else []
        found = {_origin(*place, known) for place in sources}
        if len(found) == 1:
            known[here] = found.pop()
    return known[here]


def _sources(x: Variable, axis: int) -> list[Place]:
    """Axes of the arguments that this axis gets its length from: those that are not 1 agree."""
    node = x.owner
    if not isinstance(node, Apply):
        return []
    op, args = node.op, node.inputs
    if op.spec.batch is batching.elementwise:
        places = [(a, axis + a.ndim - x.ndim) for a in args]
        return [(a, i) for a, i in places if i >= 0 and a.type.shape[i] != 1]
    if op.name in _KEEPING:
        return [(args[0], axis)]
    if op.name == "transpose":
        return [(args[0], op.options["axes"][axis])]
    if op.name in _SYSTEMS and args[0].ndim == 2:
        return [(args[1], axis)]
    if op.name == "broadcast_to":
        asked = args[1 + op.options["shape"][:axis].count(None)].owner
        if isinstance(asked, Apply) and asked.op.name == "shape_i":
            return [(asked.inputs[0], asked.op.options["axis"])]
    if op.name in ("dot", "matmul") and max(a.ndim for a in args) <= 2:
        a, b = args
        return [(a, axis)] if axis < a.ndim - 1 else [(b, b.ndim - 1)]
    return []
