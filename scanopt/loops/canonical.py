"""Brings the arguments of scan into one canonical form: omissions are filled in, mistakes are reported.

Nothing here changes the user's objects: lists are copied, dicts are only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from scanopt.array.shown import quoted
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable
from scanopt.loops.site import Number, Site, is_bare, show
from scanopt.records import dataclass

__all__ = [
    "Initial", "SequenceArg", "initials", "non_sequence_args", "sequence_args", "slice_name",
    "unsliced",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class SequenceArg:
    """A sequence and the places, counted from the step, at which it is read."""

    variable: Variable
    taps: tuple[int, ...]
    label: str


@dataclass(frozen=True, eq=False)
class Initial:
    """One entry of outputs_info: None (no taps), or the initial state of the output and its taps.

    value: the initial state, or a bare Python number whose dtype is still open.
    written: how the user wrote it, if neither by its name nor in outputs_info.
    """

    value: Variable | Number | None
    taps: tuple[int, ...]
    label: str
    written: str = ""

    @property
    def fed_back(self) -> bool:
        """Whether the output is a state."""
        return bool(self.taps)

    @property
    def name(self) -> str | None:
        """The user's name for the initial state."""
        return self.value.name if isinstance(self.value, Variable) else None

    @property
    def single(self) -> bool:
        """Whether the state is read one step back only: its initial value has no time axis."""
        return self.taps == (-1,)

    @property
    def depth(self) -> int:
        """The number of initial rows that the deepest tap needs."""
        return -min(self.taps)

    @property
    def row(self) -> TensorType | None:
        """The type of the initial state, without the time axis; None for a bare number."""
        if not isinstance(self.value, Variable):
            return None
        return self.value.type if self.single else self.value.type.row()


def as_list(x: Any) -> list[Any]:
    """A list or tuple as a list, None as an empty list, anything else as a list of one entry."""
    if x is None:
        return []
    return list(x) if isinstance(x, list | tuple) else [x]


def slice_name(name: str | None, tap: int) -> str | None:
    """The name of an entry along the first axis.

    >>> slice_name("x", 0), slice_name("x", -1), slice_name("x", 2), slice_name(None, 0)
    ('x[t]', 'x[t-1]', 'x[t+2]', None)
    """
    return None if name is None else f"{name}[t{tap:+d}]" if tap else f"{name}[t]"


def unsliced(name: str) -> str:
    """The name without the suffix that `slice_name` adds.

    >>> unsliced("x[t]"), unsliced("x[t-1]"), unsliced("x")
    ('x', 'x', 'x')
    """
    return re.sub(r"\[t([+-]\d+)?\]$", "", name)


def _label(argument: str, i: int, name: str | None) -> str:
    return f"{argument}[{i}] ({quoted(name)})" if name else f"{argument}[{i}]"


def _taps(site: Site, taps: Any, label: str) -> tuple[int, ...]:
    try:
        found = tuple(taps)
    except TypeError:
        found = (taps,)
    if not all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in found):
        raise site.error(TypeError, f"the taps of {label} must be integers, found {show(taps)}")
    if not found:
        raise site.error(ValueError, f"the taps of {label} are empty; leave them out for [0]")
    return tuple(int(k) for k in found)


def _known_keys(site: Site, given: Mapping[Any, Any], known: tuple[str, str], label: str, hint: str = "") -> None:
    """Raise ValueError for an unknown key.  hint: a further key that is accepted and has no effect."""
    unknown = [key for key in given if key not in (*known, hint)]
    if unknown:
        raise site.error(
            ValueError, f"{label} has the unknown key {unknown[0]!r}; a dict here has {known[0]!r} and {known[1]!r}"
        )


