"""Every entry of the operator table: values, dtypes, shapes, `out`, batched forms, traits.

The tests are generic: a new elementwise operator is covered with no line here; any other entry
needs one function that makes cases (an op and operands) in CASES.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import scanopt.tensor as T
from scanopt.array.batching import elementwise
from scanopt.array.numerics.running import ACCUMULATED
from scanopt.array.op import Op, Operand, OpSpec, Traits, load
from scanopt.array.operators.idle import kept_row, no_rows, when_runs
from scanopt.array.types import TensorType
from scanopt.array.variable import Apply, Constant, Variable, apply

TABLE = load()
NAMES = sorted(n for n in TABLE if TABLE[n].infer.__module__.startswith("scanopt.array."))
UFUNCS = [n for n in NAMES if TABLE[n].ufunc and n != "matmul"]
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64", "complex64", "complex128"]
Case = tuple[Op, list[np.ndarray[Any, Any]]]
Rng = np.random.Generator

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]


# Operands

_SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 0.5, 3.0, 1e30, 1e-40]


def values(rng: Rng, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Random numbers, half of them special ones, in a random memory layout."""
    d = np.dtype(dtype)
    if d.kind == "b":
        a = rng.random(shape) < 0.5
    elif d.kind in "iu":
        info = np.iinfo(d)
        special = rng.choice(np.array([0, 1, 2, 3, info.min, info.max, info.max - 1], d), shape)
        a = np.where(rng.random(shape) < 0.4, special, rng.integers(0, 20, shape).astype(d))
    elif d.kind == "f":
        special = rng.choice(np.array(_SPECIAL), shape)
        a = np.where(rng.random(shape) < 0.3, special, rng.normal(size=shape) * 2)
    else:
        a = values(rng, "float64", shape) + 1j * values(rng, "float64", shape)
    return layout(rng, np.asarray(a).astype(d))


