"""Reports of runs of rules as plain data: whether anything was found, matches and seconds by rule, the number of runs.

The engine's process imports this file by its path, so it imports nothing of the project.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["NOTHING", "plain", "together"]

NOTHING: tuple[bool, dict[str, int], dict[str, float], int] = False, {}, {}, 0
"""The report of no runs."""


def plain(result: Any, timed: bool = True) -> Any:
    """The report of a command as plain data, with seconds and the number of runs; None if it has no report."""
    report = getattr(result, "report", None)
    if report is None:
        return None
    matches = {name: n for name, n in report.num_matches_per_rule.items() if n}
    taken = report.search_and_apply_time_per_rule if timed else {}
    times = {name: s for name, t in taken.items() if (s := t.total_seconds())}
    return report.updated, matches, times, len(report.iterations)


def together(reports: Sequence[Any]) -> Any:
    """The matches and seconds of several reports."""
    matches: dict[str, int] = {}
    times: dict[str, float] = {}
    for _, found, took, _ in reports:
        for name, n in found.items():
            matches[name] = matches.get(name, 0) + n
        for name, t in took.items():
            times[name] = times.get(name, 0.0) + t
    return matches, times
