"""What very large runs would cost, by a simulation of their schedule: chains of 1e12 steps, batches of 1e9 lanes, a
million compiled functions a day.

    python benchmarks/schedule_of_scale.py

Nothing large is run.  The simulation takes the tasks that `scanopt.distribute` would submit, in its order and with its
window, and times that are measured here and now: per step of a chain, per task of a scheduler (a published figure), per
compile of a function.  It prints the tables of docs/scale.md.
"""

from __future__ import annotations

import heapq
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from harness import asked_to_be_quick, machine, table

import scanopt
import scanopt.tensor as T

HOUR, DAY = 3600.0, 86400.0


@dataclass(frozen=True)
class Machine:
    """What things take: seconds of a worker for a step, of the driver and scheduler for a task, bytes per second."""

    workers: int
    step: float = 3e-9
    task: float = 2e-4  # of the one process that submits and hands out: 200 us, what Dask says of itself
    read: float = 2e9
    latency: float = 1e-3
    window: int = 2  # tasks ahead for each worker


@dataclass(frozen=True)
class Outcome:
    """seconds: until all is done.  busy: the share of the workers' time that is work.  limit: what it waits for."""

    seconds: float
    busy: float
    limit: str


def simulate(tasks: Iterator[float], count: int, m: Machine) -> tuple[float, float, float]:
    """Run tasks (seconds of a worker each), in order: when all are done, what was worked, what the driver took.

    The driver takes `task` seconds for each and keeps a window ahead, as `scanopt.scale.runners` does.
    """
    free = [0.0] * m.workers
    heapq.heapify(free)
    ahead: list[float] = []
    driver = worked = end = 0.0
    for _ in range(count):
        seconds = next(tasks)
        driver += m.task
        if len(ahead) >= m.window * m.workers:
            driver = max(driver, heapq.heappop(ahead))
        begin = max(heapq.heappop(free), driver + m.latency)
        done = begin + seconds
        heapq.heappush(free, done)
        heapq.heappush(ahead, done)
        worked += seconds
        end = max(end, done)
    return end, worked, count * m.task


def constant(seconds: float) -> Iterator[float]:
    while True:
        yield seconds