def layout(rng: Rng, a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same array, contiguous, in Fortran order, or strided."""
    kind = rng.integers(3) if a.ndim else 0
    if kind == 1:
        return np.asfortranarray(a)
    if kind == 2:
        wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
        wide[..., ::2] = a
        return wide[..., ::2]
    return a


def some_shape(rng: Rng, ndim: int, low: int = 0) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(low, 5, ndim))


def number(n: Any, dtype: str = "int64") -> np.ndarray[Any, Any]:
    return np.array(n, dtype)


# Cases: an op of each entry and operands for it


def case_elementwise(name: str) -> Callable[[Rng], Case]:
    arity = getattr(np, name).nin

    def make(rng: Rng) -> Case:
        for _ in range(200):
            dtypes = tuple(rng.choice(DTYPES, arity))
            try:
                TABLE[name].infer(*(Operand(str(d), ()) for d in dtypes))
                break
            except TypeError:
                continue
        else:
            raise AssertionError(f"no dtypes for {name}")
        shape = some_shape(rng, int(rng.integers(0, 4)))
        args = [values(rng, d, narrowed(rng, shape)) for d in dtypes]
        if name == "power" and np.dtype(dtypes[1]).kind == "i":
            args[1] = np.abs(args[1] % 5)
        return Op.make(name), args

    return make


def narrowed(rng: Rng, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to this one."""
    cut = int(rng.integers(0, len(shape) + 1)) if rng.random() < 0.3 else 0
    return tuple(1 if rng.random() < 0.2 else n for n in shape[cut:])


def case_where(rng: Rng) -> Case:
    shape = some_shape(rng, 2)
    a, b = (values(rng, rng.choice(DTYPES), narrowed(rng, shape)) for _ in range(2))
    return Op.make("where"), [values(rng, "bool", narrowed(rng, shape)), a, b]


def case_clip(rng: Rng) -> Case:
    shape = some_shape(rng, 2)
    dtypes = [d for d in DTYPES if np.dtype(d).kind != "c"]
    return Op.make("clip"), [values(rng, rng.choice(dtypes), narrowed(rng, shape)) for _ in range(3)]


def case_cast(rng: Rng) -> Case:
    old, new = rng.choice(DTYPES, 2)
    if np.dtype(old).kind == "c" and np.dtype(new).kind != "c":
        new = "complex64"
    x = values(rng, old, some_shape(rng, 2))
    if np.dtype(old).kind == "f" and np.dtype(new).kind in "iu":  # else C leaves it undefined
        x = np.clip(np.nan_to_num(x), 0, 100).astype(old)
    return Op.make("cast", dtype=str(new)), [x]


def case_round(rng: Rng) -> Case:
    x = any_array(rng)
    return Op.make("round", decimals=int(rng.integers(0, 3)) if x.dtype != bool else 0), [x]


def any_array(rng: Rng, ndim: int | None = None, low: int = 0) -> np.ndarray[Any, Any]:
    n = int(rng.integers(0, 4)) if ndim is None else ndim
    return values(rng, rng.choice(DTYPES), some_shape(rng, n, low))


def case_complex(name: str) -> Callable[[Rng], Case]:
    return lambda rng: (Op.make(name), [values(rng, rng.choice(DTYPES[-2:]), some_shape(rng, 2))])


def case_float(name: str, ndim: int = 0) -> Callable[[Rng], Case]:
    def make(rng: Rng) -> Case:
        x = values(rng, rng.choice(["float32", "float64"]), some_shape(rng, ndim or 2))
        axis = {"axis": int(rng.integers(0, x.ndim))} if name == "softmax" else {}
        return Op.make(name, **axis), [x]

    return make


def small(rng: Rng, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Operands of products: finite and moderate, so that rounding can be compared."""
    d = rng.choice(["float64", "float32", "int8", "int64", "complex128", "bool"])
    return layout(rng, (rng.normal(size=shape) * 2).astype(d))


def case_dot(rng: Rng) -> Case:
    a, b, k = (
        some_shape(rng, int(rng.integers(0, 2))),
        some_shape(rng, int(rng.integers(0, 2))),
        int(rng.integers(0, 5)),
    )
    return Op.make("dot"), [small(rng, (*a, k)), small(rng, (k, *b))]


def case_matmul(rng: Rng) -> Case:
    k = int(rng.integers(0, 5))
    outer = some_shape(rng, int(rng.integers(0, 3)))
    a = small(rng, (k,) if rng.random() < 0.3 else (*narrowed(rng, outer), int(rng.integers(0, 4)), k))
    b = small(rng, (k,) if rng.random() < 0.3 else (*narrowed(rng, outer), k, int(rng.integers(0, 4))))
    return Op.make("matmul"), [a, b]


def case_tensordot(rng: Rng) -> Case:
    na, nb = (int(n) for n in rng.integers(0, 4, 2))
    count = int(rng.integers(0, min(na, nb) + 1))
    ia, ib = (tuple(int(i) for i in rng.permutation(n)[:count]) for n in (na, nb))
    a, b = list(some_shape(rng, na)), list(some_shape(rng, nb))
    for i, j in zip(ia, ib, strict=True):
        b[j] = a[i]
    return Op.make("tensordot", axes=(ia, ib)), [small(rng, tuple(a)), small(rng, tuple(b))]


def case_outer(rng: Rng) -> Case:
    return Op.make("outer"), [any_array(rng, 1), any_array(rng, 1)]


def case_convolve(rng: Rng) -> Case:
    return Op.make("convolve"), [small(rng, (int(rng.integers(0, 6)),)) for _ in range(2)]


def case_reduction(name: str) -> Callable[[Rng], Case]:
    def make(rng: Rng) -> Case:
        nonempty = name in ("max", "min")
        x = any_array(rng, None, int(nonempty))
        if name in ("var", "std", "mean", "sum", "prod"):
            x = small(rng, x.shape)
        axis = tuple(i for i in range(x.ndim) if rng.random() < 0.6)
        more = {"ddof": int(rng.integers(0, 2))} if name in ("var", "std") else {}
        if name in ("sum", "prod") and rng.random() < 0.3:
            more["dtype"] = "float64" if x.dtype.kind != "c" else "complex128"
        return Op.make(name, axis=axis, keepdims=bool(rng.integers(2)), **more), [x]

    return make


def case_along(name: str) -> Callable[[Rng], Case]:
    def make(rng: Rng) -> Case:
        x = any_array(rng, int(rng.integers(1, 4)), int(name.startswith("arg")))
        return Op.make(name, axis=int(rng.integers(0, x.ndim))), [x]

    return make


def case_nan_along(name: str) -> Callable[[Rng], Case]:
    def make(rng: Rng) -> Case:
        x = any_array(rng, int(rng.integers(1, 4)), 1)
        x = np.where(np.isnan(x), x.dtype.type(1), x) if x.dtype.kind in "fc" else x
        return Op.make(name, axis=int(rng.integers(0, x.ndim))), [x]

    return make


def case_searchsorted(rng: Rng) -> Case:
    line = np.sort(rng.normal(size=int(rng.integers(0, 5))))
    return Op.make("searchsorted", side=str(rng.choice(["left", "right"]))), [line, values(rng, "float64", (2, 3))]


def case_digitize(rng: Rng) -> Case:
    line = np.sort(rng.integers(-3, 9, int(rng.integers(0, 5))))[:: int(rng.choice([1, -1]))]
    return Op.make("digitize", right=bool(rng.random() < 0.5)), [line, values(rng, "float64", (2, 3))]


def case_bincount(rng: Rng) -> Case:
    x = rng.integers(0, 6, int(rng.integers(0, 9))).astype(rng.choice(["int64", "uint8", "int32"]))
    weights = [rng.normal(size=len(x))] if rng.random() < 0.5 else []
    return Op.make("bincount", minlength=int(rng.integers(0, 4))), [x, *weights]


def case_cumaffine(rng: Rng) -> Case:
    shape = some_shape(rng, int(rng.integers(1, 4)))
    dtype = str(rng.choice(["float32", "float64", "complex64", "complex128"]))
    return Op.make("cumaffine", axis=int(rng.integers(0, len(shape)))), [values(rng, dtype, shape) for _ in range(2)]


def case_shape_i(rng: Rng) -> Case:
    return Op.make("shape_i", axis=int(rng.integers(0, 2))), [any_array(rng, 2)]


def holes(rng: Rng, shape: tuple[int, ...]) -> tuple[tuple[int | None, ...], list[Any]]:
    """Some lengths of a shape as arguments."""
    mask = [rng.random() < 0.4 for _ in shape]
    plain = tuple(None if m else int(n) for n, m in zip(shape, mask, strict=True))
    return plain, [number(n) for n, m in zip(shape, mask, strict=True) if m]


def case_reshape(rng: Rng) -> Case:
    x = any_array(rng, 2)
    new = [x.size] if rng.random() < 0.3 else [1, *x.shape[::-1]] if rng.random() < 0.5 else [*x.shape, 1]
    if x.size and rng.random() < 0.5:
        new[int(rng.integers(0, len(new)))] = -1
    shape, dims = holes(rng, tuple(new))
    shape, dims = (tuple(new), []) if any(int(d) == -1 for d in dims) else (shape, dims)
    return Op.make("reshape", shape=shape), [x, *dims]


def case_transpose(rng: Rng) -> Case:
    x = any_array(rng)
    return Op.make("transpose", axes=tuple(int(i) for i in rng.permutation(x.ndim))), [x]


def case_expand_dims(rng: Rng) -> Case:
    x = any_array(rng)
    count = int(rng.integers(0, 3))
    axis = tuple(sorted(int(i) for i in rng.permutation(x.ndim + count)[:count]))
    return Op.make("expand_dims", axis=axis), [x]


def case_squeeze(rng: Rng) -> Case:
    op, (x,) = case_expand_dims(rng)
    return Op.make("squeeze", axis=op.options["axis"]), [np.expand_dims(x, op.options["axis"])]


def case_broadcast_to(rng: Rng) -> Case:
    new = some_shape(rng, 3)
    shape, dims = holes(rng, new)
    return Op.make("broadcast_to", shape=shape), [values(rng, "float32", narrowed(rng, new)), *dims]


def case_concatenate(rng: Rng) -> Case:
    shape, axis = list(some_shape(rng, 2)), int(rng.integers(0, 2))
    xs = []
    for _ in range(int(rng.integers(1, 4))):
        shape[axis] = int(rng.integers(0, 4))
        xs.append(values(rng, rng.choice(DTYPES), tuple(shape)))
    return Op.make("concatenate", axis=axis), xs


def case_stack(rng: Rng) -> Case:
    shape = some_shape(rng, int(rng.integers(0, 3)))
    xs = [values(rng, rng.choice(DTYPES), shape) for _ in range(int(rng.integers(1, 4)))]
    return Op.make("stack", axis=int(rng.integers(0, len(shape) + 1))), xs


def case_repeat(rng: Rng) -> Case:
    x, axis = any_array(rng, 2), int(rng.integers(0, 2))
    counts = number(2) if rng.random() < 0.5 else rng.integers(0, 3, x.shape[axis])
    return Op.make("repeat", axis=axis), [x, counts]


def case_full(rng: Rng) -> Case:
    shape, dims = holes(rng, some_shape(rng, 2))
    return Op.make("full", shape=shape), [any_array(rng, 0), *dims]


def case_full_like(rng: Rng) -> Case:
    x = any_array(rng, 2)
    shape = () if rng.random() < 0.6 else narrowed(rng, x.shape)
    return Op.make("full_like"), [x, values(rng, rng.choice(DTYPES), shape)]


def case_ifelse(rng: Rng) -> Case:
    dtype, shape = str(rng.choice(DTYPES)), some_shape(rng, int(rng.integers(0, 3)))
    sides = [values(rng, dtype, shape), values(rng, dtype, tuple(n + int(rng.integers(0, 2)) for n in shape))]
    return Op.make("ifelse"), [np.array(rng.random() < 0.5), *sides]


def case_repeat_rows(rng: Rng) -> Case:
    x = values(rng, rng.choice(DTYPES), some_shape(rng, int(rng.integers(0, 3))))
    return Op.make("repeat_rows"), [x, number(int(rng.integers(0, 4)))]


def case_swap_rows(rng: Rng) -> Case:
    return Op.make("swap_rows"), [values(rng, rng.choice(DTYPES), some_shape(rng, int(rng.integers(2, 5))))]


def case_sum_to(rng: Rng) -> Case:
    x = rng.normal(size=some_shape(rng, int(rng.integers(0, 4)))).astype(str(rng.choice(["float32", "float64"])))
    axis = tuple(i for i in range(x.ndim) if rng.random() < 0.6)
    lengths = [number(1 if rng.random() < 0.5 else x.shape[i]) for i in axis]
    return Op.make("sum_to", axis=axis), [x, *lengths]


def rows_of_part(name: str) -> Callable[[Rng], Case]:
    def case(rng: Rng) -> Case:
        n = int(rng.integers(1, 7))
        entries = ("in", ("slice", "in", None, None), ("slice", None, "in", None), ("slice", "in", "in", None))
        entry = entries[int(rng.integers(0, len(entries)))]
        most, places = (n, 1) if entry == "in" else (n + 3, entry.count("in"))
        bounds = [number(int(rng.integers(-most, most))) for _ in range(places)]
        return Op.make(name, index=(entry,), exact=bool(rng.random() < 0.5)), [number(n), *bounds]

    return case


def case_spread_like(rng: Rng) -> Case:
    like = some_shape(rng, int(rng.integers(0, 4)))
    x = tuple(n if rng.random() < 0.6 else 1 for n in like[int(rng.integers(0, len(like) + 1)) :])
    return Op.make("spread_like"), [layout(rng, values(rng, "float64", x)), values(rng, "float32", like)]


def case_widen(rng: Rng) -> Case:
    x = some_shape(rng, int(rng.integers(1, 4)))
    axis = int(rng.integers(0, len(x)))
    x = (*x[:axis], 1, *x[axis + 1 :]) if rng.random() < 0.6 else x
    return Op.make("widen", axis=axis), [layout(rng, values(rng, "float64", x)), np.array(int(rng.integers(0, 4)))]


def case_shaped_like(rng: Rng) -> Case:
    x = any_array(rng)
    axes = int(rng.integers(0, x.ndim + 1))
    like = (2,) * int(rng.integers(0, 2)) + x.shape[x.ndim - axes :]
    return Op.make("shaped_like", axes=axes), [x, values(rng, "float32", like)]


def case_specify_shape(rng: Rng) -> Case:
    x = any_array(rng)
    shape = tuple((-1, None, n)[int(rng.integers(0, 3))] for n in x.shape)
    return Op.make("specify_shape", shape=shape), [
        x,
        *(number(n) for n, m in zip(x.shape, shape, strict=True) if m is None),
    ]


def case_identity(name: str) -> Callable[[Rng], Case]:
    return lambda rng: (Op.make(name), [any_array(rng)])


def case_with_gradient(rng: Rng) -> Case:
    shape = some_shape(rng, int(rng.integers(0, 3)))
    return Op.make("with_gradient", rule=lambda of, g: [g] * len(of)), [values(rng, "float64", shape) for _ in range(3)]


def case_grad_clip(rng: Rng) -> Case:
    shape = some_shape(rng, int(rng.integers(0, 3)))
    bounds = [values(rng, "float64", narrowed(rng, shape)) for _ in range(2)]
    return Op.make("grad_clip"), [values(rng, str(rng.choice(["float32", "int64"])), shape), *bounds]


def case_arange(rng: Rng) -> Case:
    if rng.random() < 0.5:
        bounds = [number(int(n), "int8") for n in rng.integers(-9, 9, 2)]
        return Op.make("arange", dtype="int64"), [*bounds, number(rng.choice([1, 2, -3]))]
    bounds = [number(n, "float64") for n in rng.normal(size=2) * 5]
    return Op.make("arange", dtype="float64"), [*bounds, number(rng.choice([0.5, -0.3]), "float64")]


def case_eye(rng: Rng) -> Case:
    n, m, k = (number(int(n)) for n in (*rng.integers(0, 5, 2), rng.integers(-2, 3)))
    return Op.make("eye", dtype=str(rng.choice(["float32", "int8", "bool"]))), [n, m, k]


FULL = ("slice", None, None, None)


def random_index(rng: Rng, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    """An index that fits a shape, and its arguments."""
    entries: list[Any] = []
    inputs: list[Any] = []
    block = some_shape(rng, int(rng.integers(0, 3)))
    kinds = ["slice", "slice", "int", "in", "newaxis", "array", "slice in"]
    axis = 0
    while axis < len(shape) and rng.random() < 0.9:
        n, kind = shape[axis], str(rng.choice(kinds))
        if kind in ("int", "in", "array") and n == 0:
            kind = "slice"
        if kind == "newaxis":
            entries.append(kind)
            continue
        axis += 1
        if kind == "slice":
            a, b = (None if rng.random() < 0.4 else int(rng.integers(-5, 6)) for _ in range(2))
            entries.append(("slice", a, b, rng.choice([None, 2, -1, -2])))
        elif kind == "slice in":
            entries.append(("slice", "in", None, None) if rng.random() < 0.5 else ("slice", None, "in", "in"))
            inputs += [number(int(rng.integers(-5, 6)))]
            if entries[-1][3] == "in":
                inputs.append(number(rng.choice([-1, 1, 2])))
        elif kind == "int":
            entries.append(int(rng.integers(-n, n)))
        elif kind == "in":
            entries.append(kind)
            inputs.append(number(int(rng.integers(-n, n)), rng.choice(["int64", "int8"])))
        else:
            entries.append(kind)
            inputs.append(layout(rng, rng.integers(-n, n, narrowed(rng, block) or (1,))))
    return tuple(entries) or ("newaxis",), inputs


def case_getitem(rng: Rng) -> Case:
    x = any_array(rng, int(rng.integers(1, 4)))
    if rng.random() < 0.15:
        return Op.make("getitem", index=("mask",)), [
            x,
            values(rng, "bool", x.shape[: int(rng.integers(1, x.ndim + 1))]),
        ]
    index, inputs = random_index(rng, x.shape)
    return Op.make("getitem", index=index), [x, *inputs]


def case_setitem(rng: Rng) -> Case:
    op, (x, *inputs) = case_getitem(rng)
    mode = str(rng.choice(["set", "inc"]))
    if x.dtype == bool:
        mode = "set"
    part = np.shape(op.bind(np)(x, *inputs))
    index = op.options["index"]
    y = values(rng, x.dtype.name, narrowed(rng, part))
    return Op.make("setitem", index=index, mode=mode), [x, y, *inputs]


def random_state(rng: Rng) -> np.ndarray[Any, Any]:
    return rng.integers(0, 2**64 - 1, 3, np.uint64, True)


def mean(rng: Rng, shape: tuple[int, ...], most: float = 30.0) -> np.ndarray[Any, Any]:
    return layout(rng, rng.uniform(0.01, most, narrowed(rng, shape)).astype(rng.choice(["float32", "float64"])))


def count(rng: Rng, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return layout(rng, rng.integers(1, 60, narrowed(rng, shape)))


def chances(rng: Rng, k: int) -> np.ndarray[Any, Any]:
    return rng.dirichlet(np.ones(k))


PARAMETERS: dict[str, Callable[[Rng, tuple[int, ...]], list[np.ndarray[Any, Any]]]] = {
    "uniform": lambda rng, size: [],
    "normal": lambda rng, size: [],
    "exponential": lambda rng, size: [],
    "gamma": lambda rng, size: [mean(rng, size)],
    "beta": lambda rng, size: [mean(rng, size), mean(rng, size, 1.0)],
    "integers": lambda rng, size: [count(rng, size)],
    "binomial": lambda rng, size: [count(rng, size), mean(rng, size, 1.0)],
    "poisson": lambda rng, size: [mean(rng, size)],
    "multinomial": lambda rng, size: [count(rng, size), chances(rng, int(rng.integers(1, 5)))],
    "permutation": lambda rng, size: [],
    "choice": lambda rng, size: [chances(rng, int(np.prod(size)) + 1)],
}


def case_sampler(name: str) -> Callable[[Rng], Case]:
    def make(rng: Rng) -> Case:
        size = some_shape(rng, int(rng.integers(name == "permutation", 4)))
        shape, dims = holes(rng, size)
        real = name in ("uniform", "normal", "exponential", "gamma", "beta")
        more: dict[str, Any] = {"replace": bool(rng.integers(2))} if name == "choice" else {}
        dtype = str(rng.choice(["float32", "float64"] if real else ["int64", "float32"]))
        op = Op.make(f"random_{name}", shape=shape, dtype=dtype, **more)
        return op, [random_state(rng), *PARAMETERS[name](rng, size), *dims]

    return make


def case_random_fold_in(rng: Rng) -> Case:
    return Op.make("random_fold_in"), [random_state(rng), values(rng, "int64", some_shape(rng, 2))]


def case_random_valid(rng: Rng) -> Case:
    return Op.make("random_valid", what="p", low=0, high=1), [mean(rng, some_shape(rng, 2), 1.0)]


def case_recurrence(name: str, arguments: str, depth: int = 1) -> Callable[[Rng], Case]:
    """A state before (i), sequences (s) or masks (m), parameters (p) and a number of steps (n)."""

    def make(rng: Rng) -> Case:
        more: dict[str, Any] = {}
        dtype = str(rng.choice(["float32", "float64"]))
        if name in ("accumulate", "fold", "fold_in_order", "segmented"):
            names = [n for n in ACCUMULATED if name != "fold" or TABLE[n].traits.associative]
            more["ufunc"] = str(rng.choice(names))
            kinds = ACCUMULATED[more["ufunc"]] if name != "fold" else ACCUMULATED[more["ufunc"]].replace("c", "")
            dtype = str(rng.choice([d for d in DTYPES if np.dtype(d).kind in kinds]))
        if name == "masked_flips":
            dtype = str(rng.choice([d for d in DTYPES if np.dtype(d).kind in "biu"]))
        exact = TABLE[name].batch_exact is True and "complex" not in dtype
        row, n = some_shape(rng, int(rng.integers(0, 3))), int(rng.choice([0, 1, 2, 7, 40]))

        def array(kind: str) -> np.ndarray[Any, Any]:
            if kind == "n":
                return number(int(rng.integers(1, 30)))
            shape = row if kind == "i" else narrowed(rng, row)
            shape = (depth, *shape) if kind == "i" else shape if kind == "p" else (n, *shape)
            if kind == "m":
                return values(rng, "bool", shape)
            if exact or np.dtype(dtype).kind in "biu":
                return values(rng, dtype, shape)
            return layout(rng, rng.uniform(-1, 1, shape).astype(dtype))

        return Op.make(name, **more), [array(kind) for kind in arguments]

    return make


def case_powers(rng: Rng) -> Case:
    n = int(rng.integers(0, 20))
    exponents = np.arange(n) if rng.random() < 0.5 else rng.integers(-1, 20, n)
    x = rng.uniform(0.5, 1.5, some_shape(rng, int(rng.integers(0, 3)))).astype(rng.choice(["float32", "float64"]))
    return Op.make("powers"), [layout(rng, x), exponents]


def case_in_chunks(rng: Rng) -> Case:
    return Op.make("in_chunks", size=int(rng.integers(1, 5))), [any_array(rng, int(rng.integers(1, 4)))]


def case_chunk_count(rng: Rng) -> Case:
    return Op.make("chunk_count", size=int(rng.integers(1, 5))), [
        rng.integers(0, 9, some_shape(rng, int(rng.integers(2))))
    ]


def case_join_rows(rng: Rng) -> Case:
    return Op.make("join_rows"), [any_array(rng, int(rng.integers(2, 4)))]


def case_first_true(rng: Rng) -> Case:
    x = values(rng, "bool", some_shape(rng, int(rng.integers(1, 4))))
    return Op.make("first_true", axis=int(rng.integers(0, x.ndim))), [x]


LINALG = ("solve", "solve_triangular", "cho_solve", "lu_factor", "lu_solve", "cholesky", "inv", "det", "logabsdet",
          "det_sign", "linalg_or_flag", "unless_flagged", "svd", "qr", "eigh", "eig", "spectrum", "pinv", "lstsq",
          "expm")  # fmt: skip
"""Operators of matrices that must not become singular: values stay about what they are."""


def case_linalg(name: str) -> Callable[[Rng], Case]:
    def make(rng: Rng) -> Case:
        n, stack = int(rng.integers(0, 5)), some_shape(rng, int(rng.integers(0, 2)))
        dtypes = ["float32", "float64", "complex64", "complex128"]

        def draw(*shape: int) -> np.ndarray[Any, Any]:
            d, x = str(rng.choice(dtypes)), rng.uniform(-1, 1, shape)
            return (x + 1j * rng.uniform(-1, 1, shape) if d.startswith("complex") else x).astype(d)

        a = np.asarray(draw(*stack, n, n) + 3 * np.eye(n, dtype="float32"))
        if name == "cholesky":
            a = np.asarray(a @ np.conj(np.swapaxes(a, -1, -2)))
        triangle = {"lower": bool(rng.integers(2))}
        trans = {"trans": int(rng.integers(3))}
        options: dict[str, dict[str, Any]] = {
            "solve_triangular": {**triangle, **trans, "unit_diagonal": bool(rng.integers(2))},
            "cho_solve": triangle,
            "lu_solve": trans,
            "linalg_or_flag": {"function": str(rng.choice(["inv", "cholesky"]))},
        }
        op = Op.make(name, **options.get(name, {}))
        if name == "unless_flagged":
            found = np.concatenate([a, np.full((*stack, 1, n), unused := int(rng.integers(2)), a.dtype)], -2)
            return op, [layout(rng, found), number(0)] if unused else [layout(rng, found)]
        if name not in ("solve", "solve_triangular", "cho_solve", "lu_solve"):
            return op, [layout(rng, a)]
        b = draw(n) if rng.random() < 0.4 else draw(*narrowed(rng, stack), n, int(rng.integers(0, 4)))
        return op, [layout(rng, Op.make("lu_factor").bind(np)(a) if name == "lu_solve" else a), layout(rng, b)]

    return make


def case_windows(rng: Rng) -> Case:
    x = any_array(rng, int(rng.integers(1, 3)))
    options = {"step": int(rng.integers(1, 3)), "dilation": int(rng.integers(1, 3)), "axis": int(rng.integers(x.ndim))}
    size = int(rng.integers(1, 4))
    given = [number(size)] if rng.random() < 0.5 else []
    return Op.make("windows", size="in" if given else size, **options), [x, *given]


def case_scatter(rng: Rng) -> Case:
    ufunc = str(rng.choice(["multiply", "divide", "power", "minimum", "maximum"]))
    dtypes = ["float32", "float64", *(["int64"] if ufunc in ("multiply", "minimum", "maximum") else [])]
    d, shape = str(rng.choice(dtypes)), some_shape(rng, int(rng.integers(1, 3)), 1)
    x = layout(rng, (rng.uniform(0.5, 2, shape) * (3 if d == "int64" else 1)).astype(d))
    places = rng.integers(-shape[0], shape[0], some_shape(rng, int(rng.integers(1, 3))))
    y = rng.uniform(0.5, 2, (*places.shape, *shape[1:])) * (3 if d == "int64" else 1)
    return Op.make("scatter", index=("array",), ufunc=ufunc), [x, layout(rng, y.astype(d)), places]


def case_overlap_add(rng: Rng) -> Case:
    x = small(rng, (*some_shape(rng, int(rng.integers(1, 3))), int(rng.integers(1, 4))))
    step, dilation = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    axis = int(rng.integers(x.ndim - 1))
    n = max(step * (x.shape[axis] - 1) + dilation * (x.shape[-1] - 1) + 1, 0) + int(rng.integers(0, 2))
    given = [number(n)] if rng.random() < 0.5 else []
    options = {"step": step, "dilation": dilation, "axis": axis}
    return Op.make("overlap_add", length="in" if given else n, **options), [x, *given]


def case_transform(name: str) -> Callable[[Rng], Case]:
    def make(rng: Rng) -> Case:
        dtypes = ["float32", "float64", *([] if name == "rfft" else ["complex64", "complex128"])]
        d, shape = str(rng.choice(dtypes)), some_shape(rng, int(rng.integers(1, 3)), 1 + (name == "irfft"))
        x = rng.normal(size=shape)
        x = layout(rng, (x + 1j * rng.normal(size=shape) if d.startswith("complex") else x).astype(d))
        n = None if rng.random() < 0.4 else int(rng.integers(1, 7))
        given = n is not None and rng.random() < 0.5
        options = {"axis": int(rng.integers(x.ndim)), "norm": str(rng.choice(["backward", "ortho", "forward"]))}
        more = {"inverse": bool(rng.integers(2))} if name == "fft" else {}
        return Op.make(name, n="in" if given else n, **options, **more), [x, number(n)] if given else [x]

    return make


SPECIAL: dict[str, tuple[tuple[float, float], ...]] = {
    # where each argument lies; a whole number of one argument is an order, of which there is no derivative
    **dict.fromkeys(("erf", "erfc", "erfcx", "ndtr", "log_ndtr", "i0", "i1", "i0e", "i1e", "j0", "j1"), ((-2, 2),)),
    **dict.fromkeys(("gamma", "gammaln", "psi", "entr", "exp1", "expi"), ((0.2, 2),)),
    **dict.fromkeys(("logit", "ndtri"), ((0.1, 0.9),)), "erfinv": ((-0.9, 0.9),), "erfcinv": ((0.1, 1.9),),
    **dict.fromkeys(("beta", "betaln", "xlogy", "rel_entr", "kl_div"), ((0.2, 2), (0.2, 2))),
    "xlog1py": ((-2, 2), (-0.8, 2)), "zeta": ((2, 2), (0.5, 3)), "gammainc": ((2, 2), (0.2, 2)),
    "gammaincc": ((3, 3), (0.2, 2)), "betainc": ((2, 2), (3, 3), (0.1, 0.9)),
}  # fmt: skip


def case_special(name: str) -> Callable[[Rng], Case]:
    def make(rng: Rng) -> Case:
        shape, args = some_shape(rng, int(rng.integers(0, 3))), []
        for low, high in SPECIAL[name]:
            if low == high:
                args.append(number(low))
            else:
                x = rng.uniform(low, high, narrowed(rng, shape)).astype(rng.choice(["float32", "float64"]))
                args.append(layout(rng, x))
        return Op.make(name), args

    return make


def case_decomposition(name: str) -> Callable[[Rng], Case]:
    """Real where vectors are unique up to sign alone; what U and Q have more than they must is one column."""

    def make(rng: Rng) -> Case:
        n, stack = int(rng.integers(0, 5)), some_shape(rng, int(rng.integers(0, 2)) if name != "lstsq" else 0)
        full = name in ("svd", "qr") and bool(rng.integers(2))
        tall = name in ("svd", "qr", "pinv", "lstsq")
        m = n + int(rng.integers(-1, 2)) if full else int(rng.integers(0, 5)) if tall else n
        dtypes = ["float32", "float64", "complex64", "complex128"]
        d = str(rng.choice(dtypes[:2] if name in ("eigh", "eig", "svd") or full else dtypes))
        x = rng.uniform(-1, 1, (*stack, max(m, 0), n)) / (6 if name == "eig" else 1)
        x = x + 3 * np.eye(max(m, 0), n) * np.arange(1, n + 1)
        a = (x + 1j * rng.uniform(-1, 1, x.shape) if d.startswith("complex") else x).astype(d)
        options: dict[str, dict[str, Any]] = {
            "svd": {"full": full},
            "qr": {"complete": full},
            "eigh": {"lower": bool(rng.integers(2))},
            "spectrum": {"of": str(rng.choice(["svd", "eig", "eigvalsh_lower", "eigvalsh_upper"]))},
            "pinv": {"hermitian": False},
        }
        more = [number(1e-12, "float64")] if name in ("pinv", "lstsq") else []
        if name == "lstsq":
            more.insert(0, layout(rng, rng.normal(size=(len(a), 2)[: int(rng.integers(1, 3))]).astype(d)))
        return Op.make(name, **options.get(name, {})), [layout(rng, a / (4 if name == "expm" else 1)), *more]

    return make


RECURRENCES: dict[str, tuple[str, int]] = {
    "accumulate": ("is", 1), "fold": ("is", 1), "fold_in_order": ("is", 1), "forward_fill": ("ims", 1),
    "segmented": ("imss", 1),
    "lfilter": ("isp", 1), "lfilter2": ("ispp", 2), "linear_recurrence": ("iss", 1), "raised_sum": ("iss", 1),
    "smoothing": ("iss", 1), "regrouped_sum": ("is", 1), "regrouped_filter": ("isp", 1),
    "regrouped_filter2": ("ispp", 2), "regrouped_smoothing": ("isp", 1),
    "capped_sum": ("iss", 1), "clamped_sum": ("isss", 1), "geometric": ("ipn", 1), "affine_power": ("ippn", 1),
    "polynomial": ("ips", 1), "masked_flips": ("iss", 1),
}  # fmt: skip


def case_has_rows(rng: Rng) -> Case:
    rows = int(rng.integers(0, 3))
    return Op.make("has_rows", axes=(1, 0)), [values(rng, "float64", (rows, 2)), values(rng, "int64", (0,))]


def case_no_rows(rng: Rng) -> Case:
    return no_rows(Op.make("getitem", index=(9,)), ["1"]), [any_array(rng, 3)[:0]]


def case_kept_row(rng: Rng) -> Case:
    return kept_row(2), [any_array(rng, 3, 1)[:1], number(3)]


def case_when_runs(rng: Rng) -> Case:
    return when_runs(Op.make("getitem", index=(0,))), [number(int(rng.integers(1, 4))), any_array(rng, 3, 1)]


def case_given(rng: Rng) -> Case:
    return Op.make("given"), [any_array(rng, 3, 1), number(int(rng.integers(1, 4)))]


def case_bitcast(rng: Rng) -> Case:
    dtype, to = (str(d) for d in rng.choice(["int8", "int16", "int32", "int64", "uint8", "float64"], 2))
    ratio = np.dtype(to).itemsize // np.dtype(dtype).itemsize
    shape = some_shape(rng, int(rng.integers(0, 3)))
    return Op.make("bitcast", dtype=to), [values(rng, dtype, (*shape, ratio) if ratio > 1 else shape)]


def case_threefry(rng: Rng) -> Case:
    shape = some_shape(rng, 2)
    shapes = [(), shape[1:], shape, (shape[0], 1)]
    return Op.make("threefry"), [values(rng, "uint32", s) for s in rng.permutation(np.array(shapes, object))]


CASES: dict[str, Callable[[Rng], Case]] = {
    **{name: case_elementwise(name) for name in UFUNCS},
    **{name: case_reduction(name) for name in ["sum", "prod", "mean", "var", "std", "max", "min", "any", "all"]},
    **{f"random_{name}": case_sampler(name) for name in PARAMETERS},
    **{name: case_recurrence(name, *given) for name, given in RECURRENCES.items()},
    **{name: case_linalg(name) for name in LINALG},
    **{name: case_transform(name) for name in ("fft", "rfft", "irfft")},
    **{name: case_special(name) for name in SPECIAL},
    **{name: case_decomposition(name) for name in LINALG[LINALG.index("svd") :]},
    **{
        name: case_along(name)
        for name in ["cumsum", "cumprod", "cummax", "cummin", "sort", "argsort", "argmax", "argmin"]
    },
    **{name: case_nan_along(name) for name in ["nanargmax", "nanargmin"]},
    **{
        key.removeprefix("case_"): f
        for key, f in list(globals().items())
        if key.startswith("case_") and key.removeprefix("case_") in TABLE
    },
    "rows_left": rows_of_part("rows_left"),
    "rows_read": rows_of_part("rows_read"),
    "real": case_complex("real"),
    "imag": case_complex("imag"),
    "disconnected_grad": case_identity("disconnected_grad"),
    "zero_grad": case_identity("zero_grad"),
    "sigmoid": case_float("sigmoid"),
    "softmax": case_float("softmax", 2),
}


# Checking


def bits(x: Any) -> tuple[str, tuple[int, ...], bytes]:
    """Dtype, shape and the bits of an array, all NaN alike."""
    a = np.array(x, order="C")
    if a.dtype.kind == "f":
        a[np.isnan(a)] = np.nan
    if a.dtype.kind == "c":
        for part in (a.real, a.imag):
            part[np.isnan(part)] = np.nan
    return a.dtype.name, a.shape, a.tobytes()


def close(got: Any, want: Any) -> None:
    """Equal up to rounding; a NaN or infinity of a sum may come out as another."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
    else:
        tol = 1e-4 if want.dtype.itemsize // (2 if want.dtype.kind == "c" else 1) < 8 else 1e-10
        tol = 2e-2 if want.dtype == np.float16 else tol
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol)


def evaluate(x: Variable, known: dict[int, Any]) -> Any:
    """The value of a symbolic array by running each op with NumPy."""
    if id(x) not in known:
        if isinstance(x, Constant):
            return x.data
        assert isinstance(x.owner, Apply)
        args = [evaluate(y, known) for y in x.owner.inputs]
        result = np.asarray(x.owner.op.bind(np)(*args))
        assert compatible(x.type, result), (x.owner.op, x.type, result.dtype, result.shape)
        known[id(x)] = result
    return known[id(x)]


def compatible(type: TensorType, a: np.ndarray[Any, Any]) -> bool:
    return type.accepts(TensorType(a.dtype.name, a.shape))


def blurred(rng: Rng, a: np.ndarray[Any, Any]) -> TensorType:
    """The type of an array with some lengths forgotten."""
    return TensorType(a.dtype.name, tuple(None if rng.random() < 0.5 else n for n in a.shape))


def by_seed(examples: int) -> Callable[..., Any]:
    def wrap(f: Callable[..., Any]) -> Callable[..., Any]:
        quiet = settings(max_examples=examples, deadline=None, derandomize=True, database=None,
                         suppress_health_check=list(HealthCheck))  # fmt: skip
        return pytest.mark.parametrize("name", NAMES)(quiet(given(seed=st.integers(0, 2**32 - 1))(f)))

    return wrap


def draw(name: str, seed: int) -> tuple[Rng, Op, list[Any], Any]:
    rng = np.random.default_rng(seed)
    op, args = CASES[name](rng)
    return rng, op, args, np.asarray(op.bind(np)(*args))


def test_every_entry_has_cases() -> None:
    assert set(CASES) == set(NAMES)
    lowered = ("has_rows", "kept_row", "no_rows", "when_runs")  # made when all is batched that will be
    # rows_left and rows_read: numbers of rows, beside a loop
    alone = (*lowered, "arange", "bincount", "ifelse", "rows_left", "rows_read")
    assert all((TABLE[name].batch or name in alone) and TABLE[name].doc for name in NAMES)


@by_seed(12)
def test_dtype_and_shape(name: str, seed: int) -> None:
    rng, op, args, value = draw(name, seed)
    known = op.infer(*(Operand(a.dtype.name, a.shape, a) for a in args))
    assert known == TensorType(value.dtype.name, value.shape)
    shapes = op.infer(*(Operand(a.dtype.name, a.shape) for a in args))
    assert shapes.accepts(known)
    assert op.data_shape or shapes.shape == known.shape
    for _ in range(2):
        partly = op.infer(*(blurred_operand(rng, a) for a in args))
        assert partly.accepts(known)
    nothing = op.infer(*(Operand(a.dtype.name, (None,) * a.ndim) for a in args))
    assert nothing.accepts(known)
    if not op.spec.for_gradients:  # programs, and so files, have none
        assert Op.parse(op.key) == Op.read(op.key) == op


def changed(rng: Rng, a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Another number, or an axis of another length."""
    if not a.ndim:
        return np.asarray(rng.choice([0, 1, 2, 5])).astype(a.dtype)
    axis = rng.integers(a.ndim)
    n = int(rng.choice([0, 1, max(a.shape[axis] - 1, 0), a.shape[axis] + 1]))
    return np.take(a, np.arange(n) % max(a.shape[axis], 1), axis) if a.size else a


@by_seed(8)
def test_what_is_inferred_is_true_of_arguments_that_do_not_fit(name: str, seed: int) -> None:
    """An operator raises, or its result is of the type that was inferred from a part of what is known of them."""
    rng, op, args, _ = draw(name, seed)
    others = [changed(rng, np.asarray(a)) if rng.random() < 0.4 else np.asarray(a) for a in args]
    operands = [blurred_operand(rng, a) if rng.random() < 0.7 else Operand(a.dtype.name, a.shape, a) for a in others]
    try:
        type, value = op.infer(*operands), np.asarray(op.bind(np)(*others))
    except (TypeError, ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError):
        return
    assert compatible(type, value), (op, [x.type for x in operands], [a.shape for a in others], type, value.shape)


def blurred_operand(rng: Rng, a: np.ndarray[Any, Any]) -> Operand:
    t = blurred(rng, a)
    return Operand(t.dtype, t.shape)


@by_seed(8)
def test_what_is_elementwise(name: str, seed: int) -> None:
    """The shape of the result is the one to which the arguments broadcast: laws take parts of it for those of them."""
    _, op, args, value = draw(name, seed)
    assert op.spec.batch is not elementwise or value.shape == np.broadcast_shapes(*(a.shape for a in args))


@by_seed(6)
def test_out(name: str, seed: int) -> None:
    _, op, args, value = draw(name, seed)
    if not op.takes_out:
        return
    f = op.bind(np)
    assert bits(f(*args, None)) == bits(value)
    out = np.empty(value.shape, value.dtype)
    result = f(*args, out)
    assert result is out or value.ndim == 0
    assert bits(out) == bits(result) == bits(value)


@by_seed(6)
def test_view(name: str, seed: int) -> None:
    _, op, args, value = draw(name, seed)
    result = op.bind(np)(*args)
    assert op.view or not any(np.shares_memory(result, a) for a in args)
    if name != "ifelse":  # it is one of its arguments; programs have a step of their own for it
        assert not any(np.shares_memory(result, a) for a in args[1:])
    del value


@by_seed(8)
def test_batched_form(name: str, seed: int) -> None:
    rng, op, args, one = draw(name, seed)
    flags = [bool(rng.integers(2)) for _ in args]
    flags[int(rng.integers(0, len(args)))] = True
    n = int(rng.choice([0, 1, 2, 5]))
    full = [batch_of(rng, name, i, a, n) if b else a for i, (a, b) in enumerate(zip(args, flags, strict=True))]
    variables = [Variable(blurred(rng, a)) for a in full]
    spec: Any = op.spec
    result = spec.batch(op, flags, variables) if spec.batch is not None else None
    if result is None:
        assert op.data_shape or name in (
            "setitem",
            "specify_shape",
            "has_rows",
            "kept_row",
            "rows_left",
            "rows_read",
            "when_runs",  # made when all is batched, as the four before
            "given",
            "searchsorted",
            "digitize",
        )
        return
    got = evaluate(result, {id(v): a for v, a in zip(variables, full, strict=True)})
    per_row = [np.asarray(op.bind(np)(*(a[t] if b else a for a, b in zip(full, flags, strict=True)))) for t in range(n)]
    want = np.stack(per_row) if per_row else np.zeros((0, *one.shape), one.dtype)
    if op.batch_exact(want.dtype.name):
        assert bits(got) == bits(want)
    else:
        close(got, want)


def batch_of(rng: Rng, name: str, place: int, a: np.ndarray[Any, Any], n: int) -> np.ndarray[Any, Any]:
    """n arrays like a: the same numbers in other orders (indices stay in range)."""
    if name in LINALG:
        return layout(
            rng, np.stack([a * (1 + a.dtype.type(t) / 8) for t in range(n)]) if n else np.zeros((0, *a.shape), a.dtype)
        )
    flat = np.stack([rng.permutation(a.ravel()) for _ in range(n)]) if n else np.zeros((0, a.size), a.dtype)
    index = name in ("getitem", "setitem") and place > (name == "setitem") and a.ndim == 0
    if index and n > 1 and a >= 0:
        flat[1:] = a // 2
    return layout(rng, flat.reshape(n, *a.shape))


# Traits


def trait_values(dtype: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(5)
    d = np.dtype(dtype)
    if d.kind == "b":
        return np.array([False, True])
    if d.kind in "iu":
        info = np.iinfo(d)
        return np.concatenate(
            [np.array([0, 1, 2, info.min, info.max], d), rng.integers(info.min, info.max, 60, d, True)]
        )
    real = np.array([*_SPECIAL, -1e30, 3.7, -0.5])
    real = np.concatenate([real, rng.normal(size=40) * 10.0 ** rng.integers(-20, 20, 40)])
    if d.kind == "c":
        pairs = np.array([complex(a, b) for a, b in itertools.product(real[:14], repeat=2)])
        return np.concatenate([pairs, rng.normal(size=60) + 1j * rng.normal(size=60)]).astype(d)
    return real.astype(d)


ALL = [*DTYPES, "uint16", "uint32", "uint64"]
TRAITED = [n for n in NAMES if TABLE[n].traits != Traits()]
RELEVANT = [(n, d) for n in TRAITED for d in ALL]


def result_dtype(name: str, *dtypes: str) -> str | None:
    try:
        return TABLE[name].infer(*(Operand(d, (2,)) for d in dtypes)).dtype
    except TypeError:
        return None


BINARY = [n for n in TRAITED if TABLE[n].ufunc and getattr(np, n).nin == 2]


def elements(name: str, trait: str) -> Any:
    """For each dtype for which a trait names an element: the dtype's values and that element."""
    for dtype in ALL:
        if (e := TABLE[name].traits.element(trait, dtype)) is not None:
            yield trait_values(dtype), np.asarray(e).astype(dtype)


@pytest.mark.parametrize("name", BINARY)
def test_identities(name: str) -> None:
    f = getattr(np, name)
    for x, e in elements(name, "identity"):
        assert bits(f(x, e)) == bits(f(x, np.full_like(x, e))) == bits(x)
    for x, e in elements(name, "left_identity"):
        assert bits(f(e, x)) == bits(f(np.full_like(x, e), x)) == bits(x)
    for x, e in elements(name, "fast_identity"):
        np.testing.assert_array_equal(f(x, e), x)


@pytest.mark.parametrize("name", BINARY)
def test_annihilators(name: str) -> None:
    f = getattr(np, name)
    for x, z in elements(name, "annihilator"):
        assert bits(f(x, z)) == bits(f(z, x)) == bits(np.full_like(x, z))
    for x, z in elements(name, "fast_annihilator"):
        finite = x[np.isfinite(x)]
        np.testing.assert_array_equal(f(finite, z), np.full_like(finite, z))


@pytest.mark.parametrize("name", BINARY)
def test_inverses(name: str) -> None:
    f, inverse = getattr(np, name), TABLE[name].traits.inverse
    for x, z in elements(name, "self_inverse"):
        assert bits(f(x, x)) == bits(np.full_like(x, z))
    for x, z in elements(name, "fast_self_inverse"):
        finite = x[np.isfinite(x)]
        np.testing.assert_array_equal(f(finite, finite), np.full_like(finite, z))
    for dtype in [d for d in ALL if inverse and np.dtype(d).kind in "iu"]:
        x = trait_values(dtype)
        a, b = x[:, None], x[None, :]
        assert bits(getattr(np, str(inverse))(f(a, b), b)) == bits(np.broadcast_to(a, (len(x), len(x))))


@pytest.mark.parametrize(("name", "dtype"), RELEVANT)
def test_boolean_traits(name: str, dtype: str) -> None:
    spec = TABLE[name]
    op, traits = Op.make(name), spec.traits
    f = op.bind(np)
    binary = bool(spec.ufunc) and getattr(np, name).nin == 2
    result = result_dtype(name, *(dtype,) * (1 + binary))
    if result is None:
        return
    x = trait_values(dtype)
    a, b = x[:, None], x[None, :]
    if traits.holds("commutative", dtype):
        assert bits(f(a, b)) == bits(f(b, a))
    if traits.holds("idempotent", dtype) and binary and result == dtype:
        assert bits(f(x, x)) == bits(x)
    if not binary and result_dtype(name, result) == result:
        if traits.holds("idempotent", dtype):
            assert bits(f(f(x))) == bits(f(x))
        if traits.holds("involution", dtype) and result == dtype:
            assert bits(f(f(x))) == bits(x)


@pytest.mark.parametrize("name", [n for n in TRAITED if TABLE[n].traits.associative])
def test_associative(name: str) -> None:
    f = getattr(np, name)
    for dtype in ALL:
        if result_dtype(name, dtype, dtype) != dtype:
            continue
        x = trait_values(dtype)[:12]
        x = x if np.dtype(dtype).kind in "biu" else np.random.default_rng(0).normal(size=8).astype(dtype)
        a, b, c = x[:, None, None], x[None, :, None], x[None, None, :]
        close(f(f(a, b), c), f(a, f(b, c)))


# Raising, and values by definition


def test_can_raise_is_about_values() -> None:
    def index(*entries: Any) -> Op:
        return Op.make("getitem", index=entries)

    assert not index(("slice", 1, None, None)).can_raise
    assert not index("newaxis", ("slice", "in", "in", None)).can_raise
    assert index(-1).can_raise
    assert index("in").can_raise
    assert index("array").can_raise
    assert index(("slice", None, None, "in")).can_raise
    assert not index("mask").can_raise
    assert index("mask").data_shape
    assert index(0).view
    assert not index("array").view
    assert Op.make("setitem", index=(0,), mode="set").can_raise
    assert not Op.make("reshape", shape=(2, -1)).can_raise
    assert Op.make("reshape", shape=(2, None)).can_raise
    x, y = T.vector(), T.lvector()
    assert not (x**2).owner.op.can_raise
    assert not (y**2).owner.op.can_raise
    assert (y**y).owner.op.can_raise


@pytest.mark.parametrize("n", [0, 3])
def test_batched_index_out_of_range_raises(n: int) -> None:
    x, i = T.vector(), T.lvector()
    spec: Any = TABLE["getitem"]
    result = spec.batch(Op.make("getitem", index=("in",)), (False, True), (x, i))
    where = {id(x): np.zeros(3), id(i): np.full(n, 3)}
    if n:
        with pytest.raises(IndexError):
            evaluate(result, where)
    else:
        assert evaluate(result, where).shape == (0,)


def test_sigmoid_and_softmax_by_definition() -> None:
    x = np.linspace(-800, 800, 41)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = Op.make("sigmoid").bind(np)(x)
    np.testing.assert_allclose(
        got, np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x))), rtol=1e-14, atol=1e-300
    )
    soft = Op.make("softmax", axis=0).bind(np)(x[:, None])
    np.testing.assert_allclose(soft.sum(0), 1)


def test_integer_power_of_a_negative_exponent() -> None:
    x = T.lvector("x")
    with pytest.raises(ValueError, match="negative integer powers"):
        x**-1
    out = apply(Op.make("power", checked=True), x, T.lvector())
    with pytest.raises(ValueError, match="negative"):
        out.owner.op.bind(np)(np.array([2]), np.array([-1]))


def test_an_entry_that_infers_no_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE, "of_no_type", OpSpec("of_no_type", lambda xp: abs, lambda x: 3, elementwise))  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="the infer of 'of_no_type' must return a TensorType, found 3"):
        apply(Op.make("of_no_type"), T.dvector("x"))
