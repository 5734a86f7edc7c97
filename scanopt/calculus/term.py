"""Patterns, as typed Python: what a rule looks up, and what it makes.

A pattern is a constructor of the calculus applied to patterns, or a variable.  Values are written as arrays are,
operators by their names in the table.  The constructors are in `terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from scanopt.array.op import Op as Operator
from scanopt.array.op_text import nested_text, tight
from scanopt.calculus.declarations import APPLIED

__all__ = [
    "Args", "Atom", "Clock", "Int", "Move", "Op", "State", "Term", "Text", "Value", "apply", "args", "egglog_text",
    "item", "length", "nil", "ops", "prim", "variable",
]  # fmt: skip


@dataclass(frozen=True)
class Atom:
    """A part of a rule: what is looked up (`=`, `!=`, `>=` and their like), or what is done (set, union, subsume)."""

    head: str
    args: tuple[Term | int | str, ...]

    def egglog(self) -> str:
        """The atom in egglog's syntax, to be looked up."""
        return (
            f"({' '.join([self.head, *(a.pattern() if isinstance(a, Term) else egglog_text(a) for a in self.args)])})"
        )

    def stated(self) -> str:
        """The atom in egglog's syntax, to be done."""
        return f"({' '.join([self.head, *map(egglog_text, self.args)])})"

    def variables(self) -> set[str]:
        """Names of the variables that it speaks of."""
        return {v for a in self.args if isinstance(a, Term) for v in a.variables()}

    def __str__(self) -> str:
        texts = [repr(a) if isinstance(a, str) else str(a) for a in self.args]
        sign = {"union": "=", "set": ":="}.get(self.head, self.head)
        return f"{texts[0]} {sign} {texts[1]}" if len(texts) == 2 else f"{self.head} {', '.join(texts)}"


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

    def is_(self, other: Term | int | str) -> Atom:
        """The atom "both are equal", to be looked up."""
        return Atom("=", (self, other))

    def differs_from(self, other: Term | int | str) -> Atom:
        """The atom "both differ, as far as is known", to be looked up."""
        return Atom("!=", (self, other))

    def equals(self, other: Term | int | str) -> Atom:
        """The atom that makes both equal."""
        return Atom("union", (self, other))

    def gets(self, value: Term | int | str) -> Atom:
        """The atom that notes the value of a function: dtype(v).gets(d)."""
        return Atom("set", (self, value))

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
            return f"({', '.join(_elements(self))})"
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

    def __add__(self, other: Text | str) -> Text:
        return Text("+", (self, other))

    def __radd__(self, other: str) -> Text:
        return Text("+", (other, self))


class Int(Term):
    """An integer."""

    def __add__(self, other: Int | int) -> Int:
        return Int("+", (self, other))

    __radd__ = __add__

    def __sub__(self, other: Int | int) -> Int:
        return Int("-", (self, other))

    def __neg__(self) -> Int:
        return Int("-", (0, self))

    def __ge__(self, other: Int | int) -> Atom:
        return Atom(">=", (self, other))

    def __le__(self, other: Int | int) -> Atom:
        return Atom("<=", (self, other))

    def __gt__(self, other: Int | int) -> Atom:
        return Atom(">", (self, other))

    def __lt__(self, other: Int | int) -> Atom:
        return Atom("<", (self, other))


T = TypeVar("T", bound=Term)


def variable(sort: type[T], name: str) -> T:
    """The pattern variable `name` of a sort."""
    return sort(name)


def apply(op: Op, *values: Value | Args) -> Value:
    """op of the arguments, all on the same clock; Args in the end stand for the rest of them, or for all."""
    return Value("apply", (op, args(*values)))


def args(*values: Value | Args) -> Args:
    """A list of values; Args in the end stand for the rest of it.

    >>> print(args(Value("x"), Args("rest")))
    (x, *rest)
    """
    *first, last = values or (nil(),)
    out = last if isinstance(last, Args) else cons(_value(last), nil())
    for a in reversed(first):
        out = cons(_value(a), out)
    return out


def _value(x: Any) -> Value:
    if not isinstance(x, Value):
        raise TypeError(f"expected a Value among the arguments of an operator, found {x!r}")
    return x


def nil() -> Args:
    """The empty list of arguments."""
    return Args("nil", ())


def cons(first: Value, rest: Args) -> Args:
    """A list of arguments with one more in front."""
    return Args("cons", (first, rest))


def prim(key: str) -> Op:
    """The operator of the table with this key, for instance "add" or 'shape_i{"axis":0}'."""
    return Op("prim", (key,))


def item(k: Int | int) -> Op:
    """x[k] along the first axis."""
    return Op("item", (k,))


def last_rows(k: Int | int) -> Op:
    """x[-k:] for k >= 1."""
    return Op("last_rows", (k,))


def length(axis: Int | int) -> Op:
    """The length of x along an axis, an int64 scalar."""
    return Op("length", (axis,))
