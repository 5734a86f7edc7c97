"""What is made of all laws and facts is kept on disk (`scanopt/egraph/kept_rules.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scanopt import cached_files
from scanopt import installation as installed_files
from scanopt.calculus.condition import FACTS
from scanopt.calculus.law import standard_laws
from scanopt.egraph import kept_rules, rulebook
from scanopt.egraph.kept_rules import kept


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, whatever was edited since this process started."""
    known = cached_files.private_folder
    monkeypatch.setattr(cached_files, "private_folder", lambda name: tmp_path if name == "rules" else known(name))
    monkeypatch.setattr(installed_files, "_LOADED", float("inf"))
    installed_files.installation.cache_clear()
    yield tmp_path
    installed_files.installation.cache_clear()


def counting() -> tuple[list[int], Callable[[], list[int]]]:
    """A list that grows with each call of a function that returns what was in it."""
    calls: list[int] = []

    def make() -> list[int]:
        calls.append(len(calls))
        return [*calls]

    return calls, make


def test_it_is_made_once(folder: Path) -> None:
    calls, make = counting()
    assert kept("a", standard_laws(), make) == kept("a", standard_laws(), make) == [0]
    assert kept("b", standard_laws(), make) == [0, 1]
    assert kept("a", standard_laws()[1:], make) == [0, 1, 2]
    assert len(calls) == len([*folder.iterdir()]) == 3


def test_laws_and_facts_from_elsewhere_are_not_kept(folder: Path) -> None:
    calls, make = counting()
    law, fact = standard_laws()[0], next(iter(FACTS.values()))
    for x in (replace(law, licence="reassoc"), replace(fact, meaning="another")):
        kept("a", [x], make)
        kept("a", [x], make)
    assert len(calls) == 4
    assert [*folder.iterdir()] == []


def test_a_file_that_was_changed_is_made_anew(folder: Path) -> None:
    calls, make = counting()
    kept("a", [], make)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert kept("a", [], make) == [0, 1]
    cached_files.published(file, b"not a pickle")
    assert kept("a", [], make) == [0, 1, 2]
    assert kept("a", [], make) == [0, 1, 2]
    assert len(calls) == 3


def test_another_library_makes_it_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, make = counting()
    kept("a", [], make)
    monkeypatch.setattr(kept_rules, "installation", lambda: "another")
    kept("a", [], make)
    monkeypatch.setattr(kept_rules, "installation", lambda: "")
    kept("a", [], make)
    assert len(calls) == 3
    assert len([*folder.iterdir()]) == 2


def test_a_folder_that_cannot_be_written_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("full")

    monkeypatch.setattr(cached_files, "published", refuse)
    calls, make = counting()
    assert kept("a", [], make) == [0]
    assert [*folder.iterdir()] == []
    assert len(calls) == 1


@pytest.mark.parametrize("noted", [False, True])
def test_what_is_read_is_what_was_made(folder: Path, noted: bool) -> None:
    for f in (rulebook._rules_text, rulebook._parsed):
        f.cache_clear()
    text = rulebook.rules_text(noted)
    rules = rulebook._parsed(text)
    assert len([*folder.iterdir()]) == 2
    for f in (rulebook._rules_text, rulebook._parsed):
        f.cache_clear()
    assert rulebook.rules_text(noted) == text == rulebook._text(standard_laws(), noted)
    read = rulebook._parsed(text)
    assert read is not rules
    told = [[(x.ruleset, x.reads, x.makes, x.unites) for x in found] for found in (rules, read)]
    assert told[0] == told[1]
    assert len([*folder.iterdir()]) == 2
