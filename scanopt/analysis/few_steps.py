"""Facts from the text of a program: which loops are deeply nested, and which take one step."""

from __future__ import annotations

from collections.abc import Iterator

import scanopt.facts.few_steps  # noqa: F401  # declares what is given here
from scanopt.calculus.encoded import Encoded

__all__ = ["kinds_of_loops"]


def kinds_of_loops(g: Encoded) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Facts about the loops of a program as it was written."""
    height = dict.fromkeys(g.clocks, 0)  # how deep loops lie in it
    for c in sorted(g.clocks, reverse=True):  # inner ones first
        level = g.clocks[c].level
        if level in height:
            height[level] = max(height[level], height[c] + 1)
    for c, info in g.clocks.items():
        if height[c] < 2:
            yield "shallow", (c,)
        yield ("fleeting" if not info.until and _constant(g, info.steps) == 1 else "copied"), (c,)


def _constant(g: Encoded, i: int) -> int | None:
    """The value of a term that is a constant, held by loops or not."""
    form = g.unheld(i)
    return int(g.consts[form.key]) if form.kind == "const" else None
