"""Operators for random programs: each takes names of a pool and gives a text with its type."""

from __future__ import annotations

from collections.abc import Callable

from corpus.draws import draw
from corpus.pool import FLOATS, Pool, Shape, Var, broadcast, promote, size

__all__ = ["grow"]

Made = tuple[str, str, Shape] | None
"""Text, dtype and shape; None where the pool has nothing to apply the operator to."""

_FLOAT = (
    "T.tanh({})", "T.sigmoid({})", "T.exp(-abs({}))", "T.cos({})", "abs({})", "-{}", "T.sqr(T.tanh({}))",
    "T.maximum({}, 0)", "{} * 0.5", "{} + 1", "1 - {}", "T.clip({}, -1, 1)", "T.sqrt(abs({}) + 1)",
    "T.log1p(abs({}))", "{} / 3", "T.tanh({}) * 1.5", "T.exp(T.constant(-2.0, dtype='{d}')) * {}",
    "T.where(T.isnan({0}), 0, {0})", "{} + T.sqr(T.constant(3.0, dtype='{d}') - 1)",
)  # fmt: skip
_FLOAT_ROUGH = ("T.floor({})", "T.sign({})", "T.rint({} * 2)", "T.trunc({})", "T.floor({} + 0.5) % 2")
_INT = (
    "abs({})", "-{}", "{} + 3", "{} * 2", "{} // 2", "{} % 3", "{} ** 2", "{} & 5", "~{}", "T.sign({})",
    "{} >> 1", "7 - {}", "T.maximum({}, -2)", "{} * T.constant(3)", "T.constant(2) * T.constant(4) - {}",
)  # fmt: skip
_BOOL = ("~{}", "{} | True", "{} & True", "{} ^ True", "T.logical_not({})")


def _unary(p: Pool) -> Made:
    x = p.pick()
    if x is None:
        return None
    texts = (*_FLOAT, *(_FLOAT_ROUGH if p.rough else ())) if x.is_float else _BOOL if x.dtype == "bool" else _INT
    text = p.rng.choice(texts)
    return text.replace("{d}", x.dtype).format(x.name), x.dtype, x.shape


# What algebra takes away
_SAME_FLOAT = (
    "{} * 1", "1.0 * {}", "{} + (-0.0)", "-0.0 + {}", "{} - 0.0", "-(-{})", "T.maximum({0}, {0})", "{} / 1",
    "{0} * T.ones_like({0})", "T.ones_like({0}) * {0}", "T.minimum({0}, {0})", "abs(abs({}))",
    "T.positive({})", "{0} + T.zeros_like({0})", "T.where(True, {0}, {0})", "{0} - {0}", "{} * 0.0",
    "{0} + {0}",
)  # fmt: skip
_SAME_INT = (
    "{} * 1", "1 * {}", "{} + 0", "0 + {}", "{} - 0", "-(-{})", "T.maximum({0}, {0})", "{} // 1", "({} + 3) - 3",
    "{0} * T.ones_like({0})", "T.ones_like({0}) * {0}", "{} * 0", "T.constant(0) * {}", "{0} - {0}", "{0} ^ {0}",
    "~~{}", "{0} & {0}", "({} - 2) + 2", "{} ** 1", "T.zeros_like({0}) * {0}", "{0} + T.zeros_like({0})",
)  # fmt: skip
_SAME_BOOL = ("{} & True", "{} | False", "~~{}", "{0} & {0}", "{0} ^ {0}", "{} & False", "{} | True")


def _identity(p: Pool) -> Made:
    x = p.pick()
    if x is None:
        return None
    texts = _SAME_FLOAT if x.is_float else _SAME_BOOL if x.dtype == "bool" else _SAME_INT
    return p.rng.choice(texts).format(x.name), x.dtype, x.shape


def _mixed(p: Pool) -> Made:
    """Neutral and absorbing elements of another dtype, which change the dtype of the result."""
    x = p.pick(lambda v: v.dtype != "bool")
    if x is None:
        return None
    dtype = p.rng.choice(("int64", "float32", "float64"))
    op, e = p.rng.choice((("*", 1), ("*", 0), ("+", 0), ("-", 0), ("//", 1)))
    y = p.rng.choice((f"T.full_like({x.name}, {e}, dtype={dtype!r})", f"T.constant({e}, dtype={dtype!r})"))
    left, right = (y, x.name) if op in "*+" and p.chance(0.5) else (x.name, y)
    return f"{left} {op} {right}", promote(x.dtype, dtype), x.shape


