"""Modules of `theano.tensor` and its heirs, as other names for functions of `scanopt.tensor`, such as nlinalg.inv."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scanopt.absent import no_such_name

__all__ = ["NAMESPACES", "Namespace"]

_EXTRA_OPS = (
    "bartlett bincount broadcast_arrays broadcast_shape broadcast_to compress cumprod cumsum diff "
    "fill_diagonal fill_diagonal_offset geomspace linspace logspace ravel_multi_index repeat searchsorted squeeze "
    "to_one_hot unique unravel_index"
)
_LINALG = {
    "Cholesky": "linalg.cholesky", "block_diag": "linalg.block_diag", "cholesky": "linalg.cholesky",
    "cho_solve": "linalg.cho_solve", "det": "linalg.det", "diag": "diag", "eig": "linalg.eig", "eigh": "linalg.eigh",
    "eigvalsh": "linalg.eigvalsh", "expm": "linalg.expm", "inv": "linalg.inv", "kron": "kron", "lstsq": "linalg.lstsq",
    "lu": "linalg.lu", "lu_factor": "linalg.lu_factor", "lu_solve": "linalg.lu_solve", "matrix_dot": "matrix_dot",
    "matrix_inverse": "linalg.inv", "matrix_power": "linalg.matrix_power", "norm": "linalg.norm", "pinv": "linalg.pinv",
    "qr": "linalg.qr", "slogdet": "linalg.slogdet", "solve": "linalg.solve",
    "solve_triangular": "linalg.solve_triangular", "svd": "linalg.svd", "tensorinv": "linalg.tensorinv",
    "tensorsolve": "linalg.tensorsolve", "trace": "trace",
}  # fmt: skip

NAMESPACES: dict[str, Mapping[str, str] | None] = {
    "basic": None,
    "math": None,
    "extra_ops": {name: name for name in _EXTRA_OPS.split()},
    "nlinalg": _LINALG,
    "slinalg": _LINALG,
    "subtensor": {name: name for name in ("set_subtensor", "inc_subtensor", "take")},
    "raw_random": {name: f"random.{name}" for name in ("uniform", "normal", "binomial", "multinomial", "permutation",
                                                        "choice", "poisson")} | {"random_integers": "random.integers"},
}  # fmt: skip
"""For each module, its names with their paths in `scanopt.tensor`; None stands for all names there.  A name whose path
does not exist is left out of `dir`."""


class Namespace:
    """One module of NAMESPACES.

    >>> from scanopt import tensor as T
    >>> T.nlinalg.matrix_inverse is T.linalg.inv
    True
    """

    def __init__(self, name: str, get: Callable[[str], Any], everything: Callable[[], Sequence[str]]) -> None:
        """get: looks up a name in `scanopt.tensor`.  everything: lists all names there."""
        self.__name__ = f"scanopt.tensor.{name}"
        self._names, self._get, self._everything = NAMESPACES[name], get, everything

    def __getattr__(self, name: str) -> Any:
        path = name if self._names is None else self._names.get(name, "")
        if name.startswith("__") or not path or name in NAMESPACES:
            raise no_such_name(self.__name__, name, dir(self))
        try:
            home, _, inner = path.rpartition(".")
            return getattr(self._get(home), inner) if home else self._get(inner)
        except AttributeError:
            raise no_such_name(self.__name__, name, dir(self)) from None

    def __dir__(self) -> list[str]:
        everything = self._everything()
        if self._names is None:
            return [name for name in everything if name not in NAMESPACES]
        return sorted(name for name in self._names if self._there(name, everything))

    def _there(self, name: str, everything: Sequence[str]) -> bool:
        home, _, inner = (self._names or {})[name].rpartition(".")
        return inner in (dir(self._get(home)) if home else everything)

    def __repr__(self) -> str:
        return f"<names of {self.__name__}>"
