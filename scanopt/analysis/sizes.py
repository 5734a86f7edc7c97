"""Sizes for costs: the dtype and shape that every class has for the example inputs.

Lengths that nobody gave are guessed (`DEFAULT`), the same everywhere, so that guesses fit together.
A class has one dtype and number of axes; two are a soundness alarm.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from scanopt.array.abstract import abstract_eval, batched_eval
from scanopt.array.op import Op, Operand
from scanopt.array.types import TensorType
from scanopt.calculus.forms import ROOT, Form, Operator, TermGraph, const_value, unbatched
from scanopt.loops.steps import ENDLESS

__all__ = ["DEFAULT", "Sizes", "assumes", "example_operands", "open_operand"]

DEFAULT = 64
"""The length assumed for an axis, and the value assumed for an integer, that are not known."""

_MOST_TRIPS = 10**100
"""The most trips that are counted, as of loops 50 deep: costs stay finite."""


def example_operands(g: TermGraph, example: Mapping[str, np.ndarray[Any, Any]] | None = None) -> dict[str, Operand]:
    """Per input a dtype, a full shape and, for integer scalars, a value: given or assumed.

    A length that the program requires to be at least some number is assumed to be no less.
    """
    out: dict[str, Operand] = {}
    least = _required(g)
    for key, type in g.inputs.items():
        if example is not None and key in example:
            value = example[key]
            known = value if value.ndim == 0 and value.dtype.kind in "iu" else None
            out[key] = Operand(value.dtype.name, value.shape, known)
        else:
            shape = tuple(max(DEFAULT, least.get((key, k), 0)) if n is None else n for k, n in enumerate(type.shape))
            scalar = type.ndim == 0 and np.dtype(type.dtype).kind in "iu"
            assumed = np.array(DEFAULT, type.dtype) if scalar else None
            out[key] = Operand(type.dtype, shape, assumed)
    return out


def _required(g: TermGraph) -> dict[tuple[str, int], int]:
    """The lengths of axes of inputs that must be at least a number that the program has, and that number."""
    found: dict[tuple[str, int], int] = {}
    for c in g.checks:
        for f in g.classes[c]:
            if isinstance(f.operator, Op) and f.operator.name == "require" and f.operator.options["relation"] == "ge":
                lengths, least = (g.classes[a] for a in f.args)
                for n in (int(g.consts[x.key]) for x in least if x.kind == "const"):
                    found |= {axis: max(n, found.get(axis, 0)) for axis in _axes_of_inputs(g, lengths)}
    return found


def _axes_of_inputs(g: TermGraph, forms: Iterable[Form]) -> Iterator[tuple[str, int]]:
    """The axes of inputs of which these are the length."""
    for f in forms:
        if isinstance(f.operator, Op) and f.operator.name == "shape_i":
            axis = int(f.operator.options["axis"])
            yield from ((x.key, axis) for x in g.classes[f.args[0]] if x.kind == "input")


def assumes(g: TermGraph, example: Mapping[str, np.ndarray[Any, Any]] | None = None) -> bool:
    """Whether a length of an input, or the value of an integer, is assumed."""
    return any(_may_be_assumed(type) for key, type in g.inputs.items() if example is None or key not in example)


def _may_be_assumed(type: TensorType) -> bool:
    """Whether an input has lengths, or an integer's value, that are not known without an example."""
    return None in type.shape or (type.ndim == 0 and np.dtype(type.dtype).kind in "iu")


class Sized(NamedTuple):
    """The size of a class: its operand (all lengths known) and its clock."""

    operand: Operand
    clock: int


