"""What only sides of ifelses need is computed on the sides that are taken, and there once."""

import re
from typing import Any

import numpy as np
import pytest
from random_branches import arguments, build

import scanopt
import scanopt.tensor as T
from scanopt import ifelse
from scanopt.program.ir import Branch, Compute, Loop, Program, Step
from scanopt.program.serial import from_json, to_json

X = np.arange(3.0) + 1
FAR = 7


def same(f: Any, *args: Any) -> None:
    """The program that runs, and the one as it was written, give what the interpreter gives."""
    expected = f.unoptimized(*args)
    for found in (f(*args), f.as_written(*args)):
        for a, b in zip(*((r if isinstance(r, list) else [r]) for r in (found, expected)), strict=True):
            np.testing.assert_array_equal(a, b)


def branches(program: Program) -> list[Branch]:
    return [s for s in program.walk() if isinstance(s, Branch)]


def body(program: Program) -> str:
    """The text of the steps, without types."""
    lines = [re.sub(r"(?<=\S)  .*", "", line) for line in str(program).split("\n")]
    return "\n".join(lines[len(program.inputs) : -1])


# ---- one condition ----


def test_values_of_several_ifelses_on_one_condition() -> None:
    x, y = T.dvectors("x", "y")
    n, c = T.lscalars("n", "c")
    s = x[n] * y
    f = scanopt.function([x, y, n, c], [ifelse(c > 0, s, x[0] * y), ifelse(c > 0, s + 1, y)])
    assert (
        body(f.program)
        == """\
v4 = c > 0
v10, v11 = if v4:
    v5 = x[n]
    v6 = v5 * y
    v7 = v6 + 1.0
    give v7, v6
else:
    v8 = x[0]
    v9 = v8 * y
    give y, v9"""
    )
    assert from_json(to_json(f.program)).steps == f.program.steps
    same(f, X, X, FAR, 0)
    same(f, X, X, 1, 1)
    with pytest.raises(IndexError):
        f(X, X, FAR, 1)


def test_gradients_by_several_variables_of_one_ifelse() -> None:
    x, n, c = T.dvector("x"), T.lscalar("n"), T.lscalar("c")
    w, v = T.dscalars("w", "v")
    y = ifelse(c > 0, w * x[n] * v, w + v)
    f = scanopt.function([x, n, c, w, v], T.grad(y, [w, v]))
    assert [len(b.results) > 1 for b in branches(f.program)] == [True]
    same(f, X, FAR, 0, 2.0, 3.0)
    same(f, X, 2, 1, 2.0, 3.0)


def test_an_ifelse_inside_a_side_on_the_same_condition_is_its_side() -> None:
    x, n, c = T.dvector("x"), T.lscalar("n"), T.lscalar("c")
    a = ifelse(c > 0, x[n] + x, x)
    b = ifelse(c > 0, T.tanh(a), a * 3)
    f = scanopt.function([x, n, c], [a, b])
    assert [len(s.results) for s in branches(f.program)] == [2]
    same(f, X, 1, 1)
    same(f, X, FAR, 0)


def test_what_lies_between_two_ifelses_on_one_condition_parts_them() -> None:
    """The second one reads what the first gives; what both sides need is computed once and handed on."""
    x, n, c = T.dvector("x"), T.lscalar("n"), T.lscalar("c")
    h, _ = scanopt.scan(lambda v, s, w: T.tanh(s * v + w), x, [x[n]], [x[n]])
    a = ifelse(c > 0, h[-1], x[0])
    b = ifelse(c > 0, h.sum() * T.exp(a), a)
    f = scanopt.function([x, n, c], [T.exp(a), b])
    assert [len(s.results) for s in branches(f.program)] == [2, 1]
    assert len(f.program.loops()) == 1
    same(f, X, 1, 1)
    same(f, X, FAR, 0)


def test_sides_of_a_choice_between_more_than_two() -> None:
    """What all sides need is computed before; what some need, there."""
    x, n, c = T.dvector("x"), T.lscalar("n"), T.lscalar("c")
    shared, far = T.tanh(x), x[n]
    y = ifelse(c > 2, shared + far, ifelse(c > 1, shared * far, ifelse(c > 0, shared, shared - 1)))
    f = scanopt.function([x, n, c], y)
    assert "tanh" in [s.op.name for s in f.program.steps if isinstance(s, Compute)]
    assert str(f.program).count("tanh") == 1
    for k in (0, 1):
        same(f, X, FAR, k)
    for k in (2, 3):
        same(f, X, 2, k)


