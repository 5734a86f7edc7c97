"""Rows of products of matrices on several threads: the bits of the whole product, or one thread."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from random_batches import random_batches
from test_kernel_threads import parts, same_on_threads  # noqa: F401  (a fixture)
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels import part_plans
from scanopt.backends.kernels.build import LONGEST
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.tiles import ProductTrial, TiledProduct, ready, rows_apart

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """Until the functions for products are compiled, calls run on one thread."""
    assert ready(seconds=LONGEST)


def network(dtype: str, turned: bool = False) -> tuple[list[Any], Any]:
    x, h, w, u = (T.TensorType(dtype, (None,) * n)(name) for name, n in (("x", 3), ("h", 2), ("w", 2), ("u", 2)))
    step = lambda x, h, w, u: T.tanh(x @ w + h @ (u.T if turned else u))  # noqa: E731
    return [x, h, w, u], scanopt.scan(step, x, h, [w, u])[0]


def values(dtype: str, batch: int, inputs: int = 5, units: int = 19, steps: int = 4) -> list[Array]:
    rng = np.random.default_rng(batch)
    shapes = (steps, batch, inputs), (batch, units), (inputs, units), (units, units)
    return [rng.normal(size=s).astype(dtype) for s in shapes]


@pytest.mark.share(2)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_a_batch_runs_in_parts(parts: list[int], fp: str, dtype: str, turned: bool) -> None:  # noqa: F811
    one, *many = (scanopt.function(*network(dtype, turned), fp=fp, backend="c", threads=k) for k in (1, 2, 3, 7))
    for batch in (1, 2, 3, 8, 12, 13, 24, 25, 33, 50, 96, 97):
        given = values(dtype, batch)
        expected = one(*given)
        for f in many:
            before = len(parts)
            assert_same([f(*given)], [expected])
            apart = rows_apart(dtype)
            whole = batch < 2 * apart or (fp != "exact" and batch % apart > 0)  # a product of all inputs, see below
            assert whole or len(parts) > before
        if fp == "exact":
            assert_same([expected], [one.unoptimized(*given)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gates_are_columns_of_one_product(parts: list[int], dtype: str) -> None:  # noqa: F811
    x, h, c, w = (T.TensorType(dtype, (None,) * n)(name) for name, n in (("x", 3), ("h", 2), ("c", 2), ("w", 2)))

    def step(x: Any, h: Any, c: Any, w: Any) -> list[Any]:
        n = h.shape[1]
        gates = T.concatenate([x, h], axis=1) @ w
        forget, write, read, new = (gates[:, i * n : (i + 1) * n] for i in range(4))
        c = T.sigmoid(forget) * c + T.sigmoid(write) * T.tanh(new)
        return [T.sigmoid(read) * T.tanh(c), c]

    (hs, cs), _ = scanopt.scan(step, x, [h, c], w)
    rng = np.random.default_rng(0)
    for batch in (31, 64):
        shapes = (6, batch, 7), (batch, 16), (batch, 16), (23, 64)
        given = [rng.normal(size=s).astype(dtype) for s in shapes]
        f, one = (scanopt.function([x, h, c, w], [hs, cs[-1]], backend="c", fp="exact", threads=k) for k in (2, 1))
        assert_same(f(*given), one(*given))
        assert_same(f(*given), f.unoptimized(*given))
    assert parts == [2, 2, 2, 2]


def test_factors_that_lie_otherwise_are_multiplied_on_one_thread(parts: list[int]) -> None:  # noqa: F811
    f, one = (scanopt.function(*network("float64"), backend="c", threads=k) for k in (2, 1))
    x, h, w, u = values("float64", 32)
    assert_same([f(x, h, w, np.asfortranarray(u))], [one(x, h, w, np.asfortranarray(u))])
    assert_same([f(x, h, np.repeat(w, 2, axis=1)[:, ::2], u)], [one(x, h, w, u)])
    assert parts == []
    assert_same([f(x, h, w, u)], [one(x, h, w, u)])
    assert parts == [2]


def test_without_tiles_one_thread_multiplies(
    parts: list[int],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part_plans, "agree", lambda _: False)
    f = scanopt.function(*network("float64"), backend="c", fp="exact", threads=2)
    given = values("float64", 32)
    for _ in range(3):
        assert_same([f(*given)], [f.unoptimized(*given)])
    assert parts == []


def test_sums_over_the_batch_are_not_split(parts: list[int]) -> None:  # noqa: F811
    x, w = T.dtensor3("x"), T.dmatrix("w")
    sums, _ = scanopt.scan(lambda x, w: T.tanh(x.T @ (x @ w)), x, None, w)
    f = scanopt.function([x, w], sums, backend="c", fp="exact", threads=2)
    rng = np.random.default_rng(0)
    given = rng.normal(size=(3, 32, 5)), rng.normal(size=(5, 6))
    assert_same([f(*given)], [f.unoptimized(*given)])
    assert parts == []


@pytest.mark.parametrize("units", [19, 64])
def test_a_product_of_all_inputs_is_made_in_the_steps(parts: list[int], units: int) -> None:  # noqa: F811
    f, one = (scanopt.function(*network("float32"), backend="c", threads=k) for k in (3, 1))
    for batch in (24, 31, 36, 48, 100):
        given = values("float32", batch, units, units, steps=7)
        assert_same([f(*given)], [one(*given)])
    assert parts


def product(a: Array, b: Array) -> Array:
    """The product of two matrices as the kernel makes it of tiles."""
    (m, k), n, item = a.shape, b.shape[1], a.itemsize
    trial = ProductTrial(TiledProduct(a.dtype.name, (m, k, n), (k * item, item), (n * item, item), True))
    trial.put(a, b)
    trial.laid()
    trial.multiplied()
    return trial.other


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parts_of_rows_add_up_as_the_whole(dtype: str) -> None:
    rng, apart = np.random.default_rng(0), rows_apart(dtype)
    for _ in range(60):
        pieces, k, n = int(rng.integers(2, 5)), int(rng.integers(1, 70)), int(rng.integers(2, 90))
        m = pieces * apart + int(rng.integers(0, apart))
        a, b = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
        ends = [*(i * apart for i in range(pieces)), m]
        some = [product(a[i:j], b) for i, j in pairwise(ends)]
        assert_same([np.concatenate(some)], [product(a, b)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parts_of_a_batch_add_up_as_the_rows_of_all_steps(dtype: str) -> None:
    rng, apart = np.random.default_rng(1), rows_apart(dtype)
    for _ in range(30):
        steps, batch = int(rng.integers(1, 6)), int(rng.integers(2, 5)) * apart
        k, n = int(rng.integers(1, 70)), int(rng.integers(2, 90))
        a, b = rng.normal(size=(steps, batch, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
        whole = product(a.reshape(-1, k), b).reshape(steps, batch, n)
        found = [np.concatenate([product(x[:apart], b), product(x[apart:], b)]) for x in a]
        assert_same([np.stack(found)], [whole])


def attention() -> tuple[list[Any], Any, list[Any]]:
    x, h, w, keys, of = T.dtensor3("x"), T.dmatrix("h"), T.dmatrix("w"), T.dtensor3("keys"), T.dtensor3("values")

    def step(x: Any, h: Any, w: Any, keys: Any, of: Any) -> Any:
        q = x + h @ w
        found = T.special.softmax(T.einsum("bn,btn->bt", q, keys), axis=1)
        return T.tanh(T.einsum("bt,btn->bn", found, of) + q)

    return (
        [x, h, w, keys, of],
        scanopt.scan(step, x, h, [w, keys, of])[0],
        [(3, 0, 6), (0, 6), (6, 6), (0, 5, 6), (0, 5, 6)],
    )


def filters() -> tuple[list[Any], Any, list[Any]]:
    y, x, p, a, h = T.dtensor3("y"), T.dmatrix("x"), T.dtensor3("p"), T.dmatrix("a"), T.dmatrix("h")

    def step(y: Any, x: Any, p: Any, a: Any, h: Any) -> list[Any]:
        x, p = x @ a.T, a @ p @ a.T + T.eye(4, dtype="float64")
        gain = T.linalg.solve(h @ p @ h.T + T.eye(2, dtype="float64"), h @ p)
        x = x + T.einsum("bmn,bm->bn", gain, y - x @ h.T)
        return [x, p - T.swapaxes(gain, -1, -2) @ h @ p]

    (xs, ps), _ = scanopt.scan(step, y, [x, p], [a, h])
    return [y, x, p, a, h], [xs, ps[-1]], [(3, 0, 2), (0, 4), (0, 4, 4), (4, 4), (2, 4)]


def stacks() -> tuple[list[Any], Any, list[Any]]:
    m, x = T.dtensor3("m"), T.dtensor3("x")
    return [m, x], scanopt.scan(lambda x, m: T.tanh(m @ x), None, x, m, n_steps=3)[0], [(0, 5, 5), (0, 5, 3)]


@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("program", [attention, filters, stacks])
def test_stacks_of_matrices(parts: list[int], program: Any, fp: str) -> None:  # noqa: F811
    inputs, outputs, shapes = program()
    f, one = (scanopt.function(inputs, outputs, fp=fp, backend="c", threads=k) for k in (3, 1))
    for batch in (1, 24, 25, 40):
        rng = np.random.default_rng(batch)
        given = [0.3 * rng.normal(size=[n or batch for n in shape]) for shape in shapes]
        found, expected = (x if isinstance(x, list) else [x] for x in (f(*given), one(*given)))
        assert_same(found, expected)
        if fp == "exact":
            plain = one.unoptimized(*given)
            assert_same(found, plain if isinstance(plain, list) else [plain])
    assert parts


def test_weights_of_products_in_two_dtypes() -> None:
    x, h, w = T.fmatrix("x"), T.dmatrix("h"), T.fmatrix("w")
    step = lambda x, h, w: [x @ w, (h @ w) * 0.5]  # noqa: E731
    found, _ = scanopt.scan(lambda h, x, w: step(x, h, w), None, [None, h], [x, w], n_steps=3)
    f = scanopt.function([x, h, w], found, backend="c", fp="exact")
    rng = np.random.default_rng(0)
    given = (
        rng.normal(size=(6, 9)).astype("float32"),
        rng.normal(size=(6, 9)),
        rng.normal(size=(9, 9)).astype("float32"),
    )
    assert_same(f(*given), f.unoptimized(*given))


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", range(12))
def test_random_batches_have_the_bits_of_array_steps(parts: list[int], seed: int) -> None:  # noqa: F811
    check(seed)


@pytest.mark.thorough
def test_many_random_batches_run_in_parts(parts: list[int]) -> None:  # noqa: F811
    for seed in range(12, 60):
        check(seed)
    assert parts


def check(seed: int) -> None:
    same_on_threads(lambda: random_batches(seed, (24, 33, 50, 8)[seed % 4]), ((1, True), (3, True)))
