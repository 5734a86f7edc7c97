"""A call of the user's: its place in the code, and the errors that name it."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.no_arrays import show
from scanopt.array.variable import Variable
from scanopt.records import dataclass

__all__ = ["Number", "Site", "is_bare", "is_truth", "show", "to_keep"]

Number = bool | int | float | complex
"""A bare Python number, whose dtype is open."""


def is_bare(x: Any) -> TypeGuard[Number]:
    """Whether x is a bare Python number or truth value (NumPy's scalars have a dtype).

    >>> is_bare(1.0), is_bare(np.float64(1.0))
    (True, False)
    """
    return type(x) in (bool, int, float, complex)


def is_truth(x: Any) -> TypeGuard[bool]:
    """Whether x is True or False, or one of the numbers 1 and 0 that people write for them.

    >>> is_truth(np.True_), is_truth(1), is_truth("yes")
    (True, True, False)
    """
    return isinstance(x, bool | np.bool_) or (isinstance(x, int) and x in (0, 1))


@dataclass(frozen=True)
class Site:
    """One call of scan or a relative: the function's name and "file:line" of the call."""

    function: str
    location: str

    @property
    def place(self) -> str:
        """The call in words, for the end of a message."""
        return f"({self.function} at {self.location})" if self.location else f"({self.function})"

    def error(self, kind: type[Exception], text: str) -> Exception:
        """An error of this kind whose text names the place of the call."""
        return kind(f"{text} {self.place}")

    def array(self, x: Any, what: str) -> Variable:
        """x as a symbolic array.  Raises TypeError naming `what` if it is not one."""
        if isinstance(x, str | bytes) or callable(x):
            raise self.error(TypeError, f"{what} must be an array, found {show(x)}")
        try:
            return as_tensor_variable(x)
        except (TypeError, ValueError, OverflowError) as error:
            reason = str(error).removeprefix(f"cannot make a symbolic array of {show(x)}")  # which is said here
            reason = reason if reason != str(error) else f": {reason}"
            raise self.error(TypeError, f"{what} must be an array, found {show(x)}{reason}") from None


def to_keep(x: Variable, value: Variable) -> str:
    """Advice for a new value of a shared variable that has another type."""
    if value.dtype != x.dtype:
        return f"a shared variable keeps its dtype; write .astype('{x.dtype}') if that is meant"
    kept = "the shape that it was promised" if value.ndim == x.ndim else "its number of axes"
    return f"a shared variable keeps {kept}"
