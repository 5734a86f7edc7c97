"""Functions of symbolic arrays, by the names of NumPy and of Theano.

To be used as `import scanopt.tensor as T`.  Everything lives in `scanopt.array`, where names are
looked up when first used.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

_ELSEWHERE = {
    "TensorType": "scanopt.array.types",
    "Variable": "scanopt.array.variable",
    "TensorVariable": "scanopt.array.variable:Variable",
    "TensorConstant": "scanopt.array.variable:Constant",
    "TensorSharedVariable": "scanopt.array.variable:SharedVariable",
    "scan": "scanopt.scan_module",
    "grad": "scanopt.gradient",
    "jacobian": "scanopt.gradient",
    "hessian": "scanopt.gradient",
    "Lop": "scanopt.gradient",
    "Rop": "scanopt.gradient",
    "pullback": "scanopt.gradient:Lop",
    "pushforward": "scanopt.gradient:Rop",
    "verify_grad": "scanopt.gradient",
}
_MODULES = {
    "fft": "scanopt.array.fft",
    "linalg": "scanopt.array.linalg",
    "nlinalg": "scanopt.array.linalg",
    "nnet": "scanopt.array.nnet",
    "random": "scanopt.array.random_functions",
    "shared_randomstreams": "scanopt.array.random_streams",
    "slinalg": "scanopt.array.linalg",
    "special": "scanopt.array.special",
}
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}


def _functions() -> dict[str, Any]:
    """The functions by name; imports the entries of the operator table."""
    found: dict[str, Any] = importlib.import_module("scanopt.array.entries").FUNCTIONS
    return found


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'scanopt.tensor' has no attribute {name!r}")
    if name in _CONSTANTS:
        value: Any = _CONSTANTS[name]
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    elif name in _ELSEWHERE:
        home, _, original = _ELSEWHERE[name].partition(":")
        value = getattr(importlib.import_module(home), original or name)
    elif name in (functions := _functions()):
        value = functions[name]
    else:
        raise AttributeError(f"module 'scanopt.tensor' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_functions(), *_ELSEWHERE, *_MODULES, *_CONSTANTS})
