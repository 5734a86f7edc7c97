"""When did coal mines become safer? Gibbs sampling finds the year in which the rate of disasters changed.

Disasters of a year are Poisson, at one rate before the change and another after it. The sampler draws each rate from
its gamma distribution and then the year, in turn; what is known of the year can also be computed exactly, as a check.
"""

import math

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

# Disasters with ten and more dead in British coal mines, 1851 to 1961 (Jarrett, Biometrika 66, 1979).
DISASTERS = np.array([int(c) for c in (
    "454014340633402633545314415534252234213221111300101100310322011101010002100011023311211112420014000100000100101"
)])  # fmt: skip
YEARS = 1851 + np.arange(len(DISASTERS))
trng = T.shared_randomstreams.RandomStreams(7)


def log_weights(early, late, before, n):
    """log p(year | rates), but for a constant; before: the disasters until each year, n: the number of that year."""
    return before * np.log(early / late) - n * (early - late)


def step(year, before):
    """Draw both rates, given the year, then the year, given the rates."""
    early = trng.gamma(shape=1 + before[year], scale=1 / (1.0 + (year + 1)))
    late = trng.gamma(shape=1 + before[-1] - before[year], scale=1 / (1.0 + before.shape[0] - (year + 1)))
    logs = log_weights(early, late, before, 1 + T.arange(before.shape[0]))
    weights = np.cumsum(np.exp(logs - np.max(logs)))
    return [np.searchsorted(weights, trng.uniform() * weights[-1]), early, late]


def numpy_loop(year, before, n, rng):
    """The same sampler as a plain loop, with NumPy's random numbers."""
    chain = []
    for _ in range(n):
        early = rng.gamma(1 + before[year]) / (1 + (year + 1))
        late = rng.gamma(1 + before[-1] - before[year]) / (1 + len(before) - (year + 1))
        logs = log_weights(early, late, before, 1 + np.arange(len(before)))
        weights = np.cumsum(np.exp(logs - logs.max()))
        year = np.searchsorted(weights, rng.random() * weights[-1])
        chain.append((year, early, late))
    return [np.array(values) for values in zip(*chain, strict=True)]


def exactly(before):
    """p(year), the rates integrated out."""
    n = 1 + np.arange(len(before))
    logs = [math.lgamma(1 + b) + math.lgamma(1 + before[-1] - b) for b in before.tolist()]
    logs -= (1 + before) * np.log(1 + n) + (1 + before[-1] - before) * np.log(1 + len(n) - n)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


start, counts, n = T.lscalar("start"), T.lvector("counts"), T.iscalar("n")
chain, updates = scanopt.scan(step, outputs_info=[start, None, None], non_sequences=np.cumsum(counts), n_steps=n)
gibbs = scanopt.function([start, counts, n], chain, updates=updates, name="gibbs")


def main():
    years, early, late = gibbs(50, DISASTERS, 10_000)
    loop = numpy_loop(50, np.cumsum(DISASTERS), 10_000, np.random.default_rng(0))
    for found, expected in zip((years, early, late), loop, strict=True):
        np.testing.assert_allclose(found.mean(), expected.mean(), rtol=0.02)
    share, exact = np.bincount(years, minlength=len(YEARS)) / len(years), exactly(np.cumsum(DISASTERS))
    np.testing.assert_allclose(share, exact, atol=0.02)

    print(f"the last year at the old rate: most likely {YEARS[share.argmax()]}, of chance {share.max():.2f}", end="")
    print(f" (exactly {YEARS[exact.argmax()]}, {exact.max():.2f})")
    print(
        f"disasters a year: {early.mean():.2f} +- {early.std():.2f} before, {late.mean():.2f} +- {late.std():.2f} after"
    )

    chart = Chart("Disasters in coal mines", "year", "disasters a year; chance that it is the year, times ten")
    chart.dots(YEARS, DISASTERS, "counted").line(YEARS, 10 * share, "sampled")
    chart.line(YEARS, 10 * exact, "exact", dashed=True)
    chart.line(YEARS, np.where(YEARS[:, None] <= YEARS[years[::10]], early[::10], late[::10]).mean(1), "rate")
    print(f"{chart.save('gibbs')} written")


if __name__ == "__main__":
    main()
