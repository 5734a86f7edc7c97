"""Sends commands to an engine: several at once, in a file that the engine includes.

The engine's process imports this file by its path, so it must not import other modules of the project.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

__all__ = ["Commands", "commands"]


class Commands:
    """Runs texts of commands in a new engine.  engine: that engine.

    If the text were parsed in Python, each command and each of its terms would become an object that keeps the whole
    text alive: that takes longer than most commands run, and gigabytes for all rules at once.  A file that the engine
    includes is parsed by the engine alone.
    """

    def __init__(self, bindings: Any) -> None:
        self.engine = bindings.EGraph()
        self._file = os.memfd_create("commands") if hasattr(os, "memfd_create") else -1
        path = f"/dev/fd/{self._file}"
        self._include = bindings.Include(bindings.PanicSpan(), path) if os.path.exists(path) else None

    def run(self, text: str) -> list[Any]:
        """Run the commands of a text; return their results."""
        found = [*commands(text)]
        if self._include is not None and len(found) > 1:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, text.encode(), 0)
            return list(self.engine.run_program(self._include))
        return [x for command in found for x in self.engine.run_program(*self.engine.parse_program(command))]

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)


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
