"""Decides which loops of a program run as kernels or CUDA graphs on a device, and writes the calls into its source.

As on a CPU, a kernel that does not fit its arguments returns None.  Then the CUDA graphs of the loop run, if it has
any; if these give None, too, its array steps run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.captured_loops import CapturedLoop
from scanopt.backends.captured_steps import NoCapture
from scanopt.backends.host_numbers import is_number
from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.body import body_of
from scanopt.backends.kernels.device_calls import DeviceCalls
from scanopt.backends.kernels.device_costs import kernel_step_seconds
from scanopt.backends.kernels.device_plans import DevicePlan, DeviceVariant, Launcher
from scanopt.backends.kernels.loop_report import LoopReport
from scanopt.backends.kernels.nodes import Call, Map, NoForm
from scanopt.backends.kernels.plan_cache import PlanCache, Shapes
from scanopt.backends.kernels.segments import Segment, Segmenter, SegmentKernel
from scanopt.backends.kernels.sizes import lengths_of, pattern_of, shapes_of
from scanopt.backends.kernels.tensor_cores import SHORT_PRODUCTS
from scanopt.program.ir import Loop, Program, Step
from scanopt.records import dataclass

__all__ = ["DeviceChoice", "DeviceLoop", "LoopWays"]

Array = Any
FEWEST = 2
"""The least number of steps that is worth a launch."""
VARIANTS = 12
"""The most kernels of a loop, for patterns of lengths and ways to run them."""


@dataclass
class DeviceLoop:
    """The kernels of one loop.  captured: the least number of steps that may run as CUDA graphs; 0: none.

    short: products of float32 may keep 11 bits of each number.
    """

    body: Body
    launcher: Launcher
    exact: bool
    captured: int = 0
    short: bool = False
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
        """Run at most n steps; return the arrays that the loop keeps, or None where array steps have to run."""
        xp = self.launcher.xp
        arrays = [v if isinstance(v, xp.ndarray) else _array(xp, v) for v in values]
        if not self._fit(n, arrays):
            return None
        calls = self._plan((tuple([x.shape for x in arrays]), tuple([int(arrays[i]) for i in self._counts])))
        if calls is None:
            return None
        plan = calls.plan
        if n < plan.fewest or (self.captured and self.captured <= n < plan.fewest_beside_graphs):
            return None
        try:
            found = calls.run(self.launcher, n, arrays)
        except MemoryError:  # array steps may need less memory, or report the error
            return None
        except RuntimeError as error:  # the device refuses the launch: later calls run another plan, or array steps
            self._refused(plan.variant, error)
            self._plan = PlanCache(self._planned)
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

    def seconds(self, n: int, shapes: Shapes, counts: tuple[int, ...]) -> float | None:
        """Predict the seconds of n steps; None where no kernel fits."""
        plans, limits = self._plans(shapes, counts), self.launcher.limits
        return limits.rates.call + n * kernel_step_seconds(plans[0]) if plans else None

    def _planned(self, shapes: Shapes, counts: tuple[int, ...]) -> DeviceCalls | None:
        """The calls of the first plan whose kernel compiles."""
        for plan in self._plans(shapes, counts):
            variant = plan.variant
            try:
                if variant.function is None:
                    variant.function = self.launcher.load(variant.text, self.exact, variant.grid)
            except Exception as error:  # array steps can always run instead
                self._refused(variant, error)
            else:
                return DeviceCalls(plan)
        return None

    def _refused(self, variant: DeviceVariant, error: Exception) -> None:
        """Replace a kernel that failed by its error message."""
        for key, found in list(self.variants.items()):
            if found is variant:
                self.variants[key] = f"{type(error).__name__}: {str(error)[:2000]}"

    def _plans(self, shapes: Shapes, counts: tuple[int, ...]) -> list[DevicePlan]:
        """The plans by which kernels may run for arguments of these shapes, the one predicted to be fastest first."""
        body = self.body
        outer = dict(zip(body.outer, shapes, strict=True))
        found = shapes_of(body, outer, dict(zip(body.counts, counts, strict=True)))
        if found is None:
            return []
        pattern = pattern_of(body, found)
        lengths = lengths_of(body, pattern, found)
        limits = self.launcher.limits
        plans: list[DevicePlan] = []

        def add(grid: bool, rows: int) -> DevicePlan | None:
            key = pattern, grid, rows
            if key not in self.variants and len(self.variants) < VARIANTS:
                self.variants[key] = self._variant(lengths, grid, rows)
            variant = self.variants.get(key)
            if not isinstance(variant, DeviceVariant) or not lengths.hold(found):
                return None
            plan = DevicePlan(body, variant, found, limits)
            plans.extend([plan] if plan.holding.fits else [])
            return plan

        one = add(False, 1)
        rows = one.rows_worth_sharing if one else 1
        if rows > 1:
            add(False, rows)
        if limits.together and not (one and one.variant.lanes.numbers):  # one thread per lane is always the best way
            add(True, 1)
        return sorted(plans, key=kernel_step_seconds)

    def _variant(self, lengths: Any, grid: bool, rows: int) -> DeviceVariant | str:
        try:
            made = DeviceVariant.of(self.body, lengths, self.exact, grid, rows)
        except NoForm as reason:
            return str(reason)
        return replace(made, text=f"#define {SHORT_PRODUCTS}\n{made.text}") if self.short else made


def _array(xp: Any, value: Any) -> Array:
    """Convert a value to an array on the device; a number stays on the host."""
    return np.asarray(value) if np.isscalar(value) else xp.asarray(value)


@dataclass(frozen=True)
class LoopWays:
    """How a loop may run other than as array steps: its kernel and its CUDA graphs, or why it has none."""

    loop: Loop
    kernel: DeviceLoop | str
    graph: CapturedLoop | str

    def report(self) -> LoopReport:
        """The outcome for the loop."""
        found = self.kernel.report() if isinstance(self.kernel, DeviceLoop) else None
        told = [found.state if found else f"array steps: {self.kernel}"]
        if isinstance(self.graph, CapturedLoop):
            told += [self.graph.report()] if self.graph.runs or self.graph.failed or not found else []
        elif self.graph and not found:
            told.append(f"no CUDA graph: {self.graph}")
        return replace(found or LoopReport(self.loop.label, ""), state="; ".join(told))


@dataclass
class DeviceChoice:
    """The kernels and CUDA graphs of one program on a device.

    launcher: None where loops have no kernels.  exact, short: of the program (see `Program.short_products`).  capture:
    makes the graphs of a loop, or raises NoCapture; None: there are no graphs.  made: kernels and graphs, by their name
    in the source; loops: in the order of the source.  whole: why no kernel is the whole program.
    """

    launcher: Launcher | None
    exact: bool
    capture: Callable[[Loop, Mapping[str, TensorType]], CapturedLoop] | None = None
    short: bool = False
    whole: str = "on a device loops and chains of elementwise operators are kernels"
    made: dict[str, DeviceLoop | SegmentKernel[DeviceLoop] | CapturedLoop] = field(default_factory=dict[str, Any])
    loops: list[LoopWays] = field(default_factory=list[LoopWays])

    def of_program(self, program: Program, types: Mapping[str, TensorType]) -> None:
        """Do nothing: on a device no kernel is a whole program."""

    def reports(self, program: Program) -> tuple[LoopReport, ...]:
        """The outcome for all loops and segments, those with kernels first."""
        segments = [k.loop.report() for k in self.made.values() if isinstance(k, SegmentKernel)]
        first = sorted(self.loops, key=lambda way: isinstance(way.kernel, str))
        return (*segments, *(way.report() for way in first))

    def forget(self) -> bool:
        """Release memory that is kept between calls; return whether there was any."""
        gone = [k.forget() for k in self.made.values() if isinstance(k, CapturedLoop)]
        return any(gone)

    @property
    def kernels(self) -> list[DeviceLoop]:
        """The kernels of loops and of segments."""
        found = (k.loop if isinstance(k, SegmentKernel) else k for k in self.made.values())
        return [k for k in found if isinstance(k, DeviceLoop)]

    def segments(
        self, steps: Sequence[Step], types: Mapping[str, TensorType], last_use: Mapping[str, int]
    ) -> list[Segment]:
        """Find the segments among some steps outside loops: elementwise operators only, with one thread per element."""
        if self.launcher is None:
            return []
        numbers = {name for name, type in types.items() if is_number(type)}  # the host computes these
        fits = lambda node: isinstance(node, Map | Call) and node.out not in numbers  # noqa: E731
        elements = Segmenter(types, last_use, True, fits, lambda s: s.op.view or s.out in numbers, apart=True)
        return list(elements.segments(steps))

    def segment_kernel(self, body: Body) -> str:
        """Make the kernel of a part of a segment; return its name in the source."""
        name = f"kernel_{len(self.made)}"
        self.made[name] = SegmentKernel(self._loop(body), body.size, 0.0)
        return name

    def call(
        self,
        loop: Loop,
        types: Mapping[str, TensorType],
        n: str,
        names: Mapping[str, str],
        length: Callable[[str], str],
    ) -> str:
        """The text that calls the kernel, or the graphs, of a loop of `n` steps; "" where it has only array steps.

        names: in the text, by those of the program.  length: the text of a number that the host reads.
        """
        graph, body = self._graph(loop, types), self._body(loop, types)
        kernel = body if isinstance(body, str) else self._loop(body, 0 if isinstance(graph, str) else graph.fewest)
        self.loops.append(LoopWays(loop, kernel, graph))
        calls: list[str] = []
        if isinstance(kernel, DeviceLoop):
            own = {**names, **{name: length(name) for name in kernel.body.counts}}
            calls.append(self._call(kernel, kernel.body.outer, FEWEST, n, own))
        if isinstance(graph, CapturedLoop):
            calls.append(self._call(graph, graph.outer, graph.steps.most, n, names))
        return " or ".join(f"({call})" for call in calls) if len(calls) > 1 else "".join(calls)

    def _call(
        self, way: DeviceLoop | CapturedLoop, outer: Sequence[str], fewest: int, n: str, names: Mapping[str, str]
    ) -> str:
        name = f"kernel_{len(self.made)}"
        self.made[name] = way
        return f"{name}({', '.join([n, *(names[x] for x in outer)])}) if {n} >= {fewest} else None"

    def _loop(self, body: Body, captured: int = 0) -> DeviceLoop:
        assert self.launcher is not None
        return DeviceLoop(body, self.launcher, self.exact, captured, self.short)

    def _body(self, loop: Loop, types: Mapping[str, TensorType]) -> Body | str:
        """Read the body of the loop, or return why it has no kernel."""
        if self.launcher is None:
            return "kernels are off"
        try:
            return body_of(loop, types, exact=True, device=True)  # devices add in another order than NumPy
        except NoForm as reason:
            return str(reason)

    def _graph(self, loop: Loop, types: Mapping[str, TensorType]) -> CapturedLoop | str:
        try:
            return self.capture(loop, types) if self.capture else ""
        except NoCapture as reason:
            return str(reason)