# ---- several conditions ----


def test_a_value_that_two_conditions_ask_for() -> None:
    x, y = T.dvectors("x", "y")
    n, c, d = T.lscalars("n", "c", "d")
    s = x[n] * y
    f = scanopt.function([x, y, n, c, d], [ifelse(c > 0, s.sum(), x[0]), ifelse(d > 0, y[0], s.prod())])
    assert str(f.program).count("x[n]") == 1
    assert "logical_or" in str(f.program)
    same(f, X, X, FAR, 0, 1)
    for tests in ((0, 0), (1, 0), (1, 1)):
        same(f, X, X, 1, *tests)
        with pytest.raises(IndexError):
            f(X, X, FAR, *tests)


def test_what_cannot_raise_and_costs_nothing_is_computed_before() -> None:
    x = T.dvector("x")
    n, c, d = T.lscalars("n", "c", "d")
    f = scanopt.function([x, n, c, d], [ifelse(c > 0, x * (n * 2), x), ifelse(d > 0, x - n * 2, x)])
    assert "logical_or" not in str(f.program)
    assert str(f.program).count("n * 2") == 1
    same(f, X, 4, 0, 1)


def test_a_condition_that_needs_the_value_itself() -> None:
    """It is computed where the first condition holds, and again where only the second one does."""
    x = T.dvector("x")
    n, c = T.lscalars("n", "c")
    v = x[n]
    d = ifelse(c > 0, v > 0, n < 3)
    f = scanopt.function([x, n, c], [ifelse(c > 0, v, 0.0), ifelse(d, T.exp(v), 1.0)])
    same(f, X, FAR, 0)
    same(f, X, 1, 0)
    same(f, X, 1, 1)


def test_values_that_need_one_another_by_conditions() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    c, d = T.lscalars("c", "d")
    u, v = T.exp(x[n]), T.tanh(x[n - 1])
    c2, d2 = ifelse(c > 0, v > 0, d > 0), ifelse(d > 0, u > 1, c > 0)
    outs = [ifelse(c2, u, 0.0), ifelse(d2, v, 0.0), ifelse(c > 0, v, 1.0), ifelse(d > 0, u, 1.0)]
    f = scanopt.function([x, n, c, d], outs)
    for k, m in ((0, 0), (0, 1), (1, 0), (1, 1)):
        same(f, X, 1, k, m)
    same(f, X, FAR, 0, 0)


@pytest.mark.parametrize("count", [3, 25])
def test_the_program_grows_with_the_graph(count: int) -> None:
    """Each value is asked for by two conditions; written out on both sides, there would be 2**count copies."""
    x, v, inputs = T.dvector("x"), T.dvector("x"), []
    v = x
    for k in range(count):
        c, d = T.lscalars(f"c{k}", f"d{k}")
        inputs += [c, d]
        v = ifelse(c > 0, T.tanh(v * (k + 1)), x) + ifelse(d > 0, T.exp(-v), x)
    f = scanopt.function([x, *inputs], v, exclude=["algebra"])
    assert len([*f.program.walk()]) < 20 * count
    same(f, X, *[k % 3 for k in range(2 * count)])


# ---- loops ----


def loops_by_place(steps: tuple[Step, ...]) -> tuple[int, int]:
    """How many loops always run, and how many only where a side is taken."""
    always = sum(isinstance(s, Loop) for s in steps)
    inner = [i for s in steps if isinstance(s, Branch) for side, _ in s.sides for i in side]
    return always, sum(isinstance(s, Loop) for s in inner)


def test_loops_of_equal_length_of_which_one_is_needed_on_a_side() -> None:
    x, n, c = T.dvector("x"), T.lscalar("n"), T.lscalar("c")
    h, _ = scanopt.scan(lambda u, s, w, k: T.tanh(s * w[k] + u), x, [x[0]], [x, n])
    g, _ = scanopt.scan(lambda u, s: T.tanh(s + u), x, [x[0]])
    f = scanopt.function([x, n, c], [ifelse(c > 0, h, x), g[-1]])
    assert loops_by_place(f.program.steps) == (1, 1)
    same(f, X, FAR, 0)
    same(f, X, 2, 1)


