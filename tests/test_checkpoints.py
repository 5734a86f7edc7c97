"""scan_checkpoints: the values and gradients of scan, in less memory; the documented limits are errors."""

import warnings
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation
from scanopt.calculus.terms import Value, ops
from scanopt.compilation.measuring import peak_bytes
from scanopt.facts.values import scalar
from scanopt.gradient import grad
from scanopt.loops.checkpoint_memory import peak_of as peak_of_loop
from scanopt.loops.node import Scan

X, h, w = T.dmatrix("X"), T.dvector("h"), T.dvector("w")


def step(x: Any, s: Any, v: Any) -> Any:
    return T.tanh(s * v + x)


def data(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [rng.normal(size=(n, 3)), rng.normal(size=3), rng.normal(size=3)]


@pytest.mark.share(6)
@pytest.mark.parametrize("n", [1, 5, 10, 12, 23])
@pytest.mark.parametrize("every", [1, 4, 10])
def test_values_and_gradients_of_scan(n: int, every: int) -> None:
    whole, _ = scanopt.scan(step, X, [h], [w])
    kept, _ = scanopt.scan_checkpoints(step, X, [h], [w], save_every_N=every)
    rows = [*range(every - 1, n, every)]
    rows += [] if rows and rows[-1] == n - 1 else [n - 1]
    values = dict(zip([X, h, w], data(n), strict=True))
    expected = scanopt.interpret(whole, values)[rows]
    assert scanopt.interpret(kept, values).tolist() == expected.tolist()
    costs = [(t[-1] ** 2).sum() for t in (whole, kept)]
    a, b = (scanopt.function([X, h, w], [c, *grad(c, [X, h, w])])(*data(n)) for c in costs)
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_without_sequences_and_without_non_sequences() -> None:
    powers, _ = scanopt.scan_checkpoints(lambda s: s * 2, None, [1.0], n_steps=10, save_every_N=4)
    assert scanopt.interpret(powers).tolist() == [16, 256, 1024]
    n, a = T.iscalar("n"), T.dscalar("a")
    powers, _ = scanopt.scan_checkpoints(lambda s, a: s * a, None, [1.0], [a], n_steps=n)
    assert scanopt.function([n, a], powers)(12, 2.0).tolist() == [1024, 4096]


def test_several_outputs_maps_and_updates() -> None:
    count = scanopt.shared(np.int64(0), "count")

    def both(x: Any, s: Any) -> Any:
        return [s + x, x * 2], {count: count + 1}

    (sums, doubles), updates = scanopt.scan_checkpoints(both, X, [h, None], save_every_N=4)
    f = scanopt.function([X, h], [sums, doubles], updates=updates)
    x, start, _ = data(6)
    a, b = f(x, start)
    np.testing.assert_allclose(a, [start + x[:4].sum(0), start + x.sum(0)])
    np.testing.assert_allclose(b, x[[3, 5]] * 2)
    assert count.get_value() == 6


def test_lists_of_the_caller_stay() -> None:
    sequences, infos, held = [X], [h], [w]
    scanopt.scan_checkpoints(step, sequences, infos, held)
    assert (sequences, infos, held) == ([X], [h], [w])


def test_without_padding() -> None:
    f = scanopt.function([X, h, w], scanopt.scan_checkpoints(step, X, [h], [w], save_every_N=4, padding=False)[0])
    assert len(f(*data(8))) == 2
    with pytest.raises(ValueError, match=r"save_every_N divides: 1 steps are left over.*test_checkpoints.py"):
        f(*data(9))


def test_automatic_choice() -> None:
    whole, _ = scanopt.scan(step, X, [h], [w])
    for budget, rows in ((None, 25), (1e6, 100), (6000.0, 50), (1.0, 25)):
        kept, _ = scanopt.scan_checkpoints(step, X, [h], [w], checkpoint="auto", memory_budget=budget)
        out = scanopt.function([X, h, w], [kept, whole])(*data(100))
        assert len(out[0]) == rows
        assert out[0][-1].tolist() == out[1][-1].tolist()


WRONG: list[tuple[str, type[Exception], dict[str, Any]]] = [
    (r"outputs_info\[0\] \('X'\) has taps \[-2, -1\].*only the step before", ValueError,
     {"outputs_info": [dict(initial=X, taps=[-2, -1])]}),
    (r"sequences\[0\] \('X'\) has taps", ValueError, {"sequences": [dict(input=X, taps=[0, 1])]}),
    ("unknown key 'tap'", ValueError, {"sequences": [dict(input=X, tap=[0, 1])]}),
    ("number of steps is not known", ValueError, {"sequences": None}),
    ("at least 1, found 0", ValueError, {"save_every_N": 0}),
    ("checkpoint is \"auto\"", ValueError, {"checkpoint": "all"}),
    ('save_every_N=3 is given, but checkpoint="auto"', ValueError, {"checkpoint": "auto", "save_every_N": 3}),
    ("memory_budget is for", ValueError, {"memory_budget": 10}),
    ("positive number of bytes", ValueError, {"checkpoint": "auto", "memory_budget": -1}),
    ("must be a function", TypeError, {"fn": 3}),
    (r"until\(\.\.\.\)", ValueError, {"fn": lambda x, s, v: (s, scanopt.until(s.sum() > 1))}),
    (r"sequences\[1\].*has 4 rows, but the first sequence has 3", ValueError,
     {"sequences": [T.dmatrix("A", shape=(3, 3)), T.dmatrix("B", shape=(4, 3))]}),
    ("padding=False needs", ValueError, {"sequences": T.dmatrix("A", shape=(7, 3)), "padding": False}),
    ("padding must be True or False", TypeError, {"padding": "no"}),
    ("n_steps is -3, but it must not be negative", ValueError, {"sequences": None, "n_steps": -3}),
    ("positive number of bytes, found nan", ValueError, {"checkpoint": "auto", "memory_budget": float("nan")}),
    (r"sequences\[0\] \('h'\) is float64\[\].*no axis", TypeError, {"sequences": T.dscalar("h")}),
    (r"sequences\[0\] is 1.0", TypeError, {"sequences": [1.0, 2.0]}),
    ("without the key 'input'", ValueError, {"sequences": [{}]}),
    (r"takes \(p\) but scan_checkpoints passes \(X\[t\], h\[t-1\], w\)", TypeError, {"fn": lambda p: p}),
    (r"outputs_info\[0\] \('h'\) starts as float32.*write h.astype", ValueError,
     {"outputs_info": [T.fvector("h")], "non_sequences": [w]}),
    (r"'A' float64\[7, 3\]\) has 7 rows, but n_steps is 3", ValueError,
     {"sequences": T.dmatrix("A", shape=(7, 3)), "n_steps": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "change"), WRONG, ids=[text[:25] for text, _, _ in WRONG])
def test_limits(text: str, kind: type[Exception], change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"fn": step, "sequences": X, "outputs_info": [h], "non_sequences": [w]}
    with pytest.raises(kind, match=text):
        scanopt.scan_checkpoints(**{**given, **change})


def test_lengths_differ_when_it_runs() -> None:
    Y = T.dmatrix("Y")
    kept, _ = scanopt.scan_checkpoints(lambda x, y, s: s + x * y, [X, Y], [h])
    f = scanopt.function([X, Y, h], kept)
    with pytest.raises(ValueError, match=r"sequences\[1\] \('Y'.*has 3 rows, but the first sequence has 5"):
        f(data(5)[0], data(3)[0], data(3)[1])


def test_no_law_drops_what_is_said_of_lengths() -> None:
    @scanopt.law(licence="exact", example=lambda a: T.zeros_like(a), never=lambda x: T.zeros_like(x))
    def number_like_a_number(a: Value, e: Value) -> Equation:
        """What is like a number, and is e, is e."""
        return Equation(ops.full_like(a, e), e, when=[scalar(a)])

    Y = T.dmatrix("Y")
    kept, _ = scanopt.scan_checkpoints(lambda x, y, s: s + x * y, [X, Y], [h])
    f = scanopt.function([X, Y, h], kept.shape[1], rules=[number_like_a_number])
    assert f(data(5)[0], data(5)[0], data(5)[1]) == data(5)[1].size
    for run in (f, f.unoptimized):
        with pytest.raises(ValueError, match="has 3 rows, but the first sequence has 5"):
            run(data(5)[0], data(3)[0], data(3)[1])


def test_numbers_of_steps_that_only_the_run_shows() -> None:
    n, every = T.lscalars("n", "every")
    powers, _ = scanopt.scan_checkpoints(lambda s: s * 2, None, [1.0], n_steps=n, save_every_N=every)
    f = scanopt.function([n, every], powers)
    assert f(7, 3).tolist() == [8, 64, 128]
    assert f(0, 3).shape == (0,)
    with pytest.raises(ValueError, match=r"save_every_N must be at least 1, found 0.*test_checkpoints.py"):
        f(7, 0)
    with pytest.raises(ValueError, match=r"n_steps \('n'\) is -7, but it must not be negative.*test_checkpoints.py"):
        f(-7, 3)


def test_taps_that_are_none() -> None:
    kept, _ = scanopt.scan_checkpoints(
        step, dict(input=X, taps=[0]), dict(initial=h, taps=[-1]), w, save_every_N=np.int64(50)
    )
    values = dict(zip([X, h, w], data(3), strict=True))
    plain, _ = scanopt.scan_checkpoints(step, X, h, w)
    assert scanopt.interpret(kept, values).tolist() == scanopt.interpret(plain, values).tolist()


def test_more_steps_between_states_than_there_are() -> None:
    """Sequences are not filled up to a length that they need not have."""
    A = T.dmatrix("A", shape=(7, 3))
    kept, _ = scanopt.scan_checkpoints(step, A, h, w, save_every_N=10**12)
    assert scanopt.function([A, h, w], kept)(*data(7)).shape == (1, 3)


def peak_of(f: Any, args: list[Any]) -> int:
    return peak_bytes(lambda: f(*args))


@pytest.mark.share(2)
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_peak_memory_of_the_gradient(backend: str) -> None:
    def peak(trace: Any) -> int:
        rng = np.random.default_rng(0)
        args = [np.zeros((900, 2000)), rng.normal(size=2000), rng.normal(size=2000)]
        f = scanopt.function([X, h, w], grad((trace[-1] ** 2).sum(), w), example=args, backend=backend)
        return peak_of(f, args)

    few = peak(scanopt.scan_checkpoints(step, X, [h], [w], save_every_N=30, padding=False)[0])
    assert peak(scanopt.scan(step, X, [h], [w])[0]) > 10 * few


@pytest.mark.share(4)
@pytest.mark.parametrize("wrt", [h, w], ids=str)
@pytest.mark.parametrize("symbolic", [False, True])
def test_laws_do_not_undo_what_checkpoints_save(symbolic: bool, wrt: Any) -> None:
    """Elementwise steps without sequences: all chunks could run side by side, and all rows be kept for one sum."""
    n = T.lscalar("n")
    args = [np.ones(1000), np.ones(1000), 400]

    def peak(every: int | None) -> float:
        steps = n if symbolic else 400
        if every is None:
            trace = scanopt.scan(lambda s, v: s * v, None, [h], [w], n_steps=steps)[0]
        else:
            trace = scanopt.scan_checkpoints(lambda s, v: s * v, None, [h], [w], n_steps=steps, save_every_N=every)[0]
        f = scanopt.function([h, w, n], grad(trace[-1].sum(), wrt), on_unused_input="ignore", backend="numpy")
        return peak_of(f, args) / 8000

    states = {every: peak(every) for every in (None, 4, 20)}
    if wrt is w:
        assert states[None] > 5 * states[4] > 6 * states[20]
    assert max(states[4], states[20]) < 250


def pair(x: Any, s: Any, c: Any, v: Any) -> Any:
    new = T.sigmoid(s * v + x) * c + T.sigmoid(s * 0.5 - x) * T.tanh(2 * s * v)
    return [T.sigmoid(s + x) * T.tanh(new), new]


def long(x: Any, s: Any, v: Any) -> Any:
    for _ in range(4):
        s = T.tanh(s * v + x) * T.cos(s)
    return s


def matrix(x: Any, s: Any, v: Any) -> Any:
    return T.tanh(s @ v + x)


W, u, c = T.dmatrix("W"), T.dvector("u"), T.dvector("c")
PROGRAMS: dict[str, tuple[Any, list[Any], Any, tuple[int, ...]]] = {
    "one tanh": (step, [h], w, (5000,)),
    "two states": (pair, [h, c], w, (5000,)),
    "many values": (long, [h], w, (5000,)),
    "powers": (lambda x, s, v: (s + 1.0) ** v + x, [h], w, (5000,)),
    "a product": (lambda x, s, v: s * v + T.prod(s) + x, [h], w, (5000,)),
    "a matrix": (matrix, [h], W, (100, 100)),
}


@pytest.mark.share(8)
@pytest.mark.parametrize("budget", [None, 1.0, 1.3, 3.0], ids=lambda b: f"budget {b}")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_peak_keeps_within_the_budget(name: str, budget: float | None) -> None:
    """The budget is so many times the least estimate."""
    body, init, held, shape = PROGRAMS[name]
    steps = 100
    arguments: Any = (body, u, init, [held])
    whole = scanopt.scan(*arguments)[0]
    node = (whole[0] if len(init) > 1 else whole).owner
    assert isinstance(node, Scan)
    peak = peak_of_loop(node, True)
    args = [np.full(steps, 0.01), *(np.full(shape[0], 0.5) for _ in init), np.full(shape, 0.3)]
    values = dict(zip([u, *init, held], args, strict=True))
    least = float(scanopt.interpret(peak.bytes(peak.best()), values))
    limit = None if budget is None else least * budget
    outputs, _ = scanopt.scan_checkpoints(*arguments, checkpoint="auto", memory_budget=limit)
    cost = (outputs[0] if len(init) > 1 else outputs)[-1].sum()
    f = scanopt.function([u, *init, held], grad(cost, held), on_unused_input="ignore")
    assert peak_of(f, args) <= (limit or least)


def test_a_budget_that_cannot_be_kept() -> None:
    A, b, v = T.dmatrix("A", shape=(100, 3)), T.dvector("b", shape=(3,)), T.dvector("v", shape=(3,))
    text = r"within memory_budget=7 bytes: the least estimate is 5280, of save_every_N=4, which is taken \("
    with pytest.warns(UserWarning, match=text + "scan_checkpoints at .*test_checkpoints.py"):
        kept, _ = scanopt.scan_checkpoints(step, A, [b], [v], checkpoint="auto", memory_budget=7)
    assert kept.type.shape == (25, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scanopt.scan_checkpoints(step, A, [b], [v], checkpoint="auto", memory_budget=5300)


def test_loops_inside_are_counted() -> None:
    def inside(count: int) -> float:
        def body(s: Any, a: Any) -> Any:
            return scanopt.scan(lambda r, a: T.sin(r * a), None, [s], [a], n_steps=count)[0][-1]

        node = scanopt.scan(body, None, [h], [w], n_steps=10)[0].owner
        assert isinstance(node, Scan)
        return float(scanopt.interpret(peak_of_loop(node, True).step, {h: np.zeros(9), w: np.zeros(9)}))

    assert inside(7) - inside(5) == inside(5) - inside(3) > 0


def test_automatic_choice_without_steps_and_with_other_states() -> None:
    n = T.lscalar("n")
    kept, _ = scanopt.scan_checkpoints(lambda s: s * 2, None, [1.0], n_steps=n, checkpoint="auto")
    f = scanopt.function([n], kept)
    assert f(0).shape == (0,)
    assert f(9)[-1] == 512
    count = scanopt.shared(np.int64(0), "count")
    kept, updates = scanopt.scan_checkpoints(
        lambda x: (x * 2, {count: count + 1}), X, None, checkpoint="auto", padding=False
    )
    scanopt.function([X], kept, updates=updates)(np.ones((6, 3)))
    assert count.get_value() == 6


def test_an_error_of_the_step_names_the_loop_once() -> None:
    def wrong(x: Any, s: Any) -> Any:
        raise KeyError("mine")

    for more in ({}, {"checkpoint": "auto"}):
        with pytest.raises(KeyError) as caught:
            scanopt.scan_checkpoints(wrong, X, [h], **more)
        assert len(caught.value.__notes__) == 1
