"""`dprint`: a symbolic graph as an indented tree, loops with their roles and taps.

Each node has an id; where a node occurs again only its id is repeated, with `···`.  The step of
each loop is printed below, under "Inner graphs:".  Depth is not limited by Python's recursion.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol, TextIO, overload

from scanopt.array.op import Op
from scanopt.array.shown import quoted, shown
from scanopt.array.variable import Apply, Constant, Node, SharedVariable, Variable
from scanopt.loops.node import Scan
from scanopt.view.scene import array_text, options_text, tap_text
from scanopt.view.slots import Slot, slots, steps_text

__all__ = ["dprint"]

Branch = tuple[str, Variable]  # what stands before the node ("sequence x[t]: "), the node


class CompiledFunction(Protocol):
    """What `dprint` needs of a compiled function."""

    @property
    def outputs(self) -> Sequence[Variable]: ...
    @property
    def program(self) -> Any: ...


Printable = Variable | Sequence[Variable] | CompiledFunction


@overload
def dprint(
    x: Printable, file: Literal["str"], print_type: bool = ..., *, depth: int = ..., stop_on_name: bool = ...
) -> str: ...
@overload
def dprint(
    x: Printable, file: TextIO | None = ..., print_type: bool = ..., *, depth: int = ..., stop_on_name: bool = ...
) -> None: ...
def dprint(
    x: Printable,
    file: TextIO | Literal["str"] | None = None,
    print_type: bool = False,
    *,
    depth: int = -1,
    stop_on_name: bool = False,
) -> str | None:
    """Print the graph of a variable, of several, or of a compiled function and its program.

    file: where to print (default: standard output), or "str" to get the text back.
    print_type: add dtype and shape to each line.
    depth: how many levels of each tree to print, -1 for all.  stop_on_name: print nothing below a variable with a name.

    >>> from scanopt.array.types import TensorType
    >>> dprint(Variable(TensorType("float64", (3,)), "x"), print_type=True)
    x [id A] <float64[3]>
    """
    text = "\n".join(_lines(x, _Tree(print_type, depth, stop_on_name))) + "\n"
    if file == "str":
        return text
    (file or sys.stdout).write(text)
    return None


def _lines(x: Printable, tree: _Tree) -> Iterator[str]:
    if isinstance(x, Variable):
        outputs: Sequence[Variable] = [x]
    elif isinstance(x, Sequence):
        outputs = x
    else:
        outputs = x.outputs
    for v in outputs:
        yield from tree.lines("", v)
    if tree.scans:
        yield from ("", "Inner graphs:")
    for scan in tree.scans:  # grows while nested loops are met
        yield ""
        yield from tree.inner(scan)
    if not isinstance(x, Variable | Sequence):
        yield from ("", "Program:", "")
        yield str(x.program).rstrip("\n")


class _Tree:
    """The ids and names given so far, and the loops whose steps are still to be printed."""

    def __init__(self, print_type: bool, depth: int, stop_on_name: bool) -> None:
        self.print_type = print_type
        self.depth = depth
        self.stop_on_name = stop_on_name
        self.ids: dict[Node | Variable, str] = {}
        self.shown: set[Node] = set()
        self.names: dict[Variable, str] = {}
        self.scans: list[Scan] = []

    def id(self, v: Variable) -> str:
        """The id of the node that makes a variable (of the variable itself, if it is a leaf)."""
        x = v.owner or v
        if x not in self.ids:
            self.ids[x] = _letters(len(self.ids))
        return f"[id {self.ids[x]}]"

    def lines(self, indent: str, root: Variable) -> Iterator[str]:
        """The tree of one variable; `indent` stands before every line."""
        todo: list[tuple[int, str, str, Branch]] = [(1, indent, indent, ("", root))]
        while todo:
            level, first, rest, (lead, v) = todo.pop()
            seen = v.owner is not None and v.owner in self.shown
            yield first + lead + self.label(v) + (" ···" if seen else "")
            if seen or v.owner is None or level == self.depth or (self.stop_on_name and v.name):
                continue
            self.shown.add(v.owner)
            branches = list(_branches(v.owner))
            for i, branch in reversed(list(enumerate(branches))):
                last = i == len(branches) - 1
                stem, below = (" └─ ", "    ") if last else (" ├─ ", " │  ")
                todo.append((level + 1, rest + stem, rest + below, branch))

    def label(self, v: Variable) -> str:
        """One node in words: what it is, its id, its name, its type."""
        if isinstance(v, Constant) and v.ndim == 0:
            words = [shown(v.name) if v.name else array_text(v.data)]
        elif v.owner is None:
            words = [self.leaf(v), self.id(v)]
        elif isinstance(v.owner, Scan):
            if v.owner not in self.scans:
                self.scans.append(v.owner)
            role = _output_roles(v.owner)[v.index]
            words = [f"{_title(v.owner)}.{v.index}", self.id(v), f"({role})"]
        else:
            assert isinstance(v.owner, Apply)
            words = [_op_text(v.owner.op), self.id(v)]
        if v.owner is not None and v.name:
            words.append(quoted(v.name))
        return " ".join([*words, *([f"<{v.type}>"] if self.print_type else [])])

    def leaf(self, v: Variable) -> str:
        if isinstance(v, Constant):
            return shown(v.name) if v.name else array_text(v.data)
        name = self.names.get(v) or shown(v.name or "<no name>")
        return f"{name} (shared)" if isinstance(v, SharedVariable) else name

    def inner(self, scan: Scan) -> Iterator[str]:
        """The step of a loop: what enters it, then the tree of each of its results."""
        yield f"{_title(scan)} [id {self.ids[scan]}]" + (f" at {scan.location}" if scan.location else "")
        found = list(slots(scan))
        for slot in found:
            for i, (_, v) in enumerate(slot.taps):
                self.names[v] = slot.tap_name(i)
                origin = f", from {self.origin(slot.outer)}" if v is not slot.outer else ""
                yield f" ← {slot.documented} ({slot.role}) {self.label(v)}{origin}"
        for role, v in _results(scan, found):
            yield f" → {role}:"
            yield from self.lines("    ", v)

    def origin(self, v: Variable) -> str:
        """A short reference to a variable of the graph outside."""
        if isinstance(v, Constant) and v.ndim == 0:
            return array_text(v.data)
        return f"{shown(v.name) if v.name else self.names.get(v, '')} {self.id(v)}".strip()


def _letters(n: int) -> str:
    text = ""
    n += 1
    while n:
        n, digit = divmod(n - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


def _title(scan: Scan) -> str:
    count = steps_text(scan)
    kind = "while" if scan.until is not None else "for"
    return f"{kind}{{{count}}}" + (f" {shown(scan.name)}" if scan.name else "")


def _op_text(op: Op) -> str:
    options = options_text(op)
    if options.startswith("["):
        return op.name + options
    return f"{op.name}{{{options}}}" if options else op.name


def _branches(node: Node) -> Iterator[Branch]:
    """The children of a node; those of a loop with the role of their slot."""
    if not isinstance(node, Scan):
        for v in node.inputs:
            yield "", v
        return
    yield "n_steps: ", node.n_steps
    for slot in slots(node):
        yield f"{slot.role} {slot.label}: ", slot.outer


def _output_roles(scan: Scan) -> list[str]:
    found = list(slots(scan))
    states = [f"{s.role} {s.name}" for s in found if s.role in ("mit-sot", "sit-sot", "shared state")]
    states += ["nit-sot" + (f" {shown(n.output.name)}" if n.output.name else "") for n in scan.nit_sots]
    return states + [f"mit-mot {s.name}" for s in found if s.role == "mit-mot"]


def _results(scan: Scan, found: Sequence[Slot]) -> Iterator[Branch]:
    for slot in found:
        for lag, v in slot.updates:
            yield f"output_state ({slot.role}) {tap_text(slot.name, lag)}", v
    for i, n in enumerate(scan.nit_sots):
        yield f"output (nit-sot) {shown(n.output.name or str(i))}", n.output
    if scan.until is not None:
        yield "until", scan.until
