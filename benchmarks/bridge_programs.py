"""Programs of other libraries for bench_bridges.py: each peer's own text, at sizes where the loop is the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["jax_programs", "onnx_programs", "pytensor_programs"]


def normal(*shape: int) -> Any:
    return (np.random.default_rng(1).normal(size=shape) / np.sqrt(shape[-1])).astype("float32")


def jax_programs(n: int) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Functions of JAX with arguments; n: steps."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def rnn(W: Any, U: Any, xs: Any) -> Any:
        return lax.scan(lambda h, x: (jnp.tanh(x @ W + h @ U),) * 2, jnp.zeros(64), xs)[1]

    def lstm(W: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(jnp.concatenate([x, h]) @ W, 4)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return lax.scan(step, (jnp.zeros(32), jnp.zeros(32)), xs)[1]

    def garch(p: Any, r: Any) -> Any:
        step = lambda v, r: (p[0] + p[1] * r**2 + p[2] * v, jnp.log(v) + r**2 / v)  # noqa: E731
        return lax.scan(step, jnp.float32(1.0), r)[1].sum()

    def state_space(u: Any) -> Any:
        a, c = jnp.linspace(0.1, 0.9, 16), jnp.ones(16)
        return lax.scan(lambda s, x: ((s := a * s + x), c @ s), jnp.zeros(16), u)[1]

    def random_walk(key: Any) -> Any:
        step = lambda x, k: ((x := x + jax.random.normal(k)), x)  # noqa: E731
        return lax.scan(step, 0.0, jax.random.split(key, n))[1]

    def hidden_markov(log_a: Any, log_b: Any) -> Any:
        step = lambda al, b: (jax.nn.logsumexp(al[:, None] + log_a, axis=0) + b, None)  # noqa: E731
        return lax.scan(step, jnp.zeros(12), log_b)[0]

    def gradient_of_rnn(W: Any, U: Any, xs: Any) -> Any:
        return jax.grad(lambda W: (rnn(W, U, xs) ** 2).sum())(W)

    weights = normal(32, 64), normal(64, 64), normal(n, 32)
    return {
        "RNN": (rnn, weights),
        "LSTM": (lstm, (normal(64, 128), normal(n, 32))),
        "GARCH": (garch, (np.float32([0.05, 0.1, 0.85]), normal(n, 1)[:, 0])),
        "state space": (state_space, (normal(n, 1)[:, 0],)),
        "random walk, one key a step": (random_walk, (jax.random.key(0),)),
        "hidden Markov": (hidden_markov, (normal(12, 12), normal(n, 12))),
        "gradient of the RNN": (gradient_of_rnn, weights),
    }


HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


def onnx_programs(n: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """ONNX models with arguments; n: steps."""
    import onnx.parser

    def model(text: str, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        return onnx.parser.parse_model(HEAD + text), {k: np.asarray(x) for k, x in arguments.items()}

    gates = f"""f (float[{n}, 4, 16] x, float[1, 128, 16] w, float[1, 128, 32] r) => (float[{n}, 1, 4, 32] y)
        {{ y, h, c = LSTM<hidden_size = 32>(x, w, r) }}"""
    update = f"""f (float[{n}, 4, 16] x, float[1, 96, 16] w, float[1, 96, 32] r) => (float[{n}, 1, 4, 32] y)
        {{ y, h = GRU<hidden_size = 32>(x, w, r) }}"""
    loop = f"""f (float[64] h0, float[{n}, 32] x, float[32, 64] w, float[64, 64] u) => (float[{n}, 64] y)
        {{ h, y = Scan<num_scan_inputs = 1, body = step (float[64] a, float[32] b) => (float[64] c, float[64] d)
          {{ p = MatMul(b, w) q = MatMul(a, u) s = Add(p, q) c = Tanh(s) d = Identity(c) }}>(h0, x) }}"""
    level = f"""f (float[{n}] y, float q, float r, float zero) => (float[{n}] m)
        {{ a, b, m = Scan<num_scan_inputs = 1, body = step (float m0, float p0, float t)
          => (float m1, float p1, float o)
          {{ p = Add(p0, q) s = Add(p, r) k = Div(p, s) e = Sub(t, m0) d = Mul(k, e) m1 = Add(m0, d)
             u = Mul(k, p) p1 = Sub(p, u) o = Identity(m1) }}>(zero, zero, y) }}"""
    smooth = f"""f (float[{n}, 16] x, float[16] a, float[16] zero) => (float[{n}, 16] y)
        {{ s, y = Scan<num_scan_inputs = 1, body = step (float[16] s0, float[16] b) => (float[16] s1, float[16] d)
          {{ p = Mul(s0, a) s1 = Add(p, b) d = Identity(s1) }}>(zero, x) }}"""
    one = np.float32(1)
    x = normal(n, 64).reshape(n, 4, 16)
    return {
        "LSTM": model(gates, x=x, w=normal(1, 128, 16), r=normal(1, 128, 32)),
        "GRU": model(update, x=x, w=normal(1, 96, 16), r=normal(1, 96, 32)),
        "RNN by Scan": model(loop, h0=normal(64), x=normal(n, 32), w=normal(32, 64), u=normal(64, 64)),
        "Kalman by Scan": model(level, y=normal(n, 1)[:, 0], q=one / 3, r=one, zero=one * 0),
        "smoothing by Scan": model(smooth, x=normal(n, 16), a=normal(16) / 4, zero=np.zeros(16, "float32")),
    }


def pytensor_programs(n: int) -> dict[str, tuple[list[Any], list[Any], list[Any]]]:
    """Graphs of PyTensor: inputs, outputs, values; n: steps."""
    import pytensor
    import pytensor.tensor as pt

    def scan(*args: Any, **kwargs: Any) -> Any:
        return pytensor.scan(*args, return_updates=False, **kwargs)

    X, W, U = (pt.dmatrix(name) for name in ("X", "W", "U"))
    zeros = pt.zeros((32,), dtype="float64")
    h = scan(lambda x, h, W, U: pt.tanh(x @ W + h @ U), [X], [zeros], [W, U])
    data = [normal(n, 16).astype(float), normal(16, 32).astype(float), normal(32, 32).astype(float)]
    cost = (h**2).sum()

    q, r = pt.dvector("q"), pt.constant(normal(n, 1)[:, 0].astype(float))
    w, a, b = pt.exp(q[0]), pt.sigmoid(q[1]) * 0.3, pt.sigmoid(q[2]) * 0.7
    v = scan(lambda r, v, w, a, b: w + a * r**2 + b * v, [r], [pt.constant(1.0, dtype="float64")], [w, a, b])
    density = -0.5 * (pt.log(v) + r**2 / v).sum()

    x = pt.dvector("x")
    ar = scan(lambda e, y1, y2: 0.5 * y1 - 0.2 * y2 + e, [x], [dict(initial=x[:2], taps=[-1, -2])])
    mapped = scan(lambda e: pt.exp(e) * 2 + 1, [x])
    vector = [normal(n, 1)[:, 0].astype(float)]
    return {
        "RNN": ([X, W, U], [h[-1]], data),
        "gradient of the RNN": ([X, W, U], pt.grad(cost, [W, U]), data),
        "GARCH, density and gradient": ([q], [density, pt.grad(density, q)], [np.array([-1.0, 0.3, 0.8])]),
        "AR(2)": ([x], [ar], vector),
        "map": ([x], [mapped], vector),
    }
