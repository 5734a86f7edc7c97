"""A program under attack: programs that laws make of it, on values of all kinds, compared with the interpreter."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from scanopt.analysis.sizes import Sizes, example_operands
from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form, TermGraph
from scanopt.calculus.law import Law, Program
from scanopt.compilation.optimize import as_written
from scanopt.compilation.settings import Settings
from scanopt.egraph.encode import encode
from scanopt.egraph.session import EGraph, UnsoundLawError
from scanopt.extraction.cost import CostModel, Work, numpy_cost
from scanopt.extraction.extract import Extraction, extract
from scanopt.extraction.greedy import greedy
from scanopt.extraction.problem import Problem
from scanopt.extraction.roofline import MULTIPLY_ADDS
from scanopt.graph import graph_inputs
from scanopt.lab.counterexample import Comparison, brief
from scanopt.records import dataclass

__all__ = ["Difference", "Saturated", "Subject", "Ways", "build", "parameters", "random_values"]

Array = np.ndarray[Any, Any]

_KINDS = {
    "xyzuv": ("float64", 1), "XYUWAB": ("float64", 2), "ab": ("float64", 0), "kn": ("int64", 0),
    "pq": ("int64", 1), "m": ("bool", 1),
}  # fmt: skip


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
_LIMITS = (0.0, -0.0, np.inf, -np.inf)
_FEW, _MANY = 0.2, 0.6
"""Shares of special floats: few of `_SPECIAL`, or many of `_LIMITS`, which meet without a NaN that hides results."""


def random_values(
    inputs: Sequence[Variable], n: int, rng: random.Random, special: bool = True, limits: bool = False
) -> list[Array]:
    """Values for a program's inputs: all lengths n, integers n, some special floats if asked for, or many limits."""
    share, pool = (_MANY, _LIMITS) if limits else (_FEW, _SPECIAL)
    out: list[Array] = []
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
                    rng.choice(pool) if special and rng.random() < share else rng.uniform(-2, 2) for _ in range(count)
                ]
        out.append(np.array(values, x.dtype).reshape((n,) * x.ndim))
    return out


@dataclass(frozen=True)
class Ways:
    """How programs run.

    compile: makes a function of values from an extraction.  reference: gives the interpreter's results.  show: gives an
    extraction as text.
    """

    compile: Callable[[Extraction], Callable[[Sequence[Any]], list[Any]]]
    reference: Callable[[Sequence[Variable], Sequence[Variable], Sequence[Any]], list[Any]]
    show: Callable[[Extraction], str] = str


@dataclass(frozen=True)
class Saturated:
    """The result of saturation: matches per law, and the e-graph.

    graph: None if laws mixed types, as `error` says, and if the law that was sought fired.  stopped_by: the limit that
    was hit.
    """

    matches: Mapping[str, int]
    graph: TermGraph | None
    error: str = ""
    stopped_by: str = ""


@dataclass(frozen=True)
class Difference:
    """A wrong result of a program that laws made: in a line, and as a whole counterexample when asked.

    places: which of the program's results are wrong, none where that is not known.
    """

    text: str
    told: Callable[[], str] = field(repr=False)
    places: tuple[int, ...] = ()


_STEPS = (0, 1, 2, 7)


