"""Two small charts of the report: what each law did to the cost, and where the time went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, log10

from scanopt.view.arrange import cut, text_width
from scanopt.view.markup import escape

__all__ = ["cost_chart", "cost_text", "number", "seconds_text", "time_bar"]

_ROW, _BAR = 26, 420.0
_LOG_FROM = 60.0  # ratio of costs from which the scale is logarithmic


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


def cost_chart(rows: Sequence[tuple[str, float]], unit: str = "") -> str:
    """The cost of the program at first and after each law, as an SVG of level bars.

    rows: what was done, and the cost then; the first row is the program as it was written.
    """
    costs = [c if isfinite(c) and c > 0 else 0.0 for _, c in rows]
    top, low = max(costs, default=0.0), min((c for c in costs if c), default=0.0)
    logarithmic = low > 0 and top / low > _LOG_FROM
    names = [cut(name, 40) for name, _ in rows]
    left = max((text_width(name, 12) for name in names), default=0.0) + 14
    width, height = left + _BAR + 190, len(rows) * _ROW + (22 if logarithmic else 4)
    body = []
    for i, (name, cost) in enumerate(zip(names, costs, strict=True)):
        was = costs[i - 1] if i else cost
        label = (rows[i][0], cost_text(rows[i][1], unit))
        body.append(_row(i, name, label, (was, cost), left, _scale(low, top, logarithmic)))
    if logarithmic:
        y = height - 6
        body.append(f'<text class="s" x="{left:.0f}" y="{y}">logarithmic scale</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" width="{width:.0f}" '
        f'height="{height}" viewBox="0 0 {width:.0f} {height}">{"".join(body)}</svg>'
    )


def _scale(low: float, top: float, logarithmic: bool) -> tuple[float, float, bool]:
    return (low / 2, top, True) if logarithmic else (0.0, top or 1.0, False)


def _length(cost: float, scale: tuple[float, float, bool]) -> float:
    low, top, logarithmic = scale
    if cost <= 0:
        return 0.0
    part = log10(cost / low) / log10(top / low) if logarithmic else cost / top
    return max(1.0, part * _BAR)


def _row(
    i: int,
    name: str,
    label: tuple[str, str],
    change: tuple[float, float],
    left: float,
    scale: tuple[float, float, bool],
) -> str:
    was, cost = change
    y, now = i * _ROW + 4, _length(cost, scale)
    before = _length(was, scale)
    extent = max(now, before)
    ghost = ""
    if i and abs(before - now) > 0.5:
        kind = "less" if cost < was else "more"
        x = left + min(now, before)
        gone = abs(before - now)
        ghost = f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{gone:.1f}" height="18"/>'
    percent = f" ({(cost - was) / was:+.0%})" if i and was and abs(cost - was) / was >= 0.005 else ""
    text = escape(label[1] + percent)
    return (
        f"<g><title>{escape(label[0])}: {text}</title>"
        f'<text class="n" x="{left - 10:.1f}" y="{y + 13}">{escape(name)}</text>'
        f'<rect class="now" x="{left:.1f}" y="{y}" width="{now:.1f}" height="18"/>{ghost}'
        f'<text x="{left + extent + 8:.1f}" y="{y + 13}">{text}</text></g>'
    )


def time_bar(seconds: Mapping[str, float]) -> str:
    """One bar of the parts of a time, and each part with its share, in HTML."""
    total = sum(max(0.0, s) for s in seconds.values())
    if total <= 0:
        return ""
    parts, legend = [], []
    for i, (name, value) in enumerate(seconds.items()):
        share = 100 * max(0.0, value) / total
        text = f"{escape(name)} {seconds_text(value)}"
        parts.append(f'<i class="c{i % 6}" style="width:{share:.2f}%" title="{text}"></i>')
        legend.append(f'<li><i class="c{i % 6}"></i>{text}</li>')
    return (
        f'<div class="bar">{"".join(parts)}</div><ul class="parts">{"".join(legend)}'
        f"<li><b>total {seconds_text(total)}</b></li></ul>"
    )
