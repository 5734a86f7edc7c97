"""Operators of the table as terms: their parameters are terms, too, that patterns match and build."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from scanopt.array.op import Op as Operator
from scanopt.calculus.pattern import Int, Param, Term, Text

__all__ = ["checked", "operator", "parameters_of"]


def parameters_of(op: Operator) -> tuple[str, Param]:
    """The name of an operator with those of its parameters, and their values, as terms.

    A negative bound of a slice counts from the end of the axis: its term, `back_param`, has the count, at least 1.

    >>> parameters_of(Operator.make("sum", axis=(0,), keepdims=False))[0]
    'sum(axis, keepdims)'
    """
    names = [name for name, _ in op.params]
    return f"{op.name}({', '.join(names)})", _tuple([_param(value) for _, value in op.params])


def operator(signature: str, params: Param) -> Operator:
    """The operator of this signature and these parameters; those that are variables, or computed, stay terms."""
    name, _, names = signature.rstrip(")").partition("(")
    return Operator(name, tuple(zip(filter(None, names.split(", ")), _values(params), strict=True)))


def _param(value: Any, bound: bool = False) -> Param:
    match value:
        case Param():
            return value
        case None:
            return Param("none_param", ())
        case bool():
            return Param("bool_param", (int(value),))
        case Int(head="-", args=(0, k)) if bound:
            return Param("back_param", (k,))
        case int() if bound and -(2**63) < value < 0:
            return Param("back_param", (-value,))
        case Int():
            return Param("int_param", (value,))
        case int():
            fits = -(2**63) <= value < 2**63
            return Param("int_param", (value,)) if fits else Param("large_param", (str(value),))
        case float():
            return Param("float_param", (value.hex(),))
        case str() | Text():
            return Param("text_param", (value,))
        case ("slice", *bounds):
            return Param("slice_param", tuple(_param(x, bound=n < 2) for n, x in enumerate(bounds)))
        case tuple():
            return _tuple([_param(x) for x in value])
    raise TypeError(f"expected None, a bool, int, float, str, or a tuple of these as a parameter, found {value!r}")


def _tuple(params: Sequence[Param]) -> Param:
    out = Param("end_params", ())
    for x in reversed(params):
        out = Param("pair_param", (x, out))
    return out


def _values(params: Term) -> Iterator[Any]:
    """The elements of a tuple."""
    while params.head == "pair_param" and params.args is not None:
        first, rest = params.args
        assert isinstance(first, Term)
        assert isinstance(rest, Term)
        yield _plain(first)
        params = rest


def _plain(x: Term) -> Any:
    match x.head, x.args:
        case "none_param", _:
            return None
        case "bool_param", (value,):
            return bool(value)
        case "back_param", (k,):
            return -k if isinstance(k, int | Int) else k
        case "large_param", (text,):
            return int(str(text))
        case "float_param", (text,):
            return float.fromhex(str(text))
        case (("int_param" | "text_param"), (value,)):
            return value
        case "slice_param", (*bounds,):
            return ("slice", *(_plain(b) for b in bounds if isinstance(b, Term)))
        case (("pair_param" | "end_params"), _):
            return tuple(_values(x))
        case _:
            return x


def _tuples(x: Any) -> Any:
    return tuple(map(_tuples, x)) if isinstance(x, list | tuple) else x


def checked(name: str, **params: Any) -> Operator:
    """The operator `name`; numbers and texts in `params` may be variables.  Raises ValueError if none can exist."""
    made = Operator.make(name, **{k: _tuples(v) for k, v in params.items()})
    if params:
        numbers = itertools.count()
        Operator.make(name, **{k: _sample(v, numbers) for k, v in made.params}).check()
    return Operator(made.spec.name, made.params)


def _sample(x: Any, numbers: Iterator[int]) -> Any:
    """A parameter with numbers and texts in place of variables, to be checked."""
    match x:
        case ("slice", start, stop, Int()):
            return ("slice", _sample(start, numbers), _sample(stop, numbers), 1)
        case tuple():
            return tuple(_sample(a, numbers) for a in x)
    return next(numbers) if isinstance(x, Int) else "" if isinstance(x, Text) else x
