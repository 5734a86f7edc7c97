"""A loop program as text for people: one line per step, infix where that is natural."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import field
from typing import Any

from scanopt.array.op_text import op_text
from scanopt.program.ir import Branch, CarriedState, Compute, Const, Keep, Loop, Program, Step
from scanopt.records import dataclass

__all__ = ["Line", "made_in", "names_made", "names_read", "names_shown", "program_lines", "program_text"]

WIDEST = 64


@dataclass(frozen=True)
class Line:
    """One line of a program's text.

    kind: input, const, compute, loop, read, state, keep, branch, else, give, check, return or note.  depth: how many
    loops and sides are around it.  more: the text in the right column.  makes: the names that it defines.  reads: the
    names that it reads.  next: for a state, the name of its value after the step.
    """

    kind: str
    depth: int
    text: str
    more: str = ""
    makes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    next: str = ""
    step: Step | None = None

    @property
    def indented(self) -> str:
        """The text, indented by its depth."""
        return "    " * self.depth + self.text


def program_text(program: Program) -> str:
    """The program as text: inputs, constants, steps with their types, results.

    Every line of a loop says its role in the documents' words: sequence, sit-sot, mit-sot,
    nit-sot.  The same program gives the same text.
    """
    lines = [(line.indented, line.more) for line in program_lines(program)]
    lengths = [len(text) for text, more in lines if more and len(text) <= WIDEST]
    width = max(lengths, default=0)
    return "\n".join(f"{text:<{width}}  {more}".rstrip() for text, more in lines)


def program_lines(program: Program) -> list[Line]:
    """The lines of the text of a program, with what each makes and reads."""
    page = _Page(names_shown(program))
    _inputs(program, page)
    _consts(program, page)
    for step in program.steps:
        page.step(step, 0)
    if program.checks:
        page.add("check", 0, f"check   {page.join(program.checks)}", reads=program.checks)
    page.add("return", 0, f"return {page.join(program.outputs)}", reads=program.outputs)
    for key, value in sorted(program.notes.items()):
        page.add("note", 0, f"note    {key}: {_plain(value)}")
    return page.lines


def names_read(step: Step) -> Iterator[str]:
    """The names a step reads, those read inside a loop or on a side of a branch included."""
    todo: list[Step | str] = [step]
    while todo:
        here = todo.pop()
        if isinstance(here, str):
            yield here
        elif isinstance(here, Compute):
            yield from here.args
        elif isinstance(here, Branch):
            yield here.condition
            todo += reversed([x for steps, values in here.sides for x in (*steps, *values)])
        else:
            yield here.steps
            yield from (r.source for r in here.reads)
            yield from (s.init for s in here.states)
            yield from (k.rows for k in here.keeps if isinstance(k.rows, str))
            yield from (k.start for k in here.keeps if k.start is not None)
            at_end = [s.update for s in here.states] + [k.value for k in here.keeps]
            at_end += [here.until] if here.until is not None else []
            todo += reversed([*here.body, *at_end])


def made_in(loop: Loop, apart: Container[int]) -> list[str]:
    """The names made inside a loop, those of loops and branches inside it included.  apart: ids not looked into."""
    names: list[str] = []
    todo: list[Step] = [loop]
    while todo:
        step = todo.pop()
        if step is not loop:
            names += names_made(step)
        if id(step) in apart:
            continue
        if isinstance(step, Loop):
            names += [r.out for r in step.reads] + [name for s in step.states for _, name in s.taps]
            todo += reversed(step.body)
        elif isinstance(step, Branch):
            todo += reversed((*step.then, *step.otherwise))
    return names


def names_made(step: Step) -> tuple[str, ...]:
    """The names a step makes for those after it: of a loop what it keeps, of a branch its results."""
    if isinstance(step, Compute):
        return (step.out,)
    return tuple(k.out for k in step.keeps) if isinstance(step, Loop) else tuple(r.out for r in step.results)


# Names


def names_shown(program: Program) -> dict[str, str]:
    """How names are shown: inputs by their label, if it is an identifier and unique, scalar constants by value."""
    labels = Counter(x.label for x in program.inputs)
    taken = {x.name for x in program.inputs} | {c.name for c in program.consts}
    taken |= {name for step in program.walk() for name in _made(step)}
    shown: dict[str, str] = {}
    for x in program.inputs:
        own = x.label.isidentifier() and labels[x.label] == 1
        shown[x.name] = x.label if own and (x.label == x.name or x.label not in taken) else x.name
    shown.update((c.name, str(c.value)) for c in program.consts if c.value.ndim == 0)
    return shown


def _made(step: Step) -> list[str]:
    if not isinstance(step, Loop):
        return [*names_made(step)]
    taps = [name for s in step.states for _, name in s.taps]
    return [r.out for r in step.reads] + taps + [k.out for k in step.keeps]


def _inputs(program: Program, page: _Page) -> None:
    for i, x in enumerate(program.inputs):
        name = page.name(x.name)
        label = f" {_plain(x.label)}" if x.label and x.label != name else ""
        page.add("input", 0, f"{'' if i else 'inputs':<8}{name}: {x.type}{label}", makes=(x.name,))


def _consts(program: Program, page: _Page) -> None:
    arrays = [c for c in program.consts if c.value.ndim]
    for i, c in enumerate(arrays):
        text = f"{'' if i else 'consts':<8}{page.name(c.name)}: {c.type} = {_preview(c)}"
        page.add("const", 0, text, makes=(c.name,))


def _preview(c: Const) -> str:
    first = [str(x) for x in c.value.ravel()[:4]]
    return ", ".join(first + (["..."] if c.value.size > 4 else []))


def _plain(text: str) -> str:
    """A user's text on one line: as it is when it is a name, else quoted."""
    return text if text.isidentifier() else repr(text)


