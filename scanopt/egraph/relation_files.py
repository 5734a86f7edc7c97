"""Rows for relations of an e-graph, handed over as files: far faster than commands.

Rows of all relations are lines of one table, so that there are two files to write however many relations
there are: the lines, and the texts in them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

__all__ = ["COLUMNS", "Tables", "quoted", "tables_text"]

COLUMNS = 6
"""Most columns of a relation whose rows are handed over."""

_PADDING = ["\t0" * (COLUMNS - n) for n in range(COLUMNS + 1)]


def tables_text(tables: Mapping[str, Sequence[str]], conclusions: Mapping[str, str] | None = None) -> str:
    """Declarations, and the ruleset `load`, which turns lines into facts.

    tables: by name the sorts of the columns, i64 or String.  conclusions: by name the commands that follow from
    a row, unless that is just a row of the relation of this name; `{0}` stands for its first column.
    """
    out = [f"(relation line (String{' i64' * COLUMNS}))", "(relation text (i64 String))", "(ruleset load)"]
    for name, sorts in tables.items():
        numbers = [f"n{i}" for i in range(COLUMNS)]
        row = [f"x{i}" if sort == "String" else numbers[i] for i, sort in enumerate(sorts)]
        texts = "".join(f" (text {numbers[i]} x{i})" for i, sort in enumerate(sorts) if sort == "String")
        head = (conclusions or {}).get(name, f"({name} {' '.join(row)})").format(*row)
        out.append(f'(rule ((line "{name}" {" ".join(numbers)}){texts}) ({head}) :ruleset load)')
    return "\n".join(out)


class Tables:
    """Rows of i64 and String columns, by the name of their table.  waiting: tables with rows not handed over yet."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._texts: dict[str, int] = {}
        self._loaded = 0  # texts
        self.waiting: set[str] = set()

    def add(self, table: str, *row: int | str) -> None:
        """Add a row.  Strings must not contain tabs or line breaks."""
        texts = self._texts
        cells = [str(texts.setdefault(x, len(texts)) if isinstance(x, str) else x) for x in row]
        self._lines.append("\t".join((table, *cells)) + _PADDING[len(row)])
        self.waiting.add(table)

    def load(self, run: Callable[[str], Any], ruleset: str = "load") -> None:
        """Put the rows added since the last time into an e-graph, and make facts of them by a ruleset.

        run: makes the e-graph run commands.

        Raises OSError if there is no folder for temporary files, or its name is not in UTF-8, as the engine needs it.
        """
        if not self._lines:
            return
        texts = [f"{number}\t{text}" for text, number in islice(self._texts.items(), self._loaded, None)]
        with _file_of(self._lines) as lines, _file_of(texts) as named:
            run(f"(input line {quoted(lines)})\n(input text {quoted(named)})\n(run {ruleset} 1)")
        self._lines, self._loaded = [], len(self._texts)
        self.waiting = set()


@contextmanager
def _file_of(rows: Sequence[str]) -> Iterator[str]:
    """The path of a temporary file with some lines: a file alone, since making a folder takes longer."""
    number, name = tempfile.mkstemp(prefix="scanopt-")
    path = Path(name)
    try:
        with open(number, "w", encoding="utf-8") as file:
            file.write("".join(f"{row}\n" for row in rows))
        yield _told(path)
    finally:
        path.unlink()


def _told(path: Path) -> str:
    """A path as text for the engine, which accepts only UTF-8."""
    text = path.as_posix()
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OSError(
            f"the folder for temporary files, {text!r}, has no name in UTF-8: set TMPDIR to another"
        ) from None
    return text


def quoted(text: str) -> str:
    """A string in egglog's syntax."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
