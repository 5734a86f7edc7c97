"""egglog's engine: loaded without the package around it, and kept with its rules from program to program."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import Any

__all__ = ["ENGINES", "Engines", "commanded"]

_NAME = "egglog.bindings"
_LOADING = threading.Lock()
_KEPT = 2
"""Sets of rules, of those used last, for which an engine (about 100 MB) is kept."""


def _bindings() -> Any:
    """The extension module alone: egglog's own `__init__` imports formatters and notebooks, which takes 0.15 s.

    Importing egglog before or after finds the same module.
    """
    with _LOADING:
        if _NAME not in sys.modules and (package := importlib.util.find_spec("egglog")) is not None:
            found = PathFinder.find_spec(_NAME, package.submodule_search_locations)
            if found is not None and found.loader is not None:
                sys.modules[_NAME] = module = importlib.util.module_from_spec(found)
                found.loader.exec_module(module)
        return sys.modules.get(_NAME) or importlib.import_module("egglog.bindings")


def commanded(engine: Any, text: str) -> list[Any]:
    """What the commands of a text come to.

    They are run one by one: every term that is parsed keeps the whole text it stands in, and all rules at once, or
    a few thousand folded constants, take gigabytes.
    """
    return [result for command in _commands(text) for result in engine.run_program(*engine.parse_program(command))]


def _commands(text: str) -> Iterator[str]:
    """The commands of a text, each of which begins on a line of its own; those on one line stay together."""
    command, depth = "", 0
    for line in text.splitlines():
        command += line + "\n"
        depth += line.count("(") - line.count(")")
        if not depth and command.strip():
            yield command
            command = ""
    if command.strip():  # parentheses in a string
        yield command


class Engines(threading.local):
    """Engines with rules loaded and no program: loading rules costs more than most programs.

    Each thread has its own: egglog ends a process that uses an engine in another thread.
    """

    def __init__(self) -> None:
        self._engines: dict[str, list[Any]] = {}

    def take(self, text: str) -> Any:
        """An engine with the rules of `text`, on a level of its own."""
        engines = self._engines.get(text)
        engine = engines.pop() if engines else None
        if engine is None:
            engine = _bindings().EGraph()
            commanded(engine, text)
        commanded(engine, "(push)")
        return engine

    def put(self, text: str, engine: Any) -> None:
        """Take the engine back, without what was loaded since."""
        commanded(engine, "(pop)")
        others = [t for t in self._engines if t != text]
        for old in others[: len(others) - _KEPT + 1]:
            del self._engines[old]
        self._engines.pop(text, None)
        self._engines[text] = [engine]


ENGINES = Engines()
"""Those of the calling thread."""
