"""Executors run loop programs as a plain evaluation of them, step by step, would."""

import importlib
import threading
import tracemalloc

import numpy as np
import pytest
from fake_device import FakeDevice, OnFakeDevice
from programs import Array, Builder, gated, nested, power, reference, rnn, run, vectors

from scanopt.backends import executor
from scanopt.backends.cupy import CuPy
from scanopt.program.ir import Program

# Kinds of programs


def test_power() -> None:
    (found,) = run(power(None), np.arange(4.0), 3)
    assert found.tolist() == [0, 1, 8, 27]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_rnn(whole: bool, n: int) -> None:
    run(rnn(whole), vectors(7, 3), vectors(3, 3), vectors(1, 3), n)


def test_states_of_several_steps_back() -> None:
    """x' = x[t-1] + x[t-3], y' = y[t-2]: deep taps, gaps, an update that is a tap."""
    for shape in ((), (2,)):
        for rows in (None, 1, 2, 5):
            b = Builder()
            x0, y0, n = (b.input("x0", 3, *shape), b.input("y0", 2, *shape), b.input("n", dtype="int64"))
            with b.loop(n) as loop:
                near, far = loop.state(x0, (1, 3))
                (old,) = loop.state(y0, (2,))
                new = b("add", near, far)
                loop.update(0, new)
                loop.update(1, old)
                kept = [loop.keep(v, rows) for v in (new, far, old, near)]
            for n_steps in (1, 2, 3, 4, 9):
                run(b.program(*kept), vectors(3, *shape), vectors(2, *shape), n_steps)


@pytest.mark.parametrize("rows", [None, 1, 3])
@pytest.mark.parametrize("shape", [(), (4,)])
def test_swap_reads_old_values(rows: int | None, shape: tuple[int, ...]) -> None:
    """x' = y, y' = x, z' = z, and Fibonacci: u' = v, v' = u + v."""
    b = Builder()
    inits = [b.input(c, 1, *shape) for c in "xyzuv"]
    n = b.input("n", dtype="int64")
    with b.loop(n) as loop:
        x, y, z, u, v = (loop.state(init)[0] for init in inits)
        for i, new in enumerate((y, x, z, v, b("add", u, v))):
            loop.update(i, new)
        kept = [loop.keep(name, rows) for name in (x, y, z, u, v, loop.states[4].update)]
    for n_steps in (1, 2, 5):
        run(b.program(*kept), *(vectors(1, *shape) + i for i in range(5)), n_steps)


def test_updates_from_elsewhere() -> None:
    """Updates: a row of a sequence, an outer array, a view of a buffer, a view of a state."""
    b = Builder()
    xs, outer, init, n = (b.input("X", None, 3), b.input("w", 3), b.input("i", 1, 3), b.input("n", dtype="int64"))
    with b.loop(n) as loop:
        x = loop.read(xs)
        p, q, r, s = (loop.state(init)[0] for _ in range(4))
        buffer = b("add", b("add", x, p), b("add", q, b("add", r, s)))
        back = b.at(buffer, ("slice", None, None, -1))
        for i, new in enumerate((x, outer, back, b.at(s, ("slice", None, None, -1)))):
            loop.update(i, new)
        values = (p, q, r, s, buffer, x, outer, back)
        kept = [loop.keep(v, rows) for rows in (None, 1, 2) for v in values]
    for n_steps in (1, 2, 5):
        run(b.program(*kept), vectors(6, 3), vectors(3), vectors(1, 3), n_steps)


def test_two_states_with_one_update() -> None:
    b = Builder()
    i, j, n = b.input("i", 1, 3), b.input("j", 1, 3), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        (p,), (q,) = loop.state(i), loop.state(j)
        new = b("subtract", b("multiply", p, q), p)
        loop.update(0, new)
        loop.update(1, new)
        kept = [loop.keep(p), loop.keep(q, 1), loop.keep(new, 1)]
    run(b.program(*kept), vectors(1, 3), vectors(1, 3) + 1, 5)


def test_equal_keeps_and_equal_outputs() -> None:
    b = Builder()
    i, n = b.input("i", 1, 3), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        (p,) = loop.state(i)
        new = b("negative", p)
        loop.update(0, new)
        kept = [loop.keep(new, rows) for rows in (None, None, 1, 1, 2, 2)]
    fixed = b.const(np.arange(3.0))
    shown = [*kept, kept[0], i, i, fixed, fixed, b.at(i, 0), b("broadcast_to", i, shape=(2, 3))]
    run(b.program(*shown), vectors(1, 3), 4)


