"""Measures profiled loops: the functions that generated source text calls around a loop and its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.array.op_text import op_text
from scanopt.loops.profile import scan_profile
from scanopt.program.ir import Branch, Compute, Step

__all__ = ["described", "timing"]


class _Timer:
    """Adds up the times of the parts of a step, in one run of a loop: from the end of one to the end of the next."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._last = clock, 0.0
        self.parts: dict[int, list[float]] = {}

    def begin(self) -> float:
        """Note that a step begins now; return the time."""
        self._last = self._clock()
        return self._last

    def took(self, number: int) -> None:
        """Note that the part of this number ends now."""
        now, part = self._clock(), self.parts.setdefault(number, [0, 0.0])
        part[0] += 1
        part[1] += now - self._last
        self._last = now


def timing(
    titles: Sequence[tuple[str, ...]], labels: Sequence[str], clock: Callable[[], float]
) -> dict[str, Callable[..., Any]]:
    """Return the functions, by their names in generated text, which refers to titles and parts by numbers."""

    def record(number: int, steps: int, in_step: float, start: float | None, timer: _Timer | None = None) -> None:
        """Record one run of a loop that began at `start`; None if nothing is left of the loop."""
        total = 0.0 if start is None else clock() - start
        parts = {labels[i]: (int(calls), spent) for i, (calls, spent) in timer.parts.items()} if timer else {}
        for title in titles[number]:
            scan_profile(title).record(steps=steps, in_step=in_step, total=total, operators=parts)

    return {"clock": clock, "record": record, "timer": lambda: _Timer(clock)}


def described(step: Step) -> str:
    """The name of a part of a step in profiles: its operation, in the names of the program."""
    if isinstance(step, Compute):
        return op_text(step.op, step.args)
    return f"if {step.condition}" if isinstance(step, Branch) else f"loop {step.label or 'without a name'}"
