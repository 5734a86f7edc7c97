"""Lengths that the shape rules of operators tell, where arrays fit and where they do not."""

import numpy as np

import scanopt
import scanopt.tensor as T


def test_the_rows_of_an_array_brought_to_a_computed_shape() -> None:
    """So many elements need not fit: then it raises, and no length is known of it."""
    x, n = T.dvector("x"), T.lscalar("n")
    f = scanopt.function([x, n], scanopt.map(lambda row: T.tanh(row).sum(), x.reshape((n, 4)))[0])
    for k in (0, 1, 4):
        values = np.linspace(0.1, 0.9, 4 * k), k
        np.testing.assert_allclose(f(*values), f.unoptimized(*values))
    g = scanopt.function(
        [x], scanopt.scan_checkpoints(lambda v, s: s * v, x, T.constant(1.0, dtype="float64"), save_every_N=4)[0]
    )
    np.testing.assert_allclose(g(np.full(10, 2.0)), [16.0, 256.0, 1024.0])
