"""Random values for the variables of patterns: inputs, constants, entries of sequences, operators."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from scanopt import tensor as T
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable
from scanopt.loops.checks_and_prints import check

__all__ = ["Leaves"]

_INPUTS = {
    "x": ("float64", 1), "y": ("float64", 1), "X": ("float64", 2), "Y": ("float64", 2), "a": ("float64", 0),
    "b": ("float64", 0), "k": ("int64", 0), "n": ("int64", 0), "p": ("int64", 1), "q": ("int64", 1), "m": ("bool", 1),
}  # fmt: skip

_UNARY: tuple[Callable[[Any], Any], ...] = (
    T.exp, T.neg, abs, T.tanh, T.floor, T.sqrt, lambda x: T.arange(T.cast(abs(x).sum(), "int64")).sum(),
    lambda x: T.cast(x, "float32"), lambda x: T.cast(x, "int64"), lambda x: x.sum(), T.isnan,
)  # fmt: skip
_BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    T.add, T.sub, T.mul, T.maximum, T.minimum, T.power, T.true_div, T.dot, T.lt, T.eq,
    lambda x, i: T.stack([x, x])[T.cast(i, "int64").sum()], T.add, T.mul, T.sub, T.maximum,
)  # fmt: skip
_TERNARY: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda c, x, y: T.where(c > 0, x, y), T.clip, lambda c, x, y: T.ifelse(T.gt(c.sum(), 0), x, y),
)  # fmt: skip


class Leaves:
    """Draws from the inputs of a program and from constants, most of them of one dtype."""

    def __init__(self, rng: random.Random, given: Sequence[Any]) -> None:
        self._rng = rng
        self._given = dict(zip(_INPUTS, given, strict=True))
        self._theme = rng.choice(("float64", "float64", "float64", "int64", "bool", "float32", ""))

    @staticmethod
    def inputs() -> list[Variable]:
        """Fresh inputs."""
        return [Variable(TensorType(d, (None,) * n), name) for name, (d, n) in _INPUTS.items()]

    def outside(self) -> Any:
        """A value outside all loops."""
        rng = self._rng
        if rng.random() < 0.2:
            return T.constant(rng.choice((0.0, 1.0, 0, 1, True, False, -0.0, 2)))
        name = rng.choice("xyabXYxyab" if self._float else "pqkmpq")
        made = self._cast(self._given[name])
        if rng.random() < 0.15:
            return rng.choice((T.zeros_like, T.ones_like, T.neg))(made) if made.dtype != "bool" else made
        return made

    def checked(self, x: Any) -> Any:
        """The value, checked: an error where entries of the bool vector are false."""
        return check(self._given["m"], "not so", x)

    def scalar(self) -> Any:
        """A value outside all loops, without axes."""
        return self._cast(self._given[self._rng.choice("ab" if self._float else "kn")])

    def number(self) -> Any:
        """A number of steps."""
        return self._given["n"]

    def entries(self, count: int) -> list[Any]:
        """Arrays whose rows loops read."""
        names = "xxyX" if self._float else "pppqm"
        return [self._cast(self._given[name]) for name in self._rng.choices(names, k=count)]

    def rows(self, count: int) -> Any:
        """First values of a state."""
        x = self.scalar()
        if self._rng.random() < 0.15:
            x = self._cast(self._given["x" if self._float else "p"])
        return T.stack([T.cast(x + j if x.dtype != "bool" else x, x.dtype) for j in range(count)])

    def start(self) -> Any:
        """The first value of a state that no pattern names."""
        return self.scalar()

    def operator(self, count: int) -> Callable[..., Any]:
        """An operator of `count` arguments."""
        known: dict[int, tuple[Callable[..., Any], ...]] = {1: _UNARY, 2: _BINARY, 3: _TERNARY}
        return self._rng.choice(known[count])

    @property
    def _float(self) -> bool:
        return self._theme in ("float64", "float32") or (not self._theme and self._rng.random() < 0.5)

    def _cast(self, x: Any) -> Any:
        if self._theme == "" or x.dtype == self._theme or (self._theme == "bool" and self._rng.random() < 0.5):
            return x
        return T.cast(x, self._theme) if self._theme == "float32" else T.gt(x, 0) if self._theme == "bool" else x
