"""Parts at arrays of indices: looked up where they are read, set and added to, with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.ir import NAME

RNG = np.random.default_rng(8)


def test_rolled_arrays_are_gone_through_run_by_run() -> None:
    b = T.lmatrix("b")

    def step(b: Any) -> Any:
        return sum(T.roll(T.roll(b, i, axis=0), j, axis=1) for i in (-1, 0, 2) for j in (-1, 0, 1)) % 7

    found, _ = scanopt.scan(step, outputs_info=b, n_steps=3)
    f = scanopt.function([b], found[-1], fp="exact", backend="c")
    for shape in ((17, 40), (9, 11)):
        exact_kernel(f, [RNG.integers(0, 7, shape)])


@pytest.mark.share(4)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("places", [(12,), (3, 5), (1,)])
def test_elements_are_looked_up_along_any_axis(axis: int, places: tuple[int, ...]) -> None:
    x, at = T.tensor3("x"), T.TensorType("int64", (None,) * len(places))("at")
    key = (slice(None),) * axis

    def step(s: Any, x: Any, at: Any) -> Any:
        return s + T.max(x[(*key, at)] * 2.0 + x[(*key, -at - 1)])

    found, _ = scanopt.scan(step, outputs_info=T.constant(0.0, dtype="float64"), non_sequences=[x, at], n_steps=2)
    f = scanopt.function([x, at], found, fp="exact", backend="c")
    for shape in ((11, 12, 13), (10, 9, 1)):
        indices = RNG.integers(0, min(shape[axis], 9), places)
        exactly(f, [RNG.normal(size=shape), indices])


def test_places_that_a_step_computes() -> None:
    s, table = T.lvector("s"), T.lvector("table")
    found, _ = scanopt.scan(
        lambda s, t: t[(s * 5 + T.roll(s, 1)) % 11 - 3], outputs_info=s, non_sequences=table, n_steps=9
    )
    f = scanopt.function([s, table], found, fp="exact", backend="c")
    exact_kernel(f, [RNG.integers(0, 20, 30), RNG.integers(0, 20, 13)])


def test_few_places_that_a_step_computes_are_variables() -> None:
    coins, n = T.lvector("coins"), T.lscalar("n")

    def step(i: Any, ways: Any) -> Any:
        before = T.where(coins <= i, ways[T.maximum(i - coins, 0)] + ways[-coins], 99)
        return T.set_subtensor(ways[i], before.min() + 1)

    found, _ = scanopt.reduce(step, sequences=T.arange(1, n), outputs_info=T.zeros(n, "int64"))
    f = scanopt.function([coins, n], found, fp="exact", backend="c")
    text = exact_kernel(f, [np.array([2, 3, 7, 1]), 30])
    assert "for (" not in text[text.index("ONE_BY_ONE\n", text.index(NAME)) :]  # neither places nor rows are stored
    for wrong in (31, -31):
        with pytest.raises(IndexError):
            f(np.array([2, 3, wrong, 1]), 30)


@pytest.mark.parametrize("near", [True, False])
def test_neighbours_on_a_grid_are_gone_through_row_by_row(near: bool) -> None:
    """In the middle of a row no place is looked at; where numbers are far, or a place is out of range, all are."""
    g, k = T.lmatrix("g"), T.lscalar("k")
    m, n = g.shape

    def cell(i: Any, j: Any, g: Any) -> Any:
        up, down, left, right = (i - 1) % m, T.minimum(i + 1, m - 1), T.maximum(j - k, 0), (j + k) % n
        return (g[up, left] + g[i, right] * 2 + g[down, T.clip(j + 1, 0, n - 1)] + g[i, j - 1]) % 5

    def step(g: Any) -> Any:
        row = lambda i: scanopt.map(lambda j: cell(i, j, g), T.arange(n))[0]  # noqa: E731
        return scanopt.map(row, T.arange(m))[0]

    f = scanopt.function([g, k], scanopt.scan(step, outputs_info=g, n_steps=2)[0][-1], fp="exact", backend="c")
    for number in (1, 0, 3, 50) if near else (2**62, -(2**63)):
        exact_kernel(f, [RNG.integers(0, 5, (7, 12)), number])
    with pytest.raises(IndexError):
        f(np.ones((7, 12), "int64"), -1)


def test_a_shift_that_steps_compute_is_taken_in_one_go() -> None:
    s, by = T.dvector("s"), T.lvector("by")
    places = T.arange(s.shape[0])
    step = lambda k, s: T.maximum(s, T.where(places >= k, T.roll(s, k), -np.inf) + 1.0) + s[(places + k) % 9]  # noqa: E731
    found, _ = scanopt.reduce(step, sequences=by, outputs_info=s)
    f = scanopt.function([s, by], found, fp="exact", backend="c")
    exact_kernel(f, [RNG.normal(size=30), np.array([3, 0, 29, 31, -2, 2**62, -5])])
    with pytest.raises(IndexError):
        f(np.ones(5), np.array([1, 2]))


def test_places_out_of_range_are_told_of() -> None:
    x, at = T.dvector("x"), T.lvector("at")
    found, _ = scanopt.scan(
        lambda s, x, at: s * 0.5 + x[at], outputs_info=T.zeros_like(x), non_sequences=[x, at], n_steps=4
    )
    f = scanopt.function([x, at], found, fp="exact", backend="c")
    values = RNG.normal(size=9)
    np.testing.assert_array_equal(f(values, np.arange(-9, 0)), f.unoptimized(values, np.arange(-9, 0)))
    for wrong in (9, -10):
        with pytest.raises(IndexError, match="out of bounds"):
            f(values, np.array([0] * 8 + [wrong]))


@pytest.mark.share(5)
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool"])
def test_parts_at_places_that_occur_twice_are_set_in_order(added: bool, dtype: str) -> None:
    at, y, h = T.lmatrix("at"), T.matrix("y", dtype=dtype), T.matrix("h", dtype=dtype)
    put = T.inc_subtensor if added else T.set_subtensor

    def rows(at: Any, y: Any, h: Any) -> Any:
        return put(h[at], y[:, None])

    def columns(at: Any, y: Any, h: Any) -> Any:
        return put(h[:, at], y)

    for step in (rows, columns):
        found, _ = scanopt.scan(step, [at, y[:, :1] if step is columns else y], h)
        f = scanopt.function([at, y, h], found[-1], fp="exact", backend="c")
        for places in (10, 3):
            values = [RNG.integers(-9, 9, (5, places)), (RNG.normal(size=(5, places)) * 50).astype(dtype),
                      RNG.normal(size=(9, 9)).astype(dtype)]  # fmt: skip
            exactly(f, values)


def exactly(f: Any, values: list[Any]) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
    assert "array steps" not in str(f.kernels[0]), f.kernels


def test_tables_of_places_are_added_to() -> None:
    at, h = T.ltensor3("at"), T.dvector("h")
    found, _ = scanopt.scan(lambda at, h: T.inc_subtensor(h[at], 0.1) * 0.5, at, h)
    f = scanopt.function([at, h], found, fp="exact", backend="c")
    exact_kernel(f, [RNG.integers(0, 12, (4, 3, 10)), RNG.normal(size=12)])


@pytest.mark.parametrize("pairs", [False, True])
def test_places_that_do_not_change_are_checked_before_the_loop(pairs: bool) -> None:
    u, v, x = T.lvector("u"), T.lvector("v"), T.dmatrix("x")

    def step(x: Any, u: Any, v: Any) -> Any:
        part = (lambda a: a[u, v]) if pairs else lambda a: a[:, v]
        return 0.5 * x + T.inc_subtensor(part(T.zeros_like(x)), part(x) * 0.5)

    found, _ = scanopt.scan(step, outputs_info=x, non_sequences=[u, v], n_steps=3)
    f = scanopt.function([u, v, x], found[-1], fp="exact", backend="c")
    values = [RNG.integers(-9, 9, 30), RNG.integers(-7, 7, 30), RNG.normal(size=(9, 7))]
    exact_kernel(f, values)
    values[1][4] = 7
    with pytest.raises(IndexError, match="7 is out of bounds"):
        f(*values)


def test_rows_are_read_before_others_are_set_in_place() -> None:
    q, at, to, r = T.dmatrix("q"), T.lvector("at"), T.lvector("to"), T.dvector("r")
    rows, _ = scanopt.scan(
        lambda i, j, r, q: T.inc_subtensor(q[i, j % 3], r + T.max(q[j]) - T.sum(q[i] * q[j]) - T.argmax(q[j])),
        sequences=[at, to, r], outputs_info=q,
    )  # fmt: skip
    f = scanopt.function([q, at, to, r], rows[-1], fp="exact", backend="c")
    values = [RNG.normal(size=(9, 3)), *(RNG.integers(0, 9, 40) for _ in range(2)), RNG.normal(size=40)]
    text = exact_kernel(f, values).partition(NAME)[2]
    assert "+=" not in text
    assert "% 2" not in text
    assert "& 1" not in text


def test_rows_that_are_needed_after_the_step_keep_their_values() -> None:
    q, at = T.dmatrix("q"), T.lvector("at")
    (rows, read), _ = scanopt.scan(
        lambda i, q: [T.set_subtensor(q[i], q[i] * 2.0), q[i]], sequences=at, outputs_info=[q, None]
    )
    f = scanopt.function([q, at], [rows[-1], read], fp="exact", backend="c")
    exact_kernel(f, [RNG.normal(size=(5, 12)), RNG.integers(0, 5, 20)])


def test_elements_at_pairs_of_places() -> None:
    A, s, i = T.dmatrix("A"), T.lvector("s"), T.lscalar("i")

    def step(t: Any, s: Any, A: Any, i: Any) -> Any:
        B = T.stack([A, A * 2.0])
        found = A[s, (s * 3 + t) % 7 - 7] + A[i, s] + T.diagonal(A[:5, :5])[s % 5] + A[s[:, None], s[:2]].sum(axis=1)
        found = found + B[:, s, -1].sum(axis=0) + B[s % 2, t % 7] @ A[:, 0][:7] + B[1, s, s[::-1]]
        return (s + T.cast(T.floor(found), "int64")) % 7

    found, _ = scanopt.scan(step, T.arange(6), s, [A, i])
    f = scanopt.function([A, s, i], found, fp="exact", backend="c")
    exact_kernel(f, [RNG.normal(size=(7, 7)), RNG.integers(0, 7, 5), np.int64(-2)])
    g, _ = scanopt.scan(
        lambda x, A: A[T.cast(x, "int64"), [0, 1]] * 1.5, outputs_info=A[:, 0][:2], non_sequences=A, n_steps=9
    )
    g = scanopt.function([A], g, fp="exact", backend="c")
    with pytest.raises(IndexError, match="out of bounds"):
        g(np.full((7, 7), 5.0))


def test_parts_at_several_arrays_of_places() -> None:
    """Numbers among them, broadcast together, some of them backwards: of what is set twice the last one stays."""
    i, j, y, h, k = T.lvector("i"), T.TensorType("int32", (None,))("j"), T.dvector("y"), T.dtensor3("h"), T.lscalar("k")

    def step(k: Any, h: Any, i: Any, j: Any, y: Any) -> Any:
        for put in (T.set_subtensor, T.inc_subtensor):
            h = put(h[i, j], y[:, None] * k) * 0.5
            h = put(h[k, i[::-1]], y[::-1, None])
            h = put(h[:, i, -1], y - k)
            h = put(h[i[:, None], 1, j % 2], y)
            h = put(h[T.stack([i, j]), k], 0.25)
            h = put(h[i[::-1], j[::-1], k], y[::-1]) - 1.0
        return h

    found, _ = scanopt.scan(step, T.arange(k), h, [i, j, y])
    f = scanopt.function([i, j, y, h, k], found, fp="exact", backend="c")
    for places, steps in ((10, 3), (4, 2), (1, 2), (0, 2), (5, 0)):
        values = [RNG.integers(-3, 3, places), RNG.integers(-3, 3, places).astype("int32"), RNG.normal(size=places)]
        exactly(f, [*values, RNG.normal(size=(3, 3, 3)), steps])
    for wrong in ((3, 0), (-4, 0), (0, 3), (0, -4)):
        one, other = (np.array([0, 1, w]) for w in wrong)
        with pytest.raises(IndexError, match="out of bounds"):
            f(one, other.astype("int32"), np.ones(3), np.ones((3, 3, 3)), 2)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_numbers_where_a_mask_says_so(dtype: str) -> None:
    h, rows = T.matrix("h", dtype), T.TensorType("bool", (None,))("rows")

    def step(h: Any, rows: Any) -> Any:
        h = T.inc_subtensor(h[h > 2], h[0, 0]) * 2
        return T.set_subtensor(T.inc_subtensor(h[rows], 1)[h < -9], 1)

    found, _ = scanopt.scan(step, outputs_info=h, non_sequences=rows, n_steps=4)
    f = scanopt.function([h, rows], found, fp="exact", backend="c")
    for shape in ((5, 12), (2, 1), (1, 3)):
        values = (RNG.normal(size=shape) * 3).astype(dtype)
        if dtype == "float32":
            values[0, -1] = np.nan
        exactly(f, [values, RNG.random(shape[0]) < 0.5])
    with pytest.raises(IndexError):
        f(np.ones((3, 2), dtype), np.ones(1, "bool"))


def test_what_is_added_at_places_is_looked_up_there() -> None:
    """Messages along the edges of a graph, in an array of their own or onto what they are made of."""
    x, u, v = T.dvector("x"), T.lvector("u"), T.lvector("v")
    for step, made in ((lambda x, u, v: x + T.inc_subtensor(T.zeros_like(x)[v], x[u]), False),
                       (lambda x, u, v: T.inc_subtensor(x[v], x[u]) * 0.5, True)):  # fmt: skip
        found, _ = scanopt.scan(step, outputs_info=x, non_sequences=[u, v], n_steps=9)
        f = scanopt.function([x, u, v], found[-1], fp="exact", backend="c")
        exact_kernel(f, [RNG.normal(size=7), RNG.integers(0, 7, 500), RNG.integers(-7, 7, 500)])
        assert made or f.kernels[0].memory < 3 * 500 * 8  # the places, and few numbers


def test_arrays_that_are_made_to_be_changed() -> None:
    """They are made where the result is, but for those that are read once more."""
    c, X, who, n = T.dmatrix("c"), T.dmatrix("X"), T.lvector("who"), T.lscalar("n")

    def step(c: Any, X: Any, who: Any) -> Any:
        z, w = T.exp(-c * c), T.tanh(c)
        first = T.inc_subtensor(z[who], X)
        second = T.inc_subtensor(T.set_subtensor(T.zeros_like(c)[who], 1.0)[who], X)
        return first * w + second * z, T.inc_subtensor(T.sin(c)[:, 0], 1.0), T.set_subtensor(w[who], X)

    found, _ = scanopt.scan(step, outputs_info=[c, None, None], non_sequences=[X, who], n_steps=n)
    whole = [found[0][-1], found[1], T.inc_subtensor(T.cos(c)[who], X), found[2]]
    f = scanopt.function([c, X, who, n], whole, fp="exact", backend="c")
    for rows, columns in ((5, 12), (2, 1)):
        values = [RNG.normal(size=(rows, columns)), RNG.normal(size=(40, columns)), RNG.integers(0, rows, 40), 3]
        for x, y in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(x, y)
    assert "compiled" in f.kernels[0].state


@pytest.mark.parametrize("length", [2, 3, 8, 9])
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_few_places_in_a_table_of_few(length: int, added: bool, dtype: str) -> None:
    ks, x = T.lmatrix("ks"), T.vector("x", dtype=dtype)
    change = T.inc_subtensor if added else T.set_subtensor

    def step(row: Any, at: Any, s: Any) -> Any:
        places = row + at  # in any order, from either end, some of them twice
        found = s[places]
        new = change(s[places], T.cast(found * 2 + T.arange(row.shape[0]), dtype))
        return [(at + 1) % 2, T.set_subtensor(new[T.argmax(found) % s.shape[0]], T.cast(3, dtype)), T.sum(found)]

    starts = [T.constant(0, dtype="int64"), x, None]
    f = scanopt.function([ks, x], scanopt.scan(step, ks, starts)[0], fp="exact", backend="c")
    rng = np.random.default_rng(length)
    table = rng.integers(-3, 4, length).astype(dtype)
    for n in (1, 2, 7):
        for k in (2, 8, 12):
            values = [rng.integers(-length, length - 1, (n, k)), table]
            if dtype == "float64" and n == 7:
                values[1] = np.where(rng.random(length) < 0.5, rng.choice([np.nan, np.inf, -0.0], length), table)
            with np.errstate(all="ignore"):
                for a, b in zip(f(*values), f.unoptimized(*values), strict=True):
                    np.testing.assert_array_equal(a, b)
    for wrong in (length, -length - 1):
        values = [rng.integers(-length, length - 1, (7, 8)), table]
        values[0][4, 3] = wrong
        with pytest.raises(IndexError):
            f(*values)


def test_elements_in_places_that_take_turns() -> None:
    requests, pages = T.lvector("requests"), T.lvector("pages")

    def step(p: Any, held: Any, used: Any, hand: Any) -> Any:
        hit, n = T.eq(held, p), held.shape[0]
        order = (hand + T.arange(n)) % n
        free = T.eq(used[order], 0)
        first = T.switch(T.any(free), T.argmax(free), 0)
        at = T.switch(T.any(hit), T.argmax(hit), order[first])
        cleared = T.set_subtensor(used[order], T.switch(T.arange(n) < first, 0, used[order]))
        new = T.set_subtensor(T.switch(T.any(hit), used, cleared)[at], 1)
        return [T.set_subtensor(held[at], p), new, T.switch(T.any(hit), hand, (order[first] + 1) % n)]

    starts = [pages, T.zeros_like(pages), T.constant(0, dtype="int64")]
    for n in (2, 8, 9, 10):
        f = scanopt.function([requests, pages], scanopt.scan(step, requests, starts)[0], fp="exact", backend="c")
        exact_kernel(f, [np.random.default_rng(n).integers(0, n + 3, 300), np.full(n, -1)])
