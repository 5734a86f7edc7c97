"""Random numbers for random programs: from streams, or by keys."""

from __future__ import annotations

from corpus.pool import Pool, Shape, size

__all__ = ["PLAIN_DRAWS", "draw"]

# Text with {k} for the key and {s} for the size, dtype, and the axes that follow those of the size.
_PLAIN: tuple[tuple[str, str, Shape], ...] = (
    ("uniform({k}{s})", "float64", ()), ("uniform({k}{s}, -1.0, 1.0)", "float64", ()),
    ("uniform({k}{s}, dtype='float32')", "float32", ()), ("normal({k}{s})", "float64", ()),
    ("normal({k}{s}, dtype='float32')", "float32", ()), ("normal({k}{s}, 1.0, 0.5)", "float64", ()),
    ("exponential({k}{s})", "float64", ()), ("gamma({k}{s}, 2.0)", "float64", ()),
    ("beta({k}{s}, 2.0, 3.0)", "float64", ()), ("binomial({k}{s}, 1, 0.4)", "int64", ()),
    ("binomial({k}{s}, 5)", "int64", ()), ("poisson({k}{s}, 3.0)", "int64", ()),
    ("integers({k}-2, 5, {s})", "int64", ()), ("permutation({k}{s}, 3)", "int64", (3,)),
    ("choice({k}{s}, 4)", "int64", ()), ("multinomial({k}{s}, 3, [0.2, 0.5, 0.3])", "int64", (3,)),
)  # fmt: skip

# Parameters that are computed, of which {v} is one: a rounding error may change the whole draw.
_COMPUTED: tuple[tuple[str, str], ...] = (
    ("binomial({k}{v}.shape, 1, T.sigmoid({v}))", "int64"), ("normal({k}{v}.shape, {v})", "float64"),
    ("normal({k}{v}.shape, 0.0, abs({v}))", "float64"), ("poisson({k}{v}.shape, T.sqr(T.tanh({v})))", "int64"),
    ("uniform({k}{v}.shape, 0.0, 1.0 + abs({v}))", "float64"),
)  # fmt: skip


PLAIN_DRAWS = (
    ("trng.uniform((3,))", "T.full((3,), 0.5)"), ("trng.normal(())", "T.constant(0.5, dtype='float64')"),
    ("trng.integers(0, 3, ())", "T.constant(1, dtype='int64')"),
    ("trng.uniform((2, 1), dtype='float32')", "T.full((2, 1), np.float32(0.5))"),
    ("trng.binomial((2,), 3, 0.4)", "T.arange(2)"), ("trng.permutation((), 3)", "T.arange(3)"),
)  # fmt: skip
"""Draws from streams whose parameters are constants, each with something of its type."""


def draw(p: Pool) -> tuple[str, str, Shape] | None:
    """Text, dtype and shape of random numbers."""
    streams = p.settings.draws == "streams"
    module, key = ("trng", "") if streams else ("T.random", f"{_key(p)}, ")
    x = p.pick(lambda v: v.dtype == "float64" and v.ndim <= 2)
    if x is not None and p.rough and p.chance(0.5):
        text, dtype = p.rng.choice(_COMPUTED)
        return f"{module}.{text.format(k=key, v=x.name)}", dtype, x.shape
    text, dtype, more = p.rng.choice(_PLAIN)
    y = p.pick(lambda v: v.ndim <= 2) if p.chance(0.4) else None
    shape: Shape = p.rng.choice(((), (1,), (p.fits[0],), (2, p.fits[1]), (7,))) if y is None else y.shape
    wanted = str(shape) if y is None else f"{y.name}.shape"
    return (f"{module}.{text.format(k=key, s=wanted)}", dtype, (*shape, *more)) if size(shape) <= 60 else None


def _key(p: Pool) -> str:
    """A key: the same at every step, or one for each step."""
    key = f"T.random.key({p.rng.randrange(3)})"
    i = p.pick(lambda v: v.dtype == "int64" and not v.ndim)
    if i is not None and p.chance(0.8):
        key = f"T.random.fold_in({key}, {i.name})"
    return f"T.random.advance({key})" if p.chance(0.1) else key
