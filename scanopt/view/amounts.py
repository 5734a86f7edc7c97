"""Amounts as people read them: costs, numbers and durations in few digits, with a fitting unit."""

from __future__ import annotations

from math import isfinite

__all__ = ["cost_text", "number", "seconds_text"]


def number(value: float) -> str:
    """A cost in a few digits.

    >>> number(1234567.0), number(0.5), number(12.0), number(float("inf"))
    ('1,234,567', '0.5', '12', 'infinite')
    """
    if not isfinite(value):
        return "unknown" if value != value else "infinite"
    if value and not 1e-3 <= abs(value) < 1e9:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def seconds_text(value: float) -> str:
    """A duration with a fitting unit.

    >>> seconds_text(0.0123), seconds_text(2.5), seconds_text(4e-5)
    ('12.3 ms', '2.50 s', '40 µs')
    """
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"


def cost_text(cost: float, unit: str) -> str:
    """A cost with its unit.

    >>> cost_text(204411.0, "ns"), cost_text(12.0, "")
    ('204 µs', '12')
    """
    return seconds_text(cost * 1e-9) if unit == "ns" and 0 < cost < float("inf") else number(cost)
