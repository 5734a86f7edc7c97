"""Functions of symbolic arrays, by the names of NumPy and of Theano.

To be used as `import scanopt.tensor as T`.  Everything lives in `scanopt.array`, where names are
looked up when first used.
"""

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import Any

from scanopt.absent import no_such_name
from scanopt.namespaces import BESIDE, NAMESPACES, Namespace

__path__: list[str] = []  # as a package has it: `import scanopt.tensor.nnet` finds what is here (scanopt.importing)
_ELSEWHERE = {
    "TensorType": "scanopt.array.types",
    "Variable": "scanopt.array.variable",
    "TensorVariable": "scanopt.array.variable:Variable",
    "TensorConstant": "scanopt.array.variable:Constant",
    "TensorSharedVariable": "scanopt.array.variable:SharedVariable",
    "scan": "scanopt.scan_module",
    "NotScalarConstantError": "scanopt.array.theano_functions",
    **dict.fromkeys(("digamma", "expit", "polygamma"), "scanopt.array.special"),
    "mgrid": "scanopt.array.theano_functions",
    "ogrid": "scanopt.array.theano_functions",
    "grad": "scanopt.gradient",
    "jacobian": "scanopt.gradient",
    "hessian": "scanopt.gradient",
    "Lop": "scanopt.gradient",
    "Rop": "scanopt.gradient",
    "pullback": "scanopt.gradient:Lop",
    "pushforward": "scanopt.gradient:Rop",
    "vectorize": "scanopt.loops.vectorize",
    "verify_grad": "scanopt.gradient",
}
_MODULES = {
    "fft": "scanopt.array.fft",
    "linalg": "scanopt.array.linalg",
    "nnet": "scanopt.array.nnet",
    "random": "scanopt.array.random.functions",
    "special": "scanopt.array.special",
    "shared_randomstreams": "scanopt.array.random.streams",
}
_CONSTANTS: dict[str, Any] = {
    "pi": pi, "e": e, "inf": inf, "nan": nan, "newaxis": None,
    "int_dtypes": ["int8", "int16", "int32", "int64"], "uint_dtypes": ["uint8", "uint16", "uint32", "uint64"],
    "float_dtypes": ["float16", "float32", "float64"], "complex_dtypes": ["complex64", "complex128"],
}  # fmt: skip
_CONSTANTS["integer_dtypes"] = _CONSTANTS["discrete_dtypes"] = [*_CONSTANTS["int_dtypes"], *_CONSTANTS["uint_dtypes"]]
_CONSTANTS["continuous_dtypes"] = [*_CONSTANTS["float_dtypes"], *_CONSTANTS["complex_dtypes"]]
_CONSTANTS["all_dtypes"] = ["bool", *_CONSTANTS["discrete_dtypes"], *_CONSTANTS["continuous_dtypes"]]


def _functions() -> dict[str, Any]:
    """The functions by name; imports the entries of the operator table."""
    from scanopt.array.entries import FUNCTIONS

    return FUNCTIONS


def _names_of(module: Any) -> Any:
    """What a module has, without what it imports."""
    return dir(module) if "__dir__" in vars(module) else module.__all__


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
    elif name in NAMESPACES:
        value = Namespace(f"{__name__}.{name}", NAMESPACES[name], __getattr__, __dir__)
    elif name in (functions := _functions()):
        value = functions[name]
    else:
        homes = [n for n, home in _MODULES.items() if name in _names_of(importlib.import_module(home))]
        other = f"T.{homes[0]}.{name}" if homes and not name.startswith("_") else ""
        raise no_such_name("scanopt.tensor", name, __dir__(), other)
    for other, path in BESIDE.get(name, {}).items():
        home, _, own = path.rpartition(".")
        found = value if path == name else getattr(__getattr__(home), own) if home else __getattr__(path)
        vars(value).setdefault(other, found)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_functions(), *_ELSEWHERE, *_MODULES, *_CONSTANTS, *NAMESPACES})
