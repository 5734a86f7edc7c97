"""Tables and rules that are loaded when they are first named: a program needs half of the tables and a fifth of the
rules.  Loading all takes far longer than most programs do, and the engine looks at each table in each run.

The engine's process imports this file by its path, so it imports nothing of the project.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["RulesOnDemand", "commands"]

_NAMES = re.compile(r"[^\s()]+")
_RULESET = re.compile(r"\(ruleset ([^\s()]+)\)")
_TABLE = re.compile(r"\((?:relation|function|constructor) ([^\s()]+)")
_PART = re.compile(
    r"\((?:relation|function|constructor|ruleset|unstable-combined-ruleset) ([^\s()]+)"
    r"|\(rule .*:ruleset ([^\s()]+)", re.DOTALL
)  # fmt: skip


class RulesOnDemand:
    """The tables and rules of a text, each table and each ruleset loaded when a command first names it.

    run: makes the engine run a command.  rulesets: all that there are, loaded or not.  tables: those that are there.
    seconds: the time of this thread that loading has taken.
    """

    def __init__(self, text: str, run: Callable[[str], list[Any]]) -> None:
        self._run = run
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        self._above: list[str] = []  # what was loaded since a level of the engine was opened
        self.rulesets: set[str] = set()
        self.tables: set[str] = set()
        self.seconds = 0.0
        for command in map(str.strip, commands(text)):
            if found := _PART.match(command):
                for name in _TABLE.findall(command) or [found[1] or found[2]]:
                    self._waiting[name].append(command)
                self.rulesets.update(_RULESET.findall(command))
            else:
                self.run(command)

    def run(self, command: str) -> list[Any]:
        """Run a command, once the tables and rulesets are loaded that it names."""
        self.load(_NAMES.findall(command))
        self.rulesets.update(_RULESET.findall(command))
        return self._run(command)

    def load(self, names: Iterable[str]) -> None:
        """Load the tables and rulesets of these names, and all that they name."""
        if waiting := [name for name in names if name in self._waiting]:
            start = time.thread_time()
            for name in waiting:
                self._load(name)
            self.seconds += time.thread_time() - start

    def opened(self) -> None:
        """Note that a level of the engine was opened."""
        self._above = []

    def again(self) -> None:
        """Load again what was loaded above the level of the engine that was left."""
        for command in self._above:
            self._run(command)

    def _load(self, name: str) -> None:
        for command in self._waiting.pop(name, ()):
            for table in _TABLE.findall(command):  # perhaps several in one command
                self._waiting.pop(table, None)
                self.tables.add(table)
            for part in _NAMES.findall(command):
                if part in self._waiting:
                    self._load(part)
            self._run(command)
            self._above.append(command)


def commands(text: str) -> Iterator[str]:
    """The commands of a text, each of which begins on a line of its own; those on one line stay together."""
    command, depth = "", 0
    for line in text.splitlines():
        command += line + "\n"
        depth += line.count("(") - line.count(")")
        if not depth and command.strip():
            yield command
            command = ""
    if command.strip():  # as of unbalanced parentheses in a string
        yield command
