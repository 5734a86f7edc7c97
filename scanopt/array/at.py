"""`x.at[index]`, as JAX has it: new arrays with a part replaced, added to, multiplied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from scanopt.array.constants import as_tensor_variable, is_weak, weak_constant
from scanopt.array.gradients.indexing import distinct
from scanopt.array.operators.elementwise import cast, elementwise
from scanopt.array.operators.scatter import scatter
from scanopt.array.operators.subtensor import getitem, inc_subtensor, set_subtensor
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Apply, Variable, describe
from scanopt.records import dataclass

__all__ = ["At", "IndexedPart"]


_IN_RANGE = (
    "an index out of range is an error; write x.at[T.clip(i, 0, n - 1)] for the nearest entry, "
    "x.at[i[(i >= 0) & (i < n)]] to leave those out"
)


@dataclass(frozen=True, eq=False)
class At:
    """The value of `x.at`: `x.at[index]` is the part of x from which new arrays are made.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.constant([1.0, 2.0, 3.0])
    >>> interpret(x.at[1:].multiply(10.0))
    array([ 1., 20., 30.])
    """

    x: Variable

    def __getitem__(self, index: Any) -> IndexedPart:
        return IndexedPart(self.x, getitem(self.x, index))

    def __getattr__(self, name: str) -> NoReturn:
        if name == "x" or name.startswith("__"):  # asked for before there is an x
            raise AttributeError(name)
        near = f"x.at[index].{name}(...)" if hasattr(IndexedPart, name) else "x.at[index].set(values)"
        raise AttributeError(f"x.at of {describe(self.x)} needs an index: write {near}")


@dataclass(frozen=True, eq=False)
class IndexedPart:
    """A part of an array; each method returns a copy of the whole array with that part changed.

    index: anything that `x[index]` accepts.  An integer array may name an entry twice: `add`, `multiply` and the others
    then apply all values for that entry, one after the other; `set` keeps one of them.  Values are cast to the dtype of
    the array.
    hints: as in JAX: unique_indices, a promise that no entry is named twice; indices_are_sorted, which changes
    nothing; mode, None or "promise_in_bounds": an index out of range is an error.
    Raises TypeError for values of a kind that does not fit the dtype and for other hints, ValueError for another mode.
    """

    x: Variable
    part: Variable

    def get(self, **hints: Any) -> Variable:
        """The part itself."""
        self._promised(hints)
        return self.part

    def set(self, values: Any, **hints: Any) -> Variable:
        """The array with the part replaced by values."""
        self._promised(hints)
        if self.part is self.x:
            return _spread(self.x, values)
        return set_subtensor(self.part, values)

    def add(self, values: Any, **hints: Any) -> Variable:
        """The array with values added to the part."""
        self._promised(hints)
        return elementwise("add", self.x, values) if self.part is self.x else inc_subtensor(self.part, values)

    def subtract(self, values: Any, **hints: Any) -> Variable:
        """The array with values subtracted from the part."""
        return self.add(elementwise("negative", _like(self.x, values)), **hints)

    def multiply(self, values: Any, **hints: Any) -> Variable:
        """The array with the part multiplied by values."""
        return self._combined("multiply", values, hints)

    def divide(self, values: Any, **hints: Any) -> Variable:
        """The array with the part divided by values."""
        return self._combined("divide", values, hints)

    def power(self, values: Any, **hints: Any) -> Variable:
        """The array with the part raised to the power of values."""
        return self._combined("power", values, hints)

    def min(self, values: Any, **hints: Any) -> Variable:
        """The array with the part replaced by the minimum of part and values, element by element."""
        return self._combined("minimum", values, hints)

    def max(self, values: Any, **hints: Any) -> Variable:
        """The array with the part replaced by the maximum of part and values, element by element."""
        return self._combined("maximum", values, hints)

    def apply(self, function: Callable[[Variable], Any], **hints: Any) -> Variable:
        """The array with the part replaced by function(part); an entry that is named twice is changed once."""
        return self.set(function(self.part), **hints)

    mul, div = multiply, divide

    def _promised(self, hints: Mapping[str, Any]) -> bool:
        """Whether the hints promise that no entry is named twice.  Raises TypeError, ValueError for unknown hints."""
        if other := sorted(set(hints) - {"unique_indices", "indices_are_sorted", "mode"}):
            raise TypeError(f"x.at[index] takes no {other[0]}: {_IN_RANGE}")
        if (mode := hints.get("mode")) not in (None, "promise_in_bounds"):
            raise ValueError(f"x.at[index] of {describe(self.x)} has no mode {mode!r}: {_IN_RANGE}")
        return bool(hints.get("unique_indices"))

    def _combined(self, ufunc: str, values: Any, hints: Mapping[str, Any]) -> Variable:
        if self._promised(hints) or not self._may_repeat():
            return self.set(elementwise(ufunc, self.part, values))
        return scatter(ufunc, self.part, _like(self.x, values))

    def _may_repeat(self) -> bool:
        """Whether the index may name an entry twice."""
        node = self.part.owner
        if self.part is self.x or not isinstance(node, Apply) or node.op.name != "getitem":
            return False
        return not distinct(node.op.options["index"], node.inputs[1:])


def _like(x: Variable, values: Any) -> Variable:
    """Values cast to the dtype of x.  Raises TypeError where their kind does not fit, as of complex numbers."""
    v = values if is_weak(values) else as_tensor_variable(values)
    dtype = v.dtype if isinstance(v, Variable) else np.result_type(x.dtype, v)
    if not np.can_cast(dtype, x.dtype, "same_kind"):
        found = describe(v) if isinstance(v, Variable) else repr(v)
        raise TypeError(f"an entry of {describe(x)} cannot be combined with {found}: cast one of them first")
    return cast(v, x.dtype) if isinstance(v, Variable) else weak_constant(v, x.dtype, (x,))


def _spread(x: Variable, values: Any) -> Variable:
    """Values in the shape and dtype of x."""
    v = _like(x, values)
    if v.ndim > x.ndim:
        raise ValueError(f"cannot put {describe(v)} into {describe(x)}, which has fewer axes")
    filled: Variable = FUNCTIONS["full_like"](x, v)
    return filled
