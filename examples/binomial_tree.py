"""What an American put option is worth: backwards through a binomial tree, with its delta by the gradient.

A loop keeps arrays of one shape, so each step back computes as many values as the last level has, of which one more is
of no use; the first is the one that is asked for.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

STRIKE, RATE, VOLATILITY, YEARS, STEPS = 100.0, 0.05, 0.3, 1.0, 200
UP = np.exp(VOLATILITY * np.sqrt(YEARS / STEPS))
DISCOUNT = np.exp(-RATE * YEARS / STEPS)
CHANCE = (1 / DISCOUNT - 1 / UP) / (UP - 1 / UP)
HEIGHTS = UP ** np.arange(STEPS, -STEPS - 1.0, -2)  # of the last level, from the highest


def payoff(price):
    """What one gets for selling at the strike."""
    return np.maximum(STRIKE - price, 0.0)


def value(spots, early):
    """The value, for each price of the share, of the right to sell at the strike; early: at any time before the end."""

    def back(values, prices):
        """One step back in time; values and prices: of all nodes of a level."""
        prices = prices / UP
        higher, lower = values, np.concatenate([values[:, 1:], values[:, -1:]], axis=1)
        later = DISCOUNT * (CHANCE * higher + (1 - CHANCE) * lower)
        return [np.maximum(later, payoff(prices)) if early else later, prices]

    last = spots[:, None] * HEIGHTS
    (values, _), _ = scanopt.scan(back, outputs_info=[payoff(last), last], n_steps=STEPS)
    return values[-1][:, 0]


def numpy_loop(spots, early):
    """The same, for one price of the share after the other and with levels that get shorter."""
    found = []
    for spot in spots:
        prices = spot * HEIGHTS
        values = payoff(prices)
        for _ in range(STEPS):
            prices = prices[:-1] / UP
            values = DISCOUNT * (CHANCE * values[:-1] + (1 - CHANCE) * values[1:])
            values = np.maximum(values, payoff(prices)) if early else values
        found.append(values[0])
    return np.array(found)


spots = T.dvector("spots")
american, european = value(spots, early=True), value(spots, early=False)
option = scanopt.function([spots], [american, european, T.grad(american.sum(), spots)], name="option")


def main():
    prices = np.linspace(60.5, 150.5, 46)
    american, european, delta = option(prices)
    np.testing.assert_allclose(american, numpy_loop(prices, early=True), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(european, numpy_loop(prices, early=False), rtol=1e-9, atol=1e-9)
    nudged = (option(prices + 1e-5)[0] - option(prices - 1e-5)[0]) / 2e-5
    np.testing.assert_allclose(delta, nudged, atol=1e-4)

    at = np.argmin(np.abs(prices - STRIKE))
    print(f"a share of {prices[at]:.1f}, strike {STRIKE:.0f}: American {american[at]:.3f}, European {european[at]:.3f}")
    print(f"delta {delta[at]:.3f}; selling at once is best up to {prices[american <= payoff(prices) + 1e-9].max():.0f}")

    chart = Chart("A put option", "price of the share", "value")
    chart.line(prices, american, "American").line(prices, european, "European")
    chart.line(prices, payoff(prices), "sold at once", dashed=True)
    print(f"{chart.save('binomial_tree')} written")


if __name__ == "__main__":
    main()
