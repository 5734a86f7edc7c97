"""Laws that are exact leave zeros their signs, and infinite complex numbers what NumPy makes of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

x, y = T.dvector("x"), T.dvector("y")
z, w = (T.TensorType("complex128", (None,))(name) for name in "zw")

REAL = np.array([-0.0, 0.0, 1.0, -1.0, np.inf, -np.inf])
COMPLEX = np.array([1 + 1j, complex(-0.0, -0.0), complex(np.inf, 1), complex(1, np.inf), complex(0.0, -1.0)])

OF_REALS: dict[str, Callable[[Any, Any], Any]] = {
    "sum of one": lambda x, y: T.expand_dims(x, 0).sum(axis=0),
    "mean of one": lambda x, y: T.expand_dims(x, 1).mean(axis=1),
    "product of one": lambda x, y: T.expand_dims(x, 0).prod(axis=0),
    "greatest of one": lambda x, y: T.expand_dims(x, 0).max(axis=0),
    "opposite times": lambda x, y: -x * y,
    "times opposite": lambda x, y: -(y * -x),
    "sum of opposites": lambda x, y: -x + -y,
    "plus zeros": lambda x, y: x + T.zeros_like(x),
    "first power": lambda x, y: x**1,
}


def bits(a: np.ndarray[Any, Any]) -> bytes:
    """NaNs all alike: their signs are nobody's."""
    parts = a.view("float64") if a.dtype.kind == "c" else a
    return np.where(np.isnan(parts), np.nan, parts).tobytes()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_zeros_keep_their_signs(kind: str) -> None:
    (a, b), values = ((x, y), REAL) if kind == "real" else ((z, w), COMPLEX)
    made = {name: form(a, b) for name, form in OF_REALS.items() if kind == "real" or name != "greatest of one"}
    f = scanopt.function([a, b], list(made.values()), fp="exact")
    for turned in (values, values[::-1].copy(), np.roll(values, 1)):
        for name, found, expected in zip(made, f(values, turned), f.unoptimized(values, turned), strict=True):
            assert bits(found) == bits(expected), name
