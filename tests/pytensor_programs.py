"""Programs written with PyTensor: what `from_pytensor` and the mode are tried on, and what their benchmark runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.ifelse import ifelse
from pytensor.scan import views

__all__ = ["MODELS", "PROGRAMS"]

# Each makes (inputs, outputs, values of the inputs).
Made = tuple[list[Any], list[Any], list[Any]]
PROGRAMS: dict[str, Callable[[], Made]] = {}
MODELS: dict[str, Callable[[], Made]] = {}


def program(f: Callable[[], Made]) -> Callable[[], Made]:
    PROGRAMS[f.__name__] = f
    return f


def model(f: Callable[[], Made]) -> Callable[[], Made]:
    MODELS[f.__name__] = f
    return f


def scan(*args: Any, **kwargs: Any) -> Any:
    return pytensor.scan(*args, return_updates=False, **kwargs)


def normal(*shape: int) -> Any:
    return np.random.default_rng(5).normal(size=shape) / 2


def vector(name: str = "x") -> Any:
    return pt.vector(name, dtype="float64")


def matrix(name: str = "X") -> Any:
    return pt.matrix(name, dtype="float64")


def scalar(name: str = "a") -> Any:
    return pt.scalar(name, dtype="float64")


# Loops of the tutorials


@program
def power():
    k, a = pt.iscalar("k"), vector("A")
    rows = scan(lambda p, a: p * a, outputs_info=pt.ones_like(a), non_sequences=a, n_steps=k)
    return [a, k], [rows[-1]], [normal(4), np.int32(5)]


@program
def polynomial():
    c, x = vector("c"), scalar("x")
    terms = scan(lambda c, i, x: c * x**i, [c, pt.arange(1000)], None, [x])
    return [c, x], [terms.sum()], [normal(6), 1.5]


@program
def triangular():
    n = pt.iscalar("n")
    rows = scan(lambda i, s: i + s, [pt.arange(n)], [pt.as_tensor_variable(np.asarray(0, "int64"))])
    return [n], [rows], [np.int32(7)]


@program
def set_values_at():
    places, values, out = pt.imatrix("places"), vector("values"), matrix("out")
    rows = scan(lambda p, v, o: pt.set_subtensor(pt.zeros_like(o)[p[0], p[1]], v), [places, values], None, [out])
    return [places, values, out], [rows], [np.int32([[1, 1], [2, 3]]), np.array([42.0, 50.0]), np.zeros((5, 5))]


@program
def recurrent_tanh():
    X, W, b, U = matrix("X"), matrix("W"), vector("b"), matrix("U")
    h = scan(lambda x, h: pt.tanh(x @ W + b + h @ U), [X], [pt.zeros((3,), dtype="float64")])
    return [X, W, b, U], [h, h[-1]], [normal(6, 4), normal(4, 3), normal(3), normal(3, 3)]


@program
def backwards():
    X, W = matrix("X"), matrix("W")
    h = scan(lambda x, h: pt.tanh(x + h @ W), [X], [pt.zeros_like(X[0])], go_backwards=True)
    return [X, W], [h, h[::-1]], [normal(6, 3), normal(3, 3)]


@program
def taps():
    u, y0 = vector("u"), vector("y0")
    y = scan(
        lambda u4, u, y1, y3: 0.2 * u4 + u + 0.5 * y1 - 0.3 * y3,
        [dict(input=u, taps=[-4, 0])], [dict(initial=y0, taps=[-1, -3])],
    )  # fmt: skip
    return [u, y0], [y, y[-2:]], [normal(12), normal(3)]


@program
def fibonacci():
    start = pt.lvector("start")
    return (
        [start],
        [scan(lambda a, b: a + b, None, [dict(initial=start, taps=[-2, -1])], n_steps=10)],
        [np.array([0, 1])],
    )


@program
def norms_of_lines():
    X = matrix()
    return [X], [scan(lambda x: pt.sqrt((x**2).sum()), [X])], [normal(5, 3)]


@program
def norms_of_columns():
    X = matrix()
    return [X], [scan(lambda i: pt.sqrt((X[:, i] ** 2).sum()), [pt.arange(X.shape[1])])], [normal(5, 3)]


@program
def trace():
    X = matrix()
    rows = scan(lambda i, j, t, X: X[i, j] + t, [pt.arange(X.shape[0]), pt.arange(X.shape[1])], [np.float64(0)], [X])
    return [X], [rows[-1]], [normal(4, 4)]


@program
def until():
    most = scalar("most")
    from pytensor.scan.utils import until as stop

    rows = scan(lambda p: (p * 2.0, stop(p * 2.0 > most)), None, [pt.constant(1.0, dtype="float64")], n_steps=1024)
    return [most], [rows, rows[-1]], [45.0]


@program
def jacobian():
    x = vector()
    y = x**2
    rows = scan(lambda i, y, x: pt.grad(y[i], x), [pt.arange(y.shape[0])], None, [y, x])
    return [x], [rows], [normal(4)]


@program
def hessian():
    x = vector()
    cost = (x**3).sum() * x[0]
    g = pt.grad(cost, x)
    rows = scan(lambda i, g, x: pt.grad(g[i], x), [pt.arange(g.shape[0])], None, [g, x])
    return [x], [rows], [normal(4)]


@program
def jacobian_times_vector():
    W, x, v = matrix("W"), vector("x"), vector("v")
    return [W, x, v], [pytensor.gradient.Rop(x @ W, W, pt.outer(x, v))], [normal(3, 4), normal(3), normal(4)]


@program
def several_states():
    X = matrix()

    def step(x, a, b):
        return a + x, b * 0.5 + a, (a * b).sum()

    zeros = pt.zeros_like(X[0])
    a, b, c = scan(step, [X], [zeros, zeros, None])
    return [X], [a, b[-1], c], [normal(6, 3)]


@program
def nested():
    X = matrix()
    rows = scan(lambda x: scan(lambda e, s: s * 0.5 + e, [x], [np.float64(0)])[-1], [X])
    return [X], [rows], [normal(4, 5)]


@program
def mapped():
    x = vector()
    return [x], [pytensor.map(lambda e: pt.exp(e) + 1, x, return_updates=False)], [normal(5)]


@program
def reduced():
    x = vector()
    return [x], [views.reduce(lambda e, s: s + e**2, x, [np.float64(0)], return_updates=False)], [normal(5)]


@program
def folded():
    x = vector()
    last = views.foldl(lambda e, s: s * 0.9 + e, x, [np.float64(0)], return_updates=False)
    first = views.foldr(lambda e, s: s * 0.9 + e, x, [np.float64(0)], return_updates=False)
    return [x], [last, first], [normal(5)]


@program
def no_steps():
    x = vector()
    rows = scan(lambda e, s: s + e, [x], [np.float64(1.0)])
    return [x], [rows, rows.shape[0]], [np.zeros(0)]


@program
def branch_in_step():
    x = vector()
    rows = scan(lambda e, s: ifelse(pt.gt(e, 0.0), s + e, s * 0.5), [x], [np.float64(0)])
    return [x], [rows], [normal(8)]


@program
def logistic_map():
    r, x0 = vector("r"), scalar("x0")
    rows = scan(lambda x, r: r * x * (1 - x), None, [pt.alloc(x0, r.shape[0])], [r], n_steps=12)
    return [r, x0], [rows, rows[-1]], [np.array([2.5, 3.2, 3.9]), 0.3]


@program
def convolution_by_hand():
    x, w = vector("x"), vector("w")
    n = x.shape[0] - w.shape[0] + 1
    rows = scan(lambda i, x, w: (x[i : i + w.shape[0]] * w).sum(), [pt.arange(n)], None, [x, w])
    return [x, w], [rows], [normal(9), normal(3)]


@program
def in_single_precision():
    x, w = pt.fmatrix("x"), pt.fmatrix("w")
    h = scan(lambda x, h: pt.sigmoid(x + h @ w), [x], [pt.zeros((3,), dtype="float32")])
    return [x, w], [h], [normal(5, 3).astype("float32"), normal(3, 3).astype("float32")]


# Gradients


def _with_gradients(make: Callable[[], Made], name: str) -> None:
    def made() -> Made:
        inputs, outputs, values = make()
        cost = sum((y**2).sum() for y in outputs)
        floats = [x for x in inputs if x.dtype.startswith("float")]
        return inputs, pt.grad(cost, floats, disconnected_inputs="ignore"), values

    PROGRAMS[name] = made


for f in (power, polynomial, recurrent_tanh, backwards, taps, norms_of_lines, several_states, nested, mapped, folded):
    _with_gradients(f, f"gradient_of_{f.__name__}")


@program
def truncated_gradient():
    X, W = matrix("X"), matrix("W")
    h = scan(lambda x, h: pt.tanh(x + h @ W), [X], [pt.zeros_like(X[0])], truncate_gradient=3)
    return [X, W], [pt.grad(h[-1].sum(), W)], [normal(6, 3), normal(3, 3)]


# Networks, sequences, arrays


@program
def lstm():
    X, W, U = matrix("X"), matrix("W"), matrix("U")

    def step(x, h, c):
        z = x @ W + h @ U
        i, f, o, g = (z[k * 3 : (k + 1) * 3] for k in range(4))
        c = pt.sigmoid(f) * c + pt.sigmoid(i) * pt.tanh(g)
        return pt.sigmoid(o) * pt.tanh(c), c

    zeros = pt.zeros((3,), dtype="float64")
    h, c = scan(step, [X], [zeros, zeros])
    return [X, W, U], [h, c[-1], pt.grad(h.sum(), W)], [normal(6, 4), normal(4, 12), normal(3, 12)]


@program
def softmax_over_time():
    X, W = pt.tensor3("X", dtype="float64"), matrix("W")
    p = scan(lambda x, h: pt.special.softmax(x @ W + h, axis=-1), [X], [pt.zeros((2, 3), dtype="float64")])
    cost = -pt.log(p[-1][pt.arange(2), [0, 2]]).mean()
    return [X, W], [p, cost, pt.grad(cost, W)], [normal(5, 2, 4), normal(4, 3)]


@program
def edit_distance():
    s, t = pt.lvector("s"), pt.lvector("t")

    def row(c, above):
        same = pt.neq(t, c).astype("int64")
        left = scan(
            lambda d, up, diagonal, left: pt.minimum(pt.minimum(up, left) + 1, diagonal + d),
            [same, above[1:], above[:-1]], [above[0] + 1],
        )  # fmt: skip
        return pt.concatenate([(above[0] + 1)[None], left])

    table = scan(row, [s], [pt.arange(t.shape[0] + 1)])
    return [s, t], [table[-1, -1]], [np.array([1, 2, 3, 4]), np.array([1, 3, 3])]


@program
def arrays():
    X, i = matrix(), pt.lvector("i")
    out = [
        X[i], X[:, ::-1], X[1:, 0], X.T.reshape((-1,)), pt.concatenate([X, X * 2], axis=1), pt.stack([X, X], axis=2),
        X.max(axis=0), X.argmax(axis=1), pt.sort(X, axis=0), X.cumsum(axis=1), X.mean(), X.var(axis=0), X[i].set(0.0),
        X[i, i].inc(1.0), pt.switch(X > 0, X, -X), pt.clip(X, -0.1, 0.1), pt.eye(3), pt.arange(4) * 2, X[X > 0],
        pt.diag(X), X.prod(axis=0), pt.log1p(pt.abs(X)), pt.erf(X), pt.gammaln(pt.abs(X) + 1), X // 0.3, X % 0.3,
        pt.repeat(X, 2, axis=0), pt.alloc(X[0], 3, X.shape[1]), pt.any(X > 0.9), X.astype("int32"), pt.softplus(X),
    ]  # fmt: skip
    return [X, i], out, [normal(4, 4), np.array([2, 0, 2])]


@program
def matrices():
    A, b = matrix("A"), vector("b")
    S = A @ A.T + pt.eye(3)
    L = pt.linalg.cholesky(S)
    out = [L, pt.linalg.solve(S, b), pt.linalg.inv(S), pt.linalg.det(S), pt.linalg.solve_triangular(L, b, lower=True)]
    return [A, b], [*out, pt.linalg.slogdet(S)[1], *pt.linalg.eigh(S)], [normal(3, 3), normal(3)]


# Models as those of PyMC: log densities and their gradients


def logp_normal(x: Any, mu: Any, sigma: Any) -> Any:
    return -0.5 * ((x - mu) / sigma) ** 2 - pt.log(sigma) - 0.5 * np.log(2 * np.pi)


def with_gradient(inputs: list[Any], logp: Any, values: list[Any], more: tuple[Any, ...] = ()) -> Made:
    return inputs, [logp, *pt.grad(logp, inputs), *more], values


@model
def autoregressive():
    rho, s, y = vector("rho"), scalar("log_s"), pt.constant(normal(30))
    mu = scan(lambda a, b, r: r[0] * b + r[1] * a, [dict(input=y, taps=[-2, -1])], None, [rho])
    return with_gradient([rho, s], logp_normal(y[2:], mu, pt.exp(s)).sum(), [np.array([0.4, -0.2]), -0.3])


@model
def garch():
    p, r = vector("p"), pt.constant(normal(40))
    w, a, b = pt.exp(p[0]), pt.sigmoid(p[1]) * 0.3, pt.sigmoid(p[2]) * 0.7
    v = scan(lambda r, v, w, a, b: w + a * r**2 + b * v, [r[:-1]], [pt.constant(1.0, dtype="float64")], [w, a, b])
    return with_gradient([p], logp_normal(r[1:], 0.0, pt.sqrt(v)).sum(), [np.array([-1.0, 0.3, 0.8])])


@model
def seir():
    p, cases = vector("p"), pt.constant(np.arange(1.0, 21.0))
    beta, sigma, gamma = pt.exp(p[0]), pt.exp(p[1]), pt.exp(p[2])

    def day(s, e, i, r, beta, sigma, gamma):
        new, ill, well = beta * s * i, sigma * e, gamma * i
        return s - new, e + new - ill, i + ill - well, r + well

    start = [pt.constant(v, dtype="float64") for v in (0.97, 0.02, 0.01, 0.0)]
    *_, r = scan(day, None, start, [beta, sigma, gamma], n_steps=20)
    return with_gradient([p], logp_normal(cases, 100 * r, 2.0).sum(), [np.array([-0.5, -1.0, -1.2])])


@model
def hidden_markov():
    logits, mu, y = matrix("logits"), vector("mu"), pt.constant(normal(25))
    log_a = logits - pt.logsumexp(logits, axis=1, keepdims=True)
    log_b = logp_normal(y[:, None], mu[None, :], 0.7)
    alpha = scan(
        lambda b, alpha, log_a: pt.logsumexp(alpha[:, None] + log_a, axis=0) + b, [log_b[1:]], [log_b[0]], [log_a]
    )
    return with_gradient([logits, mu], pt.logsumexp(alpha[-1]), [normal(3, 3), np.array([-1.0, 0.0, 1.0])])


@model
def gru():
    W, U, X = matrix("W"), matrix("U"), pt.constant(normal(12, 3))

    def step(x, h, W, U):
        a, b = x @ W, h @ U
        z, r = pt.sigmoid(a[:4] + b[:4]), pt.sigmoid(a[4:8] + b[4:8])
        return (1 - z) * h + z * pt.tanh(a[8:] + r * b[8:])

    h = scan(step, [X], [pt.zeros((4,), dtype="float64")], [W, U])
    logp = logp_normal(X[:, 0], h.sum(axis=1), 1.0).sum() + logp_normal(W, 0.0, 1.0).sum()
    return with_gradient([W, U], logp, [normal(3, 12), normal(4, 12)])


@model
def local_level_by_kalman():
    p, y = vector("p"), pt.constant(normal(30))
    q, r = pt.exp(p[0]), pt.exp(p[1])

    def step(y, m, v, q, r):
        v = v + q
        s = v + r
        k = v / s
        return m + k * (y - m), (1 - k) * v, logp_normal(y, m, pt.sqrt(s))

    zero, one = (pt.constant(v, dtype="float64") for v in (0.0, 1.0))
    *_, ll = scan(step, [y], [zero, one, None], [q, r])
    return with_gradient([p], ll.sum(), [np.array([-1.0, -0.5])])


@model
def kalman_of_matrices():
    a, y = vector("a"), pt.constant(normal(10, 2))
    A, Q = pt.eye(2) * pt.tanh(a[0]), pt.eye(2) * pt.exp(a[1])

    def step(y, m, P, A, Q):
        m, P = A @ m, A @ P @ A.T + Q
        S = P + 0.5 * pt.eye(2)
        e = y - m
        K = pt.linalg.solve(S, P).T
        ll = -0.5 * (e * pt.linalg.solve(S, e)).sum() - 0.5 * pt.log(pt.linalg.det(S))
        return m + K @ e, P - K @ S @ K.T, ll

    *_, ll = scan(step, [y], [pt.zeros((2,), dtype="float64"), pt.eye(2, dtype="float64"), None], [A, Q])
    return with_gradient([a], ll.sum(), [np.array([0.5, -1.0])])


@model
def random_walk_volatility():
    h, s, r = vector("h"), scalar("log_s"), pt.constant(normal(20))
    vol = scan(lambda e, v, s: v * 0.95 + pt.exp(s) * e, [h], [pt.constant(0.0, dtype="float64")], [s])
    logp = logp_normal(r, 0.0, pt.exp(vol / 2)).sum() + logp_normal(h, 0.0, 1.0).sum()
    return with_gradient([h, s], logp, [normal(20), -1.0])


@model
def lotka_volterra():
    p, seen = vector("p"), pt.constant(np.abs(normal(15, 2)) + 1)
    a, b, c, d = (pt.exp(p[i]) for i in range(4))

    def step(x, y, a, b, c, d):
        return x + 0.05 * (a * x - b * x * y), y + 0.05 * (c * x * y - d * y)

    one = pt.constant(1.0, dtype="float64")
    x, y = scan(step, None, [one, one], [a, b, c, d], n_steps=15)
    logp = logp_normal(pt.log(seen), pt.log(pt.stack([x, y], axis=1)), 0.3).sum()
    return with_gradient([p], logp, [np.array([-0.3, -0.9, -0.7, -0.5])])


@model
def moving_average():
    theta, y = vector("theta"), pt.constant(normal(30))
    e = scan(
        lambda y, e1, e2, t: y - t[0] * e1 - t[1] * e2, [y],
        [dict(initial=pt.zeros((2,), dtype="float64"), taps=[-1, -2])], [theta],
    )  # fmt: skip
    return with_gradient([theta], logp_normal(e, 0.0, 1.0).sum(), [np.array([0.4, 0.2])], (e[-1],))
