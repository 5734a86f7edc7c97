"""function(): a symbolic graph made callable, optimized on the way."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scanopt.array.variable import SharedVariable
from scanopt.calculus.forms import TermGraph
from scanopt.calculus.law import INPLACE, Law, allowed, known_laws, named_laws
from scanopt.compilation.callable import Runnable, compiled
from scanopt.compilation.cautions import warn_of_memory, warn_of_streams
from scanopt.compilation.explanation import Explanation, Recording, record, told
from scanopt.compilation.optimize import Settings
from scanopt.compilation.planning import OptimizationPlan, Request, checked_cost
from scanopt.compilation.report import Report
from scanopt.compilation.signature import Signature, signature
from scanopt.config import config
from scanopt.displayed import Displayed
from scanopt.egraph.schedule import Schedule, as_schedule
from scanopt.extraction.calibrated_cost import as_cost, unit_of
from scanopt.extraction.cost import CostModel
from scanopt.extraction.extract import Extraction
from scanopt.forks import once
from scanopt.interpreter import interpret
from scanopt.loops.graph import loops_of
from scanopt.loops.profile import FunctionProfile
from scanopt.loops.shared import forgotten_streams
from scanopt.loops.site import is_truth, show
from scanopt.memory import as_bytes
from scanopt.modes import Mode, as_mode
from scanopt.program.ir import Program
from scanopt.program.lower import lower
from scanopt.program.serial import from_json, to_json
from scanopt.program.storage.placement import keep_storage, storage_of
from scanopt.program.storage.rules import storage_rules

if TYPE_CHECKING:
    from scanopt.lab.growth import Growth
    from scanopt.lab.why_not import WhyNot

__all__ = ["Function", "Report", "function", "watching"]


class Function(Runnable, Displayed):
    """A compiled function: call it with values for its inputs, by position or by name.

    name: as given.  example: values for sizes, or None.  last_call: values of the inputs in the
    last call, kept inside `watching()` only.  With mode="unoptimized" the interpreter runs it, and
    `program` is the program as written.  profile: times of its calls and loops, None where they are not collected.

    It can be pickled: program, graph and the values of shared variables are kept, and compiled again
    where it is unpickled.  Laws and cost models of one's own are not, so that `explain()` and
    `egraph` then raise RuntimeError.  Pickles execute what they say: unpickle only what you trust, and
    use `save` and `load` for files of others.
    """

    _rows_fit = True

    def __init__(
        self, plan: OptimizationPlan, name: str | None, known: tuple[Program, Report] | None = None, profile: str = ""
    ) -> None:
        """known: program and report, where there is nothing to optimize any more.  profile: a title, "" for none."""
        super().__init__(plan.request.signature, name)
        self.example = plan.request.example
        self.last_call: Sequence[Any] | None = None
        self._plan = plan
        self._seconds: dict[str, float] = {}
        self._compiled: Any = None
        titles = (
            tuple(dict.fromkeys(node.title for node in loops_of(plan.request.signature.results))) if profile else ()
        )
        self.profile = FunctionProfile(profile, titles=titles) if profile else None
        if known is not None:
            self.program, self.report = known
            self._seconds = self.report.seconds
            self._compiled = compiled(self.program, plan.request.backend) if plan.request.optimizes else None
        elif plan.request.optimizes:
            warn_of_memory(plan.done)
            self._seconds = dict(plan.done.seconds)
            self._seconds["encode"] += plan.encode_seconds
            start = time.perf_counter()
            program = self.program
            lowered = time.perf_counter()
            self._compiled = compiled(program, plan.request.backend)
            self._seconds |= {"lower": lowered - start, "compile": time.perf_counter() - lowered}
        if self.profile is None and not _WATCHERS:
            self._enter_quickly()

    # Calling

    def _run(self, values: Sequence[Any]) -> list[Any]:
        if _WATCHERS:
            self.last_call = values[: len(self.inputs)]
        start = time.perf_counter()
        results: list[Any] = self._interpret(values) if self._compiled is None else self._compiled(values)
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
        return compiled(self.initial, self._plan.request.backend)

    def _interpret(self, values: Sequence[Any]) -> list[Any]:
        s = self._plan.request.signature
        given = zip((*s.inputs, *s.shared), values, strict=True)
        results: list[Any] = interpret(s.results, dict(given), profiled=self._plan.request.profiled)
        return results

    # Others like it

    def copy(
        self,
        share_memory: bool = False,
        swap: Mapping[SharedVariable, SharedVariable] | None = None,
        delete_updates: bool = False,
        name: str | None = None,
    ) -> Function:
        """A function that computes the same with other shared variables, or without updates.

        share_memory: accepted and without effect: each function has buffers of its own.  swap: shared
        variables by those they stand in for.  delete_updates: leave out all updates; it is optimized anew then.
        name: by default this one's and "copy".
        Raises TypeError, ValueError for shared variables that do not fit or that it does not use.

        Source: the documents' `Function.copy`.
        """
        changed = self._signature.swapped(swap or {}, delete_updates)
        same = len(changed.results) == len(self._signature.results)
        known = (self.program, self.report) if same else None
        return Function(self._plan.for_signature(changed), name or (self.name and f"{self.name} copy"), known)

    def without(self, *names: str) -> Function:
        """The same function, compiled without some laws.

        names: laws or rulesets, "inplace" for results in place.  Raises ValueError, naming those near, for one that
        there is not.

        >>> from scanopt import tensor as T
        >>> x = T.dvector("x")
        >>> f = function([x], x * 1.0)
        >>> f.cost < f.without("algebra").cost
        True
        """
        plan = self._plan
        left_out = {x.name for name in names if name != INPLACE for x in named_laws(plan.known, name)}
        laws = tuple(x for x in plan.laws if x.name not in left_out)
        made = Function(plan.with_laws(laws, INPLACE not in names), self.name)
        made.last_call = self.last_call
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._plan, self.name, to_json(self.program), self.report)

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
        made = lower(extraction, self.fp == "exact")
        if not self._plan.settings.in_place:
            keep_storage(made, storage_of(made, storage_rules(in_place=False)))
        return made

    @property
    def source(self) -> str:
        """The text that runs."""
        if self._compiled is None:
            return "# mode='unoptimized': the interpreter runs the graph step by step"
        return str(self._compiled.source)

    # What optimization did

    @property
    def rules(self) -> tuple[Law, ...]:
        """The laws that could fire: those of the licence but for excluded ones, and further ones."""
        return self._plan.laws

    @property
    def egraph(self) -> TermGraph:
        """All classes of equal terms that were found."""
        return self._plan.done.egraph

    @property
    def laws(self) -> dict[str, int]:
        """Matches per law that fired."""
        return self._plan.done.saturation.matches

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
        """What optimization did."""
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
        return told(self.recording)

    @once
    def recording(self) -> Recording:
        """The optimization once more, with what its engine noted down: what `explain` and `history` tell."""
        p = self._plan
        asking = importlib.import_module("scanopt.lab.law_probe").IdleLaws(p.known)
        return record(p.program, p.laws, p.settings, asking)

    def history(self) -> dict[str, Any]:
        """What the optimizer did, as plain data that `json.dump` writes: see docs/history.md.

        Programs before and after and after each law in use, with names that stay the same; all classes of equal terms
        that were found, with what each costs and the law that made it; what kept the other laws from firing.  The
        program is optimized again, and noted down what is done.

        >>> from scanopt import tensor as T
        >>> x = T.dvector("x")
        >>> [step["law"] for step in function([x], T.exp(x * 1.0)).history()["steps"]]
        ['right_identity']
        """
        made: dict[str, Any] = importlib.import_module("scanopt.history.document").history(self)
        return made

    def growth(self) -> Growth:
        """What each law did to the e-graph, round by round: matches, time, forms made, classes united.

        The laws run again, one by one, so that each can be told from the others; where a limit stopped
        them, `exploding` is the law that made most.
        """
        p = self._plan
        made: Growth = importlib.import_module("scanopt.lab.growth").growth(p.program, p.laws, p.settings)
        return made

    def why_not(self, name: str) -> WhyNot:
        """What kept the laws of a name from doing more: `print` it.

        name: of a law or a ruleset.  For each law: how often it fired and what that saved; where its
        pattern was found and which condition did not hold there; or that it was never found, or not
        allowed.  The program is optimized again to find out.
        Raises ValueError where no law or ruleset has the name.

        >>> from scanopt import tensor as T
        >>> x = T.dvector("x")
        >>> print(function([x], x * 2.0).why_not("right_identity"))
        right_identity: did not fire: its pattern was found once
            once neutral(op, e, d) is not known: op(x, e) = x for every x of dtype d (trait of op, e a constant)
                at x * 2.
        """
        p, asked = self._plan, importlib.import_module("scanopt.lab.why_not")
        made: WhyNot = asked.why_not(p.program, p.known, p.laws, name, p.settings, p.done)
        return made

    def show(self, path: str = "report.html") -> str:
        """Write one offline page: programs before and after, laws step by step, e-graph, costs.  Returns the path."""
        page = importlib.import_module("scanopt.view.page").page_html(self.history())
        Path(path).write_text(page, encoding="utf-8")
        return path


_WATCHERS: list[list[Function]] = []


@contextmanager
def watching() -> Iterator[list[Function]]:
    """Collect the functions compiled inside the block, in order.

    >>> with watching() as made:
    ...     pass
    >>> made
    []
    """
    made: list[Function] = []
    _WATCHERS.append(made)
    try:
        yield made
    finally:
        _WATCHERS.remove(made)


def _restored(plan: OptimizationPlan, name: str | None, program: str, report: Report) -> Function:
    """A function that was pickled."""
    return Function(plan, name, (from_json(program), report))


def function(
    inputs: Any,
    outputs: Any = None,
    updates: Any = None,
    givens: Any = None,
    mode: str | Mode | None = None,
    fp: str = "reassoc",
    backend: str = "auto",
    exclude: Iterable[str] = (),
    rules: Iterable[Law] = (),
    cost: CostModel | str | PathLike[str] | None = None,
    example: Sequence[Any] | None = None,
    on_unused_input: str = "raise",
    allow_input_downcast: bool | None = None,
    no_default_updates: bool | Iterable[SharedVariable] = False,
    name: str | None = None,
    schedule: Schedule | str | None = None,
    memory: float | str | None = None,
    profile: bool | str | None = None,
) -> Function:
    """Compile symbolic outputs into a function of symbolic inputs.

    inputs: list of variables, pairs (variable, default value) or `In`s; a computed one cuts the graph there.
    outputs: a variable, or a list or dict of them (the function returns an array, a list or a dict), or None.
    updates: dict or pairs of shared variable and new value; all are set after each call, computed from the values
    before.  givens: dict or pairs of a variable and what stands in its place, as in `clone`.
    mode: a `Mode` or its name (default: config.mode); "unoptimized" runs the interpreter, "FAST_COMPILE" leaves out
    laws that take time to apply.  A loop with a mode of its own is rewritten by the laws that this one allows.
    fp: "exact" (equal to the interpreter bit for bit), "reassoc" (rounding may differ) or "fast" (formulas may).
    backend: "auto" (NumPy, and loops that take long as kernels in C), "numpy" (no kernels), "c" (kernels at once), or
    "cupy".  exclude: names of laws or rulesets to leave out, "inplace" for results in place.  rules: further laws.
    cost: a cost model: a function of `Work`, the name of one ("numpy" prices array steps, "default" what the executor
    runs), "calibrated", or a file of measured costs (default: config.cost).  schedule: a `Schedule` or its name: which
    laws run when (default: all, until nothing is new).  example: one value per input, for sizes.
    memory: the bytes that the program may hold at those sizes, beside its arguments: a number, "2GB", or "free" for
    what the machine has free (default: config.memory).  Warns where no program that was found holds so little.
    on_unused_input: "raise", "warn" or "ignore".  allow_input_downcast: True lets all arguments lose
    precision, False none; None (the default) Python floats, alone or in lists.
    no_default_updates: True, or those shared variables whose default update is left out.
    profile: True or a title to collect times of calls, of all loops and of the operators of their steps, as
    `f.profile` (default: config.profile).
    Warns, once per function, of random numbers of a loop whose updates were not passed: they repeat.
    Raises TypeError or ValueError for arguments that do not fit, naming them.

    >>> from scanopt import tensor as T
    >>> x = T.vector("x")
    >>> function([x], (x * x).sum())([1.0, 2.0])
    array(5.)
    """
    chosen = as_mode(config.mode if mode is None else mode)
    title = _profiled(config.profile if profile is None else profile, name)
    made_of = signature(
        inputs, outputs, updates, on_unused_input, allow_input_downcast, givens, no_default_updates
    )  # fmt: skip
    known, order = known_laws(rules), as_schedule(schedule)
    names = [n for x in known for n in (x.name, x.ruleset)]
    order.check(names)
    modes = _modes(chosen, made_of, names)
    left_out = tuple(exclude) if isinstance(exclude, Iterable) and not isinstance(exclude, str) else exclude
    laws = tuple(x for x in allowed(known, fp, left_out) if any(m.allows(x.ruleset, x.name) for m in modes))
    in_place = INPLACE not in left_out and all(INPLACE not in m.excluded for m in modes)
    settings = Settings(
        fp, checked_cost(_costs(cost, backend)), schedule=order, in_place=in_place, memory=_limit(memory, backend)
    )  # fmt: skip
    optimizes = any(m.optimizes for m in modes)
    values = None if example is None else made_of.read_example(example)
    plan = OptimizationPlan(Request(made_of, laws, settings, backend, values, optimizes, chosen, known, bool(title)))
    if no_default_updates is not True:
        warn_of_streams(forgotten_streams(made_of.results, made_of.updates))
    return _watched(Function(plan, name, profile=title))


def _modes(chosen: Mode, asked: Signature, names: Sequence[str]) -> list[Mode]:
    """The modes of a function and of its loops.  names: of laws and rulesets that there are.  Raises ValueError."""
    modes = [chosen, *(node.mode for node in loops_of(asked.results) if node.mode is not None)]
    for m in modes:
        m.check([*names, INPLACE])
    return modes


def _watched(made: Function) -> Function:
    for watcher in _WATCHERS:
        watcher.append(made)
    return made


def _profiled(profile: Any, name: str | None) -> str:
    """The title of a function's profile, "" for none.  Raises TypeError for a name or profile that is none."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string, found {name!r}")
    if not (isinstance(profile, str) or is_truth(profile)):
        raise TypeError(f"profile must be True, False or a title, found {show(profile)}")
    return profile if isinstance(profile, str) else (name or "a function") if profile else ""


def _costs(cost: CostModel | str | PathLike[str] | None, backend: str) -> CostModel:
    """The cost model asked for, here or by config; by default that of the executor, which runs the program."""
    asked = config.cost if cost is None else cost
    if isinstance(asked, str) and asked == "default":
        own: CostModel | None = getattr(importlib.import_module("scanopt.backends").executor(backend), "cost", None)
        if own is not None:
            return own
    return as_cost(asked)


def _limit(memory: float | str | None, backend: str) -> float | None:
    """The bytes that a program may hold; None for what the machine has free, which says nothing of a device."""
    found = as_bytes(config.memory if memory is None else memory)
    executor = importlib.import_module("scanopt.backends").executor(backend)
    return math.inf if found is None and getattr(executor, "on_device", False) else found
