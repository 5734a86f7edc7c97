"""What a kernel would write and never read takes no memory."""

import numpy as np
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt import lax


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


def test_a_table_that_a_loop_fills_is_made_where_the_loop_fills_it() -> None:
    """But where something reads the first table later, or the loop fills a result of which that is not the start."""
    a, b = T.lvector("a"), T.lvector("b")
    first = T.set_subtensor(T.zeros((a.shape[0] + 1, b.shape[0] + 1), "int64")[0], -T.arange(b.shape[0] + 1))

    def cell(i, j, table):
        best = T.maximum(table[i, j] + T.eq(a[i], b[j]), T.maximum(table[i, j + 1], table[i + 1, j]) - 1)
        return T.set_subtensor(table[i + 1, j + 1], best)

    def row(i, table):
        return lax.fori_loop(0, b.shape[0], lambda j, table: cell(i, j, table), table)

    table = lax.fori_loop(0, a.shape[0], row, first)
    values = [np.arange(40) % 3, np.arange(50) % 4]
    for outputs, tables in (([table[-1]], 1), ([table], 1), ([table, first + 1], 2)):
        f = scanopt.function([a, b], outputs, fp="exact", backend="c")
        exact_kernel(f, values)
        assert f.kernels[0].memory < tables * 41 * 51 * 8 + 1000
