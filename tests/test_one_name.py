"""One value has one name: what is written as a loop and what is written with arrays become one program, as text."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(3)

x, u, a, h0, c0 = T.dvectors("x", "u", "a", "h0", "c0")
X, W, A = T.dmatrices("X", "W", "A")
n = T.lscalar("n")
VALUES = {
    x: RNG.normal(size=4), u: RNG.normal(size=3), a: RNG.normal(size=2), X: RNG.normal(size=(4, 3)),
    W: RNG.normal(size=(3, 3)), A: RNG.normal(size=(5, 2)), h0: RNG.normal(size=3), c0: RNG.normal(size=3), n: 3,
}  # fmt: skip
MORE = [T.dmatrix(f"W{i}") for i in range(4)]
VALUES |= {w: RNG.normal(size=(3, 3)) for w in MORE}


def mapped(step: Callable[..., Any], *args: Any) -> Any:
    return scanopt.map(step, *args)[0]


def total(rows: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s) + v, rows, [np.float64(0)])[0]


def lines(f: Any) -> list[str]:
    """The program without its types, line by line."""
    text = [line for line in str(f.program).splitlines() if not line.startswith(("inputs", "consts", "        "))]
    return [line.partition("  float64")[0].partition("  int64")[0].partition("  #")[0].rstrip() for line in text]


def checked(inputs: list[Any], outputs: list[Any]) -> Any:
    f = scanopt.function(inputs, outputs)
    values = [VALUES[v] for v in inputs]
    for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    return f


SAME = {
    "product": ([X, W], [T.dot(X, W), mapped(lambda v: T.dot(v, W), X)], ["v2 = dot(X, W)", "return v2, v2"]),
    "negation": ([X], [-mapped(lambda v: -v, X)], ["return X"]),
    "function": ([x], [mapped(T.exp, x) - T.exp(x)], ["v1 = exp(x)", "v2 = v1 - v1", "return v2"]),
    "chain": (
        [X, W, u],
        [T.dot(mapped(lambda v: T.dot(v, W), X), u)],
        ["v3 = dot(W, u)", "v4 = dot(X, v3)", "return v4"],
    ),
    "loops in loops": (
        [X],
        [mapped(lambda v: mapped(lambda s: T.exp(-s), v), X) + T.exp(-X)],
        ["v1 = -X", "v2 = exp(v1)", "v3 = v2 + v2", "return v3"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_operators_of_rows_are_operators_of_arrays(case: str) -> None:
    inputs, outputs, text = SAME[case]
    assert lines(checked(inputs, outputs)) == text


@pytest.mark.parametrize("same", [mapped(lambda v: v, x), x[::-1][::-1], x * 1.0, mapped(T.neg, -x)])
def test_loops_that_are_equal_once_laws_have_said_so_are_one(same: Any) -> None:
    plain = scanopt.function([x], [total(x), total(x)])
    f = checked([x], [total(x), total(same)])
    assert str(f.program) == str(plain.program)


def lstm(again: Callable[[Any], Any]) -> Any:
    """A step whose first gate reads the state in another way."""
    first, second = T.dmatrices("W1", "W2")
    third, fourth = T.dmatrices("W3", "W4")

    def step(v: Any, h: Any, c: Any) -> Any:
        gates = [T.dot(again(h), first), T.dot(h, second), T.dot(h, third), T.dot(h, fourth)]
        c = T.sigmoid(gates[0] + v) * c + T.sigmoid(gates[1]) * T.tanh(gates[2])
        return T.sigmoid(gates[3]) * T.tanh(c), c

    return scanopt.function([X, h0, c0, first, second, third, fourth], scanopt.scan(step, X, [h0, c0])[0][0])


@pytest.mark.parametrize("again", [lambda h: h * 1.0, lambda h: T.neg(T.neg(h)), lambda h: h[::-1][::-1]])
def test_products_that_stand_side_by_side_are_found_after_laws(again: Callable[[Any], Any]) -> None:
    plain, f = lstm(lambda h: h), lstm(again)
    assert str(f.program) == str(plain.program)
    assert sum(" = dot(" in line for line in lines(f)) == 1


@pytest.mark.parametrize(
    ("held", "text"),
    [(T.constant(np.array([0.5, 0.25])), "0.25"), (T.tensor("float64", (2,), "b"), " = b[1] "), (a, "when_runs(v")],
)
def test_entries_of_what_never_changes_leave_the_loop(held: Any, text: str) -> None:
    states, _ = scanopt.scan(lambda s, b: T.tanh(s) * b[1], None, [x], [held], n_steps=n)
    f = scanopt.function([x, n] + [held] * (held.owner is None and held.name is not None), states)
    outside, _, inside = str(f.program).partition("loop")
    assert text in (inside if held.owner is None and held.name is None else outside)
    assert "[1]" not in inside
    assert "getitem" not in inside


def test_what_may_raise_leaves_a_loop_and_does_not_raise_without_steps() -> None:
    f = scanopt.function([x, A, n], scanopt.scan(lambda s, w: T.tanh(s) * w[7, 0], None, [x], [A], n_steps=n)[0])
    assert "when_runs" in str(f.program)
    for run in (f, f.as_written, f.unoptimized):
        assert run(VALUES[x], VALUES[A], 0).shape == (0, 4)
        with pytest.raises(IndexError):
            run(VALUES[x], VALUES[A], 1)


def slopes(steps: Any = None) -> list[Any]:
    """The gradient of a network's loss with respect to its weights."""
    W, U, b = MORE[0], MORE[1], u
    step = lambda v, h, W, U, b: T.tanh(T.dot(v, W) + T.dot(h, U) + b)  # noqa: E731
    states, _ = scanopt.scan(step, X if steps is None else X[:steps], [h0], [W, U, b])
    return list(scanopt.grad((states**2).sum(), [W, U, b]))


