"""What kept each law from firing: where its pattern is found, and the condition that does not hold there."""

from __future__ import annotations

from typing import Any

from scanopt.compilation.explanation import Recording
from scanopt.lab.law_probe import Failing, IdleLaws, Match, Probed
from scanopt.lab.term_text import Teller

__all__ = ["barriers"]

_PLACES = 12  # listed for one condition, at most


def barriers(recorded: Recording) -> dict[str, dict[str, Any]]:
    """For each law that did not fire though its pattern was found, what it lacked."""
    assert isinstance(recorded.asking, IdleLaws)
    scene, probed = recorded.asking.answers(recorded.program)
    teller = Teller(scene)

    def place(m: Match, p: Probed) -> dict[str, Any]:
        found: dict[str, Any] = {"text": teller.place(m, p.sorts)}
        return found | {"class": m["lhs_"]} if "lhs_" in m else found

    def failing(f: Failing, p: Probed) -> dict[str, Any]:
        alone = {*map(id, f.alone)}
        order = sorted(f.matches, key=lambda m: (id(m) not in alone, teller.rank(m)))
        shown = [place(m, p) for m in order[:_PLACES]]
        return {
            "condition": str(f.condition),
            "meaning": f.condition.meaning,
            "count": len(f.matches),
            "alone": len(f.alone),
            "places": [x for n, x in enumerate(shown) if x not in shown[:n]],
        }

    return {
        p.law.name: {"found": p.found, "complete": p.complete, "failing": [failing(f, p) for f in p.failing]}
        for p in probed
        if p.found
    }
