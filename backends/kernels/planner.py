"""Makes the kernels of a body: a text for each pattern of lengths, compiled, and a plan of calls for all shapes.

All that writes kernels is imported with it, which takes longer than most programs run: see `runtime`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from scanopt.backends.kernels.annotated import annotated
from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.loop_report import LoopReport
from scanopt.backends.kernels.lower import lowered
from scanopt.backends.kernels.nodes import NoForm
from scanopt.backends.kernels.part_plans import PartKernels
from scanopt.backends.kernels.plan_cache import PlanCache, Shapes
from scanopt.backends.kernels.plans import Plan, Variant
from scanopt.backends.kernels.sizes import Pattern, lengths_of, pattern_of, sized
from scanopt.backends.kernels.unexpected import unexpected
from scanopt.backends.kernels.workers import Threads
from scanopt.program.ir import Program
from scanopt.records import dataclass

__all__ = ["Planner"]

VARIANTS, SPECIAL = 4, 2
"""The most patterns of lengths that have a kernel; the most of these that are for short axes of given lengths."""


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
