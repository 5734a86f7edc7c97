"""scanopt.lax: control flow and running values against NumPy and plain Python, at once, traced, and interpreted."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shares import tries

import scanopt
from scanopt import CheckError, check, function, grad, jit, lax, shared, vmap
from scanopt import tensor as T
from scanopt.array.variable import Variable

X = np.array([3.0, -1.0, 4.0, 1.5, -5.0])
I = np.array([[3, 1, 2], [1, 5, 0]])  # noqa: E741


def flat(tree: Any) -> list[Any]:
    """The leaves of tuples, lists and dicts."""
    if isinstance(tree, dict):
        return [x for k in tree for x in flat(tree[k])]
    if isinstance(tree, tuple | list):
        return [x for part in tree for x in flat(part)]
    return [tree]


def agree(f: Any, args: tuple[Any, ...], expected: Any) -> None:
    """f at once, compiled, and by the interpreter."""
    g = jit(f)
    for found in (f(*args), g(*args), g.unoptimized(*args)):
        assert len(flat(found)) == len(flat(expected))
        for a, b in zip(flat(found), flat(expected), strict=True):
            assert not isinstance(a, Variable)
            assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_scan() -> None:
    def step(c: Any, x: Any) -> Any:
        return {"s": c["s"] + x["v"], "n": c["n"] + 1}, (c["s"], x["v"] * 2)

    init, xs = {"s": np.float64(1), "n": 0}, {"v": X}
    total = 1 + np.cumsum(X)
    expected = ({"s": total[-1], "n": np.int64(5)}, (np.concatenate([[1.0], total[:-1]]), 2 * X))
    agree(lambda init, xs: lax.scan(step, init, xs), (init, xs), expected)
    back = 1 + np.cumsum(X[::-1])[::-1]
    expected = ({"s": back[0], "n": np.int64(5)}, (np.concatenate([back[1:], [1.0]]), 2 * X))
    agree(lambda init, xs: lax.scan(step, init, xs, reverse=True, unroll=2), (init, xs), expected)
    agree(lambda a: lax.scan(lambda c, _: (c * 2, None), a, None, length=5)[0], (1.5,), np.float64(48))
    agree(lambda a: lax.scan(lambda c, x: (c + x, c), 0.0, a), (np.zeros(0),), (np.float64(0), np.zeros(0)))


def test_loops() -> None:
    agree(lambda a: lax.fori_loop(1, 5, lambda i, v: v * i, a), (np.int64(1),), np.int64(24))
    agree(lambda n: lax.fori_loop(0, n, lambda i, v: v + i, 0), (np.int64(5),), np.int64(10))
    agree(lambda n: lax.fori_loop(3, n, lambda i, v: v + i, 7), (np.int64(2),), np.int64(7))
    agree(lambda n: lax.while_loop(lambda v: v[0] < n, lambda v: (v[0] * 2, v[1] + 1), (1, 0)), (np.int64(100),),
          (np.int64(128), np.int64(7)))  # fmt: skip
    agree(lambda n: lax.while_loop(lambda v: v < n, lambda v: v * 2, 1), (np.int64(0),), np.int64(1))
    agree(lambda n: lax.while_loop(lambda v: v < n, lambda v: v * 2, 1, max_steps=3), (np.int64(99),), np.int64(8))
    agree(lambda x: lax.map(lambda v: {"a": v * 2}, x, batch_size=2), (X,), {"a": X * 2})


@pytest.mark.parametrize("test", [True, False])
def test_cond_runs_one_branch(test: bool) -> None:
    def raising(v: Any) -> Any:
        check(v[0] > 99, "it ran")
        return {"y": v[0], "n": (1, 2.5)}

    def f(test: Any, x: Any) -> Any:
        return lax.cond(test, raising, lambda v: {"n": (x[1] * 0, 1), "y": v[0]}, x)

    if test:
        for g in (f, jit(f), jit(f).unoptimized):
            with pytest.raises(CheckError, match="it ran"):
                g(np.bool_(test), X)
    else:
        agree(f, (np.bool_(test), X), {"y": X[0], "n": (X[1] * 0, np.float64(1))})


@pytest.mark.parametrize("i", [-3, 0, 1, 2, 3, 99])
def test_switch_takes_the_nearest_branch(i: int) -> None:
    branches = [lambda x: x + 1, np.exp, lambda x: -x, lambda x: x * 0]
    agree(lambda i, x: lax.switch(i, branches, x), (np.int32(i), X), branches[min(max(i, 0), 3)](X))
    agree(lambda i: lax.switch(i, [lambda: 1.0]), (np.int64(i),), np.float64(1))


def test_branches_in_loops_and_maps() -> None:
    steps = lambda xs: lax.scan(  # noqa: E731
        lambda c, x: (
            lax.cond(x > 0, lambda: c + x, lambda: c * 2),
            lax.switch(c.astype("int64"), [np.sin, np.cos], x),
        ),
        0.0,
        xs,
    )
    c, ys = 0.0, []
    for x in X:
        ys.append((np.sin, np.cos)[min(max(int(c), 0), 1)](x))
        c = c + x if x > 0 else c * 2
    agree(steps, (X,), (np.float64(c), np.array(ys)))
    np.testing.assert_allclose(
        vmap(lambda i, x: lax.switch(i, [np.sin, np.cos, np.exp], x))(np.array([0, 1, 2, 9, -1]), X),
        [np.sin(3.0), np.cos(-1.0), np.exp(4.0), np.exp(1.5), np.sin(-5.0)],
    )


def test_select() -> None:
    agree(lax.select, (X > 0, X, -X), np.abs(X))
    agree(lax.select, (np.bool_(False), X, -X), -X)
    agree(lax.select_n, (X > 0, -X, X), np.abs(X))
    agree(lax.select_n, (np.array([0, 2, 1, 5, -1]), X, X * 10, X * 100), X * [1, 100, 10, 100, 1])


RUNNING = {
    "cumsum": (lax.cumsum, np.cumsum), "cumprod": (lax.cumprod, np.cumprod),
    "cummax": (lax.cummax, np.maximum.accumulate), "cummin": (lax.cummin, np.minimum.accumulate),
}  # fmt: skip


@settings(max_examples=tries(40), deadline=None)
@given(st.data())
def test_running_values(data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(RUNNING)))
    dtype = data.draw(st.sampled_from(["int8", "uint16", "int64", "float32", "float64"]))
    shape = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    x = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-9, 9, shape).astype(dtype)
    axis, reverse = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.booleans())
    ours, numpys = RUNNING[name]
    turned = np.flip(x, axis) if reverse else x
    expected = numpys(turned, axis=axis).astype(dtype)
    expected = np.flip(expected, axis) if reverse else expected
    f = CACHED.setdefault((name, axis, reverse), jit(lambda v: ours(v, axis, reverse)))
    for found in (f(x), f.unoptimized(x)):
        assert (found.dtype, found.shape) == (x.dtype, x.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


CACHED: dict[Any, Any] = {}


def test_cumlogsumexp() -> None:
    x = np.array([-np.inf, 1000.0, 1000.0, -2.0])
    agree(lax.cumlogsumexp, (x,), np.logaddexp.accumulate(x))
    assert lax.cumlogsumexp(np.float32([1, 2])).dtype == "float32"


@pytest.mark.share(4)
@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(n: int, reverse: bool) -> None:
    rng = np.random.default_rng(n)
    a, b, M = rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), rng.normal(size=(3, n, 2, 2))

    def affine(p: Any, q: Any) -> Any:
        return {"a": p["a"] * q["a"], "b": q["a"] * p["b"] + q["b"]}

    order = range(n)[::-1] if reverse else range(n)
    found_a, found_b = a.copy(), b.copy()
    products = M.copy()
    for before, t in zip(order, list(order)[1:], strict=False):
        found_a[t], found_b[t] = found_a[before] * a[t], a[t] * found_b[before] + b[t]
        products[:, t] = products[:, before] @ M[:, t]
    agree(lambda a, b: lax.associative_scan(affine, {"a": a, "b": b}, reverse), (a, b), {"a": found_a, "b": found_b})
    agree(lambda m: lax.associative_scan(np.matmul, m, reverse, axis=1), (M,), products)
    agree(lambda x: lax.associative_scan(np.logical_or, x, reverse), (a[:, 0] > 0,),
          np.logical_or.accumulate((a[:, 0] > 0)[list(order)])[list(order)])  # fmt: skip


@pytest.mark.parametrize(("n", "m"), [(1, 0), (0, 1), (3, 2), (2, 0), (0, 2)])
def test_an_associative_scan_needs_arrays_of_equal_length(n: int, m: int) -> None:
    def two(a: Any, b: Any) -> Any:
        return lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b))

    a, b = T.dvectors("a", "b")
    f, part = function([a, b], two(a, b)), function([a, b], two(a, b)[1])
    for run in (f, f.as_written, f.unoptimized, part, part.unoptimized):
        with pytest.raises(ValueError, match=rf"elems\[1\] has {m} rows but elems\[0\] has {n}: .*test_lax.py"):
            run(np.ones(n), np.ones(m))
    assert part(np.ones(n), np.ones(n)).shape == (n,)


@pytest.mark.share(4)
@pytest.mark.usefixtures("priced_as_array_steps")
@pytest.mark.parametrize("fn", [np.add, np.multiply, np.maximum, np.minimum, np.logaddexp], ids=lambda f: f.__name__)
def test_associative_scans_have_closed_forms(fn: Any) -> None:
    f = jit(lambda x: lax.associative_scan(fn, x))
    np.testing.assert_allclose(f(X), fn.accumulate(X), rtol=1e-12)
    assert "loop" not in str(f.program())
    two = jit(lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b)))
    assert "loop" not in str(two.program(X, X))
    batched = jit(lambda x: lax.associative_scan(vmap(lambda a, b: a + b), x))
    np.testing.assert_allclose(batched(X), np.cumsum(X))


@settings(max_examples=tries(30), deadline=None)
@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 2), st.integers(0, 3), st.booleans())
def test_slices_stay_inside(i: int, j: int, rows: int, columns: int, known: bool) -> None:
    i0, j0 = (min(max(k + n if k < 0 else k, 0), n - m) for k, n, m in ((i, 2, rows), (j, 3, columns)))
    starts = (i, j) if known else (np.int64(i), np.int32(j))
    part = np.full((rows, columns), 7)
    expected = I.copy()
    expected[i0 : i0 + rows, j0 : j0 + columns] = part
    for run in (lambda f, *args: f(*args), lambda f, *args: jit(f)(*args) if i % 3 == 0 else f(*args)):
        np.testing.assert_array_equal(
            run(lambda x, a, b: lax.dynamic_slice(x, (a, b), (rows, columns)), I, *starts),
            I[i0 : i0 + rows, j0 : j0 + columns],
        )
        updated = run(lambda x, p, a, b: lax.dynamic_update_slice(x, p, (a, b)), I, part, *starts)
        np.testing.assert_array_equal(updated, expected)


def test_slices_along_one_axis() -> None:
    k = np.int64(2)
    agree(lambda x, k: lax.dynamic_slice_in_dim(x, k, 2, axis=1), (I, k), I[:, 1:])
    agree(lambda x, k: lax.dynamic_index_in_dim(x, k, axis=-1), (I, k), I[:, 2:])
    agree(lambda x, k: lax.dynamic_index_in_dim(x, k, 0, False), (I, k), I[1])
    new = I.copy()
    new[:, 2] = [8, 9]
    agree(lambda x, k: lax.dynamic_update_index_in_dim(x, np.array([8, 9]), k, 1), (I, k), new)
    agree(lambda x, k: lax.dynamic_update_index_in_dim(x, np.array([[8], [9]]), k, 1), (I, k), new)
    agree(lambda x, k: lax.dynamic_update_slice_in_dim(x, np.array([[8], [9]]), k, 1), (I, k), new)
    assert jit(lambda x: lax.dynamic_slice(x, (0,), (2,))).lower(X).types.shape == (2,)


def test_at_once_or_as_a_graph() -> None:
    assert isinstance(lax.cumsum(X), np.ndarray)
    x, w = T.dvector("x"), shared(2.0)
    assert isinstance(lax.cumsum(x), Variable)
    np.testing.assert_array_equal(function([x], lax.cumsum(x))(X), np.cumsum(X))
    free = lax.map(lambda v: v * x[0], X)
    np.testing.assert_array_equal(function([x], free)(X), X * X[0])
    f = jit(lambda v: v + lax.fori_loop(0, 2, lambda i, a: a * w, 1.0))
    assert f(0.0) == 4
    w.set_value(3.0)
    assert f(0.0) == 9
    assert scanopt.cond is lax.cond
    assert scanopt.switch is lax.switch
    assert scanopt.associative_scan is lax.associative_scan
    assert grad(lambda x: lax.stop_gradient({"a": x})["a"] * x)(3.0) == 3


def test_one_operand_by_name() -> None:
    agree(lambda p, x: lax.cond(p, np.sin, np.cos, operand=x), (np.array(False), X), np.cos(X))
    agree(lambda k, x: lax.switch(k, [np.sin, np.cos], operand=x), (np.array(1), X), np.cos(X))
    assert lax.cond(True, lambda nothing: nothing, lambda nothing: nothing, operand=None) is None
    for twice in (lambda: lax.cond(True, np.sin, np.cos, X, operand=X), lambda: lax.switch(0, [np.sin], X, operand=X)):
        with pytest.raises(TypeError, match="the operands are given twice"):
            twice()


@pytest.mark.parametrize(
    ("name", "there"),
    [("add", "T.add"), ("and_", "T.and_"), ("rsqrt", r"1 / T\.sqrt\(x\)"), ("reduce_max", r"T\.max\(x, axis\)"),
     ("scatter_add", r"x\.at\[index\]\.add"), ("top_k", r"T\.sort")],
)  # fmt: skip
def test_functions_of_arrays_are_elsewhere(name: str, there: str) -> None:
    with pytest.raises(AttributeError, match=f"'{name}'; it is {there}"):
        getattr(lax, name)
    assert not hasattr(lax, "__path_of_nothing__")
