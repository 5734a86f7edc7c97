"""Where the length of an axis comes from: two axes from one place are equally long, whatever that length is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from scanopt.array import batching
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Apply, Variable

__all__ = ["Place", "length", "lengths", "origins", "same_length", "same_shape"]

Place = tuple[Variable, int]
"""An axis of a variable."""

_KEEPING = {"full_like", "cumsum", "cumprod", "cumaffine", "sort", "argsort", "softmax", "disconnected_grad",
            "zero_grad", "grad_clip", "inv", "cholesky"}  # fmt: skip
"""Operators, beside the elementwise ones, whose result has the shape of the first argument."""

_WITH_AXES = {"sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "squeeze", "expand_dims", "sum_to"}
"""Operators that sum over axes, add or remove them, and leave the others as they are."""

_SYSTEMS = {"solve", "solve_triangular", "cho_solve", "lu_solve"}
"""Operators whose result has the shape of the second argument if the first is a single matrix."""

_LOOKS = 200
"""At most this many axes are looked at for one question."""

_MOST = 6
"""If a length may come from more axes than this many, the axis itself counts as its only origin."""


def origins(x: Variable, axis: int) -> int | tuple[Place, ...]:
    """The length of an axis where it is known, else the axes that its length comes from, as far back as can be seen.

    If there are several, those whose length is not 1 are equally long.

    >>> from scanopt import tensor as T
    >>> x, W = T.dvector("x"), T.dmatrix("W")
    >>> origins(T.tanh(T.dot(x, W) + 1.0), 0)
    (('W' float64[?, ?], 1),)
    """
    return _origins(x, axis, {})


def length(x: Variable, axis: int) -> int | Variable:
    """The length of an axis, taken from the arrays that it comes from, so that x itself need not be computed.

    The least common multiple of lengths that broadcast together is the one that is not 1, if there is one.
    """
    found = origins(x, axis)
    return found if isinstance(found, int) else reduce(FUNCTIONS["lcm"], map(_asked, found))


def _asked(place: Place) -> int | Variable:
    """The symbolic length of an axis: the one it was broadcast or summed to, else that of the array itself."""
    given = _given(*place)
    return batching.dim(*place) if given is None else given


def _given(x: Variable, axis: int) -> Variable | None:
    """The symbolic length that an axis was broadcast or summed to, None if it was not."""
    node = x.owner
    if not isinstance(node, Apply):
        return None
    op, place = node.op, None
    if op.name == "broadcast_to":
        place = op.options["shape"][:axis].count(None)
    elif op.name == "sum_to" and axis in op.options["axis"]:
        place = op.options["axis"].index(axis)
    return None if place is None else node.inputs[1 + place]


def lengths(x: Variable) -> list[int | Variable]:
    """The `length` of each axis."""
    return [length(x, i) for i in range(x.ndim)]


def same_shape(x: Variable, y: Variable) -> bool:
    """Whether the graph shows that two arrays have the same shape.

    >>> from scanopt import tensor as T
    >>> x, y = T.dvectors("x", "y")
    >>> same_shape(T.exp(x) * 2.0, x), same_shape(x, y)
    (True, False)
    """
    return x.ndim == y.ndim and all(same_length(x, i, y, i) for i in range(x.ndim))


def same_length(x: Variable, i: int, y: Variable, j: int) -> bool:
    """Whether the graph shows that axis i of x is as long as axis j of y."""
    a, b = origins(x, i), origins(y, j)
    return a == b if isinstance(a, int) or isinstance(b, int) else _placed(a) == _placed(b)


def _placed(found: Sequence[Place]) -> set[tuple[int, int]]:
    return {(id(x), axis) for x, axis in found}


def _origins(x: Variable, axis: int, known: dict[Place, int | tuple[Place, ...]]) -> int | tuple[Place, ...]:
    n = x.type.shape[axis]
    if n is not None:
        return n
    here = (x, axis)
    if here not in known:
        known[here] = (here,)
        sources = _sources(x, axis) if len(known) < _LOOKS else []
        known[here] = _together([_origins(*place, known) for place in sources]) or (here,)
    return known[here]


def _together(found: Sequence[int | tuple[Place, ...]]) -> int | tuple[Place, ...]:
    """The union of all origins found; () if there are too many, or if they differ in kind or in a known length."""
    if any(isinstance(x, int) for x in found):
        return found[0] if len({*found}) == 1 else ()
    places = dict.fromkeys(place for some in found if not isinstance(some, int) for place in some)
    return tuple(places) if len(places) <= _MOST else ()


def _sources(x: Variable, axis: int) -> list[Place]:
    """Axes of the arguments from which this axis gets its length; those whose length is not 1 are equally long."""
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
    if (given := _given(x, axis)) is not None:
        return _measured(given)
    if op.name in _WITH_AXES:
        stay = op.name in ("expand_dims", "sum_to") or op.options.get("keepdims")
        gone = () if stay else op.options["axis"]
        new = op.options["axis"] if op.name == "expand_dims" else ()
        kept = [i for i in range(args[0].ndim) if i not in gone]
        return [(args[0], kept[axis - sum(i < axis for i in new)])]
    if op.name in ("dot", "matmul") and max(a.ndim for a in args) <= 2:
        a, b = args
        return [(a, axis)] if axis < a.ndim - 1 else [(b, b.ndim - 1)]
    return []


def _measured(length: Variable | None) -> list[Place]:
    """The axes whose length a symbolic length is; none if it is something else."""
    node = None if length is None else length.owner
    if not isinstance(node, Apply):
        return []
    if node.op.name == "shape_i":
        return [(node.inputs[0], node.op.options["axis"])]
    parts = [_measured(n) for n in node.inputs] if node.op.name == "lcm" else []
    return [place for part in parts for place in part] if all(parts) else []
