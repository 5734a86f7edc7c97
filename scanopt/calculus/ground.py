"""Ground terms in queries: each gets a name, so that no query looks up a ground term inside another.

egglog 13.2 answers such queries wrongly: it may find that f(g(1), a) and f(g(1), b) are equal, which they are not. (Of
20,000 random queries without such terms none was answered wrongly; of 3,000 with them, two.)  Also, an operator with
parameters is several nodes deep, and each node is one more join for every rule that mentions it.
"""

from __future__ import annotations

import re
from hashlib import blake2b

from scanopt.calculus.declarations import LOOKED_UP
from scanopt.calculus.syntax import Node, node_text, parsed

__all__ = ["digest", "with_named_operators", "with_named_terms"]

_OPERATOR = re.compile(r'\((?:prim_with "|vmap \(prim)')
_COMPUTED = ("+", "-", "max", "min", "to-string")


def with_named_operators(rules: str, name: str) -> str:
    """Rules in egglog's syntax in which operators with parameters, or batched ones, are named before the rules.

    Of operators that have variables, the parts without variables are named.

    name: what these names begin with; the same operator always gets the same name.

    >>> text = with_named_operators('(= v (apply (prim_with "sum(axis)" (int_param 0)) l))', "op")
    >>> print(text.replace(") (named", ")\\n(named"))
    (constructor op_f78536a0835cd8c3 () Op) (union (op_f78536a0835cd8c3) (prim_with "sum(axis)" (int_param 0)))
    (named (op_f78536a0835cd8c3) "f78536a0835cd8c3")
    (= v (apply (op_f78536a0835cd8c3) l))
    """
    names: dict[str, Node] = {}
    parts: list[str] = []
    at = 0

    def named(x: Node) -> Node:
        if isinstance(x, str) or not any(isinstance(a, tuple) for a in x):
            return x
        if not _is_ground(x):
            return tuple(map(named, x))
        text = f"({name}_{digest(node_text(x))})"
        names[text] = x
        return text

    while found := _OPERATOR.search(rules, at):
        begin, end = found.start(), _end(rules, found.start())
        parts += rules[at:begin], *(node_text(named(x)) for x in parsed(rules[begin:end]))
        at = end
    declared = [_declared(x, term) for x, term in names.items()]
    return "\n".join([*declared, "".join(parts) + rules[at:]])


def _declared(name: str, term: Node) -> str:
    """The commands that declare a name; for an operator also its name as text, which `operators_in_use` reads."""
    is_operator, text = term[0] in ("prim_with", "vmap"), node_text(term)
    declared = f"(constructor {name[1:-1]} () {'Op' if is_operator else 'Param'}) (union {name} {text})"
    return f'{declared} (named {name} "{digest(text)}")' if is_operator else declared


def digest(text: str) -> str:
    """A short hash that stands for a text in a name."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def with_named_terms(query: str, name: str) -> tuple[str, str]:
    """Commands that name the terms without variables in a query, and the query with these names.

    >>> with_named_terms("(= (f (g 1) x) (h (g 1)))", "$t")
    ('(let $t_0 (h (g 1)))', '(= (f (g 1) x) $t_0)')
    """
    names: dict[str, str] = {}

    def named(x: Node) -> Node:
        if isinstance(x, str):
            return x
        if x[0] not in LOOKED_UP and _is_ground(x) and any(isinstance(a, tuple) for a in x):
            return names.setdefault(node_text(x), f"{name}_{len(names)}")
        return tuple(map(named, x))

    atoms = [a if isinstance(a, str) else (a[0], *map(named, a[1:])) for a in parsed(query)]
    return " ".join(f"(let {x} {text})" for text, x in names.items()), " ".join(map(node_text, atoms))


def _end(text: str, begin: int) -> int:
    """The position after the expression that begins at `begin`."""
    depth, quoted, at = 0, False, begin
    while True:
        match text[at]:
            case '"':
                quoted = not quoted
            case "\\" if quoted:
                at += 1
            case "(" if not quoted:
                depth += 1
            case ")" if not quoted:
                depth -= 1
                if not depth:
                    return at + 1
            case _:
                pass
        at += 1


def _is_ground(x: Node) -> bool:
    """Whether a term has no variables, and nothing in it is computed."""
    if isinstance(x, str):
        return x.startswith('"') or x.lstrip("-").isdigit()
    return x[0] not in _COMPUTED and all(map(_is_ground, x[1:]))
