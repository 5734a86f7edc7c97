"""The terms of the calculus, as typed Python for patterns and as declarations for egglog.

A clock is one loop.  A Value is an array outside all loops, or on a clock: one array per step.
Laws write terms with the functions below; a parameter of a law is a variable of its pattern.
Meanings (t is the step): see the docstring of each function.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

__all__ = [
    "APPLIED", "DECLARATIONS", "FIRST_ROWS", "Args", "Clock", "Int", "Move", "Op", "State", "Term", "Text", "Value",
    "apply", "at", "chunks", "cons", "const_int", "cut", "delay", "egglog_text", "hold", "item", "last_rows", "length",
    "lift", "lifted", "nil", "on", "one_row", "prim", "root", "seq", "stack", "steps", "tail", "to_cut", "to_step",
    "variable", "vmap",
]  # fmt: skip

DECLARATIONS = """
(ruleset facts)
(sort Value) (sort Clock) (sort State) (sort Op) (sort Args) (sort Move)
(constructor input (String) Value)
(constructor const (String) Value)
(constructor const_at (Clock String) Value)
(constructor apply (Op Args) Value)
(relation list_one (Args Value))
(relation list_two (Args Value Value))
(relation list_three (Args Value Value Value))
(function apply_one (Op Value) Value :merge old)
(function apply_two (Op Value Value) Value :merge old)
(function apply_three (Op Value Value Value) Value :merge old)
(constructor hold (Clock Value) Value)
(constructor seq (Clock Value) Value)
(constructor delay (Clock Value State i64) Value)
(constructor stack (Clock Value) Value)
(constructor tail (Clock Value i64) Value)
(constructor at (Clock Value i64) Value)
(constructor steps (Clock) Value)
(constructor on (Move Value) Value)
(constructor nil () Args)
(constructor cons (Value Args) Args)
(constructor on_args (Move Args) Args)
(constructor prim (String) Op)
(constructor vmap (Op String) Op)
(constructor item (i64) Op)
(constructor last_rows (i64) Op)
(constructor length (i64) Op)
(constructor root () Clock)
(constructor loop (String) Clock)
(constructor cut (Clock i64) Clock)
(constructor chunks (Clock) Clock)
(constructor lift (Clock Clock) Clock)
(constructor under (Move Clock) Clock)
(constructor state (String) State)
(constructor moved (Move State) State)
(constructor to_cut (Clock i64) Move)
(constructor to_step (Clock i64) Move)
(constructor only (Move Clock) Move)
(constructor lifted (Clock Clock) Move)
(relation keeps_shapes (Move))
(relation way_out (Move Clock Clock))
(relation defines (State Value))
(relation level (Clock Clock))
(relation until (Clock Value))
(function held_as (Clock Value) Value :merge old)
(function added (Value) Value :merge old)
(function slot (Args i64 i64) Value :merge old)
(relation expanding (Args i64 Value Op))
(relation expanded (Op Args))
(function dtype (Value) String :no-merge)
(function ndim (Value) i64 :no-merge)
(function int_value (Value) i64 :no-merge)
"""


APPLIED = {1: "apply_one", 2: "apply_two", 3: "apply_three"}
"""The functions that hold, by their number of arguments, what is applied: one atom of a query, not a list."""

FIRST_ROWS = r'(prim "getitem{\"index\":[[\"slice\",null,\"in\",null]]}")'
"""The operator X[:n], in egglog's syntax."""


@dataclass(frozen=True)
class Term:
    """A pattern: a constructor applied to patterns, or (`args` is None) a variable."""

    head: str
    args: tuple[Term | int | str, ...] | None = None

    def egglog(self) -> str:
        """The pattern in egglog's syntax."""
        if self.args is None:
            return self.head
        return f"({' '.join([self.head, *map(egglog_text, self.args)])})"

    def pattern(self) -> str:
        """The pattern in egglog's syntax, to be looked up: two arguments at once, not one list after the other."""
        if self.args is None:
            return self.head
        head, args = self.head, [x.pattern() if isinstance(x, Term) else egglog_text(x) for x in self.args]
        if head == "apply" and isinstance(self.args[1], Term) and (fixed := list(_fixed(self.args[1]))):
            head = APPLIED.get(len(fixed), head)
            args = [args[0], *(x.pattern() for x in fixed)] if head != "apply" else args
        return f"({' '.join([head, *args])})"

    def variables(self) -> set[str]:
        """Names of the variables in it."""
        if self.args is None:
            return {self.head}
        return {v for a in self.args if isinstance(a, Term) for v in a.variables()}

    def __str__(self) -> str:
        if self.args is None:
            return self.head
        if self.head == "-" and self.args[0] == 0:
            return f"-{self.args[1]}"
        if self.head in _INFIX and len(self.args) == 2:
            return f"{self.args[0]}{self.head}{self.args[1]}"
        if self.head == "prim":
            return str(self.args[0])
        if self.head == "cons" or self.head == "nil":
            return ", ".join(_elements(self))
        return f"{self.head}({', '.join(map(str, self.args))})"


