"""Yule's autoregression of the sunspots, z[t] = a1 z[t-1] + a2 z[t-2] + noise, by the largest likelihood.

Each step of a loop climbs along the gradient of the likelihood, which is itself a loop over the years: the gradient is
taken inside the step, and the whole search is one compiled function.
"""

from pathlib import Path

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

RATE = 0.1


def likelihood(a, z):
    """The mean logarithm of the density of z[2:]; a: a1, a2 and the logarithm of the noise."""

    def density(two_ago, one_ago, now, a1, a2, log_noise):
        surprise = (now - a1 * one_ago - a2 * two_ago) / np.exp(log_noise)
        return -0.5 * surprise**2 - log_noise - 0.5 * np.log(2 * np.pi)

    densities, _ = scanopt.scan(density, dict(input=z, taps=[-2, -1, 0]), non_sequences=[a[0], a[1], a[2]])
    return np.mean(densities)


def climb(a, z):
    """One step along the gradient, and the likelihood before it."""
    value = likelihood(a, z)
    return [a + RATE * T.grad(value, a), value]


def numpy_loop(z, a, steps):
    """The same search as a plain loop, its gradient worked out by hand."""
    path, values = [], []
    for _ in range(steps):
        total, gradient = 0.0, np.zeros(3)
        for two_ago, one_ago, now in zip(z, z[1:], z[2:], strict=False):
            surprise = (now - a[0] * one_ago - a[1] * two_ago) / np.exp(a[2])
            total += -0.5 * surprise**2 - a[2] - 0.5 * np.log(2 * np.pi)
            gradient += [surprise * one_ago / np.exp(a[2]), surprise * two_ago / np.exp(a[2]), surprise**2 - 1]
        values.append(total / (len(z) - 2))
        a = a + RATE * gradient / (len(z) - 2)
        path.append(a)
    return np.array(path), np.array(values)


z, start, n = T.dvector("z"), T.dvector("start"), T.iscalar("n")
(path, values), _ = scanopt.scan(climb, outputs_info=[start, None], non_sequences=z, n_steps=n)
maximise = scanopt.function([z, start, n], [path, values], name="maximise")


def sunspots():
    """The yearly numbers 1700-2008, their mean taken off, in units of their standard deviation."""
    numbers = np.loadtxt(Path(__file__).with_name("sunspots.csv"), delimiter=",", skiprows=4, usecols=1)
    return (numbers - numbers.mean()) / numbers.std()


def main():
    data = sunspots()
    steps = 150
    path, values = maximise(data, np.zeros(3), steps)
    for found, expected in zip((path, values), numpy_loop(data, np.zeros(3), steps), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    lagged = np.stack([data[1:-1], data[:-2]], axis=1)
    squares = np.linalg.lstsq(lagged, data[2:])[0]
    a1, a2, noise = path[-1]
    print(f"z[t] = {a1:.4f} z[t-1] {a2:+.4f} z[t-2], noise {np.exp(noise):.3f} (least squares: {squares.round(4)})")
    print(f"mean log-likelihood from {values[0]:.3f} to {values[-1]:.3f} in {steps} steps")

    t = np.arange(1, steps + 1)
    chart = Chart("An autoregression by the gradient of its likelihood", "steps")
    chart.line(t, path[:, 0], "a1").line(t, path[:, 1], "a2").line(t, values, "log-likelihood")
    for value in squares:
        chart.line(t[[0, -1]], value, dashed=True)
    print(f"{chart.save('ar2')} written")


if __name__ == "__main__":
    main()