def test_a_loop_that_runs_anyway_keeps_what_a_side_asks_for() -> None:
    x, c = T.dvector("x"), T.lscalar("c")
    h, _ = scanopt.scan(lambda u, s: T.tanh(s + u), x, [x[0]])
    f = scanopt.function([x, c], [ifelse(c > 0, h, x), h[-1]])
    assert loops_by_place(f.program.steps) == (1, 0)
    same(f, X, 0)
    same(f, X, 1)


def test_a_loop_that_two_conditions_ask_for_runs_once() -> None:
    x = T.dvector("x")
    c, d = T.lscalars("c", "d")
    h, _ = scanopt.scan(lambda u, s: T.tanh(s + u), x, [x[0]])
    f = scanopt.function([x, c, d], [ifelse(c > 0, h, x), ifelse(d > 0, h[-1], x[0])])
    assert loops_by_place(f.program.steps) == (0, 1)
    for tests in ((0, 0), (0, 1), (1, 0), (1, 1)):
        same(f, X, *tests)


def test_a_row_that_is_not_there() -> None:
    """The loop makes fewer rows than the side asks for."""
    x, c = T.dvector("x"), T.lscalar("c")
    h, _ = scanopt.scan(lambda u, s: T.tanh(s + u), x, [x[0]])
    f = scanopt.function([x, c], [ifelse(c > 0, h[5], x[0]), ifelse(c > 0, h[-1], x[0])])
    same(f, X, 0)
    with pytest.raises(IndexError):
        f(X, 1)


def test_steps_that_choose() -> None:
    """Inside a step: two ifelses on one condition, one on a condition that is decided around the loop.

    They share w[k], which is one more branch, as long as the second condition is not decided.
    """
    x, n, c = T.dvector("x"), T.lscalar("n"), T.lscalar("c")

    def step(u: Any, s: Any, w: Any, k: Any, flag: Any) -> Any:
        far = T.exp(w[k] * u)
        new = ifelse(u > 1.5, far + s, s)
        return new, ifelse(u > 1.5, T.tanh(far), u), ifelse(flag > 0, T.tanh(w[k] * s), s)

    (h, g, e), _ = scanopt.scan(step, x, [x[0], None, None], [x, n, c])
    f = scanopt.function([x, n, c], [h, g, e])
    (loop,) = f.program.loops()
    assert sorted(len(s.results) for s in loop.body if isinstance(s, Branch)) == [1, 1, 2]
    same(f, X, 2, 1)
    same(f, X * 0, FAR, 0)
    around = scanopt.function([x, n, c], ifelse(c > 0, (h + g + e).sum(), x.sum()))
    (chosen,) = (b for b in branches(around.program) if any(isinstance(s, Loop) for s in b.then))
    (loop,) = (s for s in chosen.then if isinstance(s, Loop))
    assert len([s for s in loop.body if isinstance(s, Branch)]) == 1
    same(around, X, 2, 1)
    same(around, X, FAR, 0)


def test_states_of_a_step_that_only_a_side_reads() -> None:
    """They move on all the same."""
    x, c = T.dvector("x"), T.lscalar("c")

    def step(u: Any, s: Any, r: Any, flag: Any) -> Any:
        return s + u, ifelse(flag > 0, r * s, r + u)

    (_, r), _ = scanopt.scan(step, x, [x[0], x[1]], [c])
    f = scanopt.function([x, c], [ifelse(c > 0, r, x), ifelse(c > 0, x, r)])
    same(f, X, 0)
    same(f, X, 1)


# ---- random programs ----


@pytest.mark.share(6)
@pytest.mark.parametrize("chunk", range(6))
def test_random_programs(chunk: int) -> None:
    for seed in range(chunk * 12, (chunk + 1) * 12):
        inputs, outputs = build(seed)
        f = scanopt.function(inputs, outputs, on_unused_input="ignore", fp="exact")
        assert from_json(to_json(f.program)).steps == f.program.steps
        for args in arguments(seed, 3):
            same(f, *args)
