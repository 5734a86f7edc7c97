"""How the examples draw: charts of lines, dots and bands as SVG, heat maps as PNG, with NumPy alone.

Both are written to build/examples/ in the folder that the program is started in.
"""

import zlib
from html import escape
from pathlib import Path

import numpy as np

FOLDER = Path("build") / "examples"
COLORS = ("#1b6ca8", "#d1495b", "#3a8f5c", "#c78a1b", "#7a5195", "#555555")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 62, 16, 40, 48


class Chart:
    """A chart of curves over one pair of axes, which span all that is drawn; `log=True` for a logarithmic y axis."""

    def __init__(self, title, x="", y="", log=False):
        self.title, self.x, self.y, self.log = title, x, y, log
        self.marks, self.colors = [], iter(COLORS * 10)

    def line(self, x, y, label="", dashed=False, steps=False):
        """A line through the points; `steps=True` keeps each value until the next x."""
        x, y = np.broadcast_arrays(x, y)
        if steps:
            x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
        return self._mark("dashed" if dashed else "line", x, y, label)

    def dots(self, x, y, label=""):
        """A dot at each point."""
        return self._mark("dots", *np.broadcast_arrays(x, y), label)

    def band(self, x, low, high, label=""):
        """The area between two curves."""
        return self._mark("band", np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]]), label)

    def save(self, name):
        """Write the chart as an SVG file; its path."""
        marks = [mark for kind in ("band", "dots", "dashed", "line") for mark in self.marks if mark[0] == kind]
        places = np.concatenate([np.stack(mark[1:3]) for mark in marks], axis=1)
        (left, low), (right, high) = places.min(1), places.max(1)
        room = 0.04 * (high - low) or 1.0
        span = (left, max(right, left + 1e-9)), (low - room, high + room)
        body = [*self._frame(span), *(_drawn(mark, span) for mark in marks), *self._legend()]
        return _written(f"{name}.svg", "\n".join([*body, "</svg>\n"]).encode())

    def _mark(self, kind, x, y, label):
        x, y = np.asarray(x, float), np.asarray(y, float)
        self.marks.append((kind, x, np.log10(y) if self.log else y, label, next(self.colors)))
        return self

    def _frame(self, span):
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
            ' font-size="12">\n<rect width="100%" height="100%" fill="white"/>'
        )
        for value in _ticks(*span[0]):
            x, _ = _placed(value, span[1][0], span)
            yield f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>'
            yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:.6g}</text>'
        for value in _ticks(*span[1], whole=self.log and np.ptp(span[1]) > 2):
            _, y = _placed(span[0][0], value, span)
            shown = f"{10**value:.3g}" if self.log else f"{value:.6g}"
            yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>'
            yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>'
        yield f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#444"/>'
        yield f'<text x="{LEFT}" y="16" font-weight="bold">{escape(self.title)}</text>'
        yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 14}" text-anchor="end">{escape(self.x)}</text>'
        yield f'<text x="{LEFT}" y="33">{escape(self.y)}</text>'

    def _legend(self):
        x = WIDTH - RIGHT
        for _, _, _, label, color in reversed([mark for mark in self.marks if mark[3]]):
            yield f'<text x="{x}" y="33" text-anchor="end" fill="{color}">{escape(label)}</text>'
            x -= 7 * len(label) + 14


def heat_map(name, values, scale=1, colors=((0, 7, 100), (32, 107, 203), (237, 255, 255), (255, 170, 0), (60, 10, 0))):
    """Write a matrix as a PNG file, the least value in the first colour, the largest in the last; its path."""
    values = np.kron(np.asarray(values, float), np.ones((scale, scale)))
    level = (values - values.min()) / max(np.ptp(values), 1e-300) * (len(colors) - 1)
    pixels = np.stack([np.interp(level, np.arange(len(colors)), part) for part in np.transpose(colors)], axis=-1)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels.round().astype(np.uint8))
    header = b"".join(n.to_bytes(4, "big") for n in reversed(values.shape)) + bytes([8, 2, 0, 0, 0])  # 8 bits, RGB
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    body = b"".join(
        len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big") for kind, data in chunks
    )
    return _written(f"{name}.png", b"\x89PNG\r\n\x1a\n" + body)


def _placed(x, y, span):
    (left, right), (low, high) = span
    across = LEFT + (WIDTH - LEFT - RIGHT) * (x - left) / (right - left)
    return across, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - low) / (high - low)


def _ticks(low, high, whole=False):
    """About five round numbers from low to high, or some whole ones."""
    raw = max((high - low) / 5, float(whole))
    unit = 10 ** np.floor(np.log10(raw))
    step = unit * min((1, 2, 5, 10), key=lambda k: abs(k * unit - raw))
    return np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0  # no -0


def _drawn(mark, span):
    kind, x, y, _, color = mark
    x, y = _placed(x, y, span)
    if kind == "dots":
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x, y, strict=True))
        return f'<path d="{dots}" stroke="{color}" stroke-width="3.6" stroke-linecap="round" opacity="0.6"/>'
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    if kind == "band":
        return f'<polygon points="{points}" fill="{color}" opacity="0.2"/>'
    dash = ' stroke-dasharray="5 4"' if kind == "dashed" else ""
    return f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.6"{dash}/>'


def _written(file, data):
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / file
    path.write_bytes(data)
    return path
