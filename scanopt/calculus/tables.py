"""Rows for relations of an e-graph, handed over as files: far faster than commands."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

__all__ = ["Tables"]


class Tables:
    """Rows of i64 and String columns, by relation."""

    def __init__(self) -> None:
        self._rows: dict[str, list[str]] = {}

    def add(self, relation: str, *row: int | str) -> None:
        """One more row.  Texts hold neither tabs nor ends of lines."""
        self._rows.setdefault(relation, []).append("\t".join(map(str, row)))

    def load(self, egraph: Any) -> None:
        """Put all rows into the relations of the e-graph."""
        with tempfile.TemporaryDirectory(prefix="scanopt-") as folder:
            for relation, rows in self._rows.items():
                path = Path(folder) / relation
                path.write_text("\n".join(rows) + "\n", encoding="utf-8")
                egraph.run_program(*egraph.parse_program(f'(input {relation} "{path.as_posix()}")'))
