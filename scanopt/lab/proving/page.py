"""What became of laws, as text and as the page docs/proofs.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scanopt.calculus.law import Law
from scanopt.lab.proving.prover import Proof, prove
from scanopt.view.tables import markdown_table

__all__ = ["proofs_page", "proved"]


def proved(laws: Sequence[Law], say: Callable[[str], None], steps: int = 4) -> bool:
    """Prove each law and say what became of it.  Whether none is refuted."""
    found: list[Proof] = []
    for x in laws:
        found.append(prove(x, steps))
        say(str(found[-1]))
    say(_counts(found))
    return all(x.outcome != "refuted" for x in found)


def _counts(found: Sequence[Proof]) -> str:
    counts = {o: sum(x.outcome == o for x in found) for o in ("proved", "refuted", "out of reach")}
    return f"{len(found)} laws: {', '.join(f'{n} {o}' for o, n in counts.items())}"


def proofs_page(laws: Sequence[Law], steps: int = 4) -> str:
    """The page docs/proofs.md."""
    found = [prove(x, steps) for x in laws]
    rows = [[f"`{p.law}`", p.outcome, p.detail, str(p.worlds)] for p in found]
    return markdown_table(["law", "outcome", "for what, or why not", "worlds"], rows) + "\n\n" + _counts(found) + "\n"
