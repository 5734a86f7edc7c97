"""Branches of loop programs: only one side runs, and what it gives is what the branch is."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import Builder, gated, run, vectors

from scanopt.array.abstract import concrete
from scanopt.array.op import Op, Operand
from scanopt.array.types import TensorType
from scanopt.backends import executor
from scanopt.program.ir import Branch, Compute, Either, Input, Loop, Program, Step
from scanopt.program.serial import from_json, to_json
from scanopt.program.shapes import running, shapes
from scanopt.program.text import program_text


@pytest.mark.parametrize("n", [1, 3, 4, 7])
def test_gated(n: int) -> None:
    run(gated(), vectors(7, 3), vectors(3, 3), vectors(1, 3), n)


# Running


def test_text() -> None:
    assert (
        program_text(gated())
        == """\
inputs  X: float64[?, ?]
        W: float64[?, ?]
        h0: float64[1, ?]
        n: int64[]
loop rnn for n steps:                       # phase 0
    read  v4 = X[t]                         float64[?]  sequence
    state v5 = v16 one step ago, starts h0  float64[?]  sit-sot h
    v6 = sum(v4, axis=0)                    float64[]
    v8 = v6 > 0.0                           bool[]
    v9 = max(v4, axis=0)                    float64[]
    v11 = v9 < 0.0                          bool[]
    v16 = if v8:                            float64[?]
        v12 = dot(W, v5)                    float64[?]
        v13 = v12 + v4                      float64[?]
        v14 = tanh(v13)                     float64[?]
        give v14
    else:
        v15 = v5 if v11 else v4             float64[?]
        give v15
    keep  v17 = all rows of v16             float64[?, ?]  of a state
    keep  v18 = last row of v16             float64[?, ?]  of a state
v20 = n > 3                                 bool[]
v24 = if v20:                               float64[?]
    v21 = exp(v17)                          float64[?, ?]
    v22 = sum(v21, axis=0)                  float64[?]
    give v22
else:
    v23 = v18[0]                            float64[?]
    give v23
return v24, v17"""
    )


def test_source() -> None:
    source = executor().compile(gated()).source
    assert (
        source[source.index("            if v8:") : source.index("            if not t0:")]
        == """\
            if v8:
                v12 = dot(x1, v5, v12)            # float64[?]
                v12 = contiguous(v12)
                v13 = add(v12, v4, b_v13)         # float64[?]
                if b_v13 is None: b_v13 = v12 if v12.shape == v13.shape else v13
                v14 = tanh(v13, b_v14)            # float64[?]
                if b_v14 is None: b_v14 = v13 if v13.shape == v14.shape else v14
                v16 = v14                         # float64[?]
            else:
                v15 = v5 if v11 else v4           # float64[?]
                v16 = v15                         # float64[?]
"""
    )
    assert (
        source[source.index("    if v20:") :]
        == """\
    if v20:
        v21 = exp(v17)                            # float64[?, ?]
        v22 = sum_0(v21)                          # float64[?]
        del v21
        v24 = v22                                 # float64[?]
        del v22
    else:
        v23 = getitem_0(v18)                      # float64[?]
        v24 = v23                                 # float64[?]
        del v23
    return [owned(v24), v17]
