"""Write the steps of one level; values that only sides of ifelses need go into branches.

Ifelses on one condition become one branch with several results.  A value of a side that a later branch on the
same condition needs again is a further result.  For the other side, where nothing reads it, it is an array
without elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from scanopt.array.abstract import abstract_eval
from scanopt.array.op import Op, Operand
from scanopt.array.operators.control import IFELSE
from scanopt.extraction.problem import Instance
from scanopt.program.ir import Branch, Either, Step
from scanopt.program.sinking.branches import AnyOf, Condition, Level, Path, PathsOfValues
from scanopt.program.sinking.regions import Region

if TYPE_CHECKING:
    from scanopt.program.lower import StepWriter

__all__ = ["Sides"]

_NOT, _OR = map(Op.make, ("logical_not", "logical_or"))

Results = list[tuple[Instance, str]]
"""Values with their names on the side that computes them."""


class Sides:
    """The writer of one level's steps."""

    def __init__(self, lowering: StepWriter, level: Level, places: PathsOfValues) -> None:
        self._lowering, self._level, self._places = lowering, level, places
        # By condition and side: values that have names outside, as results of earlier branches.
        self._given: dict[tuple[Condition, bool], dict[Instance, str]] = {}
        self._tests: dict[AnyOf, str] = {}

    def steps(self, path: Path, wanted: Sequence[Instance]) -> list[Step]:
        """Write the steps that compute `wanted` on a path, and name these values."""
        region = Region(self._level, self._places, path, wanted, self._lowering.known, self._lowering.names)
        outside = self._given, self._tests
        self._given, self._tests = {key: dict(given) for key, given in self._given.items()}, {}
        out: list[Step] = []
        for group in region.groups():
            (first, *_), key = group, group[0].key
            if key is None:
                part = set[Instance]().union(*(self._level.part(k) for k in first.keeps))
                out += self._lowering.unit(first, self._level.schedule, part)
            elif isinstance(key, Instance):
                out.append(self._branch(region, key, [u.value for u in group]))
            else:
                out += self._shared(region, key, [u.value for u in group])
        self._given, self._tests = outside
        return out

    # Ifelses

    def _branch(self, region: Region, c: Instance, ifelses: list[Instance]) -> Branch:
        """Write some ifelses on one condition as one branch."""
        here, choice = self._lowering, self._level.choice
        later = [u.value for u in region.units if u.key == c and u.value not in here.names and u.value not in ifelses]
        sides = [self._side(region, c, side, ifelses, later) for side in (True, False)]
        pairs = list(zip(*(names for _, names, _ in sides), strict=True))
        test = here.name(choice[ifelses[0]].needs[0])
        guarded = self._level.guarded
        results = [self._either(test, a, "" if i in guarded else b) for i, (a, b) in zip(ifelses, pairs, strict=True)]
        for i, r in zip(ifelses, results, strict=True):
            here.names[i] = here.names[guarded.get(i, i)] = r.out
        for side, (_, _, carried) in zip((True, False), sides, strict=True):
            given = self._given.setdefault((c, side), {})
            given.update((self._value(i, side), here.names[i]) for i in reversed(ifelses))
            for i, name in carried:
                if i not in given:
                    results.append(self._either(test, name, side=side))
                    given[i] = results[-1].out
        return Branch(test, tuple(sides[0][0]), tuple(sides[1][0]), tuple(results))

    def _value(self, ifelse: Instance, side: bool) -> Instance:
        return self._level.choice[ifelse].needs[1 if side else 2]

    def _side(
        self, region: Region, c: Instance, side: bool, ifelses: list[Instance], later: list[Instance]
    ) -> tuple[list[Step], list[str], Results]:
        """Write a side: its steps, the names of its values, and the values that later ifelses need again."""
        here, level = self._lowering, self._level
        with here.scope({c: side}):
            for i, name in self._given.get((c, side), {}).items():
                if i in level.values:
                    here.names.setdefault(i, name)
            before = len(here.names)
            wanted = [self._value(i, side) for i in ifelses]
            steps = self.steps((*region.path, (c, side)), wanted)
            new = set(islice(here.names, before, None))
            again = region.reach([self._value(i, side) for i in later], here.known, here.names)
            carried = [(i, here.names[i]) for i in again if i in new and i in level.values and i not in level.cheap]
            return steps, [here.name(w) for w in wanted], carried

    # Shared values

    def _shared(self, region: Region, key: AnyOf, values: list[Instance]) -> list[Step]:
        """Write values that are computed where any of several conditions holds."""
        here = self._lowering
        steps, test = self._test(key)
        with here.scope():
            inside = self.steps((*region.path, (key, True)), values)
            names = [here.name(i) for i in values]
        results = [self._either(test, name, side=True) for name in names]
        here.names.update((i, r.out) for i, r in zip(values, results, strict=True))
        return [*steps, Branch(test, tuple(inside), (), tuple(results))]

    def _test(self, key: Condition) -> tuple[list[Step], str]:
        """Steps that compute a condition, and its name."""
        here = self._lowering
        if isinstance(key, Instance):
            return [], here.name(key)
        if key in self._tests:
            return [], self._tests[key]
        steps: list[Step] = []
        names: list[str] = []
        for c, side in sorted((p[-1] for p in key.paths), key=lambda literal: not literal[1]):
            more, name = self._test(c)
            steps += more
            if not side:
                name, made = here.apply(_NOT, [name])
                steps += made
            names.append(name)
        test = names[0]
        for name in names[1:]:
            test, made = here.apply(_OR, [test, name])
            steps += made
        self._tests[key] = test
        return steps, test

    # Results

    def _either(self, test: str, a: str, b: str = "", side: bool = True) -> Either:
        """Make a result; without `b`, that of a value computed on `side` alone and not read after the other side."""
        operands = self._lowering.operands
        value = operands[a]
        if b:
            known = abstract_eval(IFELSE, [operands[test], value, operands[b]])
            return Either(self._lowering.fresh(known), a, b, known.type)
        nothing = self._lowering.const(np.zeros((0,) * value.ndim, value.dtype))
        first, second = (a, nothing) if side else (nothing, a)
        type = IFELSE.infer(*(Operand(operands[n].dtype, operands[n].shape) for n in (test, first, second)))
        return Either(self._lowering.fresh(Operand(value.dtype, value.shape)), first, second, type)
