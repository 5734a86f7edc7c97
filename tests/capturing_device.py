"""CuPy's streams, events and memory pools as they would answer, and graphs that repeat what was launched in a capture.

Capturing computes nothing: all memory of a graph is filled with odd numbers then.  Refused is what a device refuses
(reading on the host, the libraries that CuPy does not capture), and what would go wrong later without a word: copies
from the host, and arrays that are not in the graph's own pool, whose memory somebody else may be given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from strict_device import MADE_OF_HOST, StrictArray, StrictDevice

__all__ = ["Capture", "Graph", "cuda_with_graphs"]

LIBRARIES = {"matmul", "dot", "tensordot", "einsum", "inner", "vdot", "sort", "argsort", "lexsort", "nonzero", "unique"}
"""What calls cuBLAS, or waits for the device."""
ADDRESSES = {"concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"}
"""What copies addresses of more than three arrays from the host."""
ODD = {"b": True, "i": 77, "u": 77, "f": np.nan, "c": np.nan}


def _root(x: np.ndarray[Any, Any]) -> Any:
    """The array that owns the memory of another one."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


class Pool:
    """A memory pool.  roots: the arrays whose memory is in it, by their number."""

    def __init__(self) -> None:
        self.roots: dict[int, Any] = {}

    def malloc(self, size: int) -> None:
        """Asked for by arrays that are made while this is the allocator."""

    def add(self, x: np.ndarray[Any, Any]) -> None:
        """Keep the memory of an array."""
        self.roots[id(_root(x))] = _root(x)

    def has(self, x: np.ndarray[Any, Any]) -> bool:
        """Whether the memory of an array is here."""
        return id(_root(x)) in self.roots


@dataclass
class Capture:
    """The launches of a stream that is capturing.  pool: of the allocator at that time."""

    pool: Pool
    calls: list[tuple[str, Callable[[], None]]] = field(default_factory=list[Any])

    def launched(self, name: str, run: Callable[[], Any], args: tuple[Any, ...]) -> Any:
        """Record a launch; its results, which nothing was computed for."""
        if name in LIBRARIES:
            raise NotImplementedError(f"calling cuBLAS API during stream capture is currently unsupported: {name}")
        assert name in StrictDevice.shared().compiled, f"{name} is compiled while capturing"
        read = [*_arrays(args)]
        assert name not in ADDRESSES, f"{name} copies addresses from the host"
        assert name not in MADE_OF_HOST or read, f"{name} copies from the host"
        for x in read:
            assert self.pool.has(x), f"{name} reads memory that the graph does not own"
        found = run()
        made = [x for x in (found if isinstance(found, tuple | list) else [found]) if x is not None]
        places = [np.asarray(x) for x in made]
        fresh = [i for i, x in enumerate(places) if not any(np.may_share_memory(x, y) for y in read)]
        for i in fresh:
            self.pool.add(places[i])

        def again() -> None:
            values = run()
            for i in fresh:
                np.copyto(places[i], values[i] if isinstance(found, tuple | list) else values)

        self.calls.append((name, again))
        return type(found)(places) if isinstance(found, tuple | list) else places[0] if made else None


def _arrays(args: Any) -> Iterator[np.ndarray[Any, Any]]:
    for x in args:
        if isinstance(x, StrictArray):
            yield x.data
        elif isinstance(x, np.ndarray):
            yield x
        elif isinstance(x, tuple | list):
            yield from _arrays(x)


@dataclass(eq=False)
class Graph:
    """What was captured.  launches: so many times it was launched."""

    capture: Capture
    launches: int = 0

    def launch(self, stream: Any = None) -> None:
        """Repeat it."""
        assert StrictDevice.shared().capture is None
        self.launches += 1
        for _, again in self.capture.calls:
            again()


class Event:
    """A point on a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.recorded = 0

    def record(self, stream: Any = None) -> None:
        """It is reached when all is done that was asked for so far."""
        self.recorded += 1


class Streams:
    """The streams of a device, and the graphs that were captured on them."""

    def __init__(self) -> None:
        self.null = Stream(self, 0)
        self.current = [self.null]
        self.graphs: list[Graph] = []
        self.waited = 0

    def get_current_stream(self) -> Stream:
        """The one that launches go to."""
        return self.current[-1]

    @contextmanager
    def using_allocator(self, allocator: Callable[[int], Any]) -> Iterator[None]:
        """Take memory from a pool."""
        device = StrictDevice.shared()
        before, device.pool = device.pool, allocator.__self__  # type: ignore[attr-defined]
        try:
            yield
        finally:
            device.pool = before


class Stream:
    """A stream of a device."""

    def __init__(self, streams: Streams, ptr: int) -> None:
        self.streams, self.ptr = streams, ptr

    def __enter__(self) -> Stream:
        self.streams.current.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        assert self.streams.current.pop() is self

    def synchronize(self) -> None:
        """Wait until all is done."""
        assert StrictDevice.shared().capture is None
        self.streams.waited += 1

    def wait_event(self, event: Event) -> None:
        """Wait for an event."""
        assert StrictDevice.shared().capture is None

    def begin_capture(self, mode: Any = None) -> None:
        """From now on nothing is computed."""
        if not self.ptr:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        assert self.streams.get_current_stream() is self
        device = StrictDevice.shared()
        assert device.pool is not None, "memory of everybody"
        device.capture = Capture(device.pool)

    def end_capture(self) -> Graph:
        """What was captured, with odd numbers in all its memory."""
        found, StrictDevice.shared().capture = StrictDevice.shared().capture, None
        for root in found.pool.roots.values():
            root[...] = ODD[root.dtype.kind]
        self.streams.graphs.append(Graph(found))
        return self.streams.graphs[-1]


def cuda_with_graphs() -> Any:
    """The module `cupy.cuda` of a device that captures; its `streams` tell what was done."""
    streams = Streams()
    StrictDevice.shared().compiled.clear()
    return SimpleNamespace(
        is_available=lambda: True,
        runtime=SimpleNamespace(getDevice=lambda: 0, is_hip=False),
        Device=StrictDevice.shared().cuda.Device,
        Stream=lambda non_blocking: Stream(streams, int(non_blocking)),
        get_current_stream=streams.get_current_stream,
        using_allocator=streams.using_allocator,
        MemoryPool=Pool,
        Event=Event,
        Graph=Graph,
        streams=streams,
    )
