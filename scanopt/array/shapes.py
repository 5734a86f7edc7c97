"""Rules of shape and dtype that entries of the operator table share.

A length is an int, or None where it is not known before the run.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

from scanopt.array.op import Operand
from scanopt.array.types import Dim, TensorType

__all__ = [
    "axes_of", "axes_text", "axis_of", "broadcast", "changed_state", "common_dtype", "fill", "filled", "lengths",
    "not_negative", "probe_dtype", "product", "reduced_axes", "same", "shape_text", "ufunc_dtypes", "widened",
]  # fmt: skip

Shape = tuple[Dim, ...]


def shape_text(shape: Sequence[Dim]) -> str:
    """A shape as text, unknown lengths as question marks.

    >>> shape_text((3, None)), shape_text((3,))
    ('(3, ?)', '(3,)')
    """
    inner = ", ".join("?" if n is None else str(n) for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def broadcast(*shapes: Shape) -> Shape:
    """The shape of arrays of these shapes after broadcasting.  Raises ValueError.

    >>> broadcast((3, None), (1,)), broadcast((None,), (5,))
    ((3, None), (5,))
    """
    ndim = max((len(s) for s in shapes), default=0)
    padded = [(1,) * (ndim - len(s)) + s for s in shapes]
    result: list[Dim] = []
    for lengths in zip(*padded, strict=True):
        known = {n for n in lengths if n is not None and n != 1}
        if len(known) > 1:
            raise ValueError(f"shapes do not broadcast: {' and '.join(map(shape_text, shapes))}")
        result.append(known.pop() if known else None if None in lengths else 1)
    return tuple(result)


def widened(before: Sequence[Dim], after: Sequence[Dim]) -> str:
    """What to do about a state that a step broadcasts from one shape to another, as the end of a message, or "".

    >>> widened((1,), (3,))
    ': start from an array that is broadcast to (3,) already'
    """
    try:
        wider = broadcast(tuple(before), tuple(after)) == tuple(after)
    except ValueError:
        return ""
    return f": start from an array that is broadcast to {shape_text(after)} already" if wider else ""


def changed_state(before: Sequence[Dim], after: Sequence[Dim]) -> ValueError:
    """The error for a state of a loop that starts with one shape and has another one after a step."""
    return ValueError(
        f"a state of a loop must keep the shape that it starts with: expected shape {shape_text(before)}, "
        f"found {shape_text(after)}{widened(before, after)}"
    )


def same(a: Dim, b: Dim, what: str) -> Dim:
    """The length that two axes must share.  Raises ValueError saying that `what` differs."""
    if a is not None and b is not None and a != b:
        raise ValueError(f"{what}: {a} and {b}")
    return b if a is None else a


def product(shape: Iterable[Dim]) -> Dim:
    """The number of elements, None where it is not known (0 where any length is 0)."""
    total: Dim = 1
    for n in shape:
        if n == 0:
            return 0
        total = None if n is None or total is None else total * n
    return total


class HasAxes(Protocol):
    """Anything with axes: a variable, or an operand of a shape rule."""

    @property
    def ndim(self) -> int: ...

    @property
    def type(self) -> TensorType: ...


def axis_of(axis: Any, of: HasAxes | int) -> int:
    """An axis of `of` (an array or a number of axes), counted from the front.

    Raises ValueError when there is no such axis, TypeError for anything but an int.

    >>> axis_of(-1, 3)
    2
    """
    ndim = of if isinstance(of, int) else of.ndim
    try:
        i = operator.index(axis)
    except TypeError:
        late = ", which has no value before the run" if hasattr(axis, "owner") else ""
        raise TypeError(f"an axis must be an integer, found {axis!r}{late}") from None
    if not -ndim <= i < ndim:
        raise ValueError(f"axis {i} of {_with_axes(of)}")
    return i % ndim


def _with_axes(of: HasAxes | int) -> str:
    if isinstance(of, int):
        return f"an array with {axes_text(of)}"
    return f"{of.type if isinstance(of, Operand) else of}, which has {axes_text(of.ndim)}"


def axes_text(n: int) -> str:
    """A number of axes, for messages.

    >>> axes_text(1), axes_text(2)
    ('1 axis', '2 axes')
    """
    return "1 axis" if n == 1 else f"{n} axes"


def axes_of(axis: Any, of: HasAxes | int) -> tuple[int, ...]:
    """The axes meant by an int, a sequence of ints or None (all), sorted, from the front.

    >>> axes_of(-1, 3), axes_of(None, 2), axes_of((2, 0), 3)
    ((2,), (0, 1), (0, 2))
    """
    if axis is None:
        return tuple(range(of if isinstance(of, int) else of.ndim))
    several = isinstance(axis, Iterable) and not isinstance(axis, str) and getattr(axis, "ndim", 1) != 0
    many: Iterable[Any] = axis if several else (axis,)
    axes = sorted(axis_of(a, of) for a in many)
    if len(set(axes)) < len(axes):
        raise ValueError(f"axis {axis} repeats an axis")
    return tuple(axes)


def reduced_axes(axis: Any, of: HasAxes | int) -> tuple[int, ...]:
    """The axes that a reduction goes over; as for NumPy's ufuncs, axis 0 or -1 of a scalar means no axis.

    >>> reduced_axes(-1, 0), reduced_axes(-1, 2)
    ((), (1,))
    """
    scalar = (of if isinstance(of, int) else of.ndim) == 0
    return () if scalar and isinstance(axis, int) and axis in (0, -1) else axes_of(axis, of)


def fill(shape: Sequence[Dim], dims: Sequence[Any]) -> tuple[int, ...]:
    """At run time: `shape` with its None entries replaced by `dims` in order."""
    rest = iter(dims)
    return tuple(int(next(rest)) if n is None else n for n in shape)


def filled(shape: Sequence[Dim], dims: Sequence[Operand]) -> Shape:
    """In a shape rule: `shape` with its None entries replaced by the values of `dims`, if known.

    Raises ValueError or TypeError unless the operands are integer scalars, one for each None.

    >>> filled((2, None), [Operand("int64", (), np.array(3))])
    (2, 3)
    """
    if sum(n is None for n in shape) != len(dims):
        raise ValueError(f"{shape_text(shape)} does not have {len(dims)} unknown lengths, as many as were given")
    for d in dims:
        if d.ndim or np.dtype(d.dtype).kind not in "iu":
            raise TypeError(f"a length must be an integer scalar, found {d.type}")
    rest = iter(dims)
    values = [next(rest).value if n is None else n for n in shape]
    return tuple(None if v is None else int(v) for v in values)


def lengths(shape: Sequence[Dim]) -> Shape:
    """The shape with 0 in place of negative numbers, which are no lengths.

    >>> lengths((3, None, -2))
    (3, None, 0)
    """
    return tuple(None if n is None else max(n, 0) for n in shape)


def not_negative(shape: Sequence[Dim]) -> None:
    """Raise ValueError for a shape with a negative length."""
    if any(n is not None and n < 0 for n in shape):
        raise ValueError(f"negative length in {shape_text(shape)}")


@cache
def ufunc_dtypes(name: str, dtypes: tuple[Any, ...]) -> tuple[str, ...]:
    """NumPy's dtypes of the operands and the result of a ufunc.

    dtypes: per operand a dtype's name, or int, float, complex for a bare Python number.
    Raises TypeError when the ufunc does not take them.

    >>> ufunc_dtypes("add", ("float32", int)), ufunc_dtypes("divide", ("int8", "int8"))
    (('float32', 'float32', 'float32'), ('float64', 'float64', 'float64'))
    """
    ufunc: np.ufunc = getattr(np, name)
    alone = not any(isinstance(d, str) for d in dtypes)  # NumPy compares such numbers as Python objects
    given = tuple(np.dtype(d) if alone or isinstance(d, str) else d for d in dtypes)
    try:
        return tuple(d.name for d in ufunc.resolve_dtypes((*given, None)))
    except TypeError:
        text = ", ".join(d if isinstance(d, str) else f"a Python {d.__name__}" for d in dtypes)
        raise TypeError(f"np.{name} is not defined for {text}") from None


@cache
def common_dtype(dtypes: tuple[str, ...]) -> str:
    """The dtype that arrays of these dtypes are promoted to."""
    return np.result_type(*(np.dtype(d) for d in dtypes)).name


@cache
def probe_dtype(f: Callable[..., Any], *dtypes: str) -> str:
    """The dtype of f's result for arguments of these dtypes, found by calling NumPy on arrays of a single 1."""
    with np.errstate(all="ignore"):
        return str(f(*(np.ones(1, d) for d in dtypes)).dtype.name)
