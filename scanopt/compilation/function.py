"""function(): a symbolic graph made callable, optimized on the way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from scanopt.array.variable import SharedVariable
from scanopt.backends import executor
from scanopt.calculus.law import Law, listed_laws, listed_names
from scanopt.compilation.cautions import warn_of_streams
from scanopt.compilation.chosen_laws import ChosenLaws
from scanopt.compilation.compiled_function import Function, watched
from scanopt.compilation.planning import OptimizationPlan, Request, checked_cost
from scanopt.compilation.program_cache import file_of, keep_program, kept_program
from scanopt.compilation.settings import Settings
from scanopt.compilation.signature import signature
from scanopt.compilation.threads import threads_of
from scanopt.config import config
from scanopt.egraph.schedule import Schedule, as_schedule
from scanopt.extraction.calibrated_cost import as_cost
from scanopt.extraction.cost import CostModel
from scanopt.loops.graph import loops_of
from scanopt.loops.shared import forgotten_streams
from scanopt.loops.site import is_truth, show
from scanopt.memory import as_bytes
from scanopt.modes import Mode, as_mode

__all__ = ["default_mode", "function"]


def function(
    inputs: Any,
    outputs: Any = None,
    updates: Any = None,
    givens: Any = None,
    mode: str | Mode | None = None,
    fp: str = "reassoc",
    backend: str = "auto",
    exclude: Iterable[str] = (),
    rules: Iterable[Law] = (),
    cost: CostModel | str | PathLike[str] | None = None,
    example: Sequence[Any] | None = None,
    on_unused_input: str = "raise",
    allow_input_downcast: bool | None = None,
    no_default_updates: bool | Iterable[SharedVariable] = False,
    name: str | None = None,
    schedule: Schedule | str | None = None,
    memory: float | str | None = None,
    profile: bool | str | None = None, adapt: bool | None = None, threads: int | str | None = None,
    rebuild_strict: bool = True, accept_inplace: bool = False, trust_input: bool = False,
) -> Function:  # fmt: skip
    """Compile symbolic outputs into a function of symbolic inputs.

    inputs: list of variables, pairs (variable, default value) or `In`s; a computed one cuts the graph there.
    outputs: a variable, or a list or dict of them (the function returns an array, a list or a dict), or None.
    updates: dict or pairs of shared variable and new value; all are set after each call, computed from values before.
    givens: dict or pairs of a variable and its replacement, as in `clone`.
    mode: a `Mode` or its name (default: config.mode); "unoptimized" runs the interpreter, "FAST_COMPILE" leaves out
    laws that take time to apply.  A loop with a mode of its own is rewritten by the laws that its mode allows.
    fp: "exact" (equal to the interpreter bit for bit), "reassoc" (rounding may differ) or "fast" (formulas may).
    backend: "auto" (NumPy, kernels in C for what takes long, CuPy where that pays), "numpy", "c" (kernels at once), or
    "cupy".  exclude: names of laws or rulesets to leave out, "inplace" for results in place.  rules: further laws.
    cost: a cost model: a function of `Work`, the name of one ("numpy" prices array steps, "default" what the executor
    runs), "calibrated", or a file of measured costs (default: config.cost).  schedule: a `Schedule` or its name: which
    laws run when (default: all, until nothing is new).  example: one value per input, for sizes.
    memory: the bytes that the program may hold at those sizes, beside its arguments: a number, "2GB", or "free" for
    what the machine has free (default: config.memory).  Warns if no program that was found holds so little.
    on_unused_input: "raise", "warn" or "ignore".  allow_input_downcast: True lets all arguments lose precision, False
    none, None (the default) only Python floats, alone or in lists.  no_default_updates: True, or the shared variables
    whose default updates are left out.  profile: True or a title collects times as `f.profile` (config.profile).
    adapt: programs chosen by sizes (config.adapt).  threads: on how many kernels may run, or "auto" (config.threads).
    rebuild_strict, accept_inplace, trust_input: accepted as in PyTensor, without effect: arguments are always checked.
    Warns once about random numbers of a loop whose updates were not passed.  Raises TypeError or ValueError.

    >>> from scanopt import tensor as T
    >>> x = T.vector("x")
    >>> function([x], (x * x).sum())([1.0, 2.0])
    array(5.)
    """
    chosen, own, order = as_mode(config.mode if mode is None else mode), listed_laws(rules), as_schedule(schedule)
    title = _profiled(config.profile if profile is None else profile, name)
    made_of = signature(inputs, outputs, updates, on_unused_input, allow_input_downcast, givens, no_default_updates)
    modes = (chosen, *(node.mode for node in loops_of(made_of.results) if node.mode is not None))
    laws = ChosenLaws(own, fp, listed_names(exclude), modes, order)
    settings = _settings(fp, _costs(cost, backend), order, laws.in_place, _limit(memory, backend))
    values, optimizes = None if example is None else made_of.read_example(example), any(m.optimizes for m in modes)
    run = chosen, bool(title), _adapts(adapt), threads_of(threads)
    warn_of_streams({} if no_default_updates is True else forgotten_streams(made_of.results, made_of.updates))
    asked = Request(made_of, laws, settings, backend, values, optimizes, *run)
    return watched(_made(OptimizationPlan(asked), name, title))


def default_mode() -> Mode:
    """The mode of functions where none is given: that of config.mode.

    >>> default_mode()
    Mode('optimized')
    """
    return as_mode(config.mode)


def _settings(fp: str, cost: CostModel, order: Schedule, in_place: bool, memory: float | None) -> Settings:
    return Settings(
        fp, cost, schedule=order, in_place=in_place, memory=memory, matmul_precision=config.matmul_precision
    )  # fmt: skip


def _made(plan: OptimizationPlan, name: str | None, title: str) -> Function:
    """The function of a plan, its program read from disk if it was optimized before, and kept there if not."""
    file = file_of(plan)
    kept = kept_program(file, plan.encode_seconds) if file else None
    if kept is None:
        _prepare(plan)
    made = Function(plan, name, kept, title)
    if file and kept is None:
        keep_program(file, made, plan.settings.memory)
    return made


def _prepare(plan: OptimizationPlan) -> None:
    """Import what optimization needs while the engine starts.  Raises ValueError where an unknown law is named."""
    if plan.request.optimizes:
        from scanopt.egraph.engine import begin_to_start

        begin_to_start()
        getattr(executor(plan.request.backend), "load", lambda: None)()
    _ = plan.laws


def _profiled(profile: Any, name: str | None) -> str:
    """The title of a function's profile, "" for none.  Raises TypeError for a name or a profile of the wrong type."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string, found {name!r}")
    if not (isinstance(profile, str) or is_truth(profile)):
        raise TypeError(f"profile must be True, False or a title, found {show(profile)}")
    return profile if isinstance(profile, str) else (name or "a function") if profile else ""


def _adapts(adapt: Any) -> bool:
    """Whether a function chooses programs by the sizes of calls.  Raises TypeError for anything but a truth value."""
    if not (adapt is None or is_truth(adapt)):
        raise TypeError(f"adapt must be True or False, found {show(adapt)}")
    return bool(config.adapt if adapt is None else adapt)


def _costs(cost: CostModel | str | PathLike[str] | None, backend: str) -> CostModel:
    """The cost model asked for, here or by config; by default that of the executor, which runs the program."""
    asked = config.cost if cost is None else cost
    if isinstance(asked, str) and asked == "default":
        own: CostModel | None = getattr(executor(backend), "cost", None)
        if own is not None:
            return checked_cost(own)
    return checked_cost(as_cost(asked))


def _limit(memory: float | str | None, backend: str) -> float | None:
    """The bytes that a program may hold; None for what the machine has free, infinity for that of a device."""
    found = as_bytes(config.memory if memory is None else memory)
    return math.inf if found is None and getattr(executor(backend), "on_device", False) else found
