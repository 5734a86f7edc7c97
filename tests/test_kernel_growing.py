"""Parts whose lengths steps decide: kernels compute with them, with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt import lax

RNG = np.random.default_rng(3)
ZERO = T.constant(0.0, dtype="float64")


def many(step: Any, *values: Any, carried: bool = False, first: int = 0, exact: bool = True) -> str:
    """The kernel of a loop over the places of the first of some arrays, which each step reads, with exact results."""
    args = [T.TensorType("float64", (None,) * v.ndim)(f"x{i}") for i, v in enumerate(values)]
    start = [args[0]] if carried else [ZERO]
    found, _ = scanopt.scan(step, T.arange(first, args[0].shape[0]), start, args[1:] if carried else args)
    f = scanopt.function(args, [found[-1] if carried else found], fp="exact" if exact else "reassoc", backend="c")
    return exact_kernel(f, [*values])


def test_sums_of_ever_more_elements() -> None:
    x, y = RNG.normal(size=300), RNG.normal(size=300)
    many(lambda i, s, x, y: 0.5 * s + T.sum(x[: i + 1] * y[i::-1][:1]) + T.mean(y[: i + 1] ** 2), x, y)
    many(lambda i, s, x, y: s + T.sum(x[:i] * y[1 : i + 1][::-1]) + x[i:][-1], x, y)  # none at first
    many(lambda i, s, x: s + T.max(x[i // 2 : i + 1]) - T.sum(T.exp(x[2 * i :])), x)
    many(lambda i, s, x: s + T.argmax(x[i:]) + T.sort(x[: i + 1])[i // 2] + T.sum(T.cumsum(x[:i])), x)
    many(lambda i, s, x: s + T.sum(x[: i + 1][1:-1]) + T.prod(x[i:][:3]), x)


def test_substitution_with_a_triangular_matrix() -> None:
    b, L = RNG.normal(size=40), np.tril(RNG.normal(size=(40, 40))) + 3 * np.eye(40)
    many(lambda i, x, L: T.set_subtensor(x[i], (x[i] - T.dot(L[i, :i], x[:i])) / L[i, i]), b, L, carried=True)
    many(lambda i, x, L: T.set_subtensor(x[i:], x[i:] - x[i] * L[i:, i]), b, L, carried=True)
    many(lambda i, s, b, L: s + T.sum(T.dot(L[:i, :i], b[:i])) + T.sum(T.dot(L[i:, :], b)), b, L)


def test_lengths_in_loops_inside_and_branches() -> None:
    x = RNG.normal(size=12)

    def inside(i: Any, s: Any, x: Any) -> Any:
        found, _ = scanopt.scan(lambda j, s, x: s * 0.5 + T.sum(x[j : i + 1]), T.arange(3), [s], [x])
        return found[-1]

    many(inside, x)
    many(lambda i, s, x: scanopt.ifelse(s > 0, T.sum(x[:i]) - s, T.sum(x[i:]) + s), x)


def test_where_an_element_is_needed_array_steps_run_without_one() -> None:
    x = T.dvector("x")
    found, _ = scanopt.scan(lambda i, s, x: s + T.mean(x[:i]), T.arange(x.shape[0]), ZERO, x)
    f = scanopt.function([x], found, fp="exact", backend="c")
    values = RNG.normal(size=9)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(f(values), f.unoptimized(values))
    g, _ = scanopt.scan(lambda i, s, x: s + T.sum(x[: i + 1] * x[i:]), T.arange(x.shape[0]), ZERO, x)
    g = scanopt.function([x], g, fp="exact", backend="c")
    with pytest.raises(ValueError, match="broadcast"):
        g(values)
    np.testing.assert_array_equal(g(values[:2]), g.unoptimized(values[:2]))  # one of two lengths is 1


def test_parts_joined_to_an_array_as_long_as_others() -> None:
    """Moved by another number at each step, around, or with others in front; parts that do not fill it are an error."""
    x, y = RNG.normal(size=12), RNG.normal(size=12)
    many(lambda i, x, y: T.maximum(x, T.concatenate([y[:i] * 2, x[: 12 - i] - 1])), x, y, carried=True)
    many(lambda i, x, y: T.concatenate([x[i:], x[:i]]) * 0.5 + y, x, y, carried=True)
    many(lambda i, x, y: T.concatenate([T.zeros_like(x[: i + 1]) - 1, x[: 11 - i]]), x, y, carried=True)
    many(lambda i, s, x: s + T.max(T.concatenate([x[i:], x[:i] * s]) - x), x)
    a = RNG.normal(size=(6, 12))
    many(lambda i, a: T.concatenate([a[:, 2 * i :], a[:, : 2 * i]], axis=1) - 0.1 * a, a, carried=True)
    args = T.dvector("x"), T.lvector("i")
    found, _ = scanopt.scan(lambda i, x: x + T.concatenate([x[:i], x[2:]]), args[1], args[0])
    f = scanopt.function(args, found[-1], fp="exact", backend="c")
    np.testing.assert_array_equal(f(x, np.array([2, 2])), f.unoptimized(x, np.array([2, 2])))
    with pytest.raises(ValueError, match="12"):
        f(x, np.array([2, 3]))


def test_places_in_order_that_are_moved_by_numbers() -> None:
    m, b = T.lmatrix("m"), T.lvector("b")
    n = b.shape[0]

    def cell(i: Any, m: Any, length: Any) -> Any:
        j = i + length
        best = lax.fori_loop(
            i, j, lambda k, s: T.minimum(s, m[i, k] + m[k + 1, j] * b[i + k - i]), T.constant(99, dtype="int64")
        )
        return T.set_subtensor(m[i, j], best)

    chain = lax.fori_loop(1, n, lambda k, m: lax.fori_loop(0, n - k, lambda i, m: cell(i, m, k), m), m)
    f = scanopt.function([m, b], [chain], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.integers(-9, 9, (7, 7)), RNG.integers(-9, 9, 7)])
    assert " ? j" not in text  # no place is looked at
    far = scanopt.function([m, b], [lax.fori_loop(0, 3, lambda k, s: s + m[k - 2, k], b[0])], backend="c")
    values = [RNG.integers(-9, 9, (7, 7)), RNG.integers(-9, 9, 7)]
    assert [x == y for x, y in zip(far(*values), far.unoptimized(*values), strict=True)] == [True]
