"""Programs for tests of axes: random ones of all kinds of operators, and what they give for parts of the lanes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Variable
from scanopt.scale.kinds import LAST, WHOLE, ZERO, Kind, LaneKind, Mixed, Partial

Rng = np.random.Generator
Make = Callable[[Rng, list[Variable]], Variable]


def pick(rng: Rng, pool: Sequence[Variable], *ndims: int) -> Variable:
    fitting = [v for v in pool if v.ndim in ndims] or [pool[0]]
    return fitting[int(rng.integers(len(fitting)))]


def same_rows(rng: Rng, pool: list[Variable]) -> Variable:
    a, b = pick(rng, pool, 1, 2), pick(rng, pool, 1, 2)
    return [a + b, a * b, T.maximum(a, b), T.where(a > 0, a, b)][int(rng.integers(4))]


def unary(rng: Rng, pool: list[Variable]) -> Variable:
    f = [T.tanh, T.exp, T.abs, lambda v: -v, lambda v: v * 2.0, lambda v: v / 3.0, T.sigmoid][int(rng.integers(7))]
    return f(T.clip(pick(rng, pool, 0, 1, 2, 3), -3.0, 3.0))


def reduced(rng: Rng, pool: list[Variable]) -> Variable:
    x = pick(rng, pool, 1, 2, 3)
    axis = int(rng.integers(x.ndim))
    name = ["sum", "max", "min", "mean", "prod", "any", "argmax"][int(rng.integers(7))]
    if name == "argmax":
        return T.argmax(x, axis=axis).astype("float64")
    found = getattr(T, name)(x, axis=axis, keepdims=bool(rng.integers(2)))
    return found.astype("float64") if name == "any" else found


def arranged(rng: Rng, pool: list[Variable]) -> Variable:
    x = pick(rng, pool, 1, 2, 3)
    ways: list[Callable[[], Variable]] = [
        lambda: x.T,
        lambda: T.expand_dims(x, 0),
        lambda: T.zeros_like(x) + 1.5,
        lambda: x.reshape((x.shape[0], -1)) if x.ndim > 1 else x.reshape((-1, 1)),
        lambda: x[..., ::-1],
        lambda: x[-1],
        lambda: x[0],
        lambda: T.concatenate([x, x], axis=x.ndim - 1),
        lambda: T.stack([x, 2.0 * x], axis=int(rng.integers(x.ndim + 1))) if x.ndim < 3 else x,
        lambda: T.cumsum(x, axis=int(rng.integers(x.ndim))),
        lambda: T.sort(x, axis=int(rng.integers(x.ndim))),
        lambda: T.softmax(x, axis=int(rng.integers(x.ndim))),
        lambda: T.set_subtensor(x[..., 0], 7.0),
        lambda: T.zeros((x.shape[0], 3)) + 2.0,
        lambda: T.repeat(x, 2, axis=int(rng.integers(x.ndim))),
        lambda: T.broadcast_to(x[0].sum(), (x.shape[0],)),
    ]  # fmt: skip
    return ways[int(rng.integers(len(ways)))]()


def product(rng: Rng, pool: list[Variable]) -> Variable:
    a, b = pick(rng, pool, 2), pick(rng, pool, 1, 2)
    ways: list[Callable[[], Variable]] = [
        lambda: a @ b,
        lambda: a.T @ b,
        lambda: T.tensordot(a, b, axes=1),
        lambda: T.tensordot(a, a, axes=((0,), (0,))),
        lambda: T.outer(a[:, 0], b if b.ndim == 1 else b[0]),
        lambda: T.matmul(T.expand_dims(a, 1), T.expand_dims(a, 2))[:, 0, 0],
    ]
    return ways[int(rng.integers(len(ways)))]()


def looped(rng: Rng, pool: list[Variable]) -> Variable:
    x, c = pick(rng, pool, 1, 2, 3), pick(rng, pool, 0)
    kind = int(rng.integers(5))
    if kind == 0:  # a map
        return scanopt.map(lambda r: T.tanh(r) * c, x)[0]
    if kind == 1:  # a recurrence along the first axis
        return scanopt.scan(lambda r, s: T.tanh(r + 0.5 * s), x, T.zeros_like(x[0]))[0]
    if kind == 2:  # a recurrence beside all entries
        return scanopt.scan(lambda s: T.tanh(s * 0.9 + c), outputs_info=x, n_steps=3)[0]
    if kind == 3:  # over columns
        return scanopt.scan(lambda r, s: 0.5 * s + r, x.T, T.zeros_like(x.T[0]))[0][-1]
    return scanopt.scan(lambda r, s: s + r.sum(), x, T.constant(0.0))[0][-1]


MAKERS: list[Make] = [same_rows, unary, unary, reduced, arranged, arranged, product, looped]


def random_program(seed: int) -> tuple[list[Variable], list[Variable], list[np.ndarray[Any, Any]]]:
    """Inputs, some values made of them, and values of the inputs: x and y have 6 entries along axis 0 each."""
    rng = np.random.default_rng(seed)
    inputs = [T.dmatrix("x"), T.dvector("y"), T.dvector("w"), T.dscalar("c")]
    values: list[np.ndarray[Any, Any]] = [
        rng.normal(size=(6, 3)),
        rng.normal(size=6),
        rng.normal(size=3),
        np.array(0.7),
    ]
    pool, made = list(inputs), []
    while len(made) < 6:
        try:
            v = MAKERS[int(rng.integers(len(MAKERS)))](rng, pool)
        except (ValueError, TypeError, IndexError):
            continue
        if v.ndim <= 3:
            pool.append(v)
            made.append(v)
    return inputs, made, values


def put_together(kind: Kind, parts: Sequence[Any]) -> Any:
    """What the kind of an output says of the parts: the output for all lanes."""
    if isinstance(kind, LaneKind):
        return np.concatenate(parts, axis=kind.axis)
    if isinstance(kind, Partial):
        found = parts[0]
        for part in parts[1:]:
            found = getattr(np, kind.ufunc)(found, part)
        return found
    assert kind in (WHOLE, ZERO, LAST), kind
    assert not isinstance(kind, Mixed)
    return parts[-1]
