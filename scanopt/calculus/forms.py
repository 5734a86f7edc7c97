"""Terms as plain data: what the encoder writes and what is read back from the e-graph.

A `TermGraph` has classes of values; each class lists the forms it is equal to.  Straight from the
encoder every class has one form; after saturation it has many, and extraction picks.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.modes import Mode
from scanopt.records import dataclass

__all__ = [
    "KEPT", "ROOT", "Batched", "ClockInfo", "Form", "Operator", "StateInfo", "TermGraph", "const_key",
    "const_value", "unbatched",
]  # fmt: skip

ROOT = -1
"""The clock of what lies outside all loops."""

KEPT = ("stack", "tail", "at", "recent")
"""The kinds of forms that are rows of a loop, kept for use outside it."""


class Batched(NamedTuple):
    """op along a new first axis of the arguments flagged "1"."""

    op: Operator
    flags: str

    @property
    def name(self) -> str:
        """The name of the operator with "batched" before it."""
        return f"batched {self.op.name}"

    @property
    def key(self) -> str:
        """Canonical text."""
        return f"vmap[{self.flags}]({self.op.key})"

    def __str__(self) -> str:
        return f"vmap[{self.flags}]({self.op})"


Operator = Op | Batched


def unbatched(operator: Operator) -> tuple[Op, list[str]]:
    """The operator of the table that is batched, and the flags of each batching, innermost first.

    >>> unbatched(Batched(Op.make("tanh"), "1"))
    (Op(name='tanh', params=()), ['1'])
    """
    if isinstance(operator, Op):
        return operator, []
    op, flags = unbatched(operator.op)
    return op, [*flags, operator.flags]


class Form(NamedTuple):
    """One term: its constructor and the classes it is made of.  A tuple, since it is looked up so often.

    kind: input, const (key), apply (operator, args), hold / seq (clock, args = (x,)), delay (clock,
    args = (init,), state, k), stack (clock, args = (v,)), tail and at (the same and k), recent (clock, args = (v, n)).
    """

    kind: str
    args: tuple[int, ...] = ()
    key: str = ""
    operator: Operator | None = None
    clock: int = ROOT
    state: int = -1
    k: int = 0

    @property
    def label(self) -> str:
        """The form in a few words, without its arguments."""
        match self.kind:
            case "apply":
                return str(self.operator)
            case "input" | "const":
                return f"{self.kind} {self.key}"
            case "delay" | "tail" | "at":
                return f"{self.kind} {self.k}"
            case kind:
                return kind

    @property
    def children(self) -> tuple[int, ...]:
        """The classes it is made of."""
        return self.args


@dataclass(frozen=True)
class ClockInfo:
    """A loop: the clock around it and the class of its number of steps.

    labels: the user's names of the scans it stands for.  until: classes of the condition after
    which it ends, all equal; empty when it runs all its steps.  profile: titles under which its times are
    collected.  keep: whether buffers of its steps are kept from call to call.  sites: the names of those
    scans in messages, with the lines of the user's calls.  bounded: whether it must take little memory, and so may
    read and keep only the rows that it does as written.  mode: which laws may rewrite it; None: those that may
    rewrite the code around it.
    """

    level: int
    steps: int
    labels: tuple[str, ...] = ()
    until: tuple[int, ...] = ()
    profile: tuple[str, ...] = ()
    keep: bool = False
    sites: tuple[str, ...] = ()
    bounded: bool = False
    mode: Mode | None = None


@dataclass(frozen=True)
class StateInfo:
    """A carried state: its name for people, and the classes equal to its value at each step."""

    label: str
    updates: tuple[int, ...]


@dataclass
class TermGraph:
    """Classes of equal values, the loops and states that they refer to, and the results asked for.

    roots: classes of the results; checks: classes of run-time requirements.  written: for a class of values, the
    user's scans in whose step it was written, by their names in messages.
    """

    classes: dict[int, list[Form]] = field(default_factory=dict[int, list[Form]])
    clocks: dict[int, ClockInfo] = field(default_factory=dict[int, ClockInfo])
    states: dict[int, StateInfo] = field(default_factory=dict[int, StateInfo])
    roots: tuple[int, ...] = ()
    checks: tuple[int, ...] = ()
    inputs: dict[str, TensorType] = field(default_factory=dict[str, TensorType])
    input_labels: dict[str, str] = field(default_factory=dict[str, str])
    input_axes: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    consts: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict[str, np.ndarray[Any, Any]])
    written: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])

    @property
    def size(self) -> int:
        """Number of forms."""
        return sum(map(len, self.classes.values()))

    def same(self, other: TermGraph) -> bool:
        """Whether another graph is the same, with the same numbers in the same order.

        Constants are compared by their keys, which determine their bits.
        """
        return (
            [*self.classes.items()] == [*other.classes.items()]
            and (self.clocks, self.states, self.roots, self.checks, self.inputs)
            == (other.clocks, other.states, other.roots, other.checks, other.inputs)
            and (self.input_labels, self.input_axes, self.written)
            == (other.input_labels, other.input_axes, other.written)
            and self.consts.keys() == other.consts.keys()
        )

    def chain(self, clock: int) -> tuple[int, ...]:
        """The clocks around a value on `clock`, outermost first, `clock` last."""
        out: list[int] = []
        while clock != ROOT:
            out.append(clock)
            clock = self.clocks[clock].level
        return tuple(reversed(out))

    def forms(self) -> list[tuple[int, Form]]:
        """All pairs of class and form."""
        return [(c, f) for c, forms in self.classes.items() for f in forms]


def const_key(value: np.ndarray[Any, Any]) -> str:
    """The key of a constant: a text that is equal only for equal dtype, shape and bits."""
    if value.ndim == 0 and value.dtype.kind in "biu":
        return f"{value.dtype.name}:{int(value)}"
    if value.ndim == 0 and value.dtype.kind == "f" and not np.isnan(value):
        return f"{value.dtype.name}:{float(value).hex()}"
    import hashlib

    shape = "x".join(map(str, value.shape))
    return f"array:{value.dtype.name}:{shape}:{hashlib.sha1(value.tobytes()).hexdigest()}"


def const_value(key: str, consts: dict[str, np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The constant of a key."""
    if key in consts:
        return consts[key]
    dtype, _, text = key.partition(":")
    if dtype == "empty":
        dtype, _, shape = text.partition(":")
        return np.empty(tuple(int(n) for n in shape.split(",") if n), dtype)
    number = float.fromhex(text) if np.dtype(dtype).kind == "f" else int(text)
    return np.array(number, dtype)
