"""Linear algebra in loops: time per call against plain NumPy loops, and against loops that factor by hand.

    python benchmarks/bench_linalg.py            everything, half a minute
    python benchmarks/bench_linalg.py --quick    small sizes, few repeats

The plain loop calls np.linalg in each step, as the program is written; the careful one computes factors once,
before the loop, with SciPy.  The goal is to be as fast as the careful one, but for a tenth.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # steadier on few cores, for all sides

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import models
import numpy as np
import scipy.linalg
from harness import asked_to_be_quick, best, machine, ms, ratio, table

import scanopt
import scanopt.tensor as T

Array = np.ndarray[Any, Any]
Loop = Callable[..., Any]
Case = tuple[str, models.Graph, Loop, Loop]

LEAST = 0.9


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    quick = asked_to_be_quick("Linear algebra in loops, against loops by hand.", "sizes", arguments)
    print(f"bench_linalg: {machine()}; all times in ms")
    measure(cases(0.02 if quick else 1.0), 2 if quick else 7)


def measure(rows: Sequence[Case], repeats: int) -> None:
    """Each case: what is left of the loop, all times, and the goal."""
    lines = []
    for name, graph, plain, careful in rows:
        f = scanopt.function(graph.inputs, graph.outputs, example=graph.values)
        found = f(*graph.values)
        for loop in (plain, careful):
            for one, other in zip(found, loop(*graph.values), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
        ours, by_hand = best(partial(f, *graph.values), partial(plain, *graph.values), repeats)
        again, factored = best(partial(f, *graph.values), partial(careful, *graph.values), repeats)
        ours = min(ours, again)
        left = "loop" if "loop" in str(f.program) else "none"
        goal = f"{LEAST:g} x: {'met' if factored / ours >= LEAST else 'MISSED'}"
        times = [ms(t) for t in (ours, by_hand, factored)]
        lines.append([name, left, *times, ratio(ours, by_hand), ratio(ours, factored), goal])
    heads = [
        "program",
        "left of the loop",
        "scanopt",
        "plain",
        "careful",
        "plain / scanopt",
        "careful / scanopt",
        "goal",
    ]
    table("Time per call (least of several, taken in turns)", heads, lines)


def cases(scale: float) -> Sequence[Case]:
    """The programs with their values, a plain loop and a careful one."""
    t = max(int(1000 * scale), 5)
    return [
        (f"{t} systems of 200, each needs the one before", implicit(t, 200), implicit_plain, implicit_careful),
        (f"{t} systems of 10, each needs the one before", implicit(t, 10), implicit_plain, implicit_careful),
        (f"its gradient, {t} systems of 200", implicit_gradient(t, 200), gradient_plain, gradient_careful),
        (f"{t} systems of 200, one matrix", systems(t, 200), systems_plain, systems_careful),
        (f"{t} systems of 10, {t} matrices", stacked(t, 10), stacked_plain, stacked_careful),
        (f"{t} vectors of 100 whitened", whitening(t, 100), whitening_plain, whitening_careful),
        (f"Kalman filter of {t} steps, 20 states", kalman(t, 20, 5), kalman_plain, kalman_careful),
    ]  # fmt: skip


# The programs


def _values(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in shapes]


def _matrix(n: int) -> Array:
    return np.asarray(np.eye(n) + _values((n, n))[0] / (4 * n**0.5))


def _implicit(t: int, n: int) -> tuple[list[Any], Any, list[Array]]:
    A, X, s = *T.dmatrices("A", "X"), T.dvector("s")
    states, _ = scanopt.scan(lambda x, s, A: T.tanh(T.linalg.solve(A, s + x)), X, s, A)
    return [A, X, s], states, [_matrix(n), *_values((t, n), (n,))]


def implicit(t: int, n: int) -> models.Graph:
    """Implicit steps: one matrix, and a state."""
    inputs, states, values = _implicit(t, n)
    return models.Graph(inputs, [states], values)


def implicit_gradient(t: int, n: int) -> models.Graph:
    """The gradient of the sum of all states by the matrix."""
    inputs, states, values = _implicit(t, n)
    return models.Graph(inputs, [T.grad(states.sum(), inputs[0])], values)


def systems(t: int, n: int) -> models.Graph:
    """One matrix, right sides that are known."""
    A, X = T.dmatrices("A", "X")
    return models.Graph(
        [A, X], [scanopt.map(lambda x, A: T.linalg.solve(A, x), X, A)[0]], [_matrix(n), *_values((t, n))]
    )


def stacked(t: int, n: int) -> models.Graph:
    """A matrix for each step."""
    S, X = T.dtensor3("S"), T.dmatrix("X")
    values = [np.asarray(_values((t, n, n))[0] + 2 * n * np.eye(n)), *_values((t, n))]
    return models.Graph([S, X], [scanopt.map(lambda M, x: T.linalg.solve(M, x), [S, X])[0]], values)


def whitening(t: int, n: int) -> models.Graph:
    """A Cholesky factor in the step."""
    A, X = T.dmatrices("A", "X")

    def step(x: Any, A: Any) -> Any:
        return T.linalg.solve_triangular(T.linalg.cholesky(A), x, lower=True)

    return models.Graph([A, X], [scanopt.map(step, X, A)[0]], [_matrix(n) @ _matrix(n).T, *_values((t, n))])


def kalman(t: int, n: int, k: int) -> models.Graph:
    """The filter as it is written in books, with an inverse; means and covariances of all steps."""
    Y, m, P, F, H = T.dmatrix("Y"), T.dvector("m"), *T.dmatrices("P", "F", "H")

    def step(y: Any, m: Any, P: Any, F: Any, H: Any) -> Any:
        m, P = F @ m, F @ P @ F.T + T.eye(n, dtype="float64")
        gain = P @ H.T @ T.linalg.inv(H @ P @ H.T + T.eye(k, dtype="float64"))
        return m + gain @ (y - H @ m), P - gain @ H @ P

    traces, _ = scanopt.scan(step, Y, [m, P], [F, H])
    values = _values((t, k), (n,), (n, n), (n, n), (k, n))
    values[2:4] = np.eye(n), 0.5 * values[3] / n**0.5
    return models.Graph([Y, m, P, F, H], list(traces), values)


# The same by hand


def implicit_plain(A: Array, X: Array, s: Array) -> list[Array]:
    out = np.empty_like(X)
    for t in range(len(X)):
        s = np.tanh(np.linalg.solve(A, s + X[t]), out=out[t])
    return [out]


def implicit_careful(A: Array, X: Array, s: Array) -> list[Array]:
    factors, out = scipy.linalg.lu_factor(A, check_finite=False), np.empty_like(X)
    for t in range(len(X)):
        s = np.tanh(scipy.linalg.lu_solve(factors, s + X[t], check_finite=False), out=out[t])
    return [out]


def gradient_plain(A: Array, X: Array, s: Array) -> list[Array]:
    return _gradient(A, X, s, lambda b: np.linalg.solve(A, b), lambda g: np.linalg.solve(A.T, g))


def gradient_careful(A: Array, X: Array, s: Array) -> list[Array]:
    factors = scipy.linalg.lu_factor(A, check_finite=False)
    return _gradient(
        A, X, s,
        lambda b: scipy.linalg.lu_solve(factors, b, check_finite=False),
        lambda g: scipy.linalg.lu_solve(factors, g, trans=1, check_finite=False),
    )  # fmt: skip


def _gradient(A: Array, X: Array, s: Array, solve: Loop, solve_transposed: Loop) -> list[Array]:
    solved, states, by_solved = np.empty_like(X), np.empty_like(X), np.empty_like(X)
    for t in range(len(X)):
        solved[t] = solve(s + X[t])
        s = np.tanh(solved[t], out=states[t])
    g = np.zeros_like(s)
    for t in reversed(range(len(X))):
        g = by_solved[t] = solve_transposed((1 + g) * (1 - states[t] ** 2))
    return [-by_solved.T @ solved]


def systems_plain(A: Array, X: Array) -> list[Array]:
    out = np.empty_like(X)
    for t in range(len(X)):
        out[t] = np.linalg.solve(A, X[t])
    return [out]


def systems_careful(A: Array, X: Array) -> list[Array]:
    return [np.linalg.solve(A, X.T).T]


def stacked_plain(S: Array, X: Array) -> list[Array]:
    out = np.empty_like(X)
    for t in range(len(X)):
        out[t] = np.linalg.solve(S[t], X[t])
    return [out]


def stacked_careful(S: Array, X: Array) -> list[Array]:
    return [np.linalg.solve(S, X[:, :, None])[:, :, 0]]


def whitening_plain(A: Array, X: Array) -> list[Array]:
    out = np.empty_like(X)
    for t in range(len(X)):
        out[t] = scipy.linalg.solve_triangular(np.linalg.cholesky(A), X[t], lower=True)
    return [out]


def whitening_careful(A: Array, X: Array) -> list[Array]:
    return [scipy.linalg.solve_triangular(np.linalg.cholesky(A), X.T, lower=True).T]


def kalman_plain(Y: Array, m: Array, P: Array, F: Array, H: Array) -> list[Array]:
    means, covariances = np.empty((len(Y), len(m))), np.empty((len(Y), *P.shape))
    for t, y in enumerate(Y):
        m, P = F @ m, F @ P @ F.T + np.eye(len(m))
        gain = P @ H.T @ np.linalg.inv(H @ P @ H.T + np.eye(len(y)))
        m, P = m + gain @ (y - H @ m), P - gain @ H @ P
        means[t], covariances[t] = m, P
    return [means, covariances]


def kalman_careful(Y: Array, m: Array, P: Array, F: Array, H: Array) -> list[Array]:
    means, covariances = np.empty((len(Y), len(m))), np.empty((len(Y), *P.shape))
    of_states, of_rows = np.eye(len(m)), np.eye(Y.shape[1])
    for t, y in enumerate(Y):
        m, P = F @ m, F @ P @ F.T + of_states
        seen = H @ P
        gain = np.linalg.solve(seen @ H.T + of_rows, seen).T
        m, P = m + gain @ (y - H @ m), P - gain @ seen
        means[t], covariances[t] = m, P
    return [means, covariances]


if __name__ == "__main__":
    main()
