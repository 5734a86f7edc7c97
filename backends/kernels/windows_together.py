"""A pass on a loop that reduces windows x[i:i+k] at step i, or multiplies them by a vector: runs several steps at once.

Element j of consecutive windows is contiguous, so the steps are vectorized.  Each window is reduced in NumPy's order,
so the bits are the same.  Where windows do not follow each other, or bits may differ, the steps run one by one; this is
tested when the kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial, reduce
from typing import Protocol

import numpy as np

from scanopt.backends.kernels.c_reductions import adds_in_eight_sums
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Declare,
    Do,
    Expr,
    For,
    If,
    Let,
    Lit,
    Load,
    Point,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, operation
from scanopt.backends.kernels.nodes import IDENTITY, Map, Node, Product, Reduce, View
from scanopt.backends.kernels.values import Array, Axes, Scalar, element_of
from scanopt.backends.kernels.window_products import is_window_product, may_be_made, product_of_windows
from scanopt.program.ir import Loop
from scanopt.records import dataclass

__all__ = ["with_windows_together"]

WIDTH = 64
"""Steps at a time: enough that stores have completed before their values are loaded, and that vectors are full."""
SUMS = 8
"""NumPy adds rows of at least this length, up to `LONGEST`, in this many sums."""
LONGEST = 128
"""NumPy adds longer rows in halves."""
EXTREMES = {"maximum": "greater", "minimum": "less"}


class WrittenLoop(Protocol):
    """A loop being written.  t: the number of the step; steps: their number."""

    w: Lowering
    loop: Loop
    nodes: tuple[Node, ...]
    t: Var
    steps: Expr

    def kept_row(self, i: int, step: Expr) -> tuple[str, Expr]:
        """The place of a step's row in the result of this number."""
        ...

    def source_of(self, out: str, source: str) -> tuple[str, Expr, Axes] | Scalar:
        """The start of a sequence, the stride of its rows, the strides in a row; or the number that all rows are."""
        ...


