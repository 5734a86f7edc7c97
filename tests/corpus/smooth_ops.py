"""Smooth operators for random programs: each takes float64 names of a pool and gives a text with its shape.

Values stay small: what grows is bounded first.
"""

from __future__ import annotations

from collections.abc import Callable

from corpus.pool import Pool, Shape, Var, broadcast, size

__all__ = ["grow", "smooth"]

Made = tuple[str, Shape] | None
"""Text and shape; None where the pool has nothing to apply the operator to."""

_UNARY = (
    "T.tanh({})", "T.tanh({})", "T.sin({})", "T.sin({})", "T.cos({})", "T.sigmoid({})", "{} * 0.5", "{} + 1", "1 - {}",
    "-{}", "{} / 3", "T.exp(-T.sqr({}))", "T.exp(T.tanh({}))", "T.sqr(T.sin({}))", "T.log1p(T.sqr({}))",
    "T.sqrt(T.sqr({}) + 1)", "1 / (1 + T.sqr({}))", "T.softplus({})", "T.arctan({})", "T.sinh(T.tanh({}))",
    "T.cosh(T.sin({}))", "T.tanh({}) ** 3", "T.arcsinh({})", "T.expm1(T.tanh({}))", "T.reciprocal(T.sqr({}) + 2)",
    "T.log(T.sqr({}) + 0.5)", "T.sigmoid({}) ** 1.5", "2.0 ** T.tanh({})", "T.arccosh(T.sqr({}) + 2)",
    "T.arcsin(0.9 * T.tanh({}))", "T.logaddexp({}, 0.5)", "T.hypot({}, 1.0)", "T.arctan2({}, 2.0)",
    "T.log2(T.sqr({}) + 1)", "T.tan(0.7 * T.tanh({}))", "T.cbrt(T.sin({}) + 2)", "T.arctanh(0.9 * T.sin({}))",
    "T.grad((T.sin({0}) * {0}).sum(), {0}, disconnected_inputs='ignore')", "T.zeros_like({}) + 0.5",
)  # fmt: skip


def smooth(v: Var) -> bool:
    return v.dtype == "float64"


def _unary(p: Pool) -> Made:
    x = p.pick(smooth)
    return None if x is None else (p.rng.choice(_UNARY).format(x.name), x.shape)


_BINARY = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} * {1}", "T.tanh({0}) * {1}", "{0} * T.sin({1})", "{0} * 0.5 + {1}",
    "{0} / (1 + T.sqr({1}))", "T.tanh({0} + {1})", "T.logaddexp({0}, {1})", "T.hypot({0}, 1 + T.sqr({1}))",
    "T.arctan2({0}, 1.5 + T.sqr({1}))", "(1.5 + T.sin({0})) ** T.tanh({1})", "({0} + {1}) * ({1} - {0})",
    "T.grad((T.sin({0} * {1}) * {0}).sum(), {0}, disconnected_inputs='ignore') + {1}",
)  # fmt: skip


def _binary(p: Pool) -> Made:
    x = p.pick(smooth)
    y = x and p.pick(lambda v: smooth(v) and broadcast(x.shape, v.shape) is not None)
    if x is None or y is None:
        return None
    shape = broadcast(x.shape, y.shape)
    assert shape is not None
    return p.rng.choice(_BINARY).format(x.name, y.name), shape


def _reduce(p: Pool) -> Made:
    x = p.pick(lambda v: smooth(v) and v.ndim > 0)
    if x is None:
        return None
    axis = p.rng.choice((None, *range(-1, x.ndim)))
    kept = () if axis is None else tuple(n for i, n in enumerate(x.shape) if i != axis % x.ndim)
    texts = ["{}.sum({})", "T.prod(1 + 0.3 * T.sin({}), {})"]
    if size(x.shape):
        texts += ["{}.mean({})", "T.logsumexp({}, {})", "T.var({}, {})", "T.norm(T.sqr({}) + 1, axis={})"]
    text = p.rng.choice(texts)
    argument = str(axis) if "axis=" in text else f"axis={axis}"
    if axis is not None and "norm" not in text and p.chance(0.2):
        argument, kept = f"{argument}, keepdims=True", tuple(
            1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)
        )  # fmt: skip
    return text.format(x.name, argument), kept


