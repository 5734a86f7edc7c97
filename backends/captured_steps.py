"""Decides which loops of array steps may be captured as CUDA graphs, and makes a program of some of their steps.

A graph repeats the launches that were made while it was captured: the same kernels on the same addresses, with the same
numbers.  So an operator may be captured only if CuPy makes nothing but launches of it, whatever the values are: it does
not wait for the device, copy from the host, or call a library that refuses to be captured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scanopt.array.types import TensorType
from scanopt.program.ir import CarriedState, Compute, Input, Keep, Loop, Program, Read
from scanopt.program.names import used_at_end
from scanopt.program.storage.placement import elementwise
from scanopt.program.text import made_in
from scanopt.records import dataclass

__all__ = ["NoCapture", "StepsProgram", "may_be_captured", "steps_program"]

PLAIN = {
    "where", "cast", "clip", "round", "outer", "sigmoid", "real", "imag",
    "reshape", "transpose", "expand_dims", "squeeze", "broadcast_to", "with_gradient", "full_like", "shaped_like",
    "spread_like",
    "sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod",
    "erf", "erfc", "erfcx", "erfinv", "erfcinv", "ndtr", "gamma", "gammaln", "psi", "i0", "i1", "i0e", "i1e", "j0",
    "j1",
}  # fmt: skip
"""Operators besides elementwise ones of which CuPy makes nothing but launches.  `concatenate` and `stack` are not
among them: for more than three arrays CuPy copies their addresses from the host."""
COUNT = "number of steps"
"""The name of the input, in a program of some steps, that gives their number."""


class NoCapture(Exception):  # noqa: N818 (no error: each operator is launched by itself)
    """Why a loop is no CUDA graph."""


@dataclass(frozen=True, eq=False)
class StepsProgram:
    """A program that runs some steps of a loop.

    Its inputs are, in this order, the number of steps, the rows of the sequences in these steps, the rows of each state
    before them, and the values `held` from outside the loop.  Its results are the rows that the loop keeps, of all
    these steps or of the last ones (`kept` has, for each thing kept, the number of its result), and then, from result
    number `states` on, the last rows of each state.  until: where the loop may end early, the number of the result that
    has the stop condition of each step; then the rows of all steps are results, also of steps after the end.  most: the
    greatest number of steps.  launches: the least number of launches in a step.
    """

    program: Program
    most: int
    held: tuple[str, ...]
    kept: tuple[int, ...]
    states: int
    until: int | None
    launches: int


def may_be_captured(step: Compute) -> bool:
    """Whether CuPy computes an operator by launches of kernels alone, for any arguments."""
    op = step.op
    if op.data_shape or op.spec.effect:
        return False
    if op.name in ("getitem", "setitem"):
        return all(_plain(entry) for entry in op.options["index"])
    return op.name in PLAIN or (elementwise(op) and op.name != "matmul")


def _plain(entry: object) -> bool:
    """Whether an entry of an index needs no number from the device."""
    return entry not in ("in", "mask") if isinstance(entry, str) else not (isinstance(entry, tuple) and "in" in entry)


def steps_program(loop: Loop, types: Mapping[str, TensorType], most: int, exact: bool) -> StepsProgram:
    """Return a program that runs up to `most` steps of a loop.  exact: as in the program of the loop.

    types: of all names.  Raises NoCapture where a step does anything but launch.
    """
    for reason in _reasons(loop, most):
        raise NoCapture(reason)
    inside = set(made_in(loop, ()))
    at_end = used_at_end(loop)
    read = (*(a for step in loop.body for a in getattr(step, "args", ())), *at_end)
    held = tuple(x for x in dict.fromkeys(read) if x not in inside)
    inputs = [Input(COUNT, TensorType("int64", ()))]
    reads, states = list[Read](), list[CarriedState]()
    for i, r in enumerate(loop.reads):
        inputs.append(Input(f"sequence {i}", r.type.rows(None)))
        reads.append(Read(r.out, inputs[-1].name, r.type))
    for i, s in enumerate(loop.states):
        inputs.append(Input(f"start {i}", s.type.rows(s.depth)))
        states.append(CarriedState(inputs[-1].name, s.depth, s.taps, s.update, s.type))
    inputs += [Input(x, types[x]) for x in held]
    few = loop.until is None
    wanted = [(k.value, min(k.rows, most) if few and isinstance(k.rows, int) else None) for k in loop.keeps]
    end = [] if loop.until is None else [(loop.until, None)]
    each = list(dict.fromkeys([*wanted, *end]))
    rows = (*each, *((s.update, s.depth) for s in loop.states))
    keeps = tuple(Keep(f"rows {i}", value, n, types[value].rows(None)) for i, (value, n) in enumerate(rows))
    part = Loop(loop.label, COUNT, tuple(reads), tuple(states), loop.body, keeps, phase=loop.phase)
    program = Program(tuple(inputs), (), (part,), tuple(k.out for k in keeps), exact=exact)
    launches = sum(not step.op.view for step in loop.body if isinstance(step, Compute))
    return StepsProgram(
        program, most, held, tuple(map(each.index, wanted)), len(each), each.index(end[0]) if end else None, launches
    )


def _reasons(loop: Loop, most: int) -> Iterator[str]:
    """The reasons why the steps of a loop do anything but launch."""
    if loop.profile:
        yield "it is profiled"
    for step in loop.body:
        if not isinstance(step, Compute):
            yield f"a {'loop' if isinstance(step, Loop) else 'branch'} in it asks the device for a number"
        elif not may_be_captured(step):
            yield f"{step.op.name} is more than launches"
        elif loop.until is not None and "array" in step.op.options.get("index", ()):
            yield "it may end early, and an index after the end may be out of range"
    if any(s.depth > most for s in loop.states):
        yield f"a state looks more than {most} steps back"
    if not any(isinstance(step, Compute) and not step.op.view for step in loop.body):
        yield "it launches nothing"
