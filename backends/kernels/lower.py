"""A loop as a kernel, for one pattern of lengths."""

from __future__ import annotations

from scanopt.backends.kernels.emit import emit
from scanopt.backends.kernels.frames import Frame
from scanopt.backends.kernels.ir import Stmt
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Body
from scanopt.backends.kernels.recipe import Given, Number, Recipe
from scanopt.backends.kernels.sizes import Lengths

__all__ = ["lowered"]


def lowered(body: Body, lengths: Lengths) -> Recipe:
    """The kernel of a loop for these lengths.  Raises NoForm."""
    w = Lowering(body, lengths)
    steps = w.number(Number("steps"))
    outs = [w.give(Given("out", body.types[k.value].dtype, keep=i)) for i, k in enumerate(body.loop.keeps)]
    code: list[Stmt] = []
    with w.into(code):
        Frame(w, body.root, "t", steps, outs, outermost=True).write(lambda nodes, wanted: emit(w, nodes, wanted))
    return w.recipe(code, "t")
