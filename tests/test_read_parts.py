"""Arrays that a grid computes where they are read, a part of the columns of each: when, and that nobody waits."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from cuda_shim import Shim
from test_cuda import assert_close, barriers, kernels, on_shim, rng

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.barriers import Access, Waiting
from scanopt.backends.kernels.device_plans import DeviceVariant
from scanopt.backends.kernels.ir import INDEX, ZERO, Do, Lit, Point, Var, times
from scanopt.backends.kernels.ring_rows import PointedAt, RowOfStep, places_of_pointers, row_of_step

ROWS, COLUMNS, STEPS = 7, 6, 4
pytestmark = pytest.mark.usefixtures("grids_first")
needs_shim = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim")


def ran(inputs: list[Any], outputs: Any, values: list[Any], folder: Path) -> DeviceVariant:
    """The last kernel of a program, whose results are compared with those of the interpreter."""
    f = scanopt.function(inputs, outputs, backend="numpy", on_unused_input="ignore")
    program, loops = on_shim(f, Shim(folder, threads=32, together=True, shared=1 << 16))
    for found, expected in zip(program(values), f.unoptimized(*values), strict=True):
        assert_close(found, expected)
    return [v for v in kernels(loops) if v.function is not None][-1]


@pytest.mark.share(2)
@needs_shim
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gates_of_a_gradient_are_computed_where_they_are_put_together(dtype: str, tmp_path: Path) -> None:
    """A step back of an LSTM waits twice: for the columns of its gates, and for their product with the weights."""
    X, h0, c0, W = (T.TensorType(dtype, (None,) * n)(name) for name, n in (("X", 3), ("h0", 2), ("c0", 2), ("W", 2)))

    def step(x: Any, h: Any, c: Any, W: Any) -> Any:
        z = x + T.dot(h, W)
        i, f, o, g = (z[:, j * COLUMNS : (j + 1) * COLUMNS] for j in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return T.sigmoid(o) * T.tanh(c), c

    (h, _), _ = scanopt.scan(step, X, [h0, c0], non_sequences=W)
    shapes = (STEPS, ROWS, 4 * COLUMNS), (ROWS, COLUMNS), (ROWS, COLUMNS), (COLUMNS, 4 * COLUMNS)
    values = [(rng().normal(size=s) / 2).astype(dtype) for s in shapes]
    kernel = ran([X, h0, c0, W], [T.grad((h**2).sum(), W)], values, tmp_path)
    assert kernel.grid
    assert barriers(kernel) == 2


STEP = {
    "parts of one": lambda a, s, W: T.concatenate([s * a, s + a], 1),
    "a function that takes long": lambda a, s, W: T.concatenate([T.exp(s * a), s + a], 1),
    "read twice": lambda a, s, W: T.concatenate([s * a, s * a], 1),
    "a product in between": lambda a, s, W: T.concatenate([T.dot(s, W[:, :COLUMNS]) * a, s + a], 1),
    "columns of columns": lambda a, s, W: T.concatenate([(s * a)[:, ::-1], s - a], 1),
}


@pytest.mark.share(3)
@needs_shim
@pytest.mark.parametrize("kind", STEP)
def test_parts_that_are_put_together(kind: str, tmp_path: Path) -> None:
    A, s0, W = T.dtensor3("A"), T.dmatrix("s0"), T.dmatrix("W")

    def step(a: Any, s: Any, before: Any, W: Any) -> Any:
        return T.tanh(T.dot(STEP[kind](a, s, W), W.T) + before), s * 0.5

    outs, _ = scanopt.scan(step, A, [s0, s0 * 2], non_sequences=W)
    values = [rng().normal(size=s) for s in ((STEPS, ROWS, COLUMNS), (ROWS, COLUMNS), (COLUMNS, 2 * COLUMNS))]
    assert ran([A, s0, W], outs, values, tmp_path).grid


def test_rows_of_a_state_that_are_never_one() -> None:
    """Modulo the number of rows that there is memory for; rows of another size may be the same elements."""
    t, size = Var("t", INDEX), Var("n", INDEX)

    def row(behind: int, depth: int, size: Any = size) -> Any:
        at = Do("add", (t, Lit(behind)), INDEX, INDEX) if behind else t
        return times(Do("remainder", (at, Lit(depth)), INDEX, INDEX) if depth else at, size)

    assert row_of_step(row(-1, 2)) == RowOfStep("t", -1, 2, size)
    assert row_of_step(ZERO) is None
    ways = [PointedAt("a", row_of_step(row(*x))) for x in ((0, 2), (-1, 2), (-2, 2), (-1, 0), (-1, 2, Lit(3)))]
    met = [[p.meets(q) for q in ways] for p in ways]
    assert met == [
        [True, False, True, True, True], [False, True, False, True, True], [True, False, True, True, True],
        [True] * 5, [True] * 5,
    ]  # fmt: skip
    assert not PointedAt("a").meets(PointedAt("b"))
    assert all(PointedAt("a").meets(p) for p in ways)


def test_pointers_into_rows() -> None:
    """A pointer that is made of another one may point anywhere in the array."""
    t, n = Var("t", INDEX), Var("n", INDEX)
    points = [
        Point("p", "a", times(t, n), "float64"),
        Point("q", "p", Lit(3), "float64"),
        Point("p", "b", ZERO, "float64"),
    ]
    found = places_of_pointers(points)
    assert found["p"] == {PointedAt("a", RowOfStep("t", 0, 0, n)), PointedAt("b")}
    assert found["q"] == {PointedAt("a"), PointedAt("b")}


def test_versions_of_a_pointer() -> None:
    """What a pointer pointed to in an earlier step is no row of this one."""
    t, n = Var("t", INDEX), Var("n", INDEX)
    late = Do("remainder", (Do("add", (t, Lit(-1)), INDEX, INDEX), Lit(2)), INDEX, INDEX)
    now = Do("remainder", (t, Lit(2)), INDEX, INDEX)
    waiting = Waiting([Point("p", "a", times(late, n), "float64"), Point("q", "a", times(now, n), "float64")])
    waiting.note([Access("p", False)])
    assert not waiting.needed([Access("q", True)])
    waiting.moved("p")
    assert waiting.needed([Access("q", True)])
