"""Calls and compilations at the same time; who owns which array."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from random_programs import build, generate
from shares import tries

import scanopt
import scanopt.tensor as T

Array = np.ndarray[Any, Any]
THREADS = 10


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """work(i) for each thread, all starting at once."""
    ready = threading.Barrier(threads)

    def start(i: int) -> Any:
        ready.wait()
        return work(i)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(start, range(threads)))


def recurrence(mode: str | None = None) -> Any:
    X, W, h0 = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h0")
    h, _ = scanopt.scan(lambda x, h: T.tanh(T.dot(W, h) + x), X, h0)
    return scanopt.function([X, W, h0], {"all": h, "last": h[-1]}, mode=mode)


# ---- threads ----


@pytest.mark.parametrize("mode", [None, "unoptimized"])
def test_one_function_in_many_threads(mode: str | None) -> None:
    f = recurrence(mode)
    rng = np.random.default_rng(0)
    inputs = [(rng.normal(size=(20 + i, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)) for i in range(THREADS)]
    expected = [f(*values) for values in inputs]
    found = together(lambda i: [f(*inputs[i]) for _ in range(20)])
    for results, e in zip(found, expected, strict=True):
        for r in results:
            np.testing.assert_array_equal(r["all"], e["all"])
            np.testing.assert_array_equal(r["last"], e["last"])


@pytest.mark.parametrize("mode", [None, "unoptimized"])
def test_updates_are_atomic(mode: str | None) -> None:
    count, total = scanopt.shared(0, "count"), scanopt.shared(np.zeros(3), "total")
    x = T.dvector("x")
    f = scanopt.function([x], count, updates={count: count + 1, total: total + x}, mode=mode)
    found = together(lambda i: [int(f(np.ones(3))) for _ in range(50)])
    assert sorted(n for some in found for n in some) == list(range(50 * THREADS))
    assert total.get_value().tolist() == [50.0 * THREADS] * 3


def test_functions_that_update_the_same_variables() -> None:
    """Each reads what the other writes: whatever the order, a call sees none or all of another."""
    a, b = scanopt.shared(0, "a"), scanopt.shared(0, "b")
    up = scanopt.function([], updates={a: b + 1})
    down = scanopt.function([], updates={b: a + 1})
    both = scanopt.function([], [a, b], updates={a: a + 10, b: b + 10})
    look = scanopt.function([], [a, b])
    seen = together(lambda i: [(up, down, both, look)[i % 4]() for _ in range(50)])
    for some in seen:
        for values in some:
            assert values is None or abs(int(values[0]) - int(values[1])) <= 1


def test_a_reader_sees_all_or_nothing_of_an_update() -> None:
    a, b = scanopt.shared(np.zeros(4), "a"), scanopt.shared(np.zeros(4), "b")
    write = scanopt.function([], updates={a: a + 1, b: b + 1})
    read = scanopt.function([], (a - b).sum())
    found = together(lambda i: [write() if i % 2 else float(read()) for _ in range(100)])
    assert {x for some in found for x in some} == {None, 0.0}


def test_default_values_that_change() -> None:
    x, n = T.dscalar("x"), T.dscalar("n")
    f = scanopt.function([x, scanopt.In(n, value=0.0, update=n + x)], n)
    found = together(lambda i: [float(f(1)) for _ in range(40)])
    assert sorted(v for some in found for v in some) == list(range(40 * THREADS))


def test_compiling_in_many_threads() -> None:
    def work(i: int) -> list[Array]:
        out = []
        for k in range(2):
            x = T.dvector(f"x{i}")
            trace, _ = scanopt.scan(lambda v, h: h * (i + 1) + v, x, np.float64(k))
            out.append(scanopt.function([x], trace[-1])([1.0, 2.0]))
        return out

    found = together(work, 4)
    assert found == [[(k * (i + 1) + 1) * (i + 1) + 2 for k in range(2)] for i in range(4)]


@pytest.mark.thorough
def test_explaining_in_many_threads() -> None:
    f = recurrence()
    assert len(set(together(lambda i: str(f.explain())))) == 1


# ---- who owns what ----


def memory(xs: Any) -> list[Array]:
    return list(xs.values()) if isinstance(xs, dict) else list(xs)


def test_inputs_stay_as_they_are() -> None:
    """Many calls of random programs leave every input as it was, bit for bit."""
    calls = seed = 0
    while calls < tries(50) * 50:
        seed += 1
        try:
            values, outputs = build(generate(seed, pure=True))
        except (IndexError, ValueError):
            continue
        f = scanopt.function(list(values), outputs, on_unused_input="ignore")
        arrays = [np.array(v) for v in values.values()]
        before = [a.tobytes() for a in arrays]
        for _ in range(50):
            calls += 1
            try:
                results = f(*arrays)
            except (IndexError, ValueError):
                continue
            for i, r in enumerate(results):
                assert not any(np.shares_memory(r, a) for a in (*arrays, *results[:i]))
                if r.size:
                    r.fill(1)
        assert [a.tobytes() for a in arrays] == before


@pytest.mark.parametrize("mode", [None, "unoptimized"])
def test_results_share_no_memory(mode: str | None) -> None:
    x, n = T.dvector("x"), T.dvector("n")
    c, s, t = T.constant(np.arange(3.0)), scanopt.shared(np.ones(3), "s"), scanopt.shared(np.zeros(3), "t")
    default = np.array([1.0, 2.0, 3.0])
    outputs = {"x": x, "again": x, "part": x[1:], "c": c, "s": s, "n": n, "new": s + 1, "t": t}
    f = scanopt.function([x, scanopt.In(n, value=default)], outputs, updates={t: x, s: s + 1}, mode=mode)
    value = np.arange(3.0)
    shared = [s.get_value(borrow=True), t.get_value(borrow=True)]
    results = memory(f(value))
    others = [value, default, c.data, *shared, s.get_value(borrow=True), t.get_value(borrow=True)]
    for i, r in enumerate(results):
        assert not any(np.shares_memory(r, a) for a in (*others, *results[:i]))
        r.fill(-1)
    assert not np.shares_memory(t.get_value(borrow=True), value)
    again = f(value)
    assert [again[k].tolist() for k in ("x", "c", "s", "n", "t")] == [
        [0, 1, 2], [0, 1, 2], [2, 2, 2], [1, 2, 3], [0, 1, 2],
    ]  # fmt: skip


def test_shared_values_are_copied_unless_borrowed() -> None:
    given = np.ones(3)
    s = scanopt.shared(given, "s")
    taken = s.get_value()
    given[:] = taken[:] = 9
    assert s.get_value().tolist() == [1, 1, 1]
    s.set_value(given)
    given[:] = 5
    assert s.get_value().tolist() == [9, 9, 9]
    s.get_value(borrow=True)[0] = 0
    assert s.get_value().tolist() == [0, 9, 9]
    s.set_value(given, borrow=True)
    assert s.get_value(borrow=True) is given
    b = scanopt.shared(given, "b", borrow=True)
    given[:] = 7
    assert b.get_value().tolist() == s.get_value().tolist() == [7, 7, 7]
