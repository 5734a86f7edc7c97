"""Whether a loop program is one: names made once and before they are read, types that follow."""

from __future__ import annotations

from scanopt.array.op import Op, Operand
from scanopt.array.types import TensorType
from scanopt.program.ir import Branch, Keep, Loop, Program, State, Step

__all__ = ["check_program"]

SCALAR = TensorType("int64", ())
STOP = TensorType("bool", ())
DEEPEST = 100_000  # steps that a state may look back: the text that runs grows with it


def check_program(program: Program) -> None:
    """Raises ValueError, saying what is wrong and where, unless the program is well made.

    Declared shapes may say more or less than what is inferred, but not contradict it.
    """
    checker = _Checker()
    for x in program.inputs:
        checker.make(x.name, Operand(x.type.dtype, x.type.shape), "input")
    for c in program.consts:
        checker.make(c.name, Operand(c.type.dtype, c.type.shape, c.value), "const")
    for step in program.steps:
        checker.step(step)
    for name in (*program.outputs, *program.checks):
        checker.read(name, "the results")


class _Checker:
    """The names that can be read at the present place, and all that were ever made."""

    def __init__(self) -> None:
        self.known: dict[str, Operand] = {}
        self.made: set[str] = set()

    def make(self, name: str, value: Operand, where: str) -> None:
        if not name:
            raise ValueError(f"{where}: a name is empty")
        if name in self.made:
            raise ValueError(f"{where}: {name!r} is made twice")
        self.made.add(name)
        self.known[name] = value

    def read(self, name: str, where: str) -> Operand:
        if name not in self.known:
            raise ValueError(f"{where}: {name!r} is not made before it is read, or not to be seen here")
        return self.known[name]

    def step(self, step: Step) -> None:
        if isinstance(step, Loop):
            self._loop(step)
            return
        if isinstance(step, Branch):
            self._branch(step)
            return
        where = f"{step.out} = {step.op.name}"
        self._infer(step.out, step.op, [self.read(a, where) for a in step.args], step.type, where)

    def _infer(self, out: str, op: Op, args: list[Operand], declared: TensorType, where: str) -> None:
        """Make a name whose type follows from those of its arguments."""
        try:
            inferred = op.idle(*args)
        except Exception as error:
            # Rules of shapes may raise anything for parameters that no public function makes.
            raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
        self._agree(declared, inferred, where)
        self.make(out, _operand(declared), where)

    def _branch(self, step: Branch) -> None:
        """What a side makes is not to be seen after it, but for the results."""
        where = f"{', '.join(r.out for r in step.results)} = if {step.condition}"
        if not step.results:
            raise ValueError(f"a branch on {step.condition!r} has no result")
        test = self.read(step.condition, where)
        outside = dict(self.known)
        values: list[list[Operand]] = []
        for (steps, names), side in zip(step.sides, ("then", "else"), strict=True):
            for inner in steps:
                self.step(inner)
            values.append([self.read(name, f"{where}, {side}") for name in names])
            self.known = dict(outside)
        for r, a, b in zip(step.results, *values, strict=True):
            self._infer(r.out, Op.make("ifelse"), [test, a, b], r.type, f"{r.out} = if {step.condition}")

    def _agree(self, declared: TensorType, found: TensorType, where: str) -> None:
        if not declared.compatible(found):
            raise ValueError(f"{where}: its type is said to be {declared}, but is {found}")

    def _rows_of(self, name: str, where: str) -> TensorType:
        x = self.read(name, where)
        if x.ndim == 0:
            raise ValueError(f"{where}: {name!r} has no axis of rows: {x.type}")
        return x.type

    def _loop(self, loop: Loop) -> None:
        where = f"loop {loop.label!r}"
        self._agree(SCALAR, self.read(loop.steps, where).type, f"{where}, number of steps")
        rows = [self._rows_of(r.source, where) for r in loop.reads]
        inits = [self._rows_of(s.init, where) for s in loop.states]
        outside = dict(self.known)
        for r, source in zip(loop.reads, rows, strict=True):
            self._agree(r.type, source.row(), f"{where}, read {r.out}")
            self.make(r.out, _operand(r.type), where)
        for s, init in zip(loop.states, inits, strict=True):
            self._state(s, init, where)
        for step in loop.body:
            self.step(step)
        for s in loop.states:
            update = self.read(s.update, where).type
            self._agree(s.type, update, f"{where}, update {s.update}")
        if loop.until is not None:
            self._agree(STOP, self.read(loop.until, where).type, f"{where}, until")
        kept = [(k, self._kept(k, where)) for k in loop.keeps]
        self.known = outside
        for k, type in kept:
            self._agree(k.type, type, f"{where}, keep {k.out}")
            self.make(k.out, _operand(k.type), where)

    def _state(self, s: State, init: TensorType, where: str) -> None:
        here = f"{where}, state {s.label or s.update}"
        self._agree(s.type, init.row(), here)
        if not 1 <= s.depth <= DEEPEST or init.shape[0] not in (None, s.depth):
            raise ValueError(f"{here}: depth {s.depth} with initial rows {init}")
        for k, name in s.taps:
            if not 1 <= k <= s.depth:
                raise ValueError(f"{here}: a tap {k} steps back with depth {s.depth}")
            self.make(name, _operand(s.type), here)

    def _kept(self, k: Keep, where: str) -> TensorType:
        if k.rows is not None and k.rows < 1:
            raise ValueError(f"{where}, keep {k.out}: {k.rows} rows")
        return self.read(k.value, where).type.rows(None)


def _operand(type: TensorType) -> Operand:
    return Operand(type.dtype, type.shape)
