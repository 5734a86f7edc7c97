"""scan_checkpoints: a loop of loops, whose gradient keeps the states of only a few steps.

Each step of the outer loop runs a chunk of steps as an inner loop and keeps only the state after it; its
gradient runs the inner loop again from there.  Source: the documents' "Reducing Scan's memory usage".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from scanopt.array.batching import dims_of
from scanopt.array.entries import FUNCTIONS
from scanopt.array.variable import Constant, Variable, describe
from scanopt.loops.canonical import Initial, SequenceArg, as_list, initials, non_sequence_args, sequence_args
from scanopt.loops.checkpoint_memory import folded, peak_of
from scanopt.loops.location import user_location
from scanopt.loops.node import Requirement, Scan
from scanopt.loops.options import Options, check_truth
from scanopt.loops.require import require
from scanopt.loops.scan import Arguments, loop, returned, scan_node
from scanopt.loops.site import Site, is_bare, show
from scanopt.loops.step import Building, check_step
from scanopt.loops.steps import given_steps, literal, not_negative, plan, requirement, rows_of
from scanopt.loops.until import until

__all__ = ["TapsError", "scan_checkpoints"]


class TapsError(RuntimeError, ValueError):
    """A loop with checkpoints was given taps: a RuntimeError, as in Theano, and a ValueError, as for `scan`."""


def scan_checkpoints(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    name: str | None = "checkpointscan_fn",
    n_steps: Any = None,
    save_every_N: int | None = None,
    padding: bool = True,
    return_list: bool = False,
    return_updates: bool = True,
    *,
    checkpoint: str | None = None,
    memory_budget: float | None = None,
) -> Any:
    """scan for gradients in little memory: (outputs, updates), where outputs have every save_every_N-th row.

    fn, sequences, outputs_info, non_sequences, n_steps, name: as for `scan`, without taps; sequences have n_steps rows.
    save_every_N: steps from one kept state to the next, 10 if not given.  The last row of the outputs
        is that of the last step, whether or not N divides the number of steps.
    padding: False says that N divides the number of steps, which saves a copy of the sequences.
    checkpoint: "auto" chooses N by an estimate of the gradient's peak memory: the least N that stays within
        memory_budget (bytes); without a budget, or if no N stays within it, the N with the lowest peak; in the
        latter case with a UserWarning if the sizes are known before the run.
    return_list, return_updates: as for `scan`.
    Values and gradients are those of `scan`; the forward loop is computed twice.
    Raises TypeError, ValueError as `scan` does; TapsError, which is the documents' RuntimeError and a ValueError, for
    taps; ValueError for until, n_steps that are negative or not the length of the sequences (when it runs, if lengths
    are not known before), and a number of steps that N does not divide with padding=False.

    >>> from scanopt import tensor as T
    >>> powers, _ = scan_checkpoints(lambda s, a: s * a, None, [1.0], [T.dscalar("a")], n_steps=100, save_every_N=10)
    >>> str(powers.type)
    'float64[10]'
    """
    site = Site("scan_checkpoints", user_location())
    check_truth(site, "padding", padding)
    xs, infos = _sequences(site, sequences), _initials(site, outputs_info)
    held = as_list(non_sequences)
    steps, requires = _steps(site, xs, n_steps)
    options = Options(name)
    if _is_auto(site, save_every_N, checkpoint, memory_budget):
        whole = _whole(site, _plain(site, fn), xs, infos, held, steps, options)
        every = _chosen(site, whole, memory_budget, padding)
    else:
        every = _every(site, save_every_N, steps, padding)
    chunks, padded = _chunks(site, steps, every, padding)
    parts = [_cut(x, every, chunks, padded) for x in xs]

    def chunk(*args: Any) -> Any:
        rows, (i, *rest) = args[: len(xs)], args[len(xs) :]
        count = FUNCTIONS["minimum"](every, steps - i * every) if padded else every
        taken = [_named(r[:count] if padded else r, x) for r, x in zip(rows, xs, strict=True)]
        return _last_of_chunk(_plain(site, fn), taken, infos, rest, count, options)

    order = [*parts, FUNCTIONS["arange"](chunks)]
    around = Options(f"{name}_chunks" if isinstance(name, str) and name else name, bounded=True, requires=requires)
    begin = [x.value if x.fed_back else None for x in infos]
    outputs, updates = loop("scan_checkpoints", chunk, order, begin or None, held, None, around).done()
    return returned(site, outputs, updates, return_list, return_updates)


def _last_of_chunk(
    fn: Callable[..., Any],
    rows: list[Variable],
    infos: tuple[Initial, ...],
    rest: list[Any],
    count: Any,
    options: Options,
) -> Any:
    """The last rows of a chunk of `count` steps, and its updates.  rest: initial states, then non-sequences."""
    start = iter(rest)
    info = [_named(next(start), x.value) if x.fed_back else None for x in infos]
    traces, updates = loop("scan_checkpoints", fn, rows, info or None, list(start), count, options).done()
    return [trace[-1] for trace in traces], updates


def _sequences(site: Site, sequences: Any) -> list[Variable]:
    """The sequences, without taps."""
    args = sequence_args(site, sequences)
    for x in args:
        if x.taps != (0,):
            raise _taps_error(site, x)
    return [x.variable for x in args]


def _initials(site: Site, outputs_info: Any) -> tuple[Initial, ...]:
    """The entries of outputs_info.  Raises TapsError for taps."""
    found = initials(site, outputs_info) or ()
    for x in found:
        if x.fed_back and not x.single:
            raise _taps_error(site, x)
    return found


def _taps_error(site: Site, x: SequenceArg | Initial) -> Exception:
    return site.error(
        TapsError,
        f"{x.label} has taps {list(x.taps)}: only the step before can be read when steps are recomputed from "
        "checkpoints; use scan, or put earlier values into the state",
    )


def _named(v: Any, like: Any) -> Any:
    """v, given the name of `like`."""
    if isinstance(like, Variable):
        v.name = like.name
    return v


def _steps(site: Site, xs: Sequence[Variable], n_steps: Any) -> tuple[Variable, tuple[Requirement, ...]]:
    """The number of steps (n_steps or the length of all sequences), and the checks to do when it runs."""
    requires: list[Requirement] = []
    if n_steps is None:
        if not xs:
            raise site.error(ValueError, "the number of steps is not known: give n_steps or a sequence")
        n, who = rows_of(xs[0]), "the first sequence has"
    else:
        n, who = given_steps(site, n_steps), "n_steps is"
        for check in not_negative(site, "n_steps", n):
            n = check.check
    for i, x in enumerate(xs):
        rows = rows_of(x)
        text = (
            f"sequences[{i}] ({literal(describe(x))}) has {{found}} rows, but {who} {{expected}}: with checkpoints all "
            f"are equal; cut the longer ones {literal(site.place)}"
        )
        known = rows.operand.value, n.operand.value
        if known[0] is not None and known[1] is not None:
            if known[0] != known[1]:
                raise ValueError(text.format(found=known[0], expected=known[1]))
        elif rows is not n:
            requires.append(requirement("rows", rows, n, text, "eq"))
    return n, tuple(requires)


def _every(site: Site, given: Any, steps: Variable, padding: bool) -> Variable:
    """The number of steps between two kept states, as given by the user.  Raises ValueError unless it is positive."""
    every = given_steps(site, 10 if given is None else given, "save_every_N")
    text = f"save_every_N must be at least 1, found {{found}} {literal(site.place)}"
    value, rows = every.operand.value, steps.operand.value
    if value is None:
        return require(every, Constant(np.int64(1)), text)
    if value < 1:
        raise ValueError(text.format(found=value))
    return every if rows is None or value <= rows or not padding else Constant(np.int64(max(int(rows), 1)))


def _is_auto(site: Site, given: Any, checkpoint: Any, budget: Any) -> bool:
    """Whether scanopt chooses the number of steps between two kept states.  Raises ValueError for wrong arguments."""
    if checkpoint is None:
        if budget is not None:
            raise site.error(ValueError, 'memory_budget is for checkpoint="auto"')
        return False
    if not isinstance(checkpoint, str) or checkpoint != "auto":
        raise site.error(ValueError, f'checkpoint is "auto" or None, found {show(checkpoint)}')
    if given is not None:
        text = given if is_bare(given) else show(given)
        raise site.error(
            ValueError, f'save_every_N={text} is given, but checkpoint="auto" chooses it: leave one of them out'
        )
    number = isinstance(budget, int | float | np.number) and not isinstance(budget, bool)
    if budget is not None and not (number and 0 < budget < np.inf):
        raise site.error(ValueError, f"memory_budget is a positive number of bytes, found {show(budget)}")
    return True


def _chosen(site: Site, node: Scan, budget: float | None, padding: bool) -> Variable:
    """The number of steps between two kept states, chosen by an estimate of memory."""
    peak = peak_of(node, padding)
    if budget is None:
        return folded(peak.best())
    peak.warn(site, float(budget))
    return folded(peak.within(float(budget)))


def _whole(
    site: Site,
    fn: Any,
    xs: Sequence[Variable],
    infos: tuple[Initial, ...],
    held: Any,
    steps: Variable,
    options: Options,
) -> Scan:
    """The loop with all steps and without chunks, built only to estimate its memory."""
    options = options.checked(site)
    args = Arguments(sequence_args(site, list(xs)), infos, non_sequence_args(site, held), more=not infos)
    check_step(site, fn, args.labels())
    return Building(site, fn, scan_node(site, args, plan(site, args.sequences, steps, False), options)).done()


def _chunks(site: Site, steps: Variable, every: Variable, padding: bool) -> tuple[Variable, bool]:
    """The number of chunks, and whether the last one may be shorter."""
    n, k = steps.operand.value, every.operand.value
    if n is not None and k is not None:
        if n % k and not padding:
            raise site.error(
                ValueError,
                f"padding=False needs a number of steps that save_every_N={k} divides, found {n}: leave padding out",
            )
        return Constant(np.int64(-(-int(n) // int(k)))), bool(n % k)
    if padding:
        return -(-steps // every), True
    text = (
        "padding=False needs a number of steps that save_every_N divides: {found} steps are left over; leave padding "
        f"out, or choose another save_every_N {literal(site.place)}"
    )
    rest = require(steps % every, Constant(np.int64(0)), text, relation="eq")
    return (steps + rest) // every, False


def _cut(x: Variable, every: Variable, chunks: Variable, padded: bool) -> Variable:
    """x as an array of chunks of rows; the last one is filled up with zeros."""
    if padded:
        lack = chunks * every - rows_of(x)
        filler = FUNCTIONS["zeros"]((lack, *dims_of(x)[1:]), dtype=x.dtype)
        x = FUNCTIONS["concatenate"]([x, filler], 0)
    parts: Variable = x.reshape((chunks, every, *dims_of(x)[1:]), ndim=x.ndim + 1)
    return parts


def _plain(site: Site, fn: Any) -> Any:
    """fn, wrapped to raise ValueError if it returns an until."""
    if not callable(fn):
        return fn

    @wraps(fn)
    def step(*args: Any) -> Any:
        results = fn(*args)
        given = results if isinstance(results, list | tuple) else [results]
        if any(isinstance(r, until) for r in given):
            raise site.error(
                ValueError, "the step returns until(...): a loop with checkpoints has a given number of steps"
            )
        return results

    return step
