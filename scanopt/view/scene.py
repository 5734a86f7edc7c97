"""Scenes: items to be shown and the links between them; loops and branches are items that hold a scene.

A scene knows nothing of places, colours or formats.  Programs (`scanopt.view.program_scene`) and
symbolic graphs (`scanopt.view.graph_scene`) become scenes; pictures, networkx graphs and DOT text
are made from scenes.

Ports are items on the border of a loop: a *top* port is where a value enters the loop (a sequence,
a state, a non-sequence), a *bottom* port is where one leaves it or ends a step.  A branch holds two
sides, and a side its steps; they have ports as loops have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np

from scanopt.array.op import TABLE, Op
from scanopt.array.types import TensorType
from scanopt.records import dataclass

__all__ = [
    "BOTTOM", "FREE", "TOP", "Item", "Link", "Place", "Scene", "Scope", "array_text", "op_item", "options_text",
    "tap_text",
]  # fmt: skip

TOP, FREE, BOTTOM = "top", "free", "bottom"


@dataclass(frozen=True)
class Item:
    """One thing to show.

    kind: input, const, op or output; loop, title, read, state, hold, steps, keep, update or until;
    branch, side, test (the condition), value (from outside) or give (the result).
    label: the large text; detail: the small text below it; tip: the text shown on hovering.
    role: the documents' word (sequence, sit-sot, mit-sot, nit-sot, non-sequence) where it has one.
    cells: for a state, the text of each tap.  inline: a constant so small that it is written where
    it is used.  owner: the key of the loop, branch or side that holds it, or "".
    """

    key: str
    kind: str
    label: str
    detail: str = ""
    type: str = ""
    role: str = ""
    tip: str = ""
    cost: str = ""
    pin: str = FREE
    cells: tuple[str, ...] = ()
    inline: bool = False
    owner: str = ""
    inner: Scene | None = None


@dataclass(frozen=True)
class Link:
    """A value going from `source` (from its tap number `cell`) to argument `arg` of `target`.

    kind: "data", or "feedback" from a state's end of step to its taps at the next step.
    """

    source: str
    target: str
    arg: int = 0
    cell: int = 0
    kind: str = "data"


@dataclass(frozen=True)
class Scene:
    """Items in an order of computation, and links; both ends of a link may be ports of a loop."""

    items: tuple[Item, ...] = ()
    links: tuple[Link, ...] = ()

    def walk(self) -> Iterator[Item]:
        """All items, those inside a loop after their loop."""
        for item in self.items:
            yield item
            if item.inner is not None:
                yield from item.inner.walk()

    def all_links(self) -> Iterator[Link]:
        """All links, those inside loops too."""
        yield from self.links
        for item in self.items:
            if item.inner is not None:
                yield from item.inner.all_links()


@dataclass(frozen=True)
class Place:
    """Where a value can be taken from: an item, and which of its taps."""

    key: str
    cell: int = 0
    label: str = ""
    type: str = ""
    inline: bool = False


@dataclass
class Scope:
    """A scene being made: what one level of nesting has so far."""

    owner: str = ""
    items: list[Item] = field(default_factory=list[Item])
    links: list[Link] = field(default_factory=list[Link])

    def link(self, source: Place, target: str, arg: int = 0, kind: str = "data") -> None:
        """Add a link."""
        self.links.append(Link(source.key, target, arg, source.cell, kind))

    def scene(self) -> Scene:
        """The scene of the items and links so far."""
        return Scene(tuple(self.items), tuple(self.links))


def op_item(key: str, op: Op, type: TensorType, name: str, owner: str) -> Item:
    """The item of one operator; `name` is what its result is called."""
    spec = TABLE.get(op.name)
    options = options_text(op, all=False)
    tip = [f"{name} = {op.key}" if name else op.key, f"type {type}"]
    if spec is not None and spec.doc:
        tip.append(spec.doc)
    return Item(
        key, "op", op.name, options, f"{name}: {type}" if name else str(type), tip="\n".join(tip),
        cost=op.cost if spec is not None else "", owner=owner,
    )  # fmt: skip


def options_text(op: Op, *, all: bool = True) -> str:
    """The parameters of an op, indices as one writes them; all=False leaves out False and None.

    >>> options_text(Op.make("getitem", index=(("slice", None, -1, None), 0)))
    '[:-1, 0]'
    >>> options_text(Op.make("sum", axis=(0,), keepdims=False), all=False)
    'axis=(0,)'
    """
    words = []
    for key, value in op.params:
        if key == "index" and isinstance(value, tuple):
            words.append(f"[{', '.join(map(_entry_text, value))}]")
        elif all or (value is not None and value is not False):
            words.append(f"{key}={value}")
    return ", ".join(words)


def _entry_text(entry: Any) -> str:
    if entry in ("in", "array", "mask"):
        return "·"
    if not isinstance(entry, tuple) or len(entry) != 4:
        return str(entry)
    parts = ["" if p is None else "·" if p == "in" else str(p) for p in entry[1:]]
    return ":".join(parts if parts[2] else parts[:2])


def tap_text(name: str, lag: int) -> str:
    """A value some steps away, as the documents write it.

    >>> tap_text("h", -1), tap_text("x", 0), tap_text("x", 2)
    ('h[t-1]', 'x[t]', 'x[t+2]')
    """
    return f"{name}[t{lag:+d}]" if lag else f"{name}[t]"


def array_text(value: np.ndarray[Any, Any], limit: int = 40) -> str:
    """A constant in one line: its values if they are few, else a summary.

    >>> array_text(np.array([1.0, 2.0])), array_text(np.zeros((20, 3)))
    ('[1. 2.]', 'array of float64[20, 3]')
    """
    if value.ndim == 0:
        return str(value.item())
    text = " ".join(str(value).split()) if value.size <= 12 else ""
    return text if 0 < len(text) <= limit else f"array of {_type_of(value)}"


def _type_of(value: np.ndarray[Any, Any]) -> TensorType:
    return TensorType(value.dtype.name, value.shape)
