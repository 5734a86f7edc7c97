"""Plans of kernels by shapes; each is found once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from scanopt.forks import lock

__all__ = ["PLANS", "Key", "PlanCache", "Shapes"]

Shapes = tuple[tuple[int, ...], ...]
Key = tuple[Shapes, tuple[int, ...]]
"""Shapes, and the numbers that lengths depend on."""
PLANS = 64
"""So many lists of shapes are remembered."""

Found = TypeVar("Found")


class PlanCache(Generic[Found]):
    """By key what runs for such arguments, None where array steps have to.

    make: finds it; where it raises ValueError, TypeError or LookupError, array steps tell what does not fit.
    """

    def __init__(self, make: Callable[[Shapes, tuple[int, ...]], Found | None]) -> None:
        self._make = make
        self._plans: dict[Key, Found | None] = {}
        self._lock = lock()

    def __call__(self, key: Key) -> Found | None:
        """The plan for a key."""
        if key in self._plans:
            return self._plans[key]
        with self._lock:
            if len(self._plans) >= PLANS:
                self._plans.clear()
            try:
                plan = self._make(*key)
            except (ValueError, TypeError, LookupError):
                plan = None
            self._plans[key] = plan
        return plan

    def found(self) -> list[Found]:
        """The plans found so far."""
        return [plan for plan in list(self._plans.values()) if plan is not None]

    def __contains__(self, key: Key) -> bool:
        return key in self._plans

    def __len__(self) -> int:
        return len(self._plans)
