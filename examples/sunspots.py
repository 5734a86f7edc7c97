"""Sunspots 1700-2008: Yule's autoregression, fitted and forecast, and a network with several taps.

`make run` executes this file with `scanopt run`, which adds what became of each function below:
its program before and after, the laws that fired, costs and times.
"""

from pathlib import Path

import numpy as np

import scanopt
import scanopt.tensor as T

FORECAST_YEARS = 12
HIDDEN = 16

years, numbers = np.loadtxt(Path(__file__).with_name("sunspots.csv"), delimiter=",", skiprows=4, unpack=True)
centred = numbers - numbers.mean()

# Yule (1927): z[t] = a1 z[t-1] + a2 z[t-2] + noise. The least squares fit needs the sums of z[t-i] z[t-j].
z = T.dvector("z")
lags = dict(input=z, taps=[-2, -1, 0])


def add_products(two_ago, one_ago, now, total):
    lagged = T.stack([now, one_ago, two_ago])
    return total + T.outer(lagged, lagged)


totals, _ = scanopt.scan(add_products, sequences=lags, outputs_info=T.zeros((3, 3)))
s = totals[-1]
determinant = s[1, 1] * s[2, 2] - s[1, 2] * s[1, 2]
fitted_a1 = (s[0, 1] * s[2, 2] - s[0, 2] * s[1, 2]) / determinant
fitted_a2 = (s[0, 2] * s[1, 1] - s[0, 1] * s[1, 2]) / determinant

residuals, _ = scanopt.scan(
    lambda two_ago, one_ago, now, a1, a2: now - a1 * one_ago - a2 * two_ago,
    sequences=lags,
    non_sequences=[fitted_a1, fitted_a2],
)
noise = T.sqrt(T.sum(residuals**2) / (residuals.shape[0] - 2))
fit = scanopt.function([z], [fitted_a1, fitted_a2, noise], example=[centred], name="fit")

# The forecast of n years, and how its error grows: the noise of each year passes on by the same recurrence.
a1, a2, sd = T.dscalars("a1", "a2", "sd")
latest = T.dvector("latest")
n = T.iscalar("n")


def recurrence(one_ago, two_ago, a1, a2):
    return a1 * one_ago + a2 * two_ago


def error_step(one_ago, two_ago, variance, a1, a2, sd):
    return [recurrence(one_ago, two_ago, a1, a2), variance + (sd * one_ago) ** 2]


expected, _ = scanopt.scan(
    recurrence, outputs_info=dict(initial=latest, taps=[-1, -2]), non_sequences=[a1, a2], n_steps=n
)
(_, variances), _ = scanopt.scan(
    error_step,
    outputs_info=[dict(initial=T.constant(np.array([0.0, 1.0])), taps=[-1, -2]), T.constant(np.array(0.0))],
    non_sequences=[a1, a2, sd],
    n_steps=n,
)
fitted = fit(centred)
forecast = scanopt.function(
    [latest, a1, a2, sd, n],
    [expected, T.sqrt(variances)],
    example=[centred[-2:], *fitted, FORECAST_YEARS],
    name="forecast",
)

# The network of Theano's scan tutorial, untrained: it looks back 1 and 3 steps at its state, 4 at its input.
rng = np.random.default_rng(0)


def weights(name, *shape):
    return scanopt.shared(0.3 * rng.standard_normal(shape), name)


def one_step(u_tm4, u_t, x_tm3, x_tm1, y_tm1, W, W_in_1, W_in_2, W_feedback, W_out):
    x_t = T.tanh(T.dot(x_tm1, W) + T.dot(u_t, W_in_1) + T.dot(u_tm4, W_in_2) + T.dot(y_tm1, W_feedback))
    y_t = T.dot(x_tm3, W_out)
    return [x_t, y_t]


u = T.dmatrix("u")
parameters = [
    weights("W", HIDDEN, HIDDEN),
    weights("W_in_1", 1, HIDDEN),
    weights("W_in_2", 1, HIDDEN),
    weights("W_feedback", 1, HIDDEN),
    weights("W_out", HIDDEN, 1),
]
(x_values, y_values), _ = scanopt.scan(
    one_step,
    sequences=dict(input=u, taps=[-4, 0]),
    outputs_info=[dict(initial=T.zeros((3, HIDDEN)), taps=[-3, -1]), T.zeros((1,))],
    non_sequences=parameters,
    strict=True,
)
normalised = (centred / centred.std())[:, None]
network = scanopt.function([u], y_values, example=[normalised], name="network")


def picture(values, errors):
    """The last century, the forecast, and a band of two standard errors, as an SVG file; its path."""
    from pictures import Chart  # beside this file, which a program that only uses the functions need not see

    ahead = years[-1] + 1 + np.arange(len(values))
    chart = Chart("Yearly sunspot numbers and their forecast", "year", "number")
    chart.band(ahead, values - 2 * errors, values + 2 * errors, "two standard errors")
    chart.line(years[-100:], numbers[-100:], "observed")
    return chart.line(ahead, values, "forecast", dashed=True).save("sunspots")


def main():
    a1, a2, sd = (float(value) for value in fitted)
    period = 2 * np.pi / np.arccos(a1 / (2 * np.sqrt(-a2)))
    print(f"Sunspots {years[0]:.0f}-{years[-1]:.0f}: z[t] = {a1:.3f} z[t-1] {a2:+.3f} z[t-2], z = number - mean")
    print(f"mean {numbers.mean():.1f}, noise {sd:.1f}, period {period:.1f} years\n")
    print("year  forecast  +- standard error")
    values, errors = forecast(centred[-2:], *fitted, FORECAST_YEARS)
    for ahead, (value, error) in enumerate(zip(values, errors, strict=True), 1):
        print(f"{years[-1] + ahead:.0f} {value + numbers.mean():9.1f}  +- {error:.1f}")
    print(f"\npicture: {picture(values + numbers.mean(), errors)}")
    outputs = network(normalised)
    print(f"\nnetwork: {len(outputs)} steps, last output {outputs[-1, 0]:+.4f}")


if __name__ == "__main__":
    main()
