"""Arrays of few numbers, however they are put together, are computed number by number."""

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

x = T.dvector("x")
a, b = T.dscalars("a", "b")
TURN = np.array([[0.5, 0.3], [0.2, -0.4]])


def pair(first: Any, second: Any, v: Any) -> tuple[Any, Any]:
    return T.tanh(first + v) * second, second + first * v


def plain() -> list[Any]:
    return scanopt.scan(lambda v, s, r: [*pair(s, r, v)], x, [a, b])[0]


def together(step: Any, start: Any = None) -> list[Any]:
    states = scanopt.scan(step, x, T.stack([a, b]) if start is None else start)[0]
    return [states[:, 0], states[:, 1]]


TOGETHER = {
    "stacked": lambda: together(lambda v, s: T.stack([*pair(s[0], s[1], v)])),
    "joined": lambda: together(lambda v, s: T.concatenate([*pair(s[:1], s[1:], v)])),
    "set": lambda: together(lambda v, s: T.set_subtensor(T.zeros_like(s)[:], T.stack([*pair(s[0], s[-1], v)]))),
    "turned": lambda: together(lambda v, s: T.roll(T.stack([*pair(s[0], s[1], v)][::-1]), 1)),
    "a column": lambda: together(
        lambda v, s: T.stack([*pair(s[0, 0], s[1, 0], v)])[:, None], T.concatenate([a[None], b[None]])[:, None]
    ),
}


@pytest.mark.parametrize("way", TOGETHER)
def test_a_state_of_two_numbers_is_two_states(way: str) -> None:
    outputs = [part.reshape((x.shape[0],)) for part in TOGETHER[way]()]
    f = scanopt.function([x, a, b], outputs)
    assert f.cost <= 1.01 * scanopt.function([x, a, b], plain()).cost
    values = np.linspace(-1, 1, 5), 0.3, 0.7
    for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


class Mixed:
    """Random steps of a state of few numbers."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def shape(self) -> tuple[int, ...]:
        shapes: list[tuple[int, ...]] = [(1,), (2,), (3,), (1, 1), (2, 2), (1, 3), (2, 1)]
        return shapes[self.rng.integers(len(shapes))]

    def one_of(self, *ways: Any) -> Any:
        return ways[self.rng.integers(len(ways))]()

    def changed(self, s: Any, v: Any) -> Any:
        """An array of the same shape."""
        n = s.type.shape[0]
        k = int(self.rng.integers(n))
        number = np.float64(self.rng.normal())
        square = self.rng.normal(size=(n, n))
        return self.one_of(
            lambda: T.roll(s, k, axis=0), lambda: s[::-1], lambda: T.tanh(s) * v, lambda: s + number, lambda: s - s[k],
            lambda: T.set_subtensor(s[k], s[0] * v), lambda: T.inc_subtensor(s[k:], s[k:] * 0.5),
            lambda: T.concatenate([s[k:], s[:k]]), lambda: T.stack([s[i] for i in self.rng.permutation(n)]),
            lambda: T.dot(square, s), lambda: s / (1.0 + (s * s).sum(axis=0)), lambda: T.maximum(s, s.mean()),
            lambda: T.reshape(s, (-1,)).reshape(s.type.shape), lambda: T.expand_dims(s, 0)[0], lambda: s.T.T * 0.5,
            lambda: T.where(s > v, s, s.max()), lambda: s * T.ones_like(s)[k],
            lambda: T.broadcast_to(s[:1], s.type.shape),
        )  # fmt: skip

    def program(self, v: Any, start: Any) -> Any:
        def step(v: Any, s: Any) -> Any:
            for _ in range(int(self.rng.integers(1, 5))):
                s = T.specify_shape(self.changed(s, v), start.type.shape)
            return s

        return scanopt.scan(step, v, start)[0]


@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("seed", range(3))
def test_random_steps(seed: int, fp: str) -> None:
    mixed = Mixed(seed)
    outputs = [mixed.program(x, T.tensor("float64", mixed.shape(), "s") * b) for _ in range(2)]
    starts = [v for v in dict.fromkeys(scanopt.graph.inputs(outputs)) if v.name == "s"]
    f = scanopt.function([x, b, *starts], outputs, fp=fp)
    values = np.linspace(-1, 1, 4), 0.7, *(mixed.rng.normal(size=s.type.shape) for s in starts)
    for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
        if fp == "exact":
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