def _sequence(site: Site, entry: Any, i: int) -> SequenceArg:
    label = _label("sequences", i, None)
    taps: Any = None
    if isinstance(entry, Mapping):
        _known_keys(site, entry, ("input", "taps"), label)
        if "input" not in entry:
            raise site.error(ValueError, f"{label} is a dict without the key 'input'")
        entry, taps = entry["input"], entry.get("taps")
    if isinstance(entry, list | tuple | range):
        raise site.error(
            TypeError,
            f"{label} is a Python {type(entry).__name__}; a sequence is an array: write np.asarray(...) around it",
        )
    if entry is None or is_bare(entry):
        raise site.error(
            TypeError,
            f"{label} is {entry!r}; a sequence is an array, and a list holds several sequences: "
            "for one sequence of numbers write np.asarray([...])",
        )
    variable = site.array(entry, label)
    label = _label("sequences", i, variable.name)
    if variable.ndim == 0:
        raise site.error(
            TypeError,
            f"{label} is {variable.type}, which has no axis to iterate over; "
            "pass it in non_sequences if it is the same at every step",
        )
    return SequenceArg(variable, (0,) if taps is None else _taps(site, taps, label), label)


def sequence_args(site: Site, sequences: Any) -> tuple[SequenceArg, ...]:
    """The sequences, each with its taps ([0] if none are given).  Raises TypeError, ValueError."""
    return tuple(_sequence(site, entry, i) for i, entry in enumerate(as_list(sequences)))


_MOST = 2**63 - 1
"""The greatest number of rows that an array may have."""


def _output_taps(site: Site, taps: Any, label: str) -> tuple[int, ...]:
    if not isinstance(taps, Iterable) or isinstance(taps, str | bytes):
        raise site.error(TypeError, f"the taps of {label} must be a list of negative integers, found {show(taps)}")
    many = list(taps)
    if not many:
        raise site.error(
            ValueError,
            f"the taps of {label} are an empty list; pass None in outputs_info for an output that is not fed back",
        )
    found = _taps(site, many, label)
    late = [k for k in found if k >= 0]
    if late:
        raise site.error(
            ValueError,
            f"the taps of {label} must be negative, found {late[0]}: a step can only read results of earlier steps",
        )
    if min(found) < -_MOST:
        raise site.error(ValueError, f"the taps of {label} must be -(2**63 - 1) or more, found {min(found)}")
    if len(set(found)) < len(found):
        raise site.error(ValueError, f"the taps of {label} name one step twice: {list(found)}")
    return found


def _initial_value(site: Site, x: Any, label: str) -> Variable | Number:
    if is_bare(x):
        return x
    return site.array(x, label)


def _from_dict(site: Site, entry: Mapping[Any, Any], label: str) -> tuple[Any, tuple[int, ...]]:
    _known_keys(site, entry, ("initial", "taps"), label, hint="inplace")  # scanopt decides itself what runs in place
    initial, taps = entry.get("initial"), entry.get("taps")
    if initial is None:
        if taps is not None:
            raise site.error(ValueError, f"{label} has taps but no 'initial' state for them to read")
        return None, ()
    if "taps" not in entry:
        return initial, (-1,)
    if taps is None:
        return None, ()  # as documented: taps None says explicitly that the output is not fed back
    return initial, _output_taps(site, taps, label)


def _initial(site: Site, entry: Any, i: int) -> Initial:
    label = _label("outputs_info", i, None)
    taps: tuple[int, ...] = (-1,)
    if isinstance(entry, Mapping):
        named = entry.get("initial")
        label = _label("outputs_info", i, named.name if isinstance(named, Variable) else None)
        entry, taps = _from_dict(site, entry, label)
    if entry is None:
        return Initial(None, (), label)
    found = Initial(value := _initial_value(site, entry, label), taps, label)
    label = _label("outputs_info", i, found.name)
    if not found.single and (not isinstance(value, Variable) or value.ndim == 0):
        shown = show(value)
        raise site.error(
            ValueError,
            f"{label} is read at taps {list(taps)}, so its initial state needs a first axis with "
            f"{found.depth} rows, found {shown}",
        )
    return Initial(value, taps, label)


def initials(site: Site, outputs_info: Any) -> tuple[Initial, ...] | None:
    """The entries of outputs_info, None when there are none.  Raises TypeError, ValueError."""
    entries = as_list(outputs_info)
    if not entries:
        return None
    return tuple(_initial(site, entry, i) for i, entry in enumerate(entries))


def non_sequence_args(site: Site, non_sequences: Any) -> tuple[Variable | Number, ...]:
    """The non-sequences as symbolic arrays; bare Python numbers stay as they are."""
    return tuple(
        x if is_bare(x) else site.array(x, _label("non_sequences", i, None))
        for i, x in enumerate(as_list(non_sequences))
    )
