"""Functions of few numbers that kernels call without NumPy's loop: the bits are those of the loop."""

import ctypes
import platform
from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.direct_calls import direct_address, lanes_of
from scanopt.backends.kernels.loop_report import ONCE

UFUNCS = [
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "cos", "cosh", "exp",
    "exp2", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh",
]  # fmt: skip


def drawn(dtype: str, seed: int, count: int = 300) -> Any:
    """Numbers of all sizes, and what is no number."""
    rng = np.random.default_rng(seed)
    size = np.dtype(dtype).itemsize
    bits = rng.integers(0, 1 << (8 * size), count, dtype=f"u{size}", endpoint=False).view(dtype)
    near = (rng.normal(size=count) * 10.0 ** rng.integers(-3, 3, count)).astype(dtype)
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 0.5], dtype)
    return rng.permutation(np.concatenate([bits, near, odd]))


def exactly(f: Any, *values: Any) -> None:
    with np.errstate(all="ignore"):
        assert_same([*f(*values)], [*f.unoptimized(*values)])
    assert all(k.loop == ONCE and "compiled" in k.state for k in f.kernels)


def exact(inputs: Any, found: Any) -> Any:
    return scanopt.function(inputs, found, fp="exact", backend="c")


@pytest.mark.share(8)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", UFUNCS)
def test_one_number_at_each_step(name: str, dtype: str) -> None:
    """The state keeps the loop a loop, and is what earlier numbers became."""
    x = T.TensorType(dtype, (None,))("x")
    call = getattr(T, name)

    def step(v: Any, s: Any) -> Any:
        y = call(v)
        return [y, T.where(T.isfinite(y), y - s, call(s)).astype(dtype)]

    (ys, ss), _ = scanopt.scan(step, x, [None, T.constant(0.25, dtype=dtype)])
    f = exact([x], [ys, ss])
    for seed in range(3):
        exactly(f, drawn(dtype, seed))


