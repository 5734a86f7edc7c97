"""Lengths of axes as far as the text of a program tells them, followed to where they come from.

Each length is a key: what has the same key has the same length, whatever the values of the inputs are.  The shape rules
of operators are not repeated here but tried, on lengths that are all different, all 0 and all 1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import isqrt

from scanopt.array.op import Op, Operand
from scanopt.array.types import Dim
from scanopt.calculus.encode import Encoded
from scanopt.calculus.forms import Form

__all__ = ["Lengths", "known_lengths"]

Keys = tuple[Hashable, ...]


@dataclass(frozen=True)
class Lengths:
    """What is known of the lengths of a program's terms.

    axes: a key for each axis of a term.  values: a key for the value of each scalar term.  fitting: the operators
    whose arguments have shapes that fit, whatever the inputs are.
    """

    axes: dict[int, Keys] = field(default_factory=dict[int, Keys])
    values: dict[int, Hashable] = field(default_factory=dict[int, Hashable])
    fitting: set[int] = field(default_factory=set[int])


def known_lengths(g: Encoded) -> Lengths:
    """The lengths of all terms of a program as it was written."""
    out = Lengths()
    for i, f in g.forms():
        if not g.types[i].ndim:
            out.values[i] = _value(g, i, f, out)
        found = _axes(g, i, f, out)
        own: Keys = tuple(("axis", i, k) for k in range(g.types[i].ndim))
        out.axes[i] = tuple(
            ("number", n) if n is not None else key
            for n, key in zip(g.types[i].shape, own if found is None else found, strict=True)
        )
    return out


def _value(g: Encoded, i: int, f: Form, known: Lengths) -> Hashable:
    op = f.operator
    if f.kind == "const" and g.types[i].dtype.startswith(("int", "uint")):
        return "number", int(g.consts[f.key])
    if f.kind == "hold":
        return known.values[f.args[0]]
    if isinstance(op, Op) and op.name == "shape_i":
        return known.axes[f.args[0]][int(op.options["axis"])]
    if isinstance(op, Op) and op.name in ("minimum", "maximum"):
        a, b = (known.values.get(j, ("value", i)) for j in f.args)
        return a if a == b else ("value", i)
    return "value", i


def _axes(g: Encoded, i: int, f: Form, known: Lengths) -> Keys | None:
    """Keys for the axes of a term, None where nothing is known."""
    match f.kind:
        case "hold":
            return known.axes[f.args[0]]
        case "seq" | "delay":  # a state keeps the shape of its initial rows
            return known.axes[f.args[0]][1:]
        case "stack" if not g.clocks[f.clock].until:
            return (known.values[g.clocks[f.clock].steps], *known.axes[f.args[0]])
        case "stack" | "tail":
            return (("axis", i, 0), *known.axes[f.args[0]])
        case "apply" if isinstance(f.operator, Op):
            return _tried(g, i, f, f.operator, known)
        case _:
            return None


# Shape rules, tried

_ROOTS = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
_DIFFERENT = tuple(isqrt(p * 10**26) for p in _ROOTS)
"""No sum or difference of a few of these lengths, roots of primes, is near another one."""

_NEAR = 10_000
"""What is so near one of them is that length less a fixed number; what is itself so small does not depend on them."""


def _tried(g: Encoded, i: int, f: Form, op: Op, known: Lengths) -> Keys | None:
    """What the shape rule of an operator says for lengths of which nothing is known but which are the same."""
    args = [(g.types[a].dtype, known.axes[a]) for a in f.args]
    keys = list(dict.fromkeys(key for _, axes in args for key in axes if _number(key) is None))
    if len(keys) > len(_DIFFERENT):
        return None
    lengths = dict(zip(keys, _DIFFERENT, strict=False))
    different = _shape(op, args, lengths.__getitem__)
    if different is None:
        return None
    shapes = [_shape(op, args, lambda key, n=n: n) for n in (0, 1)]  # type: ignore[misc]
    if None not in shapes:
        known.fitting.add(i)
    own: Keys = tuple(("axis", i, k) for k in range(len(different)))
    if any(s is None or len(s) != len(different) for s in shapes):
        return own
    few = [s for s in shapes if s is not None]
    return tuple(_recognized(n, lengths, [s[k] for s in few]) or own[k] for k, n in enumerate(different))


def _shape(op: Op, args: Sequence[tuple[str, Keys]], length: Callable[[Hashable], int]) -> tuple[Dim, ...] | None:
    """The shape of a result for these lengths, None where the arguments do not fit."""
    operands = []
    for dtype, axes in args:
        numbers = [(_number(key), key) for key in axes]
        operands.append(Operand(dtype, tuple(length(key) if n is None else n for n, key in numbers)))
    try:
        return op.idle(*operands).shape
    except (TypeError, ValueError, IndexError, OverflowError, ArithmeticError):
        return None


def _number(key: Hashable) -> int | None:
    match key:
        case ("number", int() as n):
            return n
        case _:
            return None


def _recognized(n: Dim, lengths: dict[Hashable, int], few: Sequence[Dim]) -> Hashable | None:
    """The key of a length in a result that is n for different lengths, and these where all are 0 and 1."""
    if n is None:
        return None
    if n < _NEAR:
        return ("number", n) if [*few] == [n, n] else None
    for key, length in lengths.items():
        k = length - n
        if 0 <= k < _NEAR and [*few] == [0, max(1 - k, 0)]:
            return _less(key, k)
    return None


def _less(length: Hashable, k: int) -> Hashable:
    """max(length - k, 0)."""
    match length:
        case ("less", rest, int() as j):
            return "less", rest, j + k
        case _:
            return ("less", length, k) if k else length
