"""The report of a compiled function: one HTML page that needs no network and no other file.

Programs before and after, the laws that fired step by step, costs, times, generated source.
All of it can be read without JavaScript; the script adds one-step-at-a-time and zoom.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from importlib.resources import files
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Protocol

from scanopt.array.shown import shown
from scanopt.compilation.report import ending
from scanopt.program.ir import Program
from scanopt.view.charts import cost_chart, cost_text, time_bar
from scanopt.view.markup import escape
from scanopt.view.svg import STYLE, program_svg

__all__ = ["Report", "Reported", "report_html", "write_report"]


class Step(Protocol):
    """One law of an explanation, and the program after it."""

    @property
    def law(self) -> str: ...
    @property
    def formula(self) -> str: ...
    @property
    def conditions(self) -> Sequence[str]: ...
    @property
    def licence(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def cost_before(self) -> float: ...
    @property
    def cost_after(self) -> float: ...
    @property
    def program(self) -> Program: ...


class Explanation(Protocol):
    """How the first program became the last."""

    @property
    def steps(self) -> Sequence[Step]: ...


class Report(Protocol):
    """What the optimizer says of its own work."""

    @property
    def cost_before(self) -> float: ...  # noqa: D102
    @property
    def cost(self) -> float: ...  # noqa: D102
    @property
    def gap(self) -> float: ...  # noqa: D102
    @property
    def optimal(self) -> bool: ...  # noqa: D102
    @property
    def saturated(self) -> bool: ...  # noqa: D102
    @property
    def stopped_by(self) -> str: ...  # noqa: D102
    @property
    def aside(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def trips(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def law_seconds(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def seconds(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def laws(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def enodes(self) -> int: ...  # noqa: D102
    @property
    def eclasses(self) -> int: ...  # noqa: D102
    @property
    def iterations(self) -> int: ...  # noqa: D102
    @property
    def sizes(self) -> Mapping[str, object]: ...  # noqa: D102
    @property
    def unit(self) -> str: ...  # noqa: D102


class Rule(Protocol):
    """A law, whether it fired or not."""

    @property
    def name(self) -> str: ...
    @property
    def ruleset(self) -> str: ...
    @property
    def formula(self) -> str: ...
    @property
    def licence(self) -> str: ...


class Reported(Protocol):
    """What the page needs of a compiled function."""

    @property
    def name(self) -> str | None: ...  # noqa: D102
    @property
    def initial(self) -> Program: ...  # noqa: D102
    @property
    def program(self) -> Program: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def report(self) -> Report: ...  # noqa: D102
    @property
    def rules(self) -> Sequence[Rule]: ...  # noqa: D102
    def explain(self) -> Explanation: ...  # noqa: D102


def write_report(f: Reported, path: str | PathLike[str]) -> Path:
    """Write the page to a file; returns the path."""
    target = Path(path)
    target.write_text(report_html(f), encoding="utf-8")
    return target


def report_html(f: Reported) -> str:
    """The page as text."""
    steps = f.explain().steps
    name = shown(f.name or "function")
    sections = [
        _head(name),
        _summary(f.report),
        _costs(f.report, steps),
        _programs(f),
        _explained(f, steps),
        _laws(f, steps),
        _source(f.source),
    ]
    here = files("scanopt.view")
    css, js = (here.joinpath(n).read_text(encoding="utf-8") for n in ("report.css", "report.js"))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(name)}: scanopt report</title>\n"
        f"<style>\n{css}\n{STYLE}\n</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(sections)}</main>\n<script>\n{js}</script>\n</body>\n</html>\n"
    )


def _head(name: str) -> str:
    links = {"costs": "costs", "programs": "before and after", "steps": "step by step",
             "laws": "laws", "source": "source"}  # fmt: skip
    items = "".join(f'<a href="#{key}">{text}</a>' for key, text in links.items())
    return f'<h1>{escape(name)}</h1>\n<nav class="top"><span class="soft">scanopt report</span>{items}</nav>\n'


def _summary(r: Report) -> str:
    search = "saturated: all laws exhausted" if r.saturated else ending(r.stopped_by, r.aside)
    fired = sum(count > 0 for count in r.laws.values())
    tiles = [
        (f"{cost_text(r.cost_before, r.unit)} → {cost_text(r.cost, r.unit)}", "cost before → after, by the model"),
        (_gain(r), "predicted"),
        _optimality(r),
        (f"{r.enodes:,} e-nodes", f"in {r.eclasses:,} classes, {r.iterations:,} iterations; {search}"),
        (f"{fired:,} laws", f"fired, {sum(r.laws.values()):,} matches"),
    ]
    body = "".join(f'<div class="card tile"><b>{escape(a)}</b><span>{escape(b)}</span></div>' for a, b in tiles)
    sizes = "".join(f"<li><code>{escape(f'{k} {v}')}</code></li>" for k, v in (*r.sizes.items(), *r.trips.items()))
    note = f'<div class="soft">Costs are for these sizes: <ul class="sizes">{sizes}</ul></div>' if sizes else ""
    return f'<div class="tiles">{body}</div>\n{note}\n'


def _gain(r: Report) -> str:
    if r.cost >= r.cost_before:
        return "no cheaper program found"
    return f"{r.cost_before / r.cost:,.3g} times cheaper" if r.cost > 0 else "nothing left to do"


def _optimality(r: Report) -> tuple[str, str]:
    """How far the program may be from the cheapest one, and how that is known."""
    if r.optimal:
        return "optimal", "the cheapest in the e-graph reached, proven"
    if not isfinite(r.gap):
        return "gap unknown", "no bound on the cheapest program in the e-graph reached"
    return f"gap {r.gap:.1%}", "at most, to the cheapest in the e-graph reached"


def _costs(r: Report, steps: Sequence[Step]) -> str:
    rows = [("as written", r.cost_before)]
    rows += [(f"{i}. {s.law}", s.cost_after) for i, s in enumerate(steps, 1)]
    rows += [("final program", r.cost)] if rows[-1][1] != r.cost or not steps else []
    return (
        '<h2 id="costs">Costs</h2>\n<div class="card wide">' + cost_chart(rows, r.unit) + "</div>\n"
        '<h2 id="times">Time to compile</h2>\n<div class="card">' + time_bar(r.seconds) + "</div>\n"
    )


def _programs(f: Reported) -> str:
    sides = [_side("Before", f.initial), _side("After", f.program)]
    return f'<h2 id="programs">Before and after</h2>\n<div class="pair">{"".join(sides)}</div>\n'


def _side(title: str, program: Program) -> str:
    text = escape(str(program))
    return f'<div class="card"><h3>{title}</h3>{_figure(program)}<pre>{text}</pre></div>\n'


def _figure(program: Program) -> str:
    buttons = "".join(
        f'<button type="button" data-zoom="{z}" title="{tip}">{text}</button>'
        for z, text, tip in (("1.25", "+", "larger"), ("0.8", "−", "smaller"))
    )
    picture = program_svg(program, style=False)
    return f'<div class="zoom">{buttons}</div><div class="figure">{picture}</div>'


def _explained(f: Reported, steps: Sequence[Step]) -> str:
    if not steps:
        return '<h2 id="steps">Step by step</h2>\n<p>No law changed the program.</p>\n'
    bar = (
        '<div class="steps-nav"><button type="button" id="back">← previous</button>'
        '<button type="button" id="next">next →</button><b id="where"></b>'
        '<span class="soft">arrow keys work too</span></div>\n'
    )
    programs = [f.initial, *(s.program for s in steps)]
    cards = (_step(i, s, programs[i - 1], f.report.unit) for i, s in enumerate(steps, 1))
    return f'<h2 id="steps">Step by step</h2>\n{bar}{"".join(cards)}'


def _step(number_: int, s: Step, before: Program, unit: str) -> str:
    tags = [f"licence: {s.licence}", *(f"when {c}" for c in s.conditions)]
    items = "".join(f"<li>{escape(tag)}</li>" for tag in tags)
    kind = "gain" if s.cost_after < s.cost_before else "loss" if s.cost_after > s.cost_before else "soft"
    share = (s.cost_after - s.cost_before) / s.cost_before if s.cost_before else 0.0
    doc = f"<p>{escape(s.doc)}</p>" if s.doc else ""
    return (
        f'<section class="card step" id="step-{number_}" data-law="{escape(s.law)}">\n'
        f'<h3>{number_}. <span class="mono">{escape(s.law)}</span></h3>'
        f'<div class="formula mono">{escape(s.formula)}</div><ul class="tags">{items}</ul>{doc}'
        f"<p>cost {cost_text(s.cost_before, unit)} → {cost_text(s.cost_after, unit)} "
        f'<span class="{kind}">{share:+.1%}</span></p>\n'
        f'<pre class="diff">{"".join(_diff(before, s.program))}</pre>\n'
        f"<details><summary>the program after this step</summary>{_figure(s.program)}"
        f"<pre>{escape(str(s.program))}</pre></details>\n</section>\n"
    )


def _diff(before: Program, after: Program) -> Iterator[str]:
    old, new = _lines(before), _lines(after)
    lines = list(unified_diff(old, new, lineterm="", n=3))[2:]
    if not lines:
        yield '<span class="hunk">the text of the program is the same</span>'
    kinds = {"+": "add", "-": "del", "@": "hunk"}
    for line in lines:
        text = "…" if line.startswith("@@") else line
        yield f'<span class="{kinds.get(line[:1], "same")}">{escape(text)}</span>'


def _lines(program: Program) -> list[str]:
    """The text without its columns: their width would make every line differ."""
    return [re.sub(r"(?<=\S) {2,}", "  ", line) for line in str(program).splitlines()]


def _laws(f: Reported, steps: Sequence[Step]) -> str:
    first = {s.law: i for i, s in reversed(list(enumerate(steps, 1)))}
    rules = {x.name: x for x in f.rules}
    fired = {law: count for law, count in f.report.laws.items() if count}
    rows = []
    for law, count in sorted(fired.items(), key=lambda kv: (-kv[1], kv[0])):
        x = rules.get(law)
        link = f'<a href="#step-{first[law]}">step {first[law]}</a>' if law in first else ""
        cells = [escape(text) for text in (x.formula, x.licence, x.ruleset)] if x else [""] * 3
        rows.append(
            f'<tr><td class="mono">{escape(law)}</td><td class="r">{count:,}</td>'
            f'<td class="r">{f.report.law_seconds.get(law, 0.0) * 1e3:.0f}</td>'
            f'<td class="mono">{cells[0]}</td><td>{cells[1]}</td><td>{cells[2]}</td><td>{link}</td></tr>'
        )
    heads = "".join(f"<th>{text}</th>" for text in ("formula", "licence", "ruleset", "in the result"))
    return (
        '<h2 id="laws">Laws that fired</h2>\n<div class="card wide"><table><thead><tr><th>law</th>'
        f'<th class="r">matches</th><th class="r">ms</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>\n"
    )


def _source(source: str) -> str:
    return f'<h2 id="source">Source that runs</h2>\n<pre>{escape(source)}</pre>\n'
