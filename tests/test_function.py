"""scanopt.function from outside: how it is called, what it gives back, and what its options do."""

import importlib.util
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import standard_laws
from scanopt.compilation.compiled_function import watching

MODES = pytest.mark.parametrize("mode", [None, "unoptimized"])


def decay(n_steps: Any = None) -> tuple[list[Any], Any]:
    """Inputs and all states of h[t] = tanh(h[t-1]) * exp(w) + x[t]."""
    x, w = T.dvectors("x", "w")
    step = lambda v, h, w: T.tanh(h) * T.exp(w) + v  # noqa: E731
    h, _ = scanopt.scan(step, x, T.zeros_like(w), w, n_steps=n_steps)
    return [x, w], h


VALUES = [np.arange(4.0), np.array([0.5, -0.5, 0.0])]


# ---- calls ----


@MODES
def test_calls_by_position_and_by_name(mode: str | None) -> None:
    a, b = T.dscalars("a", "b")
    f = scanopt.function([a, b], a - b, mode=mode)
    assert [f(5, 2), f(5, b=2), f(a=5, b=2), f(b=2, a=5)] == [3, 3, 3, 3]


@MODES
def test_form_of_the_results_is_that_of_the_outputs(mode: str | None) -> None:
    x = T.dvector("x")
    assert scanopt.function([x], x + 1, mode=mode)([1.0]).tolist() == [2.0]
    for outputs in ([x + 1], (x + 1,)):
        (only,) = scanopt.function([x], outputs, mode=mode)([1.0])
        assert only.tolist() == [2.0]
    two, one = scanopt.function([x], [x.sum(), x[0]], mode=mode)([1.0, 2.0])
    assert (two.shape, two.dtype, two, one) == ((), "float64", 3.0, 1.0)
    assert scanopt.function([], [], mode=mode)() == []
    assert scanopt.function([], T.constant([1.0, 2.0]), mode=mode)().tolist() == [1.0, 2.0]


@MODES
def test_arguments_convert_where_nothing_is_lost(mode: str | None) -> None:
    x, n = T.fvector("x"), T.iscalar("n")
    f = scanopt.function([x, n], x * n, mode=mode)
    for value in ([1, 2], (1.0, 2.0), range(1, 3), np.array([1, 2], "int16"), np.array([1, 2], "float16")):
        result = f(value, np.int8(2))
        assert (result.dtype, result.tolist()) == (scanopt.interpret(x * n, {x: [1, 2], n: 2}).dtype, [2.0, 4.0])
    with pytest.raises(TypeError, match="'x' float32"):
        f(np.array([1.0, 2.0]), 2)


@MODES
def test_downcasts_are_let_through_on_request(mode: str | None) -> None:
    x = T.fvector("x")
    f = scanopt.function([x], x * 2, mode=mode, allow_input_downcast=True)
    result = f(np.array([0.1, 1e300]))
    assert result.dtype == "float32"
    assert result.tolist() == [np.float32(0.1) * 2, np.inf]
    with pytest.raises(TypeError, match="complex128"):
        f(np.array([1j]))


@MODES
@pytest.mark.parametrize("order", ["C", "F", "strided", "swapped"])
def test_memory_layout_of_arguments_is_free(order: str, mode: str | None) -> None:
    X = T.dmatrix("X")
    f = scanopt.function([X], scanopt.map(lambda row: T.exp(row).sum(), X)[0], mode=mode)
    value = np.arange(12.0).reshape(3, 4)
    given = {"C": value, "F": np.asfortranarray(value), "strided": np.repeat(value, 2, 1)[:, ::2]}
    given["swapped"] = value.astype(">f8")
    np.testing.assert_allclose(f(given[order]), np.exp(value).sum(1))


# ---- who owns what ----


def shares(a: Iterable[Any], b: Iterable[Any]) -> bool:
    return any(np.shares_memory(p, q) for p in a for q in b)


