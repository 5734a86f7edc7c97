"""scanopt.loop and its relatives, and filter: structures, lengths, directions, errors."""

import functools
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from both_ways import both

import scanopt
from scanopt import fori_loop, function, interpret, loop, shared, until, while_loop
from scanopt import tensor as T
from scanopt.array.variable import Variable
from scanopt.loops.node import Scan

X = np.array([3.0, -1.0, 4.0, 1.5, -5.0, 9.0])


class Cell(NamedTuple):
    h: Any
    c: Any


@dataclass(frozen=True)
class Filter:
    mean: Any
    count: Any


# ---- carries and results ----


def test_sum_as_jax_users_write_it() -> None:
    x = T.vector("x", "float64")
    last, sums = loop(lambda total, v: (total + v, total + v), 0.0, x)
    total, trace = both([x], [last, sums], [X])
    assert total == X.sum()
    np.testing.assert_array_equal(trace, np.cumsum(X))


def test_nested_carry_and_results() -> None:
    x, W = T.matrix("x", "float32"), T.matrix("W", "float32")

    def step(carry: Any, now: Any) -> Any:
        (h, cell), n = carry["state"], carry["n"]
        h = T.tanh(now["x"] + h @ W)
        new = {"n": n + 1, "state": (h, Cell(cell.h + h, cell.c * now["scale"]))}
        return new, {"h": h, "parts": [n, (cell.c,)], "nothing": None}

    init = {"state": (T.zeros_like(W[0]), Cell(np.ones(3, "float32"), 1.0)), "n": 0}
    last, ys = loop(step, init, {"x": x, "scale": np.float32([1, 2, 3, 4])})
    assert list(last) == ["state", "n"]
    assert isinstance(last["state"][1], Cell)
    assert ys["nothing"] is None
    flat = [last["state"][0], *last["state"][1], last["n"], ys["h"], ys["parts"][0], ys["parts"][1][0]]
    rng = np.random.default_rng(0)
    xs, Ws = rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=(3, 3)).astype("float32")
    h, total, c, hs, cs = np.zeros(3, "float32"), np.ones(3, "float32"), np.float32(1), [], []
    for t in range(4):
        h = np.tanh(xs[t] + h @ Ws)
        total, c = total + h, (cs.append(c), c * np.float32(t + 1))[1]
        hs.append(h)
    expected: list[Any] = [h, total, c, np.asarray(4), hs, range(4), cs]
    for value, wanted in zip(interpret(flat, {x: xs, W: Ws}), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-6)
    assert [v.dtype for v in flat] == ["float32", "float32", "float32", "int64", "float32", "int64", "float32"]
    for value, wanted in zip(function([x, W], flat)(xs, Ws), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5)


def test_dataclass_and_ordered_dict() -> None:
    x = T.vector("x", "float64")

    def step(f: Filter, v: Any) -> tuple[Filter, Any]:
        count = f.count + 1
        return Filter(f.mean + (v - f.mean) / count, count), OrderedDict(mean=f.mean, v=v)

    last, ys = loop(step, Filter(0.0, 0), x)
    assert isinstance(last, Filter)
    assert type(ys) is OrderedDict
    mean, count, first = both([x], [last.mean, last.count, ys["mean"]], [X])
    assert (mean, count, first[0]) == (pytest.approx(X.mean()), 6, 0.0)


def test_dicts_may_come_back_in_another_order() -> None:
    last, _ = loop(lambda c, _: ({"b": c["b"] + 1, "a": c["a"] * 2}, None), {"a": 1, "b": 0}, length=3)
    assert list(last) == ["a", "b"]
    assert interpret([last["a"], last["b"]]) == [8, 3]


def test_no_carry_is_a_map_and_no_result_a_fold() -> None:
    x = T.vector("x", "float64")
    nothing, doubled = loop(lambda c, v: (c, 2 * v), None, x)
    last, none = loop(lambda c, v: (T.maximum(c, v), None), -np.inf, x)
    assert nothing is None
    assert none is None
    found, largest = both([x], [doubled, last], [X])
    np.testing.assert_array_equal(found, 2 * X)
    assert largest == X.max()


def test_python_numbers_take_the_dtype_of_the_step() -> None:
    for dtype in ("float32", "complex64", "int16"):
        last, _ = loop(lambda c, v: (c + v, None), 0, T.vector("x", dtype))
        assert last.dtype == dtype


def test_what_the_step_uses_is_found() -> None:
    x, w, b = T.vector("x", "float64"), T.scalar("w", "float64"), shared(2.0, "b")
    last, _ = loop(lambda c, v: (w * c + b * v, ()), 0.0, x)
    (found,) = both([x, w], [last], [X, 0.5])
    assert found == functools.reduce(lambda c, v: 0.5 * c + 2.0 * v, X, 0.0)


# ---- lengths and directions ----


