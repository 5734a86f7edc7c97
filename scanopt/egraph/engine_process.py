"""The process in which egglog runs: it answers requests until there are no more.

It is started by its path and imports nothing of the project.  Its arguments are the file of egglog's extension
module, and the bytes that it may grow by before it is worn out.  Requests and answers are marshalled, each after its
length in eight bytes.
"""

from __future__ import annotations

import contextlib
import datetime  # noqa: F401  # egglog asks for it when memory may be short, and tells of no MemoryError then
import importlib.util
import marshal
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any

KEPT = 3
"""Sets of rules, of those used last, for which an engine (about 20 MB) is kept: of programs, of storage, with notes."""

_SHARE = 20
"""A process does at least so many times the work of its start before it is worn out."""

_AT_ONCE = 8
"""Runs of facts between two looks at what they came to."""

_MOST = 1 << 62
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Server:
    """Engines with rules loaded, each in a thread of its own; requests are about one of them at a time.

    The thread of an engine answers from `begin` to `end`.  Then it makes itself ready for the next program, which takes
    as long as a small program does, while another one answers.
    """

    def __init__(self, bindings: Any, spare: int, receive: Callable[[], Any], send: Callable[[Any], None]) -> None:
        self._bindings = bindings
        self._spare = spare
        self._receive, self._send = receive, send
        self._workers: dict[int, Worker] = {}
        self._limit = soft_limit()
        self._start = time.process_time()
        self._fresh = used()[0]
        self._worn = False

    def serve(self) -> None:
        """Answer requests until there are no more."""
        while request := self._receive():
            name, *args = request
            if name == "begin":
                self._worker(*args).answer()
            else:
                self._send(("", not self._is_worn()))

    def _worker(self, key: int, text: str) -> Worker:
        """The worker with the rules of this key; their text comes with the key where they are new."""
        bound_memory(self._limit)
        made = self._workers.pop(key, None)
        self._workers[key] = made or Worker(self._bindings, text, self._receive, self._send)
        while len(self._workers) > KEPT:
            self._workers.pop(next(iter(self._workers))).stop()
        return self._workers[key]

    def _is_worn(self) -> bool:
        """Whether another process should take the place of this one.  While an engine is made ready nobody knows."""
        workers = self._workers.values()
        if all(x.ready for x in workers):
            self._fresh = max(self._fresh, *(x.fresh for x in workers), 0)
            grown = used()[0] - self._fresh > self._spare
            start = self._start + sum(x.start for x in workers)
            self._worn = grown and time.process_time() > _SHARE * start
        return self._worn


