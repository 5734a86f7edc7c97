"""What a program of the wide generator shows: dtypes, layouts, operators, kinds of loops."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corpus import kinds as of_loops
from corpus.spec import LAYOUTS, Line, Loop, Spec, Statement
from corpus.wide.pool import DTYPES

__all__ = ["WIDE_KINDS", "kinds"]

_OPERATORS = {
    "indexing by numbers": r"\w\[(:, )?[vxsw]\d+( % \d+)?\]|T\.take\(\w+, [vxsw]\d+\b",
    "slices with computed bounds": r"\w\[[^\]]*(:\(?-?[vxsw]\d|[vxsw]\d+\)?:)",
    "set_subtensor, inc_subtensor": r"_subtensor\(",
    "reshape to computed sizes": r"\.reshape\(\(([vxsw]\d|-1, [vxsw]\d)",
    "repeat by computed numbers": r"T\.repeat\(\w+, [vxswT(]",
    "broadcast_to": r"T\.broadcast_to\(",
    "full, zeros, eye of computed sizes": r"T\.(full|zeros|eye)\(\(?(2, )?(T\.min|[vxsw]\d)",
    "arange of computed sizes": r"T\.arange\((0, 5, )?(T\.min|[vxsw]\d)",
    "powers of integers": r"\w+ \*\* (abs\()?[vxsw]\d",
    "systems, inverses, factors": r"T\.linalg\.",
    "prod, cumprod": r"T\.(cum)?prod\(",
    "var, std": r"T\.(var|std)\(",
    "argsort, sort": r"T\.(arg)?sort\(",
    "roll, diff": r"T\.(roll|diff)\(",
    "ifelse": r"scanopt\.ifelse\(",
    "constants of uint64 from 2**63": r"np\.uint64\(2\*\*6|~T\.constant\(np\.uint64",
    "draws of streams": r"trng\.",
}

_LOOPS = (
    "scan", "map", "reduce, foldl, foldr", "loop, fori_loop, while_loop", "sequence taps", "output taps",
    "several states", "until", "a loop in a loop", "backwards", "negative n_steps", "symbolic n_steps", "no steps",
    "one step", "two steps",
)  # fmt: skip

_LAYOUTS = tuple(f"inputs: {name}" for name in LAYOUTS if name)

WIDE_KINDS = (*DTYPES, *_LAYOUTS, *_OPERATORS, *_LOOPS)
"""What the record of a run counts."""


def kinds(spec: Spec) -> set[str]:
    """The kinds of a program."""
    lines = list(_lines(spec.statements))
    found = {x.dtype for x in (*spec.inputs, *lines)}
    found |= {f"inputs: {x.layout}" for x in spec.inputs}
    found |= {kind for kind, pattern in _OPERATORS.items() if any(re.search(pattern, x.text) for x in lines)}
    return (found | of_loops.kinds(spec)) & {*WIDE_KINDS}


def _lines(statements: list[Statement]) -> Iterator[Line]:
    for s in statements:
        if isinstance(s, Loop):
            yield from _lines(s.body)
        else:
            yield s
