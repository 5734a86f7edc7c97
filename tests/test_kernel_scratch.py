"""Scratch arrays of a kernel share memory where, and only where, they are never needed at once."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.ir import ONE, ZERO, For, If, Lit, Load, Point, Steps, Store, Var
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
    assert lives_of(code, "abcd") == {"a": (0, 3), "b": (1, 1), "c": (1, 3), "d": (2, 4)}


def test_what_each_step_of_a_loop_makes_lives_within_the_step() -> None:
    step = (store("a"), store("b", "a"), store("carried", "b"), store("c", "table"), Steps("u", ONE, (store("c"),)))
    code = (store("table"), Steps("t", ONE, step), store("out", "c"))
    made = dict.fromkeys(("a", "b", "c", "table"), "t")
    assert lives_of(code, ["a", "b", "c", "carried", "table"], made) == {
        "a": (1, 2), "b": (2, 3), "c": (4, 6), "carried": (1, 5), "table": (0, 5),
    }  # fmt: skip


intervals = st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda x: (min(x), max(x)))


@given(st.lists(st.tuples(st.integers(1, 9), st.none() | intervals), max_size=12))
def test_arrays_that_are_needed_at_once_do_not_overlap(arrays: list[tuple[int, tuple[int, int] | None]]) -> None:
    sizes = {i: 64 * n for i, (n, _) in enumerate(arrays)}
    lives = {i: life for i, (_, life) in enumerate(arrays) if life is not None}
    offsets, size = placed(sizes, lives)
    assert size <= sum(sizes.values())
    at: dict[tuple[int, int], int] = {}
    for i, n in sizes.items():
        low, high = lives.get(i, (0, 9))
        assert offsets[i] + n <= size
        for moment in range(low, high + 1):
            for place in range(offsets[i], offsets[i] + n, 64):
                assert at.setdefault((moment, place), i) == i


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
