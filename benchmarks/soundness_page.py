"""What runs of random programs came to: a summary, and pages."""

from __future__ import annotations

import importlib.metadata
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["COUNTED", "language_page", "page", "summary", "wide_page"]

COUNTED = ("outcomes", "plain", "ways", "kinds", "laws", "operators")
"""What each shard counts: programs by what they come to, and by what they show; ways to run them; laws that fired;
operators in them as they are written and as they were compiled."""


def totals(lines: Iterable[dict[str, Any]]) -> dict[str, Counter[str]]:
    """What the shards counted, together."""
    found: dict[str, Counter[str]] = {key: Counter() for key in COUNTED}
    for x in lines:
        for key in COUNTED if x["kind"] == "shard" else ():
            found[key].update(x.get(key, {}))
    return found


def summary(lines: list[dict[str, Any]]) -> str:
    """Programs, outcomes, failures, and the laws by the number of programs that they fired in."""
    from scanopt.calculus.law import standard_laws

    found = totals(lines)
    rows = [f"{found['laws'][x.name]:8d}  {x.ruleset}.{x.name}" for x in standard_laws()]
    rows += [f"{n:8d}  {kind}" for kind, n in found["kinds"].items()]
    ran = [x for x in lines if x["kind"] == "shard"]
    wrong = sorted(x["seed"] for x in lines if x["kind"] == "failure")
    stopped = [seed for x in ran for seed in x["stopped"]]
    return "\n".join([
        f"{found['outcomes'].total()} programs in {sum(x['seconds'] for x in ran):.0f} s, one after the other",
        *(f"{key}: {dict(found[key])}" for key in ("outcomes", "plain", "ways")),
        "programs that each law fired in, and of each kind:", *rows,
        f"{len(stopped)} programs not saturated: {stopped[:50]}", f"{len(wrong)} programs failed: {wrong[:50]}",
    ])  # fmt: skip


PLAIN = {
    "equal": "equal bit for bit",
    "near": "equal but for rounding",
    "raises": "the same error",
    "unknown": "not compared: random numbers, refused programs, rows of a length that values tell and no step computed",
}


def page(lines: list[dict[str, Any]], command: str) -> str:
    """The record of a run, as a page."""
    from corpus.kinds import KINDS

    from scanopt.calculus.law import standard_laws

    slopes = [x for x in lines if x.get("what") == "gradients"]
    lines = [x for x in lines if x.get("what") != "gradients"]
    found = totals(lines)
    ran = sorted((x for x in lines if x["kind"] == "shard"), key=lambda x: x["start"])
    wrong = sorted(x["seed"] for x in lines if x["kind"] == "failure")
    dates = sorted({x["date"] for x in ran})
    kept = [x for x in standard_laws() if found["laws"][x.name]]
    silent = [f"`{x.ruleset}.{x.name}`" for x in standard_laws() if not found["laws"][x.name]]
    return "\n".join([
        _HEAD.format(command=command, dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))), **_versions(),
                     first=ran[0]["start"], last=ran[-1]["stop"] - 1),
        _table(("", ""), _figures(lines)),
        *([f"\nDiffered: {', '.join(map(str, wrong))}."] if wrong else []),
        "\n## What the programs come to\n", _table(("outcome", "programs"), found["outcomes"].most_common()),
        "\nThe interpreter and plain Python:\n",
        _table(("", "programs"), [(text, found["plain"][key]) for key, text in PLAIN.items()]),
        "\nOptimized, and compared with both:\n",
        _ways(lines),
        *(_slopes(slopes) if slopes else ()),
        "\n## Kinds of programs\n", _table(("kind", "programs"), [(x, found["kinds"][x]) for x in KINDS]),
        "\n## Laws\n\nThe number of programs that each law fired in, with `fp=\"exact\"`.\n",
        _table(("law", "programs"), [(f"`{x.ruleset}.{x.name}`", found["laws"][x.name]) for x in kept]),
        f"\nIn no program (most of these are no exact laws): {', '.join(silent) or 'none'}.\n",
    ])  # fmt: skip


