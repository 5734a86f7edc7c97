"""The updates that scan returns: new values of shared variables, to be passed to `function`."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from scanopt.array.variable import SharedVariable, Variable, describe
from scanopt.loops.site import show

__all__ = ["Updates"]


def _pairs(*given: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a dict, or of pairs.  Raises TypeError for anything else."""
    try:
        return [*dict(*given).items()]
    except (TypeError, ValueError):
        found = ", ".join(map(show, given))
        text = f"updates are a dict or pairs of a shared variable and its new value, found {found}"
        raise TypeError(
            f"{text}; scan returns (outputs, updates): for the outputs write outputs, updates = scan(...)"
        ) from None


class Updates(OrderedDict[SharedVariable, Variable]):
    """Shared variable -> its value after the loop.  Keys are checked, and updates that are combined must not conflict.

    `a + b`, `a | b`, `a += b`, `a |= b` and `a.update(b)`, where b may be a dict or pairs, raise KeyError if both have
    a variable with different values.  `a[x] = y` replaces a value.

    >>> dict(Updates() + Updates())
    {}
    """

    def __init__(self, *given: Any) -> None:
        super().__init__()
        self.update(*given)

    def __setitem__(self, key: Any, value: Variable) -> None:
        if not isinstance(key, SharedVariable):
            what = describe(key) if isinstance(key, Variable) else repr(key)
            raise TypeError(f"updates are keyed by shared variables, found {what}")
        super().__setitem__(key, value)

    def update(self, *given: Any, **named: Any) -> None:
        """Add further updates.  Raises KeyError if they give a variable another value than it has here."""
        for key, value in [*_pairs(*given), *named.items()]:
            if key in self and self[key] is not value:
                raise KeyError(f"two different updates of {describe(key)}: {show(self[key])} and {show(value)}")
            self[key] = value

    def __add__(self, other: Any) -> Updates:
        """Both updates together.  Raises KeyError if they give a variable two different values."""
        total = Updates(self)
        total.update(other)
        return total

    def __radd__(self, other: Any) -> Updates:
        return Updates(other) + self

    def __iadd__(self, other: Any) -> Updates:
        self.update(other)
        return self

    __or__, __ror__, __ior__ = __add__, __radd__, __iadd__  # type: ignore[assignment]  # of a dict they have overloads
