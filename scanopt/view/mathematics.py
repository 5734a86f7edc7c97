"""Laws in the notation of mathematics: x[t] is the row of step t; a value that a loop holds has no [t]."""

from __future__ import annotations

from collections.abc import Callable

from scanopt.array.op_text import nested_text, tight
from scanopt.calculus.law import Law
from scanopt.calculus.pattern import elements
from scanopt.calculus.terms import Op, Term, operator_of

__all__ = ["formula_text", "term_text"]


def formula_text(law: Law) -> str:
    """The equation of a law.

    >>> from scanopt.calculus.law import standard_laws
    >>> laws = {x.name: x for x in standard_laws()}
    >>> formula_text(laws["stack_of_sequence"]), formula_text(laws["sequence_of_trace"])
    ('[X[t] for t in c] = X', '[v for t in c][t] = v')
    """
    left = term_text(law.equation.left)
    return f"{left} = its value" if law.folds else f"{left} = {term_text(law.equation.right)}"


def term_text(x: Term | int | str) -> str:
    """A pattern as one writes it by hand."""
    if not isinstance(x, Term) or x.args is None:
        return str(x)
    if x.head in _TEXTS:
        return _TEXTS[x.head](*x.args)
    if x.head == "apply":
        return _applied(x)
    return str(x)


def _applied(x: Term) -> str:
    assert x.args is not None
    op, args = x.args
    assert isinstance(op, Op)
    assert isinstance(args, Term)
    texts = _values(args)
    if op.head in ("prim", "prim_with") and not any(t.startswith("*") for t in texts):
        made = operator_of(op)
        return " @ ".join(map(tight, texts)) if made.name in _PRODUCTS else nested_text(made, texts)
    if op.head == "vmap":
        return f"{op.args[0] if op.args else op}({', '.join(texts)}) at all steps"
    return f"{op}({', '.join(texts)})"


def _values(args: Term) -> list[str]:
    if args.head == "cons" and args.args is not None:
        first, rest = args.args
        assert isinstance(rest, Term)
        return [term_text(first), *_values(rest)]
    return elements(args)


_PRODUCTS = ("dot", "matmul")

_TEXTS: dict[str, Callable[..., str]] = {
    "hold": lambda c, x: term_text(x),
    "seq": lambda c, x: f"{tight(term_text(x))}[t]",
    "delay": lambda c, init, s, k: f"{s}[t-{k}]",
    "stack": lambda c, v: f"[{term_text(v)} for t in {c}]",
    "tail": lambda c, v, k: f"[{term_text(v)} for t in {c}][-{k}:]",
    "recent": lambda c, v, n: f"[{term_text(v)} for t in {c}][-{term_text(n)}:]",
    "at": lambda c, v, k: f"[{term_text(v)} for t in {c}][{k}]",
}
"""How each constructor of the calculus is written."""
