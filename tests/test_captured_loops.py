"""Loops of array steps as CUDA graphs, on a device that refuses while capturing what CuPy refuses."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from capturing_device import cuda_with_graphs
from programs import reference
from random_kernels import RandomLoop
from strict_device import StrictArray, StrictDevice
from test_ops import CASES, NAMES, SPECIAL, close

import scanopt
import scanopt.tensor as T
from scanopt.array.abstract import concrete
from scanopt.array.op import Op
from scanopt.backends.captured_loops import FEWEST as TIMES
from scanopt.backends.captured_loops import GRAPHS, STEPS
from scanopt.backends.captured_steps import may_be_captured
from scanopt.backends.compiled import Compiled, compile_steps
from scanopt.backends.cupy import CuPy
from scanopt.backends.device_operators import Watch, bind_on_device
from scanopt.backends.kernels.device_costs import fewest_beside_graphs
from scanopt.backends.kernels.device_loops import DeviceChoice
from scanopt.backends.kernels.device_plans import DeviceLimits
from scanopt.backends.numpy import bind
from scanopt.backends.stream_capture import StreamCapture
from scanopt.program.ir import Compute

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
FEWEST = TIMES * STEPS
"""So many steps are captured at the first call."""


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The array module; its `cuda.streams.graphs` are what was captured."""
    found = StrictDevice.shared()
    monkeypatch.setattr(found, "cuda", cuda_with_graphs())
    monkeypatch.setitem(sys.modules, "cupy", found)
    return found


def mandelbrot() -> Any:
    """Steps of complex numbers, which have no kernel."""
    c, n = T.zvector("c"), T.lscalar("n")
    z, _ = scanopt.scan(lambda z: z * z + c, outputs_info=T.zeros_like(c), n_steps=n)
    return scanopt.function([c, n], z, backend="cupy")


C = np.array([0.1 + 0.2j, -0.5, 0.3j])


def test_some_steps_are_captured_once_and_launched_together(device: Any) -> None:
    f = mandelbrot()
    for n in (3, 40, FEWEST + 1, 2 * STEPS, 100, STEPS, STEPS - 1):
        np.testing.assert_allclose(f(C, n), f.unoptimized(C, n))
    (graph,) = device.cuda.streams.graphs
    assert graph.launches == 3 + 2 + 3 + 1  # the first steps of the call that captured ran as they are
    assert f.executor == "array steps on CuPy, loops as CUDA graphs"
    assert f.kernels[0].state.endswith(f"4 runs by CUDA graphs of {STEPS} steps, 2 operators each")


def test_results_are_not_written_to_by_later_calls() -> None:
    f = mandelbrot()
    first = f(StrictArray(C), FEWEST)
    before = first.data.copy()
    f(StrictArray(2 * C), FEWEST)
    np.testing.assert_array_equal(first.data, before)


def test_graphs_are_for_shapes_and_few_are_kept(device: Any) -> None:
    f = mandelbrot()
    for size in [*range(1, GRAPHS + 2), 1]:
        c = np.linspace(0.0, 0.3, size) + 0j
        np.testing.assert_allclose(f(c, FEWEST), f.unoptimized(c, FEWEST))
    assert len(device.cuda.streams.graphs) == GRAPHS + 2


def test_taps_sequences_and_rows_kept(device: Any) -> None:
    X, h, n = T.zmatrix("X"), T.zmatrix("h"), T.lscalar("n")
    step = lambda x, y, a, b: a * 0.5 + b * x * y  # noqa: E731
    taps = {"initial": h, "taps": [-1, -3]}
    H, _ = scanopt.scan(step, [{"input": X, "taps": [0, 1]}], taps, n_steps=n)
    f = scanopt.function([X, h, n], [H, H[-1], H[-50:], H[-2:].sum(axis=0)], backend="cupy")
    rng = np.random.default_rng(0)
    for steps in (FEWEST, FEWEST + 3, 70):
        given = rng.normal(size=(steps + 1, 4)) / 2 + 0j, rng.normal(size=(3, 4)) + 0j, steps
        for found, expected in zip(f(*given), f.unoptimized(*given), strict=True):
            np.testing.assert_allclose(found, expected)
    assert len(device.cuda.streams.graphs) == 1
    assert "3 runs by CUDA graphs" in f.kernels[0].state


