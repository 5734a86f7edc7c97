"""The operators and functions that `corpus.wide.ops` leaves out: with these all of the operator table are in use.

Texts that `corpus.plain` knows are compared with NumPy and SciPy; the others have a text of their type beside them.
"""

from __future__ import annotations

from corpus.wide.functions import LISTS, MATRICES, PAIRS, ROWS, SMOOTH_TEXTS, UNARY
from corpus.wide.ops import beside
from corpus.wide.pool import Made, Pool, Value

__all__ = ["BITS", "DRAWS", "LANGUAGE", "SMOOTH_LANGUAGE", "WRITTEN"]


def _unary(p: Pool) -> Made | None:
    x = p.pick()
    return x and Made(p.rng.choice(UNARY[_kind(x)]).format(x.name))


def _kind(x: Value) -> str:
    return "i" if x.kind == "u" else x.kind


def _binary(p: Pool) -> Made | None:
    x = p.pick()
    y = x and beside(p, x)
    if x is None or y is None:
        return None
    kinds = {_kind(x), _kind(y)}
    kind = next((k for k in "cfib" if k in kinds), "b")
    return Made(p.rng.choice(PAIRS[kind]).format(x.name, y.name))


def _along(p: Pool) -> Made | None:
    """Along an axis: order, statistics, windows, transforms."""
    x = p.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    texts = [*ROWS["any"], *ROWS[_kind(x)]]
    texts += ROWS["real"] if x.kind in "fiub" else ()
    return Made(p.rng.choice(texts).format(x=x.name, a=p.rng.randrange(-1, x.ndim), w=p.rng.choice((1, 2))))


def _vectors(p: Pool) -> Made | None:
    """Of one or two lists of numbers."""
    x = p.pick(lambda v: v.ndim == 1 and v.kind != "b")
    y = x and p.pick(lambda v: v.ndim == 1 and v.kind != "b" and (v.shape == x.shape or p.chance(0.3)))
    return x and y and Made(p.rng.choice(LISTS).format(x=x.name, y=y.name))


def _counted(p: Pool) -> Made | None:
    """Of small integers: counts, positions, choices, places that are written several times."""
    i = p.pick(lambda v: v.kind in "iu" and v.ndim == 1)
    x = i and p.pick(lambda v: v.ndim > 0 and v.example.size > 0)
    if i is None or x is None:
        return None
    k = f"({i.name} % {x.shape[0]})"
    row = f"T.zeros({(*i.shape, *x.shape[1:])}, dtype={x.dtype!r})"
    ways = [f"T.bincount((abs({i.name}) % 5).astype('int16'), minlength=5)",
            f"T.take({x.name}, {i.name}, axis=0, mode='clip')",
            f"T.take({x.name}, {i.name}, axis=0, mode='wrap')", f"T.nnet.one_hot({k}, {x.shape[0]})",
            f"T.isin({i.name}, [0, 1, 2])"]  # fmt: skip
    ways += [f"{x.name}.at[{k}].{name}({row} + {one})" for name, one in WRITTEN if x.kind not in "bc"]
    ways += [f"T.inc_subtensor({x.name}[{k}], {row})"] * (x.kind != "b")
    return Made(p.rng.choice(ways), None)


WRITTEN = (("add", "1"), ("multiply", "2"), ("max", "1"), ("min", "1"), ("set", "1"))


def _matrix(p: Pool) -> Made | None:
    """Factors, values and norms of a matrix, made regular where that is needed."""
    a = p.pick(lambda v: v.ndim == 2 and v.dtype not in ("float16", "bool") and v.example.size > 0)
    if a is None:
        x = p.pick(lambda v: v.ndim == 1 and v.example.size > 0 and v.dtype not in ("float16", "bool"))
        a = x and p.add(f"T.outer({x.name}, {x.name})")
    if a is None or a.ndim != 2:
        return None
    square = a.shape[0] == a.shape[1]
    regular = f"({a.name} + T.eye({a.shape[0]}) * 9)"
    positive = f"({a.name} @ T.conj({a.name}.T) + T.eye({a.shape[0]}))"
    texts = [*MATRICES["any"], *(MATRICES["square"] if square else ())]
    text = p.rng.choice(texts)
    return Made(text.format(x=a.name, r=regular, p=positive), f"{a.name} * 1.0" if "lu_" in text else None)


