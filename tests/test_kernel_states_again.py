"""States that take one operation on what a loop keeps anyway: their rows are computed again, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.compilers import compiler

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason="needs a C compiler")
RNG = np.random.default_rng(7)


def gated(dtype: str, op: str, dims: int, square: bool) -> Any:
    """The gradient of a loop whose state is an operation on two gates, by its weights and its first state."""
    x, h = (T.TensorType(dtype, (None,) * n)() for n in (dims + 1, dims))
    W, U, V = (T.TensorType(dtype, (None, None))() for _ in range(3))

    def step(x: Any, h: Any, W: Any, U: Any, V: Any) -> Any:
        a, b = T.tanh(x @ W + h @ U), T.sigmoid(h @ V)
        return a * b if op == "*" else a + b if op == "+" else a - b

    hs, _ = scanopt.scan(step, x, h, non_sequences=[W, U, V])
    cost = (hs**2).sum() if square else T.sin(hs[-1]).sum()
    return scanopt.function([x, h, W, U, V], T.grad(cost, [W, U, V, h]), fp="exact", backend="c")


@pytest.mark.share(6)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("op", ["*", "+", "-"])
@pytest.mark.parametrize("square", [True, False])
def test_gradients_have_the_bits_of_array_steps(dtype: str, op: str, square: bool) -> None:
    f = gated(dtype, op, 2, square)
    for steps, batch, units, given in [(1, 3, 11, 4), (2, 3, 11, 4), (7, 2, 12, 3), (9, 32, 16, 16), (5, 1, 13, 10)]:
        shapes = ((steps, batch, given), (batch, units), (given, units), (units, units), (units, units))
        values = [RNG.normal(size=s).astype(dtype) for s in shapes]
        crooked = [np.asfortranarray(v) if i % 2 else np.repeat(v, 2, axis=0)[::2] for i, v in enumerate(values)]
        for arguments in (values, crooked, values):
            for found, expected in zip(f(*arguments), f.unoptimized(*arguments), strict=True):
                np.testing.assert_array_equal(found, expected)
    assert "1 of 1 kernels" in str(f.kernels[-1]) or "compiled" in f.kernels[-1].state


@pytest.mark.parametrize("op", ["*", "-"])
def test_rows_that_are_vectors(op: str) -> None:
    f = gated("float64", op, 1, True)
    for steps, units, given in [(1, 11, 4), (2, 16, 4), (9, 40, 3)]:
        shapes = ((steps, given), (units,), (given, units), (units, units), (units, units))
        values = [RNG.normal(size=s) for s in shapes]
        for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_memory_is_for_gates_alone() -> None:
    """Two arrays of all rows, not three, beside little."""
    f = gated("float64", "*", 2, True)
    steps, batch, units = 50, 16, 24
    shapes = ((steps, batch, units), (batch, units), *((units, units),) * 3)
    values = [RNG.normal(size=s) for s in shapes]
    for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_array_equal(found, expected)
    rows = 8 * steps * batch * units
    assert max(k.memory for k in f.kernels) < 2.6 * rows


def test_rows_that_are_results_or_read_otherwise_are_kept() -> None:
    """Forwards, as a whole, or one of them by itself."""
    x, h, W = T.dtensor3("x"), T.dmatrix("h"), T.dmatrix("W")
    hs, _ = scanopt.scan(lambda x, h, W: T.tanh(x) * T.tanh(h @ W), x, h, non_sequences=W)
    gradient = T.grad((hs**2).sum(), W)
    later, _ = scanopt.scan(lambda h, s: s * h + T.tanh(h), hs, h)
    values = [RNG.normal(size=s) for s in ((6, 4, 12), (4, 12), (12, 12))]
    for more in (hs, hs[-1], hs[2], hs.sum(), later[-1], later[::-1]):
        f = scanopt.function([x, h, W], [gradient, more], fp="exact", backend="c")
        for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(found, expected)
