"""What must hold of every program: each way to run it gives what the interpreter gives, and what plain Python gives.

A function with shared variables is called twice; what they are after each call counts as outputs.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import random
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import scanopt
from corpus.compare import Array, Outcome, equal, near, short
from corpus.plain import UnknownError
from corpus.plain import run as run_plainly
from corpus.spec import Spec, live, without_likes
from corpus.text import Built, built, source
from scanopt.arguments import signature
from scanopt.array.variable import Variable
from scanopt.calculus.cost import Work, numpy_cost
from scanopt.calculus.encode import encode
from scanopt.calculus.law import select, standard_laws
from scanopt.calculus.optimize import Settings, optimize
from scanopt.gradient import grad
from scanopt.program.check import check_program
from scanopt.program.lower import lower
from scanopt.program.serial import from_json, to_json

__all__ = ["Failure", "Result", "check", "check_interpreter", "describe", "rulesets"]

Run = Callable[[], list[Array]]


@dataclass(frozen=True)
class Failure:
    """One way of running a program that went wrong."""

    way: str
    text: str


@dataclass
class Result:
    """What one program came to.  outcome: "values", "refused" (when built) or the name of an error.

    plain: how plain Python compares: "equal" bit for bit, "near" within rounding, "raises" too, or
    "unknown" to it.  ways: in which it was compiled.  stopped: the limit that ended the search for
    forms, if any.
    """

    spec: Spec
    outcome: str
    failures: list[Failure] = field(default_factory=list[Failure])
    laws: Counter[str] = field(default_factory=Counter[str])
    plain: str = "unknown"
    ways: list[str] = field(default_factory=list[str])
    stopped: str = ""


def rulesets() -> list[str]:
    """The names of all rulesets."""
    return sorted({x.ruleset for x in standard_laws()})


def check(
    spec: Spec, exclude: Sequence[str] = (), ways: Sequence[str] = ("exact", "reassoc", "odd"), slopes: bool = False
) -> Result:
    """Run a program in several ways.

    exclude: rulesets that the odd ways leave out.  slopes: its first output and the gradients of that, instead.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "every call will draw the same random numbers", UserWarning)
        try:
            made = built(spec)
        except (IndexError, ValueError):
            return Result(spec, "refused")
        except TypeError as error:
            if "keeps its dtype" not in str(error):
                raise
            return Result(spec, "refused")
        if slopes:
            made = _with_gradients(made)
        calls = _Calls(spec, made, plain=not slopes)
        result = Result(spec, short(calls.expected[0]))
        calls.compare_with_plain(result)
        for name, make, exact in _ways(spec, made, exclude, result) if ways else ():
            if name.split()[0] in ways:
                result.ways.append(name.split(":")[0])
                try:
                    text = calls.compare(make(), exact)
                except _BrokenError as broken:
                    text = str(broken)
                if text:
                    result.failures.append(Failure(name, text))
    return result


def _with_gradients(made: Built) -> Built:
    """The first output, and its gradients with respect to all inputs and shared variables of floats."""
    wrt = [x for x in (*made.values, *made.shared) if x.dtype == "float64"]
    gradients = grad(made.outputs[0], wrt, disconnected_inputs="ignore")
    return dataclasses.replace(made, outputs=[made.outputs[0], *gradients])


def check_interpreter(spec: Spec) -> Result:
    """The interpreter alone against plain Python."""
    return check(spec, ways=())


class _BrokenError(Exception):
    """Compiling went wrong, or a call that raised changed something."""


