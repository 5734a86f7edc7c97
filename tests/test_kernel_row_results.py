"""What is computed of all rows that a loop keeps is computed in its steps, with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(12)


def run(after: Any) -> Any:
    """A loop of two results, and what is made of these; its function."""
    z, w, x = T.dmatrix("z"), T.dvector("w"), T.dvector("x")

    def step(z: Any, s: Any) -> list[Any]:
        s = s * 0.5 + z
        return [s, s > T.sqrt(abs(z))]

    (states, over), _ = scanopt.scan(step, z, [x, None])
    return scanopt.function([z, w, x], after(states, over, w), fp="exact", backend="c", on_unused_input="ignore")


def values(steps: int = 9, lanes: int = 20) -> list[Any]:
    return [RNG.normal(size=(steps, lanes)), RNG.normal(size=lanes), RNG.normal(size=lanes)]


RESULTS = {
    "a cast": lambda s, o, w: [T.cast(o, "int64")],
    "several, one of which others read": lambda s, o, w: [s * w, T.cast(o, "float64") * s, (s * w).sum()],
    "some rows too": lambda s, o, w: [s * w + 1.0, s[-1]],
    "with what others read": lambda s, o, w: [T.where(o, s, w) * 2.0, s],
    "a product": lambda s, o, w: [T.where(o, s, 0.5).dot(w)],
    "sums": lambda s, o, w: [T.where(o, s, w).sum(axis=0), T.where(o, s, w).sum(axis=1)],
    "of all rows": lambda s, o, w: [s - s.mean(axis=0), T.cast(o, "int8")],
}


@pytest.mark.share(2)
@pytest.mark.parametrize("after", RESULTS.values(), ids=RESULTS)
def test_what_is_computed_of_kept_rows(after: Any) -> None:
    f = run(after)
    for size in ((9, 20), (2, 11), (30, 300)):
        exact_kernel(f, values(*size))


def test_rows_that_nothing_else_reads_are_not_kept() -> None:
    f = run(RESULTS["a cast"])
    exact_kernel(f, values(100, 50))
    assert f.kernels[0].memory < 100 * 50
