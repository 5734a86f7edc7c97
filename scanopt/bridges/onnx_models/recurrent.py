"""Reads RNN, GRU and LSTM of ONNX as loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scanopt.tensor as T
from scanopt.array.batching import dim
from scanopt.array.ufuncs import elementwise
from scanopt.array.variable import Variable
from scanopt.bridges.onnx_models.elementwise import ACTIVATIONS, number
from scanopt.bridges.onnx_models.reading import OnnxNode, rule
from scanopt.bridges.onnx_models.shapes import reversed_rows
from scanopt.loops.carry import loop
from scanopt.records import dataclass

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_DEFAULT = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}

Step = Callable[[Variable, tuple[Variable, ...]], tuple[Variable, ...]]


@dataclass(frozen=True)
class _Cell:
    """The weights of one direction, and its activations.

    w: (gates * hidden, input), r: (gates * hidden, hidden), b: (2 * gates * hidden), p: (3 * hidden).
    """

    node: OnnxNode
    w: Variable
    r: Variable
    b: Variable | None
    p: Variable | None
    f: list[Callable[[Variable], Variable]]
    hidden: int

    def clipped(self, x: Variable) -> Variable:
        """The argument of an activation, clipped to the bounds that the node sets."""
        bound = self.node.get("clip")
        if bound is None:
            return x
        return elementwise("minimum", elementwise("maximum", x, number(-bound, x)), number(bound, x))

    def gate(self, x: Variable, i: int) -> Variable:
        """Part i of all gates, along the last axis."""
        found: Variable = x[..., i * self.hidden : (i + 1) * self.hidden]
        return found

    def bias(self, which: int) -> Variable | None:
        """The biases of the input (0) or of the state (1)."""
        n = _GATES[self.node.op] * self.hidden
        return None if self.b is None else self.b[which * n : (which + 1) * n]

    def of_input(self, xs: Variable) -> Variable:
        """The contribution of the inputs of all steps to the gates, in one product."""
        found: Variable = T.matmul(xs, T.transpose(self.w))
        b = self.bias(0)
        return found if b is None else found + b

    def rnn(self, x: Variable, states: tuple[Variable, ...]) -> tuple[Variable, ...]:
        """One step."""
        h = T.dot(states[0], T.transpose(self.r))
        b = self.bias(1)
        return (self.f[0](self.clipped(x + (h if b is None else h + b))),)

    def gru(self, x: Variable, states: tuple[Variable, ...]) -> tuple[Variable, ...]:
        """One step: update gate z, reset gate r, candidate n."""
        (h,), n = states, self.hidden
        b, both = self.bias(1), T.dot(states[0], T.transpose(self.r[: 2 * n]))
        both = x[..., : 2 * n] + (both if b is None else both + b[: 2 * n])
        z, r = (self.f[0](self.clipped(self.gate(both, i))) for i in range(2))
        last = T.transpose(self.r[2 * n :])
        extra = 0 if b is None else b[2 * n :]
        inner = r * (T.dot(h, last) + extra) if self.node.get("linear_before_reset", 0) else T.dot(r * h, last) + extra
        new = self.f[1](self.clipped(self.gate(x, 2) + inner))
        return ((number(1, z) - z) * new + z * h,)

    def lstm(self, x: Variable, states: tuple[Variable, ...]) -> tuple[Variable, ...]:
        """One step: gates i, o, f and the candidate, in ONNX's order; p: the peephole weights."""
        h, c = states
        b, gates = self.bias(1), x + T.dot(h, T.transpose(self.r))
        gates = gates if b is None else gates + b
        look = [0, 0, 0] if self.p is None else [self.gate(self.p, k) for k in range(3)]  # i, o, f
        i = self.f[0](self.clipped(self.gate(gates, 0) + look[0] * c))
        if self.node.get("input_forget", 0):
            f = number(1, i) - i
        else:
            f = self.f[0](self.clipped(self.gate(gates, 2) + look[2] * c))
        new = f * c + i * self.f[1](self.clipped(self.gate(gates, 3)))
        o = self.f[0](self.clipped(self.gate(gates, 1) + look[1] * new))
        return o * self.f[2](new), new