def chain(steps: float, size: float, row: float, m: Machine, rounds: int = 1) -> Outcome:
    """A loop of so many steps over chunks of `size`, with `row` bytes read and written a step: three phases."""
    count = int(-(-steps // size))
    work = size * max(m.step, row / m.read)
    total = worked = handed = 0.0
    for _ in range(rounds):
        end, w, h = simulate(constant(2 * work), count, m)  # what is added, and by what the state is multiplied
        total, worked, handed = total + end, worked + w, handed + h
    prefix = count * 5e-6 * rounds  # applying a summary, in the driver
    end, w, h = simulate(constant(work), count, m)
    total, worked, handed = total + prefix + end, worked + w, handed + h
    limit = "more parts" if count < m.workers else _limit(worked / m.workers, handed, prefix, row, m)
    return Outcome(total, worked / (total * m.workers), limit)


def _limit(work: float, handed: float, prefix: float, row: float, m: Machine) -> str:
    parts = {"the work": work, "handing out tasks": handed, "the prefix": prefix}
    name = max(parts, key=lambda k: parts[k])
    return "reading and writing" if name == "the work" and row / m.read > m.step else name


def alone(steps: float, m: Machine) -> float:
    return steps * m.step


def spell(seconds: float) -> str:
    for name, unit in (("years", 365 * DAY), ("days", DAY), ("h", HOUR), ("min", 60.0), ("s", 1.0)):
        if seconds >= unit or name == "s":
            return f"{seconds / unit:.3g} {name}"
    raise AssertionError


def measured_step(quick: bool) -> float:
    """Seconds for a step of a filter, as it runs here."""
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.scan(lambda x, s: 0.999 * s + x, x, np.float64(0.0))[0])
    data = np.ones(100_000 if quick else 4_000_000)
    f(data)
    return statistics.median(_timed(lambda: f(data)) for _ in range(3)) / len(data)


def measured_compile(quick: bool) -> tuple[float, float, float]:
    """Seconds to compile one function, to read it from its text, and the bytes of that text."""
    from scanopt.compilation.saved import from_text
    from scanopt.compilation.saving import text_of

    def make(i: int) -> Any:
        x = T.dvector("x")
        return scanopt.function([x], scanopt.scan(lambda x, s: T.tanh(s + x * i), x, np.float64(0.0))[0])

    make(0)
    first = statistics.median(_timed(lambda i=i: make(i)) for i in range(1, 3 if quick else 9))
    text = text_of(make(1))
    again = statistics.median(_timed(lambda: from_text(text)) for _ in range(3 if quick else 9))
    return first, again, float(len(text))


def _timed(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def chains(m: Machine, quick: bool) -> list[list[str]]:
    steps = 1e12
    rows = []
    for workers in (1, 2, 16, 256, 4096):
        for size in (1e7, 1e9):
            if quick and steps / size > 2e4:
                continue
            for row, where in ((0.0, "computed"), (16.0, "files")):
                found = chain(steps, size, row, replace(m, workers=workers))
                name = f"{workers} workers, {size:.0e} steps a part, {where}"
                faster, busy = f"{alone(steps, m) / found.seconds:.2f} x", f"{100 * found.busy:.0f} %"
                rows.append([name, spell(found.seconds), faster, busy, f"{24 * size / 1e9:.2g} GB", found.limit])
    return rows


def batches(m: Machine, quick: bool) -> list[list[str]]:
    lanes, steps, rows = 1e9, 1000.0, []
    for workers in (16, 256, 4096):
        for size in (1e4, 1e6):
            count = int(lanes / size)
            if quick and count > 2e4:
                continue
            one = size * steps * m.step
            here = replace(m, workers=workers)
            end, worked, handed = simulate(constant(one), count, here)
            limit = (
                "handing out tasks" if handed > worked / workers else "more parts" if count < workers else "the work"
            )
            faster, busy = f"{alone(lanes * steps, m) / end:.0f} x", f"{100 * worked / (end * workers):.0f} %"
            name = f"{workers} workers, {size:.0e} lanes a part"
            rows.append([name, spell(end), faster, busy, f"{24 * size / 1e9:.2g} GB", limit])
    return rows


def functions(first: float, again: float, size: float) -> list[list[str]]:
    """A million functions a day, of which some have been compiled before."""
    rows = []
    for known in (0.0, 0.9, 0.99):
        seconds = 1e6 * ((1 - known) * first + known * again)
        rows.append([f"{100 * known:.0f} % known", f"{seconds / DAY:.2f}", f"{(1 - known) * 1e6 * size / 1e9:.2f} GB",
                     spell(seconds / 1e6)])  # fmt: skip
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    quick = asked_to_be_quick("What very large runs would cost.", "numbers of tasks", arguments)
    m = Machine(1, step=measured_step(quick))
    print(
        f"schedule_of_scale: {machine()}; {m.step * 1e9:.1f} ns a step, {m.task * 1e6:.0f} us a task (taken as given)"
    )
    heads = ["plan", "time", "against one", "at work", "held a part", "waits for"]
    table(f"A chain of 1e12 steps (one after the other: {spell(alone(1e12, m))})", heads, chains(m, quick))
    table(f"1e9 lanes of 1000 steps (one process: {spell(alone(1e12, m))})", heads, batches(m, quick))
    first, again, size = measured_compile(quick)
    table(
        f"A million functions a day: {first * 1e3:.0f} ms to compile one, {again * 1e3:.1f} ms to read it",
        ["functions", "processors", "texts a day", "each"],
        functions(first, again, size),
    )


if __name__ == "__main__":
    sys.exit(main())
