"""Mutation of laws: what happens when one condition of a law is dropped.

Something must go wrong.  Otherwise the condition is superfluous and has to be removed, unless it is proven
that the others imply it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scanopt.calculus.law import Law, Program
from scanopt.records import dataclass

__all__ = ["Mutation", "mutations"]


@dataclass(frozen=True)
class Mutation:
    """A law without one of its conditions.

    outcome: "unbound" (it can no longer be stated), "fires" (on a program where it must not), "unsound"
    (it makes programs equal that are not), "implied" (the other conditions imply this one), or
    "survives": nothing showed.  detail: which program, or which variables.
    """

    law: str
    condition: str
    outcome: str
    detail: str = ""

    def __str__(self) -> str:
        words = {
            "unbound": f"needed: without it nothing says what {self.detail} is",
            "fires": f"needed: it would fire on {self.detail}",
            "unsound": f"needed: {self.detail}",
            "implied": "implied by the other conditions (proven)",
            "survives": "SURVIVES: nothing changes without it",
        }
        return f"{self.law}: without {self.condition}: {words[self.outcome]}"


def mutations(
    law: Law, fires: Callable[[Program, Law], bool], unsound: Callable[[Law], str], implied: Callable[[Law, int], bool]
) -> Iterator[Mutation]:
    """One mutation per condition.

    fires: whether a law fires on a program; unsound: what a law gets wrong, "" for nothing; implied:
    whether the other conditions imply one.
    """
    for n, condition in enumerate(law.equation.when):
        yield Mutation(law.name, str(condition), *_outcome(law, n, fires, unsound, implied))


def _outcome(
    law: Law,
    place: int,
    fires: Callable[[Program, Law], bool],
    unsound: Callable[[Law], str],
    implied: Callable[[Law, int], bool],
) -> tuple[str, str]:
    mutant = law.without(place)
    if free := mutant.unbound():
        return "unbound", ", ".join(sorted(free))
    for n, program in enumerate(law.never):
        if fires(program, mutant):
            return "fires", f"never {n}"
    if implied(law, place):
        return "implied", ""
    wrong = unsound(mutant)
    return ("unsound", wrong) if wrong else ("survives", "")
