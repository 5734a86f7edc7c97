"""Modules of Theano and its successors, as other names for what scanopt has elsewhere.

`T.nlinalg.matrix_inverse`, `theano.compile.SharedVariable`; what `import` statements find is in `scanopt.importing`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from scanopt.absent import no_such_name

__all__ = ["BESIDE", "MODULES", "NAMESPACES", "Namespace"]

_EXTRA_OPS = (
    "bartlett bincount broadcast_arrays broadcast_shape broadcast_to compress cumprod cumsum diff "
    "fill_diagonal fill_diagonal_offset geomspace linspace logspace ravel_multi_index repeat searchsorted squeeze "
    "to_one_hot unique unravel_index"
)
_LINALG = {
    **{name: f"scanopt.array.linalg_theano:{name}" for name in (
        "AllocDiag", "Cholesky", "Det", "ExtractDiag", "MatrixInverse", "MatrixPinv", "Solve", "alloc_diag", "eigvalsh",
        "extract_diag", "solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_lower_triangular",
        "solve_sylvester", "solve_symmetric", "solve_upper_triangular")},
    "block_diag": "linalg.block_diag", "cholesky": "linalg.cholesky",
    "cho_solve": "linalg.cho_solve", "det": "linalg.det", "diag": "diag", "eig": "linalg.eig", "eigh": "linalg.eigh",
    "expm": "linalg.expm", "inv": "linalg.inv", "kron": "kron", "lstsq": "linalg.lstsq",
    "lu": "linalg.lu", "lu_factor": "linalg.lu_factor", "lu_solve": "linalg.lu_solve", "matrix_dot": "matrix_dot",
    "matrix_inverse": "linalg.inv", "matrix_power": "linalg.matrix_power", "norm": "linalg.norm", "pinv": "linalg.pinv",
    "qr": "linalg.qr", "slogdet": "linalg.slogdet", "solve": "linalg.solve",
    "solve_triangular": "linalg.solve_triangular", "svd": "linalg.svd", "tensorinv": "linalg.tensorinv",
    "tensorsolve": "linalg.tensorsolve", "trace": "trace",
}  # fmt: skip
_VARIABLES = {
    **{name: name for name in ("TensorConstant", "TensorSharedVariable", "TensorVariable", "Variable")},
    "Constant": "TensorConstant", "SharedVariable": "TensorSharedVariable",
}  # fmt: skip

NAMESPACES: dict[str, Mapping[str, str] | None] = {
    "basic": None,
    "math": None,
    "extra_ops": {name: name for name in _EXTRA_OPS.split()},
    "nlinalg": _LINALG,
    "slinalg": _LINALG,
    "subtensor": {name: name for name in ("set_subtensor", "inc_subtensor", "take")},
    "type": None,
    "variable": _VARIABLES,
    "sharedvar": _VARIABLES | {"shared": "shared"},
    "exceptions": {"NotScalarConstantError": "NotScalarConstantError"},
    "raw_random": {name: f"random.{name}" for name in ("uniform", "normal", "binomial", "multinomial", "permutation",
                                                        "choice", "poisson")} | {"random_integers": "random.integers"},
}  # fmt: skip
"""For each module, its names with their paths in `scanopt.tensor`, or in another module (before a colon); None stands
for all names there.  A name whose path does not exist is left out of `dir`."""

BESIDE: dict[str, Mapping[str, str]] = {
    "var": _VARIABLES,
    "shape": {name: name for name in ("reshape", "shape", "shape_i", "shape_padaxis", "shape_padleft", "shape_padright",
                                      "specify_broadcastable", "specify_shape", "patternbroadcast", "unbroadcast")},
    "sort": {name: name for name in ("argsort", "sort")},
    "xlogx": {"xlogx": "xlogx", "xlogy0": "special.xlogy"},
}  # fmt: skip
"""The same, of functions that are called as modules are elsewhere: `T.var.TensorVariable`, `T.sort.argsort`."""

_SHARED = {"SharedVariable": "tensor.TensorSharedVariable", "shared": "shared"}
_MODES = {"Mode": "Mode", "get_default_mode": "scanopt.compilation.function:default_mode",
          "get_mode": "scanopt.modes:as_mode"}  # fmt: skip
_IO = {"In": "In", "Out": "Out", "Param": "Param"}

MODULES: dict[str, Mapping[str, str]] = {
    "compile": {"function": "function", "io": "compile.io", "mode": "compile.mode",
                "sharedvalue": "compile.sharedvalue", **_SHARED, **_MODES, **_IO},
    "compile.io": _IO, "compile.mode": _MODES, "compile.sharedvalue": _SHARED,
    "sandbox": {"rng_mrg": "sandbox.rng_mrg"},
    "sandbox.rng_mrg": {"MRG_RandomStreams": "tensor.shared_randomstreams.MRG_RandomStreams"},
    "configdefaults": {"config": "config"},
    "raise_op": {"Assert": "Assert"}, "assert_op": {"Assert": "Assert"},
    "updates": {"OrderedUpdates": "scanopt.loops.updates:Updates"},
}  # fmt: skip
"""Modules of the package itself: each one's names, and what they are in `scanopt`."""


class Namespace:
    """One module of NAMESPACES.

    >>> from scanopt import tensor as T
    >>> T.nlinalg.matrix_inverse is T.linalg.inv
    True
    """

    __path__: Sequence[str] = ()
    __spec__ = None
    """As packages have them: there are modules inside some, as `theano.sandbox.rng_mrg`."""

    def __init__(
        self, name: str, names: Mapping[str, str] | None, get: Callable[[str], Any],
        everything: Callable[[], Sequence[str]] = list,
    ) -> None:  # fmt: skip
        """names: what each name is where it comes from (dots between a module and its own); None for all of these.

        get, everything: a name of the module where the names come from, and all that it has.
        """
        self.__name__ = name
        self._names, self._get, self._everything = names, get, everything

    def __getattr__(self, name: str) -> Any:
        path = name if self._names is None else self._names.get(name, "")
        if name.startswith("__") or not path or (self._names is None and name in NAMESPACES):
            raise no_such_name(self.__name__, name, dir(self))
        if path in MODULES:
            return Namespace(f"scanopt.{path}", MODULES[path], self._get)
        if ":" in path:
            module, _, own = path.partition(":")
            return getattr(importlib.import_module(module), own)
        try:
            home, *inner = path.split(".")
            return reduce(getattr, inner, self._get(home))
        except AttributeError:
            raise no_such_name(self.__name__, name, dir(self)) from None

    def __dir__(self) -> list[str]:
        if self._names is None:
            return [name for name in self._everything() if name not in NAMESPACES]
        return sorted(name for name in self._names if self._there(name))

    def _there(self, name: str) -> bool:
        path = (self._names or {})[name]
        home, *inner = path.split(".")
        if path in MODULES or ":" in path or not inner:
            return path in MODULES or ":" in path or home in self._everything()
        return inner[-1] in dir(reduce(getattr, inner[:-1], self._get(home)))

    def __repr__(self) -> str:
        return f"<names of {self.__name__}>"
