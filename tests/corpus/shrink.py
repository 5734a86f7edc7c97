"""Smaller programs that still fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from corpus.spec import Line, Loop, Spec, Statement, needs, prune, used

__all__ = ["shrink", "with_one_line_less"]


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
    yield from (_pruned(x) for x in _fewer_results(spec))
    types = {x.name: (x.dtype, x.shape) for x in (*spec.inputs, *spec.shared)}
    for statements in _fewer(spec.statements, types):
        yield _pruned(dataclasses.replace(spec, statements=statements))
    for key in ("inputs", "shared"):
        found = getattr(spec, key)
        for k, x in enumerate(found):
            if not x.name.startswith(("n", "k")) and any(v not in (0, 1) for v in x.values):
                values = [bool(v) if x.dtype == "bool" else i % 2 for i, v in enumerate(x.values)]
                plain = dataclasses.replace(x, values=values)
                yield dataclasses.replace(spec, **{key: [*found[:k], plain, *found[k + 1 :]]})


def _fewer_results(spec: Spec) -> Iterator[Spec]:
    """Fewer outputs and updates."""
    n = len(spec.outputs)
    for k in range(n) if n > 1 else ():
        yield dataclasses.replace(spec, outputs=[spec.outputs[k]])
    for k in range(n) if n > 2 or (n and (spec.changes or spec.passed)) else ():
        yield dataclasses.replace(spec, outputs=spec.outputs[:k] + spec.outputs[k + 1 :])
    for key in ("changes", "passed"):
        found = getattr(spec, key)
        for k in range(len(found)):
            yield dataclasses.replace(spec, **{key: found[:k] + found[k + 1 :]})


def _pruned(spec: Spec) -> Spec:
    statements = prune(spec.statements, spec.wanted)
    needed = {n for s in statements for n in needs(s)} | spec.wanted | {c.shared for c in spec.changes}
    inputs, shared = ([x for x in xs if x.name in needed] for xs in (spec.inputs, spec.shared))
    return dataclasses.replace(spec, inputs=inputs, shared=shared, statements=statements)


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


def with_one_line_less(spec: Spec) -> Iterator[Spec]:
    """Programs with ones for what a line computes, with a state that stays or is none, without a number of steps.

    What goes wrong elsewhere, or what nothing needs, is seen in one of them.
    """
    for statements in _without_one(spec.statements):
        yield dataclasses.replace(spec, statements=statements)


def _without_one(statements: list[Statement]) -> Iterator[list[Statement]]:
    for i, s in enumerate(statements):
        if isinstance(s, Line):
            ones = dataclasses.replace(s, text=f"T.ones({tuple(s.shape)}, dtype={s.dtype!r})")
            yield [*statements[:i], ones, *statements[i + 1 :]]
        else:
            for k, out in enumerate(s.outs):
                if out.is_state and out.params:
                    same = dataclasses.replace(out, result=out.params[-1])
                    unread = dataclasses.replace(out, text="None", params=[])
                    for simpler in (same, unread):
                        less = dataclasses.replace(s, outs=[*s.outs[:k], simpler, *s.outs[k + 1 :]])
                        yield [*statements[:i], less, *statements[i + 1 :]]
            if s.n_steps is not None and s.sequences:
                yield [*statements[:i], dataclasses.replace(s, n_steps=None), *statements[i + 1 :]]
            for body in _without_one(s.body):
                yield [*statements[:i], dataclasses.replace(s, body=body), *statements[i + 1 :]]


def _simpler_loop(s: Loop, known: Types) -> Iterator[Loop]:
    if s.go_backwards:
        yield dataclasses.replace(s, go_backwards=False)
    if s.until and s.function != "while_loop":
        yield dataclasses.replace(s, until=None)
    for key in ("changes", "passed", "outs", "sequences", "given"):
        slots = getattr(s, key)
        least = 0 if key in ("changes", "passed", "given") else 1
        for k in range(len(slots)) if len(slots) > least else ():
            yield dataclasses.replace(s, **{key: slots[:k] + slots[k + 1 :]})
    for body in _fewer(s.body, known):
        yield dataclasses.replace(s, body=body)
