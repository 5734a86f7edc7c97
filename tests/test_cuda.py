"""Loops as CUDA kernels, without a device: their text run by a shim on the CPU, and compiled by NVRTC where it is.

2,000 random programs were compared with the interpreter once (see docs/gpu.md); here are others.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from nvrtc import ARCHITECTURES, compiled, missing
from random_programs import build, generate
from strict_device import StrictArray, StrictDevice

import scanopt
import scanopt.tensor as T
from scanopt.backends.compiled import Compiled, compile_steps
from scanopt.backends.cupy import CuPy, RawModules
from scanopt.backends.kernels.device_loops import DeviceChoice, DeviceLoop
from scanopt.backends.kernels.device_plans import DeviceLimits, DeviceVariant
from scanopt.backends.numpy import bind

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim"),
    pytest.mark.usefixtures("device_kernels_pay"),
]
RANDOM = (5, *range(2000, 2030))  # 5: a short step that hands states on
Program = tuple[list[Any], list[Any], list[Any]]


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Shim:
    return Shim(tmp_path_factory.mktemp("cuda"), threads=32)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def logistic_map() -> Program:
    x, r, n = T.dvector("x"), T.dscalar("r"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s: r * s * (1 - s), outputs_info=x, n_steps=n)
    return [x, r, n], [ys, ys[-1]], [rng().random(300), 3.7, 20]


def matrix_of_lanes() -> Program:
    X, h0, a = T.ftensor3("X"), T.fmatrix("h0"), T.fvector("a")
    h, _ = scanopt.scan(lambda x, h: T.tanh(a * h + x[::1]), X, h0)
    return [X, h0, a], [h], [rng().normal(size=s).astype("f4") for s in ((7, 3, 5), (3, 5), (5,))]


def far_back() -> Program:
    X, h0 = T.dmatrix("X"), T.dmatrix("h0")
    h, _ = scanopt.scan(lambda x, a, b: a * 0.5 - b * 0.25 + x, X, [dict(initial=h0, taps=[-1, -12])])
    return [X, h0], [h, h[-3:]], [rng().normal(size=(20, 4)), rng().normal(size=(12, 4))]


def until_scalar() -> Program:
    x = T.dvector("x")
    n = T.lscalar("n")
    step = lambda s, k: ([s * 0.5, k + 1], scanopt.until(k > 5))  # noqa: E731
    (s, k), _ = scanopt.scan(step, outputs_info=[x, T.zeros((), "int64")], n_steps=n)
    return [x, n], [s, k[-1]], [rng().random(40), 50]


def branches() -> Program:
    X, h0 = T.dmatrix("X"), T.dvector("h0")
    step = lambda x, t, h: T.ifelse(T.equal(t % 2, 0), T.exp(-h) + x, h // 0.3)  # noqa: E731
    h, _ = scanopt.scan(step, [X, T.arange(X.shape[0])], h0)
    return [X, h0], [h], [rng().random((9, 6)), rng().random(6)]


def _sizes(n: int = 6, batch: int = 3, inputs: int = 4, units: int = 5) -> tuple[int, int, int, int]:
    return n, batch, inputs, units


def rnn(batch: bool, gradient: bool) -> Callable[[], Program]:
    def make() -> Program:
        n, rows, k, m = _sizes()
        X, h0 = (T.dtensor3("X"), T.dmatrix("h0")) if batch else (T.dmatrix("X"), T.dvector("h0"))
        W, U, b = T.dmatrix("W"), T.dmatrix("U"), T.dvector("b")
        h, _ = scanopt.scan(lambda x, h: T.tanh(T.dot(x, U) + T.dot(h, W) + b), X, h0)
        outs = T.grad((h**2).sum(), [W, U, h0]) if gradient else [h, h[-1]]
        shapes = [(n, rows, k) if batch else (n, k), (m, m), (k, m), (rows, m) if batch else (m,), (m,)]
        return [X, W, U, h0, b], outs, [rng().normal(size=s) / 2 for s in shapes]

    return make


def lstm(gradient: bool) -> Callable[[], Program]:
    def make() -> Program:
        n, rows, k, m = _sizes()
        X, h0, c0, W, U = T.dtensor3("X"), T.dmatrix("h0"), T.dmatrix("c0"), T.dmatrix("W"), T.dmatrix("U")

        def step(x: Any, h: Any, c: Any) -> Any:
            z = T.dot(x, U) + T.dot(h, W)
            i, f, o, g = (z[:, j * m : (j + 1) * m] for j in range(4))
            c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
            return T.sigmoid(o) * T.tanh(c), c

        (h, c), _ = scanopt.scan(step, X, [h0, c0])
        outs = T.grad((h**2).sum() + c[-1].sum(), [W, U, h0, c0]) if gradient else [h, c[-1]]
        shapes = [(n, rows, k), (rows, m), (rows, m), (m, 4 * m), (k, 4 * m)]
        return [X, h0, c0, W, U], outs, [rng().normal(size=s) / 2 for s in shapes]

    return make


def gru() -> Program:
    n, rows, k, m = _sizes()
    X, h0, W, U, V = T.ftensor3("X"), T.fmatrix("h0"), T.fmatrix("W"), T.fmatrix("U"), T.fmatrix("V")

    def step(x: Any, h: Any) -> Any:
        z = T.sigmoid(T.dot(x, U) + T.dot(h, W))
        return (1 - z) * h + z * T.tanh(T.dot(z * h, V))

    h, _ = scanopt.scan(step, X, h0)
    shapes = [(n, rows, k), (rows, m), (m, m), (k, m), (m, m)]
    return [X, h0, W, U, V], [h], [(rng().normal(size=s) / 2).astype("f4") for s in shapes]


def reductions() -> Program:
    X, h0 = T.dtensor3("X"), T.dmatrix("h0")

    def step(x: Any, h: Any) -> Any:
        e = T.exp(h + x - (h + x).max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True) + T.cumsum(h, axis=1).mean(axis=1, keepdims=True)

    h, _ = scanopt.scan(step, X, h0)
    return [X, h0], [h], [rng().normal(size=(5, 2, 40)), rng().normal(size=(2, 40))]


def rows_by_index() -> Program:
    """The index is a state."""
    E, J, h0, k0 = T.dmatrix("E"), T.lmatrix("J"), T.dmatrix("h0"), T.lvector("k0")
    (h, _), _ = scanopt.scan(lambda j, h, k: (T.tanh(E[k] + h), k * 2 - j + T.cast(h[:, 0] > 9, "int64")), J, [h0, k0])
    values = [rng().normal(size=(9, 4)), np.full((6, 3), 3), rng().normal(size=(3, 4)), np.full(3, 3)]
    return [E, J, h0, k0], [h], values


def gibbs_chains() -> Program:
    """Two variables that depend on each other, drawn in turn until the chains are far out."""
    x0, seed, n = T.dvector("x0"), T.lscalar("seed"), T.lscalar("n")

    def step(x: Any, y: Any, k: Any) -> Any:
        x = 0.9 * y + T.random.normal(k, (37,)) * 0.4
        y = 0.9 * x + T.random.uniform(k + np.array([0, 0, 1], "u8"), (37,)) * 0.4
        return [x, y, k + np.array([0, 0, 2], "u8")], scanopt.until(x.sum() > 30)

    (x, y, k), _ = scanopt.scan(step, outputs_info=[x0, x0, T.random.key(seed)], n_steps=n)
    return [x0, seed, n], [x, y[-1], k[-1]], [rng().normal(size=37), 5, 9]


def special_functions() -> Program:
    x, n = T.fvector("x"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s: T.erf(s) * T.j0(s) + T.erfc(T.j1(s)) - T.gammaln(s) * T.gamma(s), None, x, n_steps=n)
    return [x, n], [ys], [(rng().normal(size=40) + 3).astype("f4"), 3]


NUMBERS, BLOCK = True, False
PROGRAMS: dict[str, tuple[Callable[[], Program], bool]] = {
    "logistic map": (logistic_map, NUMBERS), "matrix of lanes": (matrix_of_lanes, NUMBERS),
    "far back": (far_back, NUMBERS), "until": (until_scalar, NUMBERS), "branches": (branches, NUMBERS),
    "rnn": (rnn(False, False), BLOCK), "rnn of a batch": (rnn(True, False), BLOCK),
    "gradient of an rnn": (rnn(False, True), BLOCK), "gradient of an rnn of a batch": (rnn(True, True), BLOCK),
    "lstm": (lstm(False), BLOCK), "gradient of an lstm": (lstm(True), BLOCK), "gru": (gru, BLOCK),
    "reductions": (reductions, BLOCK), "rows by index": (rows_by_index, BLOCK),
    "gibbs chains": (gibbs_chains, BLOCK), "special functions": (special_functions, NUMBERS),
}  # fmt: skip


def on_shim(f: Any, shim: Shim) -> tuple[Compiled, list[DeviceLoop]]:
    """The program of a function with kernels that the shim runs."""
    choice = DeviceChoice(shim, f.program.exact, short=f.program.short_products)
    return compile_steps(f.program, np, bind, choice=choice), choice.kernels


def kernels(loops: Sequence[DeviceLoop]) -> list[DeviceVariant]:
    return [v for x in loops for v in x.variants.values() if isinstance(v, DeviceVariant)]


def assert_close(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = {"float32": 1e-4, "float64": 1e-9}.get(expected.dtype.name, 0.0)
    finite = np.abs(expected[np.isfinite(expected)]) if tolerance else np.zeros(0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * float(finite.max(initial=1.0)))


def ran(name: str, shim: Shim) -> list[DeviceVariant]:
    """Run a program by the shim and compare it with the interpreter; its kernels."""
    inputs, outputs, values = PROGRAMS[name][0]()
    f = scanopt.function(inputs, outputs, backend="numpy")
    program, loops = on_shim(f, shim)
    arrays = [np.asarray(v) for v in values]
    for found, expected in zip(program(arrays), f.unoptimized(*values), strict=True):
        assert_close(found, expected)
    assert all(x.runs for x in loops)
    return kernels(loops)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
def test_divisors_of_integers(dtype: str, shim: Shim) -> None:
    """As NumPy has them of negative numbers, 0, and the least one."""
    X, h = T.TensorType(dtype, (None, None))("X"), T.TensorType(dtype, (None,))("h")
    ys, _ = scanopt.scan(lambda x, h: T.gcd(T.lcm(h, x) - x, x) - h, X, h)
    f = scanopt.function([X, h], ys, backend="numpy")
    values = [rng().integers(-9 if dtype[0] == "i" else 0, 9, size).astype(dtype) for size in ((9, 40), (40,))]
    values[1][:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    program, loops = on_shim(f, shim)
    np.testing.assert_array_equal(program(values)[0], f.unoptimized(*values))
    assert all(x.runs for x in loops)


def test_what_has_no_form_on_a_device_is_left_to_array_steps(shim: Shim) -> None:
    x = T.dmatrix("x")
    for step, reason in (
        (lambda s: T.take_along_axis(s, T.argsort(s, axis=1), axis=1) * 0.5, "rows are sorted by one thread"),
        (lambda s: T.erfinv(s * 0.5), "erfinv of float64 has no form on a device"),
    ):
        f = scanopt.function([x], scanopt.scan(step, outputs_info=x, n_steps=3)[0], backend="numpy")
        program, loops = on_shim(f, shim)
        assert_close(program([values := rng().random((4, 5))])[0], f.unoptimized(values))
        assert {v for loop in loops for v in loop.variants.values() if isinstance(v, str)} == {reason}


@pytest.mark.share(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kernel_gives_what_the_interpreter_gives(name: str, shim: Shim) -> None:
    """Whichever thread comes first, and all threads of a block at the same barriers: the shim sees to that."""
    found = ran(name, shim)
    assert any(v.lanes.numbers == PROGRAMS[name][1] for v in found)


def ran_random(seed: int, shim: Shim) -> list[DeviceLoop]:
    """Run a random program by the shim and compare it with the interpreter, unless it raises or is not smooth."""
    spec = generate(seed, pure=True)
    try:
        values, outputs = build(spec)
        expected = scanopt.interpret(outputs, values)
    except (IndexError, ValueError):
        return []
    if not spec.smooth:
        return []
    f = scanopt.function(list(values), outputs, backend="numpy", fp="exact", on_unused_input="ignore")
    program, loops = on_shim(f, shim)
    for found, e in zip(program([np.asarray(v) for v in values.values()]), expected, strict=True):
        assert_close(found, e)
    return loops


@pytest.mark.share(6)
@pytest.mark.parametrize("seed", RANDOM)
def test_random_programs(seed: int, shim: Shim) -> None:
    loops = ran_random(seed, shim)
    assert not any("Error" in str(v) for x in loops for v in x.variants.values() if isinstance(v, str))


@pytest.mark.share(6)
@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_kernel_compiles_for_all_architectures(name: str, shim: Shim) -> None:
    for v in ran(name, shim):
        for architecture in ARCHITECTURES:
            binary, said = compiled(v.text, architecture)
            assert binary[:4] == b"\x7fELF", said
            assert "error" not in said


def barriers(v: DeviceVariant) -> int:
    return v.text.split("int64 t = 0;", 1)[1].count("BARRIER;")


def test_threads_wait_only_for_what_others_wrote(shim: Shim) -> None:
    """Chains of elementwise operators need no barrier: each thread reads what it wrote."""
    (lstm_kernel,) = ran("lstm", shim)
    assert barriers(lstm_kernel) == 3  # the sums of the product, the end of a step, and of all
    (rnn_kernel,) = ran("rnn of a batch", shim)
    assert barriers(rnn_kernel) == 1  # the rows of the state before and of this step are never the same


@dataclass
class WithoutOne(Shim):
    """Leaves out one barrier of the loop.  count: how many there are."""

    left_out: int = 0
    count: int = 1

    def load(self, text: str, exact: bool, together: bool = False) -> Any:
        head, loop = text.split("int64 t = 0;", 1)
        parts = loop.split("BARRIER;")
        self.count = len(parts) - 1
        between = ["" if i == self.left_out else "BARRIER;" for i in range(self.count)]
        joined = "".join(x for pair in zip(parts, [*between, ""], strict=True) for x in pair)
        return super().load(f"{head}int64 t = 0;{joined}", exact)


def test_the_shim_sees_a_barrier_that_is_missing(shim: Shim) -> None:
    """By the order of threads, or by a wrong result."""
    inputs, outputs, values = lstm(False)()
    f = scanopt.function(inputs, outputs, backend="numpy")
    expected, seen, without = f.unoptimized(*values), 0, WithoutOne(shim.folder, threads=32)
    while without.left_out < without.count:
        program, _ = on_shim(f, without)
        try:
            for found, e in zip(program([np.asarray(v) for v in values]), expected, strict=True):
                assert_close(found, e)
        except AssertionError:
            seen += 1
        without.left_out += 1
    assert seen >= 2


def test_batch_rows_are_blocks_and_lanes_are_threads(shim: Shim) -> None:
    before = len(shim.launches)
    ran("logistic map", shim)
    ran("lstm", shim)
    assert shim.launches[before][0] == 3  # 300 lanes
    assert shim.launches[-1][0] == 3  # rows of the batch


def test_an_index_out_of_range_is_left_to_array_steps(shim: Shim) -> None:
    inputs, outputs, (E, J, h0, k0) = rows_by_index()
    f = scanopt.function(inputs, outputs, backend="numpy")
    program, loops = on_shim(f, shim)
    program([E, J, h0, k0])
    assert loops[0].runs == 1
    with pytest.raises(IndexError, match="index 11 is out of bounds"):
        program([E, J, h0, k0 + np.array([0, 1, 0])])
    assert loops[0].runs == 1


def test_lengths_that_do_not_fit_are_told_by_array_steps(shim: Shim) -> None:
    inputs, outputs, values = rnn(True, False)()
    f = scanopt.function(inputs, outputs, backend="numpy")
    program, _ = on_shim(f, shim)
    values[1] = values[1][:3]
    with pytest.raises(ValueError, match=r"shape|mismatch|aligned"):
        program(values)


def test_the_shim_sees_threads_at_different_barriers(shim: Shim) -> None:
    text = """#define BARRIER __syncthreads()
