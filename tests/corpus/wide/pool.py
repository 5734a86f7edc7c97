"""Names that a program may use at one place, each with an example of its value, and the statements made so far."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corpus.plain import UnknownError, evaluate
from corpus.pool import Names
from corpus.spec import Line, Loop, Statement, used

__all__ = ["COMPLEX", "DTYPES", "FLOATS", "INTS", "SIGNED", "UNSIGNED", "Made", "Pool", "Value"]

Array = np.ndarray[Any, Any]

SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
INTS, FLOATS, COMPLEX = (*SIGNED, *UNSIGNED), ("float16", "float32", "float64"), ("complex64", "complex128")
DTYPES = ("bool", *INTS, *FLOATS, *COMPLEX)

LARGEST = 200
"""No array of a program has more entries."""


@dataclass(frozen=True, eq=False)
class Value:
    """A name and an example of what it stands for.

    risky: computing it may raise, or its shape may vary.  varies: it differs from step to step.
    """

    name: str
    example: Array
    risky: bool = False
    varies: bool = False

    @property
    def dtype(self) -> str:
        return str(self.example.dtype)

    @property
    def kind(self) -> str:
        return self.example.dtype.kind

    @property
    def shape(self) -> tuple[int, ...]:
        return self.example.shape

    @property
    def ndim(self) -> int:
        return self.example.ndim


@dataclass(frozen=True)
class Made:
    """The text of a line.  safe: one of the same dtype and number of axes that never raises, where `text` may."""

    text: str
    safe: str | None = None


@dataclass
class Pool:
    """One scope: the top of the program or the body of a step.

    fits: lengths that go well together.  dtypes: those that this program is about.  smooth: only smooth operators on
    floats, of the dtypes `floats`.  idle: nothing here is known to run, so that operators may as well be wrong.
    streams: random numbers may be drawn.  by_layout: it is about how arrays lie in memory.  more: further operators,
    used most.  favours: how much more often than others this program has some operators.  lost: results that raised
    when they were made, so that nothing reads them.
    """

    rng: random.Random
    names: Names
    fits: tuple[int, int]
    dtypes: tuple[str, ...]
    smooth: bool = False
    idle: bool = False
    streams: bool = False
    by_layout: bool = False
    floats: tuple[str, ...] = FLOATS
    more: Mapping[Callable[[Pool], Made | None], int] = field(default_factory=dict[Any, int])
    favours: dict[Any, float] = field(default_factory=dict[Any, float])
    parent: Pool | None = None
    values: list[Value] = field(default_factory=list[Value])
    statements: list[Statement] = field(default_factory=list[Statement])
    updates: list[str] = field(default_factory=list[str])
    lost: list[Value] = field(default_factory=list[Value])

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    def inside(self, idle: bool) -> Pool:
        """A scope within this one."""
        return dataclasses.replace(
            self, idle=self.idle or idle, parent=self, values=[], statements=[], updates=[], lost=[]
        )

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    # Making

    def known(self) -> dict[str, Array]:
        """The examples of all names, those around too."""
        around = {} if self.parent is None else self.parent.known()
        return around | {v.name: v.example for v in (*self.values, *self.lost)}

    def add(self, made: Made | str, risky: bool = False) -> Value | None:
        """A new line; None, and nothing added, where NumPy does not take it."""
        made = Made(made) if isinstance(made, str) else made
        name = self.names.new("v")
        lost = drawn = False
        try:
            example = self._example(made.text)
        except Exception as error:
            example = self._safe(made)
            drawn = isinstance(error, UnknownError)
            lost = not drawn
        if example is None:
            return None
        read = used(made.text)
        risky = risky or (made.safe is not None and not drawn) or any(v.risky for v in self.values if v.name in read)
        self.statements.append(Line(name, made.text, str(example.dtype), list(example.shape)))
        varies = any(v.varies for v in self.values if v.name in read)
        value = Value(name, example, risky if self.parent is not None else lost, varies)
        (self.lost if lost and self.parent is None else self.values).append(value)
        return value

    def _safe(self, made: Made) -> Array | None:
        try:
            return None if made.safe is None else self._example(made.safe)
        except Exception:
            return None

    def _example(self, text: str) -> Array | None:
        found = evaluate(Line("v0", text, "", []), self.known())["v0"]
        wrong = str(found.dtype) not in DTYPES or found.ndim > 3 or found.size > LARGEST
        return None if wrong else np.asarray(found)

    def add_loop(self, loop: Loop, risky: bool) -> list[Value]:
        """A new loop: its outputs, of which those of a loop that raises at the top are in `lost`."""
        self.statements.append(loop)
        lost = False
        try:
            found = evaluate(loop, self.known())
        except UnknownError:
            found = {}
        except Exception:
            found, lost = {}, True
        made: list[Value] = []
        for o in loop.outs:
            x = found.get(o.name)
            example = np.asarray(x) if isinstance(x, np.ndarray) else np.zeros(o.shape, o.dtype)
            failed = lost or isinstance(x, Exception)
            made.append(Value(o.name, example, risky or failed, self.parent is not None))
        (self.lost if lost and self.parent is None else self.values).extend(made)
        if loop.updates:
            self.updates.append(loop.updates)
        return made

    # Picking

    def around(self) -> Iterator[Value]:
        """Names of the scopes around."""
        if self.parent is not None:
            yield from (v for v in self.parent.values if not v.risky)
            yield from self.parent.around()

    def pick(self, test: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A name of which `test` holds: what varies and is made late more often, now and then one from around."""
        found = [v for v in (list(self.around()) if self.chance(0.12) else self.values) if test(v)]
        found = found or [v for v in self.values if test(v)]
        if self.chance(0.8 if self.by_layout else 0.5):
            found = [v for v in found if v.varies] or found
        if not found:
            return None
        return self.rng.choice(found[-4:] if self.chance(0.5) else found)

    def weighted(self, makers: Mapping[Callable[[Pool], Made | None], int]) -> Made | None:
        """What one of some makers makes."""
        for f in makers:
            if f not in self.favours:
                self.favours[f] = self.rng.choice((0.3, 1, 1, 3))
        return self.rng.choices([*makers], [n * self.favours[f] for f, n in makers.items()])[0](self)

    def fit(self, x: Value, dtype: str, shape: tuple[int, ...]) -> Value | None:
        """A value of that type, made of x."""
        found: Value | None = x
        if x.kind == "c" and np.dtype(dtype).kind != "c":
            found = self.add(f"{x.name}.real")
        if found is not None and found.dtype != dtype:
            found = self.add(f"{_held_by(found, dtype)}.astype({dtype!r})")
        if found is not None and found.shape != shape:
            found = self._spread(found, shape)
        return found

    def _spread(self, x: Value, shape: tuple[int, ...]) -> Value | None:
        try:
            fits = np.broadcast_shapes(x.shape, shape) == shape
        except ValueError:
            fits = False
        text = x.name if fits else f"{x.name}.any()" if x.kind == "b" else f"{x.name}.sum(dtype={x.dtype!r})"
        return self.add(f"{text} {'|' if x.kind == 'b' else '+'} T.zeros({shape}, dtype={x.dtype!r})")


def _held_by(x: Value, dtype: str) -> str:
    """The text of numbers that the dtype holds, so that every machine and loop casts them alike."""
    if x.kind != "f" or np.dtype(dtype).kind not in "iu":
        return x.name
    low = 0 if np.dtype(dtype).kind == "u" else -9
    return f"T.clip(T.where(T.isnan({x.name}), 0, {x.name}), {low}, 9)"
