"""Numbers drawn by `np.random` while a step is built: drawn once, they are the same at every step of every run."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.loops.location import warn_at
from scanopt.loops.site import Site

__all__ = ["generator", "warn_if_drawn"]


def generator() -> tuple[bytes, int, int]:
    """The state of the generator behind `np.random.normal` and the like, which all share."""
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002  to see whether people use it
    numbers = state["state"]
    return numbers["key"].tobytes(), numbers["pos"], state["has_gauss"]


def warn_if_drawn(site: Site, before: tuple[bytes, int, int]) -> None:
    """Warn at the user's call where numbers were drawn since `before`."""
    if generator() == before:
        return
    warn_at(
        site.location,
        f"the step of {site.function} draws numbers by np.random: they are drawn once, when the step is built, and are "
        "the same at every step and in every run; for new ones at each step write "
        "T.shared_randomstreams.RandomStreams(seed).normal(...), and for fixed ones draw them before the loop "
        f"{site.place}",
    )
