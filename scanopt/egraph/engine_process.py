"""The process in which egglog runs: it answers requests until its input ends.

It is started by its path and must not import other modules of the project.  Its arguments are the file of egglog's
extension module, and the number of bytes that it may grow by before it is replaced.
"""

from __future__ import annotations

import contextlib
import datetime  # noqa: F401  # egglog imports it, which may fail without a MemoryError when memory is short
import importlib.util
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any


def loaded(name: str, path: str) -> Any:
    """Import a module from its file alone: egglog's own `__init__` imports formatters and notebooks."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __package__:
    from scanopt.egraph import engine_additions as additions
    from scanopt.egraph import engine_commands as commands
    from scanopt.egraph import engine_memory as memory
    from scanopt.egraph import engine_messages as messages
    from scanopt.egraph import engine_reports as reports
    from scanopt.egraph import engine_rules as rules
else:  # started by its path
    here = os.path.dirname(os.path.abspath(__file__))
    memory = loaded("engine_memory", os.path.join(here, "engine_memory.py"))
    messages = loaded("engine_messages", os.path.join(here, "engine_messages.py"))
    additions = loaded("engine_additions", os.path.join(here, "engine_additions.py"))
    commands = loaded("engine_commands", os.path.join(here, "engine_commands.py"))
    reports = loaded("engine_reports", os.path.join(here, "engine_reports.py"))
    rules = loaded("engine_rules", os.path.join(here, "engine_rules.py"))

KEPT = 3
"""Sets of rules, the last ones used, whose engines (20 MB each) are kept: of programs, of storage, with provenance."""

_SHARE = 20
"""A process is worn out only after it has worked this many times as long as loading its rules took."""

_AT_ONCE = 8
"""The most runs of a ruleset of facts in one command."""

_LOOK = 2000
"""Matches of facts between two checks of rows and memory: only matches make rows."""

CHECK_FAILED = "heck failed"
"""Part of egglog's message about a check that does not hold; such a check changes nothing."""

_LARGE = 20_000
"""With more rows than this, a new level of the engine takes less time than rules that delete the rows."""


class Server:
    """Engines with loaded rules, each in a thread of its own; requests are about one of them at a time.

    The thread of an engine answers from `begin` to `end`.  Then it prepares for the next program while another engine
    answers; that takes as long as a small program does.
    """

    def __init__(self, bindings: Any, spare: int, receive: Callable[[], Any], send: Callable[[Any], None]) -> None:
        self._bindings = bindings
        self._spare = spare
        self._receive, self._send = receive, send
        self._workers: dict[int, Worker] = {}
        self._limit = memory.soft_limit()
        self._start = time.process_time()
        self._fresh = memory.used()[0]
        self._worn = False

    def serve(self) -> None:
        """Answer requests until the input ends."""
        while request := self._receive():
            name, *args = request
            if name == "begin":
                self._worker(*args).answer()
            else:
                self._send(("", not self._is_worn()))

    def _worker(self, key: int, text: str) -> Worker:
        """The worker with the rules of this key; their text comes with the first request for the key."""
        memory.bound_memory(self._limit)
        made = self._workers.pop(key, None)
        self._workers[key] = made or Worker(self._bindings, text, self._receive, self._send)
        while len(self._workers) > KEPT:
            self._workers.pop(next(iter(self._workers))).stop()
        return self._workers[key]

    def _is_worn(self) -> bool:
        """Whether this process should be replaced.  While an engine is being prepared, the last answer holds."""
        workers = self._workers.values()
        if all(x.ready for x in workers):
            self._fresh = max(self._fresh, *(x.fresh for x in workers), 0)
            grown = memory.used()[0] - self._fresh > self._spare
            start = self._start + sum(x.start for x in workers)
            self._worn = grown and time.process_time() > _SHARE * start
        return self._worn


