"""For error messages: which axes of which arguments of an operator do not fit together, in the user's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scanopt.array.op import Op
from scanopt.array.types import Dim

__all__ = ["AxisNames", "axis_named", "misfit"]

Shape = Sequence[Dim]
AxisNames = tuple[str, ...]  # empty if the axes of an array have no names
Axis = tuple[int, int]  # number of the argument, number of its axis


def misfit(op: Op, names: Sequence[str], shapes: Sequence[Shape], axes: Sequence[AxisNames] = ()) -> str:
    """A text that names two axes of arguments that must be equally long and are not; "" if none are found.

    names: of the arguments, "" for one without a name.  axes: for each argument the names of its axes, () if unnamed.

    >>> misfit(Op.make("add"), ["A", "v"], [(2, 4), (3,)])
    'axis 1 of A has length 4, axis 0 of v has length 3'
    >>> misfit(Op.make("dot"), ["A", "v"], [(2, 4), (3,)], [("time", "unit"), ("unit",)])
    "axis 1 ('unit') of A has length 4, axis 0 ('unit') of v has length 3"
    """
    rule = _broadcast if op.spec.ufunc else _RULES.get(op.name)
    if rule is None or not any(names):
        return ""
    found = ""
    for (i, j), (k, m) in rule(op, shapes):
        n, other = shapes[i][j], shapes[k][m]
        fits = None in (n, other) or n == other or (rule is _broadcast and 1 in (n, other))
        if not fits and (not found or (names[i] and names[k])):
            first, second = (names[a] or f"argument {a}" for a in (i, k))
            one, two = (axis_named(axis, axes[a] if axes else ()) for a, axis in ((i, j), (k, m)))
            found = f"{one} of {first} has length {n}, {two} of {second} has length {other}"
            if names[i] and names[k]:
                break
    return found


def axis_named(axis: int, names: AxisNames) -> str:
    """An axis by its number, and by its name where it has one.

    >>> axis_named(1, ("time", "unit")), axis_named(1, ())
    ("axis 1 ('unit')", 'axis 1')
    """
    return f"axis {axis} ({names[axis]!r})" if names else f"axis {axis}"


def _broadcast(op: Op, shapes: Sequence[Shape]) -> Iterator[tuple[Axis, Axis]]:
    """Pairs of axes that broadcast against each other, matched from the last axis on."""
    for i, x in enumerate(shapes):
        for k, y in enumerate(shapes[:i]):
            for back in range(1, min(len(x), len(y)) + 1):
                yield (k, len(y) - back), (i, len(x) - back)


def _products(op: Op, shapes: Sequence[Shape]) -> Iterator[tuple[Axis, Axis]]:
    """The two axes over which a product sums: the last of one argument, the last but one (or only one) of the other."""
    x, y = shapes[:2]
    if x and y:
        yield (0, len(x) - 1), (1, max(len(y) - 2, 0))


def _joined(op: Op, shapes: Sequence[Shape]) -> Iterator[tuple[Axis, Axis]]:
    """Pairs of axes that must agree when arrays are joined (all but the axis joined along) or stacked (all)."""
    along = op.options["axis"] if op.name == "concatenate" else None
    for i, x in enumerate(shapes[1:], 1):
        yield from (((0, axis), (i, axis)) for axis in range(min(len(shapes[0]), len(x))) if axis != along)


_RULES: dict[str, Callable[[Op, Sequence[Shape]], Iterator[tuple[Axis, Axis]]]] = {
    "where": _broadcast, "clip": _broadcast, "dot": _products, "matmul": _products,
    "concatenate": _joined, "stack": _joined,
}  # fmt: skip
