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
from scanopt.calculus.encode import Encoded, encode
from scanopt.calculus.forms import TermGraph
from scanopt.calculus.law import Law, select
from scanopt.calculus.optimize import Optimized, Settings, as_written, optimize
from scanopt.explanation import Explanation, explain
from scanopt.interpreter import interpret
from scanopt.program.ir import Program
from scanopt.program.lower import lower

__all__ = ["Function", "Report", "function", "watching"]

MODES = (None, "optimized", "unoptimized")


@dataclass(frozen=True)
class Report:
    """What optimization did.

    cost_before, cost: nanoseconds by the cost model; bound: no program in the e-graph costs less;
    optimal: proven so for the result; gap: else the part that could still be saved.
    saturated: the laws had nothing left to say (else stopped_by names the limit that was hit).
    seconds: per part of the work; laws: matches per law; growth: forms after each round.
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

    def __str__(self) -> str:
        proof = "proven the cheapest in the e-graph" if self.optimal else f"within {self.gap:.1%}"
        end = "saturated" if self.saturated else f"stopped by the limit of {self.stopped_by}"
        return (
            f"cost {self.cost_before:.4g} -> {self.cost:.4g} ({proof}, {self.method}); "
            f"{self.enodes} e-nodes in {self.eclasses} e-classes, {end}"
        )


class Function:
    """A compiled function: call it with values for its inputs, by position or by name.

    program: what runs; initial: the program as written; report: what optimization did;
    source: the text that runs; unoptimized: the same function run by the interpreter.
    """

    is_compiled = True

    def __init__(self, signature: Signature, fp: str, backend: str, name: str | None) -> None:
        self.signature = signature
        self.name = name
        self.fp = fp
        self.backend = backend
        self.example: list[np.ndarray[Any, Any]] | None = None

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """The symbolic inputs."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The symbolic outputs."""
        return self.signature.outputs

    @property
    def updates(self) -> dict[SharedVariable, Variable]:
        """New values of shared variables, set after each call."""
        return self.signature.updates

    def unoptimized(self, *args: Any, **kwargs: Any) -> Any:
        """The same call by the reference interpreter; shared variables keep their values."""
        values = self.signature.read(args, kwargs)
        return self.signature.pack(self._interpret(values)[: len(self.outputs)])

    def _interpret(self, values: Sequence[Any]) -> list[Any]:
        wanted = [*self.outputs, *self.updates.values()]
        given = zip((*self.inputs, *self.signature.shared), values, strict=True)
        return interpret(wanted, dict(given))

    def _run(self, values: Sequence[Any]) -> list[Any]:
        return self._interpret(values)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The outputs for values of the inputs, by position or by name."""
        results = self._run(self.signature.read(args, kwargs))
        n = len(self.outputs)
        self.signature.assign(results[n:])
        return self.signature.pack(results[:n])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or ''}{self.signature}>"


class OptimizedFunction(Function):
    """A compiled function with the optimized program that it runs."""

    def __init__(self, plan: _Plan, name: str | None) -> None:
        super().__init__(plan.signature, plan.settings.fp, plan.backend, name)
        self._plan = plan
        self._done = plan.optimized
        self.example = plan.example
        start = time.perf_counter()
        self.program: Program = lower(self._done.extraction)
        lowered = time.perf_counter()
        executor = importlib.import_module("scanopt.backends").executor(plan.backend)
        self._compiled = executor.compile(self.program)
        compiled = time.perf_counter()
        self._seconds = {
            "encode": plan.encode_seconds + self._done.seconds["encode"],
            "saturate": self._done.seconds["saturate"],
            "extract": self._done.seconds["extract"],
            "lower": lowered - start,
            "compile": compiled - lowered,
        }

    def _run(self, values: Sequence[Any]) -> list[Any]:
        return self._compiled(values)

    @property
    def source(self) -> str:
        """The text that runs."""
        return self._compiled.source

    @property
    def egraph(self) -> TermGraph:
        """All classes of equal terms that were found."""
        return self._done.egraph

    @cached_property
    def _written(self) -> tuple[float, Program]:
        written = as_written(self._plan.program, self._plan.settings)
        return written.cost, lower(written)

    @property
    def initial(self) -> Program:
        """The program as the user wrote it."""
        return self._written[1]

    @cached_property
    def report(self) -> Report:
        """What optimization did."""
        x, s = self._done.extraction, self._done.saturation
        return Report(
            cost_before=self._written[0],
            cost=x.cost,
            bound=x.bound,
            gap=x.gap,
            optimal=x.optimal,
            method=x.method,
            saturated=not s.stopped_by,
            stopped_by=s.stopped_by,
            seconds=self._seconds,
            laws=s.matches,
            enodes=self._done.egraph.size,
            eclasses=len(self._done.egraph.classes),
            iterations=len(s.growth),
            growth=s.growth,
            sizes=self._plan.sizes(),
        )

    @property
    def laws(self) -> dict[str, int]:
        """Matches per law that fired."""
        return self._done.saturation.matches

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds per part of the work."""
        return self._seconds

    @property
    def cost_before(self) -> float:
        """Cost of the program as written, in nanoseconds of the cost model."""
        return self._written[0]

    @property
    def cost(self) -> float:
        """Cost of the program that runs, in nanoseconds of the cost model."""
        return self._done.extraction.cost

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
        return importlib.import_module("scanopt.view.svg").program_svg(self.program)


@dataclass
class _Plan:
    """Everything that optimization starts from, and its result."""

    signature: Signature
    program: Encoded
    laws: tuple[Law, ...]
    settings: Settings
    backend: str
    example: list[np.ndarray[Any, Any]] | None
    encode_seconds: float

    @cached_property
    def optimized(self) -> Optimized:
        return optimize(self.program, self.laws, self.settings)

    def sizes(self) -> dict[str, str]:
        """Per input whether its size was given, is static, or was assumed."""
        sized = importlib.import_module("scanopt.calculus.sizes").example_operands
        out: dict[str, str] = {}
        for key, x in sized(self.program, self.settings.example).items():
            label = self.program.input_labels.get(key) or f"input {key}"
            known = "" if x.value is None else f" = {x.value}"
            given = "given" if self.settings.example else "assumed where not static"
            out[label] = f"{x.dtype}{list(x.shape)}{known} ({given})"
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
    if mode == "unoptimized":
        importlib.import_module("scanopt.backends").executor(backend)
        made = Function(made_of, fp, backend, name)
        made.example = values
    else:
        start = time.perf_counter()
        program = encode([*made_of.inputs, *made_of.shared], made_of.results)
        spent = time.perf_counter() - start
        settings = Settings(fp, cost or numpy_cost, _keyed(made_of, values))
        plan = _Plan(made_of, program, laws, settings, backend, values, spent)
        made = OptimizedFunction(plan, name)
    for watcher in _WATCHERS:
        watcher.append(made)
    return made


def _keyed(s: Signature, values: Sequence[np.ndarray[Any, Any]] | None) -> Mapping[str, np.ndarray[Any, Any]] | None:
    """Example values by the keys of the encoder; shared variables have values of their own."""
    shared = {f"{len(s.inputs) + i}": x.get_value(borrow=True) for i, x in enumerate(s.shared)}
    if values is None:
        return shared or None
    return {f"{i}": v for i, v in enumerate(values)} | shared
