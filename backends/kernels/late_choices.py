"""Finds choices on the critical path of steps: their condition is computed by a call from values of the step before.

Or it depends on an element at a place that is computed, in many cycles, from values of the step before.  They are
printed as branches (`print_c.py`): a processor predicts the branch and goes on with the next step, without waiting.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanopt.backends.kernels.ir import Cast, Do, Expr, Inner, Let, Load, Set, Stmt, Store
from scanopt.backends.kernels.walks import expressions, inside, loads, variables

__all__ = ["LONG", "cycles_taken", "late_choices"]


LONG = 12
"""Cycles that a condition must take: for fewer, a branch that is often mispredicted would cost more than it gains."""
_CYCLES = {"multiply": 3, "divide": 13, "floor_divide": 12, "remainder": 12, "sqrt": 13, "where": 2, "clip": 2}
_LOOKED_UP, _OF_FLOATS = 5, 3


def late_choices(body: Sequence[Stmt]) -> set[str]:
    """The variables of a step that are chosen by such a condition and on which later steps depend."""
    found = [x for x in inside(body) if isinstance(x, Let | Set | Store | Inner)]
    choices = [x for x in found if isinstance(x, Let) and isinstance(x.value, Do) and x.value.op == "where"]
    if not choices:
        return set()
    read = {name for x in found for name in _reads(x)}
    carried = {_made(x) for x in found if isinstance(x, Set | Store)} & read
    chosen = set[str]()
    if any(isinstance(x, Inner) for x in found):
        late, needed = _late(found, carried), _needed(found, carried)
        chosen |= {x.name for x in choices if x.name in needed and not late.isdisjoint(_tests(x))}
    for name in carried.intersection(x.name for x in found if isinstance(x, Set)):
        cycles, needed = _cycles(found, name), _needed(found, {name})
        waits = {x.name: max((cycles.get(y, 0) for y in _tests(x)), default=0) for x in choices}
        chosen |= {x.name for x in choices if x.name in needed and waits[x.name] >= LONG}
    return chosen


def _tests(x: Let) -> set[str]:
    return _read(x.value.args[0]) if isinstance(x.value, Do) else set()


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


def _cycles(statements: Sequence[Let | Set | Store | Inner], carried: str) -> dict[str, int]:
    """How many cycles each value takes that depends on an element at a place computed from the carried number."""
    waits, late = {carried: 0}, dict[str, int]()
    for x in statements:
        mine = [waits[y] for y in _reads(x) if y in waits]
        if mine and isinstance(x, Let):
            waits[x.name] = max(mine) + cycles_taken(x.value)
            if not late.keys().isdisjoint(_reads(x)) or not waits.keys().isdisjoint(_places(x)):
                late[x.name] = waits[x.name]
    return late


def cycles_taken(x: Expr) -> int:
    """About how many cycles a value takes once its last argument is there."""
    match x:
        case Load(index=index):
            return _LOOKED_UP + cycles_taken(index)
        case Cast(arg=arg):
            return cycles_taken(arg) + 2 * _OF_FLOATS * (np.dtype(arg.dtype).kind != np.dtype(x.dtype).kind == "f")
        case Do(op=op, args=args, of=of):
            own = max(_CYCLES.get(op, 1), _OF_FLOATS * (np.dtype(of).kind == "f"))
            return own + max(map(cycles_taken, args), default=0)
    return 0


def _needed(statements: Sequence[Let | Set | Store | Inner], carried: set[str]) -> set[str]:
    """The variables and arrays on which new carried values depend."""
    needed: set[str] = set()
    for x in reversed(statements):
        if _made(x) in needed or (isinstance(x, Set | Store) and _made(x) in carried):
            needed |= _reads(x)
    return needed


def _made(x: Let | Set | Store | Inner) -> str:
    return x.arrays[-1] if isinstance(x, Inner) else x.array if isinstance(x, Store) else x.name


def _places(x: Let | Set | Store | Inner) -> set[str]:
    """The variables in the places at which a statement reads elements."""
    return {name for value in expressions(x) for read in loads(value) for name in variables(read.index)}


def _reads(x: Let | Set | Store | Inner) -> set[str]:
    arrays = {*x.arrays[:-1]} if isinstance(x, Inner) else set[str]()
    return arrays.union(*map(_read, expressions(x)))


def _read(x: Expr) -> set[str]:
    """The variables and arrays that an expression reads."""
    return {*variables(x), *(read.array for read in loads(x))}
