"""Smaller programs that still fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from corpus.spec import Line, Loop, Spec, Statement, prune, used

__all__ = ["shrink"]


def shrink(spec: Spec, fails: Callable[[Spec], bool], tries: int = 400) -> Spec:
    """The smallest program found, with outputs, slots and operators left out, of which `fails` still holds."""
    while True:
        for smaller in _smaller(spec):
            tries -= 1
            if tries < 0:
                return spec
            if fails(smaller):
                spec = smaller
                break
        else:
            return spec


def _smaller(spec: Spec) -> Iterator[Spec]:
    n = len(spec.outputs)
    for k in range(n) if n > 1 else ():
        yield _pruned(spec, [spec.outputs[k]])
    for k in range(n) if n > 2 else ():
        yield _pruned(spec, spec.outputs[:k] + spec.outputs[k + 1 :])
    types = {x.name: (x.dtype, x.shape) for x in spec.inputs}
    for statements in _fewer(spec.statements, types):
        yield _pruned(dataclasses.replace(spec, statements=statements), spec.outputs)
    for k, x in enumerate(spec.inputs):
        if not x.name.startswith(("n", "k")) and any(v not in (0, 1) for v in x.values):
            plain = dataclasses.replace(
                x, values=[bool(v) if x.dtype == "bool" else i % 2 for i, v in enumerate(x.values)]
            )
            yield dataclasses.replace(spec, inputs=[*spec.inputs[:k], plain, *spec.inputs[k + 1 :]])


def _pruned(spec: Spec, outputs: list[str]) -> Spec:
    statements = prune(spec.statements, outputs)
    needed = {n for s in statements for n in _names(s)} | set(outputs)
    inputs = [x for x in spec.inputs if x.name in needed]
    return dataclasses.replace(spec, inputs=inputs, statements=statements, outputs=outputs)


def _names(s: Statement) -> set[str]:
    if isinstance(s, Line):
        return used(s.text)
    slots: list[Any] = [*s.sequences, *s.outs, *s.given]
    found = used(s.n_steps or "").union(*(used(x.text) for x in slots), {o.result for o in s.outs}, used(s.until or ""))
    return found.union(*(_names(x) for x in s.body))


Types = dict[str, tuple[str, list[int]]]


def _fewer(statements: list[Statement], types: Types) -> Iterator[list[Statement]]:
    """One thing left out: a line replaced by something that it reads, a slot of a loop, likewise inside."""
    known = dict(types)
    for i, s in enumerate(statements):
        for simpler in _simpler_line(s, known) if isinstance(s, Line) else _simpler_loop(s, known):
            yield [*statements[:i], simpler, *statements[i + 1 :]]
        known |= {s.name: (s.dtype, s.shape)} if isinstance(s, Line) else {o.name: (o.dtype, o.shape) for o in s.outs}


def _simpler_line(s: Line, known: Types) -> Iterator[Line]:
    if s.text in known:
        return
    for name in sorted(used(s.text)):
        if known.get(name) == (s.dtype, s.shape):
            yield dataclasses.replace(s, text=name)


def _simpler_loop(s: Loop, known: Types) -> Iterator[Loop]:
    if s.go_backwards:
        yield dataclasses.replace(s, go_backwards=False)
    if s.until:
        yield dataclasses.replace(s, until=None)
    for key in ("outs", "sequences", "given"):
        slots = getattr(s, key)
        for k in range(len(slots)) if len(slots) > 1 or key == "given" else ():
            yield dataclasses.replace(s, **{key: slots[:k] + slots[k + 1 :]})
    for body in _fewer(s.body, known):
        yield dataclasses.replace(s, body=body)
