"""Proofs of laws up to a bound: in every small world both sides of a law are equal, and raise alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import scanopt.lab.proving.facts_bits
import scanopt.lab.proving.facts_consecutive
import scanopt.lab.proving.facts_numbers
import scanopt.lab.proving.facts_operators
import scanopt.lab.proving.facts_parts
import scanopt.lab.proving.facts_parts_of_elements
import scanopt.lab.proving.facts_sums
import scanopt.lab.proving.guards
import scanopt.lab.proving.linear_algebra
import scanopt.lab.proving.reductions  # noqa: F401  # these register meanings
from scanopt.calculus.law import Law
from scanopt.calculus.terms import Clock, State, Term
from scanopt.lab.proving.arrays import SymbolicArray
from scanopt.lab.proving.choices import Choices, NoProgramError, worlds
from scanopt.lab.proving.entries import conjunction, disjunction, lifted, same, z3
from scanopt.lab.proving.facts import assume
from scanopt.lab.proving.loops import At
from scanopt.lab.proving.model import Model
from scanopt.lab.proving.places import places_of
from scanopt.lab.proving.polynomials import same_polynomial
from scanopt.lab.proving.showing import counterexample
from scanopt.lab.proving.world import Bounds, Error
from scanopt.records import dataclass

__all__ = ["MOST_STEPS", "Proof", "prove"]

_WORLDS = 12_000
"""The most worlds of one law that are looked at in each theory: a law with more is out of reach."""

MOST_STEPS = 8
"""The most steps of a loop: with more there would be too many worlds."""

_EFFORT = 4_000_000
"""The most that z3 may do for one question, in its own units: the same on every machine."""


LOST = "; errors of steps that nothing is asked of may be lost"


@dataclass(frozen=True)
class Proof:
    """The outcome of proving a law.

    outcome: "proved", "refuted" or "out of reach".  detail: what entries it was proved for, or why it was not.
    worlds: how many there were in which it was proved.  counterexample: a world in words, where it is refuted.
    """

    law: str
    outcome: str
    detail: str
    worlds: int = 0
    counterexample: str = ""

    def __str__(self) -> str:
        shown = "\n" + "\n".join(f"    {x}" for x in self.counterexample.splitlines()) if self.counterexample else ""
        return f"{self.law}: {self.outcome}: {self.detail}{shown}"


def prove(law: Law, steps: int = 4) -> Proof:
    """Prove a law for loops of up to `steps` steps and arrays of up to as many rows, or refute it.

    Raises ImportError where z3 is missing, ValueError for a number of steps that is negative or too large.

    >>> from scanopt.calculus.law import standard_laws
    >>> laws = {x.name: x for x in standard_laws()}
    >>> print(prove(laws["sequence_of_trace"]))  # doctest: +SKIP
    sequence_of_trace: proved: for entries of every dtype
    """
    z3()
    if not 0 <= steps <= MOST_STEPS:
        raise ValueError(f"steps must be from 0 to {MOST_STEPS}, found {steps}")
    if free := law.unbound():
        return Proof(law.name, "out of reach", f"nothing says what {', '.join(sorted(free))} is")
    floats = "fp" if law.licence == "exact" else "real"
    if any(c.fact in ("floating", "float64", "float_vector") for c in law.equation.when):
        return _together(law, [_Theory(law, steps, floats).proof()])
    if any(c.fact == "boolean" for c in law.equation.when):
        return _together(law, [_Theory(law, steps, "bool").proof()])
    found = _Theory(law, steps, "free").proof()
    if not found.open:
        return found.proof
    return _together(law, [_Theory(law, steps, t).proof() for t in ("int", "bool", floats)])


@dataclass(frozen=True)
class _Found:
    """A proof in one theory; open: it decides nothing yet, since unknown functions stood for operators."""

    proof: Proof
    theory: str
    open: bool


_KINDS = {
    "free": "entries of every dtype", "int": "integers", "bool": "bools", "fp": "floats of 6 bits",
    "real": "real numbers",
}  # fmt: skip


def _together(law: Law, proofs: Sequence[_Found]) -> Proof:
    """One proof from those for several kinds of entries; kinds for which there is no program are left out."""
    found = [x for x in proofs if x.proof.outcome != "proved" or x.proof.worlds]
    for outcome in ("refuted", "out of reach"):
        bad = [x for x in found if x.proof.outcome == outcome]
        if bad:
            return bad[0].proof
    if not found:
        return Proof(law.name, "out of reach", "no program within the bound that it speaks of")
    kinds = [_KINDS[x.theory] for x in found]
    lost = LOST if any(x.proof.detail.endswith(LOST) for x in found) else ""
    return Proof(law.name, "proved", f"for {', '.join(kinds)}{lost}", sum(x.proof.worlds for x in found))


@dataclass
class _World:
    """The outcome in one world."""

    outcome: str
    detail: str = ""
    counterexample: str = ""
    abstracted: frozenset[str] = frozenset()


class _Theory:
    """A law on entries of one kind."""

    def __init__(self, law: Law, steps: int, theory: str) -> None:
        self.law, self.theory = law, theory
        self.impossible: set[str] = set()  # conditions without a case: many worlds share them
        self.bounds = Bounds(steps)
        self.possible = self.loses_errors = False

    def proof(self) -> _Found:
        """Go through all worlds, until one refutes the law or is out of reach."""
        count, abstracted = 0, frozenset[str]()
        try:
            for choices, found in worlds(self.world):
                count += 1
                abstracted |= found.abstracted
                if found.outcome != "proved":
                    return self._failed(found, choices)
                if count > _WORLDS:
                    return self._found("out of reach", f"more than {_WORLDS} worlds", count, bool(abstracted))
        except NotImplementedError as error:
            return self._found("out of reach", str(error), count, True)
        if count and not self.possible:
            return self._found("out of reach", "its conditions exclude one another in the model", count, False)
        lost = LOST if self.loses_errors else ""
        return self._found("proved", f"for {_KINDS[self.theory]}{lost}", count, bool(abstracted) or not count)

    def _failed(self, found: _World, choices: Choices) -> _Found:
        if found.abstracted and found.outcome == "refuted":
            names = sorted(found.abstracted)
            what = "it is a function" if len(names) == 1 else "they are functions"
            known = f"of {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))} it is known only that {what}"
            detail = f"{known}, and for {_KINDS[self.theory]} that is not enough"
            return self._found("out of reach", detail, 0, True)
        return self._found(found.outcome, found.detail, 0, False, found.counterexample)

    def _found(self, outcome: str, detail: str, count: int, open_: bool, shown: str = "") -> _Found:
        return _Found(Proof(self.law.name, outcome, detail, count, shown), self.theory, open_)

    def world(self, choices: Choices) -> _World:
        """Compare both sides in one world."""
        floats = ("A", "B") if self.law.licence == "exact" or self.theory == "free" else ("real",)
        exact = self.law.licence == "exact"
        m = Model(choices, self.theory, self.bounds, floats, exact, places=places_of(self.law))
        e = self.law.equation
        assume(m, e.when)
        if isinstance(e.left, Clock) and isinstance(e.right, Clock):
            return self._clocks(m, e.left, e.right)
        m.forget()
        ats = _steps(m)
        if isinstance(e.left, State) and isinstance(e.right, State):
            return self._compared(m, [], *_states(m, e.left, e.right), [], [])
        left = [m.value(e.left, at) for at in ats]
        left_errors = m.errors
        m.forget()
        try:
            right = [m.value(e.right, at) for at in ats]
        except NoProgramError as error:
            if self._unsatisfiable(m, True):
                raise
            shown = counterexample(m, self.law, None, ats[0], left[0], None)
            return _World("refuted", f"the right side is no program ({error})", shown, frozenset(m.abstracted))
        return self._compared(m, ats, left, right, left_errors, m.errors)

    def _clocks(self, m: Model, c: Clock, d: Clock) -> _World:
        """Compare two loops: they are equal if they may run, and do run, the same numbers of steps."""
        of = [(m.loops.steps(x, {}), m.loops.executed(x, {})) for x in (c, d)]
        self.possible = True
        if of[0] == of[1]:
            return _World("proved")
        shown = "\n".join(f"{x} may run {n} steps and runs {k}" for x, (n, k) in zip((c, d), of, strict=True))
        return _World("refuted", "the loops differ", shown)

    def _compared(
        self,
        m: Model,
        ats: Sequence[At],
        left: Sequence[SymbolicArray],
        right: Sequence[SymbolicArray],
        errors: Any,
        further: Any,
    ) -> _World:
        needed, unneeded, raises = _errors(m, errors, further)
        fails = disjunction(needed, unneeded)
        obligations = [
            ("the right side raises where the left side does not", disjunction(fails, _negated(raises)), -1),
            ("the left side raises where the right side does not", disjunction(_negated(needed), raises), -1),
        ]
        self.possible = self.possible or self._unsatisfiable(m, True) is not True
        if not self.loses_errors:
            lost = conjunction(fails, _negated(raises))
            self.loses_errors = self._unsatisfiable(m, lost) is not True
        if ats and None in ats[0].values():
            left, right = (), ()  # no step is run: there is nothing to compare but errors
        for i, (x, y) in enumerate(zip(left, right, strict=True)):
            if x.shape != y.shape or x.dtype != y.dtype:
                obligations.append((f"one side is {_type(x)}, the other {_type(y)}", fails, i))
                continue
            equal = conjunction(*(_entries_equal(a, b, x.dtype) for a, b in zip(x.entries, y.entries, strict=True)))
            obligations.append(("both sides differ", disjunction(fails, equal), i))
        for detail, holds, i in obligations:
            if holds is True:
                continue
            verdict = self._unsatisfiable(m, _negated(holds))
            if verdict is None:
                return _World("out of reach", "z3 gives no answer within its bound", "", frozenset(m.abstracted))
            if verdict is not True:
                at = ats[max(i, 0)] if ats else {}
                pair = (left[i], right[i]) if i >= 0 else (None, None)
                shown = counterexample(m, self.law, verdict, at, *pair)
                return _World("refuted", detail, shown, frozenset(m.abstracted))
        return _World("proved", abstracted=frozenset(m.abstracted))

    def _unsatisfiable(self, m: Model, condition: Any) -> Any:
        """True if no case satisfies the condition and what is assumed, None if that is not known, else such a case."""
        if condition is False:
            return True
        k = z3()
        told = "\n".join(lifted(x, "bool").sexpr() for x in (*m.assumptions, condition))
        if told in self.impossible:
            return True
        solver = k.Solver()
        solver.set("rlimit", _EFFORT)
        solver.set("random_seed", 0)
        for a in m.assumptions:
            solver.add(a)
        if condition is not True:
            solver.add(condition)
        found = solver.check()
        if found == k.unsat:
            self.impossible.add(told)
            return True
        return solver.model() if found == k.sat else None


def _negated(x: Any) -> Any:
    return not x if isinstance(x, bool) else z3().Not(x)


def _type(x: SymbolicArray) -> str:
    return f"an array of shape {x.shape} and dtype {x.dtype}"


def _entries_equal(x: Any, y: Any, dtype: str) -> Any:
    found = same(x, y, dtype)
    if isinstance(found, bool) or isinstance(x, (bool, int)) or isinstance(y, (bool, int)):
        return found
    return True if same_polynomial(x, y) else found


def _steps(m: Model) -> list[At]:
    """The steps at which both sides are compared; no step (None) of a loop that runs none."""
    home = m.places.home
    if home is None:
        return [{}]
    return [{home: t} for t in range(m.loops.executed(home, {}))] or [{home: None}]


def _states(m: Model, s: State, r: State) -> tuple[list[SymbolicArray], list[SymbolicArray]]:
    """Two states at all steps of their loop."""
    c = m.places.states.get(s.head, Clock("c"))
    update = m.updates.get(s.head)
    dtype, shape = (m.dtypes[0], ()) if update is None else _typed(m, update, c)
    steps = range(m.loops.executed(c, {}))
    left, right = ([m.state(x, c, t, {}, dtype, shape) for t in steps] for x in (s, r))
    return left, right


def _typed(m: Model, update: Term, c: Clock) -> tuple[str, tuple[int, ...]]:
    found = m.value(update, {c: None})
    return found.dtype, found.shape


def _errors(m: Model, left: Sequence[Error], right: Sequence[Error]) -> tuple[Any, Any, Any]:
    """Whether the left side raises in values that are needed, whether it does in others, whether the right side does.

    The left side may not be computed at all, as on a side of an ifelse that is not taken: then what the right side
    computes before the loop must not raise.
    """
    home = m.places.home
    before = [e.when for e in right if home is not None and home not in e.loops]
    if before and not m.is_always():
        return False, False, disjunction(*before)
    needed, further = ([e.when for e in left if e.needed is n] for n in (True, False))
    return disjunction(*needed), disjunction(*further), disjunction(*(e.when for e in right))
