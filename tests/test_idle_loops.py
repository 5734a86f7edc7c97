"""Loops that are known to take no step: all values in them are equal, which must lead to nothing."""

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op
from scanopt.array.operators.idle import when_runs


def same(outputs: list[Any], inputs: tuple[Any, ...] = (), values: tuple[Any, ...] = ()) -> Any:
    """The optimized function, which gives what the interpreter gives."""
    f = scanopt.function(list(inputs), outputs, fp="exact", on_unused_input="ignore")
    for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)
    return f


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_traces_of_different_constants_are_equal(dtype: str) -> None:
    zero, one = T.constant(0, dtype=dtype), T.constant(1, dtype=dtype)
    (zeros, ones), _ = scanopt.scan(lambda: [zero, one], n_steps=0)
    outputs, _ = scanopt.scan(lambda a, b: [a + b, a * b, a - one], [zeros, ones], n_steps=0)
    f = same(outputs)
    assert f.report.saturated
    assert f.report.enodes < 200


def test_counters() -> None:
    count, _ = scanopt.scan(lambda i, n: n + 1, T.arange(0), T.constant(0, dtype="int64"))
    down, _ = scanopt.scan(
        lambda i, n, k: n - k, T.arange(0), T.constant(3, dtype="int64"), T.constant(2, dtype="int64")
    )
    f = same([count.sum(axis=0), down, scanopt.scan(lambda a, b: a * b, [count, down])[0]])
    assert f.report.saturated


def test_a_loop_inside() -> None:
    x = T.vector("x")

    def step(v: Any, w: Any) -> Any:
        inner, _ = scanopt.scan(lambda n: n + 1, outputs_info=[T.constant(0, dtype="int64")], n_steps=3)
        other, _ = scanopt.scan(lambda a, m, n: [n % 3, n + a], [T.zeros((0,), "int64")], [1, 0])
        return [inner[-1] * v, other[0][-2:].sum(), w.sum() * v]

    outputs, _ = scanopt.scan(step, x, None, x, n_steps=0)
    same([*outputs, outputs[0].sum()], (x,), (np.ones(2),))


@pytest.mark.parametrize("steps", [0, 2])
def test_rows_as_long_as_a_mask_has_entries_that_are_true(steps: int) -> None:
    """Of a constant, or of what the loop is given: known without a step."""
    x, mask, n = T.dvector("x"), T.vector("mask", dtype="bool"), T.lscalar("n")
    step = lambda s, m: [0.5 * s, s[m], s[np.array([False, True, True])]]  # noqa: E731
    outputs = scanopt.scan(step, None, [x, None, None], [mask], n_steps=n)[0]
    f = scanopt.function([x, mask, n], outputs)
    assert [r.shape for r in f(np.ones(3), [True, False, False], steps)] == [(steps, 3), (steps, 1), (steps, 2)]


@pytest.mark.share(2)
@pytest.mark.parametrize("cut", [lambda x: x[:0], lambda x: x[0:0], lambda x: x[:1], lambda x: x[:-1]])
def test_loops_over_a_part_and_the_whole_have_their_own_steps(cut: Any) -> None:
    x = T.lvector("x")
    part, _ = scanopt.scan(lambda v, s: s + v, cut(x), T.constant(0, dtype="int64"))
    whole, _ = scanopt.scan(lambda v, s: s * v, x, T.constant(1, dtype="int64"))
    for values in ([], [3], [2, 5]):
        same([part, whole], (x,), (np.array(values, "int64"),))


def test_what_does_not_run_gives_what_is_known_of_it_alone() -> None:
    """Lengths depend on it; it is an array of its own, since it may be written onto."""
    x = np.arange(4)
    found = when_runs(Op.make("getitem", index=(("slice", 1, None, None),))).bind()(0, x)
    np.testing.assert_array_equal(found, [1, 2, 3])
    assert not np.shares_memory(found, x)


def test_what_a_loop_of_no_step_reads_is_computed() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    empty, _ = scanopt.scan(lambda r, s: s * 0.5 + r, x, T.constant(1.0, dtype="float64"))
    for start in (empty[-1], T.exp(x[3]), T.reshape(x, (n,)).sum()):
        for steps in (0, n * 0):
            states, _ = scanopt.scan(T.cos, None, start, n_steps=steps)
            f = scanopt.function([x, n], states, on_unused_input="ignore")
            for g in (f, f.unoptimized):
                with pytest.raises((IndexError, ValueError)):
                    g(np.ones(0), 2)
            assert f(np.ones(5), 5).shape == (0,)
