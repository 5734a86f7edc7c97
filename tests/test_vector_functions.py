"""Functions for four numbers at a time: the bits of NumPy's loops, for every number, length and stride."""

import ctypes

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels import vector_functions
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.backends.kernels.trials import call_of, same_bits

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason="needs a C compiler")
FUNCTIONS = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
             "log1p": np.log1p}  # fmt: skip
TWO = {"power": np.power, "logaddexp": np.logaddexp}


def loop_of(name):
    """NumPy's loop, and that of the file with its data; skips where the processor has none."""
    assert vector_functions.library(name).poll(120)
    plain = inner_loop(name, ("float64",) * (3 if name in TWO else 2))
    found = vector_functions.vector_loop(name, plain)
    if found == plain:
        pytest.skip("NumPy's loop is as fast here, or has other bits")
    return plain, found


def numbers(count, seed):
    rng = np.random.default_rng(seed)
    kinds = [rng.normal(size=count) * scale for scale in (1e-300, 1e-17, 1e-3, 1, 20, 400, 1e5)]
    kinds += [1 + rng.normal(size=count) * scale for scale in (1e-9, 0.03, 0.1)] + [abs(rng.normal(size=count))]
    kinds.append(rng.integers(0, 1 << 64, count, dtype=np.uint64).view("float64"))
    return np.stack(kinds)[rng.integers(0, len(kinds), count), np.arange(count)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number_has_the_bits_of_numpy(name):
    _, (loop, data) = loop_of(name)
    for seed in range(4):
        x = numbers(250_000, seed)
        found = np.empty_like(x)
        call_of(loop, (x, found), (x.size,), (8, 8), data)()
        with np.errstate(all="ignore"):
            assert same_bits(found, FUNCTIONS[name](x))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_lengths_and_strides(name):
    _, (loop, data) = loop_of(name)
    for count in range(10):
        for step, apart in ((1, 1), (2, 1), (1, 3), (-1, 1), (0, 1)):
            x, out = numbers(40, count), np.full(40, 7.0)
            start = 39 if step < 0 else 0
            call_of(loop, (x[start:], out), (count,), (8 * step, 8 * apart), data)()
            with np.errstate(all="ignore"):
                expected = FUNCTIONS[name](x[start + step * np.arange(count)])
            assert same_bits(out[: count * apart : apart], expected)
            assert (np.delete(out, np.arange(count) * apart) == 7).all()
    x = numbers(11, 1)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](x)
    call_of(loop, (x, x), (11,), (8, 8), data)()
    assert same_bits(x, expected)


@pytest.mark.parametrize("name", TWO)
def test_every_two_numbers_have_the_bits_of_numpy(name):
    _, (loop, data) = loop_of(name)
    with np.errstate(all="ignore"):
        for seed in range(4):
            x, y, z = (numbers(250_000, seed + 10 * k) for k in range(3))
            y[::7], z[::9] = x[::7], -np.inf
            for a, b in ((abs(x), y), (abs(x), z), (x, np.rint(y)), (x + 1, x[::-1]), (x, z), (z, x)):
                found = np.empty_like(x)
                call_of(loop, (a, b, found), (x.size,), (8, b.strides[0], 8), data)()
                assert same_bits(found, TWO[name](a, b))


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("number", [2.0, 1.0, 0.5, 0.0, -1.0, 3.0, -0.5, 1e-300, np.inf, -np.inf, np.nan])
def test_one_number_with_all(number, name):
    _, (loop, data) = loop_of(name)
    one = np.array([number])
    for count in range(10):
        x, out = numbers(40, count), np.full(40, 7.0)
        for given, steps in (((x, one), (16, 0)), ((one, x), (0, 8)), ((one, one), (0, 0))):
            call_of(loop, (*given, out), (count,), (*steps, 8), data)()
            a, b = (np.lib.stride_tricks.as_strided(v, (count,), (s,)) for v, s in zip(given, steps, strict=True))
            with np.errstate(all="ignore"):
                assert same_bits(out[:count], TWO[name](a, b, out=np.empty(count)))
            assert (out[count:] == 7).all()


@pytest.mark.parametrize(
    "f", [T.tanh, T.sigmoid, T.exp, lambda x: T.log(abs(x) + 0.5), lambda x: T.softmax(x[None])[0], T.sin,
          lambda x: T.cos(20 * x), lambda x: abs(x) ** 1.3, lambda x: 1.7**x,
          T.softplus, lambda x: T.logaddexp(x, x[::-1]), lambda x: T.log1p(abs(x))]
)  # fmt: skip
def test_kernels_that_call_them_have_the_bits_of_array_steps(f):
    u, s = T.dmatrix("u"), T.dvector("s")
    ys, _ = scanopt.scan(lambda u, s: f(u + 0.3 * s), u, s)
    kernels = scanopt.function([u, s], ys, fp="exact", backend="c")
    rng = np.random.default_rng(0)
    for width in (1, 3, 8, 33):
        values = rng.normal(size=(50, width)) * 10, rng.normal(size=width)
        np.testing.assert_array_equal(kernels(*values), kernels.unoptimized(*values))


def test_a_loop_with_other_bits_is_not_called(monkeypatch):
    plain, found = loop_of("exp")

    @ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
    def nothing(*_):
        pass

    other = ctypes.cast(nothing, ctypes.c_void_p).value, 0
    assert vector_functions._is_better(found, plain)
    assert not vector_functions._is_better(other, plain)
    monkeypatch.setattr(vector_functions, "_is_better", lambda *_: False)
    assert vector_functions.vector_loop.__wrapped__("exp", plain) == plain


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
