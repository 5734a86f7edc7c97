"""A pass on nodes: a vector of one number, to parts of which vectors are added, is joined of stretches.

An example is a stencil written as `inc_subtensor(inc_subtensor(zeros[1:], a)[:-1], b)`, or the gradient of one: within
a stretch the same parts are added to all elements, so one loop computes all of it, and `a` and `b` are not stored.
Each element goes through the same operations.  If the vector is too short for all stretches, array steps run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from scanopt.array.types import TensorType
from scanopt.backends.kernels.inner_bodies import read_after_step
from scanopt.backends.kernels.nodes import Join, Map, Nested, Node, SetItem, View
from scanopt.backends.kernels.stages import FEW, MOST_LOOPS
from scanopt.records import dataclass

__all__ = ["with_parts_joined"]

_Place = tuple[int, int]
"""A place in a vector: (0, places from the start), or (1, minus the places from the end)."""
_Slice = tuple[int | None, int | None, None]
_START, _END = (0, 0), (1, 0)
_CHEAP = {"add", "subtract", "multiply", "negative", "copy"}
"""The operations that are done twice rather than stored."""
_SHORT = 4
"""The most elements of a vector that may be too short."""


@dataclass(frozen=True)
class _Part:
    """What a node sets or adds, and where."""

    start: _Place
    stop: _Place
    node: SetItem

    def covers(self, start: _Place, stop: _Place) -> bool:
        """Whether a stretch lies in the part."""
        return self.start <= start and stop <= self.stop

    def within(self, start: _Place, stop: _Place) -> _Slice:
        """The slice of the part in which a stretch lies."""
        first = start[1] - (self.stop if start[0] else self.start)[1]
        last = stop[1] - (self.stop if stop[0] else self.start)[1]
        return (None if start == self.start else first, None if stop == self.stop else last, None)


def with_parts_joined(nested: Nested, types: dict[str, TensorType]) -> Nested:
    """Rewrite a loop and those inside it.  types: of all names; names defined here are added."""
    nodes = tuple(with_parts_joined(n, types) if isinstance(n, Nested) else n for n in nested.nodes)
    return replace(nested, nodes=_joined(nodes, read_after_step(nested.loop), types))


def _joined(nodes: tuple[Node, ...], wanted: Collection[str], types: dict[str, TensorType]) -> tuple[Node, ...]:
    reads = Counter([*wanted, *(a for n in nodes for a in n.args)])
    made: dict[str, Node] = {out: n for n in nodes for out in n.outs}
    chains = {n.out: chain for n in nodes if isinstance(n, SetItem) and (chain := _chain(n, made, reads, types))}
    inside = {part.node.args[0] for chain in chains.values() for part in chain}
    chains = {name: chain for name, chain in chains.items() if name not in inside}
    if not chains:
        return nodes
    twice = {name for chain in chains.values() for name in _read_twice(chain, nodes, made, wanted, types)}
    writer = _Stretches(made, Counter({a: 1 if a in twice else n for a, n in reads.items()}), types)
    found: list[Node] = []
    for n in nodes:
        chain = chains.get(n.outs[0], []) if isinstance(n, SetItem) else []
        found += writer.of(chain) if chain else [n]
    gone = {part.node.out for chain in chains.values() for part in chain}
    rewritten = [n for n in found if not (isinstance(n, SetItem) and n.out in gone)]
    return tuple(_without_unread(rewritten, writer.taken, wanted))


def _chain(
    node: SetItem, made: Mapping[str, Node], reads: Mapping[str, int], types: Mapping[str, TensorType]
) -> list[_Part]:
    """The parts that are set one after the other in a vector of one number; [] if this is another array."""
    found: list[_Part] = []
    last: Node | None = node
    while isinstance(last, SetItem) and (part := _part(last, types)) and (not found or reads[last.out] == 1):
        found.insert(0, part)
        last = made.get(last.args[0])
    filled = isinstance(last, Map) and last.op == "copy" and not types[last.args[0]].ndim and last.dtype == node.dtype
    slices = sum(bool(part.node.part.axes) for part in found)
    fits = filled and slices > 1 and any(part.node.added for part in found)
    places = _places(found)
    short = max(at for end, at in places if not end) - min(at for end, at in places if end)
    return found if fits and short <= _SHORT and len(places) <= MOST_LOOPS + 1 else []


def _read_twice(
    chain: Sequence[_Part],
    nodes: Sequence[Node],
    made: Mapping[str, Node],
    wanted: Collection[str],
    types: Mapping[str, TensorType],
) -> Iterator[str]:
    """The results of cheap operations that two of the parts read, and nothing else, such as forces between neighbours.

    A part reads them itself, or by operations whose results nothing else reads.
    """
    parts = [part.node for part in chain]
    for name in {a for part in parts for a in (part.args[1], *_args(made.get(part.args[1])))}:
        readers = [n for n in nodes if name in n.args]
        node = made.get(name)
        if type(node) is not Map or node.op not in _CHEAP or len(readers) != 2 or name in wanted:
            continue
        between = [n.outs[0] for n in readers if n not in parts]
        alone = all(type(made[x]) is Map and _only_part(x, nodes, parts, wanted) for x in between)
        if types[name].ndim and alone:
            yield name


def _args(node: Node | None) -> tuple[str, ...]:
    return node.args if type(node) is Map else ()


def _only_part(name: str, nodes: Sequence[Node], parts: Sequence[Node], wanted: Collection[str]) -> bool:
    """Whether one part reads a value, and nothing else."""
    readers = [n for n in nodes if name in n.args]
    return name not in wanted and len(readers) == 1 and any(p is readers[0] for p in parts)


def _part(node: SetItem, types: Mapping[str, TensorType]) -> _Part | None:
    """The part that a node sets; None if it is computed or no stretch, or if the vector has few elements."""
    length = types[node.out].shape
    if len(length) != 1 or len(node.args) != 2 or (length[0] is not None and length[0] <= FEW):
        return None
    if node.part.at:
        at = node.part.at[0][1]
        where = (_place(at), (int(at < 0), at + 1)) if isinstance(at, int) else None
    else:
        (axis,) = node.part.axes
        where = None if axis is None or axis[1][2] not in (None, 1) else _ends(*axis[1][:2])
    return _Part(*where, node) if where is not None and where[0] < where[1] else None


def _ends(start: int | str | None, stop: int | str | None) -> tuple[_Place, _Place] | None:
    if isinstance(start, str) or isinstance(stop, str):
        return None
    return _place(start or 0), _END if stop is None else _place(stop)


def _place(at: int) -> _Place:
    return int(at < 0), at


def _places(parts: Sequence[_Part]) -> list[_Place]:
    """The places at which stretches begin and end."""
    return sorted({_START, _END, *(p.start for p in parts), *(p.stop for p in parts)})


class _Stretches:
    """Writes stretches.  taken: the names of operations that are computed in stretches instead."""

    def __init__(self, made: Mapping[str, Node], reads: Mapping[str, int], types: dict[str, TensorType]) -> None:
        self.made, self.reads, self.types = made, reads, types
        self.taken: set[str] = set()

    def of(self, parts: Sequence[_Part]) -> Iterator[Node]:
        """Yield the nodes that replace the last of the settings."""
        first, last = parts[0].node, parts[-1].node
        filled = self.made[first.args[0]]
        outs: list[str] = []
        for i, (start, stop) in enumerate(pairwise(_places(parts))):
            name, row = f"{last.out}#{i}", TensorType(last.dtype, (None,))
            self.types[f"{name}l"] = row
            yield View(f"{name}l", first.args[:1], ((0, (start[1] or None, stop[1] or None, None)),), (), last.dtype)
            value = filled.args[0]
            mine = [p for p in parts if p.covers(start, stop)]
            since = max((k for k, p in enumerate(mine) if not p.node.added), default=0)
            for k, part in enumerate(mine[since:]):
                y, nodes = self._piece(part.node.args[1], part.within(start, stop), f"{name}l", f"{name}v{k}")
                yield from nodes
                args = (value, y) if part.node.added else (y,)
                value, op = f"{name}v{k}", "add" if part.node.added else "copy"
                self.types[value] = row
                yield Map(value, args, op, (last.dtype,) * len(args), last.dtype, f"{name}l")
            self.types[name] = row
            yield Map(name, (value,), "copy", (last.dtype,), last.dtype, f"{name}l")
            outs.append(name)
        yield Join(last.out, tuple(outs), 0, False, last.dtype)

    def _piece(self, name: str, part: _Slice, like: str, to: str) -> tuple[str, list[Node]]:
        """A slice of a value, and the nodes that make it.

        It is computed element by element if it is the result of operations that nothing else reads.  like: a name of
        its shape; to: the beginning of the names of nodes.
        """
        kind, out, made = self.types[name], f"{to}.{name}", self.made.get(name)
        if not kind.ndim or kind.shape == (1,):
            return name, []
        self.types[out] = TensorType(kind.dtype, (None,))
        if type(made) is not Map or self.reads[name] > 1:
            return out, [View(out, (name,), ((0, part),), (), kind.dtype)]
        self.taken.add(name)
        args, nodes = list[str](), list[Node]()
        for a in made.args:
            piece, more = self._piece(a, part, like, to)
            args.append(piece)
            nodes += [n for n in more if n not in nodes]
        return out, [*nodes, replace(made, out=out, args=tuple(args), like=like)]


def _without_unread(nodes: Sequence[Node], names: Collection[str], wanted: Collection[str]) -> list[Node]:
    """The nodes without those that make some names which nothing reads any more."""
    found: list[Node] = []
    read = {*wanted}
    for n in reversed(nodes):
        if isinstance(n, Map) and n.out in names and n.out not in read:
            continue
        found.insert(0, n)
        read |= {*n.args}
    return found
