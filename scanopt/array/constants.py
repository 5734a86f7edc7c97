"""How values become symbolic arrays: constants, shared variables, and new inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from scanopt.array.no_arrays import refused
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axes_text
from scanopt.array.types import Dim, TensorType, array_of, dtype_name, lengths
from scanopt.array.variable import Constant, SharedVariable, Variable, describe
from scanopt.array.weak import Weak
from scanopt.config import config

__all__ = ["as_arrays", "as_tensor_variable", "as_variable", "assigned", "constant", "is_weak", "promoted", "shared",
           "tensor", "weak_constant", "with_dtypes"]  # fmt: skip


def is_weak(x: Any) -> bool:
    """Whether x is a bare Python number, which takes the dtype of the other operand.

    >>> is_weak(2), is_weak(True), is_weak(np.float64(2))
    (True, False, False)
    """
    return isinstance(x, int | float | complex) and not isinstance(x, bool | np.generic)


def _smallest(x: Any) -> str:
    """The dtype of a bare Python number without another operand: the smallest that holds it."""
    if isinstance(x, bool):
        return "bool"
    if isinstance(x, int):
        for dtype in ("int8", "int16", "int32", "int64", "uint64"):
            if np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
                return dtype
        raise OverflowError(f"the integer {x} fits no integer dtype")
    if isinstance(x, float):
        with np.errstate(over="ignore"):
            if config.floatX != "float64" and bool(np.isinf(np.dtype(config.floatX).type(x))) == np.isinf(x):
                return str(config.floatX)
            return "float32" if x != x or float(np.float32(x)) == x else "float64"
    return "complex128"


def _holds_variable(x: Any) -> bool:
    return isinstance(x, Variable) or (isinstance(x, list | tuple) and any(_holds_variable(y) for y in x))


@public("as_tensor_variable", "as_tensor")
def as_tensor_variable(x: Any, name: str | None = None, ndim: int | None = None, dtype: str | None = None) -> Variable:
    """x as a symbolic array; a variable stays as it is.

    A bare Python int gets the smallest of int8, int16, int32, int64; a float gets float32 when
    that is exact, else float64, and `config.floatX` where that is less precise; arrays keep their
    dtype; lists that hold variables are stacked.
    Raises ValueError when `ndim` is given and differs, TypeError when x is not an array of numbers.

    >>> as_tensor_variable(0).dtype, as_tensor_variable(0.1).dtype, as_tensor_variable([1.0]).dtype
    ('int8', 'float64', 'float64')
    """
    dtype = None if dtype is None else dtype_name(dtype)
    if isinstance(x, Variable):
        v = x
    elif isinstance(x, list | tuple) and _holds_variable(x):
        v = FUNCTIONS["stack"](x)
    else:
        scalar = is_weak(x) or isinstance(x, bool)
        data = array_of(x, _smallest(x) if scalar and dtype is None else dtype)
        if data.dtype.kind not in "biufc":
            raise refused(x)
        v = Constant(data, name)
    if dtype is not None and v.dtype != dtype:
        v = FUNCTIONS["cast"](v, dtype)
    if ndim is not None and v.ndim != ndim:
        raise ValueError(f"expected {axes_text(ndim)}, found {describe(v)}")
    return v


@public()
def constant(x: Any, name: str | None = None, ndim: int | None = None, dtype: str | None = None) -> Constant:
    """A constant with the value x (dtype as in `as_tensor_variable`).  Raises TypeError.

    >>> constant([1, 2]).data
    array([1, 2])
    """
    v = as_tensor_variable(x, name, ndim, dtype)
    if not isinstance(v, Constant):
        raise TypeError(f"a constant needs a value, found {describe(v)}")
    return v


def as_variable(x: Any) -> Variable:
    """x as an operand: as `as_tensor_variable`, but bare Python numbers as NumPy reads them."""
    return Constant(np.asarray(x)) if is_weak(x) else as_tensor_variable(x)


def weak_constant(x: complex, dtype: str, beside: Sequence[Any] = ()) -> Constant:
    """A bare Python number as a constant of `dtype`.  Raises OverflowError naming `beside`."""
    try:
        with np.errstate(over="ignore"):
            return Constant(np.asarray(x, dtype=dtype))
    except OverflowError:
        others = ", ".join(describe(v) for v in beside if isinstance(v, Variable))
        advice = "write the number as a NumPy scalar of the dtype you mean"
        if others:
            dtype, advice = f"{dtype}, the dtype it takes beside {others}", f"cast the variable, or {advice}"
        raise OverflowError(f"the Python integer {x} does not fit {dtype}; {advice}") from None


def assigned(x: Any, like: Variable) -> Variable:
    """x in the dtype of `like`, as NumPy assigns it to entries: Python integers, alone or in lists, must fit.

    >>> assigned([3, 4.5], as_tensor_variable(np.uint8(1))).data
    array([3, 4], dtype=uint8)
    """
    if isinstance(x, int) and is_weak(x):
        return weak_constant(x, like.dtype, (like,))
    if isinstance(x, list | tuple) and not _holds_variable(x) and array_of(x).dtype.kind in "biufc":
        return Constant(np.asarray(x, like.dtype))
    cast: Variable = FUNCTIONS["cast"](as_variable(x), like.dtype)
    return cast


def promoted(*xs: Any) -> tuple[Variable, ...]:
    """Operands of a function that promotes as `np.result_type`; Python numbers are weak.

    >>> [v.dtype for v in promoted(as_tensor_variable(np.float32(1)), 2.5)]
    ['float32', 'float32']
    """
    mixed = [x if is_weak(x) else as_tensor_variable(x) for x in xs]
    kinds = (x.kind() if isinstance(x, Weak) else x.dtype if isinstance(x, Variable) else x for x in mixed)
    return with_dtypes(mixed, [np.result_type(*kinds).name] * len(mixed))


def as_arrays(*xs: Any) -> tuple[Variable, ...]:
    """Operands of a function that converts them to arrays before it promotes, as np.dot: Python numbers are not weak.

    >>> [v.dtype for v in as_arrays(as_tensor_variable(np.uint8(1)), 300)]
    ['uint8', 'int64']
    """
    return promoted(*(np.asarray(x) if is_weak(x) else x for x in xs))


def with_dtypes(xs: Sequence[Any], dtypes: Iterable[str]) -> tuple[Variable, ...]:
    """The operands, with bare Python numbers as constants of the dtypes given for them.  Raises OverflowError."""
    pairs = zip(xs, dtypes, strict=False)
    return tuple(
        x.as_dtype(dtype) if isinstance(x, Weak) else x if isinstance(x, Variable) else weak_constant(x, dtype, xs)
        for x, dtype in pairs
    )


@public()
def shared(
    value: Any,
    name: str | None = None,
    borrow: bool = False,
    shape: Sequence[Dim] | None = None,
    broadcastable: Sequence[bool] | None = None,
    axes: Sequence[str] | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
) -> SharedVariable:
    """A shared variable: an array that compiled functions keep between calls.

    value: array, or a Python number (int64, float64).  name: for messages, and to find it by.
    borrow: keep the array itself, not a copy.
    shape: the lengths of its axes that never change, None for others; programs may rely on them, and values of other
        lengths are refused.  broadcastable: the same, as Theano writes it: True for axes of length 1.
    axes: names of its axes, for messages.  strict, allow_downcast: accepted and without effect, since later values may
        not lose precision.
    Raises TypeError for anything but an array of numbers, ValueError for one of another shape.

    >>> shared(np.zeros(3), "b").get_value()
    array([0., 0., 0.])
    >>> shared(np.zeros((2, 3)), "W", shape=(None, 3))
    'W' float64[?, 3]
    """
    if isinstance(value, Variable):
        raise TypeError(f"a shared variable needs a value, found {describe(value)}")
    data = array_of(value)
    if data.dtype.kind not in "biufc":
        hint = "; random numbers come from T.random.RandomStream(seed)" if "random" in type(value).__module__ else ""
        raise TypeError(f"cannot make a shared variable of {value!r} ({type(value).__name__}){hint}")
    if broadcastable is not None:
        shape = [1 if one else None for one in broadcastable] if shape is None else shape
    known = None if shape is None else lengths(shape)
    if known is not None and len(known) != data.ndim:
        raise ValueError(f"shared was given the shape {known} for a value with {axes_text(data.ndim)}")
    v = SharedVariable(data, name, known)
    if borrow:
        v.set_value(data, borrow=True)
    return with_axes(v, axes)


@public()
def tensor(*given: Any, **named: Any) -> Variable:
    """A new input; dtype (default `config.floatX`), shape (an int or None per axis) and name in this order, or by name.

    axes: names of its axes, used in messages about shapes; with them the shape may be left out.

    As in PyTensor the name may come first, where it is no dtype or the dtype is named, and as in Theano
    `broadcastable` may stand for the shape: True for an axis of length 1.
    Raises TypeError for other arguments.

    >>> tensor("float32", (3, None), "x"), tensor("x", shape=(3,), dtype="int8")
    ('x' float32[3, ?], 'x' int8[3])
    >>> tensor("float64", name="X", axes=("time", "unit"))
    'X' float64[time: ?, unit: ?]
    """
    first = ["dtype", "shape", "name"]
    shape_next = len(given) > 1 and isinstance(given[1], list | tuple)  # then a dtype stands first, known or not
    if given and ("dtype" in named or (isinstance(given[0], str) and not shape_next and not _is_dtype(given[0]))):
        first = ["name", "dtype", "shape"] if "dtype" not in named else ["name", "shape"]
    if len(given) > len(first):
        raise TypeError(f"T.tensor takes a dtype, a shape and a name, found {len(given)} arguments")
    asked = dict(zip(first, given, strict=False))
    if twice := asked.keys() & named.keys():
        raise TypeError(f"T.tensor got two values for {', '.join(sorted(twice))}")
    return _input(**asked, **named)


def _is_dtype(text: str) -> bool:
    try:
        return np.dtype(dtype_name(text)).kind in "biufc"
    except TypeError:
        return False


def _input(
    dtype: str | None = None,
    shape: Sequence[Dim] | None = None,
    name: str | None = None,
    broadcastable: Sequence[bool] | None = None,
    axes: Sequence[str] | None = None,
) -> Variable:
    known = shape if broadcastable is None else [1 if one else None for one in broadcastable]
    known = [None] * len(axes or ()) if known is None else known
    return with_axes(_variable(dtype, known, name), axes)


V = TypeVar("V", bound=Variable)


def with_axes(x: V, axes: Sequence[str] | None) -> V:
    """The new variable x with one name for each of its axes.  Raises TypeError, ValueError for other names."""
    if axes is None:
        return x
    if isinstance(axes, str) or not all(isinstance(name, str) and name for name in axes):
        raise TypeError(f"axes of {describe(x)} must be a name for each axis, as in ('time', 'unit'), found {axes!r}")
    if len(axes) != x.ndim or len(set(axes)) != x.ndim:
        raise ValueError(f"axes of {describe(x)} must be {x.ndim} different names, found {tuple(axes)}")
    x.axes = tuple(axes)
    return x


def _variable(dtype: str | None, shape: Sequence[Dim], name: str | None) -> Variable:
    return Variable(TensorType(dtype or config.floatX, lengths(shape)), name)


_PREFIXES = {
    "": None, "b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32",
    "d": "float64", "c": "complex64", "z": "complex128",
}  # fmt: skip
_SHAPES: dict[str, tuple[Dim, ...]] = {
    "scalar": (), "vector": (None,), "row": (1, None), "col": (None, 1), "matrix": (None,) * 2,
    "tensor3": (None,) * 3, "tensor4": (None,) * 4, "tensor5": (None,) * 5,
}  # fmt: skip


def _constructor(title: str, fixed: str | None, default: tuple[Dim, ...]) -> Callable[..., Any]:
    def make(
        name: str | None = None,
        dtype: str | None = None,
        shape: Sequence[Dim] | None = None,
        axes: Sequence[str] | None = None,
    ) -> Variable:
        if fixed and dtype and dtype_name(dtype) != fixed:
            raise TypeError(f"T.{title} makes {fixed}, not {dtype}")
        known = default if shape is None else lengths(shape)
        if len(known) != len(default):
            raise ValueError(f"T.{title} has {axes_text(len(default))}, found shape {known}")
        return with_axes(_variable(fixed or dtype, known, name), axes)

    make.__name__ = make.__qualname__ = title
    make.__doc__ = (
        f"A new input with {axes_text(len(default))}, dtype {fixed or '`config.floatX`'}.\n\n"
        "    shape: an int or None per axis.  axes: a name per axis, for messages.\n"
        "    Raises ValueError, TypeError when they do not fit."
    )
    return make


def _plural(one: Callable[..., Variable], title: str) -> Callable[..., Any]:
    def make(*names: str | int | Iterable[str], dtype: str | None = None) -> list[Variable]:
        if len(names) == 1 and isinstance(names[0], int):
            return [one(dtype=dtype) for _ in range(names[0])]
        given: Iterable[Any] = names[0] if len(names) == 1 and not isinstance(names[0], str | int) else names
        words = [word for name in given for word in str(name).split()]
        return [one(word, dtype=dtype) for word in words]

    make.__name__ = make.__qualname__ = title
    make.__doc__ = f"Several of `{one.__name__}`, by names, or a list of them (or a number)."
    return make


for _prefix, _dtype in _PREFIXES.items():
    for _word, _shape in _SHAPES.items():
        _one = _constructor(_prefix + _word, _dtype, _shape)
        _many = _prefix + {"matrix": "matrices"}.get(_word, _word + "s")
        public(_prefix + _word)(_one)
        public(_many)(_plural(_one, _many))