class Worker:
    """An engine with some rules, in the one thread that may use it.

    Loading rules costs more than most programs, so each is loaded once, when a program first needs it, and the program
    is removed afterwards: by rules that delete all rows or, if it brought rules of its own or is large, by leaving the
    engine's level (push, pop), which copies all rules.  fresh: bytes that the process held before the first program.
    """

    def __init__(self, bindings: Any, text: str, receive: Callable[[], Any], send: Callable[[Any], None]) -> None:
        self.fresh = 0
        self.ready = False
        self._bindings = bindings
        self._text = text
        self._receive, self._send = receive, send
        self._engine: Any = None  # `Commands`
        self._rules: Any = None
        self._begun = 0
        self._cleared = 0
        self._together: dict[str, frozenset[str]] = {}  # by name, rulesets that are combined into one
        self._clears = False  # whether rules can delete all rows: those that the rules began with would be lost
        self._failed = False
        self._additions = additions.Additions()
        self._turns: SimpleQueue[bool] = SimpleQueue()
        self._over: SimpleQueue[None] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    @property
    def start(self) -> float:
        """The seconds that loading rules has taken."""
        return float(self._rules.seconds) if self._rules else 0.0

    def _told(self, text: str) -> list[Any]:
        """Run the commands of a text and return their results."""
        return list(self._rules.run(text))

    def answer(self) -> None:
        """Answer the requests about one program."""
        self.ready = False
        self._turns.put(True)
        self._over.get()

    def stop(self) -> None:
        """End the thread and its engine."""
        self._turns.put(False)

    def _work(self) -> None:
        with ending():
            while self._turns.get():
                self._send(answered(self._begin))
                while request := self._receive():
                    name, *args = request
                    answer = ("", None) if name == "end" else answered(getattr(self, name), *args)
                    self._failed |= bool(answer[0]) and CHECK_FAILED not in str(answer[1])
                    self._send(answer)
                    if name == "end":
                        break
                self._over.put(None)
                self._end()

    def _begin(self) -> None:
        """Make the engine, if it is not there yet."""
        if self._engine is None:
            engine = commands.Commands(self._bindings)
            self._rules = rules.RulesOnDemand(commands.commands(self._text), engine.run)
            self._engine, self._failed = engine, False
            self._clears = not any(self._sizes().values())
            self._additions.forget()
            self._open()
            self.fresh = memory.used()[0]
        self._begun = memory.used()[1]

    def _end(self) -> None:
        """Remove the program and the rules that it brought."""
        try:
            self._additions.end()
            if self._additions.must_go or not self._cleared_out():
                self._additions.forget()
                self._restart()
        except BaseException:  # a panic of the engine is no Exception; it is made anew for the next program
            self._engine = None
        self.ready = True

    def _cleared_out(self) -> bool:
        """Delete all rows by rules, but those of named operators; return whether this was possible."""
        rows = self._sizes()
        if self._failed or not self._clears or sum(rows.values()) > _LARGE:
            return False
        self._told(self._additions.before_clearing())
        clearing = {f"{additions.CLEARING}_{name}" for name, n in rows.items() if n}
        if not clearing <= self._rules.rulesets:
            return False
        self._run_together(additions.CLEARING, clearing)
        if any(self._sizes().values()):  # rows that no rule sees any more
            return False
        self._cleared += 1
        self._told(f"({additions.CLEARED} {self._cleared})")
        named = {f"{additions.RESTORING}_{name}" for name in self._rules.tables}
        self._run_together(additions.RESTORING, named & self._rules.rulesets)
        return True

    def _run_together(self, name: str, rulesets: set[str]) -> None:
        """Run rulesets once, combined with all others that earlier programs needed under this name."""
        before = self._together.get(name, frozenset())
        together = self._together[name] = before | rulesets
        run = f"(run {name}_{len(together)} 1)" if together else ""
        new = f"(unstable-combined-ruleset {name}_{len(together)} {' '.join(sorted(together))})"
        self._told(run if together == before else f"{new}\n{run}")

    def _restart(self) -> None:
        """Replace the level of the engine by a new one, with the rules that this program added."""
        self._engine.run("(pop)")
        self._rules.again()
        self._open()
        self._told(self._additions.again())
        self._failed = False

    def _open(self) -> None:
        """Open a level of the engine, above what is loaded."""
        self._engine.run("(push)")
        self._rules.opened()
        self._together = {}

    # What is asked about a program

    def run(self, text: str) -> list[Any]:
        """Run the commands of a text; return the reports of its runs of rules."""
        found = self._told("\n".join(self._as_said(text)))
        return [told for x in found if (told := reports.plain(x)) is not None]

    def _as_said(self, text: str) -> Iterator[str]:
        """The commands of a text, as they are sent to an engine that may have received some of them before."""
        return map(self._additions.new, commands.commands(text))

    def clear(self) -> None:
        """Remove the program; rules that were added stay."""
        if self._additions.must_go or not self._cleared_out():
            self._restart()
        else:
            self._told(self._additions.restored())

    def round(
        self,
        first: str,
        facts: Sequence[tuple[str, bool]],
        then: str,
        laws: Sequence[str],
        counted: Sequence[str],
        watch: tuple[int, float] | None,
    ) -> list[Any]:
        """Run commands, rulesets of facts, commands, and rulesets of laws; return a report, rows of counted tables, and
        memory.

        watch: how many rows there may be, and how much memory must be left, by the memory taken, for facts to go on;
        None lets them.  The report is of the laws.  Updated: whether they found anything, or facts were stopped; if
        neither, another round would find nothing, however much the facts derived in this one.
        """
        texts, stopped = [*self._as_said(first)], False
        if watch is not None:
            self._told("\n".join(texts))
            texts, stopped = [], self._stopped(facts, counted, *watch)
        elif facts:
            texts.append(_schedule(f"(saturate (run {x}))" if again else f"(run {x})" for x, again in facts))
        texts += self._as_said(then)
        texts += [_schedule(f"(run {x})" for x in laws)] if laws else []
        *ran, rows, taken, left = self._asked(texts, counted)
        fired = reports.plain(ran[-1]) if laws else reports.NOTHING
        return [(stopped or fired[0], *fired[1:3]), rows, taken, left]

    def _stopped(self, facts: Sequence[tuple[str, bool]], counted: Sequence[str], most: int, read: float) -> bool:
        """Run rulesets of facts, unless there are too many rows or there is too little memory; return whether."""
        seen = 0
        for report in (x for ruleset, again in facts for x in self._runs(ruleset, again)):
            seen += sum(report[1].values())
            if seen > _LOOK:
                seen = 0
                if self._is_full(counted, most, read):
                    return True
        return False

    def _runs(self, ruleset: str, again: bool) -> Iterator[Any]:
        """Run a ruleset once or, with `again`, until nothing new follows; yield the reports."""
        runs = most = _AT_ONCE if again else 1
        while runs == most:  # the command, unlike `repeat` in a schedule, ends with the first run that finds nothing
            (result,) = self._told(f"(run {ruleset} {most})")
            report = reports.plain(result, timed=False)
            yield report
            runs = report[3] if again else 0

    def _is_full(self, counted: Sequence[str], most: int, read: float) -> bool:
        """Whether there are too many rows, or there is too little memory left."""
        rows, taken, left = self.counted(counted)
        return rows > most or left < read * taken

    def counted(self, names: Sequence[str]) -> tuple[int, int, int]:
        """The rows of some tables, the bytes taken for the program so far, and the bytes left."""
        rows, taken, left = self._asked([], names)
        return rows, taken, left

    def _asked(self, texts: Sequence[str], names: Sequence[str]) -> list[Any]:
        """Run commands; return what they tell, the rows of some tables, and the bytes that are taken and left."""
        sizes = [f"(print-size {name})" for name in names]
        found = self._told("\n".join([*texts, *sizes]))
        told = len(found) - len(sizes)
        return [*found[:told], sum(x.size for x in found[told:]), *self._memory()]

    def tables(self, names: Sequence[str]) -> dict[str, tuple[str, list[tuple[tuple[Any, ...], Any]]]]:
        """The sort of the values and the rows (arguments and value) of some tables.

        Integers and strings are themselves; any other value is a number, the same for equal values.
        """
        self._rules.load(names)
        numbers: dict[Any, int] = {}
        engine = self._engine.engine
        read = {"i64": engine.value_to_i64, "String": engine.value_to_string}
        other = lambda x: numbers.setdefault(x, len(numbers))  # noqa: E731
        functions, out = engine.freeze().functions, {}
        for name in names:
            if (f := functions.get(name)) is not None:
                columns = [read.get(sort, other) for sort in f.input_sorts]
                value = read.get(f.output_sort, other)
                rows = [(tuple([c(x) for c, x in zip(columns, r.inputs)]), value(r.output)) for r in f.rows]  # noqa: B905
                out[name] = (f.output_sort, rows)
        return out

    def room(self) -> tuple[dict[str, int], int, int]:
        """The number of rows by table, the bytes taken for the program so far, and the bytes left."""
        return self._sizes(), *self._memory()

    def _memory(self) -> tuple[int, int]:
        return max(memory.used()[1] - self._begun, 0), memory.addresses_left()

    def _sizes(self) -> dict[str, int]:
        (found,) = self._engine.run("(print-size)")
        return dict(found.sizes)


