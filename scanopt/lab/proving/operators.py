"""Operators of the table on symbolic arrays.

An operator that only moves entries is run by its own NumPy function, on the numbers of the entries; so is one whose
arguments are all known numbers.  Arithmetic is z3's.  An operator without an exact meaning here is an unknown function
of all that it reads: a proof that does not need its meaning holds, but a refutation says nothing, so that the operator
is noted (`Model.abstracted`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from scanopt.array.batching import elementwise
from scanopt.array.op import Op, Operand
from scanopt.lab.proving.arrays import SymbolicArray, arranged, array, broadcast, filled, joined, known
from scanopt.lab.proving.choices import NoProgramError
from scanopt.lab.proving.entries import BITS, compute, lifted, unknown_function, z3

if TYPE_CHECKING:
    from scanopt.lab.proving.model import Model

__all__ = ["Run", "applied", "meaning", "pointwise", "result_type", "total", "unknown_whole", "unrolled"]

_ARRANGING = {
    "concatenate", "stack", "transpose", "expand_dims", "squeeze", "swap_rows", "join_rows", "reshape", "broadcast_to",
    "in_chunks", "full", "full_like", "repeat_rows", "getitem", "repeat",
}  # fmt: skip
_ALL_DATA = {"concatenate", "stack", "full_like"}
"""Operators that move the entries of all arguments; the others move those of the first, and the rest says where."""

_ITSELF = ("disconnected_grad", "zero_grad", "grad_clip")
_RELATIONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")

Run = Callable[["Model", Op, Sequence[SymbolicArray]], SymbolicArray]
_MEANINGS: dict[str, Run] = {}


def meaning(*names: str) -> Callable[[Run], Run]:
    """Register a function as the meaning of the operators of these names."""

    def register(run: Run) -> Run:
        _MEANINGS.update(dict.fromkeys(names, run))
        return run

    return register


def applied(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """Apply an operator to arrays.  Raises NoProgramError where their shapes or dtypes do not fit."""
    if op.name in _MEANINGS:
        return _MEANINGS[op.name](m, op, xs)
    dtype, shape = result_type(m, op, xs)
    if op.name in _ITSELF:
        return xs[0]
    if op.name == "cast" and (xs[0].dtype == "bool" or (dtype == "real" and xs[0].dtype in BITS)):
        return xs[0].cast(dtype)
    numbers = [known(x) for x in xs]
    if all(x is not None for x in numbers) and op.name not in _ARRANGING:
        return _run(m, op, dtype, shape, numbers)
    if op.name in _ARRANGING:
        return _moved(m, op, dtype, shape, xs, numbers)
    if op.spec.batch is elementwise:
        return pointwise(m, op.name, *xs, dtype=dtype)
    if shape is None:
        raise NotImplementedError(f"{op.name}, whose result has a shape that depends on values")
    return unknown_whole(m, op, dtype, shape, xs)


def result_type(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> tuple[str, tuple[int, ...] | None]:
    """dtype and shape of the result, by the operator's own rule.  What it refuses to run on is noted as an error."""
    operands = [Operand(m.numpy_dtype(x.dtype), x.shape, known(x)) for x in xs]
    try:
        found = op.idle(*operands)
    except (ValueError, TypeError, IndexError) as error:
        raise NoProgramError(str(error)) from None
    try:
        op.infer(*operands)
    except (ValueError, TypeError, IndexError):
        m.raises(True)
    dtype = m.own_dtype(found.dtype)
    shape = None if None in found.shape else tuple(int(n) for n in found.shape if n is not None)
    return dtype, shape


