"""Functions with many ways to be called, called at random: einsum, pad, insert, delete, linspace, convolve, cross."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shares import tries

import scanopt
import scanopt.tensor as T
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
Call = tuple[Callable[..., Any], list[Array]]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def values(rng: Rng, shape: Any, dtypes: str = "float64 float32 int64 int8 complex128 bool") -> Array:
    dtype = rng.choice(dtypes.split())
    return np.asarray(rng.integers(-4, 5, shape) * (1 + 0.5j if dtype.startswith("complex") else 1)).astype(dtype)


def an_einsum(rng: Rng) -> Call:
    lengths = dict(zip("abcde", (int(n) for n in rng.integers(0, 4, 5)), strict=True))
    dots = rng.random() < 0.3
    terms, arrays = [], []
    for _ in range(int(rng.integers(1, 4))):
        letters = [str(k) for k in rng.choice(list(lengths), int(rng.integers(0, 4)))]
        at = int(rng.integers(0, len(letters) + 1)) if dots else None
        more = [(1, 2, 3)[-n:] for n in (1, 2, 3)][int(rng.integers(0, 3))] if dots and rng.random() < 0.7 else ()
        shape = [lengths[k] for k in letters]
        if at is not None:
            letters.insert(at, "...")
            shape[at:at] = [n if rng.random() < 0.8 else 1 for n in more]
        terms.append("".join(letters))
        arrays.append(values(rng, shape))
    text = ",".join(terms)
    if rng.random() < 0.7:
        out = [k for k in lengths if k in text and rng.random() < 0.6]
        rng.shuffle(out)
        if dots:
            out.insert(int(rng.integers(0, len(out) + 1)), "...")
        text = f"{text}->{''.join(out)}"
    return (lambda np, *xs: np.einsum(text, *xs)), arrays


def a_pad(rng: Rng) -> Call:
    mode = str(
        rng.choice(["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "median"])
    )
    x = values(rng, tuple(int(n) for n in rng.integers(1, 4, int(rng.integers(1, 3)))), "float64 float32 int64 int8")
    widths = [(int(a), int(b)) for a, b in rng.integers(0, 8, (x.ndim, 2))]
    more: dict[str, Any] = {}
    if mode in ("reflect", "symmetric"):
        more = {"reflect_type": str(rng.choice(["even", "odd"]))}
    if mode in ("constant", "linear_ramp"):
        more = {"constant_values" if mode == "constant" else "end_values": (int(rng.integers(-3, 4)), 2)}
    return (lambda np, x: np.pad(x, widths, mode, **more)), [x]


def a_change(rng: Rng) -> Call:
    x = values(rng, tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 4)))))
    axis = int(rng.integers(-x.ndim, x.ndim))
    n = x.shape[axis]
    kind = int(rng.integers(0, 4))
    where: Any = int(rng.integers(-n, n)) if kind == 0 else rng.integers(-n, n, int(rng.integers(0, 4))).tolist()
    where = slice(*(int(k) for k in rng.integers(-n, n + 1, 2)), int(rng.choice([-1, 1, 2]))) if kind == 2 else where
    if rng.random() < 0.5:
        return (lambda np, x: np.delete(x, where, axis)), [x]
    return (lambda np, x: np.insert(x, where, 1, axis)), [x]


def a_linspace(rng: Rng) -> Call:
    shape = tuple(int(n) for n in rng.integers(0, 3, int(rng.integers(0, 3))))
    num, axis = int(rng.integers(0, 5)), int(rng.integers(-len(shape) - 1, len(shape) + 1))
    end, dtype = bool(rng.integers(2)), rng.choice([None, None, "int64", "float32", "complex64"])
    xs = [values(rng, shape, "float64 float32 int64 int8"), values(rng, shape[:1] and shape[-1:], "float64 int64")]
    return (lambda np, a, b: np.linspace(a, b, num, end, dtype=dtype, axis=axis)), xs


def a_convolution(rng: Rng) -> Call:
    name, mode = str(rng.choice(["convolve", "correlate"])), str(rng.choice(["full", "same", "valid"]))
    xs = [values(rng, int(rng.integers(1, 6))) for _ in range(2)]
    return (lambda np, a, v: getattr(np, name)(a, v, mode)), xs


def a_cross(rng: Rng) -> Call:
    shape = tuple(int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3))))
    ndim = len(shape) + 1
    xs, places = [], []
    for _ in range(2):
        place = int(rng.integers(0, ndim))
        own = [n if rng.random() < 0.8 else 1 for n in shape]
        xs.append(values(rng, (*own[:place], 3, *own[place:]), "float64 float32 int64 int8 complex128"))
        places.append(place)
    at = int(rng.integers(-ndim, ndim))
    return (lambda np, a, b: np.cross(a, b, places[0], places[1], at)), xs


CALLS = {f.__name__: f for f in (an_einsum, a_pad, a_change, a_linspace, a_convolution, a_cross)}
NEED_LENGTHS = {"a_cross", "an_einsum"}  # einsum: where one is 1 that broadcasts


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=tries(150))
@given(seed=st.integers(0, 2**32 - 1))
def test_values(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    call, arrays = CALLS[name](rng)
    known = name in NEED_LENGTHS or bool(rng.integers(2))
    want = np.asarray(call(np, *arrays))
    xs = [Variable(TensorType(a.dtype.name, a.shape if known else (None,) * a.ndim)) for a in arrays]
    out = call(np if rng.random() < 0.5 else T, *xs)
    got = scanopt.interpret(out, dict(zip(xs, arrays, strict=True)))
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert out.type.accepts(TensorType(want.dtype.name, want.shape))
    np.testing.assert_allclose(got, want, *((1e-5, 1e-5) if want.dtype.itemsize <= 4 else (1e-11, 1e-11)))
