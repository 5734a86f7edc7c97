"""All laws and facts, as text and as the page docs/laws.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from scanopt.calculus.condition import FACTS, Fact
from scanopt.calculus.law import INPLACE, Law, named_laws, standard_laws
from scanopt.program.storage.rules import GIVEN, storage_rules

__all__ = ["facts_text", "laws_page", "laws_text", "proofs", "storage_rules_text"]

_INTRODUCTION = """\
# Laws and facts

Made by `scanopt laws --markdown`; do not edit.  A law is applied from left to right, wherever its left side is found
and its conditions hold; the form on the left is kept, too.  [Design](design.md#the-calculus) says what the terms mean,
and [Writing laws](writing-laws.md) how to write a law.

Licences: `exact`: both sides are equal bit for bit; `reassoc`: rounding may differ; `fast`: the formula may differ.
A law that is *enabling* saves nothing by itself, but other laws need it.  `*args` is a whole list of arguments.

Proofs: *proved*: both sides are equal, and raise in the same cases, in loops of up to {steps} steps and on small arrays
of unknowns ([Writing laws](writing-laws.md#a-proof)); *out of reach*: neither proved nor refuted, with the reason.
{counts} """

_PROOFS = Path(__file__).with_name("proofs.json")
"""The record that `scanopt prove-law --all --json` printed."""


_STORAGE = """\
These are not laws about terms: once the program is chosen, these rules say where its values are stored.  Each stage is
complete before the next one begins, so that a rule may also use the fact that something does not hold.
`(forbid x a)`: x is not written over a.
"""


def laws_text(names: Sequence[str] = ()) -> str:
    """All laws with their conditions, or those of the named laws and rulesets.

    Raises ValueError for a name that neither has.
    """
    laws = standard_laws()
    wanted = {x.name: x for n in names for x in named_laws(laws, n)} if names else {x.name: x for x in laws}
    return "\n\n".join("\n".join(_paragraph(x)) for x in wanted.values())


def facts_text(names: Sequence[str]) -> str:
    """Some facts: what each means, where it is imported from, what derives it, and the laws that ask for it.

    >>> print(facts_text(["less"]).splitlines()[1])
        from scanopt.facts.values import less
    """
    return "\n\n".join("\n".join(_about(FACTS[name])) for name in names)


def _about(x: Fact) -> Iterable[str]:
    yield f"{x.signature}  [{x.kind}]"
    yield f"    from {x.module} import {x.name}"
    yield f"    {x.meaning}"
    yield from (f"    {rule}" for rule in x.rules)
    asking = [law.name for law in standard_laws() if any(c.fact == x.name for c in law.equation.when)]
    yield f"    a condition of {', '.join(asking)}" if asking else "    a condition of rules of other facts only"


def _paragraph(x: Law) -> Iterable[str]:
    tags = [x.licence, *(["enabling"] if x.enabling else [])]
    yield f"{x.ruleset}: {x.name}  [{', '.join(tags)}]"
    yield f"    {x.doc.splitlines()[0]}" if x.doc else "    (no text)"
    yield f"    {x.formula}"
    if x.conditions:
        yield f"    when {', '.join(x.conditions)}"
    yield f"    {_proof(x)}" + ("" if x.name in proofs() else f": scanopt prove-law {x.name}")
    if x.source:
        yield f"    source: {x.source}"


def laws_page() -> str:
    """The page docs/laws.md: every law by ruleset, the rules of storage, then every fact with its meaning."""
    parts = [_introduction()]
    for ruleset, laws in groupby(standard_laws(), key=lambda x: x.ruleset):
        rows = [
            f"## {ruleset}\n",
            "| law | formula | when | licence | proof | source |",
            "|---|---|---|---|---|---|",
            *map(_row, laws),
        ]
        parts.append("\n".join(rows) + "\n")
    parts.append(_storage_section())
    rows = [
        "## Facts\n",
        "These are the conditions of laws.  What is not known does not hold.  `facts.values` is short for\n"
        "`from scanopt.facts.values import ...`; `scanopt laws NAME` also prints what derives a fact, and the laws\n"
        "that ask for it.\n",
        "| fact | meaning | import from |",
        "|---|---|---|",
        *(_fact_row(FACTS[name]) for name in sorted(FACTS)),
    ]
    return "\n".join([*parts, "\n".join(rows)]) + "\n"


def storage_rules_text() -> str:
    """The rules of what is computed in place, with their Datalog.

    >>> print(storage_rules_text().splitlines()[0])
    inplace: last_read  [shapes]
    """
    return "\n\n".join(
        "\n".join([f"{INPLACE}: {x.name}  [{x.stage}]", f"    {x.meaning}", *(f"    {line}" for line in x.lines())])
        for x in storage_rules()
    )


@cache
def proofs() -> dict[str, dict[str, str]]:
    """The recorded proofs, by the names of laws: outcome, detail, and the text of the law when it was tried."""
    found: dict[str, dict[str, str]] = json.loads(_PROOFS.read_text(encoding="utf-8"))["laws"]
    return found


def _introduction() -> str:
    steps = json.loads(_PROOFS.read_text(encoding="utf-8"))["steps"]
    outcomes = [_proof(x).partition(":")[0] for x in standard_laws()]
    counts = ", ".join(f"{outcomes.count(o)} {o}" for o in dict.fromkeys(sorted(outcomes)))
    return _INTRODUCTION.format(steps=steps, counts=f"Of {len(outcomes)} laws: {counts}.")


def _proof(x: Law) -> str:
    """The recorded outcome of proving a law; "not tried" if there is none, or the law has changed since."""
    found = proofs().get(x.name)
    if found is None or found["says"] != str(x):
        return "not tried"
    return f"{found['outcome']}: {found['detail']}"


def _storage_section() -> str:
    rows = [
        f"## {INPLACE}\n",
        _STORAGE,
        "| rule | stage | meaning | Datalog |",
        "|---|---|---|---|",
        *(_cells(f"**{x.name}**", x.stage, x.meaning, "<br>".join(f"`{line}`" for line in x.lines()))
          for x in storage_rules()),
        "\nWhat they start from, read off the program that was chosen:\n",
        "| relation | meaning |",
        "|---|---|",
        *(_cells(f"`{name}({', '.join(columns.split())})`", meaning) for name, (columns, meaning) in GIVEN.items()),
    ]  # fmt: skip
    return "\n".join(rows) + "\n"


def _row(x: Law) -> str:
    when = "<br>".join(f"`{c}`" for c in x.conditions)
    licence = x.licence + (", enabling" if x.enabling else "")
    says = x.doc.splitlines()[0] if x.doc else ""
    return _cells(f"**{x.name}**<br>{says}", f"`{x.formula}`", when, licence, _proof(x), x.source)


def _fact_row(x: Fact) -> str:
    return _cells(f"`{x.signature}`", x.meaning, f"`{x.module.removeprefix('scanopt.')}`")


def _cells(*cells: str) -> str:
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"
