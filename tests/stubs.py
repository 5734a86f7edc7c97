"""What editors and type checkers are told of the public names, which modules look up only when they are used.

`scanopt` and `scanopt.tensor` import nothing until a name is asked for; a checker does not see through that, so each
has a stub, a file beside it that says where every name lives and what it takes.  `python tests/stubs.py` writes them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import scanopt
from scanopt import features, tensor
from scanopt.array.entries import FUNCTIONS
from scanopt.namespaces import NAMESPACES

ROOT = Path(__file__).parents[1] / "scanopt"
HEAD = '"""Written by tests/stubs.py: what type checkers and editors see of this module."""\n'
BUILTINS = {"None", "str", "int", "bool", "float", "complex", "list", "tuple", "dict", "set", "object", "type", "bytes"}


def stubs() -> dict[Path, str]:
    """The text of each stub."""
    return {ROOT / "__init__.pyi": _package(), ROOT / "tensor.pyi": _tensor(), ROOT / "features.pyi": _features()}


def _package() -> str:
    lines = [f"from {_within(home, name)} as {name}" for name, home in sorted(scanopt._HOME.items()) if home]
    modules = [f"from scanopt import {name} as {name}" for name, home in sorted(scanopt._HOME.items()) if not home]
    return "\n".join([HEAD, *_sorted(lines + modules), "", "__version__: str", ""])


def _within(home: str, name: str) -> str:
    """The import of a name from its home, or, where that ends with a colon, of the home itself."""
    package, _, module = home.rstrip(":").rpartition(".")
    return f"{package} import {module}" if home.endswith(":") else f"{home} import {name}"


def _features() -> str:
    lines = [f"from {_within(home, name)} as {name}" for name, home in features.FEATURES.items()]
    return "\n".join([HEAD, *_sorted(lines), "", "FEATURES: dict[str, str]", ""])


def _tensor() -> str:
    imports, names, functions = {"from typing import Any"}, list[str](), list[str]()
    for name, f in sorted(FUNCTIONS.items()):
        module = inspect.getmodule(f)
        if module is not None and inspect.isfunction(f) and getattr(module, name, None) is f:
            imports.add(f"from {module.__name__} import {name} as {name}")
        else:
            imports |= set(_needed(f))
            functions.append(_written(name, f))
    for name, where in tensor._ELSEWHERE.items():
        home, _, original = where.partition(":")
        imports.add(f"from {home} import {original or name} as {original or name}")
        names += [f"{name} = {original}"] if original else []
    for name, home in tensor._MODULES.items():
        package, _, module = home.rpartition(".")
        imports.add(f"from {package} import {module} as _{module}")
        names.append(f"{name} = _{module}")
    kinds = {type(None): "None", list: "list[str]"}
    constants = [f"{name}: {kinds.get(type(value), type(value).__name__)}" for name, value in _constants()]
    constants += [f"{name}: Any" for name in NAMESPACES]
    return "\n".join([HEAD, *_sorted(imports), "", *constants, *names, "", *functions])


def _constants() -> Iterator[tuple[str, Any]]:
    yield from tensor._CONSTANTS.items()


def _sorted(lines: Any) -> list[str]:
    return sorted(lines, key=lambda line: (not line.startswith("from collections"), line))


def _words(f: Callable[..., Any]) -> set[str]:
    """The names in the annotations of a function."""
    signature = inspect.signature(f)
    texts = [str(p.annotation) for p in signature.parameters.values()] + [str(signature.return_annotation)]
    return {word for text in texts for word in re.findall(r"[A-Za-z_][\w.]*", text)} - BUILTINS


def _needed(f: Callable[..., Any]) -> Iterator[str]:
    """The imports that the annotations of a function need."""
    space = inspect.unwrap(f).__globals__
    for word in _words(f):
        head = word.split(".")[0]
        value = space[head]
        if inspect.ismodule(value):
            yield f"import {value.__name__} as {head}"
        elif getattr(value, "__module__", None) in ("typing", "collections.abc"):
            yield f"from {value.__module__} import {head}"
        else:
            yield f"from {_home(head, value)} import {head}"


def _home(name: str, value: Any) -> str:
    """The module that a name of the package is public in."""
    return next(
        module
        for module, space in sorted(sys.modules.items())
        if module.startswith("scanopt.") and name in getattr(space, "__all__", ()) and getattr(space, name) is value
    )


def _written(name: str, f: Callable[..., Any]) -> str:
    """A function as a stub has it: annotations as they were written, its docstring for editors."""
    signature = inspect.signature(f)
    parts, named = list[str](), False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not named and "*" not in "".join(parts):
            parts.append("*")
        named = named or p.kind is p.KEYWORD_ONLY
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else " = ..."
        parts.append(f"{star}{p.name}: {p.annotation}{default}")
    first = (inspect.getdoc(f) or "").partition("\n")[0].replace("\\", "\\\\").replace('"', "'")
    return f'def {name}({", ".join(parts)}) -> {signature.return_annotation}:\n    """{first}"""\n'


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
