"""States that steps sort again, with one element more and one less: with the bits of the interpreter, in all places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_kernel_sorts import compiled, drawn, exactly

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(5)
DTYPES = ["float64", "float32", "int64", "uint8"]
Part = Callable[[Any, Any], Any]
PARTS: dict[str, Part] = {
    "without the least": lambda x, n: x[1:],
    "without the greatest": lambda x, n: x[:-1],
    "greatest first": lambda x, n: x[::-1][:-1],
    "least last, backwards": lambda x, n: x[:0:-1],
    "all but the greatest, backwards": lambda x, n: x[-2::-1],
    "the last n": lambda x, n: x[-n:],
}


def insertion(kept: Part, dtype: str, behind: bool = True, every: bool = False, chosen: str = "") -> Any:
    """The greatest or least numbers so far.  every: of all steps.  chosen: only of steps for which a test holds."""
    x, top = T.TensorType(dtype, (None,))("x"), T.TensorType(dtype, (None,))("top")

    def step(v: Any, i: Any, s: Any) -> Any:
        joined = T.concatenate([s, v[None]] if behind else [v[None], s])
        new, test = kept(T.sort(joined), s.shape[0]), T.neq(i % 3, 1)
        if chosen == "ifelse":
            return scanopt.ifelse(test, new, s)
        return {"": new, "then": T.switch(test, new, s), "else": T.switch(test, s, new)}[chosen]

    found, _ = scanopt.scan(step, [x, T.arange(x.shape[0])], top)
    return scanopt.function([x, top], found if every else found[-1], fp="exact", backend="c")


def steps(f: Any, dtype: str, lengths: tuple[int, ...] = (1, 2, 3, 7, 40)) -> None:
    for n in lengths:
        exactly(f, drawn((60,), dtype), drawn((n,), dtype))
        exactly(f, RNG.integers(0, 9, 60).astype(dtype), np.sort(RNG.integers(0, 9, n).astype(dtype)))
        exactly(f, (RNG.random(60) * 100).astype(dtype), (RNG.random(n) * 100).astype(dtype))
    exactly(f, drawn((1,), dtype), drawn((5,), dtype))


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", [*PARTS])
def test_elements_are_inserted(part: str, dtype: str) -> None:
    f = insertion(PARTS[part], dtype)
    steps(f, dtype)
    assert compiled(f)
    assert "insert_row" in str(f.kernels[0]) or part == "the last n"


@pytest.mark.share(3)
@pytest.mark.parametrize("chosen", ["", "then", "else", "ifelse"])
@pytest.mark.parametrize("behind", [True, False])
def test_with_all_rows_kept_and_with_tests(chosen: str, behind: bool) -> None:
    for every in (True, False):
        f = insertion(PARTS["without the least"], "float64", behind, every, chosen)
        steps(f, "float64", (3, 20))
        assert compiled(f)
        assert "insert_row" in str(f.kernels[0])


def test_the_state_is_also_read() -> None:
    """What a step reads of the state is the state before the insertion."""
    x, top = T.dvector("x"), T.dvector("top")

    def step(v: Any, s: Any, least: Any) -> list[Any]:
        return [T.sort(T.concatenate([s, T.stack([v + s[-1] % 3])]))[1:], least + s[0] * s.sum()]

    (s, least), _ = scanopt.scan(step, x, [top, T.constant(0.0, dtype="float64")])
    f = scanopt.function([x, top], [s[-1], least], fp="exact", backend="c")
    for n in (2, 12):
        exactly(f, RNG.normal(size=50), RNG.normal(size=n))
    assert "insert_row" in str(f.kernels[0])


def test_a_loop_in_a_loop_starts_again() -> None:
    """Each run of the inner loop starts from a state that is not sorted."""
    x, top = T.dmatrix("x"), T.dmatrix("top")

    def row(values: Any, start: Any) -> Any:
        found, _ = scanopt.scan(lambda v, s: T.sort(T.concatenate([s, v[None]]))[1:], values, start)
        return found[-1] + 1

    found, _ = scanopt.scan(row, [x, top])
    f = scanopt.function([x, top], found, fp="exact", backend="c")
    exactly(f, RNG.normal(size=(6, 30)), RNG.normal(size=(6, 8)))
    exactly(f, RNG.normal(size=(6, 1)), RNG.normal(size=(6, 8)))


def test_no_steps_and_states_of_another_length() -> None:
    f = insertion(PARTS["without the least"], "float64", every=True)
    exactly(f, np.zeros(0), RNG.normal(size=4))
    for kept in (lambda x, n: x[2:], lambda x, n: x[::2], lambda x, n: x):
        g = insertion(kept, "float64")
        with pytest.raises(ValueError, match="shape"):
            g(RNG.normal(size=9), RNG.normal(size=4))
