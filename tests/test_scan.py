"""scan and its relatives, through the interpreter, against plain Python loops."""

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from scanopt import foldl, foldr, interpret, reduce, scan, shared
from scanopt import map as scan_map
from scanopt import tensor as T
from scanopt.array.variable import Constant, Variable
from scanopt.loops.node import Scan
from scanopt.loops.updates import Updates

RNG = np.random.default_rng(0)


def node_of(v: Variable) -> Scan:
    assert isinstance(v.owner, Scan)
    return v.owner


# The documents' examples


@pytest.mark.parametrize("k", [0, 1, 2, 4])
def test_power(k: int) -> None:
    A, steps = T.vector("A", "float64"), T.iscalar("k")
    result, updates = scan(lambda prior, A: prior * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=steps)
    powers = interpret(result, {A: np.arange(10.0), steps: k})
    assert powers.shape == (k, 10)
    assert not updates
    if k:
        np.testing.assert_array_equal(powers[-1], np.arange(10.0) ** k)
        np.testing.assert_array_equal(interpret(result[-1], {A: range(10), steps: k}), powers[-1])


def test_polynomial() -> None:
    coefficients, x = T.vector("coefficients", "float32"), T.scalar("x", "float32")
    components, _ = scan(
        lambda coefficient, power, free: coefficient * (free**power),
        outputs_info=None,
        sequences=[coefficients, T.arange(10000)],
        non_sequences=x,
    )
    value = interpret(components.sum(), {coefficients: [1, 0, 2], x: 3})
    assert value == 1.0 * 3**0 + 0.0 * 3**1 + 2.0 * 3**2


