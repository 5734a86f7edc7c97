"""Products in default mode: kernels have the bits of array steps for factors in every layout."""

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.backends.kernels.compilers import compiler

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason="needs a C compiler")

MATRICES = {
    "packed": lambda m, n: m[:n, :n].copy(),
    "rows apart": lambda m, n: m[:n, :n],
    "every second column": lambda m, n: m[:n, : 2 * n : 2],
    "every second row and column": lambda m, n: m[: 2 * n : 2, : 2 * n : 2],
    "Fortran order": lambda m, n: np.asfortranarray(m[:n, :n]),
    "transposed, columns apart": lambda m, n: m.T[:n, :n],
    "transposed, every second row": lambda m, n: m.T[: 2 * n : 2, :n],
    "backwards": lambda m, n: m[:n, :n][::-1],
    "columns backwards": lambda m, n: m[:n, :n][:, ::-1],
    "one row": lambda m, n: np.broadcast_to(m[:1, :n], (n, n)),
    "one column": lambda m, n: np.broadcast_to(m[:n, :1], (n, n)),
}
STEPS = {
    "vector by matrix": (1, lambda u, s, v, W: T.tanh(T.dot(s, W) + u)),
    "matrix by vector": (1, lambda u, s, v, W: T.tanh(T.dot(W, s) + u)),
    "matrices": (2, lambda u, s, v, W: T.tanh(T.dot(s, W) + u)),
    "vectors": (1, lambda u, s, v, W: T.tanh(T.dot(s + u, v) + s)),
    "held vector": (1, lambda u, s, v, W: T.tanh(T.dot(W, v) * T.sum(u) + s)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", STEPS)
def test_factors_in_every_layout(form, dtype):
    axes, step = STEPS[form]
    u, s, v, W = (T.TensorType(dtype, (None,) * n)() for n in (axes + 1, axes, 1, 2))
    found, _ = scanopt.scan(step, u, s, non_sequences=[v, W])
    f = scanopt.function([u, s, v, W], found, backend="c", on_unused_input="ignore")
    steps = executor("auto").compile(f.program)
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 8, 17, 33):
        for name, layout in MATRICES.items():
            for every in (1, 2, -1):
                matrix, shape = rng.normal(size=(2 * n, 2 * n)).astype(dtype), (n,) * axes
                values = [rng.normal(size=x).astype(dtype) for x in ((4, *shape), shape, 2 * n)]
                values[2] = values[2][::every][:n]
                given = [*values, layout(matrix, n)]
                (expected,) = steps(tuple(given))
                np.testing.assert_array_equal(f(*given), expected, err_msg=f"{name}, {n}, {every}")


CONTRACTED = {
    "itself": lambda a, b: T.tensordot(a, a, axes=((0, 1), (0, 1))),
    "another argument": lambda a, b: T.tensordot(a, b, axes=((0, 1), (0, 1))),
    "the same, written twice": lambda a, b: T.tensordot(T.sqrt(a * a), T.sqrt(a * a), axes=((0, 1), (0, 1))),
    "last axes": lambda a, b: T.tensordot(a, a, axes=((1, 2), (1, 2))),
    "a middle axis": lambda a, b: T.tensordot(a, a, axes=((1,), (1,))).sum(axis=0),
    "rows": lambda a, b: scanopt.scan(lambda x, y: T.tensordot(x, y, axes=((0,), (0,))), [a, b])[0],
}


@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("name", CONTRACTED)
def test_an_array_contracted_with_itself(name, fp):
    """BLAS would compute one half, and round otherwise, if both factors share memory, which laws and layouts decide."""
    a, b = T.dtensor3("a"), T.dtensor3("b")
    f = scanopt.function([a, b], CONTRACTED[name](a, b), fp=fp, backend="c", on_unused_input="ignore", adapt=False)
    steps = executor("auto").compile(f.program).run
    for shape in ((3, 16, 17), (2, 31, 5), (4, 9, 9), (6, 40, 65)):
        x = np.random.default_rng(0).normal(size=shape)
        apart = f(x, x.copy())
        for y in (x, x[:, ::-1][:, ::-1], np.asfortranarray(x), np.repeat(x, 2, axis=2)[..., ::2]):
            expected = f.unoptimized(y, y) if fp == "exact" else steps(y, y)[0]
            np.testing.assert_array_equal(f(y, y), expected)
            if fp == "exact":
                np.testing.assert_array_equal(expected, apart)