def test_in_place_setitem() -> None:
    """x'[t] = t: the rows of the state are overwritten only where nobody looks."""
    for keep_old in (False, True):
        b = Builder()
        x0, ts, n = (b.input("x0", 1, 5), b.input("t", None, dtype="int64"), b.input("n", dtype="int64"))
        with b.loop(n) as loop:
            t = loop.read(ts)
            (x,) = loop.state(x0)
            new = b("setitem", x, b("cast", t, dtype="float64"), t, index=("in",), mode="inc")
            loop.update(0, new)
            kept = [loop.keep(new, 1)] + ([loop.keep(x)] if keep_old else [])
        run(b.program(*kept), vectors(1, 5), np.arange(5), 4)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 2), (2, 4)])
def test_nested_loops(n: int, m: int) -> None:
    run(nested(), vectors(3, 4, 3), vectors(3, 3), vectors(1, 3), n, m)


def test_scalars() -> None:
    """0-d states, sequences, constants: int64 wraps around, floats divide by zero."""
    b = Builder()
    xs, s0, k0, n = (b.input("x", None), b.input("s", 1), b.input("k", 1, dtype="int64"), b.input("n", dtype="int64"))
    with b.loop(n) as loop:
        x = loop.read(xs)
        (s,), (k,) = loop.state(s0), loop.state(k0)
        loop.update(0, b("divide", b("add", b("multiply", s, b.const(0.5)), x), b("subtract", s, s)))
        loop.update(1, b("multiply", b("multiply", k, b.const(np.int64(2**40))), b("add", k, n)))
        kept = [loop.keep(st.update, r) for st in loop.states for r in (None, 1, 2)]
        kept.append(loop.keep(b("less", s, x)))
    results = run(b.program(*kept, n), [0.0, 1.0, 2.0], [1.0], [3], 3)
    assert results[0].dtype == "float64"
    assert results[-1].shape == ()


# Stopping early


@pytest.mark.parametrize("stop", [0.0, 1.5, 40.0, 1000.0])
def test_until(stop: float) -> None:
    b = Builder()
    s0, limit, n = b.input("s", 1, 2), b.input("limit"), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        (s,) = loop.state(s0)
        new = b("add", s, b.const(1.0))
        loop.update(0, new)
        loop.until = b("greater", b("sum", new, axis=(0,), keepdims=False), limit)
        kept = [loop.keep(v, r) for v in (new, s) for r in (None, 1, 4)]
    results = run(b.program(*kept), np.zeros((1, 2)), stop, 100)
    assert len(results[0]) == min(100, int(stop / 2) + 1)


# No step


def test_zero_steps() -> None:
    (found,) = executor("numpy").compile(rnn())([vectors(0, 3), vectors(3, 3), vectors(1, 3), np.int64(0)])
    assert found.shape == (0, 3)
    kept = executor("numpy").compile(nested())(
        [vectors(0, 4, 3), vectors(3, 3), vectors(1, 3), np.int64(0), np.int64(2)]
    )
    assert [k.shape for k in kept] == [(0, 2, 3), (0, 1, 3), (0, 1, 2), (0, 3)] * 2
    inner = executor("numpy").compile(nested())
    with pytest.raises(IndexError):  # `last[0]` of no rows
        inner([vectors(3, 4, 3), vectors(3, 3), vectors(1, 3), np.int64(3), np.int64(0)])


def test_zero_steps_checks_shapes_and_computes_nothing() -> None:
    b = Builder()
    x, k, n = b.input("x", None), b.input("k", dtype="int64"), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        grid = b("reshape", x, k, shape=(None, 2))
        kept = [loop.keep(grid), loop.keep(b.at(x, "in", inputs=(k,)), 2), loop.keep(b("isnan", x), 1)]
    f = executor("numpy").compile(b.program(*kept))
    assert [r.shape for r in f([np.ones(6), np.int64(3), np.int64(0)])] == [(0, 3, 2), (0,), (0, 6)]
    assert f([np.ones(6), np.int64(3), np.int64(0)])[2].dtype == bool
    program = rnn()
    with pytest.raises(ValueError, match="lengths to sum over"):
        executor("numpy").compile(program)([vectors(0, 3), vectors(3, 4), vectors(1, 3), np.int64(0)])
    with pytest.raises(ValueError, match="state h of loop rnn"):
        executor("numpy").compile(program)([vectors(0, 1), vectors(3, 1), vectors(1, 1), np.int64(0)])


