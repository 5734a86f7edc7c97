"""The program of a seed of the wide generator."""

from __future__ import annotations

import random

import numpy as np

from corpus.pool import Names
from corpus.spec import LAYOUTS, Input, Spec, prune
from corpus.wide.language import LANGUAGE, SMOOTH_LANGUAGE
from corpus.wide.loops import add_loop, consume, grow
from corpus.wide.pool import COMPLEX, DTYPES, FLOATS, INTS, Pool, Value

__all__ = ["generate", "language", "language_slopes", "slopes"]

INEXACT = (*FLOATS, *COMPLEX, *COMPLEX)


def generate(seed: int) -> Spec:
    """The program of a seed."""
    return _generate(seed, False)


def slopes(seed: int) -> Spec:
    """A smooth program of floats, whose only output is a cost."""
    return _generate(seed, True)


def language(seed: int) -> Spec:
    """The program of a seed, mostly of operators that `generate` does not use."""
    return _generate(seed, False, "language")


def language_slopes(seed: int) -> Spec:
    """The same for a smooth program of floats."""
    return _generate(seed, True, "language")


def _generate(seed: int, slopes: bool, title: str = "wide") -> Spec:
    rng = random.Random(f"{title} {seed}{' slopes' * slopes}")
    lengths = rng.choices((1, 2, 3, 4, 9), (14, 35, 35, 14, 3), k=2)
    rows = rng.choices(range(5), (34, 22, 24, 12, 8))[0]
    by_layout = not slopes and rng.random() < 0.12
    rows = rng.randrange(2, 5) if by_layout else rows
    dtypes = rng.sample(FLOATS if slopes else INEXACT if by_layout else DTYPES, rng.choice((1, 1, 2, 2, 3)))
    streams = not slopes and not by_layout and rng.random() < 0.08
    pool = Pool(rng, Names(), (lengths[0], lengths[1]), tuple(dtypes), slopes, streams=streams, by_layout=by_layout)
    if title == "language":
        pool.by_layout, pool.more = False, SMOOTH_LANGUAGE if slopes else LANGUAGE
        pool.floats = ("float64",)  # formulas have constants, which other dtypes round
        pool.dtypes = pool.floats if slopes else pool.dtypes
    inputs = _inputs(pool, rows)
    if rng.random() < 0.3:
        grow(pool, 1, 0.1)
    wanted: list[Value] = []
    for _ in range(rng.choices((1, 2), (70, 30))[0]):
        for v in add_loop(pool, rows if rng.random() < 0.85 else rng.randrange(4)):
            read = consume(pool, v)
            wanted.append(read if read is not None else v)
    if rng.random() < 0.35:
        before = len(pool.values)
        grow(pool, rng.choice((1, 2)), 0.2)
        wanted += [v for v in pool.values[before:] if rng.random() < 0.7]
    if slopes:
        wanted = [_cost(pool, wanted)]
    passed = list(pool.updates)
    outputs = list(dict.fromkeys(v.name for v in wanted))
    spec = Spec(seed, inputs, pool.statements, outputs, False, passed=passed, disturbed=True)
    spec.statements = prune(spec.statements, spec.wanted)
    return spec


def _cost(p: Pool, wanted: list[Value]) -> Value:
    """What is made of floats, as one number."""
    found = list(dict.fromkeys(v for v in wanted if v.kind == "f")) or [v for v in p.values if v.kind == "f"][:1]
    ways = ("T.sin({}).sum()", "{}.sum()", "T.sqr({}).sum()", "T.tanh({}).sum()")
    text = " + ".join(p.rng.choice(ways).format(v.name) for v in found)
    made = p.add(f"({text or 'T.zeros(())'}).astype('float64')")
    assert made is not None
    return made


def _inputs(p: Pool, rows: int) -> list[Input]:
    rng = p.rng
    layout = rng.choice([*LAYOUTS]) if p.by_layout or rng.random() < 0.5 else ""
    a, b = p.fits
    steps: list[tuple[int, ...]] = [(), (), (a,), (a,), (b,), (1,), (a, b)]
    plain: list[tuple[int, ...]] = [(), (a,), (b,), (a, b), (a, a), (a, a), (1,), (3, a), (a, 1)]
    shapes = [(rows + rng.choice((0, 0, 0, 1, 2)), *rng.choice(steps)) for _ in range(rng.choice((1, 2)))]
    shapes += [rng.choice(plain) for _ in range(rng.choice((1, 2)))]
    special = rng.random() < 0.12 and not p.smooth
    out = []
    for shape in shapes:
        dtype = rng.choice(p.dtypes) if rng.random() < 0.9 else rng.choice(p.floats if p.smooth else DTYPES)
        other = rng.choice([*LAYOUTS]) if rng.random() < 0.3 else ""
        out.append(_input(p, dtype, shape, special, layout if rng.random() < 0.6 else other))
    for value in (rows, rng.randrange(4), rng.choice((-4, -3, -1, 0, 1, 2, 5, 10))):
        dtype = "int64" if rng.random() < 0.5 else rng.choice(INTS[:4] if value < 0 else INTS)
        out.append(_known(p, dtype, (), [value]))
    if rng.random() < 0.6:
        n = rng.choice((1, 2, rows, a))
        wild = rng.random() < 0.2
        values = [rng.randrange(-1, 5) if wild else rng.randrange(2) for _ in range(n)]
        out.append(_known(p, "int64" if wild else rng.choice(INTS), (n,), values))
    if rng.random() < 0.4:
        out.append(_known(p, "bool", rng.choice(((), (rows,))), [rng.random() < 0.5 for _ in range(rows or 1)]))
    return out


def _input(p: Pool, dtype: str, shape: tuple[int, ...], special: bool, layout: str) -> Input:
    """An input of random values, somehow laid out."""
    kind, count = np.dtype(dtype).kind, int(np.prod(shape))
    values = [_value(p.rng, kind, dtype, special) for _ in range(count * (2 if kind == "c" else 1))]
    return _known(p, dtype, shape, values, layout if shape and count else "")


def _known(p: Pool, dtype: str, shape: tuple[int, ...], values: list[object], layout: str = "") -> Input:
    static = [n if p.chance(0.25) else None for n in shape]
    size = int(np.prod(shape)) * (2 if dtype.startswith("complex") else 1)
    made = Input(p.names.new("v"), dtype, static, list(shape), values[:size], layout)
    p.values.append(Value(made.name, made.array))
    return made


def _value(rng: random.Random, kind: str, dtype: str, special: bool) -> object:
    if kind == "b":
        return rng.random() < 0.5
    if kind in "iu":
        ends = np.iinfo(dtype)
        if special and rng.random() < 0.3:
            return rng.choice((ends.min, ends.max, ends.max // 2 + 1))
        return rng.randint(0 if kind == "u" else -3, 5)
    if special and rng.random() < 0.2:
        return rng.choice((float("nan"), float("inf"), float("-inf"), -0.0, 0.0))
    return rng.choice((-0.0, 1.0, -1.0, 0.5)) if rng.random() < 0.15 else round(rng.uniform(-2, 2), 3)
