"""Optimizations that other libraries of symbolic loops miss: the program that each graph becomes, as text."""

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(5)

x, y = T.dvectors("x", "y")
X, W, V = T.dmatrices("X", "W", "V")


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def becomes(inputs: list[Any], output: Any, text: str, *values: Any) -> None:
    """The program without its types, line by line; it gives what the graph says."""
    f = scanopt.function(inputs, output)
    lines = [line for line in str(f.program).splitlines() if not line.startswith(("inputs", "        "))]
    lines = [line.partition("  float64")[0].partition("  int64")[0].rstrip() for line in lines]
    assert lines == [line.strip() for line in text.strip().splitlines()]
    np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-12, atol=1e-12)


def loop_body(f: Any) -> str:
    """The lines of the loops of a program."""
    return "\n".join(line for line in str(f.program).splitlines() if line.startswith(("loop", "    ")))


def mapped(*args: Any) -> Any:
    return scanopt.map(*args)[0]


def layer(rows: Any, w: Any) -> Any:
    step = lambda v, h, w: T.tanh(T.dot(v, w) + T.dot(h, w))  # noqa: E731
    return scanopt.scan(step, rows, [T.zeros_like(w[0])], [w])[0]


def test_products_of_entries_are_one_product() -> None:
    output = mapped(lambda v, w: T.dot(v, w), X, [W])
    becomes([X, W], output, "v2 = dot(X, W)\nreturn v2", normal(5, 3), normal(3, 4))


def test_reductions_of_entries_are_one_reduction() -> None:
    becomes([X], mapped(lambda v: v.sum(), X), "v1 = sum(X, axis=1)\nreturn v1", normal(5, 3))


def test_entries_reversed_are_one_reversal() -> None:
    becomes([X], mapped(lambda v: v[::-1], X), "v1 = X[:, ::-1]\nreturn v1", normal(5, 3))


def test_cumulative_sums_of_entries_are_one() -> None:
    becomes([X], mapped(T.cumsum, X), "v1 = cumsum(X, axis=1)\nreturn v1", normal(5, 3))


def test_identity() -> None:
    becomes([x], mapped(lambda v: v, x), "return x", normal(4))


def test_lookups_of_all_rows_are_all_rows() -> None:
    output = mapped(lambda i, w: w[i], T.arange(W.shape[0]), [W])
    becomes([W], output, "return W", normal(5, 3))


def test_lookups_of_the_first_rows_are_a_slice() -> None:
    n = T.lscalar("n")
    f = scanopt.function([W, n], mapped(lambda i, w: w[i], T.arange(n), [W]), example=[normal(500, 300), 400])
    assert [s.op.name for s in f.program.steps] == ["maximum", "shape_i", "require", "minimum", "getitem"]
    rows = normal(5, 3)
    np.testing.assert_array_equal(f(rows, 2), rows[:2])
    for g in (f, f.unoptimized):
        assert g(rows, -1).shape == (0, 3)
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
            g(rows, 6)


def test_few_steps_are_no_loop() -> None:
    step = lambda h, w: T.tanh(T.dot(h, w))  # noqa: E731
    twice, _ = scanopt.scan(step, None, x, [W], n_steps=2)
    square = T.tensor("float64", (3, 3), "W")
    start = T.tensor("float64", (3,), "x")
    twice, _ = scanopt.scan(step, None, start, [square], n_steps=2)
    text = "v2 = dot(x, W)\nv3 = tanh(v2)\nv4 = dot(v3, W)\nv5 = tanh(v4)\nv6 = stack(v3, v5, axis=0)\nreturn v6"
    becomes([start, square], twice, text, normal(3), normal(3, 3))
    thrice, _ = scanopt.scan(step, None, start, [square], n_steps=3)
    text = "v2 = dot(x, W)\nv3 = tanh(v2)\nv4 = dot(v3, W)\nv5 = tanh(v4)\nreturn v5"
    becomes([start, square], thrice[1], text, normal(3), normal(3, 3))


def test_without_a_loop_a_state_still_keeps_its_shape() -> None:
    last = scanopt.scan(lambda h, w: T.tanh(T.dot(h, w)), None, x, [W], n_steps=1)[0][-1]
    text = "v2 = dot(x, W)\nv3 = tanh(v2)\nv4 = shaped_like(v3, x, axes=1)\nreturn v4"
    becomes([x, W], last, text, normal(3), normal(3, 3))
    f = scanopt.function([x, W], last)
    for run in (f, f.as_written, f.unoptimized):
        with pytest.raises(ValueError, match=r"changes its shape.*\(3,\).*\(2,\)"):
            run(normal(3), normal(3, 2))


def test_map_feeding_a_map() -> None:
    output = mapped(T.exp, mapped(lambda v: v * 2, x))
    becomes([x], output, "v1 = x * 2.0\nv2 = exp(v1)\nreturn v2", normal(4))


def test_layer_feeding_a_layer_is_one_loop() -> None:
    f = scanopt.function([X, W, V], layer(layer(X, W), V))
    (loop,) = f.program.loops()
    assert len(loop.states) == 2
    assert [k.rows for k in loop.keeps] == [None]
    assert loop_body(f).count("dot") == 3  # the first layer's own input is one product before the loop
    values = normal(6, 3), normal(3, 3), normal(3, 3)
    np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-12)


