"""What an explanation says is what happened: its laws fired, its programs compute the same, its costs are theirs."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from corpus.text import built
from random_programs import generate

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.calculus.law import Law, standard_laws
from scanopt.compilation.explanation import Explanation, explain
from scanopt.compilation.optimize import optimize
from scanopt.compilation.settings import Settings
from scanopt.egraph.derivation import Look, derivation
from scanopt.egraph.encode import encode
from scanopt.interpreter import interpret
from scanopt.lab.attacked_program import build, random_values
from scanopt.program.ir import Program


def told(inputs: Any, outputs: Any, fp: str = "reassoc") -> Explanation:
    laws = tuple(x for x in standard_laws() if x.licence == "exact" or fp == "reassoc" == x.licence)
    return explain(encode(inputs, outputs), laws, Settings(fp=fp))


def programs_of(story: Explanation) -> list[Program]:
    return [story.initial, *(s.program for s in story.steps), story.final]


def check_costs(story: Explanation) -> None:
    costs = [story.cost_before, *(s.cost_after for s in story.steps)]
    assert costs == sorted(costs, reverse=True)
    assert [s.cost_before for s in story.steps] == costs[:-1]
    assert len({s.law for s in story.steps}) == len(story.steps)


@pytest.mark.share(20)
@pytest.mark.parametrize("law", [x for x in standard_laws() if x.licence == "exact"], ids=lambda x: x.name)
def test_programs_on_the_way_compute_what_the_first_one_does(law: Law) -> None:
    """Bit for bit, for the laws' own examples and without laws that change the rounding."""
    inputs, outputs = build(law.example[0])
    story = told(inputs, outputs, "exact")
    check_costs(story)
    assert (story.steps[-1].cost_after if story.steps else story.cost_before) == pytest.approx(story.cost_after)
    values = random_values(inputs, 3, random.Random(0))
    want = found(lambda: interpret(list(outputs), dict(zip(inputs, values, strict=True))))
    for program in programs_of(story):
        np.testing.assert_equal(found(partial(executor("numpy").compile(program), values)), want)


def found(run: Callable[[], Any]) -> Any:
    """What a call gives, or the class of what it raises."""
    try:
        return [*run()]
    except (ArithmeticError, IndexError, ValueError) as error:
        return type(error)


@pytest.mark.share(6)
@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int) -> None:
    made = built(generate(seed))
    check_costs(told([*made.values, *made.shared], made.outputs))


def test_a_law_that_makes_no_form_is_told() -> None:
    """x * 1 is x: the form that is chosen was there before."""
    x = T.dvector("x")
    story = scanopt.function([x], T.exp(x * 1.0)).explain()
    assert [s.law for s in story.steps] == ["right_identity"]


def test_what_a_law_matched_inside_is_told_as_well() -> None:
    """A sequence is taken out of its trace only where the step's identity has gone."""
    x = T.dmatrix("x")
    trace, _ = scanopt.scan(lambda v: (v * 1.0) * 2.0, x)
    names = [s.law for s in scanopt.function([x], trace).explain().steps]
    assert {"right_identity", "stack_of_sequence"} < {*names}
    assert names.index("right_identity") <= names.index("stack_of_sequence")


def test_loops_that_became_one_are_told() -> None:
    x, y = T.dvector("x"), T.dvector("y")
    first, _ = scanopt.scan(lambda v, s: T.tanh(s + v), x, [np.float64(0)])
    second, _ = scanopt.scan(lambda v, s: T.sin(s * v), x, [np.float64(1)])
    story = scanopt.function([x], [first, second]).explain()
    assert "loops_of_equal_length" in [s.law for s in story.steps]
    assert (len(story.initial.loops()), len(story.final.loops())) == (2, 1)
    assert "no law" in str(scanopt.function([x, y], T.exp(x) + y).explain())


def test_a_program_looked_at_again_tells_what_came_before() -> None:
    """Two loops are found equal once the laws have shown that they read the same."""
    x = T.dvector("x")

    def smoothed(v: Any) -> Any:
        return scanopt.scan(lambda v, s: T.tanh(s * 0.5 + v), v, [np.float64(0)])[0]

    story = scanopt.function([x], [smoothed(x), smoothed(x[::-1][::-1])]).explain()
    assert "arranged_back" in [s.law for s in story.steps]
    assert len(story.final.loops()) == 1


def test_where_forms_come_from() -> None:
    x = T.dvector("x")
    done = optimize(encode([x], [T.exp(x * 1.0)]), standard_laws(), Settings(), noted=True)
    (look,) = done.looks
    assert isinstance(look, Look)
    kinds = {f.kind for f in look.provenance.written}
    assert kinds == {"input", "const", "apply"}
    assert {*look.provenance.made.values()} <= {"", *(x.name for x in standard_laws())}
    assert not optimize(encode([x], [T.exp(x)]), standard_laws(), Settings()).looks
    assert derivation(look, []).laws == {}
