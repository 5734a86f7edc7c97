"""CuPy as it would answer, for machines without a GPU: its names and arguments, its arrays, what it refuses.

Arrays are no NumPy arrays and do not become any by themselves; functions take arrays of the device and numbers alone;
reductions give arrays; indices out of range wrap around; floor_divide and remainder of floats are CuPy's formulas.
What CuPy has is listed in cupy_names.txt.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["StrictArray", "StrictDevice", "names"]

MADE_OF_HOST = {"array", "asarray", "asanyarray", "ascontiguousarray"}
"""What takes NumPy's arrays and lists, too."""
HOST = {"result_type", "broadcast_shapes", "finfo", "iinfo", "dtype", "can_cast", "promote_types", "isscalar", "ndim"}
"""What computes on the host."""


@cache
def names() -> dict[str, tuple[str, ...]]:
    """By name the kind and the arguments of what CuPy has."""
    lines = (Path(__file__).parent / "cupy_names.txt").read_text().splitlines()
    return {line.split()[0]: tuple(line.split()[1:]) for line in lines if not line.startswith("#")}


def _host(x: Any, name: str) -> Any:
    """What CuPy takes, as NumPy takes it.  Raises TypeError for arrays of the host."""
    if isinstance(x, StrictArray):
        return x.data
    if isinstance(x, np.ndarray):
        raise TypeError(f"{name}: Unsupported type <class 'numpy.ndarray'>")
    if isinstance(x, tuple | list):
        return type(x)(_host(y, name) for y in x)
    return x


def _there(x: Any) -> Any:
    if isinstance(x, np.ndarray | np.generic):
        return StrictArray(np.asarray(x))
    if isinstance(x, tuple):
        return tuple(map(_there, x))
    return [*map(_there, x)] if isinstance(x, list) else x


def _wrapped(x: np.ndarray[Any, Any], key: Any) -> Any:
    """An index as CuPy reads it: arrays of integers wrap around."""
    keys = key if isinstance(key, tuple) else (key,)
    found: list[Any] = []
    axis = 0
    for k in keys:
        if isinstance(k, StrictArray) and not (k.ndim == 0 and k.data.dtype.kind in "iu"):
            k = k.data
        elif isinstance(k, np.ndarray) and k.ndim:
            raise TypeError("an index is an array of the host")
        elif isinstance(k, StrictArray):
            k = int(k)
        if isinstance(k, np.ndarray) and k.dtype.kind in "iu" and x.shape[axis]:
            k = k % x.shape[axis]
        found.append(k)
        axis += 0 if k is None else k.ndim if isinstance(k, np.ndarray) and k.dtype.kind == "b" else 1
    return tuple(found) if isinstance(key, tuple) else found[0]


def _launched(name: str, run: Callable[[], Any], *args: Any) -> Any:
    """The result of a launch, or of what captures it.  args: NumPy's arrays that it may read or write.

    Raises KeyError where the caller's builtins have no `__import__`, by which CuPy imports what it compiles with.
    """
    device = StrictDevice.shared()
    frame: Any = sys._getframe(1)
    while frame.f_code.co_filename == __file__:
        frame = frame.f_back
    frame.f_builtins["__import__"]
    if device.capture is not None:
        return device.capture.launched(name, run, args)
    device.compiled.add(name)
    found = run()
    if device.pool is not None and isinstance(found, np.ndarray):
        device.pool.add(found)
    return found


def _taken(x: np.ndarray[Any, Any], key: Any) -> np.ndarray[Any, Any]:
    """A part of an array: where the key has no arrays a view, also of a single element."""
    keys = _wrapped(x, key)
    found = x[keys]
    if isinstance(found, np.ndarray):
        return found
    return np.asarray(x[(*keys, ...) if isinstance(keys, tuple) else (keys, ...)])


