"""Memory is part of the cost: what a program holds is predicted, priced, and kept within a budget."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.compilation.measuring import peak_bytes
from scanopt.extraction import memory_budget as budgets
from scanopt.extraction.cost import Work, cost_of_holding, numpy_cost
from scanopt.gradient import grad
from scanopt.memory import as_bytes

pytestmark = pytest.mark.usefixtures(
    "priced_as_array_steps"
)  # what array steps hold, and how budgets choose among them

X, Y, W = T.dmatrices("X", "Y", "W")
h, w = T.dvectors("h", "w")
n = T.lscalar("n")


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def traced(f: Any, args: list[Any]) -> int:
    for _ in range(3):  # in one of which a kernel may be made
        f(*args)
    return peak_bytes(lambda: f(*args))


def check(f: Any, args: list[Any]) -> None:
    """Results are those of the interpreter."""
    found, expected = f(*args), f.unoptimized(*args)
    pairs = [(found, expected)] if isinstance(found, np.ndarray) else zip(found, expected, strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


# ---- programs ----


def distances(A: Any) -> Any:
    """All at once: an array of n * n * m."""
    return scanopt.map(lambda x: ((A - x) ** 2).sum(1), A)[0]


def outer_products() -> Any:
    return scanopt.scan(lambda x, y, s: s + T.tanh(T.outer(x, y)), [X, Y], [T.zeros((20, 20))])[0][-1]


def network() -> Any:
    return scanopt.scan(lambda x, s, v: T.tanh(s @ v + x), X, [h], [W])[0]


def gates() -> Any:
    return scanopt.scan(lambda x, s, v: T.tanh(s * v + x), X, [h], [w])[0]


def slope(trace: Any, wrt: Any) -> Any:
    return grad((trace[-1] ** 2).sum(), wrt)


Program = tuple[list[Any], Callable[[], Any], list[Any]]
PROGRAMS: dict[str, Program] = {
    "distances": ([X], lambda: distances(X), [numbers(150, 40)]),
    "outer products": ([X, Y], outer_products, [numbers(300, 20), numbers(300, 20)]),
    "all states": ([X, h, w], gates, [numbers(300, 1000), numbers(1000), numbers(1000)]),
    "last state": ([X, h, w], lambda: gates()[-1], [numbers(300, 1000), numbers(1000), numbers(1000)]),
    "gradient": ([X, h, w], lambda: slope(gates(), w), [numbers(300, 1000), numbers(1000), numbers(1000)]),
    "gradient of a network": ([X, h, W], lambda: slope(network(), W), [numbers(300, 99), numbers(99), numbers(99, 99)]),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_peak_is_predicted(name: str) -> None:
    inputs, outputs, args = PROGRAMS[name]
    f = scanopt.function(inputs, outputs(), example=args, backend="numpy")
    assert 0.9 * traced(f, args) < f.report.memory < 2.5 * traced(f, args) + 50_000
    assert f.report.fits
    check(f, args)


# ---- budgets ----


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("name", "budget", "loops"),
    [
        ("distances", "20MB", 0), ("distances", "1MB", 1), ("outer products", "3MB", 0), ("outer products", "1.5MB", 1),
        ("outer products", "50KB", 1), ("gradient", "9.7MB", 2), ("gradient", "8MB", 2), ("gradient", "5MB", 2),
    ],
)  # fmt: skip
def test_the_cheapest_program_within_the_budget(name: str, budget: str, loops: int) -> None:
    """All rows at once where there is room for them, else one after the other, or computed again."""
    inputs, outputs, args = PROGRAMS[name]
    free, f = (scanopt.function(inputs, outputs(), example=args, memory=b) for b in (math.inf, budget))
    allowed = as_bytes(budget)
    assert allowed is not None
    assert len(f.program.loops()) == loops
    assert f.report.fits
    assert f.report.memory <= allowed
    assert traced(f, args) <= 1.05 * allowed
    assert f.report.bound <= free.cost * (1 + 1e-9)
    assert (f.cost == free.cost) is (free.report.memory <= allowed)
    check(f, args)


def test_a_small_budget_keeps_fewer_rows_for_the_gradient() -> None:
    inputs, outputs, args = PROGRAMS["gradient"]

    def kept(budget: str) -> int:
        f = scanopt.function(inputs, outputs(), example=args, memory=budget)
        return sum(keep.rows is None for loop in f.program.loops() for keep in loop.keeps)

    assert kept("5MB") < kept("20MB")


def test_of_two_large_arrays_one_may_stay() -> None:
    """A price per byte alone would take both apart, or none."""
    args = [numbers(100, 20), numbers(80, 20)]
    found = {}
    for budget in (2e6, 1.2e6, 5e5):
        f = scanopt.function([X, Y], [distances(X), distances(Y)], example=args, memory=budget)
        assert max(f.report.memory, traced(f, args)) <= budget
        found[budget] = f.cost
        check(f, args)
    loops = len(f.program.loops())
    assert found[2e6] < found[1.2e6] < found[5e5]
    assert loops == 2


def test_where_nothing_fits_the_least_is_taken() -> None:
    inputs, outputs, args = PROGRAMS["distances"]
    with pytest.warns(UserWarning, match=r"no more than 1 KB .*least, [0-9.]+ KB, was taken; allow more by memory="):
        f = scanopt.function(inputs, outputs(), example=args, memory=1000)
    assert not f.report.fits
    assert f.report.memory < 500_000
    assert "more than 1 KB: none that was found holds less" in str(f.report)
    assert len(f.program.loops()) == 1
    check(f, args)


def test_what_the_machine_has_free(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, outputs, args = PROGRAMS["distances"]
    monkeypatch.setattr(budgets, "available", lambda: 1_000_000)
    assert scanopt.function(inputs, outputs(), example=args).report.memory > 7_000_000  # not worth a question
    monkeypatch.setattr(budgets, "NEGLIGIBLE", 1000)
    f = scanopt.function(inputs, outputs(), example=args)
    assert (f.report.fits, f.report.budget) == (True, 1_000_000)
    monkeypatch.setattr(budgets, "available", lambda: 0)
    with pytest.warns(UserWarning, match="no more than 1 byte"):
        assert not scanopt.function(inputs, outputs(), example=args).report.fits
    with scanopt.config.change_flags(memory="1GB"):
        assert scanopt.function(inputs, outputs(), example=args).report.memory > 7_000_000


def test_what_is_free_says_nothing_of_sizes_that_are_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, outputs, _ = PROGRAMS["distances"]
    monkeypatch.setattr(budgets, "available", lambda: 1)
    monkeypatch.setattr(budgets, "NEGLIGIBLE", 0)
    assert scanopt.function(inputs, outputs()).report.fits
    A = T.dmatrix("A", shape=(9, 9))
    with pytest.warns(UserWarning, match="no more than 1 byte"):
        scanopt.function([A], distances(A))


def test_an_explanation_says_what_is_held() -> None:
    inputs, outputs, args = PROGRAMS["distances"]
    f = scanopt.function(inputs, outputs(), example=args, memory="1MB")
    told = f.explain()
    assert (told.cost_after, told.memory_after) == (f.cost, f.report.memory)
    assert f.report.memory <= 1_000_000


# ---- what users write ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [(1, 1.0), ("2GB", 2e9), ("1.5 MiB", 1.5 * 2**20), ("3e3", 3000.0), ("10b", 10.0), ("inf", math.inf),
     (np.float32(8), 8.0), ("free", None), (" 1 kb ", 1000.0)],
)  # fmt: skip
def test_sizes_of_memory(text: Any, expected: float | None) -> None:
    assert as_bytes(text) == expected


@pytest.mark.parametrize("wrong", ["", "GB", "2 gigs", "1.2.3MB", "-1", "0", 0, -5, math.nan, True, [], b"1MB", 1j])
def test_what_is_no_size_is_refused(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"'2GB' or '512 MiB', or 'free', found"):
        scanopt.function([h], h, memory=wrong)
    with pytest.raises(ValueError, match=r"config\.memory"):
        scanopt.config.memory = wrong


# ---- cost models ----


def test_a_cost_model_may_price_bytes() -> None:
    class ByBytes:
        held = 1.0

        def __call__(self, work: Work) -> float:
            return numpy_cost(work)

    inputs, outputs, args = PROGRAMS["distances"]
    priced, free = (scanopt.function(inputs, outputs(), example=args, cost=c) for c in (ByBytes(), numpy_cost))
    assert len(priced.program.loops()) == 1
    assert len(free.program.loops()) == 0
    assert cost_of_holding(lambda work: 1.0, 100.0) == 0.0
    check(priced, args)


@pytest.mark.parametrize("held", [-1.0, math.nan, "much", None, True])
def test_wrong_prices_of_bytes(held: Any) -> None:
    def model(work: Work) -> float:
        return 1.0

    model.held = held  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="the price of a byte must be a finite number that is not negative"):
        scanopt.function([h], h, cost=model)


def test_a_model_without_a_price_keeps_a_budget() -> None:
    inputs, outputs, args = PROGRAMS["distances"]

    def calls(work: Work) -> float:
        return 1000.0 if work.op is not None else 0.0

    few, many = (scanopt.function(inputs, outputs(), example=args, cost=calls, memory=b) for b in ("1MB", "1GB"))
    assert few.report.memory < 1_000_000 < many.report.memory
    assert few.cost > many.cost


# ---- checkpoints ----


def peaks(program: Callable[[Any], tuple[list[Any], Any]], args: list[Any], sizes: str, every: int | None) -> int:
    """The peak of a gradient.  sizes: how the number of steps is told."""
    steps = 400 if sizes == "constant" else n
    inputs, outputs = program(lambda body, *more: _scanned(body, more, steps, every))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = scanopt.function(
            [*inputs, n], outputs, example=[*args, 400] if sizes == "example" else None, on_unused_input="ignore",
            backend="numpy",  # of whose memory tracemalloc knows
        )  # fmt: skip
    return traced(f, [*args, 400])


def _scanned(body: Any, arguments: Any, steps: Any, every: int | None) -> Any:
    if every is None:
        return scanopt.scan(body, *arguments, n_steps=steps)[0]
    return scanopt.scan_checkpoints(body, *arguments, n_steps=steps, save_every_N=every)[0]


def power(scanned: Any) -> tuple[list[Any], Any]:
    return [h, w], grad(scanned(lambda s, v: s * v, None, [h], [w])[-1].sum(), w)


def recurrent(scanned: Any) -> tuple[list[Any], Any]:
    return [h, W], grad(scanned(lambda s, v: T.tanh(s @ v), None, [h], [W])[-1].sum(), h)


@pytest.mark.share(6)
@pytest.mark.parametrize("sizes", ["constant", "symbolic", "example"])
@pytest.mark.parametrize(
    ("program", "args"), [(power, [np.ones(1000), np.ones(1000)]), (recurrent, [np.ones(100), np.eye(100)])],
    ids=["A**k", "RNN"],
)  # fmt: skip
def test_what_checkpoints_save_is_not_undone(program: Any, args: list[Any], sizes: str) -> None:
    plain, fourth, twentieth = (peaks(program, args, sizes, every) for every in (None, 4, 20))
    assert plain > 2 * max(fourth, twentieth)
    state = 8 * len(args[0])
    assert max(fourth, twentieth) < 250 * state
