"""`scanopt.resumable(f, checkpoint="run.zarr")`: runs long loops in pieces, so that a stopped run can continue."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scanopt.array.variable import Variable
from scanopt.compilation.callable import Runnable
from scanopt.compilation.saving import text_of
from scanopt.loops.site import show
from scanopt.scale.checkpoints import CheckpointStore
from scanopt.scale.loop_pieces import LoopPiece, pieces
from scanopt.scale.pattern import results_of
from scanopt.scale.plans import compiled_as

__all__ = ["Resumable", "resumable"]

Progress = Callable[[int, int], object]


class Resumable:
    """A function that runs its loops in pieces and saves its progress; it is called in the same way."""

    def __init__(self, f: Runnable, checkpoint: str | Path, steps: int | None, seconds: float) -> None:
        self.f, self.checkpoint, self._steps, self._seconds = f, Path(checkpoint), steps, seconds
        self._inputs, self._results = results_of(f)
        self._pieces = pieces(self._results)
        self._known: dict[int, tuple[Runnable, Runnable]] = {}
        self._last: Runnable | None = None

    def __call__(self, *args: Any, progress: Progress | None = None, **kwargs: Any) -> Any:
        """The outputs; a run that was stopped before continues, and gives the same outputs.

        progress: is called after each piece with the number of steps done and the total of the running loop.
        Raises ValueError if the checkpoint belongs to another function or to other arguments.
        """
        f = self.f
        s = f._signature
        with s.transaction():
            values = s.read(args, kwargs)
            inputs = values[: len(s.inputs)]
            run = _Run(self, CheckpointStore(self.checkpoint), inputs, self._name(values))
            results = run.results(progress)
            s.assign(results[len(s.outputs) :])
        return s.pack(results[: len(s.outputs)])

    def _name(self, values: Sequence[Any]) -> str:
        """The identity of a run: a hash of the function and its arguments."""
        found = hashlib.sha256(text_of(self.f).encode())
        for x in values:
            array = np.ascontiguousarray(x)
            found.update(f"{array.dtype.str}{array.shape}".encode())
            found.update(array.data if array.size else b"")
        return found.hexdigest()

    def traces(self, first: int) -> list[Variable]:
        """The traces that are kept of the loops before number `first`."""
        return [p.node.outputs[i] for p in self._pieces[:first] for i, _ in p.kept]

    def loop(self, k: int) -> tuple[LoopPiece, Runnable, Runnable]:
        """Loop number k, the program of the part before it, and the program for some of its steps."""
        p = self._pieces[k]
        if k not in self._known:
            known = [*self._inputs, *self.traces(k)]
            self._known[k] = compiled_as(self.f, known, p.before), compiled_as(self.f, p.inputs, p.outputs)
        return p, *self._known[k]

    def last(self) -> Runnable:
        """The program of the part after all loops."""
        if self._last is None:
            self._last = compiled_as(self.f, [*self._inputs, *self.traces(len(self._pieces))], self._results)
        return self._last

    def __repr__(self) -> str:
        return f"<resumable {self.f!r}, checkpoint {str(self.checkpoint)!r}>"


class _Run:
    """One call."""

    def __init__(self, made: Resumable, store: CheckpointStore, inputs: Sequence[Any], name: str) -> None:
        self.made, self.store, self.inputs, self.name = made, store, inputs, name
        state = store.state
        if state is not None and state["name"] != name:
            raise ValueError(
                f"the checkpoint {str(store.path)!r} is of another function, or of other arguments: give another path, "
                "or delete that folder"
            )
        self.rows: list[int] = [] if state is None else list(state["rows"])  # the steps of each loop that is done

    def results(self, progress: Progress | None) -> list[Any]:
        """Run the rest, and return the results."""
        count = len(self.made._pieces)
        for k in range(len(self.rows), count):
            self._loop(k, progress)
        return list(_call(self.made.last(), [*self.inputs, *self._traces(count)]))

    def _traces(self, first: int) -> list[Any]:
        return [
            self.store.read(f"loop{k}-{i}", 1 if last else self.rows[k])
            for k, p in enumerate(self.made._pieces[:first])
            for i, last in p.kept
        ]

    def _loop(self, k: int, progress: Progress | None) -> None:
        p, before, some = self.made.loop(k)
        found = _call(before, [*self.inputs, *self._traces(k)])
        n_sequences, n_carries, n_held = p.counts
        total, rest = int(found[0]), found[1:]
        sequences, rest = rest[:n_sequences], rest[n_sequences:]
        carries, held = rest[:n_carries], rest[n_carries : n_carries + n_held]
        state, done, ended = self.store.state, 0, False
        size = self.made._steps or max(1, -(-total // 100))
        if state is not None and state["loop"] == k and state["done"]:
            done, size, carries = state["done"], state["size"], self.store.arrays
        waiting: list[tuple[int, list[Any]]] = []
        written = time.monotonic()
        try:
            while (done < total and not ended) or (total == 0 and not waiting):
                n = min(size, total - done)
                out = _call(some, [np.int64(n), *(x[done : done + n] for x in sequences), *carries, *held])
                new, after = out[: len(p.kept)], out[len(p.kept) : len(p.kept) + n_carries]
                if p.node.until is not None:
                    n, ended = len(out[-1]), bool(len(out[-1]) and out[-1][-1])
                waiting.append((done, new))
                done, carries = done + n, after
                if time.monotonic() - written >= self.made._seconds:
                    self._commit(k, p, waiting, done, total, size, carries)
                    written = time.monotonic()
                if progress is not None:
                    progress(done, total)
                if total == 0:
                    break
        except KeyboardInterrupt:
            self._commit(k, p, waiting, done, total, size, carries)
            raise
        self._write(k, p, waiting, total, size)
        self.rows.append(done)
        self.store.commit({"name": self.name, "rows": self.rows, "loop": k + 1, "done": 0, "size": size}, [])

    def _commit(
        self, k: int, p: LoopPiece, waiting: list[Any], done: int, total: int, size: int, carries: Sequence[Any]
    ) -> None:
        self._write(k, p, waiting, total, size)
        state = {"name": self.name, "rows": self.rows, "loop": k, "done": done, "size": size}
        self.store.commit(state, [np.asarray(x) for x in carries])

    def _write(self, k: int, p: LoopPiece, waiting: list[Any], total: int, size: int) -> None:
        for first, new in waiting:
            for (i, last), x in zip(p.kept, new, strict=True):
                rows = np.asarray(x)
                self.store.write(f"loop{k}-{i}", 0 if last else first, rows, 1 if last else total, size)
        waiting.clear()


def _call(f: Runnable, values: Sequence[Any]) -> list[Any]:
    return f._results(f._signature.read(values, {}))


def resumable(f: Runnable, checkpoint: str | Path, *, steps: int | None = None, seconds: float = 0.0) -> Resumable:
    """Run the loops of f in pieces, so that it can be stopped: called again, it continues there, bit for bit.

    f: a compiled or loaded function.  checkpoint: a folder for the progress; if its name ends in .zarr and Zarr is
        installed, the traces in it are Zarr arrays, otherwise NumPy files.
    steps: the number of steps in a piece, by default a hundredth of the loop.  seconds: the least time between two
        checkpoints; 0 writes one after each piece.  Results do not depend on when a run was stopped; with fp="exact"
        they are those of f, otherwise they may depend on `steps`, by rounding.
    A process that is killed leaves its last checkpoint intact; KeyboardInterrupt writes one before it is raised.  Loops
    of gradients, which write into buffers, run in one piece.
    Raises TypeError, ValueError for arguments that do not fit.

    >>> import tempfile
    >>> import numpy as np
    >>> from scanopt import function, scan, tensor as T
    >>> x = T.dvector("x")
    >>> f = function([x], scan(lambda x, s: 0.5 * s + x, x, np.float64(0.0))[0][-1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     resumable(f, folder + "/run", steps=2)(np.ones(5))
    array(1.9375)
    """
    if not isinstance(f, Runnable):
        raise TypeError(f"resumable is given a compiled function, found {show(f)}")
    if steps is not None and (type(steps) is not int or steps < 1):
        raise ValueError(f"steps must be a positive number, found {show(steps)}")
    if not isinstance(seconds, int | float) or not seconds >= 0:
        raise ValueError(f"seconds must be a number that is not negative, found {show(seconds)}")
    return Resumable(f, checkpoint, steps, float(seconds))
