"""Loops that laws know an operator for: filters, clamped sums, fills, powers; others are hardly ever one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corpus.spec import Loop, Out, Slot
from corpus.wide.pool import Made, Pool, Value

__all__ = ["FLOAT_STEPS", "WORD_STEPS", "add_recurrence"]


@dataclass(frozen=True)
class Step:
    """What a state s becomes, of entries x and y, of what does not change, a and b, and of the state r before s.

    last: only the last state is read.  smooth: it has derivatives.  scalars: laws know it of scalars a and b.
    """

    text: str
    last: bool = False
    smooth: bool = False
    scalars: bool = True


FLOAT_STEPS = (
    Step("{s} * {a} + {x}", smooth=True), Step("({s} * {a} + {r} * {b}) + {x}", smooth=True),
    Step("{s} + ({x} - {s}) * {y}", smooth=True, scalars=False), Step("{s} * {x} + {y}", smooth=True, scalars=False),
    Step("T.maximum({s} + {x}, {y})", scalars=False), Step("T.minimum({s} + {x}, {y})", scalars=False),
    Step("T.clip({s} + {x}, {a}, {b})"), Step("T.minimum(T.maximum({s} + {x}, {y}), {b})"),
    Step("T.maximum(T.minimum({s} + {x}, {y}), {b})"), Step("T.where(T.gt({x}, 0), {y}, {s})", scalars=False),
    Step("T.where(T.gt({x}, 0), {y}, {s} + {x})", scalars=False), Step("{s} * {a}", last=True, smooth=True),
    Step("T.where(T.gt({x}, 0), {y}, T.maximum({s}, {x}))", scalars=False),
    Step("{s} * {a} + {b}", last=True, smooth=True), Step("{s} * {a} + {x}", last=True, smooth=True),
)  # fmt: skip
"""Of floats."""

WORD_STEPS = (
    Step("({s} & {x}) ^ {y}", scalars=False), Step("T.where(T.gt({x}, 0), {y}, {s})", scalars=False),
    Step("T.where(T.gt({x}, 1), {y}, {s} + {x})", scalars=False), Step("{s} * {a} + {b}", last=True),
    Step("T.where({x} > 1, {y}, {s} ^ {x})", scalars=False),
)  # fmt: skip
"""Of integers."""

LONG = (17, 40, 150)
"""Numbers of steps beside the usual few: where prefixes are computed in chunks there are several."""


def add_recurrence(p: Pool, rows: int) -> list[Value]:
    """One more loop, a recurrence of `rows` steps or of many; what is read of it."""
    rng = p.rng
    words = not p.smooth and p.chance(0.25)
    dtype = rng.choice(("int8", "int64", "uint8", "uint64", "int32")) if words else rng.choice(p.floats)
    step = rng.choice([x for x in (WORD_STEPS if words else FLOAT_STEPS) if x.smooth or not p.smooth])
    shape = () if (step.scalars and p.chance(0.6)) or p.chance(0.4) else (rng.choice((1, 2, 3)),)
    if not p.depth and p.chance(0.5):
        rows = rng.choice(LONG[: 2 if shape else 3])
    reads = {key: f"{{{key}}}" in step.text for key in "xyabr"}
    sequences = {key: _array(p, dtype, (rows, *shape)) for key in "xy" if reads[key]}
    given = {key: _array(p, dtype, ()) for key in "ab" if reads[key]}
    before = _array(p, dtype, (2, *shape) if reads["r"] else shape)
    body = p.inside(idle=rows == 0)
    params = {key: Value(p.names.new("x"), x.example[0] if rows else np.zeros(shape, dtype), varies=True)
              for key, x in sequences.items()}  # fmt: skip
    held = {key: Value(p.names.new("w"), x.example) for key, x in given.items()}
    first = [before.example[0], before.example[1]] if reads["r"] else [before.example]
    states = [Value(p.names.new("s"), np.asarray(x), varies=True) for x in first]
    body.values = [*params.values(), *states, *held.values()]
    names = {key: v.name for key, v in (params | held).items()} | {"s": states[-1].name, "r": states[0].name}
    new = body.add(step.text.format(**names))
    new = new and body.fit(new, dtype, shape)
    assert new is not None
    text = f"dict(initial={before.name}, taps=[-2, -1])" if reads["r"] else before.name
    out = Out(p.names.new("o"), dtype, [rows, *shape], new.name, text, [s.name for s in states])
    slots = [Slot(sequences[key].name, [v.name]) for key, v in params.items()]
    fixed = [Slot(given[key].name, [v.name]) for key, v in held.items()]
    made = p.add_loop(Loop("scan", slots, [out], fixed, body.statements, None if slots else str(rows)), False)
    last = rows and step.last and p.add(f"{made[0].name}[-1]")
    return [last] if last else made


def _array(p: Pool, dtype: str, shape: tuple[int, ...]) -> Value:
    """An array of that type and shape: one that is there, or numbers."""
    x = p.pick(lambda v: v.shape == shape and not v.risky and v.kind in "fiub") if p.chance(0.6) else None
    return (x and p.fit(x, dtype, shape)) or _numbers(p, dtype, shape)


def _numbers(p: Pool, dtype: str, shape: tuple[int, ...]) -> Value:
    n = int(np.prod(shape))
    a, b = p.rng.choice((1, 2, 3)), p.rng.choice((3, 5, 7))
    text = f"(np.arange({n}) * {a} % {b})"
    text = f"({text} - 1) * 0.375" if np.dtype(dtype).kind == "f" else text
    made = p.add(Made(f"T.constant(({text}).astype({dtype!r}).reshape({shape}))"))
    assert made is not None
    return made
