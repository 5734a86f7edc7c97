"""Keeps gradients that are zero but for one row in that form: `(-H)[-1]` passes back what `-H[-1]` does.

If a gradient is zeros to which a row is added, the gradient of the operator before it is taken on that row alone.  So
the gradient of a loop carries a single row also if the trace is negated or transposed before its last row is read.
"""

from __future__ import annotations

from scanopt.array.op import Op
from scanopt.array.operators.indexing import FULL
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Apply, Constant, Variable, apply

__all__ = ["only_row", "row_gradient"]


def only_row(g: Variable) -> tuple[int, Variable] | None:
    """The number and value of the only row of g that is not zero, if g has the form that `x[k]` passes back."""
    node = g.owner
    if not isinstance(node, Apply) or node.op.name != "setitem" or node.op.options["mode"] != "inc":
        return None
    index, (zeros, row) = node.op.options["index"], node.inputs[:2]
    if len(index) != 1 or not isinstance(index[0], int) or row.ndim != zeros.ndim - 1:
        return None
    made = zeros.owner
    if not isinstance(made, Apply) or made.op.name != "full_like":
        return None
    value = made.inputs[1].operand.value
    return (index[0], row) if value is not None and not value.any() else None


def row_gradient(node: Apply, g: Variable) -> list[Variable | None] | None:
    """The gradients with respect to an operator's arguments, for a gradient g that is zero but for one row.

    None if g has another form, or if the operator does not compute row k linearly from rows k alone.
    """
    found = only_row(g)
    op = None if found is None else _of_row(node)
    if found is None or op is None:
        return None
    k, row = found
    args = [FUNCTIONS["getitem"](x, k) if x.ndim else x for x in node.inputs]
    rule = op.spec.gradient
    assert rule is not None
    parts = rule(op, args, apply(op, *args), row)
    return [_spread(x, k, part) if x.ndim else part for x, part in zip(node.inputs, parts, strict=True)]


def _spread(x: Variable, k: int, part: Variable | None) -> Variable | None:
    if part is None:
        return None
    return apply(
        Op.make("setitem", index=(k,), mode="inc"), FUNCTIONS["zeros_like"](x), FUNCTIONS["cast"](part, x.dtype)
    )


def _of_row(node: Apply) -> Op | None:
    """The operator that computes row k of the result from rows k of the arguments, None if there is none."""
    op, args, options = node.op, node.inputs, node.op.options
    if op.name == "negative":
        return op
    if op.name in ("multiply", "divide"):
        numbers = [x.ndim == 0 and isinstance(x, Constant) for x in args]
        return op if sum(numbers) == 1 and (numbers[1] or op.name == "multiply") else None
    if op.name == "getitem":
        rest = options["index"][1:]
        return Op.make("getitem", index=rest) if len(args) == 1 and options["index"][0] == FULL and rest else None
    if op.name in ("expand_dims", "squeeze"):
        return Op.make(op.name, axis=tuple(i - 1 for i in options["axis"])) if 0 not in options["axis"] else None
    if op.name == "transpose":
        axes = options["axes"]
        return Op.make("transpose", axes=tuple(i - 1 for i in axes[1:])) if axes[:1] == (0,) and len(axes) > 2 else None
    return Op.make("concatenate", axis=options["axis"] - 1) if op.name == "concatenate" and options["axis"] else None
