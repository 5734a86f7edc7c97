"""Rows of the integer program hold for every choice in order that holds nothing needless, so they cut off none."""

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from test_extraction import EACH, causal, problem_of

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


@EACH
def test_no_choice_is_cut_off(name: str) -> None:
    problem = problem_of(name)
    variables = variables_of(problem)
    rows = list(exclusive_rows(problem, variables))
    seen = 0
    for choice in some_choices(problem):
        seen += 1
        x = {n: float(choice.get(i) is o)
             for i, ns in variables.of.items() for n, o in zip(ns, problem.options[i], strict=True)}  # fmt: skip
        assert all(any(i in choice for i in g) for g in variables.always)
        assert all(value(row, x) >= 0 for row in rows)
    assert seen


def value(row: Mapping[int, float], x: Mapping[int, float]) -> float:
    return sum(a * x[n] for n, a in row.items())


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
