"""Tables as text for a terminal, and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

__all__ = ["markdown_table", "text_table", "wrapped_table"]

Rows = Sequence[Sequence[str]]

_LONGEST = 30


def text_table(heads: Sequence[str], rows: Rows) -> str:
    """Columns two spaces apart, the first to the left, the others to the right.

    >>> print(text_table(["law", "hits"], [["merge", "3"]]))
    law    hits
    merge     3
    """
    widths = [max(len(row[n]) for row in (heads, *rows)) for n in range(len(heads))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in (heads, *rows)
    )


def wrapped_table(heads: Sequence[str], rows: Rows, width: int) -> str:
    """Columns two spaces apart, cells wrapped so that lines have at most `width` characters where that is possible.

    >>> print(wrapped_table(["law", "formula"], [["merge", "c = d for two loops"]], 20))
    law    formula
    merge  c = d for two
           loops
    """
    widths = _widths(heads, rows, width - 2 * (len(heads) - 1))
    lines: list[str] = []
    for row in (heads, *rows):
        cells = [textwrap.wrap(cell, w, break_on_hyphens=False) or [""] for cell, w in zip(row, widths, strict=True)]
        for n in range(max(map(len, cells))):
            parts = [(c[n] if n < len(c) else "").ljust(w) for c, w in zip(cells, widths, strict=True)]
            lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _widths(heads: Sequence[str], rows: Rows, room: int) -> list[int]:
    """Widths of columns: those of their longest cells, narrowed until they fit; only very long words are broken."""
    columns = [[row[n] for row in (heads, *rows)] for n in range(len(heads))]
    widths = [max(map(len, column)) for column in columns]
    least = [min(_LONGEST, max(len(w) for cell in column for w in cell.split() or [""])) for column in columns]
    while sum(widths) > room and widths != least:
        n = max(range(len(widths)), key=lambda i: widths[i] - least[i])
        widths[n] -= 1
    return widths


def markdown_table(heads: Sequence[str], rows: Rows) -> str:
    """A table of Markdown; bars in cells are escaped.

    >>> print(markdown_table(["a"], [["x | y"]]))
    | a |
    |---|
    | x \\| y |
    """
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)
