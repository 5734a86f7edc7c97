"""Writes Python source text for a loop program: array steps, and loops whose buffers are reused from step to step.

All names in the text are made here; names chosen by users appear in comments only, escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from scanopt.array.op import Op
from scanopt.backends.host_numbers import HOST_LENGTHS, HostNumbers
from scanopt.backends.layout import Layout, layout
from scanopt.backends.loop_source import LoopWriter
from scanopt.backends.op_names import OpNames
from scanopt.backends.parts import COMMENT_AT, DEEPEST, FunctionPart, SourceLine, connect, safe, written
from scanopt.backends.scratch import kept_buffers
from scanopt.program.failures import SourceMap
from scanopt.program.ir import Branch, Compute, Loop, Program, Step
from scanopt.program.names import given
from scanopt.program.storage.placement import Root
from scanopt.program.text import made_in, names_made, names_read
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.backends.kernels.choice import Choice
    from scanopt.backends.kernels.segments import Segment, SegmentPart

__all__ = ["Source", "program_source"]

INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=",
    "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
OUT_BY_NAME = {"maximum", "minimum"}  # NumPy is about to take more operands by position
SCALARS = {"int32", "int64", "float32", "float64"}


@dataclass(frozen=True)
class Source:
    """The source text of a function `program`, perhaps divided into parts, and the values of its global names.

    ops: functions to bind, by name (`host_ops`: for NumPy).  kinds: for each op, the kinds of dtype of its arguments.
    consts: arrays, by name (`scalars`: as NumPy's scalars).  labels: texts for error messages, by number.  empties:
    loops to evaluate without steps, by name, with the outer names that they take.  titles: of profiled loops, by
    number.  stands_for: the steps and loops of its lines.  numbers: inputs that are read on the host.
    """

    text: str
    ops: dict[str, Op]
    host_ops: dict[str, Op]
    kinds: dict[Op, set[str]]
    consts: dict[str, np.ndarray[Any, Any]]
    scalars: dict[str, np.ndarray[Any, Any]]
    labels: tuple[str, ...]
    empties: dict[str, tuple[Loop, tuple[str, ...]]]
    titles: tuple[tuple[str, ...], ...]
    stands_for: SourceMap
    numbers: frozenset[str]


def program_source(program: Program, infix: bool = True, choice: Choice | None = None) -> Source:
    """Write the source text of a program.

    infix: write arithmetic of two scalars of one dtype as `a + b`; right for NumPy, whose scalars
    compute like its arrays.  choice: which loops have kernels, to be called in their place.
    """
    found = layout(program)
    writer = Writer(program, found, kept_buffers(program, found), infix, choice)
    if choice is not None:
        choice.of_program(program, found.types)
    text = writer.program()
    return Source(
        text, {name: op for op, name in writer.ops.given.items()},
        {name: op for op, name in writer.ops.on_host.items()}, _kinds(program, found),
        writer.consts, writer.scalars, tuple(writer.labels), writer.empties,
        tuple(writer.titles), writer.stands_for, frozenset(writer.numbers.given),
    )  # fmt: skip


def _kinds(program: Program, found: Layout) -> dict[Op, set[str]]:
    """For each operator, the kinds of dtype that its arguments have anywhere in the program."""
    kinds: dict[Op, set[str]] = {}
    for step in program.walk():
        if isinstance(step, Compute):
            kinds.setdefault(step.op, set()).update(np.dtype(found.types[a].dtype).kind for a in step.args)
    return kinds


@dataclass
class Writer:
    """Writes the text of a program; holds what has been written so far."""

    source: Program
    layout: Layout
    kept: dict[str, int]
    infix: bool
    choice: Choice | None = None
    parts: list[FunctionPart] = field(default_factory=list[FunctionPart])
    apart: set[int] = field(default_factory=set[int])
    names: dict[str, str] = field(default_factory=dict[str, str])
    user_names: dict[str, str] = field(default_factory=dict[str, str])
    ops: OpNames = field(default_factory=OpNames)
    consts: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict[str, Any])
    scalars: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict[str, Any])
    labels: list[str] = field(default_factory=list[str])
    titles: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    empties: dict[str, tuple[Loop, tuple[str, ...]]] = field(default_factory=dict[str, Any])
    stands_for: SourceMap = field(default_factory=SourceMap)
    lines: list[SourceLine] = field(default_factory=list[SourceLine])
    depth: int = 1
    loop: int | None = None

    # Lines and names

    def line(
        self,
        text: str,
        comment: str = "",
        step: Compute | None = None,
        calls: FunctionPart | None = None,
        makes: str = "",
    ) -> None:
        """Write one line, with a comment at its end (already safe: see `safe`)."""
        text = "    " * self.depth + text if text or calls else ""
        self.lines.append(SourceLine(text, comment, step, self.loop, calls, makes))

    def block(self, head: str, write: Callable[[], None], comment: str = "") -> None:
        """Write a line that ends in a colon, and the lines that `write` writes, one level deeper."""
        self.line(head, comment)
        self.depth += 1
        start = len(self.lines)
        write()
        if len(self.lines) == start:  # as in a loop that only keeps what it reads
            self.line("pass")
        self.depth -= 1

    def step(self, step: Loop | Branch, write: Callable[[], None]) -> None:
        """Write a loop or a branch by calling `write`; later and as a separate part if it is nested too deeply."""
        if self.depth < DEEPEST:
            write()
            return
        results = tuple(map(self.name, names_made(step)))
        part = FunctionPart(f"part_{len(self.parts)}", [], results, write, self.loop)
        self.parts.append(part)
        self.apart.add(id(step))
        self.line("", calls=part)

    def name(self, name: str) -> str:
        """The Python name of a program's name."""
        return self.names[name]

    @cached_property
    def numbers(self) -> HostNumbers:
        """The numbers that are known on the host."""
        device = not self.infix and self.choice is not None  # CUDA graphs would keep what a host has computed
        return HostNumbers(self.source, self.names, self.layout.types, device)

    def length(self, name: str) -> str:
        """The text of a number that the host reads; if the host can compute it, nothing waits for a device."""
        return self.numbers.text(name) or self.name(name)

    def _name_all(self) -> None:
        taken = {name for name in self.layout.types if re.fullmatch(r"v[0-9]+", name)}
        fresh = (f"v{i}" for i in range(10**9) if f"v{i}" not in taken)
        for i, x in enumerate(self.source.inputs):
            self.names[x.name] = f"x{i}"
            self.user_names[x.name] = x.label or x.name
        self.names |= {c.name: f"c{i}" for i, c in enumerate(self.source.consts)}
        for name in self.layout.types:
            if name not in self.names:
                self.names[name] = name if name in taken else next(fresh)
        self.stands_for.names = self.names

    def described(self, name: str) -> str:
        """The name to show in error messages: the user's label of an input, else the name itself."""
        return self.user_names.get(name, name)

    def label(self, text: str) -> int:
        """Note a text for error messages; return its number."""
        self.labels.append(text)
        return len(self.labels) - 1

    def title(self, titles: tuple[str, ...]) -> int:
        """Note the titles of a profiled loop; return their number."""
        self.titles.append(titles)
        return len(self.titles) - 1

    # The program

    def program(self) -> str:
        """Write the whole text, and return it."""
        self._name_all()
        head = ["# generated by scanopt from a loop program"]
        for x in self.source.inputs:
            label = f"  {safe(x.label)}" if x.label else ""
            head.append(f"#   {self.numbers.argument(x.name)}  {x.type}{label}")
        for c in self.source.consts:
            shown = str(c.value) if c.value.ndim == 0 else "an array"
            head.append(f"#   {self.name(c.name)}  {c.type}  constant {shown}")
            self.consts[self.name(c.name)] = c.value
        takes = [self.numbers.argument(x.name) for x in self.source.inputs]
        self.parts.append(FunctionPart("program", takes, write=self._steps))
        for part in self.parts:  # writing a part may add others
            self.lines, self.depth, self.loop = part.lines, 1, part.loop
            part.write()
        self.numbers.drop_unread(self.parts)
        if len(self.parts) > 1:
            connect(self.parts)
        lines = [*map(SourceLine, head), *written(self.parts)]
        for number, line in enumerate(lines, 1):
            self.stands_for.note(number, line.step, line.loop)
        return "".join(
            f"{line.text:<{COMMENT_AT}}  # {line.comment}\n" if line.comment else f"{line.text}\n" for line in lines
        )

    def _steps(self) -> None:
        inputs = {x.name for x in self.source.inputs if x.type.ndim == 0}
        scalar = [s for s in self.source.walk() if isinstance(s, Compute) and self.is_infix(s)]
        used = {a for step in scalar for a in step.args}
        for name in sorted(inputs & used, key=self.name):
            self.line(f"{self.name(name)}s = {self.name(name)}[()]")
        for name in self.numbers.given:
            for made, f in ((self.numbers.here(name), "here"), (self.name(name), "there")):
                self.line(f"{made} = {f}({self.numbers.argument(name)})", makes=made)
        self._straight(self.source.steps, at_end=False)
        if self.source.profile:
            self.line(f"record({self.title(self.source.profile)}, 0, 0.0, None)", "profiled, but no loop is left")
        self._return()

    def _straight(self, steps: tuple[Step, ...], at_end: bool = True) -> None:
        """Write steps outside of loops.  at_end: release arrays after the last step, too."""
        mine = {name for step in steps for name in names_made(step)}
        found = self.choice.segments(steps, self.layout.types, self.layout.last_use) if self.choice else []
        starts = {segment.start: segment for segment in found}
        inside = {i for segment in found for i in range(segment.start, segment.stop)}
        for position, step in enumerate(steps):
            if position in inside:
                if position in starts:
                    self._segment(starts[position], steps, mine)
                continue
            if isinstance(step, Loop):
                self.step(step, LoopWriter(self, step).write)
            elif isinstance(step, Branch):
                self.step(step, partial(self.branch, step, self._straight, self._leave))
            else:
                self.compute(step)
            if at_end or position < len(steps) - 1:
                self._forget(position, step, mine)

    def _segment(self, segment: Segment, steps: tuple[Step, ...], mine: set[str]) -> None:
        """Write the calls of a segment's kernels, each followed by the array steps that run where it gives None."""
        inside = range(segment.start, segment.stop)
        own = {s.out for part in segment.parts for s in part.steps}
        place = {name: i for i in inside for name in names_made(steps[i]) if name in own}
        before = mine - place.keys()

        def array_steps(part: SegmentPart) -> None:
            made = {s.out for s in part.steps}
            for step in part.steps:
                self.compute(step)
                self._forget(place[step.out], step, made)

        for i in inside:
            if isinstance(step := steps[i], Compute) and step.out not in place:
                self.compute(step)
        for part in segment.parts:
            if part.body is None or self.choice is None:
                array_steps(part)
            else:
                kernel = self.choice.segment_kernel(part.body)
                z, results = f"z_{kernel}", ", ".join(map(self.name, part.results))
                self.line(f"{z} = {kernel}({', '.join(map(self.name, part.body.outer))})")
                self.block(f"if {z}:", partial(self.line, f"[{results}], {z} = {z}, None"))
                self.block("else:", partial(array_steps, part))
        for i in inside:
            self._forget(i, steps[i], before)

    def branch(
        self, step: Branch, write: Callable[[tuple[Step, ...]], None], leave: Callable[[tuple[Step, ...]], None]
    ) -> None:
        """Write a branch.  write: writes the steps of one side; leave: what else to do at its end."""
        test = self.length(step.condition)
        if not step.then and not step.otherwise:
            for r in step.results:
                self.line(
                    f"{self.name(r.out)} = {self.name(r.then)} if {test} else {self.name(r.otherwise)}", str(r.type)
                )
            return

        def side(steps: tuple[Step, ...], values: tuple[str, ...]) -> None:
            write(steps)
            for r, value in zip(step.results, values, strict=True):
                self.line(f"{self.name(r.out)} = {self.name(value)}", str(r.type))
            leave(steps)

        self.block(f"if {test}:", lambda: side(*step.sides[0]))
        self.block("else:", lambda: side(*step.sides[1]))

    def compute(self, step: Compute, out: str | None = None) -> None:
        """Write one operator.  out: the text of the array into which it puts its result, if any."""
        if self.numbers.computed.get(step.out) is step:
            self._on_host(step)
            return
        if self.is_infix(step):
            text = f" {INFIX[step.op.name]} ".join(self._scalar(a) for a in step.args)
        else:
            args = [self.name(a) for a in step.args]
            if step.op.name in HOST_LENGTHS and {"array", "mask"}.isdisjoint(step.op.options.get("index", ())):
                args[1:] = map(self.length, step.args[1:])
            if out:
                args.append(f"out={out}" if step.op.name in OUT_BY_NAME else out)
            text = f"{self.ops.name(step.op)}({', '.join(args)})"
        makes = self.name(step.out) if self.numbers.may_drop(step) else ""
        self.line(f"{self.name(step.out)} = {text}", str(step.type), step, makes=makes)

    def _on_host(self, step: Compute) -> None:
        """Write a number computed on the host, and the line that copies it to the device, where that is read."""
        here, there = self.numbers.here(step.out), self.name(step.out)
        if step.op.name == "shape_i":
            text = self.numbers.shape(step)
        else:
            text = f"{self.ops.here(step.op)}({', '.join(map(self._here, step.args))})"
        self.line(f"{here} = {text}", str(step.type), step, makes=here if self.numbers.may_drop(step) else "")
        self.line(f"{there} = there({here})", makes=there)

    def _here(self, name: str) -> str:
        """The name of a number on the host, or of a constant as NumPy's scalar."""
        if name in self.numbers.computed or name in self.numbers.given:
            return self.numbers.here(name)
        self.scalars[f"{self.name(name)}s"] = self.consts[self.name(name)]
        return f"{self.name(name)}s"

    def is_infix(self, step: Compute) -> bool:
        """Whether a step is arithmetic of two scalars of one dtype that may be written as `a + b`."""
        types = [self.layout.types[a] for a in step.args]
        dtypes = {t.dtype for t in types}
        return (
            self.infix
            and step.op.name in INFIX
            and not step.op.params
            and len(dtypes) == 1
            and dtypes <= SCALARS
            and all(t.ndim == 0 for t in types)
            and not (step.op.name == "divide" and next(iter(dtypes))[0] == "i")
        )

    def _scalar(self, name: str) -> str:
        """The name of a 0-d value as an operand of `+`: inputs and constants have a second name, for their scalar."""
        plain = self.name(name)
        if plain in self.consts:
            self.scalars[f"{plain}s"] = self.consts[plain]
            return f"{plain}s"
        return f"{plain}s" if plain[0] == "x" else plain

    def _forget(self, position: int, step: Step, mine: set[str]) -> None:
        """Release the arrays that nothing reads after this step, and those of the last step of a loop."""
        if isinstance(step, Loop) and id(step) not in self.apart:
            LoopWriter(self, step).forget()
        read = [n for n in dict.fromkeys(names_read(step)) if n in mine]
        self._delete([n for n in read if self.layout.last_use.get(n) == position])

    def _leave(self, steps: tuple[Step, ...]) -> None:
        """At the end of a side of a branch, release the arrays that are still alive."""
        made = [n for step in steps for n in names_made(step)]
        self._delete([n for n in made if self.layout.last_use.get(n, len(steps)) == len(steps)])

    def _delete(self, names: list[str]) -> None:
        dead = [self.name(n) for n in names if self.layout.types[n].ndim]
        if dead:
            self.line(f"del {', '.join(dead)}")

    def _return(self) -> None:
        returned: set[Root] = set()
        foreign = {root for x in given(self.source) for root in self.layout.holds[x.name]}
        results: list[str] = []
        for name in self.source.outputs:
            roots, text = self.layout.holds[name], self.name(name)
            if self.layout.types[name].ndim == 0 or not (roots.isdisjoint(foreign) and roots.isdisjoint(returned)):
                text = f"owned({text})"
            elif name in self.layout.views:
                text = f"writable({text})"
            returned |= roots
            results.append(text)
        self.line(f"return [{', '.join(results)}]")

    # What loops need

    def empty(self, loop: Loop) -> str:
        """The text of the call that makes the results of a loop that runs no step."""
        inner = set(made_in(loop, ()))
        outer = tuple(n for n in dict.fromkeys(names_read(loop)) if n not in inner)
        name = f"no_steps_{len(self.empties)}"
        self.empties[name] = loop, outer
        return f"{name}({', '.join(map(self.length, outer))})"
