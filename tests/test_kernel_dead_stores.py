"""What a kernel would write and never read takes no memory."""

import numpy as np
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T


def test_evenly_spaced_integers_are_counted_and_not_kept() -> None:
    """Those of a step, as many as a row has elements, and a part of others before the loop."""
    X, n = T.dmatrix("X"), T.lscalar("n")
    before = T.arange(3, 3 + 2 * X.shape[1], 2)[: X.shape[1]] * n

    def step(v, s, b):
        return s + v * T.arange(v.shape[0]) / v.shape[0] + b

    found, _ = scanopt.scan(step, X, T.zeros(X.shape[1]), before)
    f = scanopt.function([X, n], found[-1], fp="exact", backend="c")
    exact_kernel(f, [np.random.default_rng(1).standard_normal((5, 1000)), 3])
    (kernel,) = f.kernels
    assert kernel.memory < 40_000
    assert " = arange" not in kernel.shown[-1]
