"""Powers 0, 1, 2 ... of a number: near NumPy's, and the same bits in kernels and array steps."""

from __future__ import annotations

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.numerics.powers import MULTIPLIED, powers
from scanopt.backends.kernels.prices import KERNELS

BASES = [0.99, -1.1, 0.0, -0.0, 1e200, 1e-200, np.inf, -np.inf, np.nan, 5e-324]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [1, 2, 9, 10, MULTIPLIED - 1, MULTIPLIED, MULTIPLIED + 1, 200])
def test_powers_are_near_numpys(dtype: str, n: int) -> None:
    exponents = np.arange(n)
    with np.errstate(all="ignore"):
        for base in BASES:
            x = np.array(base, dtype)
            found, expected = powers(np, x, exponents, dtype), np.power(x, exponents.astype(dtype))
            np.testing.assert_allclose(found, expected, rtol=n * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)
        some = np.array(BASES[:3], dtype)
        rows = powers(np, some, exponents, dtype)
        np.testing.assert_array_equal(rows[:, 1], powers(np, some[1], exponents, dtype))


def test_kernels_have_the_bits_of_array_steps() -> None:
    c, x = T.dvector("c"), T.dscalar("x")
    terms, _ = scanopt.scan(lambda c, i, x: c * x**i, [c, T.arange(c.shape[0])], non_sequences=x)
    inputs, outputs = [c, x], [terms, terms.sum()]
    f, steps = (scanopt.function(inputs, outputs, backend=b, cost=KERNELS) for b in ("c", "numpy"))
    assert "powers(" in str(f.program)
    for n in (1, 3, 10, 16, 17, MULTIPLIED, MULTIPLIED + 1, 130):
        for base in BASES:
            with np.errstate(all="ignore"):
                given = np.linspace(-1, 1, n), np.array(base)
                for found, expected in zip(f(*given), steps(*given), strict=True):
                    np.testing.assert_array_equal(found, expected)
