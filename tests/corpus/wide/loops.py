"""Loops of the wide generator: of 0 to 4 steps, whose step may raise at some of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from corpus.draws import PLAIN_DRAWS
from corpus.spec import Loop, Out, Slot
from corpus.wide.ops import BY_LAYOUT, OPS, SMOOTH, constant
from corpus.wide.pool import Array, Made, Pool, Value
from corpus.wide.raising import MOST, RAISING, SMOOTH_RAISING, choice
from corpus.wide.recurrences import add_recurrence

__all__ = ["add_loop", "consume", "grow"]

FOLDS = ("reduce", "foldl", "foldr")


def grow(p: Pool, lines: int, raising: float) -> None:
    """Up to so many new lines, so many of them by operators that may raise."""
    for _ in range(lines):
        if p.by_layout:
            made = p.weighted(BY_LAYOUT)
        elif p.more and p.chance(0.8):
            made = p.weighted(p.more)
        elif p.streams and p.chance(0.25):
            made = Made(*p.rng.choice(PLAIN_DRAWS))
        elif (kind := p.rng.random()) < raising:
            made = p.weighted(SMOOTH_RAISING if p.smooth else RAISING)
        elif kind < raising + 0.07:
            made = choice(p)
        else:
            made = p.weighted(SMOOTH if p.smooth else OPS)
        if made is not None:
            p.add(made)


@dataclass
class _Read:
    """An argument of a loop and the parameters that stand for it.  before: the examples of a state."""

    text: str
    params: list[Value]

    @property
    def slot(self) -> Slot:
        return Slot(self.text, [x.name for x in self.params])


@dataclass
class _Plan:
    """What a loop reads, and how many steps it takes."""

    function: str
    rows: int
    sequences: list[_Read] = field(default_factory=list[_Read])
    states: list[_Read] = field(default_factory=list[_Read])
    given: list[_Read] = field(default_factory=list[_Read])
    n_steps: str | None = None
    backwards: bool = False


def add_loop(p: Pool, rows: int) -> list[Value]:
    """One more loop over `rows` rows; its outputs."""
    if p.more and p.chance(0.22):
        return add_recurrence(p, rows)
    plan = _plan(p, rows)
    body = p.inside(idle=rows == 0)
    body.streams &= plan.function != "loop"
    body.values = [x for s in (*plan.sequences, *plan.states, *plan.given) for x in s.params]
    grow(body, p.rng.choice((1, 2, 3, 4, 5)), 0.3)
    if p.depth < 2 and p.chance(0.25 if not p.depth else 0.15):
        for v in add_loop(body, p.rng.choice((0, 0, 1, 2, 2))):
            consume(body, v)
        grow(body, 1, 0.3)
    outs = _outs(body, plan)
    until = None
    if plan.function in ("scan", "map", "loop") and p.chance(0.2):
        until = _condition(body, plan)
    streams = body.streams and any("trng." in str(s) for s in body.statements)
    loop = Loop(
        plan.function, [s.slot for s in plan.sequences], outs, [s.slot for s in plan.given], body.statements,
        plan.n_steps, plan.backwards, until, passed=list(body.updates),
        updates=p.names.new("u") if streams else "",
        tree=p.rng.choice(("leaf", "tuple", "dict", "nested")) if plan.function == "loop" else "",
    )  # fmt: skip
    if plan.function == "loop":
        loop.given = []
    lead = [] if plan.function in FOLDS else [rows]
    for o in outs:
        o.shape = o.shape if plan.function == "loop" and o.params else [*lead, *o.shape]
    results = {o.result for o in outs} | {until}
    return p.add_loop(loop, any(v.risky for v in body.values if v.name in results) or bool(body.lost))


# What it reads


def _plan(p: Pool, rows: int) -> _Plan:
    weights = (20, 80, 0, 0, 0, 0) if p.by_layout else (60, 20, 3, 3, 2, 9)
    function = p.rng.choices(("scan", "map", *FOLDS, "loop"), weights)[0]
    if function in FOLDS and (p.depth or not rows):
        function = "scan"
    plan = _Plan(function, rows)
    simple = function in (*FOLDS, "loop")
    least = 0 if function == "scan" else 1
    for _ in range(max(least, p.rng.choice((0, 1, 1, 1, 2)))):
        plan.sequences.append(_sequence(p, rows, simple))
    if function != "map":
        number = p.rng.choice((0, 1, 1, 2)) if function == "scan" else 1
        plan.states = [s for s in (_state(p, simple) for _ in range(number)) if s is not None]
    if function != "loop":
        plan.given = [s for s in (_given(p) for _ in range(p.rng.choice((0, 1, 1, 2, 2)))) if s is not None]
    if function in ("scan", "map") and (not plan.sequences or (function == "scan" and p.chance(0.3))):
        plan.n_steps = _steps(p, rows)
    plan.backwards = bool(plan.sequences) and function in ("scan", "map", "reduce", "loop") and p.chance(0.15)
    return plan


def _steps(p: Pool, rows: int) -> str:
    found = [v for v in p.values if v.kind in "iu" and not v.ndim and int(v.example) == rows and not v.risky]
    if found and p.chance(0.7):
        v = p.rng.choice(found)
        if v.varies and p.more:  # at another step it may be any number
            return f"T.clip({v.name}, {0 if v.kind == 'u' else -MOST}, {MOST})"
        return v.name
    return f"-{rows}" if p.chance(0.1) else str(rows)


def _row(p: Pool, x: Array, at: int) -> Value:
    """The parameter that stands for rows of x."""
    row = x[at] if -len(x) <= at < len(x) else np.zeros(x.shape[1:], x.dtype)
    return Value(p.names.new("x"), np.asarray(row), varies=True)


def _sequence(p: Pool, rows: int, simple: bool) -> _Read:
    taps = [0] if simple or p.chance(0.8) else p.rng.choice(([-1, 0], [0, 1], [-1], [-2, 1]))
    spread = max(0, *taps) - min(0, *taps)
    wanted = rows + spread
    x = p.pick(lambda v: v.ndim > p.by_layout and len(v.example) == wanted and not v.risky)
    x = x or p.pick(lambda v: v.ndim > 0 and len(v.example) == wanted and not v.risky)
    if x is None:
        y = p.pick(lambda v: v.ndim > 0 and len(v.example) > wanted and not v.risky)
        made = Made(f"{y.name}[:{wanted}]") if y is not None and p.chance(0.7) else _rows(p, wanted)
        x = p.add(made) or p.add(_rows(p, wanted))
    assert x is not None
    text = p.rng.choice((x.name,) * 5 + (f"{x.name}[::-1]",)) if taps == [0] else f"dict(input={x.name}, taps={taps})"
    return _Read(text, [_row(p, x.example, t - min(0, *taps)) for t in taps])


def _rows(p: Pool, rows: int) -> Made:
    """An array of so many rows."""
    dtype = p.rng.choice(p.dtypes)
    if p.chance(0.3):
        return Made(f"T.arange({rows})")
    shape = p.rng.choice(((rows,), (rows, p.rng.choice(p.fits))))
    return Made(f"T.constant((np.arange({int(np.prod(shape))}) % 5).astype({dtype!r}).reshape({shape}))")


def _state(p: Pool, simple: bool) -> _Read | None:
    deep = not simple and p.chance(0.2)
    x = p.pick(lambda v: not v.risky and (1 <= v.ndim <= 3 and len(v.example) >= 2 if deep else v.ndim <= 2))
    if x is None or p.chance(0.15):
        deep, x = False, p.add(constant(p))
    assert x is not None
    if not deep:
        return _Read(x.name, [Value(p.names.new("s"), x.example, varies=True)])
    taps = p.rng.choice(([-2], [-2, -1], [-1, -2]))
    params = [Value(p.names.new("s"), np.asarray(x.example[2 + t]), varies=True) for t in taps]
    return _Read(f"dict(initial={x.name}, taps={taps})", params)


def _given(p: Pool) -> _Read | None:
    index = p.chance(0.5) and not p.by_layout
    x = p.pick(lambda v: not v.risky and (not index or (v.kind in "iu" and v.ndim < 2)))
    return None if x is None else _Read(x.name, [Value(p.names.new("w"), x.example, varies=x.varies)])


# What it gives


def _outs(body: Pool, plan: _Plan) -> list[Out]:
    p, out = body, list[Out]()
    for s in plan.states:
        state = s.params[0]
        new = _becomes(body, state, plan)
        out.append(Out(p.names.new("o"), new.dtype, list(new.shape), new.name, s.text, [x.name for x in s.params]))
    maps = 0 if plan.function in FOLDS else p.rng.choice((0, 1, 1, 2))
    own = [v for v in body.values if v.name[0] == "v" and v.ndim <= 2]
    for _ in range(maps if out else max(maps, 1)):
        last = [v for v in own if v.risky] or own[-2:]  # what most lines lead to
        found = p.rng.choice(last if last and p.chance(0.8) else own or body.values or [None])
        if found is None or found.ndim > 2:
            found = body.add(constant(body))
        assert found is not None
        out.append(Out(p.names.new("o"), found.dtype, list(found.shape), found.name))
    return out


def _becomes(body: Pool, s: Value, plan: _Plan) -> Value:
    """What a state becomes: of its type, or now and then of one that broadcasts with it only."""
    if body.chance(0.08):
        return s
    own = [v for v in body.values if v.name[0] == "v"]
    alike = [v for v in own if v.dtype == s.dtype]
    fitting = [v for v in alike if v.shape == s.shape]
    x = body.rng.choice(fitting[-3:] or alike[-3:] or own[-3:] or body.values or [s])
    if body.chance(0.05 if plan.rows else 0.15) and s.ndim and 1 in s.shape:
        wider = body.add(f"{s.name} + T.ones({tuple(3 if n == 1 else n for n in s.shape)}, dtype={s.dtype!r})")
        if wider is not None:
            return wider
    if body.chance(0.03 if plan.rows else 0.1) and s.ndim and s.dtype != "bool":
        shorter = body.add(f"{s.name}.sum(axis=0, keepdims=True).astype({s.dtype!r})")
        if shorter is not None:
            return shorter
    new = body.fit(x, s.dtype, s.shape)
    if new is not None and body.chance(0.6):
        text = f"{s.name} | {new.name}" if s.kind == "b" else f"{s.name} + {new.name}"
        text = f"T.tanh({text})" if s.kind == "f" and body.chance(0.3) else text
        new = body.add(text) or new
    return new or s


def _condition(body: Pool, plan: _Plan) -> str | None:
    """What ends the loop; of one step nothing that may raise, since nothing needs it."""
    x = body.pick(lambda v: not v.ndim and v.kind in "iufb" and not (v.risky and plan.rows == 1))
    if x is None:
        return None
    ways = [x.name] if x.kind == "b" else [f"T.ge({x.name}, 2)", f"T.gt({x.name}, 0)", f"T.eq({x.name}, 1)"]
    made = body.add(body.rng.choice(ways))
    return made.name if made is not None else None


# What is read of it


def consume(p: Pool, v: Value) -> Value | None:
    """What is read of an output: of one that may raise all, so that nothing of it is left out."""
    x = v.name
    whole = ["{x}.sum(axis=0)", "{x}", "{x}.sum()", "{x}[::-1]", "T.cumsum({x}, axis=0)", "T.prod({x}, axis=0)"]
    whole += ["T.any({x}, axis=0)", "T.argsort({x}.sum(axis=0))"] if v.ndim > 1 else ["T.any({x})"]
    part = ["{x}[-1:]", "{x}[1:]", "{x}[:2]", "T.diff({x}, axis=0)", "{x}[::2]"]
    part += ["T.roll({x}, 1, axis=0)", *["{x}.shape[0]"] * p.chance(0.3)]
    if not v.ndim:
        return v
    rows = len(v.example)
    part += ["{x}[-1]", "{x}[-1]", "{x}[0]"] * (2 if rows else 0 if p.depth else 1)
    text = p.rng.choice(whole if v.risky else [*whole, *part])
    made = p.add(Made(text.format(x=x), None if rows or p.depth == 0 else f"{x}.sum(axis=0)"), risky=v.risky)
    return made or v