def test_products_with_one_state_are_one_product() -> None:
    states, _ = scanopt.scan(lambda v, h, w, u: T.tanh(v + T.dot(h, w) * T.dot(h, u)), X, [T.zeros_like(W[0])], [W, V])
    f = scanopt.function([X, W, V], states)
    assert loop_body(f).count("dot") == 1
    assert "concatenate(V, W, axis=1)" in str(f.program)
    values = normal(6, 3), normal(3, 3), normal(3, 3)
    np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-12)


def test_gradient_of_a_last_value_adds_no_zeros() -> None:
    states, _ = scanopt.scan(lambda v, h, w: T.tanh(v + T.dot(h, w)), X, [T.zeros_like(W[0])], [W])
    f = scanopt.function([X, W], scanopt.grad((states[-1] ** 2).sum(), W))
    backward = f.program.loops()[1]
    assert [s.op.name for s in backward.body if hasattr(s, "op")] == ["multiply", "sum_to", "dot"]
    assert len(backward.states) == 1
    values = normal(6, 3), normal(3, 3)
    np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-12)


@pytest.mark.usefixtures("priced_as_array_steps")
def test_last_of_a_sum_of_products_that_a_user_wrote() -> None:
    trace, _ = scanopt.scan(lambda v, s, w: s + T.dot(v, w), X, [y], [W])
    text = """
        v3 = expand_dims(y, axis=0)
        v4 = dot(X, W)
        v5 = fold(v3, v4, ufunc='add')
        v6 = X.shape[0]
        v7 = given(v5, v6)
        return v7
    """
    becomes([X, W, y], trace[-1], text, normal(5, 3), normal(3, 4), normal(4))


def test_equal_states_are_one_state() -> None:
    zeros = T.zeros_like(X[0])
    (one, other), _ = scanopt.scan(lambda v, h, g: (T.tanh(h + v), T.tanh(g + v)), X, [zeros, zeros])
    f = scanopt.function([X], one + other)
    assert loop_body(f).count("state") == 1 + 1  # its line, and the origin of what is kept
    assert loop_body(f).count("tanh") == 1
    values = normal(5, 3)
    np.testing.assert_array_equal(f(values), f.unoptimized(values))


def test_a_state_that_never_changes_is_none() -> None:
    output = scanopt.scan(lambda v, h: [h, T.exp(h).sum() * v], X, [y, None])[0][1]
    text = "v2 = exp(y)\nv3 = sum(v2, axis=0)\nv4 = v3 * X\nreturn v4"
    becomes([X, y], output, text, normal(5, 3), normal(3))


def test_constant_conditions_are_none() -> None:
    def until(end: bool) -> Any:
        return scanopt.scan(lambda v, h: (T.tanh(h + v), scanopt.until(end)), X, [y])[0]

    forever, once = (scanopt.function([X, y], until(end)) for end in (False, True))
    assert "until" not in str(forever.program) + str(once.program)
    assert "v3 = minimum(v2, 1)" in str(once.program)
    for f in (forever, once):
        values = normal(5, 3), normal(3)
        np.testing.assert_array_equal(f(*values), f.unoptimized(*values))


@pytest.mark.usefixtures("priced_as_array_steps")
def test_running_sums_and_counters_are_no_loops() -> None:
    trace, _ = scanopt.scan(lambda v, s: s + v, X, [y])
    text = "v2 = expand_dims(y, axis=0)\nv3 = accumulate(v2, X, ufunc='add')\nreturn v3"
    becomes([X, y], trace, text, normal(5, 3), normal(3))
    n = T.lscalar("n")
    counted, _ = scanopt.scan(lambda s: s + 2, None, [T.constant(5)], n_steps=n)
    f = scanopt.function([n], counted)
    assert not f.program.loops()
    assert f(4).tolist() == [7, 9, 11, 13]


def test_a_choice_that_is_known_is_no_choice() -> None:
    plain = scanopt.scan(lambda v, s: 0.5 * s + v, x, [np.float64(0)])[0]
    ways = [
        scanopt.scan(lambda v, s: T.switch(True, 0.5 * s + v, s), x, [np.float64(0)])[0],
        scanopt.scan(lambda v, s: T.where(False, s, 0.5 * s + v), x, [np.float64(0)])[0],
        scanopt.scan(lambda v, s: 0.5 * s + v, T.where(True, x, 0), [np.float64(0)])[0],
        scanopt.scan(lambda v, s: T.where(s > 1, 0.5 * s + v, 0.5 * s + v), x, [np.float64(0)])[0],
    ]
    expected, data = scanopt.function([x], plain), normal(6)
    for way in ways:
        f = scanopt.function([x], way)
        assert f.cost == expected.cost
        np.testing.assert_array_equal(f(data), expected(data))


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (scanopt.reduce(lambda v, s: T.or_(s, v > 0), x, T.constant(False))[0], T.any(x > 0)),
        (scanopt.reduce(lambda v, s: T.and_(s, v > 0), x, T.constant(True))[0], T.all(x > 0)),
        (scanopt.reduce(lambda v, s: s + (v > 0), x, T.constant(0, dtype="int64"))[0], (x > 0).sum()),
    ],
)
def test_truth_values_are_put_together_by_one_reduction(written: Any, plain: Any) -> None:
    """What is left of the loop is that it must take a step for its last row to be there."""
    f, g = (scanopt.function([x], out) for out in (written, plain))
    assert f.cost < 1.05 * g.cost
    for values in ([-1.0, 2.0, np.nan], [-1.0, -2.0], [3.0]):
        assert f(values) == f.unoptimized(values) == g(values)
    with pytest.raises(IndexError):
        f([])
