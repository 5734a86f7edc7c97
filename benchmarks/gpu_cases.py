"""The loops that are timed on a device: as scanopt programs, and as JAX has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T

__all__ = ["Case", "cases"]


@dataclass(frozen=True)
class Case:
    """A loop.  values: of its inputs; moved: bytes that have to be read or written; flops: of its products.

    jax: makes a function of these values out of the modules jax, jax.numpy and jax.lax; None where there is none.
    """

    name: str
    inputs: list[Any]
    outputs: Any
    values: list[Any]
    moved: float
    flops: float = 0.0
    jax: Callable[[Any, Any, Any], Callable[..., Any]] | None = None
    tolerance: float = 1e-3
    updates: Any = None


def cases(scale: float) -> list[Case]:
    """All of them.  scale: of the numbers of lanes or steps."""
    return [
        _logistic(int(1e6 * scale), 1000), _recurrence(10_000, int(1e5 * scale)), _recurrence(10_000, 256),
        _recurrence(int(1e8 * scale), 1), *_lstm(64, max(int(512 * scale), 8), max(int(512 * scale), 8)),
        _rnn(max(int(1000 * scale), 20)), _gibbs(max(int(10_000 * scale), 20)),
        _quadratic(10_000, max(int(10_000 * scale), 200)),
    ]  # fmt: skip


def _logistic(lanes: int, steps: int) -> Case:
    x, n = T.fvector("x"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s: np.float32(3.7) * s * (1 - s), outputs_info=x, n_steps=n)
    values = [np.random.default_rng(0).random(lanes, "float32"), steps]

    def twin(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        step = lambda s, _: (jnp.float32(3.7) * s * (1 - s), None)  # noqa: E731
        return jax.jit(lambda x, n: lax.scan(step, x, None, length=steps)[0], static_argnums=1)

    return Case(
        f"logistic map, {lanes:.0e} lanes x {steps}", [x, n], ys[-1], values, 8.0 * lanes, jax=twin, tolerance=9
    )


def _recurrence(steps: int, lanes: int) -> Case:
    A, X, h0 = T.fmatrix("A"), T.fmatrix("X"), T.fvector("h0")
    h, _ = scanopt.scan(lambda a, x, h: a * h + x, [A, X], h0)
    rng = np.random.default_rng(0)
    A_, X_ = (rng.random((steps, lanes), "float32") for _ in range(2))

    def twin(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        def run(a: Any, x: Any, h: Any) -> Any:
            x = x.at[0].add(a[0] * h)
            return lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, x))[1]

        return jax.jit(run)

    values = [A_, X_, np.zeros(lanes, "float32")]
    return Case(f"linear recurrence, {steps:.0e} x {lanes:.0e}", [A, X, h0], h, values, 12.0 * steps * lanes, jax=twin)


def _lstm(batch: int, units: int, steps: int) -> list[Case]:
    X, h0, c0, W, U = T.ftensor3("X"), T.fmatrix("h0"), T.fmatrix("c0"), T.fmatrix("W"), T.fmatrix("U")

    def step(x: Any, h: Any, c: Any) -> Any:
        z = T.dot(x, U) + T.dot(h, W)
        i, f, o, g = (z[:, j * units : (j + 1) * units] for j in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return T.sigmoid(o) * T.tanh(c), c

    (h, _), _ = scanopt.scan(step, X, [h0, c0])
    rng = np.random.default_rng(0)
    shapes = [(steps, batch, units), (batch, units), (batch, units), (units, 4 * units), (units, 4 * units)]
    values = [(rng.normal(size=s) / units**0.5).astype("float32") for s in shapes]

    def loss(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        def one(carry: Any, x: Any) -> Any:
            (h, c), U_, W_ = carry[:2], carry[2], carry[3]
            i, f, o, g = jnp.split(x @ U_ + h @ W_, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c, U_, W_), h

        return lambda X, h, c, W, U: lax.scan(one, (h, c, U, W), X)[1]

    flops = 16.0 * steps * batch * units * units
    gradient = T.grad((h**2).sum(), [W, U])
    last = lambda jax, jnp, lax: jax.jit(loss(jax, jnp, lax))  # noqa: E731
    back = lambda jax, jnp, lax: jax.jit(  # noqa: E731
        jax.grad(lambda *v: (loss(jax, jnp, lax)(*v) ** 2).sum(), argnums=(3, 4))
    )
    name = f"LSTM, batch {batch}, {units} units, {steps} steps"
    inputs = [X, h0, c0, W, U]
    return [
        Case(name, inputs, h, values, 0.0, flops, last),
        Case(f"gradient of the {name}", inputs, gradient, values, 0.0, 3 * flops, back, 1e-1),
    ]


def _rnn(steps: int) -> Case:
    X, h0, W, U = T.fmatrix("X"), T.fvector("h0"), T.fmatrix("W"), T.fmatrix("U")
    h, _ = scanopt.scan(lambda x, h: T.tanh(T.dot(x, U) + T.dot(h, W)), X, h0)
    rng = np.random.default_rng(0)
    values = [(rng.normal(size=s) / 8).astype("float32") for s in ((steps, 50), (50,), (50, 50), (50, 50))]

    def twin(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        def run(X: Any, h: Any, W: Any, U: Any) -> Any:
            def one(h: Any, x: Any) -> Any:
                h = jnp.tanh(x @ U + h @ W)
                return h, h

            return lax.scan(one, h, X)[1]

        return jax.jit(run)

    return Case(f"RNN, 50 units, {steps} steps", [X, h0, W, U], h, values, 0.0, 1e4 * steps, twin)


def _gibbs(steps: int) -> Case:
    """Two normal variables that depend on each other, many chains."""
    n, chains = T.lscalar("n"), 1000
    stream = T.random.RandomStream(0)

    def step(x: Any, y: Any) -> Any:
        x = 0.9 * y + stream.normal(size=(chains,)) * 0.4
        return x, 0.9 * x + stream.normal(size=(chains,)) * 0.4

    (x, y), updates = scanopt.scan(step, outputs_info=[T.zeros(chains), T.zeros(chains)], n_steps=n)
    return Case(f"Gibbs chain, {chains} chains, {steps} steps", [n], [x[-1], y[-1]], [steps], 0.0, updates=updates)


def _quadratic(lanes: int, steps: int) -> Case:
    """Complex numbers, which have no kernel: array steps, captured as CUDA graphs."""
    c, n = T.cvector("c"), T.lscalar("n")
    z, _ = scanopt.scan(lambda z: z * z + c, outputs_info=T.zeros_like(c), n_steps=n)
    rng = np.random.default_rng(0)
    values = [((rng.random(lanes) + 1j * rng.random(lanes)) / 8).astype("complex64"), steps]

    def twin(jax: Any, jnp: Any, lax: Any) -> Callable[..., Any]:
        run = lambda c, n: lax.scan(lambda z, _: (z * z + c, None), c * 0, length=n)[0]  # noqa: E731
        return jax.jit(run, static_argnums=1)

    return Case(f"complex map, {lanes:.0e} lanes x {steps}", [c, n], z[-1], values, 0.0, jax=twin)
