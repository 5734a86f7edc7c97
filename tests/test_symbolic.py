"""Proofs on patterns: laws that follow from others, conditions that follow from conditions."""

import pytest

import scanopt
from scanopt.calculus.law import Equation, Law, standard_laws
from scanopt.calculus.terms import Clock, Int, Value, hold, ops, seq, stack, steps, tail
from scanopt.facts.loops import rows, runs_all, some_steps
from scanopt.facts.values import at_least, equal_rows, less
from scanopt.lab.checking import attack_on
from scanopt.lab.law_mutation import mutations
from scanopt.lab.pattern_proofs import Proofs

PROGRAM = lambda x: scanopt.map(lambda v: v, x)[0]  # noqa: E731


@scanopt.law(licence="exact", example=PROGRAM)
def last_row_of_sequence(c: Clock, X: Value, k: Int) -> Equation:
    """Follows: the trace of a sequence is the sequence."""
    return Equation(stack(c, seq(c, X))[k], X[k], when=[less(k, 0), runs_all(c)])


@scanopt.law(licence="exact", example=PROGRAM)
def last_row_without_a_condition(c: Clock, X: Value) -> Equation:
    """Follows from nothing: the loop may end early."""
    return Equation(stack(c, seq(c, X))[-1], X[-1])


@scanopt.law(licence="exact", example=PROGRAM)
def length_of_trace(c: Clock, v: Value) -> Equation:
    """rows(stack(c, v), c) is derived from runs_all(c)."""
    return Equation(stack(c, v).shape[0], steps(c), when=[runs_all(c), rows(stack(c, v), c)])


@scanopt.law(licence="fast", example=PROGRAM)
def half(x: Value) -> Equation:
    return Equation(ops.log(ops.exp(x)), x)


@scanopt.law(licence="exact", example=PROGRAM)
def needs_a_faster_law(x: Value) -> Equation:
    """Follows from a law that does more to numbers than this one allows."""
    return Equation(ops.absolute(ops.log(ops.exp(x))), ops.absolute(x))


@pytest.fixture(scope="module")
def proofs() -> Proofs:
    return Proofs((*standard_laws(), last_row_of_sequence, half, needs_a_faster_law, length_of_trace))


def test_a_law_that_follows_names_those_it_follows_from(proofs: Proofs) -> None:
    assert proofs.derivable(last_row_of_sequence) == ("stack_of_sequence",)


def test_a_law_that_is_not_true_does_not_follow(proofs: Proofs) -> None:
    assert proofs.derivable(last_row_without_a_condition) is None


def test_proofs_use_no_law_of_a_wider_licence(proofs: Proofs) -> None:
    assert proofs.derivable(needs_a_faster_law) is None


_PAIRS = [
    ("product_from_the_left", "product_from_the_right"), ("sum_of_squares", "product_with_itself"),
    ("rows_multiplied_by_themselves", "rows_times_themselves"),
]  # fmt: skip
MIRRORED = {x: (y,) for pair in _PAIRS for x, y in (pair, pair[::-1])}
"""One equation read in both ways: as equations one says what the other says, as rewriting both are needed."""


@pytest.mark.share(12)
@pytest.mark.parametrize("law", standard_laws(), ids=lambda x: x.name)
def test_a_law_that_follows_stands_in_another_ruleset(law: Law, proofs: Proofs) -> None:
    """Rulesets are switched off one by one, so one may say what another proves; but none says a thing twice."""
    rulesets = {x.name: x.ruleset for x in standard_laws()}
    used = proofs.derivable(law)
    assert used is None or used == MIRRORED.get(law.name) or any(rulesets.get(name) != law.ruleset for name in used)


def test_conditions_that_follow(proofs: Proofs) -> None:
    assert proofs.implied(length_of_trace, 1)  # rows, from runs_all
    assert not proofs.implied(length_of_trace, 0)  # but not the other way
    assert not proofs.implied(last_row_of_sequence, 0)
    assert not proofs.implied(last_row_of_sequence, 1)


def test_comparisons_that_follow() -> None:
    @scanopt.law(licence="exact", example=PROGRAM)
    def twice(c: Clock, v: Value, k: Int) -> Equation:
        return Equation(tail(c, v, k), tail(c, v, k + 0), when=[at_least(k, 1), at_least(k, 0), some_steps(c)])

    proofs = Proofs((twice,))
    assert [proofs.implied(twice, n) for n in range(3)] == [False, True, False]


def test_every_way_a_mutation_can_end() -> None:
    law = scanopt.law(licence="exact", example=PROGRAM, never=(PROGRAM, PROGRAM))(_three_conditions)

    def ends(fires: bool, unsound: str, implied: bool) -> list[str]:
        return [m.outcome for m in mutations(law, lambda p, x: fires, lambda x: unsound, lambda x, n: implied)]

    assert ends(True, "", False) == ["fires", "unbound", "fires"]
    assert ends(False, "", True) == ["implied", "unbound", "implied"]
    assert ends(False, "1 steps: ...", False) == ["unsound", "unbound", "unsound"]
    assert ends(False, "", False) == ["survives", "unbound", "survives"]


def _three_conditions(c: Clock, X: Value, x: Value) -> Equation:
    return Equation(seq(c, X), hold(c, x), when=[runs_all(c), equal_rows(X, x), some_steps(c)])


def test_a_condition_that_says_nothing_is_found() -> None:
    @scanopt.law(licence="exact", example=PROGRAM, never=())
    def too_careful(c: Clock, X: Value) -> Equation:
        return Equation(stack(c, seq(c, X)), X, when=[runs_all(c), rows(X, c)])

    found = {m.condition: m.outcome for m in attack_on(too_careful).mutations()}
    assert found["rows(X, c)"] == "implied"
    assert "runs_all" not in str([m for m in attack_on(too_careful).mutations() if m.outcome == "implied"])
