"""States written over the ones before where no element waits for others; rows of joined arrays that are not made."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.compilers import compiler

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason="needs a C compiler")
RNG = np.random.default_rng(5)
ROW = 64 * 8


@pytest.fixture(autouse=True)
def no_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels, which some processors multiply a row by, take memory that is not counted here."""
    monkeypatch.setattr("scanopt.backends.kernels.plans.better", lambda product: False)


def memory_of(step: Callable[..., Any], fp: str = "exact") -> int:
    """Bytes that the kernel of a loop computes in, after a look at its result."""
    u, s, W = T.dmatrix("u"), T.dvector("s"), T.dmatrix("W")
    found, _ = scanopt.scan(step, u, s, non_sequences=W)
    f = scanopt.function([u, s, W], found[-1], fp=fp, backend="c")
    values = [RNG.normal(size=n) for n in ((7, 64), 64, (64, 64))]
    for _ in range(2):
        np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
    assert [k.state for k in f.kernels] == ["1 of 1 kernels compiled"]
    return f.kernels[0].memory


STEPS: dict[str, tuple[Callable[..., Any], int]] = {
    "by element": (lambda u, s, W: s * u + s.sum() * 1e-3, 0),
    "a product, then elements": (lambda u, s, W: T.tanh((s @ W) * 0.1 + s + u), 2),
    "other elements": (lambda u, s, W: s + s[::-1] * u, 2),
    "a product alone": (lambda u, s, W: (s @ W) * 0.01, 3),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_state_is_written_over_the_one_before(name: str) -> None:
    step, rows = STEPS[name]
    assert memory_of(step) <= rows * ROW


def test_a_state_that_is_read_once_more_is_not_written_over() -> None:
    u, s = T.dmatrix("u"), T.dvector("s")

    def step(u: Any, s: Any, t: Any) -> list[Any]:
        return [s * u, t + s]

    (ss, ts), _ = scanopt.scan(step, u, [s, T.zeros_like(s)])
    late, _ = scanopt.scan(lambda u, s, before: [s + u, s], u, [s, T.zeros_like(s)])
    f = scanopt.function([u, s], [ss[-1], ts[-1], late[0][-1], late[1][-1]], fp="exact", backend="c")
    values = [RNG.normal(size=n) for n in ((6, 64), 64)]
    for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kept", [False, True])
def test_truth_values_beside_numbers_take_two_bytes_unless_some_are_a_result(kept: bool) -> None:
    z, x = T.dmatrix("z"), T.dvector("x")

    def step(z: Any, x: Any, in_play: Any, up: Any) -> list[Any]:
        return [x + T.where(in_play, z, 0.0), in_play & (x + z < 0.9), up ^ (z > x)]

    (xs, in_play, ups), _ = scanopt.scan(step, z, [x, T.ones_like(x, dtype="bool"), x > 0])
    last = ups[-1] if kept else T.where(ups[-1], 2.0, 1.0)
    f = scanopt.function([z, x], [T.where(in_play[-1], xs[-1], 0.0), last], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.normal(size=(9, 21)), RNG.normal(size=21)])
    assert ("int16 *const" in text) is not kept, text


def test_a_short_state_is_set_back_to_a_number_only_where_a_condition_holds() -> None:
    d, k = T.lvector("d"), T.lscalar("k")

    def step(d: Any, seen: Any, count: Any) -> list[Any]:
        new, full = T.set_subtensor(seen[d], True), T.eq(count, 4) & ~seen[d]
        return [T.where(full, False, new), T.where(full, 0, count + T.cast(~seen[d], "int64"))]

    (seen, count), _ = scanopt.scan(step, d, [T.zeros((k,), "bool"), T.constant(0, dtype="int64")])
    f = scanopt.function([d, k], [seen[-1], count], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.integers(0, 5, 40), 5])
    assert "for (int64 i" in text.partition("if (v")[2][:99], text


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_a_number_in_the_place_of_itself_is_passed_over(dtype: str) -> None:
    """Not 0.0 in the place of -0.0, nor places in order."""
    i, x = T.lvector("i"), T.TensorType(dtype, (None,))("x")
    xs, _ = scanopt.scan(lambda i, x: T.where(T.eq(x[i], x), x[i - 1], x), i, x)
    ys, _ = scanopt.scan(lambda i, x: T.where(T.eq(x, x[i]), T.arange(x.shape[0]).astype(dtype), x), i, x)
    numbers = np.array([0.0, -0.0, np.nan, 2.0]) if dtype == "float64" else np.arange(4)
    f = scanopt.function([i, x], [xs[-1], ys[-1]], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.integers(0, 20, 12), RNG.choice(numbers, 20)])
    assert text.count("!= v") == 1, text


