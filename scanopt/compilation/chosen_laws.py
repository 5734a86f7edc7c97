"""The laws that a function may use, as its arguments name them.

They are imported when they are first asked for: that takes longer than to read a program from disk, which needs none.
"""

from __future__ import annotations

from dataclasses import replace

from scanopt.calculus.law import INPLACE, Law, allowed, known_laws, named_laws
from scanopt.egraph.schedule import EVERYTHING, Schedule
from scanopt.forks import once
from scanopt.modes import Mode
from scanopt.records import dataclass

__all__ = ["ChosenLaws"]

NOT_KEPT = (
    "this function was pickled, which keeps no laws and no cost model of one's own: it runs, but to ask what "
    "optimization did, compile it again"
)


@dataclass(frozen=True)
class ChosenLaws:
    """The laws that arguments of `function` choose.

    own: laws of a user's.  fp: the licence.  excluded: names of laws and rulesets, "inplace" among them.  modes: of the
    function and of its loops.  schedule: its names are checked with the others.  complete: False where pickling left
    out something that decides which program is chosen.
    """

    own: tuple[Law, ...] = ()
    fp: str = "reassoc"
    excluded: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = (Mode(),)
    schedule: Schedule = EVERYTHING
    complete: bool = True

    @once
    def known(self) -> tuple[Law, ...]:
        """All laws to choose from.  Raises ValueError where a law of the user's has a name of another one."""
        return known_laws(self.own)

    @once
    def permitted(self) -> tuple[Law, ...]:
        """The laws that may fire: those that licence and modes allow, without the excluded ones.

        Raises ValueError for a name that no law and no ruleset has, and RuntimeError where pickling left out some.
        """
        if not self.complete:
            raise RuntimeError(NOT_KEPT)
        names = [n for x in self.known for n in (x.name, x.ruleset)]
        self.schedule.check(names)
        for m in self.modes:
            m.check([*names, INPLACE])
        found = allowed(self.known, self.fp, self.excluded)
        return tuple(x for x in found if any(m.allows(x.ruleset, x.name) for m in self.modes))

    @property
    def in_place(self) -> bool:
        """Whether results may be computed in place."""
        return INPLACE not in self.excluded and all(INPLACE not in m.excluded for m in self.modes)

    def without(self, names: tuple[str, ...]) -> ChosenLaws:
        """The same choice without these laws and rulesets.  Raises ValueError for an unknown name."""
        for name in names:
            if name != INPLACE:
                named_laws(self.known, name)
        return replace(self, excluded=(*self.excluded, *names))

    def without_objects(self, complete: bool) -> ChosenLaws:
        """The same choice without laws of the user's, for a pickle.  complete: whether nothing else is left out."""
        return replace(self, own=(), complete=self.complete and complete and not self.own)
