"""egglog's syntax, read and written."""

from __future__ import annotations

import re

__all__ = ["Node", "node_text", "parsed"]

Node = str | tuple["Node", ...]
"""A name, number or quoted text, or a list of nodes."""


def parsed(text: str) -> list[Node]:
    """Expressions as nested tuples; texts keep their quotes.

    >>> parsed('(= v (prim "exp"))')
    [('=', 'v', ('prim', '"exp"'))]
    """
    stack: list[list[Node]] = [[]]
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+', text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = tuple(stack.pop())
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0]


def node_text(x: Node) -> str:
    """A node as text."""
    return x if isinstance(x, str) else f"({' '.join(map(node_text, x))})"