@MODES
def test_results_are_the_callers_own(mode: str | None) -> None:
    x = T.dvector("x")
    trace, _ = scanopt.scan(lambda v, h: h + v, x, T.constant(0.0, dtype="float64"))
    s = scanopt.shared(np.ones(4), "s")
    outputs = [x, x, x[::2], x.reshape((2, 2)).T, trace, trace[-1], trace, s, s + 0, T.constant(np.ones(3))]
    f = scanopt.function([x], outputs, mode=mode)
    value = np.arange(4.0)
    first, second = f(value), f(value)
    assert not shares(first, [value, s.get_value(borrow=True)])
    assert not shares(first, second)
    assert not any(shares([a], first[:i]) for i, a in enumerate(first))
    for a in first:
        assert a.flags.writeable
        a[...] = -1
    assert value.tolist() == [0, 1, 2, 3]
    assert s.get_value().tolist() == [1, 1, 1, 1]
    for again, before in zip(f(value), second, strict=True):
        np.testing.assert_array_equal(again, before)


@MODES
def test_arguments_keep_their_values(mode: str | None) -> None:
    x = T.dvector("x")
    changed = T.set_subtensor(x[0], 9.0)
    f = scanopt.function([x], [changed, T.inc_subtensor(changed[1:], 1.0), x * 2], mode=mode)
    value = np.arange(3.0)
    value.setflags(write=False)
    assert [r.tolist() for r in f(value)] == [[9, 1, 2], [9, 2, 3], [0, 2, 4]]


# ---- shared variables ----


@MODES
def test_updates_follow_the_outputs(mode: str | None) -> None:
    count, step = scanopt.shared(np.array(0), "count"), T.lscalar("step")
    f = scanopt.function([step], count * 10, updates={count: count + step}, mode=mode)
    assert [int(f(2)), int(f(3)), int(count.get_value())] == [0, 20, 5]
    count.set_value(7)
    assert int(f(1)) == 70


@MODES
def test_updates_all_read_the_old_values(mode: str | None) -> None:
    a, b = scanopt.shared(np.zeros(2), "a"), scanopt.shared(np.ones(2), "b")
    f = scanopt.function([], a + 0, updates=[(a, b), (b, a + 5)], mode=mode)
    out = f()
    out[:] = -1
    assert [a.get_value().tolist(), b.get_value().tolist()] == [[1, 1], [5, 5]]
    a.get_value(borrow=True)[:] = 8
    assert b.get_value().tolist() == [5, 5]


@MODES
def test_updates_without_outputs(mode: str | None) -> None:
    s, x = scanopt.shared(np.zeros(2), "s"), T.dvector("x")
    f = scanopt.function([x], updates={s: x}, mode=mode)
    value = np.ones(2)
    assert f(value) is None
    value[:] = 9
    assert s.get_value().tolist() == [1, 1]


@MODES
def test_a_loop_over_shared_variables(mode: str | None) -> None:
    w, h0 = scanopt.shared(np.array([2.0, 3.0]), "w"), scanopt.shared(np.ones(2), "h0")
    trace, _ = scanopt.scan(lambda h, w: h * w, None, h0, w, n_steps=3)
    f = scanopt.function([], trace, updates={h0: trace[-1]}, mode=mode)
    assert f()[-1].tolist() == [8, 27]
    assert f()[-1].tolist() == [64, 729]
    h0.set_value(np.zeros(2))
    assert f()[-1].tolist() == [0, 0]


def test_the_interpreter_leaves_shared_variables_alone() -> None:
    s = scanopt.shared(np.array(1.0), "s")
    f = scanopt.function([], s * 2, updates={s: s + 1})
    assert [float(f.unoptimized()), float(f.as_written()), float(s.get_value())] == [2, 2, 1]


@MODES
def test_a_failed_call_updates_nothing(mode: str | None) -> None:
    a, b, k = scanopt.shared(np.zeros(2), "a"), scanopt.shared(np.array(0.0), "b"), T.lscalar("k")
    f = scanopt.function([k], updates=[(a, a + 1), (b, a[k])], mode=mode)
    with pytest.raises(IndexError):
        f(5)
    assert (a.get_value().tolist(), float(b.get_value())) == ([0, 0], 0)


# ---- threads ----


@MODES
def test_threads_may_call_one_function(mode: str | None) -> None:
    inputs, h = decay()
    f = scanopt.function(inputs, h, mode=mode)
    rng = np.random.default_rng(0)
    values = [(rng.standard_normal(9 + i % 3), rng.standard_normal(3)) for i in range(24)]
    expected = [f(*v) for v in values]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda v: f(*v), values))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_threads_may_compile() -> None:
    def make(i: int) -> float:
        x = T.dvector(f"x{i}")
        return float(scanopt.function([x], scanopt.map(lambda v: v * float(i), x)[0])([2.0])[0])

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(make, range(5))) == [2.0 * i for i in range(5)]


