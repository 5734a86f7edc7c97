"""NumPy's functions of symbolic arrays: values, dtypes and shapes are those of NumPy, in every way to compute them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from function_cases import CASES, Case

import scanopt
import scanopt.tensor as T
from scanopt.array.entries import FUNCTIONS
from scanopt.array.instead import INSTEAD
from scanopt.array.registry import NUMPY_FUNCTIONS
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable

Array = np.ndarray[Any, Any]

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning"),
]
EACH = [pytest.param(c, id=f"{name}{i or ''}") for name, cases in CASES.items() for i, c in enumerate(cases)]
FIRST = [pytest.param(c[0], id=name) for name, cases in CASES.items() if (c := [c for c in cases if c.own])]
LAST = [pytest.param(c[-1], id=name) for name, cases in CASES.items() if (c := [c for c in cases if c.rows])]
SMOOTH = [pytest.param(c[0], id=name) for name, cases in CASES.items() if (c := [c for c in cases if c.grad])]


def flat(found: Any) -> list[Any]:
    """The arrays of a result, however they are put together."""
    return [x for part in found for x in flat(part)] if isinstance(found, list | tuple) else [found]


def inputs(case: Case, known: bool) -> list[Variable]:
    arrays = [np.asarray(a) for a in case.arrays]
    return [Variable(TensorType(a.dtype.name, a.shape if known else (None,) * a.ndim), f"x{i}")
            for i, a in enumerate(arrays)]  # fmt: skip


def compare(got: Any, want: Any) -> None:
    assert len(got) == len(want)
    for x, w in zip(got, map(np.asarray, want), strict=True):
        assert (np.asarray(x).dtype, np.shape(x)) == (w.dtype, w.shape)

        close = (0.0, 0.0) if w.dtype.kind not in "fc" else (1e-5, 1e-6) if w.dtype.itemsize <= 4 else (1e-12, 1e-13)
        np.testing.assert_allclose(x, w, *close)


def compare_types(outs: list[Any], want: list[Any]) -> None:
    for x, w in zip(outs, map(np.asarray, want), strict=True):
        assert x.type.accepts(TensorType(w.dtype.name, w.shape)), (x, w.shape)


@pytest.mark.parametrize("case", EACH)
def test_values(case: Case) -> None:
    """By T and by np, of arrays with known lengths and without."""
    want = flat(case.call(np, *case.arrays))
    ways = [(T, True)] * case.own + [(T, False)] * (case.own and not case.known) + [(np, True)] * case.numpy
    for module, known in ways:
        xs = inputs(case, known)
        outs = [T.asarray(x) for x in flat(case.call(module, *xs))]
        compare_types(outs, want)
        compare(scanopt.interpret(outs, dict(zip(xs, case.arrays, strict=True))), want)


@pytest.mark.share(3)
@pytest.mark.parametrize("case", FIRST)
def test_optimized(case: Case) -> None:
    xs = inputs(case, case.known)
    outs = [T.asarray(x) for x in flat(case.call(T, *xs))]
    f = scanopt.function(xs, outs, on_unused_input="ignore")
    want = flat(case.call(np, *case.arrays))
    compare(f(*case.arrays), want)
    compare(f.unoptimized(*case.arrays), want)


def rows(case: Case) -> Iterator[tuple[Any, ...]]:
    yield case.arrays
    yield tuple(np.flip(a) if np.ndim(a) else a for a in case.arrays)


@pytest.mark.share(6)
@pytest.mark.parametrize("case", LAST)
def test_in_a_loop(case: Case) -> None:
    """As a step of a map over two rows of arrays, and over none."""
    xs = [T.tensor(np.asarray(a).dtype.name, (None, *(np.shape(a)))) for a in case.arrays]
    outs, _ = scanopt.map(lambda *row: [T.asarray(x) for x in flat(case.call(T, *row))], xs, return_list=True)
    f = scanopt.function(xs, outs, on_unused_input="ignore")
    stacked = [np.stack(column) for column in zip(*rows(case), strict=True)]
    wants = [flat(case.call(np, *row)) for row in rows(case)]
    for how in (f, f.unoptimized):
        compare(how(*stacked), [np.stack(column) for column in zip(*wants, strict=True)])
        none = how(*(s[:0] for s in stacked))
        assert [(x.dtype, x.ndim, len(x)) for x in none] == [(np.asarray(w).dtype, np.ndim(w) + 1, 0) for w in wants[0]]


@pytest.mark.share(6)
@pytest.mark.parametrize("case", SMOOTH)
def test_gradients(case: Case) -> None:
    """By each array that a case names, against differences; the arrays are of lengths known only in the run."""

    def total(*by: Variable) -> Variable:
        places = dict(zip(case.grad, by, strict=True))
        parts = flat(case.call(T, *(places.get(i, a) for i, a in enumerate(case.arrays))))
        return T.stack([(T.sin(1 + 0.3 * x)).sum() for x in parts if np.dtype(x.dtype).kind == "f"]).sum()

    T.verify_grad(total, [np.asarray(case.arrays[i]) for i in case.grad], mode="FAST_COMPILE")


ALIASES = {"ufuncs"}


def test_every_case_has_its_function() -> None:
    assert {name for name in CASES if name not in ALIASES} - FUNCTIONS.keys() == set()


def test_hints_are_of_functions_that_numpy_has_and_we_do_not() -> None:
    assert {name for name in INSTEAD if not hasattr(np, name)} == set()
    assert INSTEAD.keys() & NUMPY_FUNCTIONS.keys() == set()


def test_numpy_functions_have_their_names_here_too() -> None:
    assert {name for name in NUMPY_FUNCTIONS if "." not in name} - FUNCTIONS.keys() == set()


OURS = sorted(name for name, f in NUMPY_FUNCTIONS.items() if ".functions." in f.__module__ and hasattr(np, name))
SILENT = {"out", "order", "subok", "device", "like", "copy", "casting"}


@pytest.mark.parametrize("name", OURS)
def test_signatures_are_those_of_numpy(name: str) -> None:
    """The same names, order and defaults, but for what says where an array lies."""
    theirs = {k: p for k, p in inspect.signature(getattr(np, name)).parameters.items() if k not in SILENT}
    ours = {k: p for k, p in inspect.signature(NUMPY_FUNCTIONS[name]).parameters.items() if k not in SILENT}
    theirs = {k: p for k, p in theirs.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    ours = {k: p for k, p in ours.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    assert list(ours) == list(theirs)
    defaults = [(k, p.default, theirs[k].default) for k, p in ours.items()]
    assert [d for d in defaults if d[1] is not d[2] and d[1] != d[2] and d[0] != "dtype"] == []


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("length", "order"), [(0, 1), (1, 1), (0, 2), (2, 2)])
def test_gradient_needs_samples(length: int, order: int, known: bool) -> None:
    """Lengths that are known fail where it is written, others when it runs."""
    x = T.dvector("x", shape=(length,)) if known else T.dvector("x")
    with pytest.raises((ValueError, IndexError), match=f"{order + 1} samples" if known else "out of bounds"):
        scanopt.function([x], T.gradient(x, edge_order=order))(np.zeros(length))


def test_repeats_of_rows_of_any_number() -> None:
    """One count for all entries, where no length is known: the rule of the shape takes no time."""
    x, n = T.dmatrix("x"), T.lscalar("n")
    counts = (2, np.int64(2), np.array([2]), T.constant(2), T.constant([2]), x.shape[1], n)
    f = scanopt.function([x, n], [T.repeat(x, count, axis=0) for count in counts])
    value = np.arange(6.0).reshape(3, 2)
    for found in (*f(value, 2), *f.unoptimized(value, 2)):
        np.testing.assert_array_equal(found, np.repeat(value, 2, axis=0))


def test_one_row_repeated_is_what_numpy_repeats() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    row = T.expand_dims(x, 0)
    outs = [T.repeat(row, 3, axis=0), T.tile(row, (3, 1)), T.repeat(row, 0, axis=0), T.tile(row, (2, 2)), T.tile(x, 2)]
    value = np.array([1.0, -2.0])
    expected = [
        np.repeat(value[None], 3, 0), np.tile(value[None], (3, 1)), np.repeat(value[None], 0, 0),
        np.tile(value[None], (2, 2)), np.tile(value, 2),
    ]  # fmt: skip
    for found, wanted in zip(scanopt.function([x], outs)(value), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    f = scanopt.function([x, n], T.tile(row, (n, 1)))
    np.testing.assert_array_equal(f(value, 2), np.tile(value[None], (2, 1)))
    with pytest.raises(ValueError, match="negative"):
        f(value, -1)


TOO_LARGE = {
    "insert": (lambda x: np.insert(x, 1, 300), lambda x: np.insert(x, 1, 300)),
    "insert several": (lambda x: np.insert(x, [1, 2], [1, -1]), lambda x: np.insert(x, [1, 2], [1, -1])),
    "piecewise": (lambda x: np.piecewise(x, [x > 2], [-1, 1]), lambda x: np.piecewise(x, [x > 2], [-1, 1])),
    "dtype=": (lambda x: np.multiply(x, 300, dtype="int8"), lambda x: np.multiply(x, 300, dtype="int8")),
    "fill_diagonal": (lambda x: np.fill_diagonal(x[None].copy(), 300), lambda x: T.fill_diagonal(x[None], 300)),
    "put_along_axis": (
        lambda x: np.put_along_axis(x.copy(), np.array([1]), 256, 0),
        lambda x: T.put_along_axis(x, np.array([1]), 256, 0),
    ),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_python_integers_that_do_not_fit_are_errors(name: str) -> None:
    """As for NumPy's own arrays: they were wrapped around."""
    theirs, ours = TOO_LARGE[name]
    for f, x in ((theirs, np.arange(4, dtype="uint8")), (ours, T.tensor("uint8", (4,), "x"))):
        with pytest.raises(OverflowError, match=r"300|256|-1"):
            f(x)


