"""Programs written with JAX, each with arguments: what `from_jax` is tried on, and what its benchmark runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = ["PROGRAMS", "JaxProgram"]


class JaxProgram(NamedTuple):
    """A function and arguments for it.  smooth: it can be differentiated with respect to the first one."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    smooth: bool


PROGRAMS: dict[str, JaxProgram] = {}


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def normal(*shape: int) -> Any:
    return rng().normal(size=shape).astype(np.float32) / 2


def program(*args: Any, smooth: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__] = JaxProgram(f, args, smooth)
        return f

    return keep


# Recurrent networks


@program({"W": normal(4, 5), "U": normal(5, 5), "b": normal(5)}, normal(12, 4), smooth=True)
def rnn(p, xs):
    def step(h, x):
        h = jnp.tanh(x @ p["W"] + h @ p["U"] + p["b"])
        return h, h

    last, hs = lax.scan(step, jnp.zeros(5), xs)
    return {"last": last, "hs": hs}


@program({"W": normal(9, 20), "b": normal(20)}, normal(10, 4), smooth=True)
def lstm(p, xs):
    def step(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h]) @ p["W"] + p["b"], 4)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (jnp.zeros(5), jnp.zeros(5)), xs)


@program({"W": normal(3, 4, 5), "U": normal(3, 5, 5)}, normal(8, 2, 4), smooth=True)
def gru_batched(p, xs):
    def step(h, x):
        z = jax.nn.sigmoid(x @ p["W"][0] + h @ p["U"][0])
        r = jax.nn.sigmoid(x @ p["W"][1] + h @ p["U"][1])
        n = jnp.tanh(x @ p["W"][2] + (r * h) @ p["U"][2])
        return (1 - z) * h + z * n, None

    return lax.scan(step, jnp.zeros((2, 5)), xs)[0]


@program({"f": normal(4, 3), "b": normal(4, 3)}, normal(9, 4), smooth=True)
def bidirectional(p, xs):
    def run(w, reverse):
        return lax.scan(lambda h, x: (jnp.tanh(0.5 * h + x @ w),) * 2, jnp.zeros(3), xs, reverse=reverse)[1]

    return jnp.concatenate([run(p["f"], False), run(p["b"], True)], axis=-1)


@program(normal(4, 4), normal(6, 4), smooth=True)
def rnn_with_remat(W, xs):
    step = jax.checkpoint(lambda h, x: (jnp.tanh(h @ W + x), h.sum()))
    return lax.scan(step, jnp.zeros(4), xs)


# Attention, transformers, convolutions


@program(normal(6, 4), normal(6, 4), normal(6, 4), smooth=True)
def attention_online(q, k, v):
    """Softmax over keys that come one by one."""

    def step(carry, kv):
        m, s, acc = carry
        k, v = kv
        score = q @ k
        new = jnp.maximum(m, score)
        scale, weight = jnp.exp(m - new), jnp.exp(score - new)
        return (new, s * scale + weight, acc * scale[:, None] + weight[:, None] * v), None

    start = (jnp.full(6, -jnp.inf), jnp.zeros(6), jnp.zeros((6, 4)))
    (_, s, acc), _ = lax.scan(step, start, (k, v))
    return acc / s[:, None]


