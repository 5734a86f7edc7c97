"""Captures the launches that CuPy makes, as a CUDA graph with its own memory.

A graph holds the addresses of all arrays that its launches read and write.  They come from a pool that nothing else
uses and that lives as long as the graph: else the memory of a value that was dropped while capturing could be given to
another array, and the graph would overwrite it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from scanopt.records import dataclass

__all__ = ["StreamCapture", "StreamReplay"]

Array = Any


@dataclass(frozen=True, eq=False)
class StreamReplay:
    """A CUDA graph, the arrays that it reads and writes, and the pool of their memory.

    used: an event recorded at the end of each use; the next use may be on another stream, and waits for it.
    """

    xp: Any
    graph: Any
    given: Sequence[Array]
    results: Sequence[Array]
    pool: Any
    used: Any

    def begin(self) -> None:
        """Let the current stream wait until an earlier use is over."""
        self.xp.cuda.get_current_stream().wait_event(self.used)

    def launch(self) -> None:
        """Repeat all launches, on the current stream."""
        self.graph.launch()

    def end(self) -> None:
        """Record that the use on the current stream is over."""
        self.used.record()


@dataclass(frozen=True)
class StreamCapture:
    """Captures launches on a new stream: CuPy refuses to capture on the default stream."""

    xp: Any

    def capture(self, like: Sequence[Array], run: Callable[[Sequence[Array]], Sequence[Array]]) -> StreamReplay:
        """Capture the launches of `run`, called with arrays of the shapes and dtypes of `like`.

        Raises the errors of `run`: CuPy raises where the host would wait for the device, and for cuBLAS, cuSOLVER and
        cuRAND.
        """
        cuda = self.xp.cuda
        pool, stream = cuda.MemoryPool(), cuda.Stream(non_blocking=True)
        with cuda.using_allocator(pool.malloc):
            given = [self.xp.empty(x.shape, x.dtype) for x in like]
            for place, x in zip(given, like, strict=True):
                self.xp.copyto(place, x)  # nothing is compiled while capturing: this, too, runs before
            with stream:
                stream.begin_capture()
                try:
                    results = run(given)
                except BaseException:
                    with suppress(Exception):  # the device complains about the unfinished capture
                        stream.end_capture()
                    raise
                graph = stream.end_capture()
        return StreamReplay(self.xp, graph, given, results, pool, cuda.Event(disable_timing=True))
