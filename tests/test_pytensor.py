"""Programs written with PyTensor give PyTensor's numbers, read as graphs and compiled by the mode."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

# No C compiler, and each result of a step in memory of its own: in memory that it uses again, PyTensor 3.0.7 gives
# wrong numbers of some of these loops without a compiler, and crashes in one with it.
os.environ.setdefault("PYTENSOR_FLAGS", "cxx=,scan__allow_output_prealloc=False")
pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed (the extra 'pytensor')")

import pytensor.tensor as pt  # noqa: E402
from pytensor_programs import MODELS, PROGRAMS  # noqa: E402

import scanopt  # noqa: E402

ALL = {**PROGRAMS, **MODELS}
pytestmark = pytest.mark.filterwarnings("ignore")  # PyTensor's own, of what is installed


def expected(inputs: list[Any], outputs: Any, values: list[Any]) -> list[Any]:
    """PyTensor's own numbers, by the `perform` of each operator."""
    found: list[Any] = pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")(*values)
    return found


def same(found: list[Any], wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        tol = 1e-5 if np.asarray(b).dtype == np.float32 else 1e-9
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@pytest.mark.parametrize("name", ALL)
def test_gives_the_numbers_of_pytensor(name: str) -> None:
    inputs, outputs, values = ALL[name]()
    wanted = expected(inputs, outputs, values)
    f = pytensor.function(inputs, outputs, mode=scanopt.pytensor_mode(), on_unused_input="ignore")
    same(f(*values), wanted)
    same(f.vm.jit_fn.function.unoptimized(*values), wanted)


@pytest.mark.parametrize("name", [*list(PROGRAMS)[::4], *list(MODELS)[::4]])
def test_graphs_as_they_are_written(name: str) -> None:
    inputs, outputs, values = ALL[name]()
    same(scanopt.from_pytensor(inputs, outputs)(*values), expected(inputs, outputs, values))


# Shared variables, random numbers, operators without a rule


def test_shared_variables_and_updates() -> None:
    count, x = pytensor.shared(np.float64(1.0), name="count"), pt.dvector("x")
    rows = pytensor.scan(lambda e, s: s + e * count, [x], [np.float64(0)], return_updates=False)
    f = scanopt.from_pytensor([x], rows, updates={count: count + rows[-1]})
    g = pytensor.function([x], rows, updates={count: count + rows[-1]}, mode=scanopt.pytensor_mode())
    h = pytensor.function([x], rows, updates={count: count + rows[-1]}, mode="FAST_COMPILE")
    first = [f([1.0, 2.0]), f([1.0, 2.0])]
    np.testing.assert_allclose(first, [h([1.0, 2.0]), h([1.0, 2.0])])
    count.set_value(np.float64(1.0))
    np.testing.assert_allclose(first, [g([1.0, 2.0]), g([1.0, 2.0])])


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.Philox, np.random.SFC64])
def test_random_variables_have_the_bits_of_numpy(bits: Callable[[int], Any]) -> None:
    def fresh() -> Any:
        return pytensor.shared(np.random.Generator(bits(3)), name="rng")

    def draws(rng: Any) -> tuple[list[Any], Any]:
        out, at = [], rng
        for f, args in ((pt.random.normal, (1.0, 2.0)), (pt.random.uniform, (0.0, 3.0)), (pt.random.poisson, (4.0,)),
                        (pt.random.gamma, (2.0, 1.0)), (pt.random.integers, (0, 10))):  # fmt: skip
            at, x = f(*args, size=(3,), rng=at).owner.outputs
            out.append(x)
        return out, at

    rng = fresh()
    out, last = draws(rng)
    f = scanopt.from_pytensor([], out, updates={rng: last})
    g = pytensor.function([], out, updates={rng: last}, mode=scanopt.pytensor_mode())
    other = fresh()
    out, last = draws(other)
    h = pytensor.function([], out, updates={other: last}, mode="FAST_COMPILE")
    for _ in range(2):
        wanted = h()
        for found in (f(), g()):
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b)


def test_random_variables_inside_a_scan() -> None:
    rng = pytensor.shared(np.random.default_rng(5))

    def step(x: Any, rng: Any) -> Any:
        rng, z = pt.random.normal(x, 1.0, rng=rng).owner.outputs
        return z, rng

    rows, last = pytensor.scan(step, outputs_info=[np.float64(0), rng], n_steps=6, return_updates=False)
    f = pytensor.function([], rows, updates={rng: last}, mode=scanopt.pytensor_mode())
    numpy, x = np.random.default_rng(5), 0.0
    for _ in range(2):
        x, wanted = 0.0, []
        for _ in range(6):
            x = numpy.normal(x, 1.0)
            wanted.append(x)
        np.testing.assert_array_equal(f(), wanted)


def test_operators_without_a_rule_run_by_their_own_perform() -> None:
    x = pt.dvector("x")
    out = [pt.unique(x), pt.nonzero(x)[0], pt.bincount(x.astype("int64")), pt.repeat(x, x.astype("int64"))]
    rows = pytensor.scan(lambda e: pt.unique(pt.stack([e, e])).sum(), [x], return_updates=False)
    values = [np.array([3.0, 0.0, 3.0, 1.0])]
    same(scanopt.from_pytensor([x], [*out, rows])(*values), expected([x], [*out, rows], values))


def test_what_it_does_not_know_is_named() -> None:
    rng = pytensor.shared(np.random.Generator(np.random.MT19937(1)))
    with pytest.raises(NotImplementedError, match="MT19937"):
        scanopt.from_pytensor([], pt.random.normal(rng=rng))
    x, y = pt.dvector("x"), pt.dvector("y")
    with pytest.raises(ValueError, match="y, which is not among the inputs"):
        scanopt.from_pytensor([x], x + y)
    typed = pytensor.tensor.type_other.NoneTypeT()("nothing")
    with pytest.raises(NotImplementedError, match="nothing"):
        scanopt.from_pytensor([typed], x)


def test_checks_raise() -> None:
    x = pt.dvector("x")
    y = pytensor.raise_op.Assert("x must be positive")(x, pt.all(x > 0))
    f = scanopt.from_pytensor([x], y.sum())
    assert f([1.0, 2.0]) == 3
    with pytest.raises(AssertionError, match="x must be positive"):
        f([-1.0, 2.0])


def test_the_mode_tells_what_laws_did() -> None:
    inputs, outputs, _ = PROGRAMS["norms_of_lines"]()
    f = pytensor.function(inputs, outputs, mode=scanopt.pytensor_mode())
    inner = f.vm.jit_fn.function
    assert inner.cost < inner.cost_before
    assert not inner.program.loops()
