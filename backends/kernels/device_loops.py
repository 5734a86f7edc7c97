"""Which loops of a program run as kernels on a device, and what the source calls for them.

As on a CPU, a kernel that does not fit its arguments returns None, and the array steps of the loop run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.kernels.body import body_of
from scanopt.backends.kernels.device_costs import kernel_step_seconds
from scanopt.backends.kernels.device_plans import DevicePlan, DeviceVariant, Launcher
from scanopt.backends.kernels.loop_report import LoopReport
from scanopt.backends.kernels.nodes import Body, Call, Map, NoForm
from scanopt.backends.kernels.plan_cache import PlanCache, Shapes
from scanopt.backends.kernels.segments import Segment, Segmenter, SegmentKernel
from scanopt.backends.kernels.sizes import lengths_of, pattern_of, shapes_of
from scanopt.program.ir import Loop, Program, Step

__all__ = ["DeviceChoice", "DeviceLoop"]

Array = Any
FEWEST = 2
"""A loop of so many steps is worth a launch."""
VARIANTS = 8
"""So many patterns of lengths have a kernel."""


@dataclass
class DeviceLoop:
    """The kernel of one loop.  name: by which the source calls it."""

    name: str
    body: Body
    launcher: Launcher
    exact: bool
    variants: dict[Any, DeviceVariant | str] = field(default_factory=dict[Any, Any])
    runs: int = 0

    def __post_init__(self) -> None:
        self._plan = PlanCache(self._planned)
        body, places = self.body, {name: i for i, name in enumerate(self.body.outer)}
        self._dtypes = [np.dtype(body.types[name].dtype) for name in body.outer]
        self._sources = [places[r.source] for r in body.loop.reads]
        self._inits = [(places[s.init], s.depth) for s in body.loop.states]
        self._counts = [places[name] for name in body.counts]

    def report(self) -> LoopReport:
        """The outcome for the loop."""
        found = list(self.variants.values())
        texts = tuple(v.text for v in found if isinstance(v, DeviceVariant) and v.function is not None)
        reasons = list(dict.fromkeys(v for v in found if isinstance(v, str)))
        if not found:
            return LoopReport(self.body.loop.label, "array steps: so far no lengths were met that fit")
        told = [f"{self.runs} runs of {len(texts)} kernels"] if texts or not reasons else []
        return LoopReport(self.body.loop.label, "; ".join([*told, *(f"array steps: {r}" for r in reasons)]), texts)

    def __call__(self, n: int, *values: Any) -> list[Array] | None:
        """What the loop keeps after at most n steps; None where array steps have to run."""
        xp = self.launcher.xp
        arrays = [xp.asarray(v) for v in values]
        if not self._fit(n, arrays):
            return None
        key = tuple(x.shape for x in arrays), tuple(int(arrays[i]) for i in self._counts)
        plan = self._plan(key)
        if plan is None or n < plan.fewest:
            return None
        try:
            found = plan.run(self.launcher, n, arrays)
        except MemoryError:  # array steps may hold less, or tell
            return None
        self.runs += found is not None
        return found

    def _fit(self, n: int, arrays: Sequence[Array]) -> bool:
        """Whether dtypes and numbers of rows are those that the loop expects."""
        return (
            all(x.dtype == dtype for x, dtype in zip(arrays, self._dtypes, strict=True))
            and all(len(arrays[i]) >= n for i in self._sources)
            and all(len(arrays[i]) == depth for i, depth in self._inits)
        )

    def _planned(self, shapes: Shapes, counts: tuple[int, ...]) -> DevicePlan | None:
        body = self.body
        outer = dict(zip(body.outer, shapes, strict=True))
        found = shapes_of(body, outer, dict(zip(body.counts, counts, strict=True)))
        if found is None:
            return None
        pattern = pattern_of(body, found)
        lengths = lengths_of(body, pattern, found)
        limits = self.launcher.limits
        plans: list[DevicePlan] = []
        for grid in (False, True) if limits.together else (False,):
            if any(p.variant.lanes.numbers for p in plans):
                break  # nothing is better than a thread for each lane
            key = pattern, grid
            if key not in self.variants and len(self.variants) < VARIANTS:
                self.variants[key] = self._variant(lengths, grid)
            variant = self.variants.get(key)
            if isinstance(variant, DeviceVariant) and lengths.hold(found):
                plans.append(DevicePlan(body, variant, found, limits))
        return self._loaded(sorted(plans, key=kernel_step_seconds), pattern)

    def _loaded(self, plans: Sequence[DevicePlan], pattern: Any) -> DevicePlan | None:
        """The first plan whose kernel compiles."""
        for plan in plans:
            variant = plan.variant
            try:
                if variant.function is None:
                    variant.function = self.launcher.load(variant.text, self.exact, variant.grid)
            except Exception as error:  # a kernel is never needed
                self.variants[pattern, variant.grid] = f"{type(error).__name__}: {str(error)[:2000]}"
            else:
                return plan
        return None

    def _variant(self, lengths: Any, grid: bool) -> DeviceVariant | str:
        try:
            return DeviceVariant.of(self.body, lengths, grid)
        except NoForm as reason:
            return str(reason)


@dataclass
class DeviceChoice:
    """The kernels of one program on a device.

    exact: of the program.  made: by their name in the source; refused: labels of loops that have none, with the
    reasons.  whole: why no kernel is all of a program.
    """

    launcher: Launcher
    exact: bool
    whole: str = "on a device loops and chains of elementwise operators are kernels"
    made: dict[str, DeviceLoop | SegmentKernel[DeviceLoop]] = field(default_factory=dict[str, Any])
    refused: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def of_program(self, program: Program, types: Mapping[str, TensorType]) -> None:
        """No whole program is a kernel on a device."""

    def reports(self, program: Program) -> tuple[LoopReport, ...]:
        """The outcome for all loops, those with kernels first."""
        told = (LoopReport(label, f"array steps: {reason}") for label, reason in self.refused)
        return (*(k.report() for k in self.kernels), *told)

    @property
    def kernels(self) -> list[DeviceLoop]:
        """Those of loops and of segments."""
        return [k.loop if isinstance(k, SegmentKernel) else k for k in self.made.values()]

    def segments(
        self, steps: Sequence[Step], types: Mapping[str, TensorType], last_use: Mapping[str, int]
    ) -> list[Segment]:
        """The segments of some steps outside loops: operators on elements alone, a thread for each element."""
        elements = Segmenter(types, last_use, True, lambda node: isinstance(node, Map | Call), apart=True)
        return list(elements.segments(steps))

    def segment_kernel(self, body: Body) -> str:
        """The name in the source of the kernel of a part of a segment."""
        name = f"kernel_{len(self.made)}"
        self.made[name] = SegmentKernel(DeviceLoop(name, body, self.launcher, self.exact), body.size, 0.0)
        return name

    def call(self, loop: Loop, types: Mapping[str, TensorType], n: str, names: Mapping[str, str]) -> str:
        """The text that calls the kernel of a loop of `n` steps; "" where the loop runs as array steps alone."""
        try:
            body = body_of(loop, types, exact=True)  # on a device no order of NumPy's is kept
        except NoForm as reason:
            self.refused.append((loop.label, str(reason)))
            return ""
        made = DeviceLoop(f"kernel_{len(self.made)}", body, self.launcher, self.exact)
        self.made[made.name] = made
        args = ", ".join([n, *(names[x] for x in body.outer)])
        return f"{made.name}({args}) if {n} >= {FEWEST} else None"