def test_an_index_out_of_range_is_the_error_of_the_cpu(device: Any) -> None:
    x, i, n = T.zvector("x"), T.lmatrix("i"), T.lscalar("n")
    y, _ = scanopt.scan(lambda j, s: s * 0.5 + x[j], i, T.zeros_like(x))
    f = scanopt.function([x, i, n], y, backend="cupy", on_unused_input="ignore")
    places = np.tile([1, 0, 2], (FEWEST, 1))
    np.testing.assert_allclose(f(C, places, 0), f.unoptimized(C, places, 0))
    assert sum(g.launches for g in device.cuda.streams.graphs) == FEWEST // STEPS - 1
    places[100, 1] = -5
    with pytest.raises(IndexError, match=r"index -5 is out of bounds for axis 0 with (length|size) 3"):
        f(C, places, 0)
    places[100, 1] = -3
    np.testing.assert_allclose(f(C, places, 0), f.unoptimized(C, places, 0))


def growing(keep: Callable[[Any], Any]) -> Any:
    """Ends where a number gets large."""
    c, n = T.zvector("c"), T.lscalar("n")
    step = lambda z: (z * z + c, scanopt.until(abs(z).max() > 2.0))  # noqa: E731
    z, _ = scanopt.scan(step, outputs_info=T.zeros_like(c), n_steps=n)
    return scanopt.function([c, n], keep(z), backend="cupy")


@pytest.mark.parametrize("keep", [lambda z: z, lambda z: z[-1], lambda z: [z[-40:], z[-3:], abs(z).sum(axis=1)]])
def test_a_loop_that_may_end_early(keep: Callable[[Any], Any], device: Any) -> None:
    """The host asks once for all steps of a graph."""
    f = growing(keep)
    ends = (0.2501, 0.2502, 0.2505, 0.251, 0.2, 0.26)
    for c in ends:
        given = np.array([0.1j, c]), 10 * STEPS + 5
        for found, expected in zip(_list(f(*given)), _list(f.unoptimized(*given)), strict=True):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected)
    (graph,) = device.cuda.streams.graphs
    assert graph.launches > len(ends)
    assert f"{len(ends)} runs" in f.kernels[0].state


def _list(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]


def test_a_loop_that_ends_soon_is_not_captured_again(device: Any) -> None:
    f = growing(lambda z: z)
    for _ in range(2):
        given = np.array([0.1j, 2.0]), 10 * STEPS
        np.testing.assert_allclose(f(*given), f.unoptimized(*given))
    assert not device.cuda.streams.graphs
    assert f"array steps: it ended within {STEPS} steps" in f.kernels[0].state


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda z, c: T.dot(c, z) + z, "dot is more than launches"),
        (lambda z, c: T.sort(T.real(z)) + c, "sort is more than launches"),
        (lambda z, c: z[T.argmax(T.real(z))] + c, "getitem is more than launches"),
        (lambda z, c: T.concatenate([z[1:], c[:1]]), "concatenate is more than launches"),
    ],
)
def test_why_there_is_no_graph(device: Any, step: Callable[..., Any], reason: str) -> None:
    c, n = T.zvector("c"), T.lscalar("n")
    z, _ = scanopt.scan(lambda z: step(z, c), outputs_info=T.zeros_like(c), n_steps=n)
    f = scanopt.function([c, n], z, backend="cupy", fp="exact")
    np.testing.assert_allclose(f(C / 9, FEWEST), f.unoptimized(C / 9, FEWEST))
    assert not device.cuda.streams.graphs
    assert f"no CUDA graph: {reason}" in f.kernels[0].state


