"""Loops for random programs: sequences, states, non-sequences and a step."""

from __future__ import annotations

from dataclasses import dataclass

from corpus.ops import grow
from corpus.pool import FLOATS, Pool, Shape, Var
from corpus.spec import Loop, Out, Slot

__all__ = ["add_loop"]


@dataclass
class _Sequence:
    slot: Slot
    params: list[Var]
    steps: int


@dataclass
class _State:
    text: str
    params: list[Var]
    dtype: str
    shape: Shape


def _source(p: Pool, rows: int) -> tuple[str, str, Shape]:
    """What a loop may run over: text, dtype, shape."""
    x = p.pick(lambda v: v.ndim > 0 and v.shape[0] == rows) if p.chance(0.7) else None
    x = x or p.pick(lambda v: v.ndim > 0)
    if x is not None and p.chance(0.85):
        text = p.rng.choice((x.name,) * 6 + (f"{x.name}[::-1]", f"-{x.name}"))
        return (text if x.dtype != "bool" else x.name), x.dtype, x.shape
    row: Shape = p.rng.choice(((), (p.fits[0],)))
    shape = (rows, *row)
    return p.rng.choice(
        [
            (f"T.zeros({shape}, dtype='float32')", "float32", shape),
            (f"T.constant(np.full({shape}, 0.5))", "float64", shape),
            (f"T.constant(np.full({shape}, 1))", "int64", shape),
            (f"T.constant(np.ones({shape}, 'float32'))", "float32", shape),
            (f"T.arange({rows})", "int64", (rows,)),
            (f"T.constant(np.arange({rows}) % 2)", "int64", (rows,)),
        ]
    )


def _sequence(p: Pool, rows: int, plain: bool) -> _Sequence:
    taps = [0] if plain or p.chance(0.65) else p.rng.sample((-2, -1, 0, 1, 2), p.rng.choice((1, 2, 2, 3)))
    spread = max(0, *taps) - min(0, *taps)
    text, dtype, shape = _source(p, rows + spread)
    params = [Var(p.names.new("x"), dtype, shape[1:]) for _ in taps]
    text = text if taps == [0] else f"dict(input={text}, taps={taps})"
    return _Sequence(Slot(text, [x.name for x in params]), params, max(shape[0] - spread, 0))


def _state(p: Pool, plain: bool) -> _State | None:
    if not plain and p.chance(0.3):  # several steps back
        taps = p.rng.sample((-3, -2, -1), p.rng.choice((1, 2, 2, 3)))
        x = p.pick(lambda v: 1 <= v.ndim <= (2 if taps == [-1] else 3) and v.shape[0] >= -min(taps))
        if x is None:
            dtype = p.rng.choice(("float64", "int64"))
            rows = [[-1, 0, 1][k % 3] for k in range(-min(taps))]
            text, x = f"T.constant({rows}, dtype={dtype!r})", Var("", dtype, (len(rows),))
        else:
            text = x.name
        row = x.shape if taps == [-1] else x.shape[1:]  # the step before alone: no axis of rows
        params = [Var(p.names.new("s"), x.dtype, row) for _ in taps]
        return _State(f"dict(initial={text}, taps={taps})", params, x.dtype, row)
    shape: Shape = ()
    way = p.rng.random()
    if way < 0.15:
        dtype = p.rng.choice(("float32", "float64", "int64"))
        text = p.rng.choice(("0", "1", "-2"))
        text = f"T.constant({text}, dtype={dtype!r})" if p.chance(0.5) else f"np.array({text}, {dtype!r})"
    elif way < 0.3:
        dtype, shape = p.rng.choice(("float32", "float64", "int64")), (p.rng.choice(p.fits),)
        text = f"T.zeros({shape}, dtype={dtype!r})"
    else:
        x = p.pick(lambda v: v.ndim <= 2)
        if x is None:
            return None
        text, dtype, shape = x.name, x.dtype, x.shape
        text = f"T.zeros_like({text})" if p.chance(0.2) else text
    return _State(text, [Var(p.names.new("s"), dtype, shape)], dtype, shape)


def _given(p: Pool) -> tuple[Slot, Var] | None:
    x = p.pick()
    if x is None:
        return None
    w = Var(p.names.new("w"), x.dtype, x.shape)
    text = x.name if x.dtype == "bool" or p.chance(0.7) else p.rng.choice((f"{x.name} * 2", f"-{x.name}"))
    return Slot(text, [w.name]), w


def _result(p: Pool, dtype: str, shape: Shape) -> Var:
    """What a state becomes: a late name made to fit, mostly kept from growing."""
    kind = dtype in FLOATS
    x = p.pick(lambda v: (v.dtype, v.shape) == (dtype, shape) and v.name[0] == "v")
    x = x or p.pick(lambda v: v.is_float == kind or (not kind and v.dtype != "bool")) or p.pick()
    assert x is not None
    if x.is_float and not kind:
        x = p.pick(lambda v: not v.is_float) or p.add("T.constant(1, dtype='int64')", "int64", ())
    x = p.coerce(x, dtype, shape)
    if dtype in FLOATS and p.chance(0.6):
        return p.add(p.rng.choice(("T.tanh({})", "{} * 0.5", "T.clip({}, -2, 2)")).format(x.name), dtype, shape)
    return x


