"""Functions for four numbers at a time: the bits of NumPy's loops, for every number, length and stride."""

import ctypes

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels import vector_functions
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.numpy_loops import inner_loop, ufunc
from scanopt.backends.kernels.trials import call_of, same_bits

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason="needs a C compiler")
DOUBLES = ("exp", "log", "log10", "tanh", "sin", "cos", "log1p", "expm1", "sinh", "cosh", "erf", "erfc", "ndtr")
ONE = [*((name, "float64") for name in DOUBLES),
       *((name, "float32") for name in ("erf", "erfc", "ndtr", "log1p", "expm1"))]  # fmt: skip
TWO = [("power", "float64"), ("logaddexp", "float64"), ("hypot", "float64"), ("logaddexp", "float32"),
       ("hypot", "float32")]  # fmt: skip


def loop_of(name, dtype="float64"):
    """NumPy's or SciPy's loop, and that of the file with its data; skips where the processor has none."""
    assert vector_functions.library(name, dtype).poll(120)
    plain = inner_loop(name, (dtype,) * (3 if (name, dtype) in TWO else 2))
    found = vector_functions.vector_loop(name, dtype, plain)
    if found == plain:
        pytest.skip("the plain loop is as fast here, or has other bits")
    return plain, found


def numbers(count, seed, dtype="float64"):
    rng = np.random.default_rng(seed)
    scales = (1e-300, 1e-17, 1e-3, 1, 20, 400, 1e5) if dtype == "float64" else (1e-40, 1e-9, 1e-3, 1, 5, 60, 1e5)
    kinds = [rng.normal(size=count) * scale for scale in scales]
    kinds += [1 + rng.normal(size=count) * scale for scale in (1e-9, 0.03, 0.1)] + [abs(rng.normal(size=count))]
    bits = rng.integers(0, 1 << 64, count, dtype=np.uint64).view(dtype)[:count]
    kinds = [*(x.astype(dtype) for x in kinds), bits]
    return np.stack(kinds)[rng.integers(0, len(kinds), count), np.arange(count)]


@pytest.mark.parametrize(("name", "dtype"), ONE)
def test_every_number_has_the_bits_of_numpy(name, dtype):
    _, (loop, data) = loop_of(name, dtype)
    for seed in range(4):
        x = numbers(250_000, seed, dtype)
        found = np.empty_like(x)
        call_of(loop, (x, found), (x.size,), (x.itemsize,) * 2, data)()
        with np.errstate(all="ignore"):
            assert same_bits(found, ufunc(name)(x))


@pytest.mark.parametrize(("name", "dtype"), ONE)
def test_all_lengths_and_strides(name, dtype):
    _, (loop, data) = loop_of(name, dtype)
    item = np.dtype(dtype).itemsize
    for count in range(20):
        for step, apart in ((1, 1), (2, 1), (1, 3), (-1, 1), (0, 1)):
            x, out = numbers(80, count, dtype), np.full(80, 7.0, dtype)
            start = 79 if step < 0 else 0
            call_of(loop, (x[start:], out), (count,), (item * step, item * apart), data)()
            with np.errstate(all="ignore"):
                expected = ufunc(name)(x[start + step * np.arange(count)])
            assert same_bits(out[: count * apart : apart], expected)
            assert (np.delete(out, np.arange(count) * apart) == 7).all()
    x = numbers(11, 1, dtype)
    with np.errstate(all="ignore"):
        expected = ufunc(name)(x)
    call_of(loop, (x, x), (11,), (item, item), data)()
    assert same_bits(x, expected)


@pytest.mark.parametrize(("name", "dtype"), TWO)
def test_every_two_numbers_have_the_bits_of_numpy(name, dtype):
    _, (loop, data) = loop_of(name, dtype)
    with np.errstate(all="ignore"):
        for seed in range(4):
            x, y, z = (numbers(250_000, seed + 10 * k, dtype) for k in range(3))
            y[::7], z[::9] = x[::7], -np.inf
            for a, b in ((abs(x), y), (abs(x), z), (x, np.rint(y)), (x + 1, x[::-1]), (x, z), (z, x)):
                found = np.empty_like(x)
                call_of(loop, (a, b, found), (x.size,), (x.itemsize, b.strides[0], x.itemsize), data)()
                assert same_bits(found, ufunc(name)(a, b))


