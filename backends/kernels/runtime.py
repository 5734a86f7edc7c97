"""The callables that the generated Python source calls in place of a loop: they run its kernel, or return None.

They decide when a kernel is worth compiling.  A kernel declines whatever it does not handle (a length that does not
fit, an index out of range, no memory, no compiler).  Then the array steps of the same loop, which follow in the source,
compute the result or report the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from scanopt.backends.kernels.annotated import annotated
from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.build import LONGEST
from scanopt.backends.kernels.loop_report import LoopReport
from scanopt.backends.kernels.lower import lowered
from scanopt.backends.kernels.nodes import NoForm
from scanopt.backends.kernels.part_plans import PartKernels
from scanopt.backends.kernels.plan_cache import PlanCache, Shapes
from scanopt.backends.kernels.plans import Plan, Variant
from scanopt.backends.kernels.prices import MOST_SCRATCH
from scanopt.backends.kernels.sizes import Pattern, lengths_of, pattern_of, sized
from scanopt.backends.kernels.unexpected import unexpected
from scanopt.backends.kernels.workers import Threads
from scanopt.program.ir import Program
from scanopt.records import dataclass

__all__ = ["WORTH", "LoopKernel", "Planner"]

Array = np.ndarray[Any, Any]
VARIANTS, SPECIAL = 4, 2
"""The most patterns of lengths that have a kernel; the most of these that are for short axes of given lengths."""
STEP = 0.7e-6
"""The approximate seconds of one operator as an array step."""
WORTH, WAIT = 2e-3, 0.1
"""Seconds of array steps in all calls after which a kernel is made; in one call, from which on the call waits."""


@dataclass
class Planner:
    """The kernels of a body: one for each pattern of lengths, and a plan for each list of shapes."""

    body: Body
    threads: Threads = field(default_factory=Threads)
    variants: dict[Pattern, Variant | str] = field(default_factory=dict[Pattern, Any])

    def __post_init__(self) -> None:
        self.parts = PartKernels(self.body, self.threads)
        self.plan = PlanCache(self._planned)
        """The plan for a key; None where array steps have to run."""

    def report(self, program: Program) -> LoopReport:
        """The outcome for the loop or program of the body.  program: the one that it is a part of."""
        made = [v for v in list(self.variants.values()) if isinstance(v, Variant)]
        shown = tuple(annotated(v.text, v.recipe, self.body, program) for v in made)
        most = max((plan.size for plan in self.plan.found()), default=0)
        texts, parts = tuple(v.text for v in made), self.parts.texts()
        told = self.parts.told()
        return LoopReport(self.body.loop.label, self.state(), (*texts, *parts), (*shown, *parts), most, told)

    def state(self) -> str:
        """The state of the kernels, as text."""
        found = list(self.variants.values())
        if not found:
            odd = "lengths that do not fit, that values decide, or that are 0"
            return f"array steps: {odd if self.plan else 'so far it took too little time for a kernel'}"
        reasons = [v if isinstance(v, str) else v.build.trouble for v in found]
        builds = [v.build for v in found if isinstance(v, Variant)]
        made = sum(b.function is not None for b in builds)
        told = [f"{made} of {len(builds)} kernels compiled"] if builds else []
        return "; ".join([*told, *(f"array steps: {r}" for r in reasons if r)])

    def _planned(self, shapes: Shapes, counts: tuple[int, ...]) -> Plan | None:
        body = self.body
        outer = dict(zip(body.outer, shapes, strict=True))
        known = sized(body, outer, dict(zip(body.counts, counts, strict=True)))
        if known is None:
            return None
        found = known.shapes
        pattern = pattern_of(body, found, known.growing, short=True)
        if pattern not in self.variants and len(self.variants) >= SPECIAL:
            pattern = pattern_of(body, found, known.growing)
        if pattern not in self.variants and len(self.variants) < VARIANTS:
            try:
                self.variants[pattern] = Variant.of(lowered(body, lengths_of(body, pattern, found), tiles=True))
            except NoForm as reason:
                self.variants[pattern] = str(reason)
            except Exception as error:  # array steps can always run instead
                self.variants[pattern] = unexpected(error)
        variant = self.variants.get(pattern)
        if variant is None or isinstance(variant, str) or not variant.recipe.lengths.hold(found):
            return None
        return Plan(body, variant, found, parted=self.parts.plan(pattern, variant.recipe.lengths, found, known.steps))


@dataclass
class LoopKernel:
    """The kernel of one loop, compiled when this is worth it.

    always: whether the first call waits for it.  name: its name in the source.
    """

    name: str
    body: Body
    always: bool
    threads: Threads = field(default_factory=Threads)
    spent: float = 0.0

    def __post_init__(self) -> None:
        self.planner = Planner(self.body, self.threads)
        body, places = self.body, {name: i for i, name in enumerate(self.body.outer)}
        self._dtypes = [np.dtype(body.types[name].dtype) for name in body.outer]
        self._sources = [places[r.source] for r in body.loop.reads]
        self._inits = [(places[s.init], s.depth) for s in body.loop.states]
        self._ops = max(1, self.body.size)
        self._ends_early, self._taken, self._calls = body.loop.until is not None, 1 << 40, 0
        self._counts = [places[name] for name in body.counts]

    @property
    def fewest(self) -> int:
        """The least number of steps for which a compiled kernel is faster."""
        return 1 if self.always else max(2, 24 // self._ops)

    def __call__(self, n: int, *values: Any) -> list[Array] | None:
        """Run at most n steps; return the arrays that the loop keeps, or None where array steps have to run."""
        try:
            return self._called(n, values)
        except (MemoryError, OSError, ArithmeticError, TypeError, ValueError):
            return None

    def _called(self, n: int, values: Sequence[Any]) -> list[Array] | None:
        cost = n * self._ops * STEP
        if not self.always and not self._pays(cost):
            return None
        arrays = [v if type(v) is np.ndarray else np.asarray(v) for v in values]
        if not self._fit(n, arrays):
            return None
        key = tuple([x.shape for x in arrays]), tuple([int(arrays[i]) for i in self._counts])
        plan = self.planner.plan(key)
        if plan is None or (self.body.whole and plan.size > MOST_SCRATCH):
            return None
        function = plan.variant.compiled(self._patience(cost))
        if not function:
            return None
        found = plan.run(function, n, arrays)
        self._taken = plan.taken if found is not None else n
        return found

    def _patience(self, cost: float) -> float:
        """Seconds to wait for a compiler: the time that array steps would take."""
        return LONGEST if self.always else cost if cost > WAIT and not self._ends_early else 0.0

    def _pays(self, cost: float) -> bool:
        """Whether to use a kernel: array steps have taken long enough, and the loop does not end after a few steps.

        If it did so the last time, most calls run array steps, and every 16th call tries the kernel again.
        """
        if self.spent < WORTH:
            self.spent += min(cost, WORTH / 16) if self._ends_early else cost
            return self.spent >= WORTH
        self._calls += 1
        return not self._ends_early or self._taken >= self.fewest or self._calls % 16 == 0

    def _fit(self, n: int, arrays: Sequence[Array]) -> bool:
        """Whether dtypes and numbers of rows are those that the loop expects."""
        for x, dtype in zip(arrays, self._dtypes, strict=True):
            if x.dtype != dtype:
                return False
        for i in self._sources:
            if len(arrays[i]) < n:
                return False
        for i, depth in self._inits:  # noqa: SIM110  (all() of a generator takes three times as long)
            if len(arrays[i]) != depth:
                return False
        return True