def _pair(p: Pool) -> Made:
    """Identities of two names: undone additions, commuted twins, twice the same."""
    x = p.pick(lambda v: v.dtype != "bool")
    y = x and p.pick_beside(x, same_dtype=True)
    if x is None or y is None:
        return None
    shape = broadcast(x.shape, y.shape)
    texts = ["({0} + {1}) * ({1} + {0})", "{0} * {1} - {1} * {0}", "T.maximum({0}, {1}) - T.maximum({1}, {0})"]
    texts += ["T.floor(T.floor({0} + {1}))"] if p.rough else []
    texts += [] if x.is_float else ["({0} + {1}) - {1}", "({0} - {1}) + {1}", "({0} ^ {1}) ^ {1}", "({0} + {1}) - {0}"]
    assert shape is not None
    return p.rng.choice(texts).format(x.name, y.name), x.dtype, shape


_BINARY = ("{} + {}", "{} - {}", "{} * {}", "{} * {}", "T.maximum({}, {})", "T.minimum({}, {})")
_BINARY_INT = ("{} // {}", "{} % {}", "{} & {}", "{} | {}", "{} ^ {}")


def _binary(p: Pool) -> Made:
    x = p.pick(lambda v: v.dtype != "bool")
    y = x and p.pick_beside(x)
    if x is None or y is None:
        return None
    dtype, shape = promote(x.dtype, y.dtype), broadcast(x.shape, y.shape)
    assert shape is not None
    if dtype in FLOATS and p.chance(0.1):
        return f"{x.name} / (abs({y.name}) + 1)", dtype, shape
    texts = _BINARY_INT if dtype == "int64" and p.chance(0.3) else _BINARY
    return p.rng.choice(texts).format(x.name, y.name), dtype, shape


def _compare(p: Pool) -> Made:
    x = p.pick(lambda v: p.rough or not v.is_float)
    y = x and p.pick_beside(x)
    if x is None or y is None or (y.is_float and not p.rough):
        return None
    shape = broadcast(x.shape, y.shape)
    assert shape is not None
    return f"T.{p.rng.choice(('lt', 'le', 'eq', 'neq'))}({x.name}, {y.name})", "bool", shape


def _where(p: Pool) -> Made:
    c = p.pick(lambda v: v.dtype == "bool")
    x = (c and p.pick_beside(c)) or p.pick()
    y = x and p.pick_beside(x)
    if c is None or x is None or y is None or "bool" in (x.dtype, y.dtype):
        return None
    shape = broadcast(c.shape, x.shape, y.shape)
    return None if shape is None else (f"T.where({c.name}, {x.name}, {y.name})", promote(x.dtype, y.dtype), shape)


def _choice(p: Pool) -> Made:
    c = p.pick(lambda v: v.dtype == "bool" and not v.ndim) if p.chance(0.7) else None
    x = p.pick(lambda v: not v.ndim) if p.chance(0.5) else p.pick()
    y = x and p.pick(lambda v: (v.dtype, v.shape) == (x.dtype, x.shape))
    if x is None or y is None:
        return None
    test = c.name if c is not None else p.rng.choice(("True", "False"))
    return f"scanopt.ifelse({test}, {x.name}, {y.name})", x.dtype, x.shape


def _cast(p: Pool) -> Made:
    x = p.pick()
    if x is None:
        return None
    smooth = FLOATS if x.is_float else ("float32", "float64", "int64")
    dtype = p.rng.choice((*smooth, "int64", "bool") if p.rough else smooth)
    text = f"T.clip(T.where(T.isnan({x.name}), 0, {x.name}), -9, 9)" if x.is_float and dtype == "int64" else x.name
    return f"{text}.astype({dtype!r})", dtype, x.shape


def _reduce(p: Pool) -> Made:
    x = p.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    axis = p.rng.choice((None, *range(-1, x.ndim)))
    kept = () if axis is None else tuple(n for i, n in enumerate(x.shape) if i != axis % x.ndim)
    names = ["sum", "mean"] + (["max", "min"] if size(x.shape) else [])
    if x.dtype == "bool":
        names = ["any", "all", "sum"]
    elif (p.rough or not x.is_float) and size(x.shape):
        names.append("argmax")
    name = p.rng.choice(names)
    dtype = {"sum": "int64" if x.dtype == "bool" else x.dtype, "argmax": "int64"}.get(name, x.dtype)
    dtype = "float64" if name == "mean" and not x.is_float else dtype
    arguments = "" if axis is None else f"axis={axis}"
    if axis is not None and name != "argmax" and p.chance(0.2):
        arguments, kept = f"axis={axis}, keepdims=True", tuple(
            1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)
        )  # fmt: skip
    return f"{x.name}.{name}({arguments})", dtype, kept


