"""Complex numbers in kernels: with the bits of array steps and of the interpreter."""

import warnings
from typing import Any

import numpy as np
import pytest
from random_kernels import RandomLoop
from shares import tries
from test_kernels import assert_same, bits, compare

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels import complex_operations
from scanopt.backends.kernels.body import body_of
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.nodes import NoForm
from scanopt.program.ir import Loop
from scanopt.program.names import Names

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
RNG = np.random.default_rng(8)
DTYPES = ("complex128", "complex64", "float64", "complex128", "int64", "complex64", "float32", "bool", "complex128")


def test_random_loops() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [RandomLoop(seed, DTYPES) for seed in range(2 * tries(24))]
        ran = [compare(m.program(), m.values) for m in made]
    assert sum(ran) > len(ran) / 3


def numbers(*shape: int, dtype: str = "complex128") -> Any:
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def map_of_plane() -> tuple[list[Any], Any, list[Any]]:
    c = T.zmatrix("c")

    def step(z: Any, k: Any, c: Any) -> list[Any]:
        inside = abs(z) <= 2
        return [T.switch(inside, z * z + c, z), k + inside]

    (_, k), _ = scanopt.scan(step, outputs_info=[T.zeros_like(c), T.zeros_like(c, "int64")], non_sequences=c, n_steps=9)
    return [c], k[-1], [numbers(5, 4)]


def phasor() -> tuple[list[Any], Any, list[Any]]:
    x, w = T.dvector("x"), T.zscalar("w")
    s, _ = scanopt.scan(lambda x, s, w: s * w + x, x, T.constant(0j), non_sequences=w)
    return [x, w], [s, abs(s[-1])], [RNG.normal(size=20), np.exp(0.3j)]


def wave() -> tuple[list[Any], Any, list[Any]]:
    p, v = T.zvector("p"), T.dvector("v")

    def step(p: Any, v: Any) -> Any:
        around = T.concatenate([p[1:], p[:1]]) + T.concatenate([p[-1:], p[:-1]]) - 2 * p
        return p - 1j * 0.01 * (v * p - 0.5 * around)

    found, _ = scanopt.scan(step, outputs_info=p, non_sequences=v, n_steps=7)
    return [p, v], [found, (abs(found) ** 2).sum(axis=1)], [numbers(6), RNG.normal(size=6)]


def rotation() -> tuple[list[Any], Any, list[Any]]:
    u, p = T.matrix("u", "complex64"), T.vector("p", "complex64")
    found, _ = scanopt.scan(lambda p, u: T.dot(u, p), outputs_info=p, non_sequences=u, n_steps=5)
    return (
        [u, p],
        [found.real, found.imag, T.conj(found[::-1])],
        [numbers(4, 4, dtype="complex64"), numbers(4, dtype="complex64")],
    )


def newton() -> tuple[list[Any], Any, list[Any]]:
    z, n = T.zvector("z"), T.lscalar("n")
    found, _ = scanopt.scan(lambda z: z - (z**3 - 1) / (3 * z**2), outputs_info=z, n_steps=n)
    return [z, n], found, [numbers(8), 6]


def until() -> tuple[list[Any], Any, list[Any]]:
    z = T.zscalar("z")
    found, _ = scanopt.scan(lambda z: (z * z + z, scanopt.until(abs(z) > 2)), outputs_info=z, n_steps=50)
    return [z], found, [0.3 + 0.4j]


@pytest.mark.parametrize("example", [map_of_plane, phasor, wave, rotation, newton, until])
def test_everyday_loops(example: Any) -> None:
    inputs, outputs, values = example()
    for fp in ("exact", "reassoc"):
        f, g = (scanopt.function(inputs, outputs, fp=fp, backend=b) for b in ("c", "numpy"))
        for _ in range(2):
            found, expected = (h(*values) for h in (f, g))
            assert_same(*([x] if not isinstance(x, list) else x for x in (found, expected)))
        assert any("kernels compiled" in k.state for k in f.kernels), f.kernels
        if fp == "exact":
            np.testing.assert_array_equal(
                *(bits(x[0] if isinstance(x, list) else x) for x in (found, f.unoptimized(*values)))
            )


