"""Decides which numbers generated source text computes on the host, even where arrays are on a device.

These are integers and booleans without axes that follow from shapes, from arguments and from one another.  Slices and
numbers of steps that depend on them need not wait for the device, and cost no launches.  On NumPy, where everything is
on the host, only constants, shapes of inputs and their minima and maxima are written so: as nested expressions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.parts import FunctionPart
from scanopt.program.ir import Compute, Program, Step

__all__ = ["HOST_LENGTHS", "HostNumbers", "is_number"]

HOST_LENGTHS = {"getitem", "sum_to", "repeat_rows"}
"""Operators whose arguments after the first are numbers that the host reads."""
DEPTH = 3
"""The most operators that are nested in one expression."""
_WORD = re.compile(r"\w+")


class HostNumbers:
    """The numbers of a program that are known on the host.  names: the names of the text, by those of the program.

    computed: for each name computed on the host, its step.  fixed: the values of integer constants, by name.
    """

    def __init__(
        self, program: Program, names: Mapping[str, str], types: Mapping[str, TensorType], device: bool
    ) -> None:
        self.names, self.inputs = names, {x.name for x in program.inputs}
        self.made = {s.out: s for s in program.steps if isinstance(s, Compute) and not s.type.ndim}
        values = {c.name: np.asarray(c.value) for c in program.consts}
        self.fixed = {name: int(x) for name, x in values.items() if x.ndim == 0 and x.dtype == "int64"}
        numbers = [x.name for x in program.inputs if is_number(x.type)] if device else []
        self.given = dict.fromkeys(numbers)
        known = {*numbers, *(name for name, x in values.items() if x.ndim == 0 and x.dtype.kind in "iub")}
        self.computed = dict(_computed(program.steps, types, known)) if device else {}

    def argument(self, name: str) -> str:
        """The name of a parameter of the text: where the host reads an input, another name than the array's."""
        return f"g{self.names[name][1:]}" if name in self.given else self.names[name]

    def here(self, name: str) -> str:
        """The name of a host number in the text."""
        return f"h_{self.names[name]}"

    def text(self, name: str, depth: int = DEPTH) -> str:
        """The text of an expression for a number on the host; "" where it is not known there."""
        if name in self.fixed:
            return str(self.fixed[name])
        if name in self.computed or name in self.given:
            return self.here(name)
        made = self.made.get(name)
        if made is None:
            return ""
        if made.op.name == "shape_i" and made.args[0] in self.inputs:
            return self.shape(made)
        if made.op.name not in ("minimum", "maximum") or not depth:
            return ""
        args = [self.text(a, depth - 1) for a in made.args]
        return f"{made.op.name[:3]}({', '.join(args)})" if all(args) else ""

    def shape(self, made: Compute) -> str:
        """The text of an axis length of an array."""
        return f"{self.names[made.args[0]]}.shape[{made.op.options['axis']}]"

    def may_drop(self, made: Compute) -> bool:
        """Whether a line that computes a number may be left out where nothing reads it."""
        known = made.out in self.made and bool(self.text(made.out))
        return known and not made.op.can_raise

    def drop_unread(self, parts: Sequence[FunctionPart]) -> None:
        """Remove the lines that assign numbers which nothing reads any more."""
        read = Counter(word for part in parts for line in part.lines for word in _WORD.findall(line.text))
        for part in parts:
            unread: set[int] = set()
            for line in reversed(part.lines):
                if line.makes and read[line.makes] == 1:
                    read.subtract(_WORD.findall(line.text))
                    unread.add(id(line))
            part.lines = [x for x in part.lines if id(x) not in unread]


def is_number(type: TensorType) -> bool:
    """Whether a value of this type is an integer or a boolean without axes."""
    return type.ndim == 0 and np.dtype(type.dtype).kind in "iub"


def _computed(steps: Iterable[Step], types: Mapping[str, TensorType], known: set[str]) -> Iterator[tuple[str, Compute]]:
    """Yield the numbers that steps outside of loops and branches compute from known ones, and add them to `known`."""
    for s in steps:
        if not isinstance(s, Compute) or not is_number(types[s.out]) or s.op.spec.effect:
            continue
        if s.op.name == "shape_i" or (s.args and known.issuperset(s.args)):
            known.add(s.out)
            yield s.out, s
