"""A summary of a compiled function, as text for a terminal: laws, costs, sizes, times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.compilation.compiled_function import Function
from scanopt.compilation.measuring import seconds_per_call, shared_kept, values_of
from scanopt.compilation.report import ending
from scanopt.memory import bytes_text
from scanopt.view.amounts import cost_text, seconds_text

__all__ = ["summary"]

_INDENT = " " * 14


def summary(f: Function, measure: bool = True) -> str:
    """Laws with their matches, costs, assumed sizes, and (measure) the measured times of a call.

    It is called with its example, else with the arguments of its last call inside `watching()`.
    """
    figures = [_costs(f), _memory(f), _sizes(f), _optimization(f), *([_calls(f)] if measure else [])]
    return "\n\n".join([_laws(f), "\n".join(figures)])


def _laws(f: Function) -> str:
    rules = {x.name: x for x in f.rules}
    fired = sorted((x for x in f.laws.items() if x[1]), key=lambda law: (-law[1], law[0]))
    if not fired:
        return "laws that fired: none"
    width = max(len(name) for name, _ in fired)
    rows = [f"{n:7}  {name:<{width}}  {rules[name].licence:<7}  {rules[name].ruleset}" for name, n in fired]
    return "\n".join(["laws that fired: matches, name, licence, ruleset", *rows])


def _costs(f: Function) -> str:
    r = f.report
    found = "proven the cheapest in the e-graph" if r.optimal else f"at most {r.gap:.1%} above the cheapest"
    end = f"; the laws {'have nothing left to say' if r.saturated else f'were {ending(r.stopped_by, r.aside)}'}"
    before, after = cost_text(r.cost_before, r.unit), cost_text(r.cost, r.unit)
    ratio = f", ratio {r.cost_before / r.cost:.3g}" if r.cost else ""
    return f"cost          {before} as written, {after} optimized{ratio} (predicted; {found}{end})"


def _memory(f: Function) -> str:
    r = f.report
    allowed = "" if math.isinf(r.budget) else f" of {bytes_text(r.budget)} allowed"
    end = "" if r.fits else "; none that was found holds less"
    return f"memory        {bytes_text(r.memory)}{allowed}, beside arguments (predicted{end})"


def _sizes(f: Function) -> str:
    lines = [f"{name} {size}" for name, size in (f.report.sizes | f.report.trips).items()] or ["no inputs"]
    return "\n".join(f"{_INDENT if i else 'for sizes     '}{line}" for i, line in enumerate(lines))


def _optimization(f: Function) -> str:
    parts = ", ".join(f"{name} {seconds_text(seconds)}" for name, seconds in f.seconds.items())
    return f"optimization  {seconds_text(sum(f.seconds.values()))} ({parts})"


# Times per call


def _calls(f: Function) -> str:
    """Medians for the interpreter, the program as written and the optimized one, on the same values."""
    values = values_of(f)
    if values is None:
        return "per call      not measured: it was not called, and no example=[...] was given to scanopt.function"
    with shared_kept(f) as restore:
        slow = seconds_per_call(lambda: f.unoptimized(*values))
        plain = seconds_per_call(lambda: f.as_written(*values))
        fast = seconds_per_call(lambda: f(*values))
        restore()
        apart = _apart(f.unoptimized(*values), f(*values))
    return (
        f"per call      {seconds_text(slow)} unoptimized, {seconds_text(plain)} as written but compiled, "
        f"{seconds_text(fast)} optimized: ratios {slow / fast:.3g} and {plain / fast:.3g}\n"
        f"{_INDENT}(medians; unoptimized is the reference interpreter; largest difference of results {apart:.1e})"
    )


def _apart(a: Any, b: Any) -> float:
    """The largest difference of results; where both are NaN there is none."""
    if a is None:
        return 0.0
    if isinstance(a, Sequence):
        return max(map(_apart, a, b), default=0.0)
    x, y = (np.asarray(v.get() if hasattr(v, "get") else v) for v in (a, b))
    if x.dtype.kind == "b":
        return float(np.any(x != y))
    with np.errstate(invalid="ignore", over="ignore"):
        same = (x == y) | ((x != x) & (y != y))
        return float(np.max(np.where(same, 0, np.abs(x - y)), initial=0.0))
