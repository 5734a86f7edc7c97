"""Operators of the table under JAX: most use their entry's function on `jax.numpy`; the exceptions are here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.array.operators.indexing import key_of
from scanopt.array.shapes import ufunc_dtypes
from scanopt.array.types import TensorType
from scanopt.bridges.peers import Refused
from scanopt.bridges.rules import RuleRegistry
from scanopt.libraries import library
from scanopt.records import dataclass

__all__ = ["Last", "Operators", "rule_for"]

Rule = Callable[..., Any]
Concrete = np.ndarray | np.generic


@dataclass(frozen=True)
class Last:
    """The last row that a loop kept, if the number of its steps is not known; some: whether it ran any."""

    row: Any
    some: Any


@dataclass(frozen=True)
class Operators:
    """Computes operators with a JAX module."""

    jax: Any

    def dtype(self, name: str) -> Any:
        """The dtype of JAX for one of ours: 32 bits in place of 64 if JAX's 64-bit mode is off."""
        return self.jax.dtypes.canonicalize_dtype(np.dtype(name))

    def apply(self, op: Op, args: Sequence[Any], type: TensorType) -> Any:
        """Apply an operator to arrays, traced ones or NumPy's.  Raises Refused for an operator that XLA cannot run."""
        if op.name in ("concatenate", "getitem", "kept_row") and any(isinstance(x, Last) for x in args):
            return self._of_last(op, args)
        if any(isinstance(x, Last) for x in args):
            raise Refused(f"to_jax: {op.name} reads rows of a loop whose number XLA must know before the run")
        if op.name == "shape_i":
            return np.asarray(np.shape(args[0])[op.options["axis"]], np.int64)
        if all(isinstance(x, Concrete) for x in args):
            return np.asarray(op.bind(np)(*args))
        try:
            found = self._traced(op, args)
        except (self.jax.errors.ConcretizationTypeError, self.jax.errors.TracerArrayConversionError) as error:
            raise Refused(
                f"to_jax: {op} makes a length or an index of a value that is known at run time only, which XLA cannot: "
                f"{str(error).splitlines()[0]}"
            ) from error
        return self.jax.numpy.asarray(found).astype(self.dtype(type.dtype))

    def _traced(self, op: Op, args: Sequence[Any]) -> Any:
        if op.name in RULES:
            return RULES[op.name](self, op, *args)
        if op.name.startswith("random_") or op.name in _NUMPY_ALONE:
            raise Refused(f"to_jax: JAX has no {op.name} that gives the same numbers")
        if op.spec.ufunc is not None:
            found = getattr(self.jax.numpy, op.spec.ufunc, None)
            if found is not None:
                dtypes = ufunc_dtypes(op.spec.ufunc, tuple(np.dtype(x.dtype).name for x in args))[:-1]
                return found(*(self.cast(x, d) for x, d in zip(args, dtypes, strict=True)))
        special = getattr(self.jax.scipy.special, _SPECIAL.get(op.name, op.name), None)
        if special is not None:
            return special(*args)
        return op.bind(self.jax.numpy)(*args)

    def cast(self, x: Any, dtype: str) -> Any:
        """x cast to one of our dtypes."""
        return self.jax.numpy.asarray(x).astype(self.dtype(dtype))

    def _of_last(self, op: Op, args: Sequence[Any]) -> Any:
        """Apply an operator that reads the last row of a loop that may take no step.  Raises Refused for others."""
        if op.name == "kept_row":
            return args[0].row
        if op.name == "getitem" and op.options["index"] == (-1,) and args[0].some is True:
            return args[0].row
        if op.name == "concatenate" and op.options["axis"] == 0 and len(args) == 2 and isinstance(args[1], Last):
            before = self.jax.numpy.asarray(args[0])
            return Last(self.jax.numpy.where(args[1].some, args[1].row, before[-1]), True)
        raise Refused(f"to_jax: {op} of the rows of a loop whose number of steps is found out when it runs")


_SPECIAL = {"erfinv": "erfinv", "psi": "digamma", "sigmoid": "expit"}
_NUMPY_ALONE = {"unless_flagged", "linalg_or_flag", "lstsq", "when_runs"}

RULES: RuleRegistry[Rule] = RuleRegistry()
"""For each operator the function f(operators, op, *arguments) that computes it."""

rule_for = RULES.rule


# Arithmetic


