"""A program with other names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scanopt.program.ir import Branch, Compute, Loop, Program, Step

__all__ = ["renamed"]


def renamed(program: Program, names: Mapping[str, str]) -> Program:
    """The program with each name replaced by the one in `names`; those that are not there stay.

    Raises ValueError where two names would become one.
    """
    if len({*names.values()}) != len(names):
        raise ValueError("two names of a program cannot become one")
    return _Renamer(names).program(program)


class _Renamer:
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def of(self, name: str) -> str:
        return self._names.get(name, name)

    def all(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self.of, names))

    def program(self, p: Program) -> Program:
        return replace(
            p,
            inputs=tuple(replace(x, name=self.of(x.name)) for x in p.inputs),
            consts=tuple(replace(c, name=self.of(c.name)) for c in p.consts),
            steps=self.steps(p.steps),
            outputs=self.all(p.outputs),
            checks=self.all(p.checks),
            origins={self.of(name): x for name, x in p.origins.items()},
        )

    def steps(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        return tuple(map(self.step, steps))

    def step(self, step: Step) -> Step:
        match step:
            case Compute():
                return replace(step, out=self.of(step.out), args=self.all(step.args))
            case Branch():
                return self.branch(step)
            case Loop():
                return self.loop(step)

    def branch(self, b: Branch) -> Branch:
        results = tuple(
            replace(r, out=self.of(r.out), then=self.of(r.then), otherwise=self.of(r.otherwise)) for r in b.results
        )
        return Branch(self.of(b.condition), self.steps(b.then), self.steps(b.otherwise), results)

    def loop(self, loop: Loop) -> Loop:
        return replace(
            loop,
            steps=self.of(loop.steps),
            reads=tuple(replace(r, out=self.of(r.out), source=self.of(r.source)) for r in loop.reads),
            states=tuple(
                replace(
                    s, init=self.of(s.init), update=self.of(s.update), taps=tuple((k, self.of(n)) for k, n in s.taps)
                )
                for s in loop.states
            ),
            body=self.steps(loop.body),
            keeps=tuple(
                replace(
                    k, out=self.of(k.out), value=self.of(k.value),
                    rows=self.of(k.rows) if isinstance(k.rows, str) else k.rows,
                )
                for k in loop.keeps
            ),
            until=None if loop.until is None else self.of(loop.until),
        )  # fmt: skip
