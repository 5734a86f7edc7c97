"""Products made of tiles: chosen only where their bits are NumPy's, and used for every layout."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.backends.kernels import tiles, trials
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.tiles import TiledProduct

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason="needs a C compiler")


@pytest.fixture
def forced(monkeypatch):
    """Tiles wherever they may be, however long they take; what was asked for."""
    tiles.ready(seconds=120)
    asked: dict[TiledProduct, bool] = {}

    def better(x: TiledProduct) -> bool:
        asked[x] = tiles.agree(x)
        return asked[x]

    monkeypatch.setattr("scanopt.backends.kernels.plans.better", better)
    return asked


def openblas():
    """Whether NumPy's BLAS is one that is known to add up in this order."""
    found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]  # type: ignore[call-overload]
    return "openblas" in found


def packed(dtype, m, k, n, turned=False):
    item = np.dtype(dtype).itemsize
    return TiledProduct(dtype, (m, k, n), (k * item, item), (item, k * item) if turned else (n * item, item), True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_rows_times_a_matrix_as_it_lies(dtype):
    assert tiles.ready(seconds=120)
    rng, item, agreed = np.random.default_rng(1), np.dtype(dtype).itemsize, 0
    for m, k, n in [(4, 128, 512), (4, 37, 300), (2, 9, 5), (4, 8, 12), *rng.integers(2, 60, (40, 3)).tolist()]:
        case = TiledProduct(dtype, (m, k, n), (k * item, item), (n * item, item), False, as_it_lies=True)
        trial, a, b = tiles.ProductTrial(case), rng.normal(size=(m, k)), rng.normal(size=(k, n))
        same = trial.agree(a, b)
        np.testing.assert_allclose(trial.other, trial.a @ trial.b, rtol=0, atol=1e-3 if dtype == "float32" else 1e-9)
        if tiles.agree(case):
            agreed += 1
            assert same
    assert agreed or not openblas() or dtype == "float32"  # of which BLAS keeps two sums on some processors
    turned = TiledProduct(dtype, (4, 8, 12), (8 * item, item), (item, 8 * item), False, as_it_lies=True)
    assert not tiles.agree(turned)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [False, True])
def test_tiles_that_agree_have_the_bits_of_numpy(dtype, turned):
    assert tiles.ready(seconds=120)
    rng = np.random.default_rng(0)
    agreed = 0
    for _ in range(40):
        m, k, n = (int(x) for x in rng.integers(2, 50, 3))
        case = packed(dtype, m, k, n, turned)
        if not tiles.agree(case):
            continue
        agreed += 1
        a = rng.normal(size=(m, k)).astype(dtype)
        b = rng.normal(size=(n, k)).astype(dtype).T if turned else rng.normal(size=(k, n)).astype(dtype)
        trial = tiles.ProductTrial(case)
        assert trial.agree(a, b)
        np.testing.assert_array_equal(trial.other, a @ b)
    assert agreed or turned or not openblas()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_side_by_side_have_the_bits_of_numpy(dtype):
    """BLAS for some processors keeps several sums for elements in certain places, and for those of a single row."""
    assert tiles.ready(seconds=120)
    rows, columns = (1, 2, 3, 4, 5, 7, 12, 13, 16, 24, 31), (4, 9, 16, 20, 29, 40, 96, 345, 700)
    cases = [(m, k, n) for m in rows for n in columns for k in (1, 9, 16, 37) if m * k * n < 200_000]
    found = [x for x in cases if tiles.agree.__wrapped__(packed(dtype, *x))]
    if tiles.haswell_orders() and openblas():
        assert found == cases
    elif openblas():
        assert found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("by_rows", [True, False])