@rule("RNN", "GRU", "LSTM")
def _recurrent(node: OnnxNode) -> list[Variable]:
    x, w, r = node.x(0), node.x(1), node.x(2)
    batch_first = bool(node.get("layout", 0))
    x = T.transpose(x, (1, 0, 2)) if batch_first else x
    direction = node.get("direction", "forward")
    count, hidden = (2 if direction == "bidirectional" else 1), int(node.get("hidden_size"))
    lengths = node.optional(4)
    starts = [_start(node, i, x, hidden, count, batch_first) for i in ((5, 6) if node.op == "LSTM" else (5,))]
    rows: list[Variable] = []
    lasts: list[tuple[Variable, ...]] = []
    for d in range(count):
        cell = _Cell(
            node, w[d], r[d], _of(node.optional(3), d), _of(node.optional(7), d) if node.op == "LSTM" else None,
            _activations(node, d), hidden,
        )  # fmt: skip
        states = tuple(s[d] for s in starts)
        y, last = _run(cell, x, lengths, states, direction == "reverse" or d == 1)
        rows.append(y)
        lasts.append(last)
    y = T.stack(rows, 1)  # (time, directions, batch, hidden)
    finals = [T.stack([last[k] for last in lasts], 0) for k in range(len(starts))]
    if batch_first:
        y, finals = T.transpose(y, (2, 0, 1, 3)), [T.transpose(s, (1, 0, 2)) for s in finals]
    return [y, *finals]


def _of(x: Variable | None, d: int) -> Variable | None:
    return None if x is None else x[d]


def _start(node: OnnxNode, i: int, x: Variable, hidden: int, count: int, batch_first: bool) -> Variable:
    given = node.optional(i)
    if given is None:
        zeros: Variable = T.zeros((count, dim(x, 1), hidden), x.dtype)
        return zeros
    return T.transpose(given, (1, 0, 2)) if batch_first else given


def _activations(node: OnnxNode, d: int) -> list[Callable[[Variable], Variable]]:
    names = node.get("activations") or _DEFAULT[node.op] * 2
    each = len(_DEFAULT[node.op])
    alphas, betas = (list(node.get(f"activation_{k}", [])) for k in ("alpha", "beta"))
    found: list[Callable[[Variable], Variable]] = []
    for k, name in enumerate(names):
        known = ACTIVATIONS.get(name)
        if known is None:
            raise node.refused(f"the activation {name!r}")
        options: dict[str, Any] = {}
        if name in ("LeakyRelu", "Elu", "HardSigmoid", "Affine", "ScaledTanh", "ThresholdedRelu") and alphas:
            options["alpha"] = alphas.pop(0)
        if name in ("HardSigmoid", "Affine", "ScaledTanh") and betas:
            options["beta"] = betas.pop(0)
        if each * d <= k < each * (d + 1):
            found.append(lambda x, known=known, options=options: known(x, **options))  # type: ignore[misc]
    return found


def _run(
    cell: _Cell, x: Variable, lengths: Variable | None, states: tuple[Variable, ...], backwards: bool
) -> tuple[Variable, tuple[Variable, ...]]:
    """All rows and the last states of one direction.  lengths: for each lane, steps after which its state stays."""

    def turned(v: Variable) -> Variable:
        if not backwards:
            return v
        found: Variable = T.flip(v, 0) if lengths is None else reversed_rows(v, lengths)
        return found

    one: Step = getattr(cell, cell.node.op.lower())

    def step(carry: tuple[Variable, ...], row: tuple[Variable, ...]) -> Any:
        new = one(row[0], carry)
        if lengths is None:
            return new, new[0]
        there = T.expand_dims(T.lt(row[1], T.cast(lengths, "int64")), 1)
        kept = tuple(T.where(there, a, b) for a, b in zip(new, carry, strict=True))
        return kept, T.where(there, new[0], number(0, new[0]))

    rows: tuple[Variable, ...] = (cell.of_input(turned(x)),)
    rows = rows if lengths is None else (*rows, T.arange(dim(x, 0)))
    last, y = loop(step, states, rows)
    return turned(y), last
