"""Patterns, as typed Python: what a rule looks up, and what it makes.

A pattern is a constructor of the calculus applied to patterns, or a variable.  Values are written as arrays are,
operators by their names in the table.  The constructors are in `terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from scanopt.array.op import TABLE, load
from scanopt.array.op import Op as Operator
from scanopt.array.op_text import nested_text
from scanopt.calculus.operator_terms import checked, operator, parameters_of
from scanopt.calculus.pattern import (
    SPECIAL,
    Args,
    Atom,
    Clock,
    Int,
    Move,
    Param,
    State,
    Term,
    Text,
    egglog_text,
    elements,
    number_text,
)  # fmt: skip
from scanopt.records import dataclass

__all__ = [
    "NO_NUMBER", "Args", "Atom", "Clock", "Int", "Move", "Op", "Param", "State", "Term", "Text", "Value", "apply",
    "args", "egglog_text", "nil", "operator_of", "operators_in", "ops", "prim", "variable",
]  # fmt: skip


def _apply_text(op: Any, args: Any) -> str:
    """An applied operator in the usual notation: x + y, exp(x), x[0]."""
    texts = elements(args)
    if op.head not in ("prim", "prim_with"):
        return f"{op}({', '.join(texts)})"
    made = operator_of(op)
    if any(x.startswith("*") for x in texts):
        return f"{made.name}({', '.join([*texts, *(f'{k}={v!r}' for k, v in made.params)])})"
    return nested_text(made, texts)


def _number_text(key: Any) -> str:
    """The number that a constant's key stands for, as text; "" for a key of which no number is known."""
    match key:
        case Term(head="+", args=("int64:", Term(args=(number,)))):
            return number_text(number)
        case Term():
            return ""
    dtype, _, number = str(key).partition(":")
    return str(float.fromhex(number)) if dtype.startswith("float") and number else number or str(key)


SPECIAL |= {
    "apply": _apply_text,
    "prim": str,
    "prim_with": lambda signature, params: str(operator(signature, params)),
    "const": lambda key: _number_text(key) or f"const({key})",
    "const_at": lambda c, key: _number_text(key) or f"const_at({c}, {key})",
}


NO_NUMBER = (
    "a number has no dtype in a law; on the left, write a variable for it, and say by a condition what it is, for "
    'instance neutral(op, e, d); on the right, number_at(c, 1.0, "float64"), with the condition lies_on(x, c)'
)
"""What to write in place of a number."""


def _infix(name: str) -> Callable[[Value, Value], Value]:
    """The method by which Python writes an operator of the table between two values."""
    return lambda x, other: apply(prim(Operator(name)), x, _beside(x, other))


def _beside(x: Term, other: Any) -> Value:
    if isinstance(other, Value):
        return other
    raise TypeError(f"expected a Value beside {x}, found {other!r}: {NO_NUMBER}")


_INSTEAD = {
    "T": "write ops.transpose({}, axes=(1, 0)), or axes=(0,) for a vector",
    "ndim": "conditions say how many axes there are, such as matrix({}) or has_so_many_axes({}, n)",
    "dtype": "conditions say of which dtype it is, such as floating({}) or of_dtype({}, d)",
}
"""What a law says in place of an attribute that arrays have."""


