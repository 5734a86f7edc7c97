"""Random loop programs, with branches and nested loops, run as a plain evaluation of them would."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Builder, run
from shares import tries

from scanopt.program.check import inferred
from scanopt.program.ir import Program
from scanopt.program.serial import from_json, to_json

LENGTH, ROWS = 3, 5  # of vectors, and of sequences


class Random:
    """A random program: states, sequences, views, in-place candidates, branches, nested loops."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.b = Builder()
        known = self.pick.random() < 0.5
        self.m = LENGTH if known else None
        b = self.b
        self.vectors = [b.input("a", self.m), b.input("b", self.m)]
        self.inits = [b.input(f"i{d}", d, self.m) for d in (1, 2, 3)]
        self.sequence = b.input("X", None, self.m)
        self.places = b.input("J", None, dtype="int64")
        self.numbers = [b.input("s"), b.const(np.float64(0.25))]
        self.place = b.input("j", dtype="int64")
        self.steps = [b.input("n", dtype="int64"), b.const(np.int64(2))]
        self.end = b.const(np.int64(LENGTH))

    def op(self, vectors: list[str], numbers: list[str]) -> None:
        pick, b = self.pick, self.b
        x, y = pick.choice(vectors), pick.choice(vectors)
        make: list[Callable[[], str]] = [
            lambda: b(pick.choice(["add", "multiply", "subtract", "maximum"]), x, y),
            lambda: b(pick.choice(["add", "multiply"]), x, pick.choice(numbers)),
            lambda: b(pick.choice(["tanh", "negative", "cos"]), x),
            lambda: b.at(x, ("slice", None, None, -1)),
            lambda: b("setitem", x, pick.choice(numbers), index=(1,), mode="set"),
            lambda: b("where", b("less", x, y), x, y),
            lambda: b("sum", b("stack", x, y, axis=0), axis=(0,), keepdims=False),
            lambda: b("transpose", x, axes=(0,)),
            lambda: b("cumsum", x, axis=0),
        ]
        if pick.random() < 0.25:
            one = b.at(x, 1) if pick.random() < 0.5 else b("tanh", b("add", *pick.choices(numbers, k=2)))
            numbers.append(one)
        else:
            vectors.append(pick.choice(make)())

    # Branches

    def branch(self, vectors: list[str], numbers: list[str], place: str, depth: int) -> None:
        """Writes a branch; depth: of loops and branches around it."""
        pick, b, kind = self.pick, self.b, self.pick.random()
        if kind < 0.2:  # one side would raise where the other one is taken
            x, fits = pick.choice(vectors), b("less", place, self.end)
            inside, outside = (lambda: b.at(x, "in", inputs=(place,))), (lambda: pick.choice(numbers))
            numbers.append(b.branch(fits, inside, outside))
        elif kind < 0.35:  # a length that differs
            x, y = pick.choices(vectors, k=2)
            cut = b.branch(
                self.condition(numbers, place), lambda: b.at(b("cos", x), ("slice", 1, None, None)), lambda: y
            )
            numbers.append(b("sum", b("multiply", cut, cut), axis=(0,), keepdims=False))
        elif kind < 0.5:
            sides = [self.side(vectors, numbers, place, depth, numbers=True) for _ in range(2)]
            numbers.append(b.branch(self.condition(numbers, place), *sides))
        elif kind < 0.8:
            sides = [self.side(vectors, numbers, place, depth) for _ in range(2)]
            vectors.append(b.branch(self.condition(numbers, place), *sides))
        else:  # several values
            pairs = [self.pair(self.side(vectors, numbers, place, depth), vectors) for _ in range(2)]
            vectors += b.branches(self.condition(numbers, place), *pairs)

    def pair(self, side: Callable[[], str], vectors: list[str]) -> Callable[[], list[str]]:
        """The value of a side, and a view of it or another vector, in either order."""

        def write() -> list[str]:
            value = side()
            other = (
                self.b.at(value, ("slice", None, None, -1)) if self.pick.random() < 0.5 else self.pick.choice(vectors)
            )
            return self.pick.sample([value, other], 2)

        return write

    def condition(self, numbers: list[str], place: str) -> str:
        two = (place, self.b.const(np.int64(2))) if self.pick.random() < 0.5 else self.pick.choices(numbers, k=2)
        return self.b("less", *two)

    def side(
        self, vectors: list[str], scalars: list[str], place: str, depth: int, numbers: bool = False
    ) -> Callable[[], str]:
        def write() -> str:
            pick, inside, more = self.pick, list(vectors), list(scalars)
            for _ in range(pick.choice((0, 0, 1, 2, 4))):
                self.grow(inside, more, place, depth + 1)
            return pick.choice(
                more
                if numbers
                else inside[len(vectors) :]
                if pick.random() < 0.4 and len(inside) > len(vectors)
                else inside
            )

        return write

    # Loops

    def grow(self, vectors: list[str], numbers: list[str], place: str, depth: int) -> None:
        """Writes an operator, a branch or a loop."""
        chance = self.pick.random()
        if depth < 4 and chance < 0.25:
            self.branch(vectors, numbers, place, depth)
        elif depth < 3 and chance < 0.32:
            vectors += self.rows(self.loop(vectors, numbers, place, depth + 1))
        else:
            self.op(vectors, numbers)

    def loop(self, vectors: list[str], numbers: list[str], place: str, depth: int) -> list[str]:
        """Writes a loop; the names of the arrays it keeps, by row."""
        pick, b = self.pick, self.b
        inits = list(self.inits)
        if depth:  # initial rows that are values of the outer step
            inits[0] = b("expand_dims", pick.choice(vectors), axis=(0,))
        if pick.random() < 0.5:  # initial rows that may be overwritten, unless read again
            inits = [b("negative", x) for x in inits]
        if pick.random() < 0.1:
            vectors.append(b.at(inits[0], 0))
        with b.loop(pick.choice(self.steps)) as loop:
            inside, scalars = list(vectors), list(numbers)
            inside.append(loop.read(self.sequence))
            if pick.random() < 0.7:
                place = loop.read(self.places)
            for _ in range(pick.randrange(4)):
                d = pick.choice((1, 2, 3))
                inside += loop.state(inits[d - 1], tuple(sorted({pick.randint(1, d), d})))
            first = len(vectors)
            for _ in range(pick.randrange(1, 7)):
                self.grow(inside, scalars, place, depth)
            for i in range(len(loop.states)):
                near = dict(loop.states[i].taps)[loop.states[i].depth]
                chance = pick.random()
                if chance < 0.3:
                    new = b(pick.choice(["add", "multiply"]), near, pick.choice(inside[: first + 1]))
                elif chance < 0.5:  # a step now and then
                    sides = [lambda near=near: near, self.side([*inside, near], scalars, place, depth)]
                    new = b.branch(self.condition(scalars, place), *pick.sample(sides, 2))
                else:
                    new = pick.choice(inside[first:] if pick.random() < 0.8 else inside)
                loop.update(i, new)
            if pick.random() < 0.2:
                loop.until = b("less", *pick.choices(scalars, k=2))
            kept = [loop.keep(pick.choice(inside), pick.choice((None, 1, 1, 2))) for _ in range(2)]
            kept += [loop.keep(pick.choice([s.update for s in loop.states] or inside), pick.choice((None, 1)))]
        return kept

    def rows(self, kept: list[str]) -> list[str]:
        return [self.b.at(k, -1) for k in kept]

    def program(self) -> Program:
        kept = self.loop(self.vectors, self.numbers, self.place, 0)
        vectors, numbers = [*self.vectors, *self.rows(kept)], list(self.numbers)
        for _ in range(self.pick.randrange(3)):
            self.grow(vectors, numbers, self.place, 1)
        more = self.loop(vectors, numbers, self.place, 0)
        if self.pick.random() < 0.5:
            self.branch(vectors, numbers, self.place, 1)
        return self.b.program(*kept, *more, *self.rows(kept), vectors[-1], numbers[-1])


def arguments(program: Program, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    values: list[Any] = []
    for x in program.inputs:
        rows = {"X": ROWS, "J": ROWS}.get(x.label, LENGTH)
        shape = [rows if i == 0 and n is None else LENGTH if n is None else n for i, n in enumerate(x.type.shape)]
        whole = rng.integers(1 if x.label == "n" else 0, ROWS + 1, shape or None)
        values.append(whole if x.type.dtype == "int64" else rng.normal(size=shape))
    return values


@settings(max_examples=tries(200), deadline=None)
@given(st.integers(0, 2**32))
def test_random_programs(seed: int) -> None:
    program = Random(seed).program()
    run(program, *arguments(program, seed))
    assert from_json(to_json(program)).steps == inferred(program).steps