@pytest.mark.usefixtures("priced_as_array_steps")
def test_gradients_of_weights_are_contractions() -> None:
    f = scanopt.function([X, h0, *MORE[:2], u], slopes())
    end = str(f.program).rpartition("keep")[2]
    assert end.count("tensordot(") == 2
    for word in ("expand_dims", "fold", "repeat_rows", "[-1]", "full_like"):
        assert word not in end
    values = [VALUES[v] for v in (X, h0, *MORE[:2], u)]
    for steps in (0, 1, 4):
        args = [values[0][:steps], *values[1:]]
        for found, expected in zip(f(*args), f.unoptimized(*args), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, strict=True)


decay, _ = scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)
LAST = {
    "o[-1]": decay[-1], "o[o.shape[0] - 1]": decay[decay.shape[0] - 1], "o[::-1][0]": decay[::-1][0],
    "o[-3:-1]": decay[-3:-1], "o[-3::2]": decay[-3::2], "o[1:][-1:]": decay[-3:][1:],
}  # fmt: skip
FIRST = {"o[:3]": decay[:3], "o[1:3]": decay[1:3], "o[:6:2][:2]": decay[:6:2][:2]}


@pytest.mark.parametrize("text", [*LAST, *FIRST])
def test_parts_of_traces_keep_what_they_read(text: str) -> None:
    f = scanopt.function([x, n], {**LAST, **FIRST}[text])
    kept = next(line for line in lines(f) if "keep" in line)
    assert ("last" in kept) == (text in LAST)
    assert any(f"minimum(v4, {k})" in line for line in lines(f) for k in (3, 4)) == (text in FIRST)
    for count in range(8):
        try:
            expected = f.unoptimized(VALUES[x], count)
        except IndexError:
            with pytest.raises(IndexError):
                f(VALUES[x], count)
        else:
            np.testing.assert_array_equal(f(VALUES[x], count), expected, strict=True)


def test_products_of_equal_states_in_other_orders_end() -> None:
    """The matrices beside those of one state stand in another order than those beside its twin: no circle of them."""

    def step(v: Any, h: Any, g: Any, W: Any, U: Any, V: Any) -> Any:
        one = T.tanh(T.sigmoid(T.dot(h, W)) * h + T.dot(h * 1.0, U) * T.dot(h, V) + v)
        other = T.tanh(T.dot(g, V) * T.dot(g, U) + T.sigmoid(T.dot(g, W)) * g + v)
        return [one, other]

    first, second = scanopt.scan(step, X, [u, u], MORE[:3])[0]
    checked([X, u, *MORE[:3]], [first, second])


def test_products_of_equal_values_that_stand_in_groups_of_their_own() -> None:
    """Columns are counted within one group of matrices."""

    def step(v: Any, h: Any, *ws: Any) -> Any:
        a, b = (T.dot(h, w) for w in ws[:2])
        c, d = (T.dot(h * 1.0, w) for w in ws[2:])
        return T.tanh(v + a * b + T.sin(c) * d)

    checked([X, u, *MORE], [scanopt.scan(step, X, [u], MORE)[0]])
