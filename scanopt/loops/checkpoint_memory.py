"""Estimates the memory of the gradient of a loop with checkpoints, and finds the best number of steps in a chunk.

For each of its steps, the gradient of one chunk holds the values of the step, derivatives and adjoints.  Their number
was measured, not proved: up to 3 times the values of the step and its outputs for simple operators, and more for
others (a power holds 11 rows).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from scanopt.array.batching import dims_of
from scanopt.array.constants import as_tensor_variable
from scanopt.array.entries import FUNCTIONS
from scanopt.array.lengths import lengths
from scanopt.array.variable import Apply, Constant, Node, Variable
from scanopt.loops.graph import schedule
from scanopt.loops.location import warn_at
from scanopt.loops.node import MitSot, Scan
from scanopt.loops.rebuild import rebuild
from scanopt.loops.shapes import abstract_values
from scanopt.loops.site import Site
from scanopt.records import dataclass

__all__ = ["Peak", "folded", "peak_of"]

_PER_STEP = 3.0
"""The bytes that a chunk's gradient holds for a step, per byte that the step computes or outputs."""

_OTHERS = 3.0
"""The number of simple operators that an operator counts for if it is not simple."""

_SIMPLE = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "negative",
        "absolute",
        "square",
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "tanh",
        "sigmoid",
        "softmax",
        "maximum",
        "minimum",
        "where",
        "dot",
        "sum",
        "mean",
        "max",
        "cumsum",
        "sort",
        "getitem",
        "concatenate",
        "stack",
        "reshape",
        "transpose",
        "expand_dims",
        "broadcast_to",
        "cast",
        "shape",
    ]
)
"""Simple operators: they were measured to hold at most 3 rows each, or are much like these."""

_PER_HELD = 10.0
"""The bytes of a gradient with respect to a non-sequence, per byte of it: sums, their copies, and the result."""

Env = Mapping[Variable, Variable]


@dataclass(frozen=True)
class Peak:
    """Estimated bytes: base + chunk * (number of chunks) + step * (steps of a chunk + 1)."""

    steps: Variable
    base: Variable
    chunk: Variable
    step: Variable

    def best(self) -> Variable:
        """The number of steps in a chunk with which the peak is least."""
        return self._inside(FUNCTIONS["floor"](FUNCTIONS["sqrt"](self.chunk * self.steps / self.step) + 0.5))

    def within(self, budget: float) -> Variable:
        """The least number of steps in a chunk that keeps within the budget; if none does, `best`."""
        free = budget - self.base - self.step - self.chunk  # the last chunk may be a short one
        room = free * free - 4 * self.step * self.chunk * self.steps
        root = FUNCTIONS["sqrt"](FUNCTIONS["maximum"](room, 0.0))
        first = self._inside(FUNCTIONS["ceil"]((free - root) / (2 * self.step)))
        fits = FUNCTIONS["logical_and"](free > 0.0, self.bytes(first) <= budget)
        chosen: Variable = FUNCTIONS["where"](fits, first, self.best())
        return chosen

    def bytes(self, every: Variable) -> Variable:
        """The peak in bytes with `every` steps in a chunk."""
        n: Variable = self.base + self.chunk * FUNCTIONS["ceil"](self.steps / every) + self.step * (every + 1)
        return n

    def warn(self, site: Site, budget: float) -> None:
        """Warn if it is known before the run that no number of steps keeps within the budget."""
        best, kept = self.best(), self.bytes(self.within(budget))
        every, least, taken = (_known(v) for v in (best, self.bytes(best), kept))
        if every is None or least is None or taken is None or taken <= budget:
            return
        text = (
            f"no save_every_N keeps within memory_budget={budget:.4g} bytes: the least estimate is {least:.4g}, of "
            f"save_every_N={every:.0f}, which is taken {site.place}"
        )
        warn_at(site.location, text)

    def _inside(self, n: Variable) -> Variable:
        kept: Variable = FUNCTIONS["minimum"](FUNCTIONS["maximum"](n, 1.0), self.steps)
        return kept


