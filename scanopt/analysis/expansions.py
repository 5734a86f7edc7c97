"""Recipes of the batched operators that may occur in a program, as rows for the e-graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import scanopt.facts.expansions  # noqa: F401  # declares what is given here
from scanopt.analysis.batched_operators import Expansion, recipe
from scanopt.array.op import Op, Operand
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import ROOT, Batched
from scanopt.records import dataclass

__all__ = ["Expansions", "expansions"]

Row = tuple[str, tuple[int | str | Op, ...]]
Types = tuple[tuple[str, int], ...]
"""The dtypes and numbers of axes of arguments."""

Key = tuple[Op, str, tuple[int, ...]]
"""A batched operator, with the numbers of axes of its arguments."""

_NUMBERS = {1: "one", 2: "two", 3: "three"}
_ARRANGING = {"expand_dims", "transpose", "broadcast_to", "swap_rows"}
"""Operators whose result has the entries of their first argument."""


@dataclass(frozen=True)
class Expansions:
    """The recipes of the batched operators of a program.

    rows: for the e-graph.  made_of: the operators of all expansions.  whole: operators all of whose batched forms
    have an expansion.
    """

    rows: list[Row]
    made_of: list[Op]
    whole: frozenset[Op]


def expansions(g: Encoded, clocks: Mapping[int, int]) -> Expansions:
    """All ways to batch the operators in the loops of a program.  clocks: the clock of each term."""
    found: dict[Key, Expansion | None] = {}
    types: dict[Key, Types] = {}
    deepest: dict[Key, int] = {}
    todo = list(_in_loops(g, clocks))
    while todo:
        op, rows, depth = todo.pop()
        for key, batched in _ways(op, rows):
            made = _expansion(op, key[1], batched)
            if key in found and _differ(made, found[key]):  # the recipe depends on the dtype
                found[key] = None
            if deepest.get(key, 0) < depth:
                deepest[key] = depth
                found.setdefault(key, made)
                if made is not None:
                    types.setdefault(key, _types(made, batched))
                    inner = [(o, tuple(types[key][a] for a in args), depth - 1) for o, args in made.steps]
                    todo.extend(x for x in inner if depth > 1)
    usable = {key: made for key, made in found.items() if made is not None}
    made_of = dict.fromkeys(o for made in usable.values() for o, _ in made.steps)
    table = [row for n, (key, made) in enumerate(usable.items()) for row in _rows(key, n, made, types[key])]
    return Expansions(table, list(made_of), frozenset(k[0] for k in usable) - {k[0] for k in found if k not in usable})


def _ways(op: Op, rows: Types) -> Iterator[tuple[Key, Types]]:
    """All ways to batch an operator of such arguments, and the types of the arguments then."""
    for flags in map("".join, product("01", repeat=len(rows))):
        if "1" in flags:
            batched = tuple((d, n + (f == "1")) for (d, n), f in zip(rows, flags, strict=True))
            yield (op, flags, tuple(n for _, n in batched)), batched


def _expansion(op: Op, flags: str, batched: Types) -> Expansion | None:
    made = recipe(Batched(op, flags), [Operand(d, (None,) * n) for d, n in batched])
    if made is None or made.constants or any(len(args) not in _NUMBERS for _, args in made.steps):
        return None
    return made


def _differ(a: Expansion | None, b: Expansion | None) -> bool:
    return a is not b and (a is None or b is None or (a.steps, a.result) != (b.steps, b.result))


def _in_loops(g: Encoded, clocks: Mapping[int, int]) -> Iterator[tuple[Op, Types, int]]:
    """The operators in loops that cannot raise, with the types of their arguments and how deep they lie."""
    found: dict[tuple[Op, Types], int] = {}
    for i, f in g.forms():
        if clocks[i] == ROOT or not isinstance(f.operator, Op) or len(f.args) not in _NUMBERS:
            continue
        if f.operator.spec.batch is not None and not f.operator.can_raise:
            types = tuple((g.types[a].dtype, g.types[a].ndim) for a in f.args)
            for key in _with_opposite(f.operator, types):
                found[key] = max(found.get(key, 0), len(g.chain(clocks[i])))
    yield from ((op, types, depth) for (op, types), depth in found.items())


def _with_opposite(op: Op, types: Types) -> Iterator[tuple[Op, Types]]:
    """An operator in a loop and, for a difference, the opposite of what is taken away, which laws add in its place."""
    yield op, types
    if op.name == "subtract" and types[1][0] != "bool":
        yield Op.make("negative"), types[1:]


def _types(made: Expansion, args: Types) -> Types:
    """The types of all slots."""
    out = [Operand(d, (None,) * n) for d, n in args]
    for op, slots in made.steps:
        found = op.idle(*(out[a] for a in slots))
        out.append(Operand(found.dtype, found.shape))
    return tuple((x.dtype, x.ndim) for x in out)


def _rows(key: Key, number: int, made: Expansion, types: Types) -> Iterator[Row]:
    op, flags, axes = key
    yield f"expands_{_NUMBERS[made.arity]}", (op, flags, *axes, number)
    for slot, (step, args) in enumerate(made.steps, made.arity):
        yield f"step_of_{_NUMBERS[len(args)]}", (number, slot, step, *args)
        if step.name in _ARRANGING:
            yield "arranges", (number, slot, args[0], types[slot][1])
    yield "result_of", (number, made.result)
