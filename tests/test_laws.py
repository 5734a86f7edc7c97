"""Every law under every attack; a new law is tested by being there."""

import pytest

from scanopt.calculus.law import Law, standard_laws
from scanopt.lab.checking import attack_on


@pytest.mark.parametrize("law", standard_laws(), ids=lambda x: x.name)
def test_law(law: Law) -> None:
    """It fires on its examples and nowhere else, needs every condition, is sound, and pays or enables."""
    attack = attack_on(law)
    found = [*attack.firing(), *attack.conditions(), *attack.soundness(tries=3), *attack.paying()]
    assert found == []
