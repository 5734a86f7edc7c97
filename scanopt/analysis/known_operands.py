"""Which operators, by what is known of their arguments, cannot raise whatever the inputs of a program are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scanopt.array.abstract import cannot_raise
from scanopt.array.op import Op, Operand
from scanopt.calculus.encoded import Encoded

__all__ = ["fits_in_any_case"]


def fits_in_any_case(g: Encoded, op: Op, args: Sequence[int]) -> bool:
    """Whether an operator of these terms cannot raise.

    In one row joined with others, the last entry exists however many others there are.
    """
    known = [_operand(g, a) for a in args]
    if op.accepts_longer:
        known[0] = replace(known[0], shape=_least_shape(g, args[0]))
    return cannot_raise(op, known)


def _operand(g: Encoded, i: int) -> Operand:
    """The dtype and shape of a term, and its value if that is a constant."""
    form, type = g.unheld(i), g.types[i]
    return Operand(type.dtype, type.shape, g.consts[form.key] if form.kind == "const" else None)


def _least_shape(g: Encoded, i: int) -> tuple[int | None, ...]:
    """The least lengths of a term; along an axis on which it joins arrays, the sum of their known lengths."""
    form, shape = g.unheld(i), g.types[i].shape
    if not isinstance(form.operator, Op) or form.operator.name != "concatenate" or None not in shape:
        return shape
    axis = form.operator.options["axis"] % len(shape)
    rows = sum(_least_shape(g, a)[axis] or 0 for a in form.args)
    return tuple(rows if n is None and k == axis else n for k, n in enumerate(shape))
