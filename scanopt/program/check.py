"""Whether a loop program is valid: each name is made once, before it is read, and types follow from one another.

Only the types that a program declares for inputs and constants are believed; those of inputs are checked
again at each call.  All others are inferred, and the inferred types are used from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from scanopt.array.op import Op, Operand
from scanopt.array.types import LONGEST, TensorType
from scanopt.program.ir import Branch, CarriedState, Either, Keep, Loop, Program, Read, Step

__all__ = ["inferred"]

SCALAR = TensorType("int64", ())
STOP = TensorType("bool", ())


def inferred(program: Program) -> Program:
    """The program with the types inferred from those of its inputs and constants, whatever other types it declares.

    Raises ValueError, saying what is wrong and where, unless the program is well made.  Declared shapes may say more
    or less than what is inferred, but not contradict it.
    """
    checker = _Checker()
    for x in program.inputs:
        checker.make(x.name, Operand(x.type.dtype, x.type.shape), "input")
    for c in program.consts:
        checker.make(c.name, Operand(c.type.dtype, c.type.shape, c.value), "const")
    steps = checker.steps(program.steps)
    for name in (*program.outputs, *program.checks):
        checker.read(name, "the results")
    return replace(program, steps=steps)


class _Checker:
    """The names that can be read at the present place, and all that were ever made."""

    def __init__(self) -> None:
        self.known: dict[str, Operand] = {}
        self.made: set[str] = set()
        self._here: list[str] = []

    def make(self, name: str, value: Operand, where: str) -> None:
        """Define a new name.  value: its type, and its value where that is known."""
        if not name:
            raise ValueError(f"{where}: a name is empty")
        if name in self.made:
            raise ValueError(f"{where}: {name!r} is defined twice")
        self.made.add(name)
        self._here.append(name)
        self.known[name] = value

    def read(self, name: str, where: str) -> Operand:
        """The type of a name that must be visible here, and its value where that is known."""
        if name not in self.known:
            raise ValueError(f"{where}: {name!r} is not defined before it is read, or not visible here")
        return self.known[name]

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Hide the names that are made inside the block once it ends."""
        outside, self._here = self._here, []
        yield
        for name in self._here:
            del self.known[name]
        self._here = outside

    def steps(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """The same steps with inferred types."""
        return tuple([self._step(step) for step in steps])

    def _step(self, step: Step) -> Step:
        if isinstance(step, Loop):
            return self._loop(step)
        if isinstance(step, Branch):
            return self._branch(step)
        where = f"{step.out} = {step.op.name}"
        args = [self.read(a, where) for a in step.args]
        return replace(step, type=self._infer(step.out, step.op, args, step.type, where))

    def _infer(self, out: str, op: Op, args: list[Operand], declared: TensorType, where: str) -> TensorType:
        """Make a name whose type follows from those of its arguments."""
        try:
            found = _inferred(op, args)
        except Exception as error:
            # Rules of shapes may raise anything for operands that no public function gives them.
            raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
        self._agree(declared, found, where)
        self.make(out, _value(op, args, found), where)
        return found

    def _make(self, name: str, found: TensorType, declared: TensorType, where: str) -> TensorType:
        self._agree(declared, found, where)
        self.make(name, Operand(found.dtype, found.shape), where)
        return found

    def _agree(self, declared: TensorType, found: TensorType, where: str) -> None:
        if not declared.compatible(found):
            raise ValueError(f"{where}: its type is declared as {declared}, but is {found}")

    def _branch(self, step: Branch) -> Branch:
        """Check both sides: names made on a side are not visible after it, except the results."""
        where = f"{', '.join(r.out for r in step.results)} = if {step.condition}"
        if not step.results:
            raise ValueError(f"a branch on {step.condition!r} has no result")
        test = self.read(step.condition, where)
        made: list[tuple[Step, ...]] = []
        values: list[list[Operand]] = []
        for (steps, names), side in zip(step.sides, ("then", "else"), strict=True):
            with self._inside():
                made.append(self.steps(steps))
                values.append([self.read(name, f"{where}, {side}") for name in names])
        results = tuple(
            self._either(r, step.condition, test, a, b) for r, a, b in zip(step.results, *values, strict=True)
        )
        return replace(step, then=made[0], otherwise=made[1], results=results)

    def _either(self, r: Either, condition: str, test: Operand, a: Operand, b: Operand) -> Either:
        where = f"{r.out} = if {condition}"
        unknown = Operand(test.dtype, test.shape)  # both sides are checked, even one that is never taken
        return replace(r, type=self._infer(r.out, _IFELSE, [unknown, a, b], r.type, where))

    def _rows_of(self, name: str, where: str) -> TensorType:
        x = self.read(name, where)
        if x.ndim == 0:
            raise ValueError(f"{where}: {name!r} has no axis of rows: {x.type}")
        return x.type

    def _loop(self, loop: Loop) -> Loop:
        where = f"loop {loop.label!r}"
        count = self.read(loop.steps, where)
        self._agree(SCALAR, count.type, f"{where}, number of steps")
        rows = [self._rows_of(r.source, where) for r in loop.reads]
        inits = [self._rows_of(s.init, where) for s in loop.states]
        for k in loop.keeps:
            if isinstance(k.rows, str):
                self._agree(SCALAR, self.read(k.rows, where).type, f"{where}, keep {k.out}, number of rows")
        with self._inside():
            reads = tuple(self._read(r, source, where) for r, source in zip(loop.reads, rows, strict=True))
            states = tuple(self._state(s, init, where) for s, init in zip(loop.states, inits, strict=True))
            body = self.steps(loop.body)
            for s in states:
                # Lengths may differ, as laws may find for a loop that takes no step: a step that runs would raise.
                row, update = s.type, self.read(s.update, where).type
                self._agree(replace(row, shape=(None,) * row.ndim), update, f"{where}, update {s.update}")
            if loop.until is not None:
                self._agree(STOP, self.read(loop.until, where).type, f"{where}, until")
            most = None if loop.until is not None or count.value is None else max(int(count.value), 0)
            kept = [self._kept(k, most, where) for k in loop.keeps]
        keeps = tuple(replace(k, type=self._make(k.out, type, k.type, f"{where}, keep {k.out}"))
                      for k, type in zip(loop.keeps, kept, strict=True))  # fmt: skip
        return replace(loop, reads=reads, states=states, body=body, keeps=keeps)

    def _read(self, r: Read, source: TensorType, where: str) -> Read:
        return replace(r, type=self._make(r.out, source.row(), r.type, f"{where}, read {r.out}"))

    def _state(self, s: CarriedState, init: TensorType, where: str) -> CarriedState:
        """Check a state.  Its rows have the shape of its initial rows: an update of another shape raises in the run."""
        here = f"{where}, state {s.label or s.update}"
        self._agree(s.type, init.row(), here)
        if s.depth < 1 or init.shape[0] not in (None, s.depth):
            raise ValueError(f"{here}: depth {s.depth} with initial rows {init}")
        for k, name in s.taps:
            if not 1 <= k <= s.depth:
                raise ValueError(f"{here}: a tap {k} steps back with depth {s.depth}")
            self.make(name, Operand(init.dtype, init.shape[1:]), here)
        return replace(s, type=init.row())

    def _kept(self, k: Keep, steps: int | None, where: str) -> TensorType:
        if isinstance(k.rows, int) and k.rows < 1:
            raise ValueError(f"{where}, keep {k.out}: {k.rows} rows")
        rows = steps if k.rows is None or steps is None else None if isinstance(k.rows, str) else min(k.rows, steps)
        return self.read(k.value, where).type.rows(rows)


_IFELSE = Op.make("ifelse")


def _inferred(op: Op, args: list[Operand]) -> TensorType:
    """The type of a result.  Operands that are sure to raise are accepted: the error comes only if the step runs."""
    try:
        return op.idle(*args)
    except (ValueError, IndexError):
        return op.idle(*(Operand(a.dtype, (None,) * a.ndim) for a in args))


def _value(op: Op, args: list[Operand], type: TensorType) -> Operand:
    """What is known of a result: its type, and its value only where that is a known length."""
    length = args[0].shape[op.options["axis"]] if op.name == "shape_i" else None
    value = None if length is None or length > LONGEST else np.asarray(length, type.dtype)
    return Operand(type.dtype, type.shape, value)
