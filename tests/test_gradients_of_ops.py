"""The gradient of every operator of the table, against central differences: nothing is written per operator.

Operators, shapes and parameters are those of `tests/test_ops.py`; float and complex arguments get
values away from corners.  A difference counts only where the function is smooth as far as numbers
tell (slopes on both sides and of two orders agree), and each operator needs some that count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from test_ops import CASES, LINALG, NAMES, SPECIAL, TABLE, blurred

import scanopt
from scanopt.array.derivatives import no_gradient
from scanopt.array.op import Op, Operand
from scanopt.array.variable import Constant, Variable, apply
from scanopt.gradient import Lop, NullTypeGradError

Array = np.ndarray[Any, Any]
Rng = np.random.Generator

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]

NO_GRADIENT = {
    "random_gamma": "drawn by rejection: no formula says how a draw moves with its parameters",
    "random_beta": "made of gamma draws",
    "bitcast": "the bits of a number are no smooth function of it",
    **dict.fromkeys(("linalg_or_flag", "unless_flagged"), "laws put it in the place of inv and cholesky"),
    **dict.fromkeys(("has_rows", "kept_row", "no_rows"), "made when a program is lowered"),
    **dict.fromkeys(
        ("rows_left", "rows_read", "shaped_like", "spread_like", "when_runs"),
        "made when a program is encoded, and by laws",
    ),
    **dict.fromkeys(
        (n for n in NAMES if TABLE[n].infer.__module__.endswith((".recurrences", ".chunks"))),
        "in no graph of a user: laws put it in the place of a loop, of which the gradient was taken before",
    ),
}
"""The entries with gradient=None, each with its reason: a gradient through them is an error."""

NOT_THEIR_OWN = {"disconnected_grad", "zero_grad", "grad_clip", "with_gradient"}
"""Identities whose gradient is meant not to be that of the identity."""

DOMAINS = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "power", "float_power", "scatter"), (0.2, 2.0)),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), (-0.9, 0.9)),
    "arange": (0.2, 2.0),
    "arccosh": (1.2, 3.0),
    "log1p": (-0.8, 2.0),
}
"""Where real arguments lie for operators that are not defined everywhere; the others get zeros too."""

WIDE = {"float16": "float64", "float32": "float64", "complex64": "complex128"}
NARROW = {"float64": "float32", "complex128": "complex64"}
STEP = 1e-4


# Points


def points(rng: Rng, name: str, place: int, like: Array) -> Array:
    """Values of the shape and dtype of `like`: distinct, apart from those of other arguments, off the decimals."""
    if like.dtype.kind == "c":
        parts = [points(rng, name, place + 5 * i, like.real) for i in range(2)]
        return np.asarray(parts[0] + 1j * parts[1], like.dtype)
    low, high = SPECIAL[name][place % 5] if name in SPECIAL else DOMAINS.get(name, (-2.0, 2.0))
    grid = np.arange(round(100 * low), round(100 * high))
    grid = grid[np.abs(grid) > 15] if low < 0 else grid
    x = rng.choice(grid, like.shape, replace=like.size > grid.size) / 100 + 0.002 + 0.0007 * place
    if low < 0 and rng.random() < 0.3:
        x = np.where(rng.random(like.shape) < 0.2, 0.0, x)
    return np.asarray(x, like.dtype)


@dataclass(frozen=True, eq=False)
class Case:
    """One use of an operator on arrays, and the same with symbols; `smooth` are the arguments with gradients."""

    op: Op
    args: list[Array]
    symbols: list[Variable]
    smooth: list[int]

    @property
    def result(self) -> Variable:
        return apply(self.op, *self.symbols)

    def value(self, args: Sequence[Array]) -> Array:
        return np.asarray(self.op.bind(np)(*args))

    def run(self, outputs: Sequence[Variable], args: Sequence[Array]) -> list[Array]:
        known = {v: a for v, a in zip(self.symbols, args, strict=True) if not isinstance(v, Constant)}
        found: list[Array] = scanopt.interpret(list(outputs), known)
        return found

    def wrt(self) -> list[Variable]:
        return [self.symbols[i] for i in self.smooth]


def runs(op: Op, args: Sequence[Array]) -> bool:
    """Whether an operator takes these arguments."""
    try:
        op.infer(*(Operand(a.dtype.name, a.shape) for a in args))
        op.bind(np)(*args)
    except (TypeError, ValueError, IndexError):
        return False
    return True


def drawn(name: str, rng: Rng, widths: dict[str, str]) -> Case | None:
    """A case with a smooth result and a smooth argument, else None."""
    op, args = CASES[name](rng)
    op = Op.make(op.name, **{k: widths.get(v, v) if isinstance(v, str) else v for k, v in op.options.items()})
    args = [a.astype(widths.get(a.dtype.name, a.dtype)) for a in args]
    for i, a in enumerate(args):
        if a.dtype.kind in "biu" and a.ndim and rng.random() < 0.5 and not name.startswith("random_"):
            as_float = [*args[:i], points(rng, name, i, a.astype("float64")), *args[i + 1 :]]
            args = as_float if runs(op, as_float) else args
    smooth = [i for i, a in enumerate(args) if a.dtype.kind in "fc"]
    for i, a in enumerate(args):
        if name.startswith("random_") or name in LINALG:
            continue  # parameters of distributions are in range already, and no matrix is singular
        if i in smooth:
            args[i] = points(rng, name, i, args[i])
        elif a.dtype.kind in "iu":
            args[i] = np.where((a > 60) | (a < -60), a % np.asarray(7, a.dtype), a)
    symbols = [
        Variable(blurred(rng, a), f"x{i}") if i in smooth or rng.random() < 0.5 else Constant(a)
        for i, a in enumerate(args)
    ]
    out = op.infer(*(Operand(a.dtype.name, a.shape) for a in args))
    if not smooth or np.dtype(out.dtype).kind not in "fc":
        return None
    return Case(op, args, symbols, smooth)


def cases(name: str, number: int, seed: int, widths: dict[str, str]) -> Iterator[Case]:
    """So many cases with something to differentiate, if there are."""
    rng = np.random.default_rng([seed, *name.encode()])
    found = 0
    for _ in range(40 * number):
        case = drawn(name, rng, widths)
        if case is not None:
            yield case
            found += 1
            if found == number:
                return


def weights(rng: Rng, like: Array) -> Array:
    """Random numbers, none of them small."""
    w = rng.uniform(0.5, 1.5, like.shape) * rng.choice([-1, 1], like.shape)
    return (w + 1j * rng.permutation(w.ravel()).reshape(w.shape) if like.dtype.kind == "c" else w).astype(like.dtype)


# Differences


def slope(f: Callable[[float], float]) -> tuple[float, bool]:
    """The slope of f at 0, of fourth order, and whether f is smooth there as far as numbers tell."""
    low2, low, here, high, high2 = (f(k * STEP) for k in (-2, -1, 0, 1, 2))
    best = (8 * (high - low) - (high2 - low2)) / (12 * STEP)
    simple, left, right = (high - low) / (2 * STEP), (here - low) / STEP, (high - here) / STEP
    size = 1 + abs(best)
    return best, bool(np.isfinite(best) and abs(best - simple) < 1e-5 * size and abs(left - right) < 0.02 * size)


def inner(a: Array, b: Array) -> float:
    """The sum of products, of real and imaginary parts each."""
    return float(np.sum(np.conj(a) * b).real)


def differences(f: Callable[[Array], float], x: Array) -> tuple[Array, Array]:
    """The gradient of f at x, and where it can be trusted."""
    found, trusted = np.zeros(x.shape, x.dtype), np.ones(x.shape, bool)
    for index in np.ndindex(*x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):

            def along(t: float, index: Any = index, unit: complex = unit) -> float:
                moved = x.copy()
                moved[index] += t * unit
                return f(moved)

            d, ok = slope(along)
            found[index] += unit * d
            trusted[index] &= ok
    return found, trusted


# The tests


def test_every_entry_has_a_gradient() -> None:
    assert {n for n in NAMES if TABLE[n].gradient is None} == set(NO_GRADIENT)


@pytest.mark.share(6)
@pytest.mark.parametrize("name", NAMES)
def test_gradient_is_that_of_differences(name: str) -> None:
    counted = sized = 0
    rng = np.random.default_rng(7)
    for case in cases(name, 12, 1, WIDE):
        value = case.value(case.args)
        w = weights(rng, value)
        if TABLE[name].gradient is None:
            with pytest.raises(NullTypeGradError, match=name):
                Lop(case.result, case.wrt(), Constant(w))
            continue
        found = case.run(Lop(case.result, case.wrt(), Constant(w), disconnected_inputs="ignore"), case.args)
        for i, g in zip(case.smooth, found, strict=True):
            x = case.args[i]
            assert (g.dtype, g.shape) == (x.dtype, x.shape)

            def loss(moved: Array, case: Case = case, i: int = i, w: Array = w) -> float:
                value = case.value([*case.args[:i], moved, *case.args[i + 1 :]])
                return inner(w, value) if value.shape == w.shape else np.nan

            if name in NOT_THEIR_OWN:
                continue
            expected, trusted = differences(loss, x)
            size = 1e-7 * (1 + abs(loss(x))) if np.isfinite(loss(x)) else 1e-7
            np.testing.assert_allclose(
                g[trusted], expected[trusted], rtol=1e-6, atol=size, err_msg=f"{case.op} {case.args} by argument {i}"
            )
            counted += int(trusted.sum())
            sized += x.size
    assert counted >= 0.2 * sized


@pytest.mark.share(5)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in NO_GRADIENT])
def test_gradient_keeps_narrow_dtypes(name: str) -> None:
    """In float32 the gradient is that in float64, but for rounding."""
    rng = np.random.default_rng(8)
    for wide in cases(name, 6, 2, WIDE):
        args = [a.astype(NARROW.get(a.dtype.name, a.dtype)) for a in wide.args]
        symbols = [Variable(blurred(rng, a), "x") for a in args]
        options = {k: NARROW.get(v, v) if isinstance(v, str) else v for k, v in wide.op.options.items()}
        narrow = Case(Op.make(name, **options), args, symbols, wide.smooth)
        w = weights(rng, wide.value(wide.args))
        exact = wide.run(Lop(wide.result, wide.wrt(), Constant(w), disconnected_inputs="ignore"), wide.args)
        w = w.astype(narrow.result.dtype)
        found = narrow.run(Lop(narrow.result, narrow.wrt(), Constant(w), disconnected_inputs="ignore"), args)
        for i, g, e in zip(narrow.smooth, found, exact, strict=True):
            assert (g.dtype, g.shape) == (args[i].dtype, args[i].shape)
            finite = np.isfinite(e)
            np.testing.assert_allclose(
                g[finite], e[finite], rtol=2e-3, atol=2e-3 * (1 + np.abs(e[finite]).max(initial=0))
            )


@pytest.mark.share(6)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in NO_GRADIENT and n not in NOT_THEIR_OWN])
def test_second_derivatives(name: str) -> None:
    """The gradient of the gradient, against differences of the gradient in random directions."""
    rng = np.random.default_rng(9)
    counted = tried = 0
    for case in cases(name, 6, 3, WIDE):
        w = Constant(weights(rng, case.value(case.args)))
        first = Lop(case.result, case.wrt(), w, disconnected_inputs="ignore")
        v = [weights(rng, case.args[i]) for i in case.smooth]
        second = case.run(Lop(first, case.wrt(), [Constant(a) for a in v], disconnected_inputs="ignore"), case.args)
        for _ in range(3):
            direction = {i: weights(rng, case.args[i]) for i in case.smooth}

            def loss(t: float, case: Case = case, first: Any = first, v: Any = v, d: Any = direction) -> float:
                moved = [a + t * d[i] if i in d else a for i, a in enumerate(case.args)]
                return sum(inner(a, g) for a, g in zip(v, case.run(first, moved), strict=True))

            expected, trusted = slope(loss)
            tried += 1
            if trusted:
                counted += 1
                found = sum(inner(g, direction[i]) for i, g in zip(case.smooth, second, strict=True))
                size = 1e-6 * (1 + sum(np.abs(g).sum() for g in second) + abs(loss(0.0)))
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=size, err_msg=f"{case.op} {case.args}")
    assert counted >= 0.3 * tried


@pytest.mark.share(2)
@pytest.mark.parametrize("name", [n for n in NAMES if TABLE[n].gradient is no_gradient and n not in NOT_THEIR_OWN])
def test_nothing_flows_where_there_is_no_gradient(name: str) -> None:
    for case in cases(name, 6, 4, WIDE):
        value = case.value(case.args)
        for i in case.smooth:
            for t in (1e-9, -1e-9):  # a draw may jump
                moved = [a + t if j == i else a for j, a in enumerate(case.args)]
                np.testing.assert_array_equal(case.value(moved), value)
