"""A hidden Markov model learns from the lengths of words where a text was changed from one kind to another.

The forward algorithm is a loop. The gradient of the log-likelihood by the logarithm of a probability is how often that
is expected to be used, so T.grad gives the counts for each step of Baum and Welch's algorithm.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart


def step(symbol, state, change, show):
    """The chances of the states after one more symbol, and the chance of that symbol."""
    joint = (state @ change) * show[:, symbol]
    chance = np.sum(joint)
    return [joint / chance, np.log(chance)]


def numpy_loops(symbols, start, change, show):
    """The log-likelihood and the expected counts by the forward and the backward algorithm, as plain loops."""
    forward, chances = [start], []
    for symbol in symbols:
        joint = (forward[-1] @ change) * show[:, symbol]
        chances.append(joint.sum())
        forward.append(joint / joint.sum())
    changes, shown, backward = np.zeros_like(change), np.zeros_like(show), np.ones(len(start))
    for t in reversed(range(len(symbols))):
        later = show[:, symbols[t]] * backward / chances[t]
        changes += forward[t][:, None] * change * later
        shown[:, symbols[t]] += forward[t + 1] * backward
        backward = change @ later
    return np.log(chances).sum(), changes, shown


symbols = T.lvector("symbols")
start, change, show = T.dvector("start"), T.dmatrix("change"), T.dmatrix("show")
(states, logs), _ = scanopt.scan(step, symbols, [start, None], [change, show])
total = np.sum(logs)
counts = [p * g for p, g in zip((change, show), T.grad(total, [change, show]), strict=True)]
new = [n / np.sum(n, axis=1, keepdims=True) for n in counts]
forward = scanopt.function([symbols, start, change, show], [total, states, *counts], name="forward")
better = scanopt.function([symbols, start, change, show], [total, *new], name="better")


def sentences(n, rng):
    """Lengths of words, from 0 to 7, in which long stretches of two kinds take turns."""
    kinds = np.cumsum(rng.random(n) < 0.01) % 2
    return kinds, np.minimum(rng.poisson(np.where(kinds, 3.5, 1.5)), 7)


def main():
    rng = np.random.default_rng(2)
    kinds, words = sentences(1000, rng)
    first, guess = np.full(2, 0.5), (np.full((2, 2), 0.5) + 0.3 * (2 * np.eye(2) - 1), rng.dirichlet(8 * np.ones(8), 2))
    found = forward(words, first, *guess)
    for computed, expected in zip((found[0], *found[2:]), numpy_loops(words, first, *guess), strict=True):
        np.testing.assert_allclose(computed, expected, rtol=1e-9)

    values = []
    for _ in range(60):
        value, *guess = better(words, first, *guess)
        values.append(float(value))
    assert np.all(np.diff(values) > -1e-9)  # Baum and Welch never go down
    _, states, changes, _ = forward(words, first, *guess)
    right = np.mean(states.argmax(axis=1) == kinds)
    print(f"log-likelihood from {values[0]:.1f} to {values[-1]:.1f} in {len(values)} steps")
    between = len(words) / (changes[0, 1] + changes[1, 0])
    print(f"mean lengths {(guess[1] @ np.arange(8)).round(2)}; a change every {between:.0f} words")
    print(f"the kind is guessed rightly for {max(right, 1 - right):.0%} of the words")

    t = np.arange(len(words))
    chart = Chart("A hidden Markov model", "words", "chance of the second kind")
    chart.line(t, states[:, guess[1][:, 3:].sum(axis=1).argmax()], "learnt").line(t, kinds, "true", steps=True)
    print(f"{chart.save('hidden_markov')} written")


if __name__ == "__main__":
    main()
