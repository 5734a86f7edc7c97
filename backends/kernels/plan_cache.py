"""Remembers the plans of kernels by the shapes of arguments, so that each is made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from scanopt.backends.kernels.unexpected import unexpected
from scanopt.forks import lock

__all__ = ["PLANS", "Key", "NoFitError", "PlanCache", "Shapes"]

Shapes = tuple[tuple[int, ...], ...]
Key = tuple[Shapes, tuple[int, ...]]
"""Shapes, and the numbers that lengths depend on."""
PLANS = 64
"""The most keys that are remembered."""

Found = TypeVar("Found")


class NoFitError(Exception):
    """The shapes of arguments do not fit."""


class PlanCache(Generic[Found]):
    """The plans by key; None for arguments for which array steps have to run.

    make: makes a plan.  If it raises NoFitError, array steps run and report what does not fit.  Any other error of it
    is a bug: array steps run, with a warning.
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
            plan = self._plans[key] = self._made(key)
        return plan

    def _made(self, key: Key) -> Found | None:
        try:
            return self._make(*key)
        except NoFitError:
            return None
        except Exception as error:
            unexpected(error)
            return None

    def forget(self, key: Key) -> None:
        """Make the plan for a key anew when it is needed next."""
        with self._lock:
            self._plans.pop(key, None)

    def found(self) -> list[Found]:
        """The plans found so far."""
        return [plan for plan in list(self._plans.values()) if plan is not None]

    def __contains__(self, key: Key) -> bool:
        return key in self._plans

    def __len__(self) -> int:
        return len(self._plans)