@pytest.mark.parametrize(("name", "dtype"), TWO)
@pytest.mark.parametrize("number", [2.0, 1.0, 0.5, 0.0, -1.0, 3.0, -0.5, 1e-300, np.inf, -np.inf, np.nan])
def test_one_number_with_all(number, name, dtype):
    _, (loop, data) = loop_of(name, dtype)
    one, item = np.array([number], dtype), np.dtype(dtype).itemsize
    for count in range(20):
        x, out = numbers(80, count, dtype), np.full(80, 7.0, dtype)
        for given, steps in (((x, one), (2 * item, 0)), ((one, x), (0, item)), ((one, one), (0, 0))):
            call_of(loop, (*given, out), (count,), (*steps, item), data)()
            a, b = (np.lib.stride_tricks.as_strided(v, (count,), (s,)) for v, s in zip(given, steps, strict=True))
            with np.errstate(all="ignore"):
                assert same_bits(out[:count], ufunc(name)(a, b, out=np.empty(count, dtype)))
            assert (out[count:] == 7).all()


@pytest.mark.parametrize(
    "f", [T.tanh, T.sigmoid, T.exp, lambda x: T.log(abs(x) + 0.5), lambda x: T.softmax(x[None])[0], T.sin,
          lambda x: T.cos(20 * x), lambda x: abs(x) ** 1.3, lambda x: 1.7**x,
          T.softplus, lambda x: T.logaddexp(x, x[::-1]), lambda x: T.log1p(abs(x)), T.expm1, T.erf, T.erfc,
          lambda x: T.hypot(x, x[::-1]), lambda x: T.sinh(0.1 * x), lambda x: 1 / T.cosh(x), T.nnet.elu]
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernels_that_call_them_have_the_bits_of_array_steps(f, dtype):
    u, s = T.matrix("u", dtype=dtype), T.vector("s", dtype=dtype)
    ys, _ = scanopt.scan(lambda u, s: f(u + np.dtype(dtype).type(0.3) * s).astype(dtype), u, s)
    kernels = scanopt.function([u, s], ys, fp="exact", backend="c")
    rng = np.random.default_rng(0)
    for width in (1, 3, 8, 33):
        values = (rng.normal(size=(50, width)) * 10).astype(dtype), rng.normal(size=width).astype(dtype)
        np.testing.assert_array_equal(kernels(*values), kernels.unoptimized(*values))


@pytest.mark.parametrize("name", ["sgn", "heaviside", "deg2rad", "radians", "rad2deg", "degrees"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_signs_steps_and_angles_of_rows(name, dtype):
    x, half = T.vector("x", dtype=dtype), np.dtype(dtype).type(0.5)
    more = (half,) if name == "heaviside" else ()
    rows = scanopt.function([x], getattr(T, name)(x, *more), fp="exact", backend="c")
    last, _ = scanopt.scan(lambda v, s: getattr(T, name)(v + 0 * s, *more), x, T.zeros((), dtype=dtype))
    one = scanopt.function([x], last, fp="exact", backend="c")
    values = numbers(1000, 0, dtype)
    values[::50] = np.resize([0.0, -0.0, np.nan, np.inf, -np.inf], 20)
    with np.errstate(all="ignore"):
        expected = getattr(np, name.replace("sgn", "sign"))(values, *more)
        steps = getattr(np, name.replace("sgn", "sign"))(values + 0 * half, *more)
    assert same_bits(rows(values), expected)
    same = np.isfinite(values)
    assert same_bits(one(values)[: same.argmin()], steps[: same.argmin()])


def test_a_loop_with_other_bits_is_not_called(monkeypatch):
    plain, found = loop_of("exp")

    @ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
    def nothing(*_):
        pass

    other = ctypes.cast(nothing, ctypes.c_void_p).value, 0
    assert vector_functions._is_better(found, plain)
    assert not vector_functions._is_better(other, plain)
    monkeypatch.setattr(vector_functions, "_is_better", lambda *_: False)
    assert vector_functions.vector_loop.__wrapped__("exp", "float64", plain) == plain


def test_array_steps_run_until_the_functions_are_compiled(monkeypatch):
    known, put = False, []
    monkeypatch.setattr("scanopt.backends.kernels.plans.vectors_known", lambda *_: known)
    monkeypatch.setattr("scanopt.backends.kernels.plans.put_vectors", lambda *given: put.append(given))
    u, s = T.dmatrix("u"), T.dvector("s")
    ys, _ = scanopt.scan(lambda u, s: T.exp(-abs(u + 0.3 * s)), u, s)
    f = scanopt.function([u, s], ys[-1], fp="exact", backend="c")
    values = np.ones((50, 9)), np.ones(9)
    expected = f.unoptimized(*values)
    for known in (False, True):
        np.testing.assert_array_equal(f(*values), expected)
        assert bool(put) == known
