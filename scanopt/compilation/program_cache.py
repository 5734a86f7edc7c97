"""Optimized programs on disk: a program that was optimized before, in any process, is read and not optimized again.

A file's name is the hash of everything that decides which program is chosen: the terms of the graph, laws, settings and
sizes, and the files of this library.  Programs that also depend on something else are not kept: on laws, operators,
cost models or schedules of the user's, on how much memory or time there was.  The e-graph in which programs for other
sizes are looked for is kept beside the program.  Files are private to the user and checked for changes
(`scanopt/cached_files.py`); one that cannot be read is written again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scanopt.analysis.sizes import example_operands
from scanopt.array.op import TABLE, OpSpec
from scanopt.cached_files import CachedFiles, unpickled
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import unbatched
from scanopt.compilation.alternatives import Alternatives, Known
from scanopt.compilation.report import Report
from scanopt.config import config
from scanopt.egraph.schedule import EVERYTHING
from scanopt.extensions import extension_modules
from scanopt.extraction.calibrated_cost import unit_of
from scanopt.extraction.cost import numpy_cost
from scanopt.installation import installation
from scanopt.program.ir import Program
from scanopt.program.storage.placement import Storage, keep_storage, storage_of

if TYPE_CHECKING:
    from scanopt.compilation.compiled_function import Function
    from scanopt.compilation.planning import OptimizationPlan

__all__ = ["PROGRAMS", "file_of", "keep_program", "kept_program"]

PROGRAMS = CachedFiles("programs", ".program", most=2000)
LARGEST = 2**24
"""The most bytes of a file: programs with larger constants are not kept."""


def file_of(plan: OptimizationPlan) -> Path | None:
    """The file of a plan's program; None if it may not be kept, or there is no folder for it."""
    if not _may_be_kept(plan):
        return None
    text = "\n".join(map(repr, _told(plan)))
    with suppress(OSError):
        return PROGRAMS.path(f"{installation()}\n{text}")
    return None


def kept_program(file: Path, encode_seconds: float) -> Known | None:
    """The program kept in a file, with its report and alternatives; None where it has to be optimized.

    encode_seconds: the time that encoding the graph took, for the report.
    """
    start = time.perf_counter()
    found: tuple[Program, Storage, Report, Alternatives | None] | None = unpickled(file)
    if found is None:
        return None
    program, storage, report, alternatives = found
    keep_storage(program, storage)
    seconds = {"encode": encode_seconds, "load": time.perf_counter() - start}
    return Known(program, replace(report, seconds=seconds, law_seconds={}, cached=True), alternatives)


def keep_program(file: Path, made: Function, memory: float | None) -> None:
    """Keep the program of a function in a file, if that can be written.

    memory: the most bytes that it may hold, None for what was free on the machine: then it is kept only if that could
    not matter.
    """
    program, report = made.program, made.report
    if report.stopped_by or not report.fits or (memory is None and report.budget < float("inf")):
        return
    PROGRAMS.save(file, (program, storage_of(program), report, made.alternatives), LARGEST)


def _may_be_kept(plan: OptimizationPlan) -> bool:
    """Whether `_told` and the installation contain everything that decides which program is chosen."""
    return (
        config.compilation_cache
        and plan.request.optimizes
        and not plan.request.profiled
        and not plan.request.laws.own
        and not extension_modules()
        and bool(installation())
        and plan.settings.schedule == EVERYTHING
        and bool(unit_of(plan.settings.cost))
        and all(map(_is_ours, _specs(plan.program)))
    )


def _specs(program: Encoded) -> set[str]:
    """The names of the operators of a program."""
    return {unbatched(f.operator)[0].name for _, f in program.forms() if f.operator is not None}


@cache
def _is_ours(name: str) -> bool:
    """Whether all functions of an operator are this library's own, so that its files define them."""
    spec = TABLE[name]
    functions = [x for x in (getattr(spec, f.name) for f in fields(OpSpec)) if callable(x)]
    return all(str(getattr(x, "__module__", "")).partition(".")[0] == "scanopt" for x in functions)


def _told(plan: OptimizationPlan) -> Iterator[Any]:
    """Yield everything that decides which program is chosen."""
    s, program = plan.settings, plan.program
    yield plan.request.backend, plan.request.adapts, s.fp, s.limits, s.extraction_seconds, s.exact, s.in_place, s.memory
    yield s.matmul_precision
    yield "numpy" if s.cost is numpy_cost else s.cost
    yield sorted(plan.request.laws.excluded), plan.request.laws.modes
    for key, x in example_operands(program, s.example).items():
        yield key, x.dtype, x.shape, None if x.value is None else x.value.item()
    for c, f in program.forms():
        yield c, f.kind, f.args, f.key, f.operator, f.clock, f.state, f.k
    yield program.clocks, program.states, program.roots, program.checks, program.inputs, program.mode
    yield program.input_labels, program.input_axes, program.written, program.locations, program.same_lengths
