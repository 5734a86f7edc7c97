"""Operators that rearrange one array: reshape, transpose, new axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from scanopt.array import batching
from scanopt.array.batching import dims_of, expand, split_dims, takes_lengths
from scanopt.array.constants import as_variable
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.lengths import times
from scanopt.array.parameters import AXES, LENGTHS, integer, optional
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axes_of, axes_text, axis_of, fill, filled, lengths, product, shape_text
from scanopt.array.types import MOST_AXES, Dim, TensorType
from scanopt.array.variable import Constant, Variable, apply, describe

__all__ = ["as_dims", "reshape", "reshape_to"]

Flags = Sequence[bool]
Args = Sequence[Variable]
Shape = tuple[Dim, ...]


# Dtype and shape rules


def _infer_reshape(x: Operand, *dims: Operand, shape: Shape, lead: int = 0) -> TensorType:
    if None not in shape:
        _refuse_reshape(x, shape=shape, lead=lead)
    new, total = filled(shape, dims), product(x.shape[lead:])
    open_ = [new.index(-1)] if -1 in new else [i for i, n in enumerate(shape) if n is None]
    if len(open_) == 1:  # it follows from the number of elements, whatever was given
        (i,) = open_
        others = product(n for j, n in enumerate(new) if j != i)
        new = (*new[:i], _left(total, others, new[i]), *new[i + 1 :])
    return TensorType(x.dtype, (*x.shape[:lead], *lengths(new)))


def _left(total: Dim, others: Dim, given: Dim) -> Dim:
    """The only open length of a reshape: the number of elements divided by the product of the other lengths.

    `given` if that product is 0, since then any length fits; None if unknown, or if the division leaves a rest (then
    running it raises).
    """
    if others == 0:
        return given
    return None if total is None or others is None or total % others else total // others


def _refuse_reshape(x: Operand, *dims: Operand, shape: Shape, lead: int = 0) -> None:
    new = filled(shape, dims)
    if any(n is not None and n < -1 for n in new) or new.count(-1) > 1:
        raise ValueError(f"reshape to {shape_text(new)}: at most one -1, no other negative length")
    have, rest = product(x.shape[lead:]), product(n for n in new if n != -1)
    if -1 in new and rest == 0:
        raise ValueError(f"reshape to {shape_text(new)}: the length -1 is not determined")
    if have is not None and rest is not None and (have % rest if -1 in new else have != rest):
        raise ValueError(f"cannot reshape {shape_text(x.shape[lead:])} to {shape_text(new)}")


def _infer_transpose(x: Operand, axes: tuple[int, ...]) -> TensorType:
    if sorted(axes) != list(range(x.ndim)):
        raise ValueError(f"transpose {axes} of an array with {axes_text(x.ndim)}")
    return TensorType(x.dtype, tuple(x.shape[i] for i in axes))


def _infer_expand(x: Operand, axis: tuple[int, ...]) -> TensorType:
    ndim = x.ndim + len(axis)
    places = axes_of(axis, ndim)
    rest = iter(x.shape)
    return TensorType(x.dtype, tuple(1 if i in places else next(rest) for i in range(ndim)))


def _infer_squeeze(x: Operand, axis: tuple[int, ...]) -> TensorType:
    for i in axes_of(axis, x):
        if x.shape[i] not in (1, None):
            raise ValueError(f"cannot squeeze axis {i} of {shape_text(x.shape)}: its length is not 1")
    return TensorType(x.dtype, tuple(n for i, n in enumerate(x.shape) if i not in axis))


# Batched forms


def _batch_reshape(op: Op, batched: Flags, args: Args) -> Variable | None:
    """The batched form: one more first axis is left as it is."""
    if any(batched[1:]):
        return None
    return apply(Op.make("reshape", shape=op.options["shape"], lead=op.options.get("lead", 0) + 1), *args)


def _batch_transpose(op: Op, batched: Flags, args: Args) -> Variable:
    return batching.transpose(args[0], (0, *(i + 1 for i in op.options["axes"])))


def _batch_axes(op: Op, batched: Flags, args: Args) -> Variable:
    return apply(Op.make(op.name, axis=tuple(i + 1 for i in op.options["axis"])), args[0])


# Gradients


def _gradient_reshape(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    return [reshape_to(g, dims_of(args[0])), *(None for _ in args[1:])]


def _gradient_transpose(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    axes = op.options["axes"]
    return [batching.transpose(g, [axes.index(i) for i in range(len(axes))])]


def _gradient_expand(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    return [apply(Op.make("squeeze", axis=op.options["axis"]), g)]


def _gradient_squeeze(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    return [expand(g, op.options["axis"])]


# The entries


def _bind_reshape(xp: Any, shape: Shape, lead: int = 0) -> Callable[..., Any]:
    if not lead:
        return lambda x, *dims: xp.reshape(x, fill(shape, dims))

    def reshape(x: Any, *dims: Any) -> Any:
        new = fill(shape, dims)
        if -1 in new:  # without rows np.reshape could not infer it
            new = fill(_infer_reshape(Operand("bool", x.shape[lead:]), shape=new).shape, ())
        return xp.reshape(x, (*x.shape[:lead], *new))

    return reshape


def _bind_expand(xp: Any, axis: tuple[int, ...]) -> Callable[..., Any]:
    """A binder that uses indexing, which is many times faster than np.expand_dims."""
    places: dict[int, tuple[slice | None, ...]] = {}

    def expand(x: Any) -> Any:
        if x.ndim not in places:
            places[x.ndim] = tuple(None if i in axis else slice(None) for i in range(x.ndim + len(axis)))
        return x[places[x.ndim]]

    return expand


def _entry(name: str, numpy: Any, infer: Any, batch: Any, **more: Any) -> None:
    register(OpSpec(name, numpy, infer, batch, batch_exact=True, **more))


_entry(
    "reshape",
    _bind_reshape,
    _infer_reshape,
    _batch_reshape,
    cost="free",
    view=True,
    can_raise=takes_lengths,
    data_shape=takes_lengths,
    gradient=_gradient_reshape,
    refuse=_refuse_reshape,
    doc="the same elements in order in another shape; the first `lead` axes stay as they are",
    params={"shape": LENGTHS, "lead": optional(integer(0, MOST_AXES))},
)
_entry(
    "transpose",
    lambda xp, axes: lambda x: xp.transpose(x, axes),
    _infer_transpose,
    _batch_transpose,
    cost="free",
    view=True,
    gradient=_gradient_transpose,
    doc="the axes in another order",
    params={"axes": AXES},
)
_entry(
    "expand_dims",
    _bind_expand,
    _infer_expand,
    _batch_axes,
    cost="free",
    view=True,
    gradient=_gradient_expand,
    doc="new axes of length 1",
    params={"axis": AXES},
)
_entry(
    "squeeze",
    lambda xp, axis: lambda x: xp.squeeze(x, axis),
    _infer_squeeze,
    _batch_axes,
    cost="free",
    view=True,
    gradient=_gradient_squeeze,
    doc="axes of length 1 removed",
    params={"axis": AXES},
)
# Lengths given by the user


def as_dims(shape: Any, ndim: int | None = None) -> tuple[Any, ...]:
    """A shape argument as ints and integer scalars.

    shape: an int, a scalar, a sequence of them, or a vector (of `ndim` lengths, if unknown).
    Raises TypeError and ValueError.
    """
    if isinstance(shape, Variable) and shape.ndim == 1 and not isinstance(shape, Constant):
        count = shape.type.shape[0] if ndim is None else ndim
        if count is None:
            raise ValueError(f"a shape given as the vector {describe(shape)} needs ndim=")
        return tuple(FUNCTIONS["getitem"](shape, i) for i in range(count))
    if isinstance(shape, Constant | np.ndarray) and shape.ndim == 1:
        shape = [int(n) for n in (shape.data if isinstance(shape, Constant) else shape)]
    many: Iterable[Any] = (shape,) if isinstance(shape, Variable) or not isinstance(shape, Iterable) else shape
    return tuple(_one_dim(n) for n in many)


def _one_dim(n: Any) -> Any:
    if isinstance(n, Variable) and not isinstance(n, Constant):
        if n.ndim or np.dtype(n.dtype).kind not in "iu":
            raise TypeError(f"a length must be an integer scalar, found {describe(n)}")
        return n
    try:
        return n.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"a length must be an integer, found {n!r}") from None


def reshape_to(x: Variable, dims: Sequence[Any]) -> Variable:
    """x in a shape of ints and integer scalars; x itself where these are ints and it has it."""
    shape, inputs = split_dims(dims)
    if shape == x.type.shape and None not in shape:
        return x
    return apply(Op.make("reshape", shape=shape), x, *inputs)


@public("reshape", numpy=("reshape",))
def reshape(
    x: Any, shape: Any = None, *more: Any, ndim: int | None = None, order: str = "C", newshape: Any = None
) -> Variable:
    """x with the same elements in another shape; one length may be -1.

    shape: ints and integer scalars, one after the other or as a sequence; or a vector with ndim.  newshape: the same.
    order: "C" (the last axis varies fastest) or "F" (the first one); after a sequence it may come third, as in NumPy.
    Raises ValueError when the number of elements differs.

    >>> reshape(np.arange(6), (2, -1)).type.shape
    (2, 3)
    """
    if more and isinstance(more[-1], str):
        order, more = more[-1], more[:-1]
    v, dims = as_variable(x), as_dims((shape, *more) if more else newshape if shape is None else shape, ndim)
    if _last_first(order):
        return reshape_to(v, dims)
    return transpose(reshape_to(transpose(v), dims[::-1]))


def _last_first(order: str) -> bool:
    """Whether the last axis varies fastest; "A" and "K", the order in memory, mean that for symbolic arrays."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"the order is 'C' or 'F', found {order!r}")
    return order != "F"