# ---- backends ----


def test_a_backend_that_is_missing_says_so() -> None:
    if importlib.util.find_spec("cupy") is not None:
        pytest.skip("CuPy is installed")
    x = T.dvector("x")
    for mode in (None, "unoptimized"):
        with pytest.raises(RuntimeError, match="CuPy"):
            scanopt.function([x], x + 1, backend="cupy", mode=mode)
    assert scanopt.function([x], x + 1, backend="numpy")([1.0]).tolist() == [2.0]


# ---- what is said of a function ----


def test_a_function_says_what_it_is() -> None:
    inputs, h = decay()
    f = scanopt.function(inputs, [h[-1], h.shape[0]], name="last", example=VALUES)
    assert (f.name, f.fp, f.backend, f.is_compiled) == ("last", "reassoc", "auto", True)
    assert (f.inputs, len(f.outputs), f.updates, f.shared) == (tuple(inputs), 2, {}, ())
    assert repr(f).startswith("<Function last(x, w")
    assert "def program(" in f.source
    assert "'x'" in f.source
    assert f._repr_html_().startswith("<svg")
    assert f.cost < f.cost_before
    assert set(f.seconds) == {"encode", "saturate", "extract", "lower", "compile"}
    assert "proven the cheapest" in str(f.report)
    assert f.report.saturated
    assert sum(map(len, f.egraph.classes.values())) == f.report.enodes == f.egraph.size
    assert {x.name for x in f.rules} == {x.name for x in standard_laws() if x.licence != "fast"}
    assert f.laws.keys() <= {x.name for x in f.rules}


def test_a_compiled_function_is_no_step_function() -> None:
    inputs, h = decay()
    with pytest.raises(TypeError, match="compiled already"):
        scanopt.map(scanopt.function(inputs, h), inputs[0])


def test_unoptimized_has_the_same_views() -> None:
    inputs, h = decay()
    f = scanopt.function(inputs, h[-1], mode="unoptimized")
    assert str(f.program) == str(f.initial)
    assert (f.cost, f.laws) == (f.cost_before, {})
    assert "interpreter" in f.source
    assert "no law" in str(f.explain())


def test_three_ways_to_run_agree() -> None:
    inputs, h = decay()
    f = scanopt.function(inputs, [h, h[-1]], fp="exact")
    for a, b, c in zip(f(*VALUES), f.unoptimized(*VALUES), f.as_written(*VALUES), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(b, c)


def test_watching_keeps_the_last_call() -> None:
    inputs, h = decay()
    with watching() as made:
        f = scanopt.function(inputs, h)
        f(*VALUES)
    assert made == [f]
    assert f.last_call is not None
    assert [v.tolist() for v in f.last_call] == [v.tolist() for v in VALUES]
    g = scanopt.function(inputs, h)
    g(*VALUES)
    assert g.last_call is None
    assert made == [f]


# ---- explanation ----


def test_explanation_goes_from_the_first_program_to_the_last() -> None:
    inputs, h = decay()
    f = scanopt.function(inputs, h[-1], example=VALUES)
    story = f.explain()
    assert str(story.initial) == str(f.initial)
    assert story.cost_before == f.cost_before
    assert story.cost_after == pytest.approx(f.cost)
    assert [s.law for s in story.steps] == ["invariant_of_loop", "row_from_the_end"]
    costs = [story.cost_before, *(s.cost_after for s in story.steps)]
    assert costs == sorted(costs, reverse=True)
    assert [s.cost_before for s in story.steps] == costs[:-1]
    assert costs[-1] == pytest.approx(f.cost)
    text = str(story)
    for words in ("cost ", "as written", "1. invariant_of_loop: ", "hold(c, op(*outer))", "[exact]", "when held("):
        assert words in text
    assert f.explain() is story


def test_explanation_of_what_cannot_be_improved() -> None:
    x = T.dvector("x")
    assert "no law makes this program cheaper" in str(scanopt.function([x], T.exp(x)).explain())
