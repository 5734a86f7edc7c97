"""The history of a compilation: plain data, names that stay, costs that add up, and answers that can be looked up."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compiled import MADE, documented

import scanopt
import scanopt.tensor as T
from scanopt.compilation.explanation import record
from scanopt.compilation.optimize import optimize
from scanopt.history.document import FORMAT, VERSION
from scanopt.lab.law_probe import probe

History = dict[str, Any]


@pytest.fixture(scope="module", params=MADE)
def told(request: pytest.FixtureRequest) -> tuple[Any, History]:
    f = MADE[request.param]()
    return f, f.history()


def lines(h: History, program: int) -> list[dict[str, Any]]:
    return [h["lines"][n] for n in h["programs"][program]["lines"]]


@pytest.mark.share(3)
def test_history_is_plain_versioned_data(told: tuple[Any, History]) -> None:
    _, h = told
    assert (h["format"], h["version"]) == (FORMAT, VERSION)
    assert json.loads(json.dumps(h, allow_nan=False)) == h


def test_programs_are_those_of_the_function(told: tuple[Any, History]) -> None:
    f, h = told
    for n, program in ((0, f.initial), (-1, f.program)):
        page = [line["text"].split() for line in lines(h, n)]
        text = [line.split() for line in str(program).splitlines()]
        assert len(page) == len(text)
        if n == 0:
            assert all(a == b[: len(a)] for a, b in zip(page, text, strict=True))
    made = {name for line in lines(h, -1) for name in line["makes"]}
    assert made <= {*h["source"]["names"].values()}


def test_a_value_has_one_name_and_a_name_one_value(told: tuple[Any, History]) -> None:
    """A name of both programs is of one class in both, and a name that only one has is of no class of the other."""
    _, h = told
    before, after = (
        {name: line.get("value", line.get("class")) for line in lines(h, n) for name in line["makes"][:1]}
        for n in (0, -1)
    )
    for name in before.keys() & after.keys():
        assert before[name] == after[name]
    new = {after[name] for name in after.keys() - before.keys()} - {None}
    assert not [c for c in new if c in before.values() and list(after.values()).count(c) == 1]


def test_costs_of_lines_add_up(told: tuple[Any, History]) -> None:
    """Inputs and constants are priced next to nothing; what a loop holds is not a line."""
    _, h = told
    for n, cost in ((0, h["report"]["cost_before"]), (-1, h["report"]["cost_after"])):
        assert sum(line.get("cost", 0.0) for line in lines(h, n)) == pytest.approx(cost, rel=0.02)


def test_steps_lead_from_the_first_cost_to_the_last(told: tuple[Any, History]) -> None:
    _, h = told
    steps = h["steps"]
    costs = [h["report"]["cost_before"], *(s["cost_after"] for s in steps)]
    assert costs == sorted(costs, reverse=True)
    for s in steps:
        assert all(h["egraph"]["equalities"][n][1] == s["law"] for n in s["equalities"])
        assert 0 <= s["before"] <= s["after"] < len(h["programs"])
    if steps:
        assert steps[-1]["cost_after"] == pytest.approx(h["report"]["cost_after"])


def test_egraph_has_what_was_chosen_and_written(told: tuple[Any, History]) -> None:
    _, h = told
    columns = h["egraph"]["form_columns"]
    forms = [dict(zip(columns, row, strict=True)) for row in h["egraph"]["forms"]]
    classes = {int(c) for c in h["egraph"]["classes"]}
    assert {f["class"] for f in forms} <= classes
    chosen = [f["class"] for f in forms if f["chosen"]]
    assert len(chosen) == len({*chosen})
    assert {*h["egraph"]["roots"]} <= {*chosen} | {c for c in classes if h["egraph"]["roots"].count(c)}
    assert all(f["total"] >= f["cost"] * 0.999 for f in forms if f["total"] is not None)
    assert all(f["law"] or f["round"] == -1 for f in forms)
    for line in lines(h, -1):
        assert line.get("class", h["egraph"]["roots"][0]) in classes


def test_a_law_says_what_it_lacks() -> None:
    h = documented().history()
    laws = {x["name"]: x for x in h["laws"]}
    assert laws["operator_of_sequences"]["matches"]
    assert laws["operator_of_sequences"]["mathematics"] == "op(*args) = (op(*outer) at all steps)[t]"
    (lack,) = laws["right_identity"]["failing"]
    assert lack["condition"] == "neutral(op, e, d)"
    assert any("dot(" in place["text"] and "class" in place for place in lack["places"])


def test_a_law_that_may_not_fire_is_barred() -> None:
    x = T.dvector("x")
    laws = {
        x["name"]: x for x in scanopt.function([x], x * 1.0, exclude=["right_identity"], fp="exact").history()["laws"]
    }
    assert laws["right_identity"]["barred"] == "left out"
    assert laws["right_identity"]["complete"]
    assert "licence" in {x["barred"] for x in laws.values()}


def test_what_left_the_loop_has_its_name_on_both_sides() -> None:
    """The product of the rows is computed outside, and read in the loop under the name of the product of a row."""
    h = documented().history()
    before = next(line for line in lines(h, 0) if line.get("op") == "dot")
    after = next(line for line in lines(h, -1) if before["makes"][0] in line["makes"])
    assert before["kind"] == "compute"
    assert before["loop"]
    assert after["kind"] == "read" or not after["loop"]
    assert after["class"] == before["class"]


def test_measured_history_has_times_and_what_laws_made_by_round() -> None:
    X, W, h0 = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h0")
    hs, _ = scanopt.scan(lambda x, h, W: T.tanh(T.dot(x, W) + h), X, h0, W)
    f = scanopt.function([X, W, h0], hs[-1], example=[np.ones((20, 3)), np.ones((3, 3)), np.ones(3)])
    h = f.history(measure=True)
    assert all(p["seconds"] > 0 for p in h["programs"])
    assert sum(sum(r["made"].values()) for r in h["rounds"]) > 0
    assert [r["best"] for r in h["rounds"]] == sorted((r["best"] for r in h["rounds"]), reverse=True)
    assert h["rounds"][-1]["best"] == pytest.approx(h["report"]["cost_after"])
    assert not any("seconds" in p for p in f.history()["programs"])


def test_nothing_is_timed_where_there_is_nothing_to_call_it_with() -> None:
    assert not any("seconds" in p for p in documented().history(measure=True)["programs"])


def test_history_has_the_lines_of_the_user() -> None:
    (file,) = [x for name, x in documented().history()["files"].items() if name.endswith("compiled.py")]
    assert any("scanopt.scan(" in line for line in file["lines"])
    assert file["first"] >= 1


@pytest.mark.share(3)
@pytest.mark.parametrize("name", MADE)
def test_what_was_chosen_first_is_what_is_recorded(name: str) -> None:
    """The e-graph of a recording is that of the compilation, and so is the choice; a new search chooses as well."""
    f = MADE[name]()
    done = f.recording.done
    assert done.extraction is f._plan.done.extraction
    p = f._plan
    anew = record(p.program, p.laws, p.settings)
    assert anew.done.extraction is not done.extraction
    assert anew.done.extraction.cost == done.extraction.cost
    assert anew.way.laws == f.recording.way.laws
    costs = [[x and x.cost for _, x in r.stages] for r in (anew, f.recording)]
    assert costs[0] == pytest.approx(costs[1])


def test_another_choice_is_searched_where_the_egraph_is_another() -> None:
    f, g = documented(), documented().without("operator_of_sequences")
    p = g._plan
    done = optimize(p.program, p.laws, p.settings, noted=True, before=f._plan.done)
    assert done.extraction.cost == g.cost > f.cost
    a, b = (optimize(x.program, x.laws, x.settings).egraph for x in (f._plan, f._plan))
    assert a.same(b)
    assert not a.same(g.egraph)
    assert not a.same(replace(b, roots=()))
    assert not a.same(replace(b, classes=dict(reversed(b.classes.items()))))


@pytest.mark.share(3)
@pytest.mark.parametrize("name", ["rnn", "until", "gradient"])
def test_laws_that_are_nowhere_are_asked_no_conditions(name: str) -> None:
    """What is told of an idle law is what is told when all its questions are asked."""
    f = MADE[name]()
    p = f._plan
    _, asked = f.recording.asking.answers(f.recording.program)
    whole = {x.law.name: x for x in probe(p.program, p.laws, [x.law for x in asked], p.settings)[1]}
    assert {x.law.name for x in asked} == {x.name for x in p.known} - {*f.laws}
    for x in asked:
        y = whole[x.law.name]
        assert (x.found, x.complete, x.needs) == (y.found, y.complete, y.needs)
        told = [[(str(w.condition), len(w.matches), len(w.alone)) for w in z.failing] for z in (x, y)]
        assert told[0] == told[1]
