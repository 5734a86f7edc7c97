"""The progress of a long run, on disk: consistent at any moment, even if the process that writes it is killed.

The folder has a file `state.npz`, which is replaced atomically: it says how far the run is, and holds the carries of
its loop.  The rows of traces that it counts were written before it, as arrays of Zarr or as files of NumPy, one for
each piece.  Rows that it does not count are written again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from scanopt.libraries import library

__all__ = ["CheckpointStore"]


class CheckpointStore:
    """A checkpoint folder.  state, arrays: as last committed; None and [] before that."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._zarr = _zarr() if self.path.suffix == ".zarr" else None
        if self._zarr is not None and not (self.path / "zarr.json").exists():
            self._zarr.open_group(str(self.path), mode="a")
        self.state: dict[str, Any] | None = None
        self.arrays: list[Any] = []
        if (self.path / "state.npz").exists():
            with np.load(self.path / "state.npz") as found:
                self.state = json.loads(str(found["state"]))
                self.arrays = [found[f"array{i}"] for i in range(self.state["arrays"])]

    def commit(self, state: dict[str, Any], arrays: list[Any]) -> None:
        """Replace the state atomically: until this returns the old one counts, afterwards the new one."""
        data = {f"array{i}": x for i, x in enumerate(arrays)}
        text = np.array(json.dumps({**state, "arrays": len(arrays)}))
        part = self.path / "state.npz.part"
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, state=text, **data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path / "state.npz")
        _sync(self.path)
        self.state, self.arrays = {**state, "arrays": len(arrays)}, arrays

    def write(self, name: str, first: int, rows: Any, total: int, size: int) -> None:
        """Write rows of a trace from row `first` on.  total: the most rows that it may have.  size: rows of a piece."""
        if self._zarr is None:
            target = self.path / f"{name}-{first:015d}.npy"
            part = target.with_suffix(".part")
            with part.open("wb") as file:
                np.save(file, rows, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
            return
        place = self.path / name
        if first == 0:
            shape = (total, *rows.shape[1:])
            chunks = (max(1, min(size, total)), *(max(1, n) for n in rows.shape[1:]))
            array = self._zarr.create_array(str(place), shape=shape, chunks=chunks, dtype=rows.dtype, overwrite=True)
        else:
            array = self._zarr.open_array(str(place), mode="r+")
        array[first : first + len(rows)] = rows

    def read(self, name: str, rows: int) -> Any:
        """The first `rows` rows of a trace."""
        if self._zarr is not None:
            return self._zarr.open_array(str(self.path / name), mode="r")[:rows]
        found: list[Any] = []
        have = 0
        for file in sorted(self.path.glob(f"{name}-*.npy")):
            if have < rows or not found:
                found.append(np.load(file, allow_pickle=False))
                have += len(found[-1])
        return np.concatenate(found)[:rows]


def _zarr() -> Any:
    try:
        return library("zarr", "scale", "resumable")
    except ImportError:
        return None


def _sync(folder: Path) -> None:
    """Flush the names in a folder to disk, if the system supports that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