def _lengths(p: Pool) -> Made | None:
    """Shapes that are known from there on: some lengths, or numbers that are computed, now and then wrong ones."""
    x = p.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    lengths: list[object] = [n if p.chance(0.7) else None for n in x.shape]
    wild = p.chance(0.5 if p.idle else 0.1)
    i = p.pick(lambda v: v.kind in "iu" and not v.ndim and (wild or int(v.example) == x.shape[0]) and not v.risky)
    if i is not None and (wild or not i.varies):
        lengths[0] = i.name
    elif wild:
        lengths[-1] = p.rng.randrange(4)
    text = f"({', '.join(map(str, lengths))},)"
    return Made(f"T.specify_shape({x.name}, {text})", x.name)


def _bits(p: Pool) -> Made | None:
    """Bytes read as another dtype, of as many bytes, of fewer or of more."""
    x = p.pick(lambda v: v.kind in "iufc" and v.example.size <= 24)
    if x is None:
        return None
    number = f"T.where(T.isnan({x.name}), 1, {x.name})" if x.kind in "fc" else x.name  # signs of nan are open
    number = f"({number}).astype({x.dtype!r})"
    texts = [t for size, t in BITS if size in (0, x.example.dtype.itemsize)]
    return Made(p.rng.choice(texts).format(x=number, d=x.dtype, i=f"int{8 * min(x.example.dtype.itemsize, 8)}"))


BITS: tuple[tuple[int, str], ...] = (
    (0, "bitcast({x}, {i!r})"), (0, "bitcast({x}, 'uint8')"), (0, "bitcast(bitcast({x}, 'uint8'), {d!r})"),
    (0, "bitcast(bitcast({x}, {i!r}) ^ 1, {d!r})"), (0, "bitcast(bitcast({x}, 'uint8')[..., ::-1], {d!r})"),
    (0, "T.bitwise_count(bitcast({x}, {i!r}))"), (2, "bitcast({x}, 'float16') * 2"),
    (4, "bitcast({x}, 'float32')"), (4, "bitcast({x}, 'int16').sum(axis=-1)"), (4, "bitcast({x}, 'uint32') >> 23"),
    (8, "bitcast({x}, 'float64')"), (8, "bitcast({x}, 'uint32')[..., 0]"), (8, "bitcast({x}, 'complex64').real"),
    (16, "bitcast({x}, 'float64')"), (16, "bitcast({x}, 'int64')"),
)  # fmt: skip
"""Texts of bytes, by how many of them an element has, 0 for any number."""


def _hashed(p: Pool) -> Made | None:
    """Words of the threefry hash, of integers as keys and counters."""
    x = p.pick(lambda v: v.kind in "iub")
    y = x and beside(p, x)
    if x is None or y is None or y.kind not in "iub":
        return None
    words = [f"{v.name}.astype('uint32')" for v in (x, y)] + [f"T.constant(np.uint32({p.rng.randrange(2**32)}))"] * 2
    p.rng.shuffle(words)
    return Made(f"threefry({', '.join(words)}){p.rng.choice(('', '', '[..., 0]', '[..., 1] % 5'))}")


def _ruled(p: Pool) -> Made | None:
    """Functions with derivatives of their own."""
    x = p.pick(lambda v: v.kind == "f")
    y = x and p.pick(lambda v: (v.dtype, v.shape) == (x.dtype, x.shape))
    if x is None or y is None:
        return None
    texts = (f"rules.rooted({x.name})", f"rules.turned({x.name})", f"rules.bent({x.name}, {y.name})")
    return Made(p.rng.choice(texts))


