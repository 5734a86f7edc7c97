"""Random loops over lanes: most of what they compute is independent along one axis, which all their results have."""

from dataclasses import replace
from typing import Any

import numpy as np
from random_kernels import DTYPES, KEPT, TAPS, RandomLoop

from scanopt.program.ir import Program

Array = np.ndarray[Any, Any]


class RandomLanes(RandomLoop):
    """One loop over lanes, or two, and values for what they read."""

    def __init__(self, seed: int, lanes: int) -> None:
        super().__init__(seed, DTYPES)
        self.lanes = lanes
        self.steps = self.pick.choice((1, 2, 3, 9))

    def shape(self) -> tuple[int, ...]:
        n = self.lanes
        return self.pick.choice(((n,), (n,), (n,), (), (n, 3), (2, n), (1,), (n, 1)))

    def program(self) -> Program:
        b, pick, n = self.b, self.pick, self.lanes
        count = b.input("n", dtype="int64")
        self.values.append(np.asarray(self.steps))
        self.row = self.input((n,), "bool")
        self.column = self.make("expand_dims", self.row, axis=(1,))
        held = [self.input(self.shape(), pick.choice(self.dtypes)) for _ in range(3)]
        sources = [self.input((self.steps + pick.randrange(2), *self.shape()), pick.choice(self.dtypes))
                   for _ in range(pick.randrange(3))]  # fmt: skip
        places = b.input("J", None, dtype="int64")
        self.values.append(self.rng.integers(-1, 1, self.steps))
        inits = [(taps, self.input((max(taps), *self.shape()), pick.choice(self.dtypes)))
                 for taps in pick.choices(TAPS, k=pick.randrange(1, 4))]  # fmt: skip
        if pick.random() < 0.5:
            held += self.grow(held) + self.grow(held)
        with b.loop(count) as loop:
            known = [*held, *self.entered(loop, sources, places, inits)]
            for _ in range(pick.randrange(1, 12)):
                known += self.grow(known)
            for i, (_, init) in enumerate(inits):
                loop.update(i, self.fitted(pick.choice(known), init, loop.states[i].taps[0][1]))
            marked = [self.attempt(lambda x=x: self.marked(x)) for x in known if n in self.shapes[x][-2:]]
            kept = [loop.keep(x, pick.choice(KEPT)) for x in marked[-4:] if x]
        outs = list(dict.fromkeys(kept))
        return replace(b.program(*outs), exact=pick.random() < 0.6)

    def grow(self, known: list[str]) -> list[str]:
        """Mostly operations on elements: others make lanes depend on one another."""
        if self.pick.random() < 0.3 and hasattr(self, "place"):
            return super().grow(known)
        x, y = self.pick.choices(known[-8:], k=2)
        name = self.attempt(lambda: self.ufunc(x, y))
        return [name] if name else []

    def marked(self, x: str) -> str:
        """The same value, its lanes those of the marks."""
        return self.make("where", self.row if self.shapes[x][-1] == self.lanes else self.column, x, x)


def random_lanes(seed: int, lanes: int) -> tuple[Program, list[Array]]:
    """A program and arguments for it."""
    made = RandomLanes(seed, lanes)
    return made.program(), made.values
