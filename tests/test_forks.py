"""Processes that are forked or spawned compile, whatever their parent and its threads have done or are doing.

Each case runs in a process of its own that is ended in the end: what hangs fails.
"""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from scanopt import forks

SECONDS = 120

PARENT = """
import os, signal, sys, threading, time
import numpy as np
import scanopt
import scanopt.tensor as T

def compiled(a):
    x = T.dvector("x")
    h, _ = scanopt.scan(lambda v, h: T.tanh(h * a + v), x, np.float64(0.5))
    return scanopt.function([x], h[-1])

def check(a=0.5):
    expected = 0.5
    for v in (1.0, 2.0):
        expected = np.tanh(expected * a + v)
    assert abs(compiled(a)([1.0, 2.0]) - expected) < 1e-12

def searched(a):
    # Its forms are too many to try all: HiGHS searches, with threads of its own where there are four cores.
    x, h0 = T.dvector("x"), T.dscalar("h0")
    def step(v, h):
        for i in range(24):
            h = T.tanh(h * (a + i) + v) - T.sin(v) * (i + 1.0)
        return h
    f = scanopt.function([x, h0], scanopt.scan(step, x, h0)[0][-1])
    assert f.report.method == "milp", f.report.method

def forked(work, seconds=60):
    # The child ends as Python programs do, not by os._exit: what it holds is given back.
    pid = os.fork()
    if not pid:
        signal.alarm(seconds)
        work()
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""

FORK = pytest.mark.skipif(not hasattr(forks.os, "fork"), reason="the system knows no fork")


def run(code: str, folder: Path | None = None) -> None:
    """The code, after that of the parent, in a process of its own, as a file where there is a folder for it."""
    text = PARENT + textwrap.dedent(code)
    command = [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-c", text]
    if folder is not None:
        (folder / "main.py").write_text(text, encoding="utf-8")
        command[-2:] = [str(folder / "main.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@FORK
def test_a_child_compiles_where_the_parent_has_and_so_does_its_child() -> None:
    run(
        """
        check(), searched(0.5)
        forked(lambda: (check(0.25), searched(0.25)))
        forked(lambda: None)
        forked(lambda: (check(0.75), forked(check), check(0.25)))
        check(0.125)
        """
    )


@pytest.mark.share(2)
@FORK
@pytest.mark.parametrize("pause", [0.02, 0.05])
def test_a_fork_while_another_thread_compiles(pause: float) -> None:
    """At any moment of a first compile, which imports and starts processes, and of those after it."""
    run(
        f"""
        go_on = True

        def compiling():
            a = 1.0
            while go_on:
                a += 0.5
                check(a)

        thread = threading.Thread(target=compiling, daemon=True)
        thread.start()
        for n in range(4):
            time.sleep({pause} * 4**n)
            forked(lambda: check(0.25))
        go_on = False
        thread.join()
        check()
        """
    )


@FORK
def test_a_compile_registers_nothing_that_a_fork_would_end_without_having_begun() -> None:
    """Another thread may fork meanwhile: it would release what it has not locked."""
    run(
        """
        def registered(**hooks):
            assert "after_in_parent" not in hooks or "before" not in hooks, hooks
        os.register_at_fork = registered
        check(), searched(0.5)
        """
    )


@FORK
def test_a_fork_while_another_thread_imports_under_a_lock_that_forks_wait_for() -> None:
    """Logging is configured under its lock, which a fork takes; what it imports for that needs the lock of imports."""
    run(
        """
        import logging.config
        go_on = True

        def configuring():
            while go_on:
                for name in ("logging.handlers", "smtplib", "socketserver", "http.client"):
                    sys.modules.pop(name, None)
                handler = {"class": "logging.handlers.MemoryHandler", "capacity": 1}
                logging.config.dictConfig({"version": 1, "handlers": {"h": handler}})

        thread = threading.Thread(target=configuring, daemon=True)
        thread.start()
        for n in range(20):
            time.sleep(0.003)
            pid = os.fork()
            if not pid:
                os._exit(0)
            os.waitpid(pid, 0)
        go_on = False
        thread.join()
        """
    )


@FORK
def test_a_fork_while_another_thread_is_in_a_call() -> None:
    """What a call locks for as long as it takes is free in the child."""
    run(
        """
        s = scanopt.shared(0.0, "s")
        x = T.dscalar("x")
        f = scanopt.function([x], s, updates={s: s + x})
        inside, leave = threading.Event(), threading.Event()

        def calling():
            with f._plan.request.signature.transaction():
                inside.set()
                leave.wait()

        thread = threading.Thread(target=calling, daemon=True)
        thread.start()
        inside.wait()
        forked(lambda: (f(1.0), s.set_value(2.0), check()))
        leave.set()
        thread.join()
        """
    )


@pytest.mark.share(3)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method: str, tmp_path: Path) -> None:
    run(
        f"""
        import multiprocessing

        if __name__ == "__main__":
            if {method!r} not in multiprocessing.get_all_start_methods():
                sys.exit(0)
            check()
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                pool.map_async(check, [0.25, 0.75]).get({SECONDS - 10})
            check()
        """,
        tmp_path,
    )


def test_a_property_is_computed_once_and_by_two_threads_at_the_same_time() -> None:
    """The lock of a cached property would be one for all instances: a compile of one waits for that of another."""
    both = threading.Barrier(2)

    class Some:
        def __init__(self, both: threading.Barrier | None) -> None:
            self.both, self.count = both, 0

        @forks.once
        def value(self) -> int:
            self.count += 1
            if self.both is not None:
                self.both.wait(10)
            return self.count

    alone = Some(None)
    assert (alone.value, alone.value) == (1, 1)
    found = [Some(both), Some(both)]
    threads = [threading.Thread(target=lambda x=x: x.value) for x in found]  # type: ignore[misc]
    for t in threads:
        t.start()
    for t in threads:
        t.join(20)
    assert [x.value for x in found] == [1, 1]
