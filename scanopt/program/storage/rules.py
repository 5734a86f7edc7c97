"""Where the values of a loop program live, derived by Datalog rules in an e-graph of their own.

The rules are those of `scanopt.rewrites.inplace`, the facts those of one program that is already
chosen.  Rules run in stages: each stage reaches its fixpoint before the next one begins, which may
then ask what was *not* derived (a function keeps the least or the greatest of the values that it was
given, and is read in later stages alone).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scanopt.calculus.law import INPLACE, ruleset
from scanopt.egraph.relation_files import Tables, tables_text
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.egraph.engine import TableRows

__all__ = ["GIVEN", "STAGES", "StorageRule", "derive", "storage_rules"]

GIVEN: dict[str, tuple[str, str]] = {
    "made": ("x b p", "step p of body b makes x; p = -1: x is there before its first step"),
    "given": ("x", "x is an input or a constant of the program"),
    "own": ("x", "x may be an array that its step makes, and no view of another one"),
    "fills": ("x", "the operator that makes x can compute it in an array that it is given; x has axes"),
    "view": ("x y", "x may share memory with y"),
    "typed": ("x k", "x has type number k: its dtype and its number of axes"),
    "varies": ("x c", "the shape of x may differ between two steps of loop c"),
    "argument": ("x i a", "a is argument i of the operator that makes x"),
    "entrywise": ("x", "each entry of x is computed from the same entry of its arguments alone"),
    "changes": ("x", "x is its argument 0 with some entries changed"),
    "reads": ("b p x n", "step p of body b reads x, made in b, n times; p = number of steps: when all are done"),
    "around": ("b c d", "loop c lies around body b, and d loops lie around c"),
    "inner": ("b c", "c is the innermost loop around body b"),
    "within": ("b e", "body b is e, or lies in it"),
    "stands": ("c b p", "loop c is step p of body b"),
    "state": ("s c", "s is a state of loop c"),
    "starts": ("s x", "the initial rows of state s are x"),
    "depth": ("s d", "state s has d initial rows"),
    "tap": ("s k x", "in the loop, x is state s as it was k steps ago"),
    "update": ("s x", "x is the new row of state s"),
    "keeps": ("c x k", "loop c keeps all rows of x as the array k"),
}
"""The facts given of a program: relations of numbers, by name, with their columns and their meaning.

x, y, a, k: names; b, e: bodies (the steps of the program, of a loop, of a side of a branch).
"""

STAGES = ("shapes", "kinds", "lives", "views", "flow", "memory", "refusals", "choices", "results")
"""The stages in order; each reaches its fixpoint before the next begins."""

_WISH = "wants_"
_FORBID = "(forbid x a)"
_FORBIDDEN = '(set (refused x a) 1) (because x a "{}")'
Row = tuple[Any, ...]


@dataclass(frozen=True)
class StorageRule:
    """A named decision about memory: its meaning, and the Datalog that derives it.

    stage: one of `STAGES`.  rules: in egglog's syntax, `body => head` each, the head on its last line; the head
    `(forbid x a)` says that x is not written onto a, and notes that this rule said so.  declares: the
    relations and functions that it brings.
    """

    name: str
    stage: str
    meaning: str
    rules: str
    declares: str = ""

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise ValueError(f"rule {self.name}: stage must be one of {', '.join(STAGES)}, found {self.stage!r}")
        if wrong := [x for x in self.lines() if x.count("=>") != 1 or x.count("(") != x.count(")")]:
            raise ValueError(f"rule {self.name}: expected `body => head`, found {wrong[0]!r}")

    def lines(self) -> list[str]:
        """Its rules, each on one line."""
        made: list[str] = []
        for line in filter(None, map(str.strip, self.rules.splitlines())):
            if made and "=>" not in made[-1]:
                made[-1] += f" {line}"
            else:
                made.append(line)
        return made

    @property
    def forbids(self) -> bool:
        """Whether it is a condition: without it, more would be overwritten."""
        return _FORBID in self.rules

    def egglog(self) -> str:
        """The rules in egglog's syntax."""
        made: list[str] = []
        for i, line in enumerate(self.lines()):
            body, _, head = line.replace(_FORBID, _FORBIDDEN.format(self.name)).partition("=>")
            made.append(f'(rule ({body}) ({head}) :ruleset {self.stage} :name "{self.name} {i}")')
        return "\n".join(made)


def storage_rules(in_place: bool = True) -> tuple[StorageRule, ...]:
    """The rules of the project, in the order of their file.

    in_place: False leaves out the rules that wish to write onto something, so that no result is written so.

    >>> [x.name for x in storage_rules() if x.stage == "flow"]
    ['stale', 'copied']
    """
    rules: tuple[StorageRule, ...] = ruleset(INPLACE).RULES
    return rules if in_place else tuple(replace(x, rules="") if x.name.startswith(_WISH) else x for x in rules)


@lru_cache(maxsize=8)
def _text(rules: tuple[StorageRule, ...]) -> str:
    """The egglog text: declarations of facts, rules that read facts from lines of tables, and `rules`."""
    sorts = {name: ["i64"] * len(columns.split()) for name, (columns, _) in GIVEN.items()}
    parts = [f"(relation {name} ({' '.join(columns)}))" for name, columns in sorts.items()]
    parts.append(tables_text(sorts))
    parts += [f"(ruleset {stage})" for stage in STAGES]
    parts += [x.declares for x in rules]
    parts += [x.egglog() for x in rules]
    return "\n".join(parts)


_RUN = f"(run-schedule {' '.join(f'(saturate (run {stage}))' for stage in STAGES)})"


def derive(
    facts: Iterable[tuple[str, Sequence[int]]], wanted: Sequence[str], rules: tuple[StorageRule, ...] | None = None
) -> Mapping[str, list[Row]]:
    """Derive what follows from the facts of a program: the rows of each wanted table, of a function with its value.

    facts: names of `GIVEN` with their rows.  rules: by default those of the project.
    Raises ImportError where egglog is not installed.

    >>> facts = [("made", (0, 0, 2)), ("reads", (0, 4, 0, 1)), ("reads", (0, 3, 0, 1))]
    >>> derive(facts, ["last_read"])
    {'last_read': [(0, 4)]}
    """
    from scanopt.egraph.engine import take

    text = _text(storage_rules() if rules is None else rules)
    table = Tables()
    for name, row in facts:
        table.add(name, *row)
    engine = take(text)
    try:
        table.load(engine.run)
        engine.run(_RUN)
        found = engine.tables(wanted)
        return {name: sorted(_rows(found[name])) for name in wanted}
    finally:
        engine.close()


def _rows(table: TableRows) -> Iterator[Row]:
    """The rows of a relation; those of a function with its value."""
    return ((*row, value) if table.sort == "i64" else row for row, value in table.rows)
