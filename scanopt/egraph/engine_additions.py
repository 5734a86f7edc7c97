"""What programs add to the rules of an engine, and which additions may stay when a program is removed.

Removing a rule takes a new level of the engine, which copies all rules: longer than a small program takes.  An addition
may stay if its name determines its meaning: another program that uses the name means the same, and rules in a ruleset
that is not run cost nothing.

The engine's process imports this file by its path, so it must not import other modules of the project.
"""

from __future__ import annotations

import re

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
    """What programs have added to the rules of an engine."""

    def __init__(self) -> None:
        self._combined: dict[str, str] = {}
        self._added: list[str] = []
        self._lasting: dict[str, str] = {}  # by command, the part of it that a program runs that uses it again
        self._used: dict[str, None] = {}  # those of this program
        self._clearing: list[str] = []  # the rules that delete rows of operators, not needed before the first deletion

    @property
    def must_go(self) -> bool:
        """Whether there are additions that may not stay, or too many."""
        return bool(self._added) or len(self._lasting) > _LASTING or len(self._combined) > _TOGETHER

    def new(self, command: str) -> str:
        """What the engine has to run for a command of a program: what it adds and is there already is left out."""
        if together := _COMBINED.match(command):
            if together[1] in self._combined:
                return ""
            self._combined[together[1]] = command
            return command
        return self._add(command) if _ADDS.search(command) else command

    def _add(self, command: str) -> str:
        if not _may_stay(command):
            self._added.append(command)
            return command
        self._used[command] = None
        if command in self._lasting:
            return self._lasting[command]
        operator = _OPERATOR.fullmatch(command)
        self._lasting[command] = operator[2] if operator else ""
        if operator:
            row = f"({operator[1]})"
            ruleset = f"{CLEARING}_{operator[1]}"
            rule = f"(rule ((= {CLEARED}_as {row})) ((delete {row})) :ruleset {ruleset})"
            self._clearing.append(f"(ruleset {ruleset}) {rule}")
        return command

    def before_clearing(self) -> str:
        """The rules to add that delete the rows of named operators."""
        rules, self._clearing = self._clearing, []
        return "\n".join(rules)

    def end(self) -> None:
        """Note that the program has been removed."""
        self._used = {}

    def restored(self) -> str:
        """The commands that restore the rows of the operators this program has named, after all rows were deleted."""
        return "\n".join(self._lasting[command] for command in self._used)

    def forget(self) -> None:
        """Note that all additions are gone."""
        self._added, self._combined, self._lasting, self._used, self._clearing = [], {}, {}, {}, []

    def again(self) -> str:
        """What to run once all additions were lost: those of this program, rulesets combined from what is there."""
        added, used, combined = self._added, self._used, self._combined
        self.forget()
        text = [self._add(command) for command in (*used, *added)]
        there = " ".join(used)
        self._combined = {k: x for k, x in combined.items() if all(name in there for name in _LASTS.findall(x))}
        return "\n".join([*text, *self._combined.values()])


def _may_stay(command: str) -> bool:
    """Whether all names that a command adds determine what they stand for."""
    names = [a or b for a, b in _NAMES.findall(command)]
    rules = sum(command.count(f"({kind} ") for kind in ("rule", "rewrite", "birewrite"))
    return rules == command.count(":ruleset ") and all(map(_LASTS.fullmatch, names))
