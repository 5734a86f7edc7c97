"""allow_gc: buffers of loops kept between calls, or freed; never seen in results."""

import copy
import gc
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import nested, reference, rnn
from shares import tries
from test_executor_random import Random, arguments

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.backends.kernels.compilers import compiler
from scanopt.program.ir import Branch, Loop, Program, Step

LONG = 100_000
BACKENDS = pytest.mark.parametrize(
    "backend",
    ["numpy", pytest.param("c", marks=pytest.mark.skipif(isinstance(compiler(), str), reason=str(compiler())))],
)
ROW = 8 * LONG


def decay(allow_gc: bool | None = None, **options: Any) -> Any:
    """f(X, w) sums up the last of h[t] = tanh(h[t-1]) * exp(h[t-1] * X[t]) + cos(h[t-1]), h[-1] = w."""
    X, w = T.dvector("X"), T.dvector("w")
    step = lambda x, h: T.tanh(h) * T.exp(h * x) + T.cos(h)  # noqa: E731
    h, _ = scanopt.scan(step, X, w, allow_gc=allow_gc)
    return scanopt.function([X, w], h[-1].sum(), **options)


def kept_by(f: Any, *args: Any) -> int:
    """Bytes that are held after a call and were not before."""
    f(np.ones(3), np.ones(2))  # what is loaded at the first call
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        f(*args)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.share(6)
@pytest.mark.parametrize("name", ["allow_gc", "scan.allow_gc"])
@pytest.mark.parametrize(
    ("allow_gc", "flag", "kept"), [(None, True, False), (True, False, False), (None, False, True), (False, True, True)]
)
def test_memory_after_a_call(allow_gc: bool | None, flag: bool, kept: bool, name: str) -> None:
    with scanopt.config.change_flags({name: flag}):
        f = decay(allow_gc)
    held = kept_by(f, np.full(4, 0.1), np.ones(LONG))
    assert 2 * ROW <= held <= 4 * ROW if kept else held < ROW / 10
    assert all(loop.keep_buffers is kept for loop in f.program.loops())


@BACKENDS
def test_kept_memory_goes_with_the_function_and_with_the_shape(backend: str) -> None:
    f = decay(allow_gc=False, backend=backend)
    for row in (np.ones(LONG), np.ones(2)):  # the kernel of each size is made before memory is looked at
        f(np.full(4, 0.1), row)
    gc.collect()
    tracemalloc.start()
    try:
        f(np.full(4, 0.1), np.ones(LONG))
        once = tracemalloc.get_traced_memory()[0]
        f(np.full(4, 0.1), np.ones(LONG))
        assert tracemalloc.get_traced_memory()[0] - once < ROW / 10
        f(np.full(4, 0.1), np.ones(2))
        assert tracemalloc.get_traced_memory()[0] < ROW / 10
        f(np.full(4, 0.1), np.ones(LONG))
        del f
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < ROW / 10
    finally:
        tracemalloc.stop()


def test_kept_arrays_are_used_again() -> None:
    """Memory asked for in a second call is less by what is kept."""
    peaks = []
    for allow_gc in (True, False):
        f = decay(allow_gc, backend="numpy")
        values = np.full(4, 0.1), np.ones(LONG)
        f(*values)
        tracemalloc.start()
        f(*values)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= peaks[0] - 2 * ROW


def test_values_over_many_shapes() -> None:
    f, g = decay(allow_gc=False), decay(mode="unoptimized")
    rng = np.random.default_rng(0)
    for n, m in ((3, 5), (3, 5), (7, 5), (3, 1), (3, 5), (1, 0), (3, 2), (3, 5)):
        values = rng.normal(size=n) / 4, rng.normal(size=m)
        np.testing.assert_allclose(f(*values), g(*values), rtol=1e-12)


