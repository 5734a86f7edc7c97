"""Random numbers: NumPy's Philox bit for bit, right distributions, each element by itself."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import stats

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op
from scanopt.array.random.draws import Draws
from scanopt.array.random.philox import FOLD, blocks_at, philox, unit, word_rows
from scanopt.array.random.stream import _MADE_OF_OTHERS
from scanopt.array.variable import Variable

pytestmark = pytest.mark.usefixtures("brief_search")

R = T.random
RandomStreams = T.shared_randomstreams.RandomStreams
Array = np.ndarray[Any, Any]


def value(x: Variable) -> Array:
    return np.asarray(scanopt.interpret(x))


def state(*words: int) -> Array:
    return np.array(words, np.uint64)


def numpy_words(s: Array, count: int, lane: int = 0, attempt: int = 0) -> Array:
    counter = np.array([0, attempt, int(s[2]), lane], np.uint64)
    return np.asarray(np.random.Philox(key=s[:2], counter=counter).random_raw(count))


def random_states(n: int) -> Array:
    states = np.random.default_rng(7).integers(0, 2**64 - 1, (n, 3), np.uint64, True)
    states[:2] = [[0, 0, 0], [2**64 - 1] * 3]
    return states


# ---- words ----


@pytest.mark.parametrize(("rows", "count"), [(1, 1), (3, 70), (80, 5), (80, 66), (100, 1), (9000, 9)])
def test_words_are_those_of_numpy(rows: int, count: int) -> None:
    """By either way: NumPy's generator for few or long rows, array code for many short ones."""
    states = random_states(max(rows, 2))[:rows]
    got = word_rows(np, states, count, 3, 2)
    assert got.dtype == np.uint64
    for i in {0, rows // 2, rows - 1}:
        np.testing.assert_array_equal(got[i], numpy_words(states[i], count, 3, 2))


def test_philox_in_array_code() -> None:
    for s in random_states(20):
        n, zero = s[2:], state(0)
        words = philox((s[:1], s[1:2]), (state(5), state(6), n, zero))
        want = np.random.Philox(key=s[:2], counter=state(4, 6, int(n[0]), 0)).random_raw(4)
        assert [int(w[0]) for w in words] == want.tolist()


def test_blocks_with_a_counter_that_wraps() -> None:
    first = np.array([0, 1, 2**64 - 1] * 30, np.uint64)
    states = np.repeat(random_states(3)[2:], 90, axis=0)
    many = blocks_at(np, states, first, FOLD)
    few = blocks_at(np, states[:3], first[:3], FOLD)
    np.testing.assert_array_equal(many[:3], few)
    np.testing.assert_array_equal(few[1], numpy_words(states[0], 4, FOLD))


def test_unit_keeps_the_upper_bits() -> None:
    w = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)
    assert unit(w).tolist() == [0.0, 0.0, 0.5, 1 - 2.0**-53]
    assert unit(w, "float32").max() < 1
    assert unit(w, "float16").dtype == np.float16


@pytest.mark.parametrize("size", [(), 1, 7, (3, 5), 1000])
def test_uniform_numbers_are_those_of_numpy(size: Any) -> None:
    generator = np.random.Generator(np.random.Philox(42))
    np.testing.assert_array_equal(value(R.uniform(R.key(42), size)), generator.random(size or None))
    generator = np.random.Generator(np.random.Philox(key=[8, 9], counter=[0, 0, 3, 0]))
    np.testing.assert_array_equal(value(R.uniform(state(8, 9, 3), size, -2.0, 3.5)), generator.uniform(-2, 3.5, size))


def test_a_key_may_be_an_input_of_any_length() -> None:
    k, keys = T.vector("k", "uint64"), T.matrix("keys", "uint64")
    f = scanopt.function([k, keys], [R.uniform(k, (2,)), scanopt.map(lambda k: R.normal(k, (3,)), keys)[0]])
    one, rows = f(R.key(1).data, [R.key(1).data, R.key(2).data])
    np.testing.assert_array_equal(one, value(R.uniform(R.key(1), (2,))))
    np.testing.assert_array_equal(rows[1], value(R.normal(R.key(2), (3,))))
    with pytest.raises(ValueError, match="axis 0 has length 4, not 3"):
        f(np.zeros(4, "uint64"), np.zeros((2, 3), "uint64"))


