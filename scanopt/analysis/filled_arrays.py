"""Facts from the text of a program about arrays that loops fill row by row: states of which step t writes row t."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from scanopt.analysis.lengths import KnownLengths
from scanopt.array.op import Op
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form

__all__ = ["written_in_order"]

_ROW = Op.make("expand_dims", axis=(0,))
_COUNT = Op.make("arange", dtype="int64")
_FIRST_ROWS = Op.make("getitem", index=(("slice", None, "in", None),))
_SET = Op.make("setitem", index=("in",), mode="set")


def written_in_order(g: Encoded, lengths: Callable[[], KnownLengths]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The states that, after all steps of their loop, are the trace of what each step writes to them."""
    setting = [(i, f.args) for i, f in g.forms() if f.operator == _SET]
    states = {u: i for i, f in g.forms() if f.kind == "delay" for u in g.states[f.state].updates} if setting else {}
    for new, (array, row, place) in setting:
        state = g.classes[array][0]
        if state.kind != "delay" or state.k != 1 or g.states[state.state].updates != (new,):
            continue
        steps, start = _counted(g, place, state.clock, lengths()), _row(g, state.args[0])
        if steps is None or start is None or g.types[row].dtype != g.types[array].dtype:
            continue
        axes = lengths().axes
        if axes[start] == (steps, *axes[states.get(row, row)]):
            yield "written_in_order", (new, row)


def _row(g: Encoded, rows: int) -> int | None:
    """The array that is the only one of these rows."""
    f = g.classes[rows][0]
    return f.args[0] if f.operator == _ROW else None


def _counted(g: Encoded, place: int, clock: int, lengths: KnownLengths) -> Hashable | None:
    """How many steps a loop takes, if a number counts them: 0 at the first step, 1 at the next one."""
    f = g.classes[place][0]
    if f.kind != "seq" or f.clock != clock:
        return None
    count = g.classes[f.args[0]][0]
    while count.operator == _FIRST_ROWS:
        count = g.classes[count.args[0]][0]
    if count.operator != _COUNT or not (_is(g, count, 0, 0) and _is(g, count, 2, 1)):
        return None
    return lengths.axes[f.args[0]][0]


def _is(g: Encoded, f: Form, k: int, number: int) -> bool:
    """Whether an argument is a certain number."""
    x = g.classes[f.args[k]][0]
    return x.kind == "const" and g.consts[x.key].ndim == 0 and int(g.consts[x.key]) == number
