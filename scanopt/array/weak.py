"""A scalar whose dtype is open, like that of a bare Python number: it takes the dtype of the other operand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.array.variable import Variable

__all__ = ["Weak", "weak_result"]

_ARITHMETIC = {"add", "subtract", "multiply", "floor_divide", "remainder", "negative", "positive"}
"""Ufuncs that give, for Python numbers, a Python number of the same kind: int, float or complex."""
_DEEPEST = 50
"""The depth of nested operators up to which the dtype stays open; deeper expressions get the dtype of arrays."""


class Weak(Variable):
    """A scalar that counts as a Python number for dtype promotion.

    kind: int, float or complex.  As an operand beside an array it becomes a variable of the array's dtype (`as_dtype`,
    one for each dtype); arithmetic with Python numbers leaves its dtype open.  Once anything reads its type,
    it has the type of `np.asarray(number)` and is `taken`: from then on it counts as a variable of that type.

    >>> x = Weak(float, "h")
    >>> x.as_dtype("float32"), x.taken, x.dtype, x.taken
    ('h' float32[], False, 'float64', True)
    """

    def __init__(
        self,
        kind: type,
        name: str | None = None,
        made: Callable[[str], Variable] | None = None,
        of: Sequence[Weak] = (),
    ) -> None:
        """made: gives the variable for a dtype, if it is computed.  of: the open scalars that it is computed from.

        leaves: the open scalars, not computed themselves, from which it is computed; only itself if it is not computed.
        """
        self.kind = kind
        self.name, self.owner, self.index = name, None, 0
        self.taken = False
        self.by_dtype: dict[str, Variable] = {}
        self._made = made
        self.leaves: tuple[Weak, ...] = tuple(dict.fromkeys(leaf for x in of for leaf in x.leaves)) or (self,)
        if of:
            self.only_in = self.leaves[0].only_in
        self.depth: int = 1 + max((x.depth for x in of), default=0)

    @property
    def type(self) -> TensorType:  # type: ignore[override]  # of other variables it never changes
        """The type of such a number as an array."""
        for x in (self, *self.leaves):
            x.taken = True
        return TensorType(np.dtype(self.kind).name, ())

    def as_dtype(self, dtype: str) -> Variable:
        """The variable of a dtype that stands for it."""
        if dtype not in self.by_dtype:
            made = self._made or (lambda dtype: Variable(TensorType(dtype, ()), self.name))
            self.by_dtype[dtype] = made(dtype)
            self.by_dtype[dtype].only_in = self.only_in
        return self.by_dtype[dtype]

    def as_those(self, known: Mapping[Weak, str]) -> Variable:
        """The variable that stands for it when the open scalars in `known` have these dtypes."""
        return self.as_dtype(np.result_type(*(known[x] for x in self.leaves if x in known), self.kind()).name)


def weak_result(name: str, args: tuple[Any, ...], apply: Callable[..., Variable]) -> Weak | None:
    """The open result of a ufunc whose arguments are all open scalars and Python numbers; None for other arguments.

    apply: applies the ufunc to operands.
    """
    if any(isinstance(x, Weak) and x.depth > _DEEPEST for x in args):
        return None
    kinds = [x.kind if isinstance(x, Weak) else type(x) for x in args]
    if not all(kind in (int, float, complex) for kind in kinds):
        return None
    kind = max(kinds, key=(int, float, complex).index)
    if name == "divide":
        kind = max(kind, float, key=(int, float, complex).index)
    elif name == "power":
        if isinstance(args[1], Weak) or (kind is int and args[1] < 0):
            return None
    elif name not in _ARITHMETIC:
        return None

    def made(dtype: str) -> Variable:
        return apply(*(x.as_dtype(dtype) if isinstance(x, Weak) else x for x in args))

    return Weak(kind, made=made, of=[x for x in args if isinstance(x, Weak)])
