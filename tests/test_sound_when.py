"""The conditions under which rewrites of scan are sound: programs that go wrong without them, and are right here.

Each case has what a rewrite that forgets its condition would make of the program: that must be something else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import scan

x, y, w = T.dvectors("x", "y", "w")
X, W = T.dmatrices("X", "W")
a, b = T.dscalars("a", "b")
n, k = T.lscalars("n", "k")
V = np.array([0.5, -1.0, 2.0, 0.25])
M = np.arange(12.0).reshape(4, 3) / 7 - 0.6
Q = np.array([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6], [-0.1, 0.2, 0.7]])
VALUES = {x: V, y: V[::-1] * 1.5, w: np.array([1.0, 2.0, 3.0]), X: M, W: Q, a: 0.75, b: -0.5, n: 3, k: 7}


@dataclass(frozen=True)
class Case:
    """outputs: of the program.  forgotten: what the first of them would be without the condition, or an error that
    it would raise or lose.  given: values other than the usual ones."""

    outputs: Any
    forgotten: Any
    given: dict[Any, Any]
    raises: type[Exception] | None = None


def trace(step: Callable[..., Any], *args: Any, **more: Any) -> Any:
    return scan(step, *args, return_updates=False, **more)


def total(*args: Any, **more: Any) -> Any:
    return trace(*args, **more)[-1]


def two_rows(u: Any, v: Any) -> dict[str, Any]:
    """A state of two taps and where it starts."""
    return dict(initial=T.stack([u, v]), taps=[-2, -1])


def until(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step, ended where what it reads is above 1."""
    return lambda v, *s: (step(v, *s), scanopt.until(v > 1))


LAST_OR_START = T.concatenate([T.expand_dims(a, 0), trace(lambda s: s * 2, None, [a], n_steps=n)])[-1]

