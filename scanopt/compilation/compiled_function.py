"""A compiled function: calling it, asking what optimization did, and making variants of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scanopt import features
from scanopt.array.variable import SharedVariable
from scanopt.calculus.forms import TermGraph
from scanopt.calculus.law import Law
from scanopt.compilation.alternatives import Alternatives, Known, alternatives_of
from scanopt.compilation.callable import Runnable, compiled
from scanopt.compilation.cautions import warn_of_memory
from scanopt.compilation.planning import OptimizationPlan
from scanopt.compilation.regions import Regions
from scanopt.compilation.report import Report
from scanopt.config import config
from scanopt.displayed import Displayed
from scanopt.extraction.calibrated_cost import unit_of
from scanopt.forks import once
from scanopt.interpreter import interpret
from scanopt.loops.graph import loops_of
from scanopt.loops.profile import FunctionProfile
from scanopt.pauses import without_collections
from scanopt.program.ir import Program
from scanopt.program.serial import from_json, to_json
from scanopt.program.storage.placement import keep_storage, storage_of
from scanopt.program.storage.rules import storage_rules

if TYPE_CHECKING:
    from scanopt.compilation.explanation import Explanation, Recording
    from scanopt.extraction.extract import Extraction
    from scanopt.lab.growth import Growth
    from scanopt.lab.why_not import WhyNot

__all__ = ["Function", "Report", "watched", "watching"]


class Function(Runnable, Displayed):
    """A compiled function: call it with values for its inputs, by position or by name.

    name: as given.  example: values for sizes, or None.  last_call: values of the inputs in the
    last call, kept inside `watching()` only.  With mode="unoptimized" the interpreter runs it, and
    `program` is the program as written.  profile: times of its calls and loops, None if they are not collected.

    It can be pickled: program, graph and the values of shared variables are kept, and the program is compiled again
    when it is unpickled.  Your own laws and cost models are not kept, so `explain()` and `egraph` then raise
    RuntimeError.  Unpickling executes code: unpickle only what you trust, and use `save` and `load` for files of
    others.
    """

    _rows_fit = True

    @without_collections()
    def __init__(self, plan: OptimizationPlan, name: str | None, known: Known | None = None, profile: str = "") -> None:
        """known: the results of an earlier optimization, if any.  profile: a title, "" for none."""
        super().__init__(plan.request.signature, name)
        self.example = plan.request.example
        self.last_call: Sequence[Any] | None = None
        self._plan, self._threads = plan, plan.request.threads
        self._seconds: dict[str, float] = {}
        self._compiled: Any = None
        titles = (
            tuple(dict.fromkeys(node.title for node in loops_of(plan.request.signature.results))) if profile else ()
        )
        self.profile = FunctionProfile(profile, titles=titles) if profile else None
        if known is not None:
            self.program, self.report, self.alternatives = known.program, known.report, known.alternatives
            self._seconds = self.report.seconds
            self._compiled = self._run_by(self.program) if plan.request.optimizes else None
        elif plan.request.optimizes:
            warn_of_memory(plan.done)
            self._seconds = dict(plan.done.seconds)
            self._seconds["encode"] += plan.encode_seconds
            start = time.perf_counter()
            program = self.program
            lowered = time.perf_counter()
            self._compiled = self._run_by(program)
            self._seconds |= {"lower": lowered - start, "compile": time.perf_counter() - lowered}
        self._adapt()
        if self.profile is None and not _WATCHERS:
            self._enter_quickly()

    def _adapt(self) -> None:
        """Set up the choice of programs for the sizes of calls, if there are alternatives."""
        if (among := self.alternatives) is not None:
            first = self.program, self._compiled, self.cost
            self._regions = Regions(among, self._plan, first, self._lowered, self._run_by)

    @once
    def alternatives(self) -> Alternatives | None:
        """The forms that programs for other sizes are chosen from; None unless requested, with costs that are times."""
        asked = self._plan.request
        if asked.optimizes and asked.adapts and unit_of(self._plan.settings.cost):
            return alternatives_of(self._plan)
        return None

    def _run_by(self, program: Program) -> Any:
        return compiled(program, self.backend, self._threads, self._for_device)

    # Calling

    def _run(self, values: Sequence[Any]) -> list[Any]:
        if _WATCHERS:
            self.last_call = values[: len(self.inputs)]
        start = time.perf_counter()
        run = self._compiled if self._regions is None else self._regions.program_for(values)
        results: list[Any] = self._interpret(values) if run is None else run(values)
        if self.profile is not None:
            self.profile.record(time.perf_counter() - start)
        return results

    def unoptimized(self, *args: Any, **kwargs: Any) -> Any:
        """The same call by the reference interpreter; shared variables keep their values."""
        s = self._plan.request.signature
        return s.pack(self._interpret(s.read(args, kwargs))[: len(s.outputs)])

    def as_written(self, *args: Any, **kwargs: Any) -> Any:
        """The same call by the program as written, compiled but not optimized; shared variables keep their values."""
        s = self._plan.request.signature
        return s.pack(self._initial_compiled(s.read(args, kwargs))[: len(s.outputs)])

    @once
    def _initial_compiled(self) -> Any:
        return self._run_by(self.initial)

    def _interpret(self, values: Sequence[Any]) -> list[Any]:
        s = self._plan.request.signature
        given = zip((*s.inputs, *s.shared), values, strict=True)
        results: list[Any] = interpret(s.results, dict(given), profiled=self._plan.request.profiled)
        return results

    # Variants

    def copy(
        self,
        share_memory: bool = False,
        swap: Mapping[SharedVariable, SharedVariable] | None = None,
        delete_updates: bool = False,
        name: str | None = None,
    ) -> Function:
        """A function that computes the same with other shared variables, or without updates.

        share_memory: accepted and without effect: each function has buffers of its own.  swap: shared variables,
        each with the one that replaces it.  delete_updates: leave out all updates; the program is then optimized again.
        name: by default the name of this function and "copy".
        Raises TypeError, ValueError for shared variables that do not fit or that the function does not use.

        Source: the documents' `Function.copy`.
        """
        changed = self._signature.swapped(swap or {}, delete_updates)
        same = len(changed.results) == len(self._signature.results)
        known = Known(self.program, self.report, self.alternatives) if same else None
        return Function(self._plan.for_signature(changed), name or (self.name and f"{self.name} copy"), known)

    def without(self, *names: str) -> Function:
        """The same function, compiled without some laws.

        names: laws or rulesets, "inplace" for results in place.  Raises ValueError for an unknown name, with similar
        ones.

        >>> from scanopt import function, tensor as T
        >>> x = T.dvector("x")
        >>> f = function([x], x * 1.0)
        >>> f.cost < f.without("algebra").cost
        True
        """
        made = Function(self._plan.without(names), self.name)
        made.last_call = self.last_call
        return made

    def sized_by(self, values: Sequence[Any]) -> Function:
        """The same function, optimized for the sizes of these values of its inputs, which become its example."""
        made = Function(self._plan.with_example(values), self.name)
        made.last_call = self.last_call
        return made

    def with_program(self, program: Program) -> Function:
        """The same function, run by another program of the same inputs and results."""
        return Function(self._plan, self.name, Known(program, self.report))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._plan, self.name, to_json(self.program), self.report, self.alternatives)

    # What it is

    @property
    def backend(self) -> str:
        """The executor asked for."""
        return self._plan.request.backend

    @property
    def fp(self) -> str:
        """The licence of the laws that may have fired."""
        return self._plan.settings.fp

    @once
    def program(self) -> Program:
        """The program that runs."""
        return self._lowered(self._plan.done.extraction)

    @once
    def initial(self) -> Program:
        """The program as the user wrote it."""
        return self._lowered(self._plan.written)

    def _lowered(self, extraction: Extraction) -> Program:
        from scanopt.program.lower import lower

        settings = self._plan.settings
        made = lower(extraction, self.fp == "exact", settings.matmul_precision)
        if not settings.in_place:
            keep_storage(made, storage_of(made, storage_rules(in_place=False)))
        return made

    @property
    def source(self) -> str:
        """The source text of the program."""
        if self._compiled is None:
            return "# mode='unoptimized': the interpreter runs the graph step by step"
        return str(self._compiled.source)

    # What optimization did

    @property
    def rules(self) -> tuple[Law, ...]:
        """The laws that may fire: those that the licence allows, without excluded ones, and those given by `rules`."""
        return self._plan.laws

    @property
    def egraph(self) -> TermGraph:
        """All classes of equal terms that were found."""
        return self._plan.done.egraph

    @property
    def laws(self) -> dict[str, int]:
        """Matches per law that fired."""
        return self.report.laws

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds per part of the work."""
        return self._seconds

    @property
    def cost_before(self) -> float:
        """Cost of the program as written, in nanoseconds of the cost model."""
        return self.report.cost_before

    @property
    def cost(self) -> float:
        """Cost of the program that runs, in nanoseconds of the cost model."""
        return self.report.cost

    @once
    def report(self) -> Report:
        """The figures of the optimization: costs, laws, sizes, times."""
        x, s, g = self._plan.done.extraction, self._plan.done.saturation, self.egraph
        return Report(
            cost_before=self._plan.written.cost,
            cost=x.cost,
            bound=x.bound,
            gap=x.gap,
            optimal=x.optimal,
            method=x.method,
            saturated=not s.stopped_by,
            stopped_by=s.stopped_by,
            seconds=self._seconds,
            laws=s.matches,
            enodes=g.size,
            eclasses=len(g.classes),
            iterations=len(s.growth),
            growth=s.growth,
            sizes=self._plan.sizes(),
            law_seconds=s.seconds,
            unit=unit_of(self._plan.settings.cost),
            trips=self._plan.trips(),
            aside=s.aside,
            memory=x.peak,
            budget=self._plan.done.budget,
        )

    def explain(self) -> Explanation:
        """The laws that made the program, in order, with the cost before and after each."""
        return self._explanation

    @once
    def _explanation(self) -> Explanation:
        return features.told(self.recording)

    @once
    def recording(self) -> Recording:
        """The optimization run once more with the engine recording: the source of `explain` and `history`."""
        p = self._plan
        asking = features.IdleLaws(p.known)
        return features.record(p.program, p.laws, p.settings, asking, p.found)

    def history(self, measure: bool = False) -> dict[str, Any]:
        """What the optimizer did, as plain data that `json.dump` writes: see docs/history.md.

        Programs before, after, and after each law in use, in which the same value keeps its name; all classes of equal
        terms that were found, each with its cost and the law that made it; what kept the other laws from firing.  The
        program is optimized again while the engine records what it does.
        measure: also the seconds of a call of each of these programs, with the example or the arguments of the last
        call inside `watching()`; and the forms that each law makes in each round.

        >>> from scanopt import function, tensor as T
        >>> x = T.dvector("x")
        >>> [step["law"] for step in function([x], T.exp(x * 1.0)).history()["steps"]]
        ['right_identity']
        """
        return features.history(self, measure)

    def growth(self) -> Growth:
        """What each law did to the e-graph, round by round: matches, time, forms made, classes united.

        The laws run again, one by one, so that each is measured separately; if a limit stopped them, `exploding` is the
        law that made most.
        """
        p = self._plan
        return features.growth(p.program, p.laws, p.settings)

    def why_not(self, name: str) -> WhyNot:
        """What kept the laws of a name from doing more: `print` it.

        name: of a law or a ruleset.  For each law: how often it fired and what that saved; where its
        pattern was found and which condition did not hold there; or that it was never found, or not
        allowed.  The program is optimized again to find out.
        Raises ValueError if no law or ruleset has the name.

        >>> from scanopt import function, tensor as T
        >>> x = T.dvector("x")
        >>> print(function([x], x * 2.0).why_not("right_identity"))
        right_identity: did not fire: its pattern was found once
            once neutral(op, e, d) is not known: op(x, e) = x for every x of dtype d (trait of op, e a constant)
                at x * 2.
        """
        p = self._plan
        return features.why_not(p.program, p.known, p.laws, name, p.settings, p.done)

    def show(self, path: str = "report.html", measure: bool = False) -> str:
        """Write one offline page: programs before and after, laws step by step, e-graph, costs.  Returns the path.

        measure: the page has measured times beside predicted costs, see `history`.
        """
        Path(path).write_text(features.page_html(self.history(measure)), encoding="utf-8")
        return path

    def widget(self, measure: bool = False, height: int = 640) -> Any:
        """The page of `show` as a Jupyter widget: put it at the end of a notebook's cell.

        measure: see `history`.  height: in pixels.  Its `place` is the part of the page that is shown, and setting it
        shows another: "#steps/3?v24".  Raises ImportError without anywidget: pip install scanopt[notebook].
        """
        page = features.page_html(self.history(measure))
        return features.page_widget({self.name or "function": page}, height)


_WATCHERS: list[list[Function]] = []


@contextmanager
def watching(made: list[Function] | None = None) -> Iterator[list[Function]]:
    """Collect the functions compiled inside the block, in order.  made: the list that they are appended to.

    They are optimized rather than read from disk, since watchers ask how they were optimized.

    >>> with watching() as made:
    ...     pass
    >>> made
    []
    """
    made = [] if made is None else made
    _WATCHERS.append(made)
    try:
        with config.change_flags(compilation_cache=False):
            yield made
    finally:
        _WATCHERS[:] = [x for x in _WATCHERS if x is not made]


def watched(made: Function) -> Function:
    """Add a function to the list of each active `watching()`; return it."""
    for watcher in _WATCHERS:
        watcher.append(made)
    return made


def _restored(
    plan: OptimizationPlan, name: str | None, program: str, report: Report, alternatives: Alternatives | None = None
) -> Function:
    """Restore a pickled function."""
    return Function(plan, name, Known(from_json(program), report, alternatives))