def with_windows_together(frame: WrittenLoop, step: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """Statements that run several steps side by side where possible, else one step; or just the given step.

    They set the number of the step to that of the last step that they run.
    """
    w, loop, nodes = frame.w, frame.loop, frame.nodes
    if not _fits(loop, nodes, w):
        return tuple(step)
    block = _Block(w, Var(w.variable(INDEX)), Var(w.variable("bool"), "bool"))
    with w.into([]) as code:
        for r in loop.reads:
            block.read(r.out, frame.source_of(r.out, r.source))
        block.run([*nodes], [(k.value, partial(frame.kept_row, i)) for i, k in enumerate(loop.keeps)])
    first = Do("minimum", (frame.t, plus(frame.steps, Lit(-WIDTH))), INDEX, INDEX)  # some of the last may run twice
    enough = _do("greater_equal", frame.steps, Lit(WIDTH))
    for n in nodes:
        if isinstance(n, Reduce) and n.op == "add" and np.dtype(n.dtype).kind == "f":
            enough = _both(enough, _do("less_equal", w.axes(n.args[0])[0], Lit(LONGEST)))
        elif isinstance(n, Product):
            enough = _both(enough, may_be_made(n, block.windows, w))
    together = If(enough, (Set(block.start.name, first), *code))
    last = Set(frame.t.name, plus(block.start, Lit(WIDTH - 1)))
    return Set(block.done.name, Lit(False, "bool")), together, If(block.done, (last,), tuple(step))


def _fits(loop: Loop, nodes: Sequence[Node], w: Lowering) -> bool:
    """Whether the steps of a loop are independent and do nothing but reduce windows to numbers."""
    alone = not loop.states and loop.until is None and all(k.rows is None and not w.axes(k.value) for k in loop.keeps)
    made = {name for n in nodes for name in n.outs} | {r.out for r in loop.reads}
    reads = all(not w.axes(r.out) and r.source not in w.ahead for r in loop.reads)
    if w.device or not alone or not reads or not any(isinstance(n, Reduce | Product) for n in nodes):
        return False
    return all(_is_of_windows(n, made, w) for n in nodes) and all(_is_multiplied(n, nodes, w) for n in nodes)


def _is_multiplied(node: Node, nodes: Sequence[Node], w: Lowering) -> bool:
    """Whether a node is no product, or one of a window of a contiguous array."""
    if not isinstance(node, Product):
        return True
    found = [w.value(n.args[0]) for n in nodes if isinstance(n, View) and n.out in node.args]
    return len(found) == 1 and all(isinstance(x, Array) and x.strides == (ONE,) for x in found)


def _is_of_windows(node: Node, made: set[str], w: Lowering) -> bool:
    if type(node) is Map:
        axes = w.axes(node.out)
        return not any(map(w.grows, axes)) and all(len(w.axes(a)) <= 1 for a in (node.out, *node.args))
    if isinstance(node, View):
        return _is_window(node, made, w) or (node.axes == (None,) and not node.at and not w.axes(node.args[0]))
    if isinstance(node, Product):
        return is_window_product(node, made, w)
    return isinstance(node, Reduce) and node.args[0] in made and _order_is_known(node, w)


def _is_window(node: View, made: set[str], w: Lowering) -> bool:
    """Whether a view is x[i:j] of an array from outside, with a planned length."""
    if len(node.axes) != 1 or node.axes[0] is None or node.at or len(w.axes(node.args[0])) != 1:
        return False
    start, stop, step = node.axes[0][1]
    ends = isinstance(start, str) and isinstance(stop, str) and step in (None, 1)
    return ends and node.args[0] not in made and not w.grows(w.axes(node.out)[0])


def _order_is_known(node: Reduce, w: Lowering) -> bool:
    axes, kind = w.axes(node.args[0]), np.dtype(node.dtype).kind
    if len(axes) != 1 or axes[0] == ONE or w.axes(node.out) or w.dtype(node.args[0]) != node.dtype or kind not in "iuf":
        return False
    return node.op in ("maximum", "minimum", "multiply") or (node.op == "add" and (kind != "f" or adds_in_eight_sums()))


@dataclass
class _Block:
    """Writes steps that run side by side.

    start: the number of the first one.  done: the variable that says whether they have run.  lanes: for each number,
    the array of its values in all steps.  windows: for each window, its array, and where it starts in the first step.
    maps: elementwise operations on windows, which are done where their results are read.  tests: whether the bits are
    NumPy's.
    """

    w: Lowering
    start: Var
    done: Var
    lanes: dict[str, str] = field(default_factory=dict[str, str])
    windows: dict[str, tuple[Array, Var]] = field(default_factory=dict[str, tuple[Array, Var]])
    maps: dict[str, Map] = field(default_factory=dict[str, Map])
    tests: list[Expr] = field(default_factory=list[Expr])

    def read(self, out: str, source: tuple[str, Expr, Axes] | Scalar) -> None:
        """Define the elements that the steps read of a sequence."""
        if isinstance(source, Scalar):
            self._each(out, lambda k: source.value)
        else:
            start, stride, _ = source
            self._each(out, lambda k: Load(start, times(plus(self.start, k), stride), self.w.dtype(out)))

    def run(self, nodes: list[Node], kept: Sequence[tuple[str, Callable[[Expr], tuple[str, Expr]]]]) -> None:
        """Write the nodes, and then the stores of kept values."""
        w = self.w
        for i, node in enumerate(nodes):
            if isinstance(node, View) and node.axes != (None,):
                sure = self._window(node)
                with w.into([]) as inside:
                    self.run(nodes[i + 1 :], kept)
                w.code.append(If(sure, tuple(inside)))
                return
            self._node(node)
        stores: list[Stmt] = []
        for name, row in kept:
            k = Var(w.fresh("i"))
            pointer, index = row(plus(self.start, k))
            stores.append(For(k.name, Lit(WIDTH), (Store(pointer, index, self._lane(name, k)),)))
        w.code.append(Set(self.done.name, _all(self.tests)))
        w.code.append(If(self.done, tuple(stores)))

    def _node(self, node: Node) -> None:
        if isinstance(node, View):
            self.lanes[node.out] = self.lanes[node.args[0]]
        elif isinstance(node, Map) and self.w.axes(node.out) not in ((), (ONE,)):
            self.maps[node.out] = node
        elif isinstance(node, Map):
            dtypes = [self.w.dtype(a) for a in node.args]
            self._each(node.out, lambda k: operation(node, [self._lane(a, k) for a in node.args], dtypes))
        elif isinstance(node, Product):
            self._multiply(node)
        else:
            assert isinstance(node, Reduce)
            self._reduce(node)

    def _multiply(self, node: Product) -> None:
        w, pointer, out = self.w, self.w.pointer(node.dtype), self._cells(node.dtype)
        x, first = next(self.windows[a] for a in node.args if a in self.windows)
        w.code.append(Point(pointer, x.pointer, first, node.dtype))
        w.code.append(product_of_windows(node, pointer, self.windows, out, WIDTH, w))
        self.lanes[node.out] = out

    # Numbers

    def _cells(self, dtype: str, count: int = WIDTH) -> str:
        name = self.w.fresh("c")
        self.w.head.append(Declare(name, dtype, elements=count))
        return name

    def _each(self, name: str, value: Callable[[Expr], Expr]) -> None:
        """Compute and store the values of a number in all steps.  value: of one step."""
        self.lanes[name] = self._cells(self.w.dtype(name))
        k = Var(self.w.fresh("i"))
        self.w.code.append(For(k.name, Lit(WIDTH), (Store(self.lanes[name], k, value(k)),)))

    def _lane(self, name: str, k: Expr) -> Expr:
        """The value of a number in step k."""
        if name in self.lanes:
            return Load(self.lanes[name], k, self.w.dtype(name))
        value = self.w.value(name)
        assert isinstance(value, Scalar)
        return value.value

    # Windows

    def _window(self, node: View) -> Expr:
        """The test whether the windows of all steps follow each other, each of the planned length."""
        w, entry = self.w, node.axes[0]
        assert entry is not None
        (start, stop, _), x, n = entry[1], w.value(node.args[0]), w.axes(node.out)[0]
        assert isinstance(x, Array)
        first, k = Var(w.variable(INDEX)), Var(w.fresh("i"))
        self.windows[node.out] = x, first
        w.code.append(Set(first.name, Cast(self._lane(str(start), ZERO), INDEX)))
        here, end = (Cast(self._lane(str(p), k), INDEX) for p in (start, stop))
        there = plus(first, k)
        follow = self._holds(k, Lit(WIDTH), _both(_do("equal", here, there), _do("equal", end, plus(there, n))))
        last = plus(plus(first, Lit(WIDTH - 1)), n)
        return _all([_do("greater_equal", first, ZERO), _do("less_equal", last, x.axes[0]), follow])

    def _element(self, name: str, k: Expr, j: Expr, body: list[Stmt], known: dict[str, Var]) -> Expr:
        """Element j of a window in step k.  body: gets the operations; known: the results written so far."""
        w, dtype = self.w, self.w.dtype(name)
        if name in self.windows:
            x, first = self.windows[name]
            return Load(x.pointer, times(plus(plus(first, k), j), x.strides[0]), dtype)
        if name not in self.maps:
            whole = name not in self.lanes and w.axes(name)
            return element_of(w.value(name), [j], w.axes(name)) if whole else self._lane(name, k)
        if name not in known:
            node = self.maps[name]
            args = [self._element(a, k, j, body, known) for a in node.args]
            known[name] = Var(w.fresh("v"), dtype)
            body.append(Let(known[name].name, operation(node, args, [w.dtype(a) for a in node.args]), dtype))
        return known[name]

    def _is_shared(self, name: str) -> bool:
        """Whether element j of a value in step k is its element j + 1 in the step before."""
        if name in self.maps:
            return all(self._is_shared(a) or self._is_one(a) for a in self.maps[name].args)
        return name in self.windows

    def _is_one(self, name: str) -> bool:
        """Whether a name is the same number in all steps."""
        return name not in self.lanes and name not in self.maps and not self.w.axes(name)

    def _put(self, cells: str, node: Reduce, j: Expr, lane: int = 0, op: str = "") -> For:
        """A loop that combines element j of each window with the cells by `op`; "": that stores it there."""
        k, body = Var(self.w.fresh("i")), list[Stmt]()
        at = plus(k, Lit(lane * WIDTH))
        x = self._element(node.args[0], k, j, body, {})
        if op:
            x = _combined(op, Load(cells, at, node.dtype), x, node.dtype)
        return For(k.name, Lit(WIDTH), (*body, Store(cells, at, x)))

    def _reduce(self, node: Reduce) -> None:
        w, dtype, n = self.w, node.dtype, self.w.axes(node.args[0])[0]
        floats = np.dtype(dtype).kind == "f"
        if node.op == "add" and floats:
            found = self._sums(node, n)
        else:
            found, j = self._cells(dtype), Var(w.fresh("j"))
            w.code.append(self._put(found, node, ZERO))
            w.code.append(Steps(j.name, plus(n, Lit(-1)), (self._put(found, node, plus(j, ONE), op=node.op),)))
            if floats and node.op in EXTREMES:
                self.tests.append(self._ordinary(node, found, n))
        start = Lit(IDENTITY[node.op], dtype) if node.op in IDENTITY else None

        def value(k: Expr) -> Expr:
            x: Expr = Load(found, k, dtype)
            x = x if start is None else Do(node.op, (start, x), dtype, dtype)
            if not node.counted:
                return x
            count = Cast(Do("maximum", (plus(n, Lit(-node.less)), ZERO), INDEX, INDEX), "float64")
            return Cast(Do("divide", (Cast(x, "float64"), count), "float64", "float64"), dtype)

        self._each(node.out, value)

    def _ordinary(self, node: Reduce, found: str, n: Expr) -> Expr:
        """The test that no extreme is a zero and no element is NaN: else the bits depend on the order of elements."""
        dtype, zero = node.dtype, Lit(0.0, node.dtype)
        if self._is_shared(node.args[0]):  # windows share elements: each is tested once
            j, body = Var(self.w.fresh("j")), list[Stmt]()
            x = self._element(node.args[0], ZERO, j, body, {})
            known = self._holds(j, plus(n, Lit(WIDTH - 1)), Do("equal", (x, x), "bool", dtype), body)
        else:
            odd, j, k, body = self._cells(dtype), Var(self.w.fresh("j")), Var(self.w.fresh("i")), list[Stmt]()
            x = self._element(node.args[0], k, j, body, {})
            is_odd = Do("where", (Do("not_equal", (x, x), "bool", dtype), Lit(1.0, dtype), zero), dtype, dtype)
            count = Store(odd, k, Do("add", (Load(odd, k, dtype), is_odd), dtype, dtype))
            self.w.code.append(For(k.name, Lit(WIDTH), (Store(odd, k, zero),)))
            self.w.code.append(Steps(j.name, n, (For(k.name, Lit(WIDTH), (*body, count)),)))
            known = self._holds(k, Lit(WIDTH), Do("equal", (Load(odd, k, dtype), zero), "bool", dtype))
        k = Var(self.w.fresh("i"))
        return _both(known, self._holds(k, Lit(WIDTH), Do("not_equal", (Load(found, k, dtype), zero), "bool", dtype)))

    def _holds(self, i: Var, count: Expr, test: Expr, body: Sequence[Stmt] = ()) -> Expr:
        """The test whether a test of i holds for all i below `count`.  body: statements that it needs."""
        misses = Var(self.w.variable(INDEX))
        self.w.code.append(Set(misses.name, ZERO))
        more = plus(misses, Do("where", (test, ZERO, ONE), INDEX, INDEX))  # compilers vectorize sums of integers
        self.w.code.append(Steps(i.name, count, (*body, Set(misses.name, more))))
        return _do("equal", misses, ZERO)

    def _sums(self, node: Reduce, n: Expr) -> str:
        """Write the sums of all windows, in eight sums each, and then the rest one by one; return their array."""
        w, dtype = self.w, node.dtype
        found, whole, left = self._cells(dtype), Var(w.fresh("j")), Var(w.fresh("j"))
        k = w.fresh("i")
        nothing = For(k, Lit(WIDTH), (Store(found, Var(k), Lit(-0.0, dtype)),))
        with w.into([]) as code:
            (self._shared_sums if self._is_shared(node.args[0]) else self._eight_sums)(node, found, whole)
        w.code.append(Let(whole.name, Do("floor_divide", (n, Lit(SUMS)), INDEX, INDEX), INDEX))
        w.code.append(If(Do("greater", (whole, ZERO), "bool", INDEX), tuple(code), (nothing,)))
        place = plus(times(whole, Lit(SUMS)), left)
        rest = Do("remainder", (n, Lit(SUMS)), INDEX, INDEX)
        w.code.append(Steps(left.name, rest, (self._put(found, node, place, op="add"),)))
        return found

    def _eight_sums(self, node: Reduce, found: str, whole: Expr) -> None:
        w, dtype = self.w, node.dtype
        sums, j, k = self._cells(dtype, SUMS * WIDTH), Var(w.fresh("j")), Var(w.fresh("i"))
        w.code += [self._put(sums, node, Lit(a), a) for a in range(SUMS)]
        at = times(plus(j, ONE), Lit(SUMS))
        more = tuple(self._put(sums, node, plus(at, Lit(a)), a, "add") for a in range(SUMS))
        w.code.append(Steps(j.name, plus(whole, Lit(-1)), more))
        parts: list[Expr] = [Load(sums, plus(k, Lit(a * WIDTH)), dtype) for a in range(SUMS)]
        while len(parts) > 1:
            parts = [Do("add", (a, b), dtype, dtype) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        w.code.append(For(k.name, Lit(WIDTH), (Store(found, k, parts[0]),)))

    def _shared_sums(self, node: Reduce, found: str, whole: Expr) -> None:
        """Write the eight sums so that windows share them: the second one of a window is the first one of the next."""
        w, dtype, (name,) = self.w, node.dtype, node.args
        count = WIDTH + SUMS - 1
        j, sums, k, i = Var(w.fresh("j")), self._cells(dtype, count), Var(w.fresh("i")), Var(w.fresh("i"))
        first, later = list[Stmt](), list[Stmt]()
        start = Store(sums, k, self._element(name, k, ZERO, first, {}))
        x = self._element(name, i, times(plus(j, ONE), Lit(SUMS)), later, {})
        more = Store(sums, i, Do("add", (Load(sums, i, dtype), x), dtype, dtype))
        w.code.append(For(k.name, Lit(count), (*first, start)))
        w.code.append(Steps(j.name, plus(whole, Lit(-1)), (For(i.name, Lit(count), (*later, more)),)))
        for apart in (1, 2, 4):
            count -= apart
            pairs, k = found if apart == SUMS // 2 else self._cells(dtype, count), Var(w.fresh("i"))
            pair = Do("add", (Load(sums, k, dtype), Load(sums, plus(k, Lit(apart)), dtype)), dtype, dtype)
            w.code.append(For(k.name, Lit(count), (Store(pairs, k, pair),)))
            sums = pairs


def _combined(op: str, old: Expr, new: Expr, dtype: str) -> Expr:
    if op in EXTREMES and np.dtype(dtype).kind == "f":
        return Do("where", (Do(EXTREMES[op], (old, new), "bool", dtype), old, new), dtype, dtype)
    return Do(op, (old, new), dtype, dtype)


def _do(op: str, a: Expr, b: Expr) -> Expr:
    return Do(op, (a, b), "bool", INDEX)


def _all(tests: Sequence[Expr]) -> Expr:
    return reduce(_both, tests) if tests else Lit(True, "bool")


def _both(a: Expr, b: Expr) -> Expr:
    return Do("logical_and", (a, b), "bool", "bool")
