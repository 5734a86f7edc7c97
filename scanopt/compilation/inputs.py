"""`In`: an input of a compiled function with a name, a default value or rules of its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.device import arrived, on_device
from scanopt.array.shapes import axes_text
from scanopt.array.types import array_of
from scanopt.array.variable import Constant, SharedVariable, Variable, describe
from scanopt.interpreter import read_value
from scanopt.loops.site import is_truth, show
from scanopt.records import dataclass

__all__ = ["In", "Out", "Param", "read_inputs", "read_one"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class In:
    """An input of `function`: a variable and how its values are given.

    value: the value in calls that give none; copied, unless `borrow`.  name: for calls by keyword,
    in place of the variable's own.  strict: accept arrays of exactly this dtype only.  allow_downcast:
    as `allow_input_downcast` of `function`, for this input.  update: what `value` becomes after each
    call, computed from that call's values; there must be a first `value`.
    mutable: accepted and without effect, since functions never write to their arguments.

    >>> from scanopt import function, tensor as T
    >>> x, n = T.dscalars("x", "n")
    >>> count = function([x, In(n, value=0, update=n + x)], n)
    >>> [float(count(2)), float(count(2)), float(count(2, n=10)), float(count(0))]
    [0.0, 2.0, 10.0, 12.0]

    Source: the documents' `theano.In`.
    """

    variable: Variable
    name: str | None = None
    value: Any = None
    update: Any = None
    mutable: bool | None = None
    strict: bool = False
    allow_downcast: bool | None = None
    borrow: bool | None = None


@dataclass(frozen=True, eq=False)
class Out:
    """An output of `function`.

    variable: what is returned.  borrow: accepted and without effect, since results share no memory with anything.

    >>> from scanopt import function, tensor as T
    >>> x = T.dscalar("x")
    >>> function([x], Out(x + 1, borrow=True))(2.0)
    array(3.)

    Source: the documents' `theano.Out`.
    """

    variable: Variable
    borrow: bool = False


def Param(  # noqa: N802  the documented name
    variable: Variable,
    default: Any = None,
    name: str | None = None,
    mutable: bool | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool | None = None,
) -> In:
    """An `In` as Theano's older programs write it: `default` is its value.

    variable, name, mutable, strict, allow_downcast, borrow: as in `In`.
    """
    return In(variable, name, default, None, mutable, strict, allow_downcast, borrow)


def read_inputs(inputs: Any, downcast: bool | None) -> tuple[In, ...]:
    """Read the inputs given to `function`: variables, `In`s and pairs (variable, default value).

    downcast: for inputs that do not set `allow_downcast`.  Raises TypeError, ValueError.
    """
    if isinstance(inputs, Variable | In) or not isinstance(inputs, list | tuple):
        raise TypeError(f"inputs must be a list of symbolic arrays, found {show(inputs)}; write function([x], ...)")
    found = [_checked(f"inputs[{i}]", x, downcast) for i, x in enumerate(inputs)]
    variables = [x.variable for x in found]
    if len(set(variables)) < len(variables):
        twice = next(x for x, count in Counter(variables).items() if count > 1)
        raise ValueError(f"inputs lists {describe(twice)} twice")
    return tuple(found)


def _checked(place: str, x: Any, downcast: bool | None) -> In:
    if isinstance(x, tuple | list) and len(x) == 2 and isinstance(x[0], Variable):
        x = In(x[0], value=x[1])
    made = x if isinstance(x, In) else In(x)
    v = made.variable
    if not isinstance(v, Variable):
        raise TypeError(f"{place} must be a symbolic array, found {show(v)}")
    if isinstance(v, Constant | SharedVariable):
        raise TypeError(f"{place} is a {type(v).__name__}, {describe(v)}: it has a value of its own")
    for what, option in (("strict", made.strict), ("allow_downcast", made.allow_downcast)):
        if not (option is None or is_truth(option)):
            raise TypeError(f"{what} of {place} must be True or False, found {show(option)}")
    if made.name is not None and not isinstance(made.name, str):
        raise TypeError(f"the name of {place} must be a string, found {show(made.name)}")
    allow = downcast if made.allow_downcast is None else made.allow_downcast
    made = replace(made, name=made.name or v.name, allow_downcast=allow)
    return replace(made, value=_default(place, made), update=_update(place, made))


def _default(place: str, x: In) -> Array | None:
    if x.value is None:
        return None
    if isinstance(x.value, Variable):
        raise TypeError(f"the default value of {place} is symbolic: {describe(x.value)}")
    try:
        data = read_one(x, x.value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"the default value of {place}: {error}") from None
    return data if x.borrow else data.copy()


def _update(place: str, x: In) -> Variable | None:
    if x.update is None:
        return None
    if x.value is None:
        raise ValueError(f"{place} has an update, but no value to start from")
    try:
        new = as_tensor_variable(x.update)
    except (TypeError, ValueError):
        raise TypeError(f"the update of {place} must be a symbolic array, found {show(x.update)}") from None
    if (new.dtype, new.ndim) != (x.variable.dtype, x.variable.ndim):
        raise TypeError(f"the update of {place}, {describe(x.variable)}, is of another type: {describe(new)}")
    return new


def _read_there(x: In, value: Any) -> Array:
    """An array on a device as a value for this input, converted as far as its rules allow."""
    v = x.variable
    if value.ndim != v.ndim:
        raise TypeError(f"{describe(v)} expected {axes_text(v.ndim)}, found an array on a device with {value.ndim}")
    if value.dtype == v.dtype:
        found: Array = value
        return found
    if x.strict or not (np.can_cast(value.dtype, v.dtype) or x.allow_downcast):
        raise TypeError(
            f"{describe(v)} expected {v.dtype}, found an array on a device of dtype {value.dtype}: cast it by "
            f".astype({v.dtype!r})"
        )
    cast: Array = value.astype(v.dtype)
    return cast


def read_one(x: In, value: Any) -> Array:
    """A value for this input, converted as far as its rules allow.  Raises TypeError, ValueError."""
    v = x.variable
    if not isinstance(value, np.ndarray | np.generic | Variable) and on_device(value):
        return _read_there(x, arrived(value))
    plain = not isinstance(value, np.ndarray | np.generic)
    if x.strict and (plain or value.dtype != v.dtype):
        raise TypeError(f"{describe(v)} is strict: it takes arrays of dtype {v.dtype} only, found {show(value)}")
    if x.allow_downcast and not isinstance(value, Variable):
        data = array_of(value)
        real = data.dtype.kind in "biuf" and np.dtype(v.dtype).kind in "biuf"
        if real or (data.dtype.kind == "c" and np.can_cast(data.dtype, v.dtype, "same_kind")):
            with np.errstate(over="ignore", invalid="ignore"):
                value = data.astype(v.dtype)
    data = read_value(v, value)
    inexact = data.dtype.kind in "fc"
    if x.allow_downcast is False and plain and not np.array_equal(np.asarray(value), data, equal_nan=inexact):
        raise TypeError(
            f"{describe(v)} got {show(value)}, which {v.dtype} does not hold exactly: give an array of that dtype, "
            "or allow the downcast"
        )
    return data
