"""Attacks on a law: everything that is checked of every law, with no test to write.

A law fires on its examples and not on its `never` programs; dropping any one condition makes it
fire there, or is proven to change nothing; whatever programs it makes equal are equal, also for no,
one, two and seven steps, empty arrays, negative zeros, infinities and NaN; and it makes some example
cheaper, or is `enabling`.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.array.variable import Variable
from scanopt.calculus.cost import Work, numpy_cost
from scanopt.calculus.counterexample import Trial
from scanopt.calculus.egraph import EGraph, UnsoundLawError
from scanopt.calculus.encode import encode
from scanopt.calculus.extract import Extraction, extract
from scanopt.calculus.forms import TermGraph
from scanopt.calculus.greedy import greedy
from scanopt.calculus.law import Law, Program, standard_laws
from scanopt.calculus.mutation import Mutation, mutations
from scanopt.calculus.optimize import Settings, as_written, optimize
from scanopt.calculus.problem import Problem
from scanopt.calculus.sizes import Sizes, example_operands
from scanopt.calculus.symbolic import Proofs

__all__ = ["Attack", "Finding", "build", "parameters", "random_values"]

_KINDS = {
    "xyzuv": ("float64", 1), "XYUWAB": ("float64", 2), "ab": ("float64", 0), "kn": ("int64", 0),
    "pq": ("int64", 1), "m": ("bool", 1),
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One attack that succeeded: what failed, and on which program.

    counterexample: a program that is made wrong, as text: before, after, values, both results.
    """

    law: str
    attack: str
    detail: str
    counterexample: str = ""

    def __str__(self) -> str:
        return f"{self.law}: {self.attack}: {self.detail}"


def parameters(program: Program) -> list[Variable]:
    """Fresh inputs of a program, typed by the letters of its parameters.

    x y z u v: float64 vectors; X Y U W A B: matrices; a b: scalars; k n: int64 scalars;
    p q: int64 vectors; m: bool vector.
    """
    out: list[Variable] = []
    for name in inspect.signature(program).parameters:
        found = next((t for letters, t in _KINDS.items() if name in letters), None)
        if found is None:
            raise ValueError(f"programs of laws take inputs named by {' '.join(_KINDS)}, found {name!r}")
        out.append(Variable(TensorType(found[0], (None,) * found[1]), name))
    return out


def build(program: Program) -> tuple[list[Variable], list[Variable]]:
    """Inputs and outputs of a program."""
    inputs = parameters(program)
    made = program(*inputs)
    return inputs, list(made) if isinstance(made, list | tuple) else [made]


_SPECIAL = (0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 0.5, 3.0)


def random_values(
    inputs: Sequence[Variable], n: int, rng: random.Random, special: bool = True
) -> list[np.ndarray[Any, Any]]:
    """Values for a program's inputs: all lengths n, integers n, some special floats if asked for."""
    out: list[np.ndarray[Any, Any]] = []
    for x in inputs:
        count = n**x.ndim
        match np.dtype(x.dtype).kind:
            case "i" if x.ndim == 0:
                values: list[Any] = [n]
            case "i":
                values = [rng.randrange(0, max(n, 1)) for _ in range(count)]
            case "b":
                values = [rng.random() < 0.5 for _ in range(count)]
            case _:
                values = [
                    rng.choice(_SPECIAL) if special and rng.random() < 0.2 else rng.uniform(-2, 2) for _ in range(count)
                ]
        out.append(np.array(values, x.dtype).reshape((n,) * x.ndim))
    return out


