"""Two histories side by side: of two rulesets on one program, or of one program in two versions."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from scanopt.array.shown import shown
from scanopt.memory import bytes_text
from scanopt.records import dataclass
from scanopt.view.amounts import cost_text

__all__ = ["NotAHistoryError", "ProgramsApart", "compared", "comparison_text", "histories_in"]

_FORMAT, _VERSION = "scanopt-history", 1
_WORD = re.compile(r"[^\W\d]\w*")
_COLOURS = {"-": "\x1b[31m", "+": "\x1b[32m"}

History = Mapping[str, Any]


class NotAHistoryError(ValueError):
    """A file that does not hold histories that this version reads."""


@dataclass(frozen=True)
class ProgramsApart:
    """How a function differs between two histories, in the names of the first.

    cost, memory: of both sides.  laws: those in use on one side alone.  matches: those of laws that did not match
    equally often.  lines: those that only one of the programs that run has, after "- " or "+ ", below their loop.
    """

    name: str
    unit: str
    cost: tuple[float, float]
    memory: tuple[float, float]
    laws: tuple[tuple[str, ...], tuple[str, ...]]
    matches: dict[str, tuple[int, int]]
    lines: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether both run the same program."""
        return not self.lines


def histories_in(file: Path) -> list[Any]:
    """The histories that `scanopt explain --json` printed.  Raises NotAHistoryError for any other file."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NotAHistoryError(f"{shown(str(file))} cannot be read ({error})") from None
    for h in found if isinstance(found, list) else [found]:
        about = (h.get("format"), h.get("version")) if isinstance(h, dict) else (None, None)
        if about != (_FORMAT, _VERSION):
            raise NotAHistoryError(
                f"{shown(str(file))} holds no histories of version {_VERSION}: write them with "
                "scanopt explain --json FILE"
            )
    return found if isinstance(found, list) else [found]


def compared(left: History, right: History) -> ProgramsApart:
    """Compare the function of one history with that of another."""
    a, b = left["report"], right["report"]
    used = [[s["law"] for s in h["steps"]] for h in (left, right)]
    hits = [{x["name"]: x["matches"] for x in h["laws"]} for h in (left, right)]
    differ = {
        n: (hits[0].get(n, 0), hits[1].get(n, 0))
        for n in sorted({*hits[0], *hits[1]})
        if hits[0].get(n) != hits[1].get(n)
    }
    return ProgramsApart(
        left["name"],
        a["unit"],
        (a["cost_after"], b["cost_after"]),
        (a["memory_after"], b["memory_after"]),
        (tuple(x for x in used[0] if x not in used[1]), tuple(x for x in used[1] if x not in used[0])),
        {n: x for n, x in differ.items() if any(x)},
        tuple(_lines(_program(left), _program(right), _written(left, right))),
    )


def comparison_text(x: ProgramsApart, coloured: bool = False) -> str:
    """The differences as text.  coloured: for a terminal."""
    head = f"{shown(x.name) or 'function'}: "
    if x.same:
        return f"{head}the same program, {cost_text(x.cost[0], x.unit)}"
    a, b = (cost_text(c, x.unit) for c in x.cost)
    ratio = f", ratio {x.cost[1] / x.cost[0]:.3g}" if x.cost[0] else ""
    out = [f"{head}cost {a} -> {b}{ratio}; memory {bytes_text(x.memory[0])} -> {bytes_text(x.memory[1])}"]
    for sign, names in zip("-+", x.laws, strict=True):
        if names:
            out.append(f"  laws in use only {'before' if sign == '-' else 'after'}: {', '.join(names)}")
    if x.matches:
        out.append(f"  matches: {', '.join(f'{n} {p} -> {q}' for n, (p, q) in x.matches.items())}")
    for line in x.lines:
        colour = _COLOURS.get(line[0], "") if coloured else ""
        out.append(f"{colour}{line}\x1b[0m" if colour else line)
    return "\n".join(out)


def _program(h: History, number: int = -1) -> list[dict[str, Any]]:
    return [h["lines"][n] for n in h["programs"][number]["lines"]]


def _written(left: History, right: History) -> dict[str, str]:
    """The names of the program as written, where it is the same on both sides: they stand for the same values."""
    a, b = ([x["text"] for x in _program(h, 0)] for h in (left, right))
    return {n: n for x in _program(right, 0) for n in x["makes"]} if a == b else {}


def _lines(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]], known: Mapping[str, str]) -> Iterator[str]:
    """Lines that one side alone has, below the loop that they are in; where only the order differs there are none."""
    left = [*_placed(a, {})]
    right = [*_placed(b, _names(a, b, known))]
    common = {*left} & {*right}
    loop = ""
    for tag, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for sign, found in (("-", left[i:j]), ("+", right[k:m])):
            for where, text in (x for x in found if x not in common):
                if where != loop:
                    loop = where
                    yield f"  in {where}:" if where else "  outside:"
                yield f"{sign} {text}"


def _placed(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    labels = {x["key"]: x["label"] or "a loop" for x in rows if x.get("key")}
    for x in rows:
        yield labels.get(x["loop"], ""), _WORD.sub(lambda w: names.get(w[0], w[0]), x["text"].strip())


def _names(
    a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]], written: Mapping[str, str]
) -> dict[str, str]:
    """For each name of `b` the name in `a` of the value computed in the same way, else one that `a` does not use."""
    known: defaultdict[tuple[str, str], list[list[str]]] = defaultdict(list)
    for x, key in zip(a, _keys(a, {}), strict=True):
        known[key].append(x["makes"])
    taken = {n for x in a for n in x["makes"]}
    names = dict(written)
    for x, key in zip(b, _keys(b, names), strict=True):
        same = known[key].pop(0) if known[key] else None
        for n, name in enumerate(x["makes"]):
            names[name] = written.get(name) or _new(same, n, name, taken)
    return names


def _new(same: list[str] | None, n: int, name: str, taken: set[str]) -> str:
    if same is not None and n < len(same):
        return same[n]
    return f"{name}'" if name in taken else name


def _keys(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what each line computes, whatever its own name and, for a state, that of its next value."""
    for placed, x in zip(_placed(rows, {}), rows, strict=True):
        own = {*x["makes"], x.get("next", "")}
        free = x["kind"] == "input"  # its name is the user's

        def word(found: re.Match[str], own: set[str] = own, free: bool = free) -> str:
            return "_" if found[0] in own and not free else names.get(found[0], found[0])

        yield placed[0], _WORD.sub(word, placed[1])
