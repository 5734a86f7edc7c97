"""Kinds: how a value depends on the entries along one axis of the inputs, the *lanes*; they form a small lattice.

If a function is given only some of the lanes, a value of this kind is, compared with its value for all lanes,

| kind | for some lanes |
|---|---|
| `WHOLE` | the same value, whichever lanes it is given |
| `ZERO` | the same, and known to be zeros |
| `COUNT` | an integer scalar: how many lanes there are |
| `LaneKind(k)` | the entries along axis k that belong to the given lanes |
| `Partial(op)` | a part, to be combined by op in the order of the lanes: a sum of parts |
| `LAST` | the value, if the last lanes are given |
| `Mixed` | nothing from which the value could be combined |
"""

from __future__ import annotations

from scanopt.array.variable import Apply, Variable, describe
from scanopt.records import dataclass

__all__ = ["COUNT", "LAST", "WHOLE", "ZERO", "Dependence", "Kind", "LaneKind", "Mixed", "Partial", "join", "named"]


@dataclass(frozen=True)
class Dependence:
    """Why a value depends on several lanes at once.

    operator: the first operator that mixes them, as text.  variable: its argument, in words.  location: "file:line" of
    the loop that it is in, "" outside of loops, where no lines are known.  why: the reason.  carried: the name of the
    state, if a step of a loop over the lanes passes a value to the next.
    """

    operator: str
    variable: str
    location: str
    why: str
    carried: str = ""

    def __str__(self) -> str:
        place = f", in the scan at {self.location}" if self.location else ""
        return f"{self.operator} of {self.variable}{place}: {self.why}"


class Kind:
    """The base class of kinds: see the module."""


@dataclass(frozen=True)
class _Plain(Kind):
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class LaneKind(Kind):
    """There is one entry along this axis for each lane."""

    axis: int

    def __str__(self) -> str:
        return f"along axis {self.axis}"


@dataclass(frozen=True)
class Partial(Kind):
    """Values for parts of the lanes are combined by a ufunc: add, multiply, maximum, minimum, logical_and or _or."""

    ufunc: str

    def __str__(self) -> str:
        return f"combined by {self.ufunc}"


@dataclass(frozen=True)
class Mixed(Kind):
    """Depends on several lanes at once.  shaped: its shape does not, as that of `x[0]`."""

    dependence: Dependence
    shaped: bool = False

    def passed(self) -> Mixed:
        """The kind of a value computed from it, about whose shape nothing is known."""
        return Mixed(self.dependence)

    def __str__(self) -> str:
        return f"dependent ({self.dependence})"


WHOLE: Kind = _Plain("the same for all")
ZERO: Kind = _Plain("zeros")
COUNT: Kind = _Plain("the number of entries")
LAST: Kind = _Plain("of the last entry")


def join(a: Kind, b: Kind) -> Kind | None:
    """The least kind that covers both, Mixed if one is mixed, or None if no other kind covers both.

    >>> join(ZERO, Partial("add")), join(WHOLE, LaneKind(0))
    (Partial(ufunc='add'), None)
    """
    if a == b and not isinstance(a, Mixed):
        return a
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Mixed):
            return x.passed()
        if x == ZERO and (y == WHOLE or y == Partial("add")):
            return y
        if x in (ZERO, WHOLE) and y == LAST:
            return y
    return None


def named(v: Variable) -> str:
    """A variable in words: by its name, or by the operator that computes it."""
    if v.name or v.owner is None:
        return describe(v)
    made = v.owner.op.name if isinstance(v.owner, Apply) else v.owner
    return f"a result of {made}, {v.type}"