def test_triangular_sequence() -> None:
    up_to = T.iscalar("up_to")
    seq = T.arange(up_to)
    start = T.as_tensor_variable(np.asarray(0, seq.dtype))
    result, _ = scan(lambda value, total: total + value, outputs_info=start, sequences=seq)
    np.testing.assert_array_equal(interpret(result, {up_to: 15}), [n * (n + 1) // 2 for n in range(15)])


def test_unauthorized_downcast_is_named() -> None:
    seq = T.arange(T.iscalar("up_to"))
    with pytest.raises(ValueError, match="int8") as error:
        scan(lambda value, total: total + value, outputs_info=T.as_tensor_variable(0), sequences=seq)
    assert f".astype('{seq.dtype}')" in str(error.value)


def test_values_at_positions() -> None:
    location, values = T.imatrix("location"), T.vector("values", "float32")
    model = T.matrix("output_model", "float32")

    def set_value_at_position(a_location: Any, a_value: Any, output_model: Any) -> Any:
        zeros = T.zeros_like(output_model)
        return T.set_subtensor(zeros[a_location[0], a_location[1]], a_value)

    result, _ = scan(set_value_at_position, outputs_info=None, sequences=[location, values], non_sequences=model)
    places = np.asarray([[1, 1], [2, 3]], dtype=np.int32)
    found = interpret(result, {location: places, values: np.float32([42, 50]), model: np.zeros((5, 5), np.float32)})
    expected = np.zeros((2, 5, 5), np.float32)
    expected[0, 1, 1], expected[1, 2, 3] = 42, 50
    np.testing.assert_array_equal(found, expected)


def test_multi_tap_rnn() -> None:
    names = ["W", "W_in_1", "W_in_2", "W_feedback", "W_out"]
    weights = [T.matrix(name, "float64") for name in names]
    u, x0, y0 = T.matrix("u", "float64"), T.matrix("x0", "float64"), T.vector("y0", "float64")

    def one_step(u_tm4, u_t, x_tm3, x_tm1, y_tm1, W, W_in_1, W_in_2, W_feedback, W_out):  # type: ignore[no-untyped-def]
        x_t = T.tanh(T.dot(x_tm1, W) + T.dot(u_t, W_in_1) + T.dot(u_tm4, W_in_2) + T.dot(y_tm1, W_feedback))
        return [x_t, T.dot(x_tm3, W_out)]

    ([xs, ys], updates) = scan(
        one_step,
        sequences=dict(input=u, taps=[-4, -0]),
        outputs_info=[dict(initial=x0, taps=[-3, -1]), y0],
        non_sequences=weights,
        strict=True,
    )
    assert not updates
    W, W1, W2, Wf, Wo = (RNG.normal(size=s) for s in [(3, 3), (2, 3), (2, 3), (2, 3), (3, 2)])
    us, xv, yv = RNG.normal(size=(9, 2)), RNG.normal(size=(3, 3)), RNG.normal(size=2)
    values = dict(zip([u, x0, y0, *weights], [us, xv, yv, W, W1, W2, Wf, Wo], strict=True))
    found_x, found_y = interpret([xs, ys], values)
    x_past, y_past = list(xv), [yv]
    for t in range(4, 9):
        x_t = np.tanh(x_past[-1] @ W + us[t] @ W1 + us[t - 4] @ W2 + y_past[-1] @ Wf)
        y_past.append(x_past[-3] @ Wo)
        x_past.append(x_t)
    np.testing.assert_array_equal(found_x, x_past[3:])
    np.testing.assert_array_equal(found_y, y_past[1:])


def test_documented_argument_order() -> None:
    s1, s2, s3 = (T.vector(name, "float64") for name in ("Sequence1", "Sequence2", "Sequence3"))
    o1, o2, o3 = T.vector("Output1", "float64"), T.scalar("Output2"), T.scalar("Output3", "float64")
    a1, a2 = T.scalar("Argument1"), T.scalar("Argument2")
    seen: list[str | None] = []

    def fn(*args: Variable) -> list[Any]:
        seen[:] = [x.name for x in args]
        return [args[5], args[0], args[7]]

    outputs, _ = scan(
        fn,
        sequences=[dict(input=s1, taps=[-3, 2, -1]), s2, dict(input=s3, taps=3)],
        outputs_info=[dict(initial=o1, taps=[-3, -5]), dict(initial=o2, taps=None), o3],
        non_sequences=[a1, a2],
    )
    assert seen == [
        "Sequence1[t-3]", "Sequence1[t+2]", "Sequence1[t-1]", "Sequence2[t]", "Sequence3[t+3]",
        "Output1[t-3]", "Output1[t-5]", "Output3[t-1]", "Argument1", "Argument2",
    ]  # fmt: skip
    assert len(outputs) == 3


# Taps, lengths, directions


def windows(x: np.ndarray[Any, Any], taps: Sequence[int], go_backwards: bool = False) -> list[list[float]]:
    """The documented alignment in plain Python: the present always counts as read."""
    low, high = min(0, *taps), max(0, *taps)
    steps = range(-low, len(x) - high)
    return [[float(x[t + k]) for k in taps] for t in (reversed(steps) if go_backwards else steps)]


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 6])
@pytest.mark.parametrize("taps", [[0], [-1], [1], [-1, 1], [2, -3, 0], [-2, -2], [3], [-1, -4, 2]])
def test_sequence_taps(taps: list[int], n: int, go_backwards: bool) -> None:
    x = T.vector("x", "float64")
    out, _ = scan(lambda *xs: T.stack(xs), {"input": x, "taps": taps}, go_backwards=go_backwards)
    expected = windows(np.arange(float(n)), taps, go_backwards)
    found = interpret(out, {x: np.arange(float(n))})
    assert found.shape == (len(expected), len(taps))
    np.testing.assert_array_equal(found, np.reshape(expected, found.shape))


def test_taps_of_the_reference_table() -> None:
    x = T.vector("x", "float64")
    one, _ = scan(lambda a: a, dict(input=x, taps=[-1]))
    two, _ = scan(lambda a, b: a + b, dict(input=x, taps=[-1, 1]))
    np.testing.assert_array_equal(interpret(one, {x: np.arange(5.0)}), [0, 1, 2, 3])
    np.testing.assert_array_equal(interpret(two, {x: np.arange(6.0)}), [2, 4, 6, 8])


def test_int_tap_and_static_lengths() -> None:
    x = T.matrix("x", "float64", shape=(6, 3))
    out, _ = scan(lambda a: a, dict(input=x, taps=2))
    node = node_of(out)
    assert out.type.shape == (4, 3)
    assert isinstance(node.n_steps, Constant)
    assert node.n_steps.dtype == "int64"
    assert node.sequences[0].u_inner.type.shape == (3,)
    assert not node.requires


