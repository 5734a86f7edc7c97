"""Turns a call of a NumPy function on a symbolic array into a call of the function that stands in for it.

Arguments are bound by NumPy's signature: those that do not affect values (`copy`, `order`, `subok`) are dropped,
those that the stand-in has are passed on, and any other is refused by name.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from scanopt.array.instead import INSTEAD, OF_ARGUMENTS, OF_METHODS, OWN

__all__ = ["full_name", "missing", "numpy_call", "refused", "ufunc_call"]

Function = Callable[..., Any]
Find = Callable[[str], Function | None]
_ANY = object()
_MEANINGLESS: dict[str, tuple[Any, ...]] = {
    "copy": (_ANY,), "subok": (_ANY,), "order": (_ANY,), "device": ("cpu", None), "like": (_ANY,),
    "casting": ("same_kind",),
}  # fmt: skip
"""Arguments without effect on a symbolic array, with the values for which that holds."""

_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)

_METHODS: dict[str, dict[str, str]] = {
    "reduce": {
        "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
        "fmax": "nanmax", "fmin": "nanmin",
    },
    "accumulate": {
        "add": "cumsum", "multiply": "cumprod", "maximum": "maximum.accumulate", "minimum": "minimum.accumulate",
    },
}  # fmt: skip
"""Methods of ufuncs, and the NumPy functions that do the same."""


def missing(name: str, who: str) -> TypeError:
    """The error for a NumPy function without a symbolic form; it says what to use instead, if there is something."""
    hint = INSTEAD.get(name) or OF_METHODS.get(name.partition(".")[2])
    home = "scipy" if name.startswith("special.") else "np"
    return TypeError(f"{home}.{name} has no symbolic form ({who} is symbolic)" + (f": {hint}" if hint else ""))


def full_name(func: Function) -> str:
    """The name of a NumPy function after `np.`: np.trace is not np.linalg.trace.

    >>> full_name(np.trace), full_name(np.linalg.trace)
    ('trace', 'linalg.trace')
    """
    home = func.__module__.partition("numpy.")[2]
    return f"{home}.{func.__name__}" if home in ("fft", "linalg") else func.__name__


_signature = cache(inspect.signature)


def numpy_call(func: Function, f: Function, args: Sequence[Any], kwargs: Mapping[str, Any], who: str) -> Any:
    """The result of f for the arguments of a call of NumPy's func.

    who: the symbolic argument, for the errors.  Raises TypeError for arguments that func does not take, and for those
    that f does not.

    >>> numpy_call(np.sum, lambda x, axis=None: (x, axis), (5,), {"axis": 0, "out": None}, "x")
    (5, 0)
    >>> numpy_call(np.sum, lambda x, axis=None: (x, axis), (5,), {"out": "y"}, "x")
    Traceback (most recent call last):
    TypeError: np.sum of the symbolic x takes no out=: use what it returns
    """
    theirs, ours = _signature(func).parameters, _signature(f).parameters
    given = _signature(func).bind(*args, **kwargs).arguments
    places = [p for p in ours.values() if p.kind is not p.KEYWORD_ONLY]
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for i, (name, p) in enumerate(theirs.items()):
        if name not in given:
            continue
        value = given[name]
        here = places[i] if i == len(positional) < len(places) and not named else None
        if p.kind is p.VAR_POSITIONAL:
            positional += value
        elif p.kind is p.VAR_KEYWORD:
            named |= value
        elif here is not None and _stands_for(here, name, theirs):
            positional.append(value)
        elif name in ours:
            named[name] = value
        elif not _says_nothing(name, value, p.default):
            raise refused(full_name(func), who, name)
    return f(*positional, **named)


def _stands_for(ours: inspect.Parameter, name: str, theirs: Mapping[str, Any]) -> bool:
    """Whether our parameter at the same place as NumPy's `name` means the same, even under another name."""
    return ours.name == name or (ours.name not in theirs and ours.kind is not ours.VAR_POSITIONAL)


def _says_nothing(name: str, value: Any, default: Any) -> bool:
    if value is default or (isinstance(value, str | type) and value == default):
        return True
    return any(known is _ANY or known is value or known == value for known in _MEANINGLESS.get(name, ()))