def test_negative_steps() -> None:
    with pytest.raises(ValueError, match="loop power: asked for a negative number of steps, -2"):
        executor().compile(power(None))([np.ones(2), np.int64(-2)])


# Shapes


@pytest.mark.parametrize(("init", "x"), [((1, 3), (2, 3)), ((1, 1, 3), (2, 3)), ((1, 1), (3,))])
def test_update_of_another_shape(init: tuple[int, ...], x: tuple[int, ...]) -> None:
    """A row that would broadcast is an error, named and with both shapes."""
    for whole in (None, 1):
        b = Builder()
        s0, w, n = (b.input("s", *(None,) * len(init)), b.input("w", *(None,) * len(x)), b.input("n", dtype="int64"))
        with b.loop(n, "grow") as loop:
            (s,) = loop.state(s0, label="speed")
            new = b("add", s, w)
            loop.update(0, new)
            kept = loop.keep(new, whole)
        if len(init) - 1 < len(x):
            with pytest.raises(ValueError, match="state speed of loop grow: expected float64"):
                executor().compile(b.program(kept))
            continue
        f = executor().compile(b.program(kept))
        for n_steps in (0, 1, 3):
            with pytest.raises(ValueError, match=r"speed of loop grow must keep .*: expected shape \(.*3?.*\), found"):
                f([np.ones(init), np.ones(x), np.int64(n_steps)])


def varying(rows: int | None, sums: bool) -> Program:
    """Step t looks at x[:t]; its own shape changes, its sum's does not."""
    b = Builder()
    x, ts, n = b.input("x", None), b.input("t", None, dtype="int64"), b.input("n", dtype="int64")
    with b.loop(n, "prefix") as loop:
        t = loop.read(ts)
        part = b.at(b("exp", x), ("slice", None, "in", None), inputs=(t,))
        more = b("add", b("multiply", part, part), part)
        total = b("sum", more, axis=(0,), keepdims=True)
        kept = loop.keep(total if sums else more, rows)
    return b.program(kept)


def test_shapes_that_vary() -> None:
    for rows in (None, 1, 2):
        run(varying(rows, True), vectors(5), np.arange(5), 5)
    run(varying(1, False), vectors(5), np.arange(5), 5)
    text = r"the rows of a result of prefix must all have one shape: expected shape \(0,\), found \(1,\)"
    with pytest.raises(ValueError, match=text):
        executor().compile(varying(None, False))([vectors(5), np.arange(5), np.int64(5)])


def test_inner_shapes_that_vary_over_outer_steps() -> None:
    """The buffers of the inner loop start anew at each outer step."""
    b = Builder()
    x, ts = b.input("x", None, None), b.input("t", None, dtype="int64")
    n, m = b.input("n", dtype="int64"), b.input("m", dtype="int64")
    with b.loop(n) as outer:
        t = outer.read(ts)
        part = b.at(x, ("slice", None, None, None), ("slice", None, "in", None), inputs=(t,))
        start = b.at(part, ("slice", 0, 1, None))
        with b.loop(m) as inner:
            row = inner.read(part)
            (s,) = inner.state(start)
            double = b("multiply", b("add", row, row), row)
            new = b("add", s, double)
            inner.update(0, new)
            last = inner.keep(new, 1)
            other = inner.keep(double)
        total = b("sum", last, axis=(0, 1), keepdims=False)
        kept = [outer.keep(total), outer.keep(b("sum", other, axis=(0, 1), keepdims=False)), outer.keep(last, 1)]
    run(b.program(*kept), vectors(4, 5), np.array([2, 5, 1, 3]), 4, 3)


def test_arguments_are_checked() -> None:
    f = executor().compile(rnn())
    good = [vectors(7, 3), vectors(3, 3), vectors(1, 3), np.int64(7)]
    with pytest.raises(TypeError, match="expected 4 arguments, found 3"):
        f(good[:3])
    with pytest.raises(TypeError, match=r"argument W: expected float64\[\?, \?\], found float32\[3, 3\]"):
        f([good[0], good[1].astype("float32"), *good[2:]])
    with pytest.raises(ValueError, match=r"argument h0: expected float64\[1, \?\]"):
        f([*good[:2], vectors(2, 3), good[3]])
    with pytest.raises(ValueError, match="rnn, sequence X: expected at least 8 rows, found 7"):
        f([*good[:3], np.int64(8)])


