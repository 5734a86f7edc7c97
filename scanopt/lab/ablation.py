"""Ablation: the cost and speed of a function without each law and each ruleset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from scanopt.backends.kernels.build import wait_for_builds
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.measuring import least_seconds, peak_bytes, settle, shared_kept, values_of
from scanopt.program.storage.text import storage_text
from scanopt.progress import each
from scanopt.records import dataclass
from scanopt.view.amounts import cost_text, number, seconds_text
from scanopt.view.tables import text_table

__all__ = ["EVERYTHING", "Ablation", "ablate", "ablation_text", "fired", "measured", "ratio"]

EVERYTHING = "(all laws)"

_AGAIN = 3
"""The most times that a program is timed again because its calls have requested kernels."""


@dataclass(frozen=True)
class Ablation:
    """A function without some laws.

    without: the law or ruleset left out, or EVERYTHING for none.  cost: by the cost model; optimal:
    proven the cheapest in the e-graph.  optimize: seconds to optimize and compile it.  call: least seconds
    of a call, memory: most bytes that a call holds; None where there are no values to call it with.
    loops: loops of the program.  same: it is the same program as with all laws, so calls are not timed again.
    """

    without: str
    cost: float
    optimal: bool
    optimize: float
    call: float | None
    memory: int | None
    loops: int
    same: bool = False


def fired(f: Function) -> list[str]:
    """The rulesets and then the laws that fired in a function."""
    rules = [x for x in f.rules if f.laws.get(x.name)]
    laws = [x.name for x in rules]
    return [*(r for r in dict.fromkeys(x.ruleset for x in rules) if r not in laws), *laws]


def ablate(
    f: Function, names: Iterable[str] | None = None, budget: float = 0.2, clock: Callable[[], float] = perf_counter
) -> Iterator[Ablation]:
    """A function as it is, then without each of some laws or rulesets; costs are for the sizes of its calls.

    names: default: those that fired.  budget: seconds of timed calls for each program.  clock: what times them.
    Raises ValueError for a name that no law or ruleset has.
    """
    if f.example is None and f.last_call is not None:
        f = f.sized_by(f.last_call)
    whole = measured(f, EVERYTHING, budget, clock)
    yield whole
    for name in each("leaving out laws", fired(f) if names is None else list(names)):
        made = f.without(name)
        if _text(made) == _text(f):
            yield replace(whole, without=name, optimize=sum(made.seconds.values()), same=True)
        else:
            yield measured(made, name, budget, clock)


def _text(f: Function) -> str:
    """The text of the program, and of where its values live."""
    return f"{f.program}\n{storage_text(f.program)}"


def measured(f: Function, name: str, budget: float, clock: Callable[[], float] = perf_counter) -> Ablation:
    """Cost, time and memory of one function."""
    values = values_of(f)
    call = memory = None
    if values is not None:
        with shared_kept(f):
            settle(lambda: f(*values))  # otherwise some programs would be timed before their kernels are compiled
            call = least_seconds(lambda: f(*values), budget, clock)
            for _ in range(_AGAIN):  # what was called often enough only now is compiled, too
                if not wait_for_builds():
                    break
                call = least_seconds(lambda: f(*values), budget, clock)
            memory = peak_bytes(lambda: f(*values))
    report = f.report
    return Ablation(name, report.cost, report.optimal, sum(f.seconds.values()), call, memory, len(f.program.loops()))


def ablation_text(found: Sequence[Ablation], unit: str) -> str:
    """A table: cost, time and memory without each law or ruleset, and their ratios to those with all laws."""
    whole = found[0]
    rows: list[list[str]] = []
    for x in found:
        if x.same:
            rows.append([x.without, "same program", "", "", "", "", str(x.loops), seconds_text(x.optimize)])
            continue
        rows.append([
            x.without,
            cost_text(x.cost, unit) + ("" if x.optimal else " (not proven)"),
            ratio(x.cost, whole.cost),
            "-" if x.call is None else seconds_text(x.call),
            "-" if x.call is None else ratio(x.call, whole.call),
            "-" if x.memory is None else f"{number(x.memory)} bytes",
            str(x.loops),
            seconds_text(x.optimize),
        ])  # fmt: skip
    heads = ["without", "cost", "ratio", "per call", "ratio", "memory", "loops", "to optimize"]
    note = "\nmemory: most that one call holds beside its arguments; costs are for the sizes of the calls"
    if whole.call is None:
        note = "\ncalls not measured: it was not called, and has no example=[...]"
    return text_table(heads, rows) + note


def ratio(x: float, whole: float | None) -> str:
    """The ratio of x to `whole`, as text.

    >>> ratio(3.0, 2.0), ratio(1.0, 0.0)
    ('1.50', '-')
    """
    return f"{x / whole:.2f}" if whole else "-"
