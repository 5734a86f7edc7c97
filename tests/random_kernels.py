"""Random loops whose operators have forms as kernels, over values of all dtypes that kernels compute in."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from programs import Builder, LoopBuilder

from scanopt.array.op import load
from scanopt.program.ir import Program

Array = np.ndarray[Any, Any]
DTYPES = ("float64", "float32", "int64", "int32", "int8", "uint8", "uint32", "bool")
COMPLEX = ("complex128", "complex64")
SHAPES: tuple[tuple[int, ...], ...] = ((), (), (3,), (3,), (17,), (2, 3), (2, 3), (1,), (2, 1), (1, 3))
TAPS = ((1,), (1,), (1,), (1, 2), (2,), (1, 3), (10,))
KEPT = (None, None, 1, 2, 5)
UFUNCS = sorted(name for name, spec in load().items() if spec.ufunc and name not in ("power", "float_power"))


class RandomLoop:
    """One loop, and values for what it reads."""

    def __init__(self, seed: int, dtypes: tuple[str, ...] = DTYPES) -> None:
        self.pick = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.b = Builder()
        self.values: list[Array] = []
        self.dtypes = self.pick.sample(dtypes, min(len(dtypes), self.pick.choice((1, 1, 2, 3))))
        self.steps = self.pick.choice((0, 1, 2, 3, 9, 33))
        self.shapes: dict[str, tuple[int, ...]] = {}

    def array(self, shape: tuple[int, ...], dtype: str) -> Array:
        if dtype == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if dtype in COMPLEX:
            x = np.empty(shape, dtype)
            x.real, x.imag = (self.array(shape, "float32" if dtype == "complex64" else "float64") for _ in range(2))
            return x
        if dtype.startswith("float"):
            x = self.rng.normal(size=shape) * 10.0 ** self.rng.integers(-2, 3, shape)
            special = self.rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-310, 1e300], shape)
            return np.asarray(np.where(self.rng.random(shape) < 0.1, special, x)).astype(dtype)
        info = np.iinfo(dtype)
        x = self.rng.integers(max(info.min, -9), 10, shape).astype(dtype)
        return np.asarray(
            np.where(self.rng.random(shape) < 0.1, self.rng.choice([info.min, info.max], shape), x)
        ).astype(dtype)

    def input(self, shape: tuple[int, ...], dtype: str) -> str:
        x = self.array(shape, dtype)
        if x.ndim and self.pick.random() < 0.2:
            x = self.crooked(x)
        self.values.append(x)
        static = self.pick.random() < 0.3
        name = self.b.input(f"i{len(self.values)}", *(n if static else None for n in x.shape), dtype=dtype)
        self.shapes[name] = shape
        return name

    def crooked(self, x: Array) -> Array:
        """The same values, lying otherwise in memory."""
        if self.pick.random() < 0.5:
            return np.ascontiguousarray(x[..., ::-1])[..., ::-1]
        if self.pick.random() < 0.5:
            return np.asfortranarray(x)
        return np.repeat(x, 2, axis=0)[::2]

    def entered(self, loop: Any, sources: list[str], places: str, inits: list[tuple[Any, str]]) -> list[str]:
        """What a step reads: rows of sequences, and states."""
        known = [self.read(loop, s) for s in sources]
        self.place = loop.read(places)
        for taps, init in inits:
            for name in loop.state(init, taps):
                self.shapes[name] = self.shapes[init][1:]
                known.append(name)
        return known

    def program(self) -> Program:
        b, pick = self.b, self.pick
        count = b.input("n", dtype="int64")
        self.values.append(np.asarray(self.steps))
        held = [self.input(pick.choice(SHAPES), pick.choice(self.dtypes)) for _ in range(3)]
        sources = [self.input((self.steps + pick.randrange(2), *pick.choice(SHAPES)), pick.choice(self.dtypes))
                   for _ in range(pick.randrange(3))]  # fmt: skip
        places = b.input("J", None, dtype="int64")
        self.values.append(self.rng.integers(-3, 3, self.steps))
        inits = [(taps, self.input((max(taps), *pick.choice(SHAPES)), pick.choice(self.dtypes)))
                 for taps in pick.choices(TAPS, k=pick.randrange(4))]  # fmt: skip
        with b.loop(count) as loop:
            known = [*held, *self.entered(loop, sources, places, inits)]
            for _ in range(pick.randrange(1, 14)):
                known += self.grow(known)
            for i, (_, init) in enumerate(inits):
                tap = loop.states[i].taps[0][1]
                changed = self.attempt(lambda tap=tap: self.set(tap, pick.choice(known))) if pick.random() < 0.3 else ""
                if changed and pick.random() < 0.4:
                    changed = self.attempt(lambda x=changed: self.set(x, pick.choice(known)))
                if changed and self.shapes[changed] == self.shapes[tap]:
                    known.append(changed)
                    loop.update(i, changed)
                    continue
                loop.update(i, self.fitted(pick.choice(known), init, loop.states[i].taps[0][1]))
            known += [s.update for s in loop.states]
            if pick.random() < 0.25:
                loop.until = self.end(known)
            kept = [loop.keep(pick.choice(known[-6:]), pick.choice(KEPT)) for _ in range(pick.randrange(1, 4))]
            kept += [loop.keep(s.update, pick.choice(KEPT)) for s in loop.states if pick.random() < 0.5]
        return replace(b.program(*dict.fromkeys(kept)), exact=pick.random() < 0.6)

    def attempt(self, make: Callable[[], str]) -> str:
        """What is made, "" where it does not fit."""
        before = len(self.b.body), dict(self.shapes)
        try:
            name = make()
            if len(self.shapes[name]) < 4 and 0 not in self.shapes[name]:
                return name
        except (TypeError, ValueError, IndexError):
            pass
        del self.b.body[before[0] :]
        self.shapes = before[1]
        return ""

    def read(self, loop: LoopBuilder, source: str) -> str:
        name = loop.read(source)
        self.shapes[name] = self.shapes[source][1:]
        return name

    def make(self, op: str, *args: str, **params: Any) -> str:
        """An operator, and the shape that it has for the values at hand."""
        name = self.b(op, *args, **params)
        function = self.b.body[-1].op.bind(np)
        if self.b.types[name].dtype not in (*DTYPES, *COMPLEX):
            raise TypeError("kernels do not compute in it")
        with np.errstate(all="ignore"):
            found = function(*(np.zeros(self.shapes.get(a, ()), self.b.types[a].dtype) for a in args))
        self.shapes[name] = np.shape(found)
        return name

    def grow(self, known: list[str]) -> list[str]:
        pick = self.pick
        x, y, z = pick.choices(known[-8:], k=3)
        make: list[Callable[[], str]] = [
            *[lambda: self.ufunc(x, y)] * 8,
            lambda: self.make("where", self.truth(z), x, y),
            *[lambda: self.reduced(x)] * 2,
            lambda: self.branch(known),
            lambda: self.make(pick.choice(("cumsum", "cumprod")), x, axis=pick.randrange(self.ndim(x))),
            lambda: self.make("outer", x, y),
            *[lambda: self.set(x, y)] * 2,
            lambda: self.make("getitem", x, self.indices(), index=("array",)),
            lambda: self.make("getitem", x, self.indices(), self.indices(), index=("array", "array")),
            lambda: self.make("getitem", x, self.place, self.indices(), index=("in", "array")),
            lambda: self.make("getitem", x, self.moving(), index=("array",)),
            lambda: self.make("getitem", x, self.moving(), self.moving(), index=("array", "array")),
            lambda: self.part_summed(x),
            lambda: self.make("sum_to", x, self.make("shape_i", y, axis=0), axis=(0,)),
            lambda: self.nested(known),
            lambda: self.make("cast", x, dtype=pick.choice(DTYPES)),
            lambda: self.make("sigmoid", self.float(x)),
            lambda: self.make("transpose", x, axes=tuple(pick.sample(range(self.ndim(x)), self.ndim(x)))),
            lambda: self.make("expand_dims", x, axis=(pick.randrange(self.ndim(x) + 1),)),
            lambda: self.make("getitem", x, index=(pick.choice((0, -1)),)),
            lambda: self.make("getitem", x, self.place, index=("in",)),
            lambda: self.make("getitem", x, index=(("slice", *pick.choice([(None, None, -1), (1, None, None)])),)),
            lambda: self.make("stack", x, x, axis=pick.randrange(self.ndim(x) + 1)),
            lambda: self.make("concatenate", x, y, axis=0),
            lambda: self.make("dot", x, y),
            lambda: self.make("dot", x, self.make("transpose", x, axes=tuple(reversed(range(self.ndim(x)))))),
            lambda: self.make("reshape", x, shape=(-1,)),
            lambda: self.make("full_like", x, self.b.const(np.float64(0.5))),
            lambda: self.make("clip", x, self.b.const(np.float64(-0.5)), self.b.const(np.float64(0.75))),
            lambda: self.make("round", x, decimals=0),
            lambda: self.make("shape_i", x, axis=0),
            lambda: self.make(
                pick.choice(("sort", "argsort", "cummax", "cummin")), x, axis=pick.randrange(self.ndim(x))
            ),
            lambda: self.make("searchsorted", self.line(x), y, side=pick.choice(("left", "right"))),
            lambda: self.make("digitize", self.line(x), y, right=pick.random() < 0.5),
            lambda: self.make("round", self.float(x), decimals=pick.choice((-1, 2))),
            lambda: self.make("power", x, self.make("shape_i", y, axis=0)),
            lambda: self.make("matmul", x, y),
            lambda: self.make("convolve", x, y),
            lambda: self.make(
                "getitem", x, self.make("subtract", self.place, self.b.const(np.int64(1))), index=("in",)
            ),
        ]
        if COMPLEX[0] in self.dtypes or COMPLEX[1] in self.dtypes:
            make += [lambda: self.make(pick.choice(("real", "imag", "conjugate")), x)] * 4
            make += [lambda: self.make(pick.choice(("add", "multiply", "subtract", "divide")), x, y)] * 12
            make += [lambda: self.make(pick.choice(("square", "reciprocal", "absolute")), x)] * 6
        for _ in range(9):
            name = self.attempt(pick.choice(make))
            if name:
                return [name]
        return []

    def ndim(self, name: str) -> int:
        return self.b.types[name].ndim

    def ufunc(self, x: str, y: str) -> str:
        name = self.pick.choice(UFUNCS)
        arity = getattr(np, name).nin
        return self.make(name, *(x, y)[:arity])

    def set(self, x: str, y: str) -> str:
        mode = self.pick.choice(("set", "inc"))
        if mode == "inc" or self.pick.random() < 0.5:
            dtype = self.b.types[x].dtype
            y = y if self.b.types[y].dtype == dtype else self.make("cast", y, dtype=dtype)
        kind = self.pick.randrange(7)
        if kind > 2:
            way = (("array",), ("array", "array"), ("in", "array"), ("mask",))[kind - 3]
            at = {"array": self.indices, "in": lambda: self.place, "mask": lambda: self.truth(x)}
            return self.make("setitem", x, y, *(at[entry]() for entry in way), index=way, mode=mode)
        if kind == 0:
            return self.make("setitem", x, y, index=(self.pick.choice((0, -1)),), mode=mode)
        if kind == 1:
            return self.make("setitem", x, y, self.place, index=("in",), mode=mode)
        part = ("slice", *self.pick.choice([(None, None, -1), (1, None, None), (None, -1, 2)]))
        return self.make("setitem", x, y, index=(part,), mode=mode)

    def line(self, x: str) -> str:
        """All elements in order."""
        return self.make("sort", self.make("reshape", x, shape=(-1,)), axis=0)

    def indices(self) -> str:
        places = np.asarray(self.rng.integers(-2, 2, self.pick.choice(((3,), (2, 2)))))
        name = self.b.const(places)
        self.shapes[name] = places.shape
        return name

    def moving(self) -> str:
        """Indices that are others at each step."""
        moved = self.make("add", self.indices(), self.place)
        return self.make("remainder", moved, self.b.const(np.int64(self.pick.choice((2, 2, 2, 3)))))

    def reduced(self, x: str) -> str:
        axes = tuple(i for i in range(self.ndim(x)) if self.pick.random() < 0.6) or (0,)
        name = self.pick.choice(("sum", "sum", "prod", "mean", "max", "min", "any", "all"))
        x = self.truth(x) if name in ("any", "all") else x
        return self.make(name, x, axis=axes, keepdims=self.pick.random() < 0.3)

    def part_summed(self, x: str) -> str:
        """The sum of rows, as many as a number says that is another one at each step."""
        bounds = self.pick.choice(((None, "in", None), ("in", None, None), ("in", None, -1)))
        part = self.b("getitem", x, self.place, index=(("slice", *bounds),))
        self.shapes[part] = self.shapes[x]
        return self.make("sum", self.make("absolute", part), axis=(0,))

    def branch(self, known: list[str]) -> str:
        """A branch whose sides are of one dtype and shape."""
        pick, numbers = self.pick, [x for x in known if not self.ndim(x)]
        test = self.truth(pick.choice(numbers or [self.place]))
        x = pick.choice(known)

        def side() -> str:
            inside = list(known)
            for _ in range(pick.randrange(4)):
                inside += self.grow(inside)
            like = [y for y in inside[-6:] if (self.b.types[y].dtype, self.shapes[y]) == (dtype, self.shapes[x])]
            return pick.choice([*like, x])

        dtype = self.b.types[x].dtype
        name = self.b.branch(test, side, side)
        self.shapes[name] = self.shapes[x]
        return name

    def nested(self, known: list[str]) -> str:
        """A loop inside."""
        pick, b = self.pick, self.b
        x, y = pick.choice(known), pick.choice(known)
        init = self.make("expand_dims", x, axis=(0,))
        steps = pick.choice((1, 2, 3))
        if self.ndim(y) and self.shapes[y][0] < 4 and pick.random() < 0.5:
            steps = self.shapes[y][0]
        with b.loop(b.const(np.int64(steps))) as loop:
            inside = [*known, *loop.state(init)]
            self.shapes[inside[-1]] = self.shapes[x]
            if self.ndim(y) and self.shapes[y][0] >= steps:
                inside.append(self.read(loop, y))
            for _ in range(pick.randrange(4)):
                inside += self.grow(inside)
            loop.update(0, self.fitted(pick.choice(inside), init, loop.states[0].taps[0][1]))
            values = [pick.choice(inside), loop.states[0].update]
            if pick.random() < 0.2:
                loop.until = self.end(inside)
            kept = [(v, rows, loop.keep(v, rows)) for v in values for rows in pick.choices((None, 1, 2), k=1)]
        for value, rows, name in kept:
            self.shapes[name] = (min(rows or steps, steps), *self.shapes[value])
        return pick.choice(kept)[2]

    def truth(self, x: str) -> str:
        return x if self.b.types[x].dtype == "bool" else self.make("isfinite", x)

    def float(self, x: str) -> str:
        return x if self.b.types[x].dtype.startswith("float") else self.make("cast", x, dtype="float32")

    def fitted(self, x: str, init: str, tap: str) -> str:
        """A value of the dtype and shape of a state's rows."""
        dtype = self.b.types[init].dtype
        if self.shapes[x] != self.shapes[tap] or self.ndim(x) != self.ndim(tap):
            x = tap if self.pick.random() < 0.5 else self.make("negative" if dtype != "bool" else "invert", tap)
        return x if self.b.types[x].dtype == dtype else self.make("cast", x, dtype=dtype)

    def end(self, known: list[str]) -> str | None:
        numbers = [x for x in known if not self.ndim(x) and self.b.types[x].dtype != "bool"]
        return self.make("greater", self.pick.choice(numbers), self.b.const(np.float64(8.0))) if numbers else None
