"""Programs that are optimized, read back as graphs, and optimized again: what they cost then.

ratio(f) is 1 where nothing changes: less where the second time finds what the first one missed.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any
from zlib import crc32

import test_documents_examples
from corpus.check import _with_gradients
from corpus.text import Built, built
from corpus.ways import compiled
from corpus.wide import program as wide
from random_programs import generate
from rewritings import PROGRAMS, Mixed, Writer

import scanopt
from scanopt.calculus.law import standard_laws
from scanopt.compilation.compiled_function import Function, watching
from scanopt.lab.attacked_program import build

__all__ = ["GROUPS", "SAME", "again", "ratio", "some"]

SAME = 0.01
"""So much of a cost may differ."""

Case = tuple[str, Callable[[], Function]]


def again(f: Function) -> Function:
    """A function whose program is read back and compiled once more, in the same way."""
    outputs, updates = f.to_graph()
    return scanopt.function(
        list(f.inputs), [*outputs, *updates.values()], fp=f.fp, example=f.example, on_unused_input="ignore",
        no_default_updates=True,
    )  # fmt: skip


def ratio(f: Function) -> float:
    """What it costs when it is optimized again, in parts of what it costs."""
    return again(f).cost / f.cost if f.cost else 1.0


def _documents(_: Iterable[int]) -> Iterator[Case]:
    """The functions of the documents' examples."""
    for name in ("POWER", "POLYNOMIAL", "TRIANGULAR", "SET_VALUES", "POWER_OF_2"):
        with watching() as made, redirect_stdout(StringIO()):
            exec(test_documents_examples.IMPORTS + getattr(test_documents_examples, name), {})
        for i, f in enumerate(made):
            yield f"{name.lower()} {i}", lambda f=f: f  # type: ignore[misc]


def _ways(seeds: Iterable[int]) -> Iterator[Case]:
    """Programs written plainly (seed 0) and in ways that change nothing."""
    for seed in seeds:
        writer = Mixed(seed) if seed else Writer()
        for name, program in PROGRAMS.items():
            yield f"{name}, {seed}", lambda p=program, w=writer: scanopt.function(*p(w))  # type: ignore[misc]


_PLACES = 1500
"""Of the programs of laws: so that those chosen stay the same where laws are added."""


def _laws(places: Iterable[int]) -> Iterator[Case]:
    """The programs that laws fire on, and those that they do not: about one at each place, which its name tells."""
    wanted = {*places}
    for law, n, program in ((x, n, p) for x in standard_laws() for n, p in enumerate((*x.example, *x.never))):
        name = f"{law.name} {n}"
        if crc32(name.encode()) % _PLACES in wanted:
            make = lambda p=program, fp=law.licence: scanopt.function(  # noqa: E731
                *build(p), fp=fp, on_unused_input="ignore"
            )
            yield name, make


def _random(make: Callable[[int], Any], slopes: bool = False) -> Callable[[Iterable[int]], Iterator[Case]]:
    """Random programs that can be built, one licence for each."""

    def cases(seeds: Iterable[int]) -> Iterator[Case]:
        for seed in seeds:
            try:
                found: Built = built(make(seed))
                found = replace(_with_gradients(found)) if slopes else found
            except (IndexError, TypeError, ValueError, OverflowError):
                continue
            options = {"fp": ("reassoc", "exact", "fast")[seed % 3],
                       "example": [*found.values.values()] if seed % 2 else None}  # fmt: skip
            yield f"seed {seed}", lambda p=found, o=options: compiled(p, **o)  # type: ignore[misc]

    return cases


GROUPS: dict[str, Callable[[Iterable[int]], Iterator[Case]]] = {
    "documents": _documents,
    "ways of writing": _ways,
    "programs of laws": _laws,
    "random programs": _random(generate),
    "random programs of all dtypes": _random(wide.generate),
    "gradients of random programs": _random(wide.slopes, slopes=True),
}
"""Programs by what they are; each takes numbers, of those that are wanted."""


def some(group: str, numbers: Iterable[int]) -> Iterator[tuple[str, float]]:
    """Names and ratios of some programs of a group."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "every call will draw the same random numbers", UserWarning)
        for name, make in GROUPS[group](numbers):
            yield name, ratio(make())
