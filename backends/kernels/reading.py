"""Reads the operators of the table as nodes: decides which operators have a form in kernels, and writes it as nodes.

Each function yields the nodes of one step, none where there is no form; then `nodes_of` raises NoForm with the reason.
An operator may only have a form if it gives the bits of its array step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from scanopt.array.op import Op
from scanopt.array.operators.idle import guarded
from scanopt.array.operators.special import SPECIAL
from scanopt.array.types import TensorType
from scanopt.backends.kernels.complex_operations import PARTS
from scanopt.backends.kernels.forms import cast_is_known, in_c, needs_whole, through_numpy
from scanopt.backends.kernels.lapack import ROUTINES
from scanopt.backends.kernels.nodes import (
    WHOLE,
    Call,
    Check,
    Count,
    Diagonal,
    Draw,
    Evenly,
    Fixed,
    Join,
    Length,
    Map,
    NoForm,
    Nonempty,
    Reduce,
    Repeat,
    Reshape,
    Single,
    SumTo,
    View,
    Within,
)  # fmt: skip
from scanopt.backends.kernels.numpy_loops import DTYPES, inner_loop, loop_dtypes
from scanopt.backends.kernels.reading_averages import mean_nodes, spread_nodes
from scanopt.backends.kernels.reading_complex import fits_complex, is_made_of_vectors, parts_of_complex
from scanopt.backends.kernels.reading_parts import INDICES, given_nodes, part_nodes, same_nodes, set_nodes
from scanopt.backends.kernels.reading_products import convolve_nodes, outer_nodes, product_nodes, tensordot_nodes
from scanopt.backends.kernels.reading_rows import AFFINE_NAMES, affine_nodes, powers_nodes, running_nodes
from scanopt.backends.kernels.reading_searches import digitize_nodes, extreme_nodes, search_nodes, sort_nodes
from scanopt.backends.kernels.reading_systems import decomposed_nodes, factored_nodes, solve_nodes
from scanopt.backends.kernels.reading_transforms import transform_nodes
from scanopt.program.ir import Compute

__all__ = ["nodes_of"]


def nodes_of(step: Compute, types: Types) -> tuple[Single, ...]:
    """Read an operator.  types: of all names; names made here are added.  Raises NoForm."""
    writer = _FORMS.get(step.op.name, _ufunc)
    found = tuple(writer(step, types)) if fits_complex(step, types, writer is _ufunc) else ()
    if not found or types[step.out].dtype not in DTYPES:
        raise NoForm(f"{step.op.name} of {', '.join(str(types[a]) for a in step.args)} has no form")
    return found


Types = dict[str, TensorType]
SIGNED = {"int8", "int16", "int32", "int64"}


def _dtypes(step: Compute, types: Types) -> tuple[str, ...]:
    return tuple(types[a].dtype for a in step.args)


def _ufunc(step: Compute, types: Types) -> Iterator[Single]:
    """Read a ufunc: in C, or by NumPy's or SciPy's inner loop; nothing for other operators."""
    name, dtypes = step.op.name if step.op.name in SPECIAL else step.op.spec.ufunc, _dtypes(step, types)
    if name is None or any(d not in DTYPES for d in dtypes):
        return
    if (found := in_c(name, dtypes)) and not is_made_of_vectors(step, types):
        yield Map(step.out, step.args, name, found[:-1], found[-1], step.out)
    elif (found := through_numpy(name, dtypes)) and not step.op.can_raise:
        whole = needs_whole(step.op, found[-1])
        yield Call(step.out, step.args, name, found[:-1], found[-1], step.out, whole)


def _temporary(step: Compute, number: int, types: Types, dtype: str) -> str:
    name = f"{step.out}#{number}"
    types[name] = TensorType(dtype, types[step.out].shape)
    return name


def _sigmoid(step: Compute, types: Types) -> Iterator[Single]:
    dtype, out = types[step.args[0]].dtype, step.out
    if inner_loop("exp", (dtype, dtype)) is None:
        return
    a, b, c = (_temporary(step, i, types, dtype) for i in range(3))
    one = (dtype,)
    yield Map(a, step.args, "negative", one, dtype, out)
    yield Call(b, (a,), "exp", one, dtype, out)
    yield Map(c, (b,), "one_more", one, dtype, out)
    yield Map(out, (c,), "reciprocal", one, dtype, out)


def _cast(step: Compute, types: Types) -> Iterator[Single]:
    old, new = types[step.args[0]].dtype, step.op.options["dtype"]
    if old in DTYPES and new in DTYPES and cast_is_known(old, new):
        yield Map(step.out, step.args, "copy", (new,), new, step.out)


def _where(step: Compute, types: Types) -> Iterator[Single]:
    dtype = step.type.dtype
    if all(cast_is_known(types[a].dtype, dtype) for a in step.args[1:]):
        yield Map(step.out, step.args, "where", ("bool", dtype, dtype), dtype, step.out)


def _clip(step: Compute, types: Types) -> Iterator[Single]:
    found = loop_dtypes("clip", _dtypes(step, types))
    if found and found[-1] == step.type.dtype and np.dtype(found[-1]).kind in "iuf" and len(set(found)) == 1:
        yield Map(step.out, step.args, "clip", found[:-1], found[-1], step.out)


def _softmax(step: Compute, types: Types) -> Iterator[Single]:
    dtype, (x,), out = step.type.dtype, step.args, step.out
    axis, shape = step.op.options["axis"], types[x].shape
    if dtype != types[x].dtype or any(inner_loop(f, (dtype,) * k) is None for f, k in (("exp", 2), ("maximum", 3))):
        return
    left = [i for i in range(len(shape)) if i != axis]
    places = tuple(None if i == axis else (left.index(i), WHOLE) for i in range(len(shape)))
    most, wide, apart, grown, total, wide_total = (f"{out}#{k}" for k in "mwaetv")
    types |= dict.fromkeys((most, total), TensorType(dtype, tuple(shape[i] for i in left)))
    spread = TensorType(dtype, tuple(1 if i == axis else n for i, n in enumerate(shape)))
    types |= dict.fromkeys((wide, wide_total), spread)
    types |= dict.fromkeys((apart, grown), types[x])
    yield Reduce(most, (x,), "maximum", (axis,), dtype)
    yield View(wide, (most,), places, (), dtype)
    yield Map(apart, (x, wide), "subtract", (dtype, dtype), dtype, x)
    yield Call(grown, (apart,), "exp", (dtype,), dtype, x)
    yield Reduce(total, (grown,), "add", (axis,), dtype)
    yield View(wide_total, (total,), places, (), dtype)
    yield Map(out, (grown, wide_total), "divide", (dtype, dtype), dtype, x)


def _round(step: Compute, types: Types) -> Iterator[Single]:
    """Read rounding to some digits: scale by a power of ten, as NumPy does."""
    (x,), dtype, digits = step.args, step.type.dtype, step.op.options["decimals"]
    if types[x].dtype != dtype or np.dtype(dtype).kind not in "iuf" or abs(digits) > 8:
        return
    if np.dtype(dtype).kind != "f" or not digits:
        if digits >= 0:
            yield Map(step.out, step.args, "rint", (dtype,), dtype, step.out)
        return
    power, scaled, whole = (f"{step.out}#{k}" for k in "psw")
    types |= {power: TensorType(dtype, ()), scaled: step.type, whole: step.type}
    there, back = ("multiply", "divide") if digits > 0 else ("divide", "multiply")
    yield Fixed(power, 10.0 ** abs(digits), dtype)
    yield Map(scaled, (x, power), there, (dtype, dtype), dtype, x)
    yield Map(whole, (scaled,), "rint", (dtype,), dtype, x)
    yield Map(step.out, (whole, power), back, (dtype, dtype), dtype, x)


def _power(step: Compute, types: Types) -> Iterator[Single]:
    """Read powers: of integers in C, after a check that no exponent is negative."""
    found, exponent = loop_dtypes("power", _dtypes(step, types)), step.args[1]
    if found is None or np.dtype(found[-1]).kind not in "iu":
        yield from _ufunc(step, types)
        return
    if types[exponent].dtype in SIGNED:
        natural = f"{step.out}#n"
        types[natural] = types[exponent]
        yield Within(natural, (exponent,), 0, None, False, False, types[exponent].dtype)
    yield Map(step.out, step.args, "power", found[:-1], found[-1], step.out)


def _same(step: Compute, types: Types) -> Iterator[Single]:
    dtype = types[step.args[0]].dtype
    if dtype == step.type.dtype:
        yield Map(step.out, step.args[:1], "copy", (dtype,), dtype, step.out)


def _full_like(step: Compute, types: Types) -> Iterator[Single]:
    dtype = step.type.dtype
    if cast_is_known(types[step.args[1]].dtype, dtype):
        yield Map(step.out, step.args[1:], "copy", (dtype,), dtype, step.args[0])


def _repeated(step: Compute, types: Types) -> Iterator[Single]:
    """Read x repeated along new axes, whose lengths are the other arguments."""
    x, *counts = step.args
    if not any(types[n].ndim for n in counts):
        yield Repeat(step.out, (x,), "copy", (step.type.dtype,), step.type.dtype, step.out, tuple(counts))


def _full(step: Compute, types: Types) -> Iterator[Single]:
    """Read an array that is one number everywhere."""
    if not types[step.args[0]].ndim:
        yield from _repeated(step, types)


def _arranged(order: Callable[[Op, int], list[int | None]]) -> Callable[[Compute, Types], Iterator[Single]]:
    """Reads views of all elements.  order: for each axis of the result, the axis of x, or None."""

    def view(step: Compute, types: Types) -> Iterator[Single]:
        axes = tuple(None if i is None else (i, WHOLE) for i in order(step.op, types[step.args[0]].ndim))
        gone = sorted(set(range(types[step.args[0]].ndim)) - {i[0] for i in axes if i is not None})
        yield View(step.out, step.args[:1], axes, tuple((i, 0) for i in gone), step.type.dtype)

    return view


def _expanded(op: Op, ndim: int) -> list[int | None]:
    rest, places = iter(range(ndim)), {i % (ndim + len(op.options["axis"])) for i in op.options["axis"]}
    return [None if i in places else next(rest) for i in range(ndim + len(places))]


def _squeezed(op: Op, ndim: int) -> list[int | None]:
    return [i for i in range(ndim) if i not in {j % ndim for j in op.options["axis"]}]


def _reshape(step: Compute, types: Types) -> Iterator[Single]:
    if all(not types[n].ndim and types[n].dtype in INDICES for n in step.args[1:]):
        lead = step.op.options.get("lead", 0)
        computed = tuple(lead + i for i, n in enumerate(step.op.options["shape"]) if n is None)
        equal = tuple((i, (step.args[0], i)) for i in range(lead))
        yield Reshape(step.out, step.args, step.type.dtype, equal=equal, computed=computed)


def _joined(new: bool) -> Callable[[Compute, Types], Iterator[Single]]:
    def join(step: Compute, types: Types) -> Iterator[Single]:
        if all(cast_is_known(d, step.type.dtype) for d in _dtypes(step, types)):
            yield Join(step.out, step.args, step.op.options["axis"] % step.type.ndim, new, step.type.dtype)

    return join


def _sum_to(step: Compute, types: Types) -> Iterator[Single]:
    dtype = step.type.dtype
    if inner_loop("add", (dtype,) * 3) is not None and all(types[a].dtype in INDICES for a in step.args[1:]):
        yield SumTo(step.out, step.args, dtype)


def _length(step: Compute, types: Types) -> Iterator[Single]:
    yield Length(step.out, step.args, step.op.options["axis"])


def _reduced(ufunc: str) -> Callable[[Compute, Types], Iterator[Single]]:
    """Reads reductions along axes by a ufunc, whose inner loop is called in NumPy's order."""

    def reduce(step: Compute, types: Types) -> Iterator[Single]:
        options, (a,) = step.op.options, step.args
        ndim, dtype = types[a].ndim, step.type.dtype
        axes = tuple(sorted(i % ndim for i in options["axis"]))
        kind = np.dtype(dtype).kind
        counted = step.op.name == "mean"
        plain = dtype == types[a].dtype or (kind in "iub" and cast_is_known(types[a].dtype, dtype))
        if not axes or not plain or (counted and kind != "f") or inner_loop(ufunc, (dtype,) * 3) is None:
            return
        out = f"{step.out}#r" if options["keepdims"] else step.out
        if options["keepdims"]:
            types[out] = TensorType(dtype, tuple(n for i, n in enumerate(types[a].shape) if i not in axes))
        source = a
        if types[a].dtype != dtype:
            source = f"{step.out}#c"
            types[source] = TensorType(dtype, types[a].shape)
            yield Map(source, (a,), "copy", (dtype,), dtype, a)
        yield Reduce(out, (source,), ufunc, axes, dtype, counted)
        if options["keepdims"]:
            yield Reshape(step.out, (out,), dtype, equal=tuple((i, (a, i)) for i in range(ndim) if i not in axes))

    return reduce


