"""The updates that scan returns: new values of shared variables, to be passed to `function`."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from scanopt.array.variable import SharedVariable, Variable, describe

__all__ = ["Updates"]


class Updates(OrderedDict[SharedVariable, Variable]):
    """Shared variable -> its value after the loop.  Keys are checked, and so are sums.

    >>> dict(Updates() + Updates())
    {}
    """

    def __setitem__(self, key: Any, value: Variable) -> None:
        if not isinstance(key, SharedVariable):
            what = describe(key) if isinstance(key, Variable) else repr(key)
            raise TypeError(f"updates are keyed by shared variables, found {what}")
        super().__setitem__(key, value)

    def __add__(self, other: Any) -> Updates:
        """Both together.  Raises KeyError where they give one variable two different values."""
        total = Updates(self)
        for key, value in dict(other).items():
            if key in total and total[key] is not value:
                raise KeyError(
                    f"two different updates of {describe(key)}: {describe(total[key])} and {describe(value)}"
                )
            total[key] = value
        return total

    def __radd__(self, other: Any) -> Updates:
        return Updates(other) + self
