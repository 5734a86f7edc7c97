"""The programs that the benchmarks measure, as graphs of scanopt.  Their JAX twins are in jax_twins.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T

__all__ = [
    "MODELS", "Graph", "Model", "ar2", "count_operators", "gated", "lstm", "lstm_pair", "lstm_pair_gradient",
    "polynomial", "power", "rnn",
]  # fmt: skip

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Graph:
    """Symbolic inputs and outputs, and values for the inputs."""

    inputs: list[Any]
    outputs: list[Any]
    values: list[Array]


@dataclass(frozen=True)
class Model:
    """A program to compile.  first, again: goals in seconds, the first with all imports."""

    name: str
    build: Callable[[], Graph]
    first: float | None
    again: float


def count_operators(outputs: Sequence[Any]) -> int:
    """Operators of a graph, those inside loops included, each once."""
    from scanopt.array.variable import Apply
    from scanopt.loops.node import Scan

    seen: set[Any] = set()
    todo: list[Any] = [x.owner for x in outputs]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        inner = (*node.traced, *(v for m in node.mit_mots for v in m.output_states)) if isinstance(node, Scan) else ()
        todo.extend(x.owner for x in (*node.inputs, *inner))
    return sum(isinstance(node, Apply) for node in seen)


def power(length: int = 1000, k: int = 100) -> Graph:
    """A**k, the first example of Theano's documents."""
    A, n = T.dvector("A"), T.iscalar("k")
    powers, _ = scanopt.scan(lambda prior, A: prior * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=n)
    return Graph([A, n], [powers[-1]], [np.linspace(0.9, 1.0, length), np.array(k, np.int32)])


def polynomial(length: int = 1000) -> Graph:
    """A polynomial, coefficient by coefficient: the documents' second example."""
    c, x = T.dvector("c"), T.dscalar("x")
    terms, _ = scanopt.scan(lambda a, i, x: a * x**i, sequences=[c, T.arange(c.shape[0])], non_sequences=x)
    return Graph([c, x], [terms.sum()], [np.linspace(-1.0, 1.0, length), np.array(0.99)])


def rnn(steps: int = 1000, hidden: int = 32, features: int = 8, outputs: int = 4) -> Graph:
    """The network of the documents: it looks back 1 and 3 steps at its state, 4 at its input."""

    def step(u_tm4: Any, u_t: Any, x_tm3: Any, x_tm1: Any, y_tm1: Any, W: Any, V1: Any, V2: Any, F: Any, O: Any) -> Any:  # noqa: E741
        x = T.tanh(T.dot(x_tm1, W) + T.dot(u_t, V1) + T.dot(u_tm4, V2) + T.dot(y_tm1, F))
        return [x, T.dot(x_tm3, O)]

    u, x0, y0 = T.dmatrix("u"), T.dmatrix("x0"), T.dvector("y0")
    weights = [T.dmatrix(name) for name in ("W", "W_in_1", "W_in_2", "W_feedback", "W_out")]
    (xs, ys), _ = scanopt.scan(
        step,
        sequences=dict(input=u, taps=[-4, 0]),
        outputs_info=[dict(initial=x0, taps=[-3, -1]), y0],
        non_sequences=weights,
        strict=True,
    )
    shapes = [(hidden, hidden), (features, hidden), (features, hidden), (outputs, hidden), (hidden, outputs)]
    values = [_normal(steps + 4, features), np.zeros((3, hidden)), np.zeros(outputs), *(_normal(*s) for s in shapes)]
    return Graph([u, x0, y0, *weights], [xs, ys], values)


def ar2(steps: int = 10_000) -> Graph:
    """Yule's autoregression: the sum of two earlier values and of a disturbance."""
    a, b, e, start = T.dscalar("a"), T.dscalar("b"), T.dvector("e"), T.dvector("start")
    found, _ = scanopt.scan(
        lambda e, two_ago, one_ago, a, b: a * one_ago + b * two_ago + e,
        sequences=e,
        outputs_info=dict(initial=start, taps=[-2, -1]),
        non_sequences=[a, b],
    )
    return Graph([a, b, e, start], [found], [np.array(1.4), np.array(-0.7), _normal(steps), np.zeros(2)])


