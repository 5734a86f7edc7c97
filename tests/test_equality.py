"""`==` and `!=` of symbolic arrays compare elements; `is` tells variables apart, and they are keys of dicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scanopt
from scanopt import tensor as T

X = np.array([0.0, 1.0, -0.0, np.nan, 2.0])


@pytest.mark.parametrize("other", [0, 1.0, np.float32(2), True, X, [0, 1, 2, 3, 4], 1j], ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool", "complex64"])
def test_against_arrays_and_numbers(dtype: str, other: Any) -> None:
    with np.errstate(invalid="ignore"):
        value = X.astype(dtype)
    x = T.vector("x", dtype)
    f = scanopt.function([x], [x == other, x != other, other == x, other != x])
    expected = [value == other, value != other, other == value, other != value]
    for got, interpreted, want in zip(f(value), f.unoptimized(value), expected, strict=True):
        assert got.dtype == interpreted.dtype == bool
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(interpreted, want)


def test_in_a_where_and_a_step() -> None:
    x = T.dvector("x")
    np.testing.assert_array_equal(scanopt.function([x], T.where(x == 0, 100.0, x))([0, 1]), [100, 1])
    out, _ = scanopt.scan(lambda v, s: T.where(v != s, v, -v), sequences=x, outputs_info=0.0)
    np.testing.assert_array_equal(scanopt.function([x], out)([1, 1, 2]), [1, -1, 2])
    kept = scanopt.filter(lambda v: v == 1, x)
    np.testing.assert_array_equal(scanopt.function([x], kept)([1, 2, 1]), [1, 1])


def test_two_variables() -> None:
    x, y = T.dvectors("x", "y")
    np.testing.assert_array_equal(scanopt.function([x, y], x == y)([1, 2], [1, 3]), [True, False])
    same: Any = x == x
    assert isinstance(same, type(x))
    np.testing.assert_array_equal(scanopt.function([x], same)(X), X == X)


@pytest.mark.parametrize("other", [None, "x", b"x", object(), int, len, {}, {1}, ...], ids=lambda x: type(x).__name__)
def test_what_is_no_array_is_another_object(other: Any) -> None:
    x = T.dvector("x")
    assert (x == other) is False
    assert (x != other) is True
    assert (other == x) is False


def test_identity_hashing() -> None:
    x, y = T.dscalar("x"), T.dscalar("x")
    assert hash(x) != hash(y)
    assert {x: 1, y: 2}[x] == 1
    assert len({x, y, x}) == 2
    assert scanopt.clone(x + y, {x: y}) is not None


@pytest.mark.parametrize("use", [lambda x, y: bool(x == y), lambda x, y: x in [y], lambda x, y: [y].index(x)])
def test_the_truth_of_a_comparison_says_what_to_write(use: Any) -> None:
    x, y = T.dvectors("x", "y")
    with pytest.raises(TypeError, match=r"neither true nor false.*where.*x is y"):
        use(x, y)
    with pytest.raises(TypeError, match="neither true nor false") as caught:
        bool(x > y)
    assert "x is y" not in str(caught.value)


def test_a_list_that_is_no_array_is_an_error() -> None:
    with pytest.raises((TypeError, ValueError)):
        T.dvector("x") == [[1, 2], [3]]  # noqa: B015
