"""scan_checkpoints: a loop of loops, of which gradients keep the states at a few steps only.

The outer loop keeps one state every so many steps; the gradient of its step runs the inner loop
again from there.  Source: the documents' "Reducing Scan's memory usage".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce, wraps
from typing import Any

import numpy as np

from scanopt.array.batching import dims_of
from scanopt.array.constants import as_tensor_variable
from scanopt.array.entries import FUNCTIONS
from scanopt.array.variable import Constant, Variable, describe
from scanopt.loops.canonical import as_list
from scanopt.loops.location import user_location
from scanopt.loops.options import Options
from scanopt.loops.require import require
from scanopt.loops.scan import loop, returned
from scanopt.loops.shapes import abstract_values
from scanopt.loops.site import Site, show
from scanopt.loops.steps import given_steps, rows_of
from scanopt.loops.until import until

__all__ = ["scan_checkpoints"]


def scan_checkpoints(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    name: str | None = "checkpointscan_fn",
    n_steps: Any = None,
    save_every_N: int | None = None,
    padding: bool = True,
    *,
    checkpoint: str | None = None,
    memory_budget: float | None = None,
) -> Any:
    """scan for gradients in little memory: (outputs, updates), of which every save_every_N-th row is there.

    fn, sequences, outputs_info, non_sequences, n_steps, name: as for `scan`, without taps; all sequences
        have n_steps rows.
    save_every_N: steps from one kept state to the next, 10 if not given.  The last row of the outputs
        is that of the last step, whether or not N divides the number of steps.
    padding: False says that N divides the number of steps, which saves a copy of the sequences.
    checkpoint: "auto" chooses N: the least for which the states kept fit into memory_budget (bytes;
        without one, the square root of the number of steps, which keeps the fewest).
    Values and gradients are those of `scan`; the forward loop is computed twice.
    Raises ValueError for taps, until, n_steps that are not the length of the sequences (when it runs,
        if lengths are not known before), and a number of steps that N does not divide with padding=False.

    >>> from scanopt import tensor as T
    >>> powers, _ = scan_checkpoints(lambda s, a: s * a, None, [1.0], [T.dscalar("a")], n_steps=100, save_every_N=10)
    >>> str(powers.type)
    'float64[10]'
    """
    site = Site("scan_checkpoints", user_location())
    inputs = [_no_taps(site, x, f"sequences[{i}]", "input") for i, x in enumerate(as_list(sequences))]
    xs = [site.array(x, f"sequences[{i}]") for i, x in enumerate(inputs)]
    infos = [_no_taps(site, x, f"outputs_info[{i}]", "initial") for i, x in enumerate(as_list(outputs_info))]
    held = as_list(non_sequences)
    steps = _steps(site, xs, n_steps)
    every = _every(site, save_every_N, checkpoint, memory_budget, steps, infos)
    chunks, padded = _chunks(site, steps, every, padding)
    parts = [_cut(x, every, chunks, padded) for x in xs]
    states = sum(x is not None for x in infos)

    def chunk(*args: Any) -> Any:
        rows, (i, *rest) = args[: len(parts)], args[len(parts) :]
        now, more = rest[:states], rest[states:]
        count = FUNCTIONS["minimum"](every, steps - i * every) if padded else every
        start = iter(now)
        info = [None if x is None else next(start) for x in infos]
        taken = [x[:count] for x in rows] if padded else list(rows)
        options = Options(name)
        traces, updates = loop("scan_checkpoints", _plain(site, fn), taken, info or None, list(more), count, options)
        return [trace[-1] for trace in traces], updates

    order = [*parts, FUNCTIONS["arange"](chunks)]
    options = Options(f"{name}_chunks" if name else None)
    outputs, updates = loop("scan_checkpoints", chunk, order, infos or None, held, None, options)
    return returned(site, outputs, updates)


def _no_taps(site: Site, entry: Any, label: str, key: str) -> Any:
    """A sequence or initial state without taps."""
    if not isinstance(entry, dict):
        return entry
    if entry.get("taps") is not None:
        raise site.error(
            ValueError,
            f"{label} has taps {show(entry['taps'])}: only the step before can be read when steps are "
            "recomputed from checkpoints; use scan, or put earlier values into the state",
        )
    unknown = [k for k in entry if k not in (key, "taps")]
    if unknown:
        raise site.error(ValueError, f"{label} has the unknown key {unknown[0]!r}; a dict here has {key!r}")
    return None if "taps" in entry else entry.get(key)


def _steps(site: Site, xs: Sequence[Variable], n_steps: Any) -> Variable:
    """The number of steps: the length of all sequences, or what is given."""
    if n_steps is None:
        if not xs:
            raise site.error(ValueError, "the number of steps is not known: give n_steps or a sequence")
        n, who = rows_of(xs[0]), "the first sequence has"
    else:
        n, who = given_steps(site, n_steps), "n_steps is"
    for i, x in enumerate(xs):
        rows = rows_of(x)
        text = f"sequences[{i}] ({describe(x)}) has {{found}} rows, but {who} {{expected}}"
        known = rows.operand.value, n.operand.value
        if known[0] is not None and known[1] is not None:
            if known[0] != known[1]:
                raise site.error(
                    ValueError, text.format(found=known[0], expected=known[1]) + ": with checkpoints all are equal"
                )
        elif rows is not n:
            n = n + 0 * require(rows, n, f"{site.function} ({site.location}): {text}", relation="eq")
    return n


def _every(site: Site, given: Any, checkpoint: Any, budget: Any, steps: Variable, infos: Sequence[Any]) -> Variable:
    """How many steps lie between two states that are kept."""
    if checkpoint is None:
        if budget is not None:
            raise site.error(ValueError, 'memory_budget is for checkpoint="auto"')
        every = given_steps(site, 10 if given is None else given, "save_every_N")
        value = every.operand.value
        if value is not None and value < 1:
            raise site.error(ValueError, f"save_every_N must be at least 1, found {value}")
        return every
    if checkpoint != "auto" or given is not None:
        raise site.error(ValueError, f'checkpoint is "auto" (without save_every_N) or None, found {show(checkpoint)}')
    n = FUNCTIONS["maximum"](steps, 1).astype("float64")
    least = FUNCTIONS["ceil"](FUNCTIONS["sqrt"](n))
    if budget is not None:
        if not isinstance(budget, int | float) or budget <= 0:
            raise site.error(ValueError, f"memory_budget is a positive number of bytes, found {show(budget)}")
        rows = budget / FUNCTIONS["maximum"](_bytes(site, infos), 1).astype("float64")
        room = rows * rows - 4 * n  # N + n/N <= rows has solutions where this is not negative
        root = FUNCTIONS["sqrt"](FUNCTIONS["maximum"](room, 0.0))
        first = FUNCTIONS["ceil"]((rows - root) / 2)
        least = FUNCTIONS["where"](room < 0, least, FUNCTIONS["clip"](first, 1.0, least))
    return _folded(least.astype("int64"))


def _folded(n: Variable) -> Variable:
    """n as a constant where it is made of constants."""
    value = abstract_values([n], {})[n].value
    return n if value is None else Constant(np.int64(value))


def _bytes(site: Site, infos: Sequence[Any]) -> Variable:
    """The size of all states of one step."""
    sizes: list[Variable] = [Constant(np.int64(0))]
    for i, x in enumerate(infos):
        if x is not None:
            v = site.array(x, f"outputs_info[{i}]")
            size: Any = np.dtype(v.dtype).itemsize
            for n in dims_of(v):
                size = size * n
            sizes.append(as_tensor_variable(size).astype("int64"))
    return reduce(FUNCTIONS["add"], sizes)


def _chunks(site: Site, steps: Variable, every: Variable, padding: bool) -> tuple[Variable, bool]:
    """How many chunks there are, and whether the last may be shorter."""
    n, k = steps.operand.value, every.operand.value
    if n is not None and k is not None:
        if n % k and not padding:
            raise site.error(
                ValueError, f"padding=False needs a number of steps that save_every_N={k} divides, found {n}"
            )
        return Constant(np.int64(-(-int(n) // int(k)))), bool(n % k)
    if padding:
        return -(-steps // every), True
    text = f"{site.function} ({site.location}): padding=False needs a number of steps that save_every_N divides: "
    rest = require(steps % every, Constant(np.int64(0)), text + "{found} steps are left over", relation="eq")
    return (steps + rest) // every, False


def _cut(x: Variable, every: Variable, chunks: Variable, padded: bool) -> Variable:
    """x in chunks of rows; zeros fill the last."""
    if padded:
        lack = chunks * every - rows_of(x)
        filler = FUNCTIONS["zeros"]((lack, *dims_of(x)[1:]), dtype=x.dtype)
        x = FUNCTIONS["concatenate"]([x, filler], 0)
    parts: Variable = x.reshape((chunks, every, *dims_of(x)[1:]), ndim=x.ndim + 1)
    return parts


def _plain(site: Site, fn: Any) -> Any:
    """fn, which may not end the loop."""
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
