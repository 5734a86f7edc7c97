"""From an extraction to a loop program: names, reads, carried states and kept rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scanopt.array.abstract import abstract_eval
from scanopt.array.op import Op, Operand
from scanopt.calculus.causality import Schedule
from scanopt.calculus.extract import Extraction
from scanopt.calculus.forms import Form, Operator, const_value
from scanopt.calculus.problem import Instance
from scanopt.calculus.recipes import recipe
from scanopt.program.branches import Path, is_ifelse, sides_of
from scanopt.program.ir import Branch, Compute, Const, Input, Keep, Loop, Program, Read, State, Step

__all__ = ["lower"]

_LAST = Op.make("getitem", index=(-1,))


class Lowering:
    """Names every instance of an extraction and writes the steps that compute it."""

    def __init__(self, extraction: Extraction) -> None:
        self._x = extraction
        self._graph = extraction.problem.graph
        self._count = 0
        self._names: dict[Instance, str] = {}
        self._known: dict[str, Operand] = {}
        self._consts: dict[str, Const] = {}
        self._kept = self._keepers()

    def program(self) -> Program:
        """The program."""
        inputs = self._inputs()
        steps = self._steps(self._x.schedule)
        g = self._graph
        outputs = tuple(self._names[Instance(r)] for r in g.roots)
        checks = tuple(dict.fromkeys(self._names[Instance(c)] for c in g.checks))
        made = Program(inputs, tuple(self._consts.values()), tuple(steps), outputs, checks)
        return replace(made, profile=self._titles_without_loop(made))

    def _inputs(self) -> tuple[Input, ...]:
        """All inputs, used or not: calls give values for all of them."""
        g = self._graph
        out: list[Input] = []
        where = {f.key: c for c, f in g.forms() if f.kind == "input"}
        for key, type in g.inputs.items():
            name = self._fresh(Operand(type.dtype, type.shape))
            self._names[Instance(where.get(key, -1 - len(out)))] = name
            out.append(Input(name, type, g.input_labels.get(key, "")))
        return tuple(out)

    def _titles_without_loop(self, made: Program) -> tuple[str, ...]:
        titles = dict.fromkeys(title for info in self._graph.clocks.values() for title in info.profile)
        left = {title for loop in made.loops() for title in loop.profile}
        return tuple(title for title in titles if title not in left)

    def _keepers(self) -> dict[Instance, list[Instance]]:
        """Per loop the instances outside that keep something of it."""
        out: dict[Instance, list[Instance]] = {}
        for i, o in self._x.choice.items():
            if o.form is not None and o.form.kind in ("stack", "tail", "at"):
                value = o.needs[0]
                out.setdefault(Instance(o.form.clock, value.phases, True), []).append(i)
        return out

    # Steps of one level

    def _steps(self, schedule: Schedule) -> list[Step]:
        """The steps of one level; what only one side of an ifelse needs goes into that side."""
        sides = sides_of(self._x.choice, schedule)
        blocks: dict[Path, list[Step]] = defaultdict(list)
        for i in schedule.items:
            form = self._x.choice[i].form
            block = blocks[sides[i]]
            if i.loop:
                block.extend(self._loop(i, schedule.inside[i]))
            elif is_ifelse(form):
                then, otherwise = (tuple(blocks[*sides[i], (i, n)]) for n in (1, 2))
                block.append(self._branch(i, then, otherwise))
            elif i not in self._names and form is not None:
                block.extend(self._value(i, form))
        return blocks[()]

    def _branch(self, i: Instance, then: tuple[Step, ...], otherwise: tuple[Step, ...]) -> Branch:
        condition, a, b = (self._names[j] for j in self._x.choice[i].needs)
        known = abstract_eval(Op.make("ifelse"), [self._known[n] for n in (condition, a, b)])
        out = self._names[i] = self._fresh(known)
        return Branch(out, condition, then, a, otherwise, b, known.type)

    def _value(self, i: Instance, form: Form) -> list[Step]:
        needs = self._x.choice[i].needs
        match form.kind:
            case "const":
                self._names[i] = self._const(const_value(form.key, self._graph.consts))
                return []
            case "hold":
                self._names[i] = self._names[needs[0]]
                return []
            case "apply":
                assert form.operator is not None
                name, steps = self._apply(form.operator, [self._names[a] for a in needs])
                self._names[i] = name
                return list(steps)
            case _:
                return []

    def _apply(self, operator: Operator, args: Sequence[str]) -> tuple[str, list[Compute]]:
        made = recipe(operator, [self._known[a] for a in args])
        assert made is not None
        slots = [*args, *(self._const(c) for c in made.constants)]
        steps: list[Compute] = []
        for op, inputs in made.steps:
            names = tuple(slots[n] for n in inputs)
            known = _known(op, [self._known[n] for n in names])
            slots.append(self._fresh(known))
            steps.append(Compute(slots[-1], op, names, known.type))
        return slots[made.result], steps

    # Loops

    def _loop(self, loop: Instance, schedule: Schedule) -> list[Step]:
        choice = self._x.choice
        before: list[Step] = []
        reads: list[Read] = []
        delays: dict[tuple[int, str], list[tuple[int, Instance]]] = {}
        for i in schedule.items:
            form = choice[i].form
            if form is None or form.kind not in ("seq", "delay"):
                continue
            source = self._names[choice[i].needs[0]]
            row = self._known[source].type.row()
            self._names[i] = self._fresh(Operand(row.dtype, row.shape))
            if form.kind == "seq":
                reads.append(Read(self._names[i], source, row))
            else:
                delays.setdefault((form.state, source), []).append((form.k, i))
        inits = {key: self._init(key[1], taps, before) for key, taps in delays.items()}
        body = self._steps(schedule)
        states = tuple(self._state(state, inits[state, source], taps) for (state, source), taps in delays.items())
        keeps, after = self._keeps(loop)
        info = self._graph.clocks[loop.id]
        steps = self._names[Instance(info.steps, loop.phases[:-1])]
        label = "&".join(info.labels) or f"loop{loop.id}"
        ends = choice[loop].updates
        until = self._names[ends[0]] if ends else None
        made = Loop(label, steps, tuple(reads), states, tuple(body), keeps, until, loop.phases[-1])
        return [*before, replace(made, profile=info.profile, keep_buffers=info.keep), *after]

    def _init(self, source: str, taps: list[tuple[int, Instance]], before: list[Step]) -> str:
        """The rows of an initial state that the taps read: its last ones."""
        depth = max(k for k, _ in taps)
        if self._known[source].shape[0] == depth:
            return source
        op = Op.make("getitem", index=(("slice", -depth, None, None),))
        name, steps = self._apply(op, [source])
        known = self._known[name]
        self._known[name] = Operand(known.dtype, (depth, *known.shape[1:]))
        before.extend(steps)
        return name

    def _state(self, state: int, init: str, taps: list[tuple[int, Instance]]) -> State:
        update = self._x.choice[taps[0][1]].updates[0]
        depth = max(k for k, _ in taps)
        names = tuple(sorted((k, self._names[i]) for k, i in taps))
        row = self._known[init].type.row()
        label = self._graph.states[state].label
        return State(init, depth, names, self._names[update], row, label)

    def _keeps(self, loop: Instance) -> tuple[tuple[Keep, ...], list[Step]]:
        keeps: list[Keep] = []
        after: list[Step] = []
        for i in self._kept.get(loop, ()):
            o = self._x.choice[i]
            assert o.form is not None
            value = self._names[o.needs[0]]
            rows = {"stack": None, "tail": o.form.k, "at": 1}[o.form.kind]
            row = self._known[value]
            out = self._fresh(Operand(row.dtype, (self._length(loop, rows), *row.shape)))
            keeps.append(Keep(out, value, rows, self._known[out].type))
            if o.form.kind == "at":
                out = self._row_at(loop, out, o.form.k, after)
            self._names[i] = out
        return tuple(keeps), after

    def _length(self, loop: Instance, rows: int | None) -> int | None:
        if self._graph.clocks[loop.id].until:
            return None
        steps = self._names[Instance(self._graph.clocks[loop.id].steps, loop.phases[:-1])]
        value = self._known[steps].value
        if value is None:
            return None
        return int(value) if rows is None else min(int(value), rows)

    def _row_at(self, loop: Instance, last: str, k: int, after: list[Step]) -> str:
        """The only row kept of a loop of at most k + 1 steps is row k, if there were so many."""
        steps = self._names[Instance(self._graph.clocks[loop.id].steps, loop.phases[:-1])]
        message = f"index {k} is out of bounds for axis 0 with size {{found}}"
        check = Op.make("require", relation="ge", error="IndexError", message=message)
        for op, args in ((check, [steps, self._const(np.array(k + 1))]), (_LAST, [last])):
            last, made = self._apply(op, args)
            after.extend(made)
        return last

    # Names

    def _fresh(self, known: Operand) -> str:
        name = f"v{self._count}"
        self._count += 1
        self._known[name] = known
        return name

    def _const(self, value: np.ndarray[Any, Any]) -> str:
        for name, const in self._consts.items():
            if const.value is value or _same(const.value, value):
                return name
        name = f"c{len(self._consts)}"
        self._known[name] = Operand(value.dtype.name, value.shape, value)
        self._consts[name] = Const(name, value)
        return name


def _same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and (a.ndim == 0 or a.size <= 64) and a.tobytes() == b.tobytes()


def _known(op: Op, operands: Sequence[Operand]) -> Operand:
    """What is known of a result; an operator that is sure to raise does so when the program runs."""
    try:
        return abstract_eval(op, operands)
    except (ValueError, IndexError):
        type = op.infer(*(Operand(a.dtype, (None,) * a.ndim) for a in operands))
        return Operand(type.dtype, type.shape)


def lower(extraction: Extraction) -> Program:
    """The loop program of an extraction."""
    return Lowering(extraction).program()
