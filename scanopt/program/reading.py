"""Reading JSON that is not trusted: every field is asked for by name and kind.

All functions raise ValueError, saying what is wrong and, by `where`, at which place.  Names and labels are
text that can be shown as it is; other text (`text_in`) may hold anything, and is escaped where it is shown.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from scanopt.array.shown import shown

__all__ = [
    "Json", "check_version", "fields", "integer", "label_in", "list_in", "names_in", "read_json", "text_in", "texts_in",
    "truth",
]  # fmt: skip

LONGEST_MESSAGE = 500
Json = Any
T = TypeVar("T")


def read_json(text: str, read: Callable[[Json], T]) -> T:
    """Parse JSON text and apply `read` to it.  No field may occur twice; NaN and infinities are refused."""
    try:
        return read(json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant))
    except RecursionError:
        raise ValueError("the program is nested too deeply") from None
    except ValueError as error:
        found = shown(str(error))
        raise ValueError(found if len(found) <= LONGEST_MESSAGE else f"{found[:LONGEST_MESSAGE]} ...") from None


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(k for k, n in Counter(k for k, _ in pairs).items() if n > 1)
        raise ValueError(f"field {twice!r} appears twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def check_version(data: Json, kind: str, version: int) -> None:
    """Raise ValueError unless this is an object of this kind and version of the format."""
    head = data if isinstance(data, dict) else {}
    if head.get("format") != kind:
        raise ValueError(f"not a {kind}: no field format={kind!r}")
    if head.get("version") != version or isinstance(head.get("version"), bool):
        raise ValueError(f"version {head.get('version')!r} is not known: expected {version}")


def fields(data: Json, where: str, names: str) -> dict[str, Json]:
    """Return `data` if it is an object with exactly these fields (`names`, separated by spaces)."""
    wanted = set(names.split())
    if not isinstance(data, dict):
        raise ValueError(f"{where}: expected an object, found {type(data).__name__}")
    for word, some in (("no", wanted - data.keys()), ("unknown", data.keys() - wanted)):
        if some:
            raise ValueError(f"{where}: {word} field {min(some)!r}")
    return data


def list_in(f: dict[str, Json], name: str, where: str) -> list[Json]:
    """A field that is a list."""
    found = f[name]
    if not isinstance(found, list):
        raise ValueError(f"{where}: {name} must be a list")
    return found


def text_in(f: dict[str, Json], name: str, where: str) -> str:
    """A field that is a string."""
    found = f[name]
    if not isinstance(found, str):
        raise ValueError(f"{where}: {name} must be a string, found {found!r}")
    return found


def label_in(f: dict[str, Json], name: str, where: str) -> str:
    """A field that is a string that can be shown without escapes."""
    found = text_in(f, name, where)
    if shown(found) != found:
        raise ValueError(f"{where}: {name} must be text that can be printed on one line, found {found!r}")
    return found


def truth(x: Json, what: str, where: str) -> bool:
    """x, if it is a bool; `what` names it."""
    if not isinstance(x, bool):
        raise ValueError(f"{where}: {what} must be true or false")
    return x


def integer(x: Json, what: str, where: str) -> int:
    """x, if it is an integer; `what` names it."""
    if not isinstance(x, int) or isinstance(x, bool):
        raise ValueError(f"{where}: {what} must be an integer, found {x!r}")
    return x


def texts_in(f: dict[str, Json], name: str, where: str) -> tuple[str, ...]:
    """A field that is a list of strings."""
    found = list_in(f, name, where)
    if not all(isinstance(x, str) for x in found):
        raise ValueError(f"{where}: {name} must be a list of names")
    return tuple(found)


def names_in(f: dict[str, Json], name: str, where: str) -> tuple[str, ...]:
    """A field that is a list of names that can be shown without escapes."""
    found = texts_in(f, name, where)
    if any(shown(x) != x for x in found):
        raise ValueError(f"{where}: {name} must be names that can be printed on one line")
    return found
