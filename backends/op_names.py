"""Gives each operator a name in the generated source text, one that no keyword and no other name there has."""

from __future__ import annotations

import keyword
import re
from dataclasses import field
from typing import Any

from scanopt.array.op import Op
from scanopt.records import dataclass

__all__ = ["OpNames"]

RESERVED = {
    "clock", "contiguous", "cut", "empty", "fewer", "grow", "here", "keep", "len", "max", "min", "owned", "program",
    "range", "recent", "record", "renew", "room", "spare", "steps", "taken", "there", "timer", "too_short",
    "writable", "wrong_depth", "wrong_shape", "wrong_start", "zip",
}  # fmt: skip


@dataclass
class OpNames:
    """The names of the operators of one text.

    given: by operator; on_host: the names of those that compute numbers on the host.  taken: for each name in use, the
    last number that was appended to it.
    """

    given: dict[Op, str] = field(default_factory=dict[Op, str])
    on_host: dict[Op, str] = field(default_factory=dict[Op, str])
    taken: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RESERVED, 0))

    def name(self, op: Op) -> str:
        """The name that an op is bound to: its own, with a number where several ops share it."""
        if op not in self.given:
            base = re.sub(r"\W", "_", op.name, flags=re.ASCII)
            tail = [str(v) for _, v in op.params for v in _flat(v)]
            self.given[op] = self._unused("_".join([base, *(t for t in tail if t.isdigit())]))
        return self.given[op]

    def here(self, op: Op) -> str:
        """The name of the function of an op for numbers on the host."""
        return self.on_host.setdefault(op, f"h_{self.name(op)}")

    def _unused(self, name: str) -> str:
        """Return the name, with a number where it is in use or not allowed."""
        bad = keyword.iskeyword(name) or re.fullmatch(r"[a-z]\d+\w*|[bfh]_.*|part_.*|kernel_.*|_.*|\d.*|", name)
        i, found = self.taken.get(name, 0), name
        while found in self.taken or (bad and found == name):
            i += 1
            found = f"op_{name}_{i}" if bad else f"{name}_v{i}"
        self.taken[name] = i
        self.taken.setdefault(found, 0)
        return found


def _flat(x: Any) -> list[Any]:
    return [z for y in x for z in _flat(y)] if isinstance(x, tuple) else [x]