def _schedule(runs: Iterable[str]) -> str:
    return f"(run-schedule {' '.join(runs)})"


# Requests


def serve(bindings: str, spare: int) -> None:
    """Answer requests until the other side has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side decides what an interrupt does
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
        file.write("1000")  # where memory runs out all the same, this process ends first
    out = os.dup(1)
    os.dup2(2, 1)  # nothing that is printed gets between the answers
    threading.Thread(target=end_with, args=(0,), daemon=True).start()
    with ending():
        told, tell = partial(messages.receive, 0), partial(messages.send, out)
        Server(loaded("egglog.bindings", bindings), spare, told, tell).serve()


def answered(ask: Callable[..., Any], *args: Any) -> tuple[str, Any]:
    """The answer to a request: the name of an error, and its text or the result."""
    try:
        return "", ask(*args)
    except BaseException as error:  # a panic of the engine is no Exception
        return type(error).__name__, str(error)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """End this process when the other side has gone; freeing memory piece by piece would take long."""
    try:
        yield
    except BrokenPipeError:
        os._exit(0)


def end_with(file: int) -> None:
    """End this process, whatever it is doing, when the other side of a pipe closes."""
    if hasattr(select, "poll"):
        waiting = select.poll()
        waiting.register(file, 0)  # the end is reported even so
        waiting.poll()
        os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
    os._exit(0)
