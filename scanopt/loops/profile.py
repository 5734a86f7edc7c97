"""Profiles of loops by title: calls, steps, time in the steps and around them."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Mapping
from dataclasses import field
from threading import RLock

from scanopt import forks
from scanopt.array.shown import shown
from scanopt.records import dataclass

__all__ = ["FunctionProfile", "ScanProfile", "profile_summary", "reset_profiles", "scan_profile"]


@dataclass(eq=False)
class ScanProfile:
    """The profile of all runs of the loops with one title.  Safe to share between threads.

    in_step: seconds inside the steps.  total: seconds of the whole loops.  operators: for each operator of the step
    the number of calls and their seconds; `print(p)` shows them.

    >>> p = ScanProfile("rnn")
    >>> p.record(steps=10, in_step=0.75, total=1.0)
    >>> p.calls, p.steps, p.overhead
    (1, 10, 0.25)
    """

    title: str
    calls: int = 0
    steps: int = 0
    in_step: float = 0.0
    total: float = 0.0
    operators: dict[str, tuple[int, float]] = field(default_factory=dict[str, tuple[int, float]])
    _lock: RLock = field(default_factory=forks.lock, repr=False)

    def record(
        self,
        *,
        calls: int = 1,
        steps: int = 0,
        in_step: float = 0.0,
        total: float = 0.0,
        operators: Mapping[str, tuple[int, float]] | None = None,
    ) -> None:
        """Add runs of the loop."""
        with self._lock:
            for name, (count, seconds) in (operators or {}).items():
                before = self.operators.get(name, (0, 0.0))
                self.operators[name] = before[0] + count, before[1] + seconds
            self.calls += calls
            self.steps += steps
            self.in_step += in_step
            self.total += total
        _Registry.unread = True

    @property
    def overhead(self) -> float:
        """Seconds of the loops spent outside the steps."""
        return max(self.total - self.in_step, 0.0)

    def __str__(self) -> str:
        with self._lock:
            found = sorted(self.operators.items(), key=lambda x: -x[1][1])
            whole = sum(spent for _, (_, spent) in found) or 1.0
        rows = [
            [name, str(count), f"{spent:.6f} s", f"{spent / whole:.0%}", f"{spent / count * 1e6:.2f} us"]
            for name, (count, spent) in found
        ]
        return "\n".join([_table([_HEAD, self.row()]), *([_table([_OPERATORS, *rows])] if rows else [])])

    def row(self) -> list[str]:
        """Title, calls, steps, and seconds in all, in the steps, around them, per step."""
        with self._lock:
            per_step = f"{self.total / self.steps * 1e6:.2f} us" if self.steps else ""
            if self.calls and not self.total:  # as no clock was read
                per_step = "no loop left"
            times = [f"{t:.6f} s" for t in (self.total, self.in_step, self.overhead)]
            return [self.title, str(self.calls), str(self.steps), *times, per_step]


@dataclass(eq=False)
class FunctionProfile:
    """The profile of the calls of one function: `f.profile` of a function made with `profile=True`.

    loops: the profile of each of its loops, by title.  `print(f.profile)` shows all.

    Source: the documents' `theano.function(profile=True)`.
    """

    title: str
    calls: int = 0
    total: float = 0.0
    titles: tuple[str, ...] = ()
    _lock: RLock = field(default_factory=forks.lock, repr=False)

    def record(self, seconds: float) -> None:
        """Add one call."""
        with self._lock:
            self.calls += 1
            self.total += seconds

    @property
    def loops(self) -> dict[str, ScanProfile]:
        """The profiles of the loops that ran."""
        return {title: scan_profile(title) for title in self.titles}

    def __str__(self) -> str:
        head = f"{self.title}: {self.calls} calls, {self.total:.6f} s"
        return "\n".join([head, *(str(p) for p in self.loops.values() if p.calls)])


class _Registry:
    """The collectors by title; unread: whether they hold data that no summary has shown yet."""

    lock = forks.lock()
    profiles: dict[str, ScanProfile] = {}  # noqa: RUF012  one for the process
    unread = False


def scan_profile(title: str) -> ScanProfile:
    """The collector of this title, made on first use; a profile not shown before is printed at exit.

    >>> scan_profile("a loop") is scan_profile("a loop")
    True
    >>> reset_profiles()
    """
    title = shown(title)
    with _Registry.lock:
        if not _Registry.profiles:
            atexit.unregister(_print_at_exit)
            atexit.register(_print_at_exit)
        return _Registry.profiles.setdefault(title, ScanProfile(title))


def profile_summary() -> str:
    """A table of all profiled loops, the slowest first; "" when none ran.

    >>> scan_profile("rnn").record(calls=2, steps=20, in_step=0.5, total=1.0)
    >>> print(profile_summary())
    scan  calls  steps       total     in step    overhead      per step
    rnn       2     20  1.000000 s  0.500000 s  0.500000 s  50000.00 us
    >>> reset_profiles()

    Source: the documents' `profile` argument of scan.
    """
    with _Registry.lock:
        ran = sorted((p for p in _Registry.profiles.values() if p.calls), key=lambda p: -p.total)
        _Registry.unread = False
    if not ran:
        return ""
    return _table([_HEAD, *(p.row() for p in ran)])


_HEAD = ["scan", "calls", "steps", "total", "in step", "overhead", "per step"]
_OPERATORS = ["operator", "calls", "total", "share", "per call"]


def _table(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: list[str], widths: list[int]) -> str:
    cells = [
        f"{cell:>{width}}" if i else f"{cell:{width}}" for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def reset_profiles() -> None:
    """Delete all collected profiles."""
    with _Registry.lock:
        _Registry.profiles.clear()
        _Registry.unread = False


def _print_at_exit() -> None:
    if _Registry.unread:
        print(profile_summary(), file=sys.stderr)