def _powers(p: Pool) -> Made | None:
    """Powers of one number with integers as exponents."""
    x = p.pick(lambda v: v.kind == "f" and not v.ndim)
    k = x and p.pick(lambda v: v.kind in "iu" and v.ndim == 1)
    return x and Made(f"T.tanh({x.name}) ** {f'abs({k.name} % 7)' if k is not None else 'T.arange(5)'}")


DRAWS: tuple[tuple[str, str, tuple[int, ...] | None], ...] = (
    ("uniform({k}, {s})", "float64", ()), ("uniform({k}, {s}, -1.0, 1.0, dtype='float32')", "float32", ()),
    ("normal({k}, {s})", "float64", ()), ("normal({k}, {s}, 0.0, {x})", "float64", ()), ("exponential({k}, {s})",
    "float64", ()), ("gamma({k}, {s}, 2.0)", "float64", ()),
    ("beta({k}, {s}, 2.0, 3.0)", "float64", ()), ("binomial({k}, {s}, 5, 0.4)", "int64", ()),
    ("poisson({k}, {s}, 3.0)", "int64", ()), ("integers({k}, -2, 5, {s})", "int64", ()),
    ("permutation({k}, {s}, 3)", "int64", (3,)), ("choice({k}, {s}, 4)", "int64", ()),
    ("choice({k}, {s}, 3, p=[0.2, 0.5, 0.3])", "int64", ()), ("choice({k}, (2,), 4, replace=False)", "int64", None),
    ("multinomial({k}, {s}, 3, [0.2, 0.5, 0.3])", "int64", (3,)),
)  # fmt: skip


def _draw(p: Pool) -> Made | None:
    """Random numbers by keys, which differ from step to step or not; what keys themselves are made of."""
    key = f"T.random.key({p.rng.randrange(3)})"
    i = p.pick(lambda v: v.kind in "iu" and not v.ndim)
    if i is not None and p.chance(0.8):
        key = f"T.random.fold_in({key}, {i.name})"
    if p.chance(0.1):
        return Made(f"{key}.astype('int64') % 7", "T.arange(2)")
    if p.chance(0.1):
        key = f"T.random.split({key})[1]"
    text, dtype, more = p.rng.choice(DRAWS)
    shape = p.rng.choice(((), (2,), (1, 3)))
    x = p.pick(lambda v: v.kind == "f" and not v.ndim)
    text = text.format(k=key, s=shape, x=f"abs({x.name})" if x is not None else "1.0")
    shape = (2,) if more is None else (*shape, *more)
    return Made(f"T.random.{text}", f"T.zeros({shape}, dtype={dtype!r})")


def _smooth(p: Pool) -> Made | None:
    x = p.pick(lambda v: v.kind == "f" and v.dtype != "float16")
    if x is None:
        return None
    if x.ndim == 2 and x.shape[0] == x.shape[1] > 0 and p.chance(0.4):
        r, q = f"({x.name} + T.eye({x.shape[0]}) * 9)", f"({x.name} @ {x.name}.T + T.eye({x.shape[0]}))"
        return Made(p.rng.choice(SMOOTH_TEXTS["square"]).format(x=x.name, r=r, p=q))
    y = beside(p, x)
    texts = [*SMOOTH_TEXTS["any"], *(SMOOTH_TEXTS["pair"] if y is not None and y.kind == "f" else ())]
    texts += SMOOTH_TEXTS["row"] * 2 if x.ndim and x.example.size else ()
    names = {"x": x.name, "y": y.name if y is not None else x.name, "a": p.rng.randrange(-1, x.ndim) if x.ndim else 0}
    return Made(p.rng.choice(texts).format(**names))


LANGUAGE = {
    _unary: 24, _binary: 16, _along: 34, _vectors: 12, _counted: 8, _matrix: 16, _draw: 8, _lengths: 4, _bits: 6,
    _hashed: 3, _ruled: 3, _powers: 2,
}  # fmt: skip
"""Operators by how often they are used."""

SMOOTH_LANGUAGE = {_smooth: 1}
"""Those whose gradients are compared."""
