"""States that loops inside, conditions or parts set change where they lie, and numbers of steps that no array holds."""

import re
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(7)
ROW = 8 * 64


def last_row(step: Any, sequences: Any, state: Any, inputs: list[Any], values: list[Any]) -> tuple[str, int]:
    """The text of the kernel that gives the last row of a loop, and the bytes that it computes in."""
    found, _ = scanopt.scan(step, sequences, state)
    f = scanopt.function(inputs, [found[-1]], fp="exact", backend="c")
    return exact_kernel(f, values), f.kernels[0].memory


def test_a_loop_inside_changes_the_state_of_the_one_outside_where_it_lies() -> None:
    c, x = T.dvector("c"), T.dvector("x")

    def sweep(c: Any, x: Any) -> Any:
        def one(i: Any, x: Any) -> Any:
            return T.set_subtensor(x[i], 0.5 * (x[i - 1] + x[(i + 1) % x.shape[0]]) + c)

        found, _ = scanopt.scan(one, T.arange(x.shape[0]), x)
        return found[-1]

    _, memory = last_row(sweep, c, x, [c, x], [RNG.normal(size=5), RNG.normal(size=64)])
    assert memory <= 2 * ROW  # the places alone


def test_a_sequence_of_the_loop_inside_reads_the_state_as_it_was() -> None:
    c, x = T.dvector("c"), T.dvector("x")

    def sweep(c: Any, x: Any) -> Any:
        found, _ = scanopt.scan(
            lambda i, old, y: T.set_subtensor(y[i], y[i - 1] + old), [T.arange(x.shape[0]), x[::-1] * c], x
        )
        return found[-1]

    last_row(sweep, c, x, [c, x], [RNG.normal(size=5), RNG.normal(size=64)])


def test_a_loop_inside_changes_a_state_of_few_elements_where_it_lies() -> None:
    v, top = T.dvector("v"), T.TensorType("float64", (8,))("top")

    def step(v: Any, top: Any) -> Any:
        def one(i: Any, v: Any, top: Any) -> Any:
            return [T.minimum(top[i], v), T.set_subtensor(top[i], T.maximum(top[i], v))]

        (_, found), _ = scanopt.scan(one, T.arange(8), [v, top])
        return found[-1]

    text, _ = last_row(step, v, top, [v, top], [RNG.normal(size=30), np.full(8, -np.inf)])
    outer = text[text.index("while (t", text.index("while (t") + 1) :]
    assert "ANY_ORDER" not in outer[: outer.index("while (t", 8)]  # the state is not copied


def test_elements_are_read_before_a_loop_inside_changes_the_state() -> None:
    x = T.dvector("x")

    def step(i: Any, x: Any) -> Any:
        def back(j: Any, y: Any) -> Any:
            goes = (j > 0) & (y[T.maximum(j - 1, 0)] > x[i])
            moved = T.switch(goes, T.set_subtensor(y[j], y[T.maximum(j - 1, 0)]), y)
            return [T.switch(goes, j - 1, j), moved], scanopt.until(~goes)

        (places, found), _ = scanopt.scan(back, outputs_info=[i, x], n_steps=x.shape[0])
        return T.set_subtensor(found[-1][places[-1]], x[i])

    _, memory = last_row(step, T.arange(1, x.shape[0]), x, [x], [RNG.normal(size=64)])
    assert memory <= 2 * ROW  # the places alone


@pytest.mark.parametrize("rule", ["outer", "where not"])
def test_rows_and_columns_of_a_matrix_are_copied_before_it_is_written_over(rule: str) -> None:
    c, a = T.lvector("c"), T.dmatrix("a")

    def step(k: Any, a: Any) -> Any:
        row, column = a[k], a[:, k]
        if rule == "outer":
            return a - T.outer(T.switch(T.arange(a.shape[0]) > k, column / a[k, k], 0.0), row)
        return T.switch(a[k, k] > 0, a, a * 0.5 + row)

    values = [np.array([0, 1, 3, -1]), RNG.normal(size=(8, 8))]
    _, memory = last_row(step, c, a, [c, a], values)
    assert memory < ROW + 4 * 8 * 8


def test_a_state_is_gone_through_only_where_a_condition_holds() -> None:
    c, x = T.lvector("c"), T.dvector("x")

    def step(k: Any, x: Any) -> Any:
        return T.switch((x[k] > 0) & (x < k), x * -0.5, x)

    text, memory = last_row(step, c, x, [c, x], [np.arange(8) * 5, RNG.normal(size=64) * 30])
    assert memory == 0
    assert re.search(r"if \(v\d+\) {\s+ANY_ORDER", text), text


