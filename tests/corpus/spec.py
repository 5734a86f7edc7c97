"""A random program as plain data, and as the text that is run: one and the same by construction."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Input", "Line", "Loop", "Out", "Slot", "Spec", "Statement", "build", "live", "prune", "source", "used"]


@dataclass
class Input:
    """An input: its static lengths (None where unknown), its shape and its elements, flat."""

    name: str
    dtype: str
    static: list[int | None]
    shape: list[int]
    values: list[Any]


@dataclass
class Line:
    """name = text.  dtype and shape: what it will be for the values of the inputs."""

    name: str
    text: str
    dtype: str
    shape: list[int]


@dataclass
class Slot:
    """An argument of a scan and the parameters of the step that stand for it."""

    text: str
    params: list[str]


@dataclass
class Out:
    """An output of a scan: the result of the step, and the state's text and parameters, if it is one."""

    name: str
    dtype: str
    shape: list[int]
    result: str
    text: str = "None"
    params: list[str] = field(default_factory=list[str])


@dataclass
class Loop:
    """A call of scan or of one of its relatives.  until: the name of the condition on which it ends."""

    function: str
    sequences: list[Slot]
    outs: list[Out]
    given: list[Slot]
    body: list[Statement]
    n_steps: str | None = None
    go_backwards: bool = False
    until: str | None = None


Statement = Line | Loop


@dataclass
class Spec:
    """A program.  smooth: no operator that jumps, so that small errors stay small."""

    seed: int
    inputs: list[Input]
    statements: list[Statement]
    outputs: list[str]
    smooth: bool = True

    def to_data(self) -> dict[str, Any]:
        """Dicts, lists, numbers and texts."""
        return dataclasses.asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Spec:
        """The spec that `to_data` was called of."""
        inputs = [Input(**x) for x in data["inputs"]]
        return cls(**{**data, "inputs": inputs, "statements": [_statement(x) for x in data["statements"]]})


def _statement(data: dict[str, Any]) -> Statement:
    if "function" not in data:
        return Line(**data)
    slots = {key: [Slot(**x) for x in data[key]] for key in ("sequences", "given")}
    outs, body = [Out(**x) for x in data["outs"]], [_statement(x) for x in data["body"]]
    return Loop(**{**data, **slots, "outs": outs, "body": body})


# As text

_HEAD = "import numpy as np\nimport scanopt\nimport scanopt.tensor as T\nfrom numpy import inf, nan\n"

_TAIL = """
expected = scanopt.interpret(outputs, values)
f = scanopt.function(list(values), outputs, fp="exact", on_unused_input="ignore")
for e, r in zip(expected, f(*values.values()), strict=True):
    assert (e.dtype, e.shape) == (r.dtype, r.shape), (e, r)
    np.testing.assert_array_equal(e, r, strict=True)
"""


def source(spec: Spec, tail: bool = True) -> str:
    """The program as a file of its own; with `tail` it compares the compiled function with the interpreter."""
    lines = [f"# seed {spec.seed}", _HEAD]
    lines += [f"{x.name} = T.tensor({x.dtype!r}, {_tuple(x.static)}, {x.name!r})" for x in spec.inputs]
    lines.append("values = {" + ", ".join(f"{x.name}: {_array(x)}" for x in spec.inputs) + "}")
    lines += _statements(spec.statements)
    lines.append(f"outputs = [{', '.join(spec.outputs)}]")
    return "\n".join(lines) + "\n" + (_TAIL if tail else "")


def _tuple(x: Iterable[Any]) -> str:
    return repr(tuple(x))


def _array(x: Input) -> str:
    return f"np.array({x.values}, {x.dtype!r}).reshape({_tuple(x.shape)})"


def _statements(statements: Iterable[Statement]) -> list[str]:
    return [text for s in statements for text in ([f"{s.name} = {s.text}"] if isinstance(s, Line) else _loop(s))]


