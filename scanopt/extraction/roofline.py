"""Rooflines: the operations and bytes that a computation needs at least, and the time a machine takes for them.

No program that computes the same values by the same operations is faster than `MachineLimits.seconds`: each operation
is done once, and each array that is read or made moves between memory and processor once, at the measured rates.  A
multiply-add counts as two operations, any other operation on an element as one, a copy as none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from scanopt.analysis.batched_operators import recipe
from scanopt.analysis.sizes import operator_operand
from scanopt.array.abstract import concrete
from scanopt.array.op import Op, Operand
from scanopt.array.operators.idle import guarded
from scanopt.calculus.forms import Operator
from scanopt.extraction.cost import Work, elements, multiply_adds
from scanopt.records import dataclass

__all__ = ["MULTIPLY_ADDS", "MachineLimits", "Need", "operations"]

MULTIPLY_ADDS = ("product", "system", "factorization", "solving", "decomposition")
"""Classes of cost of operators on matrices."""
_COPIES = ("free", "memory", "gather")


@dataclass(frozen=True)
class Need:
    """The least work of a computation.

    operations: on numbers, by their dtype.  bytes: of what it reads from elsewhere and leaves behind.
    """

    operations: Mapping[str, float] = field(default_factory=dict[str, float])
    bytes: float = 0.0

    @classmethod
    def all_of(cls, needs: Iterable[Need]) -> Need:
        """The work of several computations, one after the other."""
        together, moved = dict[str, float](), 0.0
        for need in needs:
            moved += need.bytes
            for dtype, count in need.operations.items():
                together[dtype] = together.get(dtype, 0.0) + count
        return cls(together, moved)

    @property
    def total(self) -> float:
        """All operations."""
        return sum(self.operations.values())


@dataclass(frozen=True)
class MachineLimits:
    """The rates of a machine.

    operations: how many a second, for float64 and float32.  bytes: pairs of the bytes that are moved and how many of
    them a second, the fewest first: what fits into a cache is faster.  source: where the rates come from, in words.

    >>> machine = MachineLimits({"float64": 1e9, "float32": 2e9}, ((1e3, 1e11), (1e6, 1e10)), "a data sheet")
    >>> machine.seconds(Need({"float64": 1e6}, 1e6))
    (0.001, 'operations')
    >>> machine.seconds(Need({"float32": 1e3}, 1e6))
    (0.0001, 'bytes')
    """

    operations: Mapping[str, float]
    bytes: tuple[tuple[float, float], ...]
    source: str = ""

    def seconds(self, need: Need) -> tuple[float, str]:
        """The least number of seconds, and the bottleneck: "operations" or "bytes"."""
        rates = self.operations
        computing = sum(n / rates["float32" if x in ("float32", "float16") else "float64"]
                        for x, n in need.operations.items())  # fmt: skip
        moving = need.bytes / self.bandwidth(need.bytes)
        return (computing, "operations") if computing > moving else (moving, "bytes")

    def bandwidth(self, moved: float) -> float:
        """Bytes a second if `moved` bytes are moved: the rate measured for the next smaller number."""
        return next((rate for size, rate in reversed(self.bytes) if size <= moved), self.bytes[0][1])


def operations(operator: Operator, args: Sequence[Operand]) -> Mapping[str, float]:
    """The operations of one evaluation, by dtype.  args: of known lengths.

    >>> x = Operand("float64", (10, 20))
    >>> operations(Op.make("add"), [x, x]), operations(Op.make("dot"), [x, Operand("float64", (20, 5))])
    ({'float64': 200.0}, {'float64': 2000.0})
    """
    made = recipe(operator, args)
    if made is None:
        return {}
    slots, found = [*args, *(concrete(x) for x in made.constants)], dict[str, float]()
    for op, inputs in made.steps:
        given = [slots[n] for n in inputs]
        out = operator_operand(op, given)
        slots.append(out)
        inner = guarded(op)
        count = _count(inner or op, given[1:] if inner else given, out)
        if count:
            dtype = max((x.dtype for x in (out, *given)), key=lambda x: ("float" in x or "complex" in x, x))
            found[dtype] = found.get(dtype, 0.0) + count
    return found


def _count(op: Op, args: Sequence[Operand], out: Operand) -> float:
    kind = op.cost
    if kind in _COPIES:
        return 0.0
    if kind in MULTIPLY_ADDS:
        work = Work("apply", op, tuple(args), out)
        return 2.0 * (multiply_adds(work) if kind == "product" else elements(work, kind))
    most = max(math.prod(n or 0 for n in x.shape) for x in (out, *args))
    return float(most) * (math.log2(max(most, 2)) if kind == "sort" else 1.0)
