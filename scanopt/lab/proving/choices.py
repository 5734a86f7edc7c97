"""All worlds, one after the other: what a law leaves open is chosen, and every choice is tried in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["Choices", "NoProgramError", "worlds"]

T = TypeVar("T")


class NoProgramError(Exception):
    """With what was chosen there is no such program: its shapes do not fit, or a condition does not hold."""


@dataclass
class Choices:
    """What is chosen in one world: the first options where nothing else is prescribed.

    told: what was chosen, by name, for people.
    """

    prescribed: Sequence[int] = ()
    taken: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    told: dict[str, Any] = field(default_factory=dict[str, Any])

    def choose(self, name: str, options: Sequence[T]) -> T:
        """One of some options.  Raises NoProgramError where there are none."""
        if not options:
            raise NoProgramError(name)
        place = len(self.taken)
        i = self.prescribed[place] if place < len(self.prescribed) else 0
        self.taken.append((i, len(options)))
        self.told[name] = options[i]
        return options[i]

    def next(self) -> list[int] | None:
        """What is to be chosen in the next world, None after the last one."""
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