@pytest.mark.parametrize("n", [0, 1, 4])
def test_last_carry_is_the_first_after_no_step(n: int) -> None:
    x, k = T.vector("x", "float64"), T.lscalar("k")
    outs = []
    for xs, length in [(x, None), (None, n), (None, k), (n, None)]:
        (a, b), y = loop(lambda c, _: ((c[0] * 2, c[0]), c[1]), (1.5, 7.0), xs, length)
        outs += [a, b, y]
    found = both([x, k], outs, [X[:n], n])
    for a, b, y in zip(found[::3], found[1::3], found[2::3], strict=True):
        assert (a, b) == (1.5 * 2**n, 1.5 * 2 ** (n - 1) if n else 7.0)
        np.testing.assert_array_equal(y, [7.0, *(1.5 * 2.0**t for t in range(n - 1))][:n])


def test_an_int_counts() -> None:
    k = T.lscalar("k")
    for xs in (4, k, np.int32(4)):
        _, i = loop(lambda c, i: (c, i * i), None, T.arange(xs) if xs is k else xs)
        np.testing.assert_array_equal(interpret(i, {k: 4}), [0, 1, 4, 9])


def test_reverse_keeps_results_where_their_entries_are() -> None:
    x = T.vector("x", "float64")
    last, sums = loop(lambda c, v: (c + v, c + v), 0.0, x, reverse=True)
    total, trace = both([x], [last, sums], [X])
    np.testing.assert_array_equal(trace, np.cumsum(X[::-1])[::-1])
    assert total == trace[0]


def test_until_ends_the_loop() -> None:
    x = T.vector("x", "float64")

    def step(c: Any, v: Any) -> Any:
        return c + v, c, until(c + v > 5)

    last, before = loop(step, 0.0, x)
    total, trace = both([x], [last, before], [X])
    assert total == 6.0
    np.testing.assert_array_equal(trace, [0.0, 3.0, 2.0])
    assert both([x], [last], [[]]) == [0.0]


def test_length_and_sequences_must_agree() -> None:
    x, y, k = T.vector("x", "float64"), T.vector("y", "float64"), T.lscalar("k")
    last, _ = loop(lambda c, xs: (c + xs["a"] * xs["b"], None), 0.0, {"a": x, "b": y})
    given, _ = loop(lambda c, v: (c + v, None), 0.0, x, length=k)
    assert both([x, y], [last], [X, X]) == [X @ X]
    assert both([x, k], [given], [X, 6]) == [X.sum()]
    for f in (lambda out, env: interpret(out, env), lambda out, env: function([*env], out)(*env.values())):
        for ny in (5, 7):
            with pytest.raises(ValueError, match=rf"xs\['b'\] has {ny} rows but xs\['a'\] has 6.*test_loop_api.py"):
                f(last, {x: X, y: np.ones(ny)})
        for n in (5, 7):
            with pytest.raises(ValueError, match=f"xs has 6 rows but length is {n}"):
                f(given, {x: X, k: n})
        with pytest.raises(ValueError, match=r"length \('k'\) is -6, but it must not be negative"):
            f(loop(lambda c, _: (c + 1, None), 0, length=k)[0], {k: -6})


def test_name_and_place_of_the_loop() -> None:
    _, ys = loop(lambda c, v: (c, v), 0.0, T.vector("x"), name="walk")
    assert isinstance(ys.owner, Scan)
    assert ys.owner.name == "walk"
    assert "test_loop_api.py:" in ys.owner.location


# ---- the relatives ----


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 3), (0, 3.0), (np.float64(0), np.float64(3))])
def test_bounds_of_a_fori_loop_may_be_whole_floats(lower: Any, upper: Any) -> None:
    total = fori_loop(lower, upper, lambda i, c: c + i, 0)
    assert total.dtype == "int64"
    assert interpret(total) == 3


def test_fori_loop() -> None:
    lower, upper = T.lscalar("lower"), T.lscalar("upper")
    out = fori_loop(lower, upper, lambda i, c: (c[0] + i, c[1] * i), (0, 1))
    for a, b in [(1, 6), (0, 0), (5, 2)]:
        total, product = both([lower, upper], list(out), [a, b])
        assert (total, product) == (sum(range(a, b)), functools.reduce(lambda p, i: p * i, range(a, b), 1))


@pytest.mark.parametrize(("start", "most"), [(1, 100), (50, 100), (1, 3), (1, 0)])
def test_while_loop(start: int, most: int) -> None:
    x, k = T.lscalar("x"), T.lscalar("k")
    out = while_loop(lambda c: c["n"] < 45, lambda c: {"n": 2 * c["n"], "i": c["i"] + 1}, {"n": x, "i": 0}, k)
    n, i = both([x, k], [out["n"], out["i"]], [start, most])
    value, count = start, 0
    while value < 45 and count < most:
        value, count = 2 * value, count + 1
    assert (n, i) == (value, count)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bound", [0.05, 0.1, 2.0])
