"""A scene with sizes and places: texts are measured and cut, loops laid out from the inside out.

All texts are set in a fixed-width face, so that widths are known without a font.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import replace

from scanopt.records import dataclass
from scanopt.view.layout import Box, Wire, draw
from scanopt.view.scene import BOTTOM, TOP, Item, Link, Scene

__all__ = ["Frame", "Label", "Piece", "Strand", "arrange", "columns", "cut", "text_width"]

ADVANCE = 0.61  # width of a column, in units of the size: at least that of the usual faces
LARGE, SMALL = 12.5, 10.0  # sizes
LINE = 1.34  # distance of lines, in units of the size
WIDEST = 34  # columns after which a text is cut; all of it is in the tooltip
PAD = 14.0  # between a loop's border and what is inside
LANE = 9.0  # between the lanes on which states go back to the top


@dataclass(frozen=True)
class Label:
    """One line: its size, whether it stands out, and its middle relative to the piece."""

    text: str
    x: float
    y: float
    size: float = LARGE
    strong: bool = False


@dataclass(frozen=True)
class Strand:
    """A wire: the upright pieces (x, from, to) that curves join."""

    link: Link
    pieces: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Piece:
    """An item with its place inside the frame that holds it; `frame` is a loop's inside."""

    item: Item
    x: float
    y: float
    width: float
    height: float
    texts: tuple[Label, ...]
    cells: tuple[float, ...] = ()  # borders between taps
    frame: Frame | None = None


@dataclass(frozen=True)
class Frame:
    """Placed pieces and strands; `left`, `top`: where the inside begins within its loop."""

    pieces: tuple[Piece, ...]
    strands: tuple[Strand, ...]
    width: float
    height: float
    left: float = 0.0
    top: float = 0.0
    lanes: tuple[tuple[Link, tuple[tuple[float, float], ...]], ...] = ()

    @property
    def outer_size(self) -> tuple[float, float]:
        """Width and height of a loop with this inside."""
        side = LANE * len(self.lanes) + (6 if self.lanes else 0)
        return self.width + 2 * PAD + side, self.height + 2 * self.top


def columns(text: str) -> int:
    """How many columns a text takes: wide characters take two, combining ones none.

    >>> columns("abc"), columns("\\u6587"), columns("e\\u0301")
    (3, 2, 1)
    """
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def text_width(text: str, size: float = LARGE) -> float:
    """The width of a text in pixels, rather too large than too small."""
    return columns(text) * size * ADVANCE


def cut(text: str, limit: int = WIDEST) -> str:
    """The text on one line, cut to at most `limit` columns.

    >>> cut("a rather long name", 10)
    'a rather …'
    """
    text = "".join(c if c.isprintable() else " " for c in text)
    if columns(text) <= limit:
        return text
    kept, used = "", 1
    for c in text:
        used += columns(c)
        if used > limit:
            break
        kept += c
    return kept + "…"


def arrange(scene: Scene) -> Frame:
    """Give sizes and places to the items of a scene, those inside loops first."""
    return _arrange(_with_inline(scene))


def _with_inline(scene: Scene) -> Scene:
    """Write small constants into the text of what uses them, as `mul(·, 2.0)`."""
    small = {item.key: item.label for item in scene.walk() if item.inline}
    into: dict[str, list[Link]] = {}
    for link in sorted(scene.all_links(), key=lambda k: k.arg):
        into.setdefault(link.target, []).append(link)
    return _written(scene, small, into) if small else scene


def _written(scene: Scene, small: dict[str, str], into: dict[str, list[Link]]) -> Scene:
    items = []
    for item in scene.items:
        if item.inline:
            continue
        args = [small.get(k.source, "") for k in into.get(item.key, ())]
        if any(args) and item.kind == "op":
            label = f"{item.label}({', '.join(cut(a, 10) or '·' for a in args)})"
            item = replace(item, label=label)
        elif any(args):
            item = replace(item, detail=f"= {args[0]}")
        if item.inner is not None:
            item = replace(item, inner=_written(item.inner, small, into))
        items.append(item)
    return Scene(tuple(items), scene.links)


def _arrange(scene: Scene) -> Frame:
    sized = {item.key: _sized(item) for item in scene.items}
    ports = _ports(sized.values())
    links = [k for k in scene.links if k.kind == "data" and {k.source, k.target} <= ports.keys()]
    fan: dict[str, list[Link]] = {}
    for link in links:
        fan.setdefault(link.target, []).append(link)
    wires = [_wire(link, ports, fan[link.target]) for link in links]
    drawing = draw([_box(piece) for piece in sized.values()], wires)
    pieces = []
    for key, piece in sized.items():
        x, y = drawing.boxes[key]
        pieces.append(replace(piece, x=x, y=y))
    strands = tuple(map(Strand, links, drawing.wires))
    frame = Frame(tuple(pieces), strands, drawing.width, drawing.height)
    return _with_lanes(frame, [k for k in scene.links if k.kind == "feedback"])


