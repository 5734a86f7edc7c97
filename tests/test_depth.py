"""Deep programs: loops in loops, choices in choices, long chains.  Each ends soon, on all ways."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import ifelse, scan

Program = tuple[list[Any], Any, list[Any]]
DEEPEST = 60
"""Blocks in blocks: Python takes fewer than 100."""

START = np.array([0.3, 0.4])


def nested(depth: int, n_steps: Any, around: Callable[[Any, Any, int], Any]) -> Callable[[Any], Any]:
    """The step of loops in loops.  around: what becomes of the loop of a level and of the state there."""

    def step(s: Any) -> Any:
        if not depth:
            return T.tanh(s) * 0.5
        last = scan(nested(depth - 1, n_steps, around), None, [s], n_steps=n_steps)[0][-1]
        return around(last, s, depth)

    return step


def choices(depth: int) -> Program:
    x = T.dscalar("x")
    chosen = x * 0.0
    for i in range(depth):
        chosen = ifelse(x > float(i), chosen + 1.0, chosen * 0.5 - x)
    return [x], chosen, [depth / 2]


def sides(depth: int) -> Program:
    x = T.dscalar("x")
    chosen = x
    for i in range(depth):
        chosen = ifelse(x > float(i), T.tanh(x) * float(i + 1), chosen)
    return [x], chosen, [2.5]


def loops_of_one_step(depth: int) -> Program:
    x = T.dvector("x")
    return [x], nested(depth, 1, lambda last, s, level: last)(x), [START]


def loops_of_any_steps(depth: int) -> Program:
    x, n = T.dvector("x"), T.lscalar("n")
    return [x, n], nested(depth, n, lambda last, s, level: last)(x), [START, 1]


def loops_in_choices(depth: int) -> Program:
    x, n = T.dvector("x"), T.lscalar("n")
    chosen = nested(depth, n, lambda last, s, level: ifelse(s.sum() > 0.01 * level, last, s))
    return [x, n], chosen(x), [START, 1]


def chain(depth: int) -> Program:
    x = T.dvector("x")
    result = x
    for i in range(depth):
        result = T.tanh(result) + float(i)
    return [x], result, [START]


def step_of_many_operators(depth: int) -> Program:
    x = T.dvector("x")

    def step(v: Any, s: Any) -> Any:
        for i in range(depth):
            s = T.tanh(s) + v * float(i)
        return s

    return [x], scan(step, x, np.float64(0))[0], [START]


def loops_after_loops(depth: int) -> Program:
    x = T.dvector("x")
    result = x
    for _ in range(depth):
        result = scan(lambda v, s: T.tanh(s) + v, result, np.float64(0))[0]
    return [x], result, [START]


PROGRAMS = {
    choices: 300, sides: 110, loops_of_one_step: 36, loops_of_any_steps: 22, loops_in_choices: 22, chain: 300,
    step_of_many_operators: 200, loops_after_loops: 16,
}  # fmt: skip


@pytest.mark.share(4)
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda f: f.__name__)
def test_deep_programs_run_on_all_ways(make: Callable[[int], Program], tmp_path: Any) -> None:
    inputs, result, values = make(PROGRAMS[make])
    f = scanopt.function(inputs, result)
    expected = scanopt.interpret(result, dict(zip(inputs, values, strict=True)))
    f.save(tmp_path / "f.json")
    for run in (f, f.as_written, f.unoptimized, scanopt.load(tmp_path / "f.json")):
        np.testing.assert_allclose(run(*values), expected, rtol=1e-9)
    assert max(len(line) - len(line.lstrip()) for line in f.source.splitlines()) < 4 * DEEPEST
