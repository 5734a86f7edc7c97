"""The executor of CuPy arrays: the same Python source text as for NumPy, whose array steps run on an NVIDIA GPU.

Loops may run there as CUDA kernels or CUDA graphs.  Operators that CuPy computes differently are replaced
(`device_operators.py`).  Whether an index was out of range is noted on the device and read at the end of a call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from functools import cached_property, partial
from typing import Any

from scanopt.array.device import CUPY, arrived, on_device
from scanopt.array.op import Op
from scanopt.backends.captured_loops import STEPS, CapturedLoop, Captures
from scanopt.backends.captured_steps import steps_program
from scanopt.backends.compiled import Compiled, compile_steps
from scanopt.backends.device_operators import Watch, bind_on_device
from scanopt.backends.kernels.device_loops import DeviceChoice
from scanopt.backends.kernels.device_plans import DeviceLimits, Launcher
from scanopt.backends.kernels.device_predictions import DevicePredictions
from scanopt.backends.kernels.ir import NAME
from scanopt.backends.predicted import Known
from scanopt.backends.recurrence_kernels import LinearRecurrences
from scanopt.backends.stream_capture import StreamCapture
from scanopt.extraction.cost import CostModel
from scanopt.extraction.device_rates import ESTIMATES, DeviceRates, costs_on_device, rates_of_device
from scanopt.forks import lock
from scanopt.program.ir import Compute, Program
from scanopt.records import dataclass

__all__ = ["CuPy", "OnDevice", "make"]

Bind = Callable[[Op], Callable[..., Any]]
DECLARED = 48 << 10
"""Bytes of shared memory that a block may have where the device names no other limit."""
NEEDS = 'backend="cupy" needs CuPy and an NVIDIA GPU: '


@dataclass(eq=False)
class OnDevice:
    """A program on the device: NumPy arguments are copied there.

    It runs on the device and the stream that are current, or on the device where arguments are.  Results stay on
    the device if any argument was there, else they come back as NumPy arrays.
    """

    program: Program
    executor: CuPy
    _made: dict[int, tuple[Compiled, Watch]] = field(default_factory=dict[int, Any])

    def __post_init__(self) -> None:
        self._lock = lock()
        self._effects = any(isinstance(s, Compute) and s.op.spec.effect for s in self.program.walk())
        self._here()

    def _here(self) -> tuple[Compiled, Watch]:
        """Return the program compiled for the current device, where its constants lie."""
        xp = self.executor.xp
        number = _current(xp)
        with self._lock:
            if number not in self._made:
                watch = Watch(xp)
                launcher = self.executor.launcher
                linear = None if launcher is None else LinearRecurrences(launcher)
                short = self.program.short_products
                bind = partial(bind_on_device, xp=xp, watch=watch, recurrences=linear, short=short)
                choice: Any = DeviceChoice(
                    launcher, self.program.exact, self._capture(bind, watch), short
                )  # fmt: skip
                made = compile_steps(self.program, xp, bind, self.executor.clock, choice)
                self._made[number] = made, watch
            return self._made[number]

    def _capture(self, bind: Bind, watch: Watch) -> Callable[..., CapturedLoop] | None:
        """A function that makes the CUDA graphs of a loop on the current device; None where nothing can be captured."""
        captures, xp, exact = self.executor.captures, self.executor.xp, self.program.exact
        if captures is None:
            return None
        return lambda loop, types: CapturedLoop(
            loop, steps_program(loop, types, STEPS, exact), captures, xp, bind, watch
        )  # fmt: skip

    @property
    def source(self) -> str:
        """The text that runs."""
        return next(iter(self._made.values()))[0].source

    @property
    def xp(self) -> Any:
        """The array module."""
        return self.executor.xp

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The outcome for each loop (see `scanopt.backends.kernels.loop_report.LoopReport`)."""
        return tuple(r for made, _ in self._made.values() for r in made.kernels)

    def predicted(self, known: Known) -> float:
        """Predicted seconds of a call, its arguments on the device.  known: of all names of the program.

        Raises UnknownSizesError where this does not determine all sizes.
        """
        choice: Any = self._here()[0].choice
        return DevicePredictions(self.executor.cost, choice, self.executor.rates).prices.seconds(
            self.program.steps, known
        )

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The results for these arguments.

        Raises ValueError for arguments on several devices, MemoryError where the device has no memory left, and the
        errors of the program.
        """
        xp = self.executor.xp
        values = [arrived(v) if not isinstance(v, xp.ndarray) and on_device(v) else v for v in values]
        places = {_place(v) for v in values if isinstance(v, xp.ndarray)}
        if len(places) > 1:
            raise ValueError(f"arguments lie on devices {', '.join(map(str, sorted(places)))}: copy them to one")
        with _device(xp, places):
            results = self._run(values)
            return results if places else [xp.asnumpy(r) for r in results]

    def _run(self, values: Sequence[Any]) -> list[Any]:
        try:
            return self._once(values)
        except MemoryError:
            choice: Any = self._here()[0].choice
            if self._effects or not choice.forget():
                raise
        return self._once(values)

    def _once(self, values: Sequence[Any]) -> list[Any]:
        made, watch = self._here()
        watch.start(self._effects)
        try:
            results = made(values)
        except Exception:
            if watch.at_once or not watch.failed():
                raise
        else:
            if not watch.failed():
                return results
        watch.start(True)  # run again: this time the error names the index
        return made(values)


def _place(x: Any) -> int:
    """The number of the device of an array."""
    return int(getattr(x.device, "id", 0))


def _current(xp: Any) -> int:
    return int(xp.cuda.runtime.getDevice())


def _device(xp: Any, places: set[int]) -> AbstractContextManager[Any]:
    """A context in which a call runs: the current device, unless arguments lie on another one."""
    if not places or places == {_current(xp)}:
        return nullcontext()
    found: AbstractContextManager[Any] = xp.cuda.Device(next(iter(places)))
    return found


@dataclass(frozen=True)
class RawModules:
    """Compiles CUDA texts by CuPy, and launches their functions on its current stream.  rates: of the device."""

    xp: Any
    rates: DeviceRates = ESTIMATES

    @property
    def limits(self) -> DeviceLimits:
        """The limits of the current device."""
        told = self.xp.cuda.Device().attributes
        shared = told.get("MaxSharedMemoryPerBlockOptin", DECLARED)
        together = bool(told.get("CooperativeLaunch", 0))
        return DeviceLimits(told.get("MultiProcessorCount", 1), shared, together, rates=self.rates)

    def load(self, text: str, exact: bool, together: bool = False) -> Any:
        """Compile a text; return its function.  exact: never contract a * b + c; together: for cooperative launches."""
        options = ("--std=c++17", *(("--fmad=false",) if exact else ()))
        more = {"enable_cooperative_groups": True} if together else {}
        return self.xp.RawModule(code=text, options=options, **more).get_function(NAME)

    def launch(self, function: Any, blocks: int, threads: int, args: Sequence[Any], shared: int = 0) -> None:
        """Launch a function on the current stream.  shared: bytes of shared memory that its text does not declare."""
        if shared:
            function.max_dynamic_shared_size_bytes = shared
            function((blocks,), (threads,), tuple(args), shared_mem=shared)
        else:
            function((blocks,), (threads,), tuple(args))


@dataclass(frozen=True)
class CuPy:
    """Runs programs on CuPy arrays.

    launcher: compiles and launches loops as kernels; None: loops have no kernels.  captures: makes CUDA graphs of array
    steps; None: each array step is launched by itself.  rates: of the device.
    """

    xp: Any
    name: str = "cupy"
    on_device: bool = True
    launcher: Launcher | None = None
    captures: Captures | None = None
    rates: DeviceRates = ESTIMATES

    @cached_property
    def cost(self) -> CostModel:
        """The cost model of array steps on the device."""
        return costs_on_device(self.rates)

    @property
    def description(self) -> str:
        """What programs run on, for users."""
        loops = ["CUDA kernels"] * (self.launcher is not None) + ["CUDA graphs"] * (self.captures is not None)
        return "array steps on CuPy" + (f", loops as {' or '.join(loops)}" if loops else "")

    def compile(self, program: Program) -> OnDevice:
        """Prepare the program; it is compiled for each device on which it runs."""
        return OnDevice(program, self)

    def clock(self) -> float:
        """Wait until the device has finished all work of the current stream; return the time."""
        self.xp.cuda.get_current_stream().synchronize()
        return time.perf_counter()


def make() -> CuPy:
    """Make the executor.  Raises RuntimeError when CuPy or a GPU is missing."""
    try:
        cupy = CUPY.load()
    except ImportError as error:
        raise RuntimeError(
            f"{NEEDS}pip install cupy-cuda13x, or cupy-cuda12x where the driver is for CUDA 12 ({error})"
        ) from None
    if not cupy.cuda.is_available():
        raise RuntimeError(NEEDS + "no CUDA device found")
    rates = rates_of_device()
    return CuPy(
        cupy,
        rates=rates,
        launcher=RawModules(cupy, rates) if hasattr(cupy, "RawModule") else None,
        captures=StreamCapture(cupy) if hasattr(cupy.cuda, "Graph") and not cupy.cuda.runtime.is_hip else None,
    )
