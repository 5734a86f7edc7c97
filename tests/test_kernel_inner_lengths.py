"""Loops inside loops that take as many steps as values say, none among them, are in kernels: the interpreter's bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_inner_loops import RandomInnerLoops

import scanopt.tensor as T
from scanopt import function, jit, lax, scan, tree
from scanopt.backends.kernels.loop_report import ONCE

RNG = np.random.default_rng(8)


def outcome(f: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Any]:
    try:
        with np.errstate(all="ignore"):
            return [(x.dtype, np.where(x == x, x, 9e9).tobytes()) for x in tree.leaves(f(*arguments))]
    except (IndexError, ValueError) as error:
        return [type(error), str(error)]


def in_one_kernel(f: Callable[..., Any], *arguments: Any, fp: str = "exact") -> str:
    """The text of the kernel of a program."""
    found = jit(f, backend="c", fp=fp)
    for x, y in zip(tree.leaves(found(*arguments)), tree.leaves(found.unoptimized(*arguments)), strict=True):
        assert (x.dtype, x.tobytes()) == (y.dtype, y.tobytes()) if fp == "exact" else np.allclose(x, y)
    program = found.compiled(*arguments)
    assert [k.loop for k in program.kernels] == [ONCE], program
    text = str(program.kernels[0])
    assert "1 of 1 kernels" in text, text[:300]
    return text


def collatz(x: Any) -> Any:
    """The number of steps to 1 of each number; of 1 there is none."""

    def step(c: Any) -> Any:
        return T.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1

    return lax.map(lambda a: lax.while_loop(lambda c: c[0] != 1, step, (a, 0))[1], x)


def failures(y: Any) -> Any:
    """The failure function of Knuth, Morris and Pratt: each step reads places of the array that it changes."""

    def step(i: Any, found: Any) -> Any:
        def shorter(j: Any) -> Any:
            return found[T.maximum(j - 1, 0)]

        j = lax.while_loop(lambda j: (j > 0) & (y[j] != y[i]), shorter, found[i - 1])
        return T.set_subtensor(found[i], T.where(y[j] == y[i], j + 1, j))

    return lax.fori_loop(1, y.shape[0], step, T.zeros((y.shape[0],), "int64"))


def sorted_by_insertion(x: Any) -> Any:
    def put(i: Any, x: Any) -> Any:
        def back(c: Any) -> Any:
            return c[0] - 1, T.set_subtensor(c[1][c[0]], c[1][c[0] - 1])

        v = x[i]
        j, x = lax.while_loop(lambda c: (c[0] > 0) & (c[1][T.maximum(c[0] - 1, 0)] > v), back, (i, x))
        return T.set_subtensor(x[j], v)

    return lax.fori_loop(1, x.shape[0], put, x)


def grown(x: Any) -> Any:
    """Pairs that grow until they are long: numbers that are put together where the loop is over."""
    first = lambda a: T.stack([a, a * 2.0])  # noqa: E731
    return lax.map(
        lambda a: lax.while_loop(lambda z: (z * z).sum() < 50, lambda z: T.stack([z[0] * 1.5, z[1] + z[0]]), first(a)),
        x,
    )


def put_together(x: Any) -> Any:
    """Sums, products and extremes of as many elements as values say, at places in order and at others."""

    def one(i: Any) -> Any:
        total = lax.fori_loop(0, i, lambda j, c: c + x[j], 0.0 * x[0])
        least = lax.fori_loop(i, x.shape[0], lambda j, c: T.minimum(c, x[j]), x[0])
        count = lax.fori_loop(0, i, lambda j, c: c + (x[(i * j) % x.shape[0]] > x[i - 1]), 0)
        return total, least, count, lax.fori_loop(1, i + 1, lambda j, c: c * j, 1)

    return lax.map(one, T.arange(-2, x.shape[0]))


def triangle(x: Any) -> Any:
    """Sums of parts that grow, loops in loops, rows by place."""

    def one(i: Any) -> Any:
        a = lax.fori_loop(0, i, lambda j, c: T.tanh(c + x[j]), 0.0 * x[0])
        b = lax.scan(lambda c, y: (c * 0.5 + y, ()), a, x[i // 2 : i] * 2.0)[0]
        return lax.fori_loop(0, i % 3, lambda j, c: lax.fori_loop(j, i, lambda k, c: c - x[k], c), b)

    return lax.map(one, T.arange(x.shape[0] + 1))


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (collatz, np.arange(1, 40)),
        (grown, RNG.uniform(0, 2, 9)),
        (put_together, RNG.normal(size=12)),
        (triangle, RNG.normal(size=12)),
    ],
)
def test_loops_of_as_many_steps_as_values_say(f: Callable[..., Any], x: Any) -> None:
    in_one_kernel(f, x)


def test_sums_in_another_order_are_in_kernels_too() -> None:
    in_one_kernel(put_together, RNG.normal(size=12), fp="reassoc")


def factors(A: Any) -> Any:
    """LU, an element at a time: the innermost loop goes through integers that the outermost one tells."""

    def column(k: Any, A: Any) -> Any:
        def row(i: Any, A: Any) -> Any:
            A = T.set_subtensor(A[i, k], A[i, k] / A[k, k])
            take = lambda j, A: T.set_subtensor(A[i, j], A[i, j] - A[i, k] * A[k, j])  # noqa: E731
            return lax.fori_loop(k + 1, A.shape[0], take, A)

        return lax.fori_loop(k + 1, A.shape[0], row, A)

    return lax.fori_loop(0, A.shape[0], column, A)


def there_and_back(x: Any) -> Any:
    """The second loop reads what the first one carries last."""
    y = lax.fori_loop(1, x.shape[0], lambda i, y: T.set_subtensor(y[i], y[i] - 0.5 * y[i - 1]), x)
    return lax.fori_loop(1, x.shape[0], lambda i, z: T.set_subtensor(z[-1 - i], z[-1 - i] * y[i] + z[-i]), y * 2.0)


def test_no_array_is_copied_at_each_step() -> None:
    cases = (
        (failures, RNG.integers(0, 2, 9)),
        (sorted_by_insertion, RNG.normal(size=9)),
        (factors, RNG.normal(size=(5, 5))),
    )
    for f, x in cases:
        _, _, steps = in_one_kernel(f, x).partition("while (t < 1)")
        loop = steps[steps.index("while (t", 20) :]
        assert "for (int64" not in loop.replace("for (int64 group", ""), loop


def intervals(p: Any) -> Any:
    """How many multiplications a product of matrices takes: of each interval the best place to divide it."""
    n = p.shape[0] - 1

    def of_length(size: Any, m: Any) -> Any:
        def starting(i: Any, m: Any) -> Any:
            j = i + size - 1
            cost = lambda k: m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1]  # noqa: E731
            best = lax.fori_loop(i, j, lambda k, best: T.minimum(best, cost(k)), T.constant(2**60))
            return T.set_subtensor(m[i, j], best)

        return lax.fori_loop(0, n - size + 1, starting, m)

    return lax.fori_loop(2, n + 1, of_length, T.zeros((n, n), "int64"))


def test_elements_are_set_in_place_beside_rows_and_columns_that_are_read() -> None:
    assert "& 1) *" not in in_one_kernel(intervals, RNG.integers(1, 30, 9))  # where one of two copies would lie


def test_a_loop_that_another_one_reads_the_last_state_of_keeps_no_other() -> None:
    in_one_kernel(there_and_back, RNG.normal(size=9))
    assert "all rows" not in str(jit(there_and_back).compiled(RNG.normal(size=9)).program)


def test_what_is_wrong_inside_is_told_as_without_a_kernel() -> None:
    def f(x: Any, k: Any) -> Any:
        return lax.map(lambda i: lax.fori_loop(0, i, lambda j, c: c + x[j], 0.0 * x[0]), k)

    found = jit(f, backend="c", fp="exact")
    x = RNG.normal(size=4)
    for k in ([0, 4, 0], [3, 5, 1]):
        assert outcome(found, (x, np.array(k))) == outcome(found.unoptimized, (x, np.array(k)))
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        found(x, np.array(k))


@pytest.mark.parametrize(("put", "read"), [(0, -1), (0, 1), (1, 0), (0, 0)])
def test_places_that_move_by_one_are_compared_before_the_loop(put: int, read: int) -> None:
    """All in range: no step looks at a place.  Not all: counted from the end, or an error; the last one set is seen."""

    def f(x: Any, steps: Any, first: Any, last: Any) -> Any:
        def one(x: Any, i: Any) -> Any:
            def step(j: Any, x: Any) -> Any:
                return T.set_subtensor(x[j + put], x[j + read] + 2.0 * x[j - i])

            return lax.fori_loop(first, last, step, x), ()

        return lax.scan(one, x, steps)[0]

    found, x = jit(f, backend="c", fp="exact"), RNG.normal(size=20)
    for first, last in ((3, 18), (-2, 9), (5, 22), (4, 4)):
        a = x, np.array([0, 1, 3, -1, 2]), np.int64(first), np.int64(last)
        assert outcome(found, a) == outcome(found.unoptimized, a)
    assert_no_step_looks(str(found.compiled(*a).kernels[0]))


def assert_no_step_looks(text: str) -> None:
    """The steps that are written twice compare no place the first time."""
    quick = text[: text.rindex("const int64 stopt")].rpartition("while (t")[2]
    assert "return -1" not in quick, text


def test_steps_in_range_between_others_compare_no_places() -> None:
    """A loop that ends early, of places held in range: both sides of an element, at the first and the last one, too."""

    def f(x: Any, k: Any, most: Any) -> Any:
        n = x.shape[0]

        def one(x: Any, i: Any) -> Any:
            def step(c: Any) -> Any:
                j, x = c
                around = x[T.maximum(j - 1, 0)] - x[(j + 1) % n] * x[T.minimum(j + 2, n - 1)]
                return j + 1, T.set_subtensor(x[j], x[j] * 0.5 + around)

            return lax.while_loop(lambda c: (c[0] < most) & (x[c[0] % n] < 2.0), step, (i, x))[1], ()

        return lax.scan(one, x, k)[0]

    found = jit(f, backend="c", fp="exact")
    for k, most in (([0, 3, 1], 9), ([-2, 7], 8), ([2, -9, 1], 10), ([1, 0], 2**62), ([8, 9], 7)):
        a = RNG.normal(size=9), np.array(k), np.int64(most)
        assert outcome(found, a) == outcome(found.unoptimized, a)
    assert_no_step_looks(str(found.compiled(*a).kernels[0]))


def test_the_greatest_of_nothing_is_an_error_and_a_fold_of_nothing_is_not() -> None:
    def f(x: Any, k: Any) -> Any:
        return lax.scan(lambda c, i: (T.maximum(c, T.max(x[:i])), ()), 0.0 * x[0], k)[0]

    found, x = jit(f, backend="c", fp="exact"), RNG.normal(size=4)
    for k in ([1, 4, 2], [1, 0, 2]):
        assert outcome(found, (x, np.array(k))) == outcome(found.unoptimized, (x, np.array(k)))


WHOLE = {
    "sorted": lambda p, x: T.sort(p)[0],
    "first": lambda p, x: p[0],
    "joined": lambda p, x: T.concatenate([p, x])[3],
    "summed": lambda p, x: T.sum(p),
    "counted": lambda p, x: p.shape[0],
}


@pytest.mark.parametrize("backend", ["c", "auto"])
@pytest.mark.parametrize("whole", WHOLE)
def test_parts_that_are_read_row_by_row_and_whole(whole: str, backend: str) -> None:
    """What is computed of a part that is made because others read it whole is made, too: this did not compile."""
    x, a, b = T.dvector("x"), T.lvector("a"), T.lvector("b")

    def step(a: Any, b: Any, x: Any) -> Any:
        p = x[a:b]
        state, _ = scan(lambda t, s: T.tanh(s * t), T.exp(p) * 2, np.float64(0.5))
        return state[-1] + WHOLE[whole](p, x)

    f = function([x, a, b], scan(step, [a, b], non_sequences=x)[0], backend=backend, fp="exact")
    arguments = RNG.normal(size=40), np.arange(1, 30), np.arange(4, 33)
    assert outcome(f, arguments) == outcome(f.unoptimized, arguments)


@pytest.mark.share(20)
@pytest.mark.parametrize("seed", range(60))
def test_random_loops_inside_loops(seed: int) -> None:
    made = RandomInnerLoops(seed, wrong=seed % 4 == 3)
    f = jit(made, backend="c", fp="exact")
    assert outcome(f, made.arguments) == outcome(f.unoptimized, made.arguments)
