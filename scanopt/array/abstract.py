"""Shapes without values: run the dtype and shape rules of operators on operands that are only partly known.

A loop of zero steps still has outputs of a definite shape.  To find it, the step's operators are
run on operands that have a dtype and a shape, but perhaps no value; small values (lengths, mostly)
are computed on the way, because shapes may depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Op, Operand
from scanopt.array.types import Dim

__all__ = ["abstract_eval", "batched_eval", "cannot_raise", "concrete", "concrete_shape", "executed", "last_row"]

TINY = 64
"""While only shapes are asked for, values of at most this many elements are computed."""


def concrete(value: Any) -> Operand:
    """An array as an operand whose dtype, shape and value are known.

    >>> concrete(np.zeros((2, 3))).shape
    (2, 3)
    """
    data = np.asarray(value.get() if hasattr(value, "get") else value)  # an array of a device is fetched
    return Operand(data.dtype.name, data.shape, data)


def last_row(rows: Operand) -> Operand:
    """What is known of the last entry along the first axis.

    >>> last_row(concrete(np.array([1, 2]))).value
    array(2)
    """
    value = None if rows.value is None or not len(rows.value) else np.asarray(rows.value[-1])
    return Operand(rows.dtype, rows.shape[1:], value)


def concrete_shape(shape: Iterable[Dim]) -> tuple[int, ...]:
    """The shape with 0 in place of every unknown length.

    >>> concrete_shape((3, None))
    (3, 0)
    """
    return tuple(0 if n is None else n for n in shape)


def _tiny(operand: Operand) -> bool:
    return None not in operand.shape and int(np.prod(concrete_shape(operand.shape))) <= TINY


def _fold(op: Op, operands: tuple[Operand, ...], result: Operand) -> Operand:
    if op.name == "shape_i":
        length = operands[0].shape[int(op.options["axis"])]
        return result if length is None else concrete(np.asarray(length, dtype=result.dtype))
    values = [_value(x) for x in operands]
    known = all(v is not None and _tiny(x) for v, x in zip(values, operands, strict=True))
    if not known or not _tiny(result) or (op.can_raise and not _counts(result) and not cannot_raise(op, operands)):
        return result
    try:
        with np.errstate(all="ignore"):
            return concrete(op.bind(np)(*values))
    except (IndexError, ValueError, ZeroDivisionError):  # as it will when it runs, if it does
        return result


def _counts(operand: Operand) -> bool:
    """Whether the operand is an integer scalar, which may be a number of steps."""
    return operand.ndim == 0 and np.dtype(operand.dtype).kind in "iu"


def _value(operand: Operand) -> Any:
    """The value of the operand, or None; an operand without elements has a known value: the empty array."""
    if operand.value is None and 0 in operand.shape and None not in operand.shape:
        return np.empty(concrete_shape(operand.shape), operand.dtype)
    return operand.value


def abstract_eval(op: Op, operands: Iterable[Operand]) -> Operand:
    """Evaluate op(operands) as far as it is known: dtype, shape, and the value where it is small and known.

    Raises the error of the op's shape rule (TypeError, ValueError) when shapes do not fit.  Errors that depend on
    values are not raised, as the op is not really run.

    >>> from scanopt import tensor
    >>> x = Operand("float64", (3, None))
    >>> abstract_eval(Op.make("shape_i", axis=0), [x]).value
    array(3)
    """
    given = tuple(operands)
    if op.spec.known is not None:
        return op.spec.known(*given, **op.options)
    type = op.idle(*given)
    return _fold(op, given, Operand(type.dtype, type.shape))


def executed(steps: int | None, until: Operand | None) -> int | None:
    """How many of at most `steps` steps a loop runs, None if unknown.  until: the condition that ends it early.

    >>> executed(5, None), executed(5, Operand("bool", ())), executed(1, Operand("bool", ()))
    (5, None, 1)
    """
    if steps is None or until is None or steps <= 1:  # the condition is tested after the step
        return steps
    return None if until.value is None else 1 if until.value else steps


def trace(row: Operand, steps: int | None) -> Operand:
    """The trace of a row over `steps` steps: its shape, and its value if the row has the same known value at all steps.

    >>> trace(Operand("int64", (), np.array(3)), 2).value
    array([3, 3])
    """
    shape = (steps, *row.shape)
    if row.value is None or steps is None or steps * row.value.size > TINY:
        return Operand(row.dtype, shape)
    return Operand(row.dtype, shape, np.broadcast_to(row.value, (steps, *row.value.shape)).copy())


def cannot_raise(op: Op, operands: Sequence[Operand]) -> bool:
    """Whether it is certain that the op does not raise: all shapes and values it checks are known, and it accepts them.

    >>> row = Op.make("getitem", index=(2,))
    >>> cannot_raise(row, [Operand("float64", (3,))]), cannot_raise(row, [Operand("float64", (None,))])
    (True, False)
    >>> cannot_raise(row, [Operand("float64", (3, None))])  # whatever the other length is
    True
    """
    if op.accepts_longer:
        first, *rest = operands
        operands = [Operand(first.dtype, tuple(n or 0 for n in first.shape), first.value), *rest]
    if op.spec.refuse is None or any(None in x.shape for x in operands) or any(x.value is None for x in operands[1:]):
        return not op.can_raise
    try:
        op.spec.refuse(*operands, **op.options)
    except (IndexError, TypeError, ValueError, ZeroDivisionError):
        return False
    return True


def batched_eval(
    evaluate: Callable[[list[Operand]], Operand], flags: Sequence[str], operands: Sequence[Operand]
) -> Operand:
    """Evaluate an operator batched over new first axes, as far as known.  evaluate: does so for one row's operands.

    flags: per batching, innermost first, a "1" for each argument with a new first axis, else a "0".
    """
    if not flags:
        return evaluate([*operands])
    *inner, outer = flags
    if any(f == "1" and not x.shape for x, f in zip(operands, outer, strict=True)):
        raise ValueError("an operator is batched over an argument that has no axes: a law made it so")
    rows = [Operand(x.dtype, x.shape[1:]) if f == "1" else x for x, f in zip(operands, outer, strict=True)]
    found = batched_eval(evaluate, inner, rows)
    n = next(x.shape[0] for x, f in zip(operands, outer, strict=True) if f == "1")
    return Operand(found.dtype, (n, *found.shape))