@pytest.mark.parametrize("batch", [1, 3])
def test_the_gradient_of_a_loop_keeps_its_states_and_no_more(batch: int) -> None:
    """What later steps add to the gradient of a row is computed when the row is read."""
    steps, units = 40, 32
    u, x, W = T.dtensor3("u"), T.dmatrix("x"), T.dmatrix("W")
    ys, _ = scanopt.scan(lambda u, s, W: T.tanh(s @ W + u), u, x, non_sequences=W)
    f = scanopt.function([u, x, W], T.grad((ys**2).sum(), W), fp="exact", backend="c")
    for n in (steps, 1, 2):
        values = [
            RNG.normal(size=(n, batch, units)),
            RNG.normal(size=(batch, units)),
            RNG.normal(size=(units, units)) / 9,
        ]
        for _ in range(2):
            np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
    weights, state = 8 * units * units, 8 * batch * units
    assert f.kernels[0].memory <= steps * state + 6 * weights + 12 * state


def lower_upper(k: Any, a: Any) -> Any:
    factors = a[k + 1 :, k] / a[k, k]
    return T.inc_subtensor(T.set_subtensor(a[k + 1 :, k], factors)[k + 1 :, k + 1 :], -T.outer(factors, a[k, k + 1 :]))


def cholesky(k: Any, a: Any) -> Any:
    row, d = a[k, :k], T.sqrt(abs(a[k, k]))
    return T.set_subtensor(T.set_subtensor(a[k, k], d)[k + 1 :, k], (a[k + 1 :, k] - a[k + 1 :, :k] @ row) / d)


def rows_exchanged(k: Any, a: Any) -> Any:
    return T.set_subtensor(T.set_subtensor(a[k], a[k - 1])[k - 1], a[k] * 0.5)


def read_after_it_is_set(k: Any, a: Any) -> Any:
    changed = T.set_subtensor(a[k], a[:, k])
    return T.set_subtensor(changed[:, k], a[k] + changed[k - 1])


def decayed(k: Any, a: Any) -> Any:
    return T.inc_subtensor(T.inc_subtensor((0.8 * a)[k], 1.0)[k, k], a[k, 0])


@pytest.mark.parametrize(
    ("step", "most"), [(lower_upper, 1), (cholesky, 1), (rows_exchanged, 0), (read_after_it_is_set, 0), (decayed, 3)]
)
def test_parts_are_set_once_all_that_reads_the_state_before_has_run(step: Callable[..., Any], most: int) -> None:
    """What is read later is copied before where it has fewer axes."""
    k, a = T.lvector("k"), T.dmatrix("a")
    found, _ = scanopt.scan(step, k, a)
    f = scanopt.function([k, a], found[-1], fp="exact", backend="c")
    for values in ([0, 1, 2, 3, 4], [3, 7, 0, 3]):
        given = np.array(values), RNG.normal(size=(64, 64)) + 8 * np.eye(64)
        np.testing.assert_array_equal(f(*given), f.unoptimized(*given))
    assert [x.state for x in f.kernels] == ["1 of 1 kernels compiled"]
    assert f.kernels[0].memory < (most * 64 + 8) * ROW, f.kernels[0].memory / ROW
