"""Steps written as decisions: each case computes what it needs, with the bits of the interpreter."""

import re
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel
from shares import tries

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.decisions import decided
from scanopt.backends.kernels.ir import Do, If, Let, Lit, Set, Stmt, Var
from scanopt.backends.kernels.known_tests import COMPARED, truth_of
from scanopt.backends.kernels.walks import inside

LONG = 2100
"""Enough steps for a loop that tries two ways."""


@pytest.fixture
def branched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are compiled; loops that try two ways take only the one with branches."""
    made, texts = Build.__init__, list[str]()

    def build(self: Build, text: str) -> None:
        texts.append(re.sub(r"\(turn\w+ < 2 \|\| \(turn\w+ > 2 && \w+\)\)", "(1)", text))
        made(self, texts[-1])

    monkeypatch.setattr(Build, "__init__", build)
    return texts


def random_test(rng: np.random.Generator, values: list[Any], depth: int = 2) -> Any:
    """A condition: comparisons of values with each other or with small numbers, combined."""
    kind = int(rng.integers(3)) if depth else 3
    if kind == 0:
        return random_test(rng, values, depth - 1) & random_test(rng, values, depth - 1)
    if kind == 1:
        return random_test(rng, values, depth - 1) | random_test(rng, values, depth - 1)
    if kind == 2 and rng.random() < 0.4:
        return ~random_test(rng, values, depth - 1)
    a = values[int(rng.integers(len(values)))]
    b = values[int(rng.integers(len(values)))] if rng.random() < 0.3 else T.cast(int(rng.integers(-1, 3)), a.dtype)
    ways = [T.lt, T.le, T.gt, T.ge, T.eq, T.neq]
    return ways[int(rng.integers(len(ways)))](a, T.cast(b, a.dtype))


def random_value(rng: np.random.Generator, values: list[Any], depth: int = 3) -> Any:
    """A value: choices by conditions, sums, and extremes."""
    a = values[int(rng.integers(len(values)))]
    if not depth:
        return a if rng.random() < 0.7 else T.cast(int(rng.integers(-1, 3)), a.dtype)
    b = T.cast(random_value(rng, values, depth - 1), a.dtype)
    match int(rng.integers(7)):
        case 0:
            return a + b
        case 1:
            return T.maximum(a, b)
        case 2:
            return T.minimum(b, a)
        case 3:
            return a - T.cast(random_test(rng, values), a.dtype)
    return T.switch(random_test(rng, values), T.cast(random_value(rng, values, depth - 1), a.dtype), b)


@pytest.mark.parametrize("seed", range(tries(80)))
def test_random_decisions(seed: int, branched: list[str]) -> None:
    rng = np.random.default_rng(seed)
    of = str(rng.choice(["float64", "int64", "float32", "uint8"]))
    dtypes = [str(rng.choice([of, "int64", "int64", "bool"])) for _ in range(int(rng.integers(1, 4)))]
    x, table = T.vector("x", dtype=of), T.lvector("table")
    starts = [T.constant(np.asarray(rng.integers(0, 2)).astype(d)) for d in dtypes]
    seeds = rng.integers(0, 1 << 30, len(dtypes) + 1)

    def step(v: Any, *states: Any) -> Any:
        *numbers, row = states
        values = [T.cast(a, "int64") if a.dtype == "bool" else a for a in (v, *numbers)]
        new = [random_value(np.random.default_rng(s), values) for s in seeds]
        at = T.cast(T.clip(T.cast(new[-1], "int64"), 0, 3), "int64")
        changed = T.switch(random_test(np.random.default_rng(seed), values), T.set_subtensor(row[at], row[at] + 1), row)
        limits = [T.clip(T.cast(y, d), -50, 50) if d != "bool" else y > 0 for y, d in zip(new, dtypes, strict=False)]
        return [*limits, changed if seed % 3 == 0 else row]

    kept = scanopt.scan(step, x, [*starts, table])[0]
    f = scanopt.function([x, table], [y if rng.random() < 0.5 else y[-1] for y in kept], fp="exact", backend="c")
    for n in (5, 19, LONG):
        values = rng.integers(0, 4, n).astype(of)
        if of.startswith("float") and seed % 2:
            values = np.where(rng.random(n) < 0.05, rng.choice([np.nan, np.inf, -0.0], n), values).astype(of)
        with np.errstate(all="ignore"):
            found, expected = f(values, np.arange(4)), f.unoptimized(values, np.arange(4))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a) & (a == a), np.signbit(b) & (b == b))


def test_each_case_computes_only_what_it_needs(branched: list[str]) -> None:
    x = T.dvector("x")

    def step(v: Any, held: Any, top: Any, cash: Any) -> Any:
        top2 = T.maximum(top, v)
        sell = (held > 0) & (v < 0.9 * top2)
        buy = T.eq(held, 0) & (v > 1.2 * top)
        more = T.switch(sell, cash + v, T.switch(buy, cash - v, cash))
        return [T.switch(sell, 0, T.switch(buy, 1, held)), T.switch(sell, v, top2), more]

    starts = [T.constant(0, dtype="int64"), *[T.constant(0.0, dtype="float64")] * 2]
    f = scanopt.function([x], scanopt.scan(step, x, starts)[0], fp="exact", backend="c")
    rng = np.random.default_rng(2)
    text = exact_kernel(f, [np.exp(np.cumsum(rng.normal(size=3000) * 0.05))])
    _, _, after = text.partition("GROUPED\n")
    cases = after.partition("}\n            while")[0]  # before the steps without branches
    assert cases.count(" == 0;") == 1  # where a position is held, nothing asks whether there is none
    assert " & " not in cases
    assert "&" in text


def test_cases_swap_states_and_keep_them(branched: list[str]) -> None:
    x = T.lvector("x")

    def step(v: Any, a: Any, b: Any, n: Any) -> Any:
        test = (a > v) & (n > 2)
        return [T.switch(test, b, a), T.switch(test, a, b + v), T.switch(test, 0, n + 1)]

    starts = [T.constant(k, dtype="int64") for k in (3, 1, 0)]
    f = scanopt.function([x], scanopt.scan(step, x, starts)[0], fp="exact", backend="c")
    for n in (7, LONG):
        exact_kernel(f, [np.random.default_rng(n).integers(-3, 4, n)])
    assert any("GROUPED\n" in text for text in branched)


@pytest.mark.parametrize("of", ["int64", "float64"])
@pytest.mark.parametrize("seed", range(tries(100)))
def test_what_conditions_say_about_others(of: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = Var("x", of), Var("y", of)

    def comparison() -> Do:
        op, n = str(rng.choice([*COMPARED])), Lit(int(rng.integers(-1, 2)), of)
        args = [(x, n), (n, x), (x, y), (y, x)][int(rng.integers(4))]
        return Do(op, args, "bool", of)

    known = [(comparison(), bool(rng.integers(2))) for _ in range(int(rng.integers(1, 4)))]
    asked = comparison()
    answer = truth_of(asked, known)

    def holds(t: Any, at: dict[Any, float]) -> bool:
        return COMPARED[t.op](*(at[z] if isinstance(z, Var) else z.value for z in t.args))

    numbers = [-2, -1, 0, 1, 2] + ([-0.5, 0.5, np.nan, np.inf, -np.inf, -0.0] if of == "float64" else [])
    for a in numbers:
        for b in numbers:
            at = {x: a, y: b}
            if answer is not None and all(holds(t, at) == h for t, h in known):
                assert holds(asked, at) == answer, (known, asked, at)


@pytest.mark.parametrize("seed", range(tries(60)))
def test_random_loops_that_end_early(seed: int) -> None:
    rng = np.random.default_rng(seed)
    of = str(rng.choice(["float64", "int64"]))
    x, table, most = T.vector("x", dtype=of), T.lvector("table"), int(rng.integers(1, 7))
    seeds, both = rng.integers(0, 1 << 30, 3), rng.random() < 0.6

    def step(i: Any, a: Any, v: Any, table: Any) -> Any:
        near = table[T.clip(i, -3, 2)]  # of three elements
        values = [i, a, T.cast(v, of), near]
        go = random_test(np.random.default_rng(seeds[0]), values) & T.lt(i, 4)
        new = T.clip(T.cast(random_value(np.random.default_rng(seeds[1]), values), of), -50, 50)
        ends = ~go if both else random_test(np.random.default_rng(seeds[2]), values)
        return [T.switch(go, i + 1, i), T.switch(go & (a < v), new, a)], scanopt.until(ends)

    def search(v: Any, table: Any) -> Any:
        starts = [T.constant(0, dtype="int64"), T.constant(0, dtype=of)]
        (i, a), _ = scanopt.scan(step, outputs_info=starts, non_sequences=[v, table], n_steps=most)
        return [i[-1], a[-1], i.shape[0]]

    f = scanopt.function([x, table], scanopt.map(search, x, [table])[0], fp="exact", backend="c")
    for n in (0, 1, 5, 40):
        values = rng.integers(-2, 5, n).astype(of)
        if of == "float64" and seed % 2:
            values = np.where(rng.random(n) < 0.1, rng.choice([np.nan, np.inf, -np.inf, -0.0], n), values)
        with np.errstate(all="ignore"):
            found, expected = f(values, np.arange(3)), f.unoptimized(values, np.arange(3))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a) & (a == a), np.signbit(b) & (b == b))


def test_a_search_asks_first_whether_it_goes_on() -> None:
    s = T.lvector("s")

    def widen(k: Any, i: Any, s: Any) -> Any:
        left, right, n = i - k, i + k, s.shape[0]
        same = (left >= 0) & (right < n) & T.eq(s[T.maximum(left, 0)], s[T.minimum(right, n - 1)])
        return T.switch(same, k + 1, k), scanopt.until(~same)

    def around(i: Any, s: Any) -> Any:
        return scanopt.scan(widen, None, [T.constant(0, dtype="int64")], [i, s], s.shape[0])[0][-1]

    for n in (1, 2, 60):
        f = scanopt.function([s], scanopt.map(around, T.arange(s.shape[0]), [s])[0], fp="exact", backend="c")
        text = exact_kernel(f, [np.random.default_rng(n).integers(0, 2, n)])
    inner = text.partition("break;")[0].rpartition("while")[2]
    assert "INTEGER_READY" not in inner  # the next number is chosen by the condition that ends the loop
    assert "? " not in inner.partition("if (v")[2]


def test_a_search_beyond_the_end_is_an_error() -> None:
    s = T.lvector("s")

    def search(_: Any, s: Any) -> Any:
        start = T.constant(0, dtype="int64")
        return scanopt.scan(lambda k, s: (k + 1, scanopt.until(s[k] > 3)), None, [start], s, 9)[0][-1]

    f = scanopt.function([s], scanopt.map(search, T.arange(s.shape[0]), [s])[0], fp="exact", backend="c")
    np.testing.assert_array_equal(f(np.array([1, 2, 4])), [3, 3, 3])
    with pytest.raises(IndexError):
        f(np.array([1, 2, 3]))


def test_what_is_there_already_is_not_decided() -> None:
    s, t = Var("s"), Var("t", "bool")
    test = Let("t", Do("less", (s, Lit(3)), "bool", "int64"), "bool")
    value = Let("v", Do("where", (t, Lit(1), Lit(2)), "int64", "int64"), "int64")
    more = Let("u", Do("equal", (Var("v"), Var("w")), "bool", "int64"), "bool")
    last = Let("x", Do("where", (Var("u", "bool"), s, Var("w")), "int64", "int64"), "int64")
    found = decided([test, value, more, last, Set("r", Var("x")), Set("s", Var("v"))], {"s", "t", "u", "v", "x"})
    tests = [x.test for x in inside(found) if isinstance(x, If)]
    assert tests == [Var("u", "bool")]  # the condition needs v, so v is chosen before, without a branch
    alike = Let("y", Do("where", (t, s, s), "int64", "int64"), "int64")
    assert not decided([test, alike, Set("s", Var("y"))], {"s", "t", "y"})  # both sides are the same


def test_the_last_row_of_a_state_needs_no_variable() -> None:
    x, ks = T.dvector("x"), T.lvector("ks")
    both = scanopt.scan(lambda v, a, b: [a + v, T.maximum(b, a)], x, [T.constant(k, dtype="float64") for k in (0, 1)])[
        0
    ]
    for values in ([2.5], [np.nan, 1.0, -np.inf], [-0.0, np.inf, -np.inf, 3.0]):
        f = scanopt.function([x], [both[0][-1], both[1][-1]], fp="exact", backend="c")
        text = exact_kernel(f, [np.array(values)])
    assert len(re.findall(r"^ +float64 s\d+ = 0;", text, re.M)) <= 4  # two states, two results

    def inner(k: Any, x: Any) -> Any:
        return scanopt.lax.fori_loop(0, k, lambda _, s: s * 0.5 + x[0], x[0])

    g = scanopt.function([x, ks], scanopt.map(inner, ks, [x])[0], fp="exact", backend="c")
    exact_kernel(g, [np.array([3.0]), np.array([0, 1, 2, 0, 5])])


def test_steps_whose_order_matters_are_no_decisions() -> None:
    s, t = Var("s"), Var("t", "bool")
    test = Let("t", Do("less", (s, Lit(3)), "bool", "int64"), "bool")
    value = Let("v", Do("where", (t, Lit(1), s), "int64", "int64"), "int64")
    hands_on = Set("s", Var("v"))
    found = decided([test, value, hands_on], {"s", "t", "v"})
    assert [x for x in inside(found) if isinstance(x, If)]
    late: list[Stmt] = [hands_on, Set("r", s)]
    assert not decided([test, value, *late], {"s", "t", "v"})
    assert not decided([value, hands_on], {"s"})
