"""Programs on a device that answers as CuPy does: NumPy's values and errors, arrays in and out."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any

import numpy as np
import pytest
from random_programs import build, generate
from shares import tries
from strict_device import StrictArray, StrictDevice
from test_ops import CASES, LINALG, NAMES, SPECIAL, close

import scanopt
import scanopt.tensor as T
from scanopt.array.device import on_device
from scanopt.backends import executor
from scanopt.backends.device_operators import Watch, bind_on_device

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]
PROGRAMS = tries(40)
ON_HOST = {"has_rows"}
"""A bool of Python's, for a branch."""


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = StrictDevice.shared()
    monkeypatch.setitem(sys.modules, "cupy", found)
    return found


def there(x: Any) -> StrictArray:
    return StrictArray(np.array(x))


@pytest.mark.parametrize("name", [n for n in NAMES if n not in {*LINALG, *SPECIAL} | ON_HOST])
def test_operators(name: str, device: Any) -> None:
    """Those of linear algebra and SciPy's functions have tests of their own."""
    watch = Watch(device)
    for seed in range(3):
        op, args = CASES[name](np.random.default_rng(seed))
        watch.start(True)
        with np.errstate(all="ignore"):
            try:
                expected = np.asarray(op.bind(np)(*args))
            except (IndexError, ValueError) as error:
                with pytest.raises(type(error)):
                    bind_on_device(op, device, watch)(*map(there, args))
                continue
            found = bind_on_device(op, device, watch)(*map(there, args))
        assert isinstance(found, StrictArray)
        close(found.data, expected)


def test_random_programs() -> None:
    """Values and errors; only where programs jump may rounding differ."""
    for seed in islice((s for s in range(10**6) if generate(s, pure=True).smooth), PROGRAMS):
        try:
            values, outputs = build(generate(seed, pure=True))
        except (IndexError, ValueError):
            continue  # the program itself is wrong
        f = scanopt.function(list(values), outputs, backend="cupy", on_unused_input="ignore")
        try:
            expected = scanopt.interpret(outputs, values)
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                f(*values.values())
            continue
        for found, e in zip(f(*values.values()), expected, strict=True):
            assert type(found) is np.ndarray
            np.testing.assert_allclose(found, e, rtol=1e-4 if e.dtype == np.float32 else 1e-9, atol=1e-6)


def test_an_index_out_of_range_is_the_error_of_the_cpu() -> None:
    x, i = T.dvector("x"), T.lvector("i")
    y, _ = scanopt.scan(lambda j: x[j] * 2, i)
    for out in (x[i] + 1, T.set_subtensor(x[i], 1.0), y):
        f = scanopt.function([x, i], out, backend="cupy")
        f([1.0, 2.0], [0, -1])
        for bad in ([0, 2], [-3]):
            with pytest.raises(IndexError, match=r"out of bounds for axis 0 with (length|size) 2"):
                f([1.0, 2.0], bad)


def test_of_several_values_for_one_place_the_last_stays(device: Any) -> None:
    x, i, y = T.dmatrix("x"), T.lvector("i"), T.dvector("y")
    for out, args in [
        (T.set_subtensor(x[i, 1], y), ([1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0])),
        (T.set_subtensor(x[i], y), ([1, 1], [5.0, 6.0, 7.0])),
        (T.inc_subtensor(x[i, 0], y), ([1, 1, 0], [5.0, 6.0, 7.0])),
    ]:
        f = scanopt.function([x, i, y], out, backend="cupy")
        given = (np.zeros((2, 3)), *args)
        np.testing.assert_array_equal(f(*given), f.unoptimized(*given))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "bool"])
def test_adding_to_places_in_every_dtype(dtype: str, device: Any) -> None:
    x, i, y = T.vector("x", dtype=dtype), T.lvector("i"), T.vector("y", dtype=dtype)
    f = scanopt.function([x, i, y], T.inc_subtensor(x[i], y), backend="cupy")
    given = (np.array([1, 0, 1], dtype), np.array([0, 0, 2, -1]), np.array([1, 100, 1, 1], dtype))
    np.testing.assert_array_equal(f(*given), f.unoptimized(*given))


