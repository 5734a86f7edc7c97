"""Operators that raise for no value, of all dtypes: each takes names of a pool and gives a text."""

from __future__ import annotations

import numpy as np

from corpus.wide.pool import DTYPES, INTS, Made, Pool, Value

__all__ = ["BY_LAYOUT", "OPS", "SMOOTH", "constant"]

_FLOAT = (
    "T.tanh({})", "T.sigmoid({})", "T.exp(-abs({}))", "T.cos({})", "abs({})", "-{}", "T.sqr({})", "{} * {}",
    "{} * 0.5", "{} + 1", "1 - {}", "T.clip({}, -1, 1)", "T.sqrt(abs({}))", "T.log1p(abs({}))", "{} / 3",
    "T.floor({})", "T.sign({})", "T.rint({} * 2)", "{} % 2", "{} // 0.7", "T.exp2({})", "T.cbrt({})", "T.sinh({})",
    "T.arctan({})", "T.reciprocal({})", "T.expm1({})", "T.isfinite({})", "T.trunc({})", "{} ** 2", "{} ** 3",
    "T.signbit({})", "T.log({})", "T.positive({})", "T.deg2rad({})", "T.nextafter({}, 0)", "T.fabs({})",
)  # fmt: skip
_COMPLEX = (
    "abs({})", "-{}", "{} * {}", "T.sqr({})", "abs({})", "{} * {}", "T.conj({})", "{}.real", "{}.imag", "{} + 1",
    "1 - {}", "{} * 0.5",
    "{} / 3", "{} * 1j", "T.exp({} * 0.5)", "T.sqrt({})", "T.cos({})", "{} ** 2", "T.reciprocal({})", "T.isnan({})",
    "T.tanh({})", "T.log({})", "T.sign({})", "{} * 1", "{} - {}", "{} * T.ones_like({})",
)  # fmt: skip
_INT = (
    "abs({})", "{} + 3", "{} * 2", "{} // 2", "{} % 3", "{} ** 2", "{} & 5", "~{}", "T.sign({})", "{} >> 1",
    "7 - {}", "T.maximum({}, 2)", "{} * 1", "{} + 0", "{} // 1", "({} + 3) - 3", "T.sqrt({})", "{} / 3", "T.sin({})",
    "{} << 1", "{} << T.constant(2, dtype='{d}')", "{} | 1", "{} ^ 3", "T.invert({})", "T.bitwise_count({})", "-{}",
    "{} * T.constant(3, dtype='{d}') + T.constant(1, dtype='{d}')", "{} ** T.constant(2, dtype='{d}')",
)  # fmt: skip
_BOOL = ("~{}", "{} | True", "{} & True", "{} ^ True", "T.logical_not({})", "{} + {}", "{} * {}", "{} * 2")
_WORDS = {
    "uint64": ("{} + T.constant(np.uint64(2**63))", "{} & ~T.constant(np.uint64(7))",
               "{} ^ T.constant(np.uint64(2**64 - 1))",
               "T.maximum({}, T.constant(np.uint64(2**63 + 5)))", "{} * (T.constant(np.uint64(2**62)) * 3)"),
    "int64": ("{} + T.constant(2**63 - 1)", "{} ^ T.constant(-2**63, dtype='int64')"),
    "uint32": ("{} + T.constant(np.uint32(2**31))", "{} * (T.constant(np.uint32(2**31)) + 5)"),
    "uint8": ("{} + T.constant(np.uint8(200))", "{} - T.constant(np.uint8(7))"),
}  # fmt: skip
"""Constants near the ends of the dtype."""


def _unary(p: Pool) -> Made | None:
    x = p.pick()
    if x is None:
        return None
    texts = {"f": _FLOAT, "c": _COMPLEX, "b": _BOOL}.get(x.kind, _INT)
    if x.dtype in _WORDS and p.chance(0.4 if x.dtype == "uint64" else 0.1):
        texts = _WORDS[x.dtype]
    return Made(p.rng.choice(texts).replace("{d}", x.dtype).replace("{}", x.name))


_SMOOTH = (
    "T.tanh({})", "T.sin({})", "T.sigmoid({})", "{} * 0.5", "{} + 1", "1 - {}", "T.sqr({})", "{} * {}", "T.exp(-{})",
    "{} ** 2", "{} / 3", "T.log1p(T.sqr({}))", "T.sqrt(T.sqr({}) + 1)", "T.arctan({})", "{} ** 3",
)  # fmt: skip


def _smooth_unary(p: Pool) -> Made | None:
    x = p.pick(lambda v: v.kind == "f")
    return x and Made(p.rng.choice(_SMOOTH).replace("{}", x.name))


def beside(p: Pool, x: Value) -> Value | None:
    """A name that broadcasts with x."""

    def fits(v: Value) -> bool:
        try:
            np.broadcast_shapes(v.shape, x.shape)
        except ValueError:
            return False
        return v.dtype == x.dtype or p.chance(0.4)

    return p.pick(fits)


