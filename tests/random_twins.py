"""Random loops with states that are equal at every step, some of them spoilt: what coinduction has to find.

A system is some groups of states.  All states of a group start alike and change alike, but where a change
reads a group, each state reads a member of its own choice, and operands stand either way round.  A system
runs in one loop or in several, each with members of every group.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from scanopt.array.types import TensorType

__all__ = ["SPOILS", "Twins", "twins"]

SPOILS = ("init", "change", "tap", "until")
"""What may be wrong with one state, or with one loop."""

Tree = tuple[Any, ...]
Read = Callable[[int, int], Any]


@dataclass(frozen=True)
class Twins:
    """A program, values for its inputs, the number of groups, and what is spoilt ("" for nothing)."""

    inputs: list[Any]
    outputs: list[Any]
    values: list[Any]
    groups: int
    spoilt: str


@dataclass(frozen=True)
class _Group:
    """States that are alike: how many steps they look back, what they start from, what they become."""

    depth: int
    start: float
    tree: Tree


def twins(seed: int, spoilt: str = "", nested: bool = False) -> Twins:
    """The program of a seed."""
    rng = random.Random(seed)
    dtype = rng.choice(("float64", "float64", "float32", "int64"))
    shape = rng.choice(((), (None,), (3,)))
    x, a = TensorType(dtype, (None, *shape))("x"), TensorType(dtype, shape)("a")
    steps, here = rng.choice((0, 1, 2, 5, 6)), tuple(3 for _ in shape)
    numbers = np.random.default_rng(seed)
    values = [np.asarray(numbers.uniform(-2, 3, s).astype(dtype)) for s in ((steps, *here), here)]
    depths = [rng.choice((1, 1, 2, 3)) for _ in range(rng.choice((1, 2, 2, 3)))]
    groups = [_Group(d, rng.choice((0, 1, 2)), _tree(rng, depths, dtype, 3)) for d in depths]
    system = _System(rng, groups, dtype, a, rng.random() < 0.4 or spoilt == "until")
    many = rng.choice((1, 2, 3)) if spoilt != "until" else 2

    def loops(x: Any) -> list[Any]:
        return [trace for n in range(many) for trace in system.loop(x, spoilt if n == many - 1 else "")]

    if not nested:
        return Twins([x, a], loops(x), values, len(groups), spoilt)
    rows = T.stack([x, x + x, x])
    whole = scanopt.map(lambda row: [trace.sum(axis=0) for trace in loops(row)], rows)[0]
    return Twins([x, a], list(whole) if isinstance(whole, list | tuple) else [whole], values, len(groups), spoilt)


def _tree(rng: random.Random, depths: list[int], dtype: str, height: int) -> Tree:
    """What a state becomes, of reads of groups, of the sequence and of numbers."""
    if height == 0 or rng.random() < 0.15:
        group = rng.randrange(len(depths))
        leaves: list[Tree] = [("read", group, rng.randint(1, depths[group]))] * 3
        return rng.choice([*leaves, ("entry",), ("number", rng.choice((1, 2, 3)))])
    if height == 3 and dtype != "int64":
        return ("tanh", _tree(rng, depths, dtype, 2))
    kind = rng.choice(("add", "add", "multiply", "maximum", "subtract"))
    return (kind, _tree(rng, depths, dtype, height - 1), _tree(rng, depths, dtype, height - 1))


class _System:
    """Groups of states, to be run in loops."""

    def __init__(self, rng: random.Random, groups: list[_Group], dtype: str, a: Any, end: bool) -> None:
        self._rng = rng
        self._groups = groups
        self._dtype = dtype
        self._a = a
        self._end = end

    def loop(self, x: Any, spoilt: str) -> list[Any]:
        """The traces of all states of one loop; of the last of them something may be spoilt."""
        rng = self._rng
        members = [n for n in range(len(self._groups)) for _ in range(rng.choice((1, 2, 2, 3)))]
        rng.shuffle(members)
        odd = len(members) - 1 if spoilt else -1
        starts = [self._start(self._groups[n], spoilt == "init" and i == odd) for i, n in enumerate(members)]
        seed = rng.random()

        def step(v: Any, *taps: Any) -> Any:
            rest, read, rng = list(taps), [], random.Random(seed)
            for n in members:
                read.append(rest[: self._groups[n].depth])
                rest = rest[self._groups[n].depth :]

            def one(group: int, tap: int) -> Any:
                return read[rng.choice([i for i, n in enumerate(members) if n == group])][-tap]

            def other(group: int, tap: int) -> Any:
                return one(group, tap % self._groups[group].depth + 1)

            new = []
            for i, n in enumerate(members):
                value = self._value(self._groups[n].tree, other if spoilt == "tap" and i == odd else one, v)
                new.append(value + self._number(1) if spoilt == "change" and i == odd else value)
            if not self._end:
                return new
            end = new[members.index(0)].sum() > self._number(4 if spoilt != "until" else 3)
            return new, scanopt.until(end)

        return list(scanopt.scan(step, x, starts, return_list=True)[0])

    def _number(self, k: float) -> Any:
        return T.constant(k, dtype=self._dtype)

    def _start(self, group: _Group, odd: bool) -> Any:
        rows = [
            self._swapped("multiply", self._a, self._number(group.start + n)) + self._number(odd)
            for n in range(group.depth)
        ]
        if group.depth == 1:
            return rows[0]
        return dict(initial=T.stack(rows), taps=list(range(-group.depth, 0)))

    def _swapped(self, kind: str, x: Any, y: Any) -> Any:
        function = {"add": T.add, "multiply": T.mul, "maximum": T.maximum, "subtract": T.sub}[kind]
        # maximum(0.0, -0.0) is the one or the other.
        swaps = kind in ("add", "multiply") or (kind == "maximum" and self._dtype == "int64")
        return function(y, x) if swaps and self._rng.random() < 0.5 else function(x, y)

    def _value(self, tree: Tree, read: Read, v: Any) -> Any:
        kind, *rest = tree
        if kind == "read":
            return read(*rest)
        if kind == "entry":
            return v
        if kind == "number":
            return v * 0 + self._number(rest[0]) if self._dtype == "int64" else T.full_like(v, rest[0])
        args = [self._value(t, read, v) for t in rest]
        return T.tanh(args[0]) if kind == "tanh" else self._swapped(kind, *args)
