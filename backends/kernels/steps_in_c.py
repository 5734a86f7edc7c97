"""What of the statements of a step decides how it is written in C."""

from __future__ import annotations

import numpy as np

from scanopt.backends.kernels.ir import Cast, Do, Expr, Let, Lit, Point, Set, Stmt, Store, Var

__all__ = ["chosen_for", "hands_on", "is_apart", "is_short", "multiplies"]

MOST_UNROLLED = 40
"""Statements of a step that is written out several times."""


def is_short(body: tuple[Stmt, ...]) -> bool:
    """Whether a step is a few statements without branches."""
    return len(body) <= MOST_UNROLLED and all(isinstance(x, Let | Set | Point | Store) for x in body)


def chosen_for(body: tuple[Stmt, ...]) -> set[str]:
    """The integers of a step that something else may be chosen for."""
    choices = [x.value for x in body if isinstance(x, Let) and isinstance(x.value, Do) and x.value.op == "where"]
    sides = {a for choice in choices if isinstance(choice, Do) for a in choice.args[1:] if isinstance(a, Var)}
    return {x.name for x in sides if np.dtype(x.dtype).kind in "iu"}


def hands_on(body: tuple[Stmt, ...]) -> bool:
    """Whether a step moves what one variable was to another: in several steps at once, names do that."""
    moved = {x.name: x.value for x in body if isinstance(x, Set)}
    return any(isinstance(value, Var) and value.name in moved for value in moved.values())


def is_apart(index: Expr) -> bool:
    """Whether what is stored there lies apart from what the next run of a loop stores, by a number."""
    match index:
        case Lit():
            return True
        case Do(op="multiply", args=(_, Lit())):
            return True
        case Do(op="add", args=args):
            return any(map(is_apart, args)) and not any(isinstance(a, Var) for a in args)
    return False


def multiplies(x: Expr) -> bool:
    """Whether it is made of a product of floats."""
    match x:
        case Do(op=op, args=args, of=of):
            return (op in ("multiply", "square") and np.dtype(of).kind == "f") or any(map(multiplies, args))
        case Cast(arg=arg):
            return multiplies(arg)
    return False
