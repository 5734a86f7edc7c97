"""What gradients of loops hold: the states, and little beside them."""

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T


@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_the_gradient_of_a_batch_keeps_the_states_alone(fp: str) -> None:
    """Rows from outside, earlier states and sums for the weights take no memory of all steps."""
    u, x, W = T.dtensor3("u"), T.dmatrix("x"), T.dmatrix("W")
    ys = scanopt.scan(lambda u, s, W: T.tanh(s @ W + u), u, x, non_sequences=W)[0]
    f = scanopt.function([u, x, W], T.grad((ys**2).sum(), W), fp=fp, backend="c")
    rng = np.random.default_rng(3)
    values = [rng.normal(size=(60, 32, 24)), rng.normal(size=(32, 24)), rng.normal(size=(24, 24)) / 24]
    np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=0.0 if fp == "exact" else 1e-12)
    assert f.kernels[0].memory < 1.5 * values[0].nbytes
