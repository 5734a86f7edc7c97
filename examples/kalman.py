"""A Kalman filter follows a body that moves on a line, from measurements of its position alone.

The step is written as in a textbook, with NumPy's functions; the estimates and how sure they are come out of one loop.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

F = np.array([[1.0, 1.0], [0.0, 1.0]])  # position and velocity, a second later
Q = 0.05 * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])  # pushes that nobody sees
H = np.array([[1.0, 0.0]])  # the position is measured
R = np.array([[25.0]])  # with an error of 5 m


def step(z, x, P):
    """The estimate x and its covariance P, a second later and with the measurement z."""
    x, P = F @ x, F @ P @ F.T + Q
    S = H @ P @ H.T + R
    K = np.linalg.solve(S, H @ P).T
    return [x + K @ (z - H @ x), (np.eye(2) - K @ H) @ P]


def numpy_loop(zs, x, P):
    """The same filter, as a plain loop."""
    xs, Ps = [], []
    for z in zs:
        x, P = step(z, x, P)
        xs.append(x)
        Ps.append(P)
    return np.array(xs), np.array(Ps)


measured = T.dmatrix("measured")
x0, P0 = T.dvector("x0"), T.dmatrix("P0")
(estimates, covariances), _ = scanopt.scan(step, measured, [x0, P0])
kalman = scanopt.function([measured, x0, P0], [estimates, covariances], name="kalman")


def journey(seconds, rng):
    """A random journey, and what was measured of it."""
    pushes = rng.multivariate_normal([0, 0], Q, seconds)
    states = np.zeros((seconds, 2))
    for t in range(1, seconds):
        states[t] = F @ states[t - 1] + pushes[t]
    return states, states[:, :1] + 5 * rng.standard_normal((seconds, 1))


def main():
    truth, zs = journey(60, np.random.default_rng(0))
    start = np.zeros(2), 100 * np.eye(2)
    xs, Ps = kalman(zs, *start)
    for found, expected in zip((xs, Ps), numpy_loop(zs, *start), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    position, error = xs[:, 0], np.sqrt(Ps[:, 0, 0])
    inside = np.abs(position - truth[:, 0]) < 2 * error
    print(f"error of the measurements {np.std(zs[:, 0] - truth[:, 0]):.2f} m")
    print(f"error of the filter       {np.std(position - truth[:, 0]):.2f} m, {error[-1]:.2f} m as it says itself")
    print(f"within two of its standard errors {inside.mean():.0%} of the time")

    t = np.arange(len(zs))
    chart = Chart("A Kalman filter", "seconds", "position, m")
    chart.dots(t, zs[:, 0], "measured").line(t, truth[:, 0], "true").line(t, position, "filtered")
    chart.band(t, position - 2 * error, position + 2 * error, "two standard errors")
    print(f"{chart.save('kalman')} written")


if __name__ == "__main__":
    main()
