"""A program in which terms that laws found equal are written once, so that its text can be analysed again.

States and loops that are equal at every step, states that pass on what another one was, products that stand side by
side, what an accumulated state adds up: everything that needs the whole program is found in its text before saturation.
Laws may then show that the text says the same thing twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Set
from dataclasses import replace

from scanopt.analysis.coinduction import may_be_equal, waiting
from scanopt.analysis.consecutive_loops import loops_in_parts
from scanopt.analysis.initial_facts import Given
from scanopt.analysis.late_reads import reading_late
from scanopt.analysis.shared_operands import products_beside
from scanopt.analysis.states import passing_on
from scanopt.calculus.encoded import Encoded, clocks_of
from scanopt.calculus.forms import Form, StateInfo

__all__ = ["simplified", "told"]


def simplified(
    program: Encoded, classes: Mapping[int, int], equal: Collection[Given], known: Set[Given]
) -> Encoded | None:
    """The program with each term replaced by the first one equal to it, if that may show further facts; else None.

    classes: the class of each term.  equal: what was proven of the program's states and loops.  known: what was
    found in its text by `told`, among other facts.
    """
    first = _first(program, classes)
    if all(i == j for i, j in first.items()):
        return None
    out = _made_of(program, first)
    return out if told(out) - known or may_be_equal(out, equal) else None


def _first(g: Encoded, classes: Mapping[int, int]) -> dict[int, int]:
    """Per term the first one on its clock that is equal, among those that wait for no more loops.

    What a term is made of waits for no more loops than before, so that no loop comes to wait for its own trace.
    """
    clocks = clocks_of(g)
    equal: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, _ in g.forms():
        if i in classes:
            equal[classes[i], clocks[i]].append(i)
    several = [(clock, terms) for (_, clock), terms in equal.items() if len(terms) > 1]
    waits = {c: waiting(g, c) for c in dict.fromkeys(c for c, _ in several)}
    out = {i: i for i, _ in g.forms()}
    for clock, terms in several:
        for i in terms:
            out[i] = next(j for j in terms if waits[clock][j] <= waits[clock][i])
    return out


def _made_of(g: Encoded, first: Mapping[int, int]) -> Encoded:
    def of(form: Form) -> Form:
        args = tuple([first[a] for a in form.args])
        return form if args == form.args else form._replace(args=args)

    out = Encoded()
    vars(out).update(vars(g))
    out.classes = {i: [of(f) for f in forms] for i, forms in g.classes.items()}
    out.states = {s: StateInfo(info.label, tuple(first[u] for u in info.updates)) for s, info in g.states.items()}
    out.clocks = {
        c: replace(info, steps=first[info.steps], until=tuple(first[u] for u in info.until))
        for c, info in g.clocks.items()
    }
    out.roots, out.checks = (tuple(first[i] for i in ids) for ids in (g.roots, g.checks))
    return out


def told(g: Encoded) -> set[Given]:
    """The facts that are looked up in a program's text about terms that stand side by side, and states passed on."""
    passed_on = {x for x in passing_on(g) if x[0] == "passed_on"}
    return {*products_beside(g), *reading_late(g), *loops_in_parts(g), *passed_on}