extern "C" __global__ void scanopt_kernel(long long *x, char *scratch, long long *status)
{
    if (threadIdx.x < 3) BARRIER;
    BARRIER;
}
"""
    f = shim.load(text, True)
    args = [np.zeros(1, "int64"), np.zeros(1, "uint8"), np.zeros(2, "int64")]
    with pytest.raises(AssertionError, match="different barriers"):
        shim.launch(f, 1, 8, args)


def test_the_shim_sees_that_the_order_of_threads_matters(shim: Shim) -> None:
    text = """extern "C" __global__ void scanopt_kernel(long long *x, char *scratch, long long *status)
{
    x[0] = 2 * x[0] + threadIdx.x;
}
"""
    args = [np.zeros(1, "int64"), np.zeros(1, "uint8"), np.zeros(2, "int64")]
    with pytest.raises(AssertionError, match="order of threads"):
        shim.launch(shim.load(text, True), 1, 8, args)


class Recorded:
    """A function that CuPy would give, and the calls that it gets."""

    def __init__(self, calls: list[Any]) -> None:
        self.calls = calls

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "calls":
            self.calls.append((name, value))
        super().__setattr__(name, value)

    def __call__(self, *args: Any, **options: Any) -> None:
        self.calls.append((*args, options))


def test_launches_through_cupy() -> None:
    """The calls that CuPy gets."""
    calls: list[Any] = []

    def module(code: str, **options: Any) -> Any:
        calls.append(("compile", options))
        return SimpleNamespace(get_function=lambda name: Recorded(calls))

    told = {"MultiProcessorCount": 132, "MaxSharedMemoryPerBlockOptin": 232448, "CooperativeLaunch": 1}
    xp = SimpleNamespace(RawModule=module, cuda=SimpleNamespace(Device=lambda: SimpleNamespace(attributes=told)))
    launcher = RawModules(xp)
    assert launcher.limits == DeviceLimits(132, 232448, True)
    launcher.launch(launcher.load("text", True), 3, 128, [1, 2])
    launcher.launch(launcher.load("text", False, True), 132, 256, [1], 65536)
    assert calls == [
        ("compile", {"options": ("--std=c++17", "--fmad=false")}), ((3,), (128,), (1, 2), {}),
        ("compile", {"options": ("--std=c++17",), "enable_cooperative_groups": True}),
        ("max_dynamic_shared_size_bytes", 65536), ((132,), (256,), (1,), {"shared_mem": 65536}),
    ]  # fmt: skip


def test_kernels_are_told_of(shim: Shim, tmp_path: Path) -> None:
    inputs, outputs, values = logistic_map()
    f = scanopt.function(inputs, outputs, backend="numpy")
    program, _ = on_shim(f, shim)
    assert "so far" in str(program.kernels[0])
    program([np.asarray(v) for v in values])
    assert program.kernels[0].state == "1 runs of 1 kernels"
    assert "__global__" in program.kernels[0].texts[0]


class OnStrictDevice(Shim):
    """Kernels on arrays of a module that answers as CuPy does."""

    def launch(self, function: Any, blocks: int, threads: int, args: Sequence[Any], shared: int = 0) -> None:
        super().launch(function, blocks, threads, [x.data if isinstance(x, StrictArray) else x for x in args], shared)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ["logistic map", "until", "gradient of an lstm", "rows by index"])
def test_the_whole_way_on_a_device(name: str, shim: Shim, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the call of a function to kernels and back, by what CuPy has."""
    xp = StrictDevice.shared()
    launcher = OnStrictDevice(shim.folder, xp, threads=32)
    monkeypatch.setattr("scanopt.backends.cupy.make", lambda: CuPy(xp, launcher=launcher))
    monkeypatch.setitem(sys.modules, "cupy", xp)
    inputs, outputs, values = PROGRAMS[name][0]()
    f = scanopt.function(inputs, outputs, backend="cupy", cost="numpy")
    expected = f.unoptimized(*values)
    for given in (values, [StrictArray(np.array(v)) for v in values]):
        for found, e in zip(f(*given), expected, strict=True):
            assert_close(found.data if given is not values else found, e)
    assert launcher.launches
    assert f.executor == "array steps on CuPy, loops as CUDA kernels"
    assert any("2 runs" in k.state for k in f.kernels)


