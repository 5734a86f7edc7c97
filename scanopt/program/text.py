"""A loop program as text for people: one line per step, infix where that is natural."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scanopt.array.op_text import op_text
from scanopt.program.ir import Branch, CarriedState, Compute, Const, Keep, Loop, Program, Step

__all__ = ["names_made", "names_read", "names_shown", "program_text"]

WIDEST = 64


def program_text(program: Program) -> str:
    """The program as text: inputs, constants, steps with their types, results.

    Every line of a loop says its role in the documents' words: sequence, sit-sot, mit-sot,
    nit-sot.  The same program gives the same text.
    """
    page = _Page(names_shown(program))
    for head, lines in (("inputs", _inputs(program, page)), ("consts", _consts(program, page))):
        for i, (text, more) in enumerate(lines):
            page.add(f"{'' if i else head:<8}{text}", more)
    for step in program.steps:
        page.step(step, 0)
    if program.checks:
        page.add(f"check   {page.join(program.checks)}")
    page.add(f"return {page.join(program.outputs)}")
    for key, value in sorted(program.notes.items()):
        page.add(f"note    {key}: {_plain(value)}")
    return page.text()


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
            at_end = [s.update for s in here.states] + [k.value for k in here.keeps]
            at_end += [here.until] if here.until is not None else []
            todo += reversed([*here.body, *at_end])


def names_made(step: Step) -> tuple[str, ...]:
    """The names a step makes for those after it: of a loop what it keeps, of a branch its results."""
    if isinstance(step, Compute):
        return (step.out,)
    return tuple(k.out for k in step.keeps) if isinstance(step, Loop) else tuple(r.out for r in step.results)


# Names


def names_shown(program: Program) -> dict[str, str]:
    """How names are shown: inputs by their label if it is a name and its own, scalars by value."""
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


def _inputs(program: Program, page: _Page) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for x in program.inputs:
        name = page.name(x.name)
        label = f" {_plain(x.label)}" if x.label and x.label != name else ""
        found.append((f"{name}: {x.type}{label}", ""))
    return found


def _consts(program: Program, page: _Page) -> list[tuple[str, str]]:
    arrays = [c for c in program.consts if c.value.ndim]
    return [(f"{page.name(c.name)}: {c.type} = {_preview(c)}", "") for c in arrays]


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
    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def add(self, text: str, more: str = "") -> None:
        self.lines.append((text, more))

    def text(self) -> str:
        lengths = [len(text) for text, more in self.lines if more and len(text) <= WIDEST]
        width = max(lengths, default=0)
        return "\n".join(f"{text:<{width}}  {more}".rstrip() for text, more in self.lines)

    def name(self, name: str) -> str:
        return self.shown.get(name, name)

    def join(self, names: Sequence[str]) -> str:
        return ", ".join(map(self.name, names))

    def step(self, step: Step, depth: int) -> None:
        pad = "    " * depth
        if isinstance(step, Compute):
            text = op_text(step.op, [self.name(a) for a in step.args])
            self.add(f"{pad}{step.out} = {text}", str(step.type))
        elif isinstance(step, Loop):
            self._loop(step, depth)
        else:
            self._branch(step, depth)

    def _branch(self, step: Branch, depth: int) -> None:
        """One line per result where nothing is computed on either side, else a block for each side."""
        pad, test = "    " * depth, self.name(step.condition)
        if not step.then and not step.otherwise:
            for r in step.results:
                self.add(f"{pad}{r.out} = {self.name(r.then)} if {test} else {self.name(r.otherwise)}", str(r.type))
            return
        head, types = f"{', '.join(names_made(step))} = if {test}:", ", ".join(str(r.type) for r in step.results)
        for line, more, (steps, values) in ((head, types, step.sides[0]), ("else:", "", step.sides[1])):
            self.add(pad + line, more)
            for inner in steps:
                self.step(inner, depth + 1)
            self.add(f"{pad}    give {self.join(values)}")

    def _loop(self, loop: Loop, depth: int) -> None:
        outside, pad = "    " * depth, "    " * (depth + 1)
        label = f" {_plain(loop.label)}" if loop.label else ""
        most = "at most " if loop.until else ""
        stop = f", until {self.name(loop.until)}" if loop.until else ""
        head = f"loop{label} for {most}{self.name(loop.steps)} steps{stop}:"
        titles = " and ".join(map(_plain, loop.profile))
        notes = (f"phase {loop.phase}", titles and f"profiled as {titles}", "buffers kept" if loop.keep_buffers else "")
        self.add(outside + head, "# " + ", ".join(filter(None, notes)))
        for r in loop.reads:
            self.add(f"{pad}read  {r.out} = {self.name(r.source)}[t]", f"{r.type}  sequence")
        for s in loop.states:
            self._state(s, pad)
        for step in loop.body:
            self.step(step, depth + 1)
        updates = {s.update for s in loop.states}
        for k in loop.keeps:
            role = "of a state" if k.value in updates else "nit-sot"
            self.add(f"{pad}keep  {k.out} = {self._rows(k)} of {self.name(k.value)}", f"{k.type}  {role}")

    def _state(self, s: CarriedState, pad: str) -> None:
        names = ", ".join(name for _, name in s.taps) or "no tap"
        steps = " and ".join(str(k) for k, _ in s.taps)
        ago = "one step ago" if steps == "1" else f"{steps} steps ago"
        role = "sit-sot" if [k for k, _ in s.taps] == [1] and s.depth == 1 else f"mit-sot of depth {s.depth}"
        label = f" {_plain(s.label)}" if s.label else ""
        text = f"{pad}state {names} = {self.name(s.update)} {ago}, starts {self.name(s.init)}"
        self.add(text, f"{s.type}  {role}{label}")

    def _rows(self, k: Keep) -> str:
        count = self.name(k.rows) if isinstance(k.rows, str) else k.rows
        return "all rows" if count is None else "last row" if count == 1 else f"last {count} rows"
