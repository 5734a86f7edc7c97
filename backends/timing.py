"""Times of profiled loops: what generated text calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.loops.profile import scan_profile

__all__ = ["timing"]


def timing(titles: Sequence[tuple[str, ...]], clock: Callable[[], float]) -> dict[str, Callable[..., Any]]:
    """The functions by the names they have in generated text, which knows titles by their numbers."""

    def record(number: int, steps: int, in_step: float, start: float | None) -> None:
        """One run of a loop that began at `start`; None for a loop of which none is left."""
        total = 0.0 if start is None else clock() - start
        for title in titles[number]:
            scan_profile(title).record(steps=steps, in_step=in_step, total=total)

    return {"clock": clock, "record": record}