def test_a_linear_recurrence_on_a_device(shim: Shim, monkeypatch: pytest.MonkeyPatch) -> None:
    xp = StrictDevice.shared()
    launcher = OnStrictDevice(shim.folder, xp)
    monkeypatch.setattr("scanopt.backends.cupy.make", lambda: CuPy(xp, launcher=launcher))
    a, x = T.dmatrix("a"), T.dmatrix("x")
    h, _ = scanopt.scan(lambda a, x, h: a * h + x, [a, x], T.zeros(3))
    f = scanopt.function([a, x], h, backend="cupy", fp="reassoc")
    given = [rng().random((100, 3)), rng().random((100, 3))]
    np.testing.assert_allclose(f(*given), f.unoptimized(*given))
    assert f.program.loops() == []
    assert len(launcher.launches) == 2, "chunks, and all steps where two chunks disagree"


def test_a_computed_length_that_does_not_fit_is_left_to_array_steps(shim: Shim) -> None:
    x, h0, n, m = T.dvector("x"), T.dmatrix("h0"), *T.lscalars("n", "m")
    h, _ = scanopt.scan(lambda h, x: T.tanh(h * 0.5 + T.reshape(x, (n, m))), None, h0, x, n_steps=5)
    f = scanopt.function([x, h0, n, m], h, backend="numpy")
    program, (loop,) = on_shim(f, shim)
    values = rng().random(6), np.zeros((2, 3)), np.asarray(2), np.asarray(3)
    assert_close(program(values)[0], f.unoptimized(*values))
    assert loop.runs == 1
    for lengths in ((3, 3), (2, 4), (5, 3)):
        with pytest.raises(ValueError, match="cannot reshape"):
            program([*values[:2], *map(np.asarray, lengths)])
    assert loop.runs == 1
