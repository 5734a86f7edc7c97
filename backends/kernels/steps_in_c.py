"""Analyses the statements of a step for `print_c.py`, which chooses by them how to write each operation in C."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import numpy as np

from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.ir import (
    Cast,
    Do,
    Expr,
    For,
    Helper,
    Inner,
    KernelParam,
    Let,
    Lit,
    Point,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
)
from scanopt.backends.kernels.walks import expressions, inside, loads, variables

__all__ = [
    "bare",
    "chosen_for",
    "counters",
    "fills_vectors",
    "hands_on",
    "is_apart",
    "is_number",
    "is_power_of_two",
    "is_short",
    "is_signed",
    "multiplies",
    "parameter",
    "places",
]

MOST_UNROLLED = 40
"""The most statements of a step that is unrolled."""


def parameter(i: int, p: KernelParam) -> str:
    """The line that defines the pointer to the elements of an array argument.

    >>> parameter(0, KernelParam("g0", "float64")).strip()
    'float64 *const g0 = (float64 *)(DATA(0));'
    """
    t, start = TYPES[p.dtype], f"DATA({i}) + {p.offset}" if p.offset else f"DATA({i})"
    return f"    {t} *const {p.name} = ({t} *)({start});"


def is_short(body: tuple[Stmt, ...]) -> bool:
    """Whether a step is a few statements without branches."""
    return len(body) <= MOST_UNROLLED and all(isinstance(x, Let | Set | Point | Store) for x in body)


def chosen_for(body: tuple[Stmt, ...], late: Collection[str]) -> set[str]:
    """The integers of a step that are an option of a choice, or of which an option is a sum with a number.

    late: choices that are printed as branches, which do not count.
    """
    lets = [x for x in body if isinstance(x, Let) and x.name not in late]
    choices = [x.value for x in lets if isinstance(x.value, Do) and x.value.op == "where"]
    sides = {a for choice in choices if isinstance(choice, Do) for a in choice.args[1:] if isinstance(a, Var)}
    made = {x.name: x.value for x in body if isinstance(x, Let)}
    for x in (made.get(a.name) for a in tuple(sides)):
        if isinstance(x, Do) and x.op in ("add", "subtract") and any(isinstance(a, Lit) for a in x.args):
            sides |= {a for a in x.args if isinstance(a, Var)}
    return {x.name for x in sides if np.dtype(x.dtype).kind in "iu"}


def counters(body: tuple[Stmt, ...]) -> dict[str, tuple[Expr, bool]]:
    """For each integer of a step that is either set to 1 or incremented: its old value, and when it is set to 1.

    That is True if it is set to 1 where the condition of its choice holds, False if where it does not.
    """
    made = {x.name: x.value for x in body if isinstance(x, Let)}
    found: dict[str, tuple[Expr, bool]] = {}
    for name, value in made.items():
        match value:
            case Do(op="where", args=(_, Lit(value=1), Var(name=more)), dtype="int64"):
                again = True
            case Do(op="where", args=(_, Var(name=more), Lit(value=1)), dtype="int64"):
                again = False
            case _:
                continue
        match made.get(more):
            case Do(op="add", args=(before, Lit(value=1))):
                found[name] = before, again
            case _:
                pass
    return found


def places(body: tuple[Stmt, ...]) -> set[str]:
    """The variables of a step that are places, or of which places are made by sums and choices."""
    made = {x.name: x.value for x in inside(body) if isinstance(x, Let)}
    todo = [name for x in inside(body) for place in _indices(x) for name in variables(place)]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name in made and name not in found:
            found.add(name)
            value = made[name]
            while isinstance(value, Cast):
                value = value.arg
            if isinstance(value, Var) or (isinstance(value, Do) and value.op in ("add", "subtract", "where")):
                todo += variables(value)
    return found


def _indices(x: Stmt) -> Iterator[Expr]:
    """Yield the indices in a statement: where it points, stores or loads."""
    if isinstance(x, Point | Store):
        yield x.index
    yield from (read.index for value in expressions(x) for read in loads(value))


def hands_on(body: tuple[Stmt, ...]) -> bool:
    """Whether a step copies one state variable to another: unrolled, such copies become renamings."""
    moved = {x.name: x.value for x in body if isinstance(x, Set)}
    return any(isinstance(value, Var) and value.name in moved for value in moved.values())


def fills_vectors(x: For) -> bool:
    """Whether a loop has as few elements as some vector registers: gcc would unroll it before it vectorizes it."""
    innermost = not any(isinstance(y, For | Steps | Inner | Helper) for y in x.body)
    return isinstance(x.count, Lit) and x.count.value in (4, 8, 12, 16) and innermost


def is_apart(index: Expr) -> bool:
    """Whether stores at this index in consecutive iterations are a fixed number of elements apart."""
    match index:
        case Lit():
            return True
        case Do(op="multiply", args=(_, Lit())):
            return True
        case Do(op="add", args=args):
            return any(map(is_apart, args)) and not any(isinstance(a, Var) for a in args)
    return False


def multiplies(x: Expr) -> bool:
    """Whether an expression contains a product of floats."""
    match x:
        case Do(op=op, args=args, of=of):
            return (op in ("multiply", "square") and np.dtype(of).kind == "f") or any(map(multiplies, args))
        case Cast(arg=arg):
            return multiplies(arg)
    return False


def is_number(x: float, dtype: str) -> bool:
    """Whether x is a float other than NaN."""
    return np.dtype(dtype).kind == "f" and not math.isnan(x)


def is_signed(dtype: str) -> bool:
    """Whether a dtype is one of signed integers."""
    return np.dtype(dtype).kind == "i"


def is_power_of_two(x: float) -> bool:
    """Whether x is an integer and a power of two: divisions by it are written as shifts and masks."""
    return isinstance(x, int) and not isinstance(x, bool) and x > 0 and not x & (x - 1)


def bare(text: str) -> str:
    """A text without parentheses that enclose all of it."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if not depth and i < len(text) - 1:
            return text
    return text[1:-1] if text[:1] == "(" else text
