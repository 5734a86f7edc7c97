"""What is measured for a history, beside what the cost model predicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from scanopt.compilation.compiled_function import Function
from scanopt.compilation.measuring import least_seconds, shared_kept, values_of
from scanopt.program.ir import Program

__all__ = ["forms_by_round", "seconds_of_programs"]

_BUDGET = 0.05  # seconds of calls that are timed at once
_KERNELS, _LONGEST = 0.5, 3.0  # seconds until kernels may be there, and of one program in all


def seconds_of_programs(f: Function, programs: Sequence[Program]) -> list[float] | None:
    """Seconds of one call of each program with the function's example, or with what it was last called with.

    None where there is neither.
    """
    values = values_of(f)
    if values is None:
        return None
    out: list[float] = []
    with shared_kept(f) as restore:
        for program in programs:
            run = f.with_program(program)
            out.append(_settled(lambda run=run: run(*values)))  # type: ignore[misc]
            restore()
    return out


def _settled(call: Callable[[], object]) -> float:
    """Seconds of a call once its kernels are compiled, which happens beside the first calls."""
    start = monotonic()
    best = least_seconds(call, _BUDGET)
    while monotonic() - start < _LONGEST:
        again = least_seconds(call, _BUDGET)
        faster, best = again < 0.8 * best, min(best, again)
        if not faster and monotonic() - start > _KERNELS:
            break
    return best


def forms_by_round(f: Function) -> list[dict[str, Any]]:
    """Per round the forms that each law made, and those of facts: the laws run once more, one after the other."""
    g = f.growth()
    return [
        {"made": {x.law: x.made[n] for x in g.laws if n < len(x.made) and x.made[n]}, "facts": g.facts[n]}
        for n in range(len(g.facts))
    ]