def _index(p: Pool) -> Made:
    x = p.pick(lambda v: smooth(v) and v.ndim > 0)
    if x is None:
        return None
    n, rest = x.shape[0], x.shape[1:]
    ways: list[tuple[str, Shape]] = [
        ("[::-1]", x.shape), ("[1:]", (max(n - 1, 0), *rest)), ("[:2]", (min(n, 2), *rest)),
        ("[::2]", ((n + 1) // 2, *rest)), ("[-2:]", (min(n, 2), *rest)), ("[None]", (1, *x.shape)),
    ]  # fmt: skip
    if n:
        ways += [("[0]", rest), ("[-1]", rest), (f"[np.array([{n - 1}, 0, 0])]", (3, *rest))] * 2
        ways.append((f"[np.arange({n}) % 2 == 0]", ((n + 1) // 2, *rest)))
        i = p.pick(lambda v: v.dtype == "int64" and not v.ndim)
        ways += [(f"[{i.name} % {n}]", rest)] * 4 if i is not None else []
    if rest:
        ways += [("[:, None]", (n, 1, *rest)), ("[:, ::-1]", x.shape)]
        ways += [("[:, 0]", (n, *rest[1:])), ("[..., -1]", x.shape[:-1])] if rest[0] and rest[-1] else []
    text, shape = p.rng.choice(ways)
    return x.name + text, shape


def _shape(p: Pool) -> Made:
    x = p.pick(lambda v: smooth(v) and v.ndim > 0)
    if x is None:
        return None
    name, n, rest = x.name, x.shape[0], x.shape[1:]
    ways: list[tuple[str, Shape]] = [
        (f"{name}.reshape({(size(x.shape),)})", (size(x.shape),)), (f"{name}.T", x.shape[::-1]),
        (f"{name}.reshape({(1, *x.shape)})", (1, *x.shape)), (f"T.concatenate([{name}, {name}[::-1]])", (2 * n, *rest)),
        (f"T.stack([{name}, T.sin({name})])", (2, *x.shape)), (f"T.cumsum({name}, axis=0)", x.shape),
        (f"T.repeat({name}, 2, 0)", (2 * n, *rest)), (f"T.roll({name}, 1, 0)", x.shape),
        (f"T.tile({name}, 2)", (*x.shape[:-1], 2 * x.shape[-1])), (f"T.softmax({name})", x.shape),
        (f"T.cumprod(1 + 0.3 * T.cos({name}), axis=-1)", x.shape), (f"T.log_softmax({name})", x.shape),
        (f"T.broadcast_to({name}, {(2, *x.shape)})", (2, *x.shape)),
    ]  # fmt: skip
    if not x.shape[-1]:
        ways = [w for w in ways if "softmax" not in w[0]]
    if n:
        ways += [
            (f"T.set_subtensor({name}[0], T.sin({name}[-1]))", x.shape),
            (f"T.diff({name}, axis=0)", (n - 1, *rest)),
        ]
        ways += [(f"T.inc_subtensor({name}[np.array([0, 0])], T.cos({name}[:1]))", x.shape)]
    if x.ndim == 2:
        ways += [(f"T.tril({name})", x.shape), (f"T.trace({name})", ()), (f"T.diagonal({name})", (min(x.shape),))]
    text, shape = p.rng.choice(ways)
    return text, shape


def _join(p: Pool) -> Made:
    x = p.pick(lambda v: smooth(v) and v.ndim > 0)
    y = x and p.pick(lambda v: smooth(v) and v.shape == x.shape)
    if x is None or y is None:
        return None
    if p.chance(0.5):
        return f"T.stack([{x.name}, {y.name}], axis=1)", (x.shape[0], 2, *x.shape[1:])
    return f"T.concatenate([{x.name}, {y.name}])", (2 * x.shape[0], *x.shape[1:])


def _product(p: Pool) -> Made:
    x = p.pick(lambda v: smooth(v) and 1 <= v.ndim <= 2)
    if x is None:
        return None
    y = p.pick(lambda v: smooth(v) and 1 <= v.ndim <= 2 and v.shape[0] == x.shape[-1])
    z = p.pick(lambda v: smooth(v) and v.ndim == 1)
    if y is None or p.chance(0.1):
        return (f"T.outer({x.name}, {z.name})", (*x.shape, *z.shape)) if z is not None and x.ndim == 1 else None
    text = p.rng.choice(("T.dot({}, {})", "{} @ {}", "T.tensordot({}, {}, 1)", "T.dot(T.tanh({}), {})"))
    return text.format(x.name, y.name), (*x.shape[:-1], *y.shape[1:])


def _chosen(p: Pool) -> Made:
    """One of two arrays, or entries of both: by what is constant, by a count, or by a value on one side of a bound."""
    x = p.pick(smooth)
    y = x and p.pick(lambda v: smooth(v) and v.shape == x.shape)
    if x is None or y is None:
        return None
    i = p.pick(lambda v: v.dtype == "int64" and not v.ndim)
    z = p.pick(smooth) or x
    ways = [f"T.gt({z.name}.sum(), {p.rng.choice((-1.37, 0.113, 0.731))})", p.rng.choice(("True", "False"))]
    ways += [f"T.eq({i.name} % 2, 0)", f"T.lt({i.name}, 2)"] if i is not None else []
    if x.ndim and p.chance(0.4):
        ways = [f"np.arange({x.shape[-1]}) % 2 == 0"]
    else:
        x, y = (x, y) if p.chance(0.5) else (y, x)
    test = p.rng.choice(ways)
    how = "T.where" if test.startswith("np") or p.chance(0.3) else "scanopt.ifelse"
    return f"{how}({test}, {x.name}, {y.name})", x.shape


def _make(p: Pool) -> Made:
    n = p.rng.choice(p.fits)
    x = p.pick(lambda v: v.ndim > 0)
    ways: list[tuple[str, Shape]] = [
        (f"T.cast(T.arange({n}), 'float64') * 0.3", (n,)), ("T.constant(0.5, dtype='float64')", ()),
        (f"T.ones({(n,)}, dtype='float64')", (n,)),
    ]  # fmt: skip
    if x is not None:
        ways += [(f"T.cast({x.name}.shape[0], 'float64') * 0.25", ())]
    i = p.pick(lambda v: v.dtype == "int64" and not v.ndim)
    ways += [(f"T.cast({i.name}, 'float64') * 0.2", ())] * 2 if i is not None else []
    return p.rng.choice(ways)


_DRAWS = (
    "{x} + T.exp(T.tanh({x})) * {m}.normal({k}{s})", "{m}.normal({k}{s}, {x}, 0.5)", "{x} * {m}.uniform({k}{s})",
    "{m}.normal({k}{s}, 0.0, T.exp(T.tanh({x})))", "{m}.uniform({k}{s}, {x}, {x} + 1.5)",
    "{m}.exponential({k}{s}, 0.5 + T.sigmoid({x}))",
)  # fmt: skip


def _draw(p: Pool) -> Made:
    """mu + sigma * eps, in several ways."""
    x = p.pick(lambda v: smooth(v) and v.ndim <= 2)
    if x is None:
        return None
    streams = p.settings.draws == "streams"
    i = p.pick(lambda v: v.dtype == "int64" and not v.ndim)
    key = f"T.random.key({p.rng.randrange(3)})"
    key = f"T.random.fold_in({key}, {i.name})" if i is not None and p.chance(0.8) else key
    m, k = ("trng", "") if streams else ("T.random", f"{key}, ")
    return p.rng.choice(_DRAWS).format(x=x.name, m=m, k=k, s=x.shape), x.shape


_OPS: tuple[tuple[int, Callable[[Pool], Made]], ...] = (
    (26, _unary), (30, _binary), (7, _reduce), (9, _index), (7, _shape), (3, _join), (12, _product), (10, _chosen),
    (2, _make),
)  # fmt: skip
_WEIGHTS = [w for w, _ in _OPS]


def grow(pool: Pool, lines: int) -> None:
    """Up to so many new lines."""
    for _ in range(lines):
        draws = pool.settings.draws and pool.chance(0.3)
        made = _draw(pool) if draws else pool.rng.choices(_OPS, _WEIGHTS)[0][1](pool)
        if made is not None and size(made[1]) <= 60 and len(made[1]) <= 3:
            pool.add(made[0], "float64", made[1])