@rule_for("dot", "matmul", "outer", "tensordot", "concatenate", "stack", "where", "clip")
def _common(m: Operators, op: Op, *args: Any) -> Any:
    """Compute an operator after promoting its arguments as NumPy does."""
    first = op.name == "where"
    dtype = np.result_type(*(np.dtype(x.dtype) for x in args[first:])).name
    cast = [*args[:first], *(m.cast(x, dtype) for x in args[first:])]
    jnp, o = m.jax.numpy, op.options
    if op.name in ("concatenate", "stack"):
        return getattr(jnp, op.name)(cast, axis=o["axis"])
    if op.name == "tensordot":
        return jnp.tensordot(*cast, axes=o["axes"])
    if op.name == "clip":
        return jnp.minimum(jnp.maximum(cast[0], cast[1]), cast[2])
    return getattr(jnp, op.name)(*cast)


@rule_for("sum", "prod", "mean", "max", "min", "any", "all", "var", "std")
def _reduce(m: Operators, op: Op, x: Any) -> Any:
    options = {**op.options, "axis": op.options["axis"] if op.options["axis"] is None else tuple(op.options["axis"])}
    if "dtype" in options and options["dtype"] is not None:
        options["dtype"] = m.dtype(options["dtype"])
    return getattr(m.jax.numpy, op.name)(x, **options)


@rule_for("cumsum", "cumprod")
def _running(m: Operators, op: Op, x: Any) -> Any:
    dtype = op.options.get("dtype")
    return getattr(m.jax.numpy, op.name)(x, axis=op.options["axis"], dtype=None if dtype is None else m.dtype(dtype))


@rule_for("cummax", "cummin")
def _extreme(m: Operators, op: Op, x: Any) -> Any:
    return getattr(m.jax.lax, op.name)(m.jax.numpy.asarray(x), axis=op.options["axis"])


@rule_for("cast")
def _cast(m: Operators, op: Op, x: Any) -> Any:
    return m.cast(x, op.options["dtype"])


@rule_for("disconnected_grad")
def _disconnected(m: Operators, op: Op, x: Any) -> Any:
    return m.jax.lax.stop_gradient(x)


@rule_for("zero_grad", "grad_clip", "specify_shape", "shaped_like", "given")
def _first(m: Operators, op: Op, x: Any, *rest: Any) -> Any:
    return x


@rule_for("ifelse")
def _ifelse(m: Operators, op: Op, condition: Any, a: Any, b: Any) -> Any:
    if isinstance(condition, Concrete):
        return a if condition else b
    if np.shape(a) != np.shape(b):
        raise Refused("to_jax: an ifelse whose sides have different shapes")
    return m.jax.numpy.where(condition, a, b)


# Shapes and indices


@rule_for("reshape")
def _reshape(m: Operators, op: Op, x: Any, *dims: Any) -> Any:
    lead, given = op.options.get("lead", 0), iter(dims)
    shape = [_known(next(given)) if n is None else n for n in op.options["shape"]]
    return m.jax.numpy.reshape(x, (*np.shape(x)[:lead], *shape))


@rule_for("broadcast_to")
def _broadcast_to(m: Operators, op: Op, x: Any, *dims: Any) -> Any:
    given = iter(dims)
    return m.jax.numpy.broadcast_to(x, [_known(next(given)) if n is None else n for n in op.options["shape"]])


@rule_for("full")
def _full(m: Operators, op: Op, x: Any, *dims: Any) -> Any:
    return _broadcast_to(m, op, x, *dims)


@rule_for("full_like")
def _full_like(m: Operators, op: Op, x: Any, value: Any) -> Any:
    return m.jax.numpy.broadcast_to(value, np.shape(x))


@rule_for("repeat_rows")
def _repeat_rows(m: Operators, op: Op, x: Any, n: Any) -> Any:
    return m.jax.numpy.broadcast_to(x, (_known(n), *np.shape(x)))


@rule_for("arange", "eye")
def _lengths(m: Operators, op: Op, *args: Any) -> Any:
    raise Refused(f"to_jax: {op.name} of a length that is computed: XLA must know it before the run")


def _known(n: Any) -> int:
    if not isinstance(n, Concrete | int):
        raise Refused("to_jax: a length is computed of values: XLA must know it before the run")
    return int(n)


@rule_for("getitem")
def _getitem(m: Operators, op: Op, x: Any, *inputs: Any) -> Any:
    return m.jax.numpy.asarray(x)[_key(m, op, inputs)]


