"""Makes a program callable: compiles its source text (`source.py`) in a separate namespace, and checks arguments.

Loops that have kernels call them from that text; a program that is one kernel as a whole is tried before the text runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from time import perf_counter
from types import FunctionType
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from scanopt.array.device import on_device
from scanopt.array.numerics.c_order import in_c_order
from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.backends.empty_loops import no_steps
from scanopt.backends.kernels.entry import Entry, can_enter
from scanopt.backends.scratch import Shelf
from scanopt.backends.source import Source, program_source
from scanopt.backends.support import support
from scanopt.backends.timing import timing
from scanopt.program.failures import SourceMap, note_failure
from scanopt.program.ir import Input, Program
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.backends.kernels.choice import Choice
    from scanopt.backends.kernels.whole import ProgramKernel

__all__ = ["Compiled", "compile_steps"]

Array = Any


@dataclass(frozen=True, eq=False)
class Compiled:
    """A program ready to run: called with a list of arrays, it returns a list of arrays.

    Threads may call it at the same time: each thread has its own scratch arrays, which loops leave for
    the next call.  Arguments are never written to; results share no memory with arguments, constants,
    one another or these scratch arrays.
    source: the text that runs; lines: the steps that its lines stand for, used to explain errors.  choice: which of its
    loops have kernels.  numbers: inputs that it reads on the host.
    """

    program: Program
    source: str
    xp: Any
    run: FunctionType
    lines: SourceMap
    choice: Choice | None = None
    numbers: frozenset[str] = frozenset()

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The outcome for each loop (see `scanopt.backends.kernels.loop_report.LoopReport`)."""
        return self.choice.reports(self.program) if self.choice else ()

    def __call__(self, values: Sequence[Array]) -> list[Array]:
        """Run the program; return its results.

        Raises TypeError for a wrong number of arguments or a wrong dtype, ValueError for a shape that
        does not fit, and the errors of the program itself.
        """
        inputs = self.program.inputs
        if len(values) != len(inputs):
            raise TypeError(f"expected {len(inputs)} arguments, found {len(values)}")
        arrays = [admit(x, self._array(x, v)) for x, v in zip(inputs, values, strict=True)]
        whole = self._whole
        if whole is not None and (found := whole(arrays)) is not None:
            return found
        start = perf_counter()
        try:
            with np.errstate(all="ignore"):
                results: list[Array] = self.run(*arrays)
        except Exception as error:
            note_failure(error, self.program, self.lines, self.run.__code__)
            raise
        if whole is not None:
            whole.spent += perf_counter() - start
        return results

    def _array(self, x: Input, value: Array) -> Array:
        """Convert an argument to an array of the module; a number that the program reads on the host stays there."""
        here = x.name in self.numbers and (isinstance(value, np.ndarray) or not on_device(value))
        return np.asarray(value) if here else self.xp.asarray(value)

    @cached_property
    def _whole(self) -> ProgramKernel | None:
        found = self.choice.whole if self.choice else ""
        return None if isinstance(found, str) else found

    def entry(self, single: bool) -> Any:
        """Make the fast path: its `function` runs the program for arguments like earlier ones, or returns None.

        single: return the only result itself, not in a list.  None where there is no fast path.
        """
        whole = self._whole
        if whole is None or not can_enter():
            return None
        made = Entry(tuple(x.type.dtype for x in self.program.inputs), single)
        self.enter(made)
        return made

    def enter(self, entry: Entry) -> None:
        """Let the fast path run this program, too; programs with the same inputs and results may share one."""
        if self._whole is not None:
            self._whole.entries.append(entry)


def admit(expected: Input, x: Array) -> Array:
    """Return x if it has the expected type, else raise TypeError or ValueError."""
    type = expected.type
    dtype_fits = x.dtype == type.dtype
    if dtype_fits and x.ndim == type.ndim and all(
        n is None or n == m for n, m in zip(type.shape, x.shape, strict=True)
    ):  # fmt: skip
        return x
    found = TensorType(x.dtype.name, tuple(x.shape))
    error = ValueError if dtype_fits else TypeError
    raise error(f"argument {expected.label or expected.name}: expected {type}, found {found}")


def compile_steps(
    program: Program,
    xp: Any,
    bind: Callable[[Op], Callable[..., Any]],
    clock: Callable[[], float] = perf_counter,
    choice: Choice | None = None,
) -> Compiled:
    """Compile the program as array steps of the module xp.

    bind: returns the function of an op.  clock: returns the time, after the device has finished all work.  choice:
    which loops have kernels; None: no loop has.
    """
    source = program_source(program, infix=xp is np, choice=choice)
    in_order = choice.exact if choice else program.exact
    bind = _in_c_order(xp, bind, source.kinds) if in_order else bind
    space = _namespace(source, xp, bind) | timing(source.titles, source.labels, clock) | dict(Shelf().functions())
    space |= choice.made if choice else {}
    exec(compile(source.text, _file(source.text), "exec"), space)
    return Compiled(program, source.text, xp, space["program"], source.stands_for, choice, source.numbers)


def _file(text: str) -> str:
    """The file name of a text in tracebacks; each text has another name, since tracebacks find its lines by it."""
    return f"scanopt program {crc32(text.encode()):08x}"


def _in_c_order(
    xp: Any, bind: Callable[[Op], Callable[..., Any]], kinds: Mapping[Op, Collection[str]]
) -> Callable[[Op], Callable[..., Any]]:
    """Wrap `bind`: functions whose rounding depends on the memory layout get their arguments in C order.

    kinds: for each op, the kinds of dtype of its arguments in the program.
    """
    lay = in_c_order if xp is np else partial(xp.asarray, order="C")

    def bound(op: Op) -> Callable[..., Any]:
        f = bind(op)
        count = op.by_layout(kinds[op])
        if not count:
            return f
        return lambda *args, **out: f(*map(lay, args[:count]), *args[count:], **out)

    return bound


def _namespace(source: Source, xp: Any, bind: Callable[[Op], Callable[..., Any]]) -> dict[str, Any]:
    """The names that the text can use: a few builtins, no modules.

    CuPy imports some of its modules when they are first needed, by the `__import__` of whoever called it.
    """
    builtins: dict[str, Any] = {"len": len, "max": max, "min": min, "range": range, "zip": zip}
    return {
        "__builtins__": builtins if xp is np else builtins | {"__import__": __import__},
        "__name__": "scanopt program",
        "__loader__": _Text(source.text),
        **support(xp, source.labels),
        **{name: bind(op) for name, op in source.ops.items()},
        **{name: op.bind(np) for name, op in source.host_ops.items()},
        **{name: _fixed(xp, value) for name, value in source.consts.items()},
        **{name: value[()] for name, value in source.scalars.items()},
        **{name: no_steps(xp, *what) for name, what in source.empties.items()},
    }


def _fixed(xp: Any, value: np.ndarray[Any, Any]) -> Array:
    """Convert a constant to an array of xp; for NumPy, to a read-only copy."""
    x = xp.array(value)
    if isinstance(x, np.ndarray):
        x.setflags(write=False)
    return x


@dataclass(frozen=True)
class _Text:
    """Lets tracebacks show the lines of generated text."""

    text: str

    def get_source(self, name: str) -> str:
        """The text, whatever the name."""
        return self.text