# Lines


@dataclass
class _Page:
    shown: dict[str, str]
    lines: list[Line] = field(default_factory=list[Line])

    def add(self, kind: str, depth: int, text: str, more: str = "", **about: Any) -> None:
        self.lines.append(Line(kind, depth, text, more, **about))

    def name(self, name: str) -> str:
        return self.shown.get(name, name)

    def join(self, names: Sequence[str]) -> str:
        return ", ".join(map(self.name, names))

    def step(self, step: Step, depth: int) -> None:
        if isinstance(step, Compute):
            text = f"{step.out} = {op_text(step.op, [self.name(a) for a in step.args])}"
            self.add("compute", depth, text, str(step.type), makes=(step.out,), reads=step.args, step=step)
        elif isinstance(step, Loop):
            self._loop(step, depth)
        else:
            self._branch(step, depth)

    def _branch(self, step: Branch, depth: int) -> None:
        """One line per result where nothing is computed on either side, else a block for each side."""
        test = self.name(step.condition)
        if not step.then and not step.otherwise:
            for r in step.results:
                text = f"{r.out} = {self.name(r.then)} if {test} else {self.name(r.otherwise)}"
                reads = (step.condition, r.then, r.otherwise)
                self.add("compute", depth, text, str(r.type), makes=(r.out,), reads=reads, step=step)
            return
        made = names_made(step)
        head, types = f"{', '.join(made)} = if {test}:", ", ".join(str(r.type) for r in step.results)
        about = {"makes": made, "reads": (step.condition,), "step": step}
        for kind, line, more, given, (steps, values) in (
            ("branch", head, types, about, step.sides[0]), ("else", "else:", "", {}, step.sides[1])
        ):  # fmt: skip
            self.add(kind, depth, line, more, **given)
            for inner in steps:
                self.step(inner, depth + 1)
            self.add("give", depth + 1, f"give {self.join(values)}", reads=values)

    def _loop(self, loop: Loop, depth: int) -> None:
        label = f" {_plain(loop.label)}" if loop.label else ""
        most = "at most " if loop.until else ""
        stop = f", until {self.name(loop.until)}" if loop.until else ""
        head = f"loop{label} for {most}{self.name(loop.steps)} steps{stop}:"
        titles = " and ".join(map(_plain, loop.profile))
        notes = (f"phase {loop.phase}", titles and f"profiled as {titles}", "buffers kept" if loop.keep_buffers else "")
        ends = (loop.until,) if loop.until else ()
        self.add("loop", depth, head, "# " + ", ".join(filter(None, notes)), reads=(loop.steps, *ends), step=loop)
        for r in loop.reads:
            text = f"read  {r.out} = {self.name(r.source)}[t]"
            self.add("read", depth + 1, text, f"{r.type}  sequence", makes=(r.out,), reads=(r.source,))
        for s in loop.states:
            self._state(s, depth + 1)
        for step in loop.body:
            self.step(step, depth + 1)
        updates = {s.update for s in loop.states}
        for k in loop.keeps:
            role = "of a state" if k.value in updates else "nit-sot"
            reads = (k.value, k.rows) if isinstance(k.rows, str) else (k.value,)
            text = f"keep  {k.out} = {self._rows(k)} of {self.name(k.value)}"
            self.add("keep", depth + 1, text, f"{k.type}  {role}", makes=(k.out,), reads=reads)

    def _state(self, s: CarriedState, depth: int) -> None:
        made = tuple(name for _, name in s.taps)
        steps = " and ".join(str(k) for k, _ in s.taps)
        ago = "one step ago" if steps == "1" else f"{steps} steps ago"
        role = "sit-sot" if [k for k, _ in s.taps] == [1] and s.depth == 1 else f"mit-sot of depth {s.depth}"
        label = f" {_plain(s.label)}" if s.label else ""
        text = f"state {', '.join(made) or 'no tap'} = {self.name(s.update)} {ago}, starts {self.name(s.init)}"
        self.add("state", depth, text, f"{s.type}  {role}{label}", makes=made, reads=(s.init,), next=s.update)

    def _rows(self, k: Keep) -> str:
        count = self.name(k.rows) if isinstance(k.rows, str) else k.rows
        return "all rows" if count is None else "last row" if count == 1 else f"last {count} rows"
