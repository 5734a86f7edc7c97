"""Runs loops of array steps as CUDA graphs: `STEPS` steps are captured once, and launched together from then on.

A captured step reads and writes the addresses that it was captured with.  So a graph has its own arrays: the rows of
sequences are copied into them before each launch, the rows that the loop keeps are copied out after it, and the graph
itself copies the last states to where the next launch reads them.  The first steps of a loop run without a graph, which
compiles their kernels; so do the steps that remain at the end.  Where a loop may end early, the host reads the stop
conditions once for all steps of a graph, and drops the rows behind the end.

If anything goes wrong, the array steps of the loop run from its start, and give the result or the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol

from scanopt.array.op import Op
from scanopt.backends.captured_steps import StepsProgram
from scanopt.backends.compiled import compile_steps
from scanopt.backends.device_operators import Watch
from scanopt.backends.kept_rows import KeptRows
from scanopt.forks import lock
from scanopt.program.ir import Loop
from scanopt.records import dataclass

__all__ = ["FEWEST", "STEPS", "CapturedLoop", "Captures", "Replay"]

Array = Any
Shapes = tuple[tuple[int, ...], ...]
STEPS = 32
"""The number of steps in one graph."""
FEWEST = 4
"""A graph is captured once calls with arguments of the same shapes have run this many times its steps."""
GRAPHS = 4
"""The most graphs of a loop that are kept, each for other shapes of arguments or for another thread."""
MOST_SHAPES = 1000
"""The most shapes of arguments for which steps are counted."""
MOST_BYTES = 1 << 28
"""The most bytes in the arrays of a graph.  Larger arrays keep the device busy for longer than a launch takes."""


class Replay(Protocol):
    """Captured launches that can be repeated."""

    @property
    def given(self) -> Sequence[Array]:
        """The arrays that the launches read; fill them before `launch`."""
        ...

    @property
    def results(self) -> Sequence[Array]:
        """The arrays that the launches write."""
        ...

    def begin(self) -> None:
        """Let the current stream wait until an earlier use is over."""
        ...

    def launch(self) -> None:
        """Repeat all launches, on the current stream."""
        ...

    def end(self) -> None:
        """Record that the use on the current stream is over."""
        ...


class Captures(Protocol):
    """Captures launches on a device."""

    def capture(self, like: Sequence[Array], run: Callable[[Sequence[Array]], Sequence[Array]]) -> Replay:
        """Capture the launches of `run`, called with arrays of the shapes and dtypes of `like`.

        Raises the errors of `run`, and those of the device where it refuses to capture.
        """
        ...


@dataclass(eq=False)
class CapturedLoop:
    """Runs a loop by launching CUDA graphs of some of its steps.

    captures, xp, bind: of the device.  watch: where its operators note that an index is out of range.
    """

    loop: Loop
    steps: StepsProgram
    captures: Captures
    xp: Any
    bind: Callable[[Op], Callable[..., Any]]
    watch: Watch
    runs: int = 0
    failed: dict[Shapes, str] = field(default_factory=dict[Shapes, str])

    def __post_init__(self) -> None:
        loop = self.loop
        counts = (k.rows for k in loop.keeps if isinstance(k.rows, str))
        read = (*(r.source for r in loop.reads), *(s.init for s in loop.states), *self.steps.held, *counts)
        self.outer = tuple(dict.fromkeys(read))
        self._lock = lock()
        self._seen: dict[Shapes, int] = {}
        self._graphs: dict[Shapes, list[Replay]] = {}

    @property
    def fewest(self) -> int:
        """The least number of steps of a call whose launches may be captured."""
        return 2 * self.steps.most

    def report(self) -> str:
        """Say how often graphs ran, and why array steps had to."""
        told = f"{self.runs} runs by CUDA graphs of {self.steps.most} steps, {self.steps.launches} operators each"
        return "; ".join([told, *(f"array steps: {x}" for x in dict.fromkeys(self.failed.values()))])

    def forget(self) -> bool:
        """Release all graphs and their memory; return whether there were any."""
        with self._lock:
            held, self._graphs = self._graphs, {}
        return bool(held)

    def __call__(self, n: int, *values: Array) -> list[Array] | None:
        """Run n steps; return the rows that the loop keeps, or None where array steps have to run."""
        outer, most = dict(zip(self.outer, values, strict=True)), self.steps.most
        if not self._fit(n, outer):
            return None
        parts = (*(outer[r.source][0] for r in self.loop.reads), *(outer[s.init] for s in self.loop.states))
        shapes = tuple(x.shape for x in (*parts, *(outer[x] for x in self.steps.held)))
        with self._lock:
            if len(self._seen) > MOST_SHAPES:
                self._seen.clear()
                self.failed.clear()
            self._seen[shapes] = self._seen.get(shapes, 0) + n
            waiting = self._graphs.get(shapes)
            graph = waiting.pop() if waiting else None
            if shapes in self.failed or (graph is None and (n < self.fewest or self._seen[shapes] < FEWEST * most)):
                return None
        try:
            found, graph = self._run(n, outer, graph)
        except MemoryError:  # array steps may need less memory, or report the error
            return None
        except Exception as error:  # array steps can always run instead
            self.failed[shapes] = f"{type(error).__name__}: {str(error)[:200]}"
            return None
        with self._lock:
            if graph is None:
                self.failed[shapes] = f"it ended within {most} steps"
                return found
            self.runs += 1
            self._graphs.setdefault(shapes, []).append(graph)
            if sum(map(len, self._graphs.values())) > GRAPHS:
                oldest = next(iter(self._graphs))
                self._graphs[oldest].pop(0)
            self._graphs = {key: some for key, some in self._graphs.items() if some}
        return found

    def _fit(self, n: int, outer: Mapping[str, Array]) -> bool:
        """Whether all arrays have the rows that the loop expects, and a graph of them fits into `MOST_BYTES`."""
        if self.watch.at_once:
            return False
        reads = [outer[r.source] for r in self.loop.reads]
        starts, most = [outer[s.init] for s in self.loop.states], self.steps.most
        sizes = [most * x[0].nbytes if len(x) else 0 for x in reads]
        sizes += [x.nbytes for x in (*starts, *(outer[name] for name in self.steps.held))]
        return (
            all(len(x) >= n for x in reads)
            and all(len(x) == s.depth for x, s in zip(starts, self.loop.states, strict=True))
            and sum(sizes) <= MOST_BYTES
        )

    @cached_property
    def _some_steps(self) -> Callable[..., list[Array]]:
        """The program of some steps, compiled as array steps."""
        made: Callable[..., list[Array]] = compile_steps(self.steps.program, self.xp, self.bind).run
        return made

    def _run(self, n: int, outer: Mapping[str, Array], graph: Replay | None) -> tuple[list[Array], Replay | None]:
        reads = [outer[r.source] for r in self.loop.reads]
        starts: Sequence[Array] = [outer[s.init] for s in self.loop.states]
        held = [outer[x] for x in self.steps.held]
        kept = KeptRows(self.loop, self.steps, self.xp, n, outer)
        done, most = 0, self.steps.most
        if graph is None:
            given = [*(x[:most] for x in reads), *starts, *held]
            starts = kept.add(self._some_steps(most, *given), most)
            if kept.ended:
                return kept.results(), None
            graph = self._captured(given)
            done = most
        graph.begin()
        try:
            places = len(reads)
            for place, x in zip(graph.given[places:], (*starts, *held), strict=True):
                self.xp.copyto(place, x)
            while n - done >= most and not kept.ended:
                for place, x in zip(graph.given, reads, strict=False):
                    self.xp.copyto(place, x[done : done + most])
                graph.launch()
                for flag in graph.results[self.steps.states :]:
                    self.watch.note(self.xp.array(flag))
                kept.add(graph.results, most)
                done += most
            if done < n and not kept.ended:
                starts = graph.given[places : places + len(starts)]
                kept.add(self._some_steps(n - done, *(x[done:n] for x in reads), *starts, *held), n - done)
        finally:
            graph.end()
        return kept.results(), graph

    def _captured(self, like: Sequence[Array]) -> Replay:
        """Capture a graph; its results are the rows that the steps keep, then the flag of bad indices, if any."""

        def run(given: Sequence[Array]) -> list[Array]:
            found = self._some_steps(self.steps.most, *given)
            count = self.steps.states
            for start, last in zip(given[len(self.loop.reads) :], found[count:], strict=False):
                self.xp.copyto(start, last)
            return [*found[:count], *self.watch.flags]

        with self.watch.apart():
            return self.captures.capture(like, run)
