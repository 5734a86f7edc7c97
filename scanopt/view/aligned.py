"""Two programs of a history side by side: what stayed, what changed, moved, came or went, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from scanopt.records import dataclass

__all__ = ["LinePair", "aligned", "changes"]

Line = Mapping[str, Any]


@dataclass(frozen=True)
class LinePair:
    """A line before and the one after that stands for the same value; None where there is none.

    state: "same"; "changed" (the value is computed in another way), "moved" (in another loop); "gone" or "new".
    """

    before: int | None
    after: int | None
    state: str


def aligned(lines: Sequence[Line], before: Sequence[int], after: Sequence[int]) -> list[LinePair]:
    """Pair the lines of two programs, given by their numbers, that define the same value.

    A value that stands elsewhere in the order has a separate line on each side.
    """
    a, b = ([_key(lines[n]) for n in numbers] for numbers in (before, after))
    there = dict(zip(b, after, strict=True))
    known = dict(zip(a, before, strict=True))
    out: list[LinePair] = []
    for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            for x, y in zip(before[i:j], after[k:m], strict=True):
                out.append(LinePair(x, y, _state(lines[x], lines[y])))
            continue
        left = [LinePair(n, None, _alone(lines, n, there, "gone")) for n in before[i:j]]
        right = [LinePair(None, n, _alone(lines, n, known, "new")) for n in after[k:m]]
        out += _beside(left, right)
    return out


def changes(lines: Sequence[Line], before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[str, Line]]:
    """The lines that differ, as ("del" or "add", line); where only the order differs there are none."""
    old, new = ({_said(lines[n]) for n in numbers} for numbers in (before, after))
    for pair in aligned(lines, before, after):
        if pair.before is not None and _said(lines[pair.before]) not in new:
            yield "del", lines[pair.before]
        if pair.after is not None and _said(lines[pair.after]) not in old:
            yield "add", lines[pair.after]


def _said(line: Line) -> tuple[str, str]:
    return line["text"], line["loop"]


def _key(line: Line) -> str:
    return line.get("key") or (line["makes"][0] if line["makes"] else f"{line['kind']} {line['loop']} {line['text']}")


def _state(x: Line, y: Line) -> str:
    if x["loop"] != y["loop"]:
        return "moved"
    return "same" if x["text"] == y["text"] else "changed"


def _alone(lines: Sequence[Line], n: int, others: Mapping[str, int], alone: str) -> str:
    """The state of a line with none beside it: its value may be elsewhere on the other side."""
    other = others.get(_key(lines[n]))
    return alone if other is None else _state(lines[n], lines[other])


def _beside(left: Sequence[LinePair], right: Sequence[LinePair]) -> Iterator[LinePair]:
    """Pack consecutive left-only and right-only lines side by side, in as few rows as possible."""
    for n in range(max(len(left), len(right))):
        x, y = left[n : n + 1], right[n : n + 1]
        states = [p.state for p in (*x, *y)]
        if len(x) + len(y) == 2:
            yield LinePair(x[0].before, y[0].after, f"{states[0]} {states[1]}")
        else:
            yield (x or y)[0]