_BINARY = ("{} + {}", "{} - {}", "{} * {}", "{} * {}", "T.maximum({}, {})", "T.minimum({}, {})")
_MORE = {
    "f": ("{} / {}", "T.arctan2({}, {})", "T.hypot({}, {})", "T.fmax({}, {})", "T.copysign({}, {})", "{} % {}",
          "{} // {}", "abs({}) ** {}", "T.logaddexp({}, {})", "T.fmod({}, {})", "T.heaviside({}, {})"),
    "c": ("{} / {}", "{} + {}", "{} * {}", "{} - {}", "{} ** {}"),
    "b": ("{} & {}", "{} | {}", "{} ^ {}", "T.logical_xor({}, {})"),
    "i": ("{} // {}", "{} % {}", "{} & {}", "{} | {}", "{} ^ {}", "{} / {}", "{} << ({} & 3)", "{} >> ({} & 3)",
          "T.gcd({}, {})", "T.fmod({}, {})", "{} ** abs({})"),
}  # fmt: skip
_SMOOTH_BINARY = ("{} + {}", "{} - {}", "{} * {}", "{} * T.tanh({})", "{} / (T.sqr({}) + 1)", "T.sqr({}) + {}")


def _binary(p: Pool) -> Made | None:
    x = p.pick()
    y = x and beside(p, x)
    if x is None or y is None:
        return None
    kind = np.result_type(x.example.dtype, y.example.dtype).kind.replace("u", "i")
    texts = _MORE[kind] if p.chance(0.35) else _BINARY
    return Made(p.rng.choice(texts).format(x.name, y.name))


def _smooth_binary(p: Pool) -> Made | None:
    x = p.pick(lambda v: v.kind == "f")
    y = x and beside(p, x)
    return x and y and Made(p.rng.choice(_SMOOTH_BINARY).format(x.name, y.name))


def _compare(p: Pool) -> Made | None:
    x = p.pick()
    y = x and beside(p, x)
    if x is None or y is None:
        return None
    if p.chance(0.3) or "c" in (x.kind, y.kind):
        return Made(f"T.where(T.{p.rng.choice(('eq', 'neq'))}({x.name}, {y.name}), {x.name}, {y.name})")
    return Made(f"T.{p.rng.choice(('lt', 'le', 'eq', 'neq', 'gt', 'ge'))}({x.name}, {y.name})")


def _where(p: Pool) -> Made | None:
    c = p.pick(lambda v: v.kind == "b")
    x = c and (beside(p, c) or p.pick())
    y = x and beside(p, x)
    return c and x and y and Made(f"T.where({c.name}, {x.name}, {y.name})")


def _cast(p: Pool) -> Made | None:
    x = p.pick()
    if x is None:
        return None
    if x.kind == "c":
        return Made(f"{x.name}.astype({p.rng.choice(('complex64', 'complex128'))!r})")
    dtype = p.rng.choice(p.dtypes if p.chance(0.5) else DTYPES)
    if x.kind == "f" and dtype in INTS:
        low = 0 if dtype.startswith("u") else -9
        return Made(f"T.clip(T.where(T.isnan({x.name}), 0, {x.name}), {low}, 9).astype({dtype!r})")
    return Made(f"{x.name}.astype({dtype!r})")


def _axis(p: Pool, x: Value) -> int | None:
    return p.rng.choice((None, *range(-1, x.ndim)))


def _reduce(p: Pool) -> Made | None:
    x = p.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    names = ["sum", "mean", "prod", "any", "all"]
    names += ["var", "var", "std", "std", "prod"] if x.kind != "b" else []
    names += ["max", "min", "ptp", "argmax", "argmin"] if x.example.size and x.kind not in "cb" else []
    name, axis = p.rng.choice(names), _axis(p, x)
    arguments = [] if axis is None else [f"axis={axis}"]
    arguments += ["keepdims=True"] if p.chance(0.15) and not name.startswith("arg") and name != "ptp" else []
    arguments += ["ddof=1"] if name in ("var", "std") and p.chance(0.2) else []
    return Made(f"T.{name}({', '.join([x.name, *arguments])})")


def _smooth_reduce(p: Pool) -> Made | None:
    x = p.pick(lambda v: v.ndim > 0 and v.kind == "f")
    if x is None:
        return None
    name, axis = p.rng.choice(("sum", "mean", "prod", "var", "cumsum", "cumprod")), _axis(p, x)
    return Made(f"T.{name}({x.name}{'' if axis is None else f', axis={axis}'})")


