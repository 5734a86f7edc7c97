"""egglog's engine in a separate process, which keeps its rules from program to program.

Ending the process frees memory that the engine does not give back.  If egglog runs out of memory and aborts, only its
own process ends.  The threads of the engine, which a fork does not copy, are not in the user's process.
"""

from __future__ import annotations

import atexit
import errno
import importlib
import importlib.util
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from typing import IO, Any

from scanopt.calculus.ground import with_named_terms
from scanopt.egraph import engine_process
from scanopt.egraph.clearing import with_clearing
from scanopt.egraph.engine_messages import receive, send
from scanopt.egraph.engine_process import CHECK_FAILED, KEPT
from scanopt.egraph.operators_in_use import ASKING
from scanopt.forks import STARTING
from scanopt.records import dataclass

__all__ = ["Engine", "EngineError", "RunReport", "TableRows", "begin_to_start", "take"]

_IDLE = max(2, os.cpu_count() or 1)
"""The most processes that are kept while no program uses them."""


SPARE = 80_000_000
"""Bytes by which a process may grow before it is replaced: an engine keeps a report of every run."""


class EngineError(RuntimeError):
    """The engine refused a command."""


@dataclass(frozen=True)
class RunReport:
    """The outcome of running rules: whether anything was new, and matches and seconds by rule."""

    updated: bool
    matches: dict[str, int]
    seconds: dict[str, float]


@dataclass(frozen=True)
class TableRows:
    """The rows of a relation or function: arguments and value.

    Integers and strings are themselves, a class is a number.  sort: the sort of the values.
    """

    sort: str
    rows: list[tuple[tuple[Any, ...], Any]]


class _Process:
    """A process that runs engines.  It answers requests in order."""

    def __init__(self) -> None:
        command = [_python(), "-P", "-s", "-S", engine_process.__file__, _bindings(), str(SPARE)]
        self.texts: dict[str, int] = {}
        """The texts of rules that the process has, by text the key, least recently used first."""
        self._begun = 0
        self.broken = False
        self._owed = 0
        self._told = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        try:
            with STARTING:
                self._process = subprocess.Popen(
                    command,
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._told,
                    env=_settings(),
                )
                _ALL.add(self)
        except OSError as error:
            self._told.close()
            if error.errno == errno.ENOMEM:
                raise MemoryError(_no_memory(str(error))) from error
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._files: tuple[IO[bytes], IO[bytes]] = self._process.stdin, self._process.stdout

    def tell(self, *request: Any) -> None:
        """Send a request; the answer is read later."""
        self._owed += 1
        try:
            send(self._files[0].fileno(), request)
        except (BrokenPipeError, ValueError):
            raise self._ended() from None
        except BaseException:
            self.end()
            raise

    def begin(self, text: str) -> None:
        """Start a new program with these rules.  Their text is sent only once."""
        self._begun += 1
        known = self.texts.pop(text, None)
        self.texts[text] = self._begun if known is None else known
        while len(self.texts) > KEPT:
            del self.texts[next(iter(self.texts))]
        self.tell("begin", self.texts[text], with_clearing(text) if known is None else "")

    def ask(self, *request: Any) -> Any:
        """Send a request and return the answer."""
        self.tell(*request)
        return self.last()

    def last(self) -> Any:
        """The answer to the last request.  Raises the first error of the unanswered ones."""
        answers: list[tuple[str, Any]] = []
        try:
            while self._owed and (found := receive(self._files[1].fileno())):
                self._owed -= 1
                answers.append(found)
        except BaseException:  # the rest of the answer would be taken for the next one
            self.end()
            raise
        if self._owed:
            raise self._ended()
        for kind, text in answers:
            if kind == "MemoryError":
                raise MemoryError(_no_memory("MemoryError"))
            if kind:
                raise EngineError(text)
        return answers[-1][1]

    def worn(self) -> bool:
        """Whether the process should be replaced."""
        try:
            if self.broken or self._process.poll() is not None:
                return True
            return not self.ask("alive")  # a process that has just been killed may still be there
        except (EngineError, MemoryError, RuntimeError):
            return True

    def _ended(self) -> Exception:
        """The error to raise if the process has ended by itself."""
        self._files[0].close()
        status = self._process.wait()
        self._told.seek(0)
        told = self._told.read().decode(errors="replace").strip()
        self.end()
        last = told.splitlines()[-1] if told else f"status {status}"
        if status == -getattr(signal, "SIGKILL", 9) or any(x in told for x in _OUT_OF_MEMORY):
            return MemoryError(_no_memory(last))
        return RuntimeError(f"the engine has ended ({last}); this is a bug of scanopt or of egglog: please report it")

    def end(self) -> None:
        """End the process."""
        self.broken = True
        _ALL.discard(self)
        for file in (*self._files, self._told):
            file.close()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def leave(self) -> None:
        """Forget a process that belongs to the parent of a fork."""
        self.broken = True
        for file in (*self._files, self._told):
            file.close()
        self._process.returncode = 0


_ALL: set[_Process] = set()
_FREE: list[_Process] = []
"""The processes that no program uses, least recently used first."""

_OUT_OF_MEMORY = (
    "memory allocation of", "MemoryError", "annot allocate memory", "failed to map segment", "out of memory",
    "bad_alloc", "WouldBlock", "can't start new thread",
)  # fmt: skip


def _no_memory(told: str) -> str:
    return (
        f"the engine that optimizes has run out of memory ({told}): let the process have more (ulimit -v, the limit of "
        'its container), or compile a smaller program, one with fewer laws (mode="FAST_COMPILE", exclude=[...]), or '
        'as it is written (mode="unoptimized"), which takes no engine'
    )