@program({"qkv": normal(4, 12), "o": normal(4, 4)}, normal(2, 5, 4), smooth=True)
def causal_attention(p, x):
    q, k, v = jnp.split(x @ p["qkv"], 3, axis=-1)
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / 2.0
    mask = jnp.tril(jnp.ones((5, 5), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    return jnp.einsum("bqk,bkd->bqd", weights, v) @ p["o"]


@program(normal(3, 4, 4), normal(5, 4), smooth=True)
def layers_by_scan(ws, x):
    def layer(x, w):
        y = jax.nn.gelu(x @ w)
        y = (y - y.mean(-1, keepdims=True)) / jnp.sqrt(y.var(-1, keepdims=True) + 1e-5)
        return x + y, None

    return lax.scan(layer, x, ws)[0]


@program(normal(3, 2, 3, 3), normal(2, 2, 8, 8), smooth=True)
def convolution(w, x):
    y = lax.conv_general_dilated(x, w, (2, 1), ((1, 1), (0, 2)), rhs_dilation=(1, 2))
    return jax.nn.relu(y)


@program(normal(3, 1, 4), normal(2, 10, 3), smooth=True)
def causal_depthwise_convolution(w, x):
    numbers = lax.conv_dimension_numbers(x.shape, w.shape, ("NHC", "OIH", "NHC"))
    return lax.conv_general_dilated(x, w, (1,), ((3, 0),), dimension_numbers=numbers, feature_group_count=3)


@program(normal(2, 6, 6))
def pooling(x):
    most = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID")
    return most, lax.reduce_window(x, 0.0, lax.add, (1, 3, 3), (1, 1, 1), "SAME")


# Filters and state spaces


@program(normal(7, 2), smooth=True)
def kalman(ys):
    A, H = jnp.array([[1.0, 0.1], [0.0, 1.0]]), jnp.eye(2)
    Q, R = 0.01 * jnp.eye(2), 0.1 * jnp.eye(2)

    def step(carry, y):
        m, P = carry
        m, P = A @ m, A @ P @ A.T + Q
        S = H @ P @ H.T + R
        K = jnp.linalg.solve(S, H @ P).T
        m, P = m + K @ (y - H @ m), P - K @ S @ K.T
        return (m, P), (m, jnp.linalg.slogdet(S)[1])

    return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), ys)


@program(normal(20), smooth=True)
def ssm(u):
    a, b, c = jnp.array([0.9, 0.5, -0.3]), jnp.ones(3), jnp.arange(1.0, 4.0)
    return lax.scan(lambda s, x: ((s := a * s + b * x), c @ s), jnp.zeros(3), u)[1]


@program(normal(16, 3), smooth=True)
def ssm_associative(u):
    a = jax.nn.sigmoid(u)

    def combine(x, y):
        return x[0] * y[0], y[0] * x[1] + y[1]

    return lax.associative_scan(combine, (a, u))[1]


@program(np.log(np.float32([[0.9, 0.1], [0.2, 0.8]])), normal(10, 2), smooth=True)
def hmm_forward(log_a, log_b):
    def step(alpha, b):
        alpha = jax.scipy.special.logsumexp(alpha[:, None] + log_a, axis=0) + b
        return alpha, alpha

    last, _ = lax.scan(step, jnp.log(jnp.full(2, 0.5)) + log_b[0], log_b[1:])
    return jax.scipy.special.logsumexp(last)


@program(normal(3, 3), normal(8, 3))
def viterbi(log_a, log_b):
    def step(score, b):
        candidates = score[:, None] + log_a
        return candidates.max(0) + b, candidates.argmax(0)

    last, back = lax.scan(step, log_b[0], log_b[1:])
    _, path = lax.scan(lambda s, row: (row[s], row[s]), last.argmax(), back, reverse=True)
    return path


@program(np.float32([0.05, 0.1, 0.85]), normal(30), smooth=True)
def garch(p, r):
    def step(v, r):
        return p[0] + p[1] * r**2 + p[2] * v, -0.5 * (jnp.log(v) + r**2 / v)

    return lax.scan(step, 1.0 + 0 * r[0], r)[1].sum()


# Differential equations, optimization, other loops


@program(np.float32([1.0, 0.0]), smooth=True)
def runge_kutta(y0):
    def f(y, t):
        return jnp.array([y[1], (1 - y[0] ** 2) * y[1] - y[0] + 0.1 * jnp.cos(t)])

    def step(y, t):
        h = 0.1
        k1 = f(y, t)
        k2 = f(y + h / 2 * k1, t + h / 2)
        k3 = f(y + h / 2 * k2, t + h / 2)
        k4 = f(y + h * k3, t + h)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return lax.scan(step, y0, jnp.arange(0.0, 2.0, 0.1))[1]


