"""The nine documented optimizations, switched off in turn on ten programs: cost, time per call, peak memory.

    python benchmarks/bench_ablation.py                 the table, a minute or two
    python benchmarks/bench_ablation.py --quick         three of them, small sizes, few calls
    python benchmarks/bench_ablation.py --markdown      the page docs/ablation.md

One optimization at a time is left out, all others stay: what another law does just as well shows no loss.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # steadier on few cores

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import models
import numpy as np
from harness import machine

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import standard_laws
from scanopt.lab.ablation import EVERYTHING, Ablation, ablate, measured, ratio
from scanopt.view.amounts import cost_text, number, seconds_text
from scanopt.view.tables import markdown_table, text_table

NINE = (
    "remove_constants_and_unused_inputs", "push_out_non_seq", "push_out_seq", "push_out_output", "push_out_dot1",
    "inplace", "save_mem", "merge", "merge_inouts",
)  # fmt: skip
"""The documented optimizations, by their names."""


@dataclass(frozen=True)
class Case:
    """A program with values; optimizations it is meant to show."""

    name: str
    graph: models.Graph


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="The documented optimizations, switched off in turn.")
    parser.add_argument("--quick", action="store_true", help="few programs, small sizes, few calls")
    parser.add_argument("--markdown", action="store_true", help="print the page docs/ablation.md")
    options = parser.parse_args(arguments)
    some, budget = (cases(0.05)[::4], 0.01) if options.quick else (cases(1.0), 0.3)
    found = {c.name: run(c.graph, budget) for c in some}
    print(page(found) if options.markdown else text(found), end="")


def left_out() -> list[str]:
    """The nine, but for those that there are no laws of; what is written in place is decided by rules of its own."""
    known = {x.ruleset for x in standard_laws()} | {"inplace"}
    return [name for name in NINE if name in known]


def compiled(graph: models.Graph) -> Any:
    """The function of a program."""
    return scanopt.function(graph.inputs, graph.outputs, example=graph.values)


def run(graph: models.Graph, budget: float) -> dict[str, Ablation]:
    """The program with all laws, and without each optimization."""
    laws = [r for r in left_out() if r != "inplace"]
    f = compiled(graph)
    found = {x.without: x for x in ablate(f, laws, budget, time.process_time)}
    return found | {"inplace": measured(f.without("inplace"), "inplace", budget, time.process_time)}


# Programs


def cases(scale: float) -> list[Case]:
    """Ten programs, each of which some of the nine are for."""

    def size(n: int) -> int:
        return max(int(n * scale), 5)

    return [
        Case("A**k", models.power(size(10_000), size(1000))),
        Case("polynomial", models.polynomial(size(10_000))),
        Case("RNN of the documents", models.rnn(size(1000))),
        Case("RNN with an output layer", output_layer(size(300))),
        Case("two loops over one sequence", two_loops(size(1000))),
        Case("sum of outer products", outer_products(size(1000))),
        Case("constants in a loop", constants(size(20))),
        Case("equal states twice", equal_states(size(300))),
        Case("invariant product", invariant_product(size(300))),
        Case("gradient of an RNN", gradient(size(100))),
    ]


def outer_products(steps: int, width: int = 32) -> models.Graph:
    """The last value of a state that adds an outer product at each step."""
    X, Y = T.dmatrices("X", "Y")
    sums, _ = scanopt.scan(lambda x, y, s: s + T.outer(x, y), [X, Y], T.zeros((width, width)))
    return models.Graph([X, Y], [sums[-1]], [normal(steps, width), normal(steps, width)])


def output_layer(steps: int, width: int = 32) -> models.Graph:
    """A network that gives a product of its state at each step, which no later step needs."""
    X, W, V = T.dmatrices("X", "W", "V")

    def step(x: Any, h: Any, W: Any, V: Any) -> Any:
        new = T.tanh(x + T.dot(h, W))
        return [new, T.tanh(T.dot(new, V))]

    (_, y), _ = scanopt.scan(step, X, [T.zeros((width,)), None], [W, V])
    return models.Graph([X, W, V], [y], [normal(steps, width), normal(width, width), normal(width, width)])


def two_loops(steps: int) -> models.Graph:
    """Two loops over the same sequence that share what they compute of it."""
    x = T.dvector("x")
    sums = [scanopt.scan(lambda v, s, k=k: T.tanh(s) * k + T.exp(v), x, [0.0])[0] for k in (0.5, 0.25)]
    return models.Graph([x], sums, [normal(steps)])


def constants(steps: int, width: int = 64) -> models.Graph:
    """A loop that reads a sequence of equal entries and computes with a power of a constant matrix."""
    X = T.dmatrix("X")
    ones, C = T.constant(np.ones(steps)), T.constant(normal(width, width))
    step = lambda x, one, h: T.tanh(x * one + T.dot(h, T.dot(C, T.dot(C, C))))  # noqa: E731
    found, _ = scanopt.scan(step, [X, ones], T.zeros((width,)))
    return models.Graph([X], [found], [normal(steps, width)])


def equal_states(steps: int, width: int = 4000) -> models.Graph:
    """Two states with one update, of long rows, read by two outputs."""
    X, w = T.dmatrix("X"), T.dvector("w")

    def step(x: Any, g: Any, h: Any, w: Any) -> Any:
        return [T.sqrt(abs(x + g * w) + 1.0), T.sqrt(abs(x + h * w) + 1.0)]

    (g, h), _ = scanopt.scan(step, X, [T.zeros((width,)), T.zeros((width,))], [w])
    return models.Graph([X, w], [g[-1] + h[-1]], [normal(steps, width), normal(width)])


def invariant_product(steps: int, width: int = 64) -> models.Graph:
    """A network whose weights are a product of matrices, written inside the step."""
    X, U, V = T.dmatrices("X", "U", "V")
    found, _ = scanopt.scan(lambda x, h, U, V: T.tanh(x + T.dot(h, T.dot(U, V))), X, T.zeros((width,)), [U, V])
    return models.Graph([X, U, V], [found], [normal(steps, width), normal(width, width), normal(width, width)])


def gradient(steps: int, width: int = 16) -> models.Graph:
    """The gradient of a network's sum of squares."""
    X, W = T.dmatrices("X", "W")
    h, _ = scanopt.scan(lambda x, h, W: T.tanh(x + T.dot(h, W)), X, T.zeros((width,)), [W])
    return models.Graph([X, W], [T.grad((h**2).sum(), W)], [normal(steps, width), normal(width, width)])


