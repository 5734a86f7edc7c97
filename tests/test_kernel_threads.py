"""Kernels on several threads: the bits and errors of one thread, whatever their number, and only where work pays."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_lanes import random_lanes
from test_kernels import assert_same, outcome

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.backends.kernels import part_axes, part_plans, workers
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.executor import Kernels
from scanopt.program.ir import Program

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
Array = np.ndarray[Any, Any]


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Parts of any size pay; on how many threads each call ran that ran on several."""
    found: list[int] = []

    def run(calls: Any, threads: int) -> Any:
        done = workers.run_together(calls, threads)
        found.extend([threads] if done is not None else [])
        return done

    monkeypatch.setattr(part_plans, "PAYS", 1e-9)
    monkeypatch.setattr(part_axes, "VECTOR", 1)
    monkeypatch.setattr(part_axes, "PAGE", 1)
    monkeypatch.setattr(part_plans, "run_together", run)
    return found


def logistic(**options: Any) -> Any:
    x, r, n = T.dvector("x"), T.dscalar("r"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda x, r: r * x * (1 - x), outputs_info=x, non_sequences=r, n_steps=n)
    return scanopt.function([x, r, n], ys, **{"backend": "c", **options})


def start(lanes: int) -> Array:
    return np.linspace(0.1, 0.9, lanes)


def check(seed: int, lanes: int) -> None:
    same_on_threads(lambda: random_lanes(seed, lanes), ((1, True), (2, True), (3, False), (7, True)))