def test_fold_in_and_split_by_definition() -> None:
    k = state(1, 2, 5)
    want = np.random.Philox(key=k[:2], counter=state(6, 0, 5, FOLD)).random_raw(2)
    assert value(R.fold_in(k, 6)).tolist() == [*want, 0]
    rows = value(R.split(k, 100))
    assert len(np.unique(rows[:, 0])) == 100
    np.testing.assert_array_equal(rows[6], value(R.fold_in(k, 6)))
    np.testing.assert_array_equal(value(R.fold_in(k, np.array([[6, 0]])))[0, 0], rows[6])
    assert value(R.advance(k)).tolist() == [1, 2, 6]
    assert value(R.advance(k, 2**63)).tolist() == [1, 2, 2**63 + 5]


# ---- each element by itself ----

A = np.linspace(0.05, 30, 40)
SAMPLES: dict[str, Callable[..., Variable]] = {
    "uniform": lambda k, n: R.uniform(k, (n,)),
    "normal": lambda k, n: R.normal(k, (n,)),
    "exponential": lambda k, n: R.exponential(k, (n,)),
    "gamma": lambda k, n: R.gamma(k, (n,), A[:n]),
    "beta": lambda k, n: R.beta(k, (n,), A[:n], 0.4),
    "integers": lambda k, n: R.integers(k, 0, 3 * 2**61, (n,)),
    "binomial": lambda k, n: R.binomial(k, (n,), np.arange(1, 41)[:n] ** 2, A[:n] / 31),
    "bernoulli": lambda k, n: R.binomial(k, (n,), p=A[:n] / 31),
    "poisson": lambda k, n: R.poisson(k, (n,), A[:n]),
    "multinomial": lambda k, n: R.multinomial(k, (n,), np.arange(1, 41)[:n], [0.1, 0.2, 0.7]),
    "choice": lambda k, n: R.choice(k, (n,), 3, p=[0.1, 0.2, 0.7]),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_an_element_does_not_depend_on_the_others(name: str) -> None:
    k = R.key(3)
    whole = value(SAMPLES[name](k, 40))
    for n in (0, 1, 2, 7, 23):
        np.testing.assert_array_equal(value(SAMPLES[name](k, n)), whole[:n])


@pytest.mark.share(2)
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("rows", [1, 90])
def test_a_loop_over_keys_is_one_draw(name: str, rows: int) -> None:
    """Bit for bit; and no loop is left."""
    keys = R.split(R.key(3), rows)
    f = scanopt.function([], scanopt.map(lambda k: SAMPLES[name](k, 6), keys)[0], example=[])
    assert "loop" not in str(f.program)
    got = f()
    np.testing.assert_array_equal(got, f.unoptimized())
    np.testing.assert_array_equal(got[-1], value(SAMPLES[name](value(keys)[-1], 6)))


def test_two_loops_over_keys_are_one_draw() -> None:
    keys = R.split(R.key(1), 5)

    def inner(k: Variable) -> Variable:
        draws: Variable = scanopt.map(lambda j: R.gamma(R.fold_in(k, j), (3,), 2.0), T.arange(4))[0]
        return draws

    f = scanopt.function([], scanopt.map(inner, keys)[0])
    np.testing.assert_array_equal(f(), f.unoptimized())
    assert f().shape == (5, 4, 3)


def test_rejected_integers_take_the_next_attempt() -> None:
    span = 3 * 2**61  # a quarter of all words is rejected
    k = state(11, 12, 4)
    got = value(R.integers(k, span, size=200))
    uneven = 2**64 % span
    attempts = []
    for i in range(200):
        attempt = 0
        while (product := int(numpy_words(k, i + 1, 0, attempt)[i]) * span) % 2**64 < uneven:
            attempt += 1
        assert got[i] == product >> 64
        attempts.append(attempt)
    assert max(attempts) > 1


def test_threads_do_not_disturb_each_other() -> None:
    f = scanopt.function([], R.uniform(R.key(5), 1000))
    want = f()
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: f(), range(200)):
            np.testing.assert_array_equal(got, want)


# ---- distributions: fixed seeds, so these hold always or never ----

