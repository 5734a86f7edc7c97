"""Collects the facts about each name that the writer of source text looks up: its type, its place, its memory.

Nothing is decided here: memory is assigned by relations, derived by the rules of `scanopt.rewrites.inplace`.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.array.types import TensorType
from scanopt.program.ir import Branch, Compute, Loop, Program
from scanopt.program.names import Loops, Names, Path
from scanopt.program.storage.placement import FRESH, Allocation, Root, StateOf, fresh_storage, roots_of, storage_of
from scanopt.records import dataclass

__all__ = ["Layout", "layout"]


@dataclass(frozen=True)
class Layout:
    """What the writer of source text looks up about each name.

    number: loops by id, in the order of Program.loops().  path: the loops and the sides of branches
    around a name (see `Names`); scope: the loops only.  varies: loops over whose steps its shape
    may change.  holds: the pieces of memory that it may be a view of.  views: names that may be no
    array of their own.  copied: (loop, state) pairs whose new row must be copied, because the update
    lives in memory that the next step overwrites.  last_use: position of the last step that reads a
    name, in the body that makes it.  resets: the loop before which the buffer of a name is to be
    forgotten; reset_by: the names by that loop.  spent: (loop, state) pairs whose initial rows nobody
    else reads, so that they may be overwritten.  rows: of each (loop, state) the number of rows it needs.
    """

    number: dict[int, int]
    types: dict[str, TensorType]
    path: dict[str, Path]
    scope: dict[str, tuple[int, ...]]
    varies: dict[str, Loops]
    places: dict[str, Allocation]
    holds: dict[str, frozenset[Root]]
    copied: frozenset[StateOf]
    views: frozenset[str]
    last_use: dict[str, int]
    resets: dict[str, int]
    reset_by: dict[int, list[str]]
    spent: frozenset[StateOf]
    rows: dict[StateOf, int]


def layout(program: Program) -> Layout:
    """The layout of a program.

    Where egglog is not installed and none was saved with the program, each result is a new array.
    """
    names = Names(program)
    try:
        storage = storage_of(program)
    except ImportError:
        storage = fresh_storage(program)
    steps = list(program.walk())
    made = [step.out for step in steps if isinstance(step, Compute)]
    loops = program.loops()
    resets = {name: storage.forgotten[name] for name in made if name in storage.forgotten}
    reset_by: dict[int, list[str]] = {}
    for name, loop in resets.items():
        reset_by.setdefault(loop, []).append(name)
    rows = {(n, i): s.depth for n, loop in enumerate(loops) for i, s in enumerate(loop.states)}
    return Layout(
        names.number, names.types, names.path, names.scope, names.varies,
        {name: storage.places.get(name, FRESH) for name in made},
        {name: roots_of(storage, name) for name in names.types},
        storage.copied, frozenset(_views(program)), names.last_use,
        resets, reset_by, storage.spent, {**rows, **storage.rows},
    )  # fmt: skip


def _views(program: Program) -> Iterator[str]:
    """The names that may be views of other arrays, by the kind of step that defines them."""
    for step in program.walk():
        if isinstance(step, Compute):
            if step.op.view and step.args:
                yield step.out
        elif isinstance(step, Branch):
            yield from (r.out for r in step.results)
        elif isinstance(step, Loop):
            yield from (k.out for k in step.keeps if k.rows == 1)
