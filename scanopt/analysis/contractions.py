"""Sums over rows of results of operators: contractions, and rows added at many places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scanopt.array.op import Op

__all__ = ["adding_up", "summing_operators"]

Row = tuple[str, tuple[Op | int | str, ...]]

_AXES = range(1, 5)
"""Numbers of axes of arrays whose rows are multiplied by numbers."""

_ADDITIVE = {"broadcast_to", "conjugate", "expand_dims", "negative", "reshape", "squeeze", "sum", "sum_to", "transpose"}
_LEVELS = 2
"""The number of nested loops whose sums are done at once."""


def summing_operators(ops: Iterable[Op]) -> list[Op]:
    """The operators by which laws write sums over rows of results of these operators."""
    known = list(ops)
    for _ in range(_LEVELS):
        known = list(dict.fromkeys([*known, *(g for op in known for _, g in _contractions(op)), *_scatters(known)]))
    return [op for op in known if op.name in ("tensordot", "setitem")]


def adding_up(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about operators whose results, row by row, are added up."""
    for op in ops:
        if op.name in _ADDITIVE:
            yield "additive", (op,)
        if op.name in ("add", "subtract"):
            yield "termwise", (op,)
        if op.name in ("dot", "outer", "multiply", "tensordot"):
            yield "bilinear", (op,)
        if op.name == "setitem" and op.options["mode"] == "inc":
            yield "adds_to_parts", (op,)
            if {"array", "mask"}.isdisjoint(op.options["index"]):
                yield "adds_to_part", (op,)
        for axes, g in _contractions(op):
            yield "contracts", (op, axes, g)
        for g in _scatters([op]):
            yield "scatters", (op, str(len(op.options["index"])), g)


def _contractions(op: Op) -> Iterator[tuple[str, Op]]:
    """The sum of op over rows, by the axes of its arguments, the axis of rows included."""
    match op.name:
        case "dot":
            for a in (1, 2):
                for b in (1, 2):
                    yield f"{a + 1}{b + 1}", _tensordot((0, a), (0, 1))
        case "outer":
            yield "22", _tensordot((0,), (0,))
        case "multiply":
            yield from ((axes, _tensordot((0,), (0,))) for n in _AXES for axes in dict.fromkeys((f"1{n}", f"{n}1")))
        case "tensordot":
            ia, ib = op.options["axes"]
            yield "", _tensordot((0, *(i + 1 for i in ia)), (0, *(i + 1 for i in ib)))
        case _:
            pass


def _tensordot(a: tuple[int, ...], b: tuple[int, ...]) -> Op:
    return Op.make("tensordot", axes=(a, b))


def _scatters(ops: Iterable[Op]) -> Iterator[Op]:
    """The operator that adds to many places at once where an operator adds to one, or to some."""
    for op in ops:
        if op.name == "setitem" and op.options["mode"] == "inc":
            index = op.options["index"]
            if index in (("in",), ("array",), ("in", "in"), ("array", "array")):
                yield Op.make("setitem", index=("array",) * len(index), mode="inc")
