"""Random loops of recurrences that have closed forms, one program per seed.

Each has a few states of known classes, in one loop, over sequences, invariants, other states and each
other's values; what is read of them differs, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Variable

__all__ = ["Recurrences", "generate"]

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
Step = Callable[[Any, Callable[..., Any], Rng], Any]
"""From the state before (or two of them) and a source of other values what the state becomes."""

SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan]


@dataclass
class Recurrences:
    """A program with values for its inputs."""

    classes: list[str] = field(default_factory=list[str])
    inputs: dict[Variable, Array] = field(default_factory=dict[Variable, Array])
    outputs: list[Variable] = field(default_factory=list[Variable])
    steps: int = 0


def _either(rng: Rng, f: Callable[[Any, Any], Any], s: Any, x: Any) -> Any:
    return f(s, x) if rng.random() < 0.5 else f(x, s)


def _where(rng: Rng, m: Any, a: Any, b: Any) -> Any:
    return T.where(m, a, b) if rng.random() < 0.5 else T.where(~m, b, a)


FLOATS: dict[str, Step] = {
    "sum": lambda s, x, r: _either(r, T.add, s, x()),
    "sum of several": lambda s, x, r: (s + x()) + x() if r.random() < 0.5 else (x() + s) - x(),
    "difference": lambda s, x, r: s - x(),
    "product": lambda s, x, r: _either(r, T.mul, s, x()),
    "quotient": lambda s, x, r: s / x(),
    "maximum": lambda s, x, r: _either(r, T.maximum, s, x()),
    "minimum": lambda s, x, r: T.minimum(s, x()),
    "log of sums": lambda s, x, r: T.logaddexp(s, x()),
    "power": lambda s, x, r: s * x("held"),
    "counter": lambda s, x, r: s + x("held"),
    "filter": lambda s, x, r: _either(r, T.add, s * 0.5, x()),
    "filter by an input": lambda s, x, r: x() - _either(r, T.mul, s, x("held scalar")),
    "affine": lambda s, x, r: x("held scalar") * s + x("held"),
    "linear": lambda s, x, r: _either(r, T.mul, s, x()) + x(),
    "smoothing": lambda s, x, r: s + x("held scalar") * (x() - s),
    "sum from below": lambda s, x, r: _either(r, T.maximum, s + x(), 0.0),
    "sum from above": lambda s, x, r: T.minimum(s - x(), x("held")),
    "clipped": lambda s, x, r: (
        T.clip(s + x(), -0.5, 0.75) if r.random() < 0.5 else T.minimum(T.maximum(s + x(), -1), 1)
    ),
    "held value": lambda s, x, r: _where(r, x("mask"), x(), s),
    "restarted": lambda s, x, r: _where(r, x("mask"), x(), s + x()),
    "reset": lambda s, x, r: T.where(x("mask"), 0.0, s) + x(),
    "unlike": lambda s, x, r: T.tanh(s + x()),
}
INTEGERS: dict[str, Step] = {
    k: FLOATS[k]
    for k in ("sum", "sum of several", "difference", "product", "maximum", "minimum", "power", "counter", "linear",
              "held value", "restarted")
} | {
    "and": lambda s, x, r: s & x(),
    "xor": lambda s, x, r: _either(r, lambda a, b: a ^ b, s, x()),
}  # fmt: skip
PAIRS: dict[str, Step] = {"filter of second order": lambda s, x, r: (_either(r, T.add, s[1] * 0.5, 0.3 * s[0])) + x()}


class _Generator:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.made = Recurrences()
        rng = self.rng
        self.dtype = str(rng.choice(["float64", "float64", "float32", "int64"]))
        self.row: tuple[int, ...] = [(), (), (3,), (2, 3)][int(rng.integers(4))]
        self.n = self.made.steps = int(rng.choice([0, 1, 2, 5, 9, 30]))
        self.special = float(rng.choice([0, 0, 0.1]))
        self.rows = [self._input((self.n, *self._narrow())) for _ in range(3)]
        self.masks = [self._input((self.n, *self._narrow()), "bool") for _ in range(2)]
        self.held = [self._input(self._narrow()) for _ in range(2)]
        self.scalars = [self._input(()) for _ in range(2)]

    def _narrow(self) -> tuple[int, ...]:
        return self.row if self.rng.random() < 0.7 else ()

    def _input(self, shape: tuple[int, ...], dtype: str | None = None) -> Variable:
        rng, dtype = self.rng, dtype or self.dtype
        x = T.TensorType(dtype, (None,) * len(shape))(f"v{len(self.made.inputs)}")
        if dtype == "bool":
            value = np.asarray(rng.random(shape) < 0.4)
        elif dtype == "int64":
            value = rng.integers(-3, 4, shape)
        else:
            value = rng.uniform(-1, 1, shape)
            value = np.where(rng.random(shape) < self.special, rng.choice(np.array(SPECIAL), shape), value)
        self.made.inputs[x] = np.asarray(value, dtype)
        return x

    def run(self) -> Recurrences:
        rng = self.rng
        classes = dict(INTEGERS if self.dtype == "int64" else FLOATS | PAIRS)
        chosen = [str(rng.choice(list(classes))) for _ in range(int(rng.choice([1, 1, 2, 3])))]
        self.made.classes = chosen
        infos: list[Any] = []
        for name in chosen:
            start = self._input((2, *self.row) if name in PAIRS else self.row)
            infos.append(dict(initial=start, taps=[-2, -1]) if name in PAIRS else start)

        def step(*args: Any) -> Any:
            return self._step([classes[k] for k in chosen], [2 if k in PAIRS else 1 for k in chosen], list(args))

        backwards = bool(rng.random() < 0.2)
        traces, _ = scanopt.scan(
            step,
            [*self.rows, *self.masks],
            infos,
            [*self.held, *self.scalars],
            go_backwards=backwards,
            return_list=True,
        )  # type: ignore[call-overload]
        self.made.outputs = [self._read(x) for x in traces]
        return self.made

    def _step(self, classes: list[Step], taps: list[int], args: list[Any]) -> list[Any]:
        rng = self.rng
        rows, masks, args = args[:3], args[3:5], args[5:]
        states = [args.pop(0) if k == 1 else (args.pop(0), args.pop(0)) for k in taps]
        held, scalars = args[:2], args[2:]
        new: list[Any] = []

        def source(kind: str = "") -> Any:
            if kind == "mask":
                return masks[int(rng.integers(2))]
            if kind == "held scalar":
                return scalars[int(rng.integers(2))]
            if kind == "held" or rng.random() < 0.1:
                return held[int(rng.integers(2))]
            if new and rng.random() < 0.3:
                return new[int(rng.integers(len(new)))]
            x = rows[int(rng.integers(3))]
            return T.maximum(x * x, x) if rng.random() < 0.2 else x

        for f, s in zip(classes, states, strict=True):
            new.append(f(s, source, rng))
        return new

    def _read(self, x: Any) -> Any:
        ways = [lambda: x, lambda: x[-2:], lambda: x.sum(axis=0), lambda: x[::-1]]
        if self.n:
            ways += [lambda: x[-1]] * 3 + [lambda: x[0], lambda: x[self.n // 2]]
        found: Any = ways[int(self.rng.integers(len(ways)))]()
        return found


def generate(seed: int) -> Recurrences:
    """The program of a seed."""
    return _Generator(seed).run()