@meaning("repeat_rows")
def _repeat_rows(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """Repeat a row; a number of times that is not known is one of some small ones."""
    x, n = xs
    if n.dtype not in ("int8", "int64") or n.shape:
        raise NoProgramError("a number of rows that is none")
    if known(n) is None:
        count = m.choose("number of rows", range(4))
        m.assume(lifted(n.entries[0], n.dtype) == count)
        n = array(np.array(count, n.dtype))
    if n.entries[0] < 0:
        raise NoProgramError("programs and laws repeat rows as often as something is long, or a loop runs")
    dtype, shape = result_type(m, op, (x, n))
    return _moved(m, op, dtype, shape, (x, n), [known(x), known(n)])


def _run(m: Model, op: Op, dtype: str, shape: Any, numbers: Sequence[Any]) -> SymbolicArray:
    """Run an operator on known numbers, by NumPy itself."""
    try:
        return array(np.asarray(op.bind(np)(*numbers)))
    except (ValueError, IndexError, ArithmeticError):
        m.raises(True)
        return filled(dtype, shape or (), [0] * int(np.prod(shape or ())))


def _moved(
    m: Model, op: Op, dtype: str, shape: Any, xs: Sequence[SymbolicArray], numbers: Sequence[Any]
) -> SymbolicArray:
    count = len(xs) if op.name in _ALL_DATA else 1
    rest = numbers[count:]
    if op.name == "getitem" and xs[0].shape[:1] == (0,) and all(isinstance(e, tuple) for e in op.options["index"]):
        rest = [np.int64(0) if x is None else x for x in rest]  # no rows, by whatever bound
    if any(x is None for x in rest):
        raise NotImplementedError(f"{op.name} with places that are not known")
    try:
        return arranged(op.bind(np), dtype, xs[:count], rest)
    except (ValueError, IndexError):
        m.raises(True)
        return m.junk(dtype, shape or ())


def pointwise(m: Model, name: str, *xs: SymbolicArray, dtype: str | None = None) -> SymbolicArray:
    """Apply an operator of entries to arrays that broadcast."""
    if dtype is None:
        dtype, _ = result_type(m, Op.make(name), xs)
    shape, _ = broadcast(*xs)
    if name == "where":
        _, entries = broadcast(xs[0], xs[1].cast(dtype), xs[2].cast(dtype))
        return filled(dtype, shape, [_where(c, x, y, dtype) for c, x, y in zip(*entries, strict=True)])
    inside = m.promoted([x.dtype for x in xs]) if name in _RELATIONS else dtype
    out = []
    _, entries = broadcast(*(x.cast(inside) for x in xs))
    for e in zip(*entries, strict=True):
        found = compute(name, inside, *e)
        if found is None:
            m.abstracted.add(name)
            found = unknown_function(name, (inside,) * len(e), dtype)(*(lifted(x, inside) for x in e))
        out.append(found)
    return filled(dtype, shape, out)


def _where(c: Any, x: Any, y: Any, dtype: str) -> Any:
    if isinstance(c, (bool, int)):
        return x if c else y
    return z3().If(c, lifted(x, dtype), lifted(y, dtype))


def unknown_whole(m: Model, op: Op, dtype: str, shape: tuple[int, ...], xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """An unknown function of whole arrays, which raises where an unknown condition on them holds."""
    m.abstracted.add(op.name)
    if op.can_raise:
        m.raises(m.function_of(f"{op.key} raises", "bool", (), xs).entries[0])
    return m.function_of(op.key, dtype, shape, xs)


# Choices


@meaning("clip")
def _clip(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    x, low, high = xs
    return pointwise(m, "minimum", pointwise(m, "maximum", x, low), high)


# Reductions


def total(m: Model, rows: Sequence[SymbolicArray], dtype: str, shape: tuple[int, ...]) -> SymbolicArray:
    """The sum of some arrays, from the first one on; zeros if there are none."""
    out = filled(dtype, shape, [0] * int(np.prod(shape, dtype=int)))
    for i, x in enumerate(rows):
        out = x.cast(dtype) if i == 0 else pointwise(m, "add", out, x.cast(dtype))
    return out


@meaning("setitem")
def _setitem(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """Write slices; NumPy finds out which entries, from the numbers of the entries."""
    x, y, *rest = xs
    dtype, shape = result_type(m, op, xs)
    index = op.options["index"]
    if rest or not all(isinstance(entry, tuple) for entry in index):
        return unknown_whole(m, op, dtype, shape or (), xs)
    places = np.arange(len(x.entries)).reshape(x.shape)[tuple(slice(*entry[1:]) for entry in index)]
    new = y if op.options["mode"] == "set" else pointwise(m, "add", x.part(places), y, dtype=dtype)
    return x.written(places, new.cast(dtype))


def _along_first(m: Model, op: Op, x: SymbolicArray) -> SymbolicArray:
    """A cumulative operator along another axis than the first, which is moved to the front and back."""
    axis = op.options["axis"]
    turned = arranged(lambda e: np.moveaxis(e, axis, 0), x.dtype, [x], [])
    found = applied(m, Op.make(op.name, **{**op.options, "axis": 0}), [turned])
    return arranged(lambda e: np.moveaxis(e, 0, axis), found.dtype, [found], [])


@meaning("cumsum")
def _cumsum(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    (x,) = xs
    dtype, shape = result_type(m, op, xs)
    if op.options["axis"] and shape is not None:
        return _along_first(m, op, x)
    if shape is None or op.options["axis"] is None or m.rounds(dtype):
        return unknown_whole(m, op, dtype, shape or (), xs)
    rows = [x.row(t) for t in range(x.shape[0])]
    return joined(dtype, [total(m, rows[: t + 1], dtype, shape[1:]) for t in range(len(rows))], shape[1:])


@meaning("cumprod")
def _cumprod(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    (x,) = xs
    dtype, shape = result_type(m, op, xs)
    if op.options["axis"] and shape is not None:
        return _along_first(m, op, x)
    if shape is None or op.options["axis"] is None:
        return unknown_whole(m, op, dtype, shape or (), xs)
    out: list[SymbolicArray] = []
    for t in range(x.shape[0]):
        out.append(pointwise(m, "multiply", out[-1], x.row(t)) if out else x.row(t).cast(dtype))
    return joined(dtype, out, shape[1:])


@meaning("dot", "matmul")
def _dot(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    x, y = xs
    dtype, shape = result_type(m, op, xs)
    if shape is None or x.data.ndim not in (1, 2) or y.data.ndim not in (1, 2) or dtype in ("fp", "A", "B"):
        return unknown_whole(m, op, dtype, shape or (), xs)
    left = x.cast(dtype).data.reshape(-1 if x.data.ndim == 2 else 1, x.shape[-1]) if x.data.size else None
    right = y.cast(dtype).data.reshape(y.shape[0], -1) if y.data.size else None
    if left is None or right is None:
        return filled(dtype, shape, [0] * int(np.prod(shape, dtype=int)))
    out = []
    for row in left:
        for column in right.T:
            products = [compute("multiply", dtype, a, b) for a, b in zip(row, column, strict=True)]
            out.append(_added(dtype, products))
    return filled(dtype, shape, out)


def _added(dtype: str, terms: Sequence[Any]) -> Any:
    out: Any = terms[0]
    for x in terms[1:]:
        out = compute("add", dtype, out, x)
    return out


# Recurrences: the result of a loop over one state.
# i: the state before, s: rows for all steps, p: a parameter, n: a number of steps

Step = Callable[..., SymbolicArray]


_FOR_ALL = {
    "accumulate", "fold", "fold_in_order", "segmented", "forward_fill", "geometric", "linear_recurrence",
    "affine_power", "masked_flips",
}  # fmt: skip
"""Recurrences of every dtype: the others are defined for floats."""


def _recurrence(kinds: str, last: bool = False) -> Callable[[Callable[[Model, Op], Step]], Run]:
    """The meaning of a recurrence, by its step: a function of the states before, nearest first, and what it reads."""

    def of(make: Callable[[Model, Op], Step]) -> Run:
        def run(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
            dtype, shape = result_type(m, op, xs)
            closed = op.spec.batch_exact is not True and m.rounds(dtype)  # one call, which rounds in another way
            if closed or (op.name not in _FOR_ALL and m.kind(dtype) != "float"):
                return unknown_whole(m, op, dtype, shape or (), xs)
            return unrolled(make(m, op), kinds, xs, dtype, last)

        return run

    return of


def unrolled(step: Step, kinds: str, xs: Sequence[SymbolicArray], dtype: str, last: bool) -> SymbolicArray:
    """Run a recurrence step by step: all values of its state, or the last one."""
    init = xs[0]
    lengths = {x.shape[0] for k, x in zip(kinds, xs, strict=True) if k == "s" and x.shape}
    lengths |= {int(x.entries[0]) for k, x in zip(kinds, xs, strict=True) if k == "n"}
    if len(lengths) != 1 or init.dtype != dtype or not init.shape or not init.shape[0]:
        raise NoProgramError("sequences of several lengths, or a state of another dtype")
    past, out = [init.row(k) for k in reversed(range(init.shape[0]))], []
    for t in range(lengths.pop()):
        reads = [x.row(t) if k == "s" else x for k, x in zip(kinds, xs, strict=True) if k in "sp"]
        new = step(*past, *reads)
        if new.shape != init.shape[1:] or new.dtype != dtype:
            raise NoProgramError(f"a state of shape {init.shape[1:]} that becomes one of shape {new.shape}")
        past = [new, *past[:-1]]
        out.append(new)
    return past[0] if last else joined(dtype, out, init.shape[1:])


def _ufunc(m: Model, op: Op) -> Step:
    name = op.options["ufunc"]
    return lambda s, x: pointwise(m, name, s, x)


def _segments(m: Model, op: Op) -> Step:
    name = op.options["ufunc"]
    return lambda s, mark, y, x: pointwise(m, "where", mark, y, pointwise(m, name, s, x))


def _of(step: Callable[..., SymbolicArray]) -> Callable[[Model, Op], Step]:
    """A step that is written with pointwise operators, which it calls by their names."""
    return lambda m, op: lambda *xs: step(lambda name, *ys: pointwise(m, name, *ys), *xs)


_FILTER = _of(lambda f, s, x, a: f("add", f("multiply", s, a), x))
_FILTER2 = _of(lambda f, s, r, x, a, b: f("add", f("add", f("multiply", s, a), f("multiply", r, b)), x))

_RECURRENCES: dict[str, tuple[str, bool, Callable[[Model, Op], Step]]] = {
    "accumulate": ("is", False, _ufunc),
    "fold": ("is", True, _ufunc),
    "fold_in_order": ("is", True, _ufunc),
    "segmented": ("isss", False, _segments),
    "forward_fill": ("iss", False, _of(lambda f, s, mark, x: f("where", mark, x, s))),
    "lfilter": ("isp", False, _FILTER),
    "lfilter2": ("ispp", False, _FILTER2),
    "regrouped_sum": ("is", False, _of(lambda f, s, x: f("add", s, x))),
    "regrouped_filter": ("isp", False, _FILTER),
    "regrouped_filter2": ("ispp", False, _FILTER2),
    "regrouped_smoothing": (
        "isp", False, _of(lambda f, s, x, a: f("add", s, f("multiply", f("subtract", x, s), a)))
    ),
    "linear_recurrence": ("iss", False, _of(lambda f, s, a, x: f("add", f("multiply", s, a), x))),
    "masked_flips": ("iss", False, _of(lambda f, s, a, x: f("bitwise_xor", f("bitwise_and", s, a), x))),
    "smoothing": ("iss", False, _of(lambda f, s, a, x: f("add", s, f("multiply", f("subtract", x, s), a)))),
    "raised_sum": ("iss", False, _of(lambda f, s, x, low: f("maximum", f("add", s, x), low))),
    "capped_sum": ("iss", False, _of(lambda f, s, x, high: f("minimum", f("add", s, x), high))),
    "clamped_sum": (
        "isss", False,
        _of(lambda f, s, x, low, high: f("minimum", f("maximum", f("add", s, x), low), high)),
    ),
    "geometric": ("ipn", True, _of(lambda f, s, a: f("multiply", s, a))),
    "affine_power": ("ippn", True, _of(lambda f, s, a, b: f("add", f("multiply", s, a), b))),
    "polynomial": ("ips", True, _of(lambda f, s, x, y: f("add", f("multiply", s, x), y))),
}  # fmt: skip

for _name, (_kinds, _last, _make) in _RECURRENCES.items():
    _MEANINGS[_name] = _recurrence(_kinds, _last)(_make)


@meaning("spread_like")
def _spread(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """The first argument, in the shape that both broadcast to."""
    shape, entries = broadcast(*xs)
    return filled(xs[0].dtype, shape, [x for x, _ in zip(*entries, strict=True)])


@meaning("widen")
def _widen(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """The first argument, with an axis of length 1 repeated."""
    x, n = xs
    axis, count = int(op.options["axis"]), known(n)
    if x.shape[axis] != 1:
        return x
    if count is None:
        raise NotImplementedError("a length that is not known")
    return arranged(lambda e: np.repeat(e, int(count), axis), x.dtype, [x], [])


@meaning("power")
def _power(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """A product of known length, or one divided by the base."""
    x, exponent = xs
    dtype, _ = result_type(m, op, xs)
    match exponent.entries:
        case [1.0]:
            return x.cast(dtype)
        case [-1.0]:
            return pointwise(m, "reciprocal", x, dtype=dtype)
        case [3.0 | 4.0 as k]:
            return reduce(lambda y, _: pointwise(m, "multiply", y, x, dtype=dtype), range(int(k) - 1), x)
        case _:
            return pointwise(m, "power", x, exponent, dtype=dtype)


@meaning("powers")
def _powers(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    """A power for each exponent."""
    x, exponents = xs
    dtype, shape = result_type(m, op, xs)
    rows = [pointwise(m, "power", x, exponents.row(i), dtype=dtype) for i in range(exponents.shape[0])]
    return joined(dtype, rows, (shape or ())[1:])
