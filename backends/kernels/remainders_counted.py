"""A pass on a loop of steps, as it is printed: a remainder such as `i % n`, where i counts steps, becomes a counter.

The counter is incremented at each step and reset when it reaches n, which takes less time than a division.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Do, Expr, For, Let, Lit, Set, Steps, Stmt, Var, plus
from scanopt.backends.kernels.steps_in_c import is_power_of_two
from scanopt.backends.kernels.steps_known import known_steps
from scanopt.backends.kernels.walks import inside, made_in, variables
from scanopt.records import dataclass

__all__ = ["remainders_counted"]

FAR = 2**62
"""Counters that start nearer to 0 than this do not wrap."""


@dataclass(frozen=True)
class _Remainder:
    """A remainder as a counter.  start: its value in the first step.  When it would be `end`, it is `again` instead."""

    name: str
    start: Expr
    end: Expr
    again: Expr


def remainders_counted(
    x: Steps | For, text: Callable[[Expr], str], barrier: str
) -> tuple[tuple[Stmt, ...], list[str], list[str]]:
    """Replace remainders by counters; return the body, the lines before the loop, and those at the end of each step.

    text: prints an expression.  barrier: text that keeps a branch a branch; "": count nothing.  The reset is a branch,
    so that the counter does not wait for the comparison.
    """
    found = {r.name: r for r in _counted(x)} if barrier else {}
    if not found:
        return x.body, [], []
    body = [
        replace(y, value=Var(_named(y.name))) if isinstance(y, Let) and _named(y.name) in found else y for y in x.body
    ]
    before = [f"int64 {r.name} = {text(r.start)};" for r in found.values()]
    after = [f"if (++{r.name} == ({text(r.end)})) {{ {barrier} {r.name} = {text(r.again)}; }}" for r in found.values()]
    return tuple(body), before, after


def _named(name: str) -> str:
    return f"{name}r"


def _counted(x: Steps | For) -> Iterator[_Remainder]:
    """Yield the remainders to count: not those by powers of two or, over elements, by literals, which are fast."""
    in_order = isinstance(x, Steps)
    first: Expr = Var(x.var) if in_order else ZERO
    lets = [y for y in x.body if isinstance(y, Let) and isinstance(y.value, Do) and y.value.op == "remainder"]
    every = [*inside(x.body)] if lets else []
    if not lets or any(isinstance(y, Set) and y.name == x.var for y in every):
        return
    known, made = known_steps(x if isinstance(x, Steps) else Steps(x.var, x.count, x.body), every), made_in(x.body)
    for y in lets:
        match y.value:
            case Do(args=(a, b), dtype="int64", of="int64") if made.isdisjoint(variables(b)):
                form = known.form(a)
                one_on = form is not None and form.times == ((x.var, 1),) and abs(form.constant) < FAR
                quick = isinstance(b, Lit) and (not in_order or is_power_of_two(b.value))
                if form is not None and one_on and not quick:
                    yield _remainder(y.name, plus(first, Lit(form.constant)), b)
            case _:
                pass


def _remainder(name: str, start: Expr, b: Expr) -> _Remainder:
    """The counter of a remainder by b: it is reset to 0, or to b + 1 if b is negative; by 0 it is always 0."""
    first = Do("remainder", (start, b), INDEX, INDEX)
    if isinstance(b, Lit) and b.value > 0:
        return _Remainder(_named(name), first, b, ZERO)
    end = Do("where", (Do("greater", (b, ZERO), "bool", INDEX), b, ONE), INDEX, INDEX)
    again = Do("where", (Do("less", (b, ZERO), "bool", INDEX), plus(b, ONE), ZERO), INDEX, INDEX)
    return _Remainder(_named(name), first, end, again)
