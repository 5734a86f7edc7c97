"""Operators that stand for recurrences, and arrays repeated along new axes, in kernels: the bits of array steps."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel
from test_kernels import compare

import scanopt
import scanopt.tensor as T
from scanopt.array.numerics.running import ACCUMULATED
from scanopt.array.op import Op
from scanopt.array.variable import Variable, apply
from scanopt.backends import executor
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.ir import NAME
from scanopt.backends.kernels.prices import KERNELS
from scanopt.program.ir import Program

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
RNG = np.random.default_rng(3)
DTYPES = ("bool", "int8", "int32", "int64", "uint64", "float32", "float64")


def numbers(dtype: str, *shape: int) -> Any:
    if dtype == "bool":
        return RNG.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(dtype)
    return RNG.normal(size=shape).astype(dtype)


def whole(program: Program, values: list[Any]) -> bool:
    """Whether one kernel is all of a program; that it gives what array steps give."""
    compare(program, values)
    f = executor("c").compile(program)
    with suppress(ValueError):
        f(values)
    return any("1 of 1 kernels" in k.state for k in f.kernels)


def written(op: Op, *values: Any) -> bool:
    """Whether a program of one operator runs as a kernel; that it gives what array steps give."""
    init, *rest = values
    inputs = [T.tensor(v.dtype.name, (None,) * v.ndim) for v in (*init, *rest)]
    f = scanopt.function(inputs, apply(op, T.stack(inputs[: len(init)]), *inputs[len(init) :]), mode="FAST_COMPILE")
    return whole(f.program, [*map(np.asarray, init), *rest])


@pytest.mark.share(12)
@pytest.mark.parametrize("ufunc", ACCUMULATED)
@pytest.mark.parametrize("name", ["accumulate", "fold", "fold_in_order"])
def test_ufuncs(name: str, ufunc: str) -> None:
    ran = []
    with np.errstate(all="ignore"):
        for dtype in (d for d in DTYPES if np.dtype(d).kind in ACCUMULATED[ufunc]):
            for row in ((), (3,), (2, 3)) if dtype in ("bool", "int64", "float64") else ((),):
                init, x = numbers(dtype, 1, *row), np.maximum(numbers(dtype, 7, *row[-1:]), 1).astype(dtype)
                ran.append(written(Op.make(name, ufunc=ufunc), init, x))
    if ufunc in ("add", "maximum", "bitwise_and", "bitwise_xor"):
        assert sum(ran) > len(ran) / 3


@pytest.mark.share(6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", [(), (3,)])
def test_recurrences(dtype: str, row: tuple[int, ...]) -> None:
    init, mask = numbers(dtype, 1, *row), numbers("bool", 9)
    x, y = numbers(dtype, 9, *row), numbers(dtype, 9, *row)
    assert written(Op.make("forward_fill"), init, mask, x)
    assert written(Op.make("forward_fill"), init, numbers("bool", 9, *row), x)
    if dtype != "bool":
        assert written(Op.make("segmented", ufunc="add"), init, mask, x, y)
    if np.dtype(dtype).kind in "biu":
        assert written(Op.make("masked_flips"), init, x, y)
    if np.dtype(dtype).kind in "iu":
        assert written(Op.make("linear_recurrence"), init, x, y)
    if np.dtype(dtype).kind == "f":
        a, b = numbers(dtype), numbers(dtype)
        assert written(Op.make("lfilter"), init, x, a)
        assert written(Op.make("lfilter2"), numbers(dtype, 2, *row), x, a, b)


def test_sequences_that_differ_in_length_are_told_as_ever() -> None:
    init, mask, x = np.zeros(1), np.ones(4, bool), np.ones(5)
    written(Op.make("forward_fill"), init, mask, x)


def test_rows_that_a_number_counts() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    f = scanopt.function([x, n], apply(Op.make("repeat_rows"), T.exp(x), n), mode="FAST_COMPILE")
    assert whole(f.program, [np.arange(3.0), np.array(4)])
    assert not whole(f.program, [np.arange(3.0), np.array(0)])


def loops(f: Any) -> int:
    return sum(line.lstrip().startswith("loop ") for line in str(f.program).splitlines())


STEPS = {
    "running sum": lambda v, s: v + s,
    "running maximum": lambda v, s: T.maximum(v, s),
    "decay": lambda v, s: v + 0.5 * s,
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("last", [False, True])
def test_loops_vanish_at_the_prices_of_kernels(name: str, last: bool) -> None:
    """An operator for all steps costs no more than the loop, so the program has none."""
    x: Variable = T.dvector("x")
    trace = scanopt.scan(STEPS[name], x, T.constant(np.array(0.0)))[0]
    f = scanopt.function([x], trace[-1] if last else trace, cost=KERNELS)
    assert loops(f) == 0
    np.testing.assert_allclose(f(np.arange(5.0)), f.unoptimized(np.arange(5.0)))


@pytest.mark.parametrize("kept", [True, False])
def test_numbers_from_many_steps_ago(kept: bool) -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    found, _ = scanopt.scan(lambda a, b: 0.498 * (a + b), outputs_info=[{"initial": x, "taps": [-20, -19]}], n_steps=n)
    f = scanopt.function([x, n], [found if kept else found[-1]], fp="exact", backend="c")
    for steps in (7, 19, 20, 101):
        text = exact_kernel(f, [np.random.default_rng(0).normal(size=20), np.int64(steps)]).partition(NAME)[2]
    assert ("ANY_ORDER" in text) == kept  # steps run side by side
