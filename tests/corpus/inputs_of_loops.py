"""What loops of random programs read: sequences, initial states, non-sequences; and what a state becomes."""

from __future__ import annotations

from dataclasses import dataclass

from corpus.pool import FLOATS, Pool, Shape, Var
from corpus.spec import Slot

__all__ = ["Sequence", "State", "counter", "given", "new_state", "result", "sequence", "source", "state"]


@dataclass
class Sequence:
    """A sequence, its parameters in the step, and how many steps it allows."""

    slot: Slot
    params: list[Var]
    steps: int


@dataclass
class State:
    """The text of an initial state, and the parameters and type of the state.

    counts: it counts the steps.  bare: it starts with a bare number, which takes the dtype of the result.
    """

    text: str
    params: list[Var]
    dtype: str
    shape: Shape
    counts: bool = False

    @property
    def bare(self) -> bool:
        return self.text.replace(".", "").isdigit()


def source(p: Pool, rows: int) -> tuple[str, str, Shape]:
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


def sequence(p: Pool, rows: int, plain: bool) -> Sequence:
    """A sequence; `plain`: read at the present step alone."""
    taps = [0] if plain or p.chance(0.65) else p.rng.sample((-2, -1, 0, 1, 2), p.rng.choice((1, 2, 2, 3)))
    spread = max(0, *taps) - min(0, *taps)
    text, dtype, shape = source(p, rows + spread)
    params = [Var(p.names.new("x"), dtype, shape[1:]) for _ in taps]
    text = text if taps == [0] else f"dict(input={text}, taps={taps})"
    return Sequence(Slot(text, [x.name for x in params]), params, max(shape[0] - spread, 0))


def counter(p: Pool, rows: int) -> Sequence:
    """The numbers from 0 on."""
    clock = Var(p.names.new("x"), "int64", ())
    return Sequence(Slot(f"T.arange({rows})", [clock.name]), [clock], rows)


def state(p: Pool, plain: bool, counts: bool = False) -> State | None:
    """A state; `plain`: read one step back."""
    if counts:
        text = p.rng.choice(("0", "T.constant(0, dtype='int64')", "np.array(0)"))
        return State(text, [Var(p.names.new("s"), "int64", ())], "int64", (), True)
    if not plain and p.chance(0.3):
        return _steps_back(p)
    shape: Shape = ()
    way = p.rng.random()
    if way < 0.15:
        dtype = p.rng.choice(("float32", "float64", "int64"))
        text = p.rng.choice(("0", "1", "-2"))
        text = f"T.constant({text}, dtype={dtype!r})" if p.chance(0.5) else f"np.array({text}, {dtype!r})"
    elif way < 0.2:
        text, dtype = p.rng.choice((("0", "int64"), ("1", "int64"), ("0.0", "float64"), ("0.5", "float32")))
    elif way < 0.32:
        dtype, shape = p.rng.choice(("float32", "float64", "int64")), (p.rng.choice(p.fits),)
        text = f"T.zeros({shape}, dtype={dtype!r})"
    else:
        x = p.pick(lambda v: v.ndim <= 2)
        if x is None:
            return None
        text, dtype, shape = x.name, x.dtype, x.shape
        text = f"T.zeros_like({text})" if p.chance(0.2) else text
    return State(text, [Var(p.names.new("s"), dtype, shape)], dtype, shape)


def _steps_back(p: Pool) -> State:
    """A state read at several steps back."""
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
    return State(f"dict(initial={text}, taps={taps})", params, x.dtype, row)


def given(p: Pool, computed: bool) -> tuple[Slot, Var] | None:
    """A non-sequence; `computed`: surely not a shared variable under another name."""
    x = p.pick()
    if x is None or (computed and x.dtype == "bool"):
        return None
    w = Var(p.names.new("w"), x.dtype, x.shape)
    plain = x.dtype == "bool" or (p.chance(0.7) and not computed)
    text = x.name if plain else p.rng.choice((f"{x.name} * 2", f"-{x.name}"))
    return Slot(text, [w.name]), w


def new_state(p: Pool, s: State) -> Var:
    """What a state becomes after a step."""
    if s.counts:
        return p.add(f"{s.params[0].name} + 1", s.dtype, s.shape)
    if s.bare:
        return p.add(f"{result(p, s.dtype, s.shape).name}.astype({s.dtype!r})", s.dtype, s.shape)
    return s.params[0] if p.chance(0.06) else result(p, s.dtype, s.shape)


def result(p: Pool, dtype: str, shape: Shape) -> Var:
    """A late name made to fit, mostly kept from growing."""
    kind = dtype in FLOATS
    x = p.pick(lambda v: (v.dtype, v.shape) == (dtype, shape) and v.name[0] == "v")
    x = x or p.pick(lambda v: v.is_float == kind or (not kind and v.dtype != "bool")) or p.pick()
    x = x or p.add(f"T.ones({shape}, dtype={dtype!r})", dtype, shape)
    if x.is_float and not kind:
        x = p.pick(lambda v: not v.is_float) or p.add("T.constant(1, dtype='int64')", "int64", ())
    x = p.coerce(x, dtype, shape)
    if kind and p.chance(0.6):
        return p.add(p.rng.choice(("T.tanh({})", "{} * 0.5", "T.clip({}, -2, 2)")).format(x.name), dtype, shape)
    return x
