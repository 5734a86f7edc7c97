"""Stable names: a value that two programs of one e-graph share has the same name in both.

The program as written keeps its names.  In every other program, a value in the class of a value that was written takes
its name.  New values have new names, the same in all programs.  What a loop holds has the name of the value outside.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from scanopt.calculus.forms import TermGraph
from scanopt.extraction.problem import Instance
from scanopt.program.ir import Branch, Compute, Const, Loop, Program
from scanopt.program.names import given
from scanopt.program.text import names_made, names_shown

__all__ = ["StableNames"]

_Key = tuple[object, ...]


class StableNames:
    """Names by class of value.

    graph: the e-graph.  places: the class of each term as written.
    """

    def __init__(self, graph: TermGraph, places: Mapping[int, int]) -> None:
        self._graph, self._places = graph, places
        self._held = {c: f.args[0] for c, f in graph.forms() if f.kind == "hold"}
        self._names: dict[_Key, str] = {}
        self._taken: set[str] = set()
        self._count = 0
        self.by_class: dict[int, str] = {}

    def value(self, c: int) -> int:
        """The class, or if a loop holds it from outside, the class of the outermost value."""
        while c in self._held:
            c = self._held[c]
        return c

    def written(self, program: Program, named: Mapping[str, Instance]) -> dict[str, str]:
        """Stable names for the program as written, by its own names, which it keeps; inputs have their labels."""
        shown = names_shown(program)
        inputs = {x.name for x in program.inputs}
        made = [*_made(program)]
        self._taken |= {*made, *shown.values()}
        self._count = len(made)
        return self._of(program, named, {n: shown.get(n, n) if n in inputs else n for n in made}, self._places)

    def of(self, program: Program, named: Mapping[str, Instance]) -> dict[str, str]:
        """Stable names for another program of the e-graph, by its own names."""
        return self._of(program, named, {}, None)

    def _of(
        self,
        program: Program,
        named: Mapping[str, Instance],
        fixed: Mapping[str, str],
        places: Mapping[int, int] | None,
    ) -> dict[str, str]:
        out: dict[str, str] = {}
        steps = {s.out: s for s in program.walk() if isinstance(s, Compute)}
        consts = {c.name: c for c in program.consts}
        seen: defaultdict[_Key, int] = defaultdict(int)
        for name in _made(program):
            i = named.get(name)
            c = None if i is None else i.id if places is None else places.get(i.id)
            key: _Key
            if c is not None:
                key = ("class", self.value(c))
            elif name in consts:
                key = _const_key(consts[name])
            elif name in steps:  # within a batched operator
                key = ("part", steps[name].op.key, tuple(out[a] for a in steps[name].args))
            else:
                key = ("other", name, places is None)
            seen[key] += 1
            out[name] = self._name((*key, seen[key]), fixed.get(name), name in consts)
            if c is not None and not (name in consts and not consts[name].value.ndim):
                self.by_class.setdefault(self.value(c), out[name])
        return out

    def _name(self, key: _Key, fixed: str | None, const: bool) -> str:
        if fixed is not None or key not in self._names:
            self._names[key] = fixed or self._fresh("c" if const else "v")
        return self._names[key]

    def _fresh(self, letter: str) -> str:
        while (name := f"{letter}{self._count}") in self._taken:
            self._count += 1
        self._taken.add(name)
        return name


def _const_key(c: Const) -> _Key:
    return "const", c.value.dtype.name, c.value.shape, c.value.tobytes()


def _made(program: Program) -> Iterator[str]:
    """All names of a program, in the order of its text."""
    yield from (x.name for x in given(program))
    for step in program.walk():
        if isinstance(step, Loop):
            yield from (r.out for r in step.reads)
            yield from (name for s in step.states for _, name in s.taps)
        elif isinstance(step, Compute | Branch):
            yield from names_made(step)
    yield from (k.out for loop in program.loops() for k in loop.keeps)
