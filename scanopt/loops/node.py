"""The Scan node: a loop in the symbolic graph, with named slots.

Vocabulary of the documents: a *sequence* is read one entry per step; a *sit-sot* is a state fed
back from the step before, a *mit-sot* one fed back from several steps; a *nit-sot* is an output
that is not fed back; a *non-sequence* is the same at every step.  `_inner` names live in the step's
graph, `_outer` names in the graph that holds the Scan node; u is a sequence, w a non-sequence (a
parameter); a state is called input_state where the step reads it and output_state where it returns it.
"""

from __future__ import annotations

from dataclasses import field

from scanopt.array.shown import quoted
from scanopt.array.variable import Node, SharedVariable, Variable, describe
from scanopt.loops.queries import ScanQueries
from scanopt.modes import Mode
from scanopt.records import dataclass

__all__ = [
    "MitMot", "MitSot", "NitSot", "NonSequence", "Requirement", "Scan", "Sequence", "SharedState",
    "SitSot", "State", "wrong_rows",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sequence:
    """u_outer is already cut and shifted for its tap: step t reads u_outer[t] as u_inner."""

    u_outer: Variable
    u_inner: Variable
    tap: int = 0


@dataclass(frozen=True, eq=False)
class SitSot:
    """A state read one step back: init_outer has the state's own shape, with no time axis."""

    init_outer: Variable
    input_state: Variable
    output_state: Variable

    @property
    def taps(self) -> tuple[int, ...]:
        """The only tap, in the form of a mit-sot's."""
        return (-1,)

    @property
    def input_states(self) -> tuple[Variable, ...]:
        """The only value read, in the form of a mit-sot's."""
        return (self.input_state,)


@dataclass(frozen=True, eq=False)
class MitSot:
    """A state read at several steps back; row 0 of init_outer is the oldest.

    taps are negative and in the user's order; input_states[i] is the value -taps[i] steps back.
    """

    init_outer: Variable
    taps: tuple[int, ...]
    input_states: tuple[Variable, ...]
    output_state: Variable

    @property
    def depth(self) -> int:
        """The number of rows of the initial state that the deepest tap needs."""
        return -min(self.taps)


@dataclass(frozen=True, eq=False)
class NitSot:
    """An output that is not fed back."""

    output: Variable


@dataclass(frozen=True, eq=False)
class SharedState:
    """A shared variable with an update: a state that starts with the shared value.

    The step reads the shared variable itself: input_state is shared.
    """

    shared: SharedVariable
    output_state: Variable

    taps = (-1,)
    depth = 1

    @property
    def input_state(self) -> Variable:
        """The value from the step before, as the step reads it."""
        return self.shared

    @property
    def init_outer(self) -> Variable:
        """The value before the first step."""
        return self.shared

    @property
    def input_states(self) -> tuple[Variable, ...]:
        """The only past value that the step reads."""
        return (self.shared,)


@dataclass(frozen=True, eq=False)
class MitMot:
    """A buffer read and written at several places per step; only gradients make it.

    With lo the lowest of all taps, step t reads row t + i - lo of the buffer for each in-tap i, as it
    is when the step begins, and when the step ends writes row t + o - lo for each out-tap o.  Taps
    are in any order, none twice in one list.  buffer_outer has at least n_steps + max(taps) - lo rows.
    exact: it has no more rows.
    """

    buffer_outer: Variable
    in_taps: tuple[int, ...]
    out_taps: tuple[int, ...]
    input_states: tuple[Variable, ...]
    output_states: tuple[Variable, ...]
    exact: bool = False

    @property
    def low(self) -> int:
        """The lowest tap: the one that step 0 finds in row 0."""
        return min(self.in_taps + self.out_taps)

    @property
    def span(self) -> int:
        """The least number of rows that the buffer has beyond one per step."""
        return max(self.in_taps + self.out_taps) - self.low

    def fits(self, rows: int, steps: int) -> bool:
        """Whether a buffer of `rows` rows is long enough, and not too long if `exact`, for `steps` steps."""
        return rows == steps + self.span if self.exact else rows >= steps + self.span


@dataclass(frozen=True, eq=False)
class NonSequence:
    """w_outer, the same at every step as w_inner.

    For one that scan discovered by itself the inner and the outer variable are the same: w_inner is w_outer.
    """

    w_outer: Variable
    w_inner: Variable


@dataclass(frozen=True, eq=False)
class Requirement:
    """A condition that must hold when the loop runs, even if nothing reads its outputs.

    kind: "rows" (a sequence has as many rows as there are steps), "steps" (a number of steps is not
    negative) or "init" (an initial state has a row for its deepest tap).  check: found, or a
    ValueError with `message` where found < expected (for sequences of `scanopt.loop`: where they
    differ); all three are int64 scalars outside the loop.
    """

    kind: str
    found: Variable
    expected: Variable
    message: str
    check: Variable


State = MitSot | SitSot | SharedState


@dataclass(frozen=True, eq=False)
class Scan(Node, ScanQueries):
    """A loop.  Its outputs are the traces (one row per step, initial rows left out) of mit-sots,
    sit-sots, shared states and nit-sots, in this order; `returned` lists them in the order of the step's results.
    After them come the buffers of the mit-mots as the loop leaves them.

    location: "file:line" of the user's call.  n_steps: an int64 scalar.  u_outer of every sequence
    has exactly n_steps rows, init_outer of every mit-sot exactly `depth`.  labels: the user's word
    for each trace, for error messages.  order: for each result of the step, its place in outputs.
    profile: the title that its times are measured under, "" for none.  allow_gc, mode: as given to
    scan, None for the general setting.  bounded: whether it was written to take little memory, so that nothing more
    is read or kept row by row than it says; its gradient is too.  serial: grows from loop to loop, and from shared
    variable to shared variable.

    Raises ValueError or TypeError for mit-mots whose taps, buffer and step do not fit, and for
    mit-mots in a loop that may end early.
    """

    n_steps: Variable
    sequences: tuple[Sequence, ...] = ()
    mit_mots: tuple[MitMot, ...] = ()
    mit_sots: tuple[MitSot, ...] = ()
    sit_sots: tuple[SitSot, ...] = ()
    shared: tuple[SharedState, ...] = ()
    nit_sots: tuple[NitSot, ...] = ()
    non_sequences: tuple[NonSequence, ...] = ()
    until: Variable | None = None
    name: str | None = None
    location: str = ""
    truncate_gradient: int = -1
    go_backwards: bool = False
    requires: tuple[Requirement, ...] = ()
    labels: tuple[str, ...] = ()
    order: tuple[int, ...] | None = None
    mode: Mode | None = None
    profile: str = ""
    allow_gc: bool | None = None
    bounded: bool = False
    inputs: tuple[Variable, ...] = field(init=False)
    outputs: tuple[Variable, ...] = field(init=False)
    serial: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "serial", SharedVariable.latest())
        outer = [
            self.n_steps,
            *(s.u_outer for s in self.sequences),
            *(m.buffer_outer for m in self.mit_mots),
            *(s.init_outer for s in self.mit_sots),
            *(s.init_outer for s in self.sit_sots),
            *(s.shared for s in self.shared),
            *(s.w_outer for s in self.non_sequences),
        ]
        object.__setattr__(self, "inputs", tuple(outer))
        for m in self.mit_mots:
            _check_mit_mot(self, m)
        steps = self.static_steps
        types = [v.type.rows(steps) for v in self.traced] + [m.buffer_outer.type for m in self.mit_mots]
        outputs = tuple(Variable(type, owner=self, index=i) for i, type in enumerate(types))
        object.__setattr__(self, "outputs", outputs)

    @property
    def states(self) -> tuple[State, ...]:
        """Mit-sots, sit-sots, then shared states: the order of the outputs."""
        return (*self.mit_sots, *self.sit_sots, *self.shared)

    @property
    def traced(self) -> tuple[Variable, ...]:
        """The values of the step that are collected as traces, in the order of the first outputs."""
        return (*(s.output_state for s in self.states), *(n.output for n in self.nit_sots))

    @property
    def mit_mot_outputs(self) -> tuple[Variable, ...]:
        """The outputs that belong to mit-mots: their buffers after the loop."""
        return self.outputs[len(self.outputs) - len(self.mit_mots) :]

    @property
    def shared_traces(self) -> tuple[Variable, ...]:
        """The outputs that belong to shared states."""
        first = len(self.mit_sots) + len(self.sit_sots)
        return self.outputs[first : first + len(self.shared)]

    @property
    def returned(self) -> tuple[Variable, ...]:
        """The outputs in the order of the step's results."""
        order = range(len(self.traced)) if self.order is None else self.order
        return tuple(self.outputs[i] for i in order)

    @property
    def dependencies(self) -> tuple[Variable, ...]:
        """All variables that must be computed before the loop runs: checks first, then the inputs."""
        return (*(r.check for r in self.requires), *self.inputs)

    @property
    def inner_inputs(self) -> tuple[Variable, ...]:
        """The variables that the step reads."""
        return (
            *(s.u_inner for s in self.sequences),
            *(v for m in self.mit_mots for v in m.input_states),
            *(v for s in self.states for v in s.input_states),
            *(s.w_inner for s in self.non_sequences),
        )

    @property
    def inner_outputs(self) -> tuple[Variable, ...]:
        """All values that a step computes: those written into mit-mots, the traced values, then `until`, if any."""
        written = (v for m in self.mit_mots for v in m.output_states)
        return (*written, *self.traced, *(() if self.until is None else (self.until,)))

    def label(self, i: int) -> str:
        """The name of trace number i in messages."""
        return self.labels[i] if self.labels else f"output {i}"

    @property
    def title(self) -> str:
        """The title under which its times are collected when all loops are profiled."""
        return self.profile or self.name or f"scan at {self.location}"

    @property
    def static_steps(self) -> int | None:
        """The number of steps, where it is known before the run."""
        value = self.n_steps.operand.value
        return None if value is None or self.until is not None else int(value)

    def __str__(self) -> str:
        label = f"scan {quoted(self.name)}" if self.name else "a scan"
        return f"{label} ({self.location})" if self.location else label


