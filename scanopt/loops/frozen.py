"""Numbers drawn by `np.random` while a step is built, or a function traced: drawn once, they are always the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.loops.location import warn_at
from scanopt.loops.site import Site

__all__ = ["generator", "warn_if_drawn", "warn_if_traced"]


def generator() -> tuple[bytes, int, int]:
    """The state of the generator behind `np.random.normal` and the like, which all share."""
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002  to see whether people use it
    numbers = state["state"]
    return numbers["key"].tobytes(), numbers["pos"], state["has_gauss"]


def warn_if_drawn(site: Site, before: tuple[bytes, int, int]) -> None:
    """Warn at the user's call where the step of a loop drew numbers since `before`."""
    if generator() != before:
        warn_at(
            site.location,
            f"the step of {site.function} draws numbers by np.random: they are drawn once, when the step is built, and "
            f"are the same at every step and in every run; for new ones at each step write {_STREAM}, and for fixed "
            f"ones draw them before the loop {site.place}",
        )


def warn_if_traced(site: Site, name: str, before: tuple[bytes, int, int]) -> None:
    """Warn at the user's call where a function of this name drew numbers since `before`, while it was traced."""
    if generator() != before:
        warn_at(
            site.location,
            f"{name} draws numbers by np.random: they are drawn once, when it is traced, and are the same in every "
            f"call; for new ones write {_STREAM}, and fixed ones draw outside and pass {site.place}",
        )


_STREAM = "T.shared_randomstreams.RandomStreams(seed).normal(...)"
