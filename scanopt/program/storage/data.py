"""Storages as data for JSON files, and back.  What is read is checked field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanopt.program.reading import Json, fields, integer, list_in, text_in
from scanopt.program.storage.placement import Allocation, Root, StateOf, Storage

__all__ = ["read_storage", "storage_data"]

_KINDS: tuple[Any, ...] = ("buffer", "onto", "row", "trace")


def storage_data(storage: Storage) -> Json:
    """A storage as objects, lists, strings and numbers; equal storages give equal data."""
    return {
        "places": [
            {
                "name": name, "kind": place.kind, "other": place.other, "state": place.state,
                "forgotten": storage.forgotten.get(name, -1),
            }
            for name, place in sorted(storage.places.items())
        ],
        "holds": [{"name": name, "roots": _roots(roots)} for name, roots in sorted(storage.holds.items())],
        "copied": [list(s) for s in sorted(storage.copied)],
        "spent": [list(s) for s in sorted(storage.spent)],
        "rows": [[*s, n] for s, n in sorted(storage.rows.items())],
    }  # fmt: skip


def _roots(roots: frozenset[Root]) -> list[Json]:
    texts = sorted(r for r in roots if isinstance(r, str))
    return [*texts, *(list(r) for r in sorted(r for r in roots if not isinstance(r, str)))]


def read_storage(data: Json, where: str) -> Storage:
    """The storage that `storage_data` gave.  Raises ValueError naming `where`.

    Whether it holds for a program is another question: see `check_storage`.
    """
    f = fields(data, where, "places holds copied spent rows")
    places: dict[str, Allocation] = {}
    forgotten: dict[str, int] = {}
    for x in list_in(f, "places", where):
        p = fields(x, f"{where}, place", "name kind other state forgotten")
        name, kind = text_in(p, "name", where), text_in(p, "kind", where)
        found = next((k for k in _KINDS if k == kind), None)
        if found is None or name in places:
            raise ValueError(f"{where}: {name!r} has place {kind!r}: expected one of {', '.join(_KINDS)}, once")
        places[name] = Allocation(found, text_in(p, "other", where), integer(p["state"], "state", where))
        loop = integer(p["forgotten"], "forgotten", where)
        if loop >= 0:
            forgotten[name] = loop
    holds: dict[str, frozenset[Root]] = {}
    for x in list_in(f, "holds", where):
        h = fields(x, f"{where}, memory", "name roots")
        holds[text_in(h, "name", where)] = frozenset(_root(r, where) for r in list_in(h, "roots", where))
    copied, spent = (frozenset(_state(x, where) for x in list_in(f, name, where)) for name in ("copied", "spent"))
    rows = [_numbers(x, 3, where) for x in list_in(f, "rows", where)]
    return Storage(places, holds, forgotten, copied, spent, {(loop, i): n for loop, i, n in rows})


def _root(x: Json, where: str) -> Root:
    return x if isinstance(x, str) else _state(x, where)


def _state(x: Json, where: str) -> StateOf:
    loop, i = _numbers(x, 2, where)
    return loop, i


def _numbers(x: Json, count: int, where: str) -> Sequence[int]:
    if not isinstance(x, list) or len(x) != count:
        raise ValueError(f"{where}: expected a list of {count} integers, found {x!r}")
    return [integer(n, "a number", where) for n in x]
