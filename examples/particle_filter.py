"""A particle filter follows a state that is measured only through its square.

A thousand guesses move at random, are weighed by how well they explain the measurement, and are drawn again by weight.
The model is the one that Gordon, Salmond and Smith introduced the method with (IEE Proceedings F 140, 1993).
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

PARTICLES, STEPS = 1000, 100
NOISE, ERROR = np.sqrt(10.0), 1.0
trng = T.shared_randomstreams.RandomStreams(11)


def move(x, t):
    """Where a particle at x is next, but for noise."""
    return x / 2 + 25 * x / (1 + x**2) + 8 * np.cos(1.2 * t)


def weigh(x, y):
    """The weights of particles at x, given the measurement y."""
    logs = -0.5 * ((y - x**2 / 20) / ERROR) ** 2
    weights = np.exp(logs - np.max(logs))
    return weights / np.sum(weights)


def step(y, t, x):
    """The mean and the spread of the particles, and the particles that were drawn again."""
    noise, start = trng.normal(x.shape), trng.uniform()
    x = move(x, t) + NOISE * noise
    weights = weigh(x, y)
    mean = weights @ x
    places = (start + T.arange(PARTICLES)) / PARTICLES
    chosen = np.minimum(np.searchsorted(np.cumsum(weights), places), PARTICLES - 1)
    return [x[chosen], mean, np.sqrt(weights @ (x - mean) ** 2), noise, start]


def numpy_loop(ys, x, noises, starts):
    """The same filter, as a plain loop over the same random numbers."""
    means, spreads = [], []
    for t, (y, noise, start) in enumerate(zip(ys, noises, starts, strict=True)):
        x = move(x, t) + NOISE * noise
        weights = weigh(x, y)
        means.append(weights @ x)
        spreads.append(np.sqrt(weights @ (x - means[-1]) ** 2))
        places = (start + np.arange(PARTICLES)) / PARTICLES
        x = x[np.minimum(np.searchsorted(np.cumsum(weights), places), PARTICLES - 1)]
    return np.array(means), np.array(spreads)


measured, particles = T.dvector("measured"), T.dvector("particles")
(_, means, spreads, noises, starts), updates = scanopt.scan(
    step, [measured, T.arange(measured.shape[0])], [particles, None, None, None, None]
)
particle_filter = scanopt.function([measured, particles], [means, spreads, noises, starts], updates=updates)


def main():
    rng = np.random.default_rng(1)
    truth = [0.0]
    for t in range(STEPS):
        truth.append(move(truth[-1], t) + NOISE * rng.standard_normal())
    truth = np.array(truth[1:])
    ys = truth**2 / 20 + ERROR * rng.standard_normal(STEPS)

    first = rng.standard_normal(PARTICLES)
    means, spreads, noises, starts = particle_filter(ys, first)
    for found, expected in zip((means, spreads), numpy_loop(ys, first, noises, starts), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    print(f"error of the filter {np.sqrt(np.mean((means - truth) ** 2)):.2f}, as it says itself {spreads.mean():.2f}")
    print(
        f"the state varies by {truth.std():.2f}; within two spreads {np.mean(np.abs(means - truth) < 2 * spreads):.0%}"
    )

    t = np.arange(STEPS)
    chart = Chart("A particle filter", "steps", "state").band(
        t, means - 2 * spreads, means + 2 * spreads, "two spreads"
    )
    chart.line(t, truth, "true").line(t, means, "filtered")
    print(f"{chart.save('particle_filter')} written")


if __name__ == "__main__":
    main()