def _loop(x: Loop) -> list[str]:
    fed: list[Slot | Out] = [*x.sequences, *x.outs, *x.given]
    params = [p for slot in fed for p in slot.params]
    step = f"step_{x.outs[0].name}"
    body = ["    " + text for text in _statements(x.body)]
    results = ", ".join(o.result for o in x.outs)
    names = ", ".join(o.name for o in x.outs)
    end = f", scanopt.until({x.until})" if x.until else ""
    left = names if len(x.outs) == 1 else f"[{names}]"
    return [
        f"def {step}({', '.join(params)}):",
        *body,
        f"    return {results if len(x.outs) == 1 else f'[{results}]'}{end}",
        f"{left}, _ = scanopt.{x.function}({', '.join([step, *_arguments(x)])})",
    ]


def _arguments(x: Loop) -> list[str]:
    out = [f"sequences=[{', '.join(s.text for s in x.sequences)}]"] if x.sequences else []
    if x.function != "map" and any(o.text != "None" for o in x.outs):
        out.append(f"outputs_info=[{', '.join(o.text for o in x.outs)}]")
    elif x.function not in ("map", "scan"):
        out.append("outputs_info=None")
    if x.given:
        out.append(f"non_sequences=[{', '.join(s.text for s in x.given)}]")
    if x.n_steps is not None:
        out.append(f"n_steps={x.n_steps}")
    return [*out, "go_backwards=True"] if x.go_backwards else out


def build(spec: Spec) -> tuple[dict[Any, np.ndarray[Any, Any]], list[Any]]:
    """The program through the public API: values by input, and the outputs."""
    space: dict[str, Any] = {}
    exec(compile(source(spec, tail=False), f"<random program {spec.seed}>", "exec"), space)
    return space["values"], space["outputs"]


# What is used

_NAME = re.compile(r"\b[a-z]\d+\b")


def used(text: str) -> set[str]:
    """The names in an expression: all names are a letter and a number."""
    return set(_NAME.findall(text))


def _needs(s: Statement) -> set[str]:
    if isinstance(s, Line):
        return used(s.text)
    slots: list[Slot | Out] = [*s.sequences, *s.outs, *s.given]
    out = {n for slot in slots for n in used(slot.text)} | _results(s) | used(s.n_steps or "")
    return out.union(*(_needs(x) for x in s.body))


def _results(s: Loop) -> set[str]:
    return {o.result for o in s.outs} | ({s.until} if s.until else set())


def _makes(s: Statement) -> set[str]:
    return {s.name} if isinstance(s, Line) else {o.name for o in s.outs}


def prune(statements: Iterable[Statement], wanted: Iterable[str]) -> list[Statement]:
    """The statements that the wanted names need, steps of loops pruned likewise."""
    needed = set(wanted)
    out: list[Statement] = []
    for s in reversed(list(statements)):
        if not _makes(s) & needed:
            continue
        if isinstance(s, Loop):
            s = dataclasses.replace(s, body=prune(s.body, _results(s)))
        needed |= _needs(s)
        out.append(s)
    return out[::-1]


def live(spec: Spec) -> Spec:
    """The program without states, outputs and non-sequences that nothing needs: their errors do not count."""
    return dataclasses.replace(spec, statements=_live(spec.statements, spec.outputs))


def _live(statements: Iterable[Statement], wanted: Iterable[str]) -> list[Statement]:
    needed = set(wanted)
    out: list[Statement] = []
    for s in reversed(list(statements)):
        if not _makes(s) & needed:
            continue
        if isinstance(s, Loop):
            s = _live_loop(s, needed)
        needed |= _needs(s)
        out.append(s)
    return out[::-1]


def _live_loop(s: Loop, needed: set[str]) -> Loop:
    kept = [o for o in s.outs if o.name in needed]
    while True:
        results = _results(dataclasses.replace(s, outs=kept))
        body = _live(s.body, results)
        reads = {n for x in body for n in _needs(x)} | results
        found = [o for o in s.outs if o in kept or reads.intersection(o.params)]
        if found == kept:
            given = [x for x in s.given if reads.intersection(x.params)]
            return dataclasses.replace(s, outs=kept, given=given, body=body)
        kept = found
