"""A loop as a kernel, for one pattern of lengths."""

from __future__ import annotations

from scanopt.backends.kernels.emit import emit_stage
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Body
from scanopt.backends.kernels.recipe import Recipe
from scanopt.backends.kernels.sizes import Lengths

__all__ = ["lowered"]


def lowered(body: Body, lengths: Lengths) -> Recipe:
    """The kernel of a loop for these lengths.  Raises NoForm."""
    w = Lowering(body, lengths)
    w.start()
    for stage in w.stages:
        emit_stage(w, stage)
    w.keep_step()
    w.move_on()
    return w.recipe()
