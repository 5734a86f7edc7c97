"""The page that says of each function of NumPy whether symbolic arrays have it.  Run as a program it is written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np

from scanopt.array.entries import FUNCTIONS
from scanopt.array.instead import INSTEAD
from scanopt.array.registry import NUMPY_FUNCTIONS

PAGE = Path(__file__).parents[1] / "docs" / "numpy.md"
HEAD = """# NumPy's functions

Arrays follow NumPy's protocols: `np.tanh(x)`, `np.linalg.svd(x)`, `np.add.reduce(x)`, `np.column_stack([x, y])`
build graphs where x is symbolic, with NumPy's arguments, dtypes and shapes. The same functions are in `scanopt.tensor`
(`T.tanh`, `T.linalg.svd`, `T.fft.fft`, `T.special.erf`). An argument that makes no sense for an array without memory
(`out`, `order`) is refused by name.

This page is made by `python tests/numpy_page.py` from the tables in which functions are looked up (NumPy {version}).
**Have**: NumPy's own function works on symbolic arrays; **As `T.name`**: only the function of `scanopt.tensor` does.

| | functions | have | only as `T.name` | not there |
| --- | --- | --- | --- | --- |
{summary}
"""
# Functions that say something of NumPy itself, of files, of text or of dtypes, and of no array.
ELSEWHERE = "it takes no symbolic array: call it as it is, or on what the compiled function returns"


def functions(module: Any) -> list[str]:
    """The public functions and ufuncs of a module of NumPy."""
    return [
        name
        for name in sorted(dir(module))
        if not name.startswith("_")
        and name != "test"
        and callable(f := getattr(module, name))
        and not inspect.isclass(f)
    ]


def state(module: str, name: str) -> str:
    """ "have", "tensor" where NumPy's protocols do not ask for it, or why it is not there."""
    f = getattr(getattr(np, module) if module else np, name)
    key = f"{module}.{getattr(f, '__name__', name)}" if module else getattr(f, "__name__", name)
    if key in NUMPY_FUNCTIONS or (module and f"{module}.{name}" in NUMPY_FUNCTIONS):
        return "have"
    if not module and name in FUNCTIONS:
        return "tensor"
    return INSTEAD.get(key, INSTEAD.get(name, ELSEWHERE))


def page() -> str:
    """The text of the page."""
    rows, parts = list[str](), list[str]()
    for module in ("", "linalg", "fft"):
        title = f"numpy.{module}" if module else "numpy"
        states = {name: state(module, name) for name in functions(getattr(np, module) if module else np)}
        have = [name for name, s in states.items() if s == "have"]
        ours = [name for name, s in states.items() if s == "tensor"]
        missing = {name: s for name, s in states.items() if s not in ("have", "tensor")}
        rows.append(f"| {title} | {len(states)} | {len(have)} | {len(ours)} | {len(missing)} |")
        parts.append(f"## {title}\n\n**Have**: {_listed(have)}\n")
        if ours:
            parts.append(f"**As `T.name`**: {_listed(ours)}\n")
        if missing:
            parts.append("**Not there**\n\n| function | in its place |\n| --- | --- |")
            by_reason: dict[str, list[str]] = {}
            for name, why in missing.items():
                by_reason.setdefault(why, []).append(name)
            parts += [f"| {_listed(names)} | {_cell(why)} |" for why, names in by_reason.items()]
            parts.append("")
    head = HEAD.replace("{version}", np.__version__.rpartition(".")[0]).replace("{summary}", "\n".join(rows))
    return "\n".join([head, *parts])


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
