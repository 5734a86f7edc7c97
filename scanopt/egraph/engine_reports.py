"""Reports of runs of rules as plain data: whether anything was found, matches and seconds by rule, the number of runs.

The engine's process imports this file by its path, so it must not import other modules of the project.
"""

from __future__ import annotations

from typing import Any

__all__ = ["NOTHING", "plain"]

NOTHING: tuple[bool, dict[str, int], dict[str, float], int] = False, {}, {}, 0
"""The report of no runs."""


def plain(result: Any, timed: bool = True) -> Any:
    """The report of a command as plain data, with seconds and the number of runs; None if it has no report.

    Of a command that prints rows, these as texts.
    """
    if (terms := getattr(result, "termdag", None)) is not None:
        return [terms.to_string(row) for row, _ in result.terms]
    report = getattr(result, "report", None)
    if report is None:
        return None
    matches = {name: n for name, n in report.num_matches_per_rule.items() if n}
    taken = report.search_and_apply_time_per_rule if timed else {}
    times = {name: s for name, t in taken.items() if (s := t.total_seconds())}
    return report.updated, matches, times, len(report.iterations)