def _check_mit_mot(node: Scan, m: MitMot) -> None:
    """Raise TypeError, ValueError if a mit-mot is inconsistent or does not fit its loop."""
    buffer = m.buffer_outer
    where = f"the buffer {describe(buffer)} of {node}"
    if node.until is not None:
        raise ValueError(f"{where} is a mit-mot, which a loop that ends early cannot have: leave out its `until`")
    for taps, variables, kind in ((m.in_taps, m.input_states, "in-taps"), (m.out_taps, m.output_states, "out-taps")):
        if len(taps) != len(variables) or len(set(taps)) < len(taps):
            raise ValueError(
                f"{where} has the {kind} {list(taps)} for {len(variables)} variables of the step: expected one "
                "variable for each tap, and no tap twice"
            )
    if not m.in_taps + m.out_taps or not buffer.ndim:
        raise ValueError(f"{where} must have a first axis of rows and be read or written at some tap")
    for v in (*m.input_states, *m.output_states):
        if not v.type.compatible(buffer.type.row()):
            raise TypeError(f"a row of {where} is {buffer.type.row()}, but the step has {describe(v)} in its place")
    rows, steps = buffer.type.shape[0], node.static_steps
    if rows is not None and steps is not None and not m.fits(rows, steps):
        raise wrong_rows(node, m, rows, steps)


def wrong_rows(node: Scan, m: MitMot, rows: int, steps: int) -> ValueError:
    """The error for a mit-mot's buffer with too few rows, or too many."""
    needed = f"{'exactly' if m.exact else 'at least'} {steps + m.span}"
    return ValueError(
        f"the buffer {describe(m.buffer_outer)} of {node} has {rows} rows, but {steps} steps with the in-taps "
        f"{list(m.in_taps)} and out-taps {list(m.out_taps)} need {needed}: start from a buffer with so many"
    )
