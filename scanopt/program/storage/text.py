"""Where the values of a loop program live, as text: each result of a loop, what it is written onto, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scanopt.array.types import TensorType
from scanopt.program.ir import Branch, CarriedState, Compute, Loop, Program, Step
from scanopt.program.names import Names
from scanopt.program.storage.placement import FRESH, StateOf, facts_of, storage_of
from scanopt.program.storage.rules import derive, storage_rules
from scanopt.records import dataclass

__all__ = ["Decision", "decisions", "storage_text"]


@dataclass(frozen=True)
class Decision:
    """Where one value lives: `name` of a result of an operator, or a state.

    loop: the label of the loop around it.  where: the decision in words.  refused: the names that it could have been
    written onto, each with the names of the rules that forbid it.
    """

    loop: str
    name: str
    type: TensorType
    where: str
    refused: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __str__(self) -> str:
        but = "".join(f"; not onto {a}: {', '.join(rules)}" for a, rules in self.refused)
        return f"loop {self.loop}: {self.name}: {self.type}: {self.where}{but}"


def decisions(program: Program) -> tuple[Decision, ...]:
    """Where the states and the array results of all loops live, loop by loop.

    Raises ImportError where egglog is not installed.
    """
    teller = _Teller(program)
    return tuple(d for n, loop in enumerate(program.loops()) for d in teller.loop(n, loop))


def storage_text(program: Program) -> str:
    """The decisions, one per line, and what the rules that are named mean; "" for a program without loops.

    >>> from scanopt import function, scan, tensor as T
    >>> x, n = T.dvector("x"), T.lscalar("n")
    >>> powers, _ = scan(lambda p, x: T.tanh(p * x), None, x, x, n_steps=n, name="L")
    >>> print(storage_text(function([x, n], powers[-1]).program))
    loop L: state x: float64[?]: 2 rows, computed there as v7; not onto v4: of_the_caller, rows_read_beside
    loop L: v6: float64[?]: an array of its own, the same at each step; not onto v0: ...
    loop L: v7: float64[?]: the next row of state x
      not_its_array: ...
    """
    found = decisions(program)
    named = {rule for d in found for _, rules in d.refused for rule in rules}
    meanings = [f"  {x.name}: {x.meaning}" for x in storage_rules() if x.name in named]
    return "\n".join([*map(str, found), *meanings])


class _Teller:
    """The storage of one program, and the rules that refused to write a value onto another."""

    def __init__(self, program: Program) -> None:
        facts, names, states = facts_of(program)
        found = derive(facts, ["wants", "because"])
        self.storage = storage_of(program)
        self.names = Names(program)
        self._refused: dict[str | StateOf, dict[str, list[str]]] = {}
        wanting = {row[0] for row in found["wants"]}
        for x, a, rule in found["because"]:
            if x in wanting:
                key = states[x] if x in states else names[x]
                self._refused.setdefault(key, {}).setdefault(names[a], []).append(rule)

    def loop(self, number: int, loop: Loop) -> Iterator[Decision]:
        """Yield the decisions on the states of a loop, then on the results of its own steps, without inner loops."""
        for i, s in enumerate(loop.states):
            yield Decision(loop.label, _label(s), s.type, self._state((number, i), s), self._why((number, i)))
        for step in computed(loop.body):
            if step.type.ndim and not step.op.view:
                yield Decision(loop.label, step.out, step.type, self._where(step, loop), self._why(step.out))

    def _why(self, key: str | StateOf) -> tuple[tuple[str, tuple[str, ...]], ...]:
        refused: Mapping[str, list[str]] = self._refused.get(key, {})
        return tuple((a, tuple(rules)) for a, rules in refused.items())

    def _where(self, step: Compute, loop: Loop) -> str:
        place = self.storage.places.get(step.out, FRESH)
        match place.kind:
            case "buffer":
                return "an array of its own, the same at each step"
            case "onto":
                return f"onto {place.other}, which is not read any more"
            case "row" if place.other:
                return f"onto {place.other}, the row before of {_label(loop.states[place.state])}"
            case "row":
                return f"the next row of {_label(loop.states[place.state])}"
            case "trace":
                return f"its row of {place.other}"
            case _:
                return "a new array at each step"

    def _state(self, key: StateOf, s: CarriedState) -> str:
        place, count = self.storage.places.get(s.update, FRESH), self.storage.rows.get(key, s.depth)
        if key in self.storage.copied:
            how, count = f"copied at each step, because the next one overwrites {s.update}", count + 1
        elif place.kind == "row" and place.state == key[1]:
            how = f"computed there as {s.update}"
            count += not place.other
        else:
            how = f"{s.update} itself"
        first = f", the first onto {s.init}" if key in self.storage.spent else ""
        return f"{count} {'row' if count == 1 else 'rows'}, {how}{first}"


def _label(s: CarriedState) -> str:
    return f"state {s.label or s.update}"


def computed(steps: Sequence[Step]) -> Iterator[Compute]:
    """The operators of a body, including those on sides of its branches, but not those of loops in it."""
    for step in steps:
        if isinstance(step, Compute):
            yield step
        elif isinstance(step, Branch):
            yield from computed((*step.then, *step.otherwise))