@public("flatten", numpy=())
def flatten(x: Any, ndim: int | str = 1, outdim: int | None = None, *, order: str = "C") -> Variable:
    """x as an array of `ndim` axes: the last ones joined.  outdim: what Theano called ndim.

    order: of a vector, as of `ravel`; NumPy's methods take it as their first argument, where it may stand here, too.

    >>> flatten(np.ones((2, 3, 4)), 2).type.shape
    (2, 12)
    """
    v, ndim = as_variable(x), ndim if outdim is None else outdim
    if isinstance(ndim, str) or order != "C":
        return ravel(v, ndim if isinstance(ndim, str) else order)
    if v.ndim == ndim:
        return v
    if ndim < 1 or ndim > v.ndim + 1:
        raise ValueError(f"flatten of {describe(v)} to {axes_text(ndim)}")
    kept = dims_of(v)[: ndim - 1]
    rest: Any = 1
    for n in dims_of(v)[ndim - 1 :]:
        rest = times(rest, n)
    return reshape_to(v, (*kept, -1) if ndim == 1 else (*kept, rest))


@public("ravel", numpy=("ravel",))
def ravel(x: Any, order: str = "C") -> Variable:
    """x as a vector, in the order "C" (the last axis varies fastest) or "F" (the first one)."""
    return flatten(x if _last_first(order) else transpose(x))


@public("transpose", "permute_dims", numpy=("transpose",))
def transpose(x: Any, *axes: Any) -> Variable:
    """x with its axes reversed, or in the given order (ints, or one sequence of them).

    >>> transpose(np.ones((2, 3, 4)), (1, 0, -1)).type.shape
    (3, 2, 4)
    """
    v = as_variable(x)
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    if given is None:
        return batching.transpose(v, tuple(range(v.ndim))[::-1])
    return batching.transpose(v, tuple(axis_of(i, v) for i in given))


@public("expand_dims", numpy=("expand_dims",))
def expand_dims(x: Any, axis: Any) -> Variable:
    """x with axes of length 1 at these places of the result."""
    v = as_variable(x)
    count = len(tuple(axis)) if isinstance(axis, Iterable) else 1
    return expand(v, axes_of(axis, v.ndim + count))


@public("squeeze", numpy=("squeeze",))
def squeeze(x: Any, axis: Any = None) -> Variable:
    """x without these axes, which must have length 1 (None: all that are known to have it)."""
    v = as_variable(x)
    known = tuple(i for i, n in enumerate(v.type.shape) if n == 1)
    axes = known if axis is None else axes_of(axis, v)
    return apply(Op.make("squeeze", axis=axes), v) if axes else v
