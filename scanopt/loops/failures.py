"""Notes on errors of a running program: the operator, its arguments, and the loops that it belongs to.

An error keeps its type and its text.  Notes are made when an error is raised; until then nothing is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.misfits import AxisNames, misfit
from scanopt.array.op import Op
from scanopt.array.op_text import nested_text
from scanopt.array.shown import shown
from scanopt.array.types import TensorType
from scanopt.array.variable import Apply, Constant, Node, Variable
from scanopt.loops.graph import is_lazy
from scanopt.loops.node import Scan

__all__ = ["MOST_OPERANDS", "PLACES", "add_notes", "loop_notes", "note_node", "operator_note"]

LONGEST_TEXT = 120
MOST_OPERANDS = 6
DEEPEST = 3
PLACES = {"of": "of", "from": "on a result of", "for": "computed for"}
"""How an operator relates to a loop (in it, after it, before it), in words."""


def add_notes(error: BaseException, notes: Iterable[str]) -> None:
    """Add notes to an error, except those that it has."""
    for text in notes:
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)


def operator_note(
    text: str, operands: Sequence[tuple[str, Any]], op: Op | None = None, axes: Sequence[AxisNames] = ()
) -> str:
    """A note on an operator and its operands.  text: its use; operands: names and values, without literal numbers.

    axes: for each operand the names of its axes.
    op: given if the error may be about lengths; the note then names the axes that do not fit together.

    >>> operator_note("v7 = X + k", [("X", np.ones((4, 3))), ("k", np.int64(2))])
    'in `v7 = X + k`: X float64[4, 3], k int64[] = 2'
    """
    told = zip(operands, axes or [()] * len(operands), strict=True)
    found = list(dict.fromkeys(f"{_short(name)} {_value(x, named)}" for (name, x), named in told))
    more = [f"{len(found) - MOST_OPERANDS} more"] if len(found) > MOST_OPERANDS else []
    what = ", ".join(found[:MOST_OPERANDS] + more)
    names, shapes = [_short(name) for name, _ in operands], [np.shape(x) for _, x in operands]
    clash = "" if op is None else misfit(op, names, shapes, axes)
    return f"in `{_short(text)}`" + (f": {what}" if what else "") + (f"; {clash}" if clash else "")


def loop_notes(error: BaseException, places: Mapping[str, Sequence[str]]) -> list[str]:
    """Notes on loops, each loop only once.  places: for each relation (a key of PLACES) the names of loops.

    Loops whose line the text of the error names already are left out.
    """
    notes: list[str] = []
    told: set[str] = set()
    for place, sites in places.items():
        new = [s for s in dict.fromkeys(sites) if s not in told and not _names(str(error), s)]
        told.update(new)
        notes += [f"{PLACES[place]} {s}" for s in new]
    return notes


def _names(text: str, site: str) -> bool:
    """Whether a text names the place of a loop, or the loop itself if its place is not known."""
    place = site.rpartition(" (")[2].removesuffix(")")
    return re.search(re.escape(place) + r"(?!\d)", text) is not None


def note_node(error: BaseException, node: Node | None, values: Mapping[Variable, Any]) -> None:
    """Add notes to an error that a node of a graph raised.  values: the values of the variables computed so far."""
    if isinstance(node, Scan):
        add_notes(error, loop_notes(error, {"of": _sites(node)}))
    if not isinstance(node, Apply) or is_lazy(node) or any(x not in values for x in node.inputs):
        return
    if node.op.name not in ("require", "assert_true"):  # their text says all already
        shown = [x for x in node.inputs if not _is_number(x)]
        operands, op = [(_name(x), values[x]) for x in shown], node.op if isinstance(error, ValueError) else None
        add_notes(error, [operator_note(_use(node), operands, op, [x.axes for x in shown])])
    add_notes(error, loop_notes(error, {"from": [s for x in node.inputs for s in _sources(x)]}))


def _sources(x: Variable, depth: int = 1) -> list[str]:
    """The loops whose outputs occur in the text that describes a variable (see `_name`)."""
    if isinstance(x.owner, Scan):
        return _sites(x.owner)
    deeper = isinstance(x.owner, Apply) and not x.name and depth < DEEPEST
    return [s for y in x.owner.inputs for s in _sources(y, depth + 1)] if deeper and x.owner else []


def _sites(node: Scan) -> list[str]:
    return [str(node)] if node.name or node.location else []


def _use(node: Apply, depth: int = 1) -> str:
    return nested_text(node.op, [_name(x, depth) for x in node.inputs])


def _name(x: Variable, depth: int = 1) -> str:
    """A variable by its name, else by the expression that computes it."""
    if x.name:
        return shown(x.name)
    if isinstance(x, Constant):
        return str(x.data) if _is_number(x) else "a constant"
    if isinstance(x.owner, Scan):
        order = x.owner.order or ()
        return f"outputs[{order.index(x.index) if x.index in order else x.index}]"
    if isinstance(x.owner, Apply):
        return _use(x.owner, depth + 1) if depth < DEEPEST else "..."
    return "?"


def _is_number(x: Variable) -> bool:
    return isinstance(x, Constant) and x.data.ndim == 0


def _value(x: Any, axes: AxisNames = ()) -> str:
    if not hasattr(x, "dtype") or not hasattr(x, "shape"):
        return type(x).__name__
    known = TensorType(np.dtype(x.dtype).name, tuple(x.shape)).text(axes)
    whole = isinstance(x, np.ndarray | np.generic) and x.ndim == 0 and x.dtype.kind in "biu"
    return f"{known} = {x}" if whole else known


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 4] + " ..."