def _require(step: Compute, types: Types) -> Iterator[Single]:
    relations = {"ge": "greater_equal", "gt": "greater", "eq": "equal", "ne": "not_equal"}
    if not any(types[a].ndim for a in step.args):
        yield Check(step.out, step.args, relations[step.op.options["relation"]])


def _when_runs(step: Compute, types: Types) -> Iterator[Single]:
    """Read an operator that only runs if a loop takes a step: the operator, after a check; else array steps run."""
    runs, op = f"{step.out}#runs", guarded(step.op)
    types[runs] = TensorType("int64", ())
    if op is not None and types[step.args[0]].dtype == "int64":
        yield Within(runs, step.args[:1], 1, None, False, False, "int64")
        yield from nodes_of(replace(step, op=op, args=step.args[1:]), types)


def _has_rows(step: Compute, types: Types) -> Iterator[Single]:
    yield Nonempty(step.out, step.args)


def _rows_of_part(which: str) -> Callable[[Compute, Types], Iterator[Single]]:
    """Reads the numbers of rows of `scanopt.array.operators.parts`.  which: "read", of the first rows; "left", of the
    last ones of these."""

    def rows(step: Compute, types: Types) -> Iterator[Single]:
        (entry,), exact = step.op.options["index"], step.op.options["exact"]
        if any(types[a].ndim or types[a].dtype not in INDICES for a in step.args):
            return
        bounds: tuple[int | str, ...] = (entry,)
        if isinstance(entry, tuple):
            start, stop = entry[1:3]
            last = np.iinfo("int64").max if exact else -1  # no bound: all rows, or as many as there will be
            bounds = (0 if start is None else start, last if stop is None else stop)
        op = f"{'row' if len(bounds) == 1 else 'slice'}_{which}{'' if exact else '_near'}"
        yield Count(step.out, step.args, op, bounds, exact)

    return rows


