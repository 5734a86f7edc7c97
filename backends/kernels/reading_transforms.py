"""Reads discrete Fourier transforms along one axis, in double precision, as nodes.

A transform along the first axis of a matrix is one along the last axis of its transpose.  A transform that cuts its
axis, or fills it up with zeros, has no form, and neither has one in single precision: which of its loops NumPy calls
then depends on the norm.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import cast_is_known
from scanopt.backends.kernels.nodes import WHOLE, Map, Single, Transform, View
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.program.ir import Compute

__all__ = ["LOOPS", "loop_dtypes_of", "transform_nodes"]

Types = dict[str, TensorType]
LOOPS = {"fft": ("fft",), "ifft": ("ifft",), "rfft": ("rfft_n_even", "rfft_n_odd"), "irfft": ("irfft",)}
"""The inner loops of NumPy that compute a transform: those of rfft for even and for odd numbers of points."""


def loop_dtypes_of(op: str) -> tuple[str, str, str]:
    """The dtypes of the loop: of the elements, of the factor, of the results."""
    given, result = ("float64" if op == name else "complex128" for name in ("rfft", "irfft"))
    return given, "float64", result


def transform_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read a transform of as many points as the axis has."""
    (x, *points), options, out = step.args, step.op.options, step.out
    ndim, axis = types[x].ndim, options["axis"] % types[x].ndim
    op = "ifft" if options.get("inverse") else step.op.name
    given, _, result = dtypes = loop_dtypes_of(op)
    known = result == step.type.dtype and cast_is_known(types[x].dtype, given)
    last = axis == ndim - 1
    if points or options["n"] is not None or not known or not (last or ndim == 2):
        return
    if any(inner_loop(name, dtypes) is None for name in LOOPS[op]):
        return
    if types[x].dtype != given:
        types[cast := f"{out}#c"] = TensorType(given, types[x].shape)
        yield Map(cast, (x,), "copy", (given,), given, x)
        x = cast
    if last:
        yield Transform(out, (x,), result, op, options["norm"])
        return
    turned, made = f"{out}#t", f"{out}#m"
    types |= {turned: TensorType(given, types[x].shape[::-1]), made: TensorType(result, step.type.shape[::-1])}
    yield View(turned, (x,), ((1, WHOLE), (0, WHOLE)), (), given)
    yield Transform(made, (turned,), result, op, options["norm"])
    yield View(out, (made,), ((1, WHOLE), (0, WHOLE)), (), result)
