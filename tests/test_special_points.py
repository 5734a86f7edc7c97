"""Derivatives of all public functions at special points: 0, 1, -1, ties, and where powers and quotients have corners.

Each function of one or two vectors, found by its name and not listed here, is tried on all pairs of these numbers.  A
first derivative has to be that of central differences wherever those of both sides agree, a second one likewise by the
first, and forward mode has to agree with reverse mode at infinities and NaN, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Variable

Array = np.ndarray[Any, Any]

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

FINITE = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0)
ALL = (*FINITE, -0.0, np.inf, -np.inf, np.nan)
NOT_TAKEN = ("T.relu", "T.nnet.relu", "T.nnet.leaky_relu", "T.nnet.celu")
"""Of two branches, the one not taken is infinite or NaN at some of these numbers, and reverse mode multiplies by it."""

UNTRIED = {
    "T.norm": "its second argument, the order, is no vector",
    "T.nnet.celu": "an alpha of 0 is a division by 0",
    **dict.fromkeys(("T.special.beta", "T.special.betaln"), "the derivatives are sums of infinities at their poles"),
}
"""Functions whose derivatives are not compared with differences."""

STEPS = (-1e-4, 1e-4, -2e-5, 2e-5)


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """All public functions, by their names."""
    rooms = {"T": T, "T.special": T.special, "T.nnet": T.nnet}
    found = {f"{room}.{n}": getattr(m, n) for room, m in rooms.items() for n in dir(m) if not n.startswith("_")}
    return {name: f for name, f in found.items() if callable(f) and not isinstance(f, type)}


class Derivatives:
    """A function of each element of one or two vectors, with all first and second derivatives."""

    def __init__(self, f: Callable[..., Any], count: int) -> None:
        self.inputs = [T.dvector("x"), T.dvector("y")][:count]
        self.value = f(*self.inputs)
        if not isinstance(self.value, Variable) or self.value.type != self.inputs[0].type:
            raise TypeError("no vector of as many elements")
        self.first = self._of(self.value)
        self.second = [h for g in self.first for h in self._of(g)]
        self.forward = [scanopt.Rop(self.value, x, T.ones_like(x)) for x in self.inputs]

    def _of(self, value: Any) -> list[Any]:
        found: list[Any] = scanopt.grad(value.sum(), self.inputs, disconnected_inputs="ignore")
        return found

    def run(self, outputs: Sequence[Any], values: Sequence[Array]) -> list[Array]:
        found: list[Array] = scanopt.interpret(list(outputs), dict(zip(self.inputs, values, strict=True)))
        return found

    @property
    def elementwise(self) -> bool:
        """Whether elements of the result do not depend on their order, nor on one another."""
        values = points(FINITE, len(self.inputs))
        ways = [slice(None), slice(None, None, -1), slice(4, 5)]
        (whole,), (turned,), (one,) = (self.run([self.value], [v[way] for v in values]) for way in ways)
        alike = np.array_equal(whole, turned[::-1], equal_nan=True) and np.array_equal(whole[4:5], one, equal_nan=True)
        return whole.shape == values[0].shape and alike


def points(numbers: Sequence[float], count: int) -> list[Array]:
    """All combinations of these numbers."""
    return list(np.array([*itertools.product(numbers, repeat=count)]).T.copy())


@cache
def derivatives(name: str, count: int) -> Derivatives | None:
    """Of a function, if it takes so many vectors and works on their elements."""
    try:
        found = Derivatives(functions()[name], count)
        return found if found.elementwise else None
    except Exception:
        return None


CASES = [(name, count) for name in functions() for count in (1, 2)]


def differ(name: str, what: str, values: Sequence[Array], found: Array, expected: Array, where: Array) -> list[str]:
    """What is told of the first places at which two arrays are not close, of those asked about."""
    wrong = where & ~np.isclose(found, expected, rtol=1e-3, atol=1e-3, equal_nan=True)
    return [
        f"{what} of {name} at {[float(v[k]) for v in values]}: {found[k]}, not {expected[k]}"
        for k in np.flatnonzero(wrong)[:3]
    ]


def slopes(run: Callable[[float], list[Array]]) -> list[tuple[Array, Array]]:
    """Per result central differences, and whether those of both sides, and of a smaller step, agree.

    run: the results where an argument is moved by so much.
    """
    here, out = run(0.0), list[tuple[Array, Array]]()
    sides = [[(there - h) / step for there, h in zip(run(step), here, strict=True)] for step in STEPS]
    for around in zip(*sides, strict=True):
        middle = (around[0] + around[1]) / 2
        near = [np.abs(side - middle) < 1e-2 * (1 + np.abs(middle)) for side in around]
        out.append((middle, np.isfinite(middle) & np.logical_and.reduce(near)))
    return out


def wrong_at_corners(name: str, count: int) -> list[str]:
    made = derivatives(name, count)
    if made is None:
        return []
    values, found = points(FINITE, count), list[str]()
    outputs = [made.value, *made.first]
    first, second = made.run(made.first, values), made.run(made.second, values)
    for j in range(count):
        moved = lambda by, j=j: made.run(outputs, [v + by * (i == j) for i, v in enumerate(values)])  # noqa: E731
        given = {f"by {j}": first[j]} | {f"by {i} and {j}": second[i * count + j] for i in range(count)}
        for (what, derivative), (expected, smooth) in zip(given.items(), slopes(moved), strict=True):
            found += differ(name, f"derivative {what}", values, derivative, expected, smooth)
    return found


def wrong_forwards(name: str, count: int) -> list[str]:
    made = derivatives(name, count)
    if made is None:
        return []
    values = points(ALL, count)
    backwards, forwards = made.run(made.first, values), made.run(made.forward, values)
    everywhere = np.ones(len(values[0]), bool)
    return [
        told
        for a, b in zip(backwards, forwards, strict=True)
        for told in differ(name, "forward mode", values, b, a, everywhere)
    ]


def test_derivatives_at_corners() -> None:
    assert not [told for case in CASES if case[0] not in UNTRIED for told in wrong_at_corners(*case)]


def test_forward_and_reverse_mode_agree_at_special_values() -> None:
    assert not [told for case in CASES if case[0] not in NOT_TAKEN for told in wrong_forwards(*case)]


def test_most_functions_are_tried() -> None:
    assert sum(derivatives(*case) is not None for case in CASES) > 150
