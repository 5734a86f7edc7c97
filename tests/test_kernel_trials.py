"""Trials of products tell orders of additions apart, however few elements products have."""

import ctypes
import math
from typing import Any

import pytest

from scanopt.backends.kernels.orders import fused_sum
from scanopt.backends.kernels.trials import values_of

pytestmark = pytest.mark.skipif(fused_sum("float64") is None, reason="the C library has no fma")


def sums(x: list[float], y: list[float], dtype: str) -> tuple[float, float, float]:
    """The sum of products: each product rounded alone, or together with its addition; and the last product first."""
    rounded = (lambda v: ctypes.c_float(v).value) if dtype == "float32" else float
    fused: Any = fused_sum(dtype)
    plain = together = rounded(x[0] * y[0])
    for a, b in zip(x[1:], y[1:], strict=True):
        plain, together = rounded(plain + rounded(a * b)), fused(a, b, together)
    turned = rounded(x[-1] * y[-1])
    for a, b in zip(x[-2::-1], y[-2::-1], strict=True):
        turned = fused(a, b, turned)
    return plain, together, turned


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "dims", [(1, 2, 1), (2, 2, 1), (2, 2, 2), (1, 3, 1), (2, 3, 2), (1, 4, 2), (3, 3, 3), (1, 9, 1)]
)
def test_some_sums_differ_if_they_are_added_in_another_order(dims: tuple[int, int, int], dtype: str) -> None:
    differ = [0, 0]
    for a, b in values_of(dtype, dims):
        for x in a.tolist():
            for y in b.T.tolist():
                plain, together, turned = sums(x, y, dtype)
                differ[0] += plain != together and not math.isnan(plain)
                differ[1] += turned != together and not math.isnan(turned)
    assert min(differ) >= 4