CASES: dict[str, Case] = {
    "constant inputs: a sequence of equal entries may still be too short": Case(
        [trace(lambda v, s: s + v, T.ones(2), [a], n_steps=n)], np.array([1.75, 2.75, 3.75]), {}, ValueError
    ),
    "constant inputs: a start is no constant of the loop": Case(
        [trace(lambda s: s * 2.0, None, [T.constant(1.0, dtype="float64")], n_steps=n)], np.full(3, 2.0), {}
    ),
    "equal inputs: each tap is its own sequence": Case(
        [trace(lambda u, v: u * 10 + v, dict(input=x, taps=[0, 1]))], V[:-1] * 11, {}
    ),
    "unused inputs: what the condition reads is used": Case(
        [trace(lambda v, s: ([v * 2, s + 1.0], scanopt.until(s > 1)), x, [None, T.constant(0.0, dtype="float64")])[0]],
        V * 2, {},
    ),
    "invariants: a loop that takes no step computes none": Case(
        [trace(lambda v: w[k] + v, x, n_steps=n)], IndexError, {n: 0}
    ),
    "whole loop, invariant: the steps of a loop that ends early": Case(
        [trace(until(lambda v: a * 2), x)], np.full(4, 1.5), {}
    ),
    "whole loop, invariant: the start of a state": Case(
        [trace(lambda s: [b * 2, s], None, [a, None], n_steps=n)[1]], np.full(3, -1.0), {}
    ),
    "sequences: what comes after the last step must not raise": Case(
        [trace(lambda i, v, w: (w[i] * 1.0, scanopt.until(v > 1)), [T.arange(4), x], None, w)], IndexError, {}
    ),
    "sequences: operands stay aligned, entries against arrays": Case(
        [trace(lambda v, w: v * w, x, None, w)], V[:3] * VALUES[w], {x: V[:3]}
    ),
    "whole loop, sequence: no more rows than steps": Case([trace(lambda v: v * 2, x, n_steps=n)], V * 2, {}),
    "whole loop, sequence: the depth of that state's own taps": Case(
        [trace(lambda v, s2, s1, r: [v, r * v + s2 - s1], x, [dict(initial=w, taps=[-3, -1]), a])[1]],
        trace(lambda v, s1, r: [v, r * v + s1 - s1], x, [b, a])[1], {},
    ),
    "whole loop, sequence: the last row of no rows": Case(
        [total(lambda v: v * 2, x, n_steps=n)], -1.0, {n: 0}, IndexError
    ),
    "sums of products: three operands": Case(
        [total(lambda u, A: A + T.outer(u, u) + W, X, [T.zeros((3, 3), dtype="float64")])], M.T @ M, {}
    ),
    "sums of products: as many steps as there are, and the start": Case(
        [total(lambda u, A: A + T.outer(u, u), X, [W], n_steps=n)], M.T @ M, {}
    ),
    "sums of products: the size that is contracted may differ from step to step": Case(
        [total(lambda i, A: A + T.dot(x[:i], y[:i]), T.arange(4), [a])], a + 4 * T.dot(x, y), {}
    ),
    "one product: where no step is taken it is the start": Case(
        [T.concatenate([T.expand_dims(W, 0), trace(lambda A: A + T.dot(W, W), None, [W], n_steps=n)])[-1]],
        np.zeros((3, 3)), {n: 0},
    ),
    "one product: not of a loop that ends early": Case(
        [total(lambda u, A: (A + T.outer(u, u), scanopt.until(u.sum() > 0)), X, [W])], Q + M.T @ M, {}
    ),
    "merge: a loop that reads another one comes after it": Case(
        [trace(lambda v, s: s + v, trace(lambda v, s: s * v, x, [a]), [b])],
        trace(lambda v, s: s + v, trace(lambda v, s: s + v, x, [a]), [b]), {},
    ),
    "merge: conditions are equal only as functions of time": Case(
        [trace(lambda v, s: (s + abs(v), scanopt.until(s > 1)), x, [start]) for start in (b, a)],
        trace(lambda v, s, r: ([s + abs(v), r + abs(v)], scanopt.until(r > 1)), x, [b, a])[0], {},
    ),
    "equal states: equal updates and other starts": Case(
        [trace(lambda v, s2, s1, r2, r1: [s1 + s2 * v, r1 + r2 * v], x, [two_rows(a, b), two_rows(b, a)])[1]],
        trace(lambda v, s2, s1: s1 + s2 * v, x, [two_rows(a, b)]), {},
    ),
    "fewer steps: a row that is not there": Case([trace(lambda v: v * 2, x, n_steps=n)[3]], 0.5, {}, IndexError),
    "last rows: more than there are steps": Case(
        [trace(lambda v, s: s + v, x, [a], n_steps=n)[-5:]], np.concatenate([[0.0, 0.0], np.cumsum(V[:3]) + 0.75]), {}
    ),
    "last rows: of a loop that ends early": Case(
        [trace(until(lambda v, s: s + v), x, [a])[-4:]], np.cumsum(V) + 0.75, {}
    ),
    "last rows: the oldest row is still to be read": Case(
        [total(lambda v, s3, s1: s3 * 2 + s1 + v, x, [dict(initial=w, taps=[-3, -1])])],
        total(lambda v, s1: s1 * 3 + v, x, [w[-1]]), {},
    ),
    "last rows: gradients need all states": Case(
        [scanopt.grad(total(lambda v, s: T.tanh(s * v), x, [a]), x)],
        T.zeros_like(x), {},
    ),
    "untraced states: no step leaves the start": Case([LAST_OR_START], 0.0, {n: 0}),
    "one step: backwards it is the last entry": Case(
        [trace(lambda v: v * 2, x, n_steps=1, go_backwards=True)], V[:1] * 2, {}
    ),
    "gradients: of some outputs alone": Case(
        [scanopt.grad(trace(lambda v, s: [T.sin(s) * v, s * v], x, [a, None])[1].sum(), x)],
        scanopt.grad(sum(t.sum() for t in trace(lambda v, s: [T.sin(s) * v, s * v], x, [a, None])), x), {},
    ),
}  # fmt: skip


@pytest.mark.share(6)
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("name", CASES)
def test_the_condition_is_kept(name: str, fp: str) -> None:
    case = CASES[name]
    values = VALUES | case.given
    inputs = list(values)
    f = scanopt.function(inputs, case.outputs, fp=fp, on_unused_input="ignore")
    if case.raises is not None:
        with pytest.raises(case.raises):
            scanopt.interpret(case.outputs, values)
        with pytest.raises(case.raises):
            f(*values.values())
        return
    expected = scanopt.interpret(case.outputs, values)
    for found, e in zip(f(*values.values()), expected, strict=True):
        np.testing.assert_allclose(found, e, rtol=0 if fp == "exact" else 1e-12, atol=0 if fp == "exact" else 1e-12)
    if not isinstance(case.forgotten, type):
        wrong = scanopt.interpret(T.as_tensor_variable(case.forgotten), values)
        assert wrong.shape != expected[0].shape or not np.allclose(wrong, expected[0])


def test_nothing_of_the_callers_is_overwritten() -> None:
    """Buffers: of arguments, of shared variables, of constants, and of a value that is read twice."""
    start = scanopt.shared(np.ones(3), "start")
    kept = T.constant(np.full(3, 2.0))
    outputs = [total(lambda s: s * 2, None, [v], n_steps=n) for v in (w, start, kept, start)]
    f = scanopt.function([w, n], [*outputs, w + 1])
    argument = np.array([1.0, 2.0, 3.0])
    first, second = f(argument, 3), f(argument, 3)
    assert argument.tolist() == [1, 2, 3]
    assert start.get_value().tolist() == [1, 1, 1]
    for p, q in zip(first, second, strict=True):
        np.testing.assert_array_equal(p, q)
