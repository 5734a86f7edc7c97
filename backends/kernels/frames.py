"""Lowers one loop of a kernel: decides where its states and the rows that it keeps lie, and writes its steps.

A scalar state is held in variables.  Other states are held in the rows that the loop keeps, if it keeps all, else in a
ring buffer of as many rows as the loop looks back, plus one for the current step.  During the first steps a state is
read from its initial rows.  Only variables are copied from step to step; a state of few elements is held in variables,
too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from scanopt.backends.kernels.delayed_states import delayed_states, read_delayed, rows_more
from scanopt.backends.kernels.device_elements import is_copy
from scanopt.backends.kernels.few_steps import few_steps
from scanopt.backends.kernels.histories import Histories
from scanopt.backends.kernels.homes import first_sources, register_of, room
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Do,
    Expr,
    Fail,
    If,
    Let,
    Lit,
    Load,
    Point,
    Set,
    Steps,
    Stmt,
    Var,
    plus,
    product,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lagged_steps import with_lags_together
from scanopt.backends.kernels.last_set import remember_last_set
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import (
    AffineRows,
    Call,
    Contract,
    Convolve,
    Decomposed,
    Diagonal,
    Draw,
    Evenly,
    Extreme,
    Factored,
    Insert,
    Join,
    Map,
    Nested,
    Node,
    Powers,
    Product,
    Products,
    Reduce,
    Running,
    Scatter,
    Search,
    SetItem,
    Solve,
    Sort,
    Take,
    Transform,
)  # fmt: skip
from scanopt.backends.kernels.overwritten import (
    changed_in_place,
    note_links,
    note_overwritten,
    overwritten,
    with_settings_late,
)
from scanopt.backends.kernels.parts_set import keeps_around
from scanopt.backends.kernels.recipe import Given, Number
from scanopt.backends.kernels.replaced_numbers import with_replacements_passed_over
from scanopt.backends.kernels.rows_ahead import read_ahead
from scanopt.backends.kernels.set_so_far import note_set_so_far
from scanopt.backends.kernels.sliding import all_sliding, slide
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Array, Axes, Scalar, packed
from scanopt.backends.kernels.windows_together import with_windows_together
from scanopt.program.ir import CarriedState, Keep

__all__ = ["REGISTERS", "LoopFrame"]

REGISTERS = 8
"""A scalar state is kept in variables for up to this many steps back."""
COMPUTED = (
    AffineRows, Map, Call, Contract, Convolve, Join, Powers, Product, Products, Reduce, Running, Scatter, SetItem, Take,
    Diagonal, Draw, Evenly, Extreme, Insert, Search, Factored, Solve, Sort, Transform, Decomposed,
)  # fmt: skip
"""The nodes whose results can be written to a given place (`Lowering.homes`)."""
Emit = Callable[[Sequence[Node], set[str]], None]


class LoopFrame:
    """Writes one loop.

    t: the variable that counts its steps; steps: the most steps; places: where the kept rows lie.  outermost: whether
    its results are those of the kernel.
    """

    def __init__(
        self, w: Lowering, nested: Nested, t: str, steps: Expr, places: Histories, outermost: bool = False
    ) -> None:
        nested = with_settings_late(nested, w)
        self.w, self.loop, self.nodes = w, nested.loop, nested.nodes
        self.t, self.name, self.steps, self.outermost = Var(t), t, steps, outermost
        self.outs, self.places = places.outs, places
        self.registers: dict[int, list[str]] = {}
        self.variables: dict[int, list[str]] = {}
        self.rings: dict[int, tuple[str, int]] = {}
        made = [n.out for n in nested.nodes if isinstance(n, COMPUTED) or is_copy(n, w)]
        inner = [n.loop for n in nested.nodes if isinstance(n, Nested) and n.loop.until is None and not w.device]
        made += [k.out for loop in inner for k in loop.keeps if k.rows is None]
        self.computed = {name for name in made if w.axes(name)}
        wanted = [*(s.update for s in self.loop.states), *(k.value for k in self.loop.keeps)]
        rows = {k.out for n in nested.nodes if isinstance(n, Nested) for k in n.loop.keeps if k.rows == 1}
        self.views = first_sources(nested.nodes, self.computed | rows, wanted, w)
        self.computed |= {*self.views}
        self.trace = self._traces()
        self.numbers = {name: i for name, i in self._all_rows() if not w.axes(name)}
        over = overwritten(nested, self.views, w)
        self.onto = {i: names for i, names in over.items() if i not in places.states}
        self.onto |= changed_in_place(nested, self.trace, w)
        others = {i for i, s in enumerate(self.loop.states) if s.update in self.trace} | {*places.states, *self.onto}
        self.slides = all_sliding(self.loop.states, others, self.nodes, w)
        self.followed = delayed_states(self.loop.states, w, {*self.onto, *self.slides}, {*places.states})
        self.onto = {i: names for i, names in self.onto.items() if i not in self.followed}

    def _traces(self) -> dict[str, int]:
        """For each computed array all rows of which are kept, the number of the result that holds them."""
        return {name: i for name, i in reversed(self._all_rows()) if name in self.computed}

    def _all_rows(self) -> list[tuple[str, int]]:
        """The values kept at all steps, with their numbers; none in a loop that may end early: room may be less."""
        if self.loop.until is not None:
            return []
        return [(k.value, i) for i, k in enumerate(self.loop.keeps) if k.rows is None]

    def write(self, emit: Emit) -> None:
        """Write the whole loop.  emit: writes nodes, given the names of results that are wanted afterwards."""
        w, loop = self.w, self.loop
        step: list[Stmt] = []
        w.loops_open.append((frozenset(w.env), w.code))
        for r in loop.reads:
            self._read(r.out, r.source, step)
        for i, s in enumerate(loop.states):
            if near := [k for k, _ in s.taps if not s.type.ndim and k <= REGISTERS]:
                self._in_registers(i, s, max(near))
            if s.taps and not s.type.ndim and s.depth <= REGISTERS:
                continue
            if i in self.onto:
                self._changed(s, self.onto[i])
            elif i in self.slides:
                slide(s, self.slides[i], w, step)
            elif s.taps and i not in self.followed:
                self._in_memory(i, s, step)
                self._in_variables(i, s)
        for i in self.followed:
            read_delayed(i, loop.states, self.followed, self.t, self._init, self._written, step, w)
        for name, i in self.trace.items():
            w.homes[name] = self.kept_row(i, self.t)
            w.new_rows.add(name)
        w.homes |= {source: w.homes[name] for name, source in self.views.items() if name in w.homes}
        after: list[Stmt] = []
        with w.into_step(step, self.name):
            emit(self.nodes, {s.update for s in loop.states} | {k.value for k in loop.keeps})
            test = None
            if loop.until is not None:
                w.let(loop.until, number_of(w.value(loop.until)), "bool")
                test = number_of(w.value(loop.until))
            for i, k in enumerate(loop.keeps):
                self._keep(i, k, after)
            for added in self.places.added:
                w.code += added(self.t, self.steps)
            self._move_on()
        w.loops_open.pop()
        body = with_windows_together(self, with_replacements_passed_over(step, w))
        body = with_lags_together(loop, self.t, self.steps, body, w)
        w.code += [Steps(self.name, self.steps, body, test), *after]

    def kept_row(self, i: int, step: Expr) -> tuple[str, Expr]:
        """The place of a step's row in the result of this number."""
        rows = self.places.kept.get(i)
        return rows.at(step) if rows else (self.outs[i], times(step, self._apart(i)))

    def _apart(self, i: int) -> Expr:
        """The number of elements from one kept row to the next."""
        w, k = self.w, self.loop.keeps[i]
        return product(w.given_axes(k.value) if self.outermost or w.is_result(k.out) else w.axes(k.value))

    # Sequences and states

    def _read(self, out: str, source: str, step: list[Stmt]) -> None:
        w, dtype, axes = self.w, self.w.dtype(out), self.w.axes(out)
        if not self.outermost and source in w.ahead:
            step.append(read_ahead(w.ahead[source], out, self.t, w))
            return
        if source in w.evenly:  # computing it is faster than reading it
            first, apart = w.evenly[source]
            with w.into(step):
                w.let(out, plus(first, times(self.t, apart)), dtype)
            return
        found = self.source_of(out, source)
        if isinstance(found, Scalar):
            w.env[out] = found
            return
        start, stride, strides = found
        pointer = w.pointer(dtype)
        step.append(Point(pointer, start, times(self.t, stride), dtype))
        if axes:
            w.env[out] = Array(pointer, axes, strides, dtype)
            return
        with w.into(step):
            w.let(out, Load(pointer, ZERO, dtype), dtype)

    def source_of(self, out: str, source: str) -> tuple[str, Expr, Axes] | Scalar:
        """The start of a sequence, the stride of its rows, the strides in a row; or the number that all rows are."""
        w = self.w
        if self.outermost:
            start = w.give(Given("source", w.dtype(out), source))
            return start, w.number(Number("stride", (source, 0))), packed(w.given_axes(out))
        value = w.value(source)
        return value if isinstance(value, Scalar) else (value.pointer, value.strides[0], value.strides[1:])

    def _init(self, s: CarriedState) -> str:
        """A pointer to the initial rows, packed."""
        return self.w.whole(self.w.value(s.init), self.w.axes(s.init), s.type.dtype)

    def _in_registers(self, i: int, s: CarriedState, depth: int) -> None:
        """Hold a scalar state of the last `depth` steps in variables."""
        w, dtype = self.w, s.type.dtype
        names = [w.variable(dtype) for _ in range(depth)]
        if s.depth == 1 and s.init in w.few and w.dtype(s.init) == dtype:
            w.code.append(Set(names[0], w.few[s.init][0].value))
        else:
            init = self._init(s)
            w.code += [Set(name, Load(init, Lit(s.depth - k), dtype)) for k, name in enumerate(names, 1)]
        w.env |= {tap: Scalar(Var(names[k - 1], dtype), dtype) for k, tap in s.taps if k <= depth}
        self.registers[i] = names

    def _changed(self, s: CarriedState, names: tuple[str, ...]) -> None:
        """Hold a state in one place: steps set parts of it, by `names`, then all of it unless one is its update."""
        w, dtype, tap = self.w, s.type.dtype, s.taps[0][1]
        axes = w.axes(tap)
        home = w.is_packed(s.update) and not w.device
        kept = [i for i, k in enumerate(self.loop.keeps) if home and k.rows == 1 and k.value == s.update]
        pointer = self.outs[kept[0]] if kept else w.scratch(dtype, axes)
        in_parts = s.update in names
        if kept or not in_parts:
            w.homes[s.update] = (pointer, ZERO)
        note_links(names, pointer, Nested(self.loop, tuple(self.nodes), ()), w)
        if in_parts:
            remember_last_set(tap, names, self.nodes, w)
            note_set_so_far(s, names, self.loop, self.nodes, w)
        else:
            note_overwritten(s.update, names[-1] if names else tap, pointer, self.nodes, w)
        there = w.homes.get(self.loop.keeps[kept[0]].out) if kept else None
        if there is None or there != (w.handed_on.get(s.init), ZERO):  # else it lies in the right place already
            w.code += w.copied(w.value(s.init), pointer, ZERO, (ONE, *axes))
        w.env[tap] = Array(pointer, axes, packed(axes), dtype)
        w.in_place.update(names)

    def _in_memory(self, i: int, s: CarriedState, step: list[Stmt]) -> None:
        w, dtype, axes = self.w, s.type.dtype, self.w.axes(s.taps[0][1])
        rows = self.places.states.get(i)
        if rows:
            places = (rows.apart, *packed(axes))
            w.code += w.copied(w.value(s.init), *rows.at(Lit(-s.depth)), w.axes(s.init), dtype, places)
        elif s.update not in self.trace and s.update not in self.numbers:
            depth = s.depth + rows_more(i, self.loop.states, self.followed)
            count = depth + 1 if axes else 1 << depth.bit_length()  # a power of two is fast to divide by
            self.rings[i] = w.scratch(dtype, axes, count), count
            if keeps_around(s, self.nodes):
                w.around[s.update] = Do("less", (self.t, Lit(count)), "bool", INDEX)
        if (rows or i in self.rings) and s.update in self.computed and s.update not in w.homes:
            w.homes[s.update] = self._written(i, self.t)
        init = "" if rows else self._init(s)
        for k, tap in s.taps:
            if not axes and k <= REGISTERS:
                continue
            pointer = w.pointer(dtype)
            late = Point(pointer, *self._written(i, plus(self.t, Lit(-k))), dtype)
            if rows:
                step.append(late)
            else:
                early = Point(pointer, init, times(plus(self.t, Lit(s.depth - k)), product(axes)), dtype)
                step.append(If(Do("less", (self.t, Lit(k)), "bool", INDEX), (early,), (late,)))
            if axes:
                w.env[tap] = Array(pointer, axes, packed(axes), dtype)
                continue
            with w.into(step):
                w.let(tap, Load(pointer, ZERO, dtype), dtype)

    def _in_variables(self, i: int, s: CarriedState) -> None:
        """Hold the elements of a small state also in variables, if its update is computed in variables."""
        w, axes = self.w, self.w.axes(s.taps[0][1])
        made = next((n for n in self.nodes if s.update in n.outs), None)
        if w.device or s.depth != 1 or not is_few(axes):
            return
        if not isinstance(made, Map | Product | Join) and not (isinstance(made, Nested) and few_steps(made, w, True)):
            return
        dtype, init = s.type.dtype, self._init(s)
        names = [w.variable(dtype) for _ in range(prod(int(n.value) for n in axes if isinstance(n, Lit)))]
        w.code += [Set(name, Load(init, Lit(k), dtype)) for k, name in enumerate(names)]
        w.few[s.taps[0][1]] = [Scalar(Var(name, dtype), dtype) for name in names]
        self.variables[i] = names

    def _written(self, i: int, step: Expr) -> tuple[str, Expr]:
        """The place of the row that state i gets at a step."""
        if i in self.places.states:
            return self.places.states[i].at(step)
        s = self.loop.states[i]
        found = self.trace.get(s.update, self.numbers.get(s.update))
        if found is not None:
            return self.kept_row(found, step)
        ring, rows = self.rings[i]
        return ring, times(Do("remainder", (step, Lit(rows)), INDEX, INDEX), product(self.w.axes(s.update)))

    def _move_on(self) -> None:
        """Write the end of a step: the states of this step become those of one step ago."""
        w = self.w
        new: dict[int, Expr] = {}
        for i in self.registers:
            value = w.value(self.loop.states[i].update)
            variable = w.fresh("u")
            w.code.append(Let(variable, number_of(value), value.dtype))
            new[i] = Var(variable, value.dtype)
        small = self._handed_on()
        for i, names in self.registers.items():
            dtype = self.loop.states[i].type.dtype
            newer = [*(Var(name, dtype) for name in reversed(names[:-1])), new[i]]
            w.code += [Set(old, x) for old, x in zip(reversed(names), newer, strict=True)]
        w.code += [Set(name, value) for name, value in small.items()]
        for i in (*self.rings, *self.places.states):
            s = self.loop.states[i]
            if w.homes.get(s.update) == self._written(i, self.t):
                continue  # it was computed there
            pointer = w.pointer(s.type.dtype)
            w.code.append(Point(pointer, *self._written(i, self.t), s.type.dtype))
            w.code += w.copied(w.value(s.update), pointer, ZERO, w.axes(s.update))

    def _handed_on(self) -> dict[str, Var]:
        """The new values of small states held in variables, noted before any state changes."""
        w = self.w
        new: dict[str, Var] = {}
        for i, names in self.variables.items():
            update, dtype = self.loop.states[i].update, self.loop.states[i].type.dtype
            found = w.few.get(update)
            for k, name in enumerate(names):
                value = (
                    found[k].value if found else Load(w.whole(w.value(update), w.axes(update), dtype), Lit(k), dtype)
                )
                new[name] = Var(w.fresh("u"), dtype)
                w.code.append(Let(new[name].name, value, dtype))
        return new

    # Kept rows

    def _keep(self, i: int, k: Keep, after: list[Stmt]) -> None:
        """Store the rows kept of a step; those of only the last step are stored by the statements `after` the loop."""
        w, axes, until = self.w, self.w.axes(k.value), self.loop.until is not None
        value, size = w.value(k.value), self._apart(i)
        if k.rows == 1:
            if w.homes.get(k.value) == (self.outs[i], ZERO):
                return  # it was computed there
            if isinstance(value, Scalar):
                if not (name := register_of(k, self.loop, self.registers, w)):
                    w.code.append(Set(name := w.variable(value.dtype), value.value))
                value = Scalar(Var(name, value.dtype), value.dtype)
                w.few |= {k.out: [value]} if k.start is not None and not axes else {}
            apart = packed(w.given_axes(k.value)) if self.outermost and not w.is_packed(k.value) else ()
            after += w.copied(value, self.outs[i], ZERO, axes, strides=apart)
        elif k.rows is None:
            if self.trace.get(k.value) == i or i in self.places.stored:
                return
            if until:  # the room may be less than the loop needs
                w.code.append(If(Do("greater_equal", (self.t, self._rows(i)), "bool", INDEX), (Fail(-2),)))
            w.code += w.copied(value, *self.kept_row(i, self.t), axes)
        elif not until:
            first = Do("subtract", (self.steps, self._rows(i)), INDEX, INDEX)
            late = Do("greater_equal", (self.t, first), "bool", INDEX)
            place = times(Do("subtract", (self.t, first), INDEX, INDEX), size)
            w.code.append(If(late, w.copied(value, self.outs[i], place, axes)))
        else:
            place = times(Do("remainder", (self.t, self._rows(i)), INDEX, INDEX), size)
            some = Do("greater", (self._rows(i), ZERO), "bool", INDEX)
            w.code.append(If(some, w.copied(value, self.outs[i], place, axes)))

    def _rows(self, i: int) -> Expr:
        """The number of rows of a result for which there is room."""
        return self.w.number(Number("rows", keep=i)) if self.outermost else room(self.loop.keeps[i].out, self.w)
