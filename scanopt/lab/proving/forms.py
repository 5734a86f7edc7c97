"""How terms of laws are read: the one place that knows how operators and lists of arguments are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scanopt.array.op import Op
from scanopt.calculus.terms import Args, Int, Term, Text, operator_of
from scanopt.calculus.terms import Op as Operator
from scanopt.records import dataclass

__all__ = [
    "Along",
    "Named",
    "TableOperator",
    "Taken",
    "Vmap",
    "arguments",
    "free_list",
    "is_choice",
    "is_variable",
    "operator_form",
    "subterms",
]


@dataclass(frozen=True)
class Named:
    """An operator about which the law says nothing: a variable."""

    name: str


@dataclass(frozen=True)
class TableOperator:
    """An operator of the table."""

    op: Op


@dataclass(frozen=True)
class Taken:
    """x[k] ("item"), x[-k:] ("last_rows") or x.shape[k] ("length")."""

    what: str
    k: Int | int


@dataclass(frozen=True)
class Along:
    """An operator of the table with parameters that hold integers of the law: an axis, a bound, a number of axes."""

    op: Op


@dataclass(frozen=True)
class Vmap:
    """An operator along the first axis of the arguments that are flagged."""

    op: Term
    flags: Text | str


def operator_form(op: Term) -> Named | TableOperator | Taken | Along | Vmap:
    """The form of an operator of a law."""
    match op.head, op.args:
        case name, None:
            return Named(name)
        case "vmap", (Term() as inner, (Text() | str()) as flags):
            return Vmap(inner, flags)
        case (("prim" | "prim_with"), _) if isinstance(op, Operator):
            return _of_table(operator_of(op), bool(op.variables()))
        case _:
            raise NotImplementedError(f"the operator {op}")


def _of_table(op: Op, open_: bool) -> TableOperator | Taken | Along:
    """An operator of the table.  open_: some of its parameters are variables."""
    match op.name, *(value for _, value in op.params):
        case "shape_i", (Int() | int()) as axis:
            return Taken("length", axis)
        case "getitem", ((Int() | int()) as k,):
            return Taken("item", k)
        case "getitem", (("slice", Int(head="-", args=(0, (Int() | int()) as k)), None, None),):
            return Taken("last_rows", k)
        case "getitem", (("slice", int() as k, None, None),) if k < 0:
            return Taken("last_rows", -k)
        case _ if open_ and all(_numbers(value) for _, value in op.params):
            return Along(op)
        case _ if open_:
            raise NotImplementedError(f"the operator {op}, with parameters that are variables")
        case _:
            return TableOperator(op)


def _numbers(parameter: Any) -> bool:
    """Whether all terms of the law in a parameter are integers."""
    if isinstance(parameter, tuple):
        return all(map(_numbers, parameter))
    return isinstance(parameter, Int) or not isinstance(parameter, Term)


def arguments(args: Term) -> list[Term]:
    """The values of a list of arguments; a list variable, alone or as the rest of a list, comes last."""
    match args.head, args.args:
        case "cons", (Term() as first, Term() as rest):
            return [first, *arguments(rest)]
        case "nil", ():
            return []
        case _:
            return [args]


def free_list(x: Term) -> bool:
    """Whether a term is a variable that stands for a list of values."""
    return isinstance(x, Args) and x.args is None


def is_choice(op: Term) -> bool:
    """Whether an operator is an ifelse, of whose two values only one is computed."""
    form = operator_form(op)
    return isinstance(form, TableOperator) and form.op.name == "ifelse"


def is_variable(x: Any) -> bool:
    """Whether x is a variable of the law."""
    return isinstance(x, Term) and x.args is None


def subterms(x: Any) -> Iterator[Term]:
    """A term and all terms in it."""
    if isinstance(x, Term):
        yield x
        for a in x.args or ():
            yield from subterms(a)
