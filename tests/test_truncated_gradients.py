"""truncate_gradient=k: the gradient of the last k steps alone, all before them being constant.

The same loop in two pieces says what that is: the first without gradients, k steps after it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Variable
from scanopt.gradient import grad

STEPS = 5
X, W, H = T.dmatrix("X"), T.dmatrix("W"), T.dmatrix("H")
RNG = np.random.default_rng(5)
VALUES: dict[Variable, Any] = {X: RNG.normal(size=(STEPS, 2)), W: RNG.normal(size=(2, 2)), H: RNG.normal(size=(3, 2))}

Step = Callable[..., Any]


def network(x: Any, s: Any, w: Any) -> Any:
    return T.tanh(x + T.dot(s, w))


def two_taps(x: Any, old: Any, new: Any, w: Any) -> Any:
    return T.tanh(x * old + T.dot(new, w))


def oldest_tap(x: Any, old: Any, w: Any) -> Any:
    return T.sin(x + T.dot(old, w))


def one_tap_of_two(x: Any, old: Any, new: Any, w: Any) -> Any:
    return T.tanh(x + T.dot(new, w))


CASES: list[tuple[Step, list[int]]] = [
    (network, [-1]), (two_taps, [-2, -1]), (two_taps, [-3, -1]), (oldest_tap, [-3]), (one_tap_of_two, [-2, -1]),
]  # fmt: skip


def run(step: Step, taps: list[int], x: Any, init: Any, **options: Any) -> Variable:
    """The trace; init: as many rows as the deepest tap."""
    info = init[0] if taps == [-1] else dict(initial=init, taps=taps)
    trace: Variable = scanopt.scan(step, x, [info], [W], return_updates=False, **options)
    return trace


def in_two_pieces(step: Step, taps: list[int], k: int, x: Any, cost: Callable[[Variable], Variable]) -> Variable:
    """The cost of the last k steps: what the loop computed before them is constant, its initial rows are not."""
    depth, first = -min(taps), max(STEPS - k, 0)
    init = H[:depth]
    before = T.disconnected_grad(run(step, taps, x[:first], init)) if first else H[:0]
    return cost(run(step, taps, x[first:], T.concatenate([init, before])[first : first + depth]))


def total(rows: Variable) -> Variable:
    squares: Variable = (rows**2).sum()
    return squares


def last(rows: Variable) -> Variable:
    return total(rows[-1])


@pytest.mark.share(5)
@pytest.mark.parametrize("k", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_is_that_of_the_last_steps(case: int, backwards: bool, k: int) -> None:
    step, taps = CASES[case]
    for cost in (total, last):
        whole = run(step, taps, X, H[: -min(taps)], truncate_gradient=k, go_backwards=backwards)
        gradients = grad(cost(whole), [X, W, H])
        pieces = in_two_pieces(step, taps, k, X[::-1] if backwards else X, cost)
        expected = scanopt.interpret(grad(pieces, [X, W, H]), VALUES)
        for a, b in zip(scanopt.interpret(gradients, VALUES), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        if k in (2, 5) and cost is total and not backwards:
            compiled = scanopt.function([X, W, H], gradients)(*VALUES.values())
            for a, b in zip(compiled, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
