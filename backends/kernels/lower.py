"""The entry of lowering: turns a body of nodes into a kernel of statements (`ir.py`), for one pattern of lengths.

It runs the passes on the nodes of whole programs, writes the outermost loop (`frames.py`, `emit.py`), and then runs the
passes on statements.  None of the passes changes the operations that compute an element, or their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scanopt.backends.kernels import (  # noqa: F401  (these register how nodes are written)
    affine_rows,
    contractions,
    counts,
    decompositions,
    draws,
    inner_steps,
    insertions,
    power_tables,
    products,
    searches,
    sorts,
    stacks,
    systems,
    transforms,
    views,
)
from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.copied_once import without_first_arrays
from scanopt.backends.kernels.dead_stores import without_dead_stores
from scanopt.backends.kernels.emit import emit
from scanopt.backends.kernels.frames import COMPUTED, LoopFrame
from scanopt.backends.kernels.histories import Histories, read_first
from scanopt.backends.kernels.homes import first_sources, products_as_they_are
from scanopt.backends.kernels.ir import ONE, ZERO, Stmt
from scanopt.backends.kernels.joined_rows import with_rows_of_joins
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Nested
from scanopt.backends.kernels.places_once import with_places_compared_once
from scanopt.backends.kernels.recipe import Given, Number, Recipe
from scanopt.backends.kernels.sizes import Lengths
from scanopt.backends.kernels.states_again import with_states_computed_again
from scanopt.backends.kernels.wide_truths import widen_truths

__all__ = ["lowered"]


def lowered(
    body: Body, lengths: Lengths, tiles: bool = False, part: Mapping[str, int] | None = None, device: bool = False
) -> Recipe:
    """Lower a loop for these lengths.  tiles: whether products may use tiles.  part, device: see `Lowering`.

    Raises NoForm.
    """
    w, root = Lowering(body, lengths, tiles, part, device), body.root
    if body.whole and not device and not part:
        wanted = {k.value for k in body.loop.keeps}
        nodes = with_states_computed_again(read_first(root.nodes, wanted, w), wanted, w)
        nodes = products_as_they_are(with_rows_of_joins(nodes, wanted, w), wanted, w)
        root = replace(root, nodes=tuple(nodes))
    steps = ONE if body.whole else w.number(Number("steps"))
    outs = [w.give(Given("out", body.types[k.value].dtype, keep=i)) for i, k in enumerate(body.loop.keeps)]
    if body.whole:
        _at_home(w, root, outs)
    code: list[Stmt] = []
    with w.into(code):
        frame = LoopFrame(w, root, "t", steps, Histories(outs), outermost=True)
        frame.write(lambda nodes, wanted: emit(w, nodes, wanted))
    code = without_first_arrays(code, w)
    if not device:
        code = with_places_compared_once(without_dead_stores(code, w))
        widen_truths(code, w)
    return w.recipe(code, w.taken or "t")


def _at_home(w: Lowering, root: Nested, outs: list[str]) -> None:
    """Let results of a program be computed directly in their arrays, without a copy, where possible."""
    makers = [n for n in root.nodes if isinstance(n, (*COMPUTED, Nested))]
    made = {
        x
        for n in makers
        for x in n.outs
        if w.axes(x) and (w.is_packed(x) or (isinstance(n, Nested) and w.part[x] == 1))
    }
    sources = first_sources(root.nodes, made, [k.value for k in root.loop.keeps], w)
    for i, k in enumerate(root.loop.keeps):
        source = sources.get(k.value, k.value)
        if source in made and source not in w.homes:
            w.homes[source] = w.homes[k.value] = (outs[i], ZERO)
