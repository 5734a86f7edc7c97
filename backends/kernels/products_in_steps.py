"""Moves products whose rows a loop reads back into its steps, so that a kernel can be split along a batch.

A product of all inputs of a loop by the same weights, made before it, has the rows of all steps as its rows: parts of
the batch are not adjacent in it.  The rows of one step are the product of the inputs of this step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scanopt.array.types import TensorType
from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.nodes import Nested, Node, Product, Reshape
from scanopt.backends.kernels.sizes import Lengths
from scanopt.program.ir import Read
from scanopt.records import dataclass

__all__ = ["with_products_in_steps"]


@dataclass(frozen=True)
class _Rows:
    """Rows of a product that a loop reads.

    inputs: the array of which the product has all rows.  type: of its rows.  gone: the nodes that are not needed.
    """

    read: Read
    inputs: str
    type: TensorType
    product: Product
    gone: tuple[Node, ...]

    @property
    def row(self) -> str:
        """The name of the inputs of a step."""
        return f"{self.read.out}#inputs"

    def in_step(self) -> Product:
        """The product of a step."""
        return replace(self.product, out=self.read.out, args=(self.row, self.product.args[1]), rows_of=self.inputs)


def with_products_in_steps(body: Body, lengths: Lengths) -> tuple[Body, Lengths, dict[str, str]]:
    """The body and its lengths with such products in the loops, and for each new name of a row its array."""
    nodes, found = body.root.nodes, [_all_rows(n, body, lengths) for n in body.root.nodes]
    moved = [x for some in found for x in some]
    gone = {out for x in moved for n in x.gone for out in n.outs}
    left = [_with_products(n, some) for n, some in zip(nodes, found, strict=True) if gone.isdisjoint(n.outs)]
    types = {**body.types, **{x.row: x.type for x in moved}}
    rows = {x.row: x.inputs for x in moved}
    return replace(body, root=replace(body.root, nodes=tuple(left)), types=types), _with_rows(lengths, rows), rows


def _all_rows(node: Node, body: Body, lengths: Lengths) -> list[_Rows]:
    """The products whose rows a node reads, if it is a loop."""
    reads = node.loop.reads if isinstance(node, Nested) else ()
    return [x for r in reads if isinstance(node, Nested) and (x := _rows(r, node, body, lengths))]


def _rows(read: Read, loop: Nested, body: Body, lengths: Lengths) -> _Rows | None:
    """The product whose rows a loop reads, if nothing else reads it."""
    axes, made = lengths.axes, {out: n for n in body.root.nodes for out in n.outs}
    blocks = made.get(read.source)
    product = made.get(blocks.args[0]) if isinstance(blocks, Reshape) else None
    flat = made.get(product.args[0]) if isinstance(product, Product) else None
    if not (isinstance(blocks, Reshape) and isinstance(product, Product) and isinstance(flat, Reshape)):
        return None
    inside = {x for n in walk(loop.nodes) for x in n.args} | {s.init for s in loop.loop.states} | {loop.loop.steps}
    alone = _readers(blocks.out, body) == [loop] and sum(r.source == blocks.out for r in loop.loop.reads) == 1
    inputs = flat.args[0]
    if not alone or blocks.out in inside or _readers(product.out, body) != [blocks] or flat.merged != ((0, 1), (2,)):
        return None
    if axes[blocks.out] != (*axes[inputs][:2], axes[product.out][1]):
        return None
    gone = (blocks, product, flat) if _readers(flat.out, body) == [product] else (blocks, product)
    return _Rows(read, inputs, TensorType(body.types[inputs].dtype, (None, None)), product, gone)


def _readers(name: str, body: Body) -> list[Node]:
    """The nodes that read a name; the outermost loop counts for what it keeps."""
    kept: list[Node] = [body.root] if name in {k.value for k in body.loop.keeps} else []
    return [*kept, *(n for n in body.root.nodes if name in n.args)]


def _with_products(node: Node, found: Sequence[_Rows]) -> Node:
    """A loop with these products in its steps."""
    if not isinstance(node, Nested):
        return node
    of = {x.read: x for x in found}
    reads = tuple(Read(of[r].row, of[r].inputs, of[r].type) if r in of else r for r in node.loop.reads)
    sources = {x.read.source: x.inputs for x in found}
    args = [*(sources.get(a, a) for a in node.args), *(x.product.args[1] for x in found)]
    nodes = (*(x.in_step() for x in found), *node.nodes)
    return Nested(replace(node.loop, reads=reads), nodes, tuple(dict.fromkeys(args)))


def _with_rows(lengths: Lengths, rows: Mapping[str, str]) -> Lengths:
    """The lengths with those of new names of rows."""
    axes = {row: lengths.axes[x][1:] for row, x in rows.items()}
    classes = tuple(
        (*c, *((row, i - 1) for name, i in c for row, x in rows.items() if name == x and i > 0))
        for c in lengths.classes
    )
    return replace(lengths, axes={**lengths.axes, **axes}, classes=classes)
