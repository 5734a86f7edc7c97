"""Writes loop programs and evaluates them plainly, step by step; some programs of many tests."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import scanopt.loops.require  # noqa: F401  (the operator of that name)
from scanopt.array.op import Op, Operand
from scanopt.array.types import TensorType
from scanopt.backends import executor
from scanopt.program.ir import Branch, CarriedState, Compute, Const, Either, Input, Keep, Loop, Program, Read, Step

Array = np.ndarray[Any, Any]

# Writing programs


@dataclass
class LoopBuilder:
    """A loop being written; see Builder.loop."""

    builder: "Builder"
    reads: list[Read] = field(default_factory=list[Read])
    states: list[CarriedState] = field(default_factory=list[CarriedState])
    keeps: list[Keep] = field(default_factory=list[Keep])
    until: str | None = None

    def read(self, source: str) -> str:
        name = self.builder.new(self.builder.types[source].row())
        self.reads.append(Read(name, source, self.builder.types[name]))
        return name

    def state(self, init: str, taps: tuple[int, ...] = (1,), label: str = "s") -> list[str]:
        row = self.builder.types[init].row()
        names = [self.builder.new(row) for _ in taps]
        self.states.append(CarriedState(init, max(taps), tuple(zip(taps, names, strict=True)), "", row, label))
        return names

    def update(self, i: int, name: str) -> None:
        s = self.states[i]
        self.states[i] = CarriedState(s.init, s.depth, s.taps, name, s.type, s.label)

    def keep(self, value: str, rows: int | None = None) -> str:
        type = self.builder.types[value].rows(None)
        name = self.builder.new(type)
        self.keeps.append(Keep(name, value, rows, type))
        return name


class Builder:
    """Writes a program; types come from the operators."""

    def __init__(self) -> None:
        self.types: dict[str, TensorType] = {}
        self.inputs: list[Input] = []
        self.consts: list[Const] = []
        self.body: list[Step] = []
        self.loops = 0

    def new(self, type: TensorType) -> str:
        name = f"v{len(self.types)}"
        self.types[name] = type
        return name

    def input(self, label: str, *shape: int | None, dtype: str = "float64") -> str:
        name = self.new(TensorType(dtype, shape))
        self.inputs.append(Input(name, self.types[name], label))
        return name

    def const(self, value: Any) -> str:
        data = np.asarray(value)
        name = self.new(TensorType(data.dtype.name, data.shape))
        self.consts.append(Const(name, data))
        return name

    def __call__(self, op: str, *args: str, **params: Any) -> str:
        made = Op.make(op, **params)
        type = made.infer(*(Operand(self.types[a].dtype, self.types[a].shape) for a in args))
        name = self.new(type)
        self.body.append(Compute(name, made, args, type))
        return name

    def at(self, x: str, *index: Any, inputs: tuple[str, ...] = ()) -> str:
        return self("getitem", x, *inputs, index=index)

    @contextmanager
    def loop(self, steps: str, label: str = "") -> Iterator[LoopBuilder]:
        outside, self.body = self.body, []
        loop = LoopBuilder(self)
        label = label or f"L{self.loops}"
        self.loops += 1
        yield loop
        body, self.body = self.body, outside
        self.body.append(
            Loop(label, steps, tuple(loop.reads), tuple(loop.states), tuple(body), tuple(loop.keeps), loop.until)
        )

    def branch(self, condition: str, then: Callable[[], str], otherwise: Callable[[], str]) -> str:
        """`then` and `otherwise` write the steps of their sides and return its value."""
        return self.branches(condition, lambda: [then()], lambda: [otherwise()])[0]

    def branches(self, condition: str, then: Callable[[], list[str]], otherwise: Callable[[], list[str]]) -> list[str]:
        """The same for several values of each side."""
        (a, xs), (b, ys) = self.side(then), self.side(otherwise)
        results: list[Either] = []
        for x, y in zip(xs, ys, strict=True):
            values = [Operand(self.types[v].dtype, self.types[v].shape) for v in (condition, x, y)]
            name = self.new(Op.make("ifelse").infer(*values))
            results.append(Either(name, x, y, self.types[name]))
        self.body.append(Branch(condition, a, b, tuple(results)))
        return [r.out for r in results]

    def side(self, write: Callable[[], list[str]]) -> tuple[tuple[Step, ...], list[str]]:
        outside, self.body = self.body, []
        value = write()
        body, self.body = self.body, outside
        return tuple(body), value

    def program(self, *outputs: str) -> Program:
        return Program(tuple(self.inputs), tuple(self.consts), tuple(self.body), outputs)


def vectors(*shape: int) -> Array:
    return np.random.default_rng(0).normal(size=shape)


# The plain evaluation


def reference(program: Program, values: list[Any]) -> list[Array]:
    env: dict[str, Array] = {x.name: np.array(v) for x, v in zip(program.inputs, values, strict=True)}
    env.update((c.name, c.value) for c in program.consts)
    with np.errstate(all="ignore"):
        for step in program.steps:
            evaluate(step, env)
    return [env[name] for name in program.outputs]


def evaluate(step: Step, env: dict[str, Array]) -> None:
    if isinstance(step, Compute):
        env[step.out] = np.array(step.op.bind(np)(*(env[a].copy() for a in step.args)))
        return
    if isinstance(step, Branch):
        steps, values = step.sides[0 if env[step.condition] else 1]
        inside = dict(env)
        for inner in steps:
            evaluate(inner, inside)
        env.update((r.out, inside[value].copy()) for r, value in zip(step.results, values, strict=True))
        return
    past = [[row.copy() for row in env[s.init]] for s in step.states]
    kept: dict[str, list[Array]] = {k.out: [] for k in step.keeps}
    for t in range(int(env[step.steps])):
        for r in step.reads:
            env[r.out] = env[r.source][t]
        for s, rows in zip(step.states, past, strict=True):
            env.update((name, rows[-k]) for k, name in s.taps)
        for inner in step.body:
            evaluate(inner, env)
        for k in step.keeps:
            kept[k.out].append(env[k.value].copy())
        for s, rows in zip(step.states, past, strict=True):
            rows.append(env[s.update].copy())
        if step.until is not None and env[step.until]:
            break
    for k in step.keeps:
        rows = kept[k.out] if k.rows is None else kept[k.out][-k.rows :]
        env[k.out] = np.stack(rows) if rows else np.empty(0)


def run(program: Program, *values: Any) -> list[Array]:
    """What the executor gives, compared with the plain evaluation, inputs compared with a copy."""
    given = [np.asarray(v) for v in values]
    before = [v.copy() for v in given]
    results = executor("numpy").compile(program)(given)
    for v, b in zip(given, before, strict=True):
        assert v.tobytes() == b.tobytes()
    for found, expected in zip(results, reference(program, before), strict=True):
        assert isinstance(found, np.ndarray)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)
    assert_separate([*given, *(c.value for c in program.consts)], results)
    return results


def assert_separate(others: list[Array], results: list[Array]) -> None:
    """No result shares memory with another array, and each can be written to."""
    for i, r in enumerate(results):
        assert r.flags.writeable
        for x in [*others, *results[:i]]:
            assert not np.shares_memory(r, x)


# Programs of many tests


def power(*shape: int | None) -> Program:
    """A ** k by k products: its last row alone."""
    b = Builder()
    a, k = b.input("A", *shape), b.input("k", dtype="int64")
    init = b("expand_dims", b("full_like", a, b.const(1.0)), axis=(0,))
    with b.loop(k, "power") as loop:
        (p,) = loop.state(init, label="x")
        new = b("multiply", p, a)
        loop.update(0, new)
        last = loop.keep(new, 1)
    return b.program(b.at(last, 0))


def rnn(whole: bool = True) -> Program:
    """h' = tanh(W h + x)."""
    b = Builder()
    xs, w, h0, n = (
        b.input("X", None, None),
        b.input("W", None, None),
        b.input("h0", 1, None),
        b.input("n", dtype="int64"),
    )
    with b.loop(n, "rnn") as loop:
        x = loop.read(xs)
        (h,) = loop.state(h0, label="h")
        new = b("tanh", b("add", b("dot", w, h), x))
        loop.update(0, new)
        out = loop.keep(new, None if whole else 1)
    return b.program(out)