class Sizes:
    """Operand and clock of every class that has any form made of such classes.

    A class has the size of the form of which least is assumed.  A form whose lengths all follow from those of its
    arguments comes before one with a length to assume, and one that gives the value of an integer, which may be a
    length, before one that does not.  Forms made of constants and static shapes come before all that depend on lengths
    of inputs: assumed lengths need not fit together, and the program as written and the laws' forms of it have to be
    priced at the same sizes.

    known: results by `application`, of other programs, too; more are added.
    """

    def __init__(
        self, g: TermGraph, inputs: Mapping[str, Operand], known: dict[Hashable, Operand] | None = None
    ) -> None:
        self.graph = g
        self._inputs = inputs
        self._known = {} if known is None else known
        self.of: dict[int, Sized] = {}
        self._trips: dict[int, int] = {}
        self._results: dict[Form, Operand] = {}
        self._parts: dict[int, Hashable] = {}
        self._open_inputs = {key for key, type in g.inputs.items() if _may_be_assumed(type)}
        self._doubtful: set[int] = set()
        waiting: dict[int, list[tuple[int, Form]]] = defaultdict(list)
        ready: list[tuple[int, Form]] = []
        for c, f in g.forms():
            self._sort(c, f, waiting, ready)
        speaking: tuple[list[tuple[int, Form]], ...] = (ready, [], [], [])
        turn = 0
        while turn < len(speaking):
            if not speaking[turn]:
                turn += 1
                continue
            c, f = speaking[turn].pop()
            if c in self.of:
                continue
            sized, doubt = self._sized(f)
            if doubt > turn:
                speaking[doubt].append((c, f))
                continue
            self.of[c] = sized
            self._parts[c] = _part(sized.operand)
            if doubt:
                self._doubtful.add(c)
            for later in waiting.pop(c, ()):
                self._sort(*later, waiting, ready)
            turn = 0

    def _sort(self, c: int, f: Form, waiting: dict[int, list[tuple[int, Form]]], ready: list[tuple[int, Form]]) -> None:
        for needed in self._needs(f):
            if needed not in self.of:
                waiting[needed].append((c, f))
                return
        if f.clock == ROOT or f.clock in self.graph.clocks:
            ready.append((c, f))

    def _needs(self, f: Form) -> tuple[int, ...]:
        if f.kind not in ("stack", "tail", "recent") or f.clock not in self.graph.clocks:
            return f.args
        return (*f.args, self.graph.clocks[f.clock].steps)

    def usable(self, f: Form) -> bool:
        """Whether everything the form is made of has a size."""
        return (f.clock == ROOT or f.clock in self.graph.clocks) and all(map(self.of.__contains__, self._needs(f)))

    def result(self, f: Form) -> Operand:
        """dtype and shape of the result of f itself, not of its class; lengths that stay unknown are assumed."""
        found = self._results.get(f)
        if found is None:
            found = self._results[f] = _assumed(self._open(f, [self.of[a].operand for a in f.args]))
        return found

    def application(self, f: Form) -> Hashable:
        """A key of all that decides the dtype and shape of an operator's result, among all programs; None where values
        of arrays may decide, too."""
        parts = tuple([self._parts[a] for a in f.args])
        return None if None in parts else (f.operator, parts)

    def _open(self, f: Form, args: list[Operand]) -> Operand:
        """As `open_operand`."""
        assert f.operator is not None
        key = self.application(f)
        found = self._known.get(key)
        if found is None:
            found = open_operand(f.operator, args)
            if key is not None:
                self._known[key] = found
        return found

    def steps(self, clock: int) -> int:
        """Number of steps of one run of a loop, as far as known or assumed."""
        found = self.of.get(self.graph.clocks[clock].steps)
        value = found.operand.value if found else None
        return DEFAULT if value is None or value == ENDLESS else max(int(value), 0)

    def trips(self, clock: int) -> int:
        """How often a value on `clock` is computed; capped where larger counts could not be distinguished."""
        if clock not in self._trips:
            self._trips[clock] = min(math.prod(self.steps(c) for c in self.graph.chain(clock)), _MOST_TRIPS)
        return self._trips[clock]

    def _sized(self, f: Form) -> tuple[Sized, int]:
        """The size of a form, and how much of it is assumed: 0 nothing, 1 sizes of inputs, 2 an integer, 3 lengths."""
        sized, assumed = self._found(f)
        x = sized.operand
        unknown = x.value is None and not x.shape and np.dtype(x.dtype).kind in "iu"
        if assumed or unknown:
            return sized, 3 if assumed else 2
        return sized, int(f.key in self._open_inputs or not self._doubtful.isdisjoint(self._needs(f)))

    def _found(self, f: Form) -> tuple[Sized, bool]:
        """The size of a form, and whether lengths of it are assumed."""
        args = [self.of[a].operand for a in f.args]
        match f.kind:
            case "input":
                return Sized(self._inputs[f.key], ROOT), False
            case "const":
                value = const_value(f.key, self.graph.consts)
                return Sized(Operand(value.dtype.name, value.shape, value), ROOT), False
            case "apply":
                clock = self.of[f.args[0]].clock if f.args else ROOT
                out = self._open(f, args)
                self._results[f] = result = _assumed(out)
                return Sized(result, clock), None in out.shape
            case "hold":
                return Sized(args[0], f.clock), False
            case "seq" | "delay":
                return Sized(Operand(args[0].dtype, args[0].shape[1:]), f.clock), False
            case kind:
                level = self.graph.clocks[f.clock].level
                n = self.steps(f.clock)
                rows = () if kind == "at" else (self._rows_kept(f, n),)
                return Sized(Operand(args[0].dtype, (*rows, *args[0].shape)), level), False

    def _rows_kept(self, f: Form, n: int) -> int:
        """How many of the n rows of a trace a form keeps."""
        match f.kind:
            case "tail":
                return min(n, f.k)
            case "recent":
                count = self.of[f.args[1]].operand.value
                return n if count is None else min(n, int(count))
            case _:
                return n


def _part(x: Operand) -> tuple[str, Hashable] | None:
    """All of an argument that decides the dtype and shape of a result; None where values of an array may decide, too.

    >>> _part(Operand("int64", (), np.array(3))), _part(Operand("int8", (2,)))
    (('int64', 3), ('int8', (2,)))
    """
    if x.value is None:
        return x.dtype, x.shape
    if not x.shape and x.value.dtype.kind in "biu":
        return x.dtype, x.value.item()
    return None


def operator_operand(op: Operator, args: list[Operand]) -> Operand:
    """dtype and shape of an operator's result; lengths that stay unknown are assumed."""
    return _assumed(open_operand(op, args))


def _assumed(x: Operand) -> Operand:
    return x if None not in x.shape else Operand(x.dtype, tuple(DEFAULT if n is None else n for n in x.shape), x.value)


def open_operand(op: Operator, args: list[Operand]) -> Operand:
    """dtype and shape of an operator's result, None for lengths that stay unknown."""
    single, flags = unbatched(op)
    return batched_eval(lambda rows: _infer(single, rows), flags, args)


def _infer(op: Op, args: list[Operand]) -> Operand:
    try:
        return abstract_eval(op, args)
    except (ValueError, IndexError):
        # Assumed lengths need not fit together; the program's own lengths will.
        out: TensorType = op.infer(*(Operand(a.dtype, (None,) * a.ndim) for a in args))
        return Operand(out.dtype, out.shape)
