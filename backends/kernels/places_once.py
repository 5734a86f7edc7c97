"""A pass on the statements of a kernel: removes checks of places that an earlier statement has made.

Later statements use the place that the first check has computed.  A place is the same if its expression and length are,
and none of their variables has changed since.  Nested loops check again: where their places move, they are written
twice (`places_in_range.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import zip_longest

from scanopt.backends.kernels.ir import Cast, Expr, For, If, Let, Steps, Stmt, Var
from scanopt.backends.kernels.steps_known import wrapped
from scanopt.backends.kernels.walks import loads, made_in, variables, with_values, with_variables
from scanopt.records import dataclass

__all__ = ["with_places_compared_once"]


@dataclass
class _Known:
    """The facts that hold before a statement.

    places: for each checked place and length, the variable of the place; same: for each copied variable, its original.
    """

    places: dict[tuple[Expr, Expr], Var] = field(default_factory=dict[tuple[Expr, Expr], Var])
    same: dict[str, Expr] = field(default_factory=dict[str, Expr])

    def copy(self) -> _Known:
        """A copy, for the statements in a branch."""
        return _Known({**self.places}, {**self.same})

    def forget(self, names: set[str]) -> None:
        """Forget facts about variables whose values have changed."""
        self.places = {
            k: j for k, j in self.places.items() if names.isdisjoint(y for x in (*k, j) for y in variables(x))
        }
        self.same = {v: x for v, x in self.same.items() if v not in names and names.isdisjoint(variables(x))}

    def key(self, place: Expr, length: Expr) -> tuple[Expr, Expr]:
        """A place and a length, with copied variables replaced by their originals."""
        return with_variables(_plain(place), self.same), with_variables(_plain(length), self.same)


def with_places_compared_once(code: Sequence[Stmt]) -> list[Stmt]:
    """Return the statements of a kernel without repeated checks of places."""
    found: dict[str, Expr] = {}
    left = _left(code, _Known(), found)
    return [with_values(x, lambda y: with_variables(y, found)) for x in left] if found else [*code]


def _left(code: Sequence[Stmt], known: _Known, found: dict[str, Expr]) -> list[Stmt]:
    """Return the remaining statements.  found: gets the variables of removed checks, with their values."""
    left: list[Stmt] = []
    passed = False
    for x, after in zip_longest(code, code[1:]):
        if passed:
            passed = False
            continue
        place = wrapped(x, after) if after is not None else None
        key = known.key(*place[1:]) if place else None
        if place and key in known.places:
            found[place[0]], passed = known.places[key], True
            continue
        left.append(_inside(x, known, found))
        known.forget(made_in((x,)))
        if place and key and not any(True for y in key for _ in loads(y)):
            known.places[key] = Var(place[0])
        elif isinstance(x, Let) and isinstance(same := _plain(x.value), Var):
            known.same[x.name] = known.same.get(same.name, same)
    return left


def _inside(x: Stmt, known: _Known, found: dict[str, Expr]) -> Stmt:
    """A statement, with the repeated checks inside it removed."""
    match x:
        case For(body=body) | Steps(body=body):
            return replace(x, body=tuple(_left(body, _Known(), found)))
        case If(then=then, otherwise=otherwise):
            sides = (tuple(_left(side, known.copy(), found)) for side in (then, otherwise))
            return If(x.test, *sides)
        case _:
            return x


def _plain(x: Expr) -> Expr:
    """An expression, without a cast to its own dtype."""
    return x.arg if isinstance(x, Cast) and x.arg.dtype == x.dtype else x