class Worker:
    """An engine with some rules, in the one thread that may use it.

    Loading rules costs more than most programs, so each program works on a level of its own (push, pop), which is
    ready before it comes.  start: seconds that loading took.  fresh: bytes that the process held then.
    """

    def __init__(self, bindings: Any, text: str, receive: Callable[[], Any], send: Callable[[Any], None]) -> None:
        self.start = 0.0
        self.fresh = 0
        self.ready = False
        self._bindings = bindings
        self._text = text
        self._receive, self._send = receive, send
        self._engine: Any = None
        self._begun = 0
        self._turns: SimpleQueue[bool] = SimpleQueue()
        self._over: SimpleQueue[None] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def answer(self) -> None:
        """Answer the requests about one program."""
        self.ready = False
        self._turns.put(True)
        self._over.get()

    def stop(self) -> None:
        """End the thread, and the engine with it."""
        self._turns.put(False)

    def _work(self) -> None:
        with ending():
            while self._turns.get():
                self._send(answered(self._begin))
                while request := self._receive():
                    name, *args = request
                    self._send(("", None) if name == "end" else answered(getattr(self, name), *args))
                    if name == "end":
                        break
                self._over.put(None)
                self._end()

    def _begin(self) -> None:
        """Load the rules where that is not done."""
        if self._engine is None:
            start, engine = time.thread_time(), self._bindings.EGraph()
            run(engine, self._text)
            run(engine, "(push)")
            self._engine = engine
            self.start, self.fresh = time.thread_time() - start, used()[0]
        self._begun = used()[1]

    def _end(self) -> None:
        """Take the program out again."""
        try:
            run(self._engine, "(pop)")
            run(self._engine, "(push)")
        except BaseException:  # a panic of the engine is no Exception; it is made anew for the next program
            self._engine = None
        self.ready = True

    # What is asked about a program

    def run(self, text: str) -> list[Any]:
        """What the commands of a text come to: reports of runs."""
        return [found for x in run(self._engine, text) if (found := plain(x)) is not None]

    def round(
        self, facts: Sequence[tuple[str, bool]], more: str, counted: Sequence[str], most: int, read: float
    ) -> list[Any]:
        """Run rulesets of facts, then commands: a report of it all, rows of the counted tables, and memory.

        Those that are to run until nothing new follows stop as well with more rows than `most`, or where less than
        `read` times the memory taken is left.
        """
        reports: list[Any] = []
        for ruleset, again in facts:
            reports += self.run(f"(run {ruleset} {_AT_ONCE if again else 1})")
            # The command, unlike `repeat` in a schedule, ends with the first run that finds nothing new.
            while again and reports[-1][0]:
                reports += self.run(f"(run {ruleset} {_AT_ONCE})")
                if reports[-1][0]:
                    rows, *memory = self._counted(counted)
                    if rows > most or memory[1] < read * memory[0]:
                        break
        reports += self.run(more)
        return [together(reports), *self._counted(counted)]

    def _counted(self, names: Sequence[str]) -> tuple[int, int, int]:
        sizes, taken, left = self.room()
        return sum(sizes.get(name, 0) for name in names), taken, left

    def tables(self, names: Sequence[str]) -> dict[str, tuple[str, list[tuple[tuple[Any, ...], Any]]]]:
        """Of some tables the sort of the values, and the rows: arguments and value.

        Integers and texts are themselves; anything else is a number, the same for what is equal.
        """
        numbers: dict[Any, int] = {}
        read = {"i64": self._engine.value_to_i64, "String": self._engine.value_to_string}
        other = lambda x: numbers.setdefault(x, len(numbers))  # noqa: E731
        functions, out = self._engine.freeze().functions, {}
        for name in names:
            if (f := functions.get(name)) is not None:
                columns = [read.get(sort, other) for sort in f.input_sorts]
                value = read.get(f.output_sort, other)
                rows = [(tuple([c(x) for c, x in zip(columns, r.inputs)]), value(r.output)) for r in f.rows]  # noqa: B905
                out[name] = (f.output_sort, rows)
        return out

    def room(self) -> tuple[dict[str, int], int, int]:
        """Numbers of rows by table, bytes that were taken for the program so far, and how many there are left."""
        (sizes,) = run(self._engine, "(print-size)")
        return dict(sizes.sizes), max(used()[1] - self._begun, 0), addresses_left()


def run(engine: Any, text: str) -> list[Any]:
    """What the commands of a text come to.

    They are run one by one: every term that is parsed keeps the whole text it stands in, and all rules at once, or
    a few thousand folded constants, take gigabytes.
    """
    return [result for command in commands(text) for result in engine.run_program(*engine.parse_program(command))]


def commands(text: str) -> Iterator[str]:
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


def plain(result: Any) -> Any:
    """The result of a command as plain data; None where it says nothing."""
    report = getattr(result, "report", None)
    if report is None:
        return None
    matches = {name: n for name, n in report.num_matches_per_rule.items() if n}
    times = {name: s for name, t in report.search_and_apply_time_per_rule.items() if (s := t.total_seconds())}
    return report.updated, matches, times


def together(reports: Sequence[Any]) -> Any:
    """Reports as one."""
    matches: dict[str, int] = {}
    times: dict[str, float] = {}
    for _, found, took in reports:
        for name, n in found.items():
            matches[name] = matches.get(name, 0) + n
        for name, t in took.items():
            times[name] = times.get(name, 0.0) + t
    return any(updated for updated, _, _ in reports), matches, times


# Memory


