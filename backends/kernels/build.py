"""Compiles the C text of a kernel to a callable function: the compiler runs in the background.

Until it has finished, `poll` gives None and array steps run; a call waits for the compiler only if that is predicted to
pay.  Each compiler process belongs to the process that started it: a forked process starts its own.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from scanopt.backends.kernels import cache
from scanopt.backends.kernels.compilers import LONGEST, Compiler, compiler
from scanopt.backends.kernels.ir import NAME
from scanopt.forks import lock
from scanopt.records import dataclass

__all__ = ["Build", "wait_for_builds"]

_RUNNING: set[Build] = set()
_FOREIGN: list[_Run] = []
"""Compilers that the process started from which this one was forked; this process must not wait for them."""
_STARTING = lock(whole=True)


@dataclass(frozen=True)
class _Run:
    """A running compiler, of the process `owner`, since `start`."""

    process: subprocess.Popen[bytes]
    room: Path
    owner: int
    start: float


class Build:
    """The shared object of one text.

    function: its function, once compiled.  trouble: why it will never be compiled, or "".
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.function: Any = None
        self.trouble = ""
        self._run: _Run | None = None
        self._key = ""
        self._tries = 0
        self._lock = lock()

    def poll(self, wait: float = 0.0) -> Any:
        """The function, or None if it is not compiled yet.  The first call starts the compiler.

        wait: seconds to wait for it.
        """
        if self.function is not None or self.trouble:
            return self.function
        with self._lock:
            try:
                self._step(wait)
            except (OSError, subprocess.SubprocessError) as error:
                self.trouble = f"{type(error).__name__}: {error}"
                self._clean()
        return self.function

    def addresses(self, count: int) -> list[int]:
        """The addresses of the functions of a library, which is compiled: its function writes them down."""
        found = (ctypes.c_void_p * count)()
        self.function(None, None, found)
        return [p or 0 for p in found]

    def _step(self, wait: float) -> None:
        if self.function is not None or self.trouble:
            return
        found = compiler()
        if isinstance(found, str):
            self.trouble = found
            return
        if self._run is not None and self._run.owner != os.getpid():  # started by the process that this was forked from
            _FOREIGN.append(self._run)
            self._run = None
            self._tries = 0
        if self._run is None:
            self._key = cache.key_of(self.text, found.identity)
            self.function = cache.load(self._key, NAME)
            if self.function is not None:
                return
            _tidy(self)
            self._start(found)
        if wait:
            _wait(self._process(), wait)
        assert self._run is not None
        if self._process().poll() is None and time.monotonic() - self._run.start > LONGEST:
            self._process().kill()
            self._process().wait()
        if self._process().poll() is not None:
            self._finish(found)

    def _process(self) -> subprocess.Popen[bytes]:
        assert self._run is not None
        return self._run.process

    def _start(self, found: Compiler) -> None:
        room = Path(tempfile.mkdtemp(dir=cache.folder(), prefix="build-"))
        try:
            (room / "k.c").write_text(self.text, encoding="ascii")
            there = os.environ | {"TMPDIR": str(room)}  # so the files of a stopped compiler are deleted, too
            with _STARTING, open(room / "said", "wb") as said:
                process = subprocess.Popen(
                    found.arguments("k.c", "k.so"),
                    cwd=room,
                    env=there,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                )
        except BaseException:
            shutil.rmtree(room, ignore_errors=True)
            raise
        self._run = _Run(process, room, os.getpid(), time.monotonic())
        self._tries += 1
        _RUNNING.add(self)

    def _finish(self, found: Compiler) -> None:
        """Take the compiler's output; if it was killed, or its file cannot be loaded, the next call runs it again."""
        assert self._run is not None
        code, room = self._run.process.poll(), self._run.room
        if code == 0:
            cache.publish(self._key, room / "k.so")
            self.function = cache.load(self._key, NAME)
        if self.function is None and (self._tries > 1 or (code or 0) > 0):
            with suppress(OSError):
                self.trouble = (room / "said").read_text(encoding="utf-8", errors="replace").strip()[:2000]
            self.trouble = f"{found.name} gave status {code}: {self.trouble}"
        self._clean()

    def _clean(self) -> None:
        run, self._run = self._run, None
        _RUNNING.discard(self)
        if run is not None and run.owner == os.getpid():
            _stop(run)


def wait_for_builds(seconds: float = LONGEST) -> bool:
    """Wait until the running compilers have ended, at most `seconds` for each; return whether there was any."""
    running = list(_RUNNING)
    for build in running:
        build.poll(seconds)
    return bool(running)


def _tidy(here: Build) -> None:
    """Finish the other builds whose compilers have ended; nobody may ever poll them again."""
    for other in _RUNNING - {here}:
        run = other._run
        if run is None or run.owner != os.getpid() or run.process.poll() is None:
            continue
        if other._lock.acquire(blocking=False):
            try:
                other._step(0.0)
            except (OSError, subprocess.SubprocessError) as error:
                other.trouble = f"{type(error).__name__}: {error}"
                other._clean()
            finally:
                other._lock.release()


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until a process has ended, at most so long.  Popen.wait sleeps between looks, up to 50 ms too long."""
    if hasattr(os, "pidfd_open") and process.poll() is None:
        with suppress(OSError):  # an old kernel, or another thread has just found that it ended
            file = os.pidfd_open(process.pid)
            try:
                ended = select.poll()
                ended.register(file, select.POLLIN)
                ended.poll(1000 * seconds)
            finally:
                os.close(file)
            return
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _stop(run: _Run) -> None:
    if run.process.poll() is None:
        run.process.kill()
        run.process.wait()
    shutil.rmtree(run.room, ignore_errors=True)


@atexit.register
def _stop_all() -> None:
    for build in list(_RUNNING):
        if build._run is not None and build._run.owner == os.getpid():
            _stop(build._run)
