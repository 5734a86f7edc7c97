"""Types of values in queries: types that must be equal are compared once the values are known, not joined by.

A query is answered variable by variable, and a variable that many atoms share comes early.  A shared dtype is the worst
variable to begin with: nearly all values of a program have the same one.
"""

from __future__ import annotations

import re

__all__ = ["with_types_compared"]

_TYPE = re.compile(r"\(= (\w+) \((dtype|ndim) (\w+)\)\)")
_NOTHING = {"dtype": '""', "ndim": "0"}
"""What is added to a type without changing it: a query compares computed terms after all its look-ups."""


def with_types_compared(rules: str) -> str:
    """Change rules, in egglog's syntax, so that types that a query asks for again are compared, not joined by.

    >>> print(with_types_compared("(rule ((= d (dtype v)) (= d (dtype w))) ((a v w)) :ruleset r)"))
    (rule ((= d (dtype v)) (= dtype_of_w (dtype w)) (= dtype_of_w (+ d ""))) ((a v w)) :ruleset r)
    """
    return "(rule (".join(map(_compared, rules.split("(rule (")))


def _compared(rule: str) -> str:
    known: set[str] = set()

    def compared(found: re.Match[str]) -> str:
        type_, function, value = found.groups()
        if type_ not in known:
            known.add(type_)
            return found[0]
        own = f"{function}_of_{value}"
        return f"(= {own} ({function} {value})) (= {own} (+ {type_} {_NOTHING[function]}))"

    return _TYPE.sub(compared, rule)