def same_on_threads(make: Callable[[], tuple[Program, list[Array]]], ways: Iterable[tuple[int, bool]]) -> None:
    """A program has the bits of array steps on some numbers of threads.  ways: with each, whether it is one kernel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program, values = make()
        try:
            plain = executor("numpy").compile(program)
        except ValueError:
            return
        expected = outcome(plain, values)
        for threads, whole in ways:
            f = Kernels("c", always=True, whole=whole, threads=threads).compile(program)
            found = outcome(f, values)
            if isinstance(expected, tuple):
                assert found == expected
            else:
                assert_same(found, expected)
            assert not any("Error" in k.threads or "status" in k.threads for k in f.kernels), f.kernels


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.sampled_from([330, 23, 2, 1]))
def test_random_lanes_have_the_same_bits_on_any_number_of_threads(parts: list[int], seed: int, lanes: int) -> None:
    check(seed, lanes)


@pytest.mark.thorough
def test_many_random_lanes_run_in_parts(parts: list[int]) -> None:
    for seed in range(12):
        check(seed, 330)
    assert {2, 3, 7} <= {*parts}


@pytest.mark.share(2)
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("lanes", [0, 1, 2, 15, 16, 17, 1000])
def test_all_rows_and_last_rows(parts: list[int], fp: str, lanes: int) -> None:
    one, many = logistic(fp=fp, threads=1), logistic(fp=fp, threads=7)
    for steps in (0, 1, 9):
        found, expected = many(start(lanes), 3.7, steps), one(start(lanes), 3.7, steps)
        assert_same([found], [expected])
        if fp == "exact":
            assert_same([found], [many.unoptimized(start(lanes), 3.7, steps)])
    assert bool(parts) == (lanes > 1)


def test_functions_of_numpy(parts: list[int]) -> None:
    u, x = T.fmatrix("u"), T.fvector("x")
    ys, _ = scanopt.scan(lambda u, x: T.sin(x * 40.0) + T.exp(u), u, x)
    f = scanopt.function([u, x], [ys, ys[-1]], fp="exact", backend="c", threads=3)
    rng = np.random.default_rng(0)
    values = (10.0 ** rng.uniform(-3, 6, (5, 1000))).astype("float32"), rng.normal(size=1000).astype("float32")
    with np.errstate(all="ignore"):
        assert_same(f(*values), f.unoptimized(*values))
    assert parts == [3]


def test_batches_and_matrices(parts: list[int]) -> None:
    x, w, n = T.dmatrix("x"), T.dvector("w"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda x, w: T.maximum(x * w, -x) - T.max(x, axis=1, keepdims=True), None, x, w, n_steps=n)
    f = scanopt.function([x, w, n], [ys, ys[-1]], fp="exact", backend="c", threads=2)
    values = np.random.default_rng(0).normal(size=(130, 5)), np.arange(5.0), 4
    assert_same(f(*values), f.unoptimized(*values))
    assert parts == [2]


def test_arguments_that_lie_otherwise(parts: list[int]) -> None:
    f = logistic(threads=2, fp="exact")
    x = np.repeat(start(100), 2)[::2]
    assert_same([f(x, 3.7, 5)], [f.unoptimized(x, 3.7, 5)])
    u, s = T.dmatrix("u"), T.dvector("s")
    g = scanopt.function([u, s], scanopt.scan(lambda u, s: s * 0.5 + u, u, s)[0], backend="c", threads=2, fp="exact")
    rows = np.random.default_rng(0).normal(size=(100, 7)).T
    assert_same([g(rows, x)], [g.unoptimized(rows, x)])
    assert parts == [2, 2]


def test_an_error_on_one_thread_is_the_error_of_the_loop(parts: list[int]) -> None:
    i, table = T.lmatrix("i"), T.dvector("table")
    ys, _ = scanopt.scan(lambda i, s, table: s + table[i], i, T.zeros_like(i[0], dtype="float64"), table)
    places = np.random.default_rng(0).integers(0, 5, (4, 100))
    f, g = (scanopt.function([i, table], ys, backend="c", threads=k, fp="exact") for k in (3, 1))
    assert_same([f(places, np.arange(5.0))], [g(places, np.arange(5.0))])
    places[2, 77] = 5
    told = []
    for h in (f, g):
        with pytest.raises(IndexError) as error:
            h(places, np.arange(5.0))
        told.append((str(error.value), error.value.__notes__))
    assert told[0] == told[1]
    assert "index 5 is out of bounds" in told[0][0]
    assert set(parts) == {3}


# ---- how many threads ----


def planned(f: Any) -> int:
    (plan,) = f._compiled.host._whole.planner.plan._plans.values()
    return 1 if plan.parted is None else int(plan.parted.count(1))


@pytest.mark.parametrize(("lanes", "steps", "most", "count"), [
    (100, 10, 8, 1), (1000, 100_000, 1, 1), (1000, 100_000, 3, 3), (40, 1_000_000, 8, 2), (100_000, 100, 8, 8),
])  # fmt: skip
def test_threads_follow_from_predicted_work(
    monkeypatch: pytest.MonkeyPatch, lanes: int, steps: int, most: int, count: int
) -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda x: 3.7 * x * (1 - x), outputs_info=x, n_steps=n)
    f = scanopt.function([x, n], ys[-1], backend="c", threads=most)
    monkeypatch.setattr(part_plans, "run_together", lambda calls, threads: None)  # as while the workers are busy
    f(start(lanes), steps)
    assert planned(f) == count


def test_small_calls_take_the_quick_way() -> None:
    f = logistic(threads=4)
    f(start(100), 3.7, 10)
    assert planned(f) == 1
    assert f._entry is None or f._entry.known
    g = logistic(threads=4)
    g(start(2000), 3.7, 1000)
    assert planned(g) > 1
    assert g._entry is None or not g._entry.known


def test_the_option_and_the_setting() -> None:
    assert logistic(threads=3).executor.endswith(", on up to 3 threads")
    assert "threads" not in logistic(threads=1).executor
    many = workers.cores()
    for auto in ("auto", 0, None):
        assert logistic(threads=auto).executor.endswith(f"on up to {many} threads") == (many > 1)
    with scanopt.config.change_flags(threads=5):
        f = logistic()
    assert f.executor.endswith("on up to 5 threads")
    assert f.copy().executor == f.executor
    for wrong in (-1, "two"):
        with pytest.raises(ValueError, match="threads must be 'auto' or a number of threads"):
            logistic(threads=wrong)
        with pytest.raises(ValueError, match="threads: expected 'auto' or a number of threads"):
            scanopt.config.threads = wrong
    for wrong in (True, 1.5):
        with pytest.raises(TypeError, match="threads must be 'auto' or a number of threads"):
            logistic(threads=wrong)


def test_it_is_told_why_a_kernel_has_one_thread(parts: list[int]) -> None:
    x, W, n = T.dvector("x"), T.dmatrix("W"), T.lscalar("n")

    def told(step: Callable[[Any, Any], Any], result: Callable[[Any], Any] = lambda ys: ys) -> str:
        ys, _ = scanopt.scan(step, outputs_info=x, non_sequences=[W], n_steps=n)
        f = scanopt.function([x, W, n], result(ys), backend="c", threads=2, on_unused_input="ignore")
        f(np.ones(3), np.ones((3, 3)), 5)
        return str(f.kernels[0].threads)

    assert "a product of matrices" in told(lambda x, W: T.tanh(W @ x))
    assert "a reduction" in told(lambda x, W: x - x.sum() + W[0])
    assert "share no axis" in told(lambda x, W: T.sin(x) - 0.5 * x, lambda ys: [ys, W.sum()])
    assert told(lambda x, W: x * W[0] - 1.0) == "on up to 2 threads, where work pays for them"


# ---- many callers, forks, interrupts ----


def test_many_threads_call_at_once(parts: list[int]) -> None:
    f = logistic(threads=4)
    values = [(start(100 + i), 3.7, 50) for i in range(10)]
    expected = [f.unoptimized(*v) for v in values]
    ready = threading.Barrier(10)

    def work(i: int) -> list[Array]:
        ready.wait()
        return [f(*values[i]) for _ in range(30)]

    with ThreadPoolExecutor(10) as pool:
        for found, e in zip(pool.map(work, range(10)), expected, strict=True):
            for x in found:
                np.testing.assert_allclose(x, e)
    assert len([t for t in threading.enumerate() if t.name.startswith("scanopt-")]) <= 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own(parts: list[int]) -> None:
    f = logistic(threads=3)
    expected = f(start(100), 3.7, 20)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        before = len(parts)
        same = bool(np.array_equal(f(start(100), 3.7, 20), expected))
        os._exit(0 if same and len(parts) > before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert_same([f(start(100), 3.7, 20)], [expected])


def test_an_interrupted_call_leaves_the_workers_to_others() -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workers.run_together([interrupted], 1)
    found = workers.run_together([lambda: 3, lambda: 4, lambda: 1 // 0], 3)
    assert found is not None
    assert sorted(found) == [-1, 3, 4]


def test_workers_do_their_share_and_busy_ones_leave_a_call_to_its_own_thread() -> None:
    here, met = threading.get_ident(), threading.Barrier(2, timeout=60)

    def part() -> int:
        met.wait()  # two threads are in parts at once
        return 1 if threading.get_ident() == here else int(workers.run_together([int, int], 2) is None) + 1

    found = workers.run_together([part, part], 2)
    assert found is not None
    assert sorted(found) == [1, 2]


def test_a_program_ends_while_workers_sleep() -> None:
    code = "from scanopt.backends.kernels import workers as w; print(w.run_together([lambda: 1, lambda: 2], 3))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert sorted(eval(done.stdout)) == [1, 2]
    assert not done.stderr
