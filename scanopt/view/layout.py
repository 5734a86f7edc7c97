"""Layered drawing of boxes and wires: where each goes, top to bottom.  Numbers only, no text.

The method is the classical one (Sugiyama): layers by longest path, a chain of points where a wire
passes a layer, orders by barycentres with the fewest crossings kept, places by repeated isotonic
regression toward the mean of the neighbours.  Nothing is random: equal input, equal picture.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence

from scanopt.records import dataclass

__all__ = ["Box", "Drawing", "Wire", "draw", "spread"]

SWEEPS = 8
LIMIT = 4000  # points (boxes, and wires passing layers) up to which orders are improved


@dataclass(frozen=True)
class Box:
    """A box to place.  pin: -1 in the first layer, 1 in the last, 0 anywhere.  group: boxes of one
    layer stand in the order of their groups."""

    key: str
    width: float
    height: float
    pin: int = 0
    group: int = 0


@dataclass(frozen=True)
class Wire:
    """A wire from `exit` (right of the left edge) of one box to `enter` of another further down.

    A wire may begin above the bottom of its box, `start` below its top, and end `end` below the top
    of its target: so wires reach the ports of loops.
    """

    source: str
    target: str
    exit: float
    enter: float
    start: float
    end: float = 0.0


@dataclass(frozen=True)
class Drawing:
    """Where boxes and wires are.  boxes: the upper left corner of each.  wires: for each wire its upright pieces
    (x, from, to) from top to bottom, to be joined by curves."""

    boxes: dict[str, tuple[float, float]]
    wires: tuple[tuple[tuple[float, float, float], ...], ...]
    width: float
    height: float


@dataclass(frozen=True)
class _Edge:
    """A piece of a wire between neighbouring layers: points, offsets there, weight."""

    upper: int
    lower: int
    exit: float
    enter: float
    weight: float


@dataclass
class _Graph:
    """Points (boxes first, then the passages of wires), layer by layer."""

    boxes: list[Box]
    layers: list[list[int]]
    above: list[list[_Edge]]
    below: list[list[_Edge]]
    paths: list[list[int]]
    real: int
    gap: tuple[float, float]


def draw(boxes: Sequence[Box], wires: Sequence[Wire], gap: tuple[float, float] = (20.0, 34.0)) -> Drawing:
    """Place boxes and wires; `gap` is the least distance between boxes: sideways, and of layers."""
    if not boxes:
        return Drawing({}, (), 0.0, 0.0)
    graph = _graph(boxes, wires, gap)
    if len(graph.boxes) <= LIMIT:
        _order(graph)
    x = _places(graph)
    return _drawing(graph, x, wires)


def layers_of(boxes: Sequence[Box], wires: Iterable[Wire]) -> list[int]:
    """The layer of each box: below all its sources; just above its target, if it has one target and no source."""
    number = {b.key: i for i, b in enumerate(boxes)}
    sources: list[list[int]] = [[] for _ in boxes]
    targets: list[list[int]] = [[] for _ in boxes]
    for w in wires:
        sources[number[w.target]].append(number[w.source])
        targets[number[w.source]].append(number[w.target])
    first = 1 if any(b.pin < 0 for b in boxes) else 0
    layer = [0 if b.pin < 0 else first for b in boxes]
    order = _topological(sources, targets)
    for i in order:
        if boxes[i].pin >= 0:
            layer[i] = max([layer[i], *(layer[j] + 1 for j in sources[i])])
    last = max((layer[i] for i, b in enumerate(boxes) if b.pin <= 0), default=-1) + 1
    layer = [max(last, layer[i]) if b.pin > 0 else layer[i] for i, b in enumerate(boxes)]
    for i in reversed(order):
        if boxes[i].pin == 0 and targets[i] and len(sources[i]) < len(targets[i]) == 1:
            layer[i] = max(layer[i], min(layer[j] for j in targets[i]) - 1)
    return layer


def _topological(sources: list[list[int]], targets: list[list[int]]) -> list[int]:
    missing = [len(s) for s in sources]
    ready = [i for i, n in enumerate(missing) if n == 0]
    for i in ready:
        for j in targets[i]:
            missing[j] -= 1
            if missing[j] == 0:
                ready.append(j)
    if len(ready) < len(sources):
        raise ValueError("the wires form a cycle: leave feedback out and draw it afterwards")
    return ready


def _graph(boxes: Sequence[Box], wires: Sequence[Wire], gap: tuple[float, float]) -> _Graph:
    number = {b.key: i for i, b in enumerate(boxes)}
    layer = layers_of(boxes, wires)
    points = list(boxes)
    layers: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for i in sorted(range(len(boxes)), key=lambda i: boxes[i].group):
        layers[layer[i]].append(i)
    edges: list[_Edge] = []
    paths: list[list[int]] = []
    for w in wires:
        a, b = number[w.source], number[w.target]
        path = [a]
        for depth in range(layer[a] + 1, layer[b]):
            layers[depth].append(len(points))
            path.append(len(points))
            points.append(Box("", 8.0, 0.0))
        path.append(b)
        paths.append(path)
        edges += _pieces(path, w, len(boxes))
    above: list[list[_Edge]] = [[] for _ in points]
    below: list[list[_Edge]] = [[] for _ in points]
    for e in edges:
        above[e.lower].append(e)
        below[e.upper].append(e)
    return _Graph(points, layers, above, below, paths, len(boxes), gap)


def _pieces(path: list[int], wire: Wire, real: int) -> list[_Edge]:
    pieces = []
    for p, q in itertools.pairwise(path):
        weight = (1.0, 3.0, 8.0)[(p >= real) + (q >= real)]
        exit, enter = wire.exit if p == path[0] else 4.0, wire.enter if q == path[-1] else 4.0
        pieces.append(_Edge(p, q, exit, enter, weight))
    return pieces


def _order(graph: _Graph) -> None:
    """Reorder the layers for few crossings: sweeps by barycentres, the best order is kept."""
    best, fewest = [list(layer) for layer in graph.layers], _crossings(graph)
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        down = sweep % 2 == 0
        depths = range(1, len(graph.layers)) if down else range(len(graph.layers) - 2, -1, -1)
        for d in depths:
            _sort_layer(graph, d, down)
        count = _crossings(graph)
        if count < fewest:
            best, fewest = [list(layer) for layer in graph.layers], count
    graph.layers = best


def _sort_layer(graph: _Graph, depth: int, down: bool) -> None:
    layer = graph.layers[depth]
    other = graph.layers[depth - 1 if down else depth + 1]
    place = {p: i for i, p in enumerate(other)}
    mean: dict[int, float] = {}
    for i, p in enumerate(layer):
        edges = graph.above[p] if down else graph.below[p]
        if down:
            at = [place[e.upper] + e.exit / (graph.boxes[e.upper].width + 1) for e in edges]
        else:
            at = [place[e.lower] + e.enter / (graph.boxes[e.lower].width + 1) for e in edges]
        scale = len(other) / max(1, len(layer))
        mean[p] = sum(at) / len(at) if at else i * scale
    layer.sort(key=lambda p: (graph.boxes[p].group, mean[p]))


def _crossings(graph: _Graph) -> int:
    count = 0
    for upper, lower in zip(graph.layers, graph.layers[1:], strict=False):
        place = {p: i for i, p in enumerate(lower)}
        seen: list[tuple[int, float]] = []
        for p in upper:
            ends = [(e.exit, (place[e.lower], e.enter)) for e in graph.below[p] if e.lower in place]
            for _, end in sorted(ends):
                count += len(seen) - bisect_right(seen, end)
                insort(seen, end)
    return count


def spread(wanted: Sequence[float], weights: Sequence[float], apart: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones (weighted squares) with place i+1 >= place i + apart i.

    >>> spread([0.0, 0.0, 10.0], [1.0, 1.0, 1.0], [4.0, 4.0])
    [-2.0, 2.0, 10.0]
    """
    offset = 0.0
    blocks: list[tuple[float, float, int]] = []  # mean, weight, count
    offsets: list[float] = []
    for i, (want, weight) in enumerate(zip(wanted, weights, strict=True)):
        offset += apart[i - 1] if i else 0.0
        offsets.append(offset)
        mean, total, count = want - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            m, w, n = blocks.pop()
            mean = (mean * total + m * w) / (total + w)
            total, count = total + w, count + n
        blocks.append((mean, total, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [m + o for m, o in zip(means, offsets, strict=True)]


def _places(graph: _Graph) -> list[float]:
    """The left edge of each point."""
    x = [0.0] * len(graph.boxes)
    for layer in graph.layers:
        _place_layer(graph, layer, x, [0.0] * len(layer), [1.0] * len(layer))
    for sweep in range(2 * SWEEPS):
        up, down = sweep % 2 == 1, sweep % 2 == 0
        _relax(graph, x, down, up)
    if len(x) <= LIMIT:
        for _ in range(3):
            _close_gaps(graph, x)
            _relax(graph, x, True, True)
            _relax(graph, x, True, True)
    left = min(x)
    return [v - left for v in x]


def _relax(graph: _Graph, x: list[float], above: bool, below: bool) -> None:
    for layer in graph.layers if above else reversed(graph.layers):
        wanted, weights = _wanted(graph, layer, x, above, below)
        _place_layer(graph, layer, x, wanted, weights)


def _close_gaps(graph: _Graph, x: list[float]) -> None:
    """Close gaps that go through all layers: move everything to the right of one to the left."""
    for edge in sorted({round(v, 3) for v in x}):
        slacks = []
        for layer in graph.layers:
            first = next((i for i, p in enumerate(layer) if x[p] >= edge - 0.01), len(layer))
            if 0 < first < len(layer):
                p, q = layer[first - 1], layer[first]
                slacks.append(x[q] - x[p] - _apart(graph, p, q))
        shift = min(slacks, default=0.0)
        if shift > 0.5:
            right = [p for p, v in enumerate(x) if v >= edge - 0.01]
            for p in right:
                x[p] -= shift


def _wanted(
    graph: _Graph, layer: list[int], x: list[float], above: bool, below: bool
) -> tuple[list[float], list[float]]:
    wanted, weights = [], []
    for p in layer:
        pulls = [(x[e.upper] + e.exit - e.enter, e.weight) for e in graph.above[p]] if above else []
        if below:
            pulls += [(x[e.lower] + e.enter - e.exit, e.weight) for e in graph.below[p]]
        total = sum(w for _, w in pulls)
        wanted.append(sum(v * w for v, w in pulls) / total if pulls else x[p])
        weights.append(total or 0.1)
    return wanted, weights


def _apart(graph: _Graph, p: int, q: int) -> float:
    """The least distance between the left edges of two neighbours."""
    side = graph.gap[0] if p < graph.real or q < graph.real else graph.gap[0] / 2
    return graph.boxes[p].width + side


def _place_layer(graph: _Graph, layer: list[int], x: list[float], wanted: list[float], weights: list[float]) -> None:
    apart = [_apart(graph, p, q) for p, q in itertools.pairwise(layer)]
    for p, place in zip(layer, spread(wanted, weights, apart), strict=True):
        x[p] = place


def _drawing(graph: _Graph, x: list[float], wires: Sequence[Wire]) -> Drawing:
    depth = {p: d for d, layer in enumerate(graph.layers) for p in layer}
    tops, heights = _rows(graph, x)
    corner = {}
    for p, box in enumerate(graph.boxes[: graph.real]):
        d = depth[p]
        corner[p] = (x[p], tops[d] + (heights[d] - box.height) / 2)
    lines = []
    for path, wire in zip(graph.paths, wires, strict=True):
        first, last = path[0], path[-1]
        bottom = tops[depth[first]] + heights[depth[first]]
        line = [(x[first] + wire.exit, corner[first][1] + wire.start, bottom)]
        for p in path[1:-1]:
            d = depth[p]
            line.append((x[p] + 4.0, tops[d], tops[d] + heights[d]))
        line.append((x[last] + wire.enter, tops[depth[last]], corner[last][1] + wire.end))
        lines.append(tuple(line))
    places = {graph.boxes[p].key: xy for p, xy in corner.items()}
    width = max(x[p] + box.width for p, box in enumerate(graph.boxes))
    return Drawing(places, tuple(lines), width, tops[-1] + heights[-1])


def _rows(graph: _Graph, x: list[float]) -> tuple[list[float], list[float]]:
    """The top and the height of each layer; layers with slanting wires between them stand wider."""
    heights = [max((graph.boxes[p].height for p in layer), default=0.0) for layer in graph.layers]
    tops = [0.0]
    for d, layer in enumerate(graph.layers[:-1]):
        slants = [abs(x[e.upper] + e.exit - x[e.lower] - e.enter) for p in layer for e in graph.below[p]]
        space = min(graph.gap[1] * 2.2, graph.gap[1] + 0.09 * max(slants, default=0.0))
        tops.append(tops[d] + heights[d] + space)
    return tops, heights
