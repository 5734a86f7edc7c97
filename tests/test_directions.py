"""Directions and lengths of loops: by the interpreter and optimized, against plain Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from both_ways import both

from scanopt import foldr, function, interpret, scan
from scanopt import map as scan_map
from scanopt import tensor as T
from scanopt.array.variable import Variable
from scanopt.loops.node import Scan

X = np.array([3.0, -1.0, 4.0, 1.5, -5.0, 9.0])


def rows(x: Sequence[Any], n: int | None, go_backwards: bool) -> list[Any]:
    """What the steps of a loop read: a negative number of them turns the direction round."""
    turned = list(reversed(x)) if go_backwards != (n is not None and n < 0) else list(x)
    return turned if n is None else turned[: abs(n)]


def sums(x: Sequence[Any], start: float = 0.5) -> list[float]:
    out: list[float] = []
    for value in x:
        start = 2 * start + value
        out.append(start)
    return out


def fails_alike(inputs: list[Variable], output: Variable, values: list[Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        interpret(output, dict(zip(inputs, values, strict=True)))
    with pytest.raises(kind, match=text):
        function(inputs, output)(*values)


# ---- directions ----


@pytest.mark.share(3)
@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("n", [None, 0, 1, 4, 6, -1, -4, -6])
def test_known_number_of_steps(n: int | None, go_backwards: bool) -> None:
    x = T.vector("x", "float64")
    out, _ = scan(lambda v, s: 2 * s + v, x, outputs_info=0.5, n_steps=n, go_backwards=go_backwards)
    mapped, _ = scan(lambda v: 3 * v, x, n_steps=n, go_backwards=go_backwards)
    found, threefold = both([x], [out, mapped], [X])
    read = rows(X, n, go_backwards)
    np.testing.assert_array_equal(found, sums(read))
    np.testing.assert_array_equal(threefold, 3 * np.array(read))


@pytest.mark.parametrize("go_backwards", [False, True])
def test_symbolic_number_of_steps(go_backwards: bool) -> None:
    x, n = T.vector("x", "float64"), T.iscalar("n")
    out, _ = scan(lambda v, s: 2 * s + v, x, outputs_info=0.5, n_steps=n, go_backwards=go_backwards)
    mapped, _ = scan_map(lambda v, k: v + k, out, 1.0)
    f = function([x, n], [out, mapped])
    for steps in range(-len(X), len(X) + 1):
        expected = sums(rows(X, steps, go_backwards))
        for found, more in [f(X, steps), interpret([out, mapped], {x: X, n: steps})]:
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(more, np.array(expected) + 1.0)


@pytest.mark.parametrize("steps", [-2, np.int8(-2), np.asarray(-2), T.constant(-2)])
def test_forms_of_a_negative_number(steps: Any) -> None:
    x = T.vector("x", "float64")
    out, _ = scan(lambda v: v, x, n_steps=steps)
    assert out.type.shape == (2,)
    np.testing.assert_array_equal(interpret(out, {x: X}), [9.0, -5.0])


def test_negative_steps_without_sequences_are_as_many() -> None:
    k = T.lscalar("k")
    known, _ = scan(lambda p: 2 * p, outputs_info=1, n_steps=-3)
    symbolic, _ = scan(lambda p: 2 * p, outputs_info=1, n_steps=k)
    for found in both([k], [known, symbolic], [-3]):
        np.testing.assert_array_equal(found, [2, 4, 8])


def test_taps_keep_their_meaning_backwards() -> None:
    x, n = T.vector("x", "float64"), T.lscalar("n")
    steps = [(scan(lambda a, b: a - 10 * b, dict(input=x, taps=[-1, 1]), n_steps=k)[0]) for k in (-3, n)]
    expected = [X[t - 1] - 10 * X[t + 1] for t in (4, 3, 2)]
    for found in both([x, n], steps, [X, -3]):
        np.testing.assert_array_equal(found, expected)


def test_lengths_need_no_sign() -> None:
    """A number of steps made of lengths cannot be negative, so the program does not ask."""
    x, y = T.vector("x", "float64"), T.vector("y", "float64")
    lengths = [y.shape[0], y.shape[0] // 2, T.minimum(y.shape[0], 3), y.size + 1, T.maximum(T.lscalar("k"), 0)]
    for n in lengths:
        node = scan(lambda v: v, x, n_steps=n)[0].owner
        assert isinstance(node, Scan)
        assert node.n_steps is n
    for n in (y.shape[0] - 1, -y.shape[0], T.lscalar("k")):
        node = scan(lambda v: v, x, n_steps=n)[0].owner
        assert isinstance(node, Scan)
        assert node.n_steps is not n


def test_backwards_in_a_loop() -> None:
    """The direction of an inner loop may change from step to step."""
    x, ns = T.vector("x", "float64"), T.lvector("ns")
    out, _ = scan(lambda n: scan(lambda v, s: 2 * s + v, x, outputs_info=0.5, n_steps=n)[0][-1], ns)
    values = [3, -3, 1, -6]
    (found,) = both([x, ns], [out], [X, values])
    np.testing.assert_array_equal(found, [sums(rows(X, n, False))[-1] for n in values])


# ---- sequences of different lengths ----


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize(("nx", "ny"), [(6, 6), (6, 4), (3, 6), (0, 5), (1, 1)])
def test_shortest_sequence_counts(nx: int, ny: int, go_backwards: bool) -> None:
    x, y = T.vector("x", "float64"), T.vector("y", "float64")
    out, _ = scan(lambda a, b, s: s + a * b, [x, y], outputs_info=0.0, go_backwards=go_backwards)
    (found,) = both([x, y], [out], [X[:nx], 10 * X[:ny]])
    pairs = zip(rows(X[:nx], None, go_backwards), rows(10 * X[:ny], None, go_backwards), strict=False)
    np.testing.assert_array_equal(found, np.cumsum([a * b for a, b in pairs]))


@pytest.mark.parametrize("n", [2, -2])
def test_fewer_steps_than_any_sequence(n: int) -> None:
    x, y = T.vector("x", "float64"), T.vector("y", "float64")
    out, _ = scan(lambda a, b: a - b, [x, y], n_steps=n)
    (found,) = both([x, y], [out], [X[:5], X[:3]])
    np.testing.assert_array_equal(found, np.array(rows(X[:5], n, False)) - np.array(rows(X[:3], n, False)))


@pytest.mark.parametrize("n", [4, -4])
def test_more_steps_than_a_sequence_has_entries(n: int) -> None:
    x, y, k = T.vector("x", "float64"), T.vector("y", "float64"), T.lscalar("k")
    text = r"sequences\[1\] \('y'\) has 3 rows but n_steps is 4.*test_directions.py"
    stateful, _ = scan(lambda a, b, s: s + a * b, [x, y], outputs_info=0.0, n_steps=n)
    mapped, _ = scan(lambda a, b: a * b, [x, y], n_steps=k)
    fails_alike([x, y], stateful, [X, X[:3]], ValueError, text)
    fails_alike([x, y, k], mapped, [X, X[:3], n], ValueError, text)
    static = T.vector("y", "float64", shape=(3,))
    with pytest.raises(ValueError, match=text):
        scan(lambda a, b: a * b, [x, static], n_steps=n)


def test_an_unused_sequence_must_be_long_enough_all_the_same() -> None:
    x = T.vector("x", "float64")
    out, _ = scan(lambda _, s: 2 * s, x, outputs_info=1.0, n_steps=4)
    fails_alike([x], out[-1], [X[:3]], ValueError, "has 3 rows but n_steps is 4")


# ---- no step, one step ----


def test_no_step_has_the_right_shapes_and_dtypes() -> None:
    x, W, n = T.matrix("x", "float32"), T.matrix("W", "float32"), T.lscalar("n")

    def step(row: Any, h: Any, p: Any, q: Any) -> list[Any]:
        return [T.tanh(row + h @ W), p + q, (row > 0), T.outer(row, h).astype("float64"), T.argmax(row)]

    past = np.ones((2, 4), "int16")
    for steps in (0, n, None):
        outs, _ = scan(
            step, x, [T.zeros_like(W[0]), dict(initial=past, taps=[-2, -1]), None, None, None], n_steps=steps
        )
        values = [np.ones((0 if steps is None else 5, 3), "float32"), np.ones((3, 3), "float32"), 0]
        inputs, values = ([x, W, n], values) if steps is n else ([x, W], values[:2])
        found = both(inputs, outs, values)
        assert [v.shape for v in found] == [(0, 3), (0, 4), (0, 3), (0, 3, 3), (0,)]
        assert [v.dtype.name for v in found] == ["float32", "int16", "bool", "float64", "int64"]


def test_no_step_is_not_run() -> None:
    """An index out of range, and an inner loop whose length nothing but a step tells."""
    x, y, i = T.vector("x", "float64"), T.vector("y", "float64"), T.lscalar("i")
    out, _ = scan(lambda a: a * y[i], x)
    (found,) = both([x, y, i], [out], [[], [1.0], 7])
    assert found.shape == (0,)
    nested, _ = scan(lambda a: scan(lambda b: a * b, y)[0], x)
    (found,) = both([x, y], [nested], [[], np.ones(9)])
    assert found.shape == (0, 9)


@pytest.mark.parametrize("index", [0, -1])
def test_nothing_to_take_from_no_step(index: int) -> None:
    x = T.vector("x", "float64")
    out, _ = scan(lambda a, s: s + a, x, outputs_info=0.0)
    fails_alike([x], out[index], [[]], IndexError, "out of bounds")


@pytest.mark.parametrize("n", [1, -1])
def test_one_step(n: int) -> None:
    x, k = T.vector("x", "float64"), T.lscalar("k")
    outs = [scan(lambda a, s: 2 * s + a, x, outputs_info=0.5, n_steps=m)[0] for m in (n, k)]
    for found in both([x, k], outs, [X, n]):
        np.testing.assert_array_equal(found, [1.0 + (X[0] if n > 0 else X[-1])])
    with pytest.raises(ValueError, match="0 rows but n_steps is 1"):
        interpret(outs[0], {x: []})


def test_folds_go_their_way() -> None:
    x = T.vector("x", "float64")
    out, _ = foldr(lambda a, p: a + 2.0 * p, x, outputs_info=0.0)
    (found,) = both([x], [out], [X])
    assert found == sum(a * 2.0**i for i, a in enumerate(X))
