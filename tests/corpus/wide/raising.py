"""Operators that may raise, by values in and out of range; each text with one of the same type that never does."""

from __future__ import annotations

from corpus.wide.pool import Made, Pool, Value

__all__ = ["MOST", "RAISING", "SMOOTH_RAISING", "choice"]


MOST = 50
"""No array gets a longer axis from a number that is out of range."""


def _number(p: Pool, low: int, high: int, size: bool = False) -> str | None:
    """The text of an integer scalar: now and then one that is not in the range.  size: it makes an array so long."""
    wild = p.chance(0.6 if p.idle else 0.2)
    found = [v for v in (*p.values, *p.around()) if v.kind in "iu" and not v.ndim and not v.risky]
    good = [v for v in found if wild != (low <= int(v.example) < high)]
    if good and p.chance(0.85):
        x = p.rng.choice(good)
        return f"T.minimum({x.name}, {MOST})" if size and (x.varies or x.example > MOST) else x.name
    i = p.rng.choice(found).name if found else None
    if i is not None and high > low and not wild:
        return f"({i} % {high - low} + {low})" if low else f"({i} % {high})"
    return f"T.minimum({i}, {MOST})" if i is not None and size else i


def _row(p: Pool, x: Value) -> str:
    """The text of one entry along the first axis, of the right type whatever there is."""
    return f"T.zeros({x.shape[1:]}, dtype={x.dtype!r})"


def _index(p: Pool) -> Made | None:
    """x[i] for an integer that is computed, and its relatives."""
    x = p.pick(lambda v: v.ndim > 0)
    i = x and _number(p, -x.shape[0], x.shape[0])
    if x is None or i is None:
        return None
    ways = [(f"{x.name}[{i}]", _row(p, x)), (f"T.take({x.name}, {i}, axis=0)", _row(p, x))]
    ways += [(f"T.take({x.name}, {i})", f"T.zeros((), dtype={x.dtype!r})")]
    if x.ndim > 1:
        short = f"T.zeros({(x.shape[0], *x.shape[2:])}, dtype={x.dtype!r})"
        ways += [(f"{x.name}[:, {i}]", short), (f"T.take({x.name}, {i}, axis=1)", short)]
        ways += [(f"{x.name}[{i}, {i}]", f"T.zeros({x.shape[2:]}, dtype={x.dtype!r})")]
    if not p.idle and x.shape[0] and p.chance(0.1):
        ways = [(f"{x.name}[{p.rng.randrange(-x.shape[0], x.shape[0])}]", _row(p, x))]
    elif p.chance(0.1 if p.idle else 0.02):
        ways = [(f"{x.name}[{p.rng.choice((10, -1, -7))}]", _row(p, x))]
    return Made(*p.rng.choice(ways))


def _vector(p: Pool) -> Made | None:
    """x[v] for a vector of integers, or for a mask."""
    x = p.pick(lambda v: v.ndim > 0)
    wild = p.chance(0.6 if p.idle else 0.2)
    i = x and p.pick(lambda v: v.kind in "iu" and v.ndim == 1 and (wild or not v.risky))
    m = x and p.pick(lambda v: v.kind == "b" and v.ndim == 1 and (wild or v.shape == x.shape[:1]))
    if x is None or (i is None and m is None):
        return None
    if m is not None and (i is None or p.chance(0.25)):
        return Made(f"{x.name}[{m.name}].sum(axis=0)", f"{x.name}.sum(axis=0)")
    assert i is not None
    text = i.name if wild or not x.shape[0] else f"({i.name} % {x.shape[0]})"
    safe = f"T.zeros({(*i.shape, *x.shape[1:])}, dtype={x.dtype!r})"
    return Made(p.rng.choice((f"{x.name}[{text}]", f"T.take({x.name}, {text}, axis=0)")), safe)