"""
    )


@pytest.mark.parametrize("j", [1, 7])
def test_only_one_side_runs(j: int) -> None:
    """x[j] is out of range where the other side is taken: outside of loops, inside, in a loop of a side."""
    b = Builder()
    x, place, n = b.input("x", None), b.input("j", dtype="int64"), b.input("n", dtype="int64")
    fits = b("less", place, b.const(np.int64(3)))

    def row() -> str:
        return b.at(x, "in", inputs=(place,))

    def looped() -> str:
        with b.loop(n) as inner:
            kept = inner.keep(row(), 1)
        return b.at(kept, 0)

    zero = b.const(0.0)
    with b.loop(n) as loop:
        kept = [loop.keep(b.branch(fits, write, lambda: zero)) for write in (row, looped)]
    run(b.program(b.branch(fits, row, lambda: zero), b.branch(fits, looped, lambda: zero), *kept), vectors(3), j, 2)


def test_what_is_raised_on_the_side_taken_is_raised() -> None:
    b = Builder()
    x, place = b.input("x", None), b.input("j", dtype="int64")
    got = b.branch(b("less", place, b.const(np.int64(9))), lambda: b.at(x, "in", inputs=(place,)), lambda: b.const(0.0))
    with pytest.raises(IndexError):
        executor().compile(b.program(got))([np.ones(3), np.int64(5)])


@pytest.mark.parametrize("test", [True, False])
def test_results_are_writable_and_apart(test: bool) -> None:
    """Inputs, constants, views and other results as values of a branch that is a result."""
    b = Builder()
    x, c = b.input("x", 3), b.input("c", dtype="bool")
    fixed, made = b.const(np.arange(3.0)), b("negative", x)
    wide = b("broadcast_to", b("negative", b.at(made, 0)), shape=(3,))
    pairs = [(x, fixed), (made, x), (wide, b.at(made, ("slice", None, None, -1))), (wide, wide)]
    values = [b.branch(c, lambda p=p: p, lambda q=q: q) for p, q in pairs]
    run(b.program(*values, made, values[0]), vectors(3), test)
    single = Builder()
    x, c = single.input("x", dtype="float64"), single.input("c", dtype="bool")
    far = single.branch(c, lambda: single("broadcast_to", single("negative", x), shape=(4,)), lambda: fixed_row(single))
    run(single.program(far), 2.0, test)


def fixed_row(b: Builder) -> str:
    return b("tanh", b.const(np.arange(4.0)))


@pytest.mark.parametrize("rows", [None, 1, 2])
def test_states_that_wait(rows: int | None) -> None:
    """Each side gives a tap, a row of a sequence, an outer array, or a value of its own."""
    b = Builder()
    xs, ts, w = b.input("X", None, 3), b.input("t", None), b.input("w", 3)
    i1, i2, n = b.input("i1", 1, 3), b.input("i2", 2, 3), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        x, t = loop.read(xs), loop.read(ts)
        (p,), (q,), (r,), (near, far) = (
            loop.state(i, k) for i, k in ((i1, (1,)), (i1, (1,)), (i1, (1,)), (i2, (1, 2)))
        )
        up = b("greater", t, b.const(0.0))
        sides: list[tuple[Callable[[], str], Callable[[], str]]] = [
            (lambda: b("add", p, x), lambda: p),
            (lambda: p, lambda: q),
            (lambda: w, lambda: b("tanh", b("multiply", b("add", r, w), x))),
            (lambda: far, lambda: x),
        ]
        for i, (then, otherwise) in enumerate(sides):
            loop.update(i, b.branch(up, then, otherwise))
        kept = [loop.keep(v, rows) for v in (p, near, far, *(s.update for s in loop.states))]
    signs = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
    for steps in (1, 2, 6):
        run(b.program(*kept), vectors(6, 3), signs, vectors(3), vectors(1, 3), vectors(2, 3), steps)


def test_a_tap_that_a_branch_gives_is_not_overwritten() -> None:
    """h' = h + x goes onto h, unless the branch that may be h is read after it."""
    for late in (False, True):
        b = Builder()
        xs, h0, c, n = (
            b.input("X", None, 3),
            b.input("h0", 1, 3),
            b.input("c", dtype="bool"),
            b.input("n", dtype="int64"),
        )
        with b.loop(n) as loop:
            x = loop.read(xs)
            (h,) = loop.state(h0)
            either = b.branch(c, lambda h=h: h, lambda x=x: x)
            early = b("tanh", either)
            new = b("add", h, x)
            loop.update(0, new)
            kept = [loop.keep(b("cos", either) if late else early), loop.keep(new, 1)]
        program = b.program(*kept)
        assert ("add(v5, v4, v5 if t0 else" in executor().compile(program).source) is not late
        run(program, vectors(5, 3), vectors(1, 3), True, 5)


