"""The loops that are timed on a device: as scanopt programs, and as JAX has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T

__all__ = ["Case", "cases"]


Twin = Callable[[Any, Any, Any], Callable[..., Any]]
UNROLLED = 16
"""Steps that a loop of JAX takes at a time in its best form."""
MOST_SCANNED = 100_000
"""Steps that `lax.scan` is timed on: 1e8 would take it many minutes."""


@dataclass(frozen=True)
class Case:
    """A loop.  values: makes those of its inputs; moved: bytes that have to be read or written; flops: of its products.

    jax: makes a function of these values out of the modules jax, jax.numpy and jax.lax, by `lax.scan` as the loop is
    written; by_hand: the best form that a user of JAX would write; None where there is none, or none other.
    share: of the steps, which `lax.scan` takes; first: the values of these.  precision: of JAX's products, which by
    default multiply 11 bits of each float32; own: of ours.
    """

    name: str
    inputs: list[Any]
    outputs: Any
    values: Callable[[], list[Any]]
    moved: float
    flops: float = 0.0
    jax: Twin | None = None
    by_hand: Twin | None = None
    tolerance: float = 1e-3
    updates: Any = None
    share: float = 1.0
    first: Callable[[list[Any]], list[Any]] = list
    precision: str = "default"
    own: str = "float32"


def cases(scale: float) -> list[Case]:
    """All of them.  scale: of the numbers of lanes or steps."""
    few = max(int(1000 * scale), 20)
    lstm = _lstm(64, max(int(512 * scale), 8), max(int(512 * scale), 8))
    return [
        _logistic(int(1e6 * scale), 1000), _recurrence(10_000, int(1e5 * scale)), _recurrence(10_000, 256),
        _recurrence(int(1e8 * scale), 1), *lstm,
        *(replace(c, name=f"{c.name}; JAX in float32", precision="highest") for c in lstm),
        *(replace(c, name=f"{c.name}; both in tensorfloat32", own="tensorfloat32") for c in lstm),
        _rnn(few), _documents_rnn(few), _gibbs(10 * few), _quadratic(10_000, 10 * few),
    ]  # fmt: skip


def _normal(shapes: list[tuple[int, ...]], divisor: float) -> list[Any]:
    """Normal numbers."""
    rng = np.random.default_rng(0)
    return [(rng.normal(size=s) / divisor).astype("float32") for s in shapes]


def _logistic(lanes: int, steps: int) -> Case:
    x, n = T.fvector("x"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s: np.float32(3.7) * s * (1 - s), outputs_info=x, n_steps=n)
    values = lambda: [np.random.default_rng(0).random(lanes, "float32"), steps]  # noqa: E731

    def twin(unroll: int) -> Twin:
        def of(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
            step = lambda s, _: (jnp.float32(3.7) * s * (1 - s), None)  # noqa: E731
            return jax.jit(lambda x, n: lax.scan(step, x, None, length=steps, unroll=unroll)[0], static_argnums=1)

        return of

    name, moved = f"logistic map, {lanes:.0e} lanes x {steps}", 8.0 * lanes
    return Case(name, [x, n], ys[-1], values, moved, jax=twin(1), by_hand=twin(UNROLLED), tolerance=9)


def _recurrence(steps: int, lanes: int) -> Case:
    A, X, h0 = T.fmatrix("A"), T.fmatrix("X"), T.fvector("h0")
    h, _ = scanopt.scan(lambda a, x, h: a * h + x, [A, X], h0)
    part = min(steps, MOST_SCANNED)

    def values() -> list[Any]:
        rng = np.random.default_rng(0)
        return [*(rng.random((steps, lanes), "float32") for _ in range(2)), np.zeros(lanes, "float32")]

    def first(given: list[Any]) -> list[Any]:
        return [given[0][:part], given[1][:part], given[2]]

    def scanned(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        step = lambda h, ax: (ax[0] * h + ax[1],) * 2  # noqa: E731
        return jax.jit(lambda a, x, h: lax.scan(step, h, (a, x))[1])

    def associative(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        def run(a: Any, x: Any, h: Any) -> Any:
            x = x.at[0].add(a[0] * h)
            return lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, x))[1]

        return jax.jit(run)

    name, moved = f"linear recurrence, {steps:.0e} x {lanes:.0e}", 12.0 * steps * lanes
    twins: dict[str, Any] = dict(jax=scanned, by_hand=associative, share=part / steps, first=first)
    return Case(name, [A, X, h0], h, values, moved, **twins)


def _lstm(batch: int, units: int, steps: int) -> list[Case]:
    X, h0, c0, W, U = T.ftensor3("X"), T.fmatrix("h0"), T.fmatrix("c0"), T.fmatrix("W"), T.fmatrix("U")

    def step(x: Any, h: Any, c: Any) -> Any:
        z = T.dot(x, U) + T.dot(h, W)
        i, f, o, g = (z[:, j * units : (j + 1) * units] for j in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return T.sigmoid(o) * T.tanh(c), c

    (h, _), _ = scanopt.scan(step, X, [h0, c0])
    shapes = [(steps, batch, units), (batch, units), (batch, units), (units, 4 * units), (units, 4 * units)]
    values = partial(_normal, shapes, units**0.5)

    def layer(by_hand: bool) -> Twin:
        """By hand, the products with the inputs are taken out of the loop, and it is unrolled."""

        def of(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
            def run(X: Any, h: Any, c: Any, W: Any, U: Any) -> Any:
                def one(carry: Any, x: Any) -> Any:
                    h, c = carry
                    i, f, o, g = jnp.split((x if by_hand else x @ U) + h @ W, 4, axis=1)
                    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                    h = jax.nn.sigmoid(o) * jnp.tanh(c)
                    return (h, c), h

                return lax.scan(one, (h, c), X @ U if by_hand else X, unroll=UNROLLED if by_hand else 1)[1]

            return run

        return of

    def forward(by_hand: bool) -> Twin:
        return lambda jax, jnp, lax: jax.jit(layer(by_hand)(jax, jnp, lax))

    def back(by_hand: bool) -> Twin:
        def of(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
            run = layer(by_hand)(jax, jnp, lax)
            return jax.jit(jax.grad(lambda *v: (run(*v) ** 2).sum(), argnums=(3, 4)))

        return of

    flops = 16.0 * steps * batch * units * units
    gradient = T.grad((h**2).sum(), [W, U])
    name, inputs = f"LSTM, batch {batch}, {units} units, {steps} steps", [X, h0, c0, W, U]
    return [
        Case(name, inputs, h, values, 0.0, flops, forward(False), forward(True)),
        Case(f"gradient of the {name}", inputs, gradient, values, 0.0, 3 * flops, back(False), back(True), 1e-1),
    ]


def _rnn(steps: int) -> Case:
    X, h0, W, U = T.fmatrix("X"), T.fvector("h0"), T.fmatrix("W"), T.fmatrix("U")
    h, _ = scanopt.scan(lambda x, h: T.tanh(T.dot(x, U) + T.dot(h, W)), X, h0)
    values = partial(_normal, [(steps, 50), (50,), (50, 50), (50, 50)], 8.0)

    def twin(by_hand: bool) -> Twin:
        def of(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
            def run(X: Any, h: Any, W: Any, U: Any) -> Any:
                def one(h: Any, x: Any) -> Any:
                    h = jnp.tanh((x if by_hand else x @ U) + h @ W)
                    return h, h

                return lax.scan(one, h, X @ U if by_hand else X, unroll=UNROLLED if by_hand else 1)[1]

            return jax.jit(run)

        return of

    name = f"RNN, 50 units, {steps} steps"
    return Case(name, [X, h0, W, U], h, values, 0.0, 1e4 * steps, twin(False), twin(True))


def _documents_rnn(steps: int) -> Case:
    """The network of Theano's documentation: inputs now and four steps back, states one and three steps back."""
    inputs = [T.fmatrix(n) for n in ("u", "W", "W_in_1", "W_in_2", "W_feedback", "W_out", "x0")] + [T.fvector("y0")]
    u, W, now, back, feedback, out, x0, y0 = inputs

    def step(u4: Any, u: Any, x3: Any, x1: Any, y1: Any) -> Any:
        return T.tanh(T.dot(x1, W) + T.dot(u, now) + T.dot(u4, back) + T.dot(y1, feedback)), T.dot(x3, out)

    states = [dict(initial=x0, taps=[-3, -1]), y0]
    (x, y), _ = scanopt.scan(step, dict(input=u, taps=[-4, 0]), states)
    units = 50
    shapes = [(steps + 4, 2), (units, units), (2, units), (2, units), (3, units), (units, 3), (3, units), (3,)]
    values = partial(_normal, shapes, 8.0)

    def twin(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        def run(u: Any, W: Any, now: Any, back: Any, feedback: Any, out: Any, x0: Any, y0: Any) -> Any:
            def one(carry: Any, us: Any) -> Any:
                (x3, x2, x1), y1 = carry
                x, y = jnp.tanh(x1 @ W + us[1] @ now + us[0] @ back + y1 @ feedback), x3 @ out
                return ((x2, x1, x), y), (x, y)

            return lax.scan(one, ((x0[0], x0[1], x0[2]), y0), (u[:-4], u[4:]))[1]

        return jax.jit(run)

    flops = 2.0 * steps * (units * (units + 2 + 2 + 3) + 3 * units)
    return Case(f"RNN of the documents, {units} units, {steps} steps", inputs, [x, y], values, 0.0, flops, twin)


def _gibbs(steps: int) -> Case:
    """Two normal variables that depend on each other, many chains."""
    n, chains = T.lscalar("n"), 1000
    stream = T.random.RandomStream(0)

    def step(x: Any, y: Any) -> Any:
        x = 0.9 * y + stream.normal(size=(chains,)) * 0.4
        return x, 0.9 * x + stream.normal(size=(chains,)) * 0.4

    (x, y), updates = scanopt.scan(step, outputs_info=[T.zeros(chains), T.zeros(chains)], n_steps=n)

    def twin(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        def run(n: Any) -> Any:
            def one(carry: Any, key: Any) -> Any:
                x, y = carry
                a, b = (jax.random.normal(k, (chains,)) for k in jax.random.split(key))
                x = 0.9 * y + a * 0.4
                return (x, 0.9 * x + b * 0.4), None

            keys = jax.random.split(jax.random.key(0), steps)
            return lax.scan(one, (jnp.zeros(chains), jnp.zeros(chains)), keys)[0]

        return jax.jit(run)

    name = f"Gibbs chain, {chains} chains, {steps} steps"
    return Case(name, [n], [x[-1], y[-1]], lambda: [steps], 0.0, jax=twin, tolerance=1e9, updates=updates)


def _quadratic(lanes: int, steps: int) -> Case:
    """Complex numbers, which have no kernel: array steps, captured as CUDA graphs."""
    c, n = T.cvector("c"), T.lscalar("n")
    z, _ = scanopt.scan(lambda z: z * z + c, outputs_info=T.zeros_like(c), n_steps=n)

    def values() -> list[Any]:
        rng = np.random.default_rng(0)
        return [((rng.random(lanes) + 1j * rng.random(lanes)) / 8).astype("complex64"), steps]

    def twin(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        run = lambda c, n: lax.scan(lambda z, _: (z * z + c, None), c * 0, length=n)[0]  # noqa: E731
        return jax.jit(run, static_argnums=1)

    return Case(f"complex map, {lanes:.0e} lanes x {steps}", [c, n], z[-1], values, 0.0, jax=twin)
