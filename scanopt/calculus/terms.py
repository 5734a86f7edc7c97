"""The constructors of the calculus, and its functions, such as `dtype`, that give what is known of a term.

A clock is one loop.  A Value is an array outside all loops, or on a clock: one array per step.
The docstring of each function gives the meaning of its term; t is the step.
"""

from __future__ import annotations

import numpy as np

from scanopt.calculus.declarations import APPLIED
from scanopt.calculus.forms import const_key
from scanopt.calculus.term import (
    Args,
    Atom,
    Clock,
    Int,
    Move,
    Op,
    Param,
    State,
    Term,
    Text,
    Value,
    apply,
    args,
    egglog_text,
    nil,
    operator_of,
    ops,
    prim,
    variable,
)

__all__ = [
    "Args", "Atom", "Clock", "Int", "Move", "Op", "Param", "State", "Term", "Text", "Value", "added", "and_first",
    "and_last", "applied", "apply", "args", "as_row", "at", "away", "both", "both_args", "chunks", "const",
    "const_at", "const_int", "continued", "counted", "cut", "delay", "dtype", "egglog_text", "followed", "greatest",
    "held_as", "hold", "input_", "int_value", "joint", "least", "lift", "lifted", "loop", "masked", "moved", "ndim",
    "nil", "number_at", "numeric", "on", "on_args", "one_row", "only", "operator_of", "ops", "prim", "recent", "root",
    "row_of", "scaled", "seen", "seq", "slot", "stack", "steps", "subsume", "tail", "to_cut", "to_step", "to_string",
    "to_upto", "under", "upto", "variable", "vmap",
]  # fmt: skip


def hold(c: Clock, x: Value) -> Value:
    """x, the same at every step of c (a non-sequence)."""
    return Value("hold", (c, x))


def seq(c: Clock, x: Value) -> Value:
    """x[t]; x has exactly steps(c) rows (a sequence)."""
    return Value("seq", (c, x))


def delay(c: Clock, init: Value, s: State, k: Int | int) -> Value:
    """State s at step t-k; while t < k, row depth-k+t of init (depth = rows of init)."""
    return Value("delay", (c, init, s, k))


def stack(c: Clock, v: Value) -> Value:
    """Outside c: v at all executed steps, along a new first axis (a trace)."""
    return Value("stack", (c, v))


def tail(c: Clock, v: Value, k: Int | int) -> Value:
    """Outside c: the last k rows of stack(c, v), or all of them where there are fewer."""
    return Value("tail", (c, v, k))


def recent(c: Clock, v: Value, n: Value) -> Value:
    """Outside c: the last n rows of stack(c, v), n the same at every step, or all of them where there are fewer."""
    return Value("recent", (c, v, n))


def at(c: Clock, v: Value, k: Int | int) -> Value:
    """Outside c, which may run at most k + 1 steps: v at step k; IndexError with fewer steps."""
    return Value("at", (c, v, k))


def steps(c: Clock) -> Value:
    """Outside c: the number of steps c may run."""
    return Value("steps", (c,))


def on(m: Move, v: Value) -> Value:
    """v, re-timed by m."""
    return Value("on", (m, v))


def const_int(k: Int | int) -> Value:
    """The int64 constant k."""
    text = Text("+", ("int64:", Text("to-string", (k,)))) if isinstance(k, Int) else f"int64:{k}"
    return Value("const", (text,))


def const_at(c: Clock, key: Text | str) -> Value:
    """The constant with this key on c: held by each loop from the outermost to c; on the root, the constant itself."""
    return Value("const_at", (c, key))


def number_at(c: Clock, number: float, dtype: str) -> Value:
    """The number of a dtype, as a constant on c: how a law writes numbers on its right side, where x lies on c.

    Raises ValueError for what that dtype cannot hold.

    >>> print(ops.full_like(Value("x"), number_at(Clock("c"), 1.0, "float64")))
    full_like(x, 1.0)
    """
    held = np.array(number).astype(dtype)
    if held.dtype.kind not in "biuf" or held.ndim or not held == number:
        raise ValueError(f"{number!r} is no number that {dtype} holds")
    return const_at(c, const_key(held))


def vmap(op: Op, flags: Text | str) -> Op:
    """op along the first axis of the arguments flagged "1"; the others stay as they are."""
    return Op("vmap", (op, flags))


def one_row(c: Clock, x: Value, p: Clock) -> Value:
    """x, on p, as the last row of a trace of c, a loop in p: one row, or none if c runs no step."""
    return ops.repeat_rows(x, ops.minimum(steps(c), const_at(p, "int64:1")))


def counted(start: Value, stop: Value) -> Value:
    """start, start + 1, ... stop - 1."""
    return ops.arange(start, stop, const_int(1), dtype="int64")


def as_row(x: Value) -> Value:
    """x as an array of one row."""
    return ops.expand_dims(x, axis=(0,))


def row_of(rows: Value, x: Value, p: Clock) -> Value:
    """x, on p, as the last row of a trace with as many rows as `rows`: one row, or none if `rows` has none."""
    return ops.repeat_rows(x, ops.minimum(rows.shape[0], const_at(p, "int64:1")))


def root() -> Clock:
    """The clock of everything outside all loops."""
    return Clock("root", ())


def cut(c: Clock, n: Int | int) -> Clock:
    """c with min(steps(c), n) steps."""
    return Clock("cut", (c, n))


def upto(c: Clock, n: Value) -> Clock:
    """c with n of its steps: n lies beside c, is not negative, and not greater than steps(c)."""
    return Clock("upto", (c, n))


