"""Arithmetic of symbolic arrays and the methods that are functions: each calls the function of its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanopt.array.registry import function_named

__all__ = ["add_methods"]

BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "true_div", "floordiv": "int_div",
    "mod": "mod", "pow": "pow", "matmul": "matmul", "and": "and_", "or": "or_", "xor": "xor",
    "lshift": "left_shift", "rshift": "right_shift", "divmod": "divmod",
}  # fmt: skip
METHODS = (
    "sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "argmax", "argmin", "cumsum",
    "cumprod", "dot", "reshape", "flatten", "ravel", "transpose", "dimshuffle", "astype", "clip",
    "copy", "sort", "argsort", "squeeze", "repeat", "take", "swapaxes", "round", "fill",
    "trace", "diagonal", "conj", "eq", "neq", "zeros_like", "ones_like", "ptp", "tile", "nonzero",
    "argpartition", "choose", "searchsorted", "conjugate",
    # of Theano's variables, not of NumPy's arrays
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "cos", "cosh", "deg2rad", "exp", "exp2",
    "expm1", "floor", "log", "log10", "log1p", "log2", "nonzero_values", "rad2deg", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc",
)  # fmt: skip
OTHER_NAMES = {"set": "set_subtensor", "inc": "inc_subtensor", "norm": "norm_of_elements", "__getitem__": "getitem"}
PROPERTIES = {"T": "transpose", "mT": "matrix_transpose", "flat": "ravel", "shape": "shape", "size": "size",
              "real": "real", "imag": "imag"}  # fmt: skip


def _operator(name: str, swap: bool = False) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        f = function_named(name)
        return f(other, self) if swap else f(self, other)

    return method


def _call(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function_named(name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def add_methods(cls: type) -> None:
    """Give the class of symbolic arrays what is listed here."""
    for py, name in BINARY.items():
        setattr(cls, f"__{py}__", _operator(name))
        setattr(cls, f"__r{py}__", _operator(name, swap=True))
    for py in ("lt", "le", "gt", "ge"):
        setattr(cls, f"__{py}__", _operator(py))
    for py, name in {"neg": "neg", "abs": "abs", "invert": "invert", "pos": "positive"}.items():
        setattr(cls, f"__{py}__", _call(name))
    for name in METHODS:
        setattr(cls, name, _call(name))
    for method, name in OTHER_NAMES.items():
        setattr(cls, method, _call(name))
    for attribute, name in PROPERTIES.items():
        setattr(cls, attribute, property(_call(name)))
