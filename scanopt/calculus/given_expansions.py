"""What the batched operators that a program may come to are made of, as rows for the e-graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import scanopt.calculus.facts_expansions  # noqa: F401  # declares what is given here
from scanopt.array.op import Op, Operand
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import ROOT, Batched
from scanopt.calculus.recipes import Recipe, recipe

__all__ = ["Expansions", "expansions"]

Row = tuple[str, tuple[int | str | Op, ...]]
Types = tuple[tuple[str, int], ...]
"""The dtypes and numbers of axes of arguments."""

_NUMBERS = {1: "one", 2: "two", 3: "three"}
_ARRANGING = {"expand_dims", "transpose", "broadcast_to", "swap_rows"}
"""Operators whose result has the entries of their first argument."""


@dataclass(frozen=True)
class Expansions:
    """Rows for the e-graph, the operators that expansions are made of, and those that all batched forms are of."""

    rows: list[Row] = field(default_factory=list[Row])
    made_of: dict[Op, None] = field(default_factory=dict[Op, None])
    expanded: dict[Op, None] = field(default_factory=dict[Op, None])


def expansions(g: Encoded, clocks: Mapping[int, int]) -> Expansions:
    """All ways to batch the operators in the loops of a program.  clocks: of its terms."""
    out = Expansions()
    seen: set[tuple[Op, str, tuple[int, ...]]] = set()
    failed: set[Op] = set()
    todo = list(_in_loops(g, clocks))
    while todo:
        op, types, depth = todo.pop()
        for flags in map("".join, product("01", repeat=len(types))):
            batched = tuple((d, n + (f == "1")) for (d, n), f in zip(types, flags, strict=True))
            key = op, flags, tuple(n for _, n in batched)
            if "1" not in flags or key in seen:
                continue
            made = recipe(Batched(op, flags), [Operand(d, (None,) * n) for d, n in batched])
            if made is None or made.constants or any(len(args) not in _NUMBERS for _, args in made.steps):
                failed.add(op)
                continue
            types_of = _types(made, batched)
            out.rows.extend(_rows(op, flags, len(seen), made, types_of))
            out.made_of.update((o, None) for o, _ in made.steps)
            out.expanded[op] = None
            seen.add(key)
            if depth > 1:
                todo.extend((o, tuple(types_of[a] for a in args), depth - 1) for o, args in made.steps)
    for op in failed:
        out.expanded.pop(op, None)
    return out


def _in_loops(g: Encoded, clocks: Mapping[int, int]) -> Iterator[tuple[Op, Types, int]]:
    """The operators in loops that cannot raise, with the types of their arguments and how deep they lie."""
    found: dict[tuple[Op, Types], int] = {}
    for i, f in g.forms():
        if clocks[i] == ROOT or not isinstance(f.operator, Op) or len(f.args) not in _NUMBERS:
            continue
        if f.operator.spec.batch is not None and not f.operator.can_raise:
            key = f.operator, tuple((g.types[a].dtype, g.types[a].ndim) for a in f.args)
            found[key] = max(found.get(key, 0), len(g.chain(clocks[i])))
    yield from ((op, types, depth) for (op, types), depth in found.items())


def _types(made: Recipe, args: Types) -> Types:
    """The types of all slots."""
    out = [Operand(d, (None,) * n) for d, n in args]
    for op, slots in made.steps:
        found = op.idle(*(out[a] for a in slots))
        out.append(Operand(found.dtype, found.shape))
    return tuple((x.dtype, x.ndim) for x in out)


def _rows(op: Op, flags: str, number: int, made: Recipe, types: Types) -> Iterator[Row]:
    axes = tuple(n for _, n in types[: made.arity])
    yield f"expands_{_NUMBERS[made.arity]}", (op, flags, *axes, number)
    for slot, (step, args) in enumerate(made.steps, made.arity):
        yield f"step_of_{_NUMBERS[len(args)]}", (number, slot, step, *args)
        if step.name in _ARRANGING:
            yield "arranges", (number, slot, args[0], types[slot][1])
    yield "result_of", (number, made.result)
