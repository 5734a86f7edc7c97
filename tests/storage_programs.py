"""Programs in which one more value would be overwritten, and a machine that computes entry by entry."""

from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np
from programs import Array, Builder, vectors

from scanopt.array.op import Op
from scanopt.backends.compiled import compile_steps
from scanopt.backends.numpy import bind
from scanopt.backends.support import support
from scanopt.program.ir import Program
from scanopt.program.storage.placement import elementwise

Case = tuple[Program, list[Any]]
N = 3


def total(b: Builder, x: str) -> str:
    return b("sum", x, axis=(0,), keepdims=False)


def doubled(b: Builder, x: str) -> str:
    """An array of its own, at each step of a loop the same one."""
    return b("add", x, x)


# Results onto arguments


def onto_what_is_read() -> Case:
    b = Builder()
    xs, n = b.input("X", None, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        kept = loop.keep(total(b, b("negative", loop.read(xs))))
    return b.program(kept), [vectors(4, N), 4]


def onto_another_type() -> Case:
    b = Builder()
    xs, n = b.input("X", None, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        kept = loop.keep(b("less", doubled(b, loop.read(xs)), b.const(0.5)), 1)
    return b.program(kept), [vectors(4, N), 4]


def onto_what_an_inner_loop_reads_again() -> Case:
    b = Builder()
    xs, n, m = b.input("X", None, N), b.input("n", dtype="int64"), b.input("m", dtype="int64")
    with b.loop(n) as outer:
        a = doubled(b, outer.read(xs))
        with b.loop(m) as inner:
            kept = inner.keep(total(b, b("negative", a)))
        whole = outer.keep(kept)
    return b.program(whole), [vectors(4, N), 4, 3]


def onto_what_the_next_run_of_a_side_reads() -> Case:
    """The side is taken at the first and the last step of the inner loop."""
    b = Builder()
    xs, ks = b.input("X", None, N), b.input("k", None)
    n, m = b.input("n", dtype="int64"), b.input("m", dtype="int64")
    with b.loop(n) as outer:
        a = doubled(b, outer.read(xs))
        with b.loop(m) as inner:
            test = b("less", inner.read(ks), b.const(0.5))
            kept = inner.keep(b.branch(test, lambda: total(b, b("tanh", a)), lambda: total(b, a)))
        whole = outer.keep(kept)
    return b.program(whole), [vectors(4, N), np.array([0.0, 1.0, 0.0]), 4, 3]


def onto_an_array_of_another_life() -> Case:
    """x has other lengths from one outer step to the next, a has not: a state of the outer loop lies in x."""
    b = Builder()
    w, cut, xs = b.input("w", None), b.input("cut", None), b.input("X", None)
    ts, q0 = b.input("t", None, dtype="int64"), b.input("q0", 1, None)
    n, m = b.input("n", dtype="int64"), b.input("m", dtype="int64")
    with b.loop(n) as outer:
        t, s = outer.read(ts), outer.read(xs)
        part = b.at(cut, ("slice", None, "in", None), inputs=(t,))
        (q,) = outer.state(q0)
        with b.loop(m) as inner:
            a = b("multiply", w, s)
            x = b("add", a, part)
            last = inner.keep(x, 1)
        outer.update(0, b.at(last, 0))
        kept = outer.keep(q)
    return b.program(kept), [vectors(N), vectors(N), vectors(4), np.array([3, 1, 3, 1]), vectors(1, N), 4, 2]


def onto_what_is_read_later() -> Case:
    b = Builder()
    xs, n = b.input("X", None, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        a = doubled(b, loop.read(xs))
        y = b("negative", a)
        kept = loop.keep(total(b, b("multiply", y, b("tanh", a))))
    return b.program(kept), [vectors(4, N), 4]


def onto_what_a_view_shows_later() -> Case:
    b = Builder()
    xs, n = b.input("X", None, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        a = doubled(b, loop.read(xs))
        view = b.at(a, ("slice", None, None, -1))
        y = b("negative", a)
        kept = loop.keep(total(b, b("multiply", y, b("tanh", view))))
    return b.program(kept), [vectors(4, N), 4]


def onto_what_a_side_shows_later() -> Case:
    b = Builder()
    xs, n = b.input("X", None, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        x = loop.read(xs)
        a = doubled(b, x)
        either = b.branch(b("less", total(b, x), b.const(100.0)), lambda: a, lambda: x)
        y = b("negative", a)
        kept = loop.keep(total(b, b("multiply", y, b("tanh", either))))
    return b.program(kept), [vectors(4, N), 4]


def onto_what_is_kept() -> Case:
    b = Builder()
    xs, n = b.input("X", None, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        a = doubled(b, loop.read(xs))
        kept = loop.keep(a, 1), loop.keep(b("negative", a), 1)
    return b.program(*kept), [vectors(4, N), 4]


def onto_a_view_of_an_argument() -> Case:
    b = Builder()
    xs, n = b.input("X", None, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        a = doubled(b, loop.read(xs))
        kept = loop.keep(total(b, b("tanh", b("subtract", a, b.at(a, ("slice", None, None, -1))))))
    return b.program(kept), [vectors(4, N), 4]


def changed_by_itself() -> Case:
    b = Builder()
    xs, n = b.input("X", None, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        a = doubled(b, loop.read(xs))
        turned = b("setitem", a, a, index=(("slice", None, None, -1),), mode="set")
        kept = loop.keep(turned, 1)
    return b.program(kept), [vectors(4, N), 4]


def onto_a_row_of_a_deeper_state() -> Case:
    b = Builder()
    x0, n = b.input("x0", 2, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        _, far = loop.state(x0, (1, 2))
        new = b("tanh", far)
        loop.update(0, new)
        kept = loop.keep(new, 1)
    return b.program(kept), [vectors(2, N), 5]


def onto_a_row_that_is_kept() -> Case:
    b = Builder()
    x0, n = b.input("x0", 1, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        (h,) = loop.state(x0)
        loop.update(0, b("negative", h))
        kept = loop.keep(h, 1)
    return b.program(kept), [vectors(1, N), 5]


# Onto initial rows


def recurrence(b: Builder, loop: Any, init: str) -> str:
    (h,) = loop.state(init)
    new = b("tanh", b("add", h, h))
    loop.update(len(loop.states) - 1, new)
    return new


def initial_rows_of_the_caller() -> Case:
    b = Builder()
    x0, n = b.input("x0", 1, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        kept = loop.keep(recurrence(b, loop, x0), 1)
    return b.program(kept), [vectors(1, N), 4]


def initial_rows_of_every_run() -> Case:
    b = Builder()
    x0, n = b.input("x0", 1, N), b.input("n", dtype="int64")
    init = b("negative", x0)
    with b.loop(n) as outer:
        with b.loop(n) as loop:
            last = loop.keep(recurrence(b, loop, init), 1)
        kept = outer.keep(b.at(last, 0))
    return b.program(kept), [vectors(1, N), 3]


def initial_rows_that_overlap() -> Case:
    b = Builder()
    x0, n = b.input("x0", N), b.input("n", dtype="int64")
    init = b("broadcast_to", b("negative", x0), shape=(2, N))
    with b.loop(n) as loop:
        near, far = loop.state(init, (1, 2))
        new = b("subtract", b("add", near, near), far)
        loop.update(0, b("tanh", b("add", new, b.const(1.0))))
        kept = loop.keep(near)
    return b.program(kept), [vectors(N), 4]


def initial_rows_filled_by_an_outer_step() -> Case:
    b = Builder()
    xs, q0, n, m = (
        b.input("X", None, N), b.input("q0", 1, N), b.input("n", dtype="int64"), b.input("m", dtype="int64"),
    )  # fmt: skip
    with b.loop(n) as outer:
        (q,) = outer.state(q0)
        init = b("expand_dims", doubled(b, outer.read(xs)), axis=(0,))
        with b.loop(m) as inner:
            last = inner.keep(recurrence(b, inner, init), 1)
        outer.update(0, b.at(last, 0))
        kept = outer.keep(total(b, q))
    return b.program(kept), [vectors(4, N), vectors(1, N), 4, 2]


def initial_rows_read_later() -> Case:
    b = Builder()
    x0, n = b.input("x0", 1, N), b.input("n", dtype="int64")
    init = b("negative", x0)
    with b.loop(n) as loop:
        kept = loop.keep(recurrence(b, loop, init), 1)
    return b.program(kept, init), [vectors(1, N), 4]


def initial_rows_of_two_states() -> Case:
    b = Builder()
    x0, n = b.input("x0", 1, N), b.input("n", dtype="int64")
    init = b("negative", x0)
    with b.loop(n) as loop:
        (p,), (q,) = loop.state(init), loop.state(init)
        loop.update(0, b("negative", p))
        loop.update(1, b("tanh", b("add", q, q)))
        kept = [loop.keep(s.update, 1) for s in loop.states]
    return b.program(*kept), [vectors(1, N), 4]


def initial_rows_seen_from_elsewhere() -> Case:
    b = Builder()
    x0, n = b.input("x0", 1, N), b.input("n", dtype="int64")
    init = b("negative", x0)
    other = b.at(init, ("slice", None, None, -1))
    with b.loop(n) as loop:
        new = recurrence(b, loop, init)
        kept = loop.keep(b("add", new, b.at(other, 0)), 1)
    return b.program(kept), [vectors(1, N), 4]


# Memory that the next step fills again


def shapes_that_change() -> Case:
    b = Builder()
    x, ts, n = b.input("x", None), b.input("t", None, dtype="int64"), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        part = b.at(x, ("slice", None, "in", None), inputs=(loop.read(ts),))
        kept = loop.keep(total(b, b("multiply", b("add", part, part), part)))
    return b.program(kept), [vectors(5), np.arange(5), 5]


def state_in_a_view_of_a_buffer() -> Case:
    b = Builder()
    xs, q0, n = b.input("X", None, N), b.input("q0", 1, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        (q,) = loop.state(q0)
        loop.update(0, b.at(doubled(b, loop.read(xs)), ("slice", None, None, -1)))
        kept = loop.keep(total(b, b("tanh", q)))
    return b.program(kept), [vectors(4, N), vectors(1, N), 4]


def states_that_hand_on() -> Case:
    """p' = tanh(q + p + s), q' = p, r' = q, s' = r: q takes a row that p overwrites, r and s take what q takes."""
    b = Builder()
    p0, q0, n = b.input("p0", 1, N), b.input("q0", 1, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        p, q, r, s = (loop.state(init)[0] for init in (p0, q0, q0, q0))
        for i, new in enumerate((b("tanh", b("add", q, b("add", p, s))), p, q, r)):
            loop.update(i, new)
        kept = [loop.keep(total(b, x)) for x in (p, q, r, s)]
    return b.program(*kept), [vectors(1, N), vectors(1, N) + 1, 6]


def outer_state_in_an_inner_buffer() -> Case:
    """An inner state passes on a buffer that the next outer step fills; the outer state takes it from there."""
    b = Builder()
    xs, q0, n, m = (
        b.input("X", None, N), b.input("q0", 1, N), b.input("n", dtype="int64"), b.input("m", dtype="int64"),
    )  # fmt: skip
    with b.loop(n) as outer:
        (q,) = outer.state(q0)
        a = doubled(b, outer.read(xs))
        with b.loop(m) as inner:
            (g,) = inner.state(q0)
            inner.update(0, a)
            last = inner.keep(g, 1)
        outer.update(0, b.at(last, 0))
        kept = outer.keep(total(b, q))
    return b.program(kept), [vectors(4, N), vectors(1, N), 4, 3]


def state_that_starts_in_a_buffer() -> Case:
    """The inner loop gives what it started with, which the next outer step fills again."""
    b = Builder()
    xs, q0, n, m = (
        b.input("X", None, N), b.input("q0", 1, N), b.input("n", dtype="int64"), b.input("m", dtype="int64"),
    )  # fmt: skip
    with b.loop(n) as outer:
        (q,) = outer.state(q0)
        init = b("expand_dims", doubled(b, outer.read(xs)), axis=(0,))
        with b.loop(m) as inner:
            (g,) = inner.state(init)
            inner.update(0, g)
            last = inner.keep(g, 1)
        outer.update(0, b.at(last, 0))
        kept = outer.keep(total(b, q))
    return b.program(kept), [vectors(4, N), vectors(1, N), 4, 2]


def state_that_stays() -> Case:
    """The result is the initial row, which is the caller's."""
    b = Builder()
    x0, n = b.input("x0", 1, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        (g,) = loop.state(x0)
        loop.update(0, g)
        kept = loop.keep(g, 1)
    return b.program(kept), [vectors(1, N), 3]


def state_in_a_sequence() -> Case:
    """The result is a row of the caller's sequence."""
    b = Builder()
    xs, x0, n = b.input("X", None, N), b.input("x0", 1, N), b.input("n", dtype="int64")
    init = b("negative", x0)
    with b.loop(n) as loop:
        (g,) = loop.state(init)
        loop.update(0, loop.read(xs))
        kept = loop.keep(g, 1)
    return b.program(kept), [vectors(4, N), vectors(1, N), 4]


def deep_taps() -> Case:
    b = Builder()
    x0, n = b.input("x0", 3, N), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        near, far = loop.state(x0, (1, 3))
        new = b("add", near, far)
        loop.update(0, new)
        kept = loop.keep(new)
    return b.program(kept), [vectors(3, N), 6]


# A machine without mercy


def run_plainly(program: Program, values: list[Any]) -> list[Array]:
    """The results of a machine that computes entry by entry, finds garbage in each array that it is given to compute
    in, and cannot tell whether a row may be written to (arrays of CuPy do not say that).
    """

    def functions(xp: Any, labels: Sequence[str]) -> dict[str, Callable[..., Any]]:
        return {**support(xp, labels), "spare": lambda row, *_: row}

    with mock.patch("scanopt.backends.compiled.support", functions):
        return compile_steps(program, np, _entry_by_entry)([np.asarray(v) for v in values])


def _entry_by_entry(op: Op) -> Callable[..., Any]:
    f = bind(op)
    count = 0

    def go(*args: Any, out: Any = None) -> Any:
        *given, last = args
        if out is None and len(args) > count:
            args, out = tuple(given), last
        if out is None:
            return f(*args)
        if not any(np.shares_memory(out, x) for x in args):
            out.fill(1 if out.dtype == bool else 77)
        elif elementwise(op):
            for i in np.ndindex(out.shape):
                out[i] = f(*(np.broadcast_to(x, out.shape)[i] for x in args))
            return out
        elif op.name == "setitem" and np.shares_memory(out, args[1]):
            for i in range(len(out)):
                out[::-1][i] = args[1][i]
            return out
        return f(*args, out=out) if op.name in ("maximum", "minimum") else f(*args, out)

    if not op.takes_out:
        return f
    count = _arity(op)
    return go


def _arity(op: Op) -> int:
    """The number of arguments of an operator that takes a result array."""
    if elementwise(op):
        ufunc: Any = getattr(np, op.spec.ufunc or "")
        return int(ufunc.nin)
    if op.name == "setitem":
        return 2 + sum(entry in ("in", "array", "mask") for entry in op.options["index"])
    return 2 if op.name in ("dot", "matmul") else 1
