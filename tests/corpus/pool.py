"""Names that a program may use at one place, with their types, and the statements made so far."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from corpus.spec import Line, Loop, Statement, changed, used

__all__ = ["FLOATS", "Names", "Pool", "Settings", "Var", "broadcast", "promote", "size"]

FLOATS = ("float32", "float64")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Var:
    """A name with its type.  heavy: it is made by a loop."""

    name: str
    dtype: str
    shape: Shape
    heavy: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS


def size(shape: Sequence[int]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


def promote(*dtypes: str) -> str:
    """The dtype of operands together.

    >>> promote("int64", "float32"), promote("bool", "int64")
    ('float64', 'int64')
    """
    if "float64" in dtypes or {"float32", "int64"} <= set(dtypes):
        return "float64"
    return next(d for d in ("float32", "int64", "bool") if d in dtypes)


def broadcast(*shapes: Shape) -> Shape | None:
    """The shape of operands together, or None."""
    n = max(map(len, shapes))
    out: list[int] = []
    for lengths in zip(*((1,) * (n - len(s)) + s for s in shapes), strict=True):
        longer = {k for k in lengths if k != 1}
        if len(longer) > 1:
            return None
        out.append(longer.pop() if longer else 1)
    return tuple(out)


@dataclass
class Names:
    """Makes names, each once."""

    count: int = 0

    def new(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"


@dataclass
class Settings:
    """What is the same at all places of a program.

    rough: operators that jump may be used.  fits: lengths that go well together.  draws: random
    numbers come from "streams", from "keys", or there are none ("").  nests: how deep loops may lie
    in loops.  count, sign: the numbers of steps that the inputs n... and k... stand for.  shared:
    shared variables.  steps: how many steps a loop at the top will take, None where only the run tells.
    """

    rough: bool
    fits: tuple[int, int]
    draws: str = ""
    nests: int = 1
    count: int = 0
    sign: int = 0
    shared: list[Var] = field(default_factory=list[Var])
    steps: Callable[[Loop], int | None] = lambda loop: None


@dataclass
class Pool:
    """One scope: the top of the program or the body of a step.

    updates: the names of the updates that loops of this scope give, each with the shared variables
    that it holds (streams of random numbers aside).
    """

    rng: random.Random
    names: Names
    settings: Settings
    parent: Pool | None = None
    vars: list[Var] = field(default_factory=list[Var])
    statements: list[Statement] = field(default_factory=list[Statement])
    updates: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    @property
    def rough(self) -> bool:
        return self.settings.rough

    @property
    def fits(self) -> tuple[int, int]:
        return self.settings.fits

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    def inside(self) -> Pool:
        """A scope within this one."""
        return Pool(self.rng, self.names, self.settings, self)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def add(self, text: str, dtype: str, shape: Sequence[int], heavy: bool = False) -> Var:
        """A new line."""
        shape = tuple(shape)
        names = used(text)
        heavy = heavy or any(v.heavy for v in self.vars if v.name in names)
        var = Var(self.names.new("v"), dtype, shape, heavy)
        self.statements.append(Line(var.name, text, dtype, list(shape)))
        self.vars.append(var)
        return var

    def add_loop(self, loop: Loop) -> list[Var]:
        """A new loop; outputs of unknown lengths are none of the names that operators pick from."""
        self.statements.append(loop)
        made = [Var(o.name, o.dtype, tuple(o.shape), True) for o in loop.outs]
        self.vars.extend(v for v in made if -1 not in v.shape)
        if loop.updates:
            self.updates[loop.updates] = changed(loop)
        return made

    def captured(self) -> list[Var]:
        """Names of the scopes around, made by loops but rarely."""
        if self.parent is None:
            return []
        found = [*self.parent.vars, *self.parent.captured()]
        return found if self.chance(0.04) else [v for v in found if not v.heavy]

    def pick(self, test: Callable[[Var], bool] = lambda v: True) -> Var | None:
        """A name of which `test` holds: later ones more often, now and then one from around."""
        around = self.captured() if self.chance(0.15) or not self.vars else []
        found = [v for v in around or self.vars if test(v)]
        if not found:
            return None
        return self.rng.choice(found[-3:] if self.chance(0.5) else found)

    def pick_beside(self, x: Var, same_dtype: bool = False) -> Var | None:
        """A name that broadcasts with x."""
        return self.pick(
            lambda v: (
                (v.dtype == x.dtype if same_dtype or self.chance(0.8) else v.dtype != "bool")
                and broadcast(x.shape, v.shape) is not None
            )
        )

    def coerce(self, x: Var, dtype: str, shape: Shape) -> Var:
        """An array of that type, made of x."""
        if x.dtype != dtype:
            x = self.add(f"{x.name}.astype({dtype!r})", dtype, x.shape)
        if x.shape == shape:
            return x
        if broadcast(x.shape, shape) != shape:
            text = f"{x.name}.sum()" if dtype != "bool" else f"{x.name}.any()"
            x = self.add(text, dtype, ())
        if x.shape == shape:
            return x
        if dtype == "bool":
            return self.add(f"{x.name} | T.zeros({shape}, dtype='bool')", dtype, shape)
        return self.add(f"{x.name} + T.zeros({shape}, dtype={dtype!r})", dtype, shape)
