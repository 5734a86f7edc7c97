"""A small LSTM learns to add: of many random numbers it is to give the sum of the two that are marked.

The task is Hochreiter and Schmidhuber's (Neural Computation 9, 1997). The loss, its gradient back through the loop, and
the new weights are one compiled function.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

HIDDEN, LENGTH, BATCH, UPDATES, RATE = 16, 10, 32, 400, 0.02


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(x, h, c, W, U, b):
    """One step of all sequences of a batch; the four gates are parts of one product."""
    gates = x @ W + h @ U + b
    write, keep, show = (sigmoid(gates[:, k * HIDDEN : (k + 1) * HIDDEN]) for k in range(3))
    c = keep * c + write * np.tanh(gates[:, 3 * HIDDEN :])
    return [show * np.tanh(c), c]


def numpy_loss(X, y, W, U, b, V):
    """The loss by a plain loop."""
    h = c = np.zeros((X.shape[1], HIDDEN))
    for x in X:
        h, c = step(x, h, c, W, U, b)
    return np.mean((h @ V - y) ** 2)


def numbers(n, rng):
    """n sequences of numbers and marks, and the sums of the marked numbers."""
    X = np.stack([rng.random((LENGTH, n)), np.zeros((LENGTH, n))], axis=-1)
    for half in (rng.integers(0, LENGTH // 2, n), rng.integers(LENGTH // 2, LENGTH, n)):
        X[half, np.arange(n), 1] = 1.0
    return X, np.sum(X[:, :, 0] * X[:, :, 1], axis=0)


rng = np.random.default_rng(0)
SHAPES = dict(W=(2, 4 * HIDDEN), U=(HIDDEN, 4 * HIDDEN), b=(4 * HIDDEN,), V=(HIDDEN,))
weights = [scanopt.shared(rng.standard_normal(shape) / np.sqrt(HIDDEN), name) for name, shape in SHAPES.items()]
W, U, b, V = weights
b.set_value(np.repeat([0.0, 2.0, 0.0, 0.0], HIDDEN))  # keep, to begin with

X, y = T.dtensor3("X"), T.dvector("y")
nothing = T.zeros((X.shape[1], HIDDEN), dtype="float64")
(states, _), _ = scanopt.scan(step, X, [nothing, nothing], [W, U, b])
loss = np.mean((states[-1] @ V - y) ** 2)
gradients = T.grad(loss, weights)

# Adam: the mean of the gradients and of their squares, each with a memory of its own.
means = [scanopt.shared(np.zeros(shape), f"mean_{name}") for name, shape in SHAPES.items()]
squares = [scanopt.shared(np.zeros(shape), f"square_{name}") for name, shape in SHAPES.items()]
updates = {}
for w, g, m, s in zip(weights, gradients, means, squares, strict=True):
    updates[m], updates[s] = 0.9 * m + 0.1 * g, 0.99 * s + 0.01 * g**2
    updates[w] = w - RATE * updates[m] / (np.sqrt(updates[s]) + 1e-3)
train = scanopt.function([X, y], [loss, *gradients], updates=updates, name="train")


def main():
    examples, sums = numbers(BATCH, rng)
    values = [w.get_value() for w in weights]
    first, *slopes = train(examples, sums)
    np.testing.assert_allclose(first, numpy_loss(examples, sums, *values))
    for k, slope in enumerate(slopes):
        away = 1e-6 * rng.standard_normal(slope.shape)
        ahead, behind = ([*values[:k], values[k] + side * away, *values[k + 1 :]] for side in (1, -1))
        difference = numpy_loss(examples, sums, *ahead) - numpy_loss(examples, sums, *behind)
        np.testing.assert_allclose(2 * np.sum(slope * away), difference, rtol=1e-4, atol=1e-13)

    losses = [float(train(*numbers(BATCH, rng))[0]) for _ in range(UPDATES)]
    error = np.mean(losses[-25:])
    print(f"mean squared error {np.mean(losses[:25]):.4f} at first, {error:.4f} after {UPDATES} updates")
    print(f"who always says 1 has {1 / 6:.4f}; the gradient is that of central differences")

    t = np.arange(1, UPDATES + 1)
    chart = Chart("An LSTM learns to add", "updates", "mean squared error", log=True)
    chart.line(t, losses, "loss").line(t[[0, -1]], 1 / 6, "always 1", dashed=True)
    print(f"{chart.save('lstm')} written")


if __name__ == "__main__":
    main()