def test_initial_rows_are_counted() -> None:
    b = Builder()
    x0, n = b.input("x0", None, 2), b.input("n", dtype="int64")
    with b.loop(n, "fib") as loop:
        near, far = loop.state(x0, (1, 2), "x")
        loop.update(0, b("add", near, far))
        kept = loop.keep(near)
    f = executor().compile(b.program(kept))
    with pytest.raises(ValueError, match="state x of loop fib: expected 2 initial rows, one per step back, found 3"):
        f([np.ones((3, 2)), np.int64(2)])


# Memory and threads


def test_a_long_loop_needs_few_rows() -> None:
    """A ** k with k = 100,000 holds a handful of rows."""
    f = executor("numpy").compile(power(None))
    a = np.full(1000, 1.0)
    f([a, np.int64(2)])
    tracemalloc.start()
    f([a, np.int64(10**5)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * a.nbytes


def test_threads() -> None:
    f = executor().compile(rnn())
    w, h0, n = vectors(3, 3), vectors(1, 3), np.int64(200)
    inputs = [np.random.default_rng(i).normal(size=(200, 3)) for i in range(10)]
    expected = [f([x, w, h0, n])[0] for x in inputs]
    found: list[list[Array]] = [[] for _ in inputs]

    def work(i: int) -> None:
        found[i] = [f([inputs[i], w, h0, n])[0] for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(r, e) for results, e in zip(found, expected, strict=True) for r in results)
    assert sum(map(len, found)) == 200


# Source text


def test_source() -> None:
    assert (
        executor("numpy").compile(rnn()).source
        == """\
# generated by scanopt from a loop program
#   x0  float64[?, ?]  'X'
#   x1  float64[?, ?]  'W'
#   x2  float64[1, ?]  'h0'
#   x3  int64[]  'n'

def program(x0, x1, x2, x3):

    # loop 'rnn', phase 0
    n0 = steps(x3, 0)
    v6 = b_v7 = None
    if n0:
        if len(x0) < n0: raise too_short(1, len(x0), n0)
        v5 = x2[0]                                # float64[?]
        for t0, v4 in zip(range(n0), x0):
            v6 = dot(x1, v5, v6)                  # float64[?]
            v7 = add(v6, v4, b_v7)                # float64[?]
            v8 = tanh(v7, v9[t0] if t0 else None)  # float64[?]
            if not t0:
                if v8.shape != x2.shape[1:]: raise wrong_start(2, v8.shape, x2.shape[1:])
                v6 = contiguous(v6)
                b_v7 = v6 if v6.shape == v7.shape else v7
                v9 = empty((n0, *v8.shape), 'float64')
                v9[0] = v8
            v5 = v8
    else:
        [v9] = no_steps_0(x3, x0, x2, x1)

    return [v9]
"""
    )


def test_names_of_users_stay_in_comments() -> None:
    bad = "x\n    import os  # \u2028'\"\\"
    b = Builder()
    x, n = b.input(bad, 1, None), b.input("class", dtype="int64")
    with b.loop(n, bad) as loop:
        (s,) = loop.state(x, label=bad)
        new = b("negative", s)
        loop.update(0, new)
        kept = loop.keep(new)
    source = executor().compile(b.program(kept)).source
    assert all("import os" not in line.split("#")[0] for line in source.splitlines())
    run(b.program(kept), vectors(1, 2), 3)


def test_unknown_executor() -> None:
    with pytest.raises(ValueError, match="no executor named 'torch': there are auto, numpy, c, cupy"):
        executor("torch")


def test_cupy_says_what_it_needs() -> None:
    try:
        importlib.import_module("cupy").cuda.Device(0).compute_capability  # noqa: B018
    except Exception:
        with pytest.raises(RuntimeError, match='backend="cupy" needs CuPy and an NVIDIA GPU'):
            executor("cupy")
        return
    f = executor("cupy").compile(rnn())
    values = [vectors(7, 3), vectors(3, 3), vectors(1, 3), np.int64(7)]
    np.testing.assert_allclose(f(values)[0], reference(rnn(), values)[0], rtol=1e-9)


def test_the_array_module_is_a_parameter() -> None:
    xp = FakeDevice()
    for program in (rnn(), nested(), gated()):
        f = CuPy(xp).compile(program)
        shapes = [[3 if n is None else n for n in x.type.shape] for x in program.inputs]
        values = [vectors(*s) if s else np.int64(3) for s in shapes]
        expected = reference(program, values)
        for found, e in zip(f(values), expected, strict=True):
            assert type(found) is np.ndarray
            np.testing.assert_allclose(found, e)
        on_device = f([xp.asarray(v) for v in values])
        assert all(type(found) is OnFakeDevice for found in on_device)
