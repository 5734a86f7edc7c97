"""Warnings about random numbers that NumPy or Python draws while a function is traced: they become constants."""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from scanopt.loops.location import warn_at
from scanopt.loops.site import Site

__all__ = ["States", "generators", "warn_if_drawn", "warn_if_traced"]

States = dict[str, Any]
"""The state of each generator, by the name that users know."""


def generators(f: Callable[..., Any]) -> States:
    """The states of the generators that f may draw from: np.random's, random's, and those in variables that f reads."""
    shared: Any = np.random.get_state(legacy=False)  # noqa: NPY002  to see whether people use it
    numbers = shared["state"]
    states: States = {"np.random": (numbers["key"].tobytes(), numbers["pos"], shared["has_gauss"])}
    states["Python's random"] = random.getstate()
    for name, x in _seen(f):
        if isinstance(x, random.Random):
            states[name] = x.getstate()
        elif isinstance(x, np.random.Generator):
            states[name] = str(x.bit_generator.state)
        elif isinstance(x, np.random.RandomState):
            states[name] = str(x.get_state())
    return states


def _seen(f: Callable[..., Any], depth: int = 3) -> Iterator[tuple[str, Any]]:
    """The objects that a Python function, and functions that it calls, read from outside, by name."""
    while isinstance(f, functools.partial):
        f = f.func
    f = getattr(f, "__func__", f)
    code = getattr(f, "__code__", None)
    if code is None:
        return
    seen = [("a default of an argument", x) for x in f.__defaults__ or ()]
    for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not assigned yet
            seen.append((name, cell.cell_contents))
    if not (f.__module__ or "").startswith(("numpy", "scanopt")):
        seen += [(name, f.__globals__[name]) for name in code.co_names if name in f.__globals__]
    yield from seen
    if depth:
        for _, x in seen:
            if isinstance(x, FunctionType):
                yield from _seen(x, depth - 1)


def _drawn(f: Callable[..., Any], before: States) -> str:
    """The generators whose state differs from the one `before`, in words; "" if there is none."""
    return " and ".join(name for name, state in generators(f).items() if before.get(name, state) != state)


def warn_if_drawn(site: Site, f: Callable[..., Any], before: States) -> None:
    """Warn at the user's call where the step f of a loop drew numbers since `before`."""
    if used := _drawn(f, before):
        warn_at(
            site.location,
            f"the step of {site.function} draws numbers by {used}: they are drawn once, when the step is built, and "
            f"are the same at every step and in every run; for new ones at each step write {_STREAM}, and for fixed "
            f"ones draw them before the loop {site.place}",
        )


def warn_if_traced(site: Site, name: str, f: Callable[..., Any], before: States) -> None:
    """Warn at the user's call where the function f of this name drew numbers since `before`, while it was traced."""
    if used := _drawn(f, before):
        warn_at(
            site.location,
            f"{name} draws numbers by {used}: they are drawn once, when it is traced, and are the same in every "
            f"call; for new ones write {_STREAM}, and fixed ones draw outside and pass {site.place}",
        )


_STREAM = "T.shared_randomstreams.RandomStreams(seed).normal(...)"
