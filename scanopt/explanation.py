"""Why a program is what it is: the laws that made it, one after the other, with what each saved.

The fast path keeps counts only.  An explanation replays: first the smallest set of laws that gives
the same cost, then those laws added one by one, at each turn the one that saves most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scanopt.calculus.encoded import Encoded
from scanopt.calculus.law import Law
from scanopt.calculus.optimize import Settings, as_written, optimize
from scanopt.program.ir import Program
from scanopt.program.lower import lower

__all__ = ["Explanation", "Step", "explain"]

_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Step:
    """One law added to those before it.  doc: what it says in words.

    A law that saves nothing yet is there because the next ones need it.
    """

    law: str
    formula: str
    conditions: tuple[str, ...]
    licence: str
    doc: str
    cost_before: float
    cost_after: float
    program: Program


@dataclass(frozen=True, eq=False)
class Explanation:
    """The way from the program as written to the result."""

    initial: Program
    final: Program
    cost_before: float
    cost_after: float
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        if not self.steps:
            return f"no law makes this program cheaper (cost {self.cost_before:.4g})"
        lines = [f"cost {self.cost_before:.4g} as written"]
        for n, s in enumerate(self.steps, 1):
            change = "enables the next" if s.cost_after >= s.cost_before else f"cost {s.cost_after:.4g}"
            lines.append(f"{n}. {s.law}: {s.doc.splitlines()[0] if s.doc else s.formula}  -> {change}")
            lines.append(f"   {s.formula}  [{s.licence}]")
            if s.conditions:
                lines.append(f"   when {', '.join(s.conditions)}")
        return "\n".join(lines)


def explain(program: Encoded, laws: Sequence[Law], settings: Settings) -> Explanation:
    """Replay an optimization law by law.  laws: those that fired."""
    written = as_written(program, settings)
    known: dict[frozenset[str], tuple[float, Program]] = {frozenset(): (written.cost, lower(written))}

    def under(chosen: Sequence[Law]) -> tuple[float, Program]:
        key = frozenset(x.name for x in chosen)
        if key not in known:
            found = optimize(program, chosen, settings).extraction
            known[key] = (found.cost, lower(found))
        return known[key]

    cost, final = under(laws)
    needed = list(laws)
    for x in laws:
        fewer = [y for y in needed if y is not x]
        if under(fewer)[0] <= cost * (1 + _SAME):
            needed = fewer
    steps: list[Step] = []
    used: list[Law] = []
    while needed:
        best = min(needed, key=lambda x: under([*used, x])[0])
        before = under(used)[0]
        used.append(best)
        needed.remove(best)
        after, then = under(used)
        steps.append(Step(best.name, best.formula, best.conditions, best.licence, best.doc, before, after, then))
    initial_cost, initial = known[frozenset()]
    return Explanation(initial, final, initial_cost, cost, tuple(steps))
