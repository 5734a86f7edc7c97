"""States that move by some elements are windows on longer memory: a step copies none of what stays."""

from typing import Any

import numpy as np
import pytest
from shares import EVERYTHING
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.loop_report import ONCE

LENGTHS = (1, 2, 9, 64, 700)


def texts(f: Any) -> str:
    """The kernels' texts; all is one kernel."""
    assert all(k.loop == ONCE and "compiled" in k.state for k in f.kernels)
    return "".join(t for k in f.kernels for t in k.texts)


def delayed(backwards: bool, rows: int = 0) -> Any:
    """A comb filter of what left a delay line."""
    x, s = (T.dvector("x"), T.dvector("s")) if not rows else (T.dmatrix("x"), T.dmatrix("s"))

    def step(v: Any, s: Any) -> Any:
        y = v + 0.5 * s[-1 if backwards else 0]
        new = y[None] if rows else T.stack([y])
        return [y, T.concatenate([new, s[:-1]] if backwards else [s[1:], new])]

    (ys, ss), _ = scanopt.scan(step, x, [None, s])
    return scanopt.function([x, s], [ys, ss[-1]], fp="exact", backend="c")


@pytest.mark.share(2)
@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize("rows", [0, 3])
def test_a_delay_line(backwards: bool, rows: int) -> None:
    f = delayed(backwards, rows)
    rng = np.random.default_rng(0)
    for steps in (1, 5, 3000):
        for length in LENGTHS:
            shape = (rows,) if rows else ()
            values = rng.normal(size=(steps, *shape)), rng.normal(size=(length, *shape))
            assert_same([*f(*values)], [*f.unoptimized(*values)])
    assert "+ 512" in texts(f)


def random_program(seed: int) -> tuple[Any, list[Any]]:
    """A state that moves by some elements, read and handed on in some ways."""
    rng = np.random.default_rng(seed)
    new, backwards = int(rng.integers(1, 4)), bool(rng.integers(2))
    length = new + int(rng.integers(1, 40))
    x, s, r = T.dmatrix("x"), T.dvector("s"), T.dvector("r")
    kind, first, second = rng.integers(0, 5, 3)
    until, all_rows = rng.integers(0, 4, 2) == 0

    def step(v: Any, s: Any, r: Any) -> Any:
        read = [s[0], s[-1], s.sum(), (s * r).sum(), s[T.cast(abs(s[0]), "int64") % s.shape[0]]][kind]
        front = [v, 0.5 * v + read, s[:new] * 0.5, s[-new:] + v, T.tanh(v)][first]
        moved = T.concatenate([front, s[:-new]] if backwards else [s[new:], front])
        other = [s, moved, 0.9 * r + s, T.where(moved > 0, s, r), moved[::-1]][second]
        found = [moved, other, read]
        return (found, scanopt.until(abs(moved[0]) > 2.5)) if until else found

    (ss, rs, ys), _ = scanopt.scan(step, x, [s, r, None])
    outs = [ss if all_rows else ss[-1], rs[-1], ys]
    inputs = [x, s, r]
    steps = int(rng.integers(1, 60 if seed % 5 else 1500))
    return scanopt.function(inputs, outs, fp="exact", backend="c"), [
        rng.normal(size=(steps, new)), rng.normal(size=length), rng.normal(size=length)]  # fmt: skip


@pytest.mark.parametrize("seed", range(120 if EVERYTHING else 8))
def test_random_windows(seed: int) -> None:
    f, values = random_program(seed)
    with np.errstate(all="ignore"):
        assert_same([*f(*values)], [*f.unoptimized(*values)])


def test_what_does_not_move() -> None:
    """Another part than one at an end; a part that is joined twice."""
    x, s = T.dvectors("x", "s")
    for join in (lambda v, s: [v, s[1:]], lambda v, s: [s[:-1], v], lambda v, s: [v, s[:-1][::-1]]):
        ss, _ = scanopt.scan(lambda v, s, join=join: T.concatenate(join(T.stack([v]), s)), x, s)
        f = scanopt.function([x, s], ss[-1], fp="exact", backend="c")
        values = np.random.default_rng(0).normal(size=(2, 20))
        assert_same([f(*values)], [f.unoptimized(*values)])
        assert "+ 512" not in texts(f)
