"""Conformance to the array API standard 2024.12: names, signatures, dtypes, shapes and values of every function.

The peer is array-api-strict, the reference implementation of the standard: each call is one of the standard alone, made
of its arrays and of symbolic ones (`array_api_module`).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import array_api_module as ours
import array_api_strict as strict
import numpy as np
import pytest
from array_api_calls import CALLS, DTYPES, NAMES, Call
from array_api_module import Array

import scanopt.tensor as T
from scanopt.array import standard_names
from scanopt.array.standard import namespace

FLOATS = DTYPES[9:11]
NEW = ("isin", "broadcast_shapes")
"""Names of the version after it, which the reference has whichever is asked for."""


@pytest.fixture(autouse=True)
def version() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strict.set_array_api_strict_flags(api_version="2024.12")
        yield
        strict.reset_array_api_strict_flags()


def values(dtype: str) -> Any:
    """Numbers of a dtype that functions treat in their own ways, beside usual ones."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([True, False, True])
    if kind in "iu":
        limits = np.iinfo(dtype)
        signed = [-1, limits.min] if kind == "i" else []
        return np.array([0, 1, 3, 5, limits.max, 7, 2, *signed], dtype)
    if kind == "f":
        parts = np.finfo(dtype)
        return np.array(
            [0, -0.0, 1, -1, 0.5, -2.5, 3, np.inf, -np.inf, np.nan, parts.max, parts.smallest_normal, 100.5], dtype
        )
    return np.array([0, 1 + 2j, -1.5j, -2 + 0.5j, 3, complex(np.nan, 0), 0.25], dtype)


def same(found: Any, expected: Any) -> None:
    """Equal in structure, dtypes, shapes, and values up to rounding; zeros have the same signs."""
    if isinstance(expected, tuple | list):
        assert getattr(found, "_fields", None) == getattr(expected, "_fields", None)
        assert len(found) == len(expected)
        for x, y in zip(found, expected, strict=True):
            same(x, y)
        return
    if not isinstance(found, Array):
        assert str(found) == str(expected).rpartition(".")[2]
        return
    a, b = found.value, expected._array
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    if a.dtype.kind not in "fc":
        np.testing.assert_array_equal(a, b)
        return
    single = a.dtype in ("float32", "complex64")
    np.testing.assert_allclose(a, b, rtol=1e-4 if single else 1e-10, atol=1e-5 if single else 1e-12)
    if a.dtype.kind == "f":
        real = ~np.isnan(a) & (a == b)
        np.testing.assert_array_equal(np.signbit(a)[real], np.signbit(b)[real])


# Names and signatures


def test_every_name_is_there() -> None:
    xp = namespace()
    named = [n for n in strict.__all__ if not n.endswith("flags") and n not in ("Device", "ArrayAPIStrictFlags")]
    assert [n for n in named if not hasattr(xp, n) and n != "__version__" and n not in NEW] == []
    assert [n for n in strict.linalg.__all__ if not hasattr(xp.linalg, n)] == []
    assert [n for n in strict.fft.__all__ if not hasattr(xp.fft, n)] == []
    members = [n for n in dir(strict.asarray(0.0)) if not n.startswith("_") or n in _SPECIAL]
    assert [n for n in members if not hasattr(T.dmatrix("x"), n) and n != "__dlpack__"] == []


_OPERATORS = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"
_SPECIAL = {f"__{n}__" for n in f"abs array_namespace eq ge getitem gt invert le lt ne neg pos {_OPERATORS}".split()}
_SPECIAL |= {f"__r{n}__" for n in _OPERATORS.split()}


