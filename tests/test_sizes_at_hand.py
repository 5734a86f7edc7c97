"""Programs for the sizes at hand: chosen by the sizes of a call alone, shown, bounded, and always right."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shares import tries

import scanopt
from scanopt import function
from scanopt import tensor as T
from scanopt.compilation import regions
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.magnitudes import bounds, magnitude, representatives

SIZES = (0, 1, 2, 3, 10, 64, 1000, 30_000)


def power(**options: Any) -> Function:
    A, k = T.dvector("A"), T.lscalar("k")
    o, _ = scanopt.scan(lambda p, A: p * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k)
    return function([A, k], o[-1], **{"adapt": True, **options})


def polynomial(**options: Any) -> Function:
    c, x = T.dvector("c"), T.dscalar("x")
    o, _ = scanopt.scan(lambda c, p, x: c * x**p, sequences=[c, T.arange(10**6)], non_sequences=x)
    return function([c, x], o.sum(), **{"adapt": True, **options})


def arguments(rows: int, k: int) -> tuple[Any, int]:
    return 1 + np.arange(rows) * 1e-9, k


def program_of(f: Function, *args: Any) -> str:
    assert f._regions is not None
    return str(f._regions.program_for([np.asarray(x) for x in args]).program)


@given(st.integers(0, 2**40))
def test_bounds_are_those_of_one_magnitude(n: int) -> None:
    low, high = bounds(n)
    assert low <= n <= high
    assert {magnitude(low), magnitude(n), magnitude(high)} == {magnitude(n)}
    assert magnitude(high + 1) == magnitude(n) + 1
    assert low == 0 or magnitude(low - 1) == magnitude(n) - 1


@given(st.lists(st.integers(0, 10**6)))
def test_lengths_that_are_close_stay_as_far_apart(lengths: list[int]) -> None:
    found = representatives(lengths)
    assert [*found] == sorted({*lengths})
    assert found == representatives(reversed(lengths))
    ordered = sorted({*lengths})
    for n, m in pairwise(ordered):
        if m - n > 2:
            assert found[m] == representatives([m])[m]
    assert representatives([1000, 1001]) == {1000: 1024, 1001: 1025}


CALLS = st.lists(st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES[1:])), min_size=1, max_size=8)


@settings(max_examples=tries(30), deadline=None)
@given(CALLS, st.randoms(use_true_random=False))
def test_the_order_of_calls_does_not_matter(calls: list[tuple[int, int]], rng: Any) -> None:
    ways = []
    for _ in range(2):
        f = power()
        found = {call: (f(*arguments(*call)), program_of(f, *arguments(*call))) for call in calls}
        ways.append(found)
        calls = [*calls]
        rng.shuffle(calls)
    first, second = ways
    for call, (value, program) in first.items():
        assert program == second[call][1]
        assert value.tobytes() == second[call][0].tobytes()


def test_results_are_those_of_the_interpreter() -> None:
    f, exact = power(), power(fp="exact")
    for rows, k in ((0, 3), (1, 1), (3, 50), (400, 7), (40, 300), (4, 20_000), (3, 20_000)):
        args = arguments(rows, k)
        assert exact(*args).tobytes() == exact.unoptimized(*args).tobytes()
        np.testing.assert_allclose(f(*args), f.unoptimized(*args), rtol=1e-9)


def test_a_quick_way_in_gives_what_the_sizes_ask_for() -> None:
    """Numbers of one region share a plan in C; those of another must not."""
    f, fresh = power(backend="c"), {}
    for k in (1000, 100_000, 7, 1000, 100_001, 5, 999, 1400, 1500):
        args = arguments(8, k)
        if k not in fresh:
            fresh[k] = power(backend="c")(*args).tobytes()
        for _ in range(4):
            assert f(*args).tobytes() == fresh[k]


def test_another_size_gets_the_program_that_is_made_for_it() -> None:
    f = power()
    args = arguments(1000, 10)
    f(*args)
    assert len(f.programs) == 2
    assert str(f.programs[1].program) == str(power(example=args).program)
    assert str(f.programs[0].program) == str(f.program)


def test_programs_show_their_regions() -> None:
    f = power()
    assert [p.regions for p in f.programs] == [({"A": "[64]", "k": "= 64"},)]
    f(*arguments(1000, 10))
    f(*arguments(1000, 9))
    f(*arguments(64, 64))
    assert f.programs[1].regions == ({"A": "[1024]", "k": "= 8"},)
    assert str(f.programs[1]).startswith("for sizes near A [1024], k = 8: cost ")


def test_regions_of_one_program_share_it() -> None:
    f = power()
    runs = {id(f._regions.program_for([np.ones(4), np.array(k)])) for k in (1, 2, 4, 8)} if f._regions else set()
    assert len(runs) == 1


def test_numbers_that_decide_no_length_split_nothing() -> None:
    x, i = T.dvector("x"), T.lscalar("i")
    f = function([x, i], scanopt.map(lambda v: v * v + i, x)[0], adapt=True)
    assert f._regions is not None
    assert not f._regions.magnitudes.numbers
    assert power()._regions.magnitudes.numbers == (1,)  # type: ignore[union-attr]


def test_programs_are_bounded_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "PROGRAMS", 1)
    monkeypatch.setattr(regions, "REGIONS", 2)
    monkeypatch.setattr(regions, "CALLS", 2)
    f, calls = power(), [(4, 100_000), (1000, 1000), (1000, 10), (2, 9), (4, 100_000), (1000, 1000)]
    found = [(f(*arguments(*c)).tobytes(), program_of(f, *arguments(*c))) for c in calls]
    assert found[0] == found[4]
    assert found[1] == found[5]
    assert len(f.programs) <= 2


def test_threads_get_what_one_thread_gets() -> None:
    calls = [(4, 100_000), (1000, 1000), (1000, 10), (64, 64)] * 10
    expected = {c: power()(*arguments(*c)).tobytes() for c in dict.fromkeys(calls)}
    f = power()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda c: f(*arguments(*c)).tobytes(), calls))
    assert found == [expected[c] for c in calls]


def test_shared_variables_count_with_their_sizes() -> None:
    s, k = scanopt.shared(np.ones(4), "s"), T.lscalar("k")
    o, _ = scanopt.scan(lambda p, A: p * A, outputs_info=T.ones_like(s), non_sequences=s, n_steps=k)
    f = function([k], o[-1], updates={s: s * 1.5}, adapt=True)
    for n, times in ((4, 3), (4, 100_000), (3000, 3)):
        s.set_value(np.linspace(1, 1 + 1e-6, n))
        np.testing.assert_allclose(f(times), np.linspace(1, 1 + 1e-6, n) ** times, rtol=1e-9)
        np.testing.assert_array_equal(s.get_value(), np.linspace(1, 1 + 1e-6, n) * 1.5)


def test_one_program_for_all_sizes_can_be_asked_for() -> None:
    assert power(adapt=None)._regions is not None
    assert power(adapt=False)._regions is None
    with scanopt.config.change_flags(adapt=False):
        assert power(adapt=None)._regions is None
        assert power(adapt=True)._regions is not None
    assert power(cost=lambda work: 1.0)._regions is None
    assert power(mode="unoptimized")._regions is None
    with pytest.raises(TypeError, match="adapt must be True or False, found 3"):
        power(adapt=3)


def test_where_types_tell_all_sizes_there_is_one_program() -> None:
    x = T.TensorType("float64", (3,))("x")
    f = function([x], x * 2.0)
    assert f([1.0, 2.0, 3.0]).tolist() == [2.0, 4.0, 6.0]
    assert [p.regions for p in f.programs] == [()]


def test_kernels_are_those_of_all_programs() -> None:
    f = power()
    f(*arguments(100_000, 2))
    f(*arguments(1000, 10))
    assert len(f.programs) == 3
    assert [str(x) for x in f.kernels] == [str(x) for p in f.programs for x in p.kernels]
    looping = [p for p in f.programs if "loop loop0" in str(p.program)]
    assert [len(p.kernels) for p in looping] == [1]
    assert "loop loop0" not in str(f.program)


def test_one_program_runs_at_all_sizes_if_that_is_asked_for() -> None:
    f = power(adapt=False)
    f(*arguments(1000, 10))
    (only,) = f.programs
    assert only.regions == ()
    assert only.kernels == f.kernels
    assert str(only).startswith(f"for all sizes: cost {f.cost:.4g}\n")


def test_pickled_functions_and_copies_find_the_same_programs() -> None:
    f = power()
    made = pickle.loads(pickle.dumps(f)), f.copy(), copy.copy(f.copy()), pickle.loads(pickle.dumps(f.copy()))
    for args in (arguments(100_000, 2), arguments(1000, 10)):
        expected = f(*args).tobytes()
        assert all(g(*args).tobytes() == expected for g in made)
    assert len(f.programs) == 3
    assert all([*map(str, g.programs)] == [*map(str, f.programs)] for g in made)


def test_saved_functions_keep_the_first_program(tmp_path: Path) -> None:
    f = power()
    f(*arguments(1000, 10))
    f.save(tmp_path / "power.json")
    g = scanopt.load(tmp_path / "power.json")
    assert [str(p.program) for p in g.programs] == [str(f.program)]
    np.testing.assert_allclose(g(*arguments(1000, 10)), f(*arguments(1000, 10)), rtol=1e-9)


def test_a_budget_holds_at_all_sizes() -> None:
    X = T.dmatrix("X")
    distances, _ = scanopt.map(lambda x: ((X - x) ** 2).sum(1), X)
    f = function([X], distances, memory="3MB", adapt=True)
    points = np.arange(400 * 4.0).reshape(400, 4)
    np.testing.assert_allclose(f(points), f.unoptimized(points))


def test_errors_stay_as_they_are() -> None:
    f = power()
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 0"):
        f(np.ones(5), 0)
    for args in ((np.ones((2, 2)), 3), (np.ones(3), 2.5), (np.ones(3),)):
        with pytest.raises(TypeError) as found:
            f(*args)
        with pytest.raises(TypeError) as expected:
            power(adapt=False)(*args)
        assert str(found.value) == str(expected.value)


def test_polynomials_of_all_lengths() -> None:
    f = polynomial()
    for n in (0, 1, 10, 1000, 200_000):
        c = np.ones(n)
        np.testing.assert_allclose(f(c, 0.5), np.polyval(c[::-1], 0.5) if n else 0.0)