def test_the_condition_of_a_while_loop_sees_arrays_of_the_carry(dtype: str, bound: float) -> None:
    """From the first one on: bare numbers have their dtype then, so that 0.1 is no less than 0.1 rounded."""
    x = T.scalar("x", dtype)
    out = while_loop(lambda c: c.sum() < x, lambda c: c + x, 0.1, max_steps=3)
    assert out.dtype == dtype
    (found,) = both([x], [out], [np.asarray(bound, dtype)])
    value, most = np.asarray(0.1, dtype), 3
    while value < np.asarray(bound, dtype) and most:
        value, most = value + np.asarray(bound, dtype), most - 1
    assert found == value


def test_a_while_loop_needs_a_number_of_steps_that_is_not_negative() -> None:
    k = T.lscalar("k")
    f = function([k], while_loop(lambda c: c < 5, lambda c: c + 1, 0, max_steps=k))
    assert f(3) == 3
    with pytest.raises(ValueError, match=r"max_steps .'k'. is -1, but it must not be negative"):
        f(-1)


def test_loops_nest() -> None:
    """Newton's method for square roots, for each entry of an array."""
    x = T.vector("x", "float64")

    def root(_: Any, v: Any) -> Any:
        better = while_loop(
            lambda c: abs(c * c - v) > 1e-12 * v, lambda c: (c + v / c) / 2, T.ones_like(v), max_steps=100
        )
        return None, better

    _, roots = loop(root, None, x)
    values = np.array([2.0, 9.0, 1.0, 1e6])
    for found in (interpret(roots, {x: values}), function([x], roots)(values)):
        np.testing.assert_allclose(found, np.sqrt(values))


# ---- filter ----


def test_filter_with_one_mask_or_one_each() -> None:
    x, y = T.vector("x", "float64"), T.matrix("y", "float64")
    yv = np.arange(14.0).reshape(7, 2)
    one = scanopt.filter(lambda v: v > 0, x)
    assert isinstance(one, Variable)
    listed = scanopt.filter(lambda v: v > 0, x, return_list=True)
    assert isinstance(listed, list)
    shared_mask = scanopt.filter(lambda v, w, k: v > k, [x, y], 0.0)
    each = scanopt.filter(lambda v, w: [v > 0, w[0] > 4], [x, y])
    back = scanopt.filter(lambda v: v > 0, x, go_backwards=True)
    found = both([x, y], [one, *listed, *shared_mask, *each, back], [X, yv])
    mask, cut = X > 0, yv[:6]
    expected = [X[mask], X[mask], X[mask], cut[mask], X[mask], cut[cut[:, 0] > 4], X[::-1][X[::-1] > 0]]
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_filter_at_taps_keeps_the_present_entry() -> None:
    x = T.vector("x", "float64")
    rising = scanopt.filter(lambda before, now: now > before, dict(input=x, taps=[-1, 0]))
    (found,) = both([x], [rising], [X])
    np.testing.assert_array_equal(found, [4.0, 9.0])


# ---- what scan and its relatives give back ----


def test_return_list_and_return_updates() -> None:
    x, w = T.vector("x", "float64"), shared(1.0, "w")
    calls: list[Any] = [
        functools.partial(scanopt.scan, lambda v: v, x),
        functools.partial(scanopt.map, lambda v: v, x),
        functools.partial(scanopt.reduce, lambda v, s: s + v, x, 0.0),
        functools.partial(scanopt.foldl, lambda v, s: s + v, x, 0.0),
        functools.partial(scanopt.foldr, lambda v, s: s + v, x, 0.0),
    ]
    for call in calls:
        out, updates = call()
        assert isinstance(out, Variable)
        assert not updates
        assert len(call(return_list=True)[0]) == 1
        assert isinstance(call(return_updates=False), Variable)
        assert len(call(return_list=True, return_updates=False)) == 1
        with pytest.raises(TypeError, match="return_updates must be True or False"):
            call(return_updates=None)
    with pytest.raises(ValueError, match="return_updates"):
        scanopt.map(lambda v: (v, {w: w + v}), x, return_updates=False)


def test_options_are_kept() -> None:
    x = T.vector("x", "float64")
    out, _ = scanopt.scan(lambda v: v, x, mode="FAST_COMPILE", profile=True, allow_gc=True, name="copy")
    node = out.owner
    assert isinstance(node, Scan)
    assert (node.mode, node.profile, node.allow_gc) == (scanopt.Mode("FAST_COMPILE"), "copy", True)
    unnamed = scanopt.scan(lambda v: v, x, profile=True)[0].owner
    assert isinstance(unnamed, Scan)
    assert "test_loop_api.py:" in unnamed.profile
    for profile, title in [("mine", "mine"), ("", ""), (False, "")]:
        node = scanopt.scan(lambda v: v, x, profile=profile)[0].owner
        assert isinstance(node, Scan)
        assert (node.profile, node.mode, node.allow_gc) == (title, None, None)
    mapped = scanopt.map(lambda v: v, x, mode=scanopt.Mode().excluding("merge"))[0].owner
    assert isinstance(mapped, Scan)
    assert mapped.mode == scanopt.Mode(excluding=["merge"])
