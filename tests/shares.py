"""How much is tried.

`pytest` by itself tries a share of what is random or alike.  `make test` also tries only an eighth of the slow tests
(`slow.txt`): another one when the library changes, so that what one run leaves out another one tries.  `make test-all`
tries everything.
"""

import os
from collections import defaultdict
from collections.abc import Hashable, Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import pytest

import scanopt

EVERYTHING = os.environ.get("SCANOPT_TESTS") == "all"
"""Whether this is `make test-all`."""

FEW = os.environ.get("SCANOPT_TESTS") == "few"
"""Whether this is `make test`."""

Key = TypeVar("Key", bound=Hashable)

_SLOW = Path(__file__).with_name("slow.txt")
_OF_SLOW = 8
"""Of so many slow tests of a file `make test` tries one."""


def tries(n: int) -> int:
    """How many of n random cases are tried."""
    return n if EVERYTHING else max(1, n // 5)


def left_out(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The tests that are not tried: the same ones as long as the library does not change."""
    if EVERYTHING:
        return set()
    items = list(items)
    left = {x for x in items if x.get_closest_marker("thorough")}
    alike = _grouped((x, (_function(x), *mark.args)) for x in items if (mark := x.get_closest_marker("share")))
    left |= {x for (_, n), cases in alike.items() for x in _beyond(cases, n)}
    if FEW:
        names = set(_SLOW.read_text(encoding="utf-8").split())
        slow = _grouped((x, x.path) for x in items if x not in left and _function(x) in names)
        left |= {x for cases in slow.values() for x in _beyond(cases, _OF_SLOW)}
    return left


def _function(item: pytest.Item) -> str:
    """The test that an item is a case of, as in `slow.txt`."""
    return f"{item.path.name}::{item.name.partition('[')[0]}"


def _grouped(items: Iterable[tuple[pytest.Item, Key]]) -> dict[Key, list[pytest.Item]]:
    groups = defaultdict[Key, list[pytest.Item]](list)
    for item, key in items:
        groups[key].append(item)
    return groups


def _beyond(cases: list[pytest.Item], n: int) -> list[pytest.Item]:
    """All but one in n of the cases, and one at least."""
    return sorted(cases, key=_order)[-(-len(cases) // n) :]


def _order(item: pytest.Item) -> int:
    return crc32(item.nodeid.encode(), _library())


@cache
def _library() -> int:
    """A number that differs when the library does."""
    folder, found = Path(scanopt.__file__).parent, 0
    for path in sorted(folder.rglob("*.py")):
        found = crc32(path.read_bytes(), found)
    return found
