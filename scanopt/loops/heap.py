"""Recursion as deep as memory allows; Python's own is limited to about a thousand nested calls."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

__all__ = ["Waiting", "on_the_heap"]

T = TypeVar("T")

Waiting = Generator[Any, Any, T]
"""A call, as a generator that yields the calls whose results it waits for."""


def on_the_heap(start: Waiting[T]) -> T:
    """The result of a call.  An error in a call that another one waits for is raised where that one waits.

    >>> def depth(n: int) -> Waiting[int]:
    ...     return 1 + (yield depth(n - 1)) if n else 0
    >>> on_the_heap(depth(10_000))
    10000
    """
    stack = [start]
    resume: Callable[[Any], Any] = start.send
    given: Any = None
    while True:
        try:
            called = resume(given)
        except StopIteration as end:
            given, failed = end.value, False
        except Exception as error:
            given, failed = error, True
        else:
            stack.append(called)
            resume, given = called.send, None
            continue
        stack.pop()
        if not stack:
            break
        resume = stack[-1].throw if failed else stack[-1].send
    if failed:
        raise given
    result: T = given
    return result