class StrictArray:
    """An array of the device."""

    __array_priority__ = 100

    def __init__(self, data: np.ndarray[Any, Any]) -> None:
        self.data = data

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        found = StrictDevice.shared()[ufunc.__name__]
        return (found if method == "__call__" else getattr(found, method))(*args, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function.__module__ != "numpy" or function.__name__ in ("array_equal", "shares_memory"):
            return NotImplemented
        return StrictDevice.shared()[function.__name__](*args, **options)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.data.shape, "typestr": self.data.dtype.str, "data": (0, False), "version": 3}

    @property
    def device(self) -> Any:
        """The only one there is."""
        return SimpleNamespace(id=0)

    def get(self) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        if StrictDevice.shared().capture is not None:
            raise RuntimeError("the current stream is capturing, so synchronous API calls are disallowed")
        StrictDevice.shared().waited += 1
        return self.data.copy()

    def __getattr__(self, name: str) -> Any:
        if f"ndarray.{name}" not in names():
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")
        found = getattr(self.data, name)
        if not callable(found):
            return _Flags(found) if name == "flags" else _there(found)

        def method(*args: Any, **options: Any) -> Any:
            given = [_host(x, name) for x in args]
            named = {n: _host(x, name) for n, x in options.items()}
            return _there(_launched(name, lambda: found(*given, **named), self.data, *given, *named.values()))

        return method

    def __getitem__(self, key: Any) -> Any:
        return StrictArray(_launched("getitem", lambda: _taken(self.data, key), self.data, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        value = value if isinstance(value, np.ndarray) and value.ndim == 0 else _host(value, "setitem")

        def put() -> None:
            self.data[_wrapped(self.data, key)] = value

        _launched("setitem", put, self.data, key, value)

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.data)))

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.get())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.get())

    def __complex__(self) -> complex:
        return complex(self.get())


def _operator(name: str, ufunc: str, swapped: bool) -> Callable[..., Any]:
    def run(a: Any, b: Any) -> Any:
        f = StrictDevice.shared()[ufunc]
        return f(b, a) if swapped else f(a, b)

    def in_place(a: Any, b: Any) -> Any:
        return StrictDevice.shared()[ufunc](a, b, out=a)

    return in_place if name.startswith("__i") else run


for _name, _ufunc in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
}.items():  # fmt: skip
    for _form in (f"__{_name}__", f"__r{_name}__", f"__i{_name}__"):
        setattr(StrictArray, _form, _operator(_form, _ufunc, _form == f"__r{_name}__"))
for _name, _ufunc in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
    setattr(StrictArray, f"__{_name}__", _operator(_name, _ufunc, False))
for _name, _ufunc in {"eq": "equal", "ne": "not_equal"}.items():
    setattr(StrictArray, f"__{_name}__", _operator(_name, _ufunc, False))
for _name, _ufunc in {"neg": "negative", "invert": "invert", "abs": "absolute", "pos": "positive"}.items():
    setattr(StrictArray, f"__{_name}__", lambda a, f=_ufunc: StrictDevice.shared()[f](a))


class _Flags:
    """The flags that CuPy's arrays have."""

    def __init__(self, flags: Any) -> None:
        self.c_contiguous, self.f_contiguous, self.owndata = flags.c_contiguous, flags.f_contiguous, flags.owndata


