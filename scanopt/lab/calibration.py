"""Measured costs: the times of operators and loops on this machine, as a table of costs.

Each operator is called on few elements and on many; the difference is the price of an element, the rest that of a call.
The prices of reading, carrying and keeping rows are differences between loops that do it and loops that do not.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from scanopt.array.abstract import concrete
from scanopt.array.op import Op, load
from scanopt.compilation.measuring import least_seconds
from scanopt.extraction.cost import NUMPY, CostTable, Work, elements
from scanopt.lab.loop_costs import LEAST, loop_costs
from scanopt.lab.samples import SAMPLES, sample
from scanopt.view.tables import text_table

__all__ = ["calibrate", "calibration_text", "machine", "operator_cost"]

FEW, MANY = 4, 20_000


def calibrate(operators: Iterable[str] | None = None, seconds: float = 0.02, loops: bool = True) -> CostTable:
    """Measure operators and loops, one after the other; whatever is not measured is as in the default table.

    operators: names, default: all that there is a sample of.  seconds: for each measurement.
    Raises ValueError for an operator that there is no sample of.
    """
    names = list(SAMPLES() if operators is None else operators)
    for name in names:
        if name not in SAMPLES():
            near = get_close_matches(name, SAMPLES(), 3) or sorted(load())
            raise ValueError(f"there is no sample of an operator {name!r} to measure; near: {', '.join(near)}")
    found: dict[str, tuple[float, float]] = {}
    for name in names:
        found[name] = operator_cost(name, seconds)
    classes: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, pair in list(found.items()):
        classes[sample(name, FEW)[0].cost].append(pair)
        if callable(load()[name].cost):  # its cost depends on its options: only that of its class is kept
            del found[name]
    call, element = dict(NUMPY.call), dict(NUMPY.element)
    for kind, pairs in classes.items():
        call[kind] = statistics.median(p[0] for p in pairs)
        element[kind] = statistics.median(p[1] for p in pairs)
    kind_costs = dict(NUMPY.kind)
    if loops:
        measured = loop_costs(seconds)
        element["stack"] = measured.pop("element of a row")
        kind_costs |= measured
    return replace(NUMPY, call=call, element=element, kind=kind_costs, operators={**NUMPY.operators, **found})


def operator_cost(name: str, seconds: float = 0.02) -> tuple[float, float]:
    """Nanoseconds of a call of an operator, and of each element as its class of cost counts them."""
    few, many = (_measured(name, n, seconds) for n in (FEW, MANY))
    each = max(0.0, (many[0] - few[0]) / max(many[1] - few[1], 1.0))
    return max(LEAST, few[0] - each * few[1]), each


def _measured(name: str, n: int, seconds: float) -> tuple[float, float]:
    """Nanoseconds of one call on arrays of about n elements, and elements by the cost model."""
    op, values = sample(name, n)
    work = Work("apply", op, tuple(map(concrete, values)), concrete(_result(op, values)))
    run = op.bind(np)
    with np.errstate(all="ignore"):
        return least_seconds(lambda: run(*values), seconds) * 1e9, elements(work, op.cost)


def _result(op: Op, values: Sequence[Any]) -> Any:
    with np.errstate(all="ignore"):
        return op.bind(np)(*values)


def machine() -> str:
    """The machine and the versions, in a line."""
    cores = os.cpu_count() or 1
    return (
        f"{platform.node()}: {platform.machine()}, {cores} cores, {sys.platform}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}"
    )


def calibration_text(found: CostTable) -> str:
    """The measured costs beside the default ones, by class of cost and kind."""
    rows: list[list[str]] = []
    parts: tuple[tuple[str, Mapping[str, float], Mapping[str, float]], ...] = (
        ("a call", found.call, NUMPY.call),
        ("an element", found.element, NUMPY.element),
        ("a loop", found.kind, NUMPY.kind),
    )
    for title, measured, usual in parts:
        for name, value in measured.items():
            if value or usual[name]:
                rows.append([f"{title}: {name}", f"{value:.4g}", f"{usual[name]:.4g}"])
    return text_table(["nanoseconds of", "measured", "default"], rows)
