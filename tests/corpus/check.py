"""What must hold of every program: each way to compile it gives what the interpreter gives."""

from __future__ import annotations

import dataclasses
import importlib
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import scanopt
from corpus.spec import Spec, build, live, source
from scanopt.array.variable import Apply, Variable
from scanopt.calculus.cost import Work, numpy_cost
from scanopt.calculus.encode import encode
from scanopt.calculus.law import select, standard_laws
from scanopt.calculus.optimize import Settings, optimize
from scanopt.interpreter import _Machine
from scanopt.program.check import check_program
from scanopt.program.lower import lower
from scanopt.program.serial import from_json, to_json

__all__ = ["Failure", "Result", "check", "describe", "rulesets"]

Array = np.ndarray[Any, Any]
Values = Mapping[Variable, Array]
Outcome = list[Array] | Exception


@dataclass(frozen=True)
class Failure:
    """One way of compiling a program that went wrong."""

    way: str
    text: str


@dataclass
class Result:
    """What one program came to.  outcome: "values", "refused" (when built) or the name of an error.

    stopped: the limit that ended the search for forms, if any.
    """

    spec: Spec
    outcome: str
    failures: list[Failure] = field(default_factory=list[Failure])
    laws: Counter[str] = field(default_factory=Counter[str])
    stopped: str = ""


def rulesets() -> list[str]:
    """The names of all rulesets."""
    return sorted({x.ruleset for x in standard_laws()})


def check(spec: Spec, exclude: Sequence[str] = ()) -> Result:
    """Compile and run a program in several ways.  exclude: rulesets that the odd ways leave out."""
    try:
        values, outputs = build(spec)
    except (IndexError, ValueError):
        return Result(spec, "refused")
    expected = _outcome(lambda: scanopt.interpret(outputs, values))
    result = Result(spec, _short(expected))
    for way, run, exact in _ways(spec, values, outputs, exclude, result):
        try:
            found = _outcome(run)
            text = _compare(expected, found) if exact else _near(spec, values, outputs, expected, found)
            if text and isinstance(expected, Exception):
                text = text if all(_compare(other, found) for other in _without_dead_code(spec)) else ""
        except _BrokenError as broken:
            text = str(broken)
        if text:
            result.failures.append(Failure(way, text))
    return result


def _without_dead_code(spec: Spec) -> Iterator[Outcome]:
    """What else a program that raises may come to: an error of what nothing needs may vanish, and of two
    errors either may be the first."""
    for names in (spec.outputs, *([name] for name in dict.fromkeys(spec.outputs))):
        values, outputs = build(live(dataclasses.replace(spec, outputs=names)))
        outcome = _outcome(partial(scanopt.interpret, outputs, values))
        if names is spec.outputs or isinstance(outcome, Exception):
            yield outcome


class _BrokenError(Exception):
    """Compiling went wrong."""


def _outcome(run: Callable[[], list[Array]]) -> Outcome:
    try:
        return run()
    except _BrokenError:
        raise
    except Exception as error:
        return error


# Ways to compile

Way = tuple[str, Callable[[], list[Array]], bool]


def _ways(spec: Spec, values: Values, outputs: list[Variable], exclude: Sequence[str], result: Result) -> Iterator[Way]:
    """Names, runs, and whether the result must be equal bit for bit."""
    arrays = list(values.values())
    example = arrays if spec.seed % 2 else None

    def compiled(fp: str) -> list[Array]:
        f = _built(lambda: scanopt.function(list(values), outputs, fp=fp, example=example, on_unused_input="ignore"))
        if fp == "exact":
            result.laws.update(f.laws)
            result.stopped = f.report.stopped_by
        return list(f(*arrays))

    yield 'fp="exact"', lambda: compiled("exact"), True
    if spec.seed % 2:
        yield 'fp="reassoc"', lambda: compiled("reassoc"), False
    if spec.seed % 4 == 0:
        yield _odd_way(spec, values, outputs, exclude)


def _built(make: Callable[[], Any]) -> Any:
    """What is made.  An error is never that of the program: compiling must not raise."""
    try:
        return make()
    except Exception as error:
        import traceback

        where = "".join(traceback.format_exception(error)[-6:])
        raise _BrokenError(f"compiling raised {type(error).__name__}: {error}\n{where}") from error


