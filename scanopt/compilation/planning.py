"""The starting point of a compilation, and the result of its optimization."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from scanopt.analysis.sizes import example_operands
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.law import Law
from scanopt.compilation.chosen_laws import ChosenLaws
from scanopt.compilation.settings import Settings
from scanopt.compilation.signature import Signature
from scanopt.egraph.encode import encode
from scanopt.egraph.saturation import Saturation
from scanopt.extraction.calibrated_cost import unit_of
from scanopt.extraction.cost import CostModel, Work, numpy_cost
from scanopt.forks import once
from scanopt.modes import Mode
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.compilation.optimize import Optimized
    from scanopt.extraction.extract import Extraction
    from scanopt.extraction.problem import Instance

__all__ = ["OptimizationPlan", "Request", "checked_cost"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Request:
    """The request of a compilation.

    mode: of the function; loops may have modes of their own.  example: values for sizes, or None.
    profiled: whether the times of all loops are collected.  adapts: whether other sizes may have other programs.
    threads: that a kernel may run on, None for as many as there are processors.
    """

    signature: Signature
    laws: ChosenLaws
    settings: Settings
    backend: str
    example: list[Array] | None
    optimizes: bool
    mode: Mode = field(default_factory=Mode)
    profiled: bool = False
    adapts: bool = False
    threads: int | None = None

    def without_objects(self) -> Request:
        """The same request without what cannot be pickled: laws and a cost model of a user's own."""
        priced = bool(unit_of(self.settings.cost))
        settings = self.settings if priced else replace(self.settings, cost=numpy_cost)
        return replace(self, laws=self.laws.without_objects(priced), settings=settings)


class OptimizationPlan:
    """The start of an optimization and its results: each part is computed when it is first asked for.

    A pickle keeps the graph and how laws were chosen; the rest is computed again.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.encode_seconds = 0.0

    def for_signature(self, signature: Signature) -> OptimizationPlan:
        """The same plan for another signature."""
        return OptimizationPlan(replace(self.request, signature=signature))

    def without(self, names: tuple[str, ...]) -> OptimizationPlan:
        """The same plan without the laws and rulesets of these names."""
        laws = self.request.laws.without(names)
        settings = replace(self.request.settings, in_place=laws.in_place)
        return OptimizationPlan(replace(self.request, laws=laws, settings=settings))

    def with_example(self, values: Sequence[Any]) -> OptimizationPlan:
        """The same plan for the sizes of other values of its inputs."""
        return OptimizationPlan(replace(self.request, example=[np.asarray(x) for x in values]))

    def __reduce__(self) -> tuple[Any, ...]:
        return OptimizationPlan, (self.request.without_objects(),)

    @property
    def known(self) -> tuple[Law, ...]:
        """All laws that there were to choose from."""
        return self.request.laws.known

    @property
    def laws(self) -> tuple[Law, ...]:
        """The laws that may fire.  Raises RuntimeError where pickling did not keep them."""
        return self.request.laws.permitted

    @once
    def settings(self) -> Settings:
        """The settings of the optimization, with example values by the keys of the encoder."""
        return replace(self.request.settings, example=_keyed(self.request.signature, self.request.example))

    @once
    def program(self) -> Encoded:
        """The terms of the graph."""
        start = time.perf_counter()
        asked = self.request.signature
        made = encode([*asked.inputs, *asked.shared], asked.results, self.request.profiled)
        made.mode = self.request.mode
        self.encode_seconds = time.perf_counter() - start
        return made

    @once
    def written(self) -> Extraction:
        """The program as written."""
        from scanopt.compilation.optimize import as_written

        return as_written(self.program, self.settings) if self.found is None else self.found.written

    @once
    def done(self) -> Optimized:
        """The optimized program; the program as written if optimization is off."""
        from scanopt.compilation.optimize import Optimized, optimize

        if self.request.optimizes:
            return optimize(self.program, self.laws, self.settings)
        return Optimized(self.written, self.written, Saturation(), self.program, {})

    @property
    def found(self) -> Optimized | None:
        """The result of optimization, if it was requested before."""
        made: Optimized | None = vars(self).get("done")
        return made if self.request.optimizes else None

    def sizes(self) -> dict[str, str]:
        """Per input the size that costs are computed for, and where it comes from."""
        out: dict[str, str] = {}
        for key, x in example_operands(self.program, self.settings.example).items():
            label = self.program.input_labels.get(key) or f"input {key}"
            known = "" if x.value is None else f" = {x.value}"
            out[label] = f"{x.dtype}{list(x.shape)}{known} ({self._origin(key)})"
        return out

    def _origin(self, key: str) -> str:
        """Where the size of an input comes from."""
        type = self.program.inputs[key]
        if int(key) >= len(self.request.signature.inputs):
            return "its value"
        if self.request.example is not None:
            return "of the example"
        count = type.ndim == 0 and np.dtype(type.dtype).kind in "iu"
        return "assumed" if None in type.shape or count else "static"

    def trips(self) -> dict[str, str]:
        """Per loop of the program the number of steps that costs are computed for, and where it comes from."""
        x = self.done.extraction
        g, sizes = x.problem.graph, x.problem.sizes
        out: dict[str, str] = {}
        for i in x.choice:
            if i.loop:
                info = g.clocks[i.id]
                label = "&".join(info.labels) or f"loop{i.id}"
                most = "at most " if info.until else ""
                out[label] = f"{most}{sizes.steps(i.id)} steps ({self._origin_of(x.choice[i].needs[0])})"
        return out

    def _origin_of(self, count: Instance) -> str:
        """Where a number of steps comes from: the inputs that it is computed from."""
        x = self.done.extraction
        if x.problem.sizes.of[count.id].operand.value is None:
            return "assumed"
        origins: set[str] = set()
        seen: set[Instance] = set()
        todo = [count]
        while todo:
            i = todo.pop()
            if i not in seen:
                seen.add(i)
                form = x.choice[i].form
                todo.extend(x.choice[i].all_needs)
                if form is not None and form.kind == "input":
                    origins.add(self._origin(form.key))
        return next((o for o in ("assumed", "of the example", "its value", "static") if o in origins), "static")


def checked_cost(cost: CostModel) -> CostModel:
    """A cost model; if it is a user's own, its results are checked."""
    if unit_of(cost):
        return cost
    held = getattr(cost, "held", 0.0)
    if isinstance(held, bool) or not isinstance(held, Real) or not 0 <= float(held) < math.inf:
        raise ValueError(
            f"the cost model has held = {held!r}: the price of a byte must be a finite number that is not negative"
        )

    def price(work: Work) -> float:
        what = work.kind if work.op is None else str(work.op)
        try:
            value: Any = cost(work)
        except Exception as error:
            types = ", ".join(str(x.type) for x in work.args) or "no arguments"
            error.add_note(f"while the cost model priced {what} of {types}")
            raise
        if isinstance(value, Real) and 0 <= float(value) < math.inf:
            return float(value)
        raise ValueError(
            f"the cost model gave {value!r} for {what}: a cost must be a finite number that is not negative"
        )

    price.held = float(held)  # type: ignore[attr-defined]
    return price


def _keyed(s: Signature, values: Sequence[np.ndarray[Any, Any]] | None) -> Mapping[str, np.ndarray[Any, Any]] | None:
    """Example values by the keys of the encoder; shared variables have values of their own."""
    shared = {f"{len(s.inputs) + i}": x.get_value(borrow=True) for i, x in enumerate(s.shared)}
    if values is None:
        return shared or None
    return {f"{i}": v for i, v in enumerate(values)} | shared
