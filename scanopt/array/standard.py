"""The Python array API standard: `x.__array_namespace__()`, a namespace of the standard's functions.

A program written with its functions runs on NumPy's arrays and on symbolic ones.  Dtypes are strings, as x.dtype is.
Where the standard leaves behaviour open, it is NumPy's.  https://data-apis.org/array-api/2024.12/

>>> from scanopt import tensor as T
>>> x = T.dvector("x")
>>> xp = x.__array_namespace__()
>>> xp.linalg.vector_norm(xp.astype(x, xp.float32)).dtype == xp.float32
True
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Signature
from types import SimpleNamespace
from typing import Any

import numpy as np

from scanopt.array import fft, linalg
from scanopt.array.constants import as_variable, constant
from scanopt.array.entries import FUNCTIONS
from scanopt.array.shapes import axis_of
from scanopt.array.standard_names import CONSTANTS, DTYPES, FFT, LINALG
from scanopt.array.standard_names import FUNCTIONS as SIGNATURES
from scanopt.array.types import MOST_AXES, dtype_name
from scanopt.array.variable import Constant, Variable, describe
from scanopt.records import dataclass

__all__ = ["MISSING", "NAMES", "VERSIONS", "namespace"]

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Versions of the standard that are supported."""

NAMES = (
    *CONSTANTS, *(d for kind in DTYPES.values() for d in kind), *SIGNATURES, "linalg", "fft", "__array_api_version__",
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
    i = axis_of(axis, v)
    turned = FUNCTIONS["argsort"](FUNCTIONS["flip"](v, i), i, stable=stable)  # equal elements stay in order
    places: Variable = v.shape[i] - 1 - FUNCTIONS["flip"](turned, i)
    return places


def _expand_dims(x: Any, /, axis: Any = 0) -> Variable:
    v = as_variable(x)
    if not all(-v.ndim - 1 <= a <= v.ndim for a in (axis if isinstance(axis, tuple | list) else (axis,))):
        raise IndexError(f"expand_dims: {describe(v)} has no place {axis} for a new axis")
    expanded: Variable = FUNCTIONS["expand_dims"](v, axis)
    return expanded


def _from_dlpack(x: Any, /) -> Constant:
    return constant(np.from_dlpack(x))


def _name(dtype: Any) -> str:
    return str(dtype.dtype) if isinstance(dtype, Variable) else dtype_name(dtype)


def _isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind ("bool", "real floating", "numeric", ...), is this dtype, or fits one of several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    mixed = {"integral": ("signed integer", "unsigned integer"), "numeric": tuple(DTYPES)[1:]}
    names = [name for k in kinds for part in mixed.get(k, (k,)) for name in DTYPES.get(part, (part,))]
    return _name(dtype) in {_name(name) for name in names}


def _result_type(*xs: Any) -> str:
    return _name(FUNCTIONS["result_type"](*xs))


@dataclass(frozen=True)
class FloatInfo:
    """The result of `finfo` with Python's floats, as the standard asks; NumPy's has scalars of the dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


def _finfo(dtype: Any, /) -> FloatInfo:
    found = np.finfo(_name(dtype))
    ends = float(found.max), float(found.min), float(found.smallest_normal)
    return FloatInfo(int(found.bits), float(found.eps), *ends, found.dtype)


class _Info:
    """The inspection functions that the standard asks for (`__array_namespace_info__`)."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MOST_AXES}

    def default_device(self) -> str:
        return "cpu"

    def devices(self) -> list[str]:
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, str]:
        return {"real floating": "float64", "complex floating": "complex128", "integral": "int64", "indexing": "int64"}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, str]:
        every = [name for names in DTYPES.values() for name in names]
        return {name: name for name in every if kind is None or _isdtype(name, kind)}


_OWN: dict[str, Callable[..., Any]] = {
    "argsort": _places,
    "expand_dims": _expand_dims,
    "finfo": _finfo,
    "from_dlpack": _from_dlpack,
    "iinfo": lambda dtype, /: np.iinfo(_name(dtype)),
    "isdtype": _isdtype,
    "result_type": _result_type,
    "sort": _sorted,
}


def _by_standard(name: str, signature: Signature, f: Callable[..., Any]) -> Callable[..., Any]:
    """The function f with the standard's signature.

    A device must be "cpu"; copy has no effect, since symbolic arrays are never changed and need no copies.
    """

    def function(*args: Any, **more: Any) -> Any:
        try:
            signature.bind(*args, **more)
        except TypeError as error:
            raise TypeError(f"{name}{signature} of the array API standard: {error}") from None
        if more.get("device") not in (None, "cpu"):
            raise ValueError(f"{name}: symbolic arrays are on the device 'cpu', found {more['device']!r}")
        return f(*args, **{key: value for key, value in more.items() if key not in ("device", "copy")})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f.__doc__
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


MISSING: tuple[str, ...] = tuple(n for n in SIGNATURES if n not in FUNCTIONS and n not in _OWN)
"""Names of the standard that have no symbolic form."""


@cache
def _namespace() -> SimpleNamespace:
    known = FUNCTIONS | _OWN
    functions = {n: _by_standard(n, x, known[n]) for n, x in SIGNATURES.items() if n not in MISSING}
    parts = {
        part: SimpleNamespace(**{n: _by_standard(f"{part}.{n}", x, getattr(module, n)) for n, x in names.items()})
        for part, module, names in (("linalg", linalg, LINALG), ("fft", fft, FFT))
    }
    return SimpleNamespace(
        **CONSTANTS, **{d: d for kind in DTYPES.values() for d in kind}, **functions, **parts,
        __array_api_version__=VERSIONS[-1], __array_namespace_info__=_Info,
    )  # fmt: skip


def namespace(api_version: str | None = None) -> SimpleNamespace:
    """The namespace of a version of the standard.  Raises ValueError for one that is not known."""
    if api_version not in (None, *VERSIONS):
        raise ValueError(f"the array API standard is known in versions {', '.join(VERSIONS)}, found {api_version!r}")
    return _namespace()
