"""A pass on the steps of a program: `arange` of a length that a step computes is made from one array 0, 1, 2, ...

A kernel cannot allocate an array in a step, but it can take the first elements of one that exists: a step multiplies
them by the spacing and adds the start.  The array has twice as many elements as the known arrays together have rows;
where a step needs more, the kernel gives up and array steps run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import scanopt.loops.require  # an operator of its own, beside those of the table  # noqa: F401
from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.backends.kernels.parts_by_ends import counted_by, counts_up
from scanopt.program.ir import Branch, Compute, Loop, Step

__all__ = ["with_counted_places"]

Types = dict[str, TensorType]
_COUNTED, _ROOM = "#counted", "#room"
_NUMBER = TensorType("int64", ())


def with_counted_places(steps: Sequence[Step], outer: Collection[str], types: Types) -> tuple[Step, ...]:
    """Rewrite the steps of a program: its loops take integers from the array that counts up.

    outer: names defined before.  types: of all names; names made here are added.
    """
    steady = {*outer, *(x.out for x in steps if isinstance(x, Compute))}
    new = tuple(_inside(x, steady, types) for x in steps)
    first = next((i for i, (x, y) in enumerate(zip(steps, new, strict=True)) if x is not y), None)
    arrays = [name for name in sorted(outer) if types[name].ndim]
    arrays += [x.out for x in steps[:first] if isinstance(x, Compute) and x.type.ndim]
    if first is None or not arrays:
        return tuple(steps)
    return (*new[:first], *_counted(arrays, types), *new[first:])


def _inside(x: Step, steady: Collection[str], types: Types) -> Step:
    """A step, with the steps inside it rewritten; the same object if nothing changes."""
    if isinstance(x, Loop):
        body = _rewritten(x.body, steady, types)
        return x if body == x.body else replace(x, body=body)
    if isinstance(x, Branch):
        sides = [tuple(_inside(y, steady, types) for y in side) for side, _ in x.sides]
        return x if sides == [x.then, x.otherwise] else replace(x, then=sides[0], otherwise=sides[1])
    return x


def _rewritten(steps: Sequence[Step], steady: Collection[str], types: Types) -> tuple[Step, ...]:
    found: list[Step] = []
    for x in steps:
        if isinstance(x, Compute) and counts_up(x, types) and not {*x.args} <= {*steady}:
            found += _first_ones(x, types)
        elif isinstance(x, Branch):
            sides = [_rewritten(side, steady, types) for side, _ in x.sides]
            found.append(replace(x, then=sides[0], otherwise=sides[1]))
        else:
            found.append(_inside(x, steady, types))
    return tuple(found)


class _Numbers:
    """Builds steps that compute numbers.  near: the prefix of their names."""

    def __init__(self, near: str, types: Types) -> None:
        self.near, self.types, self.steps = near, types, list[Step]()

    def of(self, op: str, *args: str, type: TensorType = _NUMBER, out: str = "", **options: object) -> str:
        """Add the step of one operator; return the name of its result."""
        name = out or f"{self.near}#c{len(self.steps)}"
        self.types[name] = type
        self.steps.append(Compute(name, Op.make(op, **options), args, type))
        return name


def _first_ones(x: Compute, types: Types) -> list[Step]:
    n = _Numbers(x.out, types)
    first, apart, count = counted_by(x, n.of)
    n.of("require", _ROOM, count, relation="ge", error="ValueError", message="more than there is room for")
    part = n.of("getitem", _COUNTED, count, type=x.type, index=(("slice", None, "in", None),))
    n.of("add", n.of("multiply", part, apart, type=x.type), first, type=x.type, out=x.out)
    return n.steps


def _counted(arrays: Sequence[str], types: Types) -> Iterator[Step]:
    """Yield the steps that make the array that counts up."""
    n = _Numbers(_COUNTED, types)
    room, *others = (n.of("shape_i", a, axis=0) for a in arrays)
    for other in others:
        room = n.of("add", room, other)
    room = n.of("add", room, room, out=_ROOM)
    one = n.of("cast", n.of("equal", room, room, type=TensorType("bool", ())), dtype="int64")
    n.of(
        "arange",
        n.of("subtract", room, room),
        room,
        one,
        type=TensorType("int64", (None,)),
        out=_COUNTED,
        dtype="int64",
    )
    yield from n.steps
