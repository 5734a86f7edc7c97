"""Random programs of nested ifelses that share values, one per seed.

Indexing out of range, and whatever is made of it, is only used where conditions hold under which the
index is in range: a program that computes nothing in vain does not raise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T

__all__ = ["Lazy", "arguments", "build"]

LENGTH = 3
Needs = frozenset[tuple[int, bool]]


@dataclass(frozen=True)
class Lazy:
    """A value, and the conditions (by number, true or false) under which it may be computed."""

    value: Any
    needs: Needs = frozenset()


def consistent(needs: Needs) -> bool:
    return not any((c, not side) in needs for c, side in needs)


class Random:
    """Grows vectors, numbers and conditions; everything has the same length."""

    def __init__(self, pick: random.Random) -> None:
        self.pick = pick
        self.x, self.y = T.dvectors("x", "y")
        self.i, self.j, self.n = T.lscalars("i", "j", "n")
        self.a, self.b = T.dscalars("a", "b")
        self.vectors = [Lazy(self.x), Lazy(self.y)]
        self.numbers = [Lazy(self.a), Lazy(self.b), Lazy(T.constant(0.5, dtype="float64"))]
        self.tests = [Lazy(self.i < LENGTH), Lazy(self.j < LENGTH), Lazy(self.a > self.b), Lazy(self.n > 1)]
        self.places = [Lazy(self.x[self.i], frozenset({(0, True)})), Lazy(self.y[self.j], frozenset({(1, True)}))]

    def inside(self, loop: Sequence[Any], non_sequences: Sequence[Lazy]) -> Random:
        """The same generator for the step of a loop.  loop: a row, a state; then the outer vectors."""
        new = Random.__new__(Random)
        row, state, x, y, i, j, a, *held = loop
        new.pick, new.x, new.y, new.i, new.j, new.a, new.b, new.n = self.pick, x, y, i, j, a, row, i
        new.vectors = [Lazy(state), Lazy(x), *(Lazy(h, old.needs) for h, old in zip(held, non_sequences, strict=True))]
        new.numbers = [Lazy(row), Lazy(a)]
        new.tests = [Lazy(i < LENGTH), Lazy(j < LENGTH), Lazy(row > a), Lazy(row > 0.0)]
        new.places = [Lazy(x[i], frozenset({(0, True)})), Lazy(y[j], frozenset({(1, True)}))]
        return new

    def some(self, pool: Sequence[Lazy], needs: Needs = frozenset()) -> Lazy:
        """Something of a pool, most often something new, that can be computed where `needs` hold."""
        found = [v for v in pool if consistent(v.needs | needs)]
        return found[-1 - min(int(self.pick.expovariate(0.4)), len(found) - 1)]

    def number(self, needs: Needs = frozenset()) -> Lazy:
        pool = self.places if self.pick.random() < 0.4 else self.numbers
        return self.some([v for v in pool if consistent(v.needs | needs)] or self.numbers[:2], needs)

    def op(self) -> None:
        v = self.some(self.vectors)
        w, s = self.some(self.vectors, v.needs), self.number(v.needs)
        kind = self.pick.randrange(7)
        if kind < 2:
            made = self.pick.choice([lambda p, q: p * q, lambda p, q: p + q, T.maximum])
            self.vectors.append(Lazy(made(v.value, s.value), v.needs | s.needs))
        elif kind < 4:
            self.vectors.append(Lazy(v.value + w.value * 0.5, v.needs | w.needs))
        elif kind == 4:
            self.vectors.append(Lazy(T.tanh(v.value), v.needs))
        else:
            self.numbers.append(Lazy(self.pick.choice([T.sum, T.max])(v.value), v.needs))

    def test(self) -> None:
        v = self.some(self.numbers)
        w = self.number(v.needs)
        self.tests.append(Lazy(v.value < w.value, v.needs | w.needs))

    def choose(self) -> None:
        """An ifelse whose sides may be computed where its condition, true or false, holds."""
        scalar = self.pick.random() < 0.3
        pool = [*self.numbers, *self.places] if scalar else self.vectors
        c = self.pick.randrange(len(self.tests)) if self.pick.random() < 0.7 else len(self.tests) - 1
        test = self.tests[c]
        sides = []
        for side in (True, False):
            loose = [v for v in pool if (c, True) in v.needs or (c, False) in v.needs]
            known = test.needs | {(c, side)}
            fits = [v for v in loose if consistent(v.needs | known)]
            sides.append(self.some(fits if fits and self.pick.random() < 0.6 else pool, known))
        needs = test.needs | (sides[0].needs - {(c, True)}) | (sides[1].needs - {(c, False)})
        if consistent(needs):
            made = scanopt.ifelse(test.value, sides[0].value, sides[1].value)
            (self.numbers if scalar else self.vectors).append(Lazy(made, needs))

    def loop(self) -> None:
        """A loop over a vector, whose step chooses, too; it runs where all that enters it can be computed."""
        init = self.some(self.vectors)
        held = [self.some(self.vectors, init.needs)]
        if not consistent(needs := init.needs | held[0].needs):
            return
        outer = [self.x, self.y, self.i, self.j, self.a, *(h.value for h in held)]

        def step(row: Any, state: Any, *rest: Any) -> Any:
            inner = self.inside([row, state, *rest], [replace(h, needs=frozenset()) for h in held])
            inner.grow(self.pick.randrange(1, 6), loops=False)
            new, out = inner.free(inner.vectors), inner.free(inner.vectors)
            return [T.tanh(new), out + row]

        sequence = self.y if self.pick.random() < 0.5 else self.x
        (states, outs), _ = scanopt.scan(step, sequence, [init.value, None], outer)
        for trace in (states, outs):
            chance = self.pick.random()
            if chance < 0.45:
                self.vectors.append(Lazy(trace[-1], needs))
            elif chance < 0.8:
                self.vectors.append(Lazy(trace.sum(axis=0), needs))

    def grow(self, count: int, loops: bool = True) -> None:
        for _ in range(count):
            chance = self.pick.random()
            if loops and chance < 0.1:
                self.loop()
            elif chance < 0.2:
                self.test()
            elif chance < 0.6:
                self.choose()
            else:
                self.op()

    def free(self, pool: list[Lazy]) -> Any:
        """The newest value of some that can be computed in any case."""
        return next(v.value for v in reversed(pool) if not v.needs)


def build(seed: int) -> tuple[list[Any], list[Any]]:
    """Inputs and outputs of the program of a seed."""
    made = Random(random.Random(seed))
    made.grow(made.pick.randrange(4, 22))
    free = [v.value for v in [*made.numbers, *made.vectors] if not v.needs]
    outputs = free[-1:] + made.pick.sample(free, min(2, len(free)))
    inputs = [made.x, made.y, made.i, made.j, made.n, made.a, made.b]
    if made.pick.random() < 0.25:
        outputs += T.grad(sum(v.sum() for v in outputs), [made.a, made.x], disconnected_inputs="ignore")
    return inputs, outputs


def arguments(seed: int, count: int) -> list[list[Any]]:
    """Arguments of some calls; places are out of range about every other time."""
    rng = np.random.default_rng(seed)
    calls: list[list[Any]] = []
    for _ in range(count):
        i, j = (int(rng.integers(0, 2 * LENGTH)) for _ in range(2))
        a, b = rng.normal(size=2)
        calls.append([rng.normal(size=LENGTH), rng.normal(size=LENGTH), i, j, int(rng.integers(0, 4)), a, b])
    return calls
