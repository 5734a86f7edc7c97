"""The terms of the calculus, as typed Python for patterns and as declarations for egglog.

A clock is one loop.  A Value is an array outside all loops, or on a clock: one array per step.
Laws write terms with the functions below; a parameter of a law is a variable of its pattern.
Meanings (t is the step): see the docstring of each function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from scanopt.array.op import Op as Operator
from scanopt.array.op_text import nested_text, tight
from scanopt.calculus.declarations import APPLIED

__all__ = [
    "Args", "Clock", "Int", "Move", "Op", "State", "Term", "Text", "Value", "apply", "at", "chunks", "cons",
    "const_int", "cut", "delay", "egglog_text", "hold", "item", "last_rows", "length", "lift", "lifted", "nil", "on",
    "one_row", "ops", "prim", "root", "row_of", "seq", "stack", "steps", "tail", "to_cut", "to_step", "variable",
    "vmap",
]  # fmt: skip


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
            return f"-{_number(self.args[1])}"
        if self.head in _INFIX and len(self.args) == 2:
            return f"{self.args[0]}{self.head}{self.args[1]}"
        if self.head in ("cons", "nil"):
            return ", ".join(_elements(self))
        special = _SPECIAL.get(self.head)
        return special(*self.args) if special else f"{self.head}({', '.join(map(str, self.args))})"


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


def _prim_text(key: Any) -> str:
    """An operator of the table."""
    return str(Operator.parse(key)) if isinstance(key, str) else f"prim({key})"


def _apply_text(op: Any, args: Any) -> str:
    """An operator of some arguments, as one writes it: x + y, exp(x), x[0]."""
    texts = _elements(args)
    fixed = not any(x.startswith("*") for x in texts)
    match op.head, op.args:
        case "prim", (str() as key,) if fixed:
            return nested_text(Operator.parse(key), texts)
        case "item", (k,) if fixed:
            return f"{tight(texts[0])}[{k}]"
        case "last_rows", (k,) if fixed:
            return f"{tight(texts[0])}[-{_number(k)}:]"
        case "prim", (str() as key,):
            name = Operator.parse(key)
            return f"{name.name}({', '.join([*texts, *(f'{k}={v!r}' for k, v in name.params)])})"
        case "length", (k,) if fixed:
            return f"{tight(texts[0])}.shape[{k}]"
        case _:
            return f"{op}({', '.join(texts)})"


def _number(k: Any) -> str:
    """An integer, in parentheses where it is computed."""
    return f"({k})" if isinstance(k, Term) and k.args is not None else str(k)


def _number_text(key: Any) -> str:
    """A constant by its key."""
    match key:
        case Term(head="+", args=("int64:", Term(args=(number,)))):
            return _number(number)
        case Term():
            return ""
    dtype, _, number = str(key).partition(":")
    return str(float.fromhex(number)) if dtype.startswith("float") and number else number or str(key)


_SPECIAL: dict[str, Callable[..., str]] = {
    "apply": _apply_text,
    "prim": _prim_text,
    "const": lambda key: _number_text(key) or f"const({key})",
    "const_at": lambda c, key: _number_text(key) or f"const_at({c}, {key})",
}


def _infix(name: str) -> Callable[[Value, Value], Value]:
    """An operator of the table that is written between two values."""
    return lambda x, other: apply(prim(name), x, _beside(x, other))


def _beside(x: Term, other: Any) -> Value:
    if isinstance(other, Value):
        return other
    raise TypeError(
        f"expected a Value beside {x}, found {other!r}: a number has no dtype in a law; write a variable for it, and "
        "say by a condition what it is, for instance neutral(op, e, d)"
    )


class Value(Term):
    """An array, outside loops or on a clock.

    Operators, rows and lengths are written as those of arrays: x + y, x @ W, x[0], x[-k:], x[:n], x.shape[0].
    """

    __add__ = _infix("add")
    __sub__ = _infix("subtract")
    __mul__ = _infix("multiply")
    __truediv__ = _infix("divide")
    __pow__ = _infix("power")
    __matmul__ = _infix("matmul")

    def __radd__(self, other: Any) -> Value:
        return _beside(self, other)

    __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __rmatmul__ = __radd__

    def __neg__(self) -> Value:
        return apply(prim("negative"), self)

    __iter__ = None  # a value is not a list of its rows
    __contains__ = None

    def __getitem__(self, index: Value | Int | int | slice) -> Value:
        """A row, or rows from the first axis."""
        match index:
            case bool():
                raise TypeError(f"a law indexes by no bool, found {index}")
            case int() | Int():
                return apply(item(index), self)
            case slice(start=int() as k, stop=None, step=None) if k < 0:
                return apply(last_rows(-k), self)
            case slice(start=Int(head="-", args=(0, k)), stop=None, step=None) if isinstance(k, int | Int):
                return apply(last_rows(k), self)
            case Value():
                return apply(ops("getitem", index=("in",)), self, index)
            case slice():
                bounds = (index.start, index.stop, index.step)
                if wrong := [x for x in bounds if x is not None and not isinstance(x, int | Value)]:
                    raise TypeError(
                        f"a slice in a law takes Values and ints (and Ints as x[-k:] alone), found {wrong[0]}"
                    )
                entry = tuple("in" if isinstance(x, Value) else x for x in bounds)
                values = [x for x in bounds if isinstance(x, Value)]
                return apply(ops("getitem", index=(("slice", *entry),)), self, *values)
            case _:
                raise TypeError(f"a law indexes by a Value, an Int, an int or a slice of these, found {index!r}")

    @property
    def shape(self) -> _Shape:
        """Its lengths: x.shape[0]."""
        return _Shape(self)


@dataclass(frozen=True)
class _Shape:
    """The lengths of a value."""

    of: Value
    __iter__ = None

    def __getitem__(self, axis: Int | int) -> Value:
        """One of them."""
        return apply(length(axis), self.of)


class Clock(Term):
    """A loop (or the root: outside all loops)."""


class State(Term):
    """The name of a carried state; recursion passes only through names."""


class Op(Term):
    """An operator; it is called with the values that it is applied to, and by keyword with parameters of its own."""

    def __call__(self, *args: Value | Args, **params: Any) -> Value:
        """This operator of some values, or of a whole list of them."""
        if not params:
            return apply(self, *args)
        match self:
            case Op(head="prim", args=(str() as key,)):
                op = Operator.parse(key)
                return apply(ops(op.name, **{**op.options, **params}), *args)
            case _:
                raise TypeError(
                    f"{self} takes no parameters: only an operator of the table does, found {', '.join(params)}"
                )


class _Operators:
    """The operators of the table by their names.

    ops.exp(x) and ops.concatenate(x, y, axis=0) are values, ops.exp and ops("fold", ufunc="add") are operators.
    """

    def __getattr__(self, name: str) -> Op:
        try:
            return self(name)
        except ValueError as error:
            raise AttributeError(str(error)) from None

    def __call__(self, name: str, **params: Any) -> Op:
        """The operator of a name with some parameters.

        Raises ValueError for a name that is not in the table, naming those near, and for parameters that it has not.

        >>> print(ops("fold", ufunc="add"))
        fold{ufunc=add}
        >>> ops.logg
        Traceback (most recent call last):
        AttributeError: no operator named 'logg' in the table; near: log, ...
        """
        made = Operator.make(name, **params)
        return prim(Operator.read(made.key).key if params else made.spec.name)


ops = _Operators()
"""The operators of the table by their names."""


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

    __radd__ = __add__

    def __sub__(self, other: Int | int) -> Int:
        return Int("-", (self, other))

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


def row_of(rows: Value, x: Value, p: Clock) -> Value:
    """x, on p, as the last row of a trace with as many rows as `rows` has; no row where it has none."""
    return apply(prim("repeat_rows"), x, apply(prim("minimum"), rows.shape[0], const_at(p, "int64:1")))


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
