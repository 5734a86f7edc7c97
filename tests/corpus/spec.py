"""A random program as plain data, and what of it is needed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "LAYOUTS", "Change", "Input", "Line", "Loop", "Out", "Slot", "Spec", "Statement", "changed", "live", "makes",
    "needs", "prune", "used", "without_likes",
]  # fmt: skip


@dataclass
class Input:
    """An input or a shared variable: its static lengths (None where unknown), its shape and its elements, flat.

    values: of complex numbers the real and the imaginary parts in turn.  layout: how the array lies in
    memory, a key of `LAYOUTS`.
    """

    name: str
    dtype: str
    static: list[int | None]
    shape: list[int]
    values: list[Any]
    layout: str = ""

    @property
    def text(self) -> str:
        """The array as a text of NumPy."""
        parts = f", {self.dtype!r})"
        if self.dtype.startswith("complex"):
            parts = f", {'float32' if self.dtype == 'complex64' else 'float64'!r}).view({self.dtype!r})"
        plain = f"np.array({self.values}{parts}.reshape({tuple(self.shape)!r})"
        return LAYOUTS[self.layout].format(x=plain, d=self.dtype, s=tuple(self.shape))

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The array."""
        return np.asarray(eval(self.text, {"np": np, "nan": np.nan, "inf": np.inf}))


LAYOUTS = {
    "": "{x}",
    "Fortran order": "np.asfortranarray({x})",
    "transposed": "{x}.T.copy().T",
    "reversed": "{x}[..., ::-1].copy()[..., ::-1]",
    "backwards": "{x}[::-1].copy()[::-1]",
    "strided": "np.repeat({x}, 2, axis=-1)[..., ::2]",
    "rows apart": "np.repeat({x}, 3, axis=0)[::3]",
    "unaligned": "np.frombuffer(b'0' + {x}.tobytes(), {d!r}, offset=1).reshape({s})",
    "one row": "np.broadcast_to({x}[:1], {s})",
    "one column": "np.broadcast_to({x}[..., :1], {s})",
    "read only": "np.broadcast_to({x}, {s})",
}
"""Ways in which an array may lie in memory, as texts of NumPy: x the array, d its dtype, s its shape."""


@dataclass
class Line:
    """name = text.  dtype and shape: what it will be for the values of the inputs."""

    name: str
    text: str
    dtype: str
    shape: list[int]


@dataclass
class Slot:
    """An argument of a loop and the parameters of the step that stand for it."""

    text: str
    params: list[str]


@dataclass
class Out:
    """An output of a loop: the result of the step, and the state's text and parameters, if it is one.

    shape: -1 stands for a number of steps that only the run tells.
    """

    name: str
    dtype: str
    shape: list[int]
    result: str
    text: str = "None"
    params: list[str] = field(default_factory=list[str])

    @property
    def is_state(self) -> bool:
        return bool(self.params)


@dataclass
class Change:
    """An update: a shared variable and the text of its new value."""

    shared: str
    text: str


@dataclass
class Loop:
    """A call of scan or of one of its relatives.

    until: the name of the condition on which it ends; of a while_loop the text on which it goes on.
    tree: how the carry of loop, fori_loop and while_loop is nested: outputs that are states are then
    their last values.  changes, passed: the updates that the step gives: of its own, and those of
    loops inside it, by name.  gives: how it writes them.  updates: the name of what the loop gives.
    """

    function: str
    sequences: list[Slot]
    outs: list[Out]
    given: list[Slot]
    body: list[Statement]
    n_steps: str | None = None
    go_backwards: bool = False
    until: str | None = None
    tree: str = ""
    changes: list[Change] = field(default_factory=list[Change])
    passed: list[str] = field(default_factory=list[str])
    gives: str = "dict"
    updates: str = ""

    @property
    def slots(self) -> list[Slot | Out]:
        """All arguments, in the order of the parameters of the step."""
        return [*self.sequences, *self.outs, *self.given]

    @property
    def title(self) -> str:
        """What its step is named after."""
        return self.outs[0].name if self.outs else self.updates


Statement = Line | Loop


@dataclass
class Spec:
    """A program: outputs, and the updates of its function (changes, and those of loops, by name).

    smooth: no operator that jumps, so that small errors stay small.  disturbed: lengths were changed,
    so that declared shapes need not be true.
    """

    seed: int
    inputs: list[Input]
    statements: list[Statement]
    outputs: list[str]
    smooth: bool = True
    shared: list[Input] = field(default_factory=list[Input])
    changes: list[Change] = field(default_factory=list[Change])
    passed: list[str] = field(default_factory=list[str])
    disturbed: bool = False

    @property
    def wanted(self) -> set[str]:
        """The names that the function needs."""
        return {*self.outputs, *self.passed}.union(*(used(c.text) for c in self.changes))

    def to_data(self) -> dict[str, Any]:
        """Dicts, lists, numbers and texts."""
        return dataclasses.asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Spec:
        """The spec that `to_data` was called of."""
        made: dict[str, Any] = {key: [Input(**x) for x in data[key]] for key in ("inputs", "shared")}
        made["changes"] = [Change(**x) for x in data["changes"]]
        return cls(**{**data, **made, "statements": [_statement(x) for x in data["statements"]]})


