"""Gradients of several parts of one array: what each adds is added to one array."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.program.ir import Compute

RNG = np.random.default_rng(11)


def ops(f: Any) -> list[str]:
    return [s.op.name for s in f.program.walk() if isinstance(s, Compute)]


@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_gates_of_a_step_share_one_array_of_gradients(fp: str) -> None:
    X, W, h = T.dmatrices("X", "W", "h")

    def step(v: Any, s: Any, w: Any) -> Any:
        a = T.dot(s, w) + v
        return T.tanh(a[:, :3]) * T.sigmoid(a[:, 3:6]) + a[:, 6:]

    last = scanopt.scan(step, X, h, W)[0][-1]
    f = scanopt.function([X, W, h], T.grad((last**2).sum(), W), fp=fp)
    inner = [s.op.name for loop in f.program.loops() for s in loop.body if isinstance(s, Compute)]
    assert inner.count("setitem") == 3
    assert inner.count("full_like") <= 1
    values = RNG.standard_normal((4, 9)), 0.3 * RNG.standard_normal((3, 9)), RNG.standard_normal((2, 3))
    np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-12)


SPECIAL = np.array([0.0, -0.0, np.inf, np.nan, 1e-310, -1.0])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool"])
def test_zeros_keep_their_signs(dtype: str) -> None:
    """Bit for bit, where parts overlap and where they do not."""
    x, y, z = (T.TensorType(dtype, (None,))(name) for name in "xyz")
    zero = T.zeros_like(z)
    parts = [T.inc_subtensor(zero[1:4], x), T.inc_subtensor(zero[2:], y), T.inc_subtensor(zero[-1], x[0])]
    f = scanopt.function([x, y, z], parts[0] + parts[1] + parts[2], fp="exact", cost="numpy")
    assert ops(f).count("setitem") == 3
    assert "add" not in ops(f)
    for _ in range(20):
        values = [RNG.choice(SPECIAL, n).astype(dtype) if dtype[0] == "f" else RNG.integers(0, 2, n).astype(dtype)
                  for n in (3, 4, 6)]  # fmt: skip
        assert f(*values).tobytes() == f.unoptimized(*values).tobytes()


def test_places_that_are_added_to_twice_are_left_in_exact_mode() -> None:
    x, p = T.dvector("x"), T.lvector("p")
    zero = T.zeros_like(x)
    total = T.inc_subtensor(zero[:1], x[:1]) + T.inc_subtensor(zero[p], x[:2])
    assert "add" in ops(scanopt.function([x, p], total, fp="exact", cost="numpy"))
    f = scanopt.function([x, p], T.exp(x) + T.inc_subtensor(T.zeros_like(T.exp(x))[p], x[:2]), cost="numpy")
    assert "add" not in ops(f)
    for places in ([1, 1], [0, 3]):
        values = RNG.standard_normal(4), np.array(places)
        np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-12)


def test_parts_are_set_one_after_another_in_one_place() -> None:
    X = T.dtensor3("X")

    def step(v: Any, s: Any) -> Any:
        total = T.zeros_like(s)
        for i in range(4):
            total = T.inc_subtensor(total[:, 8 * i : 8 * i + 12], v[:, :12] * T.exp(s[:, i : i + 12]))
        return T.tanh(total)

    last = scanopt.scan(step, X, T.ones_like(X[0]))[0][-1]
    f = scanopt.function([X], last, fp="exact", backend="c")
    exact_kernel(f, [RNG.standard_normal((5, 40, 40))])
    (kernel,) = f.kernels
    assert kernel.shown[-1].count(" with [") == 1, "one array is made"


@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_numbers_added_to_entries_in_all_steps_are_added_up(fp: str, dtype: str) -> None:
    """Gradients with respect to th[0], th[1], ...: without a step there is no entry that is out of range."""
    r, th = (T.TensorType(dtype, (None,))(name) for name in ("r", "th"))

    def step(v: Any, h: Any, s: Any, th: Any) -> list[Any]:
        new = th[0] + th[1] * v * v + th[-1] * h
        return [new, s + T.log(new)]

    one = T.constant(np.ones((), dtype))
    total = scanopt.scan(step, r, [one, one * 0], th)[0][1][-1]
    f = scanopt.function([r, th], T.grad(T.real(total) if dtype[0] == "c" else total, th), fp=fp, backend="c")
    assert fp == "exact" or "no_rows" not in ops(f)
    for n in (1, 2, 30):
        values = (1 + RNG.random(n)).astype(dtype), np.array([0.3, 0.2, 0.1], dtype)
        np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-4 if dtype == "float32" else 1e-12)
        with pytest.raises(IndexError):
            f(values[0], values[1][:1])


def test_parts_that_are_out_of_range_are_no_error_without_steps() -> None:
    x, y = T.dvector("x"), T.dvector("y")

    def step(a: Any, s: Any, y: Any) -> Any:
        return s + T.inc_subtensor(T.inc_subtensor(T.zeros_like(y)[2], a)[1:], T.tanh(a)) + T.zeros_like(y)

    def of_rows(a: Any, y: Any) -> Any:
        return T.inc_subtensor(T.inc_subtensor(T.zeros_like(y)[2], a)[0], a * a)

    last = scanopt.scan(step, x, T.zeros_like(y), y)[0]
    sums = scanopt.map(of_rows, x, [y])[0].sum(axis=0)
    f = scanopt.function([x, y], [T.concatenate([y[None], last])[-1], sums], backend="c")
    for n, m in ((0, 1), (0, 0), (0, 3), (1, 3), (5, 3), (7, 4)):
        values = RNG.random(n), RNG.random(m)
        for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            assert found.shape == expected.shape
    with pytest.raises(IndexError):
        f(RNG.random(3), RNG.random(2))