def nested() -> Program:
    """An outer state, updated by the last row of an inner loop that starts from it."""
    b = Builder()
    xs, w, h0 = b.input("X", None, None, 3), b.input("W", 3, 3), b.input("h0", 1, 3)
    n, m = b.input("n", dtype="int64"), b.input("m", dtype="int64")
    with b.loop(n, "outer") as outer:
        rows = outer.read(xs)
        (h,) = outer.state(h0)
        init = b("expand_dims", b("add", h, h), axis=(0,))
        with b.loop(m, "inner") as inner:
            x = inner.read(rows)
            (g,) = inner.state(init)
            new = b("tanh", b("add", b("dot", w, g), b("multiply", x, h)))
            inner.update(0, new)
            last, trace, view = (inner.keep(new, 1), inner.keep(g), inner.keep(b.at(new, ("slice", 1, None, None)), 1))
        outer.update(0, b.at(last, 0))
        kept = [outer.keep(v, r) for r in (None, 1) for v in (trace, last, view, h)]
    return b.program(*kept)


def gated() -> Program:
    """A recurrence that moves on where x is positive, stays or jumps elsewhere; then a sum or the last row."""
    b = Builder()
    x, w, h0, n = (
        b.input("X", None, None),
        b.input("W", None, None),
        b.input("h0", 1, None),
        b.input("n", dtype="int64"),
    )
    with b.loop(n, "rnn") as loop:
        v = loop.read(x)
        (h,) = loop.state(h0, label="h")
        test = b("greater", b("sum", v, axis=(0,), keepdims=False), b.const(0.0))
        less = b("less", b("max", v, axis=(0,), keepdims=False), b.const(0.0))
        new = b.branch(
            test, lambda: b("tanh", b("add", b("dot", w, h), v)), lambda: b.branch(less, lambda: h, lambda: v)
        )
        loop.update(0, new)
        rows, last = loop.keep(new), loop.keep(new, 1)
    many = b("greater", n, b.const(np.int64(3)))
    y = b.branch(many, lambda: b("sum", b("exp", rows), axis=(0,), keepdims=False), lambda: b.at(last, 0))
    return b.program(y, rows)
