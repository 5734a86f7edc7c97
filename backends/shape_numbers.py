"""Numbers that the shapes of inputs tell: generated text reads them there, and makes no arrays for them.

So slices and numbers of steps wait for no device, and cost no launches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from scanopt.backends.parts import FunctionPart
from scanopt.program.ir import Compute, Program

__all__ = ["ShapeNumbers"]

DEPTH = 3
"""So many operators, at most, stand in one another."""
_WORD = re.compile(r"\w+")


class ShapeNumbers:
    """The numbers of a program.  names: those in its text."""

    def __init__(self, program: Program, names: Mapping[str, str]) -> None:
        self.names, self.inputs = names, {x.name for x in program.inputs}
        self.made = {s.out: s for s in program.steps if isinstance(s, Compute) and not s.type.ndim}
        values = ((c.name, np.asarray(c.value)) for c in program.consts)
        self.fixed = {name: int(x) for name, x in values if x.ndim == 0 and x.dtype == "int64"}

    def text(self, name: str, depth: int = DEPTH) -> str:
        """The text of a number by the shapes of inputs; "" where they do not tell it."""
        if name in self.fixed:
            return str(self.fixed[name])
        made = self.made.get(name)
        if made is None:
            return ""
        if made.op.name == "shape_i" and made.args[0] in self.inputs:
            return f"{self.names[made.args[0]]}.shape[{made.op.options['axis']}]"
        if made.op.name not in ("minimum", "maximum") or not depth:
            return ""
        args = [self.text(a, depth - 1) for a in made.args]
        return f"{made.op.name[:3]}({', '.join(args)})" if all(args) else ""

    def drop_unread(self, parts: Sequence[FunctionPart]) -> None:
        """Leave out the lines that make numbers which nothing reads any more."""
        read = Counter(word for part in parts for line in part.lines for word in _WORD.findall(line.text))
        for part in parts:
            unread: set[int] = set()
            for line in reversed(part.lines):
                name = line.step.out if line.step else ""
                if name in self.made and read[self.names[name]] == 1 and self.text(name):
                    read.subtract(_WORD.findall(line.text))
                    unread.add(id(line))
            part.lines = [x for x in part.lines if id(x) not in unread]
