"""Lorenz' butterfly, by Runge and Kutta's method of fourth order.

The system is chaotic: rounding that differs in the last bit would show after some thousand steps. With fp="exact" the
optimized loop rounds as NumPy does, so a plain loop gives the same bits.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart

SIGMA, RHO, BETA = 10.0, 28.0, 8 / 3


def lorenz(x):
    """The velocity of the air at x."""
    return np.stack([SIGMA * (x[1] - x[0]), x[0] * (RHO - x[2]) - x[1], x[0] * x[1] - BETA * x[2]])


def step(x, dt):
    """Where x is, dt later."""
    k1 = lorenz(x)
    k2 = lorenz(x + dt / 2 * k1)
    k3 = lorenz(x + dt / 2 * k2)
    k4 = lorenz(x + dt * k3)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def numpy_loop(x, dt, n):
    """The same way, as a plain loop."""
    xs = []
    for _ in range(n):
        x = step(x, dt)
        xs.append(x)
    return np.array(xs)


start, dt, n = T.dvector("start"), T.dscalar("dt"), T.iscalar("n")
path, _ = scanopt.scan(step, outputs_info=start, non_sequences=dt, n_steps=n)
runge_kutta = scanopt.function([start, dt, n], path, fp="exact", name="runge_kutta")


def main():
    x0 = np.array([1.0, 1.0, 1.0])
    xs = runge_kutta(x0, 0.01, 5000)
    np.testing.assert_allclose(xs, numpy_loop(x0, 0.01, 5000), rtol=0)

    moved = runge_kutta(x0 + np.array([1e-9, 0, 0]), 0.01, 5000)
    apart = np.abs(xs - moved).max(axis=1)
    print(f"5000 steps, equal to NumPy's to the last bit; x crosses 0 {np.sum(np.diff(np.sign(xs[:, 0])) != 0)} times")
    print(f"a start 1e-9 away is 1 away after {0.01 * np.argmax(apart > 1):.1f} units of time")

    chart = Chart("Lorenz' butterfly", "x", "z")
    chart.line(xs[:, 0], xs[:, 2])
    print(f"{chart.save('runge_kutta')} written")


if __name__ == "__main__":
    main()
