"""What programs add to the rules of an engine, and what of it may stay when they are removed.

Removing a rule takes a new level of the engine, which copies all rules: longer than a small program takes.  A name that
tells all that it stands for need not be removed: whoever uses it again says the same by it, and rules in a ruleset that
nobody runs cost nothing.

The engine's process imports this file by its path, so it imports nothing of the project.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["CLEARED", "CLEARING", "LASTING", "RESTORING", "Additions"]

CLEARING, CLEARED, RESTORING = "clearing", "cleared", "restoring"
"""What the rulesets are named after that delete the rows of a table, the relation that says that all were deleted, and
the ruleset that brings back those of the text."""

LASTING = "lasting_"
"""How names begin, perhaps after "facts_", that tell all that they stand for: names of operators and of rulesets."""

_LASTING = 200
"""Commands that add such names and are kept, at most."""

_TOGETHER = 2000
"""Rulesets made of others that are kept, at most."""

_COMBINED = re.compile(r"\s*\(unstable-combined-ruleset (\S+)")
_ADDS = re.compile(r"\((?:relation|constructor|function|ruleset|rule|rewrite|birewrite|let|sort|datatype)\b")
_NAMES = re.compile(r"\((?:relation|constructor|function|let|sort|datatype|ruleset) ([^\s()]+)|:ruleset ([^\s()]+)")
_LASTS = re.compile(rf"(?:facts_)?{LASTING}\w+")
_OPERATOR = re.compile(r"\s*\(constructor ([^\s()]+) \(\) (?:Op|Param)\) (\(union .*\))\s*")


class Additions:
    """What programs have added to the rules of an engine.  run: makes it run a command."""

    def __init__(self, run: Callable[[str], list[Any]]) -> None:
        self._run = run
        self._combined: dict[str, str] = {}
        self._added: list[str] = []
        self._lasting: dict[str, str] = {}  # commands, and what of each a program repeats that uses it again
        self._used: dict[str, None] = {}  # those of this program
        self._clearing: list[str] = []  # the rules that delete rows of operators, not needed before the first deletion

    @property
    def must_go(self) -> bool:
        """Whether something is there that may not stay, or too much."""
        return bool(self._added) or len(self._lasting) > _LASTING or len(self._combined) > _TOGETHER

    def run(self, command: str) -> list[Any]:
        """Run a command of a program; one that adds what is there already does no more."""
        if together := _COMBINED.match(command):
            if together[1] in self._combined:
                return []
            self._combined[together[1]] = command
            return self._run(command)
        return self._add(command) if _ADDS.search(command) else self._run(command)

    def _add(self, command: str) -> list[Any]:
        if not _may_stay(command):
            self._added.append(command)
            return self._run(command)
        self._used[command] = None
        if command in self._lasting:
            return self._run(self._lasting[command])
        operator = _OPERATOR.fullmatch(command)
        self._lasting[command] = operator[2] if operator else ""
        found = self._run(command)
        if operator:
            row = f"({operator[1]})"
            ruleset = f"{CLEARING}_{operator[1]}"
            rule = f"(rule ((= {CLEARED}_as {row})) ((delete {row})) :ruleset {ruleset})"
            self._clearing.append(f"(ruleset {ruleset}) {rule}")
        return found

    def before_clearing(self) -> None:
        """Have the rows of all operators deleted with the others."""
        for rule in self._clearing:
            self._run(rule)
        self._clearing = []

    def end(self) -> None:
        """Note that the program has been removed."""
        self._used = {}

    def restore(self) -> None:
        """Bring back the rows of the operators that this program has named, after all rows were deleted."""
        for command in self._used:
            self._run(self._lasting[command])

    def forget(self) -> None:
        """Note that all has gone."""
        self._added, self._combined, self._lasting, self._used, self._clearing = [], {}, {}, {}, []

    def again(self) -> None:
        """Add again, after all has gone, what this program has added, and rulesets made of what is there."""
        added, used, combined = self._added, self._used, self._combined
        self.forget()
        for command in (*used, *added):
            self._add(command)
        there = " ".join(used)
        for name, command in combined.items():
            if all(x in there for x in _LASTS.findall(command)):
                self._combined[name] = command
                self._run(command)


def _may_stay(command: str) -> bool:
    """Whether all names that a command adds tell what they stand for."""
    names = [a or b for a, b in _NAMES.findall(command)]
    rules = sum(command.count(f"({kind} ") for kind in ("rule", "rewrite", "birewrite"))
    return rules == command.count(":ruleset ") and all(map(_LASTS.fullmatch, names))
