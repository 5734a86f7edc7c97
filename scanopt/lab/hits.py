"""All laws in a table, with how often each fires in a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scanopt.calculus.law import Law
from scanopt.compilation.compiled_function import Function
from scanopt.lab.pattern_proofs import Proofs
from scanopt.view.tables import wrapped_table

__all__ = ["by_hits", "derivable_text", "hits_of", "laws_rows", "laws_table"]


def hits_of(functions: Iterable[Function]) -> Counter[str]:
    """Matches per law in all of some functions.

    >>> hits_of([])
    Counter()
    """
    hits: Counter[str] = Counter()
    for f in functions:
        hits.update(f.laws)
    return hits


def by_hits(laws: Iterable[Law], hits: Mapping[str, int]) -> list[Law]:
    """Laws by how often they hit, those without a hit last, in the order given."""
    return sorted(laws, key=lambda x: -hits.get(x.name, 0))


def laws_rows(laws: Iterable[Law], hits: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
    """Laws as data that `json.dump` writes; with `hits`, those that hit most often first."""
    return [
        {
            "name": x.name, "ruleset": x.ruleset, "formula": x.formula, "conditions": [*x.conditions],
            "licence": x.licence, "enabling": x.enabling, "source": x.source, "says": x.doc,
            **({} if hits is None else {"hits": hits.get(x.name, 0)}),
        }
        for x in (laws if hits is None else by_hits(laws, hits))
    ]  # fmt: skip


def laws_table(laws: Sequence[Law], width: int, hits: Counter[str] | None = None) -> str:
    """Name, formula, conditions, licence and source of each law; with `hits`, those that hit most often first."""
    heads = ["law", "formula", "when", "licence", "source", *([] if hits is None else ["hits"])]
    rows: list[list[str]] = []
    for x in laws if hits is None else by_hits(laws, hits):
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
