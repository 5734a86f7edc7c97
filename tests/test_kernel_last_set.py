"""Arrays that steps change one element at a time: what was set last is read without memory, with the same bits."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.carried_last import carried_last
from scanopt.backends.kernels.ir import Do, Let, Set, Var

RNG = np.random.default_rng(31)


def exactly(f: Any, values: list[Any]) -> str:
    """The text of a kernel that gives the bits of the interpreter."""
    if values[0].size < 9 or len(values[-1]) < 9:  # a kernel of its own, or none
        np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
        return ""
    return exact_kernel(f, values)


@pytest.mark.parametrize("dtype", ["float64", "int16", "bool"])
def test_elements_that_were_set_a_step_ago(dtype: str) -> None:
    """At places that follow one another, or not; negative ones; some of them set twice, added to, or out of range."""
    x, i, j = T.vector("x", dtype), T.lvector("i"), T.lvector("j")

    def step(i: Any, j: Any, x: Any) -> Any:
        y = T.set_subtensor(x[i], x[i - 1] + x[j])
        return T.inc_subtensor(y[j], x[-1]) if dtype != "bool" else T.set_subtensor(y[j], ~x[i])

    found, _ = scanopt.scan(step, [i, j], x)
    f = scanopt.function([x, i, j], [found[-1]], fp="exact", backend="c")
    for n in (12, 3):
        values = (RNG.normal(size=n) * 3).astype(dtype)
        for places in (np.arange(n), np.arange(n)[::-1], RNG.integers(1 - n, n, 30), RNG.integers(0, 2, 30)):
            for others in (places, np.maximum(places - 1, -n), RNG.integers(-n, n, len(places))):
                exactly(f, [values, places, others])
        for wrong in (n, -n - 1):
            with pytest.raises(IndexError, match="out of bounds"):
                f(values, np.array([0, wrong]), np.array([0, 0]))


def test_sweeps_over_rows_and_columns() -> None:
    """Loops in a loop, each of which goes on where the one before has ended; one may end early."""
    u, n = T.dmatrix("u"), T.lscalar("n")

    def sweep(u: Any) -> Any:
        def step(i: Any, k: Any, u: Any) -> Any:
            new = T.set_subtensor(u[i, k], 0.5 * (u[i - 1, k] + u[i, k - 1] - u[i, 0]))
            return new, scanopt.until(new[i, k] > 40)

        found, _ = scanopt.scan(step, [T.arange(1, u.shape[0]), T.arange(1, u.shape[0])[::-1]], u)
        return found[-1] * 1.5

    found, _ = scanopt.scan(sweep, outputs_info=u, n_steps=n)
    f = scanopt.function([u, n], [found[-1], found[-1].sum()], fp="exact", backend="c")
    for size in (9, 3):
        for x, y in zip(*(g(np.arange(size * size, dtype="f8").reshape(size, size), 5) for g in (f, f.unoptimized)),
                        strict=True):  # fmt: skip
            np.testing.assert_array_equal(x, y)
    assert "compiled" in f.kernels[0].state


def test_last_rows_are_written_where_they_are_results() -> None:
    """Once for each result, whatever else reads them."""
    y, x = T.dvector("y"), T.dscalar("x")
    rows, _ = scanopt.scan(lambda i, p, x: T.set_subtensor(p[i], p[i - 1] * x), T.arange(1, y.shape[0]), y, x)
    f = scanopt.function([y, x], [rows[-1], rows[-1], rows[-1][::-1] + 1, y], fp="exact", backend="c")
    first = f(np.ones(12), 0.5)
    exact_kernel(f, [np.arange(12.0), 0.9])
    assert first[0][-1] == 0.5**11
    g = scanopt.function([y, x], [rows[-1]], fp="exact", backend="c")
    text = exact_kernel(g, [RNG.normal(size=12), 0.9])
    assert text.count("ANY_ORDER\n") < 3


def test_a_place_is_compared_once_in_a_step() -> None:
    """Also where it is negative; a number that was changed in between is another place."""
    g, p, q = T.lmatrix("g"), T.lvector("p"), T.lvector("q")

    def step(i: Any, j: Any, g: Any, k: Any) -> Any:
        full = g[i, j] >= 3
        found = T.inc_subtensor(g[i, j], T.where(full, -3, 1))
        for a, b in ((1, 0), (0, 1)):
            found = T.inc_subtensor(found[i - a, j - b], T.cast(full, "int64"))
        return T.inc_subtensor(found[k, k], 1), T.abs(j) // 2 + found[i, k] * 0

    (found, _), _ = scanopt.scan(step, [p, q], [g, T.constant(0, dtype="int64")])
    f = scanopt.function([g, p, q], [found[-1]], fp="exact", backend="c")
    text = exactly(f, [RNG.integers(0, 5, (12, 12)), RNG.integers(-10, 12, 60), RNG.integers(-10, 12, 60)])
    assert text.count("__builtin_expect") == 6
    with pytest.raises(IndexError, match="out of bounds"):
        f(np.zeros((12, 12), "i8"), np.array([3, 12]), np.array([3, 3]))


def test_a_condition_that_has_changed_since_is_not_asked_again() -> None:
    s, c = Var("s", "bool"), Var("c", "bool")
    choice = Do("where", (Var("both", "bool"), Var("x"), Var("y")), "int64", "int64")
    steps = (
        Let("both", Do("bitwise_and", (s, c), "bool", "bool"), "bool"),
        Set("s", Do("logical_not", (s,), "bool", "bool")),
        Let("chosen", choice, "int64"),
    )
    assert carried_last(steps) == steps
    assert carried_last((steps[0], steps[2], steps[1])) != (steps[0], steps[2], steps[1])
