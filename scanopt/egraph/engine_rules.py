"""Tables and rules that are loaded when they are first named: a program needs half of the tables and a fifth of the
rules.  Loading all takes far longer than most programs do, and the engine looks at each table in each run.

The engine's process imports this file by its path, so it must not import other modules of the project.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["RulesOnDemand"]

_NAMES = re.compile(r"[^\s()]+")
_RULESET = re.compile(r"\(ruleset ([^\s()]+)\)")
_TABLE = re.compile(r"\((?:relation|function|constructor) ([^\s()]+)")
_PART = re.compile(
    r"\((?:relation|function|constructor|ruleset|unstable-combined-ruleset) ([^\s()]+)"
    r"|\(rule .*:ruleset ([^\s()]+)", re.DOTALL
)  # fmt: skip


class RulesOnDemand:
    """The tables and rules of some commands, each table and each ruleset loaded when a command first names it.

    run: makes the engine run a text.  rulesets: all that there are, loaded or not.  tables: those that are there.
    seconds: the time of this thread that loading has taken.
    """

    def __init__(self, commands: Iterable[str], run: Callable[[str], list[Any]]) -> None:
        self._run = run
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        self._above: list[str] = []  # what was loaded since a level of the engine was opened
        self.rulesets: set[str] = set()
        self.tables: set[str] = set()
        self.seconds = 0.0
        for command in map(str.strip, commands):
            if found := _PART.match(command):
                for name in _TABLE.findall(command) or [found[1] or found[2]]:
                    self._waiting[name].append(command)
                self.rulesets.update(_RULESET.findall(command))
            else:
                self.run(command)

    def run(self, text: str) -> list[Any]:
        """Run the commands of a text, once the tables and rulesets are loaded that they name."""
        self.load(_NAMES.findall(text))
        self.rulesets.update(_RULESET.findall(text))
        return self._run(text)

    def load(self, names: Iterable[str]) -> None:
        """Load the tables and rulesets of these names, and all that they name."""
        found = [command for name in names if name in self._waiting for command in self._needed(name)]
        if found:
            start = time.thread_time()
            self._above += found
            self._run("\n".join(found))
            self.seconds += time.thread_time() - start

    def opened(self) -> None:
        """Note that a level of the engine was opened."""
        self._above = []

    def again(self) -> None:
        """Load again what was loaded above the level of the engine that was left."""
        self._run("\n".join(self._above))

    def _needed(self, name: str) -> Iterator[str]:
        """The commands that load what has a name, after all that they name; nothing if it is loaded."""
        for command in self._waiting.pop(name, ()):
            for table in _TABLE.findall(command):  # perhaps several in one command
                self._waiting.pop(table, None)
                self.tables.add(table)
            for part in _NAMES.findall(command):
                if part in self._waiting:
                    yield from self._needed(part)
            yield command
