"""Replaces the operators that CuPy computes differently from NumPy: here they give NumPy's values and errors.

In CuPy, index arrays wrap around; if several values are put into one place, any of them may win; the remainder of
floats has another formula; and floats that do not fit into an integer dtype become other numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from scanopt.array.device import to_host
from scanopt.array.op import Op, Operand
from scanopt.array.operators.indexing import key_of
from scanopt.backends.recurrence_kernels import LinearRecurrences

__all__ = ["Watch", "bind_on_device"]

Array = Any
TENSOR_FLOAT32 = 3
"""The value of cuBLAS's CUBLAS_TF32_TENSOR_OP_MATH, for which CuPy has no name."""


class Watch(threading.local):
    """Notes on the device whether an index was out of range; the host reads this once, at the end of a call.

    at_once: the host reads it at each index instead, so that the error can name the index.
    """

    def __init__(self, xp: Any) -> None:
        self.xp, self.at_once = xp, False
        self.flags: list[Array] = []

    def start(self, at_once: bool) -> None:
        """Forget all flags, before a call."""
        self.flags, self.at_once = [], at_once

    def look(self, bad: Array, index: Array, length: int, axis: int) -> None:
        """Note whether some indices are out of range, those where `bad`.  Raises IndexError now if `at_once`."""
        found = bad.any()
        if not self.at_once:
            self.note(found)
        elif bool(found):
            wrong = int(to_host(index[bad]).flat[0])
            raise IndexError(f"index {wrong} is out of bounds for axis {axis} with length {length}")

    def note(self, found: Array) -> None:
        """Note whether an index was out of range; the array is read at the end of the call."""
        self.flags = [self.xp.logical_or(self.flags[0], found)] if self.flags else [found]

    @contextmanager
    def apart(self) -> Iterator[None]:
        """A context with its own flags: those noted inside are dropped at its end."""
        before, self.flags = self.flags, []
        try:
            yield
        finally:
            self.flags = before

    def failed(self) -> bool:
        """Whether an index was out of range in this call."""
        return bool(self.flags) and bool(self.flags[0])


def bind_on_device(
    op: Op, xp: Any, watch: Watch, recurrences: LinearRecurrences | None = None, short: bool = False
) -> Callable[..., Any]:
    """The function of an operator on a device.  recurrences: kernels for linear ones, if there are any.

    short: products of float32 may keep 11 bits of each number.
    """
    if short and op.spec.cost == "product":
        return _short_product(op.bind(xp), xp)
    if recurrences is not None and op.name == "linear_recurrence":
        return partial(recurrences.recurrence, op.bind(xp))
    if recurrences is not None and op.name in ("lfilter", "lfilter2"):
        return partial(recurrences.filtered, op.bind(xp))
    own = _OWN.get(op.name)
    return op.bind(xp) if own is None else own(op, xp, watch)


def _short_product(plain: Callable[..., Any], xp: Any) -> Callable[..., Any]:
    """Wrap a product so that cuBLAS uses tensor cores for float32, by the math mode of its handle during the call."""
    if not hasattr(xp.cuda, "cublas"):
        return plain
    cublas = xp.cuda.cublas

    def product(*args: Any) -> Any:
        handle = xp.cuda.device.get_cublas_handle()
        before = cublas.getMathMode(handle)
        cublas.setMathMode(handle, TENSOR_FLOAT32)
        try:
            return plain(*args)
        finally:
            cublas.setMathMode(handle, before)

    return product


# Indices


def _outside(index: Any, shape: tuple[int, ...], inputs: tuple[Array, ...], watch: Watch) -> None:
    """Note indices out of range."""
    axis, rest = 0, iter(inputs)
    for entry in index:
        if isinstance(entry, tuple):
            for part in entry:
                if part == "in":
                    next(rest)
        given = next(rest) if isinstance(entry, str) and entry in ("in", "array", "mask") else None
        if entry == "array" and given is not None:
            n = shape[axis]
            watch.look((given < -n) | (given >= n), given, n, axis)
        axis += 0 if entry == "newaxis" else given.ndim if entry == "mask" and given is not None else 1


def _getitem(op: Op, xp: Any, watch: Watch) -> Callable[..., Any]:
    index, plain = op.options["index"], op.bind(xp)
    if "array" not in index:
        return plain

    def getitem(x: Array, *inputs: Array) -> Array:
        _outside(index, x.shape, inputs, watch)
        if not x.size and any(i.size for i in inputs):
            watch.start(True)
            _outside(index, x.shape, inputs, watch)
        return plain(x, *inputs)

    return getitem


def _setitem(op: Op, xp: Any, watch: Watch) -> Callable[..., Any]:
    index, plain = op.options["index"], op.bind(xp)
    if "array" not in index and "mask" not in index:
        return plain
    count = sum(e in ("in", "array", "mask") if isinstance(e, str) else _parts(e) for e in index)
    add = op.options["mode"] == "inc"

    def setitem(x: Array, y: Array, *rest: Array) -> Array:
        inputs, out = rest[:count], rest[count] if len(rest) > count else None
        _outside(index, x.shape, inputs, watch)
        if out is None:
            out = xp.array(x, order="C")
        elif out is not x:
            out[...] = x
        key = key_of(index, inputs)
        if add:
            _add_at(xp, out, key, y)
        else:
            out[key] = y if y.size == 1 or "array" not in index else _last_of_each(xp, x, key, y)
        return out

    return setitem


