"""The operators that are applied in the e-graph, by names: only of these are facts given (see `introduced`).

An operator without parameters has its own name; one with parameters that a rule mentions has the name that it gets
there (see `calculus/ground.py`).
"""

from __future__ import annotations

from scanopt.array.op import Op
from scanopt.calculus.ground import digest
from scanopt.calculus.terms import prim

__all__ = ["ASKING", "IN_USE", "name_of"]

ASKING = "(run-schedule (saturate (run noticing)))\n(print-function used 1000000)"
"""The commands that tell the names."""

IN_USE = """
(relation in_use (Op))
(relation used (String))
(ruleset noticing)
(rule ((= v (apply o xs))) ((in_use o)) :ruleset noticing)
(rule ((in_use o) (= o (vmap p s))) ((in_use p)) :ruleset noticing)
(rule ((in_use o) (= o (prim s))) ((used s)) :ruleset noticing)
(rule ((in_use o) (named o s)) ((used s)) :ruleset noticing)
"""
"""The rules that find the names."""


def name_of(op: Op) -> str:
    """The name of an operator that a rule mentions.

    >>> name_of(Op.make("exp"))
    'exp'
    """
    text = prim(op).egglog()
    return text[len('(prim "') : -len('")')] if text.startswith('(prim "') else digest(text)
