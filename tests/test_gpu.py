"""Programs on CuPy arrays: on a GPU where there is one, and everywhere on a module that stands in for CuPy."""

import importlib.util
import sys
from functools import partial
from itertools import count, islice
from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice
from random_programs import build, generate
from test_documents_examples import POLYNOMIAL, POWER, POWER_OF_2, RNN, SET_VALUES, TRIANGULAR, numbers, run

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.backends.cupy import CuPy
from scanopt.loops.profile import reset_profiles

RANDOM_PROGRAMS = 50
TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}  # of the largest entry


def missing() -> str:
    """What there is no GPU for, "" where programs can run on one."""
    try:
        executor("cupy")
    except RuntimeError as error:
        return str(error)
    return ""


MISSING = missing()
needs_gpu = pytest.mark.skipif(bool(MISSING), reason=f"not run on a GPU: {MISSING}")


@pytest.fixture(params=["stand-in", pytest.param("gpu", marks=needs_gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The array module that backend="cupy" runs on."""
    if request.param == "stand-in":
        monkeypatch.setattr("scanopt.backends.cupy.make", partial(CuPy, FakeDevice()))
    return executor("cupy").xp


def assert_close(found: Any, expected: Any) -> None:
    assert type(found) is np.ndarray
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = TOLERANCE.get(expected.dtype.name, 0.0)
    finite = np.abs(expected[np.isfinite(expected)]) if tolerance else np.zeros(0)
    atol = tolerance * float(finite.max(initial=1.0))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=atol)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    "code",
    [POWER, POLYNOMIAL, TRIANGULAR, SET_VALUES, POWER_OF_2],
    ids=["power", "polynomial", "triangular", "set_values", "power_of_2"],
)
def test_documented_programs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        _, expected = run(code, {"mode": "unoptimized"}, patch)
    _, printed = run(code, {"backend": "cupy"}, monkeypatch)
    np.testing.assert_allclose(numbers(printed), numbers(expected), rtol=1e-6)


@pytest.mark.usefixtures("device")
def test_recurrence_with_several_taps(monkeypatch: pytest.MonkeyPatch) -> None:
    names, _ = run(RNN, {}, monkeypatch)
    inputs = [names[n] for n in ("u", "x0", "y0", "W", "W_in_1", "W_in_2", "W_feedback", "W_out")]
    outputs = [names["x_vals"], names["y_vals"]]
    f = scanopt.function(inputs, outputs, backend="cupy")
    rng = np.random.default_rng(0)
    for rows in (9, 40, 4):
        shapes = [(rows, 2), (3, 5), (3,), (5, 5), (2, 5), (2, 5), (3, 5), (5, 3)]
        values = [rng.standard_normal(s) / 2 for s in shapes]
        for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
            assert_close(found, expected)


def seeds() -> list[int]:
    """Of programs without operators that jump: rounding differs between devices."""
    return list(islice((seed for seed in count() if generate(seed, pure=True).smooth), RANDOM_PROGRAMS))


@pytest.mark.share(6)
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("seed", seeds())
def test_random_programs(seed: int) -> None:
    try:
        values, outputs = build(generate(seed, pure=True))
        expected = scanopt.interpret(outputs, values)
    except (IndexError, ValueError):
        return  # errors are compared in test_device.py
    f = scanopt.function(list(values), outputs, backend="cupy", on_unused_input="ignore")
    for found, e in zip(f(*values.values()), expected, strict=True):
        assert_close(found, e)


def test_arrays_of_the_device_come_back_as_such(device: Any) -> None:
    x = T.dvector("x")
    f = executor("cupy").compile(scanopt.function([x], x * 2).program)
    (there,) = f([device.asarray(np.arange(3.0))])
    assert isinstance(there, device.ndarray)
    assert device.asnumpy(there).tolist() == [0.0, 2.0, 4.0]


def test_options_of_loops(device: Any) -> None:
    """Times are read when the device is done; kept buffers do not show in results."""
    X, W, h0 = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h0")
    step = lambda x, h: T.tanh(T.dot(W, h) + x) * T.exp(h)  # noqa: E731
    h, _ = scanopt.scan(step, X, h0, profile="on the device", allow_gc=False)
    f = scanopt.function([X, W, h0], h, backend="cupy")
    rng = np.random.default_rng(0)
    calls = [[rng.normal(size=s) / 4 for s in ((n, m), (m, m), (m,))] for n, m in ((5, 3), (5, 3), (2, 4), (5, 3))]
    results = [f(*values) for values in calls]
    for values, found in zip(calls, results, strict=True):
        assert_close(found, f.unoptimized(*values))
    if isinstance(device, FakeDevice):
        operators = 5
        assert device.waited == sum((2 + operators) * len(X) + 2 for X, _, _ in calls)
    reset_profiles()


def test_steps_of_complex_numbers(device: Any) -> None:
    """They have no kernels; on a GPU they are captured as CUDA graphs, and again for arrays of other shapes."""
    c, n = T.zvector("c"), T.lscalar("n")
    z, _ = scanopt.scan(lambda z: z * z + c, outputs_info=T.zeros_like(c), n_steps=n)
    f = scanopt.function([c, n], z, backend="cupy")
    rng = np.random.default_rng(0)
    for size, steps in ((3, 200), (3, 37), (5, 200), (3, 129)):
        given = (rng.normal(size=size) + 1j * rng.normal(size=size)) / 8, steps
        assert_close(f(*given), f.unoptimized(*given))
    if not isinstance(device, FakeDevice):
        assert "4 runs by CUDA graphs" in f.kernels[0].state, f.kernels[0].state


# ---- without one ----


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU: the error names CuPy and the GPU, whatever the mode, and other backends work."""
    x = T.dvector("x")
    if importlib.util.find_spec("cupy") is None:
        expected = r'backend="cupy" needs CuPy and an NVIDIA GPU: pip install cupy'
    else:
        monkeypatch.setattr("cupy.cuda.is_available", lambda: False)
        expected = 'backend="cupy" needs CuPy and an NVIDIA GPU: no CUDA device found'
    for mode in (None, "FAST_COMPILE", "unoptimized"):
        with pytest.raises(RuntimeError, match=expected):
            scanopt.function([x], x + 1, backend="cupy", mode=mode)
    assert scanopt.function([x], x + 1, backend="auto")([1.0]).tolist() == [2.0]


def test_a_device_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeDevice()
    fake.cuda.is_available = lambda: False
    monkeypatch.setitem(sys.modules, "cupy", fake)
    x = T.dvector("x")
    with pytest.raises(RuntimeError, match="no CUDA device found"):
        scanopt.function([x], x + 1, backend="cupy")
