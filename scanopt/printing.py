"""`theano.printing`: graphs as text."""

from __future__ import annotations

from scanopt.array.op_text import nested_text
from scanopt.array.shown import shown
from scanopt.array.variable import Apply, Constant, Variable
from scanopt.loops.checks_and_prints import Print
from scanopt.loops.graph import schedule
from scanopt.loops.node import Scan
from scanopt.view.text import dprint

__all__ = ["Print", "debugprint", "dprint", "pp", "pprint"]

debugprint = dprint


def pprint(x: Variable) -> str:
    """A variable x as a formula; loops by their names.

    >>> from scanopt import tensor as T
    >>> a, b = T.dscalars("a", "b")
    >>> pprint(T.exp(-a) * (a + b) ** 2)
    'exp(-a) * square(a + b)'

    Source: the documents' `theano.printing.pprint`.
    """
    text: dict[Variable, str] = {}
    for node in schedule([x]):
        if isinstance(node, Apply):
            args = [text.get(v) or _leaf(v) for v in node.inputs]
            text[node.outputs[0]] = nested_text(node.op, args)
        elif isinstance(node, Scan):
            text |= {v: f"{shown(node.name or 'scan')}.{i}" for i, v in enumerate(node.outputs)}
    return text.get(x) or _leaf(x)


def _leaf(v: Variable) -> str:
    if v.name:
        return shown(v.name)
    return str(v.data) if isinstance(v, Constant) and not v.ndim else f"<{v.type}>"


pp = pprint