def test_buffers_of_a_side_are_its_own() -> None:
    """Two values private to a side share a buffer; the value it gives may be kept by a state."""
    b = Builder()
    xs, ts, w, h0 = b.input("X", None, 3), b.input("t", None), b.input("W", 3, 3), b.input("h0", 1, 3)
    n = b.input("n", dtype="int64")
    with b.loop(n) as loop:
        x, t = loop.read(xs), loop.read(ts)
        (h,) = loop.state(h0)
        up = b("greater", t, b.const(0.0))
        new = b.branch(up, lambda: b("tanh", b("add", b("dot", w, x), x)), lambda: h)
        loop.update(0, new)
        kept = loop.keep(h)
    program = b.program(kept)
    source = executor().compile(program).source
    assert "v10 = contiguous(v10)" in source
    assert "v11 = add(v10, v5, v10)" in source
    run(program, vectors(6, 3), np.array([-1.0, 1, -1, 1, 1, -1]), vectors(3, 3), vectors(1, 3), 6)


def test_initial_rows_of_a_loop_on_a_side_are_kept_for_later() -> None:
    """They are made outside of the branch and read after it."""
    b = Builder()
    x, c, n = b.input("x", 1, 3), b.input("c", dtype="bool"), b.input("n", dtype="int64")
    init = b("negative", x)

    def looped() -> str:
        for _ in range(5):
            b("tanh", x)
        with b.loop(n) as loop:
            (h,) = loop.state(init)
            new = b("multiply", h, h)
            loop.update(0, new)
            return_rows = loop.keep(new, 1)
        return b.at(return_rows, 0)

    y = b.branch(c, looped, lambda: b.at(init, 0))
    run(b.program(y, b("add", init, init)), vectors(1, 3), True, 3)


def test_lengths_that_a_branch_chooses() -> None:
    """Step t looks at x[:k], where a branch chooses k, or at one of two arrays of other lengths."""
    b = Builder()
    x, y, ts, n = b.input("x", None), b.input("y", None), b.input("t", None), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        up = b("greater", loop.read(ts), b.const(0.0))
        length = b.branch(up, lambda: b.const(np.int64(2)), lambda: b.const(np.int64(3)))
        part = b("cos", b.at(x, ("slice", None, "in", None), inputs=(length,)))
        either = b("cos", b.branch(up, lambda: x, lambda: b("cos", y)))
        kept = [loop.keep(b("sum", v, axis=(0,), keepdims=False)) for v in (part, either)]
        kept += [loop.keep(v, 1) for v in (part, either)]
    run(b.program(*kept), vectors(5), vectors(4), np.array([1.0, -1, -1, 1]), 4)


def test_update_of_another_shape() -> None:
    b = Builder()
    h0, w, ts, n = b.input("h0", 1, None), b.input("w", None), b.input("t", None), b.input("n", dtype="int64")
    with b.loop(n, "grow") as loop:
        t = loop.read(ts)
        (h,) = loop.state(h0, label="h")
        loop.update(0, b.branch(b("greater", t, b.const(0.0)), lambda: w, lambda: h))
        kept = loop.keep(h, 1)
    f = executor().compile(b.program(kept))
    assert f([vectors(1, 3), vectors(2), np.array([-1.0, -1]), np.int64(2)])[0].shape == (1, 3)
    with pytest.raises(ValueError, match=r"state h of loop grow must keep .*: expected shape \(3,\), found \(2,\)"):
        f([vectors(1, 3), vectors(2), np.array([-1.0, 1.0]), np.int64(2)])