def _parts(entry: Any) -> int:
    return sum(part == "in" for part in entry) if isinstance(entry, tuple) else 0


def _last_of_each(xp: Any, x: Array, key: Any, y: Array) -> Array:
    """The values to put into the places of a part: each place that occurs several times gets its last value."""
    part = xp.broadcast_to(xp.zeros((), "bool"), x.shape)[key]
    order = xp.arange(1, part.size + 1, dtype="uint64").reshape(part.shape)
    last = xp.zeros(x.shape, "uint64")
    xp.maximum.at(last, key, order)
    return xp.broadcast_to(y, part.shape).reshape(-1)[(last[key] - np.uint64(1)).astype("int64")]


_ATOMIC = {"int32", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"}
"""Dtypes that `add.at` of CuPy adds to atomically."""


def _add_at(xp: Any, out: Array, key: Any, y: Array) -> None:
    """Add values to places, each value once; integers modulo 2^k."""
    name = out.dtype.name
    if name in _ATOMIC:
        xp.add.at(out, key, y.astype(name, copy=False))
    elif name == "int64":
        xp.add.at(out.view("uint64"), key, y.astype("int64", copy=False).view("uint64"))
    else:
        wide = out.astype("uint32")
        xp.add.at(wide, key, y.astype("uint32"))
        out[...] = wide.astype(name)


# Arithmetic


def _divided(xp: Any, a: Array, b: Array) -> tuple[Array, Array]:
    """The quotient of floats, rounded down, and the remainder, as Python and NumPy compute them."""
    rest = xp.fmod(a, b)
    down = (a - rest) / b
    other = (rest != 0) & ((b < 0) != (rest < 0))
    rest, down = xp.where(other, rest + b, rest), xp.where(other, down - 1, down)
    rest = xp.where(rest == 0, xp.copysign(xp.zeros_like(rest), b), rest)
    whole = xp.floor(down)
    whole = xp.where(down - whole > 0.5, whole + 1, whole)
    whole = xp.where(down == 0, xp.copysign(xp.zeros_like(down), a / b), whole)
    return xp.where(b == 0, a / b, whole), rest


def _division(which: int) -> Callable[[Op, Any, Watch], Callable[..., Any]]:
    def make(op: Op, xp: Any, watch: Watch) -> Callable[..., Any]:
        plain = op.bind(xp)

        def divide(a: Array, b: Array, out: Array | None = None) -> Array:
            dtype = np.result_type(a.dtype, b.dtype)
            if dtype.kind != "f":
                return plain(a, b) if out is None else plain(a, b, out)
            given = (a.astype(dtype, copy=False), b.astype(dtype, copy=False))
            return _given(_divided(xp, *given)[which].astype(dtype, copy=False), out)

        return divide

    return make


def _given(value: Array, out: Array | None) -> Array:
    if out is None:
        return value
    out[...] = value
    return out


def _spacing(op: Op, xp: Any, watch: Watch) -> Callable[..., Any]:
    """The distance to the next number away from zero."""

    def spacing(x: Array, out: Array | None = None) -> Array:
        x = x.astype(op.infer(Operand(x.dtype.name, x.shape)).dtype, copy=False)
        up = xp.nextafter(x, xp.copysign(xp.full_like(x, xp.inf), x)) - x
        return _given(xp.where(xp.isinf(x), xp.full_like(x, np.nan), up).astype(x.dtype, copy=False), out)

    return spacing


def _cast(op: Op, xp: Any, watch: Watch) -> Callable[..., Any]:
    """Casts of floats to integers as on x86: a value out of range becomes the least integer, which then wraps."""
    plain, new = op.bind(xp), np.dtype(op.options["dtype"])
    if new.kind not in "iu":
        return plain
    wide = np.dtype("int64" if new.itemsize == 8 or new.name == "uint32" else "int32")
    least, above = int(np.iinfo(wide).min), -float(np.iinfo(wide).min)

    def cast(x: Array) -> Array:
        x = xp.asarray(x)
        if x.dtype.kind != "f":
            return plain(x)
        x = x.astype("float64", copy=False)
        fits = (x > least - 1.0 if wide.itemsize < 8 else x >= least) & (x < above)
        found = xp.where(fits, xp.where(fits, x, 0.0).astype(wide), xp.full((), least, wide))
        if new.name != "uint64":
            return found.astype(new)
        high = (x >= above) & (x < 2 * above)
        return xp.where(high, xp.where(high, x, 0.0).astype(new), found.astype(new))

    return cast


_OWN: Mapping[str, Callable[[Op, Any, Watch], Callable[..., Any]]] = {
    "getitem": _getitem, "setitem": _setitem, "floor_divide": _division(0), "remainder": _division(1),
    "spacing": _spacing, "cast": _cast,
}  # fmt: skip
