"""Notes on an error raised in the generated text of a program: the step, its operands, the loops.

The line that failed and the values of the names there are read from the traceback, so a running
program records nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from types import CodeType, FrameType
from typing import Any

from scanopt.array.op_text import nested_text
from scanopt.loops.effects import CheckError
from scanopt.loops.failures import MOST_OPERANDS, add_notes, loop_notes, operator_note
from scanopt.program.ir import Branch, Compute, Loop, Origin, Program
from scanopt.program.text import names_shown
from scanopt.records import dataclass

__all__ = ["SourceMap", "note_failure"]


@dataclass
class SourceMap:
    """The steps and loops that the lines of generated text stand for, by line number from 1.

    steps: the operator on a line.  inside: the number of the innermost loop around it.  loops: by number, each with
    the number of the loop around it.  counters: for each loop, the name of its step counter in the text.  names: the
    names in the text, by those in the program.
    """

    steps: dict[int, Compute] = field(default_factory=dict[int, Compute])
    inside: dict[int, int] = field(default_factory=dict[int, int])
    loops: list[tuple[Loop, int | None]] = field(default_factory=list[tuple[Loop, int | None]])
    counters: list[str] = field(default_factory=list[str])
    names: dict[str, str] = field(default_factory=dict[str, str])

    def enter(self, loop: Loop, around: int | None, counter: str) -> int:
        """Register a loop; return its number."""
        self.loops.append((loop, around))
        self.counters.append(counter)
        return len(self.loops) - 1

    def note(self, number: int, step: Compute | None, loop: int | None) -> None:
        """Record the step on a line, and the innermost loop around it."""
        if step is not None:
            self.steps[number] = step
        if loop is not None:
            self.inside[number] = loop

    def _around(self, number: int) -> Iterator[int]:
        """The numbers of the loops around a line, innermost first."""
        here = self.inside.get(number)
        while here is not None:
            yield here
            here = self.loops[here][1]

    def around(self, number: int) -> list[Loop]:
        """The loops around a line, innermost first."""
        return [self.loops[i][0] for i in self._around(number)]

    def counting(self, number: int) -> list[str]:
        """The names of the step counters of the loops around a line, innermost first."""
        return [self.counters[i] for i in self._around(number)]


def note_failure(error: BaseException, program: Program, lines: SourceMap, code: CodeType) -> None:
    """Add notes to an error if it comes from the text compiled as `code`."""
    found = _place(error, code)
    if found is None:
        return
    frame, number = found
    around = lines.around(number)
    if isinstance(error, CheckError):
        for counter in lines.counting(number):
            error.in_step(frame.f_locals[counter])
    places: Mapping[str, Sequence[str]] = {"of": [s for loop in around for s in _sites(loop)]}
    notes: list[str] = []
    step = lines.steps.get(number)
    if step is not None:
        told = _Step(program, step)
        notes += told.notes(error, frame, lines.names)
        places = told.places(around)
    add_notes(error, [*notes, *loop_notes(error, places)])


def _place(error: BaseException, code: CodeType) -> tuple[FrameType, int] | None:
    """The innermost frame of the error's traceback that runs the text of `code`, and its line; None without one."""
    found, tb, text = None, error.__traceback__, None
    while tb is not None:
        frame = tb.tb_frame
        if frame.f_code is code:
            text = frame.f_globals
        if text is not None and frame.f_globals is text:
            found = frame, tb.tb_lineno
        tb = tb.tb_next
    return found


def _sites(loop: Loop) -> tuple[str, ...]:
    """The names of a loop in messages: the user's scans, else its label, as for a program from a file."""
    return loop.sites or ((f"loop {loop.label!r}",) if loop.label else ())


