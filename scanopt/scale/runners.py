"""Runners that compute the parts: in this thread, several threads, several processes, or on a Dask cluster.

All of them call the same functions with the same arguments, so their results are the same, bit for bit.
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, Protocol

from scanopt.libraries import library
from scanopt.loops.site import show

__all__ = ["Runner", "runner"]

RETRIES = 3
"""How often work that was lost with a worker is tried again."""

Args = tuple[Any, ...]


class Runner(Protocol):
    """Calls a function with many arguments.  elsewhere: whether in other processes than this one."""

    elsewhere: bool

    def map(self, f: Callable[..., Any], args: Iterable[Args]) -> Iterator[Any]:
        """The results in order; lazy: takes only a few more arguments than results were asked for."""
        ...

    def close(self, wait: bool) -> None:
        """Release all workers.  wait: wait for calls that still run; else they are cancelled if possible."""
        ...


class Here:
    """Runs in this thread, one part after the other."""

    elsewhere = False

    def map(self, f: Callable[..., Any], args: Iterable[Args]) -> Iterator[Any]:
        """See `Runner`."""
        return (f(*x) for x in args)

    def close(self, wait: bool) -> None:
        """See `Runner`."""


class Pool:
    """Runs in threads or processes; calls lost with a process that died are repeated in new ones."""

    def __init__(self, make: Callable[[], Executor], workers: int, elsewhere: bool) -> None:
        self._make, self._workers, self.elsewhere = make, workers, elsewhere
        self._pool = make()

    def map(self, f: Callable[..., Any], args: Iterable[Args]) -> Iterator[Any]:
        """See `Runner`."""
        waiting: deque[tuple[Args, Any]] = deque()
        for x in args:
            waiting.append((x, self._pool.submit(f, *x)))
            if len(waiting) > 2 * self._workers:
                yield self._first(f, waiting)
        while waiting:
            yield self._first(f, waiting)

    def _first(self, f: Callable[..., Any], waiting: deque[tuple[Args, Any]]) -> Any:
        for attempt in range(RETRIES + 1):
            try:
                found = waiting[0][1].result()
            except BrokenExecutor:
                if attempt == RETRIES:
                    raise
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = self._make()
                again = [(x, self._pool.submit(f, *x)) for x, _ in waiting]
                waiting.clear()
                waiting.extend(again)
            else:
                waiting.popleft()
                return found
        raise AssertionError

    def close(self, wait: bool) -> None:
        """See `Runner`."""
        self._pool.shutdown(wait=wait, cancel_futures=True)


class Cluster:
    """Runs on the workers of a Dask cluster; calls lost with a worker that died are repeated on another one."""

    elsewhere = True

    def __init__(self, client: Any) -> None:
        self._client = client
        self._futures: deque[Any] = deque()

    def map(self, f: Callable[..., Any], args: Iterable[Args]) -> Iterator[Any]:
        """See `Runner`."""
        ahead = 2 * max(1, sum(self._client.nthreads().values())) + 1
        for x in args:
            with warnings.catch_warnings():  # parts may be large
                warnings.filterwarnings("ignore", message="Sending large graph")
                self._futures.append(self._client.submit(f, *x, pure=False, retries=RETRIES))
            if len(self._futures) > ahead:
                yield self._first()
        while self._futures:
            yield self._first()

    def _first(self) -> Any:
        found = self._futures[0].result()
        self._futures.popleft().release()
        return found

    def close(self, wait: bool) -> None:
        """See `Runner`."""
        if not wait:
            self._client.cancel(list(self._futures))
        self._futures.clear()


def runner(on: Any, workers: int | None) -> Runner:
    """Make a runner.  on: "threads", "processes", "here", "dask" (the connected client) or a Dask client.

    workers: the number of threads or processes, by default the number of processors.
    """
    if workers is not None and (type(workers) is not int or workers < 1):
        raise ValueError(f"workers must be a positive number, found {show(workers)}")
    count = (
        workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else workers or os.cpu_count() or 1
    )
    if on == "here":
        return Here()
    if on == "threads":
        return Pool(lambda: ThreadPoolExecutor(count), count, False)
    if on == "processes":
        context = multiprocessing.get_context("spawn")
        return Pool(lambda: ProcessPoolExecutor(count, context), count, True)
    if on == "dask":
        return Cluster(library("distributed", "scale", 'on="dask"').get_client())
    if callable(getattr(on, "submit", None)) and callable(getattr(on, "nthreads", None)):
        return Cluster(on)
    raise ValueError(f'on must be "threads", "processes", "here", "dask" or a client of Dask, found {show(on)}')
