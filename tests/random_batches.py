"""Random loops over batches: their steps multiply rows of a batch by weights, among operations on elements."""

from dataclasses import replace
from typing import Any

import numpy as np
from random_lanes import RandomLanes

from scanopt.program.ir import Program

Array = np.ndarray[Any, Any]


class RandomBatches(RandomLanes):
    """One loop over a batch, and values for what it reads."""

    def __init__(self, seed: int, batch: int) -> None:
        super().__init__(seed, batch)
        self.dtypes = self.pick.choice((["float32"], ["float64"], ["float32", "float64"]))
        self.width = self.pick.choice((2, 3, 7, 16, 19, 40))
        self.weights: list[str] = []

    def input(self, shape: tuple[int, ...], dtype: str) -> str:
        if not self.weights:
            self.weights = ["being made"]
            self.weights = [self.input((self.width, self.width), self.dtypes[0]) for _ in range(2)]
        return super().input(shape, dtype)

    def crooked(self, x: Array) -> Array:
        return super().crooked(x) if self.pick.random() < 0.2 else x

    def shape(self) -> tuple[int, ...]:
        n, k = self.lanes, self.width
        return self.pick.choice(((n, k), (n, k), (n, k), (n, 1), (k,), (), (n, k, k)))

    def grow(self, known: list[str]) -> list[str]:
        made = self.attempt(lambda: self.product(known)) if self.pick.random() < 0.5 else ""
        return [made] if made else super().grow(known)

    def product(self, known: list[str]) -> str:
        """A product of a batch and weights, of stacks, or with a turned factor."""
        x, w = self.pick.choice(known[-6:]), self.pick.choice(self.weights)
        kind = self.pick.random()
        if kind < 0.2:
            return self.make("matmul", x, self.pick.choice(known[-6:]))
        if kind < 0.4:
            w = self.make("transpose", w, axes=(1, 0))
        if self.shapes[x] not in ((self.lanes, self.width), (self.width,)):
            raise ValueError("not a batch of rows")
        return self.make("dot", x, w)


def random_batches(seed: int, batch: int) -> tuple[Program, list[Array]]:
    """A program, and arguments for it.  It is exact: others may round x @ x.T as the executor does."""
    made = RandomBatches(seed, batch)
    return replace(made.program(), exact=True), made.values
