"""Programs for the sizes at hand: against those compiled for these sizes, and those for assumed ones.

python benchmarks/bench_sizes.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import scanopt
from scanopt import function
from scanopt import tensor as T
from scanopt.compilation.measuring import least_seconds

WARM = 1.0
"""Seconds of calls that come first: kernels are compiled meanwhile."""


def power() -> tuple[list[Any], Any]:
    """A ** k by a loop."""
    A, k = T.dvector("A"), T.lscalar("k")
    o, _ = scanopt.scan(lambda p, A: p * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k)
    return [A, k], o[-1]


def polynomial() -> tuple[list[Any], Any]:
    """The sum of c[i] * x ** i."""
    c, x = T.dvector("c"), T.dscalar("x")
    o, _ = scanopt.scan(lambda c, p, x: c * x**p, sequences=[c, T.arange(c.shape[0])], non_sequences=x)
    return [c, x], o.sum()


def rnn_gradient() -> tuple[list[Any], Any]:
    """The gradient of a small recurrent network."""
    X, W, h0 = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h0")
    o, _ = scanopt.scan(lambda x, h, W: T.tanh(x + h @ W), sequences=X, outputs_info=h0, non_sequences=W)
    return [X, W, h0], T.grad(o.sum(), W)


def cases() -> Iterator[tuple[Callable[[], tuple[list[Any], Any]], tuple[Any, ...]]]:
    """Programs, and arguments of very different sizes."""
    for rows, k in ((1000, 1000), (1000, 10), (4, 100_000)):
        yield power, (1 + 1e-6 * np.arange(rows), k)
    for n in (10, 10_000, 1_000_000):
        yield polynomial, (np.ones(n), 0.9)
    for steps, units in ((1000, 3), (10, 3), (100, 128)):
        yield rnn_gradient, (np.ones((steps, units)), np.eye(units) / 2, np.zeros(units))


def seconds(f: Any, args: tuple[Any, ...]) -> float:
    """The least seconds of a call, by the processor's time."""
    end = time.perf_counter() + WARM
    while time.perf_counter() < end:
        f(*args)
    return least_seconds(lambda: f(*args), 0.3, time.process_time)


def main() -> None:
    """Print a line for each case."""
    print("case, sizes: first call; then adapt=True, and how many times that of example=..., and of adapt=False")
    adapting: dict[str, Any] = {}
    for make, args in cases():
        inputs, output = make()
        f = adapting.setdefault(make.__name__, function(inputs, output, adapt=True))
        start = time.perf_counter()
        f(*args)
        first = time.perf_counter() - start
        fixed, sized = function(inputs, output, adapt=False), function(inputs, output, adapt=False, example=args)
        own, old, best = (min(seconds(g, args) for _ in range(2)) for g in (f, fixed, sized))
        sizes = ", ".join(str(x) if isinstance(x, int | float) else str(list(x.shape)) for x in args)
        print(f"{make.__name__} {sizes}: {first * 1e3:.1f} ms; {own * 1e6:.2f} us {own / best:.2f} {own / old:.2f}")


if __name__ == "__main__":
    main()
