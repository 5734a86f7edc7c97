"""Lengths that are computed and do not fit: with and without kernels a program raises what the interpreter raises."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import grad, ifelse

Case = tuple[int, int, tuple[int, int], int, int]
x, y, z = T.dvector("x"), T.dvector("y"), T.dmatrix("z")
n, m = T.lscalars("n", "m")
ZERO = T.constant(0.0, dtype="float64")
WAYS: list[dict[str, Any]] = [{"backend": "numpy"}, {"backend": "c"}, {"backend": "c", "fp": "exact"}]


def zeros(*shape: Any) -> Any:
    return T.zeros(shape, dtype="float64")


def scan(step: Any, rows: Any, start: Any = None, **options: Any) -> Any:
    return scanopt.scan(step, rows, start, **options)[0]


def outcome(f: Any, arguments: Sequence[Any]) -> Any:
    """A result, or the error instead."""
    try:
        return np.asarray(f(*arguments))
    except (ValueError, ZeroDivisionError, IndexError) as error:
        return error


def agree(result: Any, cases: Sequence[Case], ways: Sequence[dict[str, Any]] = WAYS) -> None:
    """Compares functions of all kinds with the interpreter, for lengths of x, y and z, and values of n and m."""
    functions = [scanopt.function([x, y, z, n, m], result, on_unused_input="ignore", **way) for way in ways]
    for of_x, of_y, of_z, *numbers in cases:
        arguments = (*(np.linspace(0.1, 0.9, np.prod(k)).reshape(k) for k in (of_x, of_y, of_z)), *numbers)
        want = outcome(functions[0].unoptimized, arguments)
        for f in functions:
            for found in (outcome(f, arguments), outcome(f, arguments)):  # the second time by the fast path, if any
                assert type(found) is type(want), (f.executor, arguments, want, found)
                if isinstance(want, np.ndarray):
                    np.testing.assert_allclose(found, want, rtol=1e-9)


CASES: list[Case] = [
    (6, 3, (2, 3), 2, 3), (6, 3, (2, 3), 5, 5), (6, 3, (2, 3), 3, 2), (6, 3, (2, 3), 6, 1), (6, 3, (2, 3), -1, 3),
    (1, 5, (1, 4), 5, 1), (1, 5, (1, 4), 1, 1), (4, 4, (3, 4), 0, 6), (3, 6, (6, 2), 2, 1),
]  # fmt: skip

SHAPES = {
    "reshape to one length": T.exp(T.reshape(x, (n,))),
    "reshape to two": T.exp(T.reshape(x, (n, m))),
    "reshape to a product": T.exp(T.reshape(x, (n * m,))) * 2.0,
    "reshape and one length open": T.exp(T.reshape(x, (n, m, -1))),
    "reshape to another's shape": T.exp(T.reshape(x, z.shape)) * z,
    "reshape twice": T.exp(T.reshape(T.reshape(x, (y.shape[0],)), (n, -1))),
    "reshape to an element of a vector": T.exp(T.reshape(x, (T.stack([n, m])[0], 2))),
    "sum of two": T.reshape(x, (n,)) + T.reshape(y, (n,)),
    "where": T.where(x > 0.3, T.broadcast_to(y, (n,)), T.reshape(x, (n,))),
    "broadcast_to": T.exp(T.broadcast_to(x, (m, n))),
    "broadcast_to another's shape": T.broadcast_to(x, y.shape) * 2.0,
    "length of what is broadcast": T.broadcast_to(x, y.shape).shape[0] * 2,
    "expand and broadcast": T.exp(T.broadcast_to(T.expand_dims(x, 1), (n, m))),
    "tile": T.exp(T.tile(z, (n, m))),
    "repeat": T.exp(T.repeat(z, n, axis=1)),
    "arange": T.arange(0, n, m - 1) * 2.5,
    "full": T.exp(T.full((n, m), x[0])),
    "alloc": T.exp(T.alloc(x, n, m)),
    "eye": T.eye(n, m, dtype="float64") * 2.5,
    "split": T.concatenate([v * 2 for v in T.split(x, [n, m])]),
    "specify_shape": T.exp(T.specify_shape(x, (n,))),
    "part that is set": T.set_subtensor(x[:n], y) * 2.0,
    "part that is added to": T.inc_subtensor(x[n:m], y[:n]) * 2.0,
    "set at places": T.set_subtensor(x[T.arange(n)], y) * 2.0,
    "set at pairs of places": T.set_subtensor(z[T.arange(n) % 2, T.arange(m) % 2], y) * 2.0,
    "set where a mask says so": T.set_subtensor(x[T.arange(n) > 1], y[0]) * 2.0,
    "gradient of reshape": grad(T.sum(T.exp(T.reshape(x, (n, m)))), x),
    "gradient of broadcast_to": grad(T.sum(T.exp(T.broadcast_to(x, (m, n)))), x),
}
LOOPS = {
    "rows": scan(lambda r, s: s * 0.5 + r.sum(), T.reshape(x, (n, m)), ZERO),
    "rows of a broadcast": scan(lambda r, v, s: s * 0.5 + r * v, [T.broadcast_to(x, y.shape), y], ZERO),
    "in a step": scan(lambda r: T.exp(T.reshape(r, (n, 2))), z),
    "broadcast in a step": scan(lambda r: T.exp(T.broadcast_to(y, (n,)) * r), x),
    "state": scan(lambda r, s: T.tanh(s * 0.5 + T.reshape(r, (n, m))), z, zeros(n, m)),
    "no steps": scan(lambda s: T.tanh(s + T.reshape(x, (n, m)).sum()), None, ZERO, n_steps=T.maximum(n, 0)),
    "another length at each step": scan(lambda k, s: s * 0.5 + T.reshape(y, (k, m)).sum(), T.arange(n, n + 2), ZERO),
    "length carried": scan(lambda k, s: (k + 1, s + T.exp(T.reshape(y, (k, m))).sum()), None, [n, ZERO], n_steps=2)[1],
    "part in a step": scan(lambda k, s: T.set_subtensor(s[:k], y[:m]) * 0.5, T.arange(1, n), x),
    "side": ifelse(T.eq(n * m, x.shape[0]), T.exp(T.reshape(x, (n, m))), T.full((2, 3), y[0])),
}
GROWING = {  # of the part that each step takes only the greatest length is known beforehand
    "ones": lambda part, s: s * 0.5 + (part.shape[0] * zeros(part.shape[0], 2) + 1.5).sum(),
    "arange": lambda part, s: s * 0.5 + T.arange(part.shape[0]).sum(),
    "full_like": lambda part, s: s * 0.5 + T.full_like(part, 2.5).sum(),
    "reshape": lambda part, s: s * 0.5 + T.reshape(y, (part.shape[0], -1)).sum(axis=0)[0],
    "reshape that fits once": lambda part, s: s * 0.5 + T.exp(T.reshape(y, (part.shape[0], 2))).sum(),
    "slice": lambda part, s: s * 0.5 + y[: part.shape[0]].sum(),
    "gradient": lambda part, s: s * 0.5 + grad(T.exp(part).sum() ** 2, x).sum(),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    agree(SHAPES[name], CASES)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    agree(LOOPS[name], CASES)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", GROWING)
def test_of_parts_that_grow(name: str) -> None:
    agree(scan(lambda k, s: GROWING[name](x[:k], s), T.arange(1, n), ZERO), [(6, 6, (1, 1), k, 0) for k in (6, 4, 2)])


def test_messages_are_those_of_array_steps() -> None:
    for result, message in [
        (T.tanh(T.reshape(x, z.shape)) * z, "cannot reshape array of size 6 into shape (6,2)"),
        (T.exp(T.reshape(x, (n,))), "cannot reshape array of size 6 into shape (5,)"),
        (T.set_subtensor(x[: n - 4], y) * 2.0, "could not broadcast input array from shape (3,) into shape (1,)"),
    ]:
        for way in WAYS:
            f = scanopt.function([x, y, z, n], result, on_unused_input="ignore", **way)
            with pytest.raises(ValueError, match=re.escape(message)):
                f(np.ones(6), np.ones(3), np.ones((6, 2)), 5)


def test_far_too_many_rows() -> None:
    agree(scan(lambda r, s: s * 0.5 + r, T.reshape(x, (n, m)), zeros(m)), [(3, 1, (1, 1), 1000, 4000)])


def test_lengths_that_fit_have_a_kernel() -> None:
    result = [
        T.exp(T.reshape(x, (n, m))),
        T.exp(T.broadcast_to(y, (n, m))),
        scan(lambda r: T.exp(T.reshape(r, (m,))), z),
    ]
    f = scanopt.function([x, y, z, n, m], result, backend="c")
    for arguments in ((np.ones(6), np.ones(3), np.ones((4, 3)), 2, 3), (np.ones(6), np.ones(2), np.ones((4, 2)), 3, 2)):
        for found, want in zip(f(*arguments), f.unoptimized(*arguments), strict=True):
            np.testing.assert_array_equal(found, want)
    assert "compiled" in f.kernels[0].state


def drawn(seed: int) -> Any:
    """A small program whose lengths are drawn among numbers and the lengths of its arrays."""
    numbers = iter(np.random.default_rng(seed).integers(1000, size=100).tolist())

    def one_of(some: Sequence[Any]) -> Any:
        return some[next(numbers) % len(some)]

    def length(v: Any) -> Any:
        a, b = (one_of([n, m, x.shape[0], y.shape[0], *z.shape, v.shape[0], 1]) for _ in range(2))
        return one_of([a, a, T.minimum(a, b), a * b])

    def shaped(v: Any) -> Any:
        lengths = [length(v) for _ in range(2)]
        some = [T.reshape(v, lengths), T.broadcast_to(v, lengths), v[: lengths[0]], T.exp(v), v.T]
        return one_of([*some, T.reshape(v, lengths[:1]), T.reshape(v, (lengths[0], -1))])

    a, b = (shaped(shaped(v)) for v in (one_of([x, y, z]), one_of([x, y])))
    if one_of([True, False]):
        return one_of([T.exp(a) * b, T.where(a > 0.4, a, b), T.exp(a).sum(axis=0) + b])
    start, places = T.exp(a).sum(), T.arange(a.shape[0])
    return scan(lambda k, s, b: s * 0.5 + T.exp(shaped(b)).sum() + b[:k].sum(), places, start, non_sequences=b)


@pytest.mark.share(6)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    sizes = [
        (4, 4, (2, 2), 2, 2),
        (6, 6, (2, 3), 2, 3),
        (2, 2, (2, 1), 2, 1),
        (1, 3, (1, 3), 1, 3),
        (4, 3, (3, 2), 5, 1),
    ]
    agree(drawn(seed), [*sizes, (3, 3, (1, 3), 3, 1)], WAYS[:2] if seed % 2 else WAYS[::2])


def test_a_mask_that_does_not_fit_raises_only_where_it_is_read() -> None:
    X, a, mask = T.TensorType("float64", (None, 3))("X"), T.dscalar("a"), T.constant(np.array([True, False, True]))
    f = scanopt.function([X, a], scanopt.ifelse(a > 0, T.exp(X[mask, 1]).sum(), a))
    assert f(np.ones((4, 3)), -1.0) == -1.0
    with pytest.raises(IndexError):
        f(np.ones((4, 3)), 1.0)


@pytest.mark.parametrize(
    "made",
    [
        lambda x, y: T.full_like(x, y) * x,
        lambda x, y: T.where(T.full_like(x, y) > 0.3, x, 0.0),
        lambda x, y: T.stack([x, T.full_like(x, y)])[0] * 2.0,
    ],
)
def test_what_an_array_is_filled_with_has_to_fit(made: Callable[[Any, Any], Any]) -> None:
    x, y = T.dvector("x"), T.dvector("y")
    f = scanopt.function([x, y], made(x, y))
    with pytest.raises(ValueError, match=r"broadcast|shape"):
        f(np.ones(1), np.ones(3))