def wide_page(lines: list[dict[str, Any]], command: str, found_before: Sequence[str]) -> str:
    """The record of a run of wide programs, as a page.  found_before: what such programs found."""
    from corpus.wide.kinds import WIDE_KINDS

    slopes = [x for x in lines if x.get("what") == "wide gradients"]
    lines = [x for x in lines if x.get("what") == "wide"]
    ran = [x for x in (*lines, *slopes) if x["kind"] == "shard"]
    text = [_WIDE.format(command=command, dates=_dates(ran), **_versions()), *_outcomes(lines, slopes, _KNOWN["wide"])]
    both = totals([*lines, *slopes])["kinds"]
    text += ["\n## Kinds of programs\n", _table(("kind", "programs"), [(x, both[x]) for x in WIDE_KINDS])]
    text += ["\n## Found by such programs, and mended\n", *(f"- {what}" for what in found_before)]
    return "\n".join(text) + "\n"


def language_page(lines: list[dict[str, Any]], command: str) -> str:
    """The record of a run of programs of all operators, as a page."""
    from scanopt.array.op import load

    slopes = [x for x in lines if x.get("what") == "language gradients"]
    lines = [x for x in lines if x.get("what") == "language"]
    ran = [x for x in (*lines, *slopes) if x["kind"] == "shard"]
    counts = totals([*lines, *slopes])["operators"]
    silent = [f"`{name}`" for name in load() if not counts[name]]
    text = [
        _LANGUAGE.format(command=command, dates=_dates(ran), **_versions()),
        *_outcomes(lines, slopes, _KNOWN["language"]),
    ]
    text += ["\n## Operators\n\nIn so many programs, as they are written or as they were compiled.\n"]
    text += [_table(("operator", "programs"), [(f"`{name}`", counts[name]) for name in load() if counts[name]])]
    text += [f"\nIn none: {', '.join(silent) or 'no operator'}.\n"]
    return "\n".join(text)


_NO_STEP = " (the shape of an array without entries, a case told in [Loops](loops.md#loops-of-no-steps): "
_SIDE = f"{_NO_STEP}one side of an `ifelse` is a reshape that could not run)"
_ENDS = f"{_NO_STEP}laws find how many steps an inner loop takes that may end early)"
_KNOWN = {"language": {1053: _SIDE}, "wide": {10160: _SIDE, 10224: _ENDS, 16745: _ENDS}}
"""Of seeds that may differ why they do."""


def _dates(ran: list[dict[str, Any]]) -> str:
    """The first day and the last."""
    dates = sorted({x["date"] for x in ran})
    return " to ".join(dict.fromkeys((dates[0], dates[-1])))


def _outcomes(lines: list[dict[str, Any]], slopes: list[dict[str, Any]], known: Mapping[int, str]) -> list[str]:
    """What programs, and gradients, came to.  known: of seeds that may differ why they do."""
    text = list[str]()
    for title, some in (("Programs", lines), ("Gradients", slopes)):
        found = totals(some)
        wrong = sorted(x["seed"] for x in some if x["kind"] == "failure")
        why = [f"{seed}{known.get(seed, '') if some is lines else ''}" for seed in wrong]
        text += [f"\n## {title}\n", _table(("", ""), _figures(some))]
        text += [f"\nDiffered: {', '.join(why)}."] if wrong else []
        text += [
            "",
            _table(("outcome", "programs"), found["outcomes"].most_common()),
            "\nThe interpreter and plain Python:\n",
        ]
        text += [_table(("", "programs"), [(words, found["plain"][key]) for key, words in PLAIN.items()])]
        text += ["", _table(("way", "functions"), sorted(found["ways"].items()))]
    return text


def _versions() -> dict[str, str]:
    """The Python and the packages of a run."""
    names = ", ".join(f"{x} {importlib.metadata.version(x)}" for x in ("numpy", "scipy", "egglog"))
    return {"versions": names, "python": platform.python_version()}


