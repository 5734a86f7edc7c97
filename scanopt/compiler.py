"""function(): a symbolic graph made callable, optimized on the way."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from scanopt.arguments import Signature, signature
from scanopt.array.variable import SharedVariable, Variable
from scanopt.calculus.cost import CostModel, numpy_cost
from scanopt.calculus.egraph import Saturation
from scanopt.calculus.encode import Encoded, encode
from scanopt.calculus.extract import Extraction
from scanopt.calculus.forms import TermGraph
from scanopt.calculus.law import Law, select
from scanopt.calculus.optimize import Optimized, Settings, as_written, optimize
from scanopt.calculus.sizes import example_operands
from scanopt.explanation import Explanation, explain
from scanopt.interpreter import interpret
from scanopt.program.ir import Program
from scanopt.program.lower import lower

__all__ = ["Function", "Report", "function", "watching"]

MODES = (None, "optimized", "unoptimized")


@dataclass(frozen=True)
class Report:
    """What optimization did.

    cost_before, cost: by the cost model; bound: no program in the e-graph costs less;
    optimal: proven so for the result; gap: else the part that could still be saved.
    saturated: the laws had nothing left to say (else stopped_by names the limit that was hit).
    seconds: per part of the work; laws: matches per law; growth: forms after each round.
    sizes: per input the size that costs were computed for.  unit: "ns", or "" for a cost model of one's own.
    """

    cost_before: float
    cost: float
    bound: float
    gap: float
    optimal: bool
    method: str
    saturated: bool
    stopped_by: str
    seconds: dict[str, float]
    laws: dict[str, int]
    enodes: int
    eclasses: int
    iterations: int
    growth: tuple[int, ...] = ()
    sizes: dict[str, str] = field(default_factory=dict[str, str])
    unit: str = "ns"

    def __str__(self) -> str:
        proof = "proven the cheapest in the e-graph" if self.optimal else f"within {self.gap:.1%}"
        end = "saturated" if self.saturated else f"stopped by the limit of {self.stopped_by}"
        return (
            f"cost {self.cost_before:.4g} -> {self.cost:.4g} {self.unit or 'units'} ({proof}, {self.method}); "
            f"{self.enodes} e-nodes in {self.eclasses} e-classes, {end}"
        )


class Function:
    """A compiled function: call it with values for its inputs, by position or by name.

    name: as given.  example: values for sizes, or None.  last_call: values of the inputs in the
    last call, kept inside `watching()` only.  With mode="unoptimized" the interpreter runs it, and
    `program` is the program as written.
    """

    is_compiled = True

    def __init__(self, plan: _Plan, name: str | None) -> None:
        self.name = name
        self.example = plan.example
        self.last_call: Sequence[Any] | None = None
        self._plan = plan
        self._seconds: dict[str, float] = {}
        self._compiled: Any = None
        if plan.optimizes:
            self._seconds = dict(plan.done.seconds)
            self._seconds["encode"] += plan.encode_seconds
            start = time.perf_counter()
            program = self.program
            lowered = time.perf_counter()
            self._compiled = importlib.import_module("scanopt.backends").executor(plan.backend).compile(program)
            self._seconds |= {"lower": lowered - start, "compile": time.perf_counter() - lowered}

    # Calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs for values of the inputs, by position or by name."""
        s = self._plan.signature
        values = s.read(args, kwargs)
        if _WATCHERS:
            self.last_call = values[: len(s.inputs)]
        results = self._interpret(values) if self._compiled is None else self._compiled(values)
        s.assign(results[len(s.outputs) :])
        return s.pack(results[: len(s.outputs)])

    def unoptimized(self, *args: Any, **kwargs: Any) -> Any:
        """The same call by the reference interpreter; shared variables keep their values."""
        s = self._plan.signature
        return s.pack(self._interpret(s.read(args, kwargs))[: len(s.outputs)])

    def as_written(self, *args: Any, **kwargs: Any) -> Any:
        """The same call by the program as written, compiled but not optimized; shared variables keep their values."""
        s = self._plan.signature
        return s.pack(self._initial_compiled(s.read(args, kwargs))[: len(s.outputs)])

    @cached_property
    def _initial_compiled(self) -> Any:
        return importlib.import_module("scanopt.backends").executor(self._plan.backend).compile(self.initial)

    def _interpret(self, values: Sequence[Any]) -> list[Any]:
        s = self._plan.signature
        given = zip((*s.inputs, *s.shared), values, strict=True)
        results: list[Any] = interpret(s.results, dict(given))
        return results

    # What it is

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """The symbolic inputs."""
        return self._plan.signature.inputs

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The symbolic outputs."""
        return self._plan.signature.outputs

    @property
    def updates(self) -> dict[SharedVariable, Variable]:
        """New values of shared variables, set after each call."""
        return self._plan.signature.updates

    @property
    def shared(self) -> tuple[SharedVariable, ...]:
        """The shared variables that it reads."""
        return self._plan.signature.shared

    @property
    def backend(self) -> str:
        """The executor asked for."""
        return self._plan.backend

    @property
    def fp(self) -> str:
        """The licence of the laws that may have fired."""
        return self._plan.settings.fp

    @cached_property
    def program(self) -> Program:
        """The program that runs."""
        return lower(self._plan.done.extraction)

    @cached_property
    def initial(self) -> Program:
        """The program as the user wrote it."""
        return lower(self._plan.written)

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
        return self._plan.written.cost

    @property
    def cost(self) -> float:
        """Cost of the program that runs, in nanoseconds of the cost model."""
        return self._plan.done.extraction.cost

    @cached_property
    def report(self) -> Report:
        """What optimization did."""
        x, s, g = self._plan.done.extraction, self._plan.done.saturation, self.egraph
        return Report(
            cost_before=self.cost_before,
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
            unit="ns" if self._plan.settings.cost is numpy_cost else "",
        )

    def explain(self) -> Explanation:
        """The laws that made the program, in order, with the cost before and after each."""
        return self._explanation

    @cached_property
    def _explanation(self) -> Explanation:
        fired = [x for x in self._plan.laws if x.name in self.laws]
        return explain(self._plan.program, fired, self._plan.settings)

    def show(self, path: str = "report.html") -> str:
        """Write one offline page: programs, laws step by step, costs.  Returns the path."""
        importlib.import_module("scanopt.view.report").write_report(self, path)
        return path

    def _repr_html_(self) -> str:
        return str(importlib.import_module("scanopt.view.svg").program_svg(self.program))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or ''}{self._plan.signature}>"


@dataclass
class _Plan:
    """Everything that optimization starts from, and what it found."""

    signature: Signature
    program: Encoded
    laws: tuple[Law, ...]
    settings: Settings
    backend: str
    example: list[np.ndarray[Any, Any]] | None
    encode_seconds: float
    optimizes: bool

    @cached_property
    def written(self) -> Extraction:
        """The program as written."""
        return as_written(self.program, self.settings)

    @cached_property
    def done(self) -> Optimized:
        """The optimized program; without optimization the one as written."""
        if self.optimizes:
            return optimize(self.program, self.laws, self.settings)
        return Optimized(self.written, Saturation(), self.program, {})

    def sizes(self) -> dict[str, str]:
        """Per input the size that costs are computed for, and where it comes from."""
        out: dict[str, str] = {}
        shared = {f"{len(self.signature.inputs) + i}" for i in range(len(self.signature.shared))}
        for key, x in example_operands(self.program, self.settings.example).items():
            label = self.program.input_labels.get(key) or f"input {key}"
            known = "" if x.value is None else f" = {x.value}"
            if key in shared:
                origin = "its value"
            elif self.example is not None:
                origin = "of the example"
            else:
                origin = "assumed" if None in self.program.inputs[key].shape or x.value is not None else "static"
            out[label] = f"{x.dtype}{list(x.shape)}{known} ({origin})"
        return out


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


def function(
    inputs: Any,
    outputs: Any = None,
    updates: Any = None,
    givens: Any = None,
    mode: str | None = None,
    fp: str = "reassoc",
    backend: str = "auto",
    exclude: Iterable[str] = (),
    rules: Iterable[Law] = (),
    cost: CostModel | None = None,
    example: Sequence[Any] | None = None,
    on_unused_input: str = "raise",
    allow_input_downcast: bool | None = None,
    name: str | None = None,
) -> Function:
    """Compile symbolic outputs into a function of symbolic inputs.

    inputs: list of variables.  outputs: a variable or a list of them (the function returns an array
    or a list of arrays), or None.  updates: dict or pairs of shared variable and new value, set
    after each call.  mode: "unoptimized" runs the interpreter.  fp: "exact" (equal to the
    interpreter bit for bit), "reassoc" (rounding may differ) or "fast" (formulas may).
    backend: "auto", "numpy" or "cupy".  exclude: names of laws or rulesets to leave out.
    rules: further laws.  cost: a cost model, a function of `Work`.  example: one value per input,
    for sizes.  on_unused_input: "raise", "warn" or "ignore".  allow_input_downcast: let arguments
    lose precision.
    Raises TypeError or ValueError for arguments that do not fit, naming them.

    >>> from scanopt import tensor as T
    >>> x = T.vector("x")
    >>> function([x], (x * x).sum())([1.0, 2.0])
    array(5.)
    """
    if givens:
        raise ValueError("function(givens=...) is not supported yet: build the graph with the replacement")
    if mode not in MODES:
        raise ValueError(f"mode must be one of {MODES}, found {mode!r}")
    made_of = signature(inputs, outputs, updates, on_unused_input, allow_input_downcast)
    laws = select(fp, exclude, rules)
    if cost is not None and not callable(cost):
        raise TypeError(f"cost must be a function of Work that returns a number, found {cost!r}")
    values = None if example is None else made_of.read_example(example)
    start = time.perf_counter()
    program = encode([*made_of.inputs, *made_of.shared], made_of.results)
    spent = time.perf_counter() - start
    settings = Settings(fp, cost or numpy_cost, _keyed(made_of, values))
    importlib.import_module("scanopt.backends").executor(backend)
    made = Function(_Plan(made_of, program, laws, settings, backend, values, spent, mode != "unoptimized"), name)
    for watcher in _WATCHERS:
        watcher.append(made)
    return made


def _keyed(s: Signature, values: Sequence[np.ndarray[Any, Any]] | None) -> Mapping[str, np.ndarray[Any, Any]] | None:
    """Example values by the keys of the encoder; shared variables have values of their own."""
    shared = {f"{len(s.inputs) + i}": x.get_value(borrow=True) for i, x in enumerate(s.shared)}
    if values is None:
        return shared or None
    return {f"{i}": v for i, v in enumerate(values)} | shared