def _index(p: Pool) -> Made:
    x = p.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    n, rest = x.shape[0], x.shape[1:]
    ways: list[tuple[str, Shape]] = [
        ("[::-1]", x.shape),
        ("[1:]", (max(n - 1, 0), *rest)),
        ("[:2]", (min(n, 2), *rest)),
    ]
    ways += [("[::2]", ((n + 1) // 2, *rest)), ("[-2:]", (min(n, 2), *rest)), ("[None]", (1, *x.shape))]
    if n:
        ways += [("[0]", rest), ("[-1]", rest), (f"[{n - 1}]", rest)] * 2
        i = p.pick(lambda v: v.dtype == "int64" and v.ndim <= 1)
        ways += [(f"[{i.name} % {n}]", (*i.shape, *rest))] * 3 if i is not None else []
    if rest:
        ways += [("[:, None]", (n, 1, *rest)), ("[:, ::-1]", x.shape)]
        ways += [("[:, 0]", (n, *rest[1:])), ("[..., -1]", x.shape[:-1])] if rest[0] and rest[-1] else []
    text, shape = p.rng.choice(ways)
    return (x.name + text, x.dtype, shape) if len(shape) <= 3 else None


def _shape(p: Pool) -> Made:
    x = p.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    ways = [
        (f"{x.name}.reshape({(size(x.shape),)})", (size(x.shape),)), (f"{x.name}.T", x.shape[::-1]),
        (f"{x.name}.flatten()", (size(x.shape),)), (f"{x.name}.reshape({(1, *x.shape)})", (1, *x.shape)),
        (f"T.concatenate([{x.name}, {x.name}[::-1]])", (2 * x.shape[0], *x.shape[1:])),
        (f"T.stack([{x.name}, {x.name}])", (2, *x.shape)), (f"T.sort({x.name})", x.shape),
    ]  # fmt: skip
    if x.dtype != "bool":
        ways += [(f"T.cumsum({x.name}, axis=0)", x.shape), (f"T.cumsum({x.name}, axis=-1)", x.shape)]
    if x.shape[0] and x.dtype != "bool":
        ways += [(f"T.set_subtensor({x.name}[0], 2)", x.shape), (f"T.inc_subtensor({x.name}[-1], 1)", x.shape)]
    text, shape = p.rng.choice(ways)
    return (text, x.dtype, shape) if len(shape) <= 3 and size(shape) <= 200 else None


def _join(p: Pool) -> Made:
    x = p.pick(lambda v: v.ndim > 0)
    y = x and p.pick(lambda v: v.shape == x.shape)
    if x is None or y is None or "bool" in (x.dtype, y.dtype):
        return None
    return f"T.concatenate([{x.name}, {y.name}])", promote(x.dtype, y.dtype), (2 * x.shape[0], *x.shape[1:])


def _product(p: Pool) -> Made:
    x = p.pick(lambda v: v.dtype != "bool" and 1 <= v.ndim <= 2)
    y = x and p.pick(lambda v: v.dtype == x.dtype and 1 <= v.ndim <= 2 and v.shape[0] == x.shape[-1])
    if x is None:
        return None
    if y is None:
        z = p.pick(lambda v: v.dtype == x.dtype and v.ndim == 1)
        return (f"T.outer({x.name}, {z.name})", x.dtype, (*x.shape, *z.shape)) if z and x.ndim == 1 else None
    text = f"{x.name} @ {y.name}" if p.chance(0.3) else f"T.dot({x.name}, {y.name})"
    return text, x.dtype, (*x.shape[:-1], *y.shape[1:])


def _make(p: Pool) -> Made:
    n = p.rng.choice(p.fits)
    x = p.pick()
    ways: list[tuple[str, str, Shape]] = [
        (f"T.zeros({(n,)}, dtype='float32')", "float32", (n,)), (f"T.arange({n})", "int64", (n,)),
        ("T.constant(0.5)", "float32", ()), ("T.constant(2, dtype='int64')", "int64", ()),
        (f"T.ones({(n,)})", "float64", (n,)),
    ]  # fmt: skip
    if x is not None:
        ways += [(f"T.zeros_like({x.name})", x.dtype, x.shape), (f"T.full_like({x.name}, 1)", x.dtype, x.shape)]
        ways += [(f"{x.name}.shape[0]", "int64", ())] * 2 if x.ndim else []
    return p.rng.choice(ways)


_OPS: tuple[tuple[int, Callable[[Pool], Made]], ...] = (
    (22, _unary), (9, _identity), (2, _mixed), (6, _pair), (26, _binary), (3, _compare), (4, _where), (4, _choice),
    (4, _cast), (6, _reduce), (7, _index), (5, _shape), (3, _join), (12, _product), (3, _make),
)  # fmt: skip
_WEIGHTS = [w for w, _ in _OPS]


def grow(pool: Pool, lines: int) -> list[Var]:
    """Up to so many new lines."""
    out: list[Var] = []
    for _ in range(lines):
        draws = pool.settings.draws and pool.chance(0.3)
        made = draw(pool) if draws else pool.rng.choices(_OPS, _WEIGHTS)[0][1](pool)
        if made is not None and size(made[2]) <= 400:
            out.append(pool.add(*made))
            if pool.chance(0.05):  # the same once more
                out.append(pool.add(*made))
    return out