@rule_for("setitem")
def _setitem(m: Operators, op: Op, x: Any, y: Any, *inputs: Any) -> Any:
    starts = _moved(op, inputs, np.shape(x)) if op.options["mode"] == "set" and np.ndim(y) == np.ndim(x) else None
    if starts is not None:
        return m.jax.lax.dynamic_update_slice(m.jax.numpy.asarray(x), m.jax.numpy.asarray(y), starts)
    place = m.jax.numpy.asarray(x).at[_key(m, op, inputs)]
    return place.set(y) if op.options["mode"] == "set" else place.add(y)


def _moved(op: Op, inputs: Sequence[Any], shape: Sequence[int]) -> list[Any] | None:
    """The start of a part along each axis, if its index has only slices and some computed bounds; else None."""
    index, feed = op.options["index"], iter(inputs)
    if all(isinstance(x, Concrete) for x in inputs) or not all(isinstance(e, tuple) and e[3] is None for e in index):
        return None
    starts: list[Any] = []
    for _, low, high, _ in index:
        start, _ = (next(feed) if b == "in" else b for b in (low, high))
        starts.append(0 if start is None else start)
    starts += [0] * (len(shape) - len(starts))
    return [np.int32(i) if isinstance(i, int) else i.astype("int32") for i in starts]


@rule_for("scatter")
def _scatter(m: Operators, op: Op, x: Any, y: Any, *inputs: Any) -> Any:
    place = m.jax.numpy.asarray(x).at[_key(m, op, inputs)]
    word = str({"minimum": "min", "maximum": "max"}.get(op.options["ufunc"], op.options["ufunc"]))
    return getattr(place, word)(y)


def _key(m: Operators, op: Op, inputs: Sequence[Any]) -> Any:
    """The index for `jax.numpy`: computed integers stay traced, bounds of slices must be known."""
    if all(isinstance(x, Concrete) for x in inputs):
        return key_of(op.options["index"], inputs)
    key: list[Any] = []
    rest = iter(inputs)
    for entry in op.options["index"]:
        if isinstance(entry, tuple):
            key.append(slice(*(_known(next(rest)) if part == "in" else part for part in entry[1:])))
        elif entry == "newaxis":
            key.append(None)
        elif entry == "mask":
            mask = next(rest)
            if not isinstance(mask, Concrete):
                raise Refused(
                    "to_jax: entries picked by a mask that is computed: XLA must know how many before the run"
                )
            key.append(mask)
        else:
            key.append(next(rest) if entry in ("in", "array") else entry)
    return tuple(key)