class _Calls:
    """The calls of a program by the interpreter: what the shared variables start from, and the outcomes."""

    def __init__(self, spec: Spec, made: Built, plain: bool) -> None:
        self.spec, self.made = spec, made
        f = _function(made, mode="unoptimized")
        self.results: list[Variable] = [*made.outputs, *(f.updates.get(s, s) for s in made.shared)]
        self.starts = [[s.get_value() for s in made.shared]]
        self.expected: list[Outcome] = []
        arrays = list(made.values.values())
        for _ in range(2 if made.shared else 1):
            self.expected.append(self.call(lambda: list(f(*arrays)), self.starts[-1]))
            self.starts.append([s.get_value() for s in made.shared])
        called = self.starts[: len(self.expected)]
        self.plain: list[Outcome | None] = [self._plainly(start) if plain else None for start in called]

    def call(self, run: Run, start: list[Array]) -> Outcome:
        """One call from these values of the shared variables: outputs, then what they are after it."""
        self.set(start)
        try:
            outputs = run()
        except _BrokenError:
            raise
        except Exception as error:
            if equal(start, [s.get_value() for s in self.made.shared]):
                raise _BrokenError(f"a call that raised {error!r} changed shared variables") from error
            return error
        return [*outputs, *(s.get_value() for s in self.made.shared)]

    def set(self, start: list[Array]) -> None:
        """Give the shared variables these values."""
        for s, value in zip(self.made.shared, start, strict=True):
            s.set_value(value)

    def _plainly(self, start: list[Array]) -> Outcome | None:
        """The call by plain Python; None where it does not know."""
        if len(start) > len(self.spec.shared):  # streams of random numbers
            return None
        names = [x.name for x in self.spec.shared]
        try:
            outputs, after = run_plainly(self.spec, dict(zip(names, start, strict=True)))
        except UnknownError:
            return None
        except Exception as error:
            return error
        return [*outputs, *(after[name] for name in names)]

    def compare(self, run: Run, exact: bool) -> str:
        """Every call against the interpreter, and against plain Python."""
        for start, expected, plain in zip(self.starts, self.expected, self.plain, strict=False):
            found = self.call(run, start)
            if text := self._differs(start, expected, found, exact):
                if isinstance(expected, list) or all(equal(x, found) for x in _without_dead_code(self.spec, start)):
                    return text
            elif isinstance(plain, list) and isinstance(expected, list):
                text = self._differs(start, plain, found, exact and not equal(expected, plain))
                if text:
                    return f"plain Python differs: {text}"
        return ""

    def compare_with_plain(self, result: Result) -> None:
        """The interpreter against plain Python."""
        for start, expected, plain in zip(self.starts, self.expected, self.plain, strict=False):
            if plain is None:
                return
            if isinstance(plain, Exception):
                result.plain = "raises"
            elif not equal(expected, plain):
                result.plain = "equal" if result.plain in ("unknown", "equal") else result.plain
            else:
                result.plain = "near"
            if isinstance(plain, Exception) and isinstance(expected, Exception):
                others = (type(x) for x in _without_dead_code(self.spec, start))
                text = "" if type(plain) is type(expected) or type(plain) in others else "another error"
            elif isinstance(plain, Exception) or isinstance(expected, Exception):
                text = "only one of them raises"
            else:
                text = self._differs(start, plain, expected, False)
            if text:
                text += f": {plain!r} in plain Python, {expected!r} by the interpreter"
                result.failures.append(Failure("the interpreter against plain Python", text))

    def _differs(self, start: list[Array], expected: Outcome, found: Outcome, exact: bool) -> str:
        if exact:
            return equal(expected, found)
        self.set(start)
        return near(self.spec.smooth, self.results, self.made.values, expected, found)


def _without_dead_code(spec: Spec, start: list[Array]) -> Iterator[Outcome]:
    """What else a program that raises may come to: an error of what nothing needs may vanish, and of two
    errors either may be the first; zeros like a value do not need it."""
    for whole, keep in itertools.product((spec, without_likes(spec)), (True, False)):
        parts = [({"outputs": [name], "changes": [], "passed": []}) for name in dict.fromkeys(whole.outputs)]
        parts += [({"outputs": [], "changes": [c], "passed": []}) for c in whole.changes]
        parts += [({"outputs": [], "changes": [], "passed": [u]}) for u in whole.passed]
        for part in ({}, *parts):
            outcome = _reference(live(dataclasses.replace(whole, **part), keep), start)
            if not part or isinstance(outcome, Exception):
                yield outcome


