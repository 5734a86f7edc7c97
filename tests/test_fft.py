"""Fourier transforms by NumPy's names: values, dtypes, lengths, norms, gradients, loops, errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from against_numpy import Array, check, check_in_a_step, close, numbers

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op
from scanopt.array.registry import NUMPY_FUNCTIONS

F: Any = np.fft
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
OF_REAL = ("rfft", "ihfft", "rfftn", "rfft2")
X = numbers(3, 5)


@pytest.mark.parametrize("name", ONE)
def test_transforms_along_an_axis(name: str) -> None:
    def results(x: Any) -> list[Any]:
        f = getattr(F, name)
        norms = [f(x, norm=norm) for norm in (None, "backward", "ortho", "forward")]
        return [*norms, f(x, axis=0), *(f(x, n) for n in (1, 4, 5, 8)), f(x, 4, 0, "ortho")]

    check(results, X)
    if name not in OF_REAL:
        check(results, X * (1 + 2j))
    check_in_a_step(lambda x: [getattr(F, name)(x), getattr(F, name)(x, 7)], X[0])


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
def test_transforms_along_several_axes(name: str) -> None:
    def results(x: Any) -> list[Any]:
        f = getattr(F, name)
        more = [f(x, s=(4, 7), axes=(2, 0)), f(x, s=(-1, 3), axes=(0, 1)), f(x, axes=(1,), norm="forward")]
        return [f(x), *more, f(x, axes=(0, 2), norm="ortho")]

    check(results, numbers(2, 3, 4))
    check_in_a_step(lambda x: getattr(F, name)(x, axes=(0, 1)), X)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "bool", "complex64"])
def test_dtypes(dtype: str) -> None:
    names = [n for n in (*ONE, "fftn", "irfftn") if dtype != "complex64" or n not in OF_REAL]
    check(lambda x: [getattr(F, n)(x) for n in names], numbers(6, dtype=dtype))


def test_lengths_that_are_known_when_it_runs() -> None:
    x, n, m = T.dmatrix("x"), T.lscalar("n"), T.lscalar("m")

    def results(x: Any, n: Any, m: Any) -> list[Any]:
        rows = [getattr(F, name)(x, n) for name in ONE]
        return [*rows, F.fft2(x, (m, n)), F.irfftn(x, (m, n), axes=(0, 1)), F.irfft(F.rfft(x), x.shape[1])]

    f = scanopt.function([x, n, m], results(x, n, m))
    for points in (1, 3, 5, 8):
        for run in (f, f.unoptimized):
            for found, expected in zip(run(X, points, 4), results(X, points, 4), strict=True):
                close(found, expected)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n: int) -> None:
    m = T.lscalar("m")
    for f in (T.fft.fftfreq, T.fft.rfftfreq):
        expected = getattr(np.fft, f.__name__)(n, 0.25)
        close(scanopt.interpret(f(n, 0.25)), expected)
        close(scanopt.interpret(f(m, 0.25), {m: n}), expected)
        assert f(n).type.shape == expected.shape


def test_shifts() -> None:
    x = numbers(2, 3, 4)
    check(lambda v: [s(v, axes) for s in (F.fftshift, F.ifftshift) for axes in (None, 1, (0, 2), -1)], x)
    check_in_a_step(F.fftshift, numbers(5))


@pytest.mark.share(3)
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_gradients(norm: str) -> None:
    def loss(x: Any) -> Any:
        half = F.rfft(x, 7, norm=norm) * (1 + 0.5j)
        back = F.irfft(half, 4, norm=norm), F.hfft(half, norm=norm), F.irfft(half, 9, axis=0, norm=norm)
        whole = F.fftn(x, (4, 3), axes=(1, 0), norm=norm), F.ifft2(x, norm=norm), F.ihfft(x, norm=norm)
        return T.concatenate([*(b.ravel() for b in back), *(T.abs(w + 1).ravel() for w in whole)])

    T.verify_grad(loss, [X])


def test_gradients_of_lengths_that_are_not_known() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    y = F.irfft(F.rfft(x, n) ** 2, n) + T.abs(F.fft(x, n))
    f = scanopt.function([x, n], T.grad(T.sum(y**3), x))
    values = numbers(5)
    for points in (2, 5, 8):
        constant = scanopt.interpret(
            T.grad(T.sum((F.irfft(F.rfft(x, points) ** 2, points) + T.abs(F.fft(x, points))) ** 3), x), {x: values}
        )
        for run in (f, f.unoptimized):
            close(run(values, points), constant)


def test_rows_one_by_one_and_all_at_once() -> None:
    """To the bit: lengths of all kinds of algorithms, and rows that lie anyhow."""
    for n in (1, 2, 3, 7, 16, 30, 101, 128, 251):
        for dtype in ("float32", "float64", "complex64", "complex128"):
            rows = numbers(6, n, dtype=dtype)
            names = [name for name in ("fft", "rfft", "irfft") if name != "rfft" or not dtype.startswith("complex")]
            for name in names if n > 1 else names[:1]:
                more = {"inverse": True} if name == "fft" else {}
                f = Op.make(name, axis=0, n=None, norm="ortho", **more).bind()
                whole = Op.make(name, axis=1, n=None, norm="ortho", **more).bind()
                expected = np.stack([f(row) for row in rows])
                for given in (rows, np.asfortranarray(rows), rows[:, ::-1].copy()[:, ::-1]):
                    np.testing.assert_array_equal(whole(given), expected)


def test_a_spectral_solver_in_a_loop() -> None:
    """The transform of what stays leaves the loop."""
    u, n = T.dvector("u"), T.lscalar("n")

    def step(v: Any, u: Any) -> Any:
        return F.irfft(F.rfft(v) * T.exp(-0.1 * F.rfft(u).real ** 2), u.shape[0])

    states, _ = scanopt.scan(step, None, u, u, n_steps=n)
    f = scanopt.function([u, n], states[-1])
    assert "rfft" in str(f.program).split("\nloop ")[0]
    start = numbers(9)
    v = start
    for _ in range(4):
        v = F.irfft(F.rfft(v) * np.exp(-0.1 * F.rfft(start).real ** 2), 9)
    for run in (f, f.unoptimized):
        close(run(start, 4), v)


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda x: T.fft.fft(x, norm="both"), ValueError, "norm is 'backward', 'ortho' or 'forward', found 'both'"),
        (lambda x: T.fft.fft(x, 0), ValueError, "fft of 0 points: there must be one at least ('x' float64[?])"),
        (lambda x: T.fft.fft(T.dvector("y", shape=(0,))), ValueError, "fft of 0 points: there must be one at least"),
        (lambda x: T.fft.irfft(T.zvector("z", shape=(1,))), ValueError, "irfft of 0 points"),
        (lambda x: T.fft.rfft(T.zvector("z")), TypeError, "rfft takes real numbers, found complex128[?]: use fft"),
        (lambda x: T.fft.fft(x, axis=1), ValueError, "axis 1 of 'x' float64[?], which has 1 axis"),
        (lambda x: T.fft.fft(x[0]), ValueError, "fft takes an array of one axis or more, found"),
        (lambda x: T.fft.fft(x, 1.5), TypeError, "a length must be an integer, found 1.5"),
        (lambda x: T.fft.fftn(x, (1, 2), axes=(0,)), ValueError, "s has 2 lengths for 1 axis"),
        (lambda x: T.fft.rfftn(x, axes=()), ValueError, "at least one axis must be transformed"),
    ],
)  # fmt: skip
def test_errors(build: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        build(T.dvector("x"))


def test_no_points_at_run_time() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], F.fft(x))
    nothing: Array = np.zeros(0)
    for run in (f, f.unoptimized):
        with pytest.raises(ValueError, match="number of FFT data points"):
            run(nothing)


@pytest.mark.parametrize("f", [F.irfft, F.hfft])
def test_no_frequencies_are_zeros(f: Callable[..., Any]) -> None:
    """NumPy 2.4 gives memory that it has not written to."""
    z = T.zmatrix("z")
    g = scanopt.function([z], f(z, 4))
    for run in (g, g.unoptimized):
        np.testing.assert_array_equal(run(np.zeros((2, 0), complex)), np.zeros((2, 4)), strict=True)


def test_all_names_of_numpy_are_there() -> None:
    assert set(np.fft.__all__) == set(T.fft.__all__)
    assert {f"fft.{name}" for name in np.fft.__all__} <= set(NUMPY_FUNCTIONS)