def _sized(item: Item) -> Piece:
    if item.inner is not None:
        frame = _arrange(item.inner)
        return Piece(item, 0.0, 0.0, *frame.outer_size, (), (), frame)
    if item.kind == "title":
        return _set_lines(item, [item.label], item.detail.split(", "))
    small = [item.detail, item.role, item.type]
    if item.kind == "state" and item.cells:
        return _set_cells(item, [cut(c, 16) for c in item.cells], small)
    return _set_lines(item, [item.label], small)


def _set_lines(item: Item, large: Iterable[str], small: Iterable[str]) -> Piece:
    """A piece as large as its lines need, each line in its middle."""
    lines = [(cut(t), LARGE, True) for t in large] + [(cut(t), SMALL, False) for t in small if t]
    width = max(44.0, max(text_width(t, size) for t, size, _ in lines) + 20)
    texts, y = [], 7.0
    for t, size, strong in lines:
        texts.append(Label(t, width / 2, y + size, size, strong))
        y += size * LINE
    return Piece(item, 0.0, 0.0, width, y + 5, tuple(texts))


def _set_cells(item: Item, cells: list[str], small: list[str]) -> Piece:
    """A piece for a state: its taps side by side, its description below them."""
    below = _set_lines(item, [" "], small)
    wide = [text_width(c) + 16 for c in cells]
    extra = max(0.0, below.width - sum(wide)) / len(wide)
    wide = [w + extra for w in wide]
    width, x, texts, borders = sum(wide), 0.0, [], []
    for c, w in zip(cells, wide, strict=True):
        texts.append(Label(c, x + w / 2, below.texts[0].y, LARGE, True))
        x += w
        borders.append(x)
    texts += [replace(t, x=width / 2) for t in below.texts[1:]]
    return Piece(item, 0.0, 0.0, width, below.height, tuple(texts), tuple(borders))


@dataclass(frozen=True)
class _Port:
    """Where wires meet an item: its box in this frame, and its left, top, width, bottom in it."""

    box: str
    left: float
    top: float
    width: float
    bottom: float
    cells: tuple[float, ...]


def _ports(pieces: Iterable[Piece]) -> dict[str, _Port]:
    found: dict[str, _Port] = {}
    for p in pieces:
        found[p.item.key] = _Port(p.item.key, 0.0, 0.0, p.width, p.height, p.cells)
        for q in p.frame.pieces if p.frame is not None else ():
            assert p.frame is not None
            x, y = p.frame.left + q.x, p.frame.top + q.y
            if q.item.pin in (TOP, BOTTOM):
                found[q.item.key] = _Port(p.item.key, x, y, q.width, y + q.height, ())
    return found


def _wire(link: Link, ports: dict[str, _Port], fan: list[Link]) -> Wire:
    """The wire of a link: the arguments of an item come in from left to right, in their order."""
    a, b = ports[link.source], ports[link.target]
    exit = a.left + a.width / 2
    if a.cells:
        exit = ((0.0, *a.cells)[link.cell] + a.cells[link.cell]) / 2
    enter = b.left + b.width * (fan.index(link) + 1) / (len(fan) + 1)
    return Wire(a.box, b.box, exit, enter, a.bottom, b.top)


_GROUPS = {"title": 0, "until": 0, "state": 2, "update": 2}


def _box(piece: Piece) -> Box:
    item = piece.item
    pin = {TOP: -1, BOTTOM: 1}.get(item.pin, 0)
    group = _GROUPS.get(item.kind, 1) if pin else int(item.kind == "side" and item.label == "else")
    return Box(item.key, piece.width, piece.height, pin, group)


def _with_lanes(frame: Frame, feedback: list[Link]) -> Frame:
    """Add the lanes by which states go from the end of a step back to its start, right of everything."""
    place = {p.item.key: p for p in frame.pieces}
    known = [k for k in feedback if k.source in place and k.target in place]
    known.sort(key=lambda k: -place[k.target].x)
    lanes = []
    for i, link in enumerate(known):
        a, b = place[link.source], place[link.target]
        x0, x1 = a.x + a.width / 2, b.x + b.width - 12
        right = frame.width + 12 + i * LANE
        low, high = frame.height + 8 + i * 7, -8 - i * 7
        lanes.append((link, ((x0, a.y + a.height), (x0, low), (right, low), (right, high), (x1, high), (x1, b.y))))
    return replace(frame, lanes=tuple(lanes), left=PAD, top=PAD + 7.0 * len(known))
