"""The terms of a program as the user wrote it, and the loops that they are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scanopt.array.types import TensorType
from scanopt.calculus.forms import KEPT, ROOT, Form, TermGraph
from scanopt.modes import Mode
from scanopt.records import dataclass

__all__ = ["Encoded", "clocks_of", "needed"]


@dataclass
class Encoded(TermGraph):
    """The terms of a program as the user wrote it: one form per class, and the type of each.

    locations: per loop the line of the user's call.  same_lengths: pairs of terms that are the same length.
    same_numbers: pairs of terms that are the same value, the second one made number by number; loose_numbers: whether
    they are equal only up to rounding.
    last_steps: a loop, what a state becomes in it, and what it would become in a step that the program joins behind it.
    mode: which laws may rewrite the program, except for loops with modes of their own.
    """

    def __post_init__(self) -> None:
        self.types: dict[int, TensorType] = {}
        self.locations: dict[int, str] = {}
        self.same_lengths: list[tuple[int, int]] = []
        self.same_numbers: list[tuple[int, int]] = []
        self.loose_numbers = False
        self.last_steps: list[tuple[int, int, int]] = []
        self.mode = Mode()

    @property
    def depth(self) -> int:
        """The length of the longest chain of terms, each an argument of the next, plus the number of states."""
        found: dict[int, int] = {}
        for i, f in self.forms():
            found[i] = 1 + max((found[a] for a in f.args), default=0)
        return max(found.values(), default=0) + len(self.states)

    def unheld(self, i: int) -> Form:
        """The form of the term i or, if i is a value that loops hold, the form of that value outside them."""
        (form,) = self.classes[i]
        while form.kind == "hold":
            (form,) = self.classes[form.args[0]]
        return form


def clocks_of(g: Encoded) -> dict[int, int]:
    """The clock that each term is on.  Terms must come after their arguments, as they do from the encoder."""
    out: dict[int, int] = {}

    def clock(f: Form) -> int:
        if f.kind in ("hold", "seq", "delay"):
            return f.clock
        if f.kind in KEPT:
            return g.clocks[f.clock].level
        return out[f.args[0]] if f.args else ROOT

    for i, f in g.forms():
        out[i] = clock(f)
    return out


def needed(g: Encoded, terms: Iterable[int], lazily: bool = False) -> Iterator[int]:
    """These terms, and all terms that they and the loops that compute them need.

    lazily: of an `ifelse`, only its condition counts as needed.
    """
    seen: set[int] = set()
    todo = [*terms]
    while todo:
        i = todo.pop()
        if i in seen:
            continue
        seen.add(i)
        yield i
        (f,) = g.classes[i]
        lazy = lazily and f.operator is not None and f.operator.name == "ifelse"
        todo += f.args[:1] if lazy else f.args
        if f.kind == "delay":
            todo += g.states[f.state].updates
        if f.clock != ROOT:
            todo += (g.clocks[f.clock].steps, *g.clocks[f.clock].until)
