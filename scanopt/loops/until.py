"""until: the condition on which a loop ends, returned last by the step."""

from __future__ import annotations

from typing import Any

from scanopt.array.constants import as_tensor_variable
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable, describe
from scanopt.loops.site import Site, show

__all__ = ["split_until", "until"]


class until:  # noqa: N801  the documented name
    """Returned last by a step: the loop ends after the step where `condition` is true.

    condition: a scalar.  Raises TypeError when it has axes or is not an array.

    >>> from scanopt import scan, tensor as T
    >>> powers, _ = scan(lambda p: (p * 2, until(p * 2 > 45)), outputs_info=1.0, n_steps=1024)

    Source: scan documentation, "Conditional ending of Scan".
    """

    def __init__(self, condition: Any) -> None:
        try:
            self.condition: Variable = as_tensor_variable(condition)
        except (TypeError, ValueError):
            raise TypeError(f"until needs a symbolic condition, found {show(condition)}") from None
        if self.condition.ndim:
            raise TypeError(f"until needs a scalar condition, found {describe(self.condition)}: reduce it with any()")


def split_until(site: Site, raw: Any) -> tuple[Any, Variable | None]:
    """The results of a step without its `until`, and the condition as a bool scalar, None if it has none."""
    if isinstance(raw, until):
        return [], _bool(raw.condition)
    if not isinstance(raw, list | tuple):
        return raw, None
    if any(isinstance(x, until) for x in raw[:-1]):
        raise site.error(ValueError, "the step must return until(...) last, after its outputs and updates")
    if not raw or not isinstance(raw[-1], until):
        return raw, None
    rest = raw[:-1]
    return (rest[0] if len(rest) == 1 else rest), _bool(raw[-1].condition)


def _bool(condition: Variable) -> Variable:
    return condition if condition.dtype == "bool" else FUNCTIONS["neq"](condition, 0)
