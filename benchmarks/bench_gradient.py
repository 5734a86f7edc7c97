"""Gradients of recurrent networks: values and time against JAX, memory of checkpoints.

    python benchmarks/bench_gradient.py            a minute or two
    python benchmarks/bench_gradient.py --quick    small sizes, few repeats

The networks: a tanh RNN and an LSTM over 100 steps, 32 sequences at a time, 128 hidden units, float64; the cost is the
sum of squares of all states.  Both libraries get the same numbers in the same run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # steadier on few cores, for both sides
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from harness import JAX, NO_JAX, asked_to_be_quick, best, machine, median, ms, ratio, table
from models import Graph

import scanopt
import scanopt.tensor as T

Array = np.ndarray[Any, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all tables."""
    quick = asked_to_be_quick("Gradients of recurrent networks.", "sizes", arguments)
    print(f"bench_gradient: {machine()}; all times in ms")
    steps, batch, hidden = (5, 3, 4) if quick else (100, 32, 128)
    networks(steps, batch, hidden, 2 if quick else 7)
    checkpoints(16 if quick else 1600, 4, 50 if quick else 5000)


def rnn(steps: int, batch: int, hidden: int) -> Graph:
    """h = tanh(x U + h W + b)."""
    X, h, U, W, b = T.dtensor3("X"), T.dmatrix("h"), T.dmatrix("U"), T.dmatrix("W"), T.dvector("b")
    states, _ = scanopt.scan(lambda x, h, U, W, b: T.tanh(x @ U + h @ W + b), X, [h], [U, W, b])
    values = [normal(steps, batch, hidden), normal(batch, hidden), normal(hidden, hidden),
              normal(hidden, hidden), normal(hidden)]  # fmt: skip
    return Graph([X, h, U, W, b], [(states**2).sum()], values)


def lstm(steps: int, batch: int, hidden: int) -> Graph:
    """The four gates as separate products, as the documents write them."""
    X, h, c = T.dtensor3("X"), T.dmatrix("h"), T.dmatrix("c")
    weights = [T.dmatrix(f"{kind}_{gate}") for kind in "WU" for gate in "ifog"]

    def step(x: Any, h: Any, c: Any, *w: Any) -> Any:
        i, f, o, g = (x @ w[k] + h @ w[k + 4] for k in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return [T.sigmoid(o) * T.tanh(c), c]

    (hs, _), _ = scanopt.scan(step, X, [h, c], weights)
    values = [normal(steps, batch, hidden), normal(batch, hidden), normal(batch, hidden),
              *(normal(hidden, hidden) for _ in weights)]  # fmt: skip
    return Graph([X, h, c, *weights], [(hs**2).sum()], values)


def normal(*shape: int) -> Array:
    """The same numbers in every run, small enough for long recurrences."""
    return np.asarray(np.random.default_rng(sum(shape)).standard_normal(shape) / np.sqrt(shape[-1]))


def networks(steps: int, batch: int, hidden: int, repeats: int) -> None:
    """Cost and all gradients in one call: equal to JAX's, and how fast."""
    rows = []
    for name, graph in (("tanh RNN", rnn(steps, batch, hidden)), ("LSTM", lstm(steps, batch, hidden))):
        start = time.perf_counter()
        ours = scanopt.function(
            graph.inputs, [*graph.outputs, *scanopt.grad(graph.outputs[0], graph.inputs)], example=graph.values
        )
        compiled = time.perf_counter() - start
        call = partial(ours, *graph.values)
        found = call()
        if not JAX:
            rows.append([name, ms(compiled), ms(median(call, repeats)), "-", "-", "-"])
            continue
        theirs, jitted = twin(name, graph.values)
        error = max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(found, theirs(), strict=True))
        seconds = best(call, theirs, repeats)
        rows.append([name, ms(compiled), ms(seconds[0]), ms(seconds[1]), ratio(*seconds), f"{error:.1e}"])
        print(f"{name}: JAX lowers and compiles in {ms(jitted)} ms")
    heads = ["", "compile", "a call", "JAX", "ratio", "largest difference"]
    table(f"gradients: {steps} steps, batch {batch}, hidden {hidden}", heads, rows)
    if not JAX:
        print(NO_JAX)


def twin(name: str, values: Sequence[Array]) -> tuple[Callable[[], Any], float]:
    """The same in JAX, compiled; seconds that took."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def rnn_step(w: Any, h: Any, x: Any) -> Any:
        h = jnp.tanh(x @ w[0] + h @ w[1] + w[2])
        return h, h

    def lstm_step(w: Any, state: Any, x: Any) -> Any:
        h, c = state
        i, f, o, g = (x @ w[k] + h @ w[k + 4] for k in range(4))
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def cost(args: Any) -> Any:
        X, *rest = args
        start, w = (rest[0], rest[1:]) if name == "tanh RNN" else (tuple(rest[:2]), rest[2:])
        step = rnn_step if name == "tanh RNN" else lstm_step
        return (jax.lax.scan(lambda s, x: step(w, s, x), start, X)[1] ** 2).sum()

    args = [jnp.asarray(v) for v in values]
    start = time.perf_counter()
    compiled = jax.jit(jax.value_and_grad(cost)).lower(args).compile()
    seconds = time.perf_counter() - start

    def call() -> list[Array]:
        value, gradients = compiled(args)
        return [np.asarray(v) for v in jax.block_until_ready((value, *gradients))]

    return call, seconds


def checkpoints(steps: int, every: int, width: int) -> None:
    """The gradient of the last state of a loop, all states kept or one in `every`."""
    h, w = T.dvector("h"), T.dvector("w")
    values = [np.full(width, 0.5), np.linspace(0.5, 1.0, width)]

    def step(s: Any, w: Any) -> Any:
        return T.tanh(s * w) + T.sin(s)

    whole, _ = scanopt.scan(step, None, [h], [w], n_steps=steps)
    rows = []
    plain: tuple[float, float] | None = None
    for title, trace in (
        ("scan", whole),
        (f"every {every}", scanopt.scan_checkpoints(step, None, [h], [w], n_steps=steps, save_every_N=every)[0]),
        ("automatic", scanopt.scan_checkpoints(step, None, [h], [w], n_steps=steps, checkpoint="auto")[0]),
    ):
        f = scanopt.function([h, w], scanopt.grad((trace[-1] ** 2).sum(), [h, w]), example=values)
        f(*values)
        seconds = median(partial(f, *values), 3)
        tracemalloc.start()
        f(*values)
        memory = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        plain = plain or (memory, seconds)
        rows.append([title, f"{memory:.3g}", f"{plain[0] / memory:.2f} x", ms(seconds), f"{seconds / plain[1]:.2f} x"])
    heads = ["kept", "peak MB", "less", "a call", "time"]
    table(f"memory of a gradient: {steps} steps of {width} numbers", heads, rows)


if __name__ == "__main__":
    main()
