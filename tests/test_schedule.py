"""Schedules: which laws run when, told from outside, by name or as a value."""

import pickle
from typing import Any

import pytest

import scanopt
import scanopt.tensor as T
from scanopt import Phase, Schedule
from scanopt.calculus.law import Law, standard_laws
from scanopt.egraph.engine import Engine
from scanopt.egraph.engine_commands import commands
from scanopt.egraph.saturation import Limits, Round, run_schedule
from scanopt.egraph.schedule import EVERYTHING, as_schedule, register_schedule


def network(X: Any, W: Any) -> Any:
    return scanopt.scan(lambda v, h, W: T.tanh(v @ W + h @ W), X, T.zeros_like(W[0]), W)[0][-1]


def compiled(schedule: Any) -> Any:
    X, W = T.dmatrices("X", "W")
    return scanopt.function([X, W], network(X, W), schedule=schedule)


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(Phase()),
        Schedule(Phase(), Phase()),
        Schedule(Phase("save_mem", "push_out_seq"), Phase()),
        Schedule(Phase("merge", rounds=1), Phase(rounds=1), cycles=None),
        Schedule(*(Phase(name) for name in dict.fromkeys(x.ruleset for x in standard_laws())), cycles=None),
    ],
)
def test_any_order_that_ends_finds_the_same(schedule: Schedule) -> None:
    usual, made = compiled(None), compiled(schedule)
    assert made.report.saturated
    assert made.cost == pytest.approx(usual.cost)
    assert made.report.enodes == usual.report.enodes


def test_a_schedule_can_leave_laws_out() -> None:
    made = compiled(Schedule(Phase("push_out_seq")))
    assert {x.ruleset for x in made.rules if x.name in made.laws} <= {"push_out_seq"}
    assert not made.report.saturated
    assert made.report.stopped_by == "schedule"
    assert "stopped at the end of the schedule" in str(made.report)
    assert "the schedule ended" not in str(compiled(None).report)


def test_rounds_are_counted() -> None:
    made = compiled(Schedule(Phase(rounds=1)))
    assert made.report.iterations == 1
    assert made.report.stopped_by == "schedule"


def test_no_round_follows_in_which_laws_found_nothing_new() -> None:
    """What facts had found before was there when these laws ran."""
    x = T.dvector("x")
    assert scanopt.function([x], T.exp(x)).report.iterations == 1


def test_limits_of_a_schedule() -> None:
    assert compiled(Schedule(Phase(), nodes=1)).report.stopped_by == "nodes"
    assert compiled(Schedule(Phase(), seconds=1e-9)).report.stopped_by == "seconds"


