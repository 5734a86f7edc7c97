"""Finds how many steps a loop takes, and which rows of the sequences each step reads.

A sequence read at several taps is cut into one slice per tap, aligned so that entry t of each is
what step t reads.  Tap 0 always counts as read, so taps=[-1] on 5 rows give 4 steps.
A negative n_steps means as many steps in the other direction, whether it is known or symbolic.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from scanopt.array.batching import dim
from scanopt.array.entries import FUNCTIONS
from scanopt.array.shown import quoted
from scanopt.array.variable import Apply, Constant, Variable
from scanopt.loops.canonical import Initial, SequenceArg
from scanopt.loops.node import Requirement
from scanopt.loops.require import require
from scanopt.loops.site import Site, show
from scanopt.records import dataclass

__all__ = [
    "StepPlan",
    "first_rows",
    "given_steps",
    "initial_rows",
    "literal",
    "not_negative",
    "plan",
    "requirement",
    "rows_of",
]

Direction = bool | Variable
"""Whether sequences are read from their ends: a bool, or a symbolic bool scalar."""


@dataclass(frozen=True, eq=False)
class StepPlan:
    """The number of steps, the arrays whose row t step t reads (per sequence, one per tap), and run-time checks."""

    n_steps: Variable
    slices: tuple[tuple[Variable, ...], ...]
    requires: tuple[Requirement, ...]


def _int(n: Any) -> Variable:
    return n if isinstance(n, Variable) else Constant(np.int64(n))


def rows_of(x: Variable) -> Variable:
    """The number of rows, an int64 scalar."""
    return _int(dim(x, 0))


def turned(x: Variable, backwards: Direction) -> Variable:
    """The rows of x from the last to the first, if `backwards`."""
    if isinstance(backwards, Variable):
        turn: Variable = x[:: FUNCTIONS["where"](backwards, -1, 1)]
        return turn
    return x[::-1] if backwards else x


def _tap_slices(arg: SequenceArg, backwards: Direction) -> tuple[Variable, ...]:
    low, high = min(0, *arg.taps), max(0, *arg.taps)

    def cut(tap: int) -> Variable:
        x = arg.variable
        if low or high:
            x = x[tap - low : tap - high if tap < high else None]
        return turned(x, backwards)

    return tuple(cut(tap) for tap in arg.taps)


def first_rows(x: Variable, n: Variable) -> Variable:
    """x[:n]; x itself where that is known to be all of it."""
    value = n.operand.value
    stop = n if value is None else int(value)
    if value is not None and x.type.shape[0] == stop:
        return x
    first: Variable = x[:stop]
    return first


def given_steps(site: Site, n_steps: Any, what: str = "n_steps") -> Variable:
    """The user's number of steps as an int64 scalar.  Raises TypeError, ValueError naming it `what`."""
    if isinstance(n_steps, float) and n_steps.is_integer():
        n_steps = int(n_steps)
    if isinstance(n_steps, str | bytes | float | bool):
        kind = TypeError if isinstance(n_steps, str | bytes) else ValueError
        raise site.error(kind, f"{what} must be an integer, found {show(n_steps)}")
    n = site.array(_counted(site, n_steps, what) if isinstance(n_steps, int) else n_steps, what)
    if n.ndim:
        raise site.error(ValueError, f"{what} must be a single integer, found {show(n_steps)}")
    if np.dtype(n.dtype).kind not in "iu":
        hint = "; cast it with .astype('int64')" if isinstance(n_steps, Variable) else ""
        raise site.error(ValueError, f"{what} must be an integer, found {show(n_steps)} of dtype {n.dtype}{hint}")
    value = n.operand.value
    if value is not None:
        return Constant(np.int64(_counted(site, int(value), what)))
    return n if n.dtype == "int64" else n.astype("int64")


_MOST = ENDLESS = 2**63 - 1
"""The greatest number of steps that can be counted in either direction; stands for no limit but `until`."""


def endless(n_steps: Any) -> bool:
    """Whether the user's number of steps is infinity.

    >>> endless(np.inf), endless(5)
    (True, False)
    """
    return isinstance(n_steps, float) and n_steps == np.inf


def _counted(site: Site, n: int, what: str) -> int:
    if abs(n) > _MOST:
        raise site.error(ValueError, f"{what} must be from -(2**63 - 1) to 2**63 - 1, found {n}")
    return n


_NOT_NEGATIVE_WHERE_ARGUMENTS_ARE = ("cast", "minimum", "floor_divide", "add", "multiply")


def _never_negative(n: Variable, overflow: bool = False) -> bool:
    """Whether an integer scalar is known not to be negative, as a length or an expression of lengths.

    overflow: assume that no number is too large for its dtype.
    """
    if n.operand.value is not None:
        return bool(n.operand.value >= 0)
    if n.dtype.startswith(("uint", "bool")):
        return True
    if not isinstance(n.owner, Apply):
        return False
    name, args = n.owner.op.name, n.owner.inputs
    if not overflow and _may_overflow(name, n.dtype, args[0]):
        return False
    if name == "maximum":
        return any(_never_negative(x, overflow) for x in args)
    if name in _NOT_NEGATIVE_WHERE_ARGUMENTS_ARE:
        return all(_never_negative(x, overflow) for x in args)
    return name in ("shape_i", "absolute")


def _may_overflow(name: str, dtype: str, x: Variable) -> bool:
    """Whether the operator of this name, applied to nonnegative integers, may overflow to a negative one."""
    if name == "cast":
        return not np.can_cast(x.dtype, dtype)
    if name == "absolute":  # the least number of a dtype stays negative
        cast = x.owner if isinstance(x.owner, Apply) and x.owner.op.name == "cast" else None
        return cast is None or not np.can_cast(cast.inputs[0].dtype, "int32")
    return name in ("add", "multiply")


