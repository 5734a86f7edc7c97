"""What programs add to the rules of an engine, and which additions may stay when a program is removed.

Removing a rule takes a new level of the engine, which copies all rules: longer than a small program takes.  An addition
need not be removed if its name determines what it stands for: a program that uses the name again means the same by it,
and rules in a ruleset that nobody runs cost nothing.

The engine's process imports this file by its path, so it imports nothing of the project.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["CLEARED", "CLEARING", "LASTING", "RESTORING", "Additions"]

CLEARING, CLEARED, RESTORING = "clearing", "cleared", "restoring"
"""The prefix of the rulesets that delete the rows of one table; the relation that says that all rows were deleted; the
prefix of the rulesets that restore one named operator."""

LASTING = "lasting_"
"""The prefix, perhaps after "facts_", of names of operators and rulesets that determine all that they stand for."""

_LASTING = 200
"""The most commands adding such names that are kept."""

_TOGETHER = 2000
"""The most rulesets combined from others that are kept."""

_COMBINED = re.compile(r"\s*\(unstable-combined-ruleset (\S+)")
_ADDS = re.compile(r"\((?:relation|constructor|function|ruleset|rule|rewrite|birewrite|let|sort|datatype)\b")
_NAMES = re.compile(r"\((?:relation|constructor|function|let|sort|datatype|ruleset) ([^\s()]+)|:ruleset ([^\s()]+)")
_LASTS = re.compile(rf"(?:facts_)?{LASTING}\w+")
_OPERATOR = re.compile(r"\s*\(constructor ([^\s()]+) \(\) (?:Op|Param)\) (\(union .*\))\s*")


class Additions:
    """What programs have added to the rules of an engine.  run: makes the engine run a command."""

    def __init__(self, run: Callable[[str], list[Any]]) -> None:
        self._run = run
        self._combined: dict[str, str] = {}
        self._added: list[str] = []
        self._lasting: dict[str, str] = {}  # by command, the part of it that a program runs that uses it again
        self._used: dict[str, None] = {}  # those of this program
        self._clearing: list[str] = []  # the rules that delete rows of operators, not needed before the first deletion

    @property
    def must_go(self) -> bool:
        """Whether there are additions that may not stay, or too many."""
        return bool(self._added) or len(self._lasting) > _LASTING or len(self._combined) > _TOGETHER

    def run(self, command: str) -> list[Any]:
        """Run a command of a program; what it adds and is there already is not added again."""
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
        """Add the rules that delete the rows of named operators."""
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
        """Note that all additions are gone."""
        self._added, self._combined, self._lasting, self._used, self._clearing = [], {}, {}, {}, []

    def again(self) -> None:
        """After all additions were lost, add those of this program again, and rulesets combined from what is there."""
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
    """Whether all names that a command adds determine what they stand for."""
    names = [a or b for a, b in _NAMES.findall(command)]
    rules = sum(command.count(f"({kind} ") for kind in ("rule", "rewrite", "birewrite"))
    return rules == command.count(":ruleset ") and all(map(_LASTS.fullmatch, names))
