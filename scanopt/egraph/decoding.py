"""Operators read back from the tables of an e-graph, where their parameters are terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.calculus.declarations import PARAMS
from scanopt.calculus.forms import Batched, Operator
from scanopt.calculus.terms import Op, Param, operator_of

__all__ = ["OPERATORS", "OperatorTables"]

OPERATORS = ("vmap", "prim", "prim_with", *PARAMS)
"""The tables that operators are made of."""

Row = tuple[tuple[Any, ...], Any]


class OperatorTables:
    """Operators by the engine's numbers, each made when it is first asked for: rules name far more than a program has.

    rows: gives the rows of a table as they were read from the engine.
    """

    def __init__(self, rows: Callable[[str], Sequence[Row]]) -> None:
        self._params = {out: (name, row) for name in PARAMS for row, out in rows(name)}
        self._rows: dict[Any, list[tuple[str, tuple[Any, ...]]]] = {}
        for name in ("prim_with", "prim", "vmap"):
            for row, out in rows(name):
                self._rows.setdefault(out, []).append((name, row))
        self._made: dict[Any, Operator | None] = {}

    def get(self, number: Any) -> Operator | None:
        """The operator of a number; None if an interrupted run left it incomplete."""
        if number not in self._made:
            self._made[number] = None  # an operator that is made of itself is none
            found = (self._operator(name, row) for name, row in self._rows.get(number, ()))
            self._made[number] = next((op for op in found if op is not None), None)
        return self._made[number]

    def _operator(self, name: str, row: Sequence[Any]) -> Operator | None:
        if name == "prim":
            return operator_of(Op("prim", (row[0],)))
        if name == "vmap":
            inner = self.get(row[0])
            return None if inner is None else Batched(inner, row[1])
        params = self._param(row[1])
        return None if params is None else operator_of(Op("prim_with", (row[0], params)))

    def _param(self, number: Any) -> Param | None:
        """A parameter of an operator."""
        if number not in self._params:
            return None
        name, row = self._params[number]
        if name not in ("pair_param", "slice_param"):
            return Param(name, row)
        parts = [self._param(x) for x in row]
        return Param(name, tuple(x for x in parts if x is not None)) if None not in parts else None