@program(np.float32([3.0, 0.5]))
def adaptive_step(y0):
    def body(s):
        t, y, h = s
        small = y - h * y
        half = y - h / 2 * y
        fine = half - h / 2 * half
        ok = jnp.abs(fine - small).max() < 1e-2
        return jnp.where(ok, t + h, t), jnp.where(ok, fine, y), jnp.where(ok, h * 1.2, h * 0.5)

    return lax.while_loop(lambda s: s[0] < 1.0, body, (0.0, y0, 0.5))


@program(np.float32(2.0))
def newton(x):
    def body(s):
        i, y = s
        return i + 1, 0.5 * (y + x / y)

    return lax.while_loop(lambda s: (jnp.abs(s[1] ** 2 - x) > 1e-6) & (s[0] < 50), body, (0, x))


@program(normal(5), np.int32(7))
def fori_of_computed_length(x, n):
    return lax.fori_loop(0, n, lambda i, y: y * 0.9 + i, x)


@program(normal(6), smooth=True)
def fori_in_place(x):
    return lax.fori_loop(1, 6, lambda i, x: x.at[i].set(x[i] + 0.5 * x[i - 1]), x)


@program(normal(5, 5), smooth=True)
def power_iteration(A):
    v = lax.fori_loop(0, 20, lambda _, v: (A @ v) / jnp.linalg.norm(A @ v), jnp.ones(5))
    return v @ A @ v


@program(normal(4), smooth=True)
def gradient_descent(x):
    def loss(x):
        return ((x - 1.0) ** 4).sum() + (x**2).sum()

    return lax.scan(lambda x, _: (x - 0.02 * jax.grad(loss)(x), loss(x)), x, None, length=15)


@program(normal(4), np.int32(1))
def branches(x, i):
    a = lax.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x)
    b = lax.switch(i, [jnp.sin, jnp.cos, lambda x: x**3], x)
    return a, b


@program(normal(10), smooth=True)
def cond_in_scan(xs):
    def step(c, x):
        c = lax.cond(x > 0, lambda c: c + x, lambda c: c * 0.5, c)
        return c, c

    return lax.scan(step, 0.0, xs)


@program(normal(3, 4), smooth=True)
def nested_scans(x):
    def outer(c, row):
        c, ys = lax.scan(lambda a, b: (a * 0.5 + b, a), c, row)
        return c, ys

    return lax.scan(outer, 0.0, x)


@program(normal(6, 3))
def cumulative(x):
    return (jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x), lax.cummin(x, reverse=True), lax.cumlogsumexp(x))


@program(normal(6, 4), np.int32([0, 5, 2, -1]))
def lookups(table, i):
    return (
        table[i], table.at[i].add(1.0), table.at[i, 1].set(0.0), jnp.take(table, jnp.array([1, 9]), axis=0),
        table[:, i], table.at[i].max(0.1), jnp.take_along_axis(table, jnp.abs(i)[None, :] % 6, 0),
        table[i, [0, 1, 2, 3]],
        table.at[jnp.array([1, 9])].set(2.0), table.at[i].mul(2.0), lax.dynamic_slice(table, (i[1], i[2]), (2, 3)),
        table[i[0]], table[2:4, ::2], jnp.pad(table, ((1, 0), (2, 1))), jnp.flip(table, 0),
    )  # fmt: skip


@program(normal(4, 6))
def sorting(x):
    return jnp.sort(x), jnp.argsort(x, axis=0), lax.top_k(x, 3), jnp.median(x), jnp.searchsorted(jnp.sort(x[0]), x[1])


@program(normal(4, 4), normal(4), smooth=True)
def matrices(a, b):
    spd = a @ a.T + jnp.eye(4)
    L = jnp.linalg.cholesky(spd)
    y = jax.scipy.linalg.solve_triangular(L, b, lower=True)
    return y, jnp.linalg.solve(spd, b), jnp.linalg.inv(spd), jnp.linalg.det(spd)