def _bindings() -> str:
    """The file of egglog's extension module.  Raises ImportError if egglog is not installed."""
    if (package := importlib.util.find_spec("egglog")) is not None:
        found = PathFinder.find_spec("egglog.bindings", package.submodule_search_locations)
        if found is not None and found.origin is not None:
            return found.origin
    from egglog import bindings  # its error says what is missing

    file = bindings.__file__
    assert file is not None
    return file


def _python() -> str:
    """The interpreter that new processes run."""
    found = sys.executable
    if not found or getattr(sys, "frozen", False):
        from multiprocessing.spawn import get_executable

        chosen = get_executable()
        found = os.fsdecode(chosen) if chosen else ""
        if not found or found == sys.executable:
            raise RuntimeError(
                f"scanopt optimizes in a Python process of its own, and there is no Python to start here "
                f"(sys.executable is {sys.executable!r}): name one by multiprocessing.set_executable(path)"
            )
    return found


_TUNABLES = "GLIBC_TUNABLES"

_KEPT_AT_HAND = "glibc.malloc.tcache_count=4000"
"""The C library keeps this many freed blocks of each size for reuse: for a small program the engine allocates and frees
a quarter of a million of them, which took a quarter of its time with the usual seven."""


def _settings() -> dict[str, str]:
    """The environment of a new process; what the user has set stays."""
    mine = os.environ.get(_TUNABLES, "")
    return {**os.environ, _TUNABLES: mine if "tcache_count" in mine else ":".join(filter(None, (mine, _KEPT_AT_HAND)))}


class Engine:
    """An engine with the rules of a text and one program; `close` removes the program."""

    def __init__(self, process: _Process) -> None:
        self._process = process
        self._checks = 0

    def run(self, text: str) -> list[RunReport]:
        """Run the commands of a text and return the reports of its runs.

        Raises EngineError if a command is refused, MemoryError if memory is short.
        """
        return [RunReport(*x) for *x, _ in self._process.ask("run", text)]

    def operators_in_use(self) -> frozenset[str]:
        """The names of the operators that are applied to something (`operators_in_use`)."""
        (_, rows) = self._process.ask("run", ASKING)
        return frozenset(x.removeprefix('(used "').removesuffix('")') for x in rows)

    def round(
        self,
        first: str,
        facts: Sequence[tuple[str, bool]],
        then: str,
        laws: Sequence[str],
        counted: Sequence[str],
        watch: tuple[int, float] | None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> tuple[RunReport, int, float]:
        """Run, in one request, the commands `first`, rulesets of facts one after the other, then commands and rulesets
        of laws, each once.

        facts: rulesets, each with whether it runs until nothing new follows.
        watch: the number of rows of the counted tables, and the ratio of free memory to the memory that the program
        takes, that stop the facts early when there are more or it is less; to watch takes time, and None does not.
        meanwhile: called in this process while the engine runs.  Returns a report of the laws (updated: whether another
        such round could find anything), the number of rows of the counted tables, and the ratio of free memory to the
        memory that the program takes.  Raises as `run` does.
        """
        self._process.tell("round", first, facts, then, laws, counted, watch)
        meanwhile()
        report, rows, taken, left = self._process.last()
        return RunReport(*report), rows, left / taken if taken else math.inf

    def holds(self, query: str) -> bool:
        """Whether a query has an answer.  Raises EngineError if it is not a valid query."""
        self._checks += 1
        names, query = with_named_terms(query, f"$asked_{self._checks}")
        try:
            self.run(f"{names} (check {query})")
        except EngineError as error:
            if CHECK_FAILED in str(error):
                return False
            raise
        return True

    def tables(self, names: Sequence[str]) -> dict[str, TableRows]:
        """The tables of these names that exist."""
        return {name: TableRows(*x) for name, x in self._process.ask("tables", names).items()}

    def counted(self, names: Sequence[str]) -> tuple[int, float]:
        """The number of rows of some tables, and the ratio of free memory to the memory that the program takes."""
        rows, taken, left = self._process.ask("counted", names)
        return rows, left / taken if taken else math.inf

    def sizes(self) -> tuple[dict[str, int], float]:
        """The number of rows by table, and the ratio of free memory to the memory that the program takes."""
        sizes, taken, left = self._process.ask("room")
        return sizes, left / taken if taken else math.inf

    def clear(self) -> None:
        """Remove the program; rules that were added stay."""
        self._process.ask("clear")

    def close(self) -> None:
        """Make the engine ready for the next program."""
        if self._process.broken:
            return
        try:
            self._process.tell("end")
        except (RuntimeError, MemoryError):
            return
        with STARTING:
            spare = _FREE.pop(0) if len(_FREE) >= _IDLE else None
            _FREE.append(self._process)
        if spare is not None:
            spare.end()


def take(text: str) -> Engine:
    """An engine with the rules of `text`, at its own level; its first answer reports errors in the text.

    Raises ImportError if egglog is not installed, MemoryError if memory is short.
    """
    process = _free(text)
    if process is None or process.worn():
        if process is not None:
            process.end()
        process = _Process()
    process.begin(text)
    return Engine(process)


def begin_to_start() -> None:
    """Start a process if none is free: it starts while this process writes the rules for it.

    Raises as `take` does.
    """
    if not _FREE:
        started = _Process()
        with STARTING:
            _FREE.append(started)


def _free(text: str) -> _Process | None:
    """A process that is kept idle, preferably one with these rules."""
    with STARTING:
        found = [x for x in _FREE if text in x.texts] or _FREE
        return _FREE.pop(_FREE.index(found[-1])) if found else None


def _end_all() -> None:
    for process in list(_ALL):
        process.end()


def _in_child() -> None:
    for process in _ALL:
        process.leave()
    _ALL.clear()
    _FREE.clear()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
