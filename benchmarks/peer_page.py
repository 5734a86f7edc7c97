"""The section of docs/benchmarks.md that bench_peers.py writes: a table of times, and what they come to."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from peer_values import CASES

__all__ = ["OURS", "record", "size_text"]

OURS = {"scanopt": "reassoc", "exact": "exact"}
Times = Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]]


def record(path: Path, found: Times) -> None:
    """Write the times of all cases into the section "Peers" of a page."""
    names = [*next(iter(found.values()))]
    others = [n for n in names if n not in OURS]
    heads = ["case", *names, *(f"best / {n}" for n in OURS)]
    lines = [" | ".join(heads), "|".join(["---"] * len(heads))]
    ratios: dict[str, list[float]] = {n: [] for n in (*names, "loop")}
    for (case, size), times in found.items():
        calls = {n: x["call"] for n, x in times.items()}
        best = min(calls[n] for n in others)
        for n in names:
            ratios[n].append((best if n in OURS else min(calls.values())) / calls[n])
        ratios["loop"].append(calls["NumPy"] / calls["exact"])
        title = f"{CASES[case].title}, {' x '.join(size_text(n) for n in getattr(CASES[case], size))}"
        lines.append(" | ".join([title, *map(_microseconds, calls.values()), *(f"{ratios[n][-1]:.2f}" for n in OURS)]))
    table = "".join(f"| {x} |\n" if "---" not in x else f"|{x}|\n" for x in lines)
    text = path.read_text(encoding="utf-8")
    start = text.index("## Peers")
    end = text.index("\n## ", start + 1)
    section = re.sub(r"(?m)(^\|.*\n)+", lambda _: table, text[start:end], count=1)
    section = re.sub(r"(?s)Geometric means of best / scanopt:.*?\n\n", lambda _: _told(ratios, others), section)
    day = f"{time.strftime('%d').lstrip('0')} {time.strftime('%B %Y')}, {os.cpu_count()} cores"
    section = re.sub(r"\d+ \w+ \d{4}, \d+ cores", lambda _: day, section)
    path.write_text(text[:start] + section + text[end:], encoding="utf-8")


def size_text(n: int) -> str:
    """A number of a case's size."""
    return f"{n:,}" if n < 10**9 else f"{n:.0e}"


def _told(ratios: Mapping[str, Sequence[float]], others: Sequence[str]) -> str:
    few = [sum(x < 0.8 for x in ratios[n]) for n in OURS]
    means = [f"{_mean(ratios[n]):.2f} ({licence})" for n, licence in OURS.items()]
    peers = ", ".join(f"{n} {_mean(ratios[n]):.2f}" for n in others)
    loop = ratios["loop"]
    return (
        f"Geometric means of best / scanopt: {', '.join(means)}; below 0.8 are {few[0]} and {few[1]} of {len(loop)}.\n"
        f"NumPy loop / exact: {_mean(loop):.1f}; below 1 are {sum(x < 1 for x in loop)} of {len(loop)}.\n"
        f"Geometric means of the best time of all five divided by the own time: {peers}.\n\n"
    )


def _microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:.1f}" if seconds < 1e-4 else f"{1e6 * seconds:,.0f}"


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
