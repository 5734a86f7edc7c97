"""Loops that end early inside loops: one loop for all steps of the outer one, which masks states that have ended."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Variable
from scanopt.program.ir import Loop

pytestmark = pytest.mark.usefixtures("priced_as_array_steps")  # kernels keep many of these loops

x, y = T.dvector("x"), T.dvector("y")
n = T.lscalar("n")
X = T.dmatrix("X")


def newton(a: Any, n: Any) -> Any:
    """A square root."""

    def step(r: Any, a: Any) -> Any:
        new = 0.5 * (r + a / r)
        return new, scanopt.until(abs(new - r) < 1e-3)

    return scanopt.scan(step, None, [a], [a], n_steps=n)[0][-1]


def escape(a: Any, b: Any, n: Any) -> Any:
    """How many steps a point of the Mandelbrot set's neighbourhood stays near, and where it goes."""

    def step(re: Any, im: Any, k: Any, a: Any, b: Any) -> Any:
        new = re * re - im * im + a, 2 * re * im + b
        return [*new, k + 1], scanopt.until(new[0] ** 2 + new[1] ** 2 > 4)

    start = [T.zeros_like(a), T.zeros_like(a), T.zeros_like(a).astype("int64")]
    outs, _ = scanopt.scan(step, None, start, [a, b], n_steps=n)
    return [out[-1] for out in outs]


def power(row: Any, n: Any) -> Any:
    """A vector scaled up until it is long: the state has rows of its own."""
    step = lambda v: (v * 1.5, scanopt.until(T.sqrt((v * v).sum()) > 10))  # noqa: E731
    return scanopt.scan(step, None, [row], n_steps=n)[0][-1]


def delayed(a: Any, n: Any) -> Any:
    """A state that looks two steps back is not masked."""
    step = lambda u, v: (u + v, scanopt.until(u + v > 20))  # noqa: E731
    start = dict(initial=T.stack([a, a]), taps=[-2, -1])
    return scanopt.scan(step, None, [start], n_steps=n)[0][-1]


def summed(a: Any, y: Any) -> Any:
    """Nor is a sequence."""
    return scanopt.scan(lambda v, s: (s + v * v, scanopt.until(s > 3)), y, [a])[0][-1]


def _pairs(x: Any, y: Any, n: Any) -> Any:
    return scanopt.map(escape, [x, y[: x.shape[0]]], [n])[0]


def _pairs_of_all(x: Any, y: Any, n: Any) -> Any:
    return scanopt.map(lambda a, y, n: scanopt.map(lambda b, a, n: escape(a, b, n), y, [a, n])[0], x, [y, n])[0]


PROGRAMS: dict[str, tuple[Callable[..., Any], Sequence[Variable], bool]] = {
    "newton": (lambda x, n: scanopt.map(newton, x, [n])[0], [x, n], True),
    "escape": (_pairs, [x, y, n], True),
    "escape in two loops": (_pairs_of_all, [x, y, n], True),
    "power": (lambda X, n: scanopt.map(power, X, [n])[0], [X, n], True),
    "delayed": (lambda x, n: scanopt.map(delayed, x, [n])[0], [x, n], False),
    "summed": (lambda x, y: scanopt.map(summed, x, [y])[0], [x, y], False),
    "while": (
        lambda x: scanopt.map(lambda a: scanopt.while_loop(lambda v: v < 100, lambda v: v * v + 1, a, 9), x)[0],
        [x],
        False,
    ),
}  # fmt: skip


def loops_inside(program: Any) -> int:
    """How many loops lie in loops."""

    def count(steps: Any, inside: bool) -> int:
        return sum(inside + count(s.body, True) for s in steps if isinstance(s, Loop))

    return count(program.steps, False)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_what_the_loops_are(name: str) -> None:
    """Of no rows, of some, and where some rows end at once and others never."""
    rng = np.random.default_rng(0)
    build, inputs, masked = PROGRAMS[name]
    outputs = build(*inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    f = scanopt.function(list(inputs), outputs)
    assert not masked or not loops_inside(f.program)
    for rows in (0, 1, 2, 7):
        for steps in (0, 1, 3, 20):
            values: list[Any] = [np.array(steps) if v is n else rng.normal(size=(rows,) * v.ndim) * 2 for v in inputs]
            if rows > 2:
                values[0].flat[1] = np.nan
                values[0].flat[2] = np.inf
            known = dict(zip(inputs, values, strict=True))
            try:
                wanted = scanopt.interpret(outputs, known)
            except (IndexError, ValueError) as error:
                with pytest.raises(type(error)):
                    f(*values)
                continue
            for a, b in zip(f(*values), wanted, strict=True):
                np.testing.assert_array_equal(a, b)