@pytest.mark.share(8)
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("lanes", [2, 3, 8, 9])
def test_few_numbers_at_each_step(name: str, lanes: int) -> None:
    x = T.TensorType("float64", (None, lanes))("x")
    call = getattr(T, name)

    def step(v: Any, s: Any) -> Any:
        y, z = call(v), call(v[0] * 0.5)
        return [y, z, T.where(T.isfinite(y), y - s + z, s)]

    found, _ = scanopt.scan(step, x, [None, None, T.zeros(lanes)])
    f = exact([x], found)
    values = drawn("float64", lanes)
    exactly(f, values[: len(values) // lanes * lanes].reshape(-1, lanes))


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["arctan2", "fmod", "hypot", "power"])
def test_functions_of_two_numbers(name: str, dtype: str) -> None:
    """Of numbers; of few side by side, and of these and a number."""
    x, y = (T.TensorType(dtype, (None, 3))(c) for c in "xy")
    call = getattr(T, name)

    def step(v: Any, u: Any, s: Any) -> Any:
        found = [call(v[0], u[0]), call(abs(v[1]), u[1]), call(abs(v[2]), T.constant(1.5, dtype=dtype))]
        if name != "power":
            found += [*call(v, u), *call(v, s), *call(s, u)]
        return [*found, T.where(T.isfinite(found[0]), found[0] - s, call(s, v[0])).astype(dtype)]

    count = 4 if name == "power" else 13
    found, _ = scanopt.scan(step, [x, y], [*(None,) * (count - 1), T.constant(0.25, dtype=dtype)])
    f = exact([x, y], found)
    for seed in range(3):
        exactly(f, *(drawn(dtype, seed + 10 * i)[:600].reshape(-1, 3) for i in range(2)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_powers_of_one_number_by_one(dtype: str) -> None:
    """NumPy squares, inverts and takes roots where there is one exponent."""
    x, y = (T.TensorType(dtype, (None,))(c) for c in "xy")
    f = exact([x, y], [scanopt.scan(lambda v, u, s: T.power(abs(v), u) + s * 0, [x, y], T.constant(0, dtype=dtype))[0]])
    rng = np.random.default_rng(0)
    for _ in range(3):
        values = (rng.normal(size=200) * 10.0 ** rng.integers(-9, 9, 200)).astype(dtype)
        exactly(f, values, rng.choice(np.array([2, -1, 0.5, -0.5, 0, 1, 3, 1.5], dtype), 200))


def test_what_stands_for_no_loop() -> None:
    assert not lanes_of("exp", ("float32", "float32"))  # NumPy has that written out
    assert not lanes_of("exp", ("float32", "float64"))
    assert not direct_address("direct sqrt", "float64")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="of these processors we know which loops call what")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [*UFUNCS, "arctan2", "fmod", "hypot", "power"])
def test_a_function_is_one_that_the_loop_calls_on_this_processor(name: str, dtype: str) -> None:
    """A processor without AVX-512 has no use for NumPy's functions of a vector register: the loop calls others."""
    f, lanes = getattr(np, name), lanes_of(name, (dtype,))
    assert lanes <= 1 or np._core._multiarray_umath.__cpu_features__["AVX512F"]  # type: ignore[attr-defined]
    if lanes != 1 or name == "tanh":  # of one register; of coefficients
        return
    number = ctypes.c_double if dtype == "float64" else ctypes.c_float
    called = ctypes.CFUNCTYPE(number, *[number] * f.nin)(direct_address(f"direct {name}", dtype))
    values = [abs(drawn(dtype, i)) for i in range(f.nin)]
    with np.errstate(all="ignore"):
        found, expected = np.array([called(*x) for x in zip(*values, strict=True)], dtype), f(*values)
    same = (found == expected) & (np.signbit(found) == np.signbit(expected))
    assert (same | (np.isnan(found) & np.isnan(expected))).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_loop_is_called_where_coefficients_differ(dtype: str, monkeypatch: Any) -> None:
    """As in a library of other functions; and where there are none."""
    x = T.TensorType(dtype, (None,))("x")
    values = drawn(dtype, 1)
    for other in (np.full((32, 18), 0.5, dtype), None):
        monkeypatch.setattr(scanopt.backends.kernels.written_tanh, "tanh_table", lambda _, other=other: other)
        scanopt.backends.kernels.direct_calls._found.cache_clear()
        scanopt.backends.kernels.numpy_loops.inner_loop.cache_clear()
        half = T.constant(0.5, dtype=dtype)
        f = exact([x], [scanopt.scan(lambda v, s, half: T.tanh(v - s * half), x, half, non_sequences=half)[0]])
        exactly(f, values)
    monkeypatch.undo()
    scanopt.backends.kernels.direct_calls._found.cache_clear()
    scanopt.backends.kernels.numpy_loops.inner_loop.cache_clear()


def test_the_loop_is_called_where_bits_differ(monkeypatch: Any) -> None:
    """As the cosine in place of the sine."""
    monkeypatch.setitem(scanopt.backends.kernels.direct_calls._NAMES, "sin", "cos")
    scanopt.backends.kernels.direct_calls._found.cache_clear()
    scanopt.backends.kernels.numpy_loops.inner_loop.cache_clear()
    try:
        x = T.dvector("x")
        f = exact([x], [scanopt.scan(lambda v, s: T.sin(v - s * 0.5), x, T.constant(0.25, dtype="float64"))[0]])
        exactly(f, drawn("float64", 1))
    finally:
        monkeypatch.undo()
        scanopt.backends.kernels.direct_calls._found.cache_clear()
        scanopt.backends.kernels.numpy_loops.inner_loop.cache_clear()


@pytest.mark.parametrize("name", ["sin", "exp", "log1p"])
def test_two_numbers_are_two_calls_of_a_function_of_one(name: str) -> None:
    x, y = T.dvector("x"), T.dscalar("y")
    both = scanopt.scan(lambda v, s: getattr(T, name)(v) + getattr(T, name)(s * 0.5), x, y)[0]
    f = scanopt.function([x, y], both, fp="exact", backend="c")
    for values in ([0.5], [np.nan, 0.1, -0.0], [np.inf, 2.0, -np.inf]):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(f(np.array(values), 0.25), f.unoptimized(np.array(values), 0.25))
    joined = str(f.kernels[0]).count("c[] = ") + str(f.kernels[0]).count("const int64 n[] = {2}")
    if lanes_of(name, ("float64", "float64")) == 1:
        assert not joined
