"""Why a law did nothing: the answer names the condition and the place; what each law did to the e-graph."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import FACTS
from scanopt.calculus.law import Equation, standard_laws
from scanopt.calculus.terms import Int, Value, ops
from scanopt.compilation.settings import Settings
from scanopt.egraph.saturation import Limits
from scanopt.facts.values import less, of_dtype, same_type
from scanopt.lab.law_probe import probe
from scanopt.lab.ways_out import WAYS_OUT
from scanopt.lab.why_not import Verdict, WhyNot

HERE = Path(__file__).name


def ends_early(x: Any) -> Any:
    return scanopt.map(lambda v: (v, scanopt.until(v > 1)), x, name="early")[0]


def test_a_condition_is_named_with_its_meaning_and_its_place() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], ends_early(x), exclude=["until_of_map"])
    answer = f.why_not("stack_of_sequence")
    (verdict,) = answer.verdicts
    (barrier,) = verdict.barriers
    assert (verdict.fired, verdict.found, verdict.complete) == (0, 1, 0)
    assert (barrier.condition, barrier.count, barrier.alone) == ("runs_all(c)", 1, 1)
    assert "c runs all its steps" in barrier.meaning
    (place,) = barrier.places
    assert place.startswith("all rows of x[t], where c = early (")
    assert HERE in place
    assert str(answer).splitlines()[0] == "stack_of_sequence: did not fire: its pattern was found once"
    assert f"at {place}" in str(answer)
    assert barrier.plain == "the loop may end early, by until"
    assert barrier.way_out.startswith("if all steps may run, leave out until")
    assert f"once {barrier.plain}\n        condition: runs_all(c): c runs all its steps" in str(answer)
    assert f"way out: {barrier.way_out}\n" in str(answer)


def test_a_meaning_is_said_of_the_terms_of_the_condition() -> None:
    X, y = Value("X"), Value("y")
    assert same_type(X[0], y).meaning == "X[0] and y have the same dtype and number of axes"
    assert of_dtype(X, "float64").meaning == "X has dtype float64"
    assert less(Int("a"), Int("b") + 1).meaning == "a < b+1"


def test_costs_that_differ_are_shown_so_that_they_do() -> None:
    law = next(x for x in standard_laws() if x.name == "stack_of_sequence")
    answer = WhyNot("", "exact", 1000.0, (Verdict(law, "", 1, 0, 0, (), cost_without=1000.002),))
    assert str(answer).endswith("without it the program would cost 1000.002, not 1000")


def test_plain_words_are_of_facts_that_there_are() -> None:
    standard_laws()
    assert [name for name in WAYS_OUT if name not in FACTS] == []


def test_results_in_place_are_no_laws() -> None:
    x = T.dvector("x")
    with pytest.raises(ValueError, match="'inplace'; what is computed in place is no matter of laws"):
        scanopt.function([x], x + 1).why_not("inplace")


def test_a_law_that_fired_says_what_that_saved() -> None:
    x = T.dvector("x")
    (verdict,) = scanopt.function([x], scanopt.map(T.exp, x)[0]).why_not("operator_of_sequences").verdicts
    assert verdict.fired > 0
    assert verdict.cost_without is not None
    f = scanopt.function([x], scanopt.map(T.exp, x)[0], exclude=["operator_of_sequences"])
    assert verdict.cost_without == pytest.approx(f.cost)


def test_a_pattern_that_is_not_there() -> None:
    x = T.dvector("x")
    text = str(scanopt.function([x], x + 1).why_not("save_mem"))
    assert "row_from_the_end: did not fire: never found" in text
    assert "nothing in the program looks like stack(c, v)[k]" in text


def test_every_law_of_a_ruleset_is_told() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.scan(lambda v, s: s + v, x, [0.0])[0])
    names = [x.name for x in f.rules if x.ruleset == "merge"]
    assert [v.law.name for v in f.why_not("merge").verdicts] == names


@scanopt.law(licence="fast", example=lambda x: T.log(T.exp(x)), never=lambda x: T.exp(T.log(x)))
def log_of_exp(x: Value) -> Equation:
    """The logarithm undoes the exponential."""
    return Equation(ops.log(ops.exp(x)), x)


def test_what_the_licence_bars() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], T.log(T.exp(x)) + 1, rules=[log_of_exp])
    assert "log_of_exp" not in {r.name for r in f.rules}
    assert str(f.why_not("log_of_exp")) == (
        'log_of_exp: barred by the licence: it is "fast", and the function has fp="reassoc"; it would fire once'
    )


def test_what_exact_bars_is_told_where_it_is_a_batched_form() -> None:
    X, W = T.dmatrices("X", "W")
    rows = scanopt.map(lambda row, W: T.dot(row, W), X, [W])[0]
    (verdict,) = scanopt.function([X, W], rows, fp="exact").why_not("operator_of_sequences").verdicts
    assert verdict.looser == 1
    assert any(b.condition == "batchable(c, op, args)" for b in verdict.barriers)
    (verdict,) = scanopt.function([X, W], rows).why_not("operator_of_sequences").verdicts
    assert (verdict.looser, verdict.barred) == (0, "")


@pytest.mark.parametrize("settings", [{"exclude": ["push_out_seq"]}, {"mode": "FAST_COMPILE"}])
def test_what_was_left_out(settings: dict[str, Any]) -> None:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.map(T.exp, x)[0], **settings)
    (verdict,) = f.why_not("operator_of_sequences").verdicts
    assert (verdict.barred, verdict.complete) == ("left out", 1)
    assert "left out by exclude= or by a mode; it would fire once" in str(f.why_not("operator_of_sequences"))


def test_loops_that_do_not_merge() -> None:
    x, y = T.dvectors("x", "y")
    sums = [scanopt.scan(lambda v, s: s + v, v, [0.0], name=name)[0] for name, v in (("first", x), ("second", y))]
    (verdict,) = scanopt.function([x, y], sums).why_not("loops_of_equal_length").verdicts
    assert verdict.found == 2  # either loop first
    (barrier,) = verdict.barriers
    assert barrier.condition == "same_steps(c, d)"
    assert any("first" in place and "second" in place for place in barrier.places)


def test_a_ruleset_that_does_not_exist() -> None:
    x = T.dvector("x")
    with pytest.raises(ValueError, match="no law or ruleset is named 'push_out_sq'; near: push_out_seq"):
        scanopt.function([x], x + 1).why_not("push_out_sq")


def test_asking_changes_nothing() -> None:
    """Every match of a condition-free pattern is complete or blamed on a condition, and nothing new is made."""
    X, W = T.dmatrices("X", "W")
    f = scanopt.function([X, W], scanopt.map(lambda row, W: (T.tanh(row @ W), scanopt.until(row[0] > 1)), X, [W])[0])
    plan = f._plan
    scene, probed = probe(plan.program, plan.laws, plan.laws, Settings())
    assert scene.graph.size == f.egraph.size
    for p in probed:
        blamed = {str(m) for x in p.failing for m in x.matches}
        assert p.complete + len(blamed) == p.found
        assert (p.complete > 0) >= (f.laws.get(p.law.name, 0) > 0 and p.law.equation.left.args is not None)


def verdicts(f: Any, name: str) -> dict[str, Verdict]:
    return {v.law.name: v for v in f.why_not(name).verdicts}


def test_unoptimized_functions_can_be_asked() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.map(T.exp, x)[0], mode="unoptimized")
    assert verdicts(f, "push_out_seq")["operator_of_sequences"].barred == "left out"


def test_growth_counts_forms_and_unions() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.map(T.exp, x)[0])
    found = f.growth()
    laws = {x.law: x for x in found.laws}
    assert found.stopped_by == ""
    assert found.exploding is None
    assert laws["operator_of_sequences"].made[0] == 2  # the batched operator and its entry
    assert laws["operator_of_sequences"].unions == 1
    assert laws["stack_of_sequence"].unions == 2  # of what is read, and of what is made
    assert found.sizes[-1] == f.report.growth[-1]


@scanopt.law(licence="exact", enabling=True, example=lambda x: T.exp(x), never=())
def endless(x: Value) -> Equation:
    """Too much of a good thing: -(-(...)) without end."""
    return Equation(ops.exp(x), ops.exp(ops.negative(ops.negative(x))))


def test_an_exploding_law_is_found() -> None:
    x = T.dvector("x")
    schedule = scanopt.Schedule(scanopt.Phase(), nodes=60)
    f = scanopt.function([x], T.exp(x), rules=[endless], exclude=["involution_twice"], schedule=schedule)
    assert f.report.stopped_by == "nodes"
    assert f.report.aside == ("endless",)
    assert "stopped by the limit of nodes (set aside before: endless)" in str(f.report)
    found = f.growth()
    assert found.exploding is not None
    assert found.exploding.law == "endless"
    assert "most forms of the last round: endless" in str(found)
    np.testing.assert_allclose(f([1.0]), np.exp([1.0]))
    assert Limits().most(10) == 1_000


def test_a_law_that_goes_on_and_on_is_set_aside() -> None:
    """Each round it makes two forms: long before they are too many, all rounds have been alike."""
    x = T.dvector("x")
    f = scanopt.function([x], T.exp(x), rules=[endless], exclude=["involution_twice"])
    assert f.report.aside == ("endless",)
    assert f.report.enodes < 200


def test_laws_that_end_after_many_rounds_that_are_alike_are_not_set_aside() -> None:
    """Operators leave the loop one by one."""
    x = T.dscalar("x")

    def waves(v: Any) -> Any:
        return functools.reduce(lambda v, op: op(v), [T.sin, T.cos] * 40, v)

    out, _ = scanopt.scan(lambda s, x: s * waves(x), None, x, x, n_steps=5)
    assert scanopt.function([x], [out, waves(x)]).report.saturated


@pytest.mark.usefixtures("priced_as_array_steps")
def test_the_other_laws_go_on() -> None:
    """One law makes forms without end; the rest of the laws is run to the end, and the loop is a cumulative sum."""
    x = T.dvector("x")
    out = scanopt.scan(lambda v, s: s + T.exp(v), x, [T.constant(0.0, dtype="float64")])[0]
    schedule = scanopt.Schedule(scanopt.Phase(), nodes=150)
    f = scanopt.function([x], out, rules=[endless], exclude=["involution_twice"], schedule=schedule)
    assert "endless" in f.report.aside
    assert f.report.stopped_by == "nodes"
    assert f.report.enodes < 150  # nothing new was found
    assert not f.program.loops()
    np.testing.assert_allclose(f([1.0, 2.0]), np.cumsum(np.exp([1.0, 2.0])))


def test_numbers_times_zeros_end() -> None:
    """Zeros are any number times zeros, and the products of these numbers are no new forms of them."""
    x, zeros = T.fvector("x"), T.zeros((4,), "float32")
    for number in (1.1, 2.3, 0.7):
        zeros = zeros * T.constant(number, "float32")
    f = scanopt.function([x], x + zeros)
    assert f.report.saturated
    assert f.report.enodes < 60


def _number(x: float) -> T.Variable:
    return T.constant(x, dtype="float64")


def test_numbers_that_undo_one_another_end() -> None:
    """(x * 0.5) * 2 is x.  It is (x * 2) * 0.5, too, and x is that: to say so would go on without end."""
    x = T.dvector("x")
    squares, _ = scanopt.scan(lambda v: (v * _number(0.5) * _number(2)) ** 2, x)
    gradient = T.grad((squares * _number(0.25)).mean() * _number(2), x)
    for out, most in ((T.exp(x) * 0.5 * 2.0, 30), (_number(0.5) * _number(2) * x, 30), (gradient, 200)):
        f = scanopt.function([x], out)
        assert f.report.saturated
        assert f.report.enodes < most
