"""Methods and attributes of variables: NumPy's, JAX's `at`, the array API standard's."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from against_numpy import Array, check, check_in_a_step, close, numbers

import scanopt
import scanopt.tensor as T
from scanopt.array import standard
from scanopt.array.at import IndexedPart
from scanopt.array.instead import INSTEAD_OF_METHODS
from scanopt.array.variable import Variable

X = numbers(4, 3)
MASK = X[:, 0] > 0
TWICE = np.array([0, 2, 0, -1])


# x.at[index]

UPDATES: dict[str, Callable[[Array, Any, Any], None]] = {
    "set": lambda a, i, v: a.__setitem__(i, v),
    "add": np.add.at,
    "subtract": np.subtract.at,
    "multiply": np.multiply.at,
    "mul": np.multiply.at,
    "divide": np.divide.at,
    "div": np.divide.at,
    "power": np.power.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
}
INDICES: dict[str, Any] = {
    "an int": 1,
    "a slice": slice(1, None, 2),
    "a mixed index": (slice(None), [0, 2]),
    "entries named twice": TWICE,
    "pairs named twice": (np.array([[1], [1]]), np.array([0, 2, 0])),
    "a mask": MASK,
    "all": ...,
    "new axes alone": (None, slice(None), None),
    "negative steps": (slice(None, None, -1), -1),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", INDICES)
def test_updates_of_parts(name: str) -> None:
    index = INDICES[name]
    x = np.abs(X) + 0.5
    values = np.abs(numbers(*x[index].shape, seed=1)) + 0.5
    methods = [m for m in UPDATES if m != "set" or "twice" not in name]

    def updated(x: Array, values: Array) -> list[Array]:
        found = []
        for method in methods:
            for value in (values, 2.0):
                new = x.copy()
                UPDATES[method](new, index, value)
                found.append(new)
        return found

    check(lambda x, v: [getattr(x.at[index], m)(w) for m in methods for w in (v, 2.0)], x, values, like=updated)
    check(lambda x: x.at[index].get(), x, like=lambda x: x[index])


def test_hints_of_jax_change_nothing() -> None:
    hints: dict[str, Any] = {"indices_are_sorted": True, "unique_indices": True, "mode": "promise_in_bounds"}
    for method in ("set", "add", "subtract", "multiply", "max"):
        check(lambda x, m=method: getattr(x.at[1:], m)(2.0, **hints), X, like=lambda x, m=method: _changed(x, m))
    check(lambda x: (x.at[0].get(**hints), x.at[0].apply(np.exp, mode=None)[0]), X, like=lambda x: (x[0], np.exp(x[0])))
    assert copy.copy(T.dvector("x").at).x.name == "x"


def _changed(x: Array, method: str) -> Array:
    new = x.copy()
    UPDATES[method](new, slice(1, None), 2.0)
    return new


def test_functions_of_parts() -> None:
    check(lambda x: x.at[1:].apply(np.exp), X, like=lambda x: np.concatenate([x[:1], np.exp(x[1:])]))


def test_updates_in_a_step() -> None:
    def update(method: str) -> Callable[[Array], Array]:
        def new(x: Array) -> Array:
            out = x.copy()
            UPDATES[method](out, TWICE, 3.0)
            return out

        return new

    for method in ("multiply", "max", "add"):
        check_in_a_step(lambda x, m=method: getattr(x.at[TWICE], m)(3.0), numbers(4), like=update(method))


def test_dtypes_stay() -> None:
    small = numbers(4, dtype="float32")
    check(
        lambda x: [x.at[1:].add(X[0]), x.at[TWICE].multiply(2)], small,
        like=lambda x: [
            np.concatenate([x[:1], x[1:] + X[0].astype("float32")]), x * np.array([4, 1, 2, 2], "float32"),
        ],
    )  # fmt: skip
    unsigned = np.array([5, 6, 7], "uint8")
    check(lambda x: x.at[1].subtract(2), unsigned, like=lambda x: np.array([5, 4, 7], "uint8"))


@pytest.mark.share(4)
@pytest.mark.parametrize("method", ["set", "add", "multiply", "divide", "power", "min", "max"])
def test_gradients_of_updates(method: str) -> None:
    x, values = np.abs(X) + 0.5, np.abs(numbers(4, 3, seed=1)) + 0.7
    T.verify_grad(lambda x, v: getattr(x.at[TWICE], method)(v), [x, values])
    if method not in ("set", "add"):
        T.verify_grad(lambda x, v: getattr(x.at[np.array([1, 0])], method)(v), [x, values[:2]])


def test_no_index_is_named_twice_where_that_is_known() -> None:
    x, i = T.dvector("x"), T.lvector("i")
    assert x.at[i].multiply(2.0).owner.op.name == "scatter"
    for part in (x.at[np.array([1, 0])].multiply(2.0), x.at[i].multiply(2.0, unique_indices=True), x.at[1:].max(0.0)):
        assert part.owner.op.name == "setitem"


def test_errors_of_updates() -> None:
    x, k = T.dvector("x"), T.lvector("k")
    with pytest.raises(TypeError, match=re.escape("an entry of 'k' int64[?] cannot be combined with 'x' float64[?]")):
        k.at[k].multiply(x)
    with pytest.raises(TypeError, match="divide of int64 and int64 gives float64, which an array of int64 cannot hold"):
        k.at[k].divide(2)
    with pytest.raises(AttributeError, match="'IndexedPart' object has no attribute 'replace'"):
        x.at[0].replace(1.0)
    f = scanopt.function([x, k], x.at[k].multiply(2.0))
    for run in (f, f.unoptimized):
        with pytest.raises(IndexError):
            run(np.ones(3), np.array([3]))
    assert isinstance(x.at[0], IndexedPart)


# Methods

METHODS: dict[str, Callable[[Any], Any]] = {
    "T": lambda x: x.T, "mT": lambda x: x.mT, "all": lambda x: x.all(), "any": lambda x: x.any(0),
    "argmax": lambda x: x.argmax(1), "argmin": lambda x: x.argmin(), "argsort": lambda x: x.argsort(0),
    "astype": lambda x: x.astype("float32"), "choose": lambda x: (x > 0).astype("int64").choose([x, -x]),
    "clip": lambda x: x.clip(-0.5, 0.5), "conj": lambda x: x.conj(), "conjugate": lambda x: x.conjugate(),
    "copy": lambda x: x.copy(), "cumprod": lambda x: x.cumprod(), "cumsum": lambda x: x.cumsum(1),
    "diagonal": lambda x: x.diagonal(1), "dot": lambda x: x.dot(x.T), "flatten": lambda x: x.flatten(),
    "flat": lambda x: x.flat[3], "item": lambda x: x.item(1, 2), "imag": lambda x: x.imag, "max": lambda x: x.max(0),
    "mean": lambda x: x.mean(axis=1),
    "min": lambda x: x.min(), "prod": lambda x: x.prod(1), "ptp": lambda x: np.ptp(x, 0), "ravel": lambda x: x.ravel(),
    "real": lambda x: x.real, "repeat": lambda x: x.repeat(2, 0), "reshape": lambda x: x.reshape(2, -1),
    "round": lambda x: x.round(1), "squeeze": lambda x: x[:1].squeeze(0), "std": lambda x: x.std(),
    "sum": lambda x: x.sum(), "swapaxes": lambda x: x.swapaxes(0, 1), "take": lambda x: x.take([0, 2], 1),
    "trace": lambda x: x.trace(), "transpose": lambda x: x.transpose(1, 0), "var": lambda x: x.var(0),
    "to_device": lambda x: x.to_device("cpu"),
    "compress": lambda x: x.compress([True, False, True, True], 0), "nonzero": lambda x: x.nonzero(),
    "searchsorted": lambda x: x[0].searchsorted(x[1]), "argpartition": lambda x: x[:, 0].argpartition(2)[2],
}  # fmt: skip
PLAIN = {"dtype", "ndim", "shape", "size", "itemsize", "nbytes", "device"}
OTHERWISE = {"fill": "Theano's: a value in the shape of x", "sort": "gives the sorted array: NumPy's sorts in place"}


def test_every_method_of_numpy_works_or_says_what_to_write() -> None:
    names = {n for n in dir(np.ndarray) if not n.startswith("_")}
    assert names == set(METHODS) - {"ptp"} | PLAIN | set(OTHERWISE) | (set(INSTEAD_OF_METHODS) & names)


def test_methods() -> None:
    check(lambda x: [v for f in METHODS.values() for v in _listed(f(x))], X)
    check(
        lambda x: [x.ptp(1), x.tile((2, 1)), x.sort(1), x.norm(), x.nbytes], X,
        like=lambda x: [np.ptp(x, 1), np.tile(x, (2, 1)), np.sort(x, 1), np.linalg.norm(x), np.int64(x.nbytes)],
    )  # fmt: skip
    assert T.matrix("m", "float32").itemsize == 4


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, tuple | list) else [x]


@pytest.mark.parametrize("name", INSTEAD_OF_METHODS)
def test_what_is_no_method_says_what_to_write(name: str) -> None:
    x = T.dmatrix("x")
    text = f"'x' float64[?, ?] is symbolic and has no {name}: {INSTEAD_OF_METHODS[name]}"
    with pytest.raises(AttributeError, match=re.escape(text)):
        getattr(x, name)


def test_names_that_are_near() -> None:
    x = T.dmatrix("x")
    with pytest.raises(AttributeError, match=r"'x' float64\[\?, \?\] is symbolic and has no maen: near: mean"):
        x.maen()
    with pytest.raises(AttributeError, match=r"write T.relu\(x\)"):
        x.relu()
    assert not hasattr(x, "__dataframe__")
    with pytest.raises(ValueError, match=r"'x' float64\[\?, \?\] is symbolic: compile with"):
        x.to_device("cuda")


def test_variables_are_copied_and_stored() -> None:
    """Python asks half an object for attributes."""
    x = T.dmatrix("x")
    for again in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (again.name, again.type) == ("x", x.type)
    assert repr(Variable.__new__(Variable).__dict__) == "{}"


def test_one_element() -> None:
    x = T.dmatrix("x")
    outputs = [x[:1, :1].item(), x.item(4), x.item(-1), x.item(1, 2), x.item((0, 1)), T.constant(3).item()]
    f = scanopt.function([x], outputs)
    values = np.arange(6.0).reshape(2, 3)
    for run in (f, f.unoptimized):
        assert [float(v) for v in run(values)] == [0, 4, 5, 5, 1, 3]
    with pytest.raises(ValueError, match="cannot reshape array of size 6 into shape"):
        x.item().eval({x: values})
    assert T.grad(x.item(1, 1) ** 2, x).eval({x: values}).tolist() == [[0, 0, 0], [0, 8, 0]]


# The array API standard


def test_names_of_the_standard() -> None:
    xp = T.dmatrix("x").__array_namespace__()
    assert [n for n in standard.NAMES if not hasattr(xp, n)] == []
    assert standard.MISSING == ()
    assert len(standard.NAMES) == 155
    linear = (
        "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose "
        "outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"
    )
    assert all(hasattr(xp.linalg, n) for n in linear.split())
    fourier = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"
    assert all(hasattr(xp.fft, n) for n in fourier.split())


def test_versions_of_the_standard() -> None:
    x = T.dmatrix("x")
    assert x.__array_namespace__(api_version="2023.12") is x.__array_namespace__()
    with pytest.raises(ValueError, match=r"is known in versions 2021.12, .*, found '2019.1'"):
        x.__array_namespace__(api_version="2019.1")


def whitened(x: Any) -> list[Any]:
    """A program in the functions of the standard alone."""
    xp = x.__array_namespace__()
    centred = x - xp.mean(x, axis=0, keepdims=True)
    covariance = xp.matmul(xp.matrix_transpose(centred), centred) / x.shape[0] + xp.eye(
        3, dtype=xp.float64, device=x.device
    )
    values, vectors = xp.linalg.eigh(covariance)
    order = xp.argsort(xp.abs(x[:, 0]))
    return [
        xp.astype(values, xp.float32, copy=True), xp.abs(centred @ vectors), xp.sort(x, axis=1), order,
        xp.expand_dims(x, axis=0), xp.cumulative_sum(x, axis=0),
        xp.where(xp.isnan(x), xp.asarray(0.0), xp.clip(x, -1.0, 1.0)), xp.permute_dims(x, (1, 0)),
        xp.std(x, axis=0, correction=1.0), xp.bitwise_invert(xp.asarray([1, 2])), xp.concat([x, x], axis=1),
        xp.zeros((2, 3), dtype=xp.int32), xp.reshape(x, (-1,), copy=True), xp.linspace(0.0, 1.0, 5),
    ]  # fmt: skip


def test_a_program_in_the_functions_of_the_standard() -> None:
    x = T.dmatrix("x")
    f = scanopt.function([x], whitened(x))
    for run in (f, f.unoptimized):
        for found, expected in zip(run(X), whitened(X), strict=True):
            close(found, expected)


def test_descending_order() -> None:
    x = T.lmatrix("x")
    xp = x.__array_namespace__()
    values = np.array([[1, 2, 1, 3, 2], [0, 0, 0, 1, 1]])
    found = scanopt.interpret(
        [xp.sort(x, descending=True), xp.argsort(x, descending=True), xp.argsort(x, axis=0, descending=True)],
        {x: values},
    )
    close(found[0], np.array([[3, 2, 2, 1, 1], [1, 1, 0, 0, 0]]))
    close(found[1], np.argsort(-values, stable=True))
    close(found[2], np.argsort(-values, axis=0, stable=True))


def test_dtypes_of_the_standard() -> None:
    x = T.dmatrix("x")
    xp = x.__array_namespace__()
    assert x.dtype == xp.float64
    assert xp.isdtype(x.dtype, "real floating")
    assert not xp.isdtype(x.dtype, ("integral", xp.bool))
    assert xp.isdtype(xp.uint8, (xp.int8, xp.uint8))
    assert xp.result_type(xp.int32, x) == "float64"
    assert xp.finfo(x).max == np.finfo("float64").max
    assert xp.iinfo(xp.int8).min == -128
    assert xp.from_dlpack(np.ones(2)).data.tolist() == [1.0, 1.0]
    info = xp.__array_namespace_info__()
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"}
    assert (info.default_device(), info.devices(), info.capabilities()["max dimensions"]) == ("cpu", ["cpu"], 64)
    assert info.default_dtypes()["integral"] == "int64"
    with pytest.raises(ValueError, match="zeros: symbolic arrays are on the device 'cpu', found 'cuda'"):
        xp.zeros(3, device="cuda")
