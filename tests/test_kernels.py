"""Loops as kernels: equal to array steps bit for bit, for all operators, dtypes and layouts, whatever goes wrong."""

import gc
import pickle
import re
import sys
import threading
import time
import tracemalloc
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import random_programs
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_kernels import RandomLoop
from shares import tries
from test_executor_random import Random, arguments

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.entry import can_enter
from scanopt.backends.kernels.executor import Kernels
from scanopt.backends.kernels.prices import KERNELS
from scanopt.program.ir import Program
from scanopt.program.text import program_lines

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
Array = np.ndarray[Any, Any]


def bits(x: Array) -> Array:
    """What two equal arrays have in common: the sign of zeros, not that of NaNs."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return np.stack([bits(x.real.copy()), bits(x.imag.copy())])
    if x.dtype.kind != "f":
        return x
    return np.where(np.isnan(x), np.uint64(1), x.view(f"u{x.itemsize}"))


def assert_same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(bits(x), bits(y))


def outcome(f: Any, values: list[Any]) -> Any:
    try:
        return f(values)
    except Exception as error:
        return repr(error), getattr(error, "__notes__", None)


def compare(program: Program, values: list[Any]) -> bool:
    """Whether a kernel ran; that its results and errors are those of array steps."""
    try:
        plain = executor("numpy").compile(program)
    except ValueError:
        return False
    expected = outcome(plain, values)
    ran = False
    for f in (executor("c").compile(program), loops_alone(program)):
        before = [np.array(v) for v in values]
        found = outcome(f, values)
        if isinstance(expected, tuple):
            assert found == expected
        else:
            assert_same(found, expected)
        assert_same([np.asarray(v) for v in values], before)
        states = [k.state for k in f.kernels]
        assert not any("Error" in state or "status" in state or "0 of" in state for state in states), states
        ran = any("1 of 1 kernels" in state for state in states)
    return ran


def loops_alone(program: Program) -> Any:
    """A program in which loops are kernels, and what stands around them are array steps."""
    return Kernels("c", always=True, whole=False).compile(program)


@settings(max_examples=tries(25), deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
@example(90158)  # a part of a repeated number at an index that is out of range
def test_random_loops(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = RandomLoop(seed)
        compare(made.program(), made.values)


def test_most_random_loops_are_kernels() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [RandomLoop(seed) for seed in range(12)]
        ran = [compare(m.program(), m.values) for m in made]
    assert sum(ran) >= 6, ran


def both(inputs: Any, outputs: Any, **options: Any) -> Any:
    """A function that calls the kernels and array steps, and compares them; `.c` is the former."""
    c, plain = (scanopt.function(inputs, outputs, backend=b, fp="exact", **options) for b in ("c", "numpy"))

    def call(*values: Any) -> Any:
        found, expected = c(*values), plain(*values)
        call.values = [np.asarray(v) for v in values]
        if isinstance(found, list):
            assert_same(found, expected)
        else:
            assert_same([found], [expected])
        return found

    call.c = c
    return call


def kernels_of(f: Any) -> list[str]:
    return [k.state for k in f.c.kernels]


def logistic() -> Any:
    x, r, n = T.dscalar("x"), T.dscalar("r"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s: r * s * (1 - s), outputs_info=[x], n_steps=n)
    return both([x, r, n], ys)


def test_a_scalar_loop() -> None:
    f = logistic()
    for n in (0, 1, 2, 1000):
        f(0.3, 3.9, n)
    assert kernels_of(f) == ["2 of 2 kernels compiled"]  # one for an axis of length 1


def text_of(f: Any) -> str:
    """The text of the body of the kernel of the only loop."""
    made = loops_alone(f.c.program)
    made(f.values)
    (text,) = made.kernels[0].texts
    return str(text.partition("{\n")[2])


def test_text() -> None:
    f = logistic()
    f(0.3, 3.9, 5)
    assert (
        text_of(f)
        == """\
    const int64 m1 = N[0];
    float64 *const g0 = (float64 *)(DATA(0));
    float64 *const g1 = (float64 *)(DATA(1));
    float64 *const g2 = (float64 *)(DATA(2));
    float64 *const g3 = (float64 *)(DATA(3));
    float64 s1 = 0;
    const float64 x2 = g2[0];
    const float64 x4 = g3[0];
    s1 = g1[0];
    int64 t = 0;
    while (t < m1) {
        const float64 v3 = x2 * s1;
        const float64 v5 = x4 - s1;
        const float64 v6 = v3 * v5;
        g0[t] = v6;
        const float64 u8 = v6;
        s1 = u8;
        t++;
    }
    return t;
}
"""
    )


def test_text_of_lanes() -> None:
    u, x = T.dmatrix("u"), T.dvector("x")
    ys, _ = scanopt.scan(lambda u, s: T.tanh(s * 0.5 + u), sequences=[u], outputs_info=[x])
    f = both([u, x], ys)
    f(np.ones((4, 30)), np.ones(30))
    assert (
        text_of(f)
        == """\
    const int64 n0 = N[0];
    const int64 n1 = N[1];
    const int64 m3 = N[2];
    const int64 m4 = N[3];
    const int64 m5 = N[4];
    float64 *const g0 = (float64 *)(DATA(0));
    float64 *const g1 = (float64 *)(DATA(1));
    float64 *const g2 = (float64 *)(DATA(2));
    float64 *const g3 = (float64 *)(DATA(3));
    float64 *const g4 = (float64 *)(DATA(4) + m5);
    float64 *p1 = 0;
    float64 *p2 = 0;
    const float64 x3 = g3[0];
    float64 *p7 = 0;
    int64 t = 0;
    while (t < m3) {
        p1 = g1 + (t * m4);
        if (t < 1) {
            p2 = g2 + (t * n1);
        } else {
            p2 = g0 + ((t - 1) * n1);
        }
        ANY_ORDER
        for (int64 i4 = 0; i4 < n1; i4++) {
            const float64 v5 = p2[i4] * x3;
            const float64 v6 = v5 + p1[i4];
            g4[i4] = v6;
        }
        p7 = g0 + (t * n1);
        {
            char *a[] = {(char *)g4, (char *)p7};
            const int64 n[] = {n1}, s[] = {8, 8};
            ((inner *)F[0])(a, n, s, F[1]);
        }
        t++;
    }
    return t;
}
"""
    )


def test_until_grows_its_room() -> None:
    """More rows than there is room for at first."""
    x, limit = T.dscalar("x"), T.dscalar("limit")
    (xs, ks), _ = scanopt.scan(
        lambda x, k, limit: ([x + 1.0, k * 3], scanopt.until(x + 1.0 >= limit)),
        outputs_info=[x, T.constant(np.int8(1))], non_sequences=[limit], n_steps=10**7,
    )  # fmt: skip
    f = both([x, limit], [xs, xs[-3:], ks[-1]])
    for steps in (1, 2, 2000, 200_000):
        assert f(0.0, float(steps))[0][-1] == steps
    assert kernels_of(f) == ["1 of 1 kernels compiled"]


def test_steps_that_look_back() -> None:
    """Few rows are variables or a ring; of vectors, and of numbers that look back further than variables do."""
    start, wide, n = T.dvector("start"), T.dmatrix("wide"), T.lscalar("n")
    (a, b), _ = scanopt.scan(
        lambda a1, a12, b1, b4: [a1 * 0.5 - a12, T.sin(b1) + b4 * a1],
        outputs_info=[dict(initial=start, taps=[-1, -12]), dict(initial=wide, taps=[-1, -4])],
        n_steps=n,
    )
    f = both([start, wide, n], [a, a[-1], b[-2:], b[-1]])
    rng = np.random.default_rng(0)
    for steps in (2, 3, 4, 11, 12, 13, 100):
        f(rng.normal(size=12), rng.normal(size=(4, 5)), steps)
    assert kernels_of(f) == ["1 of 1 kernels compiled"]


def test_layouts_and_special_values() -> None:
    u, x = T.dmatrix("u"), T.dvector("x")
    ys, _ = scanopt.scan(
        lambda u, s: T.maximum(T.exp(-u) * s, u) / s, sequences=[u], outputs_info=[x], go_backwards=True
    )
    f = both([u, x], [ys, ys[-1]])
    rows = np.random.default_rng(0).normal(size=(40, 14))
    rows[::3, ::4] = [[np.nan, np.inf, -0.0, 0.0]]
    for array in (
        rows[:, :7],
        rows[::-2, ::2],
        rows[:, ::-2],
        rows[:7].T,
        np.asfortranarray(rows)[:, :7],
        rows[:1, :7],
    ):
        for start in (np.ones(7), np.full(7, -0.0), np.arange(14.0)[::-2]):
            if array.shape[1] == 7:
                f(array, start)


def test_integers() -> None:
    """Overflow, division by zero, shifts by more bits than there are: as NumPy's."""
    for dtype in ("int8", "int64", "uint8", "uint32"):
        x, y = T.vector("x", dtype), T.matrix("y", dtype)

        def step(y: Any, s: Any) -> Any:
            return ((s // y) + (s % y) * 7) ^ (s << T.bitwise_and(y, 15)) - (y >> s) * s

        ys, _ = scanopt.scan(step, sequences=[y], outputs_info=[x])
        f = both([x, y], ys)
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        values = np.array([low, high, 0, 1, 2, 3, high // 2, low // 2 + 1, low + 1], dtype)
        f(values, np.stack([np.roll(values, i) for i in range(9)]))
        f(values, np.full((3, 9), -1 if low else 1, dtype))
        assert kernels_of(f) == ["1 of 1 kernels compiled"], dtype


def test_an_index_out_of_range_is_told_as_ever() -> None:
    x, i = T.dvector("x"), T.lvector("i")
    one = T.constant(np.float64(1))
    ys, _ = scanopt.scan(
        lambda i, s, x: T.cos(s * 0.5 + T.tanh(x[i] * s)),
        sequences=[i], outputs_info=[one], non_sequences=[x], name="lookup",
    )  # fmt: skip
    c, plain = (scanopt.function([x, i], ys, backend=b, fp="exact", exclude=["push_out_seq"]) for b in ("c", "numpy"))
    np.testing.assert_array_equal(c([1.0, 2.0], [0, -1, 1]), plain([1.0, 2.0], [0, -1, 1]))
    found, expected = (outcome(lambda v, f=f: f(*v), [[1.0], [0, 0, 5]]) for f in (c, plain))
    assert isinstance(found, tuple)
    assert found == expected
    assert "lookup" in str(found)


def test_lengths_that_do_not_fit() -> None:
    u, x = T.dmatrix("u"), T.dvector("x")
    ys, _ = scanopt.scan(lambda u, s: T.tanh(s * u), sequences=[u], outputs_info=[x], name="rnn")
    c, plain = (scanopt.function([u, x], ys, backend=b) for b in ("c", "numpy"))
    c(np.ones((3, 2)), np.ones(2))
    for rows, start in ((np.ones((3, 4)), np.ones(3)), (np.ones((3, 4)), np.ones(1))):
        assert outcome(lambda v: c(*v), [rows, start]) == outcome(lambda v: plain(*v), [rows, start])


def test_arguments_and_results_share_nothing() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s: s * 2.0, outputs_info=[x], n_steps=n)
    f = scanopt.function([x, n], [ys, ys[-1]], backend="c", exclude=["recurrences"])
    given = np.ones(3)
    first, last = f(given, 3)
    second, _ = f(given, 3)
    assert not any(np.shares_memory(a, b) for a, b in ((first, last), (first, second), (first, given), (last, given)))
    assert given.tolist() == [1.0] * 3


def test_kernels_are_made_for_what_takes_long() -> None:
    x, r, n = T.dscalar("x"), T.dscalar("r"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s, r: r * s * (1 - s), outputs_info=[x], non_sequences=[r], n_steps=n)
    f, plain = scanopt.function([x, r, n], ys), scanopt.function([x, r, n], ys, backend="numpy")
    assert "kernel_0(" in f.source
    assert "kernel_0(" not in plain.source
    assert "kernels compiled by" in f.executor
    f(0.3, 3.9, 10)
    assert f.kernels[0].state == "array steps: so far it took too little time for a kernel"
    np.testing.assert_array_equal(f(0.3, 3.9, 10**6), plain(0.3, 3.9, 10**6))
    assert f.kernels[0].state == "1 of 1 kernels compiled"
    assert "kernel_0(" in pickle.loads(pickle.dumps(f)).source


def test_why_a_loop_has_none() -> None:
    x = T.dmatrix("x")
    ys, _ = scanopt.scan(lambda s: s + T.argsort(T.tanh(s), kind="heapsort"), outputs_info=[x[0]], n_steps=4)
    f = scanopt.function([x], ys, backend="c")
    assert [str(k) for k in f.kernels] == ["loop 'loop0': array steps: argsort of float64[?] has no form"]


def test_threads_call_one_kernel() -> None:
    f = logistic().c
    values = [0.1 + 0.05 * i for i in range(10)]
    expected = [f(v, 3.9, 5000) for v in values]
    found: dict[int, list[Array]] = {}

    def work(i: int) -> None:
        found[i] = [f(values[i], 3.9, 5000) for _ in range(100)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(x, expected[i]) for i, xs in found.items() for x in xs)
    assert sum(map(len, found.values())) == 1000


def test_names_of_users_are_not_in_the_text() -> None:
    x = T.dvector('*/ int x; "\n#include')
    ys, _ = scanopt.scan(lambda s: T.tanh(s) * 2.0, outputs_info=[x], n_steps=4, name="*/ }")
    f = scanopt.function([x], ys, backend="c")
    f(np.ones(2))
    (text,) = f.kernels[0].texts
    assert "*/" not in text
    assert "#include" not in text
    assert text.isascii()


def test_kernels_are_printed_beside_the_lines_that_they_run() -> None:
    x, weights = T.dmatrix("x"), T.dmatrix("weights")
    states = scanopt.scan(lambda v, s, w: T.tanh(v + T.dot(s, w)), x, [T.zeros((3,))], weights, name="rnn")[0]
    f = scanopt.function([x, weights], (states[-1] * 2.0).sum(), backend="c")
    f(np.ones((4, 3)), np.ones((3, 3)))
    (kernel,) = f.kernels
    shown = str(kernel)
    for comment in ("length of axis 0 of x", "weights", "memory for values in between"):
        assert f"/* {comment} */" in shown
    told = {line.text for line in program_lines(f.program) if line.kind in ("read", "state") or "tanh" in line.text}
    assert len(told) == 3
    assert all(f"/* {line} */" in shown for line in told)
    bare = re.sub(r" */\* .* \*/$", "", shown, flags=re.M).splitlines()
    assert bare[1:] == kernel.texts[0].splitlines()  # but for comments it is what was compiled


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(12))
def test_branches_and_loops_inside(seed: int) -> None:
    """The programs of the executor's tests: views, results in place, branches, loops inside loops."""
    program = replace(Random(seed).program(), exact=seed % 2 == 0)
    compare(program, arguments(program, seed))


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_programs_of_the_corpus(seed: int) -> None:
    made = random_programs.build(random_programs.generate(seed, pure=True))
    f = both(list(made[0]), list(made[1]), on_unused_input="ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(*made[0].values())


def test_elements_are_set_in_place() -> None:
    """A step that changes two elements of a long array does not copy it."""
    s, i, v = T.dvector("s"), T.lvector("i"), T.dvector("v")

    def step(i: Any, v: Any, s: Any) -> Any:
        a = s[i]
        return T.inc_subtensor(T.set_subtensor(s[i], v + a)[i - 1], a * 0.5)

    ss, _ = scanopt.scan(step, sequences=[i, v], outputs_info=[s])
    f = both([i, v, s], [ss[-1]])
    rng = np.random.default_rng(0)
    f(rng.integers(0, 1000, 50), rng.normal(size=50), rng.normal(size=1000))
    text = text_of(f)
    assert text.count("ANY_ORDER\n    for") == 1  # before the loop, to where the result is
    assert text.count("ANY_ORDER\n        for") == 0


SPECIAL = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 5e-324]


def test_clip_is_numpys() -> None:
    x, low, high = T.dvector("x"), T.dscalar("low"), T.dscalar("high")
    f = both([x, low, high], [T.clip(x, low, high), *(T.clip(x[i], low, high) for i in range(len(SPECIAL)))])
    for bound in SPECIAL:
        for other in SPECIAL:
            f(np.array(SPECIAL), bound, other)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
def test_places_of_extremes(dtype: str) -> None:
    x = T.TensorType(dtype, (None, None, None))("x")
    f = both([x], [g(x, axis=k) for g in (T.argmax, T.argmin) for k in range(3)] + [T.argmax(x[0, 0])])
    values = np.random.default_rng(0).integers(0, 3, (3, 4, 5)).astype(dtype)
    f(values)
    if dtype.startswith("float"):
        values[1, 2:, 1:3] = np.nan
        f(values)
    assert kernels_of(f) == ["1 of 1 kernels compiled"]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_searches(side: str, dtype: str) -> None:
    x, v = T.TensorType(dtype, (None,))("x"), T.TensorType(dtype, (None, None))("v")
    f = both([x, v], [T.searchsorted(x, v, side=side), T.searchsorted(x, v[0, 0], side=side)])
    rng = np.random.default_rng(0)
    for n in (1, 2, 17):
        keys = rng.integers(-2, 12, (5, 3)).astype(dtype)
        f(np.sort(rng.integers(0, 10, n)).astype(dtype), keys)
        f(rng.integers(0, 10, n).astype(dtype), keys)  # NumPy says nothing of what is not sorted, and does the same
    if dtype == "float64":
        f(np.array([0.0, 1.0, np.nan, np.nan]), np.array([[np.nan, 0.5, np.inf], [-np.inf, 1.0, np.nan]]))
    assert kernels_of(f)[0].endswith("kernels compiled")


def test_systems() -> None:
    a, b, c = T.dmatrix("a"), T.dmatrix("b"), T.dvector("c")
    f = both([a, b, c], [T.linalg.solve(a, b), T.linalg.solve(a + 1.0, c)])
    rng = np.random.default_rng(0)
    for n in (1, 2, 5):
        f(rng.normal(size=(n, n)), rng.normal(size=(n, 3)), rng.normal(size=n))
    assert kernels_of(f)[0].endswith("kernels compiled")
    with pytest.raises(np.linalg.LinAlgError):
        f.c(np.zeros((2, 2)), np.ones((2, 1)), np.ones(2))


def test_slices_with_computed_ends() -> None:
    x, i, j = T.dmatrix("x"), T.lscalar("i"), T.lscalar("j")
    f = both([x, i, j], [x[i:j] * 2.0, x[:, i:], x[:j, 0], T.arange(i, j)])
    for i0 in (-9, -2, 0, 1, 3):
        for j0 in (-1, 2, 5, 9):
            f(np.arange(20.0).reshape(4, 5), i0, j0)


def test_contractions() -> None:
    a, b = T.dtensor3("a"), T.dtensor3("b")
    pairs = [((0, 1), (0, 1)), ((2,), (2,)), ((1, 2), (0, 1)), ((0,), (0,)), ((0, 1, 2), (0, 1, 2)),
             ((0, 2), (0, 1)), ((1, 0), (1, 0)), ((1,), (2,)), ((2, 1), (0, 2))]  # fmt: skip
    f = both([a, b], [T.tensordot(a, b, p) for p in pairs])
    rng = np.random.default_rng(0)
    for n in (3, 18, 25):  # copies depend on the number of elements
        f(rng.normal(size=(n, n, n)), rng.normal(size=(n, n, n)))
    assert kernels_of(f)[0].endswith("kernels compiled")


def test_draws() -> None:
    x, n = T.dmatrix("x"), T.lscalar("n")
    rng = T.shared_randomstreams.RandomStreams(3)

    def step(x: Any) -> list[Any]:
        return [
            x + rng.normal(x.shape) * rng.uniform(),
            rng.uniform(x.shape, dtype="float32"),
            rng.binomial(size=x.shape, n=1, p=T.sigmoid(x)),
            rng.normal((5,)),
        ]

    found, updates = scanopt.scan(step, outputs_info=[x, None, None, None], n_steps=n)
    fs = [scanopt.function([x, n], found, updates=updates, fp="exact", backend=b, adapt=False) for b in ("c", "numpy")]
    for rows in (1, 2, 3, 7):
        for _ in range(2):
            given = np.ones((rows, 3)), 4
            values = []
            for f in fs:
                rng.seed(rows)
                values.append(f(*given))
            assert_same(*values)
    assert all("array steps" not in k.state for k in fs[0].kernels)


def test_loops_that_end_early_in_a_program() -> None:
    """They have as many rows as there were steps, by the quick way too; those with many run by themselves."""
    x, limit = T.dvector("x"), T.dscalar("limit")
    (xs, ks), _ = scanopt.scan(
        lambda x, k, limit: ([x * 2.0, k + 1], scanopt.until(T.max(x) * 2.0 > limit)),
        outputs_info=[x, T.constant(0)], non_sequences=[limit], n_steps=10**6,
    )  # fmt: skip
    f = both([x, limit], [T.exp(x), xs, xs.sum() + 0.0, ks[-1]])
    g = both([x, limit], [T.exp(x), xs, ks[-1]])
    h = both([x, limit], xs)
    for call in (f, g, h):
        for top in (0.5, 1.5, 100.0, 1e300, 0.1):
            for _ in range(3):
                call(np.array([1.0, 0.25]), top)
    assert kernels_of(g) == kernels_of(h) == ["1 of 1 kernels compiled"]
    g(np.array([1e-300, 0.0]), 1e300)
    g(np.array([0.0, 1e-320]), 1e300)


def quick(f: Any, *values: Any) -> Any:
    """The function in C by which calls with such values run, once it is there."""
    deadline = time.monotonic() + 60
    while f._entry.function is None:
        f(*values)
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return f._entry.function


@pytest.mark.skipif(not can_enter(), reason="calls go through Python here")
def test_the_quick_way_in() -> None:
    """It gives what the way through Python gives, or None where arguments are not as they were."""
    x, a, n = T.dvector("x"), T.dscalar("a"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s, a: T.tanh(s) * a, outputs_info=[x], non_sequences=[a], n_steps=n)
    f, plain = (scanopt.function([x, a, n], [ys, ys[-1].sum(), x], backend=b) for b in ("c", "numpy"))
    given = np.linspace(0, 1, 5)
    call = quick(f, given, 0.5, 3)
    expected = plain(given, 0.5, 3)
    for values in [(given, 0.5, 3), (given.copy(), np.float64(0.5), np.array(3)), (given, np.array(0.5), 3)]:
        assert_same(call(*values), expected)
    assert_same(call(given, 1, np.int64(3)), plain(given, 1, 3))
    strange = [
        (given, 0.5), (given, 0.5, 3, 4), (given.tolist(), 0.5, 3), (given[::-1], 0.5, 3), (given[:4], 0.5, 3),
        (given.astype("float32"), 0.5, 3), (given[:, None], 0.5, 3), (given, 2**53 + 1, 3), (given, 0.5, 4),
        (given, 0.5, 2**70),
        (given, 0.5, True), (given, 0.5, np.int32(3)), (given, None, 3), (given, np.array([0.5]), 3),
        (given.astype(">f8"), 0.5, 3), (np.ma.array(given), 0.5, 3),
    ]  # fmt: skip
    assert all(call(*values) is None for values in strange)
    for steps in (4, 3, 1, 7):
        for size in (5, 2, 1):
            for _ in range(2):
                assert_same(f(given[:size], 0.25, steps), plain(given[:size], 0.25, steps))
    with pytest.raises(TypeError):
        f(given, 0.5)
    with pytest.raises(TypeError):
        f(given, "a", 3)
    first, second = f(given, 0.5, 3), f(given, 0.5, 3)
    assert not any(np.shares_memory(p, q) for p in first for q in [*second, given])


@pytest.mark.skipif(not can_enter(), reason="calls go through Python here")
def test_quick_calls_leave_nothing_behind() -> None:
    x, limit = T.dvector("x"), T.dscalar("limit")
    ys, _ = scanopt.scan(lambda s, m: (s * 2.0, scanopt.until(T.max(s) > m)), outputs_info=[x], non_sequences=[limit],
                         n_steps=100)  # fmt: skip
    f = scanopt.function([x, limit], [ys, T.exp(x)], backend="c")
    given, limit_value = np.ones(3), np.array(50.0)
    gc.collect()  # what other tests left, which holds on to None, does not go in between
    quick(f, given, limit_value)
    assert min(_left_behind(f, given, limit_value) for _ in range(3)) < 2_000


def _left_behind(f: Any, given: Any, limit: Any) -> int:
    """Bytes that calls leave.  The first ones also leave the plan of arrays that lie otherwise."""
    held = (given, limit, np.float64, np.dtype("float64"), None)
    counts = [sys.getrefcount(v) for v in held]
    tracemalloc.start()
    for _ in range(2000):
        f(given, limit)
        f(given[::-1], limit)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    after = [sys.getrefcount(v) for v in held]
    assert all(abs(p - q) < 500 for p, q in zip(counts, after, strict=True)), (counts, after)
    return kept


def test_powers_of_one_number() -> None:
    """A polynomial by its coefficients: the table of powers has the bits that array steps give it."""
    c, x = T.dvector("c"), T.dscalar("x")
    terms, _ = scanopt.scan(lambda c, i, x: c * x**i, sequences=[c, T.arange(c.shape[0])], non_sequences=x)
    f, plain = (scanopt.function([c, x], [terms, terms.sum()], backend=b, cost=KERNELS) for b in ("c", "numpy"))
    assert "powers(" in str(f.program)
    assert str(f.program) == str(plain.program)
    for n in (1, 2, 3, 4, 5, 17, 100, 101):
        for at in (0.99, -1.5, 0.0, np.inf, np.nan):
            assert_same(f(np.linspace(-1, 1, n), at), plain(np.linspace(-1, 1, n), at))
    assert f.kernels[0].state.endswith("kernels compiled")


@pytest.mark.share(5)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "int8"])
@pytest.mark.parametrize("ndim", [0, 1, 2])
def test_powers_of_numbers_to_one_power(dtype: str, ndim: int) -> None:
    """The bits of array steps; where the power is out of range, array steps run."""
    s, A, k = T.TensorType(dtype, (None,) * ndim)("s"), T.TensorType(dtype, (None,) * ndim)("A"), T.lscalar("k")
    out, _ = scanopt.scan(lambda s, A: s * A, outputs_info=s, non_sequences=A, n_steps=k)
    sizes = np.ones((9,) * ndim, dtype), np.ones((9,) * ndim, dtype), 100_000
    f, plain = (
        scanopt.function([s, A, k], [out[-1]], backend=b, cost=KERNELS, example=sizes, adapt=False)
        for b in ("c", "numpy")
    )
    assert "geometric(" in str(f.program)
    assert str(f.program) == str(plain.program)
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 10, 1000, 100_000):
        for scale in (0.0, 0.3, 1.0, 3.0):
            start, base = (np.asarray(rng.normal(size=(3,) * ndim) * x).astype(dtype) for x in (1e-3, scale))
            assert_same(f(start, base, n), plain(start, base, n))
    if dtype.startswith("float") and ndim == 1:
        edges = np.array(
            [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype
        )
        for start in edges:
            assert_same(f(np.full(9, start, dtype), edges, 7), plain(np.full(9, start, dtype), edges, 7))


def test_strict_inputs_have_no_quick_way() -> None:
    x = T.dscalar("x")
    f = scanopt.function([scanopt.In(x, strict=True)], T.exp(x) * 2.0, backend="c")
    for _ in range(3):
        f(np.array(1.0))
    assert f._entry is None
    with pytest.raises(TypeError, match="strict"):
        f(1.0)


def test_many_numbers_of_steps() -> None:
    """Beyond some, calls are left to the kernel of the loop, which is one for all."""
    f = logistic()
    for n in range(1, 80):
        f(0.3, 3.9, n)
    assert len(f.c._compiled.choice.whole.planner.plan) == 64


def test_numbers_everywhere() -> None:
    a, n = T.dscalar("a"), T.lscalar("n")
    f = both([a, n], [T.full((n, 3), a) * 2.0, T.zeros(n) + a, T.full((2, n), a)])
    for count in (4, 1, 0):
        f(1.5, count)
    with pytest.raises(ValueError, match="negative"):
        f(1.5, -1)


def test_repeated_rows() -> None:
    x, v, n = T.dmatrix("x"), T.dvector("v"), T.lscalar("n")
    rows, _ = scanopt.map(lambda i, v: v, T.arange(n), [v])
    f = both([x, v, n], [T.broadcast_to(x, (n, x.shape[0], 3)) + 1.0, rows, T.broadcast_to(v[0], (n, 2))])
    for count in (1, 2, 5):
        for columns in (1, 3):
            f(np.arange(2.0 * columns).reshape(2, columns), np.arange(3.0), count)
    assert kernels_of(f)[0].endswith("kernels compiled")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_inverses_and_systems_of_narrow_floats(dtype: str) -> None:
    a, b = T.TensorType(dtype, (None, None))("a"), T.TensorType(dtype, (None, None))("b")
    f = both([a, b], [T.linalg.inv(a), T.linalg.inv(a.T), T.linalg.solve(a, b), T.linalg.solve(a, b[:, 0])])
    rng = np.random.default_rng(0)
    for n in (1, 2, 5):
        f(rng.normal(size=(n, n)).astype(dtype), rng.normal(size=(n, 3)).astype(dtype))
    assert kernels_of(f)[0].endswith("kernels compiled")
    with pytest.raises(np.linalg.LinAlgError):
        f.c(np.zeros((2, 2), dtype), np.ones((2, 1), dtype))


def test_places_along_any_axis() -> None:
    x, i, j = T.dtensor3("x"), T.lvector("i"), T.lmatrix("j")
    f = both([x, i, j], [x[:, i], x[:, :, i], x[:, j], x[j], T.sum(x[:, :, i] * 1.1, axis=1)])
    rng = np.random.default_rng(0)
    for shape in ((3, 3, 3), (5, 4, 7), (3, 9, 3)):
        f(rng.normal(size=shape), rng.integers(-3, 3, 6), rng.integers(-3, 3, (2, 4)))
    assert kernels_of(f)[0].endswith("kernels compiled")
    with pytest.raises(IndexError):
        f.c(np.ones((3, 3, 3)), np.array([3]), np.zeros((1, 1), "int64"))


def test_what_a_step_computes_of_lengths_alone() -> None:
    """It leaves the loop, to run only where there is a step: the program is one kernel all the same."""
    x, n = T.dmatrix("x"), T.lscalar("n")
    f = both([x, n], scanopt.scan(lambda s: T.roll(s, 1, 1) + T.roll(s, -2, 0), outputs_info=x, n_steps=n)[0][-1])
    for steps in (1, 2, 7):
        f(np.arange(12.0).reshape(3, 4), steps)
    assert [k.loop for k in f.c.kernels] == ["the program"]
    with pytest.raises(IndexError):
        f.c(np.ones((3, 4)), 0)


@pytest.mark.parametrize("by", [1, 2, 3, 7, 2**33])
def test_divisions_by_numbers_of_the_program(by: int) -> None:
    x, n = T.lscalar("x"), T.lscalar("n")
    f = both([x, n], scanopt.scan(lambda s: [s % by + s // by - 3 * s, s], outputs_info=[x, None], n_steps=n)[0])
    for start in (0, 5, -7, 2**62, -(2**63)):
        f(start, 50)


@pytest.mark.share(2)
@pytest.mark.parametrize("n", [1, 2, 8, 2**31, 2**62, 3, -2, -4])
def test_division_by_powers_of_two(n: int) -> None:
    x = T.lvector("x")
    found, _ = scanopt.scan(lambda x, s: s * 3 + x % n + x // n + s // n, x, T.constant(0, dtype="int64"))
    f = both([x], found)
    f(np.array([0, 1, -1, 7, -8, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 12345678901, -12345678901]))
    assert kernels_of(f) == ["1 of 1 kernels compiled"]
