"""Enumerate worlds: what a law leaves open is chosen, and every choice is tried in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, TypeVar

from scanopt.records import dataclass

__all__ = ["Choices", "NoProgramError", "worlds"]

T = TypeVar("T")


class NoProgramError(Exception):
    """With what was chosen there is no such program: its shapes do not fit, or a condition does not hold."""


@dataclass
class Choices:
    """The choices of one world: the first option of each, where no other is prescribed.

    taken: for each choice the number of the option, and how many there were.  told: the options by name, for reports.
    """

    prescribed: Sequence[int] = ()
    taken: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    told: dict[str, Any] = field(default_factory=dict[str, Any])

    def choose(self, name: str, options: Sequence[T]) -> T:
        """Choose one of some options.  Raises NoProgramError where there are none."""
        if not options:
            raise NoProgramError(name)
        place = len(self.taken)
        i = self.prescribed[place] if place < len(self.prescribed) else 0
        self.taken.append((i, len(options)))
        self.told[name] = options[i]
        return options[i]

    def next(self) -> list[int] | None:
        """The choices to prescribe for the next world; None after the last one."""
        taken = [*self.taken]
        while taken:
            i, n = taken.pop()
            if i + 1 < n:
                return [*(j for j, _ in taken), i + 1]
        return None


def worlds(run: Callable[[Choices], T]) -> Iterator[tuple[Choices, T]]:
    """The results of `run` for all choices, except those for which there is no program.

    >>> [x for _, x in worlds(lambda c: c.choose("a", [1, 2]) + c.choose("b", [10, 20]))]
    [11, 21, 12, 22]
    """
    prescribed: list[int] | None = []
    while prescribed is not None:
        choices = Choices(prescribed)
        try:
            found = run(choices)
        except NoProgramError:
            pass
        else:
            yield choices, found
        prescribed = choices.next()