def test_division_and_casts_are_those_of_numpy(device: Any) -> None:
    a = np.array([1.0, -1.0, 7.5, np.inf, 3.0, -0.0, 5.0, np.nan, -7.0, 1e300])
    b = np.array([0.1, 0.1, -2.0, 2.0, np.inf, 3.0, 0.0, 1.0, 7.0, 1e-5])
    x, y = T.dvector("x"), T.dvector("y")
    f = scanopt.function([x, y], [x // y, x % y, T.cast(x * 1e9, "int32"), T.cast(x * 1e18, "int64")], backend="cupy")
    for found, expected in zip(f(a, b), f.unoptimized(a, b), strict=True):
        np.testing.assert_array_equal(found, expected)
        if found.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


# ---- arrays in and out ----


class OfAnotherLibrary:
    """An array on the device that only tells where it lies."""

    def __init__(self, data: StrictArray) -> None:
        self.there = data

    def __dlpack__(self, **options: Any) -> Any:
        raise AssertionError("asked for by the device module")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def test_auto_runs_where_the_arguments_are(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StrictDevice, "from_dlpack", staticmethod(lambda x: x.there), raising=False)
    x, y = T.dvector("x"), T.dvector("y")
    f = scanopt.function([x, y], T.exp(x) + y)
    on_host = f([0.0, 1.0], [1.0, 1.0])
    assert type(on_host) is np.ndarray
    for first in (there([0.0, 1.0]), OfAnotherLibrary(there([0.0, 1.0]))):
        assert on_device(first)
        found = f(first, [1.0, 1.0])
        assert isinstance(found, StrictArray)
        np.testing.assert_allclose(found.data, on_host)


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_other_backends_say_that_an_argument_is_on_a_device(backend: str) -> None:
    x = T.dvector("x")
    f = scanopt.function([x], x + 1, backend=backend)
    with pytest.raises(TypeError, match=f"argument x lies on a device: backend='{backend}' takes NumPy arrays"):
        f(there([1.0]))


def test_dtypes_of_arguments_on_the_device() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], x * 2, backend="cupy")
    assert f(there(np.ones(2, "float32"))).data.dtype == "float64"
    with pytest.raises(TypeError, match="expected float64, found an array on a device of dtype complex128"):
        f(there(np.ones(2, "complex128")))
    with pytest.raises(TypeError, match="expected 1 axis"):
        f(there(np.ones((2, 2))))


def test_arguments_on_two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = T.dvector("x"), T.dvector("y")
    f = scanopt.function([x, y], x * y, backend="cupy")
    places = iter([0, 1])
    monkeypatch.setattr("scanopt.backends.cupy._place", lambda x: next(places))
    with pytest.raises(ValueError, match="arguments lie on devices 0, 1: copy them to one"):
        f(there([1.0]), there([1.0]))


def test_shared_variables_are_updated_from_the_device() -> None:
    s = scanopt.shared(np.zeros(2), name="s")
    f = scanopt.function([], s, updates={s: s + 1}, backend="cupy")
    f()
    f()
    assert type(s.get_value()) is np.ndarray
    assert s.get_value().tolist() == [2.0, 2.0]


def test_a_saved_program_runs_on_the_device_without_egglog(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = T.dvector("x")
    y, _ = scanopt.scan(lambda v, s: s * 0.5 + v, x, T.zeros(()))
    scanopt.function([x], y).save(tmp_path / "f.json")
    monkeypatch.setitem(sys.modules, "egglog", None)
    f = scanopt.load(tmp_path / "f.json", backend="cupy")
    np.testing.assert_allclose(f([1.0, 1.0]), [1.0, 1.5])


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(RuntimeError, match="pip install cupy-cuda13x, or cupy-cuda12x where the driver is for CUDA 12"):
        executor("cupy")


def test_programs_are_chosen_for_the_device() -> None:
    """One call for all steps, where array steps on NumPy are as cheap."""
    x = T.dmatrix("x")
    y, _ = scanopt.scan(lambda v, s: T.exp(v) * 0.5 + s, x, T.zeros(8))
    f = scanopt.function([x], y, backend="cupy")
    assert f.program.loops() == []
    g = scanopt.function([x], y, backend="cupy", cost="numpy")
    given = np.random.default_rng(0).normal(size=(5, 8))
    for h in (f, g):
        np.testing.assert_allclose(h(given), h.unoptimized(given))
