"""An array library in the sense of the array API standard whose every call is a symbolic program, run at once.

Arrays hold values; a function of the standard, a method or an operator makes symbols of their types, calls what
`x.__array_namespace__()` gives, and has the result interpreted.  So tests that are written for libraries of arrays run
on symbolic ones: those of this project, and the public suite of the standard (with this folder on PYTHONPATH):

    ARRAY_API_TESTS_MODULE=array_api_module pytest array-api-tests/array_api_tests

With OPTIMIZE_EVERY=400 in the environment every 400th result is computed by an optimized function, too, which must
give the same.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

import scanopt
from scanopt.array.standard import namespace
from scanopt.array.standard_names import CONSTANTS, DTYPES
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable

__all__ = ["Array", "lengths"]

_KNOWN = [True]
_OPTIMIZE_EVERY = int(os.environ.get("OPTIMIZE_EVERY", "0"))
_RESULTS = itertools.count(1)


@contextmanager
def lengths(known: bool) -> Iterator[None]:
    """Whether symbols are made with the lengths of the arrays; if not, only lengths of 1 are known."""
    _KNOWN.append(known)
    try:
        yield
    finally:
        _KNOWN.pop()


def _symbol(x: Array, inputs: dict[Any, Any]) -> Variable:
    shape = tuple(n if _KNOWN[-1] or n == 1 else None for n in x.shape)
    made = Variable(TensorType(x.dtype, shape), f"x{len(inputs)}")
    inputs[made] = x.value
    return made


def _symbolic(x: Any, inputs: dict[Any, Any]) -> Any:
    """The same with symbols for arrays."""
    if isinstance(x, Array):
        return _symbol(x, inputs)
    if isinstance(x, tuple | list):
        return type(x)(_symbolic(y, inputs) for y in x)
    if isinstance(x, slice):
        return slice(*(operator.index(y) if isinstance(y, Array) else y for y in (x.start, x.stop, x.step)))
    return x


def _valued(x: Any, inputs: dict[Any, Any]) -> Any:
    """The same with arrays for symbols."""
    if isinstance(x, Variable):
        (value,) = scanopt.interpret([x], {v: inputs[v] for v in inputs})
        if _OPTIMIZE_EVERY and next(_RESULTS) % _OPTIMIZE_EVERY == 0:
            found = scanopt.function([*inputs], x, on_unused_input="ignore")(*inputs.values())
            np.testing.assert_array_equal(found, value, strict=True)
        assert x.type.accepts(TensorType(value.dtype.name, value.shape)), (x, value)
        return Array(value)
    if isinstance(x, tuple | list):
        parts = [_valued(y, inputs) for y in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return x


def call(f: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """A function of symbols, of arrays."""
    inputs: dict[Any, Any] = {}
    symbols = _symbolic(args, inputs)
    named = {key: _symbolic(x, inputs) for key, x in more.items()}
    with np.errstate(all="ignore"):
        return _valued(f(*symbols, **named), inputs)


def _eager(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of symbols as one of arrays, with its signature."""

    @functools.wraps(f)
    def eager(*args: Any, **more: Any) -> Any:
        return call(f, *args, **more)

    return eager


class Array:
    """Values, and what the standard asks of an array."""

    __array_priority__ = 1000

    def __init__(self, value: Any) -> None:
        self.value = np.asarray(value)

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    dtype = property(lambda self: self.value.dtype.name)
    device = property(lambda self: call(lambda x: x.device, self))
    T = property(lambda self: call(lambda x: x.T, self))
    mT = property(lambda self: call(lambda x: x.mT, self))  # noqa: N815

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        return Array(call(lambda x: x.to_device(device, stream=stream), self).value)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        namespace(api_version)
        return sys.modules[__name__]

    def __getitem__(self, key: Any) -> Array:
        return Array(call(operator.getitem, self, key).value)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value = call(lambda x, key, value: x[key].set(value), self, key, value).value

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        return self.value.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> Any:
        return self.value.__dlpack_device__()

    def __repr__(self) -> str:
        return f"Array({self.value!r})"

    __hash__ = None  # type: ignore[assignment]


def _method(name: str) -> Callable[..., Any]:
    def method(self: Array, *args: Any) -> Any:
        if builtins.all(isinstance(x, Array | int | float | complex) for x in args):
            return call(lambda x, *rest: getattr(x, name)(*rest), self, *args)
        return NotImplemented

    method.__name__ = name
    return method


def _number(name: str) -> Callable[[Array], Any]:
    return lambda self: getattr(self.value, name)()


_OPERATORS = "abs add and eq floordiv ge gt invert le lshift lt matmul mod mul ne neg or pos pow rshift sub truediv xor"
_REFLECTED = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"
for _name in (*_OPERATORS.split(), *("r" + x for x in _REFLECTED.split())):
    setattr(Array, f"__{_name}__", _method(f"__{_name}__"))
for _name in ["bool", "complex", "float", "index", "int"]:
    setattr(Array, f"__{_name}__", _number(f"__{_name}__"))

_ALL = {name: x for name, x in vars(namespace()).items() if callable(x) and name != "__array_namespace_info__"}
globals().update({name: _eager(f) for name, f in _ALL.items()})
globals().update(CONSTANTS, **{name: name for names in DTYPES.values() for name in names})
linalg, fft = (
    SimpleNamespace(**{name: _eager(f) for name, f in vars(part).items()})
    for part in (namespace().linalg, namespace().fft)
)
__array_api_version__ = namespace().__array_api_version__
__array_namespace_info__ = namespace().__array_namespace_info__