_WIDE = """# Soundness of wide programs

Made by `{command}`; do not edit.

{dates}, Python {python}, {versions}. Programs of all 14 dtypes, on inputs of every memory layout, with operators that
raise (indices, slices, sizes, singular matrices in and out of range), in loops of 0 to 4 steps, inside loops, branches
and loops that end early (`tests/corpus/wide/`). Each is run by the interpreter, by plain Python
(`tests/corpus/plain.py`), as written and compiled, and optimized in one way. Exact results must be equal bit for bit;
others (`reassoc`, `fast`) must be as near as the condition of the program allows, which is found by disturbing every
operator (`tests/corpus/noise.py`). A program that raises must raise the same error, and the arguments of a call must
not change. One derivative of each gradient is compared with differences, too.

If something in a shard (a range of seeds) differed, the whole shard is run again once the cause is mended."""


_LANGUAGE = """# Soundness of programs of all operators

Made by `{command}`; do not edit.

{dates}, Python {python}, {versions}. [Wide programs](soundness-wide.md) whose lines are mostly operators that those do
not use: NumPy's functions, special functions, statistics, transforms, linear algebra, windows, sets, random numbers
by keys, promised lengths, bytes read as another dtype, functions with derivatives of their own
(`tests/corpus/wide/language.py`), and recurrences that laws have operators for (`tests/corpus/wide/recurrences.py`).
Each is run and compared in the same ways; one derivative of each of the smooth programs is compared with differences,
too.

If something in a shard (a range of seeds) differed, the whole shard is run again once the cause is mended."""


def _figures(lines: list[dict[str, Any]]) -> list[tuple[str, int]]:
    found, ran = totals(lines), [x for x in lines if x["kind"] == "shard"]
    return [("programs", found["outcomes"].total()),
            ("programs in which anything differed", sum(x["kind"] == "failure" for x in lines)),
            ("functions compiled", found["ways"].total()),
            ("programs whose laws had more to say", sum(len(x["stopped"]) for x in ran)),
            ("seconds, one after the other", round(sum(x["seconds"] for x in ran)))]  # fmt: skip


def _slopes(lines: list[dict[str, Any]]) -> list[str]:
    ran = [x for x in lines if x["kind"] == "shard"]
    text = _SLOPES.format(first=min(x["start"] for x in ran), last=max(x["stop"] for x in ran) - 1)
    return [text, _table(("", ""), _figures(lines)), "", _ways(lines)]


def _ways(lines: list[dict[str, Any]]) -> str:
    return _table(("way", "functions"), sorted(totals(lines)["ways"].items()))


_SLOPES = """
## Gradients

Smooth programs (`tests/corpus/smooth.py`, seeds {first} to {last}): the cost and its gradients with respect to all
inputs, optimized, against the interpreter, in the same ways.  [Others](soundness-gradients.md), seeds 0 to 2999, are
compared with differences, too.
"""

_HEAD = """# Soundness

Made by `{command}`; do not edit.

Seeds {first} to {last}, {dates}, Python {python}, {versions}. Each program is run by the interpreter, by plain Python
(loops over NumPy, written from the documents alone: `tests/corpus/plain.py`), and optimized: with `fp="exact"`, with
`fp="reassoc"`, or in odd ways (costs out of thin air, greedy extraction, rulesets left out, saved and loaded). Exact
results must be equal bit for bit, others up to rounding; a program that raises must raise the same error. A program
with shared variables is called twice, and the values of these variables after each call count as results.

If something in a shard (a range of seeds) differed, the whole shard is run again once the cause is mended, and the
program becomes a test (`FOUND` in `tests/test_corpus.py`); other shards are not run again."""


def _table(head: tuple[str, str], rows: Sequence[tuple[Any, Any]]) -> str:
    lines = [head, ("---", "---:"), *rows]
    return "\n" * (head == ("", "")) + "\n".join(f"| {a} | {b} |" for a, b in lines)
