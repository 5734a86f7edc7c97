"""Loops of random programs that carry structures along: loop, fori_loop, while_loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from corpus.inputs_of_loops import State, new_state, source, state
from corpus.ops import grow
from corpus.pool import Pool, Var
from corpus.spec import Loop, Out, Slot

__all__ = ["add_carry"]


def add_carry(p: Pool, rows: int, inside: Callable[[Pool], None]) -> tuple[list[Var], int | None]:
    """One more loop over about `rows` rows; its outputs, and the number of its steps (None: the run will tell).

    inside: puts loops into a step now and then.
    """
    rng = p.rng
    function = rng.choices(("loop", "fori_loop", "while_loop"), (60, 20, 20))[0]
    style = rng.choice(("leaf", "tuple", "dict", "nested"))
    states = _states(p, function)
    sequences, params, n_steps = _entries(p, function, rows, style)
    body = p.inside()
    body.vars = [*params, *(s.params[0] for s in states)]
    grow(body, rng.choice((1, 2, 3, 4, 6)))
    inside(body)
    results = [new_state(body, s) for s in states]
    maps = [_row(body) for _ in range(rng.choice((0, 1, 1, 2)))] if function == "loop" else []
    until = _goes_on(p, states) if function == "while_loop" else None
    if function == "loop" and p.chance(0.15):
        until = body.add(_condition(p, [*params, *results]), "bool", ()).name
    steps = None if until else rows
    outs = [
        Out(p.names.new("o"), s.dtype, [*s.shape], r.name, s.text, [s.params[0].name])
        for s, r in zip(states, results, strict=True)
    ]
    outs += [Out(p.names.new("o"), r.dtype, [-1 if steps is None else rows, *r.shape], r.name) for r in maps]
    backwards = function == "loop" and p.chance(0.25)
    loop = Loop(function, sequences, outs, [], body.statements, n_steps, backwards, until, tree=style)
    if not outs:
        return [], rows
    if maps and steps is None and not p.depth and (steps := p.settings.steps(loop)) is not None:
        loop.outs = [dataclasses.replace(o, shape=[n if n >= 0 else steps for n in o.shape]) for o in loop.outs]
    return p.add_loop(loop), steps


def _states(p: Pool, function: str) -> list[State]:
    """One value or more to carry along; a while_loop counts, so that it may end by that."""
    number = p.rng.choice((1, 1, 2, 3))
    found = [s for s in (state(p, plain=True) for _ in range(number)) if s is not None and "(initial=" not in s.text]
    if function == "while_loop" or not found or p.chance(0.15):
        found.append(state(p, plain=True, counts=True) or found[0])
    return found


def _entries(p: Pool, function: str, rows: int, style: str) -> tuple[list[Slot], list[Var], str | None]:
    """The sequences with their parameters, and the number of steps, where it has to be said."""
    rng = p.rng
    if function == "while_loop":
        n = p.pick(lambda v: v.name[0] == "n") if not p.depth else None
        return [], [], n.name if n is not None and p.chance(0.4) else rng.choice((str(rows), "5"))
    if function == "fori_loop":
        low = rng.choice((0, 0, 1, -2))
        i = Var(p.names.new("x"), "int64", ())
        outer = p.pick(lambda v: v.dtype == "int64" and not v.ndim and v.name[0] in "xs") if p.depth else None
        high = f"{outer.name} % 3" if outer is not None and p.chance(0.6) else str(low + rows)
        return [Slot(f"{low}, {high}", [i.name])], [i], None
    count = rng.choices((0, 1, 2), (20, 55, 25))[0]
    slots: list[Slot] = []
    params: list[Var] = []
    for _ in range(count):
        text, dtype, shape = source(p, rows)
        if shape[0] != rows:
            text, dtype, shape = f"T.arange({rows})", "int64", (rows,)
            text = str(rows) if count == 1 and style == "leaf" and p.chance(0.5) else text
        x = Var(p.names.new("x"), dtype, shape[1:])
        slots.append(Slot(text, [x.name]))
        params.append(x)
    return slots, params, str(rows) if not slots or p.chance(0.2) else None


def _row(body: Pool) -> Var:
    small = body.pick(lambda v: v.ndim <= 2) or body.add("T.constant(1.0)", "float32", ())
    if small not in body.vars:
        small = body.add(f"{small.name} + {small.name}", small.dtype, small.shape)
    return small


def _goes_on(p: Pool, states: list[State]) -> str:
    """The text of the condition of a while_loop: of the carry alone."""
    count = next(s for s in states if s.counts).params[0].name
    text = f"T.lt({count}, {p.rng.randrange(4)})"
    x = next((s.params[0] for s in states if s.params[0].is_float), None)
    return text if x is None or p.chance(0.4) else f"{text} & T.lt(abs({x.name}).sum(), {p.rng.choice((0.61, 2.3))})"


def _condition(p: Pool, found: list[Var]) -> str:
    """The text of a condition on which a loop ends."""
    x = next((v for v in found if v.is_float), None)
    if x is not None and p.chance(0.7):
        return f"T.gt(abs({x.name}).sum(), {p.rng.choice((0.137, 0.93, 1.7))})"
    i = next((v for v in found if v.dtype == "int64" and not v.ndim), None)
    return "T.constant(False)" if i is None else f"T.ge({i.name}, {p.rng.randrange(3)})"
