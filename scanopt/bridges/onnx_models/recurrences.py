"""Writes recurrences, which laws have turned into operators, as the Scan that they replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.bridges.onnx_models.operators import written
from scanopt.bridges.peers import Refused
from scanopt.program.ir import CarriedState, Compute, Keep, Loop, Read

if TYPE_CHECKING:
    from scanopt.bridges.onnx_models.writing import ModelWriter

_PARAMETERS = {
    "lfilter": (2,), "lfilter2": (2, 3), "regrouped_filter": (2,), "regrouped_smoothing": (2,), "polynomial": (1,),
}  # fmt: skip
"""The numbers of the arguments that are parameters, neither the state before nor sequences."""

_LAST = ("fold", "fold_in_order", "polynomial")


def _next(op: Op, s: list[str], x: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The operators of one step with the names of their arguments; "#" is the result of the operator before."""
    if op.name in ("accumulate", "fold", "fold_in_order"):
        return [(op.options["ufunc"], (s[0], x[0]))]
    known: dict[str, list[tuple[str, tuple[str, ...]]]] = {
        "regrouped_sum": [("add", (s[0], x[0]))],
        "lfilter": [("multiply", (s[0], *x[1:2])), ("add", ("#", x[0]))],
        "lfilter2": [],
        "linear_recurrence": [("multiply", (s[0], x[0])), ("add", ("#", *x[1:2]))],
        "smoothing": [("subtract", (*x[1:2], s[0])), ("multiply", ("#", x[0])), ("add", (s[0], "#"))],
        "regrouped_smoothing": [("subtract", (x[0], s[0])), ("multiply", ("#", *x[1:2])), ("add", (s[0], "#"))],
        "raised_sum": [("add", (s[0], x[0])), ("maximum", ("#", *x[1:2]))],
        "capped_sum": [("add", (s[0], x[0])), ("minimum", ("#", *x[1:2]))],
        "clamped_sum": [("add", (s[0], x[0])), ("maximum", ("#", *x[1:2])), ("minimum", ("#", *x[2:3]))],
        "polynomial": [("multiply", (s[0], x[0])), ("add", ("#", *x[1:2]))],
        "forward_fill": [("where", (x[0], *x[1:2], s[0]))],
    }
    return known["lfilter" if op.name == "regrouped_filter" else op.name]


@written(
    "accumulate", "fold", "fold_in_order", "lfilter", "linear_recurrence", "smoothing", "raised_sum", "capped_sum",
    "clamped_sum", "polynomial", "forward_fill", "regrouped_sum", "regrouped_filter",
    "regrouped_smoothing",
)  # fmt: skip
def _recurrence(w: ModelWriter, step: Compute) -> None:
    """Write a recurrence as a loop program with one loop."""
    init, *rest = step.args
    held = {i - 1 for i in _PARAMETERS.get(step.op.name, ())}
    row = TensorType(w.dtype(init), w.types[init].shape[1:])
    reads, given = [], []
    for i, x in enumerate(rest):
        name = x if i in held else w.fresh("row")
        given.append(name)
        if i not in held:
            reads.append(Read(name, x, TensorType(w.dtype(x), w.types[x].shape[1:])))
    state = w.fresh("state")
    body: list[Compute] = []
    for ufunc, args in _next(step.op, [state], given):
        out = w.fresh("new")
        names = tuple(body[-1].out if a == "#" else a for a in args)
        body.append(Compute(out, Op.make(ufunc), names, row))
    source = reads[0].source
    n = w.node("Shape", [source], TensorType("int64", (1,)), end=1)
    steps = w.node("Squeeze", [n], TensorType("int64", ()))
    last, kept = step.op.name in _LAST, w.fresh("kept")
    keep = Keep(kept, body[-1].out, 1 if last else None, TensorType(row.dtype, (None, *row.shape)))
    loop = Loop(step.op.name, steps, tuple(reads), (CarriedState(init, 1, ((1, state),), body[-1].out, row),),
                tuple(body), (keep,))  # fmt: skip
    w.steps([loop])
    if last:
        both = w.node("Concat", [init, kept], keep.type, axis=0)
        w.node("Gather", [both, w.constant(-1, "int64")], step.type, step.out, axis=0)
    else:
        w.node("Identity", [kept], step.type, step.out)


@written(
    "geometric", "affine_power", "lfilter2", "regrouped_filter2", "segmented", "masked_flips", "powers", "cumprod",
    "cummax", "cummin",
)  # fmt: skip
def _others(w: ModelWriter, step: Compute) -> None:
    raise Refused(f"to_onnx: {step.op.name}: compile with exclude=['recurrences'], so that the loop stays one")