def _slice(p: Pool) -> Made | None:
    """Slices with bounds and steps that are computed: of lengths that values tell."""
    x = p.pick(lambda v: v.ndim > 0)
    i, j = (None, None) if x is None else (_number(p, 0, 9), _number(p, -9, 9))
    k = x and _number(p, 1, 9)
    if x is None or i is None or j is None or k is None:
        return None
    part = p.rng.choice((f"{i}:", f":{i}", f"{j}:", f"{i}:{j}", f"::{k}", f"{i}::{k}", f"::-{k}", f"{i}:{i} + 1"))
    part = f":, {part}" if x.ndim > 1 and p.chance(0.3) else part
    text = f"{x.name}[{part}]"
    end = p.rng.choice((".sum(axis=0)", ".sum(axis=0)", ".sum()", "", "[:1]"))
    return Made(text + end, f"{x.name}[:1]{end}")


def _write(p: Pool) -> Made | None:
    """set_subtensor and inc_subtensor at integers, vectors and slices that are computed."""
    x = p.pick(lambda v: v.ndim > 0 and v.kind != "b")
    if x is None:
        return None
    i, v = _number(p, -x.shape[0], x.shape[0]), p.pick(lambda v: v.kind in "iu" and v.ndim == 1 and not v.risky)
    k = _number(p, 1, 9)
    parts = [i, f"{i}:"] if i else []
    parts += [f"::{k}"] if k else []
    if v is not None:
        parts += [v.name if p.idle or not x.shape[0] or p.chance(0.15) else f"{v.name} % {x.shape[0]}"]
    if not parts:
        return None
    part, name = p.rng.choice(parts), p.rng.choice(("set", "inc"))
    row = p.pick(lambda v: v.dtype == x.dtype and v.shape in ((), x.shape[1:]))
    y = row.name if row is not None else p.rng.choice(("1", "2"))
    return Made(f"T.{name}_subtensor({x.name}[{part}], {y})", f"{x.name} * T.constant(1, dtype={x.dtype!r})")


def _shape(p: Pool) -> Made | None:
    """Sizes that are computed: reshape, repeat, broadcast_to, full, arange."""
    x = p.pick(lambda v: v.example.size <= 12)
    n = x and _number(p, 1, 5, size=True)
    if x is None or n is None:
        return None
    d, one = x.dtype, f"T.zeros((), dtype={x.dtype!r})"
    ways = [(f"T.full(({n},), {one})", f"T.zeros((1,), dtype={d!r})"), (f"T.arange({n})", "T.arange(1)"),
            (f"T.arange(0, 5, {n})", "T.arange(2)"),
            (f"T.zeros((2, {n}), dtype={d!r})", f"T.zeros((2, 1), dtype={d!r})"),
            (f"T.broadcast_to({x.name}, ({n}, *{x.shape}))", f"T.broadcast_to({x.name}, (1, *{x.shape}))"),
            (f"T.eye({n})", "T.eye(1)")]  # fmt: skip
    if x.ndim:
        total = max(x.example.size, 1)
        divisors = [k for k in range(1, total + 1) if total % k == 0]
        found = [v for v in p.values if v.kind in "iu" and not v.ndim and (int(v.example) in divisors or p.chance(0.1))]
        k = p.rng.choice(found).name if found else n
        flat = f"T.zeros((1, {total}), dtype={d!r})"
        ways += [(f"{x.name}.reshape(({k}, -1))", flat), (f"{x.name}.reshape((-1, {k}))", flat)] * 3
        ways += [(f"{x.name}.reshape(({k}, {total} // {k}))", flat)]
        ways += [(f"T.repeat({x.name}, {n}, axis=0)", x.name), (f"T.repeat({x.name}, {n})", f"{x.name}.flatten()")] * 2
        counts = [v for v in p.values if v.kind in "iu" and v.shape == x.shape[:1]]
        counts = [v for v in counts if p.idle or ((v.example >= 0) & (v.example < 9)).all()]
        v = p.rng.choice(counts) if counts else None
        ways += [(f"T.repeat({x.name}, T.minimum({v.name}, 9), axis=0)", x.name)] * 2 if v is not None else []
    text, safe = p.rng.choice(ways)
    end = p.rng.choice((".sum()", ".sum()", ".sum(axis=0)", "", "[:1]"))
    return Made(text + end, safe + end)


