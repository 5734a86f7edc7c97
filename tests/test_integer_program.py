"""Rows of the integer program hold for every choice in order that holds nothing needless, so they cut off none."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from test_extraction import EACH, causal, problem_of

import scanopt
import scanopt.tensor as T
from scanopt.extraction.cut_sets import CutSets
from scanopt.extraction.exclusive import exclusive_rows
from scanopt.extraction.integer_program import ProgramOfChoices
from scanopt.extraction.loop_formulas import Variables
from scanopt.extraction.milp import Solver
from scanopt.extraction.necessary import always_used, groups_of
from scanopt.extraction.ordering import Choice, reached
from scanopt.extraction.problem import Problem
from scanopt.extraction.relaxation import relaxed

MOST = 1_000


def variables_of(problem: Problem) -> Variables:
    numbers = itertools.count()
    of = {i: [next(numbers) for _ in os] for i, os in problem.options.items()}
    groups = groups_of(problem)
    return Variables(of, numbers.__next__, groups, always_used(problem, groups))


def some_choices(problem: Problem) -> Iterator[Choice]:
    """Choices in order, of all or of many at random."""
    open_ = [i for i, options in problem.options.items() if len(options) > 1]
    fixed = {i: o[0] for i, o in problem.options.items()}
    every = itertools.product(*(problem.options[i] for i in open_))
    if np.prod([len(problem.options[i]) for i in open_], dtype=float) > MOST:
        rng = np.random.default_rng(0)
        every = (tuple(problem.options[i][rng.integers(len(problem.options[i]))] for i in open_) for _ in range(MOST))
    for picked in every:
        choice = reached(fixed | dict(zip(open_, picked, strict=True)), problem.roots)
        if causal(problem, choice):
            yield choice


def x_of(choice: Choice, problem: Problem) -> list[float]:
    """A choice as a solution of the integer program."""
    return [float(choice.get(i) is o) for i, options in problem.options.items() for o in options]


@EACH
def test_no_choice_is_cut_off(name: str) -> None:
    problem = problem_of(name)
    variables = variables_of(problem)
    rows = list(exclusive_rows(problem, variables))
    seen = 0
    for choice in some_choices(problem):
        seen += 1
        x = x_of(choice, problem)
        assert all(any(i in choice for i in g) for g in variables.always)
        assert all(value(row, x) >= 0 for row in rows)
    assert seen


@pytest.mark.share(3)
@EACH
def test_rows_that_fractions_break_cut_off_no_choice(name: str) -> None:
    """Half of one choice and half of another, or a third of each of three, break rows that every choice keeps."""
    problem = problem_of(name)
    variables = variables_of(problem)
    cuts = CutSets(problem, variables.of, variables.groups)
    choices = [x_of(choice, problem) for choice in some_choices(problem)]
    rng = np.random.default_rng(0)
    for _ in range(100):
        picked = [choices[n] for n in rng.integers(len(choices), size=rng.integers(2, 4))]
        mean = [sum(x[n] for x in picked) / len(picked) for n in range(len(picked[0]))]
        assert not list(cuts.broken(mean))  # a mean of choices keeps what they keep
        x = [m * rng.uniform(0.3, 1.0) for m in mean]
        assert all(value(row, choice) >= 0 for row in cuts.broken(x) for choice in choices)


def value(row: Mapping[int, float], x: Sequence[float]) -> float:
    return sum(a * x[n] for n, a in row.items())


@pytest.mark.share(3)
@EACH
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_holds_whatever_the_solver_gives_as_prices(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no option that it rules out is in a choice of that cost."""
    import scipy.optimize

    problem = problem_of(name)
    best = Solver(problem).solve(10.0)
    assert best is not None
    model = ProgramOfChoices(problem)
    program, least = model.program(), problem.total(best.choice) / model.scale
    exact = relaxed(program, 10.0)
    assert exact is not None
    found, rng = scipy.optimize.linprog, np.random.default_rng(seed)

    def disturbed(*args: object, **more: object) -> object:
        result = found(*args, **more)
        result.ineqlin.marginals *= rng.uniform(0.5, 1.5, len(result.ineqlin.marginals))
        result.ineqlin.marginals += rng.uniform(-1e-3, 1e-3, len(result.ineqlin.marginals))
        return result

    monkeypatch.setattr(scipy.optimize, "linprog", disturbed)
    other = relaxed(program, 10.0)
    assert other is not None
    assert other.bound <= exact.bound * (1 + 1e-9)
    for solution in (exact, other):
        assert solution.bound <= least * (1 + 1e-9)
        narrow = solution.narrowed(program, least * (1 + 1e-9))
        x = np.array([float(best.choice.get(i) is o) for i, o in model.options])
        assert (narrow.least[: len(x)] <= x).all()
        assert (narrow.most[: len(x)] >= x).all()


def test_products_beside_each_other_and_sums_need_no_branching(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gates of an LSTM are one product or four, and slopes are sums in any order: rows cut off all halves."""
    X, h, c = T.matrix("X"), T.vector("h"), T.vector("c")
    weights = [T.matrix(f"W{n}") for n in range(8)]

    def step(x: Any, h: Any, c: Any, *W: Any) -> list[Any]:
        i, f, o, g = (T.dot(x, W[n]) + T.dot(h, W[n + 4]) for n in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return [T.sigmoid(o) * T.tanh(c), c]

    (hs, _), _ = scanopt.scan(step, X, [h, c], weights)
    inputs = [X, h, c, *weights]

    def branching(*args: object) -> None:
        raise AssertionError("the relaxation was no choice")

    monkeypatch.setattr("scanopt.extraction.milp._minimized", branching)
    f = scanopt.function(inputs, scanopt.grad(T.sqr(hs).sum(), inputs))
    assert f.report.optimal
    assert f.report.method == "milp"