def _count(site: Site, n: Variable, go_backwards: bool) -> tuple[Variable, Direction, tuple[Requirement, ...]]:
    """The number of steps and their direction from the user's n_steps, whose sign reverses it, and its check."""
    value = n.operand.value
    if value is not None:
        return Constant(np.int64(abs(value))), bool(go_backwards) != bool(value < 0), ()
    forwards = _never_negative(n, overflow=True)
    direction = bool(go_backwards) if forwards else FUNCTIONS["ge" if go_backwards else "lt"](n, 0)
    steps = n if forwards else abs(n)
    if _never_negative(steps):
        return steps, direction, ()
    message = f"n_steps{_named(n)} asks for more than 2**63 - 1 steps {literal(site.place)}"
    return steps, direction, (requirement("steps", n, _int(0 if forwards else -_MOST), message),)


def _named(n: Variable) -> str:
    return literal(f" ({quoted(n.name)})") if n.name else ""


def literal(text: str) -> str:
    """Escape braces in a text, so that they stay when the message is formatted."""
    return text.replace("{", "{{").replace("}", "}}")


def requirement(kind: str, found: Variable, expected: Variable, message: str, relation: str = "ge") -> Requirement:
    """The requirement that found >= expected, or another relation, holds when the loop runs."""
    return Requirement(kind, found, expected, message, require(found, expected, message, relation=relation))


def _has_rows(site: Site, arg: SequenceArg, x: Variable, n: Variable) -> tuple[Requirement, ...]:
    left = f" (as the taps {list(arg.taps)} leave them)" if arg.taps != (0,) else ""
    message = (
        f"{literal(arg.label)} has {{found}} rows{left} but n_steps is {{expected}}: "
        f"pass a longer sequence or fewer steps {literal(site.place)}"
    )
    rows, steps = x.type.shape[0], n.operand.value
    if rows is None or steps is None:
        return (requirement("rows", rows_of(x), n, message),)
    if rows < steps:
        raise ValueError(message.format(found=rows, expected=int(steps)))
    return ()


def not_negative(site: Site, what: str, n: Variable) -> tuple[Requirement, ...]:
    """The check that a number of steps is not negative.  Raises ValueError when it is known to be."""
    message = f"{what}{_named(n)} is {{found}}, but it must not be negative {literal(site.place)}"
    value = n.operand.value
    if value is not None and value < 0:
        raise ValueError(message.format(found=int(value)))
    if _never_negative(n):
        return ()
    return (requirement("steps", n, _int(0), message),)


def _explicit(
    site: Site,
    args: tuple[SequenceArg, ...],
    slices: list[tuple[Variable, ...]],
    n: Variable,
    requires: tuple[Requirement, ...],
) -> StepPlan:
    for arg, mine in zip(args, slices, strict=True):
        requires += _has_rows(site, arg, mine[0], n)
    cut = tuple(tuple(first_rows(x, n) for x in mine) for mine in slices)
    return StepPlan(n, cut, requires)


def _shortest(slices: list[tuple[Variable, ...]]) -> StepPlan:
    """The plan with as many steps as the shortest sequence has rows; all slices of a sequence are equally long."""
    lengths = [mine[0].type.shape[0] for mine in slices]
    known = [n for n in lengths if n is not None]
    symbolic = [rows_of(mine[0]) for mine, n in zip(slices, lengths, strict=True) if n is None]
    if symbolic and len(slices) == 1:
        return StepPlan(symbolic[0], tuple(slices), ())
    n: Variable = reduce(FUNCTIONS["minimum"], symbolic + ([_int(min(known))] if known else []))
    return StepPlan(n, tuple(tuple(first_rows(x, n) for x in mine) for mine in slices), ())


def plan(site: Site, args: tuple[SequenceArg, ...], n_steps: Any, go_backwards: bool) -> StepPlan:
    """Align the sequences and find the number of steps.

    Raises ValueError when neither sequences nor n_steps say how many, or a sequence is known to be
    too short; TypeError, ValueError for an n_steps that is not an integer scalar.
    """
    if endless(n_steps):
        n_steps = None if args else Constant(np.int64(ENDLESS))
    if n_steps is not None:
        n, backwards, requires = _count(site, given_steps(site, n_steps), go_backwards)
        return _explicit(site, args, [_tap_slices(arg, backwards) for arg in args], n, requires)
    if not args:
        raise site.error(ValueError, "the number of steps is not known: give n_steps or at least one sequence")
    return _shortest([_tap_slices(arg, go_backwards) for arg in args])


def initial_rows(site: Site, initial: Initial) -> tuple[Variable, tuple[Requirement, ...]]:
    """The first `depth` rows of the initial state of a mit-sot, and the check that it has them.

    Raises ValueError when it is known to have fewer.
    """
    value, depth = initial.value, initial.depth
    assert isinstance(value, Variable)
    rows = value.type.shape[0]
    message = (
        f"{literal(initial.label)} has {{found}} initial rows, but its taps "
        f"{list(initial.taps)} need {depth}: row 0 is the oldest, {depth} steps back "
        f"{literal(site.place)}"
    )
    if rows is not None and rows < depth:
        raise ValueError(message.format(found=rows))
    if rows == depth:
        return value, ()
    first: Variable = value[:depth]
    if rows is not None:
        return first, ()
    return first, (requirement("init", rows_of(value), _int(depth), message),)