def test_zero_steps() -> None:
    """No side is run: small values tell which one would be, else an axis has the length that both have.

    A side that does not fit is not counted.
    """
    b = Builder()
    x, y, w, c = b.input("x", None, 2), b.input("y", None, 2), b.input("w", None, None), b.input("c", dtype="bool")
    n = b.input("n", dtype="int64")
    with b.loop(n) as loop:
        t = b("less", b("sum", x, axis=(0, 1), keepdims=False), b.const(0.0))
        values = [
            b.branch(t, lambda: x, lambda: y),
            b.branch(c, lambda: x, lambda: b("negative", y)),
            b.branch(t, lambda: b("dot", x, w), lambda: b("negative", x)),
            b.branch(t, lambda: b("less", x, x), lambda: b("less", x, x)),
        ]
        kept = [loop.keep(v) for v in values]
    f = executor().compile(b.program(*kept))
    results = f([vectors(3, 2), vectors(4, 2), vectors(5, 5), np.array(False), np.int64(0)])
    assert [r.shape for r in results] == [(0, 4, 2), (0, 4, 2), (0, 3, 2), (0, 3, 2)]
    results = f([vectors(40, 2), vectors(41, 2), vectors(5, 5), np.array(False), np.int64(0)])
    assert [r.shape for r in results] == [(0, 0, 2), (0, 41, 2), (0, 40, 2), (0, 40, 2)]
    assert results[3].dtype == bool
    results = f([vectors(3, 2), vectors(3, 2), vectors(2, 2), np.array(True), np.int64(0)])
    assert [r.shape for r in results] == [(0, 3, 2)] * 4


def test_zero_steps_where_no_side_fits() -> None:
    b = Builder()
    x, w, n = b.input("x", None), b.input("w", None, None), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        t = b("less", b("sum", x, axis=(0,), keepdims=False), b.const(0.0))
        kept = loop.keep(b.branch(t, lambda: b("dot", w, x), lambda: b("dot", x, w)))
    with pytest.raises(ValueError, match="lengths to sum over"):
        executor().compile(b.program(kept))([vectors(3), vectors(4, 4), np.int64(0)])


# Saving


def change(result: dict[str, Any] | None = None, **changes: Any) -> str:
    """The text of `gated` with fields of its last branch, or of its result, changed (or removed, where ...)."""
    data = json.loads(to_json(gated()))
    branch = data["steps"][-1]
    for place, fields in ((branch, changes), (branch["results"][0], result or {})):
        for name, value in fields.items():
            if value is ...:
                del place[name]
            else:
                place[name] = value
    return json.dumps(data)


F4 = {"dtype": "float64", "shape": [4]}