_OF_SCIPY = "scipy.special", "scipy.special._ufuncs"
"""Where SciPy's ufuncs are; those that it calls for the caller are only in the second one."""


def ufunc_call(
    find: Find, ufunc: np.ufunc, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], who: Callable[[], str]
) -> Any:
    """The result of a ufunc, or of its method `reduce`, `accumulate` or `outer`, by the functions that `find` knows.

    who: the symbolic argument, for the errors.  Raises TypeError for what has no symbolic form.
    """
    name = ufunc.__name__
    what = name if method == "__call__" else f"{name}.{method}"
    known = method in _METHODS or method in ("__call__", "outer")
    f = find(_METHODS[method].get(name, what) if method in _METHODS else name) if known else None
    if known and getattr(np, name, None) is not ufunc:
        if not any(getattr(sys.modules.get(m), name, None) is ufunc for m in _OF_SCIPY):
            raise TypeError(f"the ufunc {name!r} is not one of NumPy's: it has no symbolic form ({who()}): {OWN}")
        f, what = find(f"special.{name}") or f, f"special.{what}"
    if f is None:
        raise missing(what, who())
    if method in _METHODS:
        return f(args[0], **_along(f, args[1:], kwargs, what, who))
    given = _paired(*args) if method == "outer" else args
    along = {"axis": kwargs["axis"]} if name == "vecdot" and "axis" in kwargs else {}
    if extra := kwargs.keys() - {"dtype", *along}:
        raise refused(what, who(), *sorted(extra))
    if kwargs.get("dtype") is not None:
        try:
            given = _in_dtype(find, ufunc, given, kwargs["dtype"])
        except TypeError as error:
            raise TypeError(f"np.{what} of the symbolic {who()}: {error}; cast what it is given") from None
    return f(*given, **along)


def _in_dtype(find: Find, ufunc: np.ufunc, args: Sequence[Any], dtype: Any) -> list[Any]:
    """The operands cast to the dtypes with which the ufunc computes a result of `dtype`.  Raises NumPy's TypeErrors."""
    arrays = [x if hasattr(x, "dtype") else np.asarray(x) for x in args]
    weak = [
        type(x) if type(x) in (int, float, complex) else np.dtype(a.dtype) for x, a in zip(args, arrays, strict=True)
    ]
    wanted = (*[None] * ufunc.nin, *[np.dtype(dtype)] * ufunc.nout)
    dtypes = ufunc.resolve_dtypes((*weak, *[None] * ufunc.nout), signature=wanted, casting="same_kind")
    cast: Any = find("astype")
    if ufunc in _COMPARISONS and np.dtype(dtype) == np.bool_:
        return [*args]  # numbers that do not fit the dtype of the other operand are compared, too
    return [
        np.asarray(x, d) if type(x) is int else cast(a, d.name) for x, a, d in zip(args, arrays, dtypes, strict=False)
    ]


def refused(what: str, who: str, *names: str) -> TypeError:
    """The error for arguments (`names`) that cannot be used with a symbolic array; it says what to write instead."""
    hints = [OF_ARGUMENTS[name] for name in names if name in OF_ARGUMENTS]
    found = ", ".join(f"{name}=" for name in names)
    return TypeError(f"np.{what} of the symbolic {who} takes no {found}" + (f": {'; '.join(hints)}" if hints else ""))


def _along(
    f: Function, args: Sequence[Any], kwargs: Mapping[str, Any], what: str, who: Callable[[], str]
) -> dict[str, Any]:
    """The arguments of `reduce` or `accumulate` after the array, by name; axis 0 if none is given."""
    names = ("axis", "dtype", "out", "keepdims", "initial", "where")
    given = {"axis": 0, **dict(zip(names, args, strict=False)), **kwargs}
    given = {k: v for k, v in given.items() if k == "axis" or v is not None}
    if extra := given.keys() - _signature(f).parameters.keys():
        raise refused(what, who(), *sorted(extra))
    return given


def _paired(x: Any, y: Any) -> tuple[Any, Any]:
    """x with as many new last axes as y has axes, and y: the operands of `np.<ufunc>.outer`."""
    return x[(..., *[None] * np.ndim(y))], y
