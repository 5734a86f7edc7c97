"""Pictures: a program or a symbolic graph as one SVG text that needs nothing else.

Colours follow the reader's light or dark setting.  Nothing in a picture has an id, so that many of
them can stand on one page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

from scanopt.array.variable import Variable
from scanopt.program.ir import Program
from scanopt.view.arrange import SMALL, Frame, Label, Piece, arrange, text_width
from scanopt.view.graph_scene import graph_scene
from scanopt.view.markup import escape
from scanopt.view.program_scene import program_scene
from scanopt.view.scene import Item, Scene

__all__ = ["LIMIT", "STYLE", "graph_svg", "program_svg", "scene_svg"]

LIMIT = 1500
"""Items up to which a scene is drawn; a larger one gives a picture that says so."""

_MARGIN = 16.0

# Colour of a class of items or of a class of cost: on light, on dark.
_COLOURS = {
    "plain": ("#64748b", "#94a3b8"),
    "blue": ("#2563eb", "#7aa7ff"),
    "orange": ("#c2570c", "#fb9a4b"),
    "purple": ("#7c3aed", "#b794f6"),
    "green": ("#15803d", "#5fd38d"),
    "red": ("#be123c", "#fb7185"),
    "teal": ("#0f766e", "#4fd1c5"),
    "yellow": ("#a16207", "#f2c94c"),
    "cyan": ("#0e7490", "#67d3ea"),
    "lime": ("#4d7c0f", "#a3d94f"),
    "brown": ("#8a5a2b", "#d1a87c"),
    "pink": ("#a21caf", "#f0abfc"),
}
_COSTS = {
    "arith": "blue", "division": "cyan", "transcendental": "yellow", "product": "purple",
    "reduction": "lime", "free": "plain", "memory": "brown", "sort": "pink",
}  # fmt: skip
_ROLES = {
    "read": "teal", "state": "orange", "update": "orange", "hold": "plain", "steps": "plain",
    "keep": "green", "until": "red", "input": "plain", "output": "plain", "const": "brown",
    "test": "pink", "value": "plain", "give": "green",
}  # fmt: skip
_LEGEND = {
    "read": "sequence", "state": "state (sit-sot, mit-sot)", "hold": "non-sequence",
    "keep": "kept after the loop", "until": "stop test", "test": "condition", "give": "value of a branch",
}  # fmt: skip


def _style() -> str:
    mono = "ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
    rules = [
        f".sop{{font-family:{mono};text-anchor:middle}}",
        ".sop .page{fill:#ffffff}.sop text{fill:#0f172a}.sop .s{fill:#475569;font-weight:400}",
        ".sop .b{font-weight:600}.sop .w{fill:none;stroke:#64748b;stroke-width:1.25}",
        ".sop .a{fill:#64748b}.sop .loop{fill:#94a3b8;fill-opacity:.11;stroke:#64748b}",
        ".sop .f{fill:none;stroke-width:1.4;stroke-dasharray:5 3}.sop .l{text-anchor:start}",
        ".sop g:hover>.box{fill-opacity:.34}.sop .box{fill-opacity:.15;stroke-width:1.2}",
        ".sop .t{stroke-opacity:.5}.sop .side{stroke-dasharray:2 4}",
    ]
    dark = [
        ".sop .page{fill:#0f172a}.sop text{fill:#e2e8f0}.sop .s{fill:#a3b1c6}",
        ".sop .w{stroke:#8392a8}.sop .a{fill:#8392a8}.sop .loop{fill:#94a3b8;stroke:#8392a8}",
    ]
    for name, (light, night) in _COLOURS.items():
        rules.append(f".sop .{name}{{fill:{light};stroke:{light}}}.sop .f.{name}{{fill:none}}")
        dark.append(f".sop .{name}{{fill:{night};stroke:{night}}}.sop .f.{name}{{fill:none}}")
    return "\n".join([*rules, "@media (prefers-color-scheme: dark){", *dark, "}"])


STYLE = _style()
"""The style sheet of all pictures; each carries it, unless made with `style=False`."""


def program_svg(program: Program, *, style: bool = True) -> str:
    """A loop program as a picture: inputs on top, loops as boxes, roles and taps labelled."""
    return scene_svg(program_scene(program), style=style)


def graph_svg(x: Variable | Sequence[Variable], *, style: bool = True) -> str:
    """The graph of one or several symbolic variables as a picture."""
    return scene_svg(graph_scene([x] if isinstance(x, Variable) else list(x)), style=style)


def scene_svg(scene: Scene, *, style: bool = True) -> str:
    """Any scene as a picture."""
    count = sum(1 for _ in scene.walk())
    if count > LIMIT:
        return _note(f"{count} items are too many to draw: see the text", style)
    frame = arrange(scene)
    legend, below = _legend(scene, frame.width)
    width = max(frame.width, below[0]) + 2 * _MARGIN
    height = frame.height + below[1] + 2 * _MARGIN
    left = (width - frame.width) / 2
    body = _group(left, _MARGIN, _frame(frame))
    foot = _group(_MARGIN, _MARGIN + frame.height + 24, legend)
    return _document(width, height, [body, foot], style)


def _document(width: float, height: float, body: Sequence[str], style: bool) -> str:
    w, h = _n(width), _n(height)
    sheet = f"<style>{STYLE}</style>\n" if style else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sop" width="{w}" height="{h}" '
        f'viewBox="0 0 {w} {h}" role="img">\n{sheet}'
        f'<rect class="page" width="{w}" height="{h}" rx="8"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _note(text: str, style: bool) -> str:
    width = text_width(text) + 40
    return _document(width, 48, [_text(Label(text, width / 2, 28), "")], style)


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") if value else "0"


def _group(x: float, y: float, body: Sequence[str] | Iterator[str], title: str = "") -> str:
    tip = f"<title>{escape(title)}</title>" if title else ""
    return f'<g transform="translate({_n(x)} {_n(y)})">{tip}' + "\n".join(body) + "</g>"


def _text(text: Label, extra: str) -> str:
    kind = "b" if text.strong else "s"
    place = f'x="{_n(text.x)}" y="{_n(text.y)}" font-size="{_n(text.size)}"'
    return f'<text class="{kind}{extra}" {place}>{escape(text.text)}</text>'


def _frame(frame: Frame) -> Iterator[str]:
    """Draw loops, then wires over them, then everything else over the wires."""
    for piece in frame.pieces:
        if piece.frame is not None:
            yield _loop(piece)
    for strand in frame.strands:
        yield _strand(strand.pieces)
    for _, points in frame.lanes:
        yield _lane(points)
    for piece in frame.pieces:
        if piece.frame is None:
            yield _group(piece.x, piece.y, _box(piece), piece.item.tip)


def _loop(piece: Piece) -> str:
    assert piece.frame is not None
    size = f'width="{_n(piece.width)}" height="{_n(piece.height)}"'
    inside = _group(piece.frame.left, piece.frame.top, _frame(piece.frame))
    kind = "loop side" if piece.item.kind == "side" else "loop"
    return _group(piece.x, piece.y, [f'<rect class="{kind}" rx="10" {size}/>', inside])


def _box(piece: Piece) -> Iterator[str]:
    item = piece.item
    if item.kind != "title":
        round = piece.height / 2 if item.kind in ("input", "output", "const") else 5
        yield (
            f'<rect class="box {_colour(item)}" width="{_n(piece.width)}" '
            f'height="{_n(piece.height)}" rx="{_n(min(round, 16))}"/>'
        )
    for x in piece.cells[:-1]:
        yield f'<path class="t {_colour(item)}" d="M{_n(x)} 4V{_n(25)}"/>'
    for text in piece.texts:
        yield _text(text, "")


def _colour(item: Item) -> str:
    if item.kind == "op":
        return cost_colour(item.cost)
    return _ROLES.get(item.kind, "plain")


def cost_colour(cost: str) -> str:
    """The colour of a class of cost; for an unknown class, one chosen by its name."""
    if cost in _COSTS or not cost:
        return _COSTS.get(cost, "plain")
    names = sorted(_COLOURS)
    return names[crc32(cost.encode()) % len(names)]


def _strand(pieces: Sequence[tuple[float, float, float]]) -> str:
    x, a, b = pieces[0]
    path = [f"M{_n(x)} {_n(a)}V{_n(b)}"]
    for u, top, bottom in pieces[1:]:
        if abs(u - x) > 0.05:
            middle = (b + top) / 2
            path.append(f"C{_n(x)} {_n(middle)} {_n(u)} {_n(middle)} {_n(u)} {_n(top)}")
        path.append(f"V{_n(bottom)}")
        x, b = u, bottom
    return f'<path class="w" d="{"".join(path)}"/>{_arrow(x, b, "a")}'


def _arrow(x: float, y: float, kind: str) -> str:
    return f'<path class="{kind}" d="M{_n(x)} {_n(y)}l-3.5 -6.5h7z"/>'


def _lane(points: Sequence[tuple[float, float]]) -> str:
    """The way back of a state: a dashed line with round corners."""
    (x, y), r = points[0], 4.0
    path = [f"M{_n(x)} {_n(y)}"]
    for (px, py), (qx, qy), (rx, ry) in zip(points, points[1:], points[2:], strict=False):
        bx, by = qx - _sign(qx - px) * r, qy - _sign(qy - py) * r
        ex, ey = qx + _sign(rx - qx) * r, qy + _sign(ry - qy) * r
        path.append(f"L{_n(bx)} {_n(by)}Q{_n(qx)} {_n(qy)} {_n(ex)} {_n(ey)}")
    x, y = points[-1]
    path.append(f"L{_n(x)} {_n(y)}")
    return f'<path class="f orange" d="{"".join(path)}"/>{_arrow(x, y, "orange")}'


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _legend(scene: Scene, width: float) -> tuple[list[str], tuple[float, float]]:
    """Swatches for what occurs in the picture, and the width and height they take."""
    items = list(scene.walk())
    kinds = {item.kind for item in items}
    costs = sorted({item.cost for item in items if item.cost})
    entries = [(cost_colour(c), c) for c in costs]
    entries += [(_ROLES[kind], text) for kind, text in _LEGEND.items() if kind in kinds]
    x, y, widest, out = 0.0, 0.0, 0.0, []
    for colour, text in entries:
        step = 16 + text_width(text, SMALL) + 18
        if x and x + step > max(width, 420):
            x, y = 0.0, y + 17
        square = f'x="{_n(x)}" y="{_n(y - 9)}" width="11" height="11" rx="3"'
        swatch = f'<rect class="box {colour}" {square}/>'
        out.append(swatch + _text(Label(text, x + 17, y, SMALL), " l"))
        x += step
        widest = max(widest, x - 18)
    return out, (widest, y + 30 if entries else 0.0)
