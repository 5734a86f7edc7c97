"""Measurements for a history: the seconds of its programs and kernels, and the forms that laws made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic, perf_counter
from typing import Any

from scanopt.backends import executor
from scanopt.compilation.callable import compiled
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.measuring import least_seconds, settle, shared_kept, values_of
from scanopt.history.kernels import HistoryKernel, inside_of
from scanopt.program.ir import Compute, Input, Program
from scanopt.program.names import Names, given
from scanopt.program.text import names_made, names_read

__all__ = ["forms_by_round", "seconds_of_kernels", "seconds_of_programs"]

_BUDGET = 0.05  # seconds of calls that are timed at once
_LONGEST = 3.0  # seconds of one program, once its kernels are there
_MOST, _PART = 12, 0.005  # the most kernels timed, each of at least this part of the cost


def seconds_of_programs(f: Function, programs: Sequence[Program]) -> list[float] | None:
    """Seconds of one call of each program with the function's example, or with what it was last called with.

    None where there is neither.
    """
    values = values_of(f)
    if values is None:
        return None
    out: list[float] = []
    with shared_kept(f) as restore:
        for program in programs:
            run = f.with_program(program)
            out.append(_settled(lambda run=run: run(*values)))  # type: ignore[misc]
            restore()
    return out


def seconds_of_kernels(f: Function, program: Program, kernels: Sequence[HistoryKernel]) -> dict[int, float]:
    """Seconds of the costliest kernels of a program, each by itself, by their numbers; {} where there are no values.

    Each is timed as a program of its own, called with the values that it reads: so the call from Python counts, and
    kernels before and after it have no influence.
    """
    values = values_of(f)
    if values is None:
        return {}
    whole = sum(k.cost for k in kernels)
    some = [n for n, k in enumerate(kernels) if k.cost > _PART * whole]
    some = sorted(sorted(some, key=lambda n: -kernels[n].cost)[:_MOST])
    types, known = Names(program).types, {x.name for x in given(program)}
    reads = {n: _read(kernels[n]) for n in some}
    made = tuple(dict.fromkeys(name for names in reads.values() for name in names if name not in known))
    clock = getattr(executor(f.backend), "clock", perf_counter)
    with shared_kept(f):
        arguments = f._signature.read(values, {})
        run = compiled(program, f.backend)
        settle(lambda: run(arguments))
        one = any(x.loop == "the program" for x in run.kernels)
        found = compiled(replace(program, outputs=made, checks=()), f.backend)(arguments) if made else []
    have = dict(zip((x.name for x in program.inputs), arguments, strict=True)) | dict(zip(made, found, strict=True))
    out: dict[int, float] = {}
    for n, names in reads.items():
        own = [name for name in names if name in have]
        part = replace(
            program, inputs=tuple(Input(x, types[x]) for x in own), steps=kernels[n].steps, outputs=kernels[n].makes,
            checks=(), profile=(),
        )  # fmt: skip
        steps = not one and isinstance(kernels[n].steps[-1], Compute)  # no kernel in C, as in the program
        backend = "numpy" if steps and f.backend == "auto" else f.backend
        call = partial(compiled(part, backend), [have[x] for x in own])
        out[n] = least_seconds(call, _BUDGET, clock) if steps else _settled(call, clock)
    return out


def _read(k: HistoryKernel) -> list[str]:
    """The names made before a kernel that it reads."""
    own = {name for step in k.steps for name in (*names_made(step), *inside_of(step))}
    return [name for name in dict.fromkeys(x for step in k.steps for x in names_read(step)) if name not in own]


def _settled(call: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Seconds of a call once its kernels are compiled, and for as long as it gets faster."""
    settle(call)
    start = monotonic()
    best = least_seconds(call, _BUDGET, clock)
    while monotonic() - start < _LONGEST:
        again = least_seconds(call, _BUDGET, clock)
        faster, best = again < 0.8 * best, min(best, again)
        if not faster:
            break
    return best


def forms_by_round(f: Function) -> list[dict[str, Any]]:
    """Per round the forms that each law made, and those of facts: the laws run once more, one after the other."""
    g = f.growth()
    return [
        {"made": {x.law: x.made[n] for x in g.laws if n < len(x.made) and x.made[n]}, "facts": g.facts[n]}
        for n in range(len(g.facts))
    ]