def _reference(spec: Spec, start: list[Array]) -> Outcome:
    """A program by the interpreter, its shared variables from `start` (streams as they are made)."""
    try:
        made = built(spec)
        for s, value in zip(made.shared, start[: len(spec.shared)], strict=False):
            s.set_value(value)
        outputs = list(_function(made, mode="unoptimized")(*made.values.values()))
    except Exception as error:
        return error
    return [*outputs, *(s.get_value() for s in made.shared)]


def _function(made: Built, **options: Any) -> Any:
    return scanopt.function(list(made.values), made.outputs, made.updates, on_unused_input="ignore", **options)


# Ways to compile

Way = tuple[str, Callable[[], Run], bool]


def _ways(spec: Spec, made: Built, exclude: Sequence[str], result: Result) -> Iterator[Way]:
    """Names, what makes a function of no arguments, and whether its results must be equal bit for bit."""
    arrays = list(made.values.values())
    example = arrays if spec.seed % 2 else None

    def compiled(fp: str) -> Run:
        f = _made(lambda: _function(made, fp=fp, example=example))
        if fp == "exact":
            result.laws.update(f.laws)
            result.stopped = f._plan.done.saturation.stopped_by  # the report would cost the program as written
        return lambda: list(f(*arrays))

    yield "exact", lambda: compiled("exact"), True
    if spec.seed % 2:
        yield "reassoc", lambda: compiled("reassoc"), False
    if spec.seed % 4 == 0:
        yield _odd_way(spec, made, exclude)


def _made(make: Callable[[], Any]) -> Any:
    """What is made.  An error is never that of the program: compiling must not raise."""
    try:
        return make()
    except Exception as error:
        import traceback

        where = "".join(traceback.format_exception(error)[-6:])
        raise _BrokenError(f"compiling raised {type(error).__name__}: {error}\n{where}") from error


def _odd_way(spec: Spec, made: Built, exclude: Sequence[str]) -> Way:
    """Costs out of thin air, so that forms other than the cheapest run; saved and loaded."""
    rng = random.Random(spec.seed)
    cost, exact = rng.random() < 0.8, rng.random() < 0.7
    settings = Settings("exact", _odd_cost(spec.seed) if cost else numpy_cost, exact=exact)
    s = signature(list(made.values), made.outputs, made.updates, "ignore")
    arrays = list(made.values.values())

    def make() -> Any:
        done = optimize(encode([*s.inputs, *s.shared], s.results), select("exact", exclude), settings)
        program = lower(done.extraction, exact=True)
        check_program(program)
        return importlib.import_module("scanopt.backends").executor("numpy").compile(from_json(to_json(program)))

    def prepared() -> Run:
        program = _made(make)

        def run() -> list[Array]:
            results = list(program([*arrays, *(x.get_value() for x in s.shared)]))
            for x, value in zip(s.updates, results[len(s.outputs) :], strict=True):
                x.set_value(value)
            return results[: len(s.outputs)]

        return run

    how = f"{'odd' if cost else 'usual'} costs, {'exact' if exact else 'greedy'} extraction"
    return f"odd way: {how}, without {', '.join(exclude) or 'nothing'}", prepared, True


def _odd_cost(seed: int) -> Callable[[Work], float]:
    def cost(work: Work) -> float:
        text = f"{seed} {work.kind} {work.op.key if work.op else ''}"
        return (zlib.crc32(text.encode()) % 1000 + 1) ** 2 / 100

    return cost


def describe(result: Result) -> str:
    """Every failure, and the program to paste."""
    failures = "\n".join(f"{x.way}: {x.text}" for x in result.failures)
    return f"seed {result.spec.seed}\n{failures}\n\n{source(result.spec)}"
