"""What gradients of loops hold: the states, and little beside them."""

import numpy as np

import scanopt
import scanopt.tensor as T


def test_an_exact_gradient_of_a_batch_keeps_earlier_states_within_the_states() -> None:
    """Three arrays have rows of all steps: the states, what comes from outside, and what the weights are made of."""
    u, x, W = T.dtensor3("u"), T.dmatrix("x"), T.dmatrix("W")
    ys = scanopt.scan(lambda u, s, W: T.tanh(s @ W + u), u, x, non_sequences=W)[0]
    f = scanopt.function([u, x, W], T.grad((ys**2).sum(), W), fp="exact", backend="c")
    rng = np.random.default_rng(3)
    values = [rng.normal(size=(60, 16, 24)), rng.normal(size=(16, 24)), rng.normal(size=(24, 24)) / 24]
    np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
    assert f.kernels[0].memory < 3.2 * values[0].nbytes
