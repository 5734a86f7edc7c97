"""Laws by the words of a command line: `module:law`, `file.py:law`, a whole file or module, a name, a ruleset."""

from __future__ import annotations

import importlib
import runpy
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from scanopt.calculus.law import Law, named_laws, standard_laws

__all__ = ["UnknownTargetError", "find_laws", "importable", "laws_in"]


class UnknownTargetError(ValueError):
    """A target names no law."""


def find_laws(targets: Iterable[str]) -> tuple[Law, ...]:
    """The laws that some targets name, each once.

    Raises UnknownTargetError for a target that names none, saying what is near, and whatever the file or
    module raises itself.

    >>> [x.name for x in find_laws(["scanopt.rewrites.merge:length_of_sequence"])]
    ['length_of_sequence']
    """
    found: dict[str, Law] = {}
    for target in targets:
        for x in _laws_of(target):
            found.setdefault(x.name, x)
    return tuple(found.values())


def _laws_of(target: str) -> Sequence[Law]:
    place, _, name = target.partition(":")
    known = {n for x in standard_laws() for n in (x.name, x.ruleset)}
    if place.endswith(".py"):
        return _chosen(place, _laws_of_file(place), name)
    if name or ("." in place and place not in known):
        return _chosen(place, _laws_of_module(place), name)
    try:
        return named_laws(standard_laws(), place)
    except ValueError as error:
        raise UnknownTargetError(f"{error}; laws of your own: module:law or file.py:law") from None


def _laws_of_file(place: str) -> list[Law]:
    file = Path(place)
    if not file.is_file():
        raise UnknownTargetError(f"{place}: no such file")
    with importable(file.resolve().parent):
        return laws_in(runpy.run_path(place))


def _laws_of_module(place: str) -> list[Law]:
    ways = "write module:law, file.py:law or a law's name"
    if not all(map(str.isidentifier, place.split("."))):
        raise UnknownTargetError(f"{place!r} is not a module: {ways}")
    with importable(""):
        try:
            return laws_in(vars(importlib.import_module(place)))
        except ModuleNotFoundError as error:
            if error.name is None or not f"{place}.".startswith(f"{error.name}."):
                raise  # the module is there, and imports one that is not
            raise UnknownTargetError(f"there is no module {place!r}: {ways}") from None


def _chosen(place: str, laws: list[Law], name: str) -> list[Law]:
    if not laws:
        raise UnknownTargetError(f"{place} defines no law: a function decorated with @scanopt.law(...)")
    chosen = [x for x in laws if name in ("", x.name)]
    if not chosen:
        near = get_close_matches(name, [x.name for x in laws], 3) or [x.name for x in laws]
        raise UnknownTargetError(f"{place} has no law named {name!r}; near: {', '.join(near)}")
    return chosen


def laws_in(names: Mapping[str, Any]) -> list[Law]:
    """The laws among the names of a file or module."""
    return [x for x in names.values() if isinstance(x, Law)]


@contextmanager
def importable(folder: str | Path) -> Iterator[None]:
    """Inside the block, modules of a folder ("": the current one) can be imported."""
    path = sys.path
    sys.path = [str(folder), *path]
    try:
        yield
    finally:
        sys.path = path
