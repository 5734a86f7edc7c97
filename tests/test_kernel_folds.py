"""Loops that put together matrices made for them alone: the bits of the interpreter, without the matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.folds import WIDTH
from scanopt.backends.kernels.stages import FEW

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason="needs a C compiler")
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 1e300, -2.5])


def values(steps: int, rows: int, columns: int, dtype: str = "float64", special: bool = False) -> list[Any]:
    draw = np.random.default_rng(steps + rows + columns)
    found = [draw.normal(size=s) * 4 for s in ((steps, rows), (steps, columns), (rows, columns))]
    if special:
        found[:2] = [np.where(draw.random(x.shape) < 0.2, draw.choice(SPECIAL, x.shape), x) for x in found[:2]]
    return [x.astype(dtype) for x in found]


def both(step: Callable[..., Any], given: list[Any], more: Callable[[Any], list[Any]] = lambda _: []) -> str:
    """The text of the kernel for a loop over outer products, after a comparison with the interpreter."""
    dtype = str(given[0].dtype)
    a, b, s = (T.TensorType(dtype, (None, None))() for _ in range(3))
    made = a[:, :, None] * b[:, None, :]
    found, _ = scanopt.scan(step, made, s)
    return exact_kernel(scanopt.function([a, b, s], [found[-1], *more(made)], fp="exact", backend="c"), given)


FOLDED = f"[{WIDTH}];"


@pytest.mark.share(5)
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("columns", [2, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH, 3 * WIDTH + 5])
@pytest.mark.parametrize(("steps", "rows"), [(2, 7), (9, 2), (30, 5)])
def test_sums_of_outer_products(steps: int, rows: int, columns: int, special: bool) -> None:
    text = both(lambda x, s: s + x, values(steps, rows, columns, special=special))
    assert (FOLDED in text) == (rows * columns > FEW)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32"])
def test_other_steps_and_dtypes(dtype: str) -> None:
    given = values(6, 5, 40, dtype)
    for step in (lambda x, s: T.maximum(s, x), lambda x, s: s * x, lambda x, s: s - T.minimum(x, s) + x):
        assert FOLDED in both(step, given)


def test_matrices_that_something_else_reads_are_made() -> None:
    assert FOLDED not in both(lambda x, s: s + x, values(4, 3, 40), lambda made: [made])
    assert FOLDED not in both(lambda x, s: s + x, values(4, 3, 40), lambda made: [made[1].sum()])


def test_two_states_that_read_each_other() -> None:
    a, b, s = T.dmatrix("a"), T.dmatrix("b"), T.dmatrix("s")
    made = T.sqrt(abs(a[:, :, None] - b[:, None, :]))
    (x, y), _ = scanopt.scan(lambda m, x, y: [y, x * 0.5 + m], made, [s, s * 2.0])
    f = scanopt.function([a, b, s], [x[-1], y[-1]], fp="exact", backend="c")
    given = values(7, 4, 50)
    for found, expected in zip(f(*given), f.unoptimized(*given), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_gradients_of_weights_hold_no_outer_products() -> None:
    u, x, W = T.dmatrix("u"), T.dvector("x"), T.dmatrix("W")
    ys, _ = scanopt.scan(lambda u, s, W: T.tanh(s @ W + u), u, x, non_sequences=W)
    f = scanopt.function([u, x, W], T.grad((ys**2).sum(), W), fp="exact", backend="c", adapt=False)
    draw = np.random.default_rng(0)
    given = [draw.normal(size=s) for s in ((50, 40), (40,), (40, 40))]
    np.testing.assert_array_equal(f(*given), f.unoptimized(*given))
    kernel = f._compiled.made._whole if hasattr(f._compiled, "made") else f._compiled._whole
    (plan,) = kernel.planner.plan._plans.values()
    assert plan.size < 50 * 40 * 40 * 8
