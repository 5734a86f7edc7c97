"""Rules that remove a program from the engine: far cheaper than a new engine, which must load all rules again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scanopt.egraph.engine_additions import CLEARED, CLEARING, RESTORING

__all__ = ["with_clearing"]

_TABLE = re.compile(r"\((constructor|relation|function) ([^\s()]+) \(([^()]*)\)")
_HIDING = re.compile(r"\(subsume \((([^\s()]+)[^()]*)\)\)")
_HIDDEN = "hidden_"
_NAMED = re.compile(r"^\(constructor (\S+) \(\) (?:Op|Param)\) (\(union \(\1\) .+\))$", re.MULTILINE)


def with_clearing(text: str) -> str:
    """Rules, with added rulesets that delete the rows of each of their tables and restore named operators (`ground`).

    >>> print(with_clearing("(relation near (i64 i64))"))
    (relation near (i64 i64))
    (relation cleared (i64))
    (ruleset clearing_near)
    (rule ((near cleared_0 cleared_1)) ((delete (near cleared_0 cleared_1))) :ruleset clearing_near)
    (ruleset clearing_cleared)
    (rule ((cleared cleared_0)) ((delete (cleared cleared_0))) :ruleset clearing_cleared)

    >>> print(with_clearing("(constructor op_1 () Op) (union (op_1) (seen 0))").splitlines()[-1])
    (rule ((cleared cleared_0)) ((union (op_1) (seen 0))) :ruleset restoring_op_1)

    A rule sees no hidden rows (`subsume`), so those are noted, each in a relation beside its table.
    """
    text = _noting_hidden(f"{text}\n(relation {CLEARED} (i64))")
    return "\n".join([text, *map(_clearing, _TABLE.findall(text)), *_restoring(text)])


def _noting_hidden(text: str) -> str:
    """Rules that note the rows that they hide."""
    hidden = "|".join(sorted({name for _, name in _HIDING.findall(text)}))
    if not hidden:
        return text
    declared = rf"^\(constructor ({hidden}) \(([^()]*)\).*$"
    text = re.sub(declared, rf"\g<0>\n(relation {_HIDDEN}\1 (\2))", text, flags=re.MULTILINE)
    return _HIDING.sub(lambda x: f"{x[0]} ({_HIDDEN}{x[1]})" if f"(relation {_HIDDEN}{x[2]} " in text else x[0], text)


def _clearing(table: tuple[str, str, str]) -> str:
    """The ruleset that deletes the rows of a table, given its kind, name and sorts."""
    kind, name, sorts = table
    row = f"({' '.join([name, *(f'{CLEARED}_{i}' for i in range(len(sorts.split())))])})"
    seen = row if kind == "relation" else f"(= {CLEARED}_as {row})"
    rows = [row, row.replace(_HIDDEN, "", 1)] if name.startswith(_HIDDEN) else [row]
    ruleset = f"{CLEARING}_{name}"
    return f"(ruleset {ruleset})\n(rule ({seen}) ({' '.join(f'(delete {x})' for x in rows)}) :ruleset {ruleset})"


def _restoring(text: str) -> Iterator[str]:
    """The rulesets that restore the operators that a text names, each one operator."""
    for name, union in _NAMED.findall(text):
        ruleset = f"{RESTORING}_{name}"
        yield f"(ruleset {ruleset})\n(rule (({CLEARED} {CLEARED}_0)) ({union}) :ruleset {ruleset})"
