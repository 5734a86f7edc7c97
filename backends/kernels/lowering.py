"""A kernel being written: what it is given, its states, what it keeps.

Outside in: what is given; states as they start; the steps; of each step the rows that are read, the stages, what is
kept, the states that move on; what is kept of the last step.  Scalars live in variables, arrays that leave their stage
in memory: the row of what is kept, else a row of the state's own, else scratch.
"""

from __future__ import annotations

from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Declare,
    Do,
    Expr,
    Fail,
    If,
    Kernel,
    Let,
    Lit,
    Load,
    Param,
    Point,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)  # fmt: skip
from scanopt.backends.kernels.nodes import Body, Call, Join, Product
from scanopt.backends.kernels.recipe import Given, Number, Recipe
from scanopt.backends.kernels.sizes import Lengths
from scanopt.backends.kernels.stages import Fused, stages_of, stored
from scanopt.backends.kernels.values import Array, Axes, Scalar, Value, element_of, nest, packed
from scanopt.program.ir import Keep, State

__all__ = ["REGISTERS", "Lowering"]

REGISTERS = 8
"""A scalar state that looks back no further is kept in variables."""
T, DONE = Var("t"), "done"


class Lowering:
    """A kernel being written: what it is given, what stands before its loop, in a step and after the loop."""

    def __init__(self, body: Body, lengths: Lengths) -> None:
        self.body, self.loop, self.lengths = body, body.loop, lengths
        self.given: list[Given] = []
        self.numbers: list[Number] = [Number("size", axis) for axis in lengths.numbers.values()]
        self.number_names = list(lengths.numbers)
        self.loops: list[tuple[str, tuple[str, ...]]] = []
        self.head: list[Stmt] = []
        self.before: list[Stmt] = []
        self.step: list[Stmt] = []
        self.after: list[Stmt] = []
        self.env: dict[str, Value] = {}
        self.ids: dict[str, str] = {}
        self.count = 0
        self.steps = self.number(Number("steps"))
        self.outs = [self.give(Given("out", body.types[k.value].dtype, keep=i)) for i, k in enumerate(body.loop.keeps)]
        self.stages = stages_of(body.nodes, lengths.axes)
        self.trace = self._traces()
        self.stored = stored(self.stages, self._wanted())

    # Names, what is given

    def fresh(self, what: str) -> str:
        """A name that nothing has yet."""
        self.count += 1
        return f"{what}{self.count}"

    def give(self, what: Given) -> str:
        """The pointer of an array that the kernel is given."""
        if what not in self.given:
            self.given.append(what)
        return f"g{self.given.index(what)}"

    def scratch(self, dtype: str, axes: Axes, rows: int = 1) -> str:
        """The pointer of new scratch memory."""
        self.given.append(Given("scratch", dtype, name=str(len(self.given)), rows=rows, axes=axes))
        return f"g{len(self.given) - 1}"

    def number(self, what: Number) -> Expr:
        """A number that the kernel is given."""
        if what not in self.numbers:
            self.numbers.append(what)
            self.number_names.append(f"m{len(self.numbers)}")
        return Var(self.number_names[self.numbers.index(what)])

    def axes(self, name: str) -> Axes:
        """The lengths of the axes of a name."""
        return self.lengths.axes[name]

    def dtype(self, name: str) -> str:
        """The dtype of a name."""
        return self.body.types[name].dtype

    def value(self, name: str) -> Value:
        """Where a value is; outer ones are given when they are first asked for."""
        if name not in self.env:
            pointer = self.give(Given("array", self.dtype(name), name))
            self.env[name] = self._entry(name, pointer)
        return self.env[name]

    def _entry(self, name: str, pointer: str) -> Value:
        if self.axes(name):
            return Array(pointer, self.axes(name), packed(self.axes(name)), self.dtype(name))
        variable = self.fresh("x")
        self.before.append(Let(variable, Load(pointer, ZERO, self.dtype(name)), self.dtype(name)))
        return Scalar(Var(variable, self.dtype(name)), self.dtype(name))

    def pointer(self, dtype: str) -> str:
        """A pointer that is set in each step, and keeps what it was set to last."""
        name = self.fresh("p")
        self.head.append(Declare(name, dtype, pointer=True))
        return name

    def let(self, name: str, value: Expr, dtype: str) -> None:
        """A scalar of the step."""
        variable = self.fresh("v")
        self.step.append(Let(variable, value, dtype))
        self.env[name] = Scalar(Var(variable, dtype), dtype)

    # Where values are kept

    def _wanted(self) -> set[str]:
        return {s.update for s in self.loop.states} | {k.value for k in self.loop.keeps}

    def _computed(self) -> set[str]:
        """Names that a stage computes, each in memory of its own."""
        found = {n.out for s in self.stages if isinstance(s, Fused) for n in s.nodes}
        return found | {s.out for s in self.stages if isinstance(s, Call | Join | Product)}

    def _traces(self) -> dict[str, int]:
        """By name of an array the number of what is kept that holds all its rows."""
        if self.loop.until is not None:
            return {}
        all_rows = [(k.value, i) for i, k in enumerate(self.loop.keeps) if k.rows is None]
        return {name: i for name, i in reversed(all_rows) if name in self._computed() and self.axes(name)}

    def place(self, name: str) -> str:
        """The pointer that a computed array is written to."""
        dtype, axes = self.dtype(name), self.axes(name)
        ring = next((i for i in self.rings if self.loop.states[i].update == name), None)
        pointer = self.pointer(dtype)
        if name in self.trace:
            self.step.append(Point(pointer, self.outs[self.trace[name]], times(T, product(axes)), dtype))
        elif ring is not None:
            self.step.append(self._point_to_row(pointer, ring, T))
        else:
            self.head.append(Point(pointer, self.scratch(dtype, axes), ZERO, dtype))
        self.env[name] = Array(pointer, axes, packed(axes), dtype)
        return pointer

    # States

    def start(self) -> None:
        """What is there before a step: rows of sequences, states."""
        for r in self.loop.reads:
            self._read(r.out, r.source)
        self.rings: dict[int, tuple[str, int]] = {}
        self.registers: dict[int, list[str]] = {}
        for i, s in enumerate(self.loop.states):
            if s.taps and not s.type.ndim and s.depth <= REGISTERS:
                self._in_registers(i, s)
            elif s.taps:
                self._in_memory(i, s)

    def _read(self, out: str, source: str) -> None:
        dtype = self.dtype(out)
        pointer = self.pointer(dtype)
        start = self.give(Given("source", dtype, source))
        stride = self.number(Number("stride", (source, 0)))
        self.step.append(Point(pointer, start, times(T, stride), dtype))
        if self.axes(out):
            self.env[out] = Array(pointer, self.axes(out), packed(self.axes(out)), dtype)
        else:
            self.let(out, Load(pointer, ZERO, dtype), dtype)

    def _in_registers(self, i: int, s: State) -> None:
        init, dtype = self.give(Given("array", s.type.dtype, s.init)), s.type.dtype
        names = [self.fresh("s") for _ in range(s.depth)]
        for k, name in enumerate(names, 1):
            self.before += [Declare(name, dtype), Set(name, Load(init, Lit(s.depth - k), dtype))]
        for k, tap in s.taps:
            self.env[tap] = Scalar(Var(names[k - 1], dtype), dtype)
        self.registers[i] = names

    def _in_memory(self, i: int, s: State) -> None:
        """Rows that were written k steps ago; before there were any, initial ones."""
        init, dtype = self.give(Given("array", s.type.dtype, s.init)), s.type.dtype
        axes = self.axes(s.taps[0][1])
        rows = s.depth + 1
        if s.update not in self.trace:
            self.rings[i] = self.scratch(dtype, axes, rows), rows
        for k, tap in s.taps:
            pointer = self.pointer(dtype)
            early = Point(pointer, init, times(plus(T, Lit(s.depth - k)), product(axes)), dtype)
            late = self._point_to_row(pointer, i, plus(T, Lit(-k)))
            self.step.append(If(Do("less", (T, Lit(k)), "bool", INDEX), (early,), (late,)))
            value = Array(pointer, axes, packed(axes), dtype)
            if axes:
                self.env[tap] = value
            else:
                self.let(tap, Load(pointer, ZERO, dtype), dtype)

    def _point_to_row(self, pointer: str, i: int, step: Expr) -> Point:
        """The row that state i got at a step."""
        s = self.loop.states[i]
        axes, dtype = self.axes(s.update), s.type.dtype
        if s.update in self.trace:
            return Point(pointer, self.outs[self.trace[s.update]], times(step, product(axes)), dtype)
        ring, rows = self.rings[i]
        place = Do("remainder", (step, Lit(rows)), INDEX, INDEX)
        return Point(pointer, ring, times(place, product(axes)), dtype)

    def move_on(self) -> None:
        """The states of this step become those of one step ago."""
        new = {i: self.value(self.loop.states[i].update) for i in self.registers}
        for i, value in new.items():
            self.step.append(Let(f"u{i}", _number(value), value.dtype))
        for i, names in self.registers.items():
            for older, newer in zip(reversed(names), [*reversed(names[:-1]), ""], strict=True):
                dtype = self.loop.states[i].type.dtype
                self.step.append(Set(older, Var(newer or f"u{i}", dtype)))
        for i in self.rings:
            s = self.loop.states[i]
            first = next(j for j in self.rings if self.loop.states[j].update == s.update)
            if first == i and s.update in self._computed() and s.type.ndim:
                continue  # it was computed there
            pointer = self.pointer(s.type.dtype)
            self.step.append(self._point_to_row(pointer, i, T))
            self.step += self.copied(self.value(s.update), pointer, ZERO, self.axes(s.update))

    # What is kept

    def keep_step(self) -> None:
        """What is kept of a step, and whether it is the last one."""
        if self.loop.until is not None:
            self.let(self.loop.until, _number(self.value(self.loop.until)), "bool")
        for i, k in enumerate(self.loop.keeps):
            axes, out = self.axes(k.value), self.outs[i]
            size = product(axes)
            if k.rows == 1:
                self._keep_last(i, k)
            elif k.rows is None:
                if self.trace.get(k.value) != i:
                    self._no_room(i)
                    self.step += self.copied(self.value(k.value), out, times(T, size), axes)
            elif self.loop.until is None:
                first = self.number(Number("skipped", keep=i))
                late = Do("greater_equal", (T, first), "bool", INDEX)
                place = times(Do("subtract", (T, first), INDEX, INDEX), size)
                self.step.append(If(late, self.copied(self.value(k.value), out, place, axes)))
            else:
                rows = self.number(Number("rows", keep=i))
                place = times(Do("remainder", (T, rows), INDEX, INDEX), size)
                some = Do("greater", (rows, ZERO), "bool", INDEX)
                self.step.append(If(some, self.copied(self.value(k.value), out, place, axes)))

    def _no_room(self, i: int) -> None:
        """A loop that may end early is given as much room as it may need, or less."""
        if self.loop.until is not None:
            room = self.number(Number("rows", keep=i))
            self.step.append(If(Do("greater_equal", (T, room), "bool", INDEX), (Fail(-2),)))

    def _keep_last(self, i: int, k: Keep) -> None:
        value = self.value(k.value)
        if isinstance(value, Scalar):
            name = self.fresh("l")
            self.before += [Declare(name, value.dtype), Set(name, Cast(ZERO, value.dtype))]
            self.step.append(Set(name, value.value))
            value = Scalar(Var(name, value.dtype), value.dtype)
        self.after += self.copied(value, self.outs[i], ZERO, self.axes(k.value))

    def copied(self, value: Value, pointer: str, start: Expr, axes: Axes, dtype: str | None = None) -> tuple[Stmt, ...]:
        """A value written to the elements from `start` on, broadcast to `axes`."""
        flat = isinstance(value, Scalar) or value.fills(axes)
        lengths = (product(axes),) if flat else axes
        names, places = self.places(lengths)
        into = start
        for place, stride in zip(places, packed(lengths), strict=True):
            into = plus(into, times(place, stride))
        element = element_of(value, places, lengths)
        element = element if dtype in (None, value.dtype) else Cast(element, str(dtype))
        return nest(lengths, names, (Store(pointer, into, element),))

    def places(self, axes: Axes) -> tuple[list[str], list[Expr]]:
        """Names for a place along each axis, and the places: 0 along those of length 1."""
        names = [self.fresh("i") for _ in axes]
        return names, [Var(name) if n != ONE else ZERO for name, n in zip(names, axes, strict=True)]

    # All together

    def recipe(self) -> Recipe:
        """The kernel, and what it is to be given."""
        test = None if self.loop.until is None else _number(self.value(self.loop.until))
        steps = Steps("t", self.steps, tuple(self.step), test)
        params = tuple(self._param(i, g) for i, g in enumerate(self.given))
        body = (*self.head, *self.before, steps, *self.after)
        kernel = Kernel(params, tuple(self.number_names), len(self.loops), body, "t")
        return Recipe(kernel, self.lengths, tuple(self.given), tuple(self.numbers), tuple(self.loops))

    def _param(self, i: int, g: Given) -> Param:
        if g.kind != "scratch":
            return Param(f"g{i}", g.dtype)
        offset = self.number(Number("offset", keep=i))
        assert isinstance(offset, Var)
        return Param(f"g{i}", g.dtype, offset.name)


def _number(value: Value) -> Expr:
    assert isinstance(value, Scalar)
    return value.value
