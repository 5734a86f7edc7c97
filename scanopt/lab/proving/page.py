"""The outcomes of proofs, as text, and as the record that the catalogue of laws reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from scanopt.calculus.law import Law
from scanopt.lab.proving.prover import Proof, prove
from scanopt.progress import each

__all__ = ["mutants", "proofs_record", "proved", "proved_mutants"]

_OUTCOMES = ("proved", "refuted", "out of reach")


def proved(laws: Sequence[Law], say: Callable[[str], None], steps: int = 4) -> bool:
    """Prove each law and print the outcome.  Returns whether none is refuted."""
    found: list[Proof] = []
    for x in each("proving laws", laws, lambda x: x.name):
        found.append(prove(x, steps))
        say(str(found[-1]))
    say(f"{_number(len(found), 'law')}, up to {_number(steps, 'step')}: {_counts(found)}")
    return all(x.outcome != "refuted" for x in found)


def proved_mutants(laws: Sequence[Law], say: Callable[[str], None], steps: int = 3) -> bool:
    """Drop each condition of each law in turn and print whether the rest is refuted.  True: no outcome is wrong."""
    found: list[Proof] = []
    for condition, x in mutants(laws):
        found.append(prove(x, steps))
        say(f"{x.name} without {condition}: {found[-1].outcome}: {found[-1].detail}")
    say(f"{_number(len(found), 'condition')} dropped, one at a time: {_counts(found)}")
    return True


def mutants(laws: Iterable[Law]) -> Iterator[tuple[str, Law]]:
    """Each law without each condition that does not say what some variable is."""
    for x in laws:
        for i, condition in enumerate(x.conditions):
            if not x.without(i).unbound():
                yield condition, x.without(i)


def proofs_record(laws: Sequence[Law], steps: int = 4) -> str:
    """The outcome for each law, as JSON: the file scanopt/view/proofs.json.

    A law that was changed since it was proved does not count as proved.
    """
    found = [(str(x), prove(x, steps)) for x in laws]
    rows = {p.law: {"outcome": p.outcome, "detail": p.detail, "worlds": p.worlds, "says": says} for says, p in found}
    return json.dumps({"steps": steps, "laws": rows}, indent=1, ensure_ascii=False) + "\n"


def _counts(found: Sequence[Proof]) -> str:
    return ", ".join(f"{sum(x.outcome == o for x in found)} {o}" for o in _OUTCOMES)


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"
