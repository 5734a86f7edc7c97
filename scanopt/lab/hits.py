"""Which laws there are, in a table, and how often each fires in a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from scanopt.calculus.law import Law
from scanopt.compilation.compiled_function import Function
from scanopt.lab.pattern_proofs import Proofs
from scanopt.view.tables import wrapped_table

__all__ = ["derivable_text", "hits_of", "laws_table"]


def hits_of(functions: Iterable[Function]) -> Counter[str]:
    """Matches per law in all of some functions.

    >>> hits_of([])
    Counter()
    """
    hits: Counter[str] = Counter()
    for f in functions:
        hits.update(f.laws)
    return hits


def laws_table(laws: Sequence[Law], width: int, hits: Counter[str] | None = None) -> str:
    """Name, formula, conditions, licence and source of each law, and the hits where they are given."""
    heads = ["law", "formula", "when", "licence", "source", *([] if hits is None else ["hits"])]
    rows: list[list[str]] = []
    for x in laws:
        licence = x.licence + (", enabling" if x.enabling else "")
        cells = [f"{x.ruleset}: {x.name}", x.formula, ", ".join(x.conditions), licence, x.source]
        rows.append([*cells, *([] if hits is None else [str(hits[x.name])])])
    return wrapped_table(heads, rows, width)


def derivable_text(laws: Sequence[Law], others: Sequence[Law]) -> str:
    """Which of the laws follow from others, and from which."""
    proofs = Proofs(others)
    lines = []
    for x in laws:
        found = proofs.derivable(x)
        if found is not None:
            lines.append(f"{x.name} follows from {', '.join(found) or 'facts alone'}: {x.formula}")
    count = f"{len(laws)} laws, {len(lines)} of which follow from others on their own patterns"
    return "\n".join([*lines, count])
