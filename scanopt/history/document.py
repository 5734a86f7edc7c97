"""The history of a compilation: one versioned document that `json.dump` writes, described in docs/history.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import isfinite
from typing import Any

from scanopt.array.op import TABLE
from scanopt.calculus.forms import Form
from scanopt.calculus.law import Law, standard_laws
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.explanation import Recording
from scanopt.egraph.derivation import Look
from scanopt.egraph.provenance import Provenance
from scanopt.extraction.roofline import MachineLimits
from scanopt.history.barriers import barriers
from scanopt.history.egraph import EGraphTables
from scanopt.history.kernels import kernel_rows
from scanopt.history.measured import forms_by_round, seconds_of_kernels, seconds_of_programs
from scanopt.history.names import StableNames
from scanopt.history.programs import HistoryLines, ToldProgram
from scanopt.history.user_source import law_lines, user_lines
from scanopt.lab.machine_limits import limits_of
from scanopt.lab.why_not import barred
from scanopt.view.mathematics import formula_text

__all__ = ["FORMAT", "VERSION", "history"]

FORMAT, VERSION = "scanopt-history", 1

_SHOWN = 40  # of the equalities that one law stated, at most


def history(f: Function, measure: bool = False) -> dict[str, Any]:
    """The history of a function.  measure: with the times of its programs, and the forms that laws made by round."""
    recorded = f.recording
    look = _look(recorded)
    names = StableNames(look.graph, look.places)
    exact = recorded.settings.fp == "exact"
    lines = HistoryLines(names, look.places, look.loops, look.provenance.made, exact)
    told, costs, stages = _programs(recorded, lines)
    programs: list[dict[str, Any]] = [{"lines": x.lines, "cost": c} for x, c in zip(told, costs, strict=True)]
    final, last, limits = recorded.done.extraction, told[-1], limits_of(f.backend)
    for row, x in ((programs[0], told[0]), (programs[-1], last)):
        row["kernels"] = kernel_rows(x.kernels(), x.lines, limits)
    if measure:
        _measure(f, programs, told)
    chosen = [(i.id, o.form) for i, o in final.choice.items() if o.form is not None]
    tables = EGraphTables(look, final.problem, names, chosen)
    egraph = tables.tables()
    _with_equalities(stages, recorded, tables, egraph["equalities"], programs)
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": f.name or "",
        "report": _report(f) | {"limits": _limits(limits)},
        "laws": _laws(f, recorded, look),
        "rounds": _rounds(f, recorded, stages, measure),
        "lines": lines.rows,
        "programs": programs,
        "steps": stages,
        "egraph": egraph,
        "source": {"text": f.source, "names": last.names if str(last.program) == str(f.program) else {}},
        "files": user_lines(lines.rows),
        "operators": _operators(lines.rows),
    }


def _programs(recorded: Recording, lines: HistoryLines) -> tuple[list[ToldProgram], list[float], list[dict[str, Any]]]:
    """The programs from the written to the chosen one, each cheaper than the one before; their costs; and for each law
    the programs before and after it."""
    told, costs = [lines.written(recorded.written)], [recorded.written.cost]
    stages: list[dict[str, Any]] = []
    final = recorded.done.extraction
    for law, found in recorded.stages[:-1]:
        before = len(told) - 1
        if found is not None and found.cost < costs[-1]:
            told.append(lines.chosen(found))
            costs.append(found.cost)
        stages.append({"law": law, "before": before, "after": len(told) - 1})
    told.append(lines.chosen(final))
    costs.append(final.cost)
    stages += [{"law": law, "before": len(told) - 2, "after": len(told) - 1} for law, _ in recorded.stages[-1:]]
    return told, costs, stages


def _measure(f: Function, programs: list[dict[str, Any]], told: list[ToldProgram]) -> None:
    for row, seconds in zip(programs, seconds_of_programs(f, [x.program for x in told]) or (), strict=False):
        row["seconds"] = seconds
    for row, x in ((programs[0], told[0]), (programs[-1], told[-1])):
        for kernel, seconds in seconds_of_kernels(f, x.renamed, x.kernels()).items():
            row["kernels"][kernel]["seconds"] = seconds


def _look(recorded: Recording) -> Look:
    """The last look at the e-graph; where the program as written was chosen without any, a look at that program."""
    if recorded.done.looks and recorded.stages:
        return recorded.done.looks[-1]
    g = recorded.program
    written = frozenset(form for _, form in g.forms())
    came = Provenance({form: c for c, form in g.forms()}, written, {}, {}, {}, {})
    if recorded.done.extraction.problem.graph is g or not recorded.done.looks:
        return Look(g, came, {c: c for c in g.classes}, {c: c for c in g.clocks})
    return recorded.done.looks[-1]


def _report(f: Function) -> dict[str, Any]:
    r = f.report
    return {
        "unit": r.unit, "cost_before": r.cost_before, "cost_after": r.cost, "optimal": r.optimal,
        "gap": r.gap if isfinite(r.gap) else None, "saturated": r.saturated, "stopped_by": r.stopped_by,
        "aside": [*r.aside], "seconds": dict(r.seconds), "forms": r.enodes, "classes": r.eclasses,
        "memory_before": f.recording.written.peak, "memory_after": r.memory,
        "memory_allowed": r.budget if isfinite(r.budget) else None, "sizes": dict(r.sizes), "trips": dict(r.trips),
        "licence": f.fp, "backend": f.backend,
    }  # fmt: skip


def _operators(rows: list[dict[str, Any]]) -> dict[str, str]:
    """What each operator of the programs does, in words."""
    names = sorted({row["op"] for row in rows if "op" in row})
    return {name: TABLE[name].doc for name in names if name in TABLE and TABLE[name].doc}


def _limits(x: MachineLimits) -> dict[str, Any]:
    return {"operations": dict(x.operations), "bytes": [[*pair] for pair in x.bytes], "source": x.source}


def _rounds(f: Function, recorded: Recording, stages: list[dict[str, Any]], measure: bool) -> list[dict[str, Any]]:
    """Per round the forms after it, the matches by law, and the cost of the best program of the laws so far."""
    s, laws = recorded.done.saturation, {x.name for x in recorded.laws}
    made = forms_by_round(f) if measure else []
    best, out = recorded.written.cost, list[dict[str, Any]]()
    for n, (forms, found) in enumerate(zip(s.growth, s.rounds, strict=True)):
        best = min([best, *(x["cost_after"] for x in stages if x["round"] == n)])
        row = {"forms": forms, "matches": {law: count for law, count in found.items() if law in laws}, "best": best}
        nothing: dict[str, Any] = {"made": {}, "facts": 0} if measure else {}  # where `growth` took fewer rounds
        out.append(row | (made[n] if n < len(made) else nothing))
    return out


def _laws(f: Function, recorded: Recording, look: Look) -> list[dict[str, Any]]:
    """All laws: those that fired with their counts, the others with what they lack."""
    known = {x.name: x for x in (*standard_laws(), *recorded.laws)}
    matches, seconds = recorded.done.saturation.matches, recorded.done.saturation.seconds
    made = Counter(look.provenance.made.values())
    lacking = barriers(recorded)
    may = {x.name for x in recorded.laws}
    return [
        {
            **_law(x),
            "matches": matches.get(x.name, 0),
            "seconds": round(seconds.get(x.name, 0.0), 6),
            "made": made.get(x.name, 0),
            "barred": "" if x.name in may else barred(x, f.fp),
            **lacking.get(x.name, {}),
            "code": law_lines(x) if matches.get(x.name) or x.name in lacking else "",
        }
        for x in known.values()
    ]


def _law(x: Law) -> dict[str, Any]:
    conditions = [{"text": str(c), "meaning": c.meaning} for c in x.equation.when]
    return {
        "name": x.name, "ruleset": x.ruleset, "formula": x.formula, "mathematics": formula_text(x),
        "conditions": conditions, "licence": x.licence, "says": x.doc,
    }  # fmt: skip


def _with_equalities(
    stages: list[dict[str, Any]],
    recorded: Recording,
    tables: EGraphTables,
    equalities: list[list[Any]],
    programs: list[dict[str, Any]],
) -> None:
    """Add to each stage its costs, its round, and the equalities of its law that the result rests on."""
    by_law: dict[str, list[int]] = {}
    for n, (_, law, *_sides) in enumerate(equalities):
        by_law.setdefault(law, []).append(n)
    way = {tables.number[form] for form in _on_the_way(recorded) if form in tables.number}
    before = recorded.written.cost
    for stage in stages:
        said = by_law.get(stage["law"], [])
        used = [n for n in said if {*equalities[n][2:]} & way]
        after = min(before, float(programs[stage["after"]]["cost"]))
        stage |= {"cost_before": before, "cost_after": after, "equalities": (used or said)[:_SHOWN]}
        stage["round"] = recorded.way.laws.get(stage["law"], 0)
        before = after


def _on_the_way(recorded: Recording) -> Iterator[Form]:
    yield from recorded.way.forms
    yield from (o.form for o in recorded.done.extraction.choice.values() if o.form is not None)
