"""Calls of NumPy's functions, each written once for NumPy's module and for `scanopt.tensor`: what tests compare.

A case is a function of the module and of arrays, and the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

V = np.array([1.5, -2.0, 0.25, 3.0])
W = np.array([0.5, 4.0, -1.0])
M = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.5]])
S = np.array([[2.0, -1.0, 0.5], [1.5, 3.0, -2.0], [0.25, 1.0, -3.5]])
A = np.arange(24.0).reshape(2, 3, 4) / 7 - 1.3
I = np.array([2, 0, 1, 1])  # noqa: E741
J = np.array([[1, -2, 3], [4, 5, -6]], "int8")
B = np.array([True, False, True])
C = np.array([1 + 2j, -0.5j, 3.0, -1 - 1j])
F = np.array([0.5, -1.25, 2.0], "float32")
E = np.zeros((0, 3))
N = np.int64(4)
K = np.int64(2)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1.5])


@dataclass(frozen=True)
class Case:
    """call(np, *arrays) and call(T, *arrays) are equal.

    grad: which arrays it has gradients by.  numpy: whether np's functions take symbolic arrays for these arguments.
    own: whether T's functions take the same arguments.  known: whether it needs known lengths.
    rows: whether it can be a step of a map, with arrays of any values.
    """

    call: Callable[..., Any]
    arrays: tuple[Any, ...]
    grad: tuple[int, ...] = ()
    numpy: bool = True
    known: bool = False
    rows: bool = True
    own: bool = True


def changed_by(name: str, *options: Any) -> Callable[..., Any]:
    """A call of what returns a new array here, and in NumPy changes its first argument, there a copy."""

    def call(module: Any, x: Any, *args: Any) -> Any:
        if module is not np:
            return getattr(module, name)(x, *args, *options)
        y = x.copy()
        getattr(np, name)(y, *args, *options)
        return y

    return call


CASES: dict[str, list[Case]] = {}


def case(
    name: str, call: Callable[..., Any], *arrays: Any, grad: tuple[int, ...] | int = (), **more: Any
) -> None:  # fmt: skip
    CASES.setdefault(name, []).append(Case(call, arrays, (grad,) if isinstance(grad, int) else grad, **more))


NUMPY_ONLY: dict[str, Any] = {"own": False, "rows": False}
T_ONLY: dict[str, Any] = {"numpy": False}
DATA: dict[str, Any] = {"rows": False}
KNOWN: dict[str, Any] = {"known": True}

# Axes
case("fliplr", lambda np, m: np.fliplr(m), M, grad=0)
case("flipud", lambda np, m: np.flipud(m), A, grad=0)
for k in (0, 1, 2, 3, -1):
    case("rot90", lambda np, m, k=k: np.rot90(m, k), M, grad=0 if k == 1 else ())
case("rot90", lambda np, a: np.rot90(a, axes=(2, 0)), A)
for axis, start in ((2, 0), (0, 3), (1, 2), (0, 2), (-1, 1)):
    case("rollaxis", lambda np, a, i=axis, j=start: np.rollaxis(a, i, j), A)
case("matrix_transpose", lambda np, a: np.matrix_transpose(a), A, grad=0)
case("permute_dims", lambda np, a: np.permute_dims(a, (2, 0, 1)), A)
case("atleast_1d", lambda np, a, v: np.atleast_1d(a, v), N, V)
case("atleast_2d", lambda np, a, v: np.atleast_2d(a, v), M, V)
case("atleast_3d", lambda np, n, v, m, a: np.atleast_3d(n, v, m, a), N, V, M, A)
case("atleast_3d", lambda np, v: np.atleast_3d(v), V, grad=0)
case("expand_dims", lambda np, m: np.expand_dims(m, (0, 2, -1)), M, grad=0)
case("flip", lambda np, a: np.flip(a, (0, 2)), A)
case("roll", lambda np, a: np.roll(a, (1, -2), (0, 2)), A, grad=0)
case("roll", lambda np, a: np.roll(a, 2, (1, 2)), A)
case("roll", lambda np, a, i: (np.roll(a, i[:2], (0, 2)), np.roll(a, i[:1], (0, 1)), np.roll(a, i)), A, I)
case("roll", lambda np, a, i: np.roll(a, i, 1), A, I, grad=0)
case("roll", lambda np, a: (np.roll(a, I[:2], (0, 2)), np.roll(a, I, 1), np.roll(a, [1, 2], 0)), A)
case("reshape", lambda np, a: np.reshape(a, (4, -1), "F"), A, grad=0)
case("reshape", lambda np, m, n: np.reshape(m, (-1, n), order="F"), M, N - 1, **T_ONLY, **DATA)
case("ravel", lambda np, a: np.ravel(a, "F"), A, grad=0)
case("flatten", lambda np, a: (a.flatten("F"), a.flatten(order="F"), a.flatten("C")), A, grad=0)
case("take", lambda np, m, i: (np.take(m, i * 3 - 2, 1, mode="wrap"), np.take(m, i - 1, mode="clip")), M, I, grad=0)
# Joining
case("dstack", lambda np, m: np.dstack([m, 2 * m]), M, grad=0)
case("dstack", lambda np, v, a: np.dstack([v, v + 1]), V, A)
case("column_stack", lambda np, v, m: np.column_stack([v, m, v]), M[:, 0], M, grad=(0, 1))
case("vstack", lambda np, v, m: np.vstack([v, m]), M[0], M)
case("hstack", lambda np, v, f: np.hstack([v, f]), V, F)
case("concatenate", lambda np, v, f: np.concatenate([v, f], dtype="float32"), V, F)
case("concatenate", lambda np, m, j: np.concatenate([m, j], axis=None), M, J)
case("concat", lambda np, m, j: np.concat([m, j], 1), M, J)
case("hstack", lambda np, v, f: np.hstack([v, f], dtype=int, casting="unsafe"), V, F)
case("stack", lambda np, v: np.stack([v, v], dtype="complex64"), V)
case("block", lambda np, m, s: np.block([[m, m[:, :1]], [s, s[:, :1]]]), M, S, grad=(0, 1))
case("block", lambda np, v, n: np.block([v, n, v]), V, N)
case("block", lambda np, a: np.block([[[a]], [[a]]]), A)
case("append", lambda np, m: np.append(m, m[:1], 0), M, grad=0)
case("append", lambda np, m, i: np.append(m, i), M, I)
# Splitting
case("split", lambda np, v: np.split(v, 2), V, grad=0)
case("split", lambda np, a: np.split(a, [1, -1], 2), A)
case("split", lambda np, a: np.split(a, 3, axis=1), A)
case("array_split", lambda np, v: np.array_split(v, 3), V)
case("array_split", lambda np, a: np.array_split(a, 5, 1), A)
case("hsplit", lambda np, m, v: (*np.hsplit(m, [1]), *np.hsplit(v, 2)), M, V)
case("vsplit", lambda np, m: np.vsplit(m, 2), M)
case("dsplit", lambda np, a: np.dsplit(a, 2), A)
case("unstack", lambda np, m: np.unstack(m, axis=1), M, **KNOWN)
# Making
case("array", lambda np, v: np.array([v, v * 2], ndmin=3), V, **T_ONLY)
case("array", lambda np, n: np.array([[n, 1], [2, n]], "float32"), N, **T_ONLY)
case("asarray", lambda np, v: np.asarray(v, "float32"), V, **T_ONLY)
case("asarray", lambda np, v: np.asarray([v, v], like=v), V, **NUMPY_ONLY)
case("asanyarray", lambda np, v: np.asanyarray(v), V, **T_ONLY)
case("ascontiguousarray", lambda np, n: np.ascontiguousarray(n), N, **T_ONLY)
case("astype", lambda np, v: np.astype(v, "int32"), V)
case("copy", lambda np, v: np.copy(v), V)
case("empty", lambda np, v: 0 * np.empty((2, 3), "int16"), V, **T_ONLY)
case("zeros", lambda np, n: np.zeros((2, n)), N, **T_ONLY, **DATA)
case("zeros", lambda np, v: np.zeros((2, 3), "int8", like=v), V, **NUMPY_ONLY)
case("ones", lambda np, v: np.ones(3, like=v), V, **NUMPY_ONLY)
case("full", lambda np, v: np.full((2, 2), 7, like=v), V, **NUMPY_ONLY)
case("arange", lambda np, v: np.arange(1, 7, 2, like=v), V, **NUMPY_ONLY)
case("eye", lambda np, v: np.eye(2, 3, 1, like=v), V, **NUMPY_ONLY)
case("identity", lambda np, v: np.identity(3, like=v), V, **NUMPY_ONLY)
case("identity", lambda np, n: np.identity(n), N, **T_ONLY, **DATA)
case("tri", lambda np, n: np.tri(n, 3, 1, dtype="int64"), N, **T_ONLY, **DATA)
case("tri", lambda np, v: np.tri(3, k=-1, like=v), V, **NUMPY_ONLY)
case("fromfunction", lambda np, n: np.fromfunction(lambda i, j: i * n + j, (2, 3), dtype=int), N, **T_ONLY)
case("zeros_like", lambda np, m: np.zeros_like(m, "int8", shape=(4, 2)), M)
case("ones_like", lambda np, m: np.ones_like(m, shape=3), M)
case("full_like", lambda np, j: np.full_like(j, 2.5, "float32", shape=()), J)
case("empty_like", lambda np, m: 0 * np.empty_like(m), M)
# Grids
case("linspace", lambda np, n: np.linspace(n, 10, 7), N)
case("linspace", lambda np, v: np.linspace(v, 2.0, 5), V, grad=0)
case("linspace", lambda np, v: np.linspace(v, 2.0, 5, axis=-1, endpoint=False), V)
case("linspace", lambda np, v, n: np.linspace(v[0], v[3], n), V, N, **T_ONLY, **DATA)
case("linspace", lambda np, f: np.linspace(f, 1, 3), F)
case("linspace", lambda np, n: np.linspace(n, 11, 4, dtype=int), N)
case("linspace", lambda np, c: np.linspace(c[0], c[1], 3), C)
case("linspace", lambda np, v: np.linspace(v, 1, 1), V)
case("linspace", lambda np, v: np.linspace(v, 1, 0), V)
case("linspace", lambda np, v: np.linspace(v, v, 3), V)
case("linspace", lambda np, v: np.linspace(v[0], v[1], 4, retstep=True), V)
case("linspace", lambda np, v: np.linspace(v[0], v[1], 1, retstep=True), V)
case("logspace", lambda np, v: np.logspace(v, 1.0, 4), V, grad=0)
case("logspace", lambda np, n, v: np.logspace(n, 6, 3, base=v), N, np.abs(V))
case("logspace", lambda np, n: np.logspace(n, 6, 3, base=2, dtype=int), N)
case("geomspace", lambda np, v: np.geomspace(v, 100.0, 4), np.abs(V), grad=0)
case("geomspace", lambda np, v: np.geomspace(v[0], -100.0, 4, endpoint=False), -np.abs(V))
case("geomspace", lambda np, i: np.geomspace(i + 1, 100, 3, axis=1), I)
case("geomspace", lambda np, c: np.geomspace(c, 100j, 3), C)
case("geomspace", lambda np, f: np.geomspace(f**2, 3, 3, dtype="float32"), F)
case("meshgrid", lambda np, v, w: np.meshgrid(v, w), V, W, grad=(0, 1))
case("meshgrid", lambda np, v, w, i: np.meshgrid(v, w, i, indexing="ij", sparse=True), V, W, I)
case("meshgrid", lambda np, v, w, i: np.meshgrid(v, w, i), V, W, I)
case("meshgrid", lambda np, v: np.meshgrid(v), V)
case("ix_", lambda np, i: np.ix_(i, i[:2] + 1), I)
case("ix_", lambda np, b, i: np.ix_(b, i), B, I, **DATA)
case("indices", lambda np, v: np.indices((2, 3), "int32") + v[0], V, **T_ONLY)
case("indices", lambda np, n: np.indices((n, 3), sparse=True), N, **T_ONLY, **DATA)
case("broadcast_arrays", lambda np, v, m: np.broadcast_arrays(v[:3], m), V, M)
case("broadcast_arrays", lambda np, n, m: np.broadcast_arrays(n, m), N, M, grad=1)
case("broadcast_to", lambda np, v: np.broadcast_to(array=v, shape=(2, 4)), V, **NUMPY_ONLY)
case("broadcast_shapes", lambda np, m, v: np.broadcast_shapes(m.shape, (1, 3), v.shape), M, W, **T_ONLY)
# Indices
case("tril_indices", lambda np, n: np.tril_indices(n), N, **T_ONLY, **DATA)
case("triu_indices", lambda np, n: np.triu_indices(n, 1, 3), N, **T_ONLY, **DATA)
case("tril_indices_from", lambda np, m: np.tril_indices_from(m, 1), M)
case("triu_indices_from", lambda np, m: np.triu_indices_from(m, -1), M)
case("mask_indices", lambda np, n: np.mask_indices(n, np.triu, 1), N, **T_ONLY, **DATA)
case("diag_indices", lambda np, n: np.diag_indices(n, 3), N, **T_ONLY, **DATA)
case("diag_indices_from", lambda np, s: np.diag_indices_from(s), S)
case("unravel_index", lambda np, i: np.unravel_index(i + 5, (2, 3, 4)), I)
case("unravel_index", lambda np, i: np.unravel_index(i, (2, 2), "F"), I)
case("ravel_multi_index", lambda np, i: np.ravel_multi_index((i, i + 1), (3, 4)), I)
case("ravel_multi_index", lambda np, i: np.ravel_multi_index((i - 3, i + 4), (2, 3), ("wrap", "clip"), "F"), I)
# Matrices
case("diagflat", lambda np, m: np.diagflat(m, 1), M, grad=0)
case("vander", lambda np, v: np.vander(v), V, grad=0)
case("vander", lambda np, i: np.vander(i, 3, increasing=True), I)
case("vander", lambda np, f: np.vander(f, 0), F)
case("kron", lambda np, m, s: np.kron(m, s), M, S, grad=(0, 1))
case("kron", lambda np, v, a: np.kron(v[:2], a), V, A)
case("kron", lambda np, n, v: np.kron(n, v), N, V)
case("cross", lambda np, m, w: np.cross(m, w), M, W, grad=(0, 1), **KNOWN)
case("cross", lambda np, a, m: np.cross(a, m, axisa=1, axisb=1, axisc=1), A[:, :, :2], M[:, :, None], known=True)
case("cross", lambda np, i, w: np.cross(w, i), I[:3], W, **KNOWN)
case("tril", lambda np, a: np.tril(m=a, k=1), A, **NUMPY_ONLY)
case("diag", lambda np, v: np.diag(v, k=-2), V)
case("diag", lambda np, v, k: (np.diag(v, k), np.diag(v, -k), np.diag(v, 0 * k)), V, K, **T_ONLY, **DATA)
case("diag", lambda np, m, k: (np.diag(m, k), np.diag(m, -k), np.diag(m, 3 * k)), M, K, **T_ONLY, **DATA)
case("diagonal", lambda np, a, k: (np.diagonal(a, k, 1, 2), np.trace(a, -k)), A, K, **T_ONLY, **DATA)
case("diagflat", lambda np, m, k: np.diagflat(m, k), M, K, grad=0, **T_ONLY, **DATA)
case("diagonal", lambda np, a: np.diagonal(a, 1, 0, 2), A)
case("trace", lambda np, j: np.trace(j, dtype="int8"), J)
# Changing
case("delete", lambda np, v: np.delete(v, 1), V, grad=0)
case("delete", lambda np, a: np.delete(a, [0, -1, 0], 2), A)
case("delete", lambda np, a: np.delete(a, slice(None, None, 2), 2), A)
case("delete", lambda np, m, b: np.delete(m, b, 1), M, B, **DATA)
case("delete", lambda np, v, n: np.delete(v, n - 2), V, N)
case("delete", lambda np, m, n: np.delete(m, n), M, -N)
case("delete", lambda np, v, i: np.delete(v, i), V, I, **DATA)
case("insert", lambda np, v: np.insert(v, 1, 9), V, grad=0)
case("insert", lambda np, v, w: np.insert(v, -1, w), V, W, grad=(0, 1))
case("insert", lambda np, m: np.insert(m, 1, [5, 6], 1), M)
case("insert", lambda np, m: np.insert(m, [1], [[5], [6]], 1), M)
case("insert", lambda np, m, w: np.insert(m, [0, 2], w, 0), M, W)
case("insert", lambda np, v, i: np.insert(v, i, i), V, I)
case("insert", lambda np, v, n, w: np.insert(v, n, w), V, N, W)
case("insert", lambda np, j: np.insert(j, slice(0, 2), 1.9, 1), J)
case("insert", lambda np, w, b: np.insert(w, b, 1), W, B, **DATA)
case("put_along_axis", changed_by("put_along_axis", 1), M, I[None, :3], W, grad=(0, 2), numpy=False)
case("put_along_axis", changed_by("put_along_axis", 7, None), J, I, **DATA, numpy=False)
case("put_along_axis", changed_by("put_along_axis", A[:, :1] * 2, -2), A, I[None, :1, None], numpy=False)
case("fill_diagonal", changed_by("fill_diagonal", 5), M, grad=0, numpy=False)
case("fill_diagonal", changed_by("fill_diagonal"), S, W, grad=(0, 1), numpy=False)
case("fill_diagonal", changed_by("fill_diagonal", True), A[0].repeat(3, 0), V[:2], numpy=False)
case("fill_diagonal", changed_by("fill_diagonal", 1.5), A[:, :2, :2], numpy=False)
case("resize", lambda np, w: np.resize(w, (2, 4)), W, grad=0)
case("resize", lambda np, a: np.resize(a, 5), A)
case("resize", lambda np, e: np.resize(e, (2, 2)), E)
# Comparing
for equal_nan in (False, True):
    case("isclose", lambda np, x, e=equal_nan: np.isclose(x, x * (1 + 1e-9), equal_nan=e), SPECIAL)
    case("array_equal", lambda np, x, e=equal_nan: np.array_equal(x, x + 0, equal_nan=e), SPECIAL)
case("isclose", lambda np, v: np.isclose(v, 1.5), V)
case("isclose", lambda np, f, w: np.isclose(f, w, rtol=w, atol=f[0]), F, W)
case("isclose", lambda np, i: np.isclose(2, i), I)
case("isclose", lambda np, c: np.isclose(c, c + 1e-9j), C)
case("isclose", lambda np, b: np.isclose(b, True), B)
case("allclose", lambda np, m: np.allclose(m, m + 1e-9), M)
case("allclose", lambda np, m, w: np.allclose(m, w), M, W)
case("array_equal", lambda np, m, v: (np.array_equal(m, v), np.array_equal(m, m.T), np.array_equal(v, v[1:])), M, V)
case("array_equal", lambda np, i: np.array_equal(i, [2, 0, 1, 1]), I)
case("array_equiv", lambda np, v: (np.array_equiv(v[:1], v), np.array_equiv(v, v[1:]), np.array_equiv(v, [v, v])), V)
case("array_equiv", lambda np, m: (np.array_equiv(m[:0], m), np.array_equiv(m, m[:, :1]), np.array_equiv(m, m)), M)
case("isposinf", lambda np, x, i: (np.isposinf(x), np.isposinf(i)), SPECIAL, I)
case("isneginf", lambda np, x: np.isneginf(x), SPECIAL)
case("isreal", lambda np, c, v: (np.isreal(c), np.isreal(v)), C, V)
case("iscomplex", lambda np, c, v: (np.iscomplex(c), np.iscomplex(v)), C, V)
# Elements
case("nan_to_num", lambda np, x: np.nan_to_num(x), SPECIAL)
case("nan_to_num", lambda np, x, v: np.nan_to_num(x, nan=v[0], posinf=7, neginf=-8.5), SPECIAL, V)
case("nan_to_num", lambda np, x, i: np.nan_to_num(x * (1 - 2j) + 1) + np.nan_to_num(i[:1]), SPECIAL[3:], I)
case("nan_to_num", lambda np, f: np.nan_to_num(f / 0), F)
case("sinc", lambda np, v, i, f: (np.sinc(v), np.sinc(i), np.sinc(f)), V, I, F)
case("sinc", lambda np, v: np.sinc(v), V, grad=0)
case("fix", lambda np, v, i: (np.fix(v), np.fix(i)), V, I)
case("angle", lambda np, c, v, i: (np.angle(c), np.angle(v, deg=True), np.angle(i)), C, V, I)
case("real_if_close", lambda np, v: np.real_if_close(v), V)
case("clip", lambda np, v: (np.clip(v, max=1, min=-1), np.clip(v, 0, None)), V)
case("clip", lambda np, j: (np.clip(j, -500, 5), np.clip(j, -5, 500), np.clip(j, -128, 127)), J)
case("clip", lambda np, v: np.clip(a=v, a_min=0, a_max=1), V, **NUMPY_ONLY)
case("isfinite", lambda np, x: (np.isfinite(x), np.signbit(x)), SPECIAL)
# Choosing
case("select", lambda np, v: np.select([v > 1, v < 0], [v, v**2], 7), V, grad=0)
case("select", lambda np, i, b: np.select([b, ~b], [i[:3], 1.5]), I, B)
case("choose", lambda np, i, v: np.choose(i, [v, -v, 5]), I, V, grad=1)
case("choose", lambda np, i, m: np.choose(i - 4, m[:, :1], mode="wrap"), I, M)
case("choose", lambda np, i, s: np.choose(i[:3] * 2 - 1, s, mode="clip"), I, S)
case("compress", lambda np, b, m: np.compress(b[:2], m, 1), B, M, **DATA)
case("compress", lambda np, i, v: np.compress(i, v), I, V, grad=1, **DATA)
case("extract", lambda np, m: np.extract(m > 0, m), M, **DATA)
case("amax", lambda np, m: (np.amax(m, 1), np.amin(m)), M)
case("piecewise", lambda np, v: np.piecewise(v, [v > 1, v < 0], [lambda x: x**2, 3, lambda x: -x]), V, grad=0)
case("piecewise", lambda np, i: np.piecewise(i, i > 0, [lambda x, k: x * k, 1.9], 3), I)
case("piecewise", lambda np, v: np.piecewise(v, [v > 1], [1]), V)
case("apply_along_axis", lambda np, a: np.apply_along_axis(lambda x: x.sum() * x[:2], 1, a), A, grad=0)
case("apply_along_axis", lambda np, a: np.apply_along_axis(lambda x, k: x.max() + k, -1, a, 2), A)
case("apply_along_axis", lambda np, v: np.apply_along_axis(lambda x: x * 2, 0, v), V)
case("apply_over_axes", lambda np, a: np.apply_over_axes(np.sum, a, (0, 2)), A)
case("where", lambda np, v: np.where(v > 0, v, 0), V)
# Differences
case("diff", lambda np, v: np.diff(v, prepend=0, append=v[:1]), V, grad=0)
case("diff", lambda np, m: np.diff(m, 2, 0, prepend=m), M)
case("divmod", lambda np, v, i: (*divmod(v, 2), *divmod(7, i + 1), *divmod(v, v)), V, I)
case("take_along_axis", lambda np, m, i: np.take_along_axis(m, i, None), M, I, grad=0)
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"):
    case(_name, lambda np, j, g=_name: getattr(np, g).accumulate(j), J, **NUMPY_ONLY)
    case(_name, lambda np, j, g=_name: getattr(np, g).accumulate(j > 0, axis=-1), J, **NUMPY_ONLY)
    case(_name, lambda np, j, g=_name: getattr(np, g).reduce(j, axis=1, keepdims=True), J, **NUMPY_ONLY)
    case(_name, lambda np, j, g=_name: getattr(np, g).reduce(j[:0], axis=0), J, **NUMPY_ONLY)
    case(_name, lambda np, j, g=_name: getattr(np, g).reduce(j > 0, axis=(0, -1)), J, **NUMPY_ONLY)
case("logaddexp", lambda np, m: np.logaddexp.reduce(m, axis=-1), M, **NUMPY_ONLY)
case("logaddexp", lambda np, i, v: (np.logaddexp.reduce(i, keepdims=True), np.logaddexp.reduce(v)), I, V, **NUMPY_ONLY)
for _name in ("dot", "inner", "outer", "vdot", "kron", "convolve"):  # which make arrays of numbers first
    case(_name, lambda np, j, f, g=_name: (getattr(np, g)(j[0, :1], 300), getattr(np, g)(2.5, f[:1])), J, F)
case("cumsum", lambda np, v, f: (np.cumsum(f, dtype="float64"), np.cumsum(-v, dtype="float32")), V, F)
case("cumprod", lambda np, v, f: (np.cumprod(f, dtype="float64"), np.cumprod(-v, dtype="float32")), V, F)
case("trapezoid", lambda np, m: np.trapezoid(m, dx=0.5, axis=0), M, grad=0)
case("trapezoid", lambda np, m, w: np.trapezoid(m, w), M, W, grad=(0, 1))
case("trapezoid", lambda np, m, s: np.trapezoid(s, 2 * s, axis=0), M, S)
case("trapezoid", lambda np, i: np.trapezoid(i), I)
case("ediff1d", lambda np, m: np.ediff1d(m), M, grad=0)
case("ediff1d", lambda np, i, v: np.ediff1d(v, i, to_begin=9), I, V)
for order in (1, 2):
    case("gradient", lambda np, v, e=order: np.gradient(v, edge_order=e), V, grad=0)
    case("gradient", lambda np, a, e=order: np.gradient(a, 0.5, axis=(1, 2), edge_order=e), A)
    case("gradient", lambda np, m, w, e=order: np.gradient(m, w, axis=1, edge_order=e), M, W, grad=(0, 1))
case("gradient", lambda np, s, w: np.gradient(s, 2.0, w), S, W)
case("gradient", lambda np, i, f: (np.gradient(i), np.gradient(f, 2)), I, F)
case("unwrap", lambda np, v: np.unwrap(v * 5), V, grad=0)
case("unwrap", lambda np, m: np.unwrap(m * 4, axis=0, discont=4.0), M)
case("unwrap", lambda np, i: np.unwrap(i * 3, period=4), I)
case("unwrap", lambda np, i: np.unwrap(i * 3, period=5), I)
case("interp", lambda np, v: np.interp(v, [0.0, 1.0, 2.5], [1.0, -1.0, 4.0]), V, grad=0)
case("interp", lambda np, v, w: np.interp(v, [-1.0, 1.0, 2.5], w, left=-9, right=v[0]), V, W, grad=1)
case("interp", lambda np, v, w: np.interp(v, w, w * 2, period=3), V, W)
case("interp", lambda np, v: np.interp(v, [1.0], [5.0], left=0), V)
case("interp", lambda np, m, c: np.interp(m, [-1, 0, 1, 2], c), M, C)
case("interp", lambda np, x: np.interp(x, [-1, 0, 0, 2], [1, 2, 3, 4]), SPECIAL)
# Signals
for mode in ("full", "same", "valid"):
    case("convolve", lambda np, v, w, m=mode: np.convolve(v, w, m), V, W, grad=(0, 1))
    case("convolve", lambda np, v, w, m=mode: np.convolve(w[:2], v, mode=m), V, W)
    case("correlate", lambda np, v, w, m=mode: np.correlate(v, w, m), V, W, grad=(0, 1))
    case("correlate", lambda np, v, w, m=mode: np.correlate(w[:2], v, m), V, W)
    case("correlate", lambda np, c, w, m=mode: np.correlate(w[:2], c, m), C, W)
case("convolve", lambda np, i, b: np.convolve(i, b), I, B)
case("correlate", lambda np, c: np.correlate(c, c[:3] * 1j, "full"), C)
# Polynomials
case("polyval", lambda np, w, v: np.polyval(w, v), W, V, grad=(0, 1))
case("polyval", lambda np, i, m: (np.polyval(i, m), np.polyval(i, 3)), I, M)
case("polyadd", lambda np, v, w: (np.polyadd(v, w), np.polyadd(w, v), np.polyadd(v, 2)), V, W, grad=(0, 1))
case("polysub", lambda np, i, w: (np.polysub(i, w), np.polysub(w, i)), I, W)
case("polymul", lambda np, v, i: np.polymul(v, i - 2), V, I, **DATA)
case("polymul", lambda np, i: (np.polymul(i * 0, i), np.polymul(3, i)), I, **DATA)
case("polyfit", lambda np, v, w: np.polyfit(v[:3], w, 1), V, W, grad=1)
case("polyfit", lambda np, s, w, i: np.polyfit(i[:3] * w, s, 1, w=np.abs(w)), S, W, I + 1)
case("poly", lambda np, v: np.poly(v), V, grad=0, **KNOWN)
case("poly", lambda np, i, f: (np.poly(i), np.poly(f)), I, F, **KNOWN)
case("polydiv", lambda np, v, w: np.polydiv(v, w), V, W, grad=(0, 1))
case("polydiv", lambda np, w, v: np.polydiv(w, v), W, V)
case("polydiv", lambda np, i, f: np.polydiv(i, f), I, F)
case("polydiv", lambda np, v: np.polydiv(v, v), V)
case("polydiv", lambda np, f, v: np.polydiv(f, v), F, W)
case("polydiv", lambda np, v, w: np.polydiv(v, w + 1j), V, W)
case("roots", lambda np, p: np.roots(p), np.array([1.0, 0.0, 4.0, 0.5]), **DATA)
case("roots", lambda np, p: np.roots(p), np.array([0.0, 0.0, 1.0, 2.0, 5.0, 0.0, 0.0]), **DATA)
case("roots", lambda np, p: np.roots(p), np.array([3, 1, 7]), **DATA)
case("polyder", lambda np, v, i: (np.polyder(v), np.polyder(i, 2), np.polyder(v, 5)), V, I)
case("polyint", lambda np, v, i: (np.polyint(v), np.polyint(i, 2, k=[1, 2]), np.polyint(v, 2, 3)), V, I)
case("polyint", lambda np, v: np.polyint(v, 2, k=3), V, grad=0)
# Padding
for name in ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "minimum", "mean", "median"):
    case("pad", lambda np, m, k=name: np.pad(m, 2, mode=k), M, grad=0)
    case("pad", lambda np, j, k=name: np.pad(j, ((0, 4), (5, 3)), mode=k), J)
    case("pad", lambda np, m, n, k=name: np.pad(m, ((n, 0), (1, n)), k), M, K, **T_ONLY, **DATA)
for name in ("reflect", "symmetric"):
    case("pad", lambda np, m, k=name: np.pad(m, (1, 2), k, reflect_type="odd"), M, grad=0)
    case("pad", lambda np, w, k=name: np.pad(w, (9, 7), k, reflect_type="odd"), W)
    case("pad", lambda np, m, k=name: np.pad(m[:, :1], 3, k, reflect_type="odd"), M)
case("pad", lambda np, m, n: np.pad(m, ((1, 0), (0, 2)), constant_values=((n, 0), (1, -1.5))), M, N)
case("pad", lambda np, a: np.pad(a, {-1: 2, 0: (1, 0)}, "edge"), A)
case("pad", lambda np, m: np.pad(m, (2, 1), "linear_ramp", end_values=(5, -4)), M)
case("pad", lambda np, m: np.pad(m, (2, 1), "maximum", stat_length=((1, 2), (2, 1))), M)
case("pad", lambda np, m: 0 * np.pad(m, (2, 1), "empty"), M[:1])
case("pad", lambda np, e: np.pad(e, 1), E)
# Sums and products of subscripts
for text, names in {
    "ij,jk->ik": "ms", "ij,jk": "ms", "ij->ji": "m", "ij->": "m", "ii->i": "s", "ii": "s", "ij,ij->i": "mm",
    "i,j->ij": "vw", "i,i": "vv", "ijk,lk->ilj": "aq", "...j,j->...": "mw", "...ij,...ij->...": "mm",
    "i...->...": "a", "bij,bjk->bik": "ap", "ij,kj,kl->il": "mss", "i,j,k": "vww", "ij,ik,il->jkl": "mmm",
    "iij->ij": "r", "a...b,b->a...": "ax", "ij , j": "mw", "ij,j->ij": "mw", "...,...": "mw", "iji,j->i": "tw",
}.items():  # fmt: skip
    given = {"m": M, "s": S, "v": V, "w": W, "a": A, "q": A[0], "p": A.transpose(0, 2, 1), "r": np.stack([S, S], -1),
             "x": A[0, 0], "t": np.stack([S, S + 1, S - 1], 1)}  # fmt: skip
    case("einsum", lambda np, *xs, text=text: np.einsum(text, *xs), *(given[k] for k in names),
         grad=tuple(range(len(names))) if len(text) % 3 else ())  # fmt: skip
case("einsum", lambda np, m, s: np.einsum(m, [0, 1], s, [1, 2], [2, 0]), M, S)
case("einsum", lambda np, m, w: np.einsum(m, [Ellipsis, 1], w, [1]), M, W)
case("einsum", lambda np, m, s: np.einsum("ij,jk", m, s, optimize=True), M, S)
case("einsum", lambda np, m, s: np.einsum("ij,jk,kl->il", m, s, s, optimize=["einsum_path", (1, 2), (0, 1)]), M, S)
case("einsum", lambda np, m, s: np.einsum("ij,kj,lj->ikl", m, s, s, optimize=["einsum_path", (0, 1, 2)]), M, S)
case("einsum", lambda np, m: np.einsum("ij,kj,lj->ikl", m, m, m), M, grad=0, **KNOWN)
case("einsum", lambda np, m: np.einsum("ij,ij->j", m[:1], m), M, **KNOWN)
case("einsum", lambda np, j: (np.einsum("ij->", j), np.einsum("ij,ij->i", j, j), np.einsum("ij->j", j > 0)), J)
case("einsum", lambda np, c, i: np.einsum("i,i", c, i), C, I)
case("einsum", lambda np, j: np.einsum("ij->", j, dtype="float32"), J)
case("einsum", lambda np, f, w: np.einsum("i,i->i", f, w), F, W)
# Ufuncs and their methods
case("ufuncs", lambda np, v: (np.abs(v), np.pow(v, 2), np.acos(v / 4), np.asin(v / 4), np.atan2(v, 2), np.conj(v)), V)
case("ufuncs", lambda np, i: (np.bitwise_left_shift(i, 1), np.bitwise_invert(i), np.bitwise_right_shift(i, 1)), I)
case("ufuncs", lambda np, v: (np.asinh(v), np.acosh(v * v + 1), np.atanh(v / 4), np.atan(v)), V)
case("cumulative_sum", lambda np, v, m: (np.cumulative_sum(v), np.cumulative_sum(m, axis=1)), V, M)
case("cumulative_sum", lambda np, m: np.cumulative_sum(m, axis=0, include_initial=True), M, grad=0)
case("cumulative_prod", lambda np, i: np.cumulative_prod(i + 1, dtype="float32", include_initial=True), I)
# Windows
for name in ("bartlett", "blackman", "hamming", "hanning"):
    case(name, lambda np, n, k=name: getattr(np, k)(n), N, **T_ONLY, **DATA)
    case(
        name,
        lambda np, n, k=name: (getattr(np, k)(n - 3), getattr(np, k)(n - 4), getattr(np, k)(5)),
        N,
        **T_ONLY,
        **DATA,
    )
case("kaiser", lambda np, n, v: np.kaiser(n, v[0]), N, V, grad=1, **T_ONLY, **DATA)
case("kaiser", lambda np, n: (np.kaiser(n - 3, 2.5), np.kaiser(n - 4, 3), np.kaiser(6, 0)), N, **T_ONLY, **DATA)
# Dtypes
case("result_type", lambda np, f, i: np.zeros(2, np.result_type(f, i)), F, I, **T_ONLY)
case("common_type", lambda np, f, c: np.zeros(2, np.common_type(f, c)), F, C, **T_ONLY)
case("iscomplexobj", lambda np, c: np.zeros(2) + np.iscomplexobj(c) + 2 * np.isrealobj(c), C, **T_ONLY)
case("can_cast", lambda np, f: np.zeros(2) + np.can_cast(f.dtype, "float64"), F, **T_ONLY)

# Histograms of several coordinates, different entries, parts of floats
P, Q = np.array([0.0, 0.3, 1.0, 1.0, -0.5]), np.array([1.0, 0.2, 2.0, 1.5, 0.7])
case("histogram2d", lambda np, x, y: np.histogram2d(x, y, bins=3), P, Q)
case("histogram2d", lambda np, x, y: np.histogram2d(x, y, [2, 3], [[0, 1], [0, 2]], density=True), P, Q)
case("histogram2d", lambda np, x, y, w: np.histogram2d(x, y, [[0.0, 0.5, 1.0], 2], weights=w), P, Q, Q)
case("histogramdd", lambda np, m: np.histogramdd(m, bins=2), M.T, **KNOWN)
case("histogramdd", lambda np, x, y: np.histogramdd((x, y), bins=(2, [0.0, 1.0, 2.0])), P, Q)
R = np.array([[1, 0, 2], [0, 5, 5], [1, 0, 2], [0, 5, 4]])
case("unique", lambda np, r: np.unique(r, True, True, True, axis=0), R, **DATA)
case("unique", lambda np, r: np.unique(r, axis=1), R, **DATA)
case("unique", lambda np, a: np.unique(a, return_counts=True, axis=-1), np.round(A), **DATA)
case(
    "unique",
    lambda np, r: np.unique(r, return_index=True, axis=0),
    np.array([[np.nan, 1], [np.nan, 1], [0, 1]]),
    **DATA,
)
case("unique", lambda np, e: np.unique(e, True, True, True, axis=0), E, **DATA)
case("unique", lambda np, e: np.unique(e, axis=0), np.zeros((3, 0)), **DATA)
case("frexp", lambda np, v: np.frexp(v), V * 1.1, grad=0)
case("frexp", lambda np, v: np.frexp(v), np.array([np.inf, -np.inf, np.nan, 0, -0.0, 5e-324, -1e-310, 1e308]))
for dtype in ("float16", "float32", "int8", "int16", "uint64", "bool"):
    case("frexp", lambda np, v: np.frexp(v), np.array([0, 1, 3, 100, 6e-8 if "f" in dtype else 5]).astype(dtype))
