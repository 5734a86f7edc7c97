"""The cases of peer_values.py as scanopt programs: inputs, outputs, updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scanopt
import scanopt.tensor as T

__all__ = ["PROGRAMS"]

Program = tuple[list[Any], Any, Any]


def power() -> Program:
    A, k = T.dvector("A"), T.lscalar("k")
    found, _ = scanopt.scan(lambda p, A: p * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k)
    return [A, k], found[-1], None


def polynomial() -> Program:
    c, x = T.dvector("c"), T.dscalar("x")
    terms, _ = scanopt.scan(lambda c, i, x: c * x**i, sequences=[c, T.arange(c.shape[0])], non_sequences=x)
    return [c, x], terms.sum(), None


def cumsum() -> Program:
    x = T.dvector("x")
    found, _ = scanopt.scan(lambda x, s: s + x, sequences=x, outputs_info=T.constant(0.0, dtype="float64"))
    return [x], found, None


def positions() -> Program:
    at, values, model = T.lmatrix("at"), T.dvector("values"), T.dmatrix("model")

    def step(at: Any, value: Any, model: Any) -> Any:
        return T.set_subtensor(T.zeros_like(model)[at[0], at[1]], value)

    found, _ = scanopt.scan(step, sequences=[at, values], non_sequences=model)
    return [at, values, model], found, None


def gibbs() -> Program:
    v, W, bh, bv, n = T.dmatrix("v"), T.dmatrix("W"), T.dvector("bh"), T.dvector("bv"), T.lscalar("n")
    draws = T.shared_randomstreams.RandomStreams(1)

    def step(v: Any, W: Any, bh: Any, bv: Any) -> Any:
        mean = T.sigmoid(v @ W + bh)
        h = draws.binomial(size=mean.shape, n=1, p=mean, dtype="float64")
        back = T.sigmoid(h @ W.T + bv)
        return draws.binomial(size=back.shape, n=1, p=back, dtype="float64")

    found, updates = scanopt.scan(step, outputs_info=v, non_sequences=[W, bh, bv], n_steps=n)
    return [v, W, bh, bv, n], found[-1], updates


def taps() -> Program:
    u, x0, y0 = T.dmatrix("u"), T.dmatrix("x0"), T.dvector("y0")
    weights = [T.dmatrix() for _ in range(5)]

    def step(u4: Any, u: Any, x3: Any, x1: Any, y1: Any, W: Any, V1: Any, V2: Any, F: Any, O: Any) -> Any:  # noqa: E741
        return [T.tanh(x1 @ W + u @ V1 + u4 @ V2 + y1 @ F), x3 @ O]

    info = [dict(initial=x0, taps=[-3, -1]), y0]
    (xs, ys), _ = scanopt.scan(step, dict(input=u, taps=[-4, 0]), info, non_sequences=weights)
    return [u, x0, y0, *weights], [xs, ys], None


def doubling() -> Program:
    limit = T.dscalar("limit")
    found, _ = scanopt.scan(
        lambda p, m: (p * 2.0, scanopt.until(p * 2.0 > m)),
        outputs_info=T.constant(1.0, dtype="float64"), non_sequences=limit, n_steps=1024,
    )  # fmt: skip
    return [limit], found, None


def _rnn(batch: int, gradient: bool) -> Program:
    u, x, W = (T.dmatrix("u"), T.dvector("x"), T.dmatrix("W")) if batch == 1 else (
        T.dtensor3("u"), T.dmatrix("x"), T.dmatrix("W"))  # fmt: skip
    ys, _ = scanopt.scan(lambda u, s, W: T.tanh(s @ W + u), u, x, non_sequences=W)
    return [u, x, W], T.grad((ys**2).sum(), W) if gradient else ys, None


def _lstm(batch: int, gradient: bool) -> Program:
    one = batch == 1
    X, h, c = (T.dmatrix("X"), T.dvector("h"), T.dvector("c")) if one else (
        T.dtensor3("X"), T.dmatrix("h"), T.dmatrix("c"))  # fmt: skip
    W, U = T.dmatrix("W"), T.dmatrix("U")

    def step(x: Any, h: Any, c: Any, W: Any, U: Any) -> list[Any]:
        z, units = x @ W + h @ U, U.shape[0]
        i, f, o, g = (z[..., k * units : (k + 1) * units] for k in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return [T.sigmoid(o) * T.tanh(c), c]

    (hs, _), _ = scanopt.scan(step, X, [h, c], non_sequences=[W, U])
    return [X, h, c, W, U], T.grad((hs**2).sum(), [W, U]) if gradient else hs, None


def _logistic(type: Callable[[str], Any]) -> Program:
    x, r, n = type("x"), T.dscalar("r"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda x, r: r * x * (1 - x), outputs_info=x, non_sequences=r, n_steps=n)
    return [x, r, n], ys, None


def _linear(one: bool) -> Program:
    u, x, a = (T.dvector("u"), T.dscalar("x"), T.dscalar("a")) if one else (
        T.dmatrix("u"), T.dvector("x"), T.dvector("a"))  # fmt: skip
    ys, _ = scanopt.scan(lambda u, x, a: a * x + u, u, x, non_sequences=a)
    return [u, x, a], ys, None


def ar2() -> Program:
    e, start, a, b = T.dvector("e"), T.dvector("start"), T.dscalar("a"), T.dscalar("b")
    info = dict(initial=start, taps=[-2, -1])
    ys, _ = scanopt.scan(lambda e, y2, y1, a, b: a * y1 + b * y2 + e, e, info, non_sequences=[a, b])
    return [e, start, a, b], ys, None


def kalman() -> Program:
    z, x0, P0 = T.dmatrix("z"), T.dvector("x"), T.dmatrix("P")
    F, H, Q, R = (T.dmatrix(name) for name in "FHQR")

    def step(z: Any, x: Any, P: Any, F: Any, H: Any, Q: Any, R: Any) -> list[Any]:
        x, P = F @ x, F @ P @ F.T + Q
        K = T.linalg.solve(H @ P @ H.T + R, H @ P).T
        return [x + K @ (z - H @ x), P - K @ H @ P]

    (xs, Ps), _ = scanopt.scan(step, z, [x0, P0], non_sequences=[F, H, Q, R])
    return [z, x0, P0, F, H, Q, R], [xs, Ps[-1]], None


def pid() -> Program:
    target, x = T.dvector("target"), T.dscalar("x")

    def step(target: Any, x: Any, total: Any, last: Any) -> list[Any]:
        error = target - x
        total = T.clip(total + error, -10.0, 10.0)
        force = 0.8 * error + 0.1 * total + 0.05 * (error - last)
        return [x + 0.1 * (T.clip(force, -1.0, 1.0) - 0.2 * x), total, error]

    (xs, _, _), _ = scanopt.scan(step, target, [x, T.zeros_like(x), T.zeros_like(x)])
    return [target, x], xs, None


def lorenz() -> Program:
    s, n = T.dvector("s"), T.lscalar("n")

    def field(s: Any) -> Any:
        return T.stack([10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    def step(s: Any) -> Any:
        k1 = field(s)
        k2 = field(s + 0.005 * k1)
        k3 = field(s + 0.005 * k2)
        k4 = field(s + 0.01 * k3)
        return s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    ys, _ = scanopt.scan(step, outputs_info=s, n_steps=n)
    return [s, n], ys, None


def viterbi() -> Program:
    seen, change, first = T.dmatrix("seen"), T.dmatrix("change"), T.dvector("first")

    def forward(seen: Any, score: Any, change: Any) -> list[Any]:
        scores = score[:, None] + change
        return [T.max(scores, axis=0) + seen, T.argmax(scores, axis=0)]

    (scores, before), _ = scanopt.scan(forward, seen, [first, None], non_sequences=change)
    last = T.argmax(scores[-1])
    states, _ = scanopt.scan(lambda b, s: b[s], before, last, go_backwards=True)
    return [seen, change, first], [T.max(scores[-1]), states], None


def mandelbrot() -> Program:
    a, b, n = T.dvector("a"), T.dvector("b"), T.lscalar("n")

    def step(x: Any, y: Any, k: Any, a: Any, b: Any) -> list[Any]:
        inside = x * x + y * y < 4.0
        return [T.where(inside, x * x - y * y + a, x), T.where(inside, 2.0 * x * y + b, y), k + T.cast(inside, "int64")]

    start = [T.zeros_like(a), T.zeros_like(a), T.zeros_like(a, dtype="int64")]
    (_, _, ks), _ = scanopt.scan(step, outputs_info=start, non_sequences=[a, b], n_steps=n)
    return [a, b, n], ks[-1], None


def tree() -> Program:
    prices, up, discount, chance = T.dvector("prices"), T.dscalar("up"), T.dscalar("discount"), T.dscalar("chance")

    def back(values: Any, prices: Any, up: Any, discount: Any, chance: Any) -> list[Any]:
        prices = prices / up
        lower = T.concatenate([values[1:], values[-1:]])
        later = discount * (chance * values + (1 - chance) * lower)
        return [T.maximum(later, 100.0 - prices), prices]

    start = [T.maximum(100.0 - prices, 0.0), prices]
    (values, _), _ = scanopt.scan(
        back, outputs_info=start, non_sequences=[up, discount, chance], n_steps=prices.shape[0] - 1
    )
    return [prices, up, discount, chance], values[-1][0], None


def particles() -> Program:
    seen, x, noise, starts = T.dvector("seen"), T.dvector("x"), T.dmatrix("noise"), T.dvector("starts")

    def step(y: Any, noise: Any, start: Any, t: Any, x: Any) -> list[Any]:
        x = x / 2 + 25 * x / (1 + x**2) + 8 * T.cos(1.2 * t) + noise
        logs = -0.5 * (y - x**2 / 20) ** 2
        weights = T.exp(logs - T.max(logs))
        weights = weights / T.sum(weights)
        places = (start + T.arange(x.shape[0])) / x.shape[0]
        chosen = T.minimum(T.searchsorted(T.cumsum(weights), places), x.shape[0] - 1)
        return [x[chosen], weights @ x]

    (_, means), _ = scanopt.scan(step, [seen, noise, starts, T.arange(seen.shape[0])], [x, None])
    return [seen, x, noise, starts], means, None


PROGRAMS: dict[str, Callable[[], Program]] = {
    "power": power, "polynomial": polynomial, "cumsum": cumsum, "positions": positions, "gibbs": gibbs, "taps": taps,
    "doubling": doubling,
    "rnn1": lambda: _rnn(1, False), "rnn32": lambda: _rnn(32, False),
    "rnn1_gradient": lambda: _rnn(1, True), "rnn32_gradient": lambda: _rnn(32, True),
    "lstm1": lambda: _lstm(1, False), "lstm32": lambda: _lstm(32, False),
    "lstm1_gradient": lambda: _lstm(1, True), "lstm32_gradient": lambda: _lstm(32, True),
    "logistic": lambda: _logistic(T.dscalar), "logistic_lanes": lambda: _logistic(T.dvector),
    "linear1": lambda: _linear(True), "linear16": lambda: _linear(False), "linear256": lambda: _linear(False),
    "ar2": ar2, "kalman": kalman, "pid": pid, "lorenz": lorenz, "viterbi": viterbi, "mandelbrot": mandelbrot,
    "tree": tree, "particles": particles,
}  # fmt: skip
