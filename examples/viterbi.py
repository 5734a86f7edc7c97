"""A casino sometimes swaps its die for a loaded one; Viterbi's algorithm says when, from the throws alone.

One loop finds the best way to each state and the state before it, a second one, backwards, follows these.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

START = np.log([0.5, 0.5])
CHANGE = np.log([[0.98, 0.02], [0.05, 0.95]])  # from the fair die, from the loaded one
THROW = np.log([[1 / 6] * 6, [0.07] * 5 + [0.65]])  # the loaded one likes a six


def forward(throw, score):
    """The best score of a way that ends in each state, and the state before it."""
    scores = score[:, None] + CHANGE
    return [np.max(scores, axis=0) + T.constant(THROW)[:, throw], np.argmax(scores, axis=0)]


def numpy_loop(throws):
    """The same, as plain loops."""
    score, pointers = START + THROW[:, throws[0]], []
    for throw in throws[1:]:
        scores = score[:, None] + CHANGE
        score = scores.max(axis=0) + THROW[:, throw]
        pointers.append(scores.argmax(axis=0))
    states = [score.argmax()]
    for pointer in reversed(pointers):
        states.append(pointer[states[-1]])
    return np.array(states[::-1]), score.max()


throws = T.lvector("throws")
first = START + T.constant(THROW)[:, throws[0]]
(scores, pointers), _ = scanopt.scan(forward, throws[1:], [first, None])
last = np.argmax(scores[-1])
before, _ = scanopt.scan(lambda pointer, state: pointer[state], pointers, last, go_backwards=True)
states = np.concatenate([before[::-1], last[None]])
viterbi = scanopt.function([throws], [states, np.max(scores[-1])], name="viterbi")


def evening(n, rng):
    """The state of the die and the throws of an evening."""
    loaded = [0]
    while len(loaded) < n:
        loaded.append(rng.choice(2, p=np.exp(CHANGE[loaded[-1]])))
    return np.array(loaded), np.array([rng.choice(6, p=np.exp(THROW[state])) for state in loaded])


def main():
    loaded, thrown = evening(300, np.random.default_rng(8))
    guessed, score = viterbi(thrown)
    expected, expected_score = numpy_loop(thrown)
    np.testing.assert_array_equal(guessed, expected)
    np.testing.assert_allclose(score, expected_score)

    print(f"{len(thrown)} throws, the die was loaded in {loaded.mean():.0%} of them")
    print(f"guessed rightly {np.mean(guessed == loaded):.0%}; log-probability of the way {score:.1f}")

    t = np.arange(len(thrown))
    chart = Chart("Viterbi: when is the die loaded?", "throws", "the number thrown; above, the die")
    chart.dots(t, 1 + thrown, "thrown").line(t, 7 + loaded, "truth", steps=True)
    chart.line(t, 9 + guessed, "guess", steps=True)
    print(f"{chart.save('viterbi')} written")


if __name__ == "__main__":
    main()
