"""Rules that remove a program from the engine: far cheaper than a new engine, which must load all rules again."""

from __future__ import annotations

import re

from scanopt.egraph.engine_additions import CLEARED, CLEARING, RESTORING

__all__ = ["with_clearing"]

_TABLE = re.compile(r"\((constructor|relation|function) ([^\s()]+) \(([^()]*)\)")
_NAMED = re.compile(r"^\(constructor (\S+) \(\) Op\) (\(union \(\1\) .+\))$", re.MULTILINE)


def with_clearing(text: str) -> str:
    """Rules, with added rules that delete the rows of all their tables and restore named operators (`ground`).

    >>> print(with_clearing("(relation near (i64 i64))"))
    (relation near (i64 i64))
    (relation cleared (i64))
    (ruleset clearing)
    (rule ((near cleared_0 cleared_1)) ((delete (near cleared_0 cleared_1))) :ruleset clearing)
    (rule ((cleared cleared_0)) ((delete (cleared cleared_0))) :ruleset clearing)
    (ruleset restoring)
    (rule ((cleared cleared_0)) () :ruleset restoring)
    """
    text = f"{text}\n(relation {CLEARED} (i64))"
    return "\n".join([text, f"(ruleset {CLEARING})", *map(_clearing, _TABLE.findall(text)), *_restoring(text)])


def _clearing(table: tuple[str, str, str]) -> str:
    """The rule that deletes the rows of a table, given its kind, name and sorts."""
    kind, name, sorts = table
    row = f"({' '.join([name, *(f'{CLEARED}_{i}' for i in range(len(sorts.split())))])})"
    seen = row if kind == "relation" else f"(= {CLEARED}_as {row})"
    return f"(rule ({seen}) ((delete {row})) :ruleset {CLEARING})"


def _restoring(text: str) -> list[str]:
    """The ruleset that restores what a text has named."""
    named = " ".join(union for _, union in _NAMED.findall(text))
    return [f"(ruleset {RESTORING})", f"(rule (({CLEARED} {CLEARED}_0)) ({named}) :ruleset {RESTORING})"]