@pytest.mark.parametrize("part", ["", "linalg", "fft"])
def test_every_function_has_the_arguments_of_the_standard(part: str) -> None:
    theirs, found = (getattr(strict, part), getattr(namespace(), part)) if part else (strict, namespace())
    functions = {n: getattr(theirs, n) for n in theirs.__all__ if n not in NEW and not n.startswith(("get_", "set_"))}
    compared = 0
    for name, f in functions.items():
        if not inspect.isfunction(f) or name.startswith(("reset", "__")):
            continue
        expected = inspect.signature(inspect.unwrap(f)).parameters.values()
        here = inspect.signature(getattr(found, name)).parameters.values()
        assert [(p.name, p.kind) for p in here] == [(p.name, p.kind) for p in expected], name
        defaults = [(p.default, q.default) for p, q in zip(here, expected, strict=True)]
        odd = [(p, q) for p, q in defaults if p != q and "UNDEF" not in str(q)]
        assert odd == ([(0, inspect.Parameter.empty)] if name == "expand_dims" else []), name  # axis=0 in the standard
        compared += 1
    assert compared == {"": 133, "linalg": 23, "fft": 14}[part]


def test_other_arguments_are_refused_with_those_of_the_standard() -> None:
    x = T.dvector("x")
    with pytest.raises(TypeError, match=r"sum\(x, /, \*, axis=None, .* of the array API standard: .*'where'"):
        namespace().sum(x, where=x > 0)
    with pytest.raises(TypeError, match=r"linalg.qr\(x, /, .*missing a required argument: 'x'"):
        namespace().linalg.qr()


# Elementwise: all dtypes, all pairs of them, Python numbers, operators


def _elementwise(f: Callable[[Any, Any], Any], *args: Any) -> bool:
    """Whether the standard has this call; if so, the values are compared."""
    try:
        expected = f(strict, [strict.asarray(x) if isinstance(x, np.ndarray) else x for x in args])
    except (TypeError, ValueError, OverflowError):
        return False
    same(f(ours, [Array(x) if isinstance(x, np.ndarray) else x for x in args]), expected)
    return True


@pytest.mark.parametrize("name", standard_names._UNARY.split())
def test_functions_of_one_array(name: str) -> None:
    assert sum(_elementwise(lambda xp, args: getattr(xp, name)(*args), values(d)) for d in DTYPES) >= 1


def _pairs(name: str) -> Iterator[tuple[Any, Any]]:
    """All pairs of values of all pairs of dtypes; the standard leaves wide shifts and negative powers open."""
    for first in DTYPES:
        for second in DTYPES:
            x, y = (np.ravel(v) for v in np.meshgrid(values(first), values(second)))
            if "shift" in name:
                y = np.where((y >= 0) & (y < np.dtype(first).itemsize * 8), y, 1).astype(second)
            if name == "pow" and y.dtype.kind in "iu":
                y = np.abs(y.astype("int64")).clip(0, 100).astype(second)
            yield x, y


@pytest.mark.parametrize("name", standard_names._BINARY.split())
def test_functions_of_two_arrays(name: str) -> None:
    assert sum(_elementwise(lambda xp, args: getattr(xp, name)(*args), *pair) for pair in _pairs(name)) >= 1


@pytest.mark.parametrize("name", standard_names._BINARY.split())
def test_functions_of_an_array_and_a_number(name: str) -> None:
    calls = [(values(d), n) for d in DTYPES for n in (True, 2, 2.5, 1 + 1j)]
    f = lambda xp, args: getattr(xp, name)(*args)  # noqa: E731
    assert sum(_elementwise(f, x, n) + _elementwise(f, n, x) for x, n in calls) >= 2


_BY_OPERATOR = "add and eq floordiv ge gt le lshift lt mod mul ne or pow rshift sub truediv xor"


@pytest.mark.parametrize("name", _BY_OPERATOR.split())
def test_operators(name: str) -> None:
    calls = [*_pairs("shift" if "shift" in name else name), *((values(d), n) for d in DTYPES for n in (True, 2, 2.5))]
    method = f"__{name}__"
    assert sum(_elementwise(lambda xp, args: getattr(args[0], method)(*args[1:]), x, y) for x, y in calls) >= 3
    if name not in ("eq", "ge", "gt", "le", "lt", "ne"):
        back = f"__r{name}__"
        numbers = [(values(d), n) for d in DTYPES for n in (True, 2, 2.5)]
        assert sum(_elementwise(lambda xp, args: getattr(args[0], back)(args[1]), x, n) for x, n in numbers) >= 1


