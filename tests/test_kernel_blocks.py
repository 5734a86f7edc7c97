"""Loops over elements run block by block: the same bits at all lengths around the length of a block."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.blocks import BLOCK


def escape(a: Any, b: Any, n: Any) -> Any:
    def step(x: Any, y: Any, k: Any, a: Any, b: Any) -> list[Any]:
        inside = x * x + y * y < 4.0
        return [T.where(inside, x * x - y * y + a, x), T.where(inside, 2.0 * x * y + b, y), k + T.cast(inside, "int64")]

    start = [T.zeros_like(a), T.zeros_like(a), T.zeros_like(a, dtype="int64")]
    found, _ = scanopt.scan(step, outputs_info=start, non_sequences=[a, b], n_steps=n)
    return [x[-1] for x in found]


def exchanged(a: Any, b: Any, n: Any) -> Any:
    found, _ = scanopt.scan(lambda x, y, z: [y, x + z, x * 0.5], outputs_info=[a, b, a * b], n_steps=n)
    return [x[-1] for x in found]


def by_numbers(a: Any, b: Any, n: Any) -> Any:
    rates = T.sqrt(T.arange(n) + 1.0)
    found, _ = scanopt.scan(lambda r, x, b: x / r + b[0] * x, rates, a, non_sequences=b)
    return found[-1]


def of_32_bits(a: Any, b: Any, n: Any) -> Any:
    x, on = T.cast(a, "float32"), a > b
    found, _ = scanopt.scan(lambda x, on: [x * x - x, T.logical_xor(on, x > 0)], outputs_info=[x, on], n_steps=n)
    return [x[-1] for x in found]


def matrices(a: Any, b: Any, n: Any) -> Any:
    x = T.outer(a[:3], b)
    found, _ = scanopt.scan(lambda x: T.maximum(x * 1.5 - 0.25, -x), outputs_info=x, n_steps=n)
    return found[-1]


@pytest.mark.parametrize("made", [escape, exchanged, by_numbers, of_32_bits, matrices])
@pytest.mark.parametrize("length", [10, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_blocks_give_the_bits_of_the_interpreter(made: Callable[..., Any], length: int) -> None:
    a, b, n = T.dvector("a"), T.dvector("b"), T.lscalar("n")
    f = scanopt.function([a, b, n], made(a, b, n), fp="exact", backend="c")
    values = np.linspace(-2, 1, length), np.linspace(1.5, -1, length), 9
    with np.errstate(all="ignore"):
        found, expected = f(*values), f.unoptimized(*values)
    assert "1 of 1 kernels" in str(f.kernels[0]), f.kernels
    for x, y in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_array_equal(x, y)
    if made is not by_numbers:
        assert f"[{BLOCK}];" in str(f.kernels[0])
