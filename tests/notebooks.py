"""The tutorials as notebooks: `python tests/notebooks.py` writes docs/notebooks from the pages docs/start-*.md."""

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["NOTEBOOKS", "notebook"]

DOCS = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.M | re.S)
_LINK = re.compile(r"\]\((?!https?:)([^)#]+\.(?:md|svg|webp|png))")

_LIVE = """\
## Look at it here

The page of a function is a widget, where `scanopt[notebook]` is installed: click a value, and ask. What is compiled in
such a block later, in any cell, is shown in the same place."""

NOTEBOOKS = {
    "start-loops": "scanopt.function([prices, alpha, start], average, name='average')",
    "start-rewriting": "scanopt.function([X, W], scanopt.map(lambda x, W: T.tanh(x @ W), X, W)[0], name='layer')",
    "start-researchers": "scanopt.function([x], rows, rules=[log_of_exp], fp='fast', name='with my law')",
}
"""The tutorials, and what their last cell shows live."""


def notebook(page: str) -> dict[str, Any]:
    """A tutorial as a notebook: its blocks are cells, what they print is their output."""
    text, cells, at = (DOCS / f"{page}.md").read_text(encoding="utf-8"), list[dict[str, Any]](), 0
    for m in _BLOCK.finditer(text):
        cells += _prose(text[at : m.start()])
        cells.append(_code(m[1], m[2] or ""))
        at = m.end()
    cells += [
        *_prose(text[at:]),
        *_prose(_LIVE),
        _code(f"with scanopt.watch() as live:\n    {NOTEBOOKS[page]}\nlive", ""),
    ]
    for n, cell in enumerate(cells):
        cell["id"] = f"{page}-{n}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _prose(text: str) -> list[dict[str, Any]]:
    text = _LINK.sub(r"](../\1", text.strip())
    return [{"cell_type": "markdown", "metadata": {}, "source": text}] if text else []


def _code(code: str, output: str) -> dict[str, Any]:
    said = [{"name": "stdout", "output_type": "stream", "text": output}] if output else []
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": said, "source": code.rstrip("\n")}


def text_of(page: str) -> str:
    """The file of a notebook."""
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    (DOCS / "notebooks").mkdir(exist_ok=True)
    for name in NOTEBOOKS:
        (DOCS / "notebooks" / f"{name}.ipynb").write_text(text_of(name), encoding="utf-8")
