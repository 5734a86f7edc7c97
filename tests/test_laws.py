"""Every law under every attack; a new law is tested by being there."""

from collections.abc import Sequence
from typing import Any

import pytest

from scanopt.array.variable import Variable
from scanopt.backends import executor
from scanopt.calculus.attack import Attack
from scanopt.calculus.law import Law, standard_laws
from scanopt.interpreter import interpret
from scanopt.program.lower import lower


def run(extraction: Any, values: Sequence[Any]) -> list[Any]:
    return executor("numpy").compile(lower(extraction))(values)


def reference(inputs: Sequence[Variable], outputs: Sequence[Variable], values: Sequence[Any]) -> list[Any]:
    return interpret(list(outputs), dict(zip(inputs, values, strict=True)))


def attack(law: Law) -> Attack:
    return Attack(law, run, reference)


LAWS = pytest.mark.parametrize("law", standard_laws(), ids=lambda x: x.name)


@LAWS
def test_fires_on_examples_and_nowhere_else(law: Law) -> None:
    assert attack(law).firing() == []


@LAWS
def test_needs_every_condition(law: Law) -> None:
    assert attack(law).conditions() == []


@LAWS
def test_is_sound(law: Law) -> None:
    assert attack(law).soundness(tries=3) == []


@LAWS
def test_pays_or_enables(law: Law) -> None:
    assert attack(law).paying() == []