def test_shortest_sequence_wins() -> None:
    x, y, z = T.vector("x", "float64"), T.vector("y", "float64"), T.vector("z", "float64", shape=(4,))
    out, _ = scan(lambda a, b, c: a + 10 * b + 100 * c, [x, y, z])
    for nx, ny in [(3, 5), (5, 3), (9, 9), (0, 2)]:
        n = min(nx, ny, 4)
        expected = [t + 10 * t + 100 * t for t in range(n)]
        found = interpret(out, {x: np.arange(float(nx)), y: np.arange(float(ny)), z: np.arange(4.0)})
        np.testing.assert_array_equal(found, expected)


def test_go_backwards_cuts_to_n_steps_last() -> None:
    x = T.vector("x", "float64")
    out, _ = scan(lambda a, s: 2 * s + a, x, outputs_info=0.0, n_steps=2, go_backwards=True)
    np.testing.assert_array_equal(interpret(out, {x: [1, 2, 3, 4]}), [4, 11])


@pytest.mark.parametrize("steps", [2, np.int64(2), np.asarray(2, np.uint8), T.constant(2)])
def test_forms_of_n_steps(steps: Any) -> None:
    x = T.vector("x", "float64")
    out, _ = scan(lambda a: a, x, n_steps=steps)
    assert out.type.shape == (2,)
    np.testing.assert_array_equal(interpret(out, {x: [1, 2, 3]}), [1, 2])


def test_one_step_keeps_its_node() -> None:
    out, _ = scan(lambda s: s + 1, outputs_info=np.float32(1), n_steps=1)
    assert node_of(out).static_steps == 1
    np.testing.assert_array_equal(interpret(out, {}), [2])


@pytest.mark.parametrize("taps", [[-1], [-2], [-2, -1], [-1, -2], [-3, -1], [-1, -4]])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_output_taps(taps: list[int], n: int) -> None:
    depth = -min(taps)
    start = np.arange(1.0, depth + 1)
    initial = start[0] if taps == [-1] else start
    weights = np.arange(1.0, len(taps) + 1)
    out, _ = scan(
        lambda *past: sum(w * p for w, p in zip(weights, past, strict=True)),
        outputs_info=dict(initial=initial, taps=taps),
        n_steps=n,
    )
    past = list(start)
    for _ in range(n):
        past.append(sum(w * past[k] for w, k in zip(weights, taps, strict=True)))
    np.testing.assert_array_equal(interpret(out), past[depth:])


def test_long_initial_state_is_cut_to_its_first_rows() -> None:
    x0 = T.vector("x0", "int64")
    out, _ = scan(lambda a, b: a + b, outputs_info=dict(initial=x0, taps=[-2, -1]), n_steps=3)
    np.testing.assert_array_equal(interpret(out, {x0: [0, 1, 99]}), [1, 2, 3])


def test_results_keep_their_order() -> None:
    x = T.vector("x", "float64")
    (a, b, c, d), _ = scan(
        lambda x, h, p, q: [x, h + x, p + q, -x],
        x,
        outputs_info=[None, 0.0, dict(initial=np.ones(2), taps=[-2, -1]), {}],
    )
    assert node_of(a) is node_of(d)
    assert [s.output_state.type.ndim for s in node_of(a).states] == [0, 0]
    found = interpret([a, b, c, d], {x: [1, 2, 3]})
    for value, expected in zip(found, [[1, 2, 3], [1, 3, 6], [2, 3, 5], [-1, -2, -3]], strict=True):
        np.testing.assert_array_equal(value, expected)


# The step function


def test_steps_of_any_form() -> None:
    x = T.vector("x", "float64")

    class Model:
        rate = 3.0

        def step(self, x: Any) -> Any:
            return self.rate * x

    steps = [
        lambda x: 3.0 * x,
        Model().step,
        functools.partial(operator.mul, 3.0),
        lambda x: np.multiply(3.0, x),
        lambda x: (3.0 * x,),
        lambda x: [3.0 * x],
        lambda x: (3.0 * x, {}),
    ]
    for step in steps:
        out, _ = scan(step, x)
        np.testing.assert_array_equal(interpret(out, {x: [1, 2]}), [3, 6])


def test_a_numpy_ufunc_is_a_step() -> None:
    x = T.vector("x", "float64")
    np.testing.assert_array_equal(interpret(scan(np.tanh, x)[0], {x: [1, 2]}), np.tanh([1.0, 2.0]))