def test_gradients_of_the_parts() -> None:
    inputs, outputs, values = wave()
    cost = (outputs[1] ** 2).sum()
    found = scanopt.function(inputs, T.grad(cost, inputs[1]), backend="c")
    np.testing.assert_allclose(found(*values), found.unoptimized(*values), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_what_a_trial_does_not_confirm_is_left_to_the_inner_loop(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = T.vector("x", dtype), T.matrix("y", dtype)
    found, _ = scanopt.scan(lambda y, x: x * y / (x - y), sequences=y, outputs_info=x)
    given = [numbers(5, dtype=dtype), numbers(6, 5, dtype=dtype)]
    texts = []
    for known in (True, False):
        if not known:
            monkeypatch.setattr("scanopt.backends.kernels.forms.is_known", lambda op, dtype: op in ("add", "subtract"))
        f = scanopt.function([x, y], found, fp="exact", backend="c")
        np.testing.assert_array_equal(bits(f(*given)), bits(f.unoptimized(*given)))
        texts.append(str(f.kernels[0]))
    assert "1 of 1 kernels" in texts[1]
    assert texts[1].count("inner *)F") >= 2


def test_a_formula_with_other_bits_is_none() -> None:
    assert not complex_operations._agrees("multiply", "complex128", lambda a, b: a * b * (1 + 0j))


def test_there_are_none_for_devices() -> None:
    inputs, outputs, _ = phasor()
    program = scanopt.function(inputs, outputs, fp="exact").program
    (loop,) = (s for s in program.steps if isinstance(s, Loop))
    with pytest.raises(NoForm, match="complex"):
        body_of(loop, Names(program).types, exact=True, device=True)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sums_products_and_averages(dtype: str) -> None:
    x = T.tensor4("x", dtype=dtype)
    step = lambda x: [f(x, axis=axis) for f in (T.sum, T.prod, T.mean) for axis in (0, -1, None)]  # noqa: E731
    found, _ = scanopt.scan(step, sequences=x)
    f = scanopt.function([x], found, fp="exact", backend="c")
    for shape in ((2, 3, 4, 5), (2, 9, 1, 130)):
        values = numbers(*shape, dtype=dtype)
        assert_same(f(values), f.unoptimized(values))
    assert any("kernels compiled" in k.state for k in f.kernels), f.kernels


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_are_not_contracted_where_numpy_rounds_both(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As NumPy without FMA does on a processor that has it."""
    monkeypatch.setattr(complex_operations, "_fused", lambda op, dtype: False)
    x = T.tensor3("x", dtype=dtype)
    f = scanopt.function([x], scanopt.scan(lambda x: T.prod(x, axis=0), x)[0], fp="exact", backend="c")
    values = numbers(2, 3, 40, dtype=dtype)
    product = complex_operations._plain_product
    for found, (a, b, c) in zip(f(values), values, strict=True):
        np.testing.assert_array_equal(found, product(product(a, b), c))
    assert any("kernels compiled" in k.state for k in f.kernels), f.kernels


def test_vectors_of_one_number_are_left_to_np_dot() -> None:
    x, y = T.matrix("x", "complex64"), T.vector("y", "complex64")
    found, _ = scanopt.scan(lambda x, y: T.dot(x, y), sequences=x, non_sequences=y)
    f = scanopt.function([x, y], found, fp="exact", backend="c")
    for n in (1, 3):
        values = [numbers(4, n, dtype="complex64") for _ in range(2)]
        values[0][0], values[1][0] = 3.0 - 0.0j, 3.0 - 0.0j
        assert_same([f(values[0], values[1][0])], [f.unoptimized(values[0], values[1][0])])
