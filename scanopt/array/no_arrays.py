"""Values that are no arrays of numbers: how messages show them, and what to write in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set, ValuesView
from typing import Any

import numpy as np

from scanopt.array.variable import Variable, describe

__all__ = ["refused", "show"]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_STACKED = "arrays in a list are written T.stack([x, y]), and an array of NumPy cannot hold them"


def refused(x: Any) -> TypeError:
    """The error for something that is no array of numbers, with what to write in its place.

    >>> print(refused({1.0}))
    cannot make a symbolic array of {1.0} (set); write a list in its place
    """
    advice = _advice(x)
    return TypeError(f"cannot make a symbolic array of {show(x)}{advice and '; ' + advice}")


def show(x: Any) -> str:
    """Any value in a few words, for messages.

    >>> show(np.zeros(3)), show("adam"), show([1, 2]), show(object())
    ('an array float64[3]', "'adam' (str)", '[1, 2] (list)', 'an object')
    """
    if isinstance(x, Variable):
        return describe(x)
    if isinstance(x, np.ndarray) and x.ndim:
        return f"an array {x.dtype.name}[{', '.join(map(str, x.shape))}]"
    if callable(x):
        return f"the function {getattr(x, '__name__', type(x).__name__)!r}"
    text = repr(x)
    if text.startswith("<") and _ADDRESS.search(text):
        name = type(x).__name__
        return f"a{'n' if name[:1] in 'aeiouAEIOU' else ''} {name}"
    return f"{text if len(text) < 60 else text[:57] + '...'} ({type(x).__name__})"


def _advice(x: Any) -> str:
    """What to write in place of x."""
    known = getattr(x, "no_array", "")
    if known:
        return str(known)
    if isinstance(x, Mapping):
        return "pass the arrays in it one by one; scanopt.loop takes dicts of arrays"
    if isinstance(x, Set | Iterator | ValuesView):
        return "write a list in its place"
    if isinstance(x, np.ndarray):
        return _of_dtype(x)
    return ""


def _of_dtype(x: np.ndarray[Any, Any]) -> str:
    """What to do with an array whose elements are no numbers."""
    if x.dtype.kind == "O":
        return _STACKED if any(isinstance(y, Variable) for y in x.flat) else "if it holds numbers, write .astype(float)"
    if x.dtype.kind in "mM":
        return "count the time in numbers, as x.astype('int64') does"
    return "" if x.dtype.names is None else "take its fields one by one, as x['name']"
