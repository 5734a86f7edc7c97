"""Cache blocking of a loop inside a program: each block of elements runs all steps before the next block starts.

Lowering writes a nested loop so if all its steps are elementwise, so that no element reads another one, and if it
keeps only last rows.  The states of a block then stay in the nearest cache and are not moved through memory at each
step.  A loop may also end when all elements are done, if elements that are done no longer change: then each block ends
when its own elements are done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Declare,
    Do,
    Expr,
    For,
    If,
    Let,
    Lit,
    Load,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, operation
from scanopt.backends.kernels.nodes import Map, Nested, Node, Reduce, Repeat
from scanopt.backends.kernels.places_changed import changes_few
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Array, Axes, Scalar, Value, element_of, packed
from scanopt.program.ir import CarriedState
from scanopt.records import dataclass

__all__ = ["BLOCK", "Blocked", "blocked", "write_blocks"]

BLOCK, MOST_STATES = 256, 8
"""Elements of a block; the most states of that length that fit into the nearest cache with what their steps read."""
FEW = 32
"""Elements of a block that ends early: few enough that elements that are done wait for few others, and vectors full."""
WIDE = ("int64", "uint64")
UNVECTORIZED = ("multiply", "floor_divide", "remainder", "right_shift", "power")
"""Operations on `WIDE` dtypes that processors have no vectors for: a block that ends early then has one element."""


@dataclass(frozen=True)
class Blocked:
    """How a loop runs in blocks.

    axes: of its states.  size: the number of elements of a block.  done: the name of the array that says which elements
    no longer change; the loop ends when all of them are true.  "" if all steps run.
    """

    axes: Axes
    size: int = BLOCK
    done: str = ""


def blocked(node: Nested, w: Lowering) -> Blocked | None:
    """Decide how to run a loop in blocks, if its steps are elementwise and it keeps only last rows.

    None for other loops, for loops that read rows of a sequence, which lie far apart from step to step, and for loops
    that change few elements at each step.
    """
    loop = node.loop
    axes = w.axes(loop.states[0].update) if loop.states else ()
    if not w.body.whole or not axes or is_few(axes) or any(w.axes(r.out) for r in loop.reads):
        return None
    if any(s.depth != 1 or w.axes(s.update) != axes for s in loop.states) or any(k.rows != 1 for k in loop.keeps):
        return None
    done = _done(node, axes, w)
    if done is None or len(_held(node)) > MOST_STATES or changes_few(node, w):
        return None
    inside = {tap for s in loop.states for _, tap in s.taps} | {r.out for r in loop.reads}
    for n in node.nodes:
        if n.outs == (loop.until,):
            continue
        if not isinstance(n, Map) or isinstance(n, Repeat):
            return None
        if w.axes(n.out) not in ((), axes) or not all(_fits(a, axes, inside, w) for a in n.args):
            return None
        inside.add(n.out)
    if not all(_fits(name, axes, inside, w) for name in _held(node)):
        return None
    return Blocked(axes, _size(node) if done else BLOCK, done)


def _done(node: Nested, axes: Axes, w: Lowering) -> str | None:
    """The array that says which elements are done; "" if all steps run, None if elements change after they are done."""
    loop, made = node.loop, {out: n for n in node.nodes for out in n.outs}
    updates = {s.update for s in loop.states}
    if loop.until is None:
        return "" if all(k.value in updates for k in loop.keeps) else None
    ends = made.get(loop.until)
    if not isinstance(ends, Reduce) or ends.op != "logical_and" or len(ends.axes) != len(w.axes(ends.args[0])):
        return None
    (done,), kept = ends.args, [k.value for k in loop.keeps]
    if loop.reads or any(w.axes(name) != axes for name in (done, *kept)):
        return None
    taps = {s.update: s.taps[0][1] for s in loop.states if len(s.taps) == 1}
    new = {s.update: made.get(s.update) for s in loop.states}
    stay = (isinstance(n, Map) and (n.op, *n.args[:2]) == ("where", done, taps.get(u)) for u, n in new.items())
    return done if all(stay) else None


def _size(node: Nested) -> int:
    """The number of elements of a block that ends early."""
    return 1 if any(isinstance(n, Map) and n.dtype in WIDE and n.op in UNVECTORIZED for n in node.nodes) else FEW


def _held(node: Nested) -> list[str]:
    """The values that need an array per block: the updates of the states, and what else is kept."""
    return list(dict.fromkeys([*(s.update for s in node.loop.states), *(k.value for k in node.loop.keeps)]))


def _fits(name: str, axes: Axes, inside: set[str], w: Lowering) -> bool:
    """Whether a value has exactly these axes, in order, or is a single number."""
    if name in inside:
        return w.axes(name) in ((), axes)
    value = w.value(name)
    return isinstance(value, Scalar) or value.fills(axes) or product(value.axes) == ONE


def _first_row(state: CarriedState, axes: Axes, w: Lowering) -> Value:
    """The initial value of a state, copied if its elements cannot be found where they lie, given one place for all."""
    value = w.value(state.init)
    if isinstance(value, Scalar) or value.packed:
        return value
    if len(axes) == 1 and not value.picks:
        return Array(value.pointer, value.axes[1:], value.strides[1:], value.dtype)
    row = (ONE, *axes)
    return Array(w.whole(value, row, value.dtype), row, packed(row), value.dtype)


def write_blocks(
    node: Nested,
    plan: Blocked,
    outs: Sequence[str],
    steps: Expr,
    w: Lowering,
    emit: Callable[[Sequence[Node], set[str]], None],
) -> Expr:
    """Write a loop in blocks; return the number of steps that it takes.

    outs: arrays for the last rows that it keeps; steps: the most steps; emit: writes nodes, here those of scalars.
    """
    blocks = _Blocks(node, plan, w, emit, outs, steps, product(plan.axes))
    b, shift = w.fresh("b"), Lit(plan.size.bit_length() - 1)
    start = times(Var(b), Lit(plan.size))
    if not plan.done:
        width, left = w.fresh("k"), Do("subtract", (blocks.size, start), INDEX, INDEX)
        some = Do("where", (Do("less", (left, Lit(plan.size)), "bool", INDEX), left, Lit(plan.size)), INDEX, INDEX)
        count = Do("right_shift", (plus(blocks.size, Lit(plan.size - 1)), shift), INDEX, INDEX)
        w.code.append(Steps(b, count, (Let(width, some, INDEX), *blocks.one(start, Var(width)))))
        return blocks.steps
    w.code.append(Set(blocks.most, ZERO))
    count = Do("right_shift", (blocks.size, shift), INDEX, INDEX)
    w.code.append(Steps(b, count, blocks.one(start, Lit(plan.size))))
    if plan.size > 1:
        done = Do("left_shift", (count, shift), INDEX, INDEX)
        left = Do("subtract", (blocks.size, done), INDEX, INDEX)
        w.code.append(If(Do("greater", (left, ZERO), "bool", INDEX), blocks.one(done, left)))
    return Var(blocks.most)


class _Blocks:
    """Writes a loop block by block.  most: the variable for the greatest number of steps that any block took."""

    def __init__(
        self,
        node: Nested,
        plan: Blocked,
        w: Lowering,
        emit: Callable[[Sequence[Node], set[str]], None],
        outs: Sequence[str],
        steps: Expr,
        size: Expr,
    ) -> None:
        self.node, self.plan, self.w, self.emit, self.steps, self.size = node, plan, w, emit, steps, size
        self.outs, self.first = outs, [_first_row(s, plan.axes, w) for s in node.loop.states]
        self.most, self.every = (w.variable(INDEX), w.variable("bool")) if plan.done else ("", "")
        self.flags = w.fresh("s")

    def one(self, start: Expr, width: Expr) -> tuple[Stmt, ...]:
        """Write all steps of the elements of one block."""
        w, node, size = self.w, self.node, (self.size,)
        states, keeps = node.loop.states, node.loop.keeps
        kept = [w.fresh("s") for _ in states]
        places = {s.update: name for s, name in zip(states, kept, strict=True)}
        others = {k.value: w.fresh("s") for k in keeps if k.value not in places}
        dtypes = {name: s.type.dtype for name, s in zip(kept, states, strict=True)}
        dtypes |= {name: w.dtype(value) for value, name in others.items()}
        body: list[Stmt] = [Declare(name, dtype, self.plan.size) for name, dtype in dtypes.items()]
        if self.plan.done:
            body.append(Declare(self.flags, "bool", self.plan.size))
        i = w.fresh("i")
        first = [element_of(x, [plus(start, Var(i))], size) for x in self.first]
        body.append(For(i, width, tuple(Store(name, Var(i), x) for name, x in zip(kept, first, strict=True))))
        body += self._steps(start, width, kept, others)
        i, places = w.fresh("i"), places | others
        last = [Load(places[k.value], Var(i), k.type.dtype) for k in keeps]
        stores = [Store(out, plus(start, Var(i)), x) for out, x in zip(self.outs, last, strict=True)]
        return (*body, For(i, width, tuple(stores)))

    def _steps(self, start: Expr, width: Expr, kept: Sequence[str], others: Mapping[str, str]) -> Iterator[Stmt]:
        """Write the steps of a block, up to the one at which all its elements are done."""
        w, node, t = self.w, self.node, self.w.fresh("t")
        with w.into([]) as step:
            for r in node.loop.reads:
                source = w.value(r.source)
                w.let(r.out, element_of(source, [Var(t)], w.axes(r.source)), source.dtype)
            self.emit([n for n in node.nodes if not w.axes(n.outs[0]) and n.outs != (node.loop.until,)], set())
        lanes = self._lanes(start, width, kept, others)
        if not self.plan.done:
            yield Steps(t, self.steps, (*step, lanes))
            return
        every, i = Var(self.every, "bool"), w.fresh("i")
        also = Do("bitwise_and", (every, Load(self.flags, Var(i), "bool")), "bool", "bool")
        step += [lanes, Set(self.every, Lit(value=True)), For(i, width, (Set(self.every, also),))]
        yield Steps(t, self.steps, tuple(step), every)
        yield If(Do("greater", (Var(t), Var(self.most)), "bool", INDEX), (Set(self.most, Var(t)),))

    def _lanes(self, start: Expr, width: Expr, kept: Sequence[str], others: Mapping[str, str]) -> For:
        """Write one step of the elements of a block."""
        w, node, i = self.w, self.node, self.w.fresh("i")
        mine: dict[str, Scalar] = {}
        body: list[Stmt] = []

        def let(name: str, value: Expr, dtype: str) -> None:
            variable = w.fresh("v")
            body.append(Let(variable, value, dtype))
            mine[name] = Scalar(Var(variable, dtype), dtype)

        def element(name: str) -> tuple[Expr, str]:
            value = mine[name] if name in mine else w.value(name)
            return element_of(value, [plus(start, Var(i))], (self.size,)), value.dtype

        for array, s in zip(kept, node.loop.states, strict=True):
            for _, tap in s.taps:
                let(tap, Load(array, Var(i), s.type.dtype), s.type.dtype)
        for n in node.nodes:
            if isinstance(n, Map) and w.axes(n.out):
                found = [element(a) for a in n.args]
                let(n.out, operation(n, [x for x, _ in found], [d for _, d in found]), n.dtype)
        written = {array: s.update for array, s in zip(kept, node.loop.states, strict=True)}
        written |= {array: value for value, array in others.items()}
        body += [Store(array, Var(i), element(value)[0]) for array, value in written.items()]
        if self.plan.done:
            body.append(Store(self.flags, Var(i), element(self.plan.done)[0]))
        return For(i, width, tuple(body))