def used() -> tuple[int, int]:
    """Bytes that this process holds, and bytes of addresses that it uses; 0 where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:
        pages, resident = file.read().split()[:2]
        return int(resident) * _PAGE, int(pages) * _PAGE
    return 0, 0


def soft_limit() -> int:
    """Bytes of addresses that this process may use."""
    with contextlib.suppress(ImportError, OSError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        return _MOST if soft == resource.RLIM_INFINITY else soft
    return _MOST


def addresses_left() -> int:
    """Bytes of addresses that this process may still take."""
    return soft_limit() - used()[1]


def bound_memory(limit: int) -> None:
    """Take no more than there is: this process ends where that does not do, and not another one.

    limit: bytes of addresses that it may use at most, whatever is free.
    """
    free, addresses = available(), used()[1]
    if not addresses or free >= _MOST:
        return
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (min(limit, addresses + free), hard))


def available() -> int:
    """Bytes that are free, on the machine and in the control groups (containers) that this process is in."""
    machine = numbers("/proc/meminfo")
    free = [1024 * (machine["MemAvailable"] + machine.get("SwapFree", 0))] if "MemAvailable" in machine else []
    with contextlib.suppress(OSError), open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file.read().splitlines():
            _, kinds, path = line.split(":", 2)
            if not kinds:
                free += groups(f"/sys/fs/cgroup{path}", "memory.max", "memory.current", "inactive_file")
            elif "memory" in kinds.split(","):
                names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
                free += groups(f"/sys/fs/cgroup/memory{path}", *names)
    return max(0, min(free, default=_MOST))


def groups(path: str, limit: str, usage: str, cached: str) -> Iterator[int]:
    """What is free in a control group and in those around it."""
    while path.startswith("/sys/fs/cgroup"):
        most, now = (numbers(f"{path}/{name}").get("") for name in (limit, usage))
        if most is not None and now is not None:
            yield most - now + numbers(f"{path}/memory.stat").get(cached, 0)
        path = os.path.dirname(path.rstrip("/"))


def numbers(path: str) -> dict[str, int]:
    """The numbers in a file of the system by their names; the name of one that stands alone is ""."""
    out: dict[str, int] = {}
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        for line in file:
            words = line.replace(":", " ").split()
            if words and words[-1] == "kB":
                words.pop()
            if words and words[-1].isdecimal():
                out[" ".join(words[:-1])] = int(words[-1])
    return out


# Requests


def serve(bindings: str, spare: int) -> None:
    """Answer requests until the other side has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is to be done then is decided by the other side
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
        file.write("1000")  # where memory runs out all the same, this process ends first
    out = os.dup(1)
    os.dup2(2, 1)  # nothing that is printed gets between the answers
    threading.Thread(target=end_with, args=(0,), daemon=True).start()
    with ending():
        Server(loaded(bindings), spare, partial(receive, 0), partial(send, out)).serve()


def answered(ask: Callable[..., Any], *args: Any) -> tuple[str, Any]:
    """The answer to a request: the name of an error, and its text or the result."""
    try:
        return "", ask(*args)
    except BaseException as error:  # a panic of the engine is no Exception
        return type(error).__name__, str(error)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """End this process where the other side has gone; giving all memory back one by one takes time."""
    try:
        yield
    except BrokenPipeError:
        os._exit(0)


def end_with(file: int) -> None:
    """End this process, whatever it is doing, when the other side of a pipe has gone."""
    if hasattr(select, "poll"):
        waiting = select.poll()
        waiting.register(file, 0)  # told even so
        waiting.poll()
        os._exit(0)


def loaded(bindings: str) -> Any:
    """The extension module alone: egglog's own `__init__` imports formatters and notebooks."""
    spec = importlib.util.spec_from_file_location("egglog.bindings", bindings)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def send(file: int, message: Any) -> None:
    """Write a message."""
    data = marshal.dumps(message)
    for part in (len(data).to_bytes(8, "little"), data):
        view = memoryview(part)
        while view:
            view = view[os.write(file, view) :]


def receive(file: int) -> Any:
    """Read a message; None where there are no more."""
    size = _read(file, 8)
    data = _read(file, int.from_bytes(size, "little")) if size else b""
    return marshal.loads(data) if data else None


def _read(file: int, size: int) -> bytes:
    """So many bytes; none where the other side ends before."""
    out = bytearray()
    while len(out) < size:
        if not (part := os.read(file, min(size - len(out), 1 << 24))):
            return b""
        out += part
    return bytes(out)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
    os._exit(0)
