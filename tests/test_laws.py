"""Every law under every attack; a new law is tested by being there."""

import pytest
from shares import EVERYTHING

from scanopt.calculus.law import Law, standard_laws
from scanopt.lab.checking import attack_on

LAWS = pytest.mark.parametrize("law", standard_laws(), ids=lambda x: x.name)


@LAWS
def test_it_is_sound(law: Law) -> None:
    """It fires on its examples, and what it makes has the interpreter's values."""
    attack = attack_on(law)
    assert [*attack.on_examples(), *attack.soundness(tries=3 if EVERYTHING else 1)] == []


@pytest.mark.share(4)
@LAWS
def test_it_fires_nowhere_else(law: Law) -> None:
    assert [*attack_on(law).on_never()] == []


@pytest.mark.share(20)
@LAWS
def test_it_needs_every_condition_and_pays_or_enables(law: Law) -> None:
    attack = attack_on(law)
    assert [*attack.conditions(), *attack.paying()] == []


@pytest.mark.share(80)
@LAWS
def test_it_is_sound_for_other_numbers_and_functions(law: Law) -> None:
    assert [*attack_on(law).alike()] == []


@pytest.mark.share(20)
@LAWS
def test_it_loses_no_check(law: Law) -> None:
    assert [*attack_on(law).checks()] == []
