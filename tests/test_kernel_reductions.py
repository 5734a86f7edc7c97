"""Reductions in kernels, in C and where their elements are computed: the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels import c_reductions

RNG = np.random.default_rng(3)
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-310, 1e300])


@np.errstate(over="ignore")
def numbers(shape: tuple[int, ...], dtype: str, special: float) -> Any:
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    if dtype.startswith("int"):
        return RNG.integers(-100, 100, shape).astype(dtype)
    x = RNG.normal(size=shape) * 10.0 ** RNG.integers(-3, 4, shape)
    return np.where(RNG.random(shape) < special, RNG.choice(SPECIAL, shape), x).astype(dtype)


@pytest.mark.share(4)
@pytest.mark.parametrize("special", [0.0, 0.02])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min", "mean", "var", "any", "all"])
def test_rows_of_any_length_are_put_together_as_by_numpy(op: str, special: float) -> None:
    x, y = T.dmatrix("x"), T.dmatrix("y")
    start = T.zeros_like(x[:, 0]) * 1.0
    found, _ = scanopt.scan(lambda x, s, y: s * 0.5 + getattr(T, op)(x * y, axis=1), x[None], start, y, n_steps=1)
    f = scanopt.function([x, y], found, fp="exact", backend="c")
    for n in (2, 7, 8, 9, 33, 128, 129, 300):
        exact_kernel_of_shapes(f, [numbers((5, n), "float64", special), numbers((5, n), "float64", special)])


def exact_kernel_of_shapes(f: Any, values: list[Any]) -> None:
    with np.errstate(all="ignore"):
        found, expected = f(*values), f.unoptimized(*values)
    assert "kernels compiled" in str(f.kernels[0]), f.kernels
    assert "array steps" not in str(f.kernels[0]), f.kernels
    for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b))


@pytest.mark.share(6)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_elements_are_put_together_along_any_axes(dtype: str, axes: tuple[int, ...]) -> None:
    x, y = T.tensor3("x", dtype=dtype), T.matrix("y", dtype=dtype)

    def step(s: Any, x: Any, y: Any) -> Any:
        made = x * y[:, None, :]
        total = made.sum(axis=axes)
        return (
            s
            + T.cast(total.sum() if total.ndim else total, "float64")
            + T.cast(T.all(made, axis=axes).sum(), "float64")
        )

    found, _ = scanopt.scan(step, outputs_info=T.constant(0.0, dtype="float64"), non_sequences=[x, y], n_steps=2)
    f = scanopt.function([x, y], found, fp="exact", backend="c")
    for shape in ((4, 5, 11), (2, 17, 3), (3, 1, 9)):
        given = [numbers(shape, dtype, 0.0), numbers((shape[0], shape[2]), dtype, 0.0)]
        exact_kernel_of_shapes(f, given)


def test_what_others_read_is_stored_too() -> None:
    p = T.dmatrix("p")

    def step(p: Any) -> Any:
        d = p[None, :, :] - p[:, None, :]
        far = (d * d).sum(axis=2) + 0.1
        return p + (d / far[:, :, None]).sum(axis=1)

    found, _ = scanopt.scan(step, outputs_info=p, n_steps=3)
    f = scanopt.function([p], found[-1], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.normal(size=(11, 13))])
    assert text.count("reduce_add_float64(") == 2  # defined, called


def test_the_order_of_sums_is_that_of_numpy() -> None:
    assert c_reductions.adds_in_eight_sums()


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64"])
def test_extremes_and_sums_of_integers(dtype: str) -> None:
    x = T.matrix("x", dtype=dtype)
    kinds = [g(x + 1, axis=1) for g in (T.max, T.min, T.sum, T.prod)]
    f = scanopt.function([x], [*kinds, T.maximum(*kinds[:2]), T.minimum(*kinds[:2])], fp="exact", backend="c")
    values = RNG.integers(0, 100, (6, 21)).astype(dtype)
    for found, expected in zip(f(values), f.unoptimized(values), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert "1 of 1 kernels" in str(f.kernels[0])


def test_reductions_without_a_form_in_c() -> None:
    assert c_reductions.reduction("add", "bool") is None
    assert c_reductions.reduction("bitwise_xor", "int64") is None


# Windows, parts that are set


@pytest.mark.share(2)
@pytest.mark.parametrize("k", [1, 4, 11])
@pytest.mark.parametrize("before", [0, 2])
def test_windows_of_one_length_have_a_form(k: int, before: int) -> None:
    x = T.dvector("x")
    places, zero = T.arange(before, x.shape[0] - k), T.constant(0.0, dtype="float64")
    found, _ = scanopt.scan(lambda i, s, x: 0.5 * s + T.sum(x[i - before : i + k] ** 2), places, zero, x)
    f = scanopt.function([x], found, fp="exact", backend="c")
    assert "x" in exact_kernel(f, [numbers((40,), "float64", 0.1)])


def test_windows_whose_length_is_an_argument() -> None:
    x, k = T.dvector("x"), T.lscalar("k")
    found, _ = scanopt.scan(lambda i, s, x, k: s + T.max(x[i : k + i]), T.arange(x.shape[0] - k),
                            T.constant(0.0, dtype="float64"), [x, k])  # fmt: skip
    f = scanopt.function([x, k], found, fp="exact", backend="c")
    for n in (2, 3, 17):
        exact_kernel_of_shapes(f, [numbers((40,), "float64", 0.0), n])


def test_windows_that_are_cut_off_are_left_to_array_steps() -> None:
    x = T.dvector("x")
    found, _ = scanopt.scan(lambda i, x: T.sum(x[i : i + 4]), T.arange(x.shape[0]), non_sequences=x)
    f = scanopt.function([x], found, fp="exact", backend="c")
    for n in (9, 20):
        values = RNG.normal(size=n)
        np.testing.assert_array_equal(f(values), f.unoptimized(values))


PARTS = {
    "inside": (slice(1, -1), slice(2, -1)), "rows": (slice(2, None), slice(None)), "a column": (slice(None), 1),
    "a row": (-1, slice(None)), "an element": (2, 3), "every other": (slice(None), slice(None, None, 2)),
    "backwards": (slice(None), slice(None, None, -1)), "a corner": (slice(None, 2), slice(-2, None)),
}  # fmt: skip


@pytest.mark.share(6)
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("added", [False, True])
def test_parts_are_set_where_they_lie_and_the_rest_is_copied(part: Any, added: bool) -> None:
    u = T.dmatrix("u")
    put = T.inc_subtensor if added else T.set_subtensor

    for whole in (False, True):
        found, _ = scanopt.scan(lambda u: put(u[part], u[part] * 0.5 - 0.1 * u[0, 0]), outputs_info=u, n_steps=3)
        f = scanopt.function([u], found if whole else found[-1], fp="exact", backend="c")
        exact_kernel_of_shapes(f, [numbers((6, 7), "float64", 0.1)])


def test_a_stencil_is_one_loop() -> None:
    u = T.dvector("u")

    def step(u: Any) -> Any:
        return T.set_subtensor(u[1:-1], u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]))

    found, _ = scanopt.scan(step, outputs_info=u, n_steps=5)
    text = exact_kernel(scanopt.function([u], found[-1], fp="exact", backend="c"), [numbers((20,), "float64", 0.0)])
    step = text[text.index("while (t", text.index("while (t") + 1) :]
    step = step[: step.index("++;\n        }\n        ANY")]
    assert step.count("for (") == 3  # what lies before, behind, the part


@pytest.mark.share(6)
@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize(
    "options", [{}, {"axis": 1}, {"axis": 0, "ddof": 1}, {"axis": (0, 1), "ddof": 30, "keepdims": True}]
)
def test_spreads(name: str, options: dict[str, Any]) -> None:
    for dtype in ("float64", "float32"):
        x = T.matrix("x", dtype=dtype)
        one = T.ones((), dtype=dtype)

        def step(s: Any, x: Any) -> Any:
            return s + T.sum(getattr(T, name)(x * s, **options))

        found, _ = scanopt.scan(step, outputs_info=one, non_sequences=x, n_steps=3)
        f = scanopt.function([x], found, fp="exact", backend="c")
        exact_kernel_of_shapes(f, [numbers((5, 11), dtype, 0.02)])


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("options", [{}, {"axis": 1, "ddof": 1}, {"axis": 0, "keepdims": True}])
def test_spreads_of_integers(options: dict[str, Any], dtype: str) -> None:
    """As NumPy's, which adds integers up as floats; where that rounds, array steps run."""
    x, n = T.tensor(dtype, (None, None), name="x"), T.lscalar("n")
    found, _ = scanopt.scan(lambda i, x: T.std(x[i : i + 6], **options).sum(), T.arange(n), non_sequences=x)
    f = scanopt.function([x, n], found, fp="exact", backend="c")
    given = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 99, (12, 7)).astype(dtype)
    exact_kernel(f, [given, 5])
    if dtype == "int64":
        for large in (given << 40, given - (1 << 62)):
            np.testing.assert_array_equal(f(large, 5), f.unoptimized(large, 5))