def test_where_capturing_fails_array_steps_run(monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    """As where the device has other ideas of what may be captured: it is tried once."""
    monkeypatch.setattr("scanopt.backends.captured_steps.may_be_captured", lambda step: True)
    c, n = T.zvector("c"), T.lscalar("n")
    z, _ = scanopt.scan(lambda z: T.dot(c, z) + z, outputs_info=T.zeros_like(c), n_steps=n)
    f = scanopt.function([c, n], z, backend="cupy", fp="exact")
    for _ in range(2):
        np.testing.assert_allclose(f(C / 9, FEWEST), f.unoptimized(C / 9, FEWEST))
    assert device.capture is None
    assert "array steps: NotImplementedError: calling cuBLAS API during stream capture" in f.kernels[0].state


def test_where_memory_runs_out_array_steps_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, like: Any, run: Any) -> Any:
        raise MemoryError

    f = mandelbrot()
    with monkeypatch.context() as patch:
        patch.setattr(StreamCapture, "capture", full)
        np.testing.assert_allclose(f(C, FEWEST), f.unoptimized(C, FEWEST))
    f(C, FEWEST)
    assert "1 runs by CUDA graphs" in f.kernels[0].state


def test_graphs_give_their_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a call finds none it runs again without them."""
    f = mandelbrot()
    f(C, FEWEST)
    ((made, _),) = f._compiled._made.values()
    (loop,) = made.choice.made.values()
    run, found = Compiled.__call__, []

    def tight(self: Compiled, values: Any) -> Any:
        found.append(bool(loop._graphs))
        if loop._graphs:
            raise MemoryError
        return run(self, values)

    monkeypatch.setattr(Compiled, "__call__", tight)
    np.testing.assert_allclose(f(C, 3), f.unoptimized(C, 3))
    assert found == [True, False]


def test_an_index_of_a_step_after_the_end_is_no_error(device: Any) -> None:
    x, n = T.zvector("x"), T.lscalar("n")
    step = lambda i, s: (i + 1, s + x[T.stack([i, i])].sum(), scanopt.until(T.eq(i, 40)))  # noqa: E731
    (_, s), _ = scanopt.scan(step, outputs_info=[T.zeros((), "int64"), T.zeros((), "complex128")], n_steps=n)
    f = scanopt.function([x, n], s, backend="cupy")
    given = np.arange(41) + 1j, 1000
    np.testing.assert_allclose(f(*given), f.unoptimized(*given))
    assert not device.cuda.streams.graphs


def captured_cases(name: str) -> list[tuple[Op, list[Any]]]:
    """Uses of an operator that may be captured, with arguments.  The device here has no special functions."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        found = [CASES[name](np.random.default_rng(seed)) for seed in range(4)] if name not in SPECIAL else []
        types = [op.infer(*(concrete(np.asarray(x)) for x in args)) for op, args in found]
    return [
        (op, args)
        for (op, args), type in zip(found, types, strict=True)
        if may_be_captured(Compute("out", op, (), type)) and all(np.size(x) for x in args)
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if captured_cases(name)])
def test_operators_are_launches_alone(name: str, device: Any) -> None:
    """What they launched gives their results for other values than those of the capture."""
    for op, args in captured_cases(name):
        with np.errstate(all="ignore"):
            try:
                expected = np.asarray(op.bind(np)(*args))
            except (IndexError, ValueError):
                continue
            function = bind_on_device(op, device, Watch(device))
            like = [StrictArray(np.array(x)) for x in args]
            function(*like)
            replay = StreamCapture(device).capture(like, lambda given, f=function: [f(*given)])
            for place, x in zip(replay.given, like, strict=True):
                device.copyto(place, x)
            replay.launch()
            close(replay.results[0].data, expected)


