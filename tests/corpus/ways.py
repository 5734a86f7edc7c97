"""Ways to compile a program: licences, the program as written, and odd ones."""

from __future__ import annotations

import importlib
import random
import traceback
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import scanopt
from corpus.compare import Array
from corpus.noise import FAST, ULPS
from corpus.spec import Spec
from corpus.text import Built
from scanopt.calculus.law import select
from scanopt.compilation.optimize import optimize
from scanopt.compilation.settings import Settings
from scanopt.compilation.signature import signature
from scanopt.egraph.encode import encode
from scanopt.extraction.cost import Work, numpy_cost
from scanopt.program.check import inferred
from scanopt.program.ir import Program
from scanopt.program.lower import lower
from scanopt.program.serial import from_json, to_json

__all__ = ["BrokenError", "Run", "Way", "Ways", "compiled", "usual", "wide"]

Run = Callable[[], list[Array]]


class BrokenError(Exception):
    """Compiling went wrong, or a call that raised changed something."""


@dataclass(frozen=True)
class Way:
    """A name, what makes a function of no arguments, and how near its results must be: in ulps, 0 for exactly.

    updates: whether a call changes shared variables.
    """

    name: str
    make: Callable[[], Run]
    ulps: int = 0
    updates: bool = True


def usual(seed: int) -> tuple[str, ...]:
    """The ways of the program of a seed: "exact", of some seeds "reassoc" and "odd"."""
    return ("exact", *["reassoc"] * (seed % 2), *["odd"] * (seed % 4 == 0))


def wide(seed: int) -> tuple[str, ...]:
    """The ways of a program of the wide generator: one licence, and as written; of some seeds an odd one."""
    fp = ("exact", "reassoc", "exact", "fast", "exact", "odd reassoc", "odd")[seed % 7]
    return (fp,) if fp.startswith("odd") else (fp, "written")


class Ways:
    """A program to be compiled.  functions: those made, by licence.  odd: the programs of odd ways."""

    def __init__(self, spec: Spec, made: Built) -> None:
        self.spec, self.made = spec, made
        self.arrays = list(made.values.values())
        self.functions: dict[str, Any] = {}
        self.odd: list[Program] = []

    def way(self, name: str, exclude: Sequence[str] = ()) -> Way:
        """A way: "exact", "reassoc", "fast", "odd", "odd reassoc", or "written"."""
        if name.startswith("odd"):
            return _odd_way(self, exclude, "reassoc" if name == "odd reassoc" else "exact")
        if name == "written":
            return Way("as written", self._as_written, updates=False)
        return Way(name, lambda: self._optimized(name), {"exact": 0, "reassoc": ULPS, "fast": FAST}[name])

    def _function(self, fp: str) -> Any:
        if fp not in self.functions:
            example = self.arrays if self.spec.seed % 2 else None
            self.functions[fp] = _made(lambda: compiled(self.made, fp=fp, example=example))
        return self.functions[fp]

    def _optimized(self, fp: str) -> Run:
        f = self._function(fp)
        return lambda: list(f(*self.arrays))

    def _as_written(self) -> Run:
        f = compiled(self.made, mode="unoptimized", fp="exact")
        _made(lambda: f._initial_compiled)
        return lambda: list(f.as_written(*self.arrays))


def compiled(made: Built, **options: Any) -> Any:
    """The function of a program."""
    return scanopt.function(list(made.values), made.outputs, made.updates, on_unused_input="ignore", **options)


def _made(make: Callable[[], Any]) -> Any:
    """What is made.  An error is never that of the program: compiling must not raise."""
    try:
        return make()
    except Exception as error:
        where = "".join(traceback.format_exception(error)[-6:])
        raise BrokenError(f"compiling raised {type(error).__name__}: {error}\n{where}") from error


def _odd_way(ways: Ways, exclude: Sequence[str], fp: str) -> Way:
    """Costs out of thin air, so that forms other than the cheapest run; saved and loaded."""
    spec, made = ways.spec, ways.made
    rng = random.Random(spec.seed)
    cost, exact = rng.random() < 0.8, rng.random() < 0.7
    settings = Settings(fp, _odd_cost(spec.seed) if cost else numpy_cost, exact=exact)
    s = signature(list(made.values), made.outputs, made.updates, "ignore")
    arrays = list(made.values.values())

    def make() -> Any:
        done = optimize(encode([*s.inputs, *s.shared], s.results), select(fp, exclude), settings)
        program = lower(done.extraction, exact=fp == "exact")
        inferred(program)
        ways.odd.append(program)
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
    return Way(f"odd way: {how}, without {', '.join(exclude) or 'nothing'}", prepared, 0 if fp == "exact" else ULPS)


def _odd_cost(seed: int) -> Callable[[Work], float]:
    def cost(work: Work) -> float:
        text = f"{seed} {work.kind} {work.op.key if work.op else ''}"
        return (zlib.crc32(text.encode()) % 1000 + 1) ** 2 / 100

    return cost