CHOSEN = {
    "multiples": lambda p, i, s: T.switch((s[i] > 0) & (p > i) & T.eq(p % T.maximum(i, 1), 0), 0.0, s),
    "multiples of any number": lambda p, i, s: T.switch(T.eq(p % i, 0) & (p < 40 + i), T.cast(i, "float64"), s),
    "one": lambda p, i, s: T.switch(T.eq(i, p), 3.5, s),
    "a stretch": lambda p, i, s: T.switch((p >= i - 5) & (i > p), 7.0, s),
    "none": lambda p, i, s: T.switch((p > i) & (p < i), 7.0, s),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("rule", CHOSEN)
def test_a_state_is_gone_through_only_at_the_places_that_are_chosen(rule: str) -> None:
    c, x = T.lvector("c"), T.dvector("x")
    steps = np.array([3, 2, -1, 0, -7, 63, 64 if rule != "multiples" else 5, 50])
    far = np.array([2**63 - 1, -(2**63), 2**31]) if rule != "multiples" else steps[:0]
    step = lambda i, s: CHOSEN[rule](T.arange(s.shape[0]), i, s)  # noqa: E731
    text, memory = last_row(step, c, x, [c, x], [np.r_[steps, far], RNG.normal(size=64)])
    assert memory <= ROW  # the places
    assert re.search(r"\[k\d+ \+ ", text) or rule == "one", text


def test_what_lies_around_a_part_is_copied_as_often_as_there_are_rows() -> None:
    c, u = T.dvector("c"), T.dmatrix("u")

    def step(c: Any, u: Any) -> Any:
        return T.set_subtensor(u[1:-1, 1:-1], u[1:-1, 1:-1] + c * (u[2:, 1:-1] - u[1:-1, :-2]))

    text, _ = last_row(step, c, u, [c, u], [RNG.normal(size=6), RNG.normal(size=(9, 10))])
    assert text.count(" < 2) {") == 1, text


def test_numbers_that_steps_read_one_by_one_lie_in_no_array() -> None:
    x = T.lvector("x")
    seconds = T.zeros_like(x) + 3

    def step(x: Any, i: Any, two: Any, s: Any) -> Any:
        return T.switch(T.eq(x, i), two, s + i)

    found, _ = scanopt.scan(step, [x, T.arange(5, 5 + 2 * x.shape[0], 2), seconds], T.constant(0, dtype="int64"))
    f = scanopt.function([x], [found], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.integers(0, 30, 40)])
    assert "= 5 + (" in text, text


def test_of_a_number_many_steps_ago_the_last_ones_are_variables() -> None:
    x, start = T.dvector("x"), T.dvector("start")
    found, _ = scanopt.scan(
        lambda x, a, b, c: 0.5 * a - 0.3 * b + 0.1 * c + x, x, {"initial": start, "taps": [-1, -8, -12]}
    )
    for results in ([found], [found[-1]], [found[-3:]]):
        f = scanopt.function([x, start], results, fp="exact", backend="c")
        for n in (1, 5, 12, 13, 40):
            values = [RNG.normal(size=n + 2), RNG.normal(size=12)]
            for y, z in zip(f(*values), f.unoptimized(*values), strict=True):
                np.testing.assert_array_equal(y, z)
        text = exact_kernel(f, [RNG.normal(size=40), RNG.normal(size=12)])
        assert re.search(r"s\d+ = u\d+;", text), text


@pytest.mark.parametrize("more", [False, True])
def test_a_state_of_which_parts_are_set_before_all_of_it_is_written_over(more: bool) -> None:
    at, x, s = T.lvector("at"), T.dvector("x"), T.dvector("s")

    def step(i: Any, x: Any, s: Any) -> Any:
        new = T.inc_subtensor(s[i], x + s[0])
        new = T.set_subtensor(new[0], x) if more else new
        return new * 0.9 - T.sum(new) * 0.01

    text, memory = last_row(
        step, [at, x], s, [at, x, s], [RNG.integers(-64, 64, 9), RNG.normal(size=9), RNG.normal(size=64)]
    )
    assert memory < ROW
    assert "& 1" not in text


def test_a_row_that_is_added_up_sorted_or_searched_before_an_element_is_set_is_not_copied() -> None:
    m, u, p = T.dmatrix("m"), T.dvector("u"), T.lvector("p")

    def step(u: Any, p: Any, m: Any) -> Any:
        first = T.sum(T.cast(T.cumsum(m[p]) < u, "int64")) + T.searchsorted(m[p], u) + T.argmax(T.sort(m[p]))
        return T.inc_subtensor(m[p, first % 64], u)

    values = [RNG.random((5, 64)), RNG.random(30), RNG.integers(0, 5, 30)]
    _, memory = last_row(step, [u, p], m, [m, u, p], values)
    assert memory < 3 * ROW


def test_remainders_of_what_counts_steps_are_counted() -> None:
    x, ring, m = T.dvector("x"), T.dvector("ring"), T.lscalar("m")

    def step(i: Any, x: Any, ring: Any) -> list[Any]:
        mine, next_ = i % ring.shape[0], (i + 1) % ring.shape[0]
        made = 0.5 * (ring[mine] + ring[next_]) + x
        return [T.set_subtensor(ring[mine], made), (i - 3) % m, T.where(made > 0, i % m, 0)]

    (rings, a, b), _ = scanopt.scan(step, [T.arange(x.shape[0]), x], [ring, None, None])
    f = scanopt.function([x, ring, m], [rings[-1], a, b], fp="exact", backend="c")
    for n, number in ((10, 3), (10, -4), (40, 2**62), (10, -1)):
        text = exact_kernel(f, [RNG.normal(size=23), RNG.normal(size=n), np.int64(number)])
    counters = set(
        re.findall(r"if \(\+\+(\w+) ==", text)
    )  # a step whose places are known to lie inside is written apart
    assert len(counters) == 4


def test_few_elements_one_of_which_is_set_before_all_are_chosen_anew_are_changed_in_place() -> None:
    d = T.lvector("d")

    def step(d: Any, seen: Any, count: Any) -> list[Any]:
        count = count + T.cast(~seen[d], "int64")
        full = T.eq(count, 8)
        return [T.where(full, False, T.set_subtensor(seen[d], True)), T.where(full, 0, count)]

    start = [T.zeros((8,), "bool"), T.constant(0, dtype="int64")]
    (seen, count), _ = scanopt.scan(step, d, start)
    f = scanopt.function([d], [seen[-1], count], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.integers(0, 8, 60)])
    assert "& 1)" not in text  # no ring of rows
