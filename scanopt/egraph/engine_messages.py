"""Messages between a process and its engine: marshalled, each preceded by its length in eight bytes.

The engine's process imports this file by its path, so it must not import other modules of the project.
"""

from __future__ import annotations

import marshal
import os
from typing import Any

__all__ = ["receive", "send"]


def send(file: int, message: Any) -> None:
    """Write a message."""
    data = marshal.dumps(message)
    view = memoryview(len(data).to_bytes(8, "little") + data)  # in one: the other side wakes up once
    while view:
        view = view[os.write(file, view) :]


def receive(file: int) -> Any:
    """Read a message; None at the end of the input."""
    size = _read(file, 8)
    data = _read(file, int.from_bytes(size, "little")) if size else b""
    return marshal.loads(data) if data else None


def _read(file: int, size: int) -> bytes:
    """Read `size` bytes; no bytes if the input ends earlier."""
    out = bytearray()
    while len(out) < size:
        if not (part := os.read(file, min(size - len(out), 1 << 24))):
            return b""
        out += part
    return bytes(out)
