"""All attacks on laws, and on laws without each of their conditions; the outcomes as text and as pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from textwrap import shorten
from typing import Any

from scanopt.array.variable import Variable
from scanopt.backends import executor
from scanopt.calculus.law import Law, Program, standard_laws
from scanopt.extraction.extract import Extraction
from scanopt.interpreter import interpret
from scanopt.lab.attack import Attack, Finding, Loops
from scanopt.lab.attacked_program import Ways
from scanopt.lab.instances import instances
from scanopt.lab.law_mutation import Mutation
from scanopt.lab.loops import LOOPS
from scanopt.lab.pattern_proofs import Proofs
from scanopt.lab.variants import together
from scanopt.program.lower import lower
from scanopt.progress import each
from scanopt.records import dataclass
from scanopt.view.tables import markdown_table

__all__ = [
    "WAYS", "LawVerdict", "attack_on", "checked", "follows_from", "general", "mutated", "mutations_of",
    "mutations_page", "verdicts",
]  # fmt: skip

_FINDINGS = 3  # shown for one law, at most


def _compiled(extraction: Extraction) -> Callable[[Sequence[Any]], list[Any]]:
    return executor("numpy").compile(lower(extraction, exact=True))


def _reference(inputs: Sequence[Variable], outputs: Sequence[Variable], values: Sequence[Any]) -> list[Any]:
    results: list[Any] = interpret(list(outputs), dict(zip(inputs, values, strict=True)))
    return results


WAYS = Ways(_compiled, _reference, lambda extraction: str(lower(extraction, exact=True)))
"""Programs run on NumPy, and by the interpreter as the reference."""


_INSTANCES, _TOGETHER = 96, 6
"""Random programs with the left side of a law, and how many of them share one e-graph."""


def general(law: Law) -> Iterator[tuple[str, Program]]:
    """Programs to attack any law on: random ones that contain its left side, several in one, and loops of all kinds."""
    made = instances(law, _INSTANCES)
    for n, some in enumerate(iter(lambda: tuple(islice(made, _TOGETHER)), ())):
        yield f"random programs {n}", together(some)
    yield from LOOPS.items()


def attack_on(law: Law, loops: Loops = general) -> Attack:
    """All attacks on a law, as it runs on NumPy, against the interpreter.  loops: programs beside its own."""
    return Attack(law, WAYS, loops=loops)


def checked(laws: Sequence[Law], say: Callable[[str], None], loops: Loops = general) -> bool:
    """Attack each law and print the outcome: "stands", or findings with a counterexample.  Returns whether all stand.

    loops: programs beside its own.
    """
    stand = True
    for x in verdicts(laws, loops):
        stand = stand and x.stands
        proven = follows_from(x.follows)
        if proven or x.stands:
            say(f"{x.law}: {'; '.join([*(['stands'] if x.stands else []), *([proven] if proven else [])])}")
        for finding in x.findings[:_FINDINGS]:
            say(str(finding))
        if len(x.findings) > _FINDINGS:
            say(f"{x.law}: {len(x.findings) - _FINDINGS} more findings")
        shown = next((f.counterexample for f in x.findings if f.counterexample), "")
        if shown:
            say("\n" + "\n".join(f"    {line}".rstrip() for line in shown.splitlines()) + "\n")
    return stand


@dataclass(frozen=True)
class LawVerdict:
    """The findings of all attacks on a law.  follows: laws that prove it, None where it does not follow from others."""

    law: str
    follows: tuple[str, ...] | None
    findings: tuple[Finding, ...]

    @property
    def stands(self) -> bool:
        """Whether no attack succeeded."""
        return not self.findings


def verdicts(laws: Sequence[Law], loops: Loops = general) -> Iterator[LawVerdict]:
    """Attack each law.  loops: programs beside its own."""
    standard = {x.name: x for x in standard_laws()}
    # a law with the name of a standard one is attacked, but proves no others
    proofs = Proofs((*standard.values(), *(x for x in laws if x.name not in standard)))
    for x in each("attacking laws", laws, _name):
        yield LawVerdict(x.name, proofs.derivable(x), tuple(attack_on(x, loops).findings()))


def _name(law: Law) -> str:
    return law.name


def follows_from(laws: tuple[str, ...] | None) -> str:
    """Words for a law that others prove.

    >>> follows_from(None), follows_from(("merge",))
    ('', 'it says nothing new: it follows from merge')
    """
    return "" if laws is None else f"it says nothing new: it follows from {', '.join(laws) or 'facts alone'}"


def mutated(laws: Sequence[Law], say: Callable[[str], None], loops: Loops = general) -> bool:
    """Drop each condition of each law in turn and print what goes wrong.  Returns whether something does for each."""
    survivors = count = 0
    for m in mutations_of(laws, loops):
        count += 1
        survivors += m.outcome == "survives"
        say(str(m))
    say(f"{count} conditions of {len(laws)} laws dropped, one at a time; nothing showed for {survivors}")
    return not survivors


def mutations_of(laws: Sequence[Law], loops: Loops = general) -> Iterator[Mutation]:
    """The outcomes for each law without each of its conditions."""
    for x in each("dropping conditions", laws, _name):
        yield from attack_on(x, loops).mutations()


_PAGE = """\
# Conditions that laws cannot do without

Made by `scanopt check-law --all --mutate --markdown`; do not edit.  Each condition of each law was dropped, one at a
time, and the law attacked as [Writing laws](writing-laws.md) says.  *fires*: it then fires on one of its `never`
programs, where it must not.  *unsound*: it then makes programs equal that are not.  *unbound*: without it nothing says
what some variable is, so there is no such law.  *implied*: the others imply it, which is proven on the law's pattern.
*SURVIVES*: no difference was seen; there must be no such row.

"""


def mutations_page(laws: Sequence[Law], loops: Loops = general) -> str:
    """The page docs/mutations.md."""
    found = list(mutations_of(laws, loops))
    rows = [
        [f"`{m.law}`", f"`{m.condition}`", "SURVIVES" if m.outcome == "survives" else m.outcome, _line(m.detail)]
        for m in found
    ]
    counts = {outcome: sum(m.outcome == outcome for m in found) for outcome in dict.fromkeys(m.outcome for m in found)}
    summary = ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))
    table = markdown_table(["law", "without", "what goes wrong", "where"], rows)
    return f"{_PAGE}{table}\n\n{len(found)} conditions of {len(laws)} laws: {summary}.\n"


def _line(text: str) -> str:
    """A text in one line that fits a cell."""
    return shorten(text, 100, placeholder=" ...")
