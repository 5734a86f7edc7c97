"""What loops keep at all steps: behind initial rows, backwards where it is read so, and once."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(5)
STEPS, LANES = 40, 20


def run(after: Any, taps: list[int]) -> tuple[Any, list[Any]]:
    """A loop over a state, what it was at its taps and what is made of these; its function, and arguments."""
    x, start = T.dmatrix("x"), T.dvector("start") if taps == [-1] else T.dmatrix("start")

    def step(v: Any, *before: Any) -> list[Any]:
        s = v * 0.5 + before[0] - 0.25 * before[-1]
        return [s, before[0], before[-1], T.exp(-s * s)]

    info = [dict(initial=start, taps=taps), None, None, None]
    (s, one, last, other), _ = scanopt.scan(step, x, info)
    f = scanopt.function([x, start], after(s, one, last, other), fp="exact", backend="c")
    return f, [RNG.normal(size=(STEPS, LANES)), RNG.normal(size=LANES if taps == [-1] else (-min(taps), LANES))]


AFTER = {
    "forwards": lambda s, one, last, other: [(s * one + last).sum(axis=0), other.max(axis=0)],
    "backwards": lambda s, one, last, other: [T.cumsum(s[::-1] - one[::-1] * last[::-1], axis=0)[-1]],
    "both": lambda s, one, last, other: [(s[::-1] * one).sum(axis=0), other[::-1].sum(axis=0) + last[3]],
    "results": lambda s, one, last, other: [s, (one * last).sum(axis=0), other[::-1]],
    "a loop backwards": lambda s, one, last, other: [
        scanopt.scan(lambda a, b, r: r * 0.5 + a * b, [2.0 * s, one - other], T.zeros(LANES), go_backwards=True)[0]
    ],
}


@pytest.mark.share(3)
@pytest.mark.parametrize("taps", [[-1], [-1, -3]], ids=str)
@pytest.mark.parametrize("name", AFTER)
def test_rows_lie_where_they_are_read(name: str, taps: list[int]) -> None:
    """The kernel has the bits of the interpreter."""
    f, values = run(AFTER[name], taps)
    exact_kernel(f, values)


def test_what_a_state_was_is_kept_with_it() -> None:
    """All rows of a state and of what it was take the memory of one array."""
    f, values = run(lambda s, one, last, other: [T.cumsum(s * one, axis=0)[-1]], [-1])
    exact_kernel(f, values)
    rows = STEPS * LANES * 8
    assert f.kernels[0].memory < 2.5 * rows


def test_products_with_what_is_read_backwards_copy_nothing() -> None:
    """A sum of products over steps and lanes takes a trace in the order in which it lies."""
    x, w = T.dtensor3("x"), T.dmatrix("w")
    ys = scanopt.scan(lambda v, s, w: T.tanh(s * w + v), x, w, [w])[0]
    f = scanopt.function([x, w], T.tensordot(ys[::-1].transpose((0, 2, 1)), x, axes=((0, 2), (0, 1))), backend="c")
    values = [RNG.normal(size=(2 * STEPS, 16, LANES)), RNG.normal(size=(16, LANES))]
    np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-12)
    assert f.kernels[0].memory < 1.5 * values[0].nbytes


def test_what_is_asked_for_its_shape_is_not_kept() -> None:
    """Of a trace whose length alone is read no rows are written."""
    f, values = run(lambda s, one, last, other: [T.zeros_like(other).shape[1] + T.cumsum(s, axis=0)[-1]], [-1])
    exact_kernel(f, values)
    assert f.kernels[0].memory < 2.5 * STEPS * LANES * 8


def test_names_of_one_array_are_kept_once() -> None:
    """A state that is only shaped like another value is written where it is kept."""
    x, y = T.dmatrix("x"), T.dvector("y")

    def step(v: Any, s: Any) -> list[Any]:
        new = T.tanh(s + v)
        return [new, T.specify_shape(new, (None,)), new[:]]

    traces = scanopt.scan(step, x, [y, None, None])[0]
    f = scanopt.function([x, y], [sum(T.cumsum(t * t, axis=0)[-1] for t in traces)], fp="exact", backend="c")
    exact_kernel(f, [RNG.normal(size=(STEPS, LANES)), RNG.normal(size=LANES)])


def test_what_was_rounded_on_its_way_is_another_value() -> None:
    x, s = T.dmatrix("x"), T.dvector("s")
    xs, _ = scanopt.scan(lambda v, s: T.tanh(0.5 * s + v), x, s)
    f = scanopt.function([x, s], [T.cast(T.cast(xs, "float32"), "float64")], fp="exact", backend="c")
    rng = np.random.default_rng(0)
    exact_kernel(f, [rng.normal(size=(12, 20)), rng.normal(size=20)])