class Value(Term):
    """An array, outside loops or on a clock.

    Operators, rows and lengths are written as those of arrays: x + y, x @ W, x < y, x[0], x[-k:], x[:n], x.shape[0].
    """

    no_array = "a law says ops.exp(x): its operators are those of `ops`, not functions of arrays"
    """Why functions of arrays do not take it."""

    __add__ = _infix("add")
    __sub__ = _infix("subtract")
    __mul__ = _infix("multiply")
    __truediv__ = _infix("divide")
    __pow__ = _infix("power")
    __matmul__ = _infix("matmul")
    __lt__ = _infix("less")
    __le__ = _infix("less_equal")
    __gt__ = _infix("greater")
    __ge__ = _infix("greater_equal")

    def __radd__(self, other: Any) -> Value:
        return _beside(self, other)

    __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __rmatmul__ = __radd__

    def __neg__(self) -> Value:
        return apply(prim(Operator("negative")), self)

    def __abs__(self) -> Value:
        return apply(prim(Operator("absolute")), self)

    if not TYPE_CHECKING:  # where an attribute that is missing is found by the type checker

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or name in ("head", "args"):  # of an object that is being copied or unpickled
                raise AttributeError(name)
            shown = str(self) if self.args is None else f"({self})"
            hint = _INSTEAD.get(name, f"write ops.{name}({{}}, ...)" if name in TABLE else "").replace("{}", shown)
            raise AttributeError(f"a value in a law has no attribute {name!r}{hint and '; ' + hint}")

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"NumPy takes no value of a law: {self.no_array}")

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self} is neither true nor false in a law: it stands for all values; conditions are in when=[]"
        )

    __iter__ = None  # a value is not a list of its rows
    __contains__ = None

    def __getitem__(self, index: Value | Int | int | slice) -> Value:
        """A row, or rows from the first axis.

        Bounds of slices that are Ints count from the start, or as x[-k:] at least 1 from the end.
        """
        match index:
            case bool():
                raise TypeError(f"a law indexes by no bool, found {index}")
            case int() | Int():
                return apply(ops("getitem", index=(index,)), self)
            case Value():
                return apply(ops("getitem", index=("in",)), self, index)
            case slice():
                bounds = (index.start, index.stop, index.step)
                if wrong := [x for x in bounds if x is not None and not isinstance(x, int | Int | Value)]:
                    raise TypeError(f"a slice in a law takes Values, Ints and ints, found {wrong[0]!r}")
                entry = tuple("in" if isinstance(x, Value) else x for x in bounds)
                values = [x for x in bounds if isinstance(x, Value)]
                return apply(ops("getitem", index=(("slice", *entry),)), self, *values)
            case _:
                raise TypeError(f"a law indexes by a Value, an Int, an int or a slice of these, found {index!r}")

    @property
    def shape(self) -> _Shape:
        """The lengths of its axes: x.shape[0]."""
        return _Shape(self)


@dataclass(frozen=True)
class _Shape:
    """The lengths of a value."""

    of: Value
    __iter__ = None

    def __getitem__(self, axis: Int | int) -> Value:
        """The length along an axis."""
        return apply(ops("shape_i", axis=axis), self.of)


class Op(Term):
    """An operator; it is called with the values that it is applied to, and by keyword with parameters of its own."""

    def __call__(self, *args: Value | Args, **params: Any) -> Value:
        """Apply this operator to some values, or to a whole list of them; `params` are parameters of the operator."""
        if not params:
            return apply(self, *args)
        if self.head not in ("prim", "prim_with"):
            raise TypeError(
                f"{self} takes no parameters: only an operator of the table does, found {', '.join(params)}"
            )
        op = operator_of(self)
        return apply(ops(op.name, **{**op.options, **params}), *args)


class _Operators:
    """The operators of the table by their names.

    ops.exp(x) and ops.concatenate(x, y, axis=0) are values, ops.exp and ops("fold", ufunc="add") are operators.
    dir(ops) lists all of them.
    """

    def __getattr__(self, name: str) -> Op:
        try:
            return self(name)
        except ValueError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return sorted(load())

    def __call__(self, name: str, **params: Any) -> Op:
        """The operator of the table called `name`, with parameters.

        Raises ValueError for a name that is not in the table, suggesting similar ones, and for parameters that the
        operator does not have.

        >>> print(ops("fold", ufunc="add"))
        fold{ufunc=add}
        >>> ops.logg
        Traceback (most recent call last):
        AttributeError: no operator named 'logg' in the table; near: log, ...
        """
        return prim(checked(name, **params))


ops = _Operators()
"""The operators of the table by their names."""


T = TypeVar("T", bound=Term)


def variable(sort: type[T], name: str) -> T:
    """The pattern variable `name` of a sort."""
    return sort(name)


def apply(op: Op, *values: Value | Args) -> Value:
    """op applied to the arguments, all on the same clock; Args at the end stand for the rest of them, or for all."""
    return Value("apply", (op, args(*values)))


def args(*values: Value | Args) -> Args:
    """A list of values; Args at the end stand for the rest of it.

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
    """The list `rest` with `first` in front."""
    return Args("cons", (first, rest))


@lru_cache(maxsize=4096)
def prim(op: Operator) -> Op:
    """An operator of the table."""
    return Op("prim_with", parameters_of(op)) if op.params else Op("prim", (op.name,))


def operator_of(op: Op) -> Operator:
    """The table's operator that the term `op` stands for.  Parameters that are variables, or computed, stay terms."""
    assert op.args is not None
    if op.head == "prim":
        return Operator(str(op.args[0]))
    signature, params = op.args
    assert isinstance(params, Param)
    return operator(str(signature), params)


def operators_in(x: Term | int | str) -> Iterator[tuple[Operator, bool]]:
    """The operators of the table in a pattern, and whether all their parameters are given."""
    if isinstance(x, Op) and x.head in ("prim", "prim_with"):
        yield operator_of(x), not x.variables()
    elif isinstance(x, Term):
        for a in x.args or ():
            yield from operators_in(a)
