"""Sums and products are equal bit for bit where asked, however laws changed the place of their arguments in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

X = T.tensor("float32", (None, None), "X")
y = T.tensor("float32", (None,), "y")

LAID_OUT: dict[str, Callable[[Any], Any]] = {
    "a column": lambda rows: scanopt.map(lambda v: v[-1], rows)[0],
    "every other column": lambda rows: scanopt.map(lambda v: v[::2], rows)[0],
    "columns as rows": lambda rows: scanopt.map(lambda v: v, rows.T)[0],
    "rows backwards": lambda rows: scanopt.map(lambda v: v, rows, go_backwards=True)[0],
}
SUMS: dict[str, Callable[[Any], Any]] = {
    "dot": lambda z: T.dot(z, z.T), "sum": lambda z: z.sum(), "sum of columns": lambda z: z.sum(axis=0),
    "mean": lambda z: z.mean(axis=-1), "prod": lambda z: T.prod(z, axis=0), "var": lambda z: T.var(z, axis=0),
    "max": lambda z: (z * 0).max(axis=0), "softmax": lambda z: T.softmax(z),
}  # fmt: skip


@pytest.mark.parametrize("how", SUMS)
@pytest.mark.parametrize("where", LAID_OUT)
def test_exact_programs_add_in_one_order(where: str, how: str) -> None:
    total = SUMS[how](LAID_OUT[where](X))
    f = scanopt.function([X], total, fp="exact")
    assert f.program.exact
    assert not f.program.loops()
    rng = np.random.default_rng(3)
    for n in (1, 7, 33, 150):
        value = rng.standard_normal((n, 7)).astype("float32")
        np.testing.assert_array_equal(f(value), f.unoptimized(value), strict=True)
        np.testing.assert_array_equal(np.signbit(f(value)), np.signbit(f.unoptimized(value)))


def test_what_the_caller_laid_out_otherwise_is_added_in_that_order_too() -> None:
    f = scanopt.function([X, y], T.dot(scanopt.map(lambda v: v, X)[0], y), fp="exact")
    value = np.random.default_rng(1).standard_normal((63, 40)).astype("float32")
    row = value[0]
    for x in (value, np.asfortranarray(value), np.repeat(value, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(f(x, row), f(value, row), strict=True)


def test_it_is_saved_with_the_program() -> None:
    f = scanopt.function([X], X.sum(), fp="exact")
    from scanopt.program.serial import from_json, to_json

    assert from_json(to_json(f.program)).exact
    assert not scanopt.function([X], X.sum()).program.exact
    with pytest.raises(ValueError, match="exact must be true or false"):
        from_json(to_json(f.program).replace('"exact": true', '"exact": 1'))


def test_a_product_stays_in_its_loop_though_a_sum_beside_it_leaves() -> None:
    A = T.tensor("float64", (None, None), "A")
    rows = T.tensor("float64", (None, None), "rows")
    f = scanopt.function([rows, A], scanopt.map(lambda v, a: T.dot(a, v) + v, rows, [A])[0], fp="exact")
    rng = np.random.default_rng(7)
    values = rng.standard_normal((40, 17)), rng.standard_normal((17, 17))
    np.testing.assert_array_equal(f(*values), f.unoptimized(*values), strict=True)
    assert [s.op.name for s in f.program.loops()[0].body if hasattr(s, "op")] == ["dot"]


@pytest.mark.parametrize("name", ["exp", "sinh", "cosh", "tan", "log1p", "arctan", "sigmoid", "power"])
def test_functions_of_arrays_that_lie_backwards(name: str) -> None:
    """NumPy computes them by other code, which rounds otherwise: exact programs and the interpreter do not."""
    x = T.dvector("x")
    value = np.random.default_rng(0).uniform(0.1, 2.0, 1001)
    f = getattr(T, name) if name != "power" else lambda v: v**1.7
    outputs = [f(x), f(x[::-1])[::-1], scanopt.map(f, x)[0], scanopt.map(f, x, go_backwards=True)[0][::-1]]
    for results in (scanopt.function([x], outputs, fp="exact")(value), scanopt.interpret(outputs, {x: value})):
        for r in results[1:2] if name == "power" else results[1:]:  # a power of one number has other code again
            assert r.tobytes() == results[0].tobytes()