def _arange(step: Compute, types: Types) -> Iterator[Single]:
    if step.type.dtype in INDICES and all(types[a].dtype in INDICES for a in step.args):
        yield Evenly(step.out, step.args, step.type.dtype)


def _eye(step: Compute, types: Types) -> Iterator[Single]:
    if all(types[a].dtype in INDICES and not types[a].ndim for a in step.args):
        yield Diagonal(step.out, step.args, step.type.dtype)


def _draw(normal: bool) -> Callable[[Compute, Types], Iterator[Single]]:
    def draw(step: Compute, types: Types) -> Iterator[Single]:
        options, state = step.op.options, types[step.args[0]]
        lead, dtypes = options.get("lead", 0), ("float64",) if normal else ("float32", "float64")
        if set(options) <= {"shape", "dtype", "lead"} and state.ndim == lead + 1 and step.type.dtype in dtypes:
            yield Draw(step.out, step.args, normal, step.type.dtype, lead)

    return draw


def _valid(step: Compute, types: Types) -> Iterator[Single]:
    options, dtype = step.op.options, types[step.args[0]].dtype
    if not options.get("sums") and np.dtype(dtype).kind == "f":
        low, high = options.get("low"), options.get("high")
        yield Within(step.out, step.args, low, high, options.get("strict", False), options.get("nan", False), dtype)


