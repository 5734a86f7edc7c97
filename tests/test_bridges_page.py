"""docs/bridges.md: its examples print what it says, where the libraries that they need are there."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "bridges.md"
PEERS = {"JAX": ["jax"], "ONNX": ["onnx", "onnxruntime"], "PyTensor": ["pytensor"]}
BLOCK = re.compile(r"^```python\n(.*?)^```$\n\n^```text\n(.*?)^```$", re.M | re.S)
pytestmark = pytest.mark.filterwarnings("ignore")  # PyTensor's own, of what is installed


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def printed(text: str) -> list[str]:
    """What the blocks of a section print, one after the other."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("import numpy as np, scanopt", names)
    found = []
    for code, _ in BLOCK.findall(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        found.append("\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n")
    return found


@pytest.mark.parametrize("name", PEERS)
def test_examples_print_what_the_page_says(name: str) -> None:
    for peer in PEERS[name]:
        pytest.importorskip(peer, reason=f"{peer} is not installed")
    text = sections()[name]
    assert printed(text) == [output for _, output in BLOCK.findall(text)]


def main() -> None:
    """Write what the examples print into the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name in PEERS:
        section = sections()[name]
        for (code, old), new in zip(BLOCK.findall(section), printed(section), strict=True):
            text = text.replace(f"{code}```\n\n```text\n{old}```", f"{code}```\n\n```text\n{new}```")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
