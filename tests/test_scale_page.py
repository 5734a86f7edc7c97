"""docs/scale.md: its examples print what it says."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```$\n\n^```text\n(.*?)^```$", re.M | re.S)


def test_examples_print_what_the_page_says() -> None:
    text = (Path(__file__).parents[1] / "docs" / "scale.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    found = BLOCK.findall(text)
    assert len(found) == 4
    for code, expected in found:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        assert out.getvalue() == expected