def _odd_way(spec: Spec, values: Values, outputs: list[Variable], exclude: Sequence[str]) -> Way:
    """Costs out of thin air, so that forms other than the cheapest run; saved and loaded."""
    rng = random.Random(spec.seed)
    cost, exact = rng.random() < 0.8, rng.random() < 0.7
    settings = Settings("exact", _odd_cost(spec.seed) if cost else numpy_cost, exact=exact)

    def make() -> Any:
        done = optimize(encode(list(values), outputs), select("exact", exclude), settings)
        program = lower(done.extraction)
        check_program(program)
        return importlib.import_module("scanopt.backends").executor("numpy").compile(from_json(to_json(program)))

    name = f"{'odd costs' if cost else 'usual costs'}, {'exact' if exact else 'greedy'} extraction, without {exclude}"
    arrays = list(values.values())
    return name, lambda: list(_built(make)(arrays)), True


def _odd_cost(seed: int) -> Callable[[Work], float]:
    def cost(work: Work) -> float:
        text = f"{seed} {work.kind} {work.op.key if work.op else ''}"
        return (zlib.crc32(text.encode()) % 1000 + 1) ** 2 / 100

    return cost


# Comparisons: "" or what is wrong


def _compare(expected: Outcome, found: Outcome) -> str:
    """Equal bit for bit; NaNs are equal."""
    if not isinstance(expected, list) or not isinstance(found, list):
        return "" if _raise_alike(expected, found) else f"expected {_short(expected)}, found {_short(found)} ({found})"
    for i, (e, r) in enumerate(zip(expected, found, strict=True)):
        if text := _type(i, e, r):
            return text
        if not _same(e, r).all():
            return f"output {i}: expected\n{e!r}\nfound\n{r!r}"
    return ""


def _short(x: Outcome) -> str:
    return "values" if isinstance(x, list) else type(x).__name__


def _raise_alike(expected: Outcome, found: Outcome) -> bool:
    """Whether both raise the same error.

    Shapes that do not fit are no error to a program that no longer computes the array.
    """
    if isinstance(found, list) and isinstance(expected, ValueError):
        return not any(text in str(expected) for text in ("n_steps", "initial rows"))
    return type(expected) is type(found)


def _type(i: int, e: Array, r: Array) -> str:
    if type(r) is np.ndarray and (e.dtype, e.shape) == (r.dtype, r.shape):
        return ""
    return f"output {i}: expected {e.dtype}{list(e.shape)}, found {r.dtype}{list(r.shape)} ({type(r).__name__})"


def _same(e: Array, r: Array) -> Array:
    same = np.asarray(e == r)
    if e.dtype.kind == "f":
        same = (same & (np.signbit(e) == np.signbit(r))) | (np.isnan(e) & np.isnan(r))
    return same


def _near(spec: Spec, values: Values, outputs: list[Variable], expected: Outcome, found: Outcome) -> str:
    """Within rounding: at most 8 times the interpreter's own error, plus 8 ulp of the largest intermediate."""
    text = _compare(expected, found)
    if not text or not isinstance(expected, list) or not isinstance(found, list):
        return text
    for i, (e, r) in enumerate(zip(expected, found, strict=True)):
        if wrong := _type(i, e, r):
            return wrong
    if not spec.smooth:
        return ""
    precise = scanopt.interpret(outputs, values, extended=True)
    ulp = _Recorder.ulp_of(outputs, values)
    for i, (p, e, r) in enumerate(zip(precise, expected, found, strict=True)):
        known = _same(e, r) | ~np.isfinite(p) | (abs(p) > 1e30)
        if known.all():
            continue
        if e.dtype.kind != "f":
            return text
        own, error = (np.abs(x.astype(np.longdouble) - p)[~known].max() for x in (e, r))
        if not error <= 8 * own + 8 * ulp:
            return f"output {i}: error {error}, the interpreter's {own}, an ulp {ulp}: expected\n{e!r}\nfound\n{r!r}"
    return ""


class _Recorder(_Machine):
    """The interpreter, noting the ulp of the largest intermediate."""

    ulp = 0.0

    @classmethod
    def ulp_of(cls, outputs: list[Variable], values: Values) -> float:
        machine = cls(False)
        with np.errstate(all="ignore"):
            for x in values.values():
                machine.note(x)
            machine.run(outputs, dict(values))
        return machine.ulp

    def note(self, x: Array) -> None:
        if x.dtype.kind == "f" and x.size:
            finite = np.abs(x[np.isfinite(x)])
            if finite.size:
                self.ulp = max(self.ulp, float(np.spacing(finite.max())))

    def apply(self, node: Apply, args: list[Array]) -> Array:
        result = super().apply(node, args)
        self.note(result)
        return result


def describe(result: Result) -> str:
    """Every failure, and the program to paste."""
    failures = "\n".join(f"{x.way}: {x.text}" for x in result.failures)
    return f"seed {result.spec.seed}\n{failures}\n\n{source(result.spec)}"
