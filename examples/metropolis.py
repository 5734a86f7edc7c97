"""The Metropolis algorithm draws from a density that is bent like a banana.

The random numbers come from streams inside the step; they are among the results, so that a plain loop can be given the
same ones and must walk the same way.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

WIDTH = 0.8  # of the proposals
trng = T.shared_randomstreams.RandomStreams(5)


def log_density(x):
    """The banana, but for a constant: x[0] is normal, and x[1] is normal around its square."""
    return -0.5 * x[0] ** 2 - 0.5 * ((x[1] - x[0] ** 2) / 0.3) ** 2


def move(x, shift, coin):
    """x + shift, if the coin says so; else x."""
    proposal = x + WIDTH * shift
    accepted = np.log(coin) < log_density(proposal) - log_density(x)
    return np.where(accepted, proposal, x), accepted


def step(x):
    shift, coin = trng.normal((2,)), trng.uniform()
    return [*move(x, shift, coin), shift, coin]


def numpy_loop(x, shifts, coins):
    """The same walk, as a plain loop over the same random numbers."""
    xs, accepted = [], []
    for shift, coin in zip(shifts, coins, strict=True):
        x, yes = move(x, shift, coin)
        xs.append(x)
        accepted.append(yes)
    return np.array(xs), np.array(accepted)


start, n = T.dvector("start"), T.iscalar("n")
results, updates = scanopt.scan(step, outputs_info=[start, None, None, None], n_steps=n)
metropolis = scanopt.function([start, n], results, updates=updates, name="metropolis")


def main():
    xs, accepted, shifts, coins = metropolis(np.zeros(2), 20_000)
    for found, expected in zip((xs, accepted), numpy_loop(np.zeros(2), shifts, coins), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

    print(f"{len(xs)} steps, {accepted.mean():.0%} of the proposals accepted")
    print(f"mean of x0    {xs[:, 0].mean():+.2f}, exactly 0; of its square {np.mean(xs[:, 0] ** 2):.2f}, exactly 1")
    print(f"mean of x1    {xs[:, 1].mean():+.2f}, exactly 1")

    thinned = xs[500::10]
    ridge = np.linspace(-3, 3, 61)
    chart = Chart("Metropolis: one state in ten", "x0", "x1")
    chart.dots(thinned[:, 0], thinned[:, 1], "samples").line(ridge, ridge**2, "where the density is highest")
    print(f"{chart.save('metropolis')} written")


if __name__ == "__main__":
    main()
