"""A loop's own mode: laws rewrite it that the function's mode leaves out, and those that it leaves out do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import Mode

X = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
W = np.linspace(0.0, 1.0, 9).reshape(3, 3)
PLAIN = Mode("unoptimized")


def rnn(x: Any, w: Any, **options: Any) -> Any:
    """A step that holds a product of its sequence, which push_out_seq takes out of the loop."""
    h0 = T.constant(np.zeros(3))
    return scanopt.scan(lambda v, h, w: T.tanh(T.dot(v, w) + h), x, h0, w, **options)[0]


def compiled(*outputs: Any, inputs: Any, **options: Any) -> Any:
    f = scanopt.function(inputs, list(outputs), **options)
    values = [X, W][: len(inputs)]
    for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    return f


def products(f: Any) -> tuple[int, int]:
    """How many products of matrices stand outside of loops, and in them."""
    lines = [line for line in str(f.program).splitlines() if "dot(" in line]
    inside = [line for line in lines if line.startswith(" ")]
    return len(lines) - len(inside), len(inside)


def loops(f: Any) -> int:
    """How many loops the program has."""
    return sum(line.lstrip().startswith("loop ") for line in str(f.program).splitlines())


def test_a_loop_may_be_rewritten_by_less_than_the_function() -> None:
    x, w = T.dmatrix("x"), T.dmatrix("w")
    free = compiled(rnn(x, w), inputs=[x, w])
    assert products(free) == (1, 0)
    kept = compiled(rnn(x, w, mode=Mode(excluding=["push_out_seq"])), inputs=[x, w])
    assert products(kept) == (0, 1)
    assert compiled(rnn(x, w, mode="unoptimized"), inputs=[x, w]).report.laws.keys() <= {"constant_folding"}


def test_of_two_loops_one_is_left_alone() -> None:
    """The law fires for the loop that allows it, in one function."""
    x, w, y = T.dmatrix("x"), T.dmatrix("w"), T.dmatrix("y")
    kept = rnn(x, w, mode=Mode(excluding=["push_out_seq"]), name="kept")
    f = scanopt.function([x, w, y], [kept, rnn(y, w, name="free")])
    assert products(f) == (1, 1)
    for found, expected in zip(f(X, W, 2 * X), f.unoptimized(X, W, 2 * X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("mode", [PLAIN, Mode("FAST_COMPILE"), Mode(excluding=["push_out_seq"])])
def test_a_loop_may_be_rewritten_by_more_than_the_function(mode: Mode) -> None:
    x, w = T.dmatrix("x"), T.dmatrix("w")
    assert products(compiled(rnn(x, w, mode="FAST_RUN"), inputs=[x, w], mode=mode)) == (1, 0)
    if mode.optimizes:
        assert products(compiled(rnn(x, w), inputs=[x, w], mode=mode)) == (0, 1)


def test_a_loop_in_a_loop_has_the_mode_around_it() -> None:
    x, w = T.dmatrix("x"), T.dmatrix("w")

    def twice(mode: Any) -> Any:
        rows = lambda v, w: T.tanh(rnn(T.stack([v, v]), w)[-1])  # noqa: E731
        return scanopt.map(rows, x, [w], mode=mode)[0]

    assert loops(compiled(twice(Mode("unoptimized")), inputs=[x, w])) == 2
    assert loops(compiled(twice(None), inputs=[x, w])) < 2


def test_loops_of_different_modes_stay_two() -> None:
    x = T.dmatrix("x")
    step = lambda v, h: T.tanh(v + h)  # noqa: E731
    other = lambda v, h: T.sin(v * h)  # noqa: E731

    def pair(first: Any, second: Any) -> list[Any]:
        begin = T.constant(np.ones(3))
        return [scanopt.scan(f, x, begin, mode=m)[0] for f, m in ((step, first), (other, second))]

    assert loops(compiled(*pair(None, None), inputs=[x])) == 1
    assert loops(compiled(*pair(None, Mode(excluding=["save_mem"])), inputs=[x])) == 2
    one = Mode(excluding=["save_mem"])
    assert loops(compiled(*pair(one, one), inputs=[x])) == 1


def test_gradients_have_the_mode_of_their_loop() -> None:
    x, w = T.dmatrix("x"), T.dmatrix("w")
    cost = rnn(x, w, mode=Mode(excluding=["push_out_dot1", "push_out_seq"])).sum()
    f = scanopt.function([x, w], [cost, scanopt.grad(cost, w)])
    for found, expected in zip(f(X, W), f.unoptimized(X, W), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_an_unknown_name_in_a_loops_mode_is_named() -> None:
    x, w = T.dmatrix("x"), T.dmatrix("w")
    with pytest.raises(ValueError, match=r"push_out_sq.*near: push_out_seq"):
        scanopt.function([x, w], rnn(x, w, mode=Mode(excluding=["push_out_sq"])))