N = 50_000
REAL: dict[str, tuple[Callable[..., Variable], Any]] = {
    "uniform": (lambda k: R.uniform(k, N, -1, 3), stats.uniform(-1, 4)),
    "uniform32": (lambda k: R.uniform(k, N, dtype="float32"), stats.uniform()),
    "normal": (lambda k: R.normal(k, N + 1, 1.0, 2.0), stats.norm(1, 2)),
    "exponential": (lambda k: R.exponential(k, N, 3.0), stats.expon(scale=3)),
    **{
        f"gamma {a}": ((lambda k, a=a: R.gamma(k, N, a, 2.0)), stats.gamma(a, scale=2))
        for a in (0.05, 0.7, 1, 2.5, 1e5)
    },
    **{
        f"beta {a} {b}": ((lambda k, a=a, b=b: R.beta(k, N, a, b)), stats.beta(a, b))
        for a, b in ((0.5, 0.5), (2, 3), (100, 0.5))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_numbers_have_their_distribution(name: str) -> None:
    make, distribution = REAL[name]
    for seed in (1, 2):
        assert stats.kstest(value(make(R.key(seed))), distribution.cdf).pvalue > 1e-3


COUNTS: dict[str, tuple[Callable[..., Variable], Any]] = {
    **{
        f"binomial {n} {p}": ((lambda k, n=n, p=p: R.binomial(k, N, n, p)), stats.binom(n, p))
        for n, p in ((1, 0.3), (5, 0.3), (20, 0.7), (100, 0.05), (100, 0.5), (1000, 0.9), (40, 0.25), (9999, 0.001))
    },
    "bernoulli": (lambda k: R.binomial(k, N, np.ones(N, int), 0.3), stats.binom(1, 0.3)),
    **{f"poisson {m}": ((lambda k, m=m: R.poisson(k, N, m)), stats.poisson(m)) for m in (0.1, 3, 9.99, 10, 30, 1000)},
    "integers": (lambda k: R.integers(k, 3, 10, N), stats.randint(3, 10)),
    "endpoint": (lambda k: R.integers(k, -1, 1, N, endpoint=True), stats.randint(-1, 2)),
    "choice": (
        lambda k: R.choice(k, N, [5, 7, 6], p=[0.2, 0.3, 0.5]),
        stats.rv_discrete(values=([5, 7, 6], [0.2, 0.3, 0.5])),
    ),
    "choice of n": (lambda k: R.choice(k, N, 4), stats.randint(0, 4)),
    "multinomial": (lambda k: R.multinomial(k, N, 50, [0.2, 0.5, 0.3])[:, 1], stats.binom(50, 0.5)),
    "multinomial last": (lambda k: R.multinomial(k, N, 9, [0.2, 0.5, 0.3])[:, 2], stats.binom(9, 0.3)),
    "multinomial once": (lambda k: R.multinomial(k, N, 1, [0.2, 0.5, 0.3])[:, 2], stats.binom(1, 0.3)),
    "permutation": (lambda k: R.permutation(k, (N,), 5)[:, 3], stats.randint(0, 5)),
    "without replacement": (
        lambda k: scanopt.map(lambda q: R.choice(q, (2,), 3, False, [0.5, 0.3, 0.2])[1], R.split(k, N))[0],
        # second of two: sum over the first of p_first * p / (1 - p_first)
        stats.rv_discrete(values=([0, 1, 2], [0.3 * 5 / 7 + 0.2 * 5 / 8, 0.3 + 0.2 * 3 / 8, 0.2 + 0.3 * 2 / 7])),
    ),
}  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize("name", COUNTS)
def test_counts_have_their_distribution(name: str) -> None:
    make, distribution = COUNTS[name]
    for seed in (1, 2):
        x = scanopt.function([], make(R.key(seed)))()
        expected = distribution.pmf(np.arange(2 * x.max() + 20)) if x.min() >= 0 else None
        if expected is None:
            x, expected = x + 1, distribution.pmf(np.arange(20) - 1)
        seen = np.bincount(x, minlength=len(expected))
        common = expected * N > 5
        got, want = [*seen[common], seen[~common].sum()], [*expected[common] * N, (1 - expected[common].sum()) * N]
        if want[-1] < 1:
            assert got.pop() <= 3
            want.pop()
        assert stats.chisquare(got, np.array(want) * (sum(got) / sum(want))).pvalue > 1e-3


def test_extreme_parameters() -> None:
    k = R.key(9)
    assert value(R.gamma(k, 5, 0.0)).tolist() == [0.0] * 5
    assert np.isnan(value(R.gamma(k, 5, np.nan))).all()
    assert np.isinf(value(R.gamma(k, 5, np.inf))).all()
    assert value(R.binomial(k, 5, [0, 3, 3, 100, 10**6], [0.5, 0, 1, 1, 0])).tolist() == [0, 0, 3, 100, 0]
    assert value(R.poisson(k, 5, 0.0)).tolist() == [0] * 5
    assert abs(value(R.poisson(k, 100, 1e15)) / 1e15 - 1).max() < 2e-7
    assert abs(value(R.binomial(k, 100, 10**12, 0.5)) / 5e11 - 1).max() < 1e-5
    assert value(R.normal(k, 3, 2.0, 0.0)).tolist() == [2.0] * 3
    small = value(R.beta(k, 2000, 0.01, 0.01))
    assert not np.isnan(small).any()
    assert abs(small.mean() - 0.5) < 0.04
    bound = np.iinfo(np.int64)
    assert value(R.integers(k, bound.min, -1, 1000)).min() < -(2**62)


def test_multinomial_adds_up() -> None:
    n = np.array([[0], [1], [7], [1000]])
    x = value(R.multinomial(R.key(1), (4, 50), n, [0.2, 0.0, 0.5, 0.3]))
    assert x.shape == (4, 50, 4)
    np.testing.assert_array_equal(x.sum(-1), np.broadcast_to(n, (4, 50)))
    assert (x >= 0).all()
    assert (x[..., 1] == 0).all()
    assert value(R.multinomial(R.key(1), n=[3, 4], pvals=[1.0])).tolist() == [[3], [4]]


def test_permutations_and_shuffling() -> None:
    x = value(R.permutation(R.key(1), (20,), 9))
    np.testing.assert_array_equal(np.sort(x), np.tile(np.arange(9), (20, 1)))
    assert len({tuple(row) for row in x}) == 20
    m = np.arange(12.0).reshape(3, 4)
    rows = value(RandomStreams(3).shuffle_row_elements(m))
    np.testing.assert_array_equal(np.sort(rows), m)
    some = value(R.choice(R.key(2), (2, 2), np.array([3.0, 1.0, 4.0, 1.5, 9.0]), replace=False))
    assert len(set(some.ravel())) == 4
    by_p = value(R.choice(R.key(2), 2, 4, replace=False, p=[0.5, 0, 0.5, 0]))
    assert sorted(by_p) == [0, 2]


# ---- sizes, dtypes, errors ----


def test_sizes() -> None:
    k, n, x, y, s = R.key(1), T.lscalar("n"), T.vector("x"), T.matrix("y"), T.lvector("s")
    f = scanopt.function([n, x, y, s], [
        R.uniform(k, (n, 2)), R.normal(k, avg=x, std=abs(y)), R.binomial(k, p=x), R.poisson(k, x.shape, lam=2.0),
        R.uniform(k, s, ndim=2), R.permutation(k, n=n), R.multinomial(k, pvals=T.nnet.softmax(y)),
        R.uniform(k, x.shape, 0, x),
    ])  # fmt: skip
    shapes = [a.shape for a in f(3, np.full(4, 0.5), np.ones((2, 4)), np.array([5, 0]))]
    assert shapes == [(3, 2), (2, 4), (4,), (4,), (5, 0), (3,), (2, 4), (4,)]
    with pytest.raises(ValueError, match="negative length"):
        f(-3, np.full(4, 0.5), np.ones((2, 4)), np.array([5, 0]))
    with pytest.raises(ValueError, match="ndim is 3"):
        R.uniform(k, (2, 2), ndim=3)
    with pytest.raises(ValueError, match="do not broadcast to the size"):
        R.gamma(k, (1,), np.ones(5))
    with pytest.raises(ValueError, match="broadcast"):
        R.normal(k, (1,), np.ones(5))
    with pytest.raises(ValueError, match="broadcast"):
        value(R.binomial(k, (1,), p=scanopt.shared(np.ones(5))))


def test_dtypes() -> None:
    k = R.key(1)
    assert R.uniform(k).dtype == "float64"
    assert R.uniform(k, low=np.float32(2)).dtype == "float64"
    assert R.normal(k, 3, dtype="float32").dtype == value(R.normal(k, 3, 1.5, dtype="float32")).dtype == "float32"
    assert R.binomial(k).dtype == R.poisson(k).dtype == R.integers(k, 2).dtype == R.permutation(k).dtype == "int64"
    assert value(R.binomial(k, 3, 5, 0.2, dtype="float32")).dtype == "float32"
    assert R.choice(k, 3, np.array([1.5])).dtype == "float64"
    assert R.choice(k, 3, np.array([1.5]), dtype="float32").dtype == "float32"
    scanopt.config.floatX = "float32"
    try:
        assert R.uniform(k).dtype == R.gamma(k).dtype == R.beta(k).dtype == "float32"
        assert R.normal(k, avg=np.zeros(2)).dtype == "float64"
    finally:
        scanopt.config.floatX = "float64"
    with pytest.raises(TypeError, match="floating point"):
        R.uniform(k, dtype="int64")
    with pytest.raises(TypeError, match="integers"):
        R.binomial(k, n=2.5)
    with pytest.raises(TypeError, match="expected a key"):
        R.uniform((3,))


INVALID: dict[str, tuple[Callable[..., Variable], Any]] = {
    "binomial: p must be at most 1": (lambda k, x: R.binomial(k, 3, p=x), 1.5),
    "binomial: p must be at least 0": (lambda k, x: R.binomial(k, 3, 4, x), np.nan),
    "normal: std must be at least 0": (lambda k, x: R.normal(k, 3, 0, x), -1.0),
    "exponential: scale": (lambda k, x: R.exponential(k, 3, x), -1.0),
    "gamma: shape": (lambda k, x: R.gamma(k, 3, x), -1.0),
    "beta: b must be above 0": (lambda k, x: R.beta(k, 3, 1, x), 0.0),
    "poisson: lam": (lambda k, x: R.poisson(k, 3, x), -1.0),
    "choice: p must sum to 1": (lambda k, x: R.choice(k, 3, 2, p=T.stack([x, x])), 0.4),
    "multinomial: pvals must sum to 1 at most": (lambda k, x: R.multinomial(k, 3, 2, T.stack([x, x, x])), 0.7),
    "integers: high - low": (lambda k, x: R.integers(k, 3, T.cast(x, "int64"), 2), 3.0),
}


@pytest.mark.parametrize("text", INVALID)
def test_invalid_parameters_raise(text: str) -> None:
    make, bad = INVALID[text]
    x = T.dscalar("x")
    f = scanopt.function([x], make(R.key(1), x))
    for run in (f, f.unoptimized):
        with pytest.raises(ValueError, match=text):
            run(bad)
    if "sum" not in text and "integers" not in text:
        with pytest.raises(ValueError, match=text):
            make(R.key(1), bad)


def test_too_many_without_replacement() -> None:
    with pytest.raises(ValueError, match="without replacement"):
        value(R.choice(R.key(1), 3, 4, False, [0.5, 0.5, 0, 0]))
    with pytest.raises(ValueError, match="without replacement: entries - places wanted must be at least 0"):
        R.choice(R.key(1), 5, 4, False)
    n = T.lscalar("n")
    for size, a, good, bad in (((2, n), 6, 3, 4), ((2, 3), n, 6, 5)):
        f = scanopt.function([n], R.choice(R.key(1), size, a, False))
        with pytest.raises(ValueError, match="without replacement: entries - places wanted must be at least 0"):
            f(bad)
        assert sorted(f(good).ravel()) == list(range(6))


def test_a_probability_for_each_entry() -> None:
    x, a = T.dvectors("x", "a")
    with pytest.raises(ValueError, match="p has 3 probabilities for 2 entries"):
        R.choice(R.key(1), 5, 2, p=[0.5, 0.25, 0.25])
    f = scanopt.function([x, a], R.choice(R.key(1), 5, a, p=x))
    assert set(f([0.0, 1.0], [3.0, 4.0])) == {4.0}
    for run in (f, f.unoptimized):
        with pytest.raises(ValueError, match="axis 0 has length 3, not 2"):
            run([0.5, 0.25, 0.25], [3.0, 4.0])


def test_keys_from_symbols() -> None:
    seed = T.lscalar("seed")
    f = scanopt.function([seed], R.uniform(R.key(seed), 3))
    np.testing.assert_array_equal(f(4), value(R.uniform(R.fold_in(R.key(0), 4), 3)))
    with pytest.raises(ValueError, match="non-negative"):
        R.key(-1)


def test_draws_know_their_shape() -> None:
    d = Draws(np, state(1, 2, 3), (), (2, 3))
    assert d.shape == (2, 3)
    assert d.normal().shape == (2, 3)
    op = Op.make("random_uniform", shape=(2, None), dtype="float64")
    assert op.can_raise
    assert op.data_shape
    assert not Op.make("random_uniform", shape=(2, 3), dtype="float64").can_raise


# ---- streams ----


def test_streams_differ_and_repeat_by_seed() -> None:
    a, b = RandomStreams(1234), RandomStreams(1234)
    first, second = value(a.uniform((100,))), value(a.uniform((100,)))
    assert not (first == second).any()
    np.testing.assert_array_equal(first, value(b.uniform((100,))))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.3
    child = np.random.SeedSequence(1234).spawn(1)[0]
    np.testing.assert_array_equal(first, np.random.Generator(np.random.Philox(child)).random(100))
    assert not (value(RandomStreams(1).uniform(9)) == value(RandomStreams(2).uniform(9))).any()
    assert not (value(RandomStreams().uniform(9)) == value(RandomStreams().uniform(9))).any()


def test_a_stream_goes_on_with_its_update() -> None:
    streams = RandomStreams(5)
    x = streams.normal((4,))
    ((s, after),) = streams.updates()
    assert s.default_update is after
    assert streams[x] is s
    assert x.rng is s
    assert x.update == (s, after)
    f = scanopt.function([], x, updates={s: after})
    first, second = f(), f()
    assert not (first == second).any()
    assert s.get_value()[2] == 2
    streams.seed()
    np.testing.assert_array_equal(f(), first)
    streams.seed(6)
    assert not (f() == first).any()
    with pytest.raises(KeyError, match="not a result of these streams"):
        streams[T.vector("v")]


def test_every_method_of_streams() -> None:
    t = RandomStreams(5)
    xs = [
        t.uniform((3,), 1, 2), t.normal((3,), 0.0, 1.0), t.normal((3,), loc=2.0, scale=0.1), t.exponential((3,), 2.0),
        t.gamma((3,), 2.0, 3.0), t.beta((3,), 2.0, 3.0), t.binomial((3,), 1, 0.5), t.binomial(size=(3,), n=4, p=0.5),
        t.poisson((3,), 4.0), t.multinomial((3,), 4, [0.5, 0.5]), t.integers(0, 5, (3,)), t.integers(5, size=(3,)),
        t.random_integers((3,), 2, 2), t.choice((3,), 5), t.permutation((3,), 6),
        t.shuffle_row_elements(np.eye(3)), t.gen(R.uniform, (3,)),
    ]  # fmt: skip
    results = scanopt.function([], xs)()
    assert all(len(r) == 3 for r in results)
    assert results[12].tolist() == [2, 2, 2]
    assert len(t.updates()) == len(xs)


def gibbs(seed: int) -> tuple[Any, Variable, dict[Any, Variable]]:
    rng = np.random.default_rng(0)
    W, bvis, bhid = (scanopt.shared(rng.normal(size=s)) for s in ((5, 4), 5, 4))
    trng = RandomStreams(seed)

    def step(v: Variable) -> Variable:
        hmean = T.nnet.sigmoid(scanopt.dot(v, W) + bhid)
        hsample = trng.binomial(size=hmean.shape, n=1, p=hmean)
        vmean = T.nnet.sigmoid(scanopt.dot(hsample, W.T) + bvis)
        return trng.binomial(size=v.shape, n=1, p=vmean, dtype=scanopt.config.floatX)

    sample = T.vector("sample")
    values, updates = scanopt.scan(step, outputs_info=sample, n_steps=10)
    return sample, values, updates


def test_gibbs_chain_of_the_documents() -> None:
    sample, values, updates = gibbs(1234)
    f = scanopt.function([sample], values, updates=updates)
    want = f.unoptimized(np.ones(5))
    first, second = f(np.ones(5)), f(np.ones(5))
    np.testing.assert_array_equal(first, want)
    assert first.shape == (10, 5)
    assert set(first.ravel()) == {0.0, 1.0}
    assert (first != second).any()


def test_draws_by_key_inside_a_loop_need_no_updates() -> None:
    x = T.vector("x")
    k = R.key(1)
    walk, updates = scanopt.scan(lambda t, s: s + R.normal(R.fold_in(k, t), s.shape), [T.arange(50)], outputs_info=[x])
    assert not updates
    f = scanopt.function([x], walk)
    got = f(np.zeros(3))
    steps = np.stack([value(R.normal(value(R.fold_in(k, t)), (3,))) for t in range(50)])
    np.testing.assert_allclose(got, np.cumsum(steps, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(f(np.zeros(3)), got)


def test_updates_that_are_not_passed_are_warned_about_once() -> None:
    trng = RandomStreams(1)
    walk, u = scanopt.scan(lambda s: s + trng.normal(s.shape), outputs_info=T.zeros(2), n_steps=3, name="walk")
    more, more_u = scanopt.scan(lambda: [trng.uniform(), trng.poisson()], n_steps=2)
    a = scanopt.shared(1.0)
    with pytest.warns(UserWarning, match="same random numbers") as warned:
        f = scanopt.function([], [walk, *more], updates={a: a + 1})
    assert (f()[0] == f()[0]).all()
    (one,) = warned
    text = str(one.message)
    assert "'normal_0' uint64[3], 'uniform_1' uint64[3], 'poisson_2' uint64[3]" in text
    assert f"scan 'walk' ({__file__}:" in text
    assert one.filename == __file__
    with pytest.warns(UserWarning, match="'normal_0' uint64.3. of scan 'walk'"):
        scanopt.function([], [walk, *more], updates=more_u)
    g = scanopt.function([], [walk, *more], updates=u + more_u)
    assert (g()[0] != g()[0]).any()
    g.copy(delete_updates=True)


def test_nothing_to_warn_of() -> None:
    trng = RandomStreams(1)

    def inner() -> tuple[Variable, Any]:
        draws, u = scanopt.scan(lambda: trng.uniform(), n_steps=3)
        return draws.sum(), u

    sums, u = scanopt.scan(inner, n_steps=2)
    f = scanopt.function([], sums, updates=u)
    assert len({*f(), *f()}) == 4
    last, _ = scanopt.loop(lambda s, _: (s + trng.normal(), None), 0.0, 3)  # goes on by itself
    f = scanopt.function([], last)
    assert f() != f()
    scanopt.function([], last, no_default_updates=True)
    key = T.tensor("uint64", (3,), "key")
    draws, u = scanopt.scan(lambda: trng.uniform(), n_steps=3)
    f = scanopt.function([key], draws, givens={next(iter(u)): key})
    np.testing.assert_array_equal(f(state(1, 2, 3)), f(state(1, 2, 3)))


MEANS = {
    "betabinom": 40 / 7, "categorical": 0.8, "chisquare": 3.0, "geometric": 2.5, "gumbel": 1 + 2 * np.euler_gamma,
    "halfnormal": 2 * np.sqrt(2 / np.pi), "invgamma": 1.0, "laplace": 1.0, "logistic": 1.0,
    "negative_binomial": 15.0, "pareto": 8 / 3, "randint": 2.0, "random": 0.5, "shuffle": 2.0,
    "standard_normal": 0.0, "t": 1.0, "weibull": 0.9064,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(_MADE_OF_OTHERS))
def test_what_to_write_for_other_distributions(name: str) -> None:
    s = R.RandomStream(5)
    with pytest.raises(AttributeError, match="write ") as error:
        getattr(s, name)
    text = str(error.value).partition("write ")[2].removesuffix(" for a stream s")
    assert text == _MADE_OF_OTHERS[name]
    names = dict(s=s, T=T, size=(4000,), loc=1.0, scale=2.0, df=3.0, n=10, low=0, high=5, p=0.4, alpha=4.0, beta=3.0)
    if name == "categorical":
        names["p"] = T.constant([0.2, 0.8])
    if name == "shuffle":
        names["x"] = T.arange(5)
    if name == "multivariate_normal":
        names.update(loc=T.zeros(2), cov=T.eye(2))
    found = value(eval(text, names))
    assert np.isfinite(found).all()
    if name in MEANS:
        assert found.mean() == pytest.approx(MEANS[name], abs=0.35 * max(1.0, MEANS[name] / 4))
