"""Closed forms of recurrences against the loops that they stand for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice

from scanopt.array.numerics import chunked, filters, powers, running
from scanopt.array.op import Op

Array = np.ndarray[Any, Any]
Rng = np.random.Generator

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 0.5, 3.0, 1e30, 1e-40, 1e-320, 1e300]
INTEGERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = [*INTEGERS, "float16", "float32", "float64", "complex64", "complex128"]
EXACT = [
    (name, d)
    for name, kinds in running.ACCUMULATED.items()
    for d in DTYPES
    if np.dtype(d).kind in kinds and (name, np.dtype(d).kind) != ("multiply", "c")
]


def values(rng: Rng, dtype: str, shape: tuple[int, ...], special: float) -> Array:
    d = np.dtype(dtype)
    if d.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if d.kind in "iu":
        info = np.iinfo(d)
        odd = rng.choice(np.array([0, 1, 2, 3, info.min, info.max, info.max - 1], d), shape)
        return np.where(rng.random(shape) < special, odd, rng.integers(0, 20, shape).astype(d))
    if d.kind == "f":
        odd = rng.choice(np.array(SPECIAL), shape)
        return np.where(rng.random(shape) < special, odd, rng.normal(size=shape) * 2).astype(d)
    return (values(rng, "float64", shape, special) + 1j * values(rng, "float64", shape, special)).astype(d)


def case(rng: Rng, dtype: str, depth: int = 1) -> tuple[Array, Callable[[str], Array], int]:
    """A state before, and a maker of sequences for it."""
    row = tuple(int(n) for n in rng.integers(1, 40 if rng.random() < 0.1 else 5, int(rng.integers(0, 3))))
    n, special = int(rng.choice([0, 1, 2, 7, 30, 70])), float(rng.choice([0, 0, 0.1, 0.4]))

    def sequence(d: str) -> Array:
        full = (n, *row) if rng.random() < 0.6 else (n, *row[1:]) if rng.random() < 0.3 else (n,)
        a = values(rng, d, full, special)
        return np.asfortranarray(a) if rng.random() < 0.3 else a

    return values(rng, dtype, (depth, *row), special), sequence, n


def loop(step: Callable[..., Any], past: Array, *sequences: Array) -> Array:
    """Rows of a recurrence, step by step."""
    before, out = list(past), []
    for row in zip(*sequences, strict=True):
        new = np.broadcast_to(np.asarray(step(*before, *row)), past.shape[1:]).astype(past.dtype)
        out.append(new)
        before = [*before[1:], new]
    return np.array(out, past.dtype).reshape(len(out), *past.shape[1:])


def same(a: Array, b: Array) -> bool:
    """Equal bit for bit, all NaN alike."""
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype.kind == "c":
        return same(a.real, b.real) and same(a.imag, b.imag)
    equal = np.asarray(a == b)
    if a.dtype.kind == "f":
        equal = (equal & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    return bool(equal.all())


@pytest.mark.share(6)
@pytest.mark.parametrize(("name", "dtype"), EXACT)
def test_accumulations_are_the_loop(name: str, dtype: str) -> None:
    rng, f = np.random.default_rng(1), getattr(np, name)
    for _ in range(60):
        init, sequence, _ = case(rng, dtype)
        x, y, mask = sequence(dtype), sequence(dtype), sequence("bool")
        assert same(running.accumulate(np, name, init, x), loop(f, init, x))
        ended = np.concatenate([init, loop(f, init, x)])[-1]
        assert same(running.fold_in_order(np, name, init, x), ended)
        restarted = loop(lambda s, m, y, x: np.where(m, y, f(s, x)), init, mask, y, x)
        assert same(running.segmented(np, name, init, mask, y, x), restarted)
        held = loop(lambda s, m, x: np.where(m, x, s), init, mask, x)
        assert same(running.forward_fill(np, init, mask, x), held)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "bitwise_xor", "bitwise_and"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_folds_of_integers_are_the_end_of_the_loop(name: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        init, sequence, _ = case(rng, dtype)
        x = sequence(dtype)
        want = np.concatenate([init, loop(getattr(np, name), init, x)])[-1]
        for xp in (np, FakeDevice()):
            assert same(np.asarray(running.fold(xp, name, init, x)), want)


def test_folds_in_order_are_made_in_blocks() -> None:
    rng = np.random.default_rng(10)
    x = rng.normal(size=(100_000, 2))
    for name in ("add", "hypot"):
        want = running.accumulate(np, name, np.ones((1, 2)), x)[-1]
        assert same(running.fold_in_order(np, name, np.ones((1, 2)), x), want)
        assert same(np.asarray(running.fold_in_order(FakeDevice(), name, np.ones((1, 2)), x[:50])), loop(
            getattr(np, name), np.ones((1, 2)), x[:50])[-1])  # fmt: skip


@pytest.mark.parametrize("width", [5, 500])
def test_no_rows_have_any_shape(width: int) -> None:
    init, none, one = np.arange(2.0 * width).reshape(1, width, 2), np.empty((0, 0, 2)), np.array(1.0)
    assert running.accumulate(np, "add", init, none).shape == (0, width, 2)
    for last in (running.fold, running.fold_in_order):
        np.testing.assert_array_equal(last(np, "add", init, none), init[0])
    np.testing.assert_array_equal(powers.polynomial(np, init, one, none), init[0])
    assert filters.lfilter(np, init, none, one).shape == (0, width, 2)
    assert chunked.linear_recurrence(np, init, none, none).shape == (0, width, 2)


def test_long_segments_and_short_ones() -> None:
    rng = np.random.default_rng(3)
    for share in (0.0, 0.001, 0.1, 0.9):
        mask, x = rng.random(3000) < share, rng.normal(size=3000)
        want = loop(lambda s, m, x: np.where(m, x, s + x), np.ones(1), mask, x)
        assert same(running.segmented(np, "add", np.ones(1), mask, x, x), want)


@pytest.mark.parametrize("scipy", [True, False])
@pytest.mark.parametrize("order", [1, 2])
def test_filters_are_the_loop(scipy: bool, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "WORTH", 0)
    if not scipy:
        monkeypatch.setattr(filters, "_filter", lambda size: None)
    rng = np.random.default_rng(4)
    for _ in range(400):
        dtype = str(rng.choice(["float32", "float64"]))
        init, sequence, _ = case(rng, dtype, order)
        x = np.round(sequence(dtype)) if rng.random() < 0.3 else sequence(dtype)
        few = float(rng.choice([0, 0.2]))
        factors = [values(rng, dtype, () if rng.random() < 0.8 else init.shape[1:], few) * np.array(0.3, dtype)
                   for _ in range(order)]  # fmt: skip
        a, b = factors[0], factors[-1]
        step = (lambda s, x: s * a + x) if order == 1 else (lambda r, s, x: (s * a + r * b) + x)  # noqa: B023
        assert same(filters.lfilter(np, init, x, *factors), loop(step, init, x))


def test_filters_do_not_need_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    x, init = rng.normal(size=30_000), np.ones(1)
    want = filters.lfilter(np, init, x, np.array(0.9))
    filters._scipy_filter.cache_clear()
    monkeypatch.setitem(sys.modules, "scipy.signal", None)
    assert filters._scipy_filter() is None
    assert same(filters.lfilter(np, init, x, np.array(0.9)), want)
    filters._scipy_filter.cache_clear()


STEPS: dict[str, Callable[..., Any]] = {
    "linear_recurrence": lambda s, a, x: s * a + x,
    "smoothing": lambda s, a, x: s + (x - s) * a,
    "raised_sum": lambda s, x, low: np.maximum(s + x, low),
    "capped_sum": lambda s, x, high: np.minimum(s + x, high),
    "clamped_sum": lambda s, x, low, high: np.minimum(np.maximum(s + x, low), high),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("device", [False, True])
def test_chunks_are_the_loop_up_to_rounding(name: str, device: bool) -> None:
    rng, step = np.random.default_rng(6), STEPS[name]
    run = Op.make(name).bind(FakeDevice() if device else np)
    for _ in range(60):
        dtype = str(rng.choice(["float32", "float64"]))
        row, n = tuple(int(k) for k in rng.integers(1, 4, int(rng.integers(0, 2)))), int(rng.choice([0, 1, 40, 300]))
        rows = [rng.uniform(-1.1, 1.1, (n, *row) if rng.random() < 0.6 else (n,)).astype(dtype)
                for _ in range(step.__code__.co_argcount - 1)]  # fmt: skip
        if rng.random() < 0.2 and n:
            rows[0][rng.integers(n)] = rng.choice([np.inf, -np.inf, np.nan, 0.0])
        init = rng.normal(size=(1, *row)).astype(dtype)
        got, want = run(init, *rows), loop(step, init, *rows)
        assert got.dtype == dtype
        assert got.shape == want.shape
        finite = np.isfinite(want)
        scale = float(np.abs(want[finite]).max(initial=1.0))
        np.testing.assert_array_equal(got[~finite], want[~finite])
        assert np.abs(got[finite] - want[finite]).max(initial=0.0) <= 64 * np.finfo(dtype).eps * scale


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("device", [False, True])
def test_recurrences_of_integers_are_the_loop(dtype: str, device: bool) -> None:
    rng, xp = np.random.default_rng(11), FakeDevice() if device else np
    steps = {"masked_flips": lambda s, a, x: (s & a) ^ x, "linear_recurrence": lambda s, a, x: s * a + x}
    for _ in range(60):
        init, sequence, n = case(rng, dtype)
        a, x = sequence(dtype), sequence(dtype)
        for name, step in steps.items():
            if dtype != "bool" or name == "masked_flips":
                assert same(np.asarray(Op.make(name).bind(xp)(init, a, x)), loop(step, init, a, x))
        if dtype == "bool":
            continue
        a, b = values(rng, dtype, (), 0.5), values(rng, dtype, init.shape[1:], 0.5)
        want = loop(lambda s, a: s * a + b, init, np.full(n + 1, a))[-1]  # noqa: B023
        assert same(np.asarray(powers.affine_power(np, init, a, b, np.array(n + 1))), want)


def test_what_composing_loses_is_run_step_by_step() -> None:
    ran: list[int] = []
    once = chunked._one_by_one

    def noted(*args: Any) -> Any:
        ran.append(1)
        return once(*args)

    a = np.tile([1e-200, 1e-200, 1e200, 1e200], 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunked, "_one_by_one", noted)
        # The factors of a chunk underflow, but the state, which is large, does not lose as much.
        got = chunked.linear_recurrence(np, np.full((1, 2), 1e150), a, np.zeros(400))
        assert same(got, loop(STEPS["linear_recurrence"], np.full((1, 2), 1e150), a, np.zeros(400)))
        # 1.5 s - 0.5 stays at 1 exactly; its composed maps do not.
        more, less = np.full(400, 1.5), np.full(400, -0.5)
        assert same(chunked.linear_recurrence(np, np.ones((1, 2)), more, less), np.ones((400, 2)))
    assert ran


def exact_end(step: Callable[..., Any], init: Array, n: int, *more: Any) -> tuple[Array, Array, float]:
    """The end of a loop, the same in long doubles, and the largest value on the way."""
    s, wide, most = init[0], init[0].astype(np.longdouble), 0.0
    for t in range(n):
        row = [x[t] if isinstance(x, list) else x for x in more]
        s, wide = np.asarray(step(s, *row)), step(wide, *(np.asarray(x).astype(np.longdouble) for x in row))
        most = max(most, float(np.abs(s).max(initial=0.0)))
    return s, wide, most


def within_rounding(got: Array, want: Array, precise: Array, most: float) -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    own, error = (np.abs(x - precise).max(initial=0.0) for x in (want, got))
    assert error <= 8 * own + 16 * np.spacing(np.asarray(most, got.dtype))


def test_powers_and_polynomials_are_the_end_of_the_loop() -> None:
    rng = np.random.default_rng(7)
    for _ in range(400):
        dtype = str(rng.choice(["float32", "float64"]))
        row, n = tuple(int(k) for k in rng.integers(1, 4, int(rng.integers(0, 3)))), int(rng.choice([1, 2, 9, 70, 300]))
        init = rng.normal(size=(1, *row)).astype(dtype)
        a, b = (rng.uniform(-1.2, 1.2, row if rng.random() < 0.6 else ()).astype(dtype) for _ in range(2))
        within_rounding(powers.geometric(np, init, a, np.array(n)), *exact_end(lambda s, a: s * a, init, n, a))
        affine = exact_end(lambda s, a, b: s * a + b, init, n, a, b)
        within_rounding(powers.affine_power(np, init, a, b, np.array(n)), *affine)
        c = rng.normal(size=(n, *row) if rng.random() < 0.5 else (n,)).astype(dtype)
        horner = exact_end(lambda s, a, c: s * a + c, init, n, a, list(c))
        within_rounding(powers.polynomial(np, init, a, c), *horner)


@pytest.mark.parametrize(
    ("start", "factor", "end"),
    [(1e-300, 10.0, 1e10), (-0.0, 1e300, -0.0), (np.inf, 0.5, np.inf), (0.0, np.inf, np.nan), (1e300, 0.1, 1e-10)],
)
def test_powers_out_of_range_whose_product_is_not(start: float, factor: float, end: float) -> None:
    got = powers.geometric(np, np.array([start]), np.array(factor), np.array(310))
    np.testing.assert_allclose(got, end, rtol=1e-12)
    assert np.isnan(end) or np.signbit(got) == np.signbit(end)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers_wrap_as_products_do(dtype: str) -> None:
    rng = np.random.default_rng(8)
    for n in range(1, 30):
        init, a = values(rng, dtype, (1, 5), 0.5), values(rng, dtype, (5,), 0.5)
        want = loop(np.multiply, init, np.broadcast_to(a, (n, 5)))[-1]
        assert same(powers.geometric(np, init, a, np.array(n)), want)


def test_powers_of_one_base() -> None:
    rng = np.random.default_rng(9)
    for _ in range(200):
        x = np.asarray(rng.uniform(-1.5, 1.5, tuple(int(k) for k in rng.integers(0, 4, int(rng.integers(0, 2))))))
        n = int(rng.choice([0, 1, 50, 400]))
        e = np.arange(n) if rng.random() < 0.5 else rng.integers(-2 if rng.random() < 0.3 else 0, n + 1, n)
        got, want = powers.powers(np, x, e, "float64"), np.power(x, e.reshape(n, *(1,) * x.ndim).astype(float))
        np.testing.assert_allclose(got, want, rtol=1e-14)
        assert got.shape == want.shape