@program(normal(5), np.int32([7, -7, 5]))
def elementwise(x, i):
    return (
        jax.nn.softplus(x), jax.nn.silu(x), jax.nn.elu(x), jax.scipy.special.erf(x), jnp.round(x * 5), x // 0.3, i // 2,
        i % 3, lax.div(i, i + 1), lax.rem(i, i - 2), i << 1, i >> 1, jnp.clip(x, -0.1, 0.1), jnp.sign(x), jnp.isnan(x),
        jax.lax.population_count(i), jnp.logaddexp(x, 1.0), x.astype(jnp.int32), jnp.float_power(jnp.abs(x), 0.3),
        lax.integer_pow(x, 5), lax.integer_pow(x, -2), jnp.arctan2(x, 0.5), jax.scipy.special.gammaln(jnp.abs(x) + 1),
    )  # fmt: skip


# Random numbers


KEY = jax.random.key(42)


@program(KEY)
def draws(key):
    ks = jax.random.split(key, 9)
    return (
        jax.random.uniform(ks[0], (5,)), jax.random.normal(ks[1], (2, 3)), jax.random.randint(ks[2], (4,), 0, 10),
        jax.random.bernoulli(ks[3], 0.3, (6,)), jax.random.permutation(ks[4], 7), jax.random.exponential(ks[5], (3,)),
        jax.random.categorical(ks[6], jnp.log(jnp.arange(1.0, 5.0)), shape=(5,)), jax.random.bits(ks[7], (4,)),
        jax.random.fold_in(ks[8], 3), jax.random.choice(ks[0], 5, (3,), replace=False), jax.random.gumbel(ks[1], (2,)),
    )  # fmt: skip


@program(jax.random.PRNGKey(0))
def random_walk(key):
    def step(carry, key):
        x = carry + jax.random.normal(key)
        return x, x

    return lax.scan(step, 0.0, jax.random.split(key, 12))[1]


@program(KEY, np.float32(0.5))
def metropolis(key, x):
    def log_p(x):
        return -0.5 * x**2

    def step(carry, _):
        key, x = carry
        key, a, b = jax.random.split(key, 3)
        y = x + jax.random.normal(a)
        accept = jnp.log(jax.random.uniform(b)) < log_p(y) - log_p(x)
        x = jnp.where(accept, y, x)
        return (key, x), (x, accept)

    return lax.scan(step, (key, x), None, length=15)[1]


@program(KEY)
def rejection(key):
    def body(s):
        key, n, _ = s
        key, k = jax.random.split(key)
        return key, n + 1, jax.random.uniform(k, (2,)) * 2 - 1

    key, n, point = lax.while_loop(lambda s: (s[2] ** 2).sum() > 0.2, body, (key, 0, jnp.ones(2)))
    return n, point


@program(KEY, normal(4, 3), smooth=False)
def dropout_vmapped(key, x):
    keys = jax.random.split(key, 4)
    return jax.vmap(lambda k, x: jnp.where(jax.random.bernoulli(k, 0.8, x.shape), x / 0.8, 0.0))(keys, x)


@program(KEY, np.float32([0.5, 3.0]))
def gammas(key, a):
    return jax.random.gamma(key, a), jax.random.beta(key, 2.0, 3.0), jax.random.poisson(key, 3.0, (3,))


@program({"W": normal(4, 5), "U": normal(5, 5), "b": normal(5)}, normal(12, 4))
def gradient_of_rnn(p, xs):
    return jax.value_and_grad(lambda p: (rnn(p, xs)["last"] ** 2).sum())(p)


@program(normal(16))
def gradient_of_ssm(u):
    return jax.grad(lambda u: jnp.sum(ssm(u) ** 2))(u), jax.jvp(ssm, (u,), (jnp.ones_like(u),))[1]