def chunks(c: Clock) -> Clock:
    """The loop over chunks of consecutive steps of c; values on it have one row for each step of the chunk."""
    return Clock("chunks", (c,))


def lift(c: Clock, d: Clock) -> Clock:
    """The loop d, written inside c, run once beside c for all steps of c, which are a new first axis of its values."""
    return Clock("lift", (c, d))


def lifted(c: Clock, d: Clock) -> Move:
    """From d inside c to lift(c, d): the values at all steps of c, along a new first axis.

    At steps of c at which d has ended already, these are its last values.
    """
    return Move("lifted", (c, d))


def followed(c: Clock, d: Clock) -> Move:
    """From c, and from d beside it, to one loop: the steps of c, then those of d."""
    return Move("followed", (c, d))


def and_last(c: Clock) -> Move:
    """From c, and from the clock around it, to one loop: the steps of c, then one more."""
    return Move("and_last", (c,))


def and_first(c: Clock) -> Move:
    """From c, and from the clock around it, to one loop: one step, then those of c."""
    return Move("and_first", (c,))


def joint(m: Move) -> Clock:
    """The loop that m (`followed`, `and_last`, `and_first`) leads to."""
    return Clock("joint", (m,))


def both(m: Move, v: Value, w: Value) -> Value:
    """On joint(m): v at the steps of c, w at the others, which are those of d or the one step beside c."""
    return Value("both", (m, v, w))


def to_cut(c: Clock, n: Int | int) -> Move:
    """From c to cut(c, n): the same values, fewer steps."""
    return Move("to_cut", (c, n))


def to_upto(c: Clock, n: Value) -> Move:
    """From c to upto(c, n): the same values, fewer steps."""
    return Move("to_upto", (c, n))


def to_step(c: Clock, t: Int | int) -> Move:
    """From c, which runs more than t steps, to the clock around it: the value at step t."""
    return Move("to_step", (c, t))


# Terms that only rules make


def input_(key: Text) -> Value:
    """An input of the program."""
    return Value("input", (key,))


def const(key: Text) -> Value:
    """The constant with this key, outside all loops."""
    return Value("const", (key,))


def loop(number: Text) -> Clock:
    """A loop of the program."""
    return Clock("loop", (number,))


def under(m: Move, d: Clock) -> Clock:
    """The re-timed copy of d, a loop in the clock that m starts from: it lies in the clock that m leads to."""
    return Clock("under", (m, d))


def moved(m: Move, s: State) -> State:
    """The state whose values are those of s, re-timed by m."""
    return State("moved", (m, s))


def masked(c: Clock, d: Clock, s: State) -> State:
    """State s of d at all steps of c: where d has ended it stays as it was."""
    return State("masked", (c, d, s))


def seen(op: Op, s: State) -> State:
    """The state whose values are op of those of s."""
    return State("seen", (op, s))


def scaled(s: State, a: Value) -> State:
    """The state whose values are those of s times a, a number from outside of the loop of s."""
    return State("scaled", (s, a))


def continued(m: Move, s: State, w: Value) -> State:
    """The state on joint(m) whose update is both(m, v, w), where v is the update of s."""
    return State("continued", (m, s, w))


def both_args(m: Move, xs: Args, ys: Args) -> Args:
    """The list of both(m, x, y) for each pair of values x of xs and y of ys."""
    return Args("both_args", (m, xs, ys))


def only(m: Move, d: Clock) -> Move:
    """From d, a loop of one step, to the clock that m leads to: the value at that step."""
    return Move("only", (m, d))


def on_args(m: Move, xs: Args) -> Args:
    """The values of a list, re-timed by m."""
    return Args("on_args", (m, xs))


# Functions: what is known of a term


def dtype(v: Value) -> Text:
    """The dtype of v."""
    return Text("dtype", (v,))


def ndim(v: Value) -> Int:
    """The number of axes of v."""
    return Int("ndim", (v,))


def int_value(v: Value) -> Int:
    """The integer that v is."""
    return Int("int_value", (v,))


def held_as(c: Clock, v: Value) -> Value:
    """An x such that v = hold(c, x); of several equal ones always the same."""
    return Value("held_as", (c, v))


def added(X: Value) -> Value:
    """A value that is the sum of the rows of X; of several equal ones always the same."""
    return Value("added", (X,))


def numeric(v: Value) -> Int:
    """What is known of v, a product or a factor: 3 if it is a number; 2 if it is made of constants, or numbers stay
    with it; 1 if it is the product of something and a number greater than one; 0 if none of these is known.
    """
    return Int("numeric", (v,))


def away(v: Value) -> Int:
    """The smallest number of operators known between v and the state whose spine it is on; 100 where one of them is
    not on the spine.  Below zero v does not depend on the state: -1, or -2 for a constant.
    """
    return Int("away", (v,))


def applied(op: Op, *values: Value) -> Value:
    """The value of op applied to one, two or three values, looked up in one atom, not list by list."""
    return Value(APPLIED[len(values)], (op, *values))


def slot(xs: Args, r: Int, k: Int | int) -> Value:
    """Slot k of expansion r, for the list of arguments xs."""
    return Value("slot", (xs, r, k))


def subsume(x: Value) -> Atom:
    """The action that hides the form x from all rules."""
    return Atom("subsume", (x,))


def to_string(k: Int) -> Text:
    """The digits of k."""
    return Text("to-string", (k,))


def least(j: Int, k: Int | int) -> Int:
    """The lesser one of two integers."""
    return Int("min", (j, k))


def greatest(j: Int, k: Int) -> Int:
    """The greater one of two integers."""
    return Int("max", (j, k))
