"""Every law under every attack; a new law is tested by being there."""

import pytest

from scanopt.calculus.law import Law, standard_laws
from scanopt.lab.checking import attack_on

LAWS = pytest.mark.parametrize("law", standard_laws(), ids=lambda x: x.name)


@LAWS
def test_fires_on_examples_and_nowhere_else(law: Law) -> None:
    assert attack_on(law).firing() == []


@LAWS
def test_needs_every_condition(law: Law) -> None:
    assert attack_on(law).conditions() == []


@LAWS
def test_is_sound(law: Law) -> None:
    assert attack_on(law).soundness(tries=3) == []


@LAWS
def test_pays_or_enables(law: Law) -> None:
    assert attack_on(law).paying() == []
