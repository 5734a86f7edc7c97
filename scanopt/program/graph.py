"""From a loop program back to a symbolic graph: what `f.to_graph()` gives.

A step becomes its operator applied to variables, a loop a Scan node, a result of a branch an ifelse.  What a loop
reads from outside is a non-sequence, so that it is computed where the program computes it.  Types are inferred anew
from those of inputs and constants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanopt import tensor as T
from scanopt.array.batching import dim
from scanopt.array.op import Op, Operand
from scanopt.array.operators.control import IFELSE
from scanopt.array.variable import Apply, Constant, Variable
from scanopt.loops.canonical import slice_name
from scanopt.loops.node import MitSot, NitSot, NonSequence, Requirement, Scan, SitSot
from scanopt.loops.node import Sequence as SequenceSlot
from scanopt.loops.steps import first_rows
from scanopt.program.guards import guarded
from scanopt.program.ir import Branch, CarriedState, Compute, Loop, Program, Step

__all__ = ["graph_of"]

_AS_ONE_ROW = Op.make("expand_dims", axis=(0,))
_LENGTH = Op.make("shape_i", axis=0)


def graph_of(program: Program, inputs: Sequence[Variable], rows_fit: bool = False) -> list[Variable]:
    """The results of a program as variables that rest on `inputs`, one for each input of the program.

    Checks that no result needs become requirements of the first result.
    rows_fit: arrays that a loop reads have no more rows than it has steps, as in all programs lowered here.

    >>> from scanopt import function, tensor as T
    >>> x, y = T.dvectors("x", "y")
    >>> (result,) = graph_of(function([x], x * 2.0 * 1.0).program, [y])
    >>> result.owner.op.name, result.owner.inputs[0]
    ('multiply', 'y' float64[?])
    """
    top = _Scope(None, rows_fit)
    top.names |= zip((x.name for x in program.inputs), inputs, strict=True)
    top.names |= {c.name: Constant(c.value) for c in program.consts}
    top.run(program.steps)
    results = [top[name] for name in program.outputs]
    checks = [top[name] for name in program.checks]
    return [_required(results[0], checks), *results[1:]] if results and checks else results


class _Scope:
    """The variables that names stand for outside of all loops, or in the step of one.

    held: the non-sequences, which the step reads from outside.  last: whole traces, by the name of the kept last row
    and that of the number of steps.
    """

    def __init__(self, outer: _Scope | None, rows_fit: bool) -> None:
        self.outer, self.rows_fit = outer, rows_fit
        self.names: dict[str, Variable] = {}
        self.held: list[NonSequence] = []
        self.last: dict[tuple[str, ...], Variable] = {}

    def __getitem__(self, name: str) -> Variable:
        if name not in self.names:
            assert self.outer is not None
            found = self.outer[name]
            if not isinstance(found, Constant):
                self.held.append(NonSequence(found, Variable(found.type, found.name)))
                found = self.held[-1].w_inner
            self.names[name] = found
        return self.names[name]

    def run(self, steps: Sequence[Step]) -> None:
        """Give variables to the names that steps make."""
        for step in steps:
            if isinstance(step, Compute) and step.op.name == "kept_row" and step.args in self.last:
                self.names[step.out] = _applied(_row(step.op.options["k"]), [self.last[step.args]])
            elif isinstance(step, Compute):
                self.names[step.out] = _applied(step.op, [self[a] for a in step.args])
            elif isinstance(step, Loop):
                self._loop(step)
            else:
                self._branch(step)

    def _branch(self, branch: Branch) -> None:
        """Run both sides in this scope: each name is made once, so they cannot collide."""
        if (found := guarded(branch, self.__getitem__)) is not None:
            op, flags, args = found
            self.names[branch.results[0].out] = _mapped(op, flags, [self[a] for a in args])
            return
        self.run(branch.then)
        self.run(branch.otherwise)
        for r in branch.results:
            self.names[r.out] = _applied(IFELSE, [self[branch.condition], self[r.then], self[r.otherwise]])

    def _loop(self, loop: Loop) -> None:
        n, inside = self[loop.steps], _Scope(self, self.rows_fit)
        reads = [(r, self[r.source]) for r in loop.reads]
        sequences = [SequenceSlot(x if self.rows_fit else first_rows(x, n), inside.row(r.out, x)) for r, x in reads]
        fed_back = [(s, inside.taps(s, self[s.init])) for s in loop.states if s.taps]
        inside.run(loop.body)
        states = [_state(s, self[s.init], taps, inside[s.update]) for s, taps in fed_back]
        updates = {s.output_state for s in states}
        others = dict.fromkeys(v for k in loop.keeps if (v := inside[k.value]) not in updates)
        made = Scan(
            n,
            sequences=tuple(sequences),
            mit_sots=tuple(s for s in states if isinstance(s, MitSot)),
            sit_sots=tuple(s for s in states if isinstance(s, SitSot)),
            nit_sots=tuple(map(NitSot, others)),
            until=None if loop.until is None else inside[loop.until],
            non_sequences=tuple(inside.held),
            name=loop.label,
            profile="&".join(loop.profile),
            allow_gc=not loop.keep_buffers,
        )
        traces = dict(zip(made.traced, made.outputs, strict=True))
        for k in loop.keeps:
            trace = traces[inside[k.value]]
            if k.rows == 1 and loop.until is None:
                self.last[k.out, loop.steps] = trace
            self.names[k.out] = self._kept(trace, k.rows)

    def _kept(self, trace: Variable, rows: int | str | None) -> Variable:
        """The last rows of a trace, or all where there are fewer.  A number that the program computes may be 0."""
        match rows:
            case None:
                return trace
            case int():
                return trace[-rows:]
            case str():
                return trace[T.maximum(trace.shape[0] - self[rows], 0) :]

    def row(self, name: str, rows: Variable, label: str | None = None) -> Variable:
        """Make the variable for the row that the step reads of the outer array `rows`."""
        made = self.names[name] = Variable(rows.type.row(), label)
        return made

    def taps(self, state: CarriedState, init: Variable) -> tuple[Variable, ...]:
        """Make the variables for the taps of a state."""
        return tuple(self.row(name, init, slice_name(state.label or None, -k)) for k, name in state.taps)


def _state(state: CarriedState, init: Variable, taps: tuple[Variable, ...], update: Variable) -> MitSot | SitSot:
    """The slot of a state.  init: `depth` rows, of which only the last are used where the deepest tap needs fewer."""
    node, depth = init.owner, max(k for k, _ in state.taps)
    if depth == 1 and isinstance(node, Apply) and node.op == _AS_ONE_ROW:
        return SitSot(node.inputs[0], taps[0], update)
    rows = init if depth == state.depth else init[state.depth - depth :]
    return MitSot(rows, tuple(-k for k, _ in state.taps), taps, update)


def _applied(op: Op, args: list[Variable]) -> Variable:
    """Apply an operator to variables.  Arguments that are sure to raise are accepted: the error comes if it runs."""
    if op.name == "shape_i" and isinstance(length := dim(args[0], op.options["axis"]), int):
        return Constant(np.int64(length))
    try:
        type = op.idle(*(x.operand for x in args))
    except (ValueError, IndexError):
        type = op.idle(*(Operand(x.dtype, (None,) * x.ndim) for x in args))
    return Apply(op, tuple(args), type).outputs[0]


def _mapped(op: Op, flags: Sequence[str], args: Sequence[Variable]) -> Variable:
    """Apply an operator to the rows of some arguments, in a loop, so that it does not run where there are no rows.

    flags: for each loop, innermost first, which arguments it reads row by row.
    """
    if not flags:
        return _applied(op, [*args])
    *inner, outer = flags
    slots = [(x, Variable(x.type.row() if f == "1" else x.type)) for x, f in zip(args, outer, strict=True)]
    rows = [SequenceSlot(x, v) for (x, v), f in zip(slots, outer, strict=True) if f == "1"]
    held = [NonSequence(x, v) for (x, v), f in zip(slots, outer, strict=True) if f == "0"]
    result = _mapped(op, inner, [v for _, v in slots])
    n = _applied(_LENGTH, [rows[0].u_outer])
    return Scan(n, tuple(rows), non_sequences=tuple(held), nit_sots=(NitSot(result),)).outputs[0]


def _row(k: int) -> Op:
    return Op.make("getitem", index=(k,))


def _required(result: Variable, checks: Sequence[Variable]) -> Variable:
    """The same result, through a loop of one step that requires `checks`."""
    one, step = Constant(np.int64(1)), Variable(result.type)
    requires = tuple(Requirement("rows", one, one, "", check) for check in checks)
    made = Scan(one, nit_sots=(NitSot(step),), non_sequences=(NonSequence(result, step),), requires=requires)
    return _applied(_row(0), [made.outputs[0]])
