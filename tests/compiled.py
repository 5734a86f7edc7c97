"""Compiled functions whose histories and pages are looked at."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T

__all__ = ["MADE", "branching", "documented", "ending", "lstm_gradient", "models", "rnn", "stacked", "unchanged"]


def models() -> Any:
    """The programs that the benchmarks measure."""
    if "benchmarked_models" not in sys.modules:
        path = Path(__file__).parents[1] / "benchmarks" / "models.py"
        spec = importlib.util.spec_from_file_location("benchmarked_models", path)
        assert spec is not None
        assert spec.loader is not None
        made = sys.modules["benchmarked_models"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
    return sys.modules["benchmarked_models"]


def documented() -> Any:
    """A product of each row that leaves the loop."""
    X, W, h0 = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h0")
    hs, _ = scanopt.scan(lambda x, h, W: T.tanh(T.dot(x, W) + h), X, h0, W, name="rnn")
    return scanopt.function([X, W, h0], hs[-1], name="documented")


def branching() -> Any:
    """A branch in a loop."""
    x, flag = T.dvector("x"), T.bscalar("flag")
    ys, _ = scanopt.scan(lambda v: scanopt.ifelse(flag, T.exp(v) * T.sum(x), v), x)
    return scanopt.function([x, flag], ys)


def ending() -> Any:
    """A loop that ends early."""
    n = T.iscalar("n")
    ys, _ = scanopt.scan(lambda y: (y * 2.0, scanopt.until(y > 100.0)), outputs_info=T.constant(1.0), n_steps=n)
    return scanopt.function([n], ys[-1])


def unchanged() -> Any:
    """Nothing to optimize."""
    x = T.dvector("x")
    return scanopt.function([x], T.exp(x))


def rnn() -> Any:
    """The network of the documents."""
    g = models().rnn()
    return scanopt.function(g.inputs, g.outputs, example=g.values, name="rnn")


def lstm_gradient(layers: int = 2, **sizes: int) -> Any:
    """The gradient of an LSTM with respect to all its inputs."""
    g = models().lstm(layers, **sizes)
    outputs = scanopt.grad(sum(T.sqr(x).sum() for x in g.outputs), g.inputs)
    return scanopt.function(g.inputs, outputs, example=g.values, name="lstm gradient")


def stacked(layers: int = 4, gradient: bool = False) -> Any:
    """A network of so many layers, each a loop of its own."""
    x = T.dmatrix("X")
    inputs, values, h = [x], [np.ones((100, 32))], x
    for k in range(1, layers + 1):
        W, U, start = T.dmatrix(f"W{k}"), T.dmatrix(f"U{k}"), T.dvector(f"h{k}")
        inputs += [W, U, start]
        values += [0.1 * np.eye(32), 0.1 * np.eye(32), np.zeros(32)]
        h, _ = scanopt.scan(lambda r, s, W, U: T.tanh(r @ W + s @ U), h, start, [W, U], name=f"layer{k}")
    outputs = scanopt.grad(T.sqr(h).sum(), inputs[1:]) if gradient else h[-1]
    return scanopt.function(inputs, outputs, example=values, name="stack")


MADE = {"rnn": documented, "branches": branching, "until": ending, "unchanged": unchanged,
        "gradient": lambda: lstm_gradient(1, steps=50, hidden=8)}  # fmt: skip