def test_copies_and_pickles(tmp_path: Path) -> None:
    f = decay(allow_gc=False)
    values = np.full(4, 0.1), np.ones(LONG)
    expected = f(*values)
    assert len(pickle.dumps(f)) < ROW / 10
    f.save(tmp_path / "f.json")
    for g in (f.copy(), copy.deepcopy(f), pickle.loads(pickle.dumps(f)), scanopt.load(tmp_path / "f.json")):
        assert kept_by(g, *values) >= 2 * ROW
        np.testing.assert_array_equal(g(*values), expected)
        np.testing.assert_array_equal(f(*values), expected)


def test_threads_keep_their_own() -> None:
    f = decay(allow_gc=False)
    calls = [(np.full(20 + i % 3, 0.01 * i), np.linspace(0, 1, 50 + i % 2)) for i in range(8)]
    expected = [f(*values) for values in calls]
    with ThreadPoolExecutor(4) as pool:
        for found, e in zip(pool.map(lambda i: f(*calls[i % 8]), range(400)), expected * 50, strict=True):
            assert found == pytest.approx(e, nan_ok=True)


def test_a_call_that_fails_leaves_nothing_wrong() -> None:
    X, w = T.dmatrix("X"), T.dvector("w")
    h, _ = scanopt.scan(lambda x, h: T.exp(T.tanh(h) * h) * T.dot(x, x + h), X, w, allow_gc=False)
    f = scanopt.function([X, w], h[-1])
    assert "taken(" in f.source
    good, bad = (np.full((4, 6), 0.1), np.ones(6)), (np.full((4, 3), 0.1), np.ones(6))
    expected = f(*good)
    for _ in range(2):
        with pytest.raises(ValueError, match="shape"):
            f(*bad)
        np.testing.assert_array_equal(f(*good), expected)


# ---- no result ever shares memory with what is kept ----


def keeping(program: Program) -> Program:
    """The same program, all its loops keeping buffers."""

    def kept(step: Step) -> Step:
        if isinstance(step, Loop):
            return replace(step, body=tuple(map(kept, step.body)), keep_buffers=True)
        if isinstance(step, Branch):
            return replace(step, then=tuple(map(kept, step.then)), otherwise=tuple(map(kept, step.otherwise)))
        return step

    return replace(program, steps=tuple(map(kept, program.steps)))


def check_calls(program: Program, calls: list[list[Any]]) -> None:
    """Every call gives what a plain evaluation gives, also after the calls that follow it."""
    f = executor().compile(keeping(program))
    found: list[list[Any]] = []
    expected: list[list[Any]] = []
    for values in calls:
        try:
            want = reference(program, values)
        except (IndexError, ValueError):
            with pytest.raises((IndexError, ValueError)):
                f(values)
            continue
        expected.append([np.array(w) for w in want])
        found.append(f(values))
    for results, e in zip(found, expected, strict=True):
        for a, b in zip(results, e, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, equal_nan=True)
    for results in found:
        for a in results:
            a[...] = 7  # what a caller may do with arrays that are its own
    if found:
        for a, b in zip(f(calls[-1]), expected[-1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, equal_nan=True)


def test_nested_loops() -> None:
    rng = np.random.default_rng(0)
    shapes = [[4, 3, 3], [3, 3], [1, 3]]
    calls: list[list[Any]] = [
        [*(rng.normal(size=s) for s in shapes), np.int64(n), np.int64(m)] for n, m in ((4, 3), (4, 3), (2, 1), (4, 3))
    ]
    assert "taken(" in executor().compile(keeping(nested())).source
    check_calls(nested(), calls)
    values = [rng.normal(size=s) for s in ((7, 3), (3, 3), (1, 3))]
    check_calls(rnn(), [[*values, np.int64(7)], [*values, np.int64(2)]])


@settings(max_examples=tries(150), deadline=None)
@given(st.integers(0, 2**32))
def test_random_programs(seed: int) -> None:
    program = Random(seed).program()
    check_calls(program, [arguments(program, s) for s in (seed, seed + 1, seed)])