class _Function:
    """A function of CuPy's."""

    def __init__(self, name: str, f: Callable[..., Any], kind: tuple[str, ...]) -> None:
        self.name, self.f, self.kind = name, f, kind

    def __call__(self, *args: Any, **options: Any) -> Any:
        self._check(args, options)
        if self.name not in MADE_OF_HOST:
            args = tuple(_host(x, self.name) for x in args)
            options = {k: _host(x, self.name) for k, x in options.items()}
        else:
            args = tuple(x.data if isinstance(x, StrictArray) else _host_in_list(x) for x in args)
        out = options.get("out")
        if self.name in HOST:
            return self.f(*args, **options)
        result = _launched(self.name, lambda: self._own(*args, **options), *args, *options.values())
        if out is not None:
            return StrictArray(out[0] if isinstance(out, tuple) else out)
        return _there(result)

    def _check(self, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        if self.kind[0] == "ufunc" and set(options) - {"out", "dtype", "casting"}:
            raise TypeError(f"Wrong arguments {options}")
        known = self.kind[1:]
        if self.kind[0] != "function" or not known or any(x.startswith("*") for x in known):
            return
        if len(args) > len(known) or set(options) - set(known):
            raise TypeError(f"cupy.{self.name}({', '.join(known)}): found {len(args)} arguments and {set(options)}")

    def _own(self, *args: Any, **options: Any) -> Any:
        """As CuPy computes it."""
        floats = any(np.asarray(x).dtype.kind == "f" for x in args[:2]) if self.name in OWN else False
        if not floats:
            return self.f(*args, **options)
        options = {**options, "out": args[2]} if len(args) > 2 else options
        out = options.pop("out", None)
        value = OWN[self.name](np.asarray(args[0]), np.asarray(args[1])).astype(np.result_type(*args[:2]))
        if out is None:
            return value
        out[...] = value
        return out

    def at(self, x: StrictArray, key: Any, value: Any) -> None:
        """Puts values into an array."""
        if "at" not in self.kind:
            raise NotImplementedError(f"`cupy_{self.name}.at` is not supported yet")
        if x.data.dtype.name not in ATOMIC[self.name]:
            raise TypeError(f"cupyx.scatter_{self.name} does not support {x.data.dtype}")
        added = _host(value, self.name)
        put = lambda: self.f.at(x.data, _wrapped(x.data, key), added)  # type: ignore[attr-defined]  # noqa: E731
        _launched(self.name, put, x.data, key, added)

    def reduce(self, x: StrictArray, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Of sums and products alone."""
        if self.name not in ("add", "multiply"):
            raise NotImplementedError(f"`cupy_{self.name}.reduce` is not supported yet")
        run = lambda: self.f.reduce(x.data, axis, dtype, _host(out, self.name), keepdims)  # type: ignore[attr-defined]  # noqa: E731
        return _there(_launched(self.name, run, x.data, _host(out, self.name)))

    def accumulate(self, x: StrictArray, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Of sums and products alone."""
        if self.name not in ("add", "multiply"):
            raise NotImplementedError(f"`cupy_{self.name}.accumulate` is not supported yet")
        run = lambda: self.f.accumulate(x.data, axis, dtype, _host(out, self.name))  # type: ignore[attr-defined]  # noqa: E731
        return _there(_launched(self.name, run, x.data, _host(out, self.name)))


ATOMIC = {
    "add": {"int32", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"},
    "maximum": {"int32", "uint32", "uint64", "float32", "float64"},
}
OWN: dict[str, Callable[..., Any]] = {
    "floor_divide": lambda x, y: np.floor(x / y), "remainder": lambda x, y: x - np.floor(x / y) * y,
}  # fmt: skip


def _host_in_list(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return [_host_in_list(y) for y in x]
    return x.data if isinstance(x, StrictArray) else x


class StrictDevice:
    """The module; what it lacks raises AttributeError."""

    ndarray = StrictArray
    float32, float64, inf, newaxis = np.float32, np.float64, np.inf, None
    _shared: StrictDevice | None = None
    __name__ = "cupy"
    capture: Any = None
    """What records launches, in place of making them (see `capturing_device`)."""
    pool: Any = None
    """Where memory is taken from, if it matters."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self.compiled: set[str] = set()
        self.waited = 0
        if prefix:
            return
        self.linalg, self.fft = StrictDevice("linalg."), StrictDevice("fft.")
        self.lib = SimpleNamespace(stride_tricks=StrictDevice("lib.stride_tricks."))
        stream = SimpleNamespace(synchronize=self._wait, ptr=0)
        runtime = SimpleNamespace(getDevice=lambda: 0)
        self.cuda = SimpleNamespace(
            is_available=lambda: True, get_current_stream=lambda: stream, runtime=runtime, Device=self._on
        )

    def _wait(self) -> None:
        self.waited += 1

    @staticmethod
    @contextmanager
    def _on(number: int) -> Iterator[None]:
        assert number == 0
        yield

    @classmethod
    def shared(cls) -> Any:
        """The one module."""
        if cls._shared is None:
            cls._shared = cls()
        return cls._shared

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    @staticmethod
    def asnumpy(x: Any) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        return x.get() if isinstance(x, StrictArray) else np.asarray(x)

    def __getattr__(self, name: str) -> Any:
        kind = names().get(self._prefix + name)
        if kind is None or name.startswith("_"):
            raise AttributeError(f"module 'cupy' has no attribute {self._prefix + name!r}")
        home: Any = np
        for part in self._prefix.split(".")[:-1]:
            home = getattr(home, part)
        f = getattr(home, name)
        return f if kind[0] in ("type", "value") else _Function(name, f, kind)