def test_schedules_have_names() -> None:
    register_schedule("sequences_first", Schedule(Phase("push_out_seq"), Phase()))
    assert compiled("sequences_first").report.saturated
    register_schedule("sequences_first", Schedule(Phase("push_out_seq"), Phase()))  # the same again
    with pytest.raises(ValueError, match="already a schedule named 'sequences_first'"):
        register_schedule("sequences_first", EVERYTHING)
    with pytest.raises(TypeError, match="expected a Schedule"):
        register_schedule("other", "merge")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no schedule is named 'sequence_first'; near: sequences_first"):
        as_schedule("sequence_first")


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Schedule(), ValueError, "a schedule needs a phase"),
        (lambda: Schedule("merge"), TypeError, r"write Phase\('merge'\)"),  # type: ignore[arg-type]
        (lambda: Phase(3), TypeError, "names of laws or rulesets, found 3"),  # type: ignore[arg-type]
        (lambda: Phase(rounds=0), ValueError, "whole number from 1 on"),
        (lambda: Phase(rounds=True), ValueError, "whole number from 1 on"),
        (lambda: Schedule(Phase(), cycles=0), ValueError, "cycles must be a whole number"),
        (lambda: Schedule(Phase(), nodes=-1), ValueError, "nodes must be a whole number"),
        (lambda: Schedule(Phase(), seconds=0), ValueError, "seconds must be a number above zero"),
        (lambda: Schedule(Phase(), seconds="x"), ValueError, "seconds must be a number above zero"),  # type: ignore[arg-type]
        (lambda: compiled(Schedule(Phase("marge"))), ValueError, "schedule names 'marge'.*near: merge"),
        (lambda: compiled(3), TypeError, "schedule must be a scanopt.Schedule"),
    ],
)
def test_what_is_no_schedule(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_schedules_print_as_they_are_written() -> None:
    for schedule in (
        Schedule(Phase("merge", "algebra", rounds=2), Phase(), cycles=None, nodes=5, seconds=0.5),
        EVERYTHING,
    ):
        assert eval(repr(schedule)) == schedule
        assert pickle.loads(pickle.dumps(schedule)) == schedule


def test_a_pickled_function_keeps_its_schedule() -> None:
    made = compiled(Schedule(Phase("push_out_seq")))
    again = pickle.loads(pickle.dumps(made))
    assert again._plan.settings.schedule == Schedule(Phase("push_out_seq"))
    assert len(again.explain().steps) == len(made.explain().steps)


# Rounds, without an e-graph


def rounds(schedule: Schedule, news: dict[str, int], names: str = "ab") -> tuple[list[str], str]:
    """The laws of each round, and what stopped them; each law finds something new in so many of its rounds."""
    laws: list[Law] = [scanopt.law(licence="exact", example=())(_named(n)) for n in names]
    left, seen = dict(news), list[str]()

    def run(chosen: frozenset[str]) -> Round:
        seen.append("".join(sorted(chosen)))
        found = [n for n in sorted(chosen) if left.get(n, 0) > 0]
        for n in found:
            left[n] -= 1
        return Round(dict.fromkeys(found, 1), {}, bool(found), 1)

    done = run_schedule(schedule, laws, run, Limits(rounds=20), 1)
    return seen, done.stopped_by


def _named(name: str) -> Any:
    from scanopt.calculus.law import Equation
    from scanopt.calculus.terms import Value

    def equation(x: Value) -> Equation:
        return Equation(-x, x, when=[scanopt_scalar(x)])

    equation.__name__ = name
    return equation


def scanopt_scalar(x: Any) -> Any:
    from scanopt.facts.values import scalar

    return scalar(x)


@pytest.mark.parametrize(
    ("schedule", "seen", "stopped"),
    [
        (EVERYTHING, ["ab", "ab", "ab"], ""),
        (Schedule(Phase("a"), Phase("b")), ["a", "a", "b", "b", "b"], "schedule"),  # a might have more to say
        (Schedule(Phase("a"), Phase()), ["a", "a", "ab", "ab", "ab"], ""),
        (Schedule(Phase("b", rounds=1), Phase("a", rounds=1)), ["b", "a"], "schedule"),
        (Schedule(Phase("b", rounds=1), Phase("a", rounds=1), cycles=None), ["b", "a", "b", "a", "b"], ""),
        (Schedule(Phase("b")), ["b", "b", "b"], "schedule"),
        (Schedule(Phase("b"), cycles=None), ["b", "b", "b"], "schedule"),
    ],
)
def test_order_of_rounds(schedule: Schedule, seen: list[str], stopped: str) -> None:
    assert rounds(schedule, {"a": 1, "b": 2}) == (seen, stopped)


def test_rounds_have_an_end() -> None:
    assert rounds(EVERYTHING, {"a": 1000})[1] == "rounds"


@pytest.mark.thorough
def test_constants_are_folded_in_short_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine keeps a copy of the whole text for each term in it: 3,000 commands at once took 23 GB."""
    texts: list[str] = []

    def noted(self: Engine, text: str) -> list[Any]:
        texts.extend(commands(text))
        return run(self, text)

    run = Engine.run
    monkeypatch.setattr(Engine, "run", noted)
    x = T.dscalar("x")
    f = scanopt.function([x], [T.constant(float(i)) * 3.0 + x for i in range(300)])
    assert f(1.0)[7] == 22.0
    folded = [t for t in texts if t.startswith("(union")]
    assert len(folded) > 10
    assert max(map(len, folded)) < 10_000
