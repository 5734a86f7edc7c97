"""Operators outside loops are kernels where the program as a whole is none, with the bits and errors of array steps."""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from test_cuda import assert_close, on_shim
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Variable
from scanopt.backends import executor
from scanopt.backends.kernels.compilers import compiler

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
X, v = T.dmatrix("X"), T.dvector("v")


def smooth(x: Variable) -> Variable:
    return T.exp(-abs(x)) * 2 + x / (1 + x * x) - v


def apart(x: Variable, axis: int = 0) -> Variable:
    """Sorted, in a way that has no form in C."""
    return T.sort(x, axis=axis, kind="heapsort")


def states_of(f: Any) -> list[str]:
    return [str(k).splitlines()[0].split("; on ")[0] for k in f.kernels]


def values(rows: int = 5, columns: int = 7) -> list[np.ndarray[Any, Any]]:
    g = np.random.default_rng(rows)
    return [g.normal(size=(rows, columns)), g.normal(size=columns)]


def both(outputs: list[Variable], given: list[Any]) -> Any:
    """The function with kernels, which gives the bits of its program as array steps."""
    f = scanopt.function([X, v], outputs, backend="c", on_unused_input="ignore")
    assert_same(f(*given), executor("numpy").compile(f.program)(given))
    return f


def test_what_has_no_form_divides_a_program() -> None:
    f = both([smooth(apart(smooth(X))), smooth(X).sum()], values())
    assert [re.sub(r"[0-9]+ op", "n op", s) for s in states_of(f)] == [
        "a segment of n operators: 1 of 1 kernels compiled"
    ] * 2
    assert re.search(
        r"z_kernel_0 = kernel_0\(.*\)\n    if z_kernel_0:\n        \[v\d+, v\d+\], z_kernel_0 = z_", f.source
    )


def test_loops_and_segments_are_kernels() -> None:
    h, _ = scanopt.scan(lambda x, h: T.tanh(x + h), apart(smooth(X), 1), v)
    f = both([smooth(h)], values())
    assert sorted(x.split(":")[1] for x in states_of(f)) == [" 1 of 1 kernels compiled"] * 3


def test_on_the_sides_of_a_branch() -> None:
    s = apart(X)
    for scale in (1, -1):
        both([T.ifelse(v.sum() > 0, smooth(s), smooth(s * 2))], [values()[0], scale * np.ones(7)])


def test_results_are_arrays_of_their_own() -> None:
    f = both([apart(X), smooth(X), smooth(X).T, smooth(X)[0]], values())
    given = values()
    found = f(*given)
    for i, x in enumerate(found):
        assert x.flags.writeable
        assert not any(np.shares_memory(x, y) for y in (*given, *found[:i]))


def test_lengths_that_do_not_fit_are_told_as_by_array_steps() -> None:
    for outputs in ([smooth(apart(X))], [smooth(X), apart(X, 1)]):
        given = [values()[0], np.ones(3)]
        said = []
        for backend in ("c", "numpy"):
            f = scanopt.function([X, v], outputs, backend=backend)
            with pytest.raises(ValueError, match="7") as caught:
                f(*given)
            said.append((str(caught.value), getattr(caught.value, "__notes__", None)))
        assert said[0] == said[1]


def test_few_elements_are_left_to_array_steps() -> None:
    """With the executor "auto", for which a call of a kernel has to be worth it."""
    f = scanopt.function([X, v], [smooth(apart(smooth(X)))])
    for _ in range(400):
        f(*values(2, 2))
    assert all("took too little time" in k for k in states_of(f))
    big = values(100, 100)
    for _ in range(400):
        f(*big)
    assert all("took too little time" not in k for k in states_of(f))


OPERATORS: list[Callable[..., Variable]] = [
    lambda a, b: a + b, lambda a, b: a * b - 1, lambda a, b: T.exp(-abs(a)), lambda a, b: T.where(a > b, a, 2 * b),
    lambda a, b: T.maximum(a, b), lambda a, b: a / (1 + b * b), lambda a, b: a - a.mean(axis=0),
    lambda a, b: apart(a), lambda a, b: apart(b, 1), lambda a, b: T.cumsum(a, axis=1),
    lambda a, b: T.dot(a, T.dot(b.T, a)), lambda a, b: a[::-1], lambda a, b: T.tanh(a) * b.max(),
    lambda a, b: T.concatenate([a[:1], b[1:]]),
]  # fmt: skip


@pytest.mark.share(6)
@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int) -> None:
    """300 were tried once: none differed."""
    pick = random.Random(seed)
    made: list[Variable] = [X, X + v]
    for _ in range(14):
        made.append(pick.choice(OPERATORS)(pick.choice(made[-4:]), pick.choice(made)))
    given = values()
    both([*pick.sample(made[2:], 3), made[-1].sum()], given)


def test_on_a_device_each_chain_is_a_kernel(tmp_path: Path) -> None:
    """One thread for each element of the largest: chains that nothing connects are launched apart."""
    shim = Shim(tmp_path, threads=32)
    w = T.dvector("w")
    f = scanopt.function([X, v, w], [smooth(X), T.exp(w) * 3 + w / 2, apart(X, 1)], backend="numpy")
    program, loops = on_shim(f, shim)
    given = [*values(), np.linspace(0, 1, 400)]
    for found, expected in zip(program(given), f(*given), strict=True):
        assert_close(found, expected)
    assert [x.report().state for x in loops] == ["1 runs of 1 kernels"] * 2
    assert sorted(blocks for blocks, _ in shim.launches) == [1, 4]
