"""Why a program is what it is: the laws that made it, one after the other, with what each saved.

The fast path keeps counts only.  For an explanation the laws run once more, and the engine records which law made each
form and which forms laws stated to be equal; the choice is kept if the e-graph is the same again.  The laws that lead
from the program as written to the one chosen are listed in the order of the rounds in which they first fired, each with
the cost of a program made of the forms that it and the laws before it had made.  (What a law saves by uniting forms
that exist already shows at the first step.)  If a time limit ended the search, the second run may have found another
e-graph, and another program.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form
from scanopt.calculus.law import Law
from scanopt.compilation.optimize import Asking, Optimized, as_written, optimize
from scanopt.compilation.settings import Settings
from scanopt.displayed import Displayed
from scanopt.egraph.derivation import Derivation, derivation
from scanopt.extraction.extract import Extraction, cheap
from scanopt.extraction.problem import NoProgramFoundError, Problem
from scanopt.memory import bytes_text
from scanopt.program.ir import Program
from scanopt.program.lower import lower
from scanopt.records import dataclass

__all__ = ["Explanation", "Recording", "Step", "explain", "record", "told"]

_SECONDS = 0.2
"""Seconds to search for each program on the way."""


@dataclass(frozen=True, eq=False)
class Step:
    """One law in use, the cost before and after it, and the program after it.  doc: the law in words.

    A law that saves nothing yet is listed because the next ones need what it made.
    """

    law: str
    formula: str
    conditions: tuple[str, ...]
    licence: str
    doc: str
    cost_before: float
    cost_after: float
    program: Program


@dataclass(frozen=True, eq=False)
class Explanation(Displayed):
    """The laws in use, which lead from the program as written to the result, and the peak bytes of both programs."""

    initial: Program
    final: Program
    cost_before: float
    cost_after: float
    steps: tuple[Step, ...]
    memory_before: float = 0.0
    memory_after: float = 0.0

    def __str__(self) -> str:
        before = f"cost {self.cost_before:.4g}, holds {bytes_text(self.memory_before)}"
        if not self.steps:
            return f"no law makes this program cheaper ({before})"
        lines = [f"{before} as written"]
        for n, s in enumerate(self.steps, 1):
            change = "enables the next" if s.cost_after >= s.cost_before else f"cost {s.cost_after:.4g}"
            lines.append(f"{n}. {s.law}: {s.doc.splitlines()[0] if s.doc else s.formula}  -> {change}")
            lines.append(f"   {s.formula}  [{s.licence}]")
            if s.conditions:
                lines.append(f"   when {', '.join(s.conditions)}")
        lines.append(f"cost {self.cost_after:.4g}, holds {bytes_text(self.memory_after)} in the end")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Recording:
    """An optimization whose engine recorded where forms come from.

    program, laws, settings: what was optimized, and how.  written: the program as written.  way: how the forms in use
    follow from those as written.  stages: the laws in use, in order, each with a cheap program of the forms that it and
    those before it made; None where it made nothing.  asking: what queried the e-graph.
    """

    program: Encoded
    laws: Sequence[Law]
    settings: Settings
    written: Extraction
    done: Optimized
    way: Derivation
    stages: tuple[tuple[str, Extraction | None], ...]
    asking: Asking | None = None


def record(
    program: Encoded,
    laws: Sequence[Law],
    settings: Settings,
    asking: Asking | None = None,
    before: Optimized | None = None,
) -> Recording:
    """Optimize once more, recording where forms come from.

    laws: those that may fire.  before: the result of optimizing with them before, whose choice is kept where the
    e-graph is the same.
    """
    written = as_written(program, settings)
    done = optimize(program, laws, settings, noted=True, asking=asking, before=before)
    if not done.looks or done.extraction.problem.graph is not done.looks[-1].graph:  # the program as written was chosen
        return Recording(program, laws, settings, written, done, Derivation({}, {}), (), asking)
    chosen = [o.form for o in done.extraction.choice.values() if o.form is not None]
    way = derivation(done.looks[-1], chosen)
    return Recording(program, laws, settings, written, done, way, tuple(_stages(done, way)), asking)


def explain(program: Encoded, laws: Sequence[Law], settings: Settings) -> Explanation:
    """Optimize once more, recording where forms come from; explain the result.  laws: those that may fire."""
    return told(record(program, laws, settings))


def told(recorded: Recording) -> Explanation:
    """Explain a recorded optimization: the laws in use, each with the program after it."""
    named, exact = {x.name: x for x in recorded.laws}, recorded.settings.fp == "exact"
    written, final = recorded.written, recorded.done.extraction
    initial = current = lower(written, exact)
    steps: list[Step] = []
    before = written.cost
    for name, found in recorded.stages:
        after = min(before, found.cost) if found else before
        if found and after < before:
            current = lower(found, exact)
        x = named[name]
        steps.append(Step(name, x.formula, x.conditions, x.licence, x.doc, before, after, current))
        before = after
    return Explanation(initial, lower(final, exact), written.cost, final.cost, tuple(steps), written.peak, final.peak)


def _stages(done: Optimized, way: Derivation) -> Iterator[tuple[str, Extraction | None]]:
    """Yield the laws in use, in the order of their rounds, each with a program chosen with it and those before it."""
    earlier = [x for look in done.looks[:-1] for x in derivation(look).laws]
    names = [*dict.fromkeys([*earlier, *way.laws])]
    makers = {*way.forms.values()}
    last: Extraction | None = None
    for n, name in enumerate(names[:-1]):
        # Classes are those at the end: savings of laws that only unite forms show from the first step on.
        new = name in makers or not n
        last = _cheapest(done, way.forms, {"", *names[: n + 1]}, last) if new else last
        yield name, last if new else None
    if names:
        yield names[-1], done.extraction


def _cheapest(
    done: Optimized, forms: Mapping[Form, str], laws: Container[str], last: Extraction | None
) -> Extraction | None:
    """Choose a cheap program from the forms as written and those that `laws` made on the way (`forms`).

    last: the choice for fewer laws, which is returned again where there is nothing more to choose from.
    """
    written, problem = done.looks[-1].provenance.written, done.extraction.problem

    def there(f: Form) -> bool:
        return f in written or (f in forms and forms[f] in laws)

    kept = {c: [f for f in fs if there(f)] for c, fs in problem.graph.classes.items()}
    graph = replace(problem.graph, classes={c: fs for c, fs in kept.items() if fs})
    try:
        smaller = Problem(graph, problem.sizes, problem.cost, problem.limit, problem.prices)
    except NoProgramFoundError:
        return None
    if last is not None and last.problem.options == smaller.options:
        return last
    return cheap(smaller, _SECONDS)
