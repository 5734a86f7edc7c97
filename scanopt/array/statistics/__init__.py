"""Statistics, searching, counting and sets, as functions of symbolic arrays by NumPy's names.

Nearly all are composed of operators of the table; new operators for searching and counting are in `searching`.
"""

from __future__ import annotations

from scanopt.array.statistics import (
    along,
    averages,
    bits,
    finding,
    histograms,
    ordering,
    quantiles,
    reductions,
    searching,
    sets,
    without_nan,
)

__all__ = [
    "along",
    "averages",
    "bits",
    "finding",
    "histograms",
    "ordering",
    "quantiles",
    "reductions",
    "searching",
    "sets",
    "without_nan",
]
