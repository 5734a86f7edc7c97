"""Which of the user's loops and states the loops and states that laws made come from.

The first rows of a trace are the trace of a loop of fewer steps (`cut`): it is still the user's loop, and its state
the user's state, in messages, in printed programs and in profiles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["loops_behind", "states_behind"]

Rows = Callable[[str], Iterable[tuple[tuple[Any, ...], Any]]]

_SAME_STEPS = {"cut": 0, "upto": 0, "chunks": 0, "lift": 1, "under": 1}
"""By constructor of a clock the argument whose steps it takes: fewer of them, several at once, or at other times."""

_LONGER = {"followed": (0, 1), "and_last": (0,), "and_first": (0,)}
"""By constructor of a move to a longer loop the arguments whose steps that loop takes."""

_SAME_VALUES = {"moved": 1, "masked": 2, "continued": 1}
"""By constructor of a state the argument whose values it takes on."""


def loops_behind(rows: Rows) -> dict[Any, tuple[str, ...]]:
    """The numbers of the user's loops that each clock stands for: its own ones, else those that it was made from.

    rows: of a table of the e-graph, by its name.
    """
    made: defaultdict[Any, list[Any]] = defaultdict(list)
    for name, place in _SAME_STEPS.items():
        for args, c in rows(name):
            made[c].append(args[place])
    parts = {m: [args[i] for i in places] for name, places in _LONGER.items() for args, m in rows(name)}
    for (m,), c in rows("joint"):
        made[c] += parts.get(m, [])
    return _behind(rows("loop"), made)


def states_behind(rows: Rows) -> dict[Any, tuple[str, ...]]:
    """The numbers of the user's states whose values each state takes on.  rows: as for `loops_behind`."""
    made: defaultdict[Any, list[Any]] = defaultdict(list)
    for name, place in _SAME_VALUES.items():
        for args, s in rows(name):
            made[s].append(args[place])
    return _behind(rows("state"), made)


def _behind(own: Iterable[tuple[tuple[Any, ...], Any]], made: dict[Any, list[Any]]) -> dict[Any, tuple[str, ...]]:
    """The numbers behind each class.  own: (number,) and class, as written.  made: by class those it is made from."""
    known: defaultdict[Any, list[str]] = defaultdict(list)
    for (number,), x in own:
        known[x].append(number)
    found = {x: tuple(sorted(numbers, key=int)) for x, numbers in known.items()}
    for x in made:
        if x not in known:
            found[x] = tuple(dict.fromkeys(n for y in _written(x, known, made) for n in sorted(known[y], key=int)))
    return found


def _written(x: Any, known: dict[Any, list[str]], made: dict[Any, list[Any]]) -> list[Any]:
    """The nearest classes of the program as written that x is made from."""
    seen, waiting, found = {x}, [x], list[Any]()
    while waiting:
        for y in made.get(waiting.pop(0), ()):
            if y not in seen:
                seen.add(y)
                (found if y in known else waiting).append(y)
    return found
