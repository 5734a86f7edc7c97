"""scan_checkpoints: the values and gradients of scan, in less memory; the documented limits are errors."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.gradient import grad

X, h, w = T.dmatrix("X"), T.dvector("h"), T.dvector("w")


def step(x: Any, s: Any, v: Any) -> Any:
    return T.tanh(s * v + x)


def data(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [rng.normal(size=(n, 3)), rng.normal(size=3), rng.normal(size=3)]


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
    for budget, rows in ((None, 10), (24 * 1000.0, 100), (24 * 30.0, 25), (1.0, 10)):
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


def test_peak_memory_of_the_gradient() -> None:
    def peak(trace: Any) -> int:
        rng = np.random.default_rng(0)
        args = [np.zeros((900, 2000)), rng.normal(size=2000), rng.normal(size=2000)]
        f = scanopt.function([X, h, w], grad((trace[-1] ** 2).sum(), w), example=args)
        f(*args)
        tracemalloc.start()
        f(*args)
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    few = peak(scanopt.scan_checkpoints(step, X, [h], [w], save_every_N=30, padding=False)[0])
    assert peak(scanopt.scan(step, X, [h], [w])[0]) > 5 * few
