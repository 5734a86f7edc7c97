"""States that become what another state was are read from the rows of that state, and not copied."""

from typing import Any

import numpy as np
import pytest
from shares import tries
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T


def _same(f: Any, values: list[Any]) -> None:
    found, expected = f(*values), f.unoptimized(*values)
    assert_same([*found], [*expected])


@pytest.mark.parametrize("steps", [1, 2, 3, 20])
def test_the_last_two_states_of_a_wave(steps: int) -> None:
    u, v = T.dmatrices("u", "v")

    def step(u: Any, v: Any) -> list[Any]:
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        return [T.set_subtensor(u[1:-1, 1:-1], 2.0 * u[1:-1, 1:-1] - v[1:-1, 1:-1] + 0.2 * around), u]

    (us, vs), _ = scanopt.scan(step, outputs_info=[u, v], n_steps=steps)
    f = scanopt.function([u, v], [us[-1], vs[-1]], backend="c", fp="exact")
    rng = np.random.default_rng(steps)
    _same(f, [rng.normal(size=(12, 11)), rng.normal(size=(12, 11))])


def test_nothing_is_copied() -> None:
    u, v = T.dvectors("u", "v")
    (us, _), _ = scanopt.scan(lambda u, v: [T.sqrt(u * u[::-1] + 1.0) - v, u], outputs_info=[u, v], n_steps=30)
    f = scanopt.function([u, v], us[-1], backend="c", fp="exact")
    _same(f, [np.arange(50.0), np.ones(50)])
    text = f.kernels[-1].texts[-1]
    step = text[text.rindex("while (") :]
    assert step[: step.index("++;\n        }")].count("for (int64 i") == 1


def random_program(seed: int) -> tuple[Any, list[Any]]:
    """A loop whose states follow one another, in chains of random order and depth."""
    rng = np.random.default_rng(seed)
    count, n = int(rng.integers(2, 6)), int(rng.integers(9, 20))
    order, kinds = rng.permutation(count), rng.random(count)
    follows = {int(j): int(order[max(0, i - rng.integers(1, 3))]) for i, j in enumerate(order) if i and kinds[i] < 0.7}
    depths = [int(rng.integers(1, 4)) for _ in range(count)]
    which = [int(rng.integers(1, d + 1)) for d in depths]
    xs = T.dmatrix("xs")
    inits = [T.dmatrix(f"i{j}") for j in range(count)]
    end = rng.random() < 0.3

    def step(x: Any, *taps: Any) -> Any:
        rows, at = list[Any](), 0
        for d in depths:
            rows.append(dict(enumerate(taps[at : at + d], 1)))
            at += d
        mixed = x
        for j in range(count):
            mixed = mixed * 0.5 + T.sin(rows[j][depths[j]]) - rows[j][1][::-1]
        new = [rows[follows[j]][which[follows[j]]] if j in follows else mixed * (1.0 + j) for j in range(count)]
        return (new, scanopt.until(mixed[0] > 1.5)) if end else new

    infos = [
        dict(initial=inits[j] if d > 1 else inits[j][0], taps=[*range(-1, -d - 1, -1)]) for j, d in enumerate(depths)
    ]
    outs, _ = scanopt.scan(step, sequences=xs, outputs_info=infos)
    kept = [o[-1] if rng.random() < 0.7 or end else o for o in outs]
    steps = int(rng.integers(1, 12))
    values = [rng.normal(size=(steps, n)), *(rng.normal(size=(d, n)) for d in depths)]
    return ([xs, *inits], kept), values


@pytest.mark.parametrize("seed", range(tries(120)))
def test_random_chains_of_states(seed: int) -> None:
    (inputs, outputs), values = random_program(seed)
    for fp in ("exact", "reassoc"):
        f = scanopt.function(inputs, outputs, backend="c", fp=fp, exclude=["states"] if seed % 2 else [])
        found, expected = f(*values), f.unoptimized(*values)
        for a, b in zip(found, expected, strict=True):
            if fp == "exact":
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
