"""Progress bars on a terminal for work that takes more than a second, drawn by rich where it is installed.

Nothing is shown, and almost no time is spent, where standard error is no terminal, in threads other than the main one,
and with `config.progress = "never"`.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from scanopt.config import config

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Tell", "each", "working"]

T = TypeVar("T")

DELAY = 1.0
"""Seconds of work before anything is shown."""


class Tell(Protocol):
    """A function that reports how far some work is."""

    def __call__(self, text: str = "", done: int | None = None) -> None:
        """text: what is being done.  done: the number of finished parts."""


def _silent(text: str = "", done: int | None = None) -> None:
    pass


class _Display:
    """All work that is going on, shown by one display of rich, which refreshes itself."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._shown = 0

    def add(self, what: str, total: int | None) -> TaskID:
        """Show a new task; return its number."""
        if self._progress is None:
            self._progress = self._begun()
        self._shown += 1
        return self._progress.add_task(what, total=total, count="")

    def _begun(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[count]}")
        console = Console(file=sys.stderr, force_terminal=config.progress == "always" or None)
        # What is printed meanwhile stands above on a terminal; into a file it goes as it is.
        both = sys.stdout.isatty()
        made = Progress(*columns, TimeElapsedColumn(), console=console, transient=True, redirect_stdout=both)
        made.start()
        return made

    def update(self, task: TaskID, text: str, done: int | None, total: int | None) -> None:
        """Show how far a task is."""
        if self._progress is not None:
            count = "" if total is None or done is None else f"{done}/{total}"
            self._progress.update(task, description=text, completed=done, count=count, refresh=True)

    def remove(self, task: TaskID) -> None:
        """Stop showing a task."""
        self._shown -= 1
        if self._progress is not None:
            self._progress.remove_task(task)
            if not self._shown:
                self._progress.stop()
                self._progress = None


_DISPLAY = _Display()


def _wanted() -> bool:
    """Whether progress is to be shown: on a terminal or always, in the main thread, and where rich is installed."""
    if config.progress == "never" or threading.current_thread() is not threading.main_thread():
        return False
    there = config.progress == "always" or bool(getattr(sys.stderr, "isatty", bool)())
    return there and importlib.util.find_spec("rich") is not None


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Tell]:
    """Show how far some work is, once it has taken a second.

    total: the number of its parts, None if it is not known.  Yields a function that takes a text and the number of
    finished parts.

    >>> with working("rounds") as tell:
    ...     tell("round 1")
    """
    if not _wanted():
        yield _silent
        return
    begin = time.monotonic()
    task: list[TaskID] = []

    def tell(text: str = "", done: int | None = None) -> None:
        if not task and time.monotonic() - begin >= DELAY:
            task.append(_DISPLAY.add(what, total))
        if task:
            _DISPLAY.update(task[0], f"{what}: {text}" if text else what, done, total)

    try:
        yield tell
    finally:
        if task:
            _DISPLAY.remove(task[0])


def each(what: str, items: Sequence[T], name: Callable[[T], str] = str) -> Iterator[T]:
    """Yield the items one after the other, and show which one is being worked on.

    >>> list(each("laws", ["a", "b"]))
    ['a', 'b']
    """
    with working(what, len(items)) as tell:
        for n, item in enumerate(items):
            tell(name(item), n)
            yield item