def test_plain_values_as_results() -> None:
    x = T.vector("x", "float32")
    (a, b, c, d), _ = scan(lambda x: (1, 2.5, np.arange(2), x), x)
    assert [v.dtype for v in (a, b, c, d)] == ["int64", "float64", "int64", "float32"]
    found = interpret([a, b, c], {x: [0, 0]})
    for value, expected in zip(found, [[1, 1], [2.5, 2.5], [[0, 1], [0, 1]]], strict=True):
        np.testing.assert_array_equal(value, expected)


def test_unwrapping() -> None:
    x = T.vector("x")
    assert isinstance(scan(lambda x: x, x)[0], Variable)
    assert len(scan(lambda x: x, x, return_list=True)[0]) == 1
    assert isinstance(scan(lambda x: [x, x], x)[0], list)
    assert scan(lambda x: [], x)[0] is None
    assert scan(lambda x: {}, x) == (None, {})


def test_arguments_are_not_changed() -> None:
    x = T.vector("x", "float64")
    sequences = [{"input": x}]
    info: list[Any] = [{"initial": 0.0}, {}]
    scan(lambda x, h: [x + h, x], sequences, info)
    assert sequences == [{"input": x}]
    assert info == [{"initial": 0.0}, {}]


def test_names_of_slices() -> None:
    x, unnamed, h = T.vector("x"), T.vector(), T.vector("h")
    seen: list[str | None] = []

    def step(*args: Variable) -> Variable:
        seen[:] = [a.name for a in args]
        return args[-1]

    scan(step, [dict(input=x, taps=[-1, 0, 2]), unnamed], dict(initial=h, taps=[-2, -1]))
    assert seen == ["x[t-1]", "x[t]", "x[t+2]", None, "h[t-2]", "h[t-1]"]


def test_location_is_the_callers() -> None:
    x = T.vector("x")
    for f in (scan, scan_map):
        out, _ = f(lambda x: x, x)
        assert "test_scan.py:" in node_of(out).location


# What the step uses


def test_discovered_non_sequences() -> None:
    W, x, b = T.matrix("W", "float64"), T.matrix("x", "float64"), shared(np.ones(2), "b")
    W2 = W**2
    out, _ = scan(lambda x: T.dot(x, W2) + b, x)
    held = {s.w_outer for s in node_of(out).non_sequences}
    assert held == {W, b}
    values = {W: RNG.normal(size=(2, 2)), x: RNG.normal(size=(3, 2))}
    np.testing.assert_array_equal(interpret(out, values), [row @ values[W] ** 2 + 1 for row in values[x]])


def test_strict_accepts_what_is_listed() -> None:
    W, x = shared(2.0, "W"), T.vector("x", "float64")
    out, _ = scan(lambda x, W: x * W, x, non_sequences=[W], strict=True)
    np.testing.assert_array_equal(interpret(out, {x: [1, 2]}), [2, 4])


def test_python_numbers_stay_weak() -> None:
    x = T.vector("x", "float32")
    out, _ = scan(lambda x, c: x * c, x, non_sequences=[0.1])
    assert out.dtype == "float32"


@pytest.mark.parametrize("inner_steps", [0, 1, 3])
def test_nested(inner_steps: int) -> None:
    x, W, n = T.matrix("x", "float64"), T.vector("W", "float64"), T.lscalar("n")

    def row(x_t: Any) -> Any:
        inner, _ = scan(lambda h: h * W + x_t, outputs_info=T.zeros_like(x_t), n_steps=n)
        return inner

    out, _ = scan(row, x)
    xv, Wv = RNG.normal(size=(2, 4)), RNG.normal(size=4)
    expected = np.zeros((2, inner_steps, 4))
    for i in range(2):
        h = np.zeros(4)
        for j in range(inner_steps):
            h = h * Wv + xv[i]
            expected[i, j] = h
    np.testing.assert_array_equal(interpret(out, {x: xv, W: Wv, n: inner_steps}), expected)
    assert {s.w_outer for s in node_of(out).non_sequences} == {W, n}


# Types of states