@pytest.mark.parametrize("name", ["abs", "invert", "neg", "pos"])
def test_operators_of_one_array(name: str) -> None:
    method = f"__{name}__"
    assert sum(_elementwise(lambda xp, args: getattr(args[0], method)(), values(d)) for d in DTYPES) >= 5


# All others, one call after the other


def _of_standard(f: Call, args: tuple[Any, ...]) -> Any:
    return f(strict, *(strict.asarray(x) for x in args))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("known", [True, False], ids=["known", "open"])
def test_calls(name: str, known: bool) -> None:
    """As with arrays; lengths are known before the run, or not, but for the functions that need them."""
    if not known and name in NEED_LENGTHS:
        return
    compared = 0
    for f, args in ((f, args) for n, f, args in CALLS if n == name):
        try:
            expected = _of_standard(f, args)
        except (TypeError, ValueError, IndexError, RuntimeError):  # outside of the standard: sums of booleans
            continue
        with ours.lengths(known):
            same(f(ours, *map(Array, args)), expected)
        compared += 1
    assert compared >= 1


NEED_LENGTHS = ("unstack", "linalg.cross")


def test_every_function_is_called() -> None:
    called = {*NAMES, *standard_names._UNARY.split(), *standard_names._BINARY.split()}
    every = [*standard_names.FUNCTIONS, *(f"linalg.{n}" for n in standard_names.LINALG)]
    every += [f"fft.{n}" for n in standard_names.FFT]
    assert [n for n in every if n not in called] == ["finfo", "iinfo"]


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
def test_finfo(dtype: str) -> None:
    expected, found = strict.finfo(getattr(strict, dtype)), namespace().finfo(dtype)
    for name in ("bits", "eps", "max", "min", "smallest_normal"):
        assert float(getattr(found, name)) == float(getattr(expected, name))
    assert str(found.dtype) == str(expected.dtype._np_dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
def test_finfo_is_of_python_numbers(dtype: str) -> None:
    found = namespace().finfo(dtype)
    assert [type(getattr(found, n)) for n in ("eps", "max", "min", "smallest_normal", "bits")] == [float] * 4 + [int]


def test_a_place_for_an_axis_that_is_not_there() -> None:
    x = T.dmatrix("x")
    assert namespace().expand_dims(x, axis=-3).ndim == 3
    for axis in (3, -4):
        with pytest.raises(IndexError, match=r"'x' .* has no place"):
            namespace().expand_dims(x, axis=axis)


def test_functions_of_arrays_have_the_signatures_of_symbolic_ones() -> None:
    assert inspect.signature(ours.sum) == inspect.signature(namespace().sum)


@pytest.mark.parametrize("dtype", DTYPES[1:9])
def test_iinfo(dtype: str) -> None:
    expected, found = strict.iinfo(getattr(strict, dtype)), namespace().iinfo(dtype)
    assert (found.bits, found.max, found.min) == (expected.bits, expected.max, expected.min)


def test_promotion_of_all_pairs() -> None:
    compared = 0
    for first in DTYPES:
        for second in DTYPES:
            try:
                expected = strict.result_type(getattr(strict, first), getattr(strict, second))
            except TypeError:  # kinds are not mixed in the standard
                continue
            assert namespace().result_type(first, second) == str(expected._np_dtype)
            compared += 1
    assert compared == 73


def test_the_namespace_tells_of_itself() -> None:
    expected, found = strict.__array_namespace_info__(), namespace().__array_namespace_info__()
    assert found.capabilities()["boolean indexing"] is expected.capabilities()["boolean indexing"] is True
    named = {k: str(d._np_dtype) for k, d in expected.default_dtypes().items()}
    assert found.default_dtypes() == named
    for kind in (None, "bool", "integral", "numeric", ("real floating", "bool")):
        assert set(found.dtypes(kind=kind)) == set(expected.dtypes(kind=kind))
    for name in ("e", "inf", "newaxis", "pi"):
        assert getattr(namespace(), name) == getattr(strict, name)
    assert namespace().nan != namespace().nan