class Attack:
    """All attacks on one law.

    run: runs an extraction on values; reference: the interpreter's results.  laws: the laws that
    stand beside it (default: the standard ones).  show: an extraction as text, for counterexamples.
    """

    def __init__(
        self,
        law: Law,
        run: Callable[[Any, Sequence[Any]], list[Any]],
        reference: Callable[[Sequence[Variable], Sequence[Variable], Sequence[Any]], list[Any]],
        laws: Sequence[Law] | None = None,
        seed: int = 0,
        show: Callable[[Extraction], str] = str,
    ) -> None:
        others = standard_laws() if laws is None else laws
        self.law = law
        self.laws = (*(x for x in others if x.name != law.name), law)
        self._run = run
        self._reference = reference
        self._show = show
        self._rng = random.Random(seed)

    def findings(self) -> list[Finding]:
        """What succeeded; empty for a law that stands."""
        return [*self.firing(), *self.conditions(), *self.soundness(), *self.paying()]

    def _finding(self, attack: str, detail: str, counterexample: str = "") -> Finding:
        return Finding(self.law.name, attack, detail, counterexample)

    def fires(self, program: Program, law: Law | None = None) -> bool:
        """Whether the law, or another in its place, fires on a program; one that mixes types does."""
        tested = law or self.law
        laws = [tested if x.name == self.law.name else x for x in self.laws]
        inputs, outputs = build(program)
        engine = EGraph(encode(inputs, outputs), laws, "reassoc")
        try:
            return engine.saturate().matches.get(tested.name, 0) > 0
        except UnsoundLawError:
            return True
        finally:
            engine.close()

    def firing(self) -> list[Finding]:
        """It fires on every example and on no `never` program."""
        out: list[Finding] = []
        for n, program in enumerate(self.law.example):
            if not self.fires(program):
                out.append(self._finding("example", f"does not fire on example {n}"))
        for n, program in enumerate(self.law.never):
            if self.fires(program):
                out.append(self._finding("never", f"fires on never {n}"))
        return out

    def mutations(self) -> list[Mutation]:
        """What becomes of the law without each of its conditions."""
        proofs: list[Proofs] = []

        def implied(law: Law, place: int) -> bool:
            proofs[:] = proofs or [Proofs(self.laws)]  # loaded when first needed
            return proofs[0].implied(law, place)

        def unsound(mutant: Law) -> str:
            return next((x.detail for x in self.soundness(mutant=mutant)), "")

        return list(mutations(self.law, self.fires, unsound, implied))

    def conditions(self) -> list[Finding]:
        """Each condition, dropped alone, lets something go wrong, or is proven to follow from the others."""
        return [
            self._finding("condition", f"nothing changes without {m.condition}")
            for m in self.mutations()
            if m.outcome == "survives"
        ]

    def soundness(self, tries: int = 6, mutant: Law | None = None) -> list[Finding]:
        """Random programs of the e-graph equal the interpreter, bit for bit where exact.

        mutant: what stands in the place of the law.
        """
        law = mutant or self.law
        laws = [law if x.name == self.law.name else x for x in self.laws]
        out: list[Finding] = []
        for n, program in enumerate((*self.law.example, *self.law.never)):
            for some in ((law,), laws):
                for text, counterexample in self._compare(program, some, tries):
                    out.append(self._finding("soundness", f"program {n}: {text}", counterexample))
        return out

    def _compare(self, program: Program, laws: Sequence[Law], tries: int) -> Iterator[tuple[str, str]]:
        """What is wrong, in a line and as a program."""
        exact = all(x.licence == "exact" for x in laws)
        finite = any(x.licence == "fast" for x in laws)  # these leave NaN and infinities aside
        inputs, outputs = build(program)
        encoded = encode(inputs, outputs)
        engine = EGraph(encoded, laws, "exact" if exact else "reassoc")
        try:
            engine.saturate()
            graph = engine.snapshot()
        except UnsoundLawError as error:
            yield str(error), self._show(as_written(encoded, Settings()))
            return
        finally:
            engine.close()
        sizes = Sizes(graph, example_operands(graph))
        for _ in range(tries):
            extraction = self._some_program(graph, sizes)
            for n in (0, 1, 2, 7):
                values = random_values(inputs, n, self._rng, not finite)
                trial = Trial(
                    partial(self._reference, inputs, outputs), partial(self._run, extraction), exact, tuple(inputs)
                )
                if not trial.agrees(values):
                    written = as_written(encoded, Settings())
                    want, got = trial.outcomes(values)
                    texts = self._show(written), self._show(extraction)
                    yield f"{n} steps: expected {want}, found {got}", trial.told(values, *texts)

    def _some_program(self, graph: TermGraph, sizes: Sizes) -> Extraction:
        """One of the programs of an e-graph: the cheapest or a quick choice, for costs out of thin air."""
        problem = Problem(graph, sizes, partial(_random_cost, self._rng.random()))
        found = greedy(problem)
        extraction = extract(problem, 2.0)
        if found is not None and self._rng.random() < 0.5:
            extraction = replace(extraction, choice=found[0], schedule=found[1])
        return extraction

    def paying(self) -> list[Finding]:
        """Some example is cheaper with it than without it."""
        if self.law.enabling:
            return []
        for program in self.law.example:
            inputs, outputs = build(program)
            encoded = encode(inputs, outputs)
            rest = [x for x in self.laws if x.name != self.law.name]
            with_it = optimize(encoded, self.laws, Settings()).extraction.cost
            if with_it < optimize(encoded, rest, Settings()).extraction.cost * (1 - 1e-9):
                return []
        return [self._finding("use", "makes no example cheaper and is not declared enabling")]


def _random_cost(salt: float, work: Work) -> float:
    text = f"{work.kind} {work.op} {salt}"
    return random.Random(text).uniform(0.0, 1.0) ** 3 * 100 if work.kind != "loop" else numpy_cost(work) / 100
