"""A sample use of each operator that can be measured, on arrays of a given size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from scanopt import tensor as T
from scanopt.array.op import Op, load
from scanopt.array.operators.special import ARGUMENTS, SPECIAL
from scanopt.array.variable import Apply, Variable
from scanopt.interpreter import interpret

__all__ = ["SAMPLES", "sample"]

# What cannot be guessed from the number of arguments: functions of a float64 vector x.
_WRITTEN: dict[str, Callable[[Any], Any]] = {
    "sum": T.sum,
    "prod": T.prod,
    "mean": T.mean,
    "var": T.var,
    "std": T.std,
    "max": T.max,
    "min": T.min,
    "any": lambda x: T.any(x > 0),
    "all": lambda x: T.all(x > 0),
    "cumsum": T.cumsum,
    "cumprod": T.cumprod,
    "argmax": T.argmax,
    "argmin": T.argmin,
    "sort": T.sort,
    "argsort": T.argsort,
    "dot": lambda x: T.dot(_square(x), _square(x)),
    "solve": lambda x: T.linalg.solve(_regular(x), _root(x)),
    "solve_triangular": lambda x: T.linalg.solve_triangular(_regular(x), _root(x)),
    "cho_solve": lambda x: T.linalg.cho_solve((_regular(x), True), _root(x)),
    "lu_factor": lambda x: T.linalg.lu_factor(_regular(x)),
    "lu_solve": lambda x: T.linalg.lu_solve(T.linalg.lu_factor(_regular(x)), _root(x)),
    "cholesky": lambda x: T.linalg.cholesky(_regular(x)),
    "inv": lambda x: T.linalg.inv(_regular(x)),
    "det": lambda x: T.linalg.det(_regular(x)),
    "logabsdet": lambda x: T.linalg.slogdet(_regular(x)).logabsdet,
    "det_sign": lambda x: T.linalg.slogdet(_regular(x)).sign,
    "svd": lambda x: _whole(T.linalg.svd(_regular(x), full_matrices=False).U),
    "qr": lambda x: _whole(T.linalg.qr(_regular(x)).Q),
    "eigh": lambda x: _whole(T.linalg.eigh(_regular(x)).eigenvectors),
    "eig": lambda x: _whole(T.linalg.eig(_regular(x)).eigenvectors),
    "spectrum": lambda x: T.linalg.svdvals(_regular(x)),
    "pinv": lambda x: T.linalg.pinv(_regular(x)),
    "fft": T.fft.fft,
    "rfft": T.fft.rfft,
    "irfft": T.fft.irfft,
    "where": lambda x: T.where(x > 0, x, -x),
    "clip": lambda x: T.clip(x, 0.2, 0.8),
    "cast": lambda x: T.cast(x, "float32"),
    "round": T.round,
    "outer": lambda x: T.outer(_root(x), _root(x)),
    "sigmoid": T.sigmoid,
    "softmax": T.softmax,
    "concatenate": lambda x: T.concatenate([x, x]),
    "stack": lambda x: T.stack([x, x]),
    "full": lambda x: T.ones((x.shape[0],)),
    "full_like": T.ones_like,
    "arange": lambda x: T.arange(x.shape[0]),
    "setitem": lambda x: T.set_subtensor(x[:2], 0.0),
    "expand_dims": lambda x: T.expand_dims(x, 0),
    "reshape": lambda x: x.reshape((x.shape[0], 1)),
    "transpose": lambda x: _square(x).T,
    "getitem": lambda x: x[1:],
    "shape_i": lambda x: x.shape[0],
    "broadcast_to": lambda x: T.broadcast_to(x, (2, x.shape[0])),
    "squeeze": lambda x: T.squeeze(T.expand_dims(x, 0), 0),
}
_INTEGERS = {"gcd", "lcm", "left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor", "invert",
             "bitwise_count"}  # fmt: skip
_ABOVE_ONE = {"arccosh"}


def _root(x: Any) -> Any:
    """The first elements of x: about as many as the square root of their number."""
    return x[: T.cast(T.ceil(T.sqrt(x.shape[0])), "int64")]


def _square(x: Any) -> Any:
    """A square matrix of about as many multiply-adds in a product as x has elements."""
    n = T.cast(T.ceil(T.cbrt(x.shape[0])), "int64")
    return T.outer(x[:n], x[:n])


def _regular(x: Any) -> Any:
    """A positive definite matrix of about as many elements as x."""
    root = _root(x)
    return T.outer(root, root) + T.eye(root.shape[0], dtype="float64")


def _whole(part: Any) -> Any:
    """The array that a result is a part of."""
    return _whole(part.owner.inputs[0]) if part.owner.op.name in ("getitem", "transpose") else part


@cache
def SAMPLES() -> dict[str, Callable[[Variable], Any]]:  # noqa: N802
    """A use of each operator on a float64 vector, by the name of the operator."""
    found: dict[str, Callable[[Variable], Any]] = {}
    for name, spec in load().items():
        if name in _WRITTEN:
            found[name] = _WRITTEN[name]
        elif spec.ufunc is not None and isinstance(f := getattr(np, spec.ufunc, None), np.ufunc) and not f.signature:
            found[name] = _elementwise(name, f.nin)
        elif name in SPECIAL:
            found[name] = partial(_special, name)
    return found


def _special(name: str, x: Variable) -> Any:
    return SPECIAL[name](*[x] * ARGUMENTS[name])


def _elementwise(name: str, arguments: int) -> Callable[[Variable], Any]:
    def use(x: Variable) -> Any:
        given = T.cast(x * 7 + 1, "int64") if name in _INTEGERS else x + 1.5 if name in _ABOVE_ONE else x
        second = T.cast(given * 2, "int64") if name in (*_INTEGERS, "ldexp") else given
        return Apply(Op.make(name), (given, second)[:arguments], _type(name, (given, second)[:arguments])).outputs[0]

    return use


def _type(name: str, args: Sequence[Any]) -> Any:
    return Op.make(name).infer(*(a.operand for a in args))


def sample(name: str, n: int) -> tuple[Op, list[np.ndarray[Any, Any]]]:
    """An operator with its parameters, and values for its arguments, on vectors of n elements.

    >>> op, values = sample("add", 3)
    >>> str(op), [v.shape for v in values]
    ('add', [(3,), (3,)])
    """
    x = T.dvector("x")
    node = SAMPLES()[name](x).owner
    if not isinstance(node, Apply) or node.op.name != name:
        raise ValueError(f"the sample of {name!r} is not a use of it")
    values = np.random.default_rng(0).uniform(0.1, 0.9, n)
    return node.op, [np.asarray(v) for v in interpret(list(node.inputs), {x: values})]