def folded(n: Variable) -> Variable:
    """n as an integer, as a constant if it is computed from constants."""
    value = _known(n)
    return n.astype("int64") if value is None else Constant(np.int64(value))


def _known(n: Variable) -> float | None:
    """The number n if it is known before the run, else None."""
    value = abstract_values([n], {})[n].value
    return None if value is None else float(value)


def peak_of(node: Scan, padding: bool) -> Peak:
    """The estimate for a loop without taps.  node: the loop before it is cut into chunks, with all steps."""
    env = _outside(node, {})
    outputs = _sum(_size(v, env) for v in node.traced)
    held = [_size(v, {}) for v in _held(node)]
    # A gradient that is summed elementwise may be kept for every chunk, and is then no larger than a state.
    each = _sum([outputs, *(FUNCTIONS["minimum"](size, outputs) for size in held)])
    copies = _sum(_size(s.u_outer, {}) for s in node.sequences) if padding else Constant(np.float64(0))
    step = _PER_STEP * (_computed(node, env) + outputs)
    steps = FUNCTIONS["maximum"](node.n_steps, 1).astype("float64")
    return Peak(steps, copies + _PER_HELD * _sum(held), each, FUNCTIONS["maximum"](step, 1.0))


def _held(node: Scan) -> list[Variable]:
    """The non-sequences and shared variables with respect to which there may be a gradient."""
    return [s.w_outer for s in node.non_sequences if np.dtype(s.w_outer.dtype).kind in "fc"]


def _outside(node: Scan, env: Env) -> dict[Variable, Variable]:
    """For each variable that a step reads, a variable of the same shape outside the loop.

    env: the same for the variables around the loop, if the loop is in a step itself.
    """
    found = dict(env)
    found.update((s.w_inner, _of(s.w_outer, env)) for s in node.non_sequences if s.w_inner is not s.w_outer)
    found.update((s.u_inner, _row(_of(s.u_outer, env))) for s in node.sequences)
    for state in node.states:
        start = _of(state.init_outer, env)
        row = _row(start) if isinstance(state, MitSot) else start
        found.update((v, row) for v in state.input_states if v is not row)
    found.update((v, _row(_of(m.buffer_outer, env))) for m in node.mit_mots for v in m.input_states)
    return found


def _of(v: Variable, env: Env) -> Variable:
    return rebuild([v], env)[0]


def _row(x: Variable) -> Variable:
    """An array with the shape of a row of x, even if x has no rows."""
    row: Variable = FUNCTIONS["zeros"](dims_of(x)[1:], dtype=x.dtype)
    return row


def _computed(node: Scan, env: Env) -> Variable:
    """The bytes of all values that one step computes; a loop inside it counts with all of its steps."""
    sizes: list[Variable] = []
    for inner in schedule(node.inner_outputs):
        if isinstance(inner, Scan):
            count = FUNCTIONS["absolute"](_of(inner.n_steps, env)).astype("float64")
            sizes.append(count * _computed(inner, _outside(inner, env)))
        else:
            sizes += [_weighed(inner, v, env) for v in inner.outputs]
    return _sum(sizes)


def _weighed(node: Node, v: Variable, env: Env) -> Variable:
    """The bytes of v, and more if its operator is not simple: its derivative holds values as large as its inputs."""
    size = _size(v, env)
    if np.dtype(v.dtype).kind not in "fc" or not isinstance(node, Apply) or node.op.name in _SIMPLE:
        return size
    largest: Variable = reduce(FUNCTIONS["maximum"], (_size(x, env) for x in node.inputs), size)
    return size + (_OTHERS - 1) * largest


def _size(v: Variable, env: Env) -> Variable:
    """The bytes of v."""
    size: Any = float(np.dtype(v.dtype).itemsize)
    for n in lengths(v):
        size = size * (_of(n, env) if isinstance(n, Variable) else n)
    total: Variable = as_tensor_variable(size).astype("float64")
    return total


def _sum(sizes: Iterable[Variable]) -> Variable:
    return reduce(FUNCTIONS["add"], sizes, Constant(np.float64(0)))