class _Step:
    """One step that failed, in a program."""

    def __init__(self, program: Program, step: Compute) -> None:
        self.program, self.step = program, step
        self.names = names_shown(program)
        self.made: dict[str, Compute] = {}
        self.kept: dict[str, Loop] = {}
        self.rows: dict[str, str] = {}  # by row that a loop reads: its source
        self.makes: defaultdict[str, list[str]] = defaultdict(list)  # by name: what is computed from it
        self.runs: defaultdict[str, list[str]] = defaultdict(list)  # by name: the scans of loops that begin with it
        self.axes = {x.name: x.axes for x in program.inputs if x.axes}
        for s in program.walk():
            if isinstance(s, Compute):
                self.made[s.out] = s
                for a in s.args:
                    self.makes[a].append(s.out)
            elif isinstance(s, Loop):
                self._loop(s)
            elif isinstance(s, Branch):
                for r in s.results:
                    for a in (s.condition, r.then, r.otherwise):
                        self.makes[a].append(r.out)

    def _loop(self, loop: Loop) -> None:
        self.kept |= {k.out: loop for k in loop.keeps}
        for a in (loop.steps, *(r.source for r in loop.reads), *(s.init for s in loop.states)):
            self.runs[a] += _sites(loop)
        for r in loop.reads:
            self.names[r.out] = f"{self.name(r.source)}[t]"
            self.rows[r.out] = r.source
            if r.source in self.axes:
                self.axes[r.out] = self.axes[r.source][1:]
        for s in loop.states:
            label = s.label if s.label.isidentifier() else s.update
            self.names |= {name: f"{label}[t-{k}]" for k, name in s.taps}

    def name(self, name: str) -> str:
        return self.names.get(name, name)

    def text(self, step: Compute) -> str:
        return f"{step.out} = {nested_text(step.op, [self.name(a) for a in step.args])}"

    def notes(self, error: BaseException, frame: FrameType, names: Mapping[str, str]) -> Iterator[str]:
        """Yield a note on the operator and its operands, then one on how the computed operands are made."""
        if self.step.op.name in ("require", "assert_true"):  # its message says everything but which array
            length = self.made.get(self.step.args[0])
            if isinstance(error, IndexError) and length is not None and length.op.name == "shape_i":
                yield f"an index of {self.name(length.args[0])}"
            return
        numbers = {c.name for c in self.program.consts if not c.value.ndim}
        args = [a for a in self.step.args if a not in numbers]
        op = self.step.op if isinstance(error, ValueError) else None
        operands = [(self.name(a), _value(frame, names[a])) for a in args]
        yield operator_note(self.text(self.step), operands, op, [self.axes.get(a, ()) for a in args])
        if made := [*self._makings(args)]:
            yield f"where {', '.join(made)}"

    def _makings(self, names: Sequence[str]) -> Iterator[str]:
        """Yield how the computed ones of these values are made, back to inputs of the program, but not very far."""
        given = {x.name for x in self.program.inputs}
        waiting, told = [self.rows.get(a, a) for a in names], set[str]()
        while waiting and len(told) < max(MOST_OPERANDS, len(names)):
            name = waiting.pop(0)
            if name in told or name not in self.made:
                continue
            told.add(name)
            yield self.text(self.made[name])
            if not given.intersection(self.made[name].args):
                waiting += [self.rows.get(a, a) for a in self.made[name].args]

    def places(self, around: Sequence[Loop]) -> dict[str, list[str]]:
        """The scans that the step is in ("of"), that its operands come from ("from"), and that use its result ("for").

        around: the loops around it in the program, innermost first; each may run several scans.
        """
        mine = self._origin(self.step.out)
        inside = [mine.step or _sites(loop) for loop in around[:1]] + [_sites(loop) for loop in around[1:]]
        before = [self.rows.get(a, a) for a in self.step.args]
        before += [a for name in before if name in self.made for a in self.made[name].args]
        found = {
            "of": [*mine.kept, *(site for sites in inside for site in sites)],
            "from": [site for a in before for site in self._sources(a)],
            "for": [*mine.read],
        }
        return found if any(found.values()) else {"from": [*mine.behind], "for": self._nearest()}

    def _nearest(self) -> list[str]:
        """The scans that use the result first."""
        names, seen = [self.step.out], {self.step.out}
        while names:
            of = [self._origin(name) for name in names]
            sites = [s for x in of for s in (*x.kept, *x.step, *x.read)] + [s for n in names for s in self.runs[n]]
            if sites := sites or [s for x in of for s in x.behind]:
                return sites
            names = [made for name in names for made in self.makes[name] if made not in seen]
            seen.update(names)
        return []

    def _sources(self, name: str) -> tuple[str, ...]:
        loop = self.kept.get(name)
        return self._origin(name).kept or (_sites(loop) if loop else ())

    def _origin(self, name: str) -> Origin:
        return self.program.origins.get(name, Origin())


def _value(frame: FrameType, name: str) -> Any:
    """The value of a name of the text: a local one, or a constant."""
    return frame.f_locals[name] if name in frame.f_locals else frame.f_globals.get(name)
