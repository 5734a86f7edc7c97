"""From an extraction to a loop program: names, reads, carried states and kept rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from scanopt.analysis.batched_operators import recipe
from scanopt.array.abstract import abstract_eval, cannot_raise
from scanopt.array.op import Op, Operand
from scanopt.array.operators.control import IFELSE
from scanopt.array.operators.idle import has_rows, kept_row, no_rows
from scanopt.calculus.forms import KEPT, Operator, const_value, unbatched
from scanopt.extraction.extract import Extraction
from scanopt.extraction.ordering import EvaluationOrder
from scanopt.extraction.problem import Instance, Option
from scanopt.program.ir import (
    Branch,
    CarriedState,
    Compute,
    Const,
    Either,
    Input,
    Keep,
    Loop,
    Origin,
    Program,
    Read,
    Step,
)
from scanopt.program.origins import origins
from scanopt.program.sinking.branches import FALSE, TRUE, Decided, Level, is_ifelse, is_leaf, places, settled
from scanopt.program.sinking.regions import Unit
from scanopt.program.sinking.sides import Sides
from scanopt.program.text import names_made

__all__ = ["lower", "lowered_with_names"]


class StepWriter:
    """Names every instance of an extraction and writes the steps that compute it.

    names: those of the instances that can be read at the current place.  known: the conditions decided there.
    """

    def __init__(self, extraction: Extraction) -> None:
        self._x = extraction
        self._graph = extraction.problem.graph
        self._count = 0
        self._consts: dict[str, Const] = {}
        self._kept = self._keepers()
        self._origins = origins(self._graph)
        self._told: dict[str, Origin] = {}
        self._choice = dict(extraction.choice)
        self._lazy = any(is_ifelse(o.form) for o in extraction.choice.values())
        self.names: dict[Instance, str] = {}
        self.named: dict[str, Instance] = {}  # what each name was first given to
        self.operands: dict[str, Operand] = {}
        self.known: Decided = {}

    def program(self) -> Program:
        """Lower the whole extraction."""
        inputs = self._inputs()
        g = self._graph
        roots, checks = ([*map(Instance, found)] for found in (g.roots, g.checks))
        steps = self._steps(self._x.schedule, [*roots, *checks])
        outputs = tuple(map(self.name, roots))
        needed = tuple(dict.fromkeys(map(self.name, checks)))
        self._note_names()
        made = Program(inputs, tuple(self._consts.values()), tuple(steps), outputs, needed)
        return replace(made, profile=self._titles_without_loop(made), origins=self._told)

    def _inputs(self) -> tuple[Input, ...]:
        """All inputs, used or not: calls give values for all of them."""
        g = self._graph
        out: list[Input] = []
        where = {f.key: c for c, f in g.forms() if f.kind == "input"}
        for key, type in g.inputs.items():
            name = self.fresh(Operand(type.dtype, type.shape))
            self.names[Instance(where.get(key, -1 - len(out)))] = name
            out.append(Input(name, type, g.input_labels.get(key, ""), g.input_axes.get(key, ())))
        return tuple(out)

    def _titles_without_loop(self, made: Program) -> tuple[str, ...]:
        titles = dict.fromkeys(title for info in self._graph.clocks.values() for title in info.profile)
        left = {title for loop in made.loops() for title in loop.profile}
        return tuple(title for title in titles if title not in left)

    def _keepers(self) -> dict[Instance, list[Instance]]:
        """For each loop, the instances outside it that keep rows of its values."""
        out: dict[Instance, list[Instance]] = {}
        for i, o in self._x.choice.items():
            if o.form is not None and o.form.kind in KEPT:
                value = o.needs[0]
                out.setdefault(Instance(o.form.clock, value.phases, True), []).append(i)
        return out

    # Steps of one level

    def _steps(self, schedule: EvaluationOrder, wanted: Sequence[Instance]) -> list[Step]:
        """The steps of one level that compute `wanted`; what only sides of ifelses need goes into them."""
        steps: list[Step] = []
        for i in schedule.items:
            if is_leaf(self._choice[i].form):
                self._leaf(i)
            elif not self._lazy:
                steps += self.unit(Unit(i, tuple(self._kept.get(i, ()))), schedule)
        if self._lazy:
            level = Level(self._choice, schedule, self._kept, self._scalar)
            found = places(level, wanted, self.known)
            if level.guards:
                self.names |= {i: self.const(np.array(i == TRUE)) for i in (TRUE, FALSE)}
            return Sides(self, level, found).steps((), [*wanted, *level.guarded])
        return steps

    def _leaf(self, i: Instance) -> None:
        """Name a constant, or a held array that has a name: in a loop written only in part it may have none."""
        form, needs = self._choice[i].form, self._choice[i].needs
        assert form is not None
        if form.kind == "const":
            self.names[i] = self.const(const_value(form.key, self._graph.consts))
        elif form.kind == "hold" and self._settled(needs[0]) in self.names:
            self.names[i] = self.name(needs[0])

    def _scalar(self, i: Instance) -> bool:
        return self._x.problem.sizes.of[i.id].operand.ndim == 0

    @contextmanager
    def scope(self, known: Mapping[Instance, bool] | None = None) -> Iterator[None]:
        """Forget the names given inside the block once it ends.  known: further conditions decided inside."""
        before = self.names, self.known
        self.names = dict(self.names)
        self.known = {**self.known, **(known or {})}
        yield
        self._note_names()
        self.names, self.known = before

    def _note_names(self) -> None:
        for i, name in self.names.items():
            self.named.setdefault(name, i)

    def unit(self, u: Unit, schedule: EvaluationOrder, part: Set[Instance] | None = None) -> list[Step]:
        """Write the steps of a value or a loop.  part: the instances that the loop computes (None: all)."""
        if u.value.loop:
            return self._loop(u, schedule.inside[u.value], part)
        o = self._choice[u.value]
        assert o.form is not None
        steps: Sequence[Step]
        if o.form.kind == "at":
            kept, count = self.names[u.value], self._steps_of(Instance(o.form.clock, o.needs[0].phases, True))
            self.names[u.value], steps = self.apply(kept_row(o.form.k), [kept, count])
        elif o.form.operator is None:  # what a loop keeps, named by the loop
            return []
        else:
            self.names[u.value], steps = self.apply(o.form.operator, [self.name(a) for a in o.needs])
        self._tell(u.value, *(name for step in steps for name in names_made(step)))
        return [*steps]

    def _tell(self, i: Instance, *names: str) -> None:
        """Record which of the user's scans the names belong to."""
        if i.id in self._origins:
            self._told |= dict.fromkeys(names, self._origins[i.id])

    def apply(self, operator: Operator, args: Sequence[str]) -> tuple[str, Sequence[Compute | Branch]]:
        """Apply an operator to names; return the name of the result and the steps that compute it."""
        name, steps = self._expanded(operator, args)
        op, flags = unbatched(operator)
        if flags and op.can_raise and self._may_raise(op, flags, args):
            return self._guarded(op, flags, args, name, steps)
        return name, steps

    def _may_raise(self, op: Op, flags: Sequence[str], args: Sequence[str]) -> bool:
        """Whether a batched operator may have no rows, and the operator itself may raise."""
        given = [(self.operands[a], n) for a, n in zip(args, has_rows(flags).options["axes"], strict=True)]
        lengths = [length for x, n in given for length in x.shape[:n]]
        if None not in lengths and 0 not in lengths:
            return False
        return not cannot_raise(op, [Operand(x.dtype, x.shape[n:], None if n else x.value) for x, n in given])

    def _guarded(
        self, op: Op, flags: Sequence[str], args: Sequence[str], value: str, steps: Sequence[Compute]
    ) -> tuple[str, list[Branch | Compute]]:
        """Skip a batched operator where there are no rows, by a branch: a loop of no steps raises nothing."""
        test, tests = self._expanded(has_rows(flags), args)
        nothing, otherwise = self._expanded(no_rows(op, flags), args)
        known = abstract_eval(IFELSE, [self.operands[n] for n in (test, value, nothing)])
        either = Either(self.fresh(known), value, nothing, known.type)
        return either.out, [*tests, Branch(test, tuple(steps), tuple(otherwise), (either,))]

    def _expanded(self, operator: Operator, args: Sequence[str]) -> tuple[str, list[Compute]]:
        """Expand an operator into those of the table; return the name of the result and the steps."""
        made = recipe(operator, [self.operands[a] for a in args])
        assert made is not None
        slots = [*args, *(self.const(c) for c in made.constants)]
        steps: list[Compute] = []
        for op, inputs in made.steps:
            names = tuple(slots[n] for n in inputs)
            known = _known(op, [self.operands[n] for n in names])
            slots.append(self.fresh(known))
            steps.append(Compute(slots[-1], op, names, known.type))
        return slots[made.result], steps

    # Loops

    def _loop(self, u: Unit, schedule: EvaluationOrder, part: Set[Instance] | None) -> list[Step]:
        with self.scope():
            before, made = self._written(u, schedule, part)
        for k, keep in zip(u.keeps, made.keeps, strict=True):
            self.names[k] = keep.out
            self._tell(k, keep.out)
        return [*before, made]

    def _written(self, u: Unit, schedule: EvaluationOrder, part: Set[Instance] | None) -> tuple[list[Step], Loop]:
        choice, loop = self._choice, u.value
        before: list[Step] = []
        reads: list[Read] = []
        delays: dict[tuple[int, str], list[tuple[int, Instance]]] = {}
        for i in schedule.items:
            form = choice[i].form
            if form is None or form.kind not in ("seq", "delay") or (part is not None and i not in part):
                continue
            source = self.name(choice[i].needs[0])
            row = self.operands[source].type.row()
            self.names[i] = self.fresh(Operand(row.dtype, row.shape))
            if form.kind == "seq":
                reads.append(Read(self.names[i], source, row))
            else:
                delays.setdefault((form.state, source), []).append((form.k, i))
        inits = {key: self._init(key[1], taps, before) for key, taps in delays.items()}
        ends = choice[loop].updates
        updates = [choice[taps[0][1]].updates[0] for taps in delays.values()]
        body = self._steps(schedule, [*updates, *ends, *(choice[k].needs[0] for k in u.keeps)])
        states = tuple(self._state(state, inits[state, source], taps) for (state, source), taps in delays.items())
        info = self._graph.clocks[loop.id]
        made = Loop(
            "&".join(info.labels) or f"loop{loop.id}", self._steps_of(loop), tuple(reads), states, tuple(body),
            tuple(self._keep(k) for k in u.keeps), self.name(ends[0]) if ends else None, loop.phases[-1],
            info.profile, info.keep, info.sites,
        )  # fmt: skip
        return before, made

    def _steps_of(self, loop: Instance) -> str:
        """The name of the number of steps of a loop."""
        return self.name(Instance(self._graph.clocks[loop.id].steps, loop.phases[:-1]))

    def _init(self, source: str, taps: list[tuple[int, Instance]], before: list[Step]) -> str:
        """The name of the last initial rows, as many as the taps read; a slice, if needed, goes into `before`."""
        depth = max(k for k, _ in taps)
        if self.operands[source].shape[0] == depth:
            return source
        op = Op.make("getitem", index=(("slice", -depth, None, None),))
        name, steps = self.apply(op, [source])
        known = self.operands[name]
        self.operands[name] = Operand(known.dtype, (depth, *known.shape[1:]))
        before.extend(steps)
        return name

    def _state(self, state: int, init: str, taps: list[tuple[int, Instance]]) -> CarriedState:
        update = self._choice[taps[0][1]].updates[0]
        depth = max(k for k, _ in taps)
        names = tuple(sorted((k, self.names[i]) for k, i in taps))
        row = self.operands[init].type.row()
        label = self._graph.states[state].label
        return CarriedState(init, depth, names, self.name(update), row, label)

    def _keep(self, keeper: Instance) -> Keep:
        o = self._choice[keeper]
        assert o.form is not None
        value = self.name(o.needs[0])
        rows = self._rows_kept(o)
        row = self.operands[value]
        length = self._length(Instance(o.form.clock, o.needs[0].phases, True), rows)
        out = self.fresh(Operand(row.dtype, (length, *row.shape)))
        return Keep(out, value, rows, self.operands[out].type)

    def _rows_kept(self, o: Option) -> int | str | None:
        """How many rows are kept: a number where it is known, else its name; None for all rows."""
        assert o.form is not None
        if o.form.kind != "recent":
            return {"stack": None, "tail": o.form.k, "at": 1}[o.form.kind]
        name = self.name(o.needs[1])
        value = self.operands[name].value
        return name if value is None or value < 1 else int(value)

    def _length(self, loop: Instance, rows: int | str | None) -> int | None:
        if isinstance(rows, str) or self._graph.clocks[loop.id].until:
            return None
        value = self.operands[self._steps_of(loop)].value
        if value is None:
            return None
        return int(value) if rows is None else min(int(value), rows)

    # Names

    def name(self, i: Instance) -> str:
        """The name of a value at the present place."""
        return self.names[self._settled(i)]

    def _settled(self, i: Instance) -> Instance:
        return settled(self._choice, i, self.known)

    def fresh(self, known: Operand) -> str:
        """Make a new name.  known: the type of its value, and the value where that is known."""
        name = f"v{self._count}"
        self._count += 1
        self.operands[name] = known
        return name

    def const(self, value: np.ndarray[Any, Any]) -> str:
        """The name of a constant; equal small ones share one name."""
        for name, const in self._consts.items():
            if const.value is value or _same(const.value, value):
                return name
        name = f"c{len(self._consts)}"
        self.operands[name] = Operand(value.dtype.name, value.shape, value)
        self._consts[name] = Const(name, value)
        return name


def _same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and (a.ndim == 0 or a.size <= 64) and a.tobytes() == b.tobytes()


def _known(op: Op, operands: Sequence[Operand]) -> Operand:
    """What is known of a result.  An operator that is sure to raise is accepted: it raises when the program runs."""
    try:
        return abstract_eval(op, operands)
    except (ValueError, IndexError):
        type = op.infer(*(Operand(a.dtype, (None,) * a.ndim) for a in operands))
        return Operand(type.dtype, type.shape)


def lower(extraction: Extraction, exact: bool = False, matmul_precision: str = "float32") -> Program:
    """The loop program of an extraction.  exact, matmul_precision: see `Program`."""
    return replace(StepWriter(extraction).program(), exact=exact, matmul_precision=matmul_precision)


def lowered_with_names(extraction: Extraction, exact: bool = False) -> tuple[Program, dict[str, Instance]]:
    """The same program, and the instance that each name stands for; names within expanded operators have none."""
    writer = StepWriter(extraction)
    return replace(writer.program(), exact=exact), writer.named
