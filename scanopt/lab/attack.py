"""Attacks on a law: the checks that every law has to pass, so that no law needs its own test.

A law must fire on its examples and not on its `never` programs.  Without any one of its conditions something must go
wrong, unless it is proven that the others imply that one.  Programs that the law makes equal must have equal results,
also for no, one, two and seven steps, empty arrays, negative zeros, infinities and NaN: its own programs, those with
other numbers and functions, random ones that contain its left side, and loops of all kinds.  Checks in a program must
remain.  And the law must make some example cheaper, unless it is declared `enabling`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, product

from scanopt.backends.kernels.prices import KERNELS
from scanopt.calculus.law import LICENCES, Law, Program, allowed, standard_laws
from scanopt.compilation.optimize import optimize
from scanopt.compilation.settings import Settings
from scanopt.egraph.encode import encode
from scanopt.egraph.reach import Reach
from scanopt.egraph.session import EGraph, UnsoundLawError
from scanopt.extraction.cost import numpy_cost
from scanopt.lab.attacked_program import Saturated, Subject, Ways, build
from scanopt.lab.checked_values import checked_programs
from scanopt.lab.law_mutation import Mutation, mutations
from scanopt.lab.pattern_proofs import Proofs
from scanopt.lab.variants import together, variants
from scanopt.records import dataclass

__all__ = ["Attack", "Finding", "Loops"]

Loops = Callable[[Law], Iterable[tuple[str, Program]]]
"""A function that gives programs, by name, to attack a law with beside its own."""

_TRIES = 1
"""How many programs are tried from the e-graph of each program that is not the law's own."""

_TRIES_ALONE = 8
"""How many are tried from the e-graph of one result of a program that was made wrong."""

_VARIANTS = 8
"""How many variants are tried of each of the law's own programs."""

_READING = "save_mem"
"""The ruleset that finds out which rows of traces are read."""


def _none(law: Law) -> Iterable[tuple[str, Program]]:
    return ()


@dataclass(frozen=True)
class Finding:
    """A successful attack: what failed, and on which program.

    counterexample: a program that is made wrong, as text: before, after, values, both results.
    """

    law: str
    attack: str
    detail: str
    counterexample: str = ""

    def __str__(self) -> str:
        return f"{self.law}: {self.attack}: {self.detail}"


