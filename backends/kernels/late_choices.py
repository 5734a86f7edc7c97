"""Finds choices on the critical path of steps: their condition is computed by a call from values of the step before.

They are printed as branches (`print_c.py`): a processor predicts the branch and goes on with the next step, without
waiting for the call.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.ir import Do, Expr, Inner, Let, Set, Stmt, Store
from scanopt.backends.kernels.walks import expressions, inside, loads, variables

__all__ = ["late_choices"]


def late_choices(body: Sequence[Stmt]) -> set[str]:
    """The variables of a step that are chosen by such a condition and on which later steps depend."""
    found = [x for x in inside(body) if isinstance(x, Let | Set | Store | Inner)]
    if not any(isinstance(x, Inner) for x in found):
        return set()
    read = {name for x in found for name in _reads(x)}
    carried = {_made(x) for x in found if isinstance(x, Set | Store)} & read
    late, needed = _late(found, carried), _needed(found, carried)
    return {
        x.name
        for x in found
        if isinstance(x, Let) and isinstance(x.value, Do) and x.value.op == "where" and x.name in needed
        if not late.isdisjoint(_read(x.value.args[0]))
    }


def _late(statements: Sequence[Let | Set | Store | Inner], carried: set[str]) -> set[str]:
    """The variables and arrays that depend on results of calls whose arguments depend on carried values."""
    waits, late = {*carried}, set[str]()
    for x in statements:
        reads = _reads(x)
        if not reads.isdisjoint(waits):
            waits.add(_made(x))
            if isinstance(x, Inner) or not late.isdisjoint(reads):
                late.add(_made(x))
    return late


def _needed(statements: Sequence[Let | Set | Store | Inner], carried: set[str]) -> set[str]:
    """The variables and arrays on which new carried values depend."""
    needed: set[str] = set()
    for x in reversed(statements):
        if _made(x) in needed or (isinstance(x, Set | Store) and _made(x) in carried):
            needed |= _reads(x)
    return needed


def _made(x: Let | Set | Store | Inner) -> str:
    return x.arrays[-1] if isinstance(x, Inner) else x.array if isinstance(x, Store) else x.name


def _reads(x: Let | Set | Store | Inner) -> set[str]:
    arrays = {*x.arrays[:-1]} if isinstance(x, Inner) else set[str]()
    return arrays.union(*map(_read, expressions(x)))


def _read(x: Expr) -> set[str]:
    """The variables and arrays that an expression reads."""
    return {*variables(x), *(read.array for read in loads(x))}