def test_json_round_trip() -> None:
    text = to_json(gated())
    again = from_json(text)
    assert (again.steps, to_json(again), program_text(again)) == (gated().steps, text, program_text(gated()))
    both = {"then": "v2", "otherwise": "v2", "type": F4 | {"shape": [None, None]}}
    other = json.loads(change(both, otherwise=[], then=[]))
    assert from_json(json.dumps(other | {"storage": None}))
    with pytest.raises(ValueError, match="storage: 'v23' is no name of the program"):
        from_json(json.dumps(other))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"condition": ...}, "step 2: no field 'condition'"),
        ({"more": 1}, "step 2: unknown field 'more'"),
        ({"then": {}}, "then must be a list"),
        ({"results": {}}, "results must be a list"),
        ({"results": []}, "a branch on 'v20' has no result"),
        ({"results": [7]}, "step 2, result 0: expected an object, found int"),
        ({"then": [{"kind": "exec"}]}, "step 2, then, step 0: unknown kind of step 'exec'"),
        ({"condition": "v0"}, "v24 = if v0: TypeError: ifelse needs a bool scalar as condition"),
        ({"condition": "nothing"}, "'nothing' is not defined before it is read"),
    ],
)  # fmt: skip
def test_broken_branches(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(change(**changes))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"out": ...}, "step 2, result 0: no field 'out'"),
        ({"more": 1}, "step 2, result 0: unknown field 'more'"),
        ({"then": None}, "then must be a string, found None"),
        ({"otherwise": "v22"}, "'v22' is not defined before it is read, or not visible here"),
        ({"then": "v23"}, "'v23' is not defined before it is read, or not visible here"),
        ({"then": "v24"}, "'v24' is not defined before it is read, or not visible here"),
        ({"otherwise": "v3"}, "TypeError: ifelse needs two values of one dtype and number of axes"),
        ({"type": {"dtype": "float32", "shape": [None]}}, "its type is declared as float32"),
        ({"type": {"dtype": "float64", "shape": []}}, r"its type is declared as float64\[\], but is float64\[\?\]"),
        ({"out": "v23"}, "'v23' is defined twice"),
        ({"out": "v1"}, "'v1' is defined twice"),
    ],
)  # fmt: skip
def test_broken_results_of_branches(result: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(change(result))


def test_a_result_is_no_value_of_another() -> None:
    """Nor may two results have one name, or one be read on a side."""
    for name, message in (("v24", "'v24' is defined twice"), ("v25", "'v25' is not defined before it is read")):
        data = json.loads(to_json(gated()))
        first = data["steps"][-1]["results"][0]
        second = {**first, "out": name} | ({} if name == "v24" else {"then": "v25"})
        data["steps"][-1]["results"].append(second)
        with pytest.raises(ValueError, match=message):
            from_json(json.dumps(data))


def test_names_of_a_side_are_not_seen_outside() -> None:
    data = json.loads(to_json(gated()))
    data["outputs"].append("v23")
    with pytest.raises(ValueError, match="'v23' is not defined before it is read, or not visible here"):
        from_json(json.dumps(data))
    flag = TensorType("bool", ())
    branch = Branch("x", (), (), (Either("y", "x", "nothing", flag),))
    with pytest.raises(ValueError, match="reads 'nothing' before it is made"):
        executor().compile(Program((Input("x", flag),), (), (branch,), ("y",)))


def test_deep_nesting() -> None:
    b = Builder()
    x, c = b.input("x"), b.input("c", dtype="bool")

    def deeper(n: int) -> str:
        return b.branch(c, lambda: deeper(n - 1), lambda: b("cos", x)) if n else b("tanh", x)

    run(b.program(deeper(40)), 2.0, True)


# What may run


def steps_run(program: Program, given: dict[str, Any]) -> list[Step]:
    """The steps that may run.  given: by the label of an input, its shape, or its value if it is a number."""
    known = {c.name: concrete(c.value) for c in program.consts}
    for x in program.inputs:
        size = given[x.label or x.name]
        known[x.name] = Operand(x.type.dtype, size) if isinstance(size, tuple) else concrete(np.asarray(size))
    shapes(program.steps, known)
    return list(running(program.steps, known))


def test_the_side_that_is_taken_runs() -> None:
    sizes = {"X": (10, 3), "W": (3, 3), "h0": (1, 3)}
    many, few = ({s.out for s in steps_run(gated(), {**sizes, "n": n}) if isinstance(s, Compute)} for n in (10, 2))
    assert many - few == {"v21", "v22"}
    assert few - many == {"v23"}


def test_both_sides_may_run_where_the_condition_is_not_known() -> None:
    """But not one that cannot run, because its shapes do not fit."""
    b = Builder()
    x, c, n = b.input("x", None), b.input("c", dtype="bool"), b.input("n", dtype="int64")
    test = b("any", b("less", x, x), axis=(0,), keepdims=False)

    def looped(value: Callable[[], str]) -> Callable[[], str]:
        def write() -> str:
            with b.loop(n) as loop:
                kept = loop.keep(value())
            return b("sum", kept, axis=(0, 1), keepdims=False)

        return write

    stacked = looped(lambda: b("tanh", x))
    misfit = looped(lambda: b("add", x, b.const(np.ones(7))))
    program = b.program(b.branch(test, stacked, misfit), b.branch(c, misfit, stacked))
    run = steps_run(program, {"x": (100,), "c": False, "n": 5})
    assert len([s for s in run if isinstance(s, Loop)]) == 2


def test_walk_goes_into_both_sides() -> None:
    program = gated()
    kinds = [type(s) for s in program.walk()]
    assert (kinds.count(Branch), kinds.count(Loop)) == (3, 1)
    assert [s.op for s in program.walk() if isinstance(s, Compute)].count(Op.make("tanh")) == 1
