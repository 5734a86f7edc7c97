"""The Python array API standard: `x.__array_namespace__()`, a namespace of the functions it names.

Written by its functions, a program runs on NumPy's arrays and on symbolic ones.  Dtypes are their names, as x.dtype is.
What the standard leaves open is as NumPy has it.  https://data-apis.org/array-api/2024.12/

>>> from scanopt import tensor as T
>>> x = T.dvector("x")
>>> xp = x.__array_namespace__()
>>> xp.linalg.vector_norm(xp.astype(x, xp.float32)).dtype == xp.float32
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from scanopt.array import fft, linalg
from scanopt.array.constants import as_variable, constant
from scanopt.array.entries import FUNCTIONS
from scanopt.array.shapes import axis_of
from scanopt.array.types import MOST_AXES
from scanopt.array.variable import Constant, Variable

__all__ = ["MISSING", "NAMES", "VERSIONS", "namespace"]

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Versions of the standard that may be asked for."""

_CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}
_DTYPES = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_NAMES = (
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
    "ones", "ones_like", "tril", "triu", "zeros", "zeros_like", "astype", "broadcast_arrays", "broadcast_to",
    "can_cast", "finfo", "iinfo", "isdtype", "result_type", "abs", "acos", "acosh", "add", "asin", "asinh", "atan",
    "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1", "floor",
    "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan", "less", "less_equal",
    "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor",
    "maximum", "minimum", "multiply", "negative", "nextafter", "not_equal", "positive", "pow", "real", "reciprocal",
    "remainder", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
    "take", "take_along_axis", "matmul", "matrix_transpose", "tensordot", "vecdot", "concat", "expand_dims", "flip",
    "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack", "argmax",
    "argmin", "count_nonzero", "nonzero", "searchsorted", "where", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "argsort", "sort", "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std",
    "sum", "var", "all", "any", "diff",
)  # fmt: skip
NAMES = (
    *_CONSTANTS, *(d for kind in _DTYPES.values() for d in kind), *_NAMES, "linalg", "fft", "__array_api_version__",
    "__array_namespace_info__",
)  # fmt: skip
"""All names of the standard."""


# Functions whose arguments differ


def _sorted(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Variable:
    found: Variable = FUNCTIONS["sort"](x, axis, stable=stable)
    return FUNCTIONS["flip"](found, axis) if descending else found


def _places(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Variable:
    v = as_variable(x)
    if not descending:
        found: Variable = FUNCTIONS["argsort"](v, axis, stable=stable)
        return found
    i = axis_of(axis, v.ndim)
    turned = FUNCTIONS["argsort"](FUNCTIONS["flip"](v, i), i, stable=stable)  # equal ones stay in order
    places: Variable = v.shape[i] - 1 - FUNCTIONS["flip"](turned, i)
    return places


def _expand_dims(x: Any, /, *, axis: Any = 0) -> Variable:
    expanded: Variable = FUNCTIONS["expand_dims"](x, axis)
    return expanded


def _from_dlpack(x: Any, /) -> Constant:
    return constant(np.from_dlpack(x))


def _name(dtype: Any) -> str:
    return str(dtype.dtype) if isinstance(dtype, Variable) else np.dtype(dtype).name


def _isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind ("bool", "real floating", "numeric", ...), or is one of several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    mixed = {"integral": ("signed integer", "unsigned integer"), "numeric": tuple(_DTYPES)[1:]}
    names = [name for k in kinds for part in mixed.get(k, (k,)) for name in _DTYPES.get(part, (part,))]
    return _name(dtype) in {_name(name) for name in names}


def _result_type(*xs: Any) -> str:
    return _name(FUNCTIONS["result_type"](*xs))


class _Info:
    """What the standard asks of a namespace."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MOST_AXES}

    def default_device(self) -> str:
        return "cpu"

    def devices(self) -> list[str]:
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, str]:
        return {"real floating": "float64", "complex floating": "complex128", "integral": "int64", "indexing": "int64"}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, str]:
        every = [name for names in _DTYPES.values() for name in names]
        return {name: name for name in every if kind is None or _isdtype(name, kind)}


_OWN: dict[str, Callable[..., Any]] = {
    "argsort": _places,
    "expand_dims": _expand_dims,
    "finfo": lambda dtype, /: np.finfo(_name(dtype)),
    "from_dlpack": _from_dlpack,
    "iinfo": lambda dtype, /: np.iinfo(_name(dtype)),
    "isdtype": _isdtype,
    "result_type": _result_type,
    "sort": _sorted,
}


def _plain(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes a device ("cpu") and copy, too: symbolic arrays are never changed, so none is copied."""

    def function(*args: Any, device: Any = None, copy: Any = None, **more: Any) -> Any:
        if device not in (None, "cpu"):
            raise ValueError(f"{name}: symbolic arrays are on the device 'cpu', found {device!r}")
        return f(*args, **more)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f.__doc__
    return function


MISSING: tuple[str, ...] = tuple(n for n in _NAMES if n not in FUNCTIONS and n not in _OWN)
"""Names of the standard that have no symbolic form."""


@cache
def _namespace() -> SimpleNamespace:
    functions = {n: _plain(n, _OWN.get(n) or FUNCTIONS[n]) for n in _NAMES if n not in MISSING}
    return SimpleNamespace(
        **_CONSTANTS, **{d: d for kind in _DTYPES.values() for d in kind}, **functions, linalg=linalg, fft=fft,
        __array_api_version__=VERSIONS[-1], __array_namespace_info__=_Info,
    )  # fmt: skip


def namespace(api_version: str | None = None) -> SimpleNamespace:
    """The namespace of a version of the standard.  Raises ValueError for one that is not known."""
    if api_version not in (None, *VERSIONS):
        raise ValueError(f"the array API standard is known in versions {', '.join(VERSIONS)}, found {api_version!r}")
    return _namespace()