def lstm(layers: int = 1, steps: int = 1000, hidden: int = 32, scans: int = 1) -> Graph:
    """Scans of the same length over the same sequence, each a stack of LSTM layers of 21 operators."""
    X = T.dmatrix("X")
    inputs, outputs, values = [X], [], [_normal(steps, hidden)]
    for _ in range(scans):
        weights = [T.dmatrix() for _ in range(8 * layers)]
        starts = [T.dvector() for _ in range(2 * layers)]
        found, _ = scanopt.scan(_lstm(layers), sequences=X, outputs_info=starts, non_sequences=weights)
        inputs += [*starts, *weights]
        values += [np.zeros(hidden)] * len(starts) + [_normal(hidden, hidden) for _ in weights]
        outputs.append(found[-2])
    return Graph(inputs, outputs, values)


def lstm_pair(layers: int = 8) -> Graph:
    """Two scans of 8 layers each, about 300 operators."""
    return lstm(layers, steps=100, hidden=16, scans=2)


def lstm_pair_gradient(layers: int = 8) -> Graph:
    """The gradient of the sum of squares of what the pair makes, with respect to all its inputs."""
    pair = lstm_pair(layers)
    cost = sum(T.sqr(x).sum() for x in pair.outputs)
    return Graph(pair.inputs, scanopt.grad(cost, pair.inputs), pair.values)


def _lstm(layers: int) -> Callable[..., Any]:
    def step(x: Any, *args: Any) -> list[Any]:
        states, weights = args[: 2 * layers], args[2 * layers :]
        new: list[Any] = []
        for n in range(layers):
            h, c = states[2 * n : 2 * n + 2]
            W = weights[8 * n : 8 * n + 8]
            i, f, o, g = (T.dot(x, W[j]) + T.dot(h, W[j + 4]) for j in range(4))
            c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
            x = T.sigmoid(o) * T.tanh(c)
            new += [x, c]
        return new

    return step


def gated(layers: int, steps: int = 100, hidden: int = 16) -> Graph:
    """One scan with a stack of gated layers of 10 operators each: what growth is measured on."""
    X = T.dmatrix("X")
    starts = [T.dvector() for _ in range(layers)]
    weights = [T.dmatrix() for _ in range(3 * layers)]

    def step(x: Any, *args: Any) -> list[Any]:
        new = []
        for n, h in enumerate(args[:layers]):
            W, U, V = args[layers + 3 * n : layers + 3 * n + 3]
            gate = T.sigmoid(T.dot(x, W) + T.dot(h, U))
            x = h + gate * (T.tanh(T.dot(x, V) + x) - h)
            new.append(x)
        return new

    found, _ = scanopt.scan(step, sequences=X, outputs_info=starts, non_sequences=weights)
    last = found[-1] if layers > 1 else found
    values = [_normal(steps, hidden), *[np.zeros(hidden)] * layers, *(_normal(hidden, hidden) for _ in weights)]
    return Graph([X, *starts, *weights], [last], values)


def _normal(*shape: int) -> Array:
    """The same numbers in every run, small enough for long recurrences."""
    return np.asarray(np.random.default_rng(sum(shape)).standard_normal(shape) / np.sqrt(shape[-1]))


MODELS = {
    m.name: m
    for m in (
        Model("A**k", power, first=1.0, again=0.02),
        Model("RNN", rnn, first=None, again=0.025),
        Model("LSTM pair", lstm_pair, first=None, again=0.25),
        Model("its gradient", lstm_pair_gradient, first=None, again=3.0),
    )
}
"""The models with goals for compile time."""