class Subject:
    """A program under attack: its e-graphs, and the results of programs in them.

    seed: of the values and of the programs tried; values of all kinds and values at the limits alternate.
    """

    def __init__(self, program: Program, ways: Ways, seed: int = 0) -> None:
        self._ways = ways
        self._seed = seed
        self._wanted: dict[tuple[int, int, bool], tuple[list[Array], Any]] = {}
        self._given: dict[int, list[Array]] = {}
        self._program = program
        self.inputs, self.outputs = build(program)

    def alone(self, place: int) -> Subject:
        """One of its results as a program, with the inputs that this result needs, and the values they had here."""
        used = set(graph_inputs([self.outputs[place]]))
        needed = [n for n, x in enumerate(self.inputs) if x in used]

        def result(*given: Any) -> Any:
            inputs = parameters(self._program)
            for n, x in zip(needed, given, strict=True):
                inputs[n] = x
            made = self._program(*inputs)
            return made[place] if isinstance(made, list | tuple) else made

        named = [Parameter(str(self.inputs[n].name), Parameter.POSITIONAL_OR_KEYWORD) for n in needed]
        result.__signature__ = Signature(named)  # type: ignore[attr-defined]
        alone = Subject(result, self._ways, self._seed)
        alone._given = {key[1]: [values[n] for n in needed] for key, (values, _) in self._wanted.items()}
        return alone

    @cached_property
    def encoded(self) -> Encoded:
        """The terms of the program."""
        return encode(self.inputs, self.outputs)

    def saturated(self, laws: Sequence[Law], more: str = "", sought: str = "") -> Saturated:
        """Saturate it, with further rules (`more`).  sought: a law; if it fires, the result has matches only."""
        exact = all(x.licence == "exact" for x in laws)
        engine = None
        try:
            engine = EGraph(self.encoded, laws, "exact" if exact else "reassoc", more=more)
            done = engine.saturate(sought=sought)
            if done.matches.get(sought):
                return Saturated(done.matches, None)
            return Saturated(done.matches, engine.snapshot(), stopped_by=done.stopped_by)
        except UnsoundLawError as error:
            return Saturated({}, None, str(error))
        finally:
            if engine is not None:
                engine.close()

    def differences(
        self,
        laws: Sequence[Law],
        found: Saturated,
        tries: int,
        quick: bool = False,
        cheapest: bool = False,
        finite: bool = False,
    ) -> Iterator[Difference]:
        """Yield wrong results of programs of the e-graph that laws made: random ones, for no, one, two and seven steps.

        quick: no exact search for the cheapest.  cheapest: try first the one that is cheap by the usual costs.  finite:
        no NaN and infinities in the values, as always for laws that need the licence "fast".
        """
        if found.graph is None:
            yield Difference(found.error, self._written)
            return
        exact = all(x.licence == "exact" for x in laws)
        finite |= any(x.licence == "fast" for x in laws)
        rng = random.Random(self._seed)
        reference = partial(self._ways.reference, self.inputs, self.outputs)
        dtypes = frozenset(t.dtype for t in self.encoded.types.values())
        for turn in range(tries):
            try:
                sizes = Sizes(found.graph, example_operands(found.graph))
                usual = numpy_cost if cheapest and not turn else partial(_random_cost, rng.random())
                extraction = _some_program(self._problem(found.graph, sizes, usual, rng), rng, quick)
                trial = Comparison(reference, self._ways.compile(extraction), exact, tuple(self.inputs), dtypes)
            except (TypeError, ValueError) as error:
                yield Difference(f"no program: {error}", self._written)
                return
            for n in _STEPS:
                yield from self._compared(extraction, trial, turn, n, not finite)

    def _problem(self, graph: TermGraph, sizes: Sizes, cost: CostModel, rng: random.Random) -> Problem:
        """The choice of a program: for every other seed with prices of which no two are the same."""
        return Problem(graph, sizes, cost) if self._seed % 2 else _Problem(graph, sizes, cost, rng.random())

    def _written(self) -> str:
        return self._ways.show(as_written(self.encoded, Settings()))

    def _compared(
        self, extraction: Extraction, trial: Comparison, turn: int, n: int, special: bool
    ) -> Iterator[Difference]:
        key = (turn, n, special)
        if key not in self._wanted:
            limits = bool((self._seed + turn) % 2) and not self.of_matrices
            rng = random.Random(f"{self._seed} {key}")
            values = self._given.get(n) or random_values(self.inputs, n, rng, special, limits)
            self._wanted[key] = values, trial.wanted(values)
        values, want = self._wanted[key]
        got = trial.found(values)
        if not trial.same(want, got) and not self._raises_so(want, got, values):

            def told() -> str:
                return trial.told(values, self._written(), self._ways.show(extraction))

            places = trial.places(want, got)
            yield Difference(f"{n} steps: {brief(want, got, places)}", told, places)

    @cached_property
    def of_matrices(self) -> bool:
        """Whether it multiplies or factors matrices: what BLAS and LAPACK make of infinities is not defined."""
        used = (f.operator for _, f in self.encoded.forms())
        return any(isinstance(op, Op) and op.cost in MULTIPLY_ADDS for op in used)

    def _raises_so(self, want: Any, got: Any, values: list[Array]) -> bool:
        """Whether the program as written, when compiled, raises `got` too: of several due errors, any may come."""
        if not isinstance(want, type) or not isinstance(got, type):
            return False
        return Comparison(lambda _: [], self._plain, True, tuple(self.inputs)).found(values) is got

    @cached_property
    def _plain(self) -> Callable[[Sequence[Any]], list[Any]]:
        return self._ways.compile(as_written(self.encoded, Settings()))


class _Problem(Problem):
    """A problem in which no two forms cost the same: otherwise x + y would be chosen before y + x in every try."""

    def __init__(self, graph: TermGraph, sizes: Sizes, cost: CostModel, salt: float) -> None:
        self._salt = salt
        super().__init__(graph, sizes, cost)

    def price(self, c: int, f: Form) -> tuple[float, float]:
        """The price of a form, a little changed at random, and the bytes of its result."""
        price, held = super().price(c, f)
        return price * random.Random(f"{c} {f} {self._salt}").uniform(0.9, 1.1), held


def _some_program(problem: Problem, rng: random.Random, quick: bool) -> Extraction:
    """Choose one of the programs of an e-graph: the cheapest or a quick choice."""
    found = greedy(problem)
    if quick and found is not None:
        return Extraction(problem, *found, 0.0, 0.0, "greedy", False)
    extraction = extract(problem, 2.0)
    if found is not None and rng.random() < 0.5:
        extraction = replace(extraction, choice=found[0], schedule=found[1])
    return extraction


def _random_cost(salt: float, work: Work) -> float:
    """A random cost model."""
    text = f"{work.kind} {work.op} {salt}"
    return random.Random(text).uniform(0.0, 1.0) ** 3 * 100 if work.kind != "loop" else numpy_cost(work) / 100
