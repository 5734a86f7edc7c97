"""Rules that are loaded when they are first run: a program needs a fifth of them, and loading all takes far longer
than most programs do.

The engine's process imports this file by its path, so it imports nothing of the project.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["RulesOnDemand", "commands"]

_DECLARES = re.compile(r"\((?:relation|function|constructor|sort|datatype) ")
_RULESET = re.compile(r"\(ruleset ([^\s()]+)\)")
_NAMES = re.compile(r"[^\s()]+")
_OF_RULESET = re.compile(r"\(rule .*:ruleset ([^\s()]+)|\((?:ruleset|unstable-combined-ruleset) ([^\s()]+)", re.DOTALL)


class RulesOnDemand:
    """The rules of a text, each ruleset loaded when a command first names it.  run: makes the engine run a command.

    seconds: the time of this thread that loading has taken.
    """

    def __init__(self, text: str, run: Callable[[str], list[Any]]) -> None:
        self._run = run
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        self._above: list[str] = []  # what was loaded since a level of the engine was opened
        self.rulesets: set[str] = set()  # all that there are, loaded or not
        start = time.thread_time()
        for command in map(str.strip, commands(text)):
            if (found := _OF_RULESET.match(command)) and not _DECLARES.search(command):
                self._waiting[found[1] or found[2]].append(command)
                self.rulesets.add(found[1] or found[2])
            else:
                run(command)
        self.seconds = time.thread_time() - start

    def run(self, command: str) -> list[Any]:
        """Run a command, once the rulesets are loaded that it names."""
        self._load_for(command)
        self.rulesets.update(_RULESET.findall(command))
        return self._run(command)

    def again(self) -> None:
        """Load again what was loaded above the level of the engine that was left."""
        for command in self._above:
            self._run(command)
        self._above = []

    def _load_for(self, command: str) -> None:
        if "(run" in command or "ruleset" in command:
            for name in _NAMES.findall(command):
                if name in self._waiting:
                    start = time.thread_time()
                    self._load(name)
                    self.seconds += time.thread_time() - start

    def _load(self, name: str) -> None:
        for command in self._waiting.pop(name, ()):
            if command.startswith("(unstable-combined-ruleset"):
                for part in _NAMES.findall(command):
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
