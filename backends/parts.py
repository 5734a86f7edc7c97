"""Divides generated source text into functions: code that is nested too deeply becomes a function, called in its place.

CPython refuses more than 20 nested loops and more than 100 levels of indentation.  The arguments of such a function are
the names that it reads; it returns the results of the step that it stands for, and the arguments that it reassigns.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from scanopt.program.ir import Compute
from scanopt.records import dataclass

__all__ = ["COMMENT_AT", "DEEPEST", "FunctionPart", "SourceLine", "connect", "safe", "written"]

DEEPEST = 12
"""The level of indentation at which a loop or a branch becomes a part: six nested loops."""
COMMENT_AT = 48


@dataclass
class SourceLine:
    """One line: its text with its indentation, a comment (already safe: see `safe`), and the step that it stands for.

    loop: the number of the innermost loop around it.  calls: the part that it calls.  makes: the name that it assigns,
    if the line may be removed where nothing reads that name.
    """

    text: str
    comment: str = ""
    step: Compute | None = None
    loop: int | None = None
    calls: FunctionPart | None = None
    makes: str = ""


@dataclass
class FunctionPart:
    """One function: its lines, the names that it takes, and the names that it gives back, in the order made.

    results: of the step that it stands for.  write: writes its lines.  loop: the number of the loop around it.
    """

    name: str
    takes: list[str]
    results: tuple[str, ...] = ()
    write: Callable[[], None] = lambda: None
    loop: int | None = None
    lines: list[SourceLine] = field(default_factory=list[SourceLine])
    gives: list[str] = field(default_factory=list[str])


def connect(parts: list[FunctionPart]) -> None:
    """Find the names that each part takes and gives, and write the calls.  parts: each after the one that calls it,
    the first is `program`."""
    assigned = {id(p): _names(p.lines, ast.Store) for p in parts}
    mentioned = {id(p): _names(p.lines, ast.Load) | assigned[id(p)] for p in parts}
    for p in reversed(parts):
        for line in p.lines:
            if line.calls is not None:
                mentioned[id(p)] |= mentioned[id(line.calls)]
                assigned[id(p)] |= assigned[id(line.calls)]
    for p in parts:
        before = dict.fromkeys(p.takes)
        for line in p.lines:
            part = line.calls
            if part is None:
                before |= _names([line], ast.Store)
                continue
            part.takes = [x for x in before if x in mentioned[id(part)]]
            part.gives = [*part.results, *(x for x in part.takes if x in assigned[id(part)])]
            given = f"[{', '.join(part.gives)}] = " if part.gives else ""
            line.text += f"{given}{part.name}({', '.join(part.takes)})"
            before |= dict.fromkeys(part.gives)


def _names(lines: Iterable[SourceLine], context: type[ast.expr_context]) -> dict[str, None]:
    """The names that some lines load, or store."""
    found: dict[str, None] = {}
    for line in lines:
        text = line.text.strip()
        if text and text != "else:":
            text = text.removeprefix("el")  # of `elif`
            tree = ast.parse(f"{text} pass" if text.endswith(":") else text)
            nodes = (x for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, context))
            found |= dict.fromkeys(x.id for x in nodes)
    return found


def written(parts: list[FunctionPart]) -> Iterator[SourceLine]:
    """Yield the lines of all functions, one after the other."""
    for p in parts:
        yield SourceLine("")
        yield SourceLine(f"def {p.name}({', '.join(p.takes)}):")
        yield from p.lines
        if p.name != parts[0].name:
            yield SourceLine(f"    return [{', '.join(p.gives)}]")


def safe(text: str) -> str:
    """Quote a text for a comment: one line of ASCII.

    >>> print(safe('a' + chr(10) + 'b'))
    'a\\nb'
    """
    return ascii(text)