def test_vectors_by_weights_have_the_bits_of_numpy(dtype, fp, by_rows, forced):
    X, s, W = (T.TensorType(dtype, (None,) * n)() for n in (2, 1, 2))
    step = lambda x, s, W: T.tanh(x + (s @ W if by_rows else W @ s))  # noqa: E731
    found, _ = scanopt.scan(step, X, s, non_sequences=W)
    f, g = (scanopt.function([X, s, W], found, fp=fp, backend=b) for b in ("c", "numpy"))
    rng = np.random.default_rng(4)
    for n in (9, 16, 28, 33, 70):
        values = [rng.normal(size=shape).astype(dtype) for shape in ((20, n), (n,), (n, n))]
        for W in (values[2], np.asfortranarray(values[2]), np.repeat(values[2], 2, axis=0)[::2]):
            for x in (values[1], np.repeat(values[1], 2)[::2]):
                np.testing.assert_array_equal(f(values[0], x, W), g(values[0], x, W))
    assert any(forced.values()) == (tiles.haswell_orders() and openblas())
    assert "1 of 1" in str(f.kernels[0]), f.kernels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrices_by_vectors_are_added_in_the_order_of_numpy(dtype):
    assert tiles.ready(seconds=120)
    cases = [(m, k, 1) for m in (2, 3, 4, 5, 6, 7, 8, 31, 64) for k in (*range(2, 18), 31, 33, 64, 100, 515)]
    found = [x for x in cases if tiles.agree.__wrapped__(packed(dtype, *x))]
    if tiles.haswell_orders() and openblas():
        assert found == cases
    turned = tiles.TiledProduct(dtype, (6, 5, 1), (8, 48), (8, 8), True)
    assert not tiles.agree.__wrapped__(turned)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_products_of_vectors_have_the_bits_of_numpy(dtype, fp, forced):
    X, w = T.TensorType(dtype, (None, None))("X"), T.TensorType(dtype, (None,))("w")
    found, _ = scanopt.scan(lambda x, w: w - x * T.dot(x, w) / 64, X, w)
    f, g = (scanopt.function([X, w], found, fp=fp, backend=b) for b in ("c", "numpy"))
    rng = np.random.default_rng(0)
    for n in (9, 20, 33, 71, 3000):
        x, y = rng.normal(size=(5, n)).astype(dtype), rng.normal(size=n).astype(dtype)
        for rows in (x, np.repeat(x, 2, axis=1)[:, ::2]):
            np.testing.assert_array_equal(f(rows, y), g(rows, y))
    assert any(forced.values()) or not openblas()
    assert "1 of 1" in str(f.kernels[0]), f.kernels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_vectors_in_kernels_are_those_of_the_functions(dtype, forced):
    X, w = T.TensorType(dtype, (None, None))("X"), T.TensorType(dtype, (None,))("w")
    found, _ = scanopt.scan(lambda x, s, w: T.dot(x, w) + s * 0, X, T.constant(0.0, dtype=dtype), w)
    f = scanopt.function([X, w], found, fp="exact", backend="c")
    rng = np.random.default_rng(1)
    for n in (*range(9, 36), 47, 64, 65, 79, 200):
        x, y = rng.normal(size=(6, n)).astype(dtype), rng.normal(size=n).astype(dtype)
        x[1, -1], x[2, n // 2], x[3, 0] = np.nan, np.inf, 1e30
        x[4:], y[0] = rng.choice([0.0, -0.0, 1e-40], (2, n)), -0.0
        values = f(x, y)
        np.testing.assert_array_equal(values, f.unoptimized(x, y))
        np.testing.assert_array_equal(np.signbit(values), np.signbit(f.unoptimized(x, y)))
    assert f"DOT_{dtype}(F" in str(f.kernels[0]), f.kernels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_vectors_beside_extremes_of_rows(dtype, forced):
    """The texts of both stand in one kernel."""
    X, w = T.TensorType(dtype, (None, None))("X"), T.TensorType(dtype, (None,))("w")

    def step(x, s, w):
        return T.dot(x, w) + s * T.max(x) + T.cast(T.argmax(x), dtype)

    found, _ = scanopt.scan(step, X, T.constant(0.0, dtype=dtype), w)
    f = scanopt.function([X, w], found, fp="exact", backend="c")
    rng = np.random.default_rng(2)
    for n in (20, 33, 100):
        values = rng.normal(size=(6, n)).astype(dtype), rng.normal(size=n).astype(dtype)
        np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
    text = str(f.kernels[0])
    assert "1 of 1" in text, f.kernels
    assert f"DOT_{dtype}(F" in text, text
    assert f"WIDTH_{dtype}" in text, text


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_of_a_vector_at_several_places(dtype):
    """Each has the bits of a product alone."""
    assert tiles.ready(seconds=120)
    many, one = (tiles.address(name, dtype) for name in ("dots", "dot"))
    rng = np.random.default_rng(3)
    for n in (*range(1, 40), 64, 71, 200):
        for count in (1, 7, 13, 64):
            x, y = rng.normal(size=n + count - 1).astype(dtype), rng.normal(size=n).astype(dtype)
            found, expected = np.empty((2, count), dtype)
            trials.call_of(many, (x, y, found), (n, count), ())()
            for i in range(count):
                trials.call_of(one, (x[i:], y, expected[i:]), (n,), ())()
            np.testing.assert_array_equal(found, expected)


def test_another_order_does_not_agree(monkeypatch):
    assert tiles.ready(seconds=120)
    case = packed("float64", 6, 40, 7)
    called = trials.call_of

    def backwards(function, arrays, *rest):
        """Of the last product of the sum first."""
        if len(arrays) == 3 and arrays[1].ndim == 2:

            def plain():
                a, b, out = arrays
                total = np.zeros(out.shape)
                for p in reversed(range(a.shape[1])):
                    total += a[:, p, None] * b[p]
                out[...] = total

            return plain
        return called(function, arrays, *rest)

    monkeypatch.setattr(trials, "call_of", backwards)
    assert not tiles.agree.__wrapped__(case)


def test_what_is_large_empty_or_lies_backwards_is_left_to_numpy():
    item = 8
    assert not tiles.better(packed("float64", 4, 0, 4))
    assert not tiles.better(packed("float64", 2, 1000, 1000))
    assert not tiles.better(TiledProduct("float64", (4, 4, 4), (32, item), (-32, item), True))
    assert not tiles.better(
        TiledProduct("float64", (4, 4, 4), (32, item), (item, 32), True)
    )  # perhaps of a matrix and itself


STEPS = {
    "weights": lambda u, s, W, V: T.tanh(s @ W + u),
    "turned weights": lambda u, s, W, V: T.tanh(s @ W.T + u),
    "a matrix of the step": lambda u, s, W, V: T.tanh(s @ (W * T.sum(s)) + u),
    "the state on the right": lambda u, s, W, V: T.tanh(V @ s * 0.1 + u),
    "two products": lambda u, s, W, V: T.tanh(V @ (s @ W) * 0.1 + s @ (W + 1.0) * 0.01 + u),
    "in a loop in the loop": lambda u, s, W, V: scanopt.scan(
        lambda r, W: T.tanh(r @ W), outputs_info=s + u, non_sequences=W, n_steps=3
    )[0][-1],
}


@pytest.mark.share(6)
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", STEPS)
def test_loops_with_tiles_have_the_bits_of_array_steps(name, dtype, fp, forced):
    u, s, W, V = (T.TensorType(dtype, (None,) * n)() for n in (3, 2, 2, 2))
    ys, _ = scanopt.scan(STEPS[name], u, s, non_sequences=[W, V])
    kernel = scanopt.function([u, s, W, V], ys, fp=fp, backend="c")

    def expected(values):
        """By the array steps that stand in for the kernel, or the interpreter."""
        return executor("auto").compile(kernel.program)(values)[0] if fp == "reassoc" else kernel.unoptimized(*values)

    rng = np.random.default_rng(1)
    for batch, units in ((5, 7), (12, 33), (9, 16), (2, 2), (1, 4), (3, 1)):
        shapes = ((4, batch, units), (batch, units), (units, units), (batch, batch))
        values = [rng.normal(size=shape).astype(dtype) for shape in shapes]
        for _ in range(2):  # the second call may go in quickly
            np.testing.assert_array_equal(kernel(*values), expected(values))
        values[2] = np.asfortranarray(values[2])
        np.testing.assert_array_equal(kernel(*values), expected(values))
    assert any(forced.values()) or not openblas()


def test_gradients_of_a_batch_with_tiles(forced):
    u, s, W = T.dtensor3("u"), T.dmatrix("s"), T.dmatrix("W")
    ys, _ = scanopt.scan(lambda u, s, W: T.tanh(s @ W + u), u, s, non_sequences=W)
    f = scanopt.function([u, s, W], T.grad((ys**2).sum(), W), fp="exact", backend="c")
    rng = np.random.default_rng(2)
    values = [rng.normal(size=shape) for shape in ((6, 10, 9), (10, 9), (9, 9))]
    np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
    assert forced


def test_panels_of_weights_are_laid_out_before_the_loop(forced):
    u, s, W = T.dtensor3("u"), T.dmatrix("s"), T.dmatrix("W")
    ys, _ = scanopt.scan(lambda u, s, W: T.tanh(s @ W + u), u, s, non_sequences=W)
    f = scanopt.function([u, s, W], ys, backend="c")
    f(np.ones((3, 8, 8)), np.ones((8, 8)), np.ones((8, 8)))
    assert [x.once for x in forced] == [True]
    (text,) = f.kernels[0].texts
    laid, multiplied = (i for i, line in enumerate(text.splitlines()) if line.strip().startswith("if ((m"))
    loops = [i for i, line in enumerate(text.splitlines()) if line.strip().startswith("while (")]
    assert laid < loops[0] < loops[1] < multiplied


def rnn():
    """A loop with a product that may be made of tiles, and values for it."""
    u, s, W = T.dtensor3("u"), T.dmatrix("s"), T.dmatrix("W")
    ys, _ = scanopt.scan(lambda u, s, W: T.tanh(s @ W + u), u, s, non_sequences=W)
    rng = np.random.default_rng(3)
    values = [rng.normal(size=shape) for shape in ((20, 8, 24), (8, 24), (24, 24))]
    return scanopt.function([u, s, W], ys, fp="exact", backend="c"), values


def scratch(f):
    """Bytes of scratch memory of the only plan of a function."""
    (plan,) = f._compiled._whole.planner.plan._plans.values()
    return plan.size


def test_panels_take_memory_only_where_a_product_is_made_of_them(monkeypatch):
    tiles.ready(seconds=120)
    sizes = []
    for chosen in (False, True):
        monkeypatch.setattr("scanopt.backends.kernels.plans.better", lambda x, chosen=chosen: chosen and tiles.agree(x))
        f, values = rnn()
        f(*values)
        sizes.append(scratch(f))
    assert sizes[0] < sizes[1] or not openblas()


def test_threads_meet_a_plan_while_it_is_settled(forced, monkeypatch):
    f, values = rnn()
    expected = f.unoptimized(*values)
    asked = []

    def later(dtypes):
        """Whether the functions are compiled: they are after some calls."""
        asked.append(dtypes)
        return len(asked) > 20 and tiles.ready(dtypes, seconds=120)

    monkeypatch.setattr("scanopt.backends.kernels.plans.ready", later)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: f(*values), range(80)):
            np.testing.assert_array_equal(found, expected)
    assert forced
