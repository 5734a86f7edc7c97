"""The model of `scanopt prove-law` says what programs compute: terms of known numbers against the interpreter."""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.lab.proving.linear_algebra  # registers meanings
import scanopt.tensor as T
from scanopt.array.op import Op
from scanopt.calculus.terms import (
    Clock,
    State,
    Value,
    at,
    cut,
    delay,
    hold,
    lift,
    lifted,
    on,
    ops,
    seq,
    stack,
    tail,
    to_cut,
)
from scanopt.interpreter import interpret
from scanopt.lab.proving.arrays import SymbolicArray, array, filled, known
from scanopt.lab.proving.choices import Choices
from scanopt.lab.proving.entries import cast, compute, z3
from scanopt.lab.proving.model import Model
from scanopt.lab.proving.operators import applied
from scanopt.lab.proving.world import Bounds

pytestmark = pytest.mark.skipif(find_spec("z3") is None, reason="proofs need z3-solver: scanopt[prove]")

C, S = Clock("c"), State("s")

Step = Callable[[dict[str, Any]], Any]
"""What a value of a loop is in a program: a function of what the step is given."""


def model(theory: str = "int") -> Model:
    return Model(Choices(), theory, Bounds())


class Loop:
    """A random loop: what it reads, its state, when it ends; and values of it, as terms and as programs."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.steps = rng.choice((0, 1, 2, 3, 4))
        self.depth = rng.choice((1, 2, 3))
        shape = rng.choice(((), (2,)))
        numbers = np.random.default_rng(rng.randrange(1000))
        self.given = {
            "X": numbers.integers(-3, 4, (self.steps, *shape)),
            "init": numbers.integers(-3, 4, (self.depth, *shape)),
            "a": numbers.integers(-3, 4, shape),
        }
        self.update = self.value(2)
        self.ends = rng.random() < 0.4
        self.executed = self._executed()

    def _executed(self) -> int:
        """An until loop ends after the first step that reads a number above 1."""
        above = [t for t, row in enumerate(self.given["X"]) if (row > 1).all()]
        return above[0] + 1 if self.ends and above else self.steps

    def value(self, size: int) -> tuple[Value, Step]:
        """A value at each step."""
        if size == 0 or self.rng.random() < 0.2:
            k = self.rng.randint(1, self.depth)
            leaves: list[tuple[Value, Step]] = [
                (seq(C, Value("X")), lambda got: got["X"]),
                (hold(C, Value("a")), lambda got: got["a"]),
                (delay(C, Value("init"), S, k), lambda got: got[f"tap {k}"]),
            ]
            return self.rng.choice(leaves)
        op = self.rng.choice(("add", "subtract", "maximum", "minimum", "negative"))
        args = [self.value(size - 1) for _ in range(1 if op == "negative" else 2)]
        made = getattr(T, op)
        return getattr(ops, op)(*(x for x, _ in args)), lambda got: made(*(f(got) for _, f in args))

    def trace(self, step: Step, inputs: dict[str, Any]) -> Any:
        """The program of a trace."""

        def body(row: Any, *rest: Any) -> Any:
            *taps, a = rest
            got = {"X": row, "a": a, **{f"tap {self.depth - i}": tap for i, tap in enumerate(taps)}}
            out = [self.update[1](got), step(got)]
            return (out, scanopt.until((row > 1).all())) if self.ends else out

        start = inputs["init"][0] if self.depth == 1 else inputs["init"]
        states = dict(initial=start, taps=[-k for k in range(self.depth, 0, -1)])
        return scanopt.scan(body, inputs["X"], [states, None], [inputs["a"]])[0][1]

    def model(self) -> Model:
        m = model()
        for name, x in self.given.items():
            m.values[name] = lambda at, x=x: array(x)  # type: ignore[misc]
        m.updates["s"] = self.update[0]
        m.loops.fix(C, self.steps, self.executed)
        m.places.put(self.update[0], C)
        return m


def outer(rng: random.Random, v: Value) -> list[tuple[Value, Callable[[Any], Any]]]:
    """What can be asked of a trace, as terms and as programs."""
    k, row = rng.randint(1, 3), rng.randint(0, 2)
    few = cut(C, row + 1)
    return [
        (stack(C, v), lambda x: x),
        (tail(C, v, k), lambda x: x[-k:]),
        (stack(C, v)[-k:], lambda x: x[-k:]),
        (stack(C, v)[-k], lambda x: x[-k]),
        (at(few, on(to_cut(C, row + 1), v), row), lambda x: x[row]),
        (stack(few, on(to_cut(C, row + 1), v)), lambda x: x[: row + 1]),
        (ops.concatenate(Value("init"), stack(C, v), axis=0)[-1], None),  # type: ignore[list-item]
        (stack(C, v)[::-1], lambda x: x[::-1]),
        (stack(C, v).shape[0], lambda x: x.shape[0]),
        (ops.sum(stack(C, v), axis=(0,), keepdims=False), lambda x: x.sum(axis=0)),
    ]


@pytest.mark.parametrize("seed", range(60))
def test_random_loops_are_what_the_interpreter_makes_of_them(seed: int) -> None:
    rng = random.Random(seed)
    loop = Loop(rng)
    v, step = loop.value(2)
    inputs = {name: T.as_tensor_variable(x) for name, x in loop.given.items()}
    trace = loop.trace(step, inputs)
    for term, program in outer(rng, v):
        made = program or (lambda x: T.concatenate([inputs["init"], x], axis=0)[-1])
        m = loop.model()
        found = m.value(term, {})
        fails = any(e.when is True for e in m.errors)
        try:
            expected = interpret(made(trace))
        except IndexError:
            assert fails, str(term)
            continue
        assert not fails, str(term)
        got = known(found)
        assert got is not None
        assert got.shape == expected.shape, str(term)
        np.testing.assert_array_equal(got, expected, err_msg=str(term))


def test_inner_loops_are_what_the_interpreter_makes_of_them() -> None:
    d = Clock("d")
    X = np.arange(6).reshape(3, 2)
    rows, _ = scanopt.map(lambda row: scanopt.map(lambda e, r: e + r.sum(), row, [row])[0], T.as_tensor_variable(X))
    inner = seq(d, seq(C, Value("X"))) + hold(d, ops.sum(seq(C, Value("X")), axis=(0,), keepdims=False))
    m = model()
    m.values["X"] = lambda at: array(X)
    m.places.put(stack(C, stack(d, inner)), None)
    m.loops.fix(C, 3, 3)
    m.loops.whole |= {C, d}
    m.loops.alike.add(d)
    m.loops.fix(d, 2, 2)
    expected = interpret(rows)
    beside = ops.swap_rows(stack(lift(C, d), on(lifted(C, d), inner)))
    for term in (stack(C, stack(d, inner)), beside):
        np.testing.assert_array_equal(known(m.value(term, {})), expected)


# Operators, of known integers and of real numbers


def integers(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[Any]:
    return [rng.integers(-3, 4, s) for s in shapes]


OPERATORS: list[tuple[Op, Sequence[tuple[int, ...]]]] = [
    (Op.make("accumulate", ufunc="add"), ((1, 2), (3, 2))),
    (Op.make("accumulate", ufunc="maximum"), ((1,), (4,))),
    (Op.make("fold", ufunc="add"), ((1, 2), (3, 2))),
    (Op.make("fold_in_order", ufunc="multiply"), ((1,), (3,))),
    (Op.make("dot"), ((2, 3), (3, 2))),
    (Op.make("dot"), ((3,), (3, 2))),
    (Op.make("dot"), ((0,), (0, 2))),
    (Op.make("sum", axis=(0,), keepdims=False), ((3, 2),)),
    (Op.make("clip"), ((3,), (), ())),
    (Op.make("swap_rows"), ((2, 3),)),
    (Op.make("join_rows"), ((2, 3),)),
    (Op.make("stack", axis=0), ((2,), (2,))),
    (Op.make("full_like"), ((2, 2), ())),
    (Op.make("getitem", index=(("slice", None, None, -1),)), ((3,),)),
    (Op.make("transpose", axes=(1, 0)), ((2, 3),)),
]


@pytest.mark.parametrize(("op", "shapes"), OPERATORS, ids=lambda x: str(x) if isinstance(x, Op) else "")
def test_operators_of_integers_are_what_numpy_makes_of_them(op: Op, shapes: Sequence[tuple[int, ...]]) -> None:
    values = integers(np.random.default_rng(0), *shapes)
    found = known(applied(model(), op, [array(x) for x in values]))
    np.testing.assert_array_equal(found, op.bind(np)(*values))


def real(x: np.ndarray[Any, Any]) -> SymbolicArray:
    if x.dtype != np.float64:
        return array(x)
    return filled("real", x.shape, [z3().RealVal(str(Fraction(float(e)))) for e in x.reshape(-1)])


def floats(x: SymbolicArray) -> Any:
    exact = [z3().simplify(e) if z3().is_expr(e) else e for e in x.entries]
    return np.array([float(e.as_fraction()) if z3().is_expr(e) else e for e in exact]).reshape(x.shape)


A, B, ONE, MASK = (2, 2), (2,), (1,), (4,)
FLOATS: list[tuple[Op, Sequence[tuple[int, ...]]]] = [
    *((Op.make(name), (ONE, (4,), (4,))) for name in ("linear_recurrence", "smoothing", "raised_sum", "capped_sum")),
    (Op.make("clamped_sum"), (ONE, (4,), (4,), (4,))),
    (Op.make("lfilter"), (ONE, (4,), ())),
    (Op.make("lfilter2"), ((2,), (4,), (), ())),
    (Op.make("regrouped_sum"), (ONE, (4,))),
    (Op.make("regrouped_filter"), (ONE, (4,), ())),
    (Op.make("regrouped_smoothing"), (ONE, (4,), ())),
    (Op.make("regrouped_filter2"), ((2,), (4,), (), ())),
    (Op.make("polynomial"), (ONE, (), (4,))),
    (Op.make("inv"), (A,)),
    (Op.make("solve"), (A, B)),
    (Op.make("solve"), (A, A)),
    *(
        (Op.make("solve_triangular", lower=lower, trans=trans, unit_diagonal=False), (A, B))
        for lower in (False, True)
        for trans in (0, 1)
    ),
    (Op.make("cho_solve", lower=True), (A, B)),
    (Op.make("maximum"), (B, B)),
]


@pytest.mark.parametrize(("op", "shapes"), FLOATS, ids=lambda x: str(x) if isinstance(x, Op) else "")
def test_operators_of_real_numbers_are_what_numpy_makes_of_them(op: Op, shapes: Sequence[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(1)
    values = [rng.integers(1, 9, s) / 4.0 for s in shapes]
    expected = op.bind(np)(*values)
    found = applied(model("real"), op, [real(np.asarray(x)) for x in values])
    np.testing.assert_allclose(floats(found), expected, rtol=1e-12)


@pytest.mark.parametrize("trans", [0, 1])
def test_factors_solve_what_the_matrix_solves(trans: int) -> None:
    a, b = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 4.0])
    m = model("real")
    factors = applied(m, Op.make("lu_factor"), [real(a)])
    found = applied(m, Op.make("lu_solve", trans=trans), [factors, real(b)])
    np.testing.assert_allclose(floats(found), np.linalg.solve(a.T if trans else a, b), rtol=1e-12)


def test_known_integers_wrap_around_and_have_a_remainder_of_0_by_0() -> None:
    assert (compute("add", "int8", 100, 100), compute("multiply", "int8", -128, -1), cast(300, "int64", "int8")) == (
        -56, -128, 44,
    )  # fmt: skip
    assert (compute("remainder", "int8", 5, 0), compute("logical_not", "bool", True)) == (0, False)
