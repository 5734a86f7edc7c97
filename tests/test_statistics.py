"""Statistics, sorting, searching, counting and sets: each against NumPy, optimized, interpreted and in steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from against_numpy import check

import scanopt
from scanopt import tensor as T
from scanopt.array.statistics.quantiles import METHODS

RNG = np.random.default_rng(5)
FLOATS = np.array([[3.0, -1.0, 2.5, 2.5], [0.0, 7.0, -1.0, 4.0], [2.5, 2.5, 0.5, -3.0]])
HOLES = np.where(np.eye(3, 4) > 0, np.nan, FLOATS)
INTS = np.array([[3, 1, 2, 2], [0, 7, 1, 4], [2, 2, 5, 3]])
BOOLS = INTS > 2
Z = FLOATS + 1j * FLOATS[::-1]
F32 = FLOATS.astype("float32")
VALUES = {"float64": FLOATS, "float32": F32, "int64": INTS, "bool": BOOLS, "complex128": Z, "holes": HOLES}
LINE = np.array([-1.0, 0.0, 2.5, 4.0])


class Use(NamedTuple):
    """A call `of(np, x)`; on: which of VALUES it takes; in_steps: whether rows of it can be the x of a step."""

    of: Callable[[Any, Any], Any]
    on: str = "float64 float32 int64"
    in_steps: bool = True


REAL = "float64 float32 int64"
ALL = "float64 float32 int64 bool complex128 holes"
USES: dict[str, Use] = {
    "searchsorted": Use(lambda np_, x: np_.searchsorted(LINE, x)),
    "searchsorted right": Use(lambda np_, x: np_.searchsorted(LINE, x, side="right")),
    "searchsorted in x": Use(lambda np_, x: np_.searchsorted(np_.sort(np_.ravel(x)), [0.0, 2.5, 9.0])),
    "digitize": Use(lambda np_, x: np_.digitize(x, LINE)),
    "digitize right": Use(lambda np_, x: np_.digitize(x, LINE, right=True)),
    "digitize down": Use(lambda np_, x: np_.digitize(x, LINE[::-1].copy())),
    "bincount": Use(lambda np_, x: np_.bincount(np_.ravel(x)), "int64", False),
    "bincount of minlength": Use(lambda np_, x: np_.bincount(np_.ravel(x), minlength=12), "int64", False),
    "bincount of weights": Use(lambda np_, x: np_.bincount(np_.ravel(x), np_.ravel(x) / 2), "int64", False),
    "histogram": Use(lambda np_, x: np_.histogram(x, 4), REAL),
    "histogram of edges": Use(lambda np_, x: np_.histogram(x, [-1.0, 0.0, 2.5, 7.0]), REAL + " holes"),
    "histogram in a range": Use(lambda np_, x: np_.histogram(x, 3, (0, 3)), REAL),
    "histogram density": Use(lambda np_, x: np_.histogram(x, 3, (0, 3), density=True), "float64 int64"),
    "histogram of weights": Use(lambda np_, x: np_.histogram(x, 3, (-4, 8), weights=x * 2), "float64 int64"),
    "histogram_bin_edges": Use(lambda np_, x: np_.histogram_bin_edges(x, 5), REAL),
    "median": Use(lambda np_, x: np_.median(x), REAL + " holes"),
    "median along": Use(lambda np_, x: np_.median(x, axis=-1, keepdims=True), REAL + " holes"),
    "percentile": Use(lambda np_, x: np_.percentile(x, [0, 30, 100], axis=-1), REAL + " holes"),
    "nanmedian": Use(lambda np_, x: np_.nanmedian(x), REAL + " holes"),
    "nanmedian along": Use(lambda np_, x: np_.nanmedian(x, axis=-1, keepdims=True), REAL + " holes"),
    "nanpercentile": Use(lambda np_, x: np_.nanpercentile(x, [0, 30, 100], axis=-1), REAL + " holes"),
    "nanquantile": Use(lambda np_, x: np_.nanquantile(x, 0.4, axis=0, keepdims=True), REAL + " holes"),
    "average": Use(lambda np_, x: np_.average(x, axis=-1), "float64 float32 int64 bool complex128"),
    "average of weights": Use(lambda np_, x: np_.average(x, axis=-1, weights=[1.0, 2.0, 0.5, 1.0]), REAL),
    "average of its own weights": Use(lambda np_, x: np_.average(x, weights=x * x, returned=True), REAL),
    "cov": Use(lambda np_, x: np_.cov(x), REAL + " complex128"),
    "cov of columns": Use(lambda np_, x: np_.cov(x, rowvar=False, ddof=0), REAL),
    "cov with weights": Use(lambda np_, x: np_.cov(x, fweights=[1, 2, 1, 3], aweights=[0.5, 1, 2, 1]), REAL),
    "cov of two": Use(lambda np_, x: np_.cov(x, x * 2, bias=True), REAL),
    "corrcoef": Use(lambda np_, x: np_.corrcoef(x), REAL + " complex128"),
    "nansum": Use(lambda np_, x: np_.nansum(x, axis=0), ALL),
    "nanprod": Use(lambda np_, x: np_.nanprod(x), ALL),
    "nanmean": Use(lambda np_, x: np_.nanmean(x, axis=0, keepdims=True), ALL),
    "nanvar": Use(lambda np_, x: np_.nanvar(x, axis=0), "float64 float32 int64 complex128 holes"),
    "nanstd": Use(lambda np_, x: np_.nanstd(x, ddof=1), "float64 float32 int64 complex128 holes"),
    "nanmax": Use(lambda np_, x: np_.nanmax(x, axis=0), REAL + " bool holes"),
    "nanmin": Use(lambda np_, x: np_.nanmin(x, keepdims=True), REAL + " bool holes"),
    "nanargmax": Use(lambda np_, x: np_.nanargmax(x, axis=0), REAL + " holes"),
    "nanargmin": Use(lambda np_, x: np_.nanargmin(x), REAL + " holes"),
    "nancumsum": Use(lambda np_, x: np_.nancumsum(x, axis=0), ALL),
    "nancumprod": Use(lambda np_, x: np_.nancumprod(x), REAL + " holes"),
    "count_nonzero": Use(lambda np_, x: np_.count_nonzero(x, axis=0, keepdims=True), ALL),
    "nonzero": Use(lambda np_, x: np_.nonzero(x > 0), REAL, False),
    "flatnonzero": Use(lambda np_, x: np_.flatnonzero(x), ALL, False),
    "argwhere": Use(lambda np_, x: np_.argwhere(x), ALL, False),
    "extract": Use(lambda np_, x: np_.extract(x > 1, x), REAL, False),
    "compress": Use(lambda np_, x: np_.compress([True, False, True], x, axis=-1), ALL),
    "trim_zeros": Use(lambda np_, x: np_.trim_zeros(np_.ravel(x) * np_.ravel(x > 1)), REAL, False),
    "unique": Use(lambda np_, x: np_.unique(x), ALL, False),
    "unique and all": Use(lambda np_, x: np_.unique(x, True, True, True), ALL, False),
    "unique_values": Use(lambda np_, x: np_.sort(np_.unique_values(x)), REAL + " holes", False),
    "unique_counts": Use(lambda np_, x: np_.unique_counts(x), REAL + " holes", False),
    "unique_inverse": Use(lambda np_, x: np_.unique_inverse(x), REAL, False),
    "unique_all": Use(lambda np_, x: np_.unique_all(x), REAL, False),
    "isin": Use(lambda np_, x: np_.isin(x, [2.5, 0.0, np.nan]), ALL),
    "isin not": Use(lambda np_, x: np_.isin(x, [], invert=True), REAL),
    "intersect1d": Use(lambda np_, x: np_.intersect1d(x, [2.5, 9.0, 7.0]), REAL, False),
    "intersect1d places": Use(lambda np_, x: np_.intersect1d(x, [7, 2, 9, 2], return_indices=True), REAL, False),
    "union1d": Use(lambda np_, x: np_.union1d(x, [2.5, 9.0, 7.0]), REAL, False),
    "setdiff1d": Use(lambda np_, x: np_.setdiff1d(x, [2.5, 9.0, 7.0]), REAL, False),
    "setxor1d": Use(lambda np_, x: np_.setxor1d(x, [2.5, 9.0, 7.0]), REAL, False),
    "partition": Use(lambda np_, x: np_.partition(x, 2, axis=-1)[..., 2], REAL),
    "argpartition": Use(lambda np_, x: np_.take_along_axis(x, np_.argpartition(x, 1, axis=-1), -1)[..., 1], REAL),
    "lexsort": Use(lambda np_, x: np_.lexsort((x[..., ::-1], x > 2), axis=-1), REAL),
    "sort_complex": Use(lambda np_, x: np_.sort_complex(x), REAL + " complex128"),
}
for _method in METHODS:
    USES[f"quantile {_method}"] = Use(
        lambda np_, x, m=_method: np_.quantile(x, [0.0, 0.1, 0.5, 0.85, 1.0], axis=0, method=m), REAL + " holes"
    )


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


def same(got: list[Any], want: list[Any]) -> None:
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        b = np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        single = b.dtype in (np.float32, np.complex64)
        np.testing.assert_allclose(a, b, rtol=1e-5 if single else 1e-12, atol=1e-6 if single else 1e-13)


def numpys(of: Callable[[Any, Any], Any], x: Any) -> list[Any]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return flat(of(np, x))


CASES = [(name, on) for name, use in USES.items() for on in use.on.split()]


@pytest.mark.share(5)
@pytest.mark.parametrize(("name", "on"), CASES, ids=[f"{name}-{on}" for name, on in CASES])
def test_as_numpy(name: str, on: str) -> None:
    use, value = USES[name], VALUES[on]
    x = T.tensor(value.dtype.name, shape=(None,) * value.ndim, name="x")
    results = flat(use.of(np, x))
    assert len(results) == len(flat(use.of(T, x)))  # by the protocols and by name
    f = scanopt.function([x], results)
    for run in (f, f.unoptimized):
        same(run(value), numpys(use.of, value))


@pytest.mark.share(6)
@pytest.mark.parametrize("name", [name for name, use in USES.items() if use.in_steps])
def test_in_a_step(name: str) -> None:
    """The x of a step is a matrix: the same at all steps at once as at each."""
    use = USES[name]
    value = np.stack([VALUES[use.on.split()[0]]] * 2)
    value[1] = value[1][::-1]
    x = T.tensor(value.dtype.name, shape=(None, 3, 4), name="x")
    results = scanopt.scan(lambda v: flat(use.of(np, v)), sequences=x, return_list=True)[0]
    f = scanopt.function([x], results)
    wanted = [np.stack(rows) for rows in zip(*(numpys(use.of, v) for v in value), strict=True)]
    for run in (f, f.unoptimized):
        same(run(value), wanted)
        assert [len(v) for v in run(value[:0])] == [0] * len(wanted)


SMOOTH = {
    "median": lambda x: T.median(x, axis=0),
    "quantile": lambda x: T.quantile(x, [0.2, 0.9], axis=1),
    "percentile of all": lambda x: T.percentile(x, 35.0),
    "nanmedian": lambda x: T.nanmedian(x, axis=1),
    "nanquantile": lambda x: T.nanquantile(x, 0.3, axis=0),
    "nanmean": lambda x: T.nanmean(x, axis=0),
    "nanvar": lambda x: T.nanvar(x, axis=0),
    "nanstd": lambda x: T.nanstd(x),
    "nanmax": lambda x: T.nanmax(x, axis=0),
    "nanprod": lambda x: T.nanprod(x, axis=0),
    "average": lambda x: T.average(x, weights=x * x + 1),
    "cov": lambda x: T.cov(x),
    "corrcoef": lambda x: T.corrcoef(x),
    "bincount": lambda x: T.bincount([0, 2, 2, 1], weights=x[0]),
    "histogram of weights": lambda x: T.histogram(T.constant(LINE), 3, weights=x[0])[0],
    "compress": lambda x: T.compress([True, False, True], x, axis=0),
    "extract": lambda x: T.extract(x > 0, x),
    "unique": lambda x: T.unique(x),
    "partition": lambda x: T.partition(x, 1, axis=0)[1],
}


@pytest.mark.share(6)
@pytest.mark.parametrize("f", SMOOTH.values(), ids=SMOOTH)
def test_gradients(f: Callable[[Any], Any]) -> None:
    value = RNG.normal(size=(3, 4))
    T.verify_grad(lambda x: T.sum(f(x) * T.arange(f(x).size).reshape(f(x).shape, ndim=f(x).ndim)), [value])


@pytest.mark.parametrize("name", ["median", "nanmedian", "nansum", "nanmean", "unique", "histogram", "isin", "nonzero"])
def test_of_no_elements(name: str) -> None:
    use = {"isin": lambda np_, x: np_.isin(x, x)}.get(name, lambda np_, x: getattr(np_, name)(x))
    x = T.dvector("x")
    f = scanopt.function([x], flat(use(T, x)))
    same(f(np.zeros(0)), numpys(use, np.zeros(0)))


def test_where_of_a_condition_alone() -> None:
    x = T.dmatrix("x")
    f = scanopt.function([x], [*T.where(x > 1), *np.where(x > 1)])
    same(f(FLOATS), [*np.where(FLOATS > 1)] * 2)


ERRORS = [
    (lambda x: T.searchsorted(x, 1.0), ValueError, r"searchsorted needs 1 axis, found 'x' float64\[\?, \?\]"),
    (lambda x: T.searchsorted(x[0], 1.0, side="middle"), ValueError, "'left' or 'right'.*'middle'"),
    (lambda x: T.bincount(x[0]), TypeError, r"counts integers.*float64\[\?\]"),
    (lambda x: T.bincount([1], minlength=-1), ValueError, "minlength.*-1"),
    (lambda x: T.quantile(x, 1.5), ValueError, "from 0 to 1.*1.5"),
    (lambda x: T.percentile(x, 101), ValueError, "from 0 to 100"),
    (lambda x: T.quantile(x, 0.5, method="best"), ValueError, "inverted_cdf.*'best'"),
    (lambda x: T.quantile(x * 1j, 0.5), TypeError, "complex numbers have no order"),
    (lambda x: T.quantile(x, 0.5, weights=x), ValueError, "'inverted_cdf' takes weights.*'linear'"),
    (lambda x: T.average(x, weights=[1.0]), ValueError, "of the shape of 'x'"),
    (lambda x: T.histogram(x, "auto"), TypeError, "'auto'.*looks at values"),
    (lambda x: T.histogram(x, 0), ValueError, "positive number, found 0"),
    (lambda x: T.unique(x, axis=3), ValueError, "axis 3"),
    (lambda x: T.partition(x, 0.5), TypeError, "kth must be an integer.*0.5"),
    (lambda x: T.partition(T.zeros(3), 3), ValueError, "kth=3 is out of bounds"),
    (lambda x: T.cov(T.dtensor3("t")), ValueError, "cov needs 0 to 2 axes, found 't'"),
    (lambda x: T.nonzero(x[0, 0]), ValueError, "at least 1 axis"),
    (lambda x: T.trim_zeros(x[0], "x"), ValueError, "made of 'f'"),
    (lambda x: np.median(x, out=np.zeros(())), TypeError, "out"),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors(i: int) -> None:
    make, error, text = ERRORS[i]
    with pytest.raises(error, match=text):
        make(T.dmatrix("x"))


def test_errors_when_run() -> None:
    x, k = T.dvector("x"), T.lvector("k")
    with pytest.raises(ValueError, match="All-NaN"):
        scanopt.function([x], T.nanargmax(x))([np.nan])
    with pytest.raises(ValueError, match="monoton"):
        scanopt.function([x], T.digitize(1.0, x))([0.0, 2.0, 1.0])
    with pytest.raises(ValueError, match="negative"):
        scanopt.function([k], T.bincount(k))([-1])


UNFIT = [
    lambda x, y: np.searchsorted(x, 1.0, sorter=y.astype("int64")),
    lambda x, y: np.cov(x, aweights=y),
    lambda x, y: np.cov(x, fweights=y.astype("int64")),
    lambda x, y: np.histogram(x, bins=2, range=(0, 1), weights=y),
    lambda x, y: np.histogram2d(x, y),
    lambda x, y: np.histogram2d(x, x, weights=y),
    lambda x, y: np.lexsort((x, y)),
    lambda x, y: np.average(x, weights=y),
    lambda x, y: np.average(x[None], axis=1, weights=y),
    lambda x, y: np.interp(0.5, x, y),
    lambda x, y: np.polyfit(x, x, 1, w=y),
]


@pytest.mark.parametrize("i", range(len(UNFIT)))
def test_arrays_that_belong_together_have_one_length(i: int) -> None:
    """A length 1 is not repeated, and of a longer array no part is taken: NumPy refuses both."""
    x, y = T.dvectors("x", "y")
    results = UNFIT[i](x, y)
    f = scanopt.function([x, y], list(results) if isinstance(results, tuple) else results)
    f([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    for n in (1, 2, 5):
        for run in (f, f.unoptimized):
            with pytest.raises((ValueError, TypeError, RuntimeError)):
                UNFIT[i](np.arange(3.0), np.ones(n))
            with pytest.raises(ValueError, match=f"length {n}, not 3|length 3, not {n}"):
                run(np.arange(3.0), np.ones(n))


def test_values_that_numpy_refuses_are_refused_when_run() -> None:
    x, q = T.dvectors("x", "q")
    for value in (-1.0, 120.0, np.nan):
        for function, most in ((np.percentile, 100), (np.nanquantile, 1)):
            with pytest.raises(scanopt.CheckError, match=f"from 0 to {most}"):
                scanopt.function([x, q], function(x, q))([1.0, 2.0], [value])
    same([scanopt.function([x, q], np.percentile(x, q))([1.0, 2.0], [25.0])], [np.percentile([1.0, 2.0], [25.0])])
    with pytest.raises(scanopt.CheckError, match="must not decrease"):
        scanopt.function([x, q], np.histogram(x, bins=q))([1.0, 2.0], [3.0, 1.0])


def test_weights_of_nothing_add_up_to_float_zeros() -> None:
    k, w = T.lvector("k"), T.dvector("w")
    f = scanopt.function([k, w], T.bincount(k, w, minlength=3))
    for run in (f, f.unoptimized):
        same([run(np.zeros(0, "int64"), [])], [np.zeros(3)])


REDUCED = ["sum", "prod", "max", "min", "any", "all", "ptp", "nansum", "nanprod", "nanmax", "nanmin"]


@pytest.mark.parametrize("name", REDUCED)
def test_a_scalar_is_reduced_along_axis_0_as_numpys_ufuncs_do(name: str) -> None:
    reduced = getattr(np, name)
    for axis in (0, -1):
        check(lambda v, axis=axis: [reduced(v, axis=axis), reduced(v, axis=axis, keepdims=True)], np.float64(2.5))  # type: ignore[misc]
    for axis in (1, (0,), -2):
        with pytest.raises(ValueError, match=r"axis -?[0-9] of 'a' float64\[\], which has 0 axes"):
            reduced(T.dscalar("a"), axis=axis)


EACH = {"float64": [-0.0, np.inf], "float16": [np.nan], "int8": [-3], "bool": [True], "complex64": [complex(-0.0, 2)]}


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "any", "all", "var"])
def test_a_reduction_over_no_axis_is_of_each_element(name: str) -> None:
    """It is no reduction in the program either, so that a loss that is summed once more costs nothing."""
    found, expected = [], []
    for dtype, values in EACH.items():
        for value in (np.array(values, dtype), *np.array(values, dtype)):
            found.append(getattr(T, name)(T.constant(value), axis=()))
            with np.errstate(all="ignore"):
                expected.append(getattr(np, name)(value, axis=()))
    results = scanopt.function([], found, mode="unoptimized")()
    assert [(x.dtype, x.tobytes()) for x in results] == [(x.dtype, x.tobytes()) for x in expected]
    assert name == "var" or all(x.owner is None or x.owner.op.name != name for x in found[:2])
