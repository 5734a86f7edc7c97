"""No atom of a rule of a fact is there for nothing: docs/fact-mutations.md says what goes wrong without it."""

from functools import cache
from pathlib import Path

import pytest

from scanopt.calculus.condition import FACTS
from scanopt.calculus.law import standard_laws
from scanopt.lab.fact_checking import FactCheck
from scanopt.lab.fact_mutation import mutants
from scanopt.lab.fact_programs import FACT_PROGRAMS
from scanopt.lab.fact_steering import STEERING
from scanopt.lab.fact_witnesses import WITNESSES
from scanopt.view.tables import markdown_table

PAGE = (Path(__file__).parents[1] / "docs" / "fact-mutations.md").read_text(encoding="utf-8")
AGAIN = "write it again: scanopt check-facts --markdown > docs/fact-mutations.md"


@cache
def _check() -> FactCheck:
    return FactCheck()


def _facts() -> list[str]:
    standard_laws()
    return [x.name for x in FACTS.values() if x.rules]


@pytest.mark.share(16)
@pytest.mark.parametrize("fact", _facts())
def test_every_atom_is_needed(fact: str) -> None:
    found = [_check().outcome(m) for m in mutants() if m.fact == fact]
    rows = markdown_table(["a"] * 5, [x.row() for x in found]).splitlines()[2:]
    assert not [row for row in rows if row not in PAGE], AGAIN
    assert [x.mutant.name for x in found if x.kind == "survives"] == []


def test_what_is_noted_is_of_rules_that_there_are() -> None:
    names = {m.name for m in mutants()}
    assert {*WITNESSES, *STEERING} <= names
    assert {*FACT_PROGRAMS} <= {*WITNESSES.values()}, "a program that protects nothing"


def test_an_atom_of_raises_alike_is_needed() -> None:
    """Without `always`, rows of what a branch hides would be looked up, out of range."""
    (m,) = (m for m in mutants() if m.name == "raises_alike 2 always(v)")
    found = _check().outcome(m)
    assert found.kind in ("fires", "unsound")
    assert found.witness
