"""Attacks on a law: everything that is checked of every law, with no test to write.

A law fires on its examples and not on its `never` programs; dropping any one condition makes it
fire there; whatever programs it makes equal are equal, also for no, one, two and seven steps, empty
arrays, negative zeros, infinities and NaN; and it makes some example cheaper, or is `enabling`.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.array.variable import Variable
from scanopt.calculus.cost import Work, numpy_cost
from scanopt.calculus.egraph import EGraph, UnsoundLawError
from scanopt.calculus.encode import encode
from scanopt.calculus.extract import extract
from scanopt.calculus.greedy import greedy
from scanopt.calculus.law import Law, Program, standard_laws
from scanopt.calculus.optimize import Settings, optimize
from scanopt.calculus.problem import Problem
from scanopt.calculus.sizes import Sizes, example_operands

__all__ = ["Attack", "Finding", "build", "parameters", "random_values"]

_KINDS = {
    "xyzuv": ("float64", 1), "XYUWAB": ("float64", 2), "ab": ("float64", 0), "kn": ("int64", 0),
    "pq": ("int64", 1), "m": ("bool", 1),
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One attack that succeeded: what failed, and on which program."""

    law: str
    attack: str
    detail: str

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
    stand beside it (default: the standard ones of its licence).
    """

    def __init__(
        self,
        law: Law,
        run: Callable[[Any, Sequence[Any]], list[Any]],
        reference: Callable[[Sequence[Variable], Sequence[Variable], Sequence[Any]], list[Any]],
        laws: Sequence[Law] | None = None,
        seed: int = 0,
    ) -> None:
        others = standard_laws() if laws is None else laws
        self.law = law
        self.laws = (*(x for x in others if x.name != law.name), law)
        self._run = run
        self._reference = reference
        self._rng = random.Random(seed)

    def findings(self) -> list[Finding]:
        """What succeeded; empty for a law that stands."""
        return [*self.firing(), *self.conditions(), *self.soundness(), *self.paying()]

    def _finding(self, attack: str, detail: str) -> Finding:
        return Finding(self.law.name, attack, detail)

    def _matches(self, program: Program, law: Law, without: str | None = None) -> int:
        tested = _without(law, without)
        laws = [tested if x.name == law.name else x for x in self.laws]
        inputs, outputs = build(program)
        engine = EGraph(encode(inputs, outputs), laws, "reassoc")
        try:
            return engine.saturate().matches.get(law.name, 0)
        except UnsoundLawError:
            return 1
        finally:
            engine.close()

    def firing(self) -> list[Finding]:
        """It fires on every example and on no `never` program."""
        out: list[Finding] = []
        for n, program in enumerate(self.law.example):
            if not self._matches(program, self.law):
                out.append(self._finding("example", f"does not fire on example {n}"))
        for n, program in enumerate(self.law.never):
            if self._matches(program, self.law):
                out.append(self._finding("never", f"fires on never {n}"))
        return out

    def conditions(self) -> list[Finding]:
        """Each condition, dropped alone, lets it fire on a `never` program (or leaves it unbound)."""
        out: list[Finding] = []
        for fact in dict.fromkeys(c.fact for c in self.law.equation.when):
            if _binds(self.law, fact):
                continue
            if not any(self._matches(p, self.law, fact) for p in self.law.never):
                out.append(self._finding("condition", f"nothing changes without {fact}"))
        return out

    def soundness(self, tries: int = 6) -> list[Finding]:
        """Random programs of the e-graph equal the interpreter, bit for bit where exact."""
        out: list[Finding] = []
        for n, program in enumerate((*self.law.example, *self.law.never)):
            inputs, outputs = build(program)
            for laws in ((self.law,), self.laws):
                out.extend(
                    self._finding("soundness", f"program {n}: {text}")
                    for text in self._compare(inputs, outputs, laws, tries)
                )
        return out

    def _compare(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], laws: Sequence[Law], tries: int
    ) -> list[str]:
        exact = all(x.licence == "exact" for x in laws)
        finite = any(x.licence == "fast" for x in laws)  # these leave NaN and infinities aside
        program = encode(inputs, outputs)
        engine = EGraph(program, laws, "exact" if exact else "reassoc")
        try:
            engine.saturate()
            graph = engine.snapshot()
        finally:
            engine.close()
        sizes = Sizes(graph, example_operands(graph))
        out: list[str] = []
        for _ in range(tries):
            salt = self._rng.random()
            problem = Problem(graph, sizes, partial(_random_cost, salt))
            found = greedy(problem)
            extraction = extract(problem, 2.0)
            if found is not None and self._rng.random() < 0.5:
                extraction = replace(extraction, choice=found[0], schedule=found[1])
            for n in (0, 1, 2, 7):
                values = random_values(inputs, n, self._rng, not finite)
                want = _outcome(partial(self._reference, inputs, outputs, values))
                got = _outcome(partial(self._run, extraction, values))
                if not _same(want, got, exact):
                    out.append(f"{n} steps: expected {want}, found {got}")
        return out

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


def _without(law: Law, fact: str | None) -> Law:
    if fact is None:
        return law
    when = tuple(c for c in law.equation.when if c.fact != fact)
    return replace(law, equation=replace(law.equation, when=when))


def _binds(law: Law, fact: str) -> bool:
    """Whether the law has variables that only this condition says anything of."""
    e = law.equation
    rest = [c for c in e.when if c.fact != fact]
    bound = e.left.variables() if e.left.args is not None else set[str]()
    bound |= {v for c in rest for a in c.args if not isinstance(a, int) for v in a.variables()}
    return bool((e.right.variables() | e.left.variables()) - bound)


def _random_cost(salt: float, work: Work) -> float:
    text = f"{work.kind} {work.op} {salt}"
    return random.Random(text).uniform(0.0, 1.0) ** 3 * 100 if work.kind != "loop" else numpy_cost(work) / 100


def _outcome(run: Callable[[], list[Any]]) -> list[Any] | type[Exception]:
    try:
        return [np.asarray(x) for x in run()]
    except (ValueError, IndexError, TypeError) as error:
        return type(error)


def _same(want: Any, got: Any, exact: bool) -> bool:
    if isinstance(want, type) or isinstance(got, type):
        return want is got
    return all(_equal(a, b, exact) for a, b in zip(want, got, strict=True))


def _equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], exact: bool) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    nan = np.isnan(a)
    if not np.array_equal(nan, np.isnan(b)):
        return False
    if exact:
        return bool(a[~nan].tobytes() == b[~nan].tobytes())
    return bool(np.allclose(a[~nan], b[~nan], rtol=1e-9, atol=1e-12))