@pytest.mark.parametrize(
    ("start", "dtype", "expected"),
    [
        (0, "float64", "float64"),
        (0, "float32", "float32"),
        (0.0, "float32", "float32"),
        (0.0, "int32", "float64"),
        (0, "int16", "int16"),
        (True, "uint8", "uint8"),
        (1, "complex64", "complex64"),
    ],
)
def test_bare_number_takes_the_steps_dtype(start: Any, dtype: str, expected: str) -> None:
    x = T.vector("x", dtype)
    out, _ = scan(lambda x, h: h + x, x, outputs_info=start)
    assert out.dtype == expected
    np.testing.assert_array_equal(interpret(out, {x: np.ones(3, dtype)}), np.asarray(start + np.arange(1, 4)))


def test_bare_number_reaches_a_fixpoint() -> None:
    out, _ = scan(lambda h: np.tanh(h) + 1, outputs_info=0, n_steps=2)
    assert out.dtype == "float64"
    (a, b), _ = scan(lambda a, b: (b, a / 2), outputs_info=[0, 0], n_steps=3)
    assert (a.dtype, b.dtype) == ("float64", "float64")
    counter, _ = scan(lambda i: i + 1, outputs_info=0, n_steps=300)
    assert counter.dtype == "int64"
    assert interpret(counter)[-1] == 300


def test_static_lengths_survive_only_where_both_have_them() -> None:
    x, fixed = T.matrix("x", "float64"), T.vector("h0", "float64", shape=(3,))
    out, _ = scan(lambda x, h: h + x, x, outputs_info=fixed)
    state = node_of(out).sit_sots[0]
    assert state.input_state.type.shape == (3,) or state.input_state.type.shape == (None,)
    relaxed, _ = scan(lambda x, h: x + 0 * h.sum(), x, outputs_info=fixed)
    assert node_of(relaxed).sit_sots[0].input_state.type.shape == (None,)
    kept, _ = scan(lambda h: h * 2, outputs_info=fixed, n_steps=2)
    assert kept.type.shape == (2, 3)


# Relatives


def test_map_reduce_and_folds() -> None:
    x = T.vector("x", "float64")
    xv = np.array([1.0, 2.0, 3.0])
    out, _ = scan_map(lambda x, c: x * c, x, 2)
    np.testing.assert_array_equal(interpret(out, {x: xv}), 2 * xv)
    back, _ = scan_map(lambda x: x, x, go_backwards=True)
    np.testing.assert_array_equal(interpret(back, {x: xv}), xv[::-1])
    steps = [(reduce, xv), (foldl, xv), (foldr, xv[::-1])]
    for f, order in steps:
        out, updates = f(lambda x, s: s * 10 + x, x, outputs_info=0.0)
        assert not updates
        assert interpret(out, {x: xv}) == functools.reduce(lambda s, v: s * 10 + v, order, 0.0)
    (total, largest), _ = reduce(lambda x, s, m: [s + x, T.maximum(m, x)], x, [0.0, -np.inf])
    assert interpret([total, largest], {x: xv}) == [6.0, 3.0]


def test_reduce_of_nothing_raises() -> None:
    x = T.vector("x", "float64")
    total, _ = reduce(lambda x, s: s + x, x, outputs_info=0.0)
    with pytest.raises(IndexError):
        interpret(total, {x: []})


def test_cumulative_sums() -> None:
    x = T.matrix("x", "float64")
    out, _ = scan(lambda x, s: s + x, x, outputs_info=T.zeros_like(x[0]))
    xv = RNG.normal(size=(5, 3))
    np.testing.assert_array_equal(interpret(out, {x: xv}), np.cumsum(xv, axis=0))


def test_taps_as_numpy_arrays_and_generators() -> None:
    x0, x = T.vector("x0", "int64"), T.vector("x", "int64")
    out, _ = scan(
        lambda x, y, a, b: a + b + x - y,
        dict(input=x, taps=np.array([1, 0])),
        dict(initial=x0, taps=(k for k in (-2, -1))),
    )
    np.testing.assert_array_equal(interpret(out, {x0: [0, 1], x: [5, 5, 5]}), [1, 2])


def test_updates_are_checked() -> None:
    updates, w = Updates(), shared(1.0, "w")
    updates[w] = w + 1
    assert dict(updates + Updates()) == dict(updates) == dict(Updates() + updates)
    with pytest.raises(TypeError, match="'x'"):
        updates[T.scalar("x")] = w
    with pytest.raises(KeyError, match="'w'"):
        updates + {w: w + 2}
