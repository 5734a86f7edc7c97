"""Arrays of few elements, which are variables: with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(17)


def turned(x: Any, a: Any) -> Any:
    """Products from which one number is taken away and to which another one is added: compilers may see a pattern."""
    return T.stack([x[0] * a[0] - x[1], x[1] * a[1] + x[0]])


def test_differences_and_sums_of_products_are_not_contracted() -> None:
    w, q = T.dmatrix("w"), T.dvector("q")
    states, _ = scanopt.scan(lambda w, q: 0.5 * turned(q, w), sequences=w, outputs_info=q)
    rows, _ = scanopt.scan(lambda w: turned(w, w[::-1] / 3.0), sequences=w)
    for found in (states, rows):
        f = scanopt.function([w, q], found, fp="exact", backend="c", on_unused_input="ignore")
        exact_kernel(f, [RNG.normal(size=(400, 2)), RNG.normal(size=2)])


@pytest.mark.parametrize("count", [2, 4])
def test_columns_of_rows_are_not_contracted(count: int) -> None:
    w = T.dtensor3("w")
    x = T.stack([w[..., 0] * w[..., 1] - w[..., 0], w[..., 0] * w[..., 1] + w[..., 1]] * (count // 2), axis=2)
    f = scanopt.function([w], x, fp="exact", backend="c")
    exact_kernel(f, [RNG.normal(size=(30, 5, 2))])
