"""Loops as kernels: equal to array steps bit for bit, for all operators, dtypes and layouts, whatever goes wrong."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_kernels import RandomLoop

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.backends.kernels.compilers import compiler
from scanopt.program.ir import Program

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
Array = np.ndarray[Any, Any]


def bits(x: Array) -> Array:
    """What two equal arrays have in common: the sign of zeros, not that of NaNs."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x
    return np.where(np.isnan(x), np.uint64(1), x.view(f"u{x.itemsize}"))


def assert_same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(bits(x), bits(y))


def outcome(f: Any, values: list[Any]) -> Any:
    try:
        return f(values)
    except Exception as error:
        return repr(error), getattr(error, "__notes__", None)


def compare(program: Program, values: list[Any]) -> bool:
    """Whether a kernel ran; that its results and errors are those of array steps."""
    try:
        plain = executor("numpy").compile(program)
    except ValueError:
        return False
    f = executor("c").compile(program)
    before = [np.array(v) for v in values]
    found, expected = outcome(f, values), outcome(plain, values)
    if isinstance(expected, tuple):
        assert found == expected
    else:
        assert_same(found, expected)
    assert_same([np.asarray(v) for v in values], before)
    states = [k.state for k in f.kernels]
    assert not any("Error" in state or "status" in state for state in states), states
    return any("1 of 1 kernels" in state for state in states)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_random_loops(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = RandomLoop(seed)
        compare(made.program(), made.values)


def test_most_random_loops_are_kernels() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [RandomLoop(seed) for seed in range(12)]
        ran = [compare(m.program(), m.values) for m in made]
    assert sum(ran) >= 6, ran


def both(inputs: Any, outputs: Any, **options: Any) -> Any:
    """A function that calls the kernels and array steps, and compares them; `.c` is the former."""
    c, plain = (scanopt.function(inputs, outputs, backend=b, fp="exact", **options) for b in ("c", "numpy"))

    def call(*values: Any) -> Any:
        found, expected = c(*values), plain(*values)
        if isinstance(found, list):
            assert_same(found, expected)
        else:
            assert_same([found], [expected])
        return found

    call.c = c
    return call


def kernels_of(f: Any) -> list[str]:
    return [k.state for k in f.c.kernels]


def logistic() -> Any:
    x, r, n = T.dscalar("x"), T.dscalar("r"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s: r * s * (1 - s), outputs_info=[x], n_steps=n)
    return both([x, r, n], ys)


def test_a_scalar_loop() -> None:
    f = logistic()
    for n in (0, 1, 2, 1000):
        f(0.3, 3.9, n)
    assert kernels_of(f) == ["1 of 1 kernels compiled"]
