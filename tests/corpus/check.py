"""What must hold of every program: each way to run it gives what the interpreter gives, and what plain Python gives.

A function with shared variables is called twice; what they are after each call counts as outputs.
"""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from corpus.compare import Array, Outcome, equal, near, short
from corpus.culprit import may_vanish
from corpus.noise import ULPS
from corpus.plain import UnknownError
from corpus.plain import run as run_plainly
from corpus.shrink import with_one_line_less
from corpus.slopes import ABSOLUTE, slopes_differ
from corpus.spec import Loop, Spec, live, without_likes
from corpus.text import Built, built, source
from corpus.used import operators, operators_of_steps
from corpus.ways import BrokenError, Run, Way, Ways, compiled, usual
from scanopt.array.variable import Variable
from scanopt.calculus.law import standard_laws
from scanopt.gradient import grad

__all__ = ["Failure", "Result", "check", "check_interpreter", "describe", "rulesets"]


@dataclass(frozen=True)
class Failure:
    """One way of running a program that went wrong."""

    way: str
    text: str


@dataclass
class Result:
    """What one program came to.  outcome: "values", "refused" (when built) or the name of an error.

    plain: how plain Python compares: "equal" bit for bit, "near" within rounding, "raises" too, or
    "unknown" to it.  ways: in which it was compiled.  asked: the ways that `check` was asked for.
    stopped: the limit that ended the search for forms, if any.  operators: those of the program as it is written, and
    as it was compiled.
    """

    spec: Spec
    outcome: str
    failures: list[Failure] = field(default_factory=list[Failure])
    laws: Counter[str] = field(default_factory=Counter[str])
    plain: str = "unknown"
    ways: list[str] = field(default_factory=list[str])
    asked: Sequence[str] = ()
    stopped: str = ""
    operators: set[str] = field(default_factory=set[str])


def rulesets() -> list[str]:
    """The names of all rulesets."""
    return sorted({x.ruleset for x in standard_laws()})