def normal(*shape: int) -> np.ndarray[Any, Any]:
    """The same numbers in every run."""
    return np.asarray(np.random.default_rng(sum(shape)).standard_normal(shape) / np.sqrt(shape[-1]))


# Tables

Cell = Callable[[Ablation, Ablation], str]
COLUMNS: dict[str, Cell] = {
    "cost": lambda x, whole: ratio(x.cost, whole.cost),
    "time": lambda x, whole: ratio(x.call or 0.0, whole.call),
    "memory": lambda x, whole: ratio(float(x.memory or 0), float(whole.memory or 0)),
}


def rows(found: dict[str, dict[str, Ablation]], what: str) -> list[list[str]]:
    """Per program what it is with all laws, and how many times more without each optimization."""
    show: dict[str, Callable[[Ablation], str]] = {
        "cost": lambda x: cost_text(x.cost, "ns"),
        "time": lambda x: seconds_text(x.call or 0.0),
        "memory": lambda x: f"{number((x.memory or 0) / 1024)} KiB",
    }
    return [
        [name, show[what](cases_[EVERYTHING]), *(COLUMNS[what](cases_[r], cases_[EVERYTHING]) for r in left_out())]
        for name, cases_ in found.items()
    ]


TITLES = {"cost": "Cost by the cost model", "time": "Time per call", "memory": "Peak memory of a call"}


def text(found: dict[str, dict[str, Ablation]]) -> str:
    """All three tables for a terminal."""
    out = [f"bench_ablation: {machine()}"]
    for what, title in TITLES.items():
        heads = ["program", "all laws", *(short(r) for r in left_out())]
        out.append(
            f"\n{title}: with all laws, and how many times more without each\n\n{text_table(heads, rows(found, what))}"
        )
    return "\n".join(out) + "\n"


def short(name: str) -> str:
    """A name that fits over a column."""
    return name.removesuffix("_and_unused_inputs")


def page(found: dict[str, dict[str, Ablation]]) -> str:
    """The page docs/ablation.md."""
    parts = [
        "# Ablation\n\nMade by `python benchmarks/bench_ablation.py --markdown`; do not edit.  Ten programs, with\n"
        "one of the documented optimizations switched off at a time and all others left on: if another law does\n"
        "the same, nothing is lost.  The first column has the value with all laws; the others say how many times as\n"
        "large it is without one.  Times are processor times of one thread, the least of five batches; memory is the\n"
        "peak of NumPy's arrays without the arguments.  The programs are in `benchmarks/bench_ablation.py`.\n\n"
        f"{machine()}.\n"
    ]
    for what, title in TITLES.items():
        heads = ["program", "all laws", *(f"`{short(r)}`" for r in left_out())]
        parts.append(f"## {title}\n\n{markdown_table(heads, rows(found, what))}\n")
    parts.append(
        "`inplace` is not a law: once the program is chosen, rules decide which results are written over arguments\n"
        "that nothing reads any more.  The cost model does not count this, so the cost is the same.\n"
    )
    parts.append(worth(found))
    return "\n".join(parts)


def worth(found: dict[str, dict[str, Ablation]]) -> str:
    """Which optimization matters most where: by cost, and in place by memory, which the cost model does not see."""
    lines = ["## Where each matters most\n"]
    for r in left_out():
        what = "memory" if r == "inplace" else "cost"
        ratios = {name: share(x[r], x[EVERYTHING], what) for name, x in found.items()}
        best = max(ratios, key=lambda name: ratios[name])
        shown = f"{best}, {ratios[best]:.2f} times the {what} without it"
        lines.append(f"- `{r}`: {shown if ratios[best] > 1.005 else 'no program is worse without it'}")
    return "\n".join(lines) + "\n"


def share(x: Ablation, whole: Ablation, what: str) -> float:
    """How many times more cost or memory."""
    return x.cost / whole.cost if what == "cost" else (x.memory or 0) / (whole.memory or 1)


if __name__ == "__main__":
    main()
