"""The report: one sound page that tells what became of a program, whatever names and costs it meets."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field, replace

import pytest
from viewed import HOSTILE, empty, floats, rnn

from scanopt.array.op import Op
from scanopt.program.ir import Compute, Input, Program
from scanopt.view.charts import cost_chart, time_bar
from scanopt.view.report import report_html, write_report


@dataclass(frozen=True)
class FakeStep:
    law: str
    program: Program
    cost_before: float
    cost_after: float
    formula: str = "f(hold(c, x)) = hold(c, f(x))"
    conditions: tuple[str, ...] = ("cannot_raise(f)",)
    licence: str = "exact"
    doc: str = "A law."


@dataclass(frozen=True)
class FakeExplanation:
    steps: tuple[FakeStep, ...]


@dataclass(frozen=True)
class FakeReport:
    cost_before: float = 1000.0
    cost: float = 10.0
    gap: float = 0.0
    optimal: bool = True
    saturated: bool = True
    stopped_by: str = ""
    aside: tuple[str, ...] = ()
    trips: dict[str, str] = field(default_factory=lambda: {HOSTILE: "10 steps (assumed)"})
    law_seconds: dict[str, float] = field(default_factory=lambda: {HOSTILE: 0.002})
    seconds: dict[str, float] = field(default_factory=lambda: {"encode": 0.01, "saturate": 0.2})
    laws: dict[str, int] = field(default_factory=lambda: {"push_out_non_seq": 3, HOSTILE: 1})
    enodes: int = 100
    eclasses: int = 40
    iterations: int = 5
    sizes: dict[str, object] = field(default_factory=lambda: {HOSTILE: 1000})
    unit: str = ""


@dataclass(frozen=True)
class FakeRule:
    name: str = HOSTILE
    ruleset: str = HOSTILE
    formula: str = HOSTILE
    licence: str = HOSTILE


@dataclass(frozen=True)
class FakeFunction:
    steps: tuple[FakeStep, ...]
    name: str | None = HOSTILE
    initial: Program = field(default_factory=lambda: rnn(HOSTILE))
    program: Program = field(default_factory=lambda: rnn("after"))
    source: str = f"x = '''{HOSTILE}'''"
    report: FakeReport = field(default_factory=FakeReport)
    rules: tuple[FakeRule, ...] = (FakeRule(), FakeRule(name="push_out_non_seq"))

    def explain(self) -> FakeExplanation:
        return FakeExplanation(self.steps)


STEPS = (
    FakeStep("push_out_non_seq", rnn("b"), 1000.0, 400.0),
    FakeStep(HOSTILE, rnn("after"), 400.0, 410.0, HOSTILE, (HOSTILE,), HOSTILE, HOSTILE),
    FakeStep("last", rnn("after"), 410.0, 10.0),
)


def as_xml(page: str) -> ET.Element:
    """The page without what HTML lets be unclosed: then it must be XML."""
    page = page.removeprefix("<!DOCTYPE html>\n")
    page = re.sub(r"<(meta|link)([^>]*)>", r"<\1\2/>", page)
    page = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    return ET.fromstring(page)


def test_report_is_one_sound_page() -> None:
    page = report_html(FakeFunction(STEPS))
    root = as_xml(page)
    assert page.count("<script>") == 1
    assert [e.get("id") for e in root.iter("section")] == ["step-1", "step-2", "step-3"]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", page)
    assert {e.get("href", "") for e in root.iter("link")} == {"data:,"}
    assert not [e for e in root.iter() if any(name in e.attrib for name in ("src", "onclick", "onload"))]
    assert page == report_html(FakeFunction(STEPS))


def test_report_tells_the_story() -> None:
    text = "".join(as_xml(report_html(FakeFunction(STEPS))).itertext())
    for words in (
        "1,000 → 10",
        "100 times cheaper",
        "optimal",
        "10 steps (assumed)",
        "push_out_non_seq",
        "licence: exact",
        "when cannot_raise(f)",
        "-60.0%",
        "saturated",
        "mit-sot",
        "f(hold(c, x)) = hold(c, f(x))",
    ):
        assert words in text  # fmt: skip


def test_differences_do_not_depend_on_the_width_of_columns() -> None:
    x = floats(3)
    one = Program((Input("x", x),), (), (Compute("y", Op.make("tanh"), ("x",), x),), ("y",))
    more = Compute("a_longer_name", Op.make("exp"), ("y",), x)
    two = replace(one, steps=(*one.steps, more), outputs=(more.out,))
    page = report_html(FakeFunction((FakeStep("grow", two, 2.0, 1.0),), initial=one))
    (diff,) = (e for e in as_xml(page).iter("pre") if e.get("class") == "diff")
    changed = [(span.get("class"), span.text) for span in diff if span.get("class") in ("add", "del")]
    assert sorted(str(kind) for kind, _ in changed) == ["add", "add", "del"]
    assert not any("tanh" in str(text) for _, text in changed)


def test_report_without_steps_and_without_gain() -> None:
    nothing = FakeReport(cost=1000.0, optimal=False, gap=0.25, saturated=False, stopped_by="nodes", seconds={}, laws={})
    f = FakeFunction((), name=None, initial=empty(), program=empty(), source="", report=nothing)
    text = "".join(as_xml(report_html(f)).itertext())
    assert "No law changed the program" in text
    assert "no cheaper program found" in text
    assert "gap 25.0%" in text
    assert "stopped by the limit of nodes" in text


@pytest.mark.parametrize("gap", [float("inf"), float("nan")])
def test_report_without_a_bound_says_so(gap: float) -> None:
    page = report_html(FakeFunction(STEPS, report=FakeReport(optimal=False, gap=gap)))
    assert "gap unknown" in page


def test_report_is_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write_report(FakeFunction(STEPS), tmp_path_factory.mktemp("report") / "report.html")
    assert path.read_text(encoding="utf-8") == report_html(FakeFunction(STEPS))


@pytest.mark.parametrize("costs", [(), (5.0,), (0.0, 0.0), (float("inf"), 1.0), (1e9, 1.0, 0.0), (1.0, 2.0)])
def test_charts_bear_any_costs(costs: tuple[float, ...]) -> None:
    root = ET.fromstring(cost_chart([(HOSTILE, c) for c in costs]))
    for bar in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert 0 <= float(bar.get("width", "")) < 500


def test_time_bar_of_nothing_is_nothing() -> None:
    assert time_bar({}) == time_bar({"encode": 0.0}) == ""
