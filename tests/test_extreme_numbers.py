"""The greatest and least integers there are, as constants, indices, bounds, taps and numbers of steps.

What 64 bits with a sign do not hold is unknown to the laws: programs with it compile, and are as exact as others.
"""

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

LEAST, MOST = -(2**63), 2**63 - 1
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
LARGE = [LEAST - 1, LEAST, -MOST, -(2**62), 2**62, MOST, MOST + 1, 2**64 - 1, 2**64, 10**30]


def check(outputs: list[Any], inputs: dict[Any, Any], fp: str = "reassoc") -> None:
    """Compile, and compare with the interpreter: equal results, or errors of one class."""
    try:
        want = scanopt.interpret(outputs, inputs)
    except Exception as error:
        with pytest.raises(type(error)):
            scanopt.function(list(inputs), outputs, fp=fp)(*inputs.values())
        return
    got = scanopt.function(list(inputs), outputs, fp=fp)(*inputs.values())
    for a, b in zip(want, got, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)


def extremes(dtype: str) -> list[int]:
    info = np.iinfo(dtype)
    return [int(info.min), int(info.max) // 2 + 1, int(info.max) - 1, int(info.max)]


BINARY = (
    "add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "minimum", "true_divide", "equal", "less",
    "bitwise_and", "bitwise_or", "bitwise_xor",
)  # fmt: skip


def applied(x: Any, value: int) -> list[Any]:
    """Operators of x and a constant, and of constants."""
    k, one = T.constant(np.array(value, x.dtype)), T.constant(np.array(1, x.dtype))
    out = [getattr(T, name)(*pair) for name in BINARY for pair in ((x, k), (k, x))]
    out += [x + (k + k), x + (k * k), x + (k - one), x & ~k, x - (-k), x + abs(k)]
    return out


def carried(x: Any, value: int) -> list[Any]:
    """Loops that a constant goes through."""
    k = T.constant(np.array(value, x.dtype))
    clipped = scanopt.scan(lambda v, s: T.minimum(T.maximum(s - v, k), k + k), x, [k])[0]
    return [clipped, scanopt.scan(lambda v, s: s * v + k, x, [k])[0], scanopt.reduce(lambda v, s: s + k, x, k)[0]]


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_constants(dtype: str) -> None:
    x = T.tensor(dtype, (None,), "x")
    values = np.array([0, 1, 7, *extremes(dtype)], dtype)
    check([y for k in extremes(dtype) for y in applied(x, k)], {x: values}, "exact")
    check(carried(x, extremes(dtype)[-1]), {x: values})


def test_a_constant_that_only_folding_finds() -> None:
    u = T.tensor("uint64", (None,), "u")
    values = np.array([0, 1, 2**63, 2**64 - 1], "uint64")
    check([u + T.constant(np.uint64(2**63)), u & ~T.constant(np.uint64(7))], {u: values})


def test_laws_know_no_number_of_more_than_64_bits() -> None:
    """A count of 2**63 is more than one step, but not by the engine's numbers."""
    n = T.tensor("int64", (), "n")
    k = T.minimum(n.astype("uint64"), T.constant(np.uint64(2**64 - 2))).astype("int64")
    check([scanopt.scan(lambda s: s + 1, None, [n], n_steps=k)[0]], {n: np.int64(3)})


MATRIX = np.arange(12.0).reshape(6, 2)


def looped(x: Any, more: int = 0) -> Any:
    return scanopt.scan(lambda v, s: v + s, x[: 6 - more], [x[0]])[0]


@pytest.mark.share(3)
@pytest.mark.parametrize("k", LARGE)
def test_indices_and_bounds(k: int) -> None:
    x = T.tensor("float64", (None, None), "x")
    parts = [slice(k, None), slice(None, k), slice(None, None, k), slice(k, 2, None), slice(1, k, 2), slice(k, -1, -1)]
    sliced = [y[s] for s in parts for y in (x, looped(x, 3))]
    check([*sliced, *(scanopt.map(lambda v, s=s: v[s] * 2, x)[0] for s in parts)], {x: MATRIX})


@pytest.mark.share(4)
@pytest.mark.parametrize("k", LARGE)
@pytest.mark.parametrize("symbolic", [False, True])
def test_an_index_out_of_range(k: int, symbolic: bool) -> None:
    x = T.tensor("float64", (None, None), "x")
    if symbolic and not LEAST <= k < 2**64:
        return
    i: Any = T.constant(np.array(k, "int64" if k <= MOST else "uint64")) if symbolic else k
    for y in (x[i], looped(x)[i], scanopt.map(lambda v: v[i], x)[0]):
        check([y], {x: MATRIX})


@pytest.mark.parametrize("k", LARGE)
def test_taps(k: int) -> None:
    """As many rows as a tap asks for are not there."""
    x = T.tensor("float64", (None, None), "x")
    check([scanopt.scan(lambda v: v + 1, [{"input": x, "taps": [k]}])[0]], {x: MATRIX})
    if k < -MOST:
        with pytest.raises(ValueError, match=r"taps of outputs_info.* must be -\(2\*\*63 - 1\) or more"):
            scanopt.scan(lambda s: s + 1, None, [{"initial": x, "taps": [k]}], n_steps=2)


# Numbers of steps


@pytest.mark.parametrize("k", [LEAST, np.int64(LEAST), MOST + 1, np.uint64(2**64 - 1), 10**30])
def test_steps_beyond_64_bits_are_refused(k: Any) -> None:
    with pytest.raises(ValueError, match=r"n_steps must be from -\(2\*\*63 - 1\) to 2\*\*63 - 1, found -?\d+"):
        scanopt.scan(lambda s: s + 1, None, [1.0], n_steps=k)


@pytest.mark.parametrize("k", [-MOST, -(2**62), 2**62, MOST])
def test_many_steps_of_which_few_run(k: int) -> None:
    x = T.tensor("float64", (None,), "x")
    step = lambda s, v: (s + v, scanopt.until(s > 4))  # noqa: E731
    until = scanopt.scan(step, None, [x[0]], [x[1]], n_steps=k)[0]
    check([until, until[-1]], {x: np.arange(3.0)})
    early = scanopt.scan(lambda s, v: s + v, None, [x[0]], [x[1]], n_steps=k)[0]
    assert scanopt.function([x], early[2])(np.arange(3.0)) == 3.0


@pytest.mark.parametrize(("dtype", "value"), [("int64", LEAST), ("uint64", 2**63), ("uint64", 2**64 - 1)])
@pytest.mark.parametrize("vanishes", [False, True])
def test_symbolic_steps_beyond_64_bits_raise(dtype: str, value: int, vanishes: bool) -> None:
    n, x = T.tensor(dtype, (), "n"), T.tensor("float64", (None,), "x")
    loop = scanopt.scan(lambda v: v * 2, x, n_steps=n)[0] if vanishes else _sums(x, n)
    values = {n: np.array(value, dtype), x: np.arange(3.0)}
    for fp in ("exact", "reassoc"):
        with pytest.raises(ValueError, match=r"n_steps.* asks for more than 2\*\*63 - 1 steps"):
            scanopt.function([n, x], loop, fp=fp)(*values.values())
    with pytest.raises(ValueError, match="asks for more than"):
        scanopt.interpret(loop, values)


@pytest.mark.parametrize("count", ["x.shape[0] * 2**62", "x.shape[0] + MOST", "abs(n)"])
def test_counts_that_overflow_raise(count: str) -> None:
    n, x = T.lscalar("n"), T.tensor("float64", (None,), "x")
    steps = eval(count, {"x": x, "n": n, "MOST": MOST})
    values = {n: np.int64(LEAST), x: np.arange(2.0)}
    loop = scanopt.scan(lambda v: v * 2, x, n_steps=steps)[0]
    f = scanopt.function([n, x], loop, on_unused_input="ignore")
    with pytest.raises(ValueError, match="asks for more than"):
        f(*values.values())
    with pytest.raises(ValueError, match="asks for more than"):
        scanopt.interpret(loop, values)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_the_least_number_of_a_small_dtype_is_a_number_of_steps(dtype: str) -> None:
    n, x = T.tensor(dtype, (), "n"), T.tensor("float64", (None,), "x")
    loop = _sums(x, n)
    assert not loop.owner.requires[:-1]  # but for the rows of x
    check([loop], {n: np.array(-3, dtype), x: np.arange(3.0)})
    if dtype == "int8":
        check([loop], {n: np.array(-128, dtype), x: np.arange(128.0)})


def _sums(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda v, s: s + v, x, [x[0]], n_steps=n)[0]
