"""Calls of the functions of the array API standard that tests make with the reference and with symbolic arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
from array_api_module import Array

from scanopt.array import standard_names

__all__ = ["CALLS", "DTYPES", "NAMES", "Call"]

DTYPES = tuple(name for names in standard_names.DTYPES.values() for name in names)

RNG = np.random.default_rng(0)
V, M, A3 = RNG.normal(size=5), RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3, 4))
S, SPD = RNG.normal(size=(2, 3, 3)), np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])
N, C = np.array([[3, 1, 2], [1, 1, 0]]), RNG.normal(size=(2, 4)) + 1j * RNG.normal(size=(2, 4))
B, E = np.array([[True, False, True], [False, False, True]]), np.zeros((0, 3))
TIES = np.array([[1.0, 3.0, 1.0, 2.0], [0.0, 0.0, 5.0, 0.0]])

Call = Callable[..., Any]
CALLS: list[tuple[str, Call, tuple[Any, ...]]] = []


def call(name: str, f: Call, *args: Any) -> None:
    CALLS.append((name, f, args))


for x in (V, M, A3, E, N, B, C, V.astype("float32"), N.astype("uint8"), N.astype("int16"), C.astype("complex64")):
    for name in ["sum", "prod", "mean", "std", "var", "max", "min", "all", "any", "argmax", "argmin", "count_nonzero"]:
        call(name, lambda xp, x, name=name: getattr(xp, name)(x), x)
        call(name, lambda xp, x, name=name: getattr(xp, name)(x, axis=-1, keepdims=True), x)
        call(name, lambda xp, x, name=name: getattr(xp, name)(x, axis=0, keepdims=False), x)
        if name not in ("argmax", "argmin"):
            call(name, lambda xp, x, name=name: getattr(xp, name)(x, axis=(0, -1)), x[None])
            call(name, lambda xp, x, name=name: getattr(xp, name)(x, axis=()), x)
    for name in ["sum", "prod", "cumulative_sum", "cumulative_prod"]:
        for dtype in ("float32", "int64", "complex128"):
            call(name, lambda xp, x, n=name, d=dtype: getattr(xp, n)(x, axis=0, dtype=getattr(xp, d)), x)
    for name in ["cumulative_sum", "cumulative_prod"]:
        call(name, lambda xp, x, n=name: getattr(xp, n)(x, axis=-1), x)
        call(name, lambda xp, x, n=name: getattr(xp, n)(x, axis=0, include_initial=True), x)
    for dtype in DTYPES:
        call("astype", lambda xp, x, d=dtype: xp.astype(x, getattr(xp, d), copy=False), np.abs(x))
        call("ones_like", lambda xp, x, d=dtype: xp.ones_like(x, dtype=getattr(xp, d), device=x.device), x)
    call("zeros_like", lambda xp, x: xp.zeros_like(x), x)
    call("full_like", lambda xp, x: xp.full_like(x, fill_value=1), x)
    call("empty_like", lambda xp, x: xp.zeros(xp.empty_like(x).shape), x)
    call("flip", lambda xp, x: xp.flip(x), x)
    call("flip", lambda xp, x: xp.flip(x, axis=0), x)
    call("roll", lambda xp, x: xp.roll(x, 2), x)
    call("roll", lambda xp, x: xp.roll(x, shift=(1, -2), axis=(0, -1)), x[None])
    call("reshape", lambda xp, x: xp.reshape(x, (-1,)), x[:, None] if x.size else x)
    call("expand_dims", lambda xp, x: xp.expand_dims(x, axis=0), x)
    call("expand_dims", lambda xp, x: xp.expand_dims(x, axis=-1), x)
    call("squeeze", lambda xp, x: xp.squeeze(x, axis=(0, 2)), x[None, :, None])
    call("repeat", lambda xp, x: xp.repeat(x, 2), x)
    call("repeat", lambda xp, x: xp.repeat(x, 3, axis=0), x)
    call("tile", lambda xp, x: xp.tile(x, (2, 1)), x)
    call("unstack", lambda xp, x: xp.unstack(x, axis=-1), x)
    call("diff", lambda xp, x: xp.diff(x), x.astype("int64") if x.dtype == bool else x)
    call("take", lambda xp, x: xp.take(x, xp.asarray([0, 0]), axis=-1), x)
    call("concat", lambda xp, x: xp.concat([x, x], axis=-1), x)
    call("concat", lambda xp, x: xp.concat((x, x), axis=None), x)
    call("stack", lambda xp, x: xp.stack([x, x], axis=1), x)
    call("where", lambda xp, x: xp.where(x == x, x, xp.zeros_like(x)), x)
    call("nonzero", lambda xp, x: xp.nonzero(x), x)
    for name in ["unique_all", "unique_counts", "unique_inverse", "unique_values"]:
        call(name, lambda xp, x, n=name: getattr(xp, n)(x), x)
    if x.dtype.kind != "c":
        call("sort", lambda xp, x: xp.sort(x), x.astype("int64") if x.dtype == bool else x)
        call("sort", lambda xp, x: xp.sort(x, axis=0, descending=True), x.astype("int8"))
        call("argsort", lambda xp, x: xp.argsort(x), x.astype("int8"))
        call("argsort", lambda xp, x: xp.argsort(x, axis=0, descending=True, stable=True), x.astype("int8"))

for x in (M, A3, S, C, M.astype("float32")):
    call("permute_dims", lambda xp, x: xp.permute_dims(x, tuple(range(x.ndim))[::-1]), x)
    call("moveaxis", lambda xp, x: xp.moveaxis(x, 0, -1), x)
    call("matrix_transpose", lambda xp, x: xp.matrix_transpose(x), x)
    call("matrix_transpose", lambda xp, x: x.mT, x)
    call("tril", lambda xp, x: xp.tril(x, k=-1), x)
    call("triu", lambda xp, x: xp.triu(x, k=1), x)
    call("matmul", lambda xp, x: xp.matmul(x, x.mT), x)
    call("matmul", lambda xp, x: x @ x.mT, x)
    call("vecdot", lambda xp, x: xp.vecdot(x, x), x)
    call("vecdot", lambda xp, x: xp.vecdot(x, x, axis=-2), x)
    call("vecdot", lambda xp, x: xp.linalg.vecdot(x, x, axis=-2), x)
    call("tensordot", lambda xp, x: xp.tensordot(x, x, axes=((0,), (0,))), x)
    call("tensordot", lambda xp, x: xp.linalg.tensordot(x, x.mT, axes=1), x[0] if x.ndim > 2 else x)
    call("diff", lambda xp, x: xp.diff(x, axis=0, n=2, prepend=x, append=x), x)
    call(
        "take_along_axis",
        lambda xp, x: xp.take_along_axis(x, xp.argsort(xp.real(x) if "complex" in str(x.dtype) else x)),
        x,
    )
    call("linalg.diagonal", lambda xp, x: xp.linalg.diagonal(x, offset=1), x)
    call("linalg.trace", lambda xp, x: xp.linalg.trace(x, offset=-1, dtype=xp.complex128), x)
    call("linalg.matrix_norm", lambda xp, x: xp.linalg.matrix_norm(x), x)
    for order in (1, -1, 2, -2, float("inf"), -float("inf"), "fro", "nuc"):
        call("linalg.matrix_norm", lambda xp, x, o=order: xp.linalg.matrix_norm(x, ord=o, keepdims=True), x)
    for order in (0, 1, -1, 2, -2, 3.5, float("inf"), -float("inf")):
        call("linalg.vector_norm", lambda xp, x, o=order: xp.linalg.vector_norm(x, axis=-1, ord=o), x)
    call("linalg.vector_norm", lambda xp, x: xp.linalg.vector_norm(x, keepdims=True), x)
    call("linalg.matrix_rank", lambda xp, x: xp.linalg.matrix_rank(x), x)
    call("linalg.matrix_rank", lambda xp, x: xp.linalg.matrix_rank(x, rtol=0.5), x)
    call("linalg.pinv", lambda xp, x: xp.linalg.pinv(x), x)
    call("linalg.pinv", lambda xp, x: xp.linalg.pinv(x, rtol=0.3), x)
    call("linalg.svdvals", lambda xp, x: xp.linalg.svdvals(x), x)
    for full in (True, False):
        call("linalg.svd", lambda xp, x, full=full: _made_again(xp, xp.linalg.svd(x, full_matrices=full)), x)
    for mode in ("reduced", "complete"):
        call("linalg.qr", lambda xp, x, mode=mode: _product(xp, xp.linalg.qr(x, mode=mode)), x)
    call("linalg.tensordot", lambda xp, x: xp.linalg.tensordot(x, x, axes=x.ndim), x)
    call("linalg.vecdot", lambda xp, x: xp.linalg.vecdot(x, x, axis=-1), x)
    call("linalg.matrix_transpose", lambda xp, x: xp.linalg.matrix_transpose(x), x)
    call("linalg.matmul", lambda xp, x: xp.linalg.matmul(x.mT, x), x)
    for name in ["fft", "ifft", "hfft"]:
        call(f"fft.{name}", lambda xp, x, n=name: getattr(xp.fft, n)(xp.astype(x, xp.complex128)), x)
        for norm in ("backward", "ortho", "forward"):
            whole = lambda xp, x, n=name, o=norm: getattr(xp.fft, n)(  # noqa: E731
                xp.astype(x, xp.complex64), n=6, axis=0, norm=o
            )
            call(f"fft.{name}", whole, x)
    for name in ["rfft", "ihfft"]:
        call(f"fft.{name}", lambda xp, x, n=name: getattr(xp.fft, n)(x, n=3, axis=-2, norm="ortho"), x.real)
    call("fft.irfft", lambda xp, x: xp.fft.irfft(xp.astype(x, xp.complex128), n=7, axis=-1), x)
    for name in ["fftn", "ifftn", "irfftn"]:
        call(f"fft.{name}", lambda xp, x, n=name: getattr(xp.fft, n)(xp.astype(x, xp.complex128)), x)
        sized = lambda xp, x, n=name: getattr(xp.fft, n)(xp.astype(x, xp.complex128), s=(3, 6), axes=(0, 1))  # noqa: E731
        call(f"fft.{name}", sized, x)
    call("fft.rfftn", lambda xp, x: xp.fft.rfftn(x, axes=(0, 1)), x.real)
    call("fft.fftshift", lambda xp, x: xp.fft.fftshift(xp.astype(x, xp.complex128)), x)
    call("fft.ifftshift", lambda xp, x: xp.fft.ifftshift(xp.astype(x, xp.complex128), axes=-1), x)

for x in (SPD, S + 4 * np.eye(3), SPD.astype("float32"), SPD + 0j):
    for name in ["det", "inv", "slogdet"]:
        call(f"linalg.{name}", lambda xp, x, n=name: getattr(xp.linalg, n)(x), x)
    for n in (0, 1, 3, -2):
        call("linalg.matrix_power", lambda xp, x, n=n: xp.linalg.matrix_power(x, n), x)
    call("linalg.solve", lambda xp, x: xp.linalg.solve(x, x), x)
    call("linalg.solve", lambda xp, x: xp.linalg.solve(x, x[..., 0, :] if x.ndim == 2 else x[0, 0, :]), x)
for x in (SPD, SPD.astype("float32"), SPD[None] + 0j):
    for upper in (False, True):
        call("linalg.cholesky", lambda xp, x, u=upper: xp.linalg.cholesky(x, upper=u), x)
    call("linalg.eigvalsh", lambda xp, x: xp.linalg.eigvalsh(x), x)
    call("linalg.eigh", lambda xp, x: _of_eigenvectors(xp, xp.linalg.eigh(x)), x)
call("linalg.cross", lambda xp, x: xp.linalg.cross(x, x[::-1, ...]), S[0])
call("linalg.cross", lambda xp, x: xp.linalg.cross(x, xp.flip(x, axis=1), axis=0), S[0])
call("linalg.outer", lambda xp, x: xp.linalg.outer(x, x[1:]), V)

for args in ((5,), (1, 7), (7, 1, -2), (0.5, 3.0), (2.0, 5.0, 0.5), (3, 3)):
    call("arange", lambda xp, args=args: xp.arange(*args))
    call("arange", lambda xp, args=args: xp.arange(*args, dtype=xp.float32, device=None))
call("arange", lambda xp: xp.arange(0, stop=9, step=2, dtype=xp.int16))
for dtype in DTYPES:
    call("ones", lambda xp, d=dtype: xp.ones((2, 3), dtype=getattr(xp, d)))
    call("zeros", lambda xp, d=dtype: xp.zeros(3, dtype=getattr(xp, d)))
    call("eye", lambda xp, d=dtype: xp.eye(3, 4, k=-1, dtype=getattr(xp, d)))
    call("asarray", lambda xp, d=dtype: xp.asarray([[1, 0]], dtype=getattr(xp, d)))
    call("full", lambda xp, d=dtype: xp.full((2, 2), 1, dtype=getattr(xp, d)))
    call("result_type", lambda xp, d=dtype: xp.result_type(getattr(xp, d), getattr(xp, d)))
    for other in DTYPES:
        # Casts to other kinds are left open.
        call(
            "can_cast",
            lambda xp, d=dtype, o=other: bool(_kind(d) != _kind(o) or xp.can_cast(getattr(xp, d), getattr(xp, o))),
        )
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
                 "numeric", ("bool", "integral")):  # fmt: skip
        call("isdtype", lambda xp, d=dtype, k=kind: xp.isdtype(getattr(xp, d), k))
for value in (True, 3, 2.5, 1j, [1, 2], [[1.5], [2.5]], [True, False], [1j, 2.0]):
    call("asarray", lambda xp, v=value: xp.asarray(v))
    if not isinstance(value, list):
        call("full", lambda xp, v=value: xp.full((2,), v))
call("eye", lambda xp: xp.eye(3))
call("empty", lambda xp: xp.zeros(xp.empty((2, 0)).shape))
for stop in (3, 4.5, 1 + 2j):
    call("linspace", lambda xp, s=stop: xp.linspace(0, s, 5))
    call("linspace", lambda xp, s=stop: xp.linspace(0, s, num=4, endpoint=False))
call("linspace", lambda xp: xp.linspace(-1.0, 1.0, 3, dtype=xp.float32))
for indexing in ("xy", "ij"):
    call("meshgrid", lambda xp, x, i=indexing: xp.meshgrid(x, x[1:], indexing=i), V)
    call("meshgrid", lambda xp, x, i=indexing: xp.meshgrid(x, x[1:], x[:2], indexing=i), V)
call("broadcast_to", lambda xp, x: xp.broadcast_to(x, (2, 3, 4)), M)
call("broadcast_to", lambda xp, x: xp.broadcast_to(x, shape=(3, 5)), V)
call("broadcast_arrays", lambda xp, x, y: list(xp.broadcast_arrays(x, y)), M, V[:4])
for low, high in ((-1, 1), (None, 0), (0.5, None), (None, None)):
    call("clip", lambda xp, x, a=low, b=high: xp.clip(x, a, b), M)
    call("clip", lambda xp, x, a=low, b=high: xp.clip(x, min=a, max=b), M.astype("float32"))
call("clip", lambda xp, x, y: xp.clip(x, y, 2), N, N[0])
for side in ("left", "right"):
    ordered = lambda xp, x, y, side=side: xp.searchsorted(x, y, side=side)  # noqa: E731
    call("searchsorted", ordered, np.sort(V), np.array([[0.0, -9.0], [9.0, 0.5]]))
    permuted = lambda xp, x, y, side=side: xp.searchsorted(x, y, side=side, sorter=xp.argsort(x))  # noqa: E731
    call("searchsorted", permuted, V, V[:2])
call("take", lambda xp, x: xp.take(x, xp.asarray([1, 1, 0])), V)
call("sort", lambda xp, x: xp.sort(x, descending=True), TIES)
call("argsort", lambda xp, x: xp.argsort(x, descending=True), TIES)
call("where", lambda xp, m, x: xp.where(m, x, 2), B, N)
call("where", lambda xp, m, x: xp.where(m, 1.5, x), B, N.astype("float32"))
call("std", lambda xp, x: xp.std(x, axis=0, correction=1.5), M)
call("var", lambda xp, x: xp.var(x, correction=1), M.astype("float32"))
call("fft.fftfreq", lambda xp: xp.fft.fftfreq(5, d=0.5, dtype=xp.float32))
call("fft.rfftfreq", lambda xp: xp.fft.rfftfreq(6))
call("from_dlpack", lambda xp: xp.from_dlpack(np.arange(3.0)))
for key in (0, -1, slice(1, None), slice(None, None, -1), (slice(None), 1), (..., 0), (None, 0), (1, slice(0, 2)), ...):
    call("getitem", lambda xp, x, key=key: x[key], M)
    call("setitem", lambda xp, x, key=key: _set(xp, x, key, 0.5), M)
call("getitem", lambda xp, x: x[x > 0], M)
call("getitem", lambda xp, x: x[()], np.array(2.0))
call("setitem", lambda xp, x: _set(xp, x, x > 0, 0.0), M)
call("getitem", lambda xp, x: x[xp.asarray([0, 1]), xp.asarray([2, 0])], M)
call("float", lambda xp, x: xp.asarray([float(x), int(x), bool(x), abs(complex(x))]), np.array(2.0))
call("inplace", lambda xp, x: _inplace(x), M)


def _kind(dtype: str) -> str:
    return np.dtype(dtype).kind.replace("u", "i").replace("c", "f")


def _set(xp: Any, x: Any, key: Any, value: Any) -> Any:
    y = xp.asarray(x, copy=True) if xp is strict else Array(x.value)
    y[key] = value
    return y


def _inplace(x: Any) -> Any:
    y = x + 0.0
    y += 1.0
    y *= x
    y -= 2
    y /= 3.0
    y **= 2
    return y


def _made_again(xp: Any, parts: Any) -> Any:
    """What has one value only: singular vectors have signs, and phases."""
    u, s, vh = parts
    k = s.shape[-1]
    product = (u[..., :k] * xp.astype(s, u.dtype)[..., None, :]) @ vh[..., :k, :]
    return [s, product, xp.zeros(u.shape), xp.zeros(vh.shape), xp.asarray(parts._fields == ("U", "S", "Vh"))]


def _product(xp: Any, parts: Any) -> Any:
    q, r = parts
    return [q @ r, xp.zeros(q.shape), xp.zeros(r.shape), xp.asarray(parts._fields == ("Q", "R"))]


def _of_eigenvectors(xp: Any, parts: Any) -> Any:
    w, v = parts
    return [w, (v * xp.astype(w, v.dtype)[..., None, :]) @ xp.conj(v).mT if "complex" in str(v.dtype) else v * v,
            xp.asarray(parts._fields == ("eigenvalues", "eigenvectors"))]  # fmt: skip


NAMES = tuple(dict.fromkeys(name for name, _, _ in CALLS))
