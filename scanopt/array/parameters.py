"""Descriptions of the valid parameters of operators: each entry of the table describes its own, by name.

A program read from a file gives operators and their parameters as text.  They are checked against these
descriptions before anything else is done with them, so that no shape rule and no function ever gets
parameters that no public function makes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from string import Formatter
from typing import Any

from scanopt.array.shown import shown
from scanopt.array.types import DTYPES, LONGEST, MOST_AXES
from scanopt.records import dataclass

__all__ = [
    "AXES", "AXIS", "DTYPE", "FLAG", "INDEX", "LENGTHS", "MESSAGE", "NUMBER", "PAIRS", "SHAPE", "TEXT",
    "Parameter", "check_parameters", "integer", "one_of", "optional",
]  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """The description of a parameter of an operator.

    text: in words, following "must be".  holds: whether a value is valid.  optional: whether it may be left out.
    """

    text: str
    holds: Callable[[Any], bool]
    optional: bool = False


def check_parameters(name: str, expected: Mapping[str, Parameter], given: Mapping[str, Any]) -> None:
    """Raise ValueError, saying what is wrong, unless the parameters `given` are as the operator `name` expects them.

    >>> check_parameters("softmax", {"axis": AXIS}, {"axis": -1})
    Traceback (most recent call last):
    ValueError: softmax: axis must be an axis counted from the front, found -1
    """
    for key in given:
        if key not in expected:
            known = f"it has {', '.join(expected)}" if expected else "it has none"
            raise ValueError(f"{name} has no parameter {_short(key)}: {known}")
    for key, parameter in expected.items():
        if key in given:
            if not parameter.holds(given[key]):
                raise ValueError(f"{name}: {key} must be {parameter.text}, found {_short(given[key])}")
        elif not parameter.optional:
            raise ValueError(f"{name} lacks its parameter {key}, {parameter.text}")


def _short(x: Any) -> str:
    text = shown(repr(x))
    return text if len(text) < 60 else f"{text[:56]} ..."


def optional(parameter: Parameter) -> Parameter:
    """The parameter, but optional."""
    return replace(parameter, optional=True)


def one_of(*values: Any) -> Parameter:
    """One of these values."""
    kinds = {(type(v), v) for v in values}
    text = " or ".join(json.dumps(v) for v in values)
    return Parameter(text, lambda x: isinstance(x, str | int | bool) and (type(x), x) in kinds)


def integer(low: int, high: int = LONGEST) -> Parameter:
    """An int (not a bool) from `low` to `high`."""
    return Parameter(f"an integer from {low} to {high}", lambda x: type(x) is int and low <= x <= high)


def _whole(x: Any) -> bool:
    return type(x) is int and -LONGEST <= x <= LONGEST


def _is_axis(x: Any) -> bool:
    return type(x) is int and 0 <= x < MOST_AXES


def _are_axes(x: Any) -> bool:
    return isinstance(x, tuple) and all(map(_is_axis, x)) and len(set(x)) == len(x)


def _are_pairs(x: Any) -> bool:
    return isinstance(x, tuple) and len(x) == 2 and all(map(_are_axes, x)) and len(x[0]) == len(x[1])


def _shape(low: int) -> Callable[[Any], bool]:
    def holds(x: Any) -> bool:
        lengths: Iterable[Any] = x if isinstance(x, tuple) else [...]
        return all(n is None or (_whole(n) and n >= low) for n in lengths) and len(x) <= MOST_AXES

    return holds


def _is_number(x: Any) -> bool:
    return _whole(x) or (type(x) is float and math.isfinite(x))


def _is_index(x: Any) -> bool:
    return isinstance(x, tuple) and 0 < len(x) <= 2 * MOST_AXES and all(map(_is_entry, x))


def _is_entry(x: Any) -> bool:
    """Whether x is an entry of an index as described in `operators.indexing`."""
    if isinstance(x, tuple):
        bounds = x[1:] if len(x) == 4 and x[0] == "slice" else (...,)
        return all(b is None or b == "in" or _whole(b) for b in bounds) and bounds[-1] != 0
    return _whole(x) or x in ("in", "array", "mask", "newaxis")


def _is_message(x: Any) -> bool:
    """Whether x is a format string whose only fields are {found} and {expected}, without attributes or conversions."""
    if not _is_text(x):
        return False
    try:
        places = list(Formatter().parse(x))
    except ValueError:
        return False
    return all(name in (None, "found", "expected") and not form and not conversion
               for _, name, form, conversion in places)  # fmt: skip


def _is_text(x: Any) -> bool:
    return isinstance(x, str) and shown(x) == x


AXIS = Parameter("an axis counted from the front", _is_axis)
AXES = Parameter("a list of different axes counted from the front", _are_axes)
PAIRS = Parameter("two lists of as many axes counted from the front", _are_pairs)
SHAPE = Parameter("a list of lengths, null for those that are given as arguments", _shape(0))
LENGTHS = Parameter("a list of lengths, -1 for one that follows from the others", _shape(-1))
DTYPE = Parameter("a dtype", lambda x: isinstance(x, str) and x in DTYPES)
FLAG = Parameter("true or false", lambda x: isinstance(x, bool))
NUMBER = Parameter("a finite number", _is_number)
INDEX = Parameter("a list of entries of an index", _is_index)
TEXT = Parameter("text that can be printed on one line", _is_text)
MESSAGE = Parameter("text on one line, in braces {found} and {expected} only", _is_message)
