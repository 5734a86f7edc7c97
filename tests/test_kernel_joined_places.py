"""Parts are computed in the array that they are joined to: the same bits, and no array in between."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shares import EVERYTHING, tries
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T


def heat(u: Any, m: Any) -> Any:
    """Both ends stay."""
    step = lambda u: T.concatenate([u[:1], u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2]), u[-1:]])  # noqa: E731
    return scanopt.scan(step, outputs_info=u, n_steps=9)[0][-1]


def rows_of_matrices(u: Any, m: Any) -> Any:
    """Joined along the first axis of two, products among the parts; all rows are kept."""
    step = lambda x: T.concatenate([T.tanh(x[:2] @ m), x[:1], T.exp(-x[3:])])  # noqa: E731
    return scanopt.scan(step, outputs_info=m, n_steps=5)[0]


def distances(u: Any, m: Any) -> Any:
    """What an inner loop keeps is a part."""

    def row(x: Any, i: Any, before: Any) -> Any:
        inner = lambda y, up, aslant, left: T.minimum(T.minimum(up, left) + 1.0, aslant + abs(x - y))  # noqa: E731
        found, _ = scanopt.scan(inner, [u, before[1:], before[:-1]], outputs_info=i)
        return T.concatenate([i[None], found])

    start = T.cast(T.arange(u.shape[0] + 1), "float64")
    return scanopt.scan(row, [u, start[1:]], outputs_info=start)[0][-1]


def read_elsewhere(u: Any, m: Any) -> Any:
    """A part is read by something else, one stands twice, one has another dtype, one is asked for."""

    def step(x: Any) -> list[Any]:
        a, b, c = T.sin(x), T.cos(x) * 2.0, x + 1.0
        whole = T.concatenate([a, b, b, T.cast(x > 0, "int64"), c])
        return [whole[1 : x.shape[0] + 1] + a.sum(), c, whole]

    found, _ = scanopt.scan(step, outputs_info=[u, None, None], n_steps=4)
    return found


def swapped(u: Any, m: Any) -> Any:
    """Parts that change places: each is made of elements of the other."""
    half = u.shape[0] // 2
    step = lambda x: T.concatenate([x[half:] * 0.5, x[:half] - 1.0])  # noqa: E731
    return scanopt.scan(step, outputs_info=u, n_steps=6)[0][-1]


def wave(u: Any, m: Any) -> Any:
    """What is joined is read at once, between ends that stay, and beside what is joined of other lengths."""

    def step(before: Any, u: Any) -> Any:
        inner = T.concatenate([u[:1], u[2:] - 2.0 * u[1:-1] + u[:-2], T.zeros(1)])
        return 2.0 * u - before + 0.25 * inner - 0.1 * T.concatenate([u[:2], T.maximum(u[2:], u[:-2])])

    return scanopt.scan(step, outputs_info={"initial": T.stack([u, u * 0.5]), "taps": [-2, -1]}, n_steps=7)[0][-1]


def added(u: Any, m: Any) -> Any:
    """Parts are added to zeros, in stretches that overlap in different ways, and the ends are set."""
    put, add = T.set_subtensor, T.inc_subtensor

    def step(u: Any) -> Any:
        found = add(add(T.zeros_like(u)[1:], 0.5 * u[:-1])[:-1], 0.4 * u[1:] - u[:-1])
        found = put(put(found[0], 0.0)[-1], u[2])
        return found + add(put(T.full_like(u, -0.0)[:-2], u[2:])[1:-1], T.maximum(u[:-2], 0.0))

    return scanopt.scan(step, outputs_info=u, n_steps=7)[0][-1]


def between_neighbours(u: Any, m: Any) -> Any:
    """A force is added to both neighbours; the second one is read elsewhere, too."""

    def step(x: Any, v: Any) -> list[Any]:
        pull = x[1:] - x[:-1]
        force = T.inc_subtensor(T.inc_subtensor(T.zeros_like(x)[:-1], pull)[1:], -pull)
        v = v + 0.1 * force
        flow = 0.5 * (v[1:] + v[:-1])
        return [x + 0.1 * v, T.inc_subtensor(T.inc_subtensor(T.zeros_like(x)[1:], flow)[:-1], -flow) + T.max(flow)]

    (xs, vs), _ = scanopt.scan(step, outputs_info=[u, u * 0.5], n_steps=7)
    return [xs[-1], vs[-1]]


def paths(u: Any, m: Any) -> Any:
    """All that an inner loop keeps is the new state."""

    def row(costs: Any, before: Any) -> Any:
        inner = lambda cost, up, left: cost + T.minimum(up, left)  # noqa: E731
        return scanopt.scan(inner, [costs, before], outputs_info=T.constant(np.inf, dtype="float64"))[0]

    rows = scanopt.scan(row, m, u)[0]
    return [rows[-1], T.sum(rows, axis=1)]


@pytest.mark.parametrize(
    "made", [heat, rows_of_matrices, distances, read_elsewhere, swapped, wave, added, between_neighbours, paths]
)
def test_parts_have_the_bits_of_the_interpreter(made: Callable[..., Any]) -> None:
    u, m = T.dvector("u"), T.dmatrix("m")
    f = scanopt.function([u, m], made(u, m), fp="exact", backend="c", on_unused_input="ignore")
    rng = np.random.default_rng(3)
    for length in (12, 31):
        values = rng.normal(size=length), rng.normal(size=(length, length))
        found, expected = f(*values), f.unoptimized(*values)
        found, expected = ([x] if isinstance(x, np.ndarray) else x for x in (found, expected))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)
    assert "kernels compiled" in str(f.kernels[-1]), f.kernels


@pytest.mark.parametrize("columns", [1, 2, 3, 8, 20])
def test_rows_that_are_stacked(columns: int) -> None:
    s, v = T.dtensor3("s"), T.dtensor3("v")

    def step(v: Any, s: Any) -> list[Any]:
        a, b, c = s[0], s[1], s[2]
        new = T.stack([T.where(b > a, b, v), T.roll(a, 1, axis=0) + b, T.sin(c) - v])
        return [new, T.argmax(new, axis=0), T.argmin(new[0], axis=0)]

    found, _ = scanopt.scan(step, v, [s, None, None])
    f = scanopt.function([s, v], found, fp="exact", backend="c")
    draw = np.random.default_rng(0)
    values = draw.normal(size=(3, 20, columns)), draw.normal(size=(4, 20, columns))
    for x, y in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_array_equal(x, y)
    assert "kernels compiled" in str(f.kernels[-1])


@pytest.mark.parametrize(("made", "rows"), [(heat, 3), (wave, 6), (added, 4), (between_neighbours, 8)])
def test_no_array_is_made_in_between(made: Callable[..., Any], rows: int) -> None:
    u = T.dvector("u")
    f = scanopt.function([u], made(u, None), backend="c")
    f(np.linspace(0, 1, 1000))
    assert f.kernels[-1].memory < rows * 8000


def test_rows_of_an_inner_loop_are_written_where_the_state_lies() -> None:
    u, m = T.dvector("u"), T.dmatrix("m")
    f = scanopt.function([u, m], paths(u, m)[0], backend="c")
    f(np.ones(1000), np.ones((5, 1000)))
    assert f.kernels[-1].memory < 3 * 8000


def random_settings(seed: int) -> tuple[Any, list[Any]]:
    """A step sets what an inner loop keeps as a part of its row, of a row of rows, or of something else."""
    rng = np.random.default_rng(seed)
    first, last, rows = int(rng.integers(0, 3)), int(rng.integers(0, 3)), bool(rng.integers(2))
    into, read, more = rng.integers(0, 4, 3)
    u, s = (T.dmatrix("u"), T.dmatrix("s")) if rows else (T.dvector("u"), T.dvector("s"))
    stop = -last or None

    def cell(v: Any, old: Any, left: Any) -> Any:
        return T.where(v > 0, T.maximum(old, left), left * 0.5 + v)

    def step(v: Any, s: Any) -> list[Any]:
        part = s[first:stop]
        cells, _ = scanopt.scan(cell, [part[::-1] if read == 0 else part * v, part], s[0] if read == 1 else s[-1])
        target = [s, s * 0.5, T.zeros_like(s), T.concatenate([s[1:], s[:1]])][into]
        found = T.set_subtensor(target[first:stop], cells)
        return [found, [cells.sum(axis=0), found[0], s[-1], part[0]][more]]

    (ss, ys), _ = scanopt.scan(step, u, [s, None])
    count, shape = first + last + int(rng.integers(1, 30)), (3,) * rows
    values = [rng.normal(size=(int(rng.integers(1, 12)), *shape)), rng.normal(size=(count, *shape))]
    outs = [ss if rng.integers(3) == 0 else ss[-1], ys]
    return scanopt.function([u, s], outs, fp="exact", backend="c"), values


@pytest.mark.parametrize("seed", range(150 if EVERYTHING else 8))
def test_what_inner_loops_keep_is_made_where_it_is_set(seed: int) -> None:
    f, values = random_settings(seed)
    assert_same([*f(*values)], [*f.unoptimized(*values)])


def test_a_row_that_an_inner_loop_makes_is_not_copied() -> None:
    """The longest common subsequence."""
    a, b = T.lvectors("a", "b")

    def row(x: Any, before: Any, b: Any) -> Any:
        cell = lambda c, up, aslant, left, x: T.where(T.eq(c, x), aslant + 1, T.maximum(up, left))  # noqa: E731
        cells, _ = scanopt.scan(cell, [b, before[1:], before[:-1]], T.constant(0, dtype="int64"), non_sequences=x)
        return T.set_subtensor(before[1:], cells)

    rows, _ = scanopt.scan(row, a, T.zeros((b.shape[0] + 1,), dtype="int64"), non_sequences=b)
    f = scanopt.function([a, b], rows[-1], fp="exact", backend="c")
    values = np.random.default_rng(0).integers(0, 4, (2, 50))
    assert_same([f(*values)], [f.unoptimized(*values)])
    (kernel,) = f.kernels
    assert "maximum_int64(" in kernel.texts[0]  # what may be chosen for it is waited for
    assert kernel.memory < 3.5 * 51 * 8 + 256


def random_parts(seed: int) -> tuple[Any, list[Any]]:
    """Values of a few kinds, some of them in several parts, are added to or set in parts of a vector."""
    rng = np.random.default_rng(seed)
    u, w = T.dvectors("u", "w")
    at = lambda k, less: slice(k, None if k == less else k - less)  # noqa: E731
    start, less, summed = float(rng.choice([0.0, -0.0, 1.5])), int(rng.integers(1, 4)), rng.random() < 0.2
    picked = rng.permutation(6)[:2]
    changes = [
        (rng.random() < 0.8, int(rng.integers(0, less + 1)), rng.choice(picked)) for _ in range(rng.integers(2, 5))
    ]

    def step(x: Any) -> Any:
        found = T.full_like(x, start)
        values = [x[less:] * 0.5, x[less:] - x[:-less], T.sqrt(abs(x[:-less])), w[less:] - 0.25]
        values += [-values[1], values[0] + values[3]]
        for adds, k, which in changes:
            found = (T.inc_subtensor if adds else T.set_subtensor)(found[at(k, less)], values[which])
        return 0.5 * found + (values[picked[0]].sum() if summed else x)

    return ([u, w], scanopt.scan(step, outputs_info=u, n_steps=5)[0][-1]), [rng.normal(size=n) for n in (14, 14)]


@pytest.mark.parametrize("seed", range(tries(150)))
def test_random_parts_have_the_bits_of_the_interpreter(seed: int) -> None:
    (inputs, output), values = random_parts(seed)
    f = scanopt.function(inputs, output, fp="exact", backend="c", on_unused_input="ignore")
    assert_same([f(*values)], [f.unoptimized(*values)])