def _power(p: Pool) -> Made | None:
    """Integers to the power of integers, which must not be negative."""
    x = p.pick(lambda v: v.kind in "iu")
    y = x and p.pick(lambda v: v.kind in "iu" and v.shape in (x.shape, ()))
    if x is None or y is None:
        return None
    wild = p.chance(0.5 if p.idle else 0.15)
    return Made(f"{x.name} ** {y.name if wild else f'abs({y.name})'}", f"{x.name} ** abs({y.name})")


def _solve(p: Pool) -> Made | None:
    """Systems, inverses and Cholesky factors, of singular matrices too."""
    a = p.pick(lambda v: v.ndim == 2 and v.shape[0] == v.shape[1] > 0 and v.dtype not in ("float16", "bool"))
    if a is None or p.chance(0.3):  # singular
        x = p.pick(lambda v: v.ndim == 1 and v.example.size > 0 and v.dtype not in ("float16", "bool"))
        a = (x and p.add(f"{x.name}[:, None] * {x.name}")) or a
    if a is None:
        return None
    square = a
    b = p.pick(lambda v: v.shape[:1] == square.shape[:1] and v.ndim <= 2 and v.dtype not in ("float16", "bool"))
    regular = f"({a.name} + T.eye({a.shape[0]}) * 9)"
    positive = f"({a.name} @ T.conj({a.name}.T) + T.eye({a.shape[0]}))"
    wild = p.chance(0.4 if p.idle else 0.2)
    ways = [(f"T.linalg.inv({a.name if wild else regular})", f"{a.name} * 1.0")]
    ways += [(f"T.linalg.cholesky({a.name if wild else positive})", f"{a.name} * 1.0")]
    if b is not None:
        ways += [(f"T.linalg.solve({a.name if wild else regular}, {b.name})", f"{a.name}[0, 0] * 1.0 + {b.name}")] * 2
    ways += [(f"T.linalg.det({a.name})", f"{a.name}[0, 0] * 1.0")]
    return Made(*p.rng.choice(ways))


def _misfit(p: Pool) -> Made | None:
    """Shapes that may not fit: the extremum of nothing, sums of arrays of other lengths."""
    x = p.pick(lambda v: v.ndim > 0 and v.kind != "c")
    y = x and p.pick(lambda v: v.ndim == x.ndim)
    if x is None or y is None or not (p.idle or p.chance(0.1)):
        return None
    ways = [(f"T.max({x.name}, axis=0)", _row(p, x)), (f"{x.name} * {y.name}", f"{x.name}[:1] * {y.name}[:1]")]
    return Made(*p.rng.choice(ways))


def choice(p: Pool) -> Made | None:
    """An ifelse, of whose sides one may raise, mostly where it is not taken."""
    c = p.pick(lambda v: v.kind == "b" and not v.ndim and not v.risky)
    if c is None:
        x = p.pick(lambda v: not v.ndim and v.kind in "iuf")
        c = x and p.add(f"T.gt({x.name}, 0)")
    if c is None:
        return None
    before, idle = len(p.values), p.idle
    p.idle = True
    made = p.weighted(SMOOTH_RAISING if p.smooth else RAISING)
    p.idle = idle
    risky = made and p.add(made)
    if risky is None or len(p.values) == before or risky not in p.values:
        return None
    del p.values[p.values.index(risky)]
    p.lost.append(risky)  # for this alone
    y = p.pick(lambda v: (v.dtype, v.shape) == (risky.dtype, risky.shape) and not v.risky)
    y = y or p.add(f"T.zeros({risky.shape}, dtype={risky.dtype!r})")
    if y is None:
        return None
    right = p.chance(0.9) == bool(c.example)
    sides = (y.name, risky.name) if right else (risky.name, y.name)
    return Made(f"scanopt.ifelse({c.name}, {sides[0]}, {sides[1]})", y.name)


RAISING = {_index: 26, _vector: 14, _slice: 14, _write: 14, _shape: 26, _power: 6, _solve: 16, _misfit: 3}
"""Operators by how often they are used."""

SMOOTH_RAISING = {_index: 26, _vector: 14, _slice: 14, _write: 12, _shape: 16, _solve: 10, _misfit: 2}