_INFIX = {"+", "-"}


def egglog_text(x: Term | int | str) -> str:
    """A part of a term in egglog's syntax."""
    if isinstance(x, Term):
        return x.egglog()
    return str(x) if isinstance(x, int) else '"' + x.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fixed(x: Term) -> Iterator[Term]:
    """The elements of a list that is written out to its end, else nothing."""
    out: list[Term] = []
    while x.head == "cons" and x.args is not None:
        first, x = (a for a in x.args if isinstance(a, Term))
        out.append(first)
    yield from out if x.head == "nil" else ()


def _elements(x: Term) -> list[str]:
    if x.head == "cons" and x.args is not None and isinstance(x.args[1], Term):
        return [str(x.args[0]), *_elements(x.args[1])]
    return [] if x.head == "nil" else [f"*{x}"]


class Value(Term):
    """An array, outside loops or on a clock."""


class Clock(Term):
    """A loop (or the root: outside all loops)."""


class State(Term):
    """The name of a carried state; recursion passes only through names."""


class Op(Term):
    """An operator."""


class Args(Term):
    """A list of values."""


class Move(Term):
    """A re-timing: from a clock to another one."""


class Text(Term):
    """A string."""


class Int(Term):
    """An integer."""

    def __add__(self, other: Int | int) -> Int:
        return Int("+", (self, other))

    def __neg__(self) -> Int:
        return Int("-", (0, self))


T = TypeVar("T", bound=Term)


def variable(sort: type[T], name: str) -> T:
    """The pattern variable `name` of a sort."""
    return sort(name)


def apply(op: Op, *args: Value | Args) -> Value:
    """op of the arguments, all on the same clock; a single Args stands for the whole list."""
    if len(args) == 1 and isinstance(args[0], Args):
        return Value("apply", (op, args[0]))
    out = nil()
    for a in reversed(args):
        if not isinstance(a, Value):
            raise TypeError(f"expected a Value among the arguments of apply, found {a!r}")
        out = cons(a, out)
    return Value("apply", (op, out))


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
    """The constant with this key on c: held by every loop from the outermost to c, itself where c is the root."""
    return Value("const_at", (c, key))


def nil() -> Args:
    """The empty list of arguments."""
    return Args("nil", ())


def cons(first: Value, rest: Args) -> Args:
    """A list of arguments with one more in front."""
    return Args("cons", (first, rest))


def prim(key: str) -> Op:
    """The operator of the table with this key, for instance "add" or 'shape_i{"axis":0}'."""
    return Op("prim", (key,))


def vmap(op: Op, flags: Text | str) -> Op:
    """op along the first axis of the arguments flagged "1"; the others stay as they are."""
    return Op("vmap", (op, flags))


def item(k: Int | int) -> Op:
    """x[k] along the first axis."""
    return Op("item", (k,))


def last_rows(k: Int | int) -> Op:
    """x[-k:] for k >= 1."""
    return Op("last_rows", (k,))


def one_row(c: Clock, x: Value, p: Clock) -> Value:
    """x as the last row of a trace of c, which is within p; no row where c runs no step."""
    return apply(prim("repeat_rows"), x, apply(prim("minimum"), steps(c), const_at(p, "int64:1")))


def length(axis: Int | int) -> Op:
    """The length of x along an axis, an int64 scalar."""
    return Op("length", (axis,))


def root() -> Clock:
    """The clock of everything outside all loops."""
    return Clock("root", ())


def cut(c: Clock, n: Int | int) -> Clock:
    """c with min(steps(c), n) steps."""
    return Clock("cut", (c, n))


def chunks(c: Clock) -> Clock:
    """The loop over chunks of so many steps of c each; values on it have a row for each of these steps."""
    return Clock("chunks", (c,))


def lift(c: Clock, d: Clock) -> Clock:
    """The loop d inside c, once beside it for all steps of c: values on it have an axis for the steps of c in front."""
    return Clock("lift", (c, d))


def lifted(c: Clock, d: Clock) -> Move:
    """From d inside c to lift(c, d): the values at all steps of c, along a new first axis."""
    return Move("lifted", (c, d))


def to_cut(c: Clock, n: Int | int) -> Move:
    """From c to cut(c, n): the same values, fewer steps."""
    return Move("to_cut", (c, n))


def to_step(c: Clock, t: Int | int) -> Move:
    """From c, which runs more than t steps, to the clock around it: the value at step t."""
    return Move("to_step", (c, t))
