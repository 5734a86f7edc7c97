"""Warnings of `function`: requests that cannot be met, and probable mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scanopt.array.variable import SharedVariable, describe
from scanopt.loops.location import user_location, warn_at
from scanopt.loops.node import Scan
from scanopt.memory import bytes_text

if TYPE_CHECKING:
    from scanopt.compilation.optimize import Optimized

__all__ = ["warn_of_memory", "warn_of_streams"]


def warn_of_memory(done: Optimized) -> None:
    """Warn, at the user's line, if no program stays within the memory budget."""
    from scanopt.extraction.memory_budget import fits

    if fits(done.extraction, done.budget):
        return
    least, allowed = bytes_text(done.extraction.peak), bytes_text(done.budget)
    text = (
        f"no program was found that holds no more than {allowed} beside its arguments: the one that holds least, "
        f"{least}, was taken; allow more by memory=..., or give other sizes by example=..."
    )
    warn_at(user_location(), text)


def warn_of_streams(forgotten: Mapping[SharedVariable, Scan]) -> None:
    """Warn, at the user's line, about streams of random numbers that a call does not advance."""
    if not forgotten:
        return
    loops = dict.fromkeys(map(str, forgotten.values()))
    text = (
        f"every call will draw the same random numbers: {', '.join(map(describe, forgotten))} of {', '.join(loops)} "
        f"{'is' if len(forgotten) == 1 else 'are'} not updated; pass updates=updates, the second result of scan, "
        "to function (a step that holds the loop must return them, too)"
    )
    warn_at(user_location(), text)
