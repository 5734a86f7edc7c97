"""The page docs/api.md: `python tests/api_page.py > docs/api.md` writes it anew from signatures and docstrings."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import scanopt
from scanopt.compilation.compiled_function import Function

__all__ = ["api_page"]

_QUOTED = re.compile(r"(: |-> )(?:'([^']*)'|ForwardRef\('([^']*)'\))")  # annotations, which are text


def api_page() -> str:
    """All public names of scanopt, and what a compiled function can be asked."""
    names = sorted((n for n in scanopt.__all__ if not n.startswith("_")), key=str.lower)
    parts = [
        "# API\n",
        "Made from docstrings by `tests/api_page.py`; do not edit.  Operators are in [NumPy](numpy.md).\n",
    ]
    parts += [text for n in names if (text := _entry(f"scanopt.{n}", getattr(scanopt, n)))]
    parts.append("# Compiled functions\n")
    parts += [text for n, x in _members(Function) if (text := _entry(f"f.{n}", x))]
    return "\n".join(parts)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    for name in sorted({n for c in cls.__mro__[:-1] for n in vars(c)}):
        if not name.startswith("_"):
            yield name, inspect.getattr_static(cls, name)


def _entry(name: str, x: Any) -> str:
    doc = inspect.getdoc(x) or inspect.getdoc(getattr(x, "fget", None) or getattr(x, "function", None))
    if inspect.ismodule(x) or isinstance(x, bool) or not doc:
        return ""
    try:
        called = name + (_QUOTED.sub(r"\1\2\3", str(inspect.signature(x))) if callable(x) else "")
    except (TypeError, ValueError):
        called = name
    if " at 0x" in called:
        called = f"{name}(...)"
    doc = doc.replace("```", "'''")
    return f"## {name}\n\n```text\n{called}\n\n{doc}\n```\n"


if __name__ == "__main__":
    print(api_page(), end="")
