"""Power iteration finds the largest eigenvalue of a matrix, and stops when it no longer changes.

The loop ends by `until`; the outputs have as many rows as it took steps.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import Chart


def step(v, value, A, tolerance):
    """A better eigenvector of length 1 and its value."""
    w = A @ v
    v = w / np.linalg.norm(w)
    new = v @ A @ v
    return [v, new], scanopt.until(np.abs(new - value) < tolerance * np.abs(new))


def numpy_loop(A, v, tolerance):
    """The same, as a plain loop."""
    value, vs, values = np.inf, [], []
    while True:
        w = A @ v
        v = w / np.linalg.norm(w)
        before, value = value, v @ A @ v
        vs.append(v)
        values.append(value)
        if np.abs(value - before) < tolerance * np.abs(value):
            return np.array(vs), np.array(values)


A, v, tolerance = T.dmatrix("A"), T.dvector("v"), T.dscalar("tolerance")
(vs, values), _ = scanopt.scan(step, outputs_info=[v, np.float64(np.inf)], non_sequences=[A, tolerance], n_steps=10_000)
power_iteration = scanopt.function([A, v, tolerance], [vs[-1], values], name="power_iteration")


def main():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((500, 60)) * np.linspace(1, 2, 60)
    covariance = points.T @ points / len(points)
    vector, values = power_iteration(covariance, np.ones(60), 1e-13)
    expected, expected_values = numpy_loop(covariance, np.ones(60), 1e-13)
    np.testing.assert_allclose(values[:100], expected_values[:100], rtol=1e-12)
    np.testing.assert_allclose(vector, expected[-1], atol=1e-5)

    exact, vectors = np.linalg.eigh(covariance)
    np.testing.assert_allclose(values[-1], exact[-1], rtol=1e-10)
    print(f"largest eigenvalue {values[-1]:.10f} after {len(values)} steps, by LAPACK {exact[-1]:.10f}")
    print(f"angle to LAPACK's eigenvector {np.arccos(min(1.0, abs(vector @ vectors[:, -1]))):.1e}")

    t = np.arange(1, len(values) + 1)
    ratio = (exact[-2] / exact[-1]) ** (2.0 * t)
    error = np.maximum(exact[-1] - values, 1e-16 * exact[-1])
    chart = Chart("Power iteration", "steps", "error of the eigenvalue", log=True)
    chart.line(t, error, "error").line(t, error[50] * ratio / ratio[50], "ratio of eigenvalues, squared", dashed=True)
    print(f"{chart.save('power_iteration')} written")


if __name__ == "__main__":
    main()