@rule_for("windows")
def _windows(m: Operators, op: Op, x: Any, *size: Any) -> Any:
    o = op.options
    k = _known(size[0]) if size else o["size"]
    n = np.shape(x)[o["axis"]]
    count = max((n - o["dilation"] * (k - 1) - 1) // o["step"] + 1, 0)
    places = np.arange(count)[:, None] * o["step"] + np.arange(k)[None, :] * o["dilation"]
    found = m.jax.numpy.take(m.jax.numpy.asarray(x), places, axis=o["axis"])
    return m.jax.numpy.moveaxis(found, o["axis"] + 1, -1)


@rule_for("sort", "argsort")
def _sort(m: Operators, op: Op, x: Any) -> Any:
    return getattr(m.jax.numpy, op.name)(x, axis=op.options["axis"], stable=True)


@rule_for("argmax", "argmin")
def _arg(m: Operators, op: Op, x: Any) -> Any:
    find = getattr(m.jax.lax, op.name)  # int32, since JAX may have no 64 bits when it lowers this
    return find(m.jax.numpy.asarray(x), op.options["axis"], np.int32)


# Recurrences, as the loops that they replace


def _steps(m: Operators, op: Op) -> Callable[..., Any]:
    """The function from the rows of the state before, entries of sequences and parameters to the next state."""
    f: Any = getattr(m.jax.numpy, op.options["ufunc"]) if "ufunc" in op.options else None
    jnp = m.jax.numpy
    known: dict[str, Callable[..., Any]] = {
        "accumulate": lambda s, x: f(s, x),
        "fold": lambda s, x: f(s, x),
        "fold_in_order": lambda s, x: f(s, x),
        "forward_fill": lambda s, mask, x: jnp.where(mask, x, s),
        "segmented": lambda s, mask, y, x: jnp.where(mask, y, f(s, x)),
        "lfilter": lambda s, x, a: s * a + x,
        "lfilter2": lambda r, s, x, a, b: (s * a + r * b) + x,
        "linear_recurrence": lambda s, a, x: s * a + x,
        "regrouped_sum": lambda s, x: s + x,
        "regrouped_filter": lambda s, x, a: s * a + x,
        "regrouped_filter2": lambda r, s, x, a, b: (s * a + r * b) + x,
        "regrouped_smoothing": lambda s, x, a: s + (x - s) * a,
        "masked_flips": lambda s, a, x: (s & a) ^ x,
        "smoothing": lambda s, a, x: s + (x - s) * a,
        "raised_sum": lambda s, x, low: jnp.maximum(s + x, low),
        "capped_sum": lambda s, x, high: jnp.minimum(s + x, high),
        "clamped_sum": lambda s, x, low, high: jnp.minimum(jnp.maximum(s + x, low), high),
        "polynomial": lambda s, x, c: s * x + c,
    }
    return known[op.name]


_PARAMETERS = {
    "lfilter": (2,), "lfilter2": (2, 3), "regrouped_filter": (2,), "regrouped_filter2": (2, 3),
    "regrouped_smoothing": (2,), "polynomial": (1,),
}  # fmt: skip
"""The numbers of the arguments that are parameters, neither the state before nor sequences."""


@rule_for(
    "accumulate", "fold", "fold_in_order", "forward_fill", "segmented", "lfilter", "lfilter2", "linear_recurrence",
    "masked_flips", "smoothing", "raised_sum", "capped_sum", "clamped_sum", "polynomial",
    "regrouped_sum", "regrouped_filter", "regrouped_filter2", "regrouped_smoothing",
)  # fmt: skip
def _recurrence(m: Operators, op: Op, init: Any, *rest: Any) -> Any:
    step, held = _steps(m, op), {i - 1 for i in _PARAMETERS.get(op.name, ())}
    jnp, last = m.jax.numpy, op.name in ("fold", "fold_in_order", "polynomial")
    past = tuple(jnp.asarray(init)[i] for i in range(len(init)))
    shape, dtype = past[0].shape, past[0].dtype

    def body(past: Any, xs: Any) -> Any:
        feed = iter(xs)
        new = step(*past, *(x if i in held else next(feed) for i, x in enumerate(rest)))
        new = jnp.broadcast_to(new, shape).astype(dtype)
        return (*past[1:], new), None if last else new

    sequences = [jnp.asarray(x) for i, x in enumerate(rest) if i not in held]
    found, rows = m.jax.lax.scan(body, past, sequences)
    return found[-1] if last else rows


@rule_for("geometric", "affine_power")
def _repeated(m: Operators, op: Op, init: Any, a: Any, *rest: Any) -> Any:
    *b, n = rest
    jnp = m.jax.numpy
    start = jnp.asarray(init)[0]

    def body(_: Any, s: Any) -> Any:
        return (s * a + (b[0] if b else jnp.zeros((), start.dtype))).astype(start.dtype)

    return m.jax.lax.fori_loop(0, _known(n) if isinstance(n, Concrete) else n, body, start)


@rule_for("cumaffine")
def _cumaffine(m: Operators, op: Op, a: Any, b: Any) -> Any:
    jnp, axis = m.jax.numpy, op.options["axis"]
    rows = [jnp.moveaxis(jnp.asarray(x), axis, 0) for x in (a, b)]

    def body(s: Any, x: Any) -> Any:
        return (x[0] * s + x[1],) * 2

    first = jnp.where(jnp.arange(len(rows[0])).reshape(-1, *(1,) * (rows[0].ndim - 1)) == 0, 0, rows[0])
    return jnp.moveaxis(m.jax.lax.scan(body, jnp.zeros_like(rows[1][0]), [first, rows[1]])[1], 0, axis)


@rule_for("threefry")
def _threefry(m: Operators, op: Op, *words: Any) -> Any:
    hashed: Any = library("jax.extend.random", "jax", "to_jax").threefry2x32_p
    shape = np.broadcast_shapes(*map(np.shape, words))
    given = [m.jax.numpy.broadcast_to(m.jax.numpy.asarray(w, "uint32"), shape) for w in words]
    return m.jax.numpy.stack(hashed.bind(*given), axis=-1)


@rule_for("bitcast")
def _bitcast(m: Operators, op: Op, x: Any) -> Any:
    return m.jax.lax.bitcast_convert_type(x, m.dtype(op.options["dtype"]))