def check(
    spec: Spec,
    exclude: Sequence[str] = (),
    ways: Sequence[str] | None = None,
    slopes: bool = False,
    absolute: float = ABSOLUTE,
) -> Result:
    """Run a program in several ways.

    exclude: rulesets that the odd ways leave out.  ways: as `Ways.way` takes them; by default the usual ones of its
    seed.  slopes: its first output and the gradients of that, instead.  absolute: how far these may be from
    differences (see `slopes_differ`).
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "every call will draw the same random numbers", UserWarning)
        try:
            made = built(spec)
            made = _with_gradients(made) if slopes else made
            calls = _Calls(spec, made, len(spec.outputs) if not slopes else 1)
        except (IndexError, ValueError, OverflowError):
            return Result(spec, "refused")
        except (TypeError, BrokenError) as error:
            known = "keeps its dtype" in str(error)
            return Result(spec, "refused", [] if known else [Failure("made", f"{type(error).__name__}: {error}")])
        result = Result(spec, short(calls.expected[0]), asked=usual(spec.seed) if ways is None else ways)
        result.operators = operators(made.outputs)
        calls.compare_with_plain(result)
        if slopes and result.outcome == "values" and not spec.smooth and (text := slopes_differ(spec, made, absolute)):
            result.failures.append(Failure("gradients against differences", text))
        _run(Ways(spec, made), exclude, calls, result)
    return result


def _run(found: Ways, exclude: Sequence[str], calls: _Calls, result: Result) -> None:
    """Compile in the ways asked for, and compare."""
    for name in result.asked:
        way = found.way(name, exclude)
        result.ways.append(way.name.split(":")[0])
        try:
            text = calls.compare(way)
        except BrokenError as broken:
            text = str(broken)
        if text:
            result.failures.append(Failure(way.name, text))
    for program in (*(f.program for f in found.functions.values()), *found.odd):
        result.operators |= operators_of_steps(program.steps)
    if "exact" in found.functions:
        f = found.functions["exact"]
        result.laws.update(f.laws)
        result.stopped = f._plan.done.saturation.stopped_by  # the report would cost the program as written


def _with_gradients(made: Built) -> Built:
    """The first output, and its gradients with respect to all inputs and shared variables of floats."""
    wrt = [x for x in (*made.values, *made.shared) if x.dtype.startswith("float")]
    gradients = grad(made.outputs[0], wrt, disconnected_inputs="ignore")
    return dataclasses.replace(made, outputs=[made.outputs[0], *gradients])


def check_interpreter(spec: Spec) -> Result:
    """The interpreter alone against plain Python."""
    return check(spec, ways=())


class _Calls:
    """The calls of a program by the interpreter: what the shared variables start from, and the outcomes.

    known: how many of the outputs plain Python is asked for.
    """

    def __init__(self, spec: Spec, made: Built, known: int) -> None:
        self.spec, self.made = spec, made
        self.before = [x.copy() for x in made.values.values()]
        f = compiled(made, mode="unoptimized")
        self.results: list[Variable] = [*made.outputs, *(f.updates.get(s, s) for s in made.shared)]
        self.starts = [[s.get_value() for s in made.shared]]
        self.expected: list[Outcome] = []
        arrays = list(made.values.values())
        for _ in range(2 if made.shared else 1):
            self.expected.append(self.call(lambda: list(f(*arrays)), self.starts[-1]))
            self.starts.append([s.get_value() for s in made.shared])
        pairs = zip(self.starts, self.expected, strict=False)
        self.plain: list[Outcome | None] = [self._plainly(start, expected, known) for start, expected in pairs]

    def call(self, run: Run, start: list[Array]) -> Outcome:
        """One call from these values of the shared variables: outputs, then what they are after it."""
        self.set(start)
        try:
            outputs = run()
        except BrokenError:
            raise
        except Exception as error:
            if equal(start, [s.get_value() for s in self.made.shared]):
                raise BrokenError(f"a call that raised {error!r} changed shared variables") from error
            return error
        if equal(self.before, list(self.made.values.values())):
            raise BrokenError("a call changed its arguments")
        return [*outputs, *(s.get_value() for s in self.made.shared)]

    def set(self, start: list[Array]) -> None:
        """Give the shared variables these values."""
        for s, value in zip(self.made.shared, start, strict=True):
            s.set_value(value)

    def _plainly(self, start: list[Array], expected: Outcome, known: int) -> Outcome | None:
        """The call by plain Python; None where it does not know.  What it is not asked for is the interpreter's."""
        if len(start) > len(self.spec.shared):  # streams of random numbers
            return None
        names = [x.name for x in self.spec.shared]
        try:
            outputs, after = run_plainly(self.spec, dict(zip(names, start, strict=True)))
        except UnknownError:
            return None
        except Exception as error:
            return error
        others = expected[known : len(self.made.outputs)] if isinstance(expected, list) else []
        return [*outputs[:known], *others, *(after[name] for name in names)]

    def compare(self, way: Way) -> str:
        """Every call against the interpreter, and against plain Python."""
        run, outputs = way.make(), len(self.made.outputs)
        for start, expected, plain in zip(self.starts, self.expected, self.plain, strict=False):
            found = self.call(run, start)
            if isinstance(found, list) and not way.updates:
                found[outputs:] = expected[outputs:] if isinstance(expected, list) else []
            if text := self._differs(start, expected, found, way.ulps):
                if isinstance(expected, list) or not self._as_good(start, expected, found):
                    return text
            elif isinstance(plain, list) and isinstance(expected, list):
                text = self._differs(start, plain, found, way.ulps or bool(equal(expected, plain)) * ULPS)
                if text:
                    return f"plain Python differs: {text}"
        return ""

    def _as_good(self, start: list[Array], expected: Exception, found: Outcome) -> bool:
        """Whether an error of the program may as well be what was found."""
        self.set(start)
        if isinstance(found, list) and may_vanish(self.results, self.made.values):
            return True
        others = (_reference(simpler, start) for simpler in with_one_line_less(self.spec))
        if any(self._same(x, found) for x in itertools.chain(_without_dead_code(self.spec, start), others)):
            return True
        plain = self.plain[0]
        return isinstance(plain, list) and self._misfit_in_idle(start, expected) and not equal(plain, found)

    def _same(self, x: Outcome, found: Outcome) -> bool:
        """Whether two outcomes agree, as far as both have them."""
        if isinstance(x, list) and isinstance(found, list) and len(x) != len(found):  # gradients, unneeded streams
            known = min(len(x), len(found), len(self.made.outputs))
            x, found = x[:known], found[:known]
        return not equal(x, found)

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
                same = type(plain) is type(expected) or self._either_may_be_first(start, expected, plain)
                text = "" if same else "another error"
            elif isinstance(plain, Exception) or isinstance(expected, Exception):
                text = "" if self._misfit_in_idle(start, expected) else "only one of them raises"
            else:
                text = self._differs(start, plain, expected, ULPS)
            if text:
                text += f": {plain!r} in plain Python, {expected!r} by the interpreter"
                result.failures.append(Failure("the interpreter against plain Python", text))

    def _either_may_be_first(self, start: list[Array], expected: Exception, plain: Exception) -> bool:
        """Whether the program has both errors: what one of the two does not need, the other one may have run before.

        Plain Python runs a loop of which only the length is read.
        """
        if type(plain) in map(type, _without_dead_code(self.spec, start)):
            return True
        return any(self._raises(simpler, start, expected) for simpler in with_one_line_less(self.spec))

    def _raises(self, spec: Spec, start: list[Array], expected: Exception) -> bool:
        """Whether plain Python raises such an error, or would if it saw the shapes of a loop without a step."""
        try:
            return self._misfit_in_idle(start, expected, spec)
        except Exception as raised:
            return type(raised) is type(expected)

    def _misfit_in_idle(self, start: list[Array], expected: Outcome, spec: Spec | None = None) -> bool:
        """Whether a loop takes no step and the interpreter raises of its shapes: plain Python does not see them."""
        idle: list[Loop] = []
        if isinstance(expected, ValueError) or (isinstance(expected, IndexError) and "mask" in str(expected)):
            names = [x.name for x in self.spec.shared]
            with suppress(UnknownError):
                run_plainly(spec or self.spec, dict(zip(names, start, strict=False)), idle)
        return bool(idle)

    def _differs(self, start: list[Array], expected: Outcome, found: Outcome, ulps: int) -> str:
        if not ulps:
            return equal(expected, found)
        self.set(start)
        return near(self.spec.smooth, self.results, self.made.values, expected, found, ulps)


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
        outputs = list(compiled(made, mode="unoptimized")(*made.values.values()))
    except Exception as error:
        return error
    return [*outputs, *(s.get_value() for s in made.shared)]


def describe(result: Result) -> str:
    """Every failure, and the program to paste."""
    failures = "\n".join(f"{x.way}: {x.text}" for x in result.failures)
    return f"seed {result.spec.seed}\n{failures}\n\n{source(result.spec)}"
