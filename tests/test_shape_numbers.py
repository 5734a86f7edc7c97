"""Numbers of steps and slices that the shapes of inputs tell: read there, and no arrays made for them."""

import sys
from functools import partial

import numpy as np
import pytest
from strict_device import StrictDevice

import scanopt
import scanopt.tensor as T
from scanopt.backends.cupy import CuPy

X, Y, h = [*T.dmatrices("X", "Y"), T.dvector("h")]
VALUES = [np.arange(12.0).reshape(6, 2), np.ones((5, 2)), np.zeros(2)]
STEP = scanopt.scan(lambda x, y, h: T.tanh(h * x + y), [X, Y], h)[0]


def test_the_fewest_rows_are_found_without_arrays() -> None:
    f = scanopt.function([X, Y, h], STEP, backend="numpy")
    assert "min(x0.shape[0], x1.shape[0])" in f.source
    assert "shape_i" not in f.source
    np.testing.assert_allclose(f(*VALUES), f.unoptimized(*VALUES), rtol=1e-12)


def test_what_is_read_otherwise_is_made() -> None:
    f = scanopt.function([X, Y, h], [STEP, X.shape[0] * 2, T.ones(T.minimum(X.shape[0], Y.shape[0]))], backend="numpy")
    trace, twice, ones = f(*VALUES)
    assert (len(trace), twice, ones.shape) == (5, 12, (5,))


def test_nothing_waits_for_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    device = StrictDevice.shared()
    monkeypatch.setattr("scanopt.backends.cupy.make", partial(CuPy, device))
    monkeypatch.setitem(sys.modules, "cupy", device)
    f = scanopt.function([X, Y, h], STEP, backend="cupy")
    given = [device.asarray(v) for v in VALUES]
    before = device.waited
    found = f(*given)
    assert device.waited == before
    np.testing.assert_allclose(found.get(), f.unoptimized(*VALUES), rtol=1e-12)