_FORMS: dict[str, Callable[[Compute, Types], Iterator[Single]]] = {
    "sigmoid": _sigmoid, "softmax": _softmax, "cast": _cast, "where": _where, "clip": _clip, "round": _round,
    "full_like": _full_like, "swap_rows": _arranged(lambda op, ndim: [1, 0, *range(2, ndim)]),
    "shaped_like": _same, "spread_like": _same, "widen": _same, "getitem": part_nodes, "setitem": set_nodes,
    **dict.fromkeys(PARTS, parts_of_complex), "reshape": _reshape,
    "transpose": _arranged(lambda op, ndim: list(op.options["axes"])), "expand_dims": _arranged(_expanded),
    "squeeze": _arranged(_squeezed), "stack": _joined(new=True), "concatenate": _joined(new=False),
    "dot": product_nodes, "matmul": product_nodes, "shape_i": _length, "sum": _reduced("add"),
    "prod": _reduced("multiply"), "max": _reduced("maximum"), "min": _reduced("minimum"),
    "mean": mean_nodes(_reduced("add")), "var": spread_nodes(root=False), "std": spread_nodes(root=True),
    "sum_to": _sum_to, "outer": outer_nodes, "cumsum": running_nodes("add"), "cumprod": running_nodes("multiply"),
    "cummax": running_nodes("maximum"), "cummin": running_nodes("minimum"),
    "repeat_rows": _repeated, "broadcast_to": _repeated, "full": _full,
    "specify_shape": same_nodes,
    "require": _require, "when_runs": _when_runs, "has_rows": _has_rows, "arange": _arange, "eye": _eye,
    "given": given_nodes, "rows_read": _rows_of_part("read"), "rows_left": _rows_of_part("left"),
    "argmax": extreme_nodes("greater"), "argmin": extreme_nodes("less"), "searchsorted": search_nodes,
    "digitize": digitize_nodes, "sort": sort_nodes, "argsort": sort_nodes, **dict.fromkeys(ROUTINES, factored_nodes),
    **dict.fromkeys(("fft", "rfft", "irfft"), transform_nodes),
    **dict.fromkeys(("solve", "inv", "cholesky", "det", "logabsdet", "det_sign"), solve_nodes),
    **dict.fromkeys(("eigh", "spectrum", "svd", "qr"), decomposed_nodes),
    "powers": powers_nodes, "power": _power, "tensordot": tensordot_nodes, "convolve": convolve_nodes,
    **dict.fromkeys(AFFINE_NAMES, affine_nodes),
    "random_uniform": _draw(normal=False), "random_normal": _draw(normal=True), "random_valid": _valid,
    "any": _reduced("logical_or"), "all": _reduced("logical_and"),
}  # fmt: skip
