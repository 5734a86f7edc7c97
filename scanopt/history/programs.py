"""The programs of a history: each is a list of lines, and lines that programs share are stored once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from scanopt.array.shown import shown
from scanopt.calculus.forms import Form
from scanopt.extraction.extract import Extraction
from scanopt.extraction.problem import Instance
from scanopt.history.kernels import HistoryKernel, kernels_of
from scanopt.history.names import StableNames
from scanopt.program.ir import Compute, Loop, Program
from scanopt.program.lower import lowered_with_names
from scanopt.program.renaming import renamed
from scanopt.program.text import Line, program_lines
from scanopt.records import dataclass

__all__ = ["HistoryLines", "ToldProgram"]

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class ToldProgram:
    """One program of a history.

    lines: the numbers of its lines.  program: as it was lowered.  names: its stable names, by those in `program`.
    """

    lines: list[int]
    program: Program
    names: dict[str, str]
    _page: _Page
    _rows: list[Row]

    @property
    def renamed(self) -> Program:
        """The program in the names of the history."""
        return self._page.program

    def kernels(self) -> list[HistoryKernel]:
        """Its kernels: steps that run in one piece."""
        return kernels_of(self._page.lines, self._rows, self._page.named, self._page.extraction)


class HistoryLines:
    """The lines of all programs of a history.

    places, loops: the class and clock of each term and loop as written.  made: the law that made each form.
    """

    def __init__(
        self,
        names: StableNames,
        places: Mapping[int, int],
        loops: Mapping[int, int],
        made: Mapping[Form, str],
        exact: bool,
    ) -> None:
        self.rows: list[Row] = []
        self.names, self._places, self._loops, self._made, self._exact = names, places, loops, made, exact
        self._numbers: dict[str, int] = {}

    def written(self, x: Extraction) -> ToldProgram:
        """Add the program as written."""
        program, named = lowered_with_names(x, self._exact)
        return self._add(program, named, self.names.written(program, named), x, True)

    def chosen(self, x: Extraction) -> ToldProgram:
        """Add a program chosen from the e-graph."""
        program, named = lowered_with_names(x, self._exact)
        return self._add(program, named, self.names.of(program, named), x, False)

    def _add(
        self, program: Program, named: Mapping[str, Instance], names: dict[str, str], x: Extraction, written: bool
    ) -> ToldProgram:
        page = _Page(self, renamed(program, names), _renamed(named, names), x, written)
        rows, numbers = page.rows(), list[int]()
        for row in rows:
            key = json.dumps(row)
            if key not in self._numbers:
                self._numbers[key] = len(self.rows)
                self.rows.append(row)
            numbers.append(self._numbers[key])
        return ToldProgram(numbers, program, names, page, rows)

    def place(self, i: Instance, written: bool) -> int | None:
        """The class of an instance, as the e-graph numbers it."""
        return self._places.get(i.id) if written else i.id

    def clock(self, clock: int, written: bool) -> int:
        """The number of a loop, as the e-graph numbers it."""
        return self._loops.get(clock, clock) if written else clock

    def law(self, form: Form | None) -> str:
        """The law that made a form, "" for none."""
        return self._made.get(form, "") if form is not None else ""


class _Page:
    """The lines of one program, and the data of each."""

    def __init__(
        self, lines: HistoryLines, program: Program, named: Mapping[str, Instance], x: Extraction, written: bool
    ) -> None:
        self._lines, self.program, self.named, self.extraction, self._written = lines, program, named, x, written
        self.lines = program_lines(program)
        self._around: list[str] = []
        self._turns: Counter[int] = Counter()

    def rows(self) -> list[Row]:
        """The rows of all lines."""
        return [self._row(line) for line in self.lines]

    def _row(self, line: Line) -> Row:
        del self._around[line.depth :]
        row: Row = {"kind": line.kind, "depth": line.depth, "text": line.text, "type": line.more}
        row |= {"makes": [*line.makes], "reads": [*line.reads], "loop": next(filter(None, reversed(self._around)), "")}
        if line.next:
            row["next"] = line.next
        found = [self.named[n] for n in line.makes if n in self.named]
        options = [self.extraction.choice[i] for i in found if i in self.extraction.choice]
        if line.kind == "compute":
            row |= _operator(line)
        own = ""
        if isinstance(line.step, Loop):
            own = self._loop(line.step, row)
        elif options:
            row["cost"] = round(sum(o.cost for o in options), 3)
            row["bytes"] = round(sum(o.held for o in options))
            if law := next(filter(None, (self._lines.law(o.form) for o in options)), ""):
                row["law"] = law
        if found and (c := self._lines.place(found[0], self._written)) is not None:
            row["class"] = c
            if (value := self._lines.names.value(c)) != c:
                row["value"] = value
        if sites := [site for name in line.makes for site in self._sites(name)]:
            row["sites"] = [*dict.fromkeys(sites)]
        if line.kind in ("loop", "branch", "else"):
            self._around.extend([""] * (line.depth - len(self._around)))
            self._around.append(own)
        return row

    def _sites(self, name: str) -> tuple[str, ...]:
        origin = self.program.origins.get(name)
        return () if origin is None else origin.step or origin.kept or origin.read

    def _loop(self, loop: Loop, row: Row) -> str:
        """Add to a line's row the loop that it begins; return the key of that loop."""
        kept = [self.extraction.choice[i] for k in loop.keeps if (i := self.named.get(k.out)) in self.extraction.choice]
        if not kept or kept[0].form is None:
            return shown(loop.label)
        clock, phases = kept[0].form.clock, kept[0].needs[0].phases
        sizes, running = self.extraction.problem.sizes, self.extraction.choice.get(Instance(clock, phases, True))
        number = self._lines.clock(clock, self._written)
        turn = self._turns[number]  # loops that laws made one run after one another, as phases of a loop do
        self._turns[number] += 1
        key = f"L{number}.{turn}" if turn else f"L{number}"
        row |= {"key": key, "steps": sizes.steps(clock), "trips": sizes.trips(clock)}
        row["cost"] = round(running.cost, 3) if running else 0.0
        if loop.sites:
            row["sites"] = [*loop.sites]
        row["states"] = [
            {"label": shown(s.label), "init": s.init, "depth": s.depth, "taps": [*map(list, s.taps)], "next": s.update}
            for s in loop.states
        ]
        row["label"] = shown(loop.label)
        return key


def _operator(line: Line) -> Row:
    if not isinstance(line.step, Compute):
        return {"op": "where", "group": "free"}
    op = line.step.op
    return {"op": op.name, "group": op.cost}


def _renamed(named: Mapping[str, Instance], names: Mapping[str, str]) -> dict[str, Instance]:
    return {names[n]: i for n, i in named.items() if n in names}