class CapturableLoop(RandomLoop):
    """A random loop whose operators may be captured.

    It casts to no unsigned integers: what NumPy makes of large floats depends on how many there are.
    """

    def attempt(self, make: Callable[[], str]) -> str:
        count, shapes = len(self.b.body), dict(self.shapes)
        name = super().attempt(make)
        steps = self.b.body[count:]
        if name and all(isinstance(x, Compute) and may_be_captured(x) and not _unsigned(x) for x in steps):
            return name
        del self.b.body[count:]
        self.shapes = shapes
        return ""


def _unsigned(step: Compute) -> bool:
    return step.op.name == "cast" and step.type.dtype.startswith("u")


def compared(seed: int, device: Any) -> int:
    """How many launches of graphs the loop of a seed took; its results are compared with the interpreter's."""
    loop = CapturableLoop(seed)
    program = loop.program()
    if not loop.steps:
        return 0
    try:
        expected = reference(program, loop.values)
    except (IndexError, ValueError):
        return 0
    f = CuPy(device, captures=StreamCapture(device)).compile(program)
    for _ in range(2):
        for found, e in zip(f(loop.values), expected, strict=True):
            assert (found.dtype, found.shape) == (e.dtype, e.shape)
            np.testing.assert_allclose(found, e, rtol=1e-4 if e.dtype == np.float32 else 1e-9)
    assert "Error" not in "".join(report.state for report in f.kernels)
    return sum(graph.launches for graph in device.cuda.streams.graphs)


@pytest.mark.share(2)
@pytest.mark.parametrize(("steps", "first"), [(3, 0), (11, 0), (3, 15), (11, 15)])
def test_random_loops(steps: int, first: int, monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    """`python benchmarks/soundness_graphs.py 0 3000` compares more."""
    monkeypatch.setattr("scanopt.backends.cupy.STEPS", steps)
    monkeypatch.setattr("scanopt.backends.captured_loops.FEWEST", 0)
    assert sum(compared(seed, device) for seed in range(first, first + 15)) > 0


@dataclass
class OnlyLaunches:
    """Counts launches of kernels, and computes nothing."""

    xp: Any
    count: int = 0
    limits = DeviceLimits(8, 1 << 16, False)

    def load(self, text: str, exact: bool, together: bool = False) -> str:
        return text

    def launch(self, *args: Any) -> None:
        self.count += 1


@pytest.mark.parametrize("beats", [True, False])
def test_a_kernel_or_graphs_by_what_they_are_expected_to_take(
    beats: bool, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops of few steps have no graphs, so that kernels need not beat them."""
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)
    fewest = "scanopt.backends.kernels.device_plans.fewest_beside_graphs"
    monkeypatch.setattr(fewest, lambda plan: 0.0 if beats else math.inf)
    launcher = OnlyLaunches(device)
    x, n = T.dvector("x"), T.lscalar("n")
    z, _ = scanopt.scan(lambda z: z * z + x, outputs_info=T.zeros_like(x), n_steps=n)
    program = scanopt.function([x, n], z, backend="numpy").program
    f = CuPy(device, launcher=launcher, captures=StreamCapture(device)).compile(program)
    for steps in (STEPS, FEWEST, FEWEST):
        f([np.ones(3) / 9, np.asarray(steps)])
    assert launcher.count == (3 if beats else 1)
    assert len(device.cuda.streams.graphs) == (not beats)


def test_graphs_are_compared_by_their_nodes() -> None:
    """Steps of few elements, which a thread for each lane does in less than a node."""
    x, n = T.dvector("x"), T.lscalar("n")
    z, _ = scanopt.scan(lambda z: z * z + x, outputs_info=T.zeros_like(x), n_steps=n)
    loops = DeviceChoice(OnlyLaunches(np), False)
    program = scanopt.function([x, n], z, backend="numpy").program
    compile_steps(program, np, bind, choice=loops)  # type: ignore[arg-type]
    (loop,) = loops.kernels
    (plan,) = loop._plans(((1, 3), (3,)), ())
    assert 2 < fewest_beside_graphs(plan) < 1000
