"""The state of lowering: the arguments of the kernel being written, the places of its values, the statements so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod

import numpy as np

from scanopt.backends.kernels.bodies import Body, read_forwards
from scanopt.backends.kernels.direct_calls import lanes_of
from scanopt.backends.kernels.growing import never_empty
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Declare,
    Do,
    Expr,
    Kernel,
    KernelParam,
    Let,
    Lit,
    Load,
    Point,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)  # fmt: skip
from scanopt.backends.kernels.nodes import Map, Summing
from scanopt.backends.kernels.recipe import Given, Number, Recipe
from scanopt.backends.kernels.scratch import Life, lives_of
from scanopt.backends.kernels.sizes import Lengths
from scanopt.backends.kernels.values import Ahead, Array, Axes, Scalar, Value, element_of, index, nest, packed
from scanopt.program.ir import Loop

__all__ = ["Lowering", "number_of", "operation"]


class Lowering:
    """A kernel being written.

    head: the statements before all others; code: the statements being written. env: the place of each value. homes:
    for each computed array with a given place, that place; others get scratch memory. joined: for each array that
    others are joined to, its place and the parts computed in it; stays: for such an array, the part that lies there
    already. stored: names that need a place in memory. few: the elements of small arrays; few_joined:
    concatenations of these. in_place: arrays that are written over their first argument. over: for the update of a
    state that is written over the old state, the name of the state before that; apart: parts of such states that
    are copied; handed_on: for a view of one from which a loop inside starts, its memory. around: for a state of
    which the same part is always set, the test whether the rest must be copied. new_rows: names whose places are
    kept rows that no earlier step has written. last_set: for names of single elements that are set or read, the
    variables for the last place set and its value. looked_up: parts at places in an array that are not copied.
    out_of_range: the variable that notes places out of range; in_range: the checked place, by array of places and
    length. makers: elementwise operations, by result. chosen: for an array of which a condition decides whether an
    element is set, see `elements_chosen`. repeated: arrays of one repeated number, which are not made. counted:
    arrays 0, 1, 2 ...; evenly: for arrays of evenly spaced integers, the first and the spacing. so_far: for states
    that steps set element by element, the name of the place, and the number they repeat behind it. in_order: for
    each product of which only a loop reads rows, in order, the name that it reads, and the elements of a step that
    reads several rows; ahead: those that the loop may make itself.
    summing: for rows that a loop keeps, the products that alone read them; sums: for each product that a loop may have
    added up, the test whether it did, and the number for the order.
    laid: packed copies, by statements, name, dtype.  read_forwards: names not only read from the last row to the first.
    prefixes: for axes of which only first elements are needed, how many. taken: the variable for the number of steps of
    the loop that may end early.  step_of: the variable of the loop whose step is being written; made_in: for each
    scratch array, the variable of the loop in whose steps it is made. tiles: whether products may be made of tiles.
    loops_open: for each loop being written, the names that have a place before it, and the list of statements there.
    rows: names given to rows and parts that have none in the program, each with the name of the array. device: whether
    it is for a device, where threads share reductions. part: for each name, the axis of which the kernel handles a
    part; its arguments have all of that axis.
    """

    def __init__(
        self,
        body: Body,
        lengths: Lengths,
        tiles: bool = False,
        part: Mapping[str, int] | None = None,
        device: bool = False,
    ) -> None:
        self.body, self.tiles, self.part, self.device = body, tiles, part or {}, device
        self.rows: dict[str, str] = {}
        self._axes = dict(lengths.axes)
        self.lengths = replace(lengths, axes=self._axes)
        self.loops_open: list[tuple[frozenset[str], list[Stmt]]] = []
        self.given: list[Given] = []
        self.numbers: list[Number] = [Number("size", axis) for axis in lengths.numbers.values()]
        self.number_names = list(lengths.numbers)
        self.loops: list[tuple[str, tuple[str, ...]]] = []
        self.made_in: dict[str, str] = {}
        self.step_of = ""
        self.head: list[Stmt] = [Declare(name, INDEX) for name in lengths.growing]
        self.code: list[Stmt] = []
        self.env: dict[str, Value] = {}
        self.homes: dict[str, tuple[str, Expr]] = {}
        self.joined: dict[str, tuple[str, frozenset[str]]] = {}
        self.stays: dict[str, str] = {}
        self.stored: set[str] = set()
        self.few: dict[str, list[Scalar]] = {}
        self.few_joined: set[str] = set()
        self.in_place: set[str] = set()
        self.over: dict[str, str] = {}
        self.apart: set[str] = set()
        self.handed_on: dict[str, str] = {}
        self.around: dict[str, Expr] = {}
        self.new_rows: set[str] = set()
        self.last_set: dict[str, tuple[str, str]] = {}
        self.looked_up: set[str] = set()
        self.out_of_range = ""
        self.in_range: dict[tuple[str, Expr], Expr] = {}
        self.makers: dict[str, Map] = {}
        self.chosen: dict[str, tuple[str, str, bool]] = {}
        self.repeated: set[str] = set()
        self.counted: set[str] = set()
        self.evenly: dict[str, tuple[Expr, Expr]] = {}
        self.so_far: dict[str, tuple[str, Lit]] = {}
        self.in_order: dict[str, tuple[str, Expr]] = {}
        self.ahead: dict[str, Ahead] = {}
        self.summing: dict[str, tuple[Summing, ...]] = {}
        self.sums: dict[str, tuple[Expr, Var]] = {}
        self.prefixes: dict[Axes, Expr] = {}
        self.lengths_set: set[str] = set()
        filled = never_empty(body.root.nodes, body)
        self.never_empty = {self.lengths.axes[name][i] for name, i in filled if name in lengths.axes}
        self.laid: dict[tuple[int, str, str], tuple[list[Stmt], str]] = {}
        self.read_forwards = read_forwards(body)
        self.count = 0
        self.taken = self.variable(INDEX) if body.cut else ""

    @contextmanager
    def into(self, code: list[Stmt]) -> Iterator[list[Stmt]]:
        """A context in which statements are written to another list."""
        before, self.code = self.code, code
        yield code
        self.code = before

    @contextmanager
    def into_step(self, code: list[Stmt], var: str) -> Iterator[None]:
        """A context in which the statements of a step are written.  var: the variable of its loop."""
        before, self.step_of = self.step_of, var
        with self.into(code):
            yield
        self.step_of = before

    # Names and arguments

    def fresh(self, what: str) -> str:
        """An unused name."""
        self.count += 1
        return f"{what}{self.count}"

    def give(self, what: Given) -> str:
        """The pointer of an array argument."""
        if what not in self.given:
            self.given.append(what)
        return f"g{self.given.index(what)}"

    def scratch(self, dtype: str, axes: Axes, rows: int = 1) -> str:
        """Allocate scratch memory; return its pointer."""
        self.given.append(Given("scratch", dtype, name=str(len(self.given)), rows=rows, axes=axes))
        pointer = f"g{len(self.given) - 1}"
        self.made_in[pointer] = self.step_of
        return pointer

    def slot(self, name: str, dtypes: tuple[str, ...]) -> int:
        """The number of an inner loop."""
        if (name, dtypes) not in self.loops:
            self.loops.append((name, dtypes))
        return self.loops.index((name, dtypes))

    def direct_slot(self, ufunc: str, dtypes: tuple[str, ...], axes: Axes) -> int:
        """The number of the function that may replace a loop over so few elements; -1 where there is none."""
        lengths = [int(n.value) for n in axes if isinstance(n, Lit)]
        few = len(lengths) == len(axes) and 0 < prod(lengths) <= lanes_of(ufunc, dtypes)
        return self.slot(f"direct {ufunc}", dtypes[:1]) if few and not self.device else -1

    def before(self, *names: str) -> list[Stmt] | None:
        """The statements before all loops in which these arrays do not change; None if the innermost makes one."""
        places = [self.head, *(code for _, code in self.loops_open)]
        known = [frozenset(self.body.outer), *(there for there, _ in self.loops_open)]
        first = [next((i for i, there in enumerate(known) if name in there), None) for name in names]
        return None if None in first else places[max(i for i in first if i is not None)]

    def number(self, what: Number) -> Var:
        """A numeric argument of the kernel."""
        if what not in self.numbers:
            self.numbers.append(what)
            self.number_names.append(f"m{len(self.numbers)}")
        return Var(self.number_names[self.numbers.index(what)])

    def axes(self, name: str) -> Axes:
        """The lengths of the axes of a name."""
        return self.lengths.axes[name]

    def given_axes(self, name: str) -> Axes:
        """The lengths of the axes of the whole array, of which the kernel may handle a part."""
        axes, i = self.axes(name), self.part.get(name)
        return axes if i is None else (*axes[:i], self.number(Number("all")), *axes[i + 1 :])

    def is_packed(self, name: str) -> bool:
        """Whether the part of an argument that the kernel handles is packed."""
        return all(n == ONE for n in self.axes(name)[: self.part.get(name, 0)])

    def dtype(self, name: str) -> str:
        """The dtype of a name."""
        return self.body.types[self.rows.get(name, name)].dtype

    def name_row(self, row: str, source: str) -> None:
        """Give a name to the rows of an array."""
        if row not in self._axes:
            self.name_part(row, source, self._axes[source][1:])

    def name_part(self, part: str, source: str, axes: Axes) -> None:
        """Give a name to a part of an array, of these axes."""
        self.rows[part], self._axes[part] = self.rows.get(source, source), axes

    # Values

    def value(self, name: str) -> Value:
        """The place of a value; outer values become arguments at their first use."""
        if name not in self.env and name in self.body.numbers:  # compilers make shifts of divisions by literals
            self.env[name] = Scalar(self.body.numbers[name], self.body.numbers[name].dtype)
        elif name not in self.env:
            dtype, axes = self.dtype(name), self.axes(name)
            pointer = self.give(Given("array", dtype, name))
            if axes:
                self.env[name] = Array(pointer, axes, packed(self.given_axes(name)), dtype)
            else:
                variable = self.fresh("x")
                self.head.append(Let(variable, Load(pointer, ZERO, dtype), dtype))
                self.env[name] = Scalar(Var(variable, dtype), dtype)
        return self.env[name]

    def let(self, name: str, value: Expr, dtype: str) -> None:
        """Define a variable for the number that is the value of a name."""
        variable = self.fresh("v")
        self.code.append(Let(variable, value, dtype))
        self.env[name] = Scalar(Var(variable, dtype), dtype)

    def variable(self, dtype: str) -> str:
        """Declare a scalar variable that is set later."""
        name = self.fresh("s")
        self.head.append(Declare(name, dtype))
        return name

    def pointer(self, dtype: str) -> str:
        """Declare a pointer that is set later, and keeps its last value."""
        name = self.fresh("p")
        self.head.append(Declare(name, dtype, pointer=True))
        return name

    def cell(self, dtype: str) -> str:
        """Declare a place in memory for one number."""
        name = self.fresh("c")
        self.head.append(Declare(name, dtype, elements=1))
        return name

    def place(self, name: str) -> str:
        """Define the place of a computed array; return the pointer to write to."""
        dtype, axes = self.dtype(name), self.axes(name)
        if name in self.sums and isinstance(there := self.env.get(name), Array):
            return there.pointer
        strides = packed(self.given_axes(name) if self.is_result(name) else axes)
        if name in self.homes:
            pointer = self.pointer(dtype)
            array, index = self.homes[name]
            self.code.append(Point(pointer, array, index, dtype))
        else:
            pointer = self.scratch(dtype, axes)
        self.env[name] = Array(pointer, axes, strides, dtype)
        return pointer

    def elements(
        self, names: Sequence[str], values: Sequence[Value], places: Sequence[Expr], lengths: Axes
    ) -> list[Expr]:
        """The elements of named values at some places; those of evenly spaced integers are computed, not read."""
        found = [element_of(v, places, lengths) for v in values]
        for i, name in enumerate(names):
            along = not self.device and self.axes(name) == lengths[-1:] != (ONE,)
            if along and name in self.counted:
                found[i] = Cast(places[-1], self.dtype(name))
            elif along and name in self.evenly:
                found[i] = plus(self.evenly[name][0], times(places[-1], self.evenly[name][1]))
        return found

    def grows(self, length: Expr) -> bool:
        """Whether steps decide a length."""
        return isinstance(length, Var) and length.name in self.lengths.growing

    def counts(self, loop: Loop) -> bool:
        """Whether a loop is the one whose number of steps the kernel returns; passes may have replaced it by another
        one of the same label and phase."""
        cut = self.body.cut
        return cut is not None and (cut.label, cut.phase) == (loop.label, loop.phase)

    def is_result(self, name: str) -> bool:
        """Whether a computed array is written where a result of the kernel is kept."""
        array, index = self.homes.get(name, ("", ZERO))
        return index == ZERO and any(array == f"g{i}" for i, g in enumerate(self.given) if g.kind == "out")

    def whole(self, value: Value, axes: Axes, dtype: str) -> str:
        """A pointer to a value as a packed array of these axes and this dtype, copied where it is not one."""
        if isinstance(value, Array) and value.fills(axes) and value.dtype == dtype:
            return value.pointer
        pointer = self.scratch(dtype, axes)
        self.code += self.copied(value, pointer, ZERO, axes, dtype)
        return pointer

    def packed_before(self, name: str, dtype: str) -> str:
        """A pointer to an array, packed; if it is not, it is copied, before all loops in which it does not change."""
        axes, before = self.axes(name), self.before(name)
        if before is None:
            return self.whole(self.value(name), axes, dtype)
        key = id(before), name, dtype
        if key not in self.laid:
            with self.into(before):
                self.laid[key] = before, self.whole(self.value(name), axes, dtype)
        return self.laid[key][1]

    def keep_few(self, name: str, elements: list[Scalar]) -> None:
        """Define a small array by its elements, and also store it if something reads it in memory."""
        self.few[name] = elements
        if name in self.stored:
            pointer = self.place(name)
            self.code += [Store(pointer, Lit(i), x.value) for i, x in enumerate(elements)]

    def places(self, axes: Axes) -> tuple[list[str], list[Expr]]:
        """Names for a place along each axis, and the places: 0 along those of length 1."""
        names = [self.fresh("i") for _ in axes]
        return names, [Var(name) if n != ONE else ZERO for name, n in zip(names, axes, strict=True)]

    def copied(
        self, value: Value, pointer: str, start: Expr, axes: Axes, dtype: str | None = None, strides: Axes = ()
    ) -> tuple[Stmt, ...]:
        """Statements that copy a value to the elements from `start` on, broadcast to `axes`.  strides: () if packed."""
        flat = not strides and (isinstance(value, Scalar) or value.fills(axes))
        lengths = (product(axes),) if flat else axes
        names, places = self.places(lengths)
        into = index(start, places, strides or packed(lengths))
        element = element_of(value, places, lengths)
        element = element if dtype in (None, value.dtype) else Cast(element, str(dtype))
        return nest(lengths, names, (Store(pointer, into, element),))

    # The finished kernel

    def recipe(self, code: Sequence[Stmt], result: str) -> Recipe:
        """The kernel, and its arguments."""
        params = tuple(self._param(i, g) for i, g in enumerate(self.given))
        kernel = Kernel(params, tuple(self.number_names), len(self.loops), (*self.head, *code), result)
        given, numbers, loops = tuple(self.given), tuple(self.numbers), tuple(self.loops)
        return Recipe(kernel, self.lengths, given, numbers, loops, *self._lives(code), self._named())

    def _named(self) -> dict[str, str]:
        """For each variable, the name of its value, the first one where several share it."""
        out: dict[str, str] = {}
        for name, value in self.env.items():
            where = value.pointer if isinstance(value, Array) else value.value
            if isinstance(where, str | Var):
                out.setdefault(where.name if isinstance(where, Var) else where, name)
        return out

    def _lives(self, code: Sequence[Stmt]) -> tuple[dict[int, Life], dict[int, int]]:
        """The live range of each scratch array of a program, and which arrays may be written onto which others."""
        if not self.body.whole:
            return {}, {}
        once = [x for s in code for x in (s.body if isinstance(s, Steps) and s.var == "t" else (s,))]
        numbers = {f"g{i}": i for i, g in enumerate(self.given) if g.kind == "scratch"}
        made_in = {} if self.device else {name: var for name, var in self.made_in.items() if var not in ("", "t")}
        lives, onto = lives_of([*self.head, *once], numbers, made_in)
        pairs = {} if self.device else {numbers[b]: numbers[a] for b, a in onto.items()}
        size = {i: np.dtype(self.given[i].dtype).itemsize for i in numbers.values()}
        alike = {b: a for b, a in pairs.items() if size[a] == size[b]}
        return {numbers[name]: life for name, life in lives.items()}, alike

    def _param(self, i: int, g: Given) -> KernelParam:
        if g.kind == "scratch":
            return KernelParam(f"g{i}", g.dtype, self.number(Number("offset", keep=i)).name)
        name = self.body.loop.keeps[g.keep].value if g.kind == "out" else g.name
        return KernelParam(f"g{i}", g.dtype, self.number(Number("part", keep=i)).name if name in self.part else "")


def number_of(value: Value) -> Expr:
    """The number that a value without axes is."""
    assert isinstance(value, Scalar)
    return value.value


def operation(node: Map, args: list[Expr], dtypes: list[str]) -> Expr:
    """The expression of a node, from those of its arguments."""
    given = [x if d == want else Cast(x, want) for x, d, want in zip(args, dtypes, node.takes, strict=True)]
    return given[0] if node.op == "copy" else Do(node.op, tuple(given), node.dtype, node.takes[-1])
