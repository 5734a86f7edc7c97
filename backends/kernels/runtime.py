"""The callables that the generated Python source calls in place of a loop: they run its kernel, or return None.

They decide when a kernel is worth compiling.  A kernel declines whatever it does not handle (a length that does not
fit, an index out of range, no memory, no compiler).  Then the array steps of the same loop, which follow in the source,
compute the result or report the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.compilers import LONGEST
from scanopt.backends.kernels.prices import MOST_SCRATCH
from scanopt.backends.kernels.workers import Threads
from scanopt.forks import once
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.backends.kernels.planner import Planner

__all__ = ["WORTH", "LoopKernel", "Planned"]

Array = np.ndarray[Any, Any]
STEP = 0.7e-6
"""The approximate seconds of one operator as an array step."""
WORTH, WAIT = 2e-3, 0.1
"""Seconds of array steps in all calls after which a kernel is made; in one call, from which on the call waits."""


class Planned:
    """Runs kernels made by a planner: one for each combination of shapes of the arguments."""

    body: Body
    threads: Threads

    @once
    def planner(self) -> Planner:
        """The kernels that were made, and makes more."""
        from scanopt.backends.kernels.planner import Planner

        return Planner(self.body, self.threads)


@dataclass
class LoopKernel(Planned):
    """The kernel of one loop, compiled when this is worth it.

    always: whether the first call waits for it.  name: its name in the source.
    """

    name: str
    body: Body
    always: bool
    threads: Threads = field(default_factory=Threads)
    spent: float = 0.0

    def __post_init__(self) -> None:
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
