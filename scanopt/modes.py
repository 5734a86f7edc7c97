"""Modes: which laws may rewrite a program, by a name and by rulesets added or left out."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from scanopt.absent import ABSENT
from scanopt.records import dataclass

__all__ = ["MODES", "Mode", "as_mode"]

MODES = {
    "optimized": "all laws (the default)",
    "FAST_RUN": "the documents' name for the same",
    "FAST_COMPILE": "only the laws that save work or memory at once and cost little time to apply",
    "unoptimized": "no law: the interpreter runs the graph as it was written",
}
"""The named modes, and what each stands for."""

CHEAP = frozenset({"remove_constants_and_unused_inputs", "push_out_non_seq", "save_mem"})
"""The rulesets of FAST_COMPILE."""


_NAMES: dict[str | None, str] = {"fast_run": "FAST_RUN", "fast_compile": "FAST_COMPILE", None: "unoptimized",
                                 "None": "unoptimized"}  # fmt: skip
_ELSEWHERE = {
    **dict.fromkeys(("DebugMode", "DEBUG_MODE", "NanGuardMode"), ABSENT["DebugMode"]),
    **dict.fromkeys(("CVM", "JAX", "MLX", "NUMBA", "PYTORCH"), ABSENT["linker"]),
}


@dataclass(frozen=True, init=False)
class Mode:
    """A named mode, with laws or rulesets that it takes in or leaves out.

    name: one of MODES.  including, excluding: names of laws or rulesets; a law's own name takes
    precedence over that of its ruleset, and leaving out over taking in.
    optimizer: the name as Theano writes it: "fast_run", "fast_compile" or None.  linker: accepted and without effect.
    Raises ValueError for an unknown name, or laws added to a mode that runs the interpreter.

    >>> mode = Mode("FAST_COMPILE").including("push_out_seq").excluding("save_mem")
    >>> mode.allows("push_out_seq", "stack_of_sequence"), mode.allows("save_mem", "last_value")
    (True, False)

    Source: the documents' "theano.function for details about possible values" of `mode`.
    """

    name: str
    included: frozenset[str]
    excluded: frozenset[str]

    def __init__(
        self, name: str = "optimized", including: Iterable[str] = (), excluding: Iterable[str] = (), *,
        linker: Any = None, optimizer: str | None = "default",
    ) -> None:  # fmt: skip
        name = _NAMES.get(optimizer, str(optimizer)) if optimizer != "default" else name
        if name not in MODES:
            close = get_close_matches(str(name).lower(), [m.lower() for m in MODES], 1)
            hint = "".join(f"; did you mean {m!r}?" for m in MODES if [m.lower()] == close)
            hint = f"; {_ELSEWHERE[name]}" if name in _ELSEWHERE else hint
            raise ValueError(f"mode must be one of {', '.join(map(repr, MODES))}, found {name!r}{hint}")
        added, left_out = _names("including", including), _names("excluding", excluding)
        if added and name == "unoptimized":
            raise ValueError("mode 'unoptimized' runs the interpreter: no law can be included in it")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "included", added - left_out)
        object.__setattr__(self, "excluded", left_out)

    def including(self, *names: str) -> Mode:
        """The mode with these laws or rulesets as well, even those excluded before.

        >>> Mode("FAST_COMPILE").including("merge")
        Mode('FAST_COMPILE', including=['merge'])
        """
        return Mode(self.name, self.included | {*names}, self.excluded - {*names})

    def excluding(self, *names: str) -> Mode:
        """The mode without these laws or rulesets.

        >>> Mode().excluding("merge")
        Mode('optimized', excluding=['merge'])
        """
        return Mode(self.name, self.included - {*names}, self.excluded | {*names})

    @property
    def optimizes(self) -> bool:
        """Whether laws rewrite the program at all; else the interpreter runs it."""
        return self.name != "unoptimized"

    def allows(self, ruleset: str, law: str) -> bool:
        """Whether the law of this name and ruleset may fire."""
        for name in (law, ruleset):
            if name in self.excluded:
                return False
            if name in self.included:
                return True
        return self.optimizes and (self.name != "FAST_COMPILE" or ruleset in CHEAP)

    def check(self, known: Iterable[str]) -> None:
        """Raise ValueError where the mode names a law or ruleset that is not `known`.

        >>> Mode(excluding=["merge"]).check(["merge", "save_mem"])
        """
        names = sorted(set(known))
        for name in sorted(self.included | self.excluded):
            if name not in names:
                close = get_close_matches(name, names, 3) or names
                raise ValueError(f"mode names {name!r}, but there is no such law or ruleset; near: {', '.join(close)}")

    def __repr__(self) -> str:
        given = {"including": self.included, "excluding": self.excluded}
        parts = [repr(self.name), *(f"{word}={sorted(names)}" for word, names in given.items() if names)]
        return f"Mode({', '.join(parts)})"


def _names(word: str, names: Iterable[str]) -> frozenset[str]:
    found = [names] if isinstance(names, str) else list(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"{word} must be a list of names of laws or rulesets, found {names!r}")
    return frozenset(found)


def as_mode(mode: Mode | str | None) -> Mode:
    """A mode from its name; None is the default.  Raises TypeError, ValueError.

    >>> as_mode("FAST_RUN"), as_mode(None)
    (Mode('FAST_RUN'), Mode('optimized'))
    """
    if mode is None:
        return Mode()
    if isinstance(mode, Mode):
        return mode
    if isinstance(mode, str):
        return Mode(mode)
    raise TypeError(f"mode must be a name or a scanopt.Mode, found {mode!r}")
