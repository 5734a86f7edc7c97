"""Scratch arrays of a kernel share memory where, and only where, they are never needed at once."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.ir import (
    ONE,
    ZERO,
    Do,
    Expr,
    For,
    If,
    Inner,
    Let,
    Lit,
    Load,
    Point,
    Steps,
    Stmt,
    Store,
    Var,
)
from scanopt.backends.kernels.scratch import lives_of, placed


def store(array: str, source: str = "") -> Store:
    return Store(array, ZERO, Load(source, ZERO, "float64") if source else Lit(0.0, "float64"))


def test_an_array_lives_from_its_first_mention_to_its_last_one_also_through_pointers() -> None:
    test = Load("b", ZERO, "bool")
    code = (
        store("a"),
        If(test, (Point("p", "a", ZERO, "float64"),), (Point("p", "c", ZERO, "float64"),)),
        store("d"),
        For("i", ONE, (Point("q", "p", Var("i"), "float64"), store("out", "q"))),
        store("d"),
    )
    assert lives_of(code, "abcd")[0] == {"a": (0, 3), "b": (1, 1), "c": (1, 3), "d": (2, 4)}


def test_what_each_step_of_a_loop_makes_lives_within_the_step() -> None:
    step = (store("a"), store("b", "a"), store("carried", "b"), store("c", "table"), Steps("u", ONE, (store("c"),)))
    code = (store("table"), Steps("t", ONE, step), store("out", "c"))
    made = dict.fromkeys(("a", "b", "c", "table"), "t")
    assert lives_of(code, ["a", "b", "c", "carried", "table"], made)[0] == {
        "a": (1, 2), "b": (2, 3), "c": (4, 6), "carried": (1, 5), "table": (0, 5),
    }  # fmt: skip


PLACE = Var("i")


def by_element(*body: Stmt) -> For:
    return For("i", Var("n"), body)


def element(array: str, at: Expr = PLACE) -> Load:
    return Load(array, at, "float64")


def test_an_array_is_written_onto_one_that_is_last_read_there() -> None:
    made, end = by_element(Store("a", Var("i"), Lit(0.0, "float64"))), store("out", "b")
    here = Let("v", Do("add", (element("a"), element("a")), "float64", "float64"), "float64")
    new = Store("b", Var("i"), Var("v", "float64"))
    later, moved = Let("u", element("a"), "float64"), Let("v", element("a", ZERO), "float64")
    pointed = Point("p", "a", ZERO, "float64")
    assert lives_of((made, by_element(here, new), end), "ab")[1] == {"b": "a"}
    assert lives_of((made, by_element(here, new, later), end), "ab")[1] == {}  # it is read once more
    assert lives_of((made, by_element(moved, new), end), "ab")[1] == {}  # another element is read
    assert lives_of((made, by_element(here, new), end, store("out", "a")), "ab")[1] == {}  # it is needed afterwards
    other = Let("u", element("p"), "float64")
    assert (
        lives_of((made, pointed, by_element(here, other, new), end), "ab")[1] == {}
    )  # perhaps another element is read


def test_a_carried_array_is_not_written_over() -> None:
    here = by_element(Let("v", element("a"), "float64"), Store("b", Var("i"), Var("v", "float64")))
    step = (by_element(Store("a", Var("i"), element("c"))), by_element(Store("c", Var("i"), Lit(1.0, "float64"))), here)
    code = (store("c"), Steps("t", ONE, (*step, store("out", "b"))), store("out", "c"))
    assert lives_of(code, "abc", {"a": "t", "b": "t"})[1] == {"b": "a"}
    assert lives_of((store("a"), *code), "abc", {"a": "t", "b": "t"})[1] == {}


def test_a_power_takes_no_array_beside_its_result_and_what_is_raised() -> None:
    A, k = T.dvector("A"), T.lscalar("k")
    found, _ = scanopt.scan(lambda p, A: p * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k)
    f = scanopt.function([A, k], found[-1], backend="c")
    value = np.linspace(0.9, 1.0, 1000)
    np.testing.assert_allclose(f(value, 1000), value**1000)
    assert f.kernels[0].memory == 0


intervals = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda x: (min(x), max(x)))


def test_powers_in_order_take_no_array_for_their_roots() -> None:
    """All powers are products of two rows of as many as the root of their number."""
    x, c = T.dscalar("x"), T.dvector("c")
    terms, _ = scanopt.scan(lambda c, i, x: c * x**i, [c, T.arange(c.shape[0])], non_sequences=x)
    f = scanopt.function([x, c], terms.sum(), backend="c", adapt=False)
    values = 0.99, np.linspace(-1.0, 1.0, 10_000)
    np.testing.assert_allclose(f(*values), np.polyval(values[1][::-1], 0.99), rtol=1e-9)
    assert f.kernels[0].memory < 8 * 10_500


@given(st.lists(st.tuples(st.integers(1, 9), st.none() | intervals), max_size=12))
def test_arrays_that_are_needed_at_once_do_not_overlap(arrays: list[tuple[int, tuple[int, int] | None]]) -> None:
    sizes = {i: 64 * n for i, (n, _) in enumerate(arrays)}
    lives = {i: life for i, (_, life) in enumerate(arrays) if life is not None}
    onto = {j: i for i, (_, end) in lives.items() for j, (begin, _) in lives.items() if i != j and begin == end}
    offsets, size = placed(sizes, lives, onto)
    assert size <= sum(sizes.values())
    at: dict[tuple[int, int], int] = {}
    for i, n in sizes.items():
        low, high = lives.get(i, (0, 9))
        assert offsets[i] + n <= size
        for moment in range(low, high + 1):
            for place in range(offsets[i], offsets[i] + n, 64):
                j = at.setdefault((moment, place), i)
                written_onto = i == onto.get(j) or j == onto.get(i)
                assert j == i or (written_onto and (offsets[i], sizes[i]) == (offsets[j], sizes[j]))


def test_a_program_whose_arrays_share_memory_gives_the_same() -> None:
    x = T.dvector("x")
    y = x
    for _ in range(12):
        y = T.cumsum(T.exp(-y)) * 1e-3
    f = scanopt.function([x], y, backend="auto")
    value = np.linspace(0, 1, 3000)
    expected = f.unoptimized(value)
    for _ in range(400):
        found = f(value)
    np.testing.assert_array_equal(found, expected)


def test_a_ufunc_writes_onto_what_it_reads_last() -> None:
    made, end, item = by_element(Store("a", Var("i"), Lit(0.0, "float64"))), store("out", "b"), Lit(8)

    def call(strides: tuple[Expr, ...] = (item, item), each: bool = True) -> Inner:
        return Inner(0, ("a", "b"), (Var("n"),), strides, each)

    assert lives_of((made, call(), end), "ab")[1] == {"b": "a"}
    assert lives_of((made, call(each=False), end), "ab")[1] == {}  # it may read elements once more
    assert lives_of((made, call((ZERO, item)), end), "ab")[1] == {}  # one element is read again and again
    assert lives_of((made, call(), end, store("out", "a")), "ab")[1] == {}  # it is needed afterwards
