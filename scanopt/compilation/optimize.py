"""Optimize one program: saturate its e-graph, compute sizes, extract the cheapest program."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cache
from typing import Protocol

from scanopt.analysis.initial_facts import Given
from scanopt.analysis.simplified_program import simplified, told
from scanopt.analysis.sizes import Sizes, assumes, example_operands
from scanopt.array.op import Operand
from scanopt.array.shapes import axes_text
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import TermGraph
from scanopt.calculus.law import Law, standard_laws
from scanopt.compilation.settings import Settings
from scanopt.egraph.derivation import Look
from scanopt.egraph.readback import ReadBack
from scanopt.egraph.session import EGraph, Saturation, UnsoundLawError
from scanopt.extraction.calibrated_cost import unit_of
from scanopt.extraction.cost import at_hand
from scanopt.extraction.extract import Extraction, extract, the_only_choice
from scanopt.extraction.memory_budget import budget_of, fits, fitting
from scanopt.extraction.problem import NoProgramFoundError, Problem
from scanopt.pauses import without_collections
from scanopt.records import dataclass

__all__ = ["Asking", "Optimized", "as_written", "optimize"]


_CALLS = 300
"""An exact search for a better program takes no longer than this many calls of the one found so far."""


@dataclass(frozen=True, eq=False)
class Optimized:
    """The result, the e-graph it came from, and where the time went.

    written: the program as written.  looks: for each saturation, where forms come from, if that was recorded.
    budget: the most bytes that the program may hold.
    """

    extraction: Extraction
    written: Extraction
    saturation: Saturation
    egraph: TermGraph
    seconds: dict[str, float]
    looks: tuple[Look, ...] = ()
    budget: float = math.inf


@dataclass(frozen=True)
class _Known:
    """Sizes and prices of operators on given arguments, shared by the programs as written and as optimized.

    results: the types and shapes of their results.  evaluations: their costs and bytes.
    """

    results: dict[Hashable, Operand] = field(default_factory=dict[Hashable, Operand])
    evaluations: dict[Hashable, tuple[float, float]] = field(default_factory=dict[Hashable, tuple[float, float]])

    def problem(self, graph: TermGraph, settings: Settings) -> Problem:
        """The problem of choosing a program from a graph; known sizes are those of calls."""
        sizes = Sizes(graph, example_operands(graph, settings.example), self.results)
        cost = settings.cost if assumes(graph, settings.example) else at_hand(settings.cost)
        return Problem(graph, sizes, cost, evaluations=self.evaluations)


def as_written(program: Encoded, settings: Settings) -> Extraction:
    """The program as the user wrote it, with its cost."""
    return the_only_choice(_Known().problem(program, settings))


_LOOKS = 3
"""The most times that a program is saturated: each further time, laws have simplified its text."""


class Asking(Protocol):
    """Questions to an e-graph while it lives: once it is saturated, and once it was read back."""

    def ask(self, engine: EGraph, saturation: Saturation) -> None:
        """Ask the questions."""

    def hear(self, back: ReadBack, graph: TermGraph) -> None:
        """Receive the answers."""


def _saturated(
    program: Encoded,
    laws: Sequence[Law],
    settings: Settings,
    looks: list[Look] | None,
    asking: Asking | None,
    meanwhile: Callable[[], object],
) -> tuple[float, Saturation, TermGraph]:
    """Saturate a program: the seconds until it was loaded, how saturation went, and the e-graph.

    meanwhile: called in this process while laws run.
    """
    known: set[Given] = set()
    found: tuple[float, Saturation, TermGraph] | None = None
    text = program
    for _ in range(_LOOKS):
        start = time.perf_counter()
        engine = EGraph(text, laws, settings.fp, noted=looks is not None, load=False)
        try:
            tells = {*engine.equal, *told(engine.program)}
            if found is not None and tells <= known:
                break
            engine.load()
            loaded = time.perf_counter() - start
            saturation = engine.saturate(settings.limits, settings.schedule, meanwhile=meanwhile)
            if asking is not None:
                asking.ask(engine, saturation)
            back, graph = engine.read_back()
            if asking is not None:
                asking.hear(back, graph)
            if looks is not None:
                looks.append(Look(graph, engine.provenance(back), back.places, back.loops))
        finally:
            engine.close()
        found, known = (loaded, saturation, graph), known | tells
        simpler = simplified(engine.program, back.places, engine.equal, tells)
        if simpler is None:
            break
        text = simpler
    assert found is not None
    return found


@without_collections()
def optimize(
    program: Encoded,
    laws: Sequence[Law],
    settings: Settings,
    noted: bool = False,
    asking: Asking | None = None,
    before: Optimized | None = None,
) -> Optimized:
    """The cheapest program that the laws make of `program`.

    noted: record where forms come from.  asking: queries each saturated e-graph, the last one last.  before: the result
    of an earlier run with the same laws and settings, whose choice is kept where the e-graph is the same again.
    """
    start = time.perf_counter()
    looks: list[Look] | None = [] if noted else None
    known = _Known()
    as_it_is = cache(lambda: the_only_choice(known.problem(program, settings)))
    meanwhile = as_it_is if before is None else lambda: None  # it is known where the e-graph is the same again
    with _naming_own(laws):
        loading, saturation, graph = _saturated(program, laws, settings, looks, asking, meanwhile)
    saturated = time.perf_counter()
    if before is not None and before.egraph.same(graph):
        extraction, written, budget, graph = before.extraction, before.written, before.budget, before.egraph
        looks = looks and [*looks[:-1], replace(looks[-1], graph=graph)]
    else:
        written = as_it_is()
        extraction, budget = _extracted(written, graph, settings, known)
        with _naming_own(laws):
            _require_one_type(extraction)
    extracted = time.perf_counter()
    loaded = start + loading
    seconds = {"encode": loading, "saturate": saturated - loaded, "extract": extracted - saturated}
    return Optimized(extraction, written, saturation, graph, seconds, tuple(looks or ()), budget)


@contextmanager
def _naming_own(laws: Sequence[Law]) -> Iterator[None]:
    """If a law is found to be false, name the laws that do not come with scanopt below the error."""
    try:
        yield
    except UnsoundLawError as error:
        if own := [x.name for x in laws if x not in standard_laws()]:
            error.add_note(f"of the laws in use, rules= brought {', '.join(own)}: `scanopt check-law` attacks a law")
        raise


def _require_one_type(x: Extraction) -> None:
    """Raise UnsoundLawError where a chosen value has forms of different dtypes or numbers of axes.

    The e-graph itself finds those that had types before they became equal, not those that a law has made.
    """
    sizes = x.problem.sizes
    for c in {i.id for i in x.choice if not i.loop}:
        types = {}
        for f in x.problem.graph.classes[c]:
            if f.operator is not None and sizes.usable(f):
                made = sizes.result(f)
                types[made.dtype, made.ndim] = f"{f.operator} gives {made.dtype} with {axes_text(made.ndim)}"
        if len(types) > 1:
            raise UnsoundLawError(f"a law made values of different types equal: {', '.join(types.values())}")


_FEW = 100
"""The most values for which the wider problem is searched as well: if the program as written is cheaper than what was
found, some of its loops are one loop in the e-graph, which it pays to run once more than the results need."""


def _extracted(written: Extraction, graph: TermGraph, settings: Settings, known: _Known) -> tuple[Extraction, float]:
    """The cheapest program within the memory budget, and that budget in bytes.

    The program as written is compared in any case: laws may have hidden its forms behind others that are dearer.
    """
    patience = _CALLS * 1e-9 if unit_of(settings.cost) == "ns" else math.inf

    def search(problem: Problem) -> Extraction:
        return extract(problem, settings.extraction_seconds, settings.exact, patience)

    problem: Problem | None = None
    try:
        problem = known.problem(graph, settings)
        found = search(problem)
        if written.cost < found.cost and len(problem.options) <= _FEW:
            found = min(search(problem.wider()), found, key=lambda x: x.cost)
        problem = found.problem
    except NoProgramFoundError:  # the program as written remains
        found = replace(written, bound=0.0, method="written", optimal=False)
    if written.cost < found.cost:
        optimal = found.optimal or found.bound >= written.cost
        found = replace(written, bound=min(found.bound, written.cost), method="written", optimal=optimal)
    budget = budget_of(settings.memory, found, assumes(graph, settings.example))
    if problem is None or fits(found, budget):
        return found, budget
    return fitting(problem, [found, written], budget, search), budget