def _running(p: Pool) -> Made | None:
    """Along an axis: running sums and products, differences, order, neighbours."""
    x = p.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    axis = p.rng.randrange(-1, x.ndim)
    ways = ["T.cumsum({x}, axis={a})", "T.cumprod({x}, axis={a})", "T.diff({x}, axis={a})", "T.roll({x}, 1, axis={a})",
            "T.roll({x}, -2)", "T.cumsum({x})", "T.flip({x}, {a})"]  # fmt: skip
    if x.kind not in "c":
        ways += ["T.sort({x}, axis={a})", "T.argsort({x}, axis={a})"] * (x.kind != "f" or not np.isnan(x.example).any())
    i = p.pick(lambda v: v.kind in "iu" and not v.ndim)
    ways += [f"T.roll({{x}}, {i.name})", f"T.roll({{x}}, {i.name}, axis={{a}})"] if i is not None else []
    return Made(p.rng.choice(ways).format(x=x.name, a=axis))


def _index(p: Pool) -> Made | None:
    """Parts that are there whatever the values are."""
    x = p.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    ways = ["[::-1]", "[1:]", "[:2]", "[::2]", "[-2:]", "[None]", "[..., None]", "[:-1]", ".T", ".flatten()"]
    ways += ["[0]", "[-1]", "[..., -1]", "[..., 0]"] if x.example.size else []
    ways += ["[..., ::-1]"] * 3 if x.kind == "c" else []
    ways += ["[:, ::-1]", "[:, 1:]", "[:, None]", ".sum(axis=0)", ".T[::-1]"] if x.ndim > 1 else []
    return Made(x.name + p.rng.choice(ways))


def _shape(p: Pool) -> Made | None:
    x = p.pick(lambda v: v.ndim > 0)
    if x is None:
        return None
    n = f"{x.name}.shape[0]"
    ways = ["T.concatenate([{x}, {x}[::-1]])", "T.stack([{x}, {x}], axis=-1)", "{x}.reshape((-1, 1))",
            "{x}.reshape((1, -1))",
            "T.full(({n},), T.constant(2, dtype='int16'))", "T.zeros_like({x})", "T.full_like({x}, 1)",
            "T.arange({n})"]  # fmt: skip
    ways += ["T.repeat({x}, 2, axis=0)", "T.repeat({x}, 2)", "T.broadcast_to({x}, (2, *{s}))"]
    ways += [] if x.risky else ["{n}"]
    ways += ["{x}.reshape(({n}, -1))", "{x}.reshape((-1, {n}))"] if x.example.size and not x.risky else []
    ways += ["T.tril({x})", "T.diagonal({x})", "T.trace({x})"] if x.ndim == 2 else []
    return Made(p.rng.choice(ways).format(x=x.name, n=n, s=x.shape))


def _join(p: Pool) -> Made | None:
    x = p.pick(lambda v: v.ndim > 0)
    y = x and p.pick(lambda v: v.ndim == x.ndim and v.shape[1:] == x.shape[1:])
    return x and y and Made(f"T.concatenate([{x.name}, {y.name}])")


def _product(p: Pool) -> Made | None:
    x = p.pick(lambda v: v.kind != "b" and 1 <= v.ndim <= 2)
    y = x and p.pick(lambda v: 1 <= v.ndim <= 2 and v.shape[0] == x.shape[-1] and v.kind != "b")
    if x is None:
        return None
    if y is None:
        return Made(f"T.dot({x.name}, {x.name}.T)")
    return Made(p.rng.choice((f"{x.name} @ {y.name}", f"T.dot({x.name}, {y.name})")))


def constant(p: Pool) -> Made:
    """A constant, or an array of constants."""
    dtype = p.rng.choice(p.dtypes if p.chance(0.7) else p.floats if p.smooth else DTYPES)
    n, k = p.rng.choice(p.fits), p.rng.choice((0, 1, 1, 2, 3))
    ways = [f"T.constant({k}, dtype={dtype!r})", f"T.zeros(({n},), dtype={dtype!r})"]
    ways += [f"T.ones((2, {n}), dtype={dtype!r})", f"T.constant(np.arange({n}).astype({dtype!r}))"]
    ways += [f"T.constant(np.full((1,), {k}, {dtype!r}))"]
    ways += ["T.constant(np.uint64(2**63 + 5))", "~T.constant(np.uint64(7))"] * 2 if dtype == "uint64" else []
    return Made(p.rng.choice(ways))


OPS = {
    _unary: 26, _binary: 26, _compare: 5, _where: 4, _cast: 8, _reduce: 9, _running: 6, _index: 7, _shape: 4, _join: 3,
    _product: 6, constant: 4,
}  # fmt: skip
"""Operators by how often they are used."""

BY_LAYOUT = {_unary: 30, _binary: 30, _index: 20, _running: 2, _reduce: 4, _product: 4}
"""Those of programs about how arrays lie in memory: NumPy has other loops for arrays that lie otherwise."""

SMOOTH = {
    _smooth_unary: 26, _smooth_binary: 26, _smooth_reduce: 9, _index: 6, _product: 6, _where: 2, _join: 2, constant: 1,
}  # fmt: skip
"""Those whose gradients are compared."""
