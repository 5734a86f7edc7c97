"""What the operator table says of rounding holds: one at a time or all at once, however arrays lie in memory.

Results are compared bit for bit, signs and payloads of NaN aside.  Operators are called as programs with fp="exact"
call them: by the function of the executor, arguments in C order where the table asks for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.numerics.c_order import in_c_order, laid_out
from scanopt.array.numerics.running import ACCUMULATED
from scanopt.array.op import Op, Operand, load
from scanopt.array.types import DTYPES, TensorType
from scanopt.array.variable import Variable
from scanopt.backends.numpy import bind

Array = np.ndarray[Any, Any]
TABLE = load()
UFUNCS = sorted(n for n, spec in TABLE.items() if spec.ufunc and n != "matmul")
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 65, 85)
MOST = max(LENGTHS)
INEXACT = ("float16", "float32", "float64", "complex64", "complex128")

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]


# Values and layouts


def numbers(rng: np.random.Generator, dtype: str, count: int, mild: bool = False) -> Array:
    """Numbers of all magnitudes and special ones, in turn with small ones; mild: small ones alone."""
    d = np.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, count).astype(d)
    if d.kind in "iu":
        found = rng.integers(np.iinfo(d).min, np.iinfo(d).max, count, d, True)
        return np.where(rng.random(count) < (1 if mild else 0.5), rng.integers(0, 8, count).astype(d), found)
    if d.kind == "c":
        part = {"complex64": "float32", "complex128": "float64"}[dtype]
        z = np.empty(count, d)
        z.real, z.imag = numbers(rng, part, count, mild), numbers(rng, part, count, mild)
        return z
    f = np.finfo(d)
    special = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, f.max, f.tiny, 3 * float(f.smallest_subnormal), 2, 0.5]
    small = rng.normal(size=count)
    wide = small * 2.0 ** rng.integers(f.minexp // 2, f.maxexp // 2, count)
    drawn = np.where(rng.random(count) < 0.25, rng.choice(np.array(special, float), count), wide)
    return np.where(rng.random(count) < (1 if mild else 0.5), small, drawn).astype(d)


def _every(step: int, x: Array) -> Array:
    wide = np.zeros((step * len(x), *x.shape[1:]), x.dtype)
    wide[::step] = x
    return wide[::step]


def _column(x: Array) -> Array:
    wide = np.zeros((*x.shape, 3), x.dtype)
    wide[..., 1] = x
    return wide[..., 1]


def _unaligned(x: Array) -> Array:
    y = np.frombuffer(bytearray(x.nbytes + 1), x.dtype, x.size, 1).reshape(x.shape)
    y[...] = x
    return y


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "strided": lambda x: _every(3, x),
    "reversed": lambda x: x[::-1].copy()[::-1],
    "reversed and strided": lambda x: _every(2, x[::-1])[::-1],
    "transposed": np.asfortranarray,
    "column": _column,
    "unaligned": _unaligned,
}


def layouts(*xs: Array) -> Iterator[list[Array]]:
    """The arguments in all layouts; those of shape () as they are."""
    kinds = [LAYOUTS.values() if x.ndim else [np.asarray] for x in xs]
    yield from ([f(x) for f, x in zip(way, xs, strict=True)] for way in itertools.product(*kinds))


def bits(x: Any) -> tuple[Any, ...]:
    """All there is to compare: NaN is NaN."""
    x = np.ascontiguousarray(x)
    parts = x.view(x.real.dtype) if x.dtype.kind == "c" else x
    same = np.where(np.isnan(parts), np.nan, parts).astype(parts.dtype) if x.dtype.kind in "fc" else parts
    return x.dtype.name, x.shape, same.tobytes()


def call(op: Op, args: list[Array], *out: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(bind(op)(*laid_out(op, args), *out))


def each(op: Op, args: list[Array], dtype: str) -> Array:
    """An elementwise operator, one element at a time."""
    spread = np.broadcast_arrays(*args)
    rows = zip(*(x.ravel() for x in spread), strict=True)
    found = [call(op, [np.asarray(v) for v in row]) for row in rows]
    return np.array(found, dtype).reshape(spread[0].shape)


# Operators of elements


def elementwise() -> list[Op]:
    casts = [Op.make("cast", dtype=d) for d in sorted(DTYPES)]
    rounds = [Op.make("round", decimals=k) for k in (0, 2, -1)]
    return [*map(Op.make, UFUNCS), *map(Op.make, ("sigmoid", "clip", "where")), *casts, *rounds]


def arguments(op: Op, dtype: str) -> tuple[list[str], str] | None:
    """The dtypes of its arguments, the first of this one, and that of its result; None where it takes none such."""
    count = getattr(np, op.name).nin if op.spec.ufunc else {"clip": 3, "where": 3}.get(op.name, 1)
    dtypes = [dtype] * count
    if op.name == "where":
        dtypes[0] = "bool"
    if op.name == "ldexp":
        dtypes[1] = "int32"
    try:
        return dtypes, op.infer(*(Operand(d, (3,)) for d in dtypes)).dtype
    except TypeError:
        return None


MILD = {"power", "left_shift", "right_shift", "ldexp"}


def draw(op: Op, dtypes: list[str], count: int, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [
        abs(numbers(rng, d, count, True)) if i and op.name in MILD and d[0] in "iu" else numbers(rng, d, count)
        for i, d in enumerate(dtypes)
    ]


@pytest.mark.share(6)
@pytest.mark.parametrize("op", elementwise(), ids=str)
def test_elements_one_by_one_and_all_at_once(op: Op) -> None:
    for dtype in sorted(DTYPES):
        if (found := arguments(op, dtype)) is None or not op.batch_exact(found[1]):
            continue
        dtypes, result = found
        xs = draw(op, dtypes, MOST)
        one_by_one = each(op, xs, result)
        for n in LENGTHS:
            ys = [x[:n] for x in xs]
            ways = (
                layouts(*ys) if n in (1, 5, 17, 65) and len(xs) < 3 else ([f(y) for y in ys] for f in LAYOUTS.values())
            )
            for args in ways:
                assert bits(call(op, args)) == bits(one_by_one[:n]), (dtype, n, [a.strides for a in args])
        if len(xs) > 1:
            _with_few(op, xs, result)


def _with_few(op: Op, xs: list[Array], result: str) -> None:
    """Arguments that are one number, one row or one column."""
    for n, m in ((17, 1), (5, 17)):
        whole = [x[: n * m].reshape(n, m) for x in xs]
        cases = [{k: np.asarray(x[0, 0]) for k, x in enumerate(whole) if k}]
        for i, x in enumerate(whole):
            cases += [{i: np.asarray(few)} for few in (x[0, 0], x[:1], x[:, :1], x[0])]
        for few in cases:
            args = [few.get(k, x) for k, x in enumerate(whole)]
            expected = bits(each(op, args, result))
            for f in LAYOUTS.values():
                assert bits(call(op, [f(x) if x.ndim else x for x in args])) == expected, (result, n, m, few)
            spread = [np.broadcast_to(x, (n, m)) for x in args]
            assert bits(call(op, spread)) == expected, (result, n, m, few)


@pytest.mark.share(2)
@pytest.mark.parametrize("op", elementwise(), ids=str)
def test_elements_however_they_lie(op: Op) -> None:
    """Whether or not all at once are equal to one: the same shapes give the same, also written onto an argument."""
    for dtype in sorted(DTYPES):
        if (found := arguments(op, dtype)) is None:
            continue
        dtypes, result = found
        for n in (1, 2, 5, 17, 40):
            xs = draw(op, dtypes, n, seed=n)
            expected = bits(call(op, xs))
            for f in LAYOUTS.values():
                args = [f(x) for x in xs]
                assert bits(call(op, args)) == expected, (dtype, n, args[0].strides)
                if op.takes_out:
                    out = np.empty(n, result)
                    call(op, args, out)
                    assert bits(out) == expected, (dtype, n, args[0].strides)
            for i, d in enumerate(dtypes):
                if op.takes_out and d == result:
                    args = [x.copy() for x in xs]
                    call(op, args, args[i])
                    assert bits(args[i]) == expected, (dtype, n, i)


# Operators of rows


def _axis(name: str, **more: Any) -> Op:
    return Op.make(name, axis=more.pop("axis", 0), **more)


ROWS: dict[str, tuple[Op, str]] = {
    # an op of rows, and for each argument: s a vector, m one of bools, i and j vectors of length 1 and 2, p a number, q
    # a matrix
    **{
        name: (_axis(name), "s")
        for name in ("cumsum", "cumprod", "cummax", "cummin", "argmax", "argmin", "sort", "argsort")
    },
    "cumaffine": (_axis("cumaffine"), "ss"),
    "outer": (Op.make("outer"), "ss"),
    **{f"{a} {u}": (Op.make(a, ufunc=u), "is") for a in ("accumulate", "fold_in_order") for u in ACCUMULATED},
    **{f"segmented {u}": (Op.make("segmented", ufunc=u), "imss") for u in ("add", "multiply", "hypot")},
    "forward_fill": (Op.make("forward_fill"), "ims"),
    "lfilter": (Op.make("lfilter"), "isp"),
    "lfilter2": (Op.make("lfilter2"), "jspp"),
    **{name: (Op.make(name), "q") for name in ("det", "logabsdet", "det_sign", "inv", "lu_factor")},
    "any": (_axis("any", axis=(0,), keepdims=False), "s"),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ROWS)
def test_rows_one_by_one_and_all_at_once(name: str) -> None:
    op, kinds = ROWS[name]
    rng = np.random.default_rng(0)
    batch: Any = op.spec.batch
    for dtype in INEXACT:
        if op.params and "ufunc" in op.options and np.dtype(dtype).kind not in ACCUMULATED[op.options["ufunc"]]:
            continue
        lengths: dict[str, tuple[int, ...]] = {"s": (9,), "m": (9,), "i": (1,), "j": (2,), "p": (), "q": (3, 3)}
        dtypes = ["bool" if k == "m" else dtype for k in kinds]
        try:
            result = op.infer(*(Operand(d, lengths[k]) for d, k in zip(dtypes, kinds, strict=True))).dtype
        except TypeError:
            continue
        for n, m in ((3, 1), (7, 9), (130, 2)):
            lengths["s"] = lengths["m"] = (m,)
            shapes = [(n, *lengths[k]) for k in kinds]
            wide = "q" not in kinds
            xs = [numbers(rng, d, math.prod(s), not wide).reshape(s) for d, s in zip(dtypes, shapes, strict=True)]
            expected = bits(np.stack([call(op, [x[t] for x in xs]) for t in range(n)]))
            variables = [Variable(TensorType(d, (None,) * x.ndim)) for d, x in zip(dtypes, xs, strict=True)]
            whole = batch(op, (True,) * len(xs), variables) if op.batch_exact(result) else None
            for f in LAYOUTS.values():
                rows = [[f(x[t]) if x.ndim > 1 else np.asarray(x[t]) for x in xs] for t in range(n)]
                assert bits(np.stack([call(op, row) for row in rows])) == expected, (dtype, n, m)
                if whole is not None:
                    found = scanopt.interpret(whole, dict(zip(variables, map(f, xs), strict=True)))
                    assert bits(found) == expected, (dtype, n, m)


SUMS = [
    *(Op.make(name, axis=(1,), keepdims=False) for name in ("sum", "prod", "mean", "max", "min")),
    *(Op.make(name, axis=(0,), keepdims=False) for name in ("sum", "prod")),
    Op.make("var", axis=(0, 1), keepdims=False, ddof=0), Op.make("softmax", axis=1),
    Op.make("dot"), Op.make("matmul"), Op.make("tensordot", axes=((0,), (0,))),
]  # fmt: skip


@pytest.mark.parametrize("op", SUMS, ids=str)
def test_sums_however_arrays_lie(op: Op) -> None:
    rng = np.random.default_rng(1)
    count = 2 if op.spec.cost == "product" else 1
    for dtype in INEXACT:
        if op.name == "softmax" and dtype[0] == "c":
            continue
        for n in (1, 2, 5, 20):
            xs = [numbers(rng, dtype, n * n, mild=True).reshape(n, n) for _ in range(count)]
            expected = bits(call(op, xs))
            for args in layouts(*xs):
                assert bits(call(op, args)) == expected, (dtype, n, [a.strides for a in args])


def test_sums_of_many_numbers_that_are_not_aligned() -> None:
    x = numbers(np.random.default_rng(2), "float64", 30_000, mild=True)
    op = Op.make("sum", axis=(0,), keepdims=False)
    assert bits(call(op, [_unaligned(x)])) == bits(call(op, [x]))


def test_c_order_is_how_a_new_array_lies() -> None:
    for shape in ((), (1,), (5,), (1, 5), (5, 1), (1, 1), (3, 4)):
        x = np.zeros(shape, "complex64")
        for y in layouts(x):
            assert in_c_order(y[0]).strides == x.strides
        spread = np.broadcast_to(np.zeros((), "complex64"), shape)
        assert in_c_order(spread).strides == x.strides


# How coarse the table is

ARITHMETIC = (
    "add", "subtract", "multiply", "divide", "negative", "absolute", "sign", "square", "sqrt", "reciprocal", "maximum",
    "minimum", "floor", "less", "equal", "where", "clip", "floor_divide", "remainder",
)  # fmt: skip
FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "log1p", "expm1", "arctan2", "hypot", "logaddexp", "sigmoid")


def test_common_operators_are_exact() -> None:
    for name, dtype in itertools.product((*ARITHMETIC, *FUNCTIONS), ("float32", "float64")):
        assert Op.make(name).batch_exact(dtype), (name, dtype)
    for name, dtype in itertools.product((*ARITHMETIC, "power", "fmax", "fmin"), ("int8", "int64", "uint64", "bool")):
        assert Op.make(name).batch_exact(dtype), (name, dtype)
    for name in ("add", "subtract", "divide", "exp", "absolute", "sqrt"):
        assert Op.make(name).batch_exact("complex64")
    for name in ARITHMETIC:
        assert not Op.make(name).by_layout("fiub"), name  # nothing is copied


def test_what_is_known_not_to_be_exact() -> None:
    for name in ("power", "float_power", "fmax", "fmin"):
        assert not Op.make(name).batch_exact("float64")
    assert not Op.make("multiply").batch_exact("complex64")
    assert not Op.make("exp").batch_exact("float16")
    assert not Op.make("cast", dtype="uint32").batch_exact("uint32")
    assert not Op.make("accumulate", ufunc="multiply").batch_exact("complex64")


# Programs

WAYS: dict[str, Callable[[Any], Any]] = {
    "as they are": lambda z: z,
    "reversed": lambda z: z[::-1],
    "every other": lambda z: z[::2],
    "reversed matrix": lambda z: T.stack([z, z * z])[::-1, ::-1],
    "one, reversed": lambda z: z[2:1:-1],
}


def _of_complex(z: Any) -> list[Any]:
    return [abs(z), z * z, z * z[0], z / z[-1:], T.reciprocal(z), T.exp(z), z**3, T.cumprod(z), z + z, T.sqrt(z)]


def _of_floats(z: Any) -> list[Any]:
    return [T.exp(z), z**1.5, T.fmax(z, 0), T.clip(z, 0, -z), T.tanh(z), T.cast(z, "uint32"), T.log1p(abs(z))]


def _checked(f: Any, graphs: list[Any], variable: Any, value: Array) -> None:
    with np.errstate(all="ignore"):
        expected = scanopt.interpret(graphs, {variable: value})
    for i, (a, b) in enumerate(zip(f(value), expected, strict=True)):
        assert bits(a) == bits(b), i


@pytest.mark.share(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float16", "float32"])
def test_programs_are_exact(dtype: str, way: str) -> None:
    z = T.matrix("z", dtype=dtype)
    of = _of_complex if dtype[0] == "c" else _of_floats
    graphs = list(scanopt.map(lambda row: of(WAYS[way](row)), z)[0])
    f = scanopt.function([z], graphs, fp="exact")
    rng = np.random.default_rng(4)
    for n, m in ((1, 3), (6, 9), (3, 33)):
        values = numbers(rng, dtype, n * m).reshape(n, m)
        for layout in LAYOUTS.values():
            _checked(f, graphs, z, layout(values))


FOUND: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "log1p of one entry that lies backwards": ("float32", lambda z: T.log1p(z[2:1:-1])),
    "exp of one half": ("float16", lambda z: T.exp(z[0])),
    "one number that equals its bound": ("float64", lambda z: T.clip(z[0], -z[0] * 0, 1.0)),
    "one number too large for the integer": ("float64", lambda z: T.cast(z[0] * 1e20, "uint32")),
    "one number times one of one more axis": ("complex64", lambda z: z[:1, None] * z[:1]),
    "absolute values of what lies backwards": ("complex64", lambda z: abs(z[::-1])),
}


@pytest.mark.parametrize("name", FOUND)
def test_programs_that_were_not_exact(name: str) -> None:
    dtype, step = FOUND[name]
    z = T.matrix("z", dtype=dtype)
    graph = scanopt.map(step, z)[0]
    f = scanopt.function([z], [graph], fp="exact")
    values = numbers(np.random.default_rng(6), dtype, 4000).reshape(-1, 4)
    if dtype == "float16":  # all there are
        values = np.arange(2**16, dtype=np.uint16).view(dtype)[:, None]
    values = values[~np.isnan(values[:, 0])]
    _checked(f, [graph], z, values)


def test_absolute_values_of_reversed_rows_leave_the_loop() -> None:
    z = T.matrix("z", dtype="complex64")
    graph = scanopt.map(lambda row: abs(row[::-1]), z)[0]
    f = scanopt.function([z], [graph], fp="exact")
    assert not f.program.loops()
    _checked(f, [graph], z, numbers(np.random.default_rng(5), "complex64", 54, mild=True).reshape(6, 9))


def test_one_dtype_does_not_bar_another() -> None:
    """Powers of floats stay in the loop; those of integers, and what else there is, are computed at once."""
    x, k, z = T.dvector("x"), T.lvector("k"), T.vector("z", dtype="complex64")
    rows = scanopt.map(lambda x, k, z: [T.exp(x) * 2, k**2 + k**3, z + z, x**1.5], [x, k, z])[0]
    f = scanopt.function([x, k, z], rows, fp="exact")
    (loop,) = f.program.loops()
    assert [step.op.name for step in loop.body] == ["power"]
    assert not scanopt.function([x, k, z], rows).program.loops()


def test_half_precision_does_not_bar_double() -> None:
    h, x = T.vector("h", dtype="float16"), T.dvector("x")
    rows = scanopt.map(lambda h, x: [T.exp(h), T.exp(x), h * h], [h, x])[0]
    (loop,) = scanopt.function([h, x], rows, fp="exact").program.loops()
    assert [(step.op.name, step.type.dtype) for step in loop.body] == [("exp", "float16")]
