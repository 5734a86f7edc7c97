"""Sums of products over the steps of a loop are one product: as users write them, and in gradients by weights."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.numerics.contractions import contraction
from scanopt.program.ir import Compute

RNG = np.random.default_rng(7)
STEPS = (0, 1, 2, 9)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def agrees(f: Any, *values: Any) -> None:
    """The optimized program gives what the graph says, an error where that gives one."""
    try:
        expected = f.unoptimized(*values)
    except Exception as error:
        with pytest.raises(type(error)):
            f(*values)
        return
    found = f(*values)
    pairs = zip(*((x if isinstance(x, list) else [x]) for x in (found, expected)), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def ops(f: Any) -> list[str]:
    return [s.op.name for s in f.program.walk() if isinstance(s, Compute)]


A, B, C = T.dtensor3("A"), T.dtensor3("B"), T.dtensor3("C")
X, Y, W = T.dmatrices("X", "Y", "W")
x, p, a = T.dvector("x"), T.lvector("p"), T.dscalar("a")

Step = Callable[..., Any]
SUMS: dict[str, tuple[Sequence[Any], Any, Step, Callable[[int], Sequence[Any]]]] = {
    "outer products": ([X, Y], W, T.outer, lambda n: (normal(n, 3), normal(n, 4), normal(3, 4))),
    "numbers": ([X, Y], a, T.dot, lambda n: (normal(n, 3), normal(n, 3), 0.5)),
    "matrix times vector": ([A, X], x, T.dot, lambda n: (normal(n, 4, 3), normal(n, 3), normal(4))),
    "vector times matrix": ([X, A], x, T.dot, lambda n: (normal(n, 4), normal(n, 4, 3), normal(3))),
    "matrices": ([A, B], W, lambda u, v: T.dot(u.T, v), lambda n: (normal(n, 5, 3), normal(n, 5, 4), normal(3, 4))),
    "weighted rows": ([x, Y], T.dvector("s"), lambda v, w: v * w, lambda n: (normal(n), normal(n, 4), normal(4))),
    "rows with weights": ([Y, x], T.dvector("s"), lambda w, v: w * v, lambda n: (normal(n, 4), normal(n), normal(4))),
    "stacks": ([A, B], W, lambda u, v: T.tensordot(u, v, [[0], [0]]),
               lambda n: (normal(n, 5, 3), normal(n, 5, 4), normal(3, 4))),
    "sums and transposes": ([X, Y], W, lambda v, w: T.outer(T.tanh(v), w) - T.outer(w, v).T,
                            lambda n: (normal(n, 3), normal(n, 4), normal(3, 4))),
    "a sum over the batch": ([A, B], x, lambda u, v: T.dot(u.T, v).sum(axis=0),
                             lambda n: (normal(n, 5, 3), normal(n, 5, 4), normal(4))),
}  # fmt: skip


@pytest.mark.share(5)
@pytest.mark.usefixtures("priced_as_array_steps")
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("back", [False, True])
def test_last_of_a_sum_is_one_product(name: str, back: bool) -> None:
    sequences, start, part, values = SUMS[name]
    count = len(sequences)
    trace, _ = scanopt.scan(lambda *v: v[count] + part(*v[:count]), sequences, [start], go_backwards=back)
    f = scanopt.function([*sequences, start], trace[-1])
    assert not f.program.loops()
    assert "tensordot" in ops(f)
    for n in STEPS:
        agrees(f, *values(n))


def test_sum_of_a_trace_of_products_is_one_product() -> None:
    made, _ = scanopt.map(lambda u, v: T.dot(u.T, v), [A, B])
    f = scanopt.function([A, B], made.sum(axis=0))
    assert not f.program.loops()
    assert ops(f).count("tensordot") == 1
    for n in STEPS:
        agrees(f, normal(n, 5, 3), normal(n, 5, 4))


def test_all_values_of_a_sum_stay_a_loop_or_a_cumulative_sum() -> None:
    trace, _ = scanopt.scan(lambda v, w, s: s + T.outer(v, w), [X, Y], [W])
    f = scanopt.function([X, Y, W], [trace, trace[-1]])
    assert "tensordot" not in ops(f)
    for n in STEPS:
        agrees(f, normal(n, 3), normal(n, 4), normal(3, 4))


def test_a_state_that_the_rows_do_not_fit() -> None:
    trace, _ = scanopt.scan(lambda v, w, s: s + T.outer(v, w), [X, Y], [W])
    f = scanopt.function([X, Y, W], trace[-1])
    assert not f.program.loops()
    for start in (normal(1, 4), normal(1, 1)):
        agrees(f, normal(2, 3), normal(2, 4), start)


def test_contracted_lengths_that_differ() -> None:
    def step(v: Any, w: Any, i: Any, s: Any) -> Any:
        return s + T.dot(v[:i], w[:i])

    trace, _ = scanopt.scan(step, [X, Y, p], [a])
    f = scanopt.function([X, Y, p, a], trace[-1])
    agrees(f, normal(3, 4), normal(3, 4), [1, 4, 2], 0.0)


def test_wider_states_keep_their_precision() -> None:
    u, v = T.fmatrices("u", "v")
    trace, _ = scanopt.scan(lambda r, s, t: t + T.dot(r, s), [u, v], [a])
    f = scanopt.function([u, v, a], trace[-1])
    rows = np.ones((3, 1), "float32"), np.array([[1e8], [1.0], [-1e8]], "float32")
    assert f(*rows, 0.0) == f.unoptimized(*rows, 0.0) == 1.0


def test_loops_that_end_early_add_up_what_they_ran() -> None:
    def step(v: Any, w: Any, s: Any, t: Any) -> Any:
        return [s + T.outer(v, w), T.tanh(t + v.sum())], scanopt.until(t > 0.5)

    (trace, _), _ = scanopt.scan(step, [X, Y], [W, a])
    f = scanopt.function([X, Y, W, a], trace[-1])
    assert [s.type.ndim for loop in f.program.loops() for s in loop.states] == [0]
    assert "tensordot" in ops(f)
    for n in STEPS:
        agrees(f, normal(n, 3), normal(n, 4), normal(3, 4), 0.1)
        agrees(f, np.ones((n, 3)), normal(n, 4), normal(3, 4), 0.9)


# ---- rows added at many places ----


@pytest.mark.parametrize("many", [False, True])
def test_rows_added_at_many_places(many: bool) -> None:
    index = T.lmatrix("i") if many else T.lvector("i")
    rows: Any = A if many else X
    part: Step = lambda v, i, s: s + T.inc_subtensor(T.zeros_like(W)[i], v)  # noqa: E731
    trace, _ = scanopt.scan(part, [rows, index], [W])
    f = scanopt.function([rows, index, W], trace[-1])
    assert not f.program.loops()
    assert ops(f).count("setitem") == 1
    for n in STEPS:
        shape = (n, 3) if many else (n,)
        agrees(f, normal(*shape, 4), RNG.integers(-2, 2, shape), normal(2, 4))
    agrees(f, normal(*shape, 4), np.full(shape, 2), normal(2, 4))


def test_gradient_of_a_lookup_adds_all_rows_at_once() -> None:
    table, words = T.dmatrix("table"), T.lmatrix("words")
    start = T.zeros((words.shape[1], table.shape[1]), dtype="float64")
    states, _ = scanopt.scan(lambda i, h, t: T.tanh(t[i] + h), words, [start], [table])
    f = scanopt.function([words, table], scanopt.grad((states**2).sum(), table))
    inside = [s.op.name for loop in f.program.loops() for s in loop.body if isinstance(s, Compute)]
    assert "setitem" not in inside
    assert ops(f).count("setitem") == 1
    for n in STEPS[1:]:
        agrees(f, RNG.integers(0, 5, (n, 3)), normal(5, 4))


# ---- gradients ----


def recurrent(kind: str) -> tuple[list[Any], Any, list[Any]]:
    """Weights, cost and values of a network; no array that is no weight has the shape of one."""
    h, c = T.dmatrix("h"), T.dmatrix("c")
    names = [f"{k}_{g}" for k in "WU" for g in ("ifog" if kind == "lstm" else "h")]
    weights = [T.dmatrix(n) for n in names]

    def rnn(v: Any, h: Any, u: Any, w: Any) -> Any:
        return T.tanh(T.dot(v, u) + T.dot(h, w))

    def lstm(v: Any, h: Any, c: Any, *w: Any) -> Any:
        i, f, o, g = (T.dot(v, w[k]) + T.dot(h, w[k + 4]) for k in range(4))
        c = T.nnet.sigmoid(f) * c + T.nnet.sigmoid(i) * T.tanh(g)
        return [T.nnet.sigmoid(o) * T.tanh(c), c]

    states, _ = scanopt.scan(rnn, A, [h], weights) if kind == "rnn" else scanopt.scan(lstm, A, [h, c], weights)
    cost = ((states if kind == "rnn" else states[0]) ** 2).sum()
    sizes = [(3, 6) if n[0] == "W" else (6, 6) for n in names]
    starts = [h] if kind == "rnn" else [h, c]
    return [A, *starts, *weights], cost, [*(normal(2, 6) for _ in starts), *(normal(*s) for s in sizes)]


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_gradients_of_recurrent_networks_add_up_nothing_in_their_loops(kind: str) -> None:
    inputs, cost, rest = recurrent(kind)
    weights = [v for v in inputs if v.name[1:2] == "_"]
    values = [normal(50, 2, 3), *rest]
    f = scanopt.function(inputs, scanopt.grad(cost, weights), example=values)
    states = [s for loop in f.program.loops() for s in loop.states]
    assert len(states) == (2 if kind == "rnn" else 4)  # what the network carries, and what its gradient carries
    assert [s.label for s in states if s.label.startswith("d")] == []
    text = str(f.program)
    assert text.count("one step ago") == len(states)
    assert text.count("axes=((0, 2), (0, 1))") == len(weights)
    for n in STEPS:
        agrees(f, normal(n, 2, 3), *rest)


# ---- the product itself ----


def test_contractions_are_those_of_numpy() -> None:
    for shapes, axes in (
        (((3, 40, 50), (3, 50, 60)), ((0, 2), (0, 1))), (((30, 40, 5), (40, 5, 7)), ((1, 2), (0, 1))),
        (((30, 40, 5), (5, 40, 70)), ((1, 2), (1, 0))), (((200, 60), (60, 5)), ((1,), (0,))),
        (((0, 200), (0, 90)), ((0,), (0,))), (((150, 200), (200, 150)), ((0, 1), (1, 0))), (((200,), (90,)), ((), ())),
    ):  # fmt: skip
        u, v = (normal(*s) for s in shapes)
        for left in (u, u[::-1], np.asfortranarray(u), np.broadcast_to(u[:1], u.shape) if u.size else u):
            found = contraction(np, axes)(left, v)
            expected = np.tensordot(left, v, axes)
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("dtype", ["bool", "int16"])
def test_what_is_taken_out_keeps_its_dtype(dtype: str) -> None:
    """A sum of integers is of a wider dtype: what is taken out of a sum of products of floats keeps theirs."""
    x, s0, b = T.tensor(dtype, (None,), "x"), T.fscalar("s0"), T.fscalar("b")
    s, _ = scanopt.scan(lambda v, s, b: s + v * b, x, s0, b)
    f = scanopt.function([x, s0, b], s[-1], fp="fast")
    arrays = np.array([1, 0, 1], dtype), np.float32(2), np.float32(3)
    assert (f(*arrays), f(*arrays).dtype) == (f.unoptimized(*arrays), "float32")


def test_gradient_of_a_weight_ends_in_the_product() -> None:
    X, w, h0 = T.dmatrix("X"), T.dvector("w"), T.dscalar("h0")
    h, _ = scanopt.scan(lambda x, h, w: T.tanh(T.dot(x, w) + h), X, h0, w)
    f = scanopt.function([X, w, h0], scanopt.grad(h[-1], w))
    assert not {"fold", "sum"} & {*ops(f)}
    assert {"dot", "tensordot"} & {*ops(f)[-2:]}
    agrees(f, normal(5, 3), normal(3), 0.5)