def test_comparisons_with_a_dtype_take_any_number() -> None:
    x, values = T.tensor("uint8", (4,), "x"), np.arange(4, dtype="uint8")
    for f in (lambda a: np.less(a, 300, dtype=bool), lambda a: np.equal(a, -1, dtype=bool)):
        assert f(x).eval({x: values}).tolist() == f(values).tolist()
    assert np.add(x, 2**70, dtype="float64").eval({x: values}).tolist() == (values + 2.0**70).tolist()
    assert np.insert(x, [0, 2], [1.5, 2.5]).eval({x: values}).tolist() == np.insert(values, [0, 2], [1.5, 2.5]).tolist()
    with pytest.raises(OverflowError, match="300 does not fit uint8; write the number as a NumPy scalar"):
        T.full(3, 300, dtype="uint8")


def test_errors_that_numpy_would_hide_or_not_find() -> None:
    x, m = T.dvector("x"), T.dmatrix("m")
    for function in (np.roots, np.poly):
        with pytest.raises(TypeError, match=r"cannot iterate over 'x'.*length is not known"):
            function(x)
    with pytest.raises(TypeError, match=r"ufunc 'own.*' is not one of NumPy's.*'x'"):
        np.frompyfunc(own, 1, 1)(x)
    with pytest.raises(ValueError, match="a shift for each axis, found 3 shifts and 2 axes"):
        np.roll(m, (1, 2, 3), (0, 1))
    f = scanopt.function([m], np.linalg.cross(m, m[::-1]))
    for run in (f, f.unoptimized):
        with pytest.raises(ValueError, match=r"length 4, not 3"):
            run(np.ones((2, 4)))


def own(v: float) -> float:
    return v * 2
