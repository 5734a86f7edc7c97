"""Functions of symbolic arrays by name; functions, methods and NumPy's protocols look one another up here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from scanopt.array.op import load

__all__ = ["FUNCTIONS", "NUMPY_FUNCTIONS", "function_named", "numpy_function_named", "public"]

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Functions of symbolic arrays by public name: the contents of `scanopt.tensor`."""

NUMPY_FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Functions of symbolic arrays by the name of the NumPy function they stand in for (`np.where(x, ...)`)."""


def function_named(name: str) -> Callable[..., Any]:
    """The public function of this name; the operator table is imported on first use."""
    if name not in FUNCTIONS:
        load()
    if name not in FUNCTIONS:
        raise AttributeError(f"there is no function {name} of symbolic arrays")
    return FUNCTIONS[name]


def numpy_function_named(name: str) -> Callable[..., Any] | None:
    """The stand-in for a NumPy function, or None."""
    if name not in NUMPY_FUNCTIONS:
        load()
    return NUMPY_FUNCTIONS.get(name)


F = TypeVar("F", bound=Callable[..., Any])


def public(*names: str, numpy: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Register a function of symbolic arrays under `names` (default: its own name).

    numpy: names of NumPy functions and ufuncs which, given a symbolic array, call it: "where", "linalg.svd".
    """

    def keep(f: F) -> F:
        for name in names or (f.__name__,):
            FUNCTIONS[name] = f
        for name in numpy:
            NUMPY_FUNCTIONS[name] = f
        return f

    return keep