def _statement(data: dict[str, Any]) -> Statement:
    if "function" not in data:
        return Line(**data)
    slots: dict[str, Any] = {key: [Slot(**x) for x in data[key]] for key in ("sequences", "given")}
    slots["changes"] = [Change(**x) for x in data["changes"]]
    outs, body = [Out(**x) for x in data["outs"]], [_statement(x) for x in data["body"]]
    return Loop(**{**data, **slots, "outs": outs, "body": body})


# What is used

_NAME = re.compile(r"\b[a-z]\d+\b")


def used(text: str) -> set[str]:
    """The names in an expression: all names are a letter and a number."""
    return set(_NAME.findall(text))


def needs(s: Statement) -> set[str]:
    """The names that a statement reads, those inside a step included."""
    if isinstance(s, Line):
        return used(s.text)
    out = {n for slot in s.slots for n in used(slot.text)} | _results(s) | used(s.n_steps or "")
    return out.union({c.shared for c in s.changes}, *(needs(x) for x in s.body))


def _results(s: Loop) -> set[str]:
    """The names that a step gives."""
    return {o.result for o in s.outs}.union(used(s.until or ""), s.passed, *(used(c.text) for c in s.changes))


def makes(s: Statement) -> set[str]:
    """The names that a statement gives a meaning."""
    return {s.name} if isinstance(s, Line) else {o.name for o in s.outs} | ({s.updates} if s.updates else set())


def changed(s: Statement) -> set[str]:
    """The shared variables that a loop changes, not counting streams of random numbers."""
    if isinstance(s, Line):
        return set()
    return {c.shared for c in s.changes}.union(*(changed(x) for x in s.body if makes(x) & set(s.passed)))


def prune(statements: Iterable[Statement], wanted: Iterable[str]) -> list[Statement]:
    """The statements that the wanted names need, steps of loops pruned likewise."""
    needed = set(wanted)
    out: list[Statement] = []
    for s in reversed(list(statements)):
        if not makes(s) & needed:
            continue
        if isinstance(s, Loop):
            s = dataclasses.replace(s, body=prune(s.body, _results(s)))
        needed |= needs(s)
        out.append(s)
    return out[::-1]


_LIKE = re.compile(r"T\.(zeros|ones)_like\(([a-z]\d+)\)")


def without_likes(spec: Spec) -> Spec:
    """The program without values that only give shapes: zeros and ones like them, what no step reads."""
    known = {} if spec.disturbed else {name: text for s in spec.statements for name, text in _declared(s)}

    def made(match: re.Match[str]) -> str:
        return f"T.{match[1]}({known[match[2]]})" if match[2] in known else match[0]

    def replaced(x: Any) -> Any:
        if isinstance(x, dict) and "sequences" in x:
            read = used(repr([x["body"], *([o["result"] for o in x["outs"]]), x["changes"], x["until"], x["passed"]]))
            states = [o for o in x["outs"] if o["params"]] if x["function"] == "scan" else []
            for slot in (*x["sequences"], *states):
                name = slot["text"].removeprefix("dict(initial=").partition(",")[0]
                if name in known and not read.intersection(slot["params"]):
                    slot["text"] = slot["text"].replace(name, f"T.zeros({known[name]})", 1)
        if isinstance(x, dict):
            return {key: replaced(v) for key, v in x.items()}
        if isinstance(x, list):
            return [replaced(v) for v in x]
        return _LIKE.sub(made, x) if isinstance(x, str) else x

    return Spec.from_data(replaced(spec.to_data()))


def _declared(s: Statement) -> Iterator[tuple[str, str]]:
    """Names, and shape and dtype where both are known, as arguments."""
    for x in [s] if isinstance(s, Line) else s.outs:
        if -1 not in x.shape:
            yield x.name, f"{tuple(x.shape)}, dtype={x.dtype!r}"
    for inner in s.body if isinstance(s, Loop) else ():
        yield from _declared(inner)


def live(spec: Spec, changes: bool = True) -> Spec:
    """The program without states, outputs and non-sequences that nothing needs: their errors do not count.

    changes: whether a step's updates stay though nothing needs what they give in the end.
    """
    return dataclasses.replace(spec, statements=_live(spec.statements, spec.wanted, changes))


def _live(statements: Iterable[Statement], wanted: Iterable[str], changes: bool) -> list[Statement]:
    needed = set(wanted)
    out: list[Statement] = []
    for s in reversed(list(statements)):
        if not makes(s) & needed:
            continue
        if isinstance(s, Loop):
            s = _live_loop(s, needed, changes)
        needed |= needs(s)
        out.append(s)
    return out[::-1]


def _live_loop(s: Loop, needed: set[str], changes: bool) -> Loop:
    if s.updates not in needed and not changes:
        s = dataclasses.replace(s, changes=[], passed=[], updates="")
    kept = [o for o in s.outs if o.name in needed]
    while True:
        results = _results(dataclasses.replace(s, outs=kept))
        body = _live(s.body, results, changes)
        reads = {n for x in body for n in needs(x)} | results
        found = [o for o in s.outs if o in kept or reads.intersection(o.params)]
        if found == kept:
            given = [x for x in s.given if reads.intersection(x.params)]
            return dataclasses.replace(s, outs=kept, given=given, body=body)
        kept = found