def _steps(p: Pool, sequences: list[_Sequence], rows: int, function: str) -> tuple[str | None, int]:
    """The argument n_steps and the number of steps that will be."""
    most = min((s.steps for s in sequences), default=rows)
    if function != "scan" or (sequences and p.chance(0.6)):
        return None, most
    n = p.pick(lambda v: v.name[0] == "n" and v.name != "n" and not v.heavy)
    if n is not None and p.depth == 0 and p.chance(0.5):
        return (n.name if most == rows else f"T.minimum({n.name}, {most})"), min(most, rows)
    n_steps = p.rng.choice((most, most, max(most - 1, 0), min(most, 1), min(most, 2)))
    return str(n_steps), n_steps


def _step(body: Pool, states: list[_State], maps: int) -> list[Var]:
    """The results of the step: of each state, then of what is not fed back."""
    rng = body.rng
    grow(body, rng.choice((1, 2, 3, 4, 5, 6, 8)))
    if body.depth == 1 and body.chance(0.07) and any(v.ndim for v in body.vars):
        add_loop(body, rng.choice((0, 1, 2, 3)), small=True)
        grow(body, rng.choice((0, 1, 2)))
    results: list[Var] = []
    for s in states:
        if body.chance(0.06):  # it never changes
            results.append(s.params[0])
        elif results and (results[-1].dtype, results[-1].shape) == (s.dtype, s.shape) and body.chance(0.2):
            results.append(results[-1])
        else:
            results.append(_result(body, s.dtype, s.shape))
    for _ in range(maps):
        small = body.pick(lambda v: v.ndim <= 2) or body.add("T.constant(1.0)", "float32", ())
        if small not in body.vars:  # an array from around the loop
            small = body.add(f"{small.name} + {small.name}", small.dtype, small.shape)
        results.append(small)
    return results


def _until(body: Pool, clock: Var, steps: int) -> tuple[str, int]:
    """What ends the loop, and after how many steps: told by a count, though values seem to matter."""
    last = body.rng.randrange(steps + 2)
    x = body.pick(lambda v: v.is_float)
    ways = [(f"T.ge({clock.name}, {last})", last + 1), ("T.constant(False)", steps), ("T.constant(True)", 1)]
    if x is not None:
        ways += [(f"T.ge({clock.name}, {last}) | T.lt(abs({x.name}).sum(), -1)", last + 1)] * 4
    text, taken = body.rng.choice(ways)
    return body.add(text, "bool", ()).name, min(taken, steps)


def add_loop(p: Pool, rows: int, small: bool = False) -> tuple[list[Var], int]:
    """One more loop over about `rows` rows; its outputs, and the number of its steps."""
    rng = p.rng
    function = rng.choices(("scan", "map", "reduce", "foldl", "foldr"), (78, 11, 4, 3, 4))[0]
    folds = function in ("reduce", "foldl", "foldr")
    function = "map" if folds and not rows else function
    folds = folds and rows > 0
    least = 0 if function == "scan" else 1
    count = max(least, 1 if small else rng.choices((0, 1, 2, 3), (18, 50, 22, 10))[0])
    sequences = [_sequence(p, rows, plain=folds) for _ in range(count)]
    ends = rows > 0 and function in ("scan", "map") and p.chance(0.1)
    clock = Var(p.names.new("x"), "int64", ())
    if ends:
        sequences.append(_Sequence(Slot(f"T.arange({rows})", [clock.name]), [clock], rows))
    n_steps, steps = _steps(p, sequences, rows, function)
    if folds and not steps:
        function, folds = "map", False
    made = [_state(p, plain=folds) for _ in range(rng.choices((0, 1, 2, 3), (20, 48, 22, 10))[0])]
    states = [s for s in made if s is not None] if function != "map" else []
    maps = rng.choices((0, 1, 2), (45, 40, 15))[0] if states and not folds else 0 if states else rng.choice((1, 1, 2))
    given = [g for g in (_given(p) for _ in range(rng.choices((0, 1, 2, 3), (35, 40, 18, 7))[0])) if g is not None]
    body = p.inside()
    body.vars = [
        *(x for s in sequences for x in s.params),
        *(x for s in states for x in s.params),
        *(w for _, w in given),
    ]
    results = _step(body, states, maps)
    until, steps = _until(body, clock, steps) if ends else (None, steps)
    lead = () if folds else (steps,)
    outs: list[Out] = []
    for k, r in enumerate(results):
        state = states[k] if k < len(states) else None
        text, params = (state.text, [x.name for x in state.params]) if state else ("None", [])
        outs.append(Out(p.names.new("o"), r.dtype, [*lead, *r.shape], r.name, text, params))
    loop = Loop(
        function,
        [s.slot for s in sequences],
        outs,
        [slot for slot, _ in given],
        body.statements,
        n_steps,
        function in ("scan", "map", "reduce") and bool(sequences) and not ends and p.chance(0.12),
        until,
    )
    return p.add_loop(loop), steps