class Attack:
    """All attacks on one law.

    ways: how programs run.  laws: the laws that run beside it (default: the standard ones).
    """

    def __init__(self, law: Law, ways: Ways, laws: Sequence[Law] | None = None, loops: Loops = _none) -> None:
        others = allowed(standard_laws() if laws is None else laws, max(law.licence, "reassoc", key=LICENCES.index))
        self.law = law
        self.laws = others if law in others else (*(x for x in others if x.name != law.name), law)
        self._ways = ways
        self._loops = loops
        self._known: dict[Program, tuple[Subject, Saturated]] = {}

    def _with_all(self, program: Program) -> tuple[Subject, Saturated]:
        """A program of the law, and the e-graph that all laws make of it, cached."""
        if program not in self._known:
            subject = Subject(program, self._ways)
            self._known[program] = subject, subject.saturated(self.laws)
        return self._known[program]

    def findings(self) -> list[Finding]:
        """The attacks that succeeded; empty for a law that passes.  What a false law saves is not checked."""
        anywhere = islice(chain(self.alike(), self.elsewhere(), self.checks()), 1)
        found = [*self.firing(), *self.conditions(), *self.soundness(), *anywhere]
        return [*found, *([] if any(x.attack == "soundness" for x in found) else self.paying())]

    def _finding(self, attack: str, detail: str, counterexample: str = "") -> Finding:
        return Finding(self.law.name, attack, detail, counterexample)

    def fires(self, program: Program, law: Law | None = None) -> bool:
        """Whether the law, or `law` in its place, fires on a program; uniting different types counts as firing."""
        if law is None:
            _, found = self._with_all(program)
            return found.graph is None or found.matches.get(self.law.name, 0) > 0
        laws = [law if x.name == self.law.name else x for x in self.laws]
        inputs, outputs = build(program)
        engine = EGraph(encode(inputs, outputs), laws, "reassoc")
        try:
            return engine.saturate(sought=law.name).matches.get(law.name, 0) > 0
        except UnsoundLawError:
            return True
        finally:
            engine.close()

    def firing(self) -> list[Finding]:
        """Check that it fires on every example, where all laws must stay within limits, and on no `never` program."""
        return [*self.on_examples(), *self.on_never()]

    def on_examples(self) -> Iterator[Finding]:
        """Check that it fires on every example, and that all laws together stay within their limits there."""
        for n, program in enumerate(self.law.example):
            if not self.fires(program):
                yield self._finding("example", f"does not fire on example {n}")
            if limit := self._with_all(program)[1].stopped_by:
                yield self._finding("example", f"reaches the limit of {limit} on example {n}")

    def on_never(self) -> Iterator[Finding]:
        """Check that it fires on no `never` program, also after all laws have rewritten it."""
        for n, program in enumerate(() if self._never_together() else self.law.never):
            if self.fires(program):
                yield self._finding("never", f"fires on never {n}")

    def _never_together(self) -> bool:
        """Whether it does not fire on all `never` programs joined into one: then it fires on none of them."""
        if len(self.law.never) < 2:
            return False
        found = Subject(together(self.law.never), self._ways).saturated(self.laws, sought=self.law.name)
        return found.graph is not None and not found.stopped_by

    def mutations(self) -> list[Mutation]:
        """The outcome for the law without each of its conditions."""
        proofs: list[Proofs] = []

        def implied(law: Law, place: int) -> bool:
            proofs[:] = proofs or [Proofs(self.laws)]  # loaded when first needed
            return proofs[0].implied(law, place)

        def unsound(mutant: Law) -> str:
            ways = (self.soundness(mutant=mutant), self.alike(mutant), self.elsewhere(mutant), self.checks(mutant))
            found = chain.from_iterable(ways)
            return next((x.detail for x in found), "")

        return list(mutations(self.law, self.fires, unsound, implied))

    def conditions(self) -> list[Finding]:
        """Check that each condition, dropped alone, lets something go wrong, or is proven to follow from the others."""
        return [
            self._finding("condition", f"nothing changes without {m.condition}")
            for m in self.mutations()
            if m.outcome == "survives"
        ]

    def soundness(self, tries: int = 6, mutant: Law | None = None) -> Iterator[Finding]:
        """Check that random programs of the e-graph equal the interpreter, bit for bit where exact.

        mutant: a law in place of this one, which is attacked on the `never` programs, too.
        """
        programs = self.law.example if mutant is None else (*self.law.example, *self.law.never)
        for n, program in enumerate(programs):
            yield from self._attacked(f"program {n}", program, mutant, tries)

    def alike(self, mutant: Law | None = None) -> Iterator[Finding]:
        """Check the same, under the law alone, on variants of its programs: with other numbers and functions.

        Variants whose types do not fit are left out.
        """
        law = mutant or self.law
        for n, program in enumerate((*law.example, *law.never)):
            for seed, variant in enumerate(variants(program, _VARIANTS)):
                if (subject := self._built(variant, seed)) is not None:
                    yield from self._alone(f"variant {seed} of program {n}", law, subject, subject.of_matrices)

    def _built(self, program: Program, seed: int) -> Subject | None:
        """The subject of a program; None if its types do not fit."""
        try:
            subject = Subject(program, self._ways, seed)
            _ = subject.encoded
        except (TypeError, ValueError, OverflowError):
            return None
        return subject

    def _alone(self, name: str, law: Law, subject: Subject, finite: bool = False) -> Iterator[Finding]:
        """Attack one program under the law alone."""
        if Reach((law,)).can_fire(subject.encoded)[0]:
            found = subject.saturated((law,))
            if found.graph is None or found.matches.get(law.name):
                yield from self._refuted(name, subject, (law,), found, quick=True, finite=finite)

    def elsewhere(self, mutant: Law | None = None) -> Iterator[Finding]:
        """Check the same on programs that are not the law's own: `loops`.

        First beside the laws alone that find which rows are read, then, if it never fired, beside all laws.
        """
        law = mutant or self.law
        reading = [x for x in self.laws if x.ruleset == _READING and x.name != self.law.name]
        laws = [law if x.name == self.law.name else x for x in self.laws]
        fired = False
        for some in ((law, *reading), laws):
            reach, place = Reach(some), some.index(law)
            for seed, (name, program) in enumerate(self._loops(law)) if not fired else ():
                subject = Subject(program, self._ways, seed)
                if not reach.can_fire(subject.encoded)[place]:
                    continue
                found = subject.saturated(some)
                if found.graph is None or found.matches.get(law.name):
                    fired = True
                    yield from self._refuted(name, subject, some, found, quick=True)

    def checks(self, mutant: Law | None = None) -> Iterator[Finding]:
        """Check that a check is kept where the law by itself leaves out the value that is checked."""
        law = mutant or self.law
        for name, program in checked_programs(law):
            yield from self._alone(name, law, Subject(program, self._ways))

    def _attacked(self, name: str, program: Program, mutant: Law | None, tries: int) -> Iterator[Finding]:
        """Attack one program under the law alone, then under all laws; the interpreter runs once for equal values."""
        law = mutant or self.law
        laws = [law if x.name == self.law.name else x for x in self.laws]
        subject, everything = self._with_all(program) if mutant is None else (Subject(program, self._ways), None)
        for some, known in (((law,), None), (laws, everything)):
            yield from self._refuted(name, subject, some, known or subject.saturated(some), tries)

    def _refuted(
        self,
        name: str,
        subject: Subject,
        laws: Sequence[Law],
        found: Saturated,
        tries: int = _TRIES,
        quick: bool = False,
        finite: bool = False,
    ) -> Iterator[Finding]:
        """Findings of what is wrong in a program: in the program of a single result, where it is wrong there, too."""
        for d in subject.differences(laws, found, tries, quick=quick, finite=finite):
            simplest = d
            for place in (d.places or range(len(subject.outputs))) if len(subject.outputs) > 1 else ():
                alone = subject.alone(place)
                ways = alone.differences(laws, alone.saturated(laws), _TRIES_ALONE, quick=quick, finite=finite)
                if (simpler := next(ways, None)) is not None:
                    simplest = simpler
                    break
            yield self._finding("soundness", f"{name}: {simplest.text}", simplest.told())

    def paying(self) -> list[Finding]:
        """Check that some example is cheaper with it than without it, as array steps or in kernels, under the usual
        licence or under its own."""
        if self.law.enabling:
            return []
        licences = dict.fromkeys((Settings().fp, self.law.licence))
        for cost, program, fp in product((numpy_cost, KERNELS), self.law.example, licences):
            encoded, laws, settings = encode(*build(program)), allowed(self.laws, fp), Settings(fp=fp, cost=cost)
            rest = [x for x in laws if x.name != self.law.name]
            with_it = optimize(encoded, laws, settings).extraction.cost
            if with_it < optimize(encoded, rest, settings).extraction.cost * (1 - 1e-9):
                return []
        return [self._finding("use", "makes no example cheaper and is not declared enabling")]
