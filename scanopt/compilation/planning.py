"""What one compilation starts from, and what optimization makes of it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from scanopt.analysis.sizes import example_operands
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.law import Law, standard_laws
from scanopt.compilation.optimize import Optimized, Settings, as_written, optimize
from scanopt.compilation.signature import Signature
from scanopt.egraph.encode import encode
from scanopt.egraph.session import Saturation
from scanopt.extraction.calibrated_cost import unit_of
from scanopt.extraction.cost import CostModel, Work, numpy_cost
from scanopt.extraction.extract import Extraction
from scanopt.extraction.problem import Instance
from scanopt.forks import once

__all__ = ["OptimizationPlan", "checked_cost"]

Array = np.ndarray[Any, Any]
NOT_KEPT = (
    "this function was pickled, which keeps no laws and no cost model of one's own: it runs, but to ask what "
    "optimization did, compile it again"
)


class OptimizationPlan:
    """Everything that optimization starts from, and what it found.

    Each part is made when it is first asked for.  Pickled, it keeps the graph and the names of the
    laws, and makes the rest again.  example: values for sizes, or None.  known: all laws that were
    there to choose from.  profiled: whether the times of all loops are collected.
    """

    def __init__(
        self,
        signature: Signature,
        laws: tuple[Law, ...],
        settings: Settings,
        backend: str,
        example: list[Array] | None,
        optimizes: bool,
        known: tuple[Law, ...] | None = None,
        profiled: bool = False,
    ) -> None:
        self.signature = signature
        self.backend = backend
        self.example = example
        self.optimizes = optimizes
        self.profiled = profiled
        self.encode_seconds = 0.0
        self._settings = settings
        self._law_names: tuple[str, ...] | None = None
        self.laws = laws
        self._known = known

    def for_signature(self, signature: Signature) -> OptimizationPlan:
        """The same plan for another signature."""
        made = OptimizationPlan.__new__(OptimizationPlan)
        kept = (
            "backend",
            "example",
            "optimizes",
            "profiled",
            "encode_seconds",
            "laws",
            "_law_names",
            "_settings",
            "_known",
        )
        made.__dict__ |= {k: v for k, v in self.__dict__.items() if k in kept} | {"signature": signature}
        return made

    def with_laws(self, laws: tuple[Law, ...], in_place: bool = True) -> OptimizationPlan:
        """The same plan with other laws.  in_place: False leaves that out as well."""
        settings = replace(self._settings, in_place=in_place and self._settings.in_place)
        return OptimizationPlan(
            self.signature, laws, settings, self.backend, self.example, self.optimizes, self.known, self.profiled
        )

    @property
    def known(self) -> tuple[Law, ...]:
        """All laws that were there to choose from."""
        return standard_laws() if self._known is None else self._known

    def __getstate__(self) -> dict[str, Any]:
        kept = ("signature", "backend", "example", "optimizes", "profiled", "encode_seconds")
        settings = self._settings if unit_of(self._settings.cost) else replace(self._settings, cost=numpy_cost)
        return {k: self.__dict__[k] for k in kept} | {
            "_law_names": self._kept_names(),
            "_settings": settings,
            "_known": None,
        }

    def _kept_names(self) -> tuple[str, ...] | None:
        """The names of the laws, None where they or the costs are of one's own."""
        if "laws" not in self.__dict__:
            return self._law_names
        standard = {x.name: x for x in standard_laws()}
        if not unit_of(self._settings.cost) or any(standard.get(x.name) is not x for x in self.laws):
            return None
        return tuple(x.name for x in self.laws)

    @once
    def laws(self) -> tuple[Law, ...]:
        """The laws that may fire.  Raises RuntimeError where pickling did not keep them."""
        if self._law_names is None:
            raise RuntimeError(NOT_KEPT)
        return tuple(x for x in standard_laws() if x.name in self._law_names)

    @once
    def settings(self) -> Settings:
        """What steers optimization, with example values by the keys of the encoder."""
        return replace(self._settings, example=_keyed(self.signature, self.example))

    @once
    def program(self) -> Encoded:
        """The terms of the graph."""
        start = time.perf_counter()
        made = encode([*self.signature.inputs, *self.signature.shared], self.signature.results, self.profiled)
        self.encode_seconds = time.perf_counter() - start
        return made

    @once
    def written(self) -> Extraction:
        """The program as written."""
        return as_written(self.program, self.settings)

    @once
    def done(self) -> Optimized:
        """The optimized program; without optimization the one as written."""
        if self.optimizes:
            return optimize(self.program, self.laws, self.settings)
        return Optimized(self.written, Saturation(), self.program, {})

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
        if int(key) >= len(self.signature.inputs):
            return "its value"
        if self.example is not None:
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
                out[label] = f"{most}{sizes.steps(i.id)} steps ({self._origin_of(Instance(info.steps, i.phases[:-1]))})"
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
    """A cost model; the results of a user's own are looked at."""
    if unit_of(cost):
        return cost
    held = getattr(cost, "held", 0.0)
    if isinstance(held, bool) or not isinstance(held, Real) or not 0 <= float(held) < math.inf:
        raise ValueError(f"the cost model has held = {held!r}: the price of a byte is a finite number, not negative")

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
        raise ValueError(f"the cost model gave {value!r} for {what}: a cost is a finite number, not negative")

    price.held = float(held)  # type: ignore[attr-defined]
    return price


def _keyed(s: Signature, values: Sequence[np.ndarray[Any, Any]] | None) -> Mapping[str, np.ndarray[Any, Any]] | None:
    """Example values by the keys of the encoder; shared variables have values of their own."""
    shared = {f"{len(s.inputs) + i}": x.get_value(borrow=True) for i, x in enumerate(s.shared)}
    if values is None:
        return shared or None
    return {f"{i}": v for i, v in enumerate(values)} | shared
