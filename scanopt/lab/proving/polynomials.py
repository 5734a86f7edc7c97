"""A normal form of sums and products: equal polynomials of unknowns are equal, also modulo a power of two."""

from __future__ import annotations

from typing import Any

from scanopt.lab.proving.entries import z3

__all__ = ["same_polynomial"]

Polynomial = dict[tuple[int, ...], Any]
"""Coefficients by products of unknowns: the numbers of these, each as often as it is multiplied."""

_MOST = 400  # terms


def same_polynomial(x: Any, y: Any) -> bool:
    """Whether two terms of one sort are the same polynomial of their parts that are no sums or products."""
    if not (z3().is_bv(x) or z3().is_real(x)):
        return False
    left, right = _polynomial(x), _polynomial(y)
    return left is not None and left == right


def _polynomial(x: Any) -> Polynomial | None:
    kind, args = x.decl().kind(), x.children()
    k = z3()
    if k.is_bv_value(x):
        return _clean({(): x.as_long()}, x)
    if k.is_rational_value(x):
        return _clean({(): x.as_fraction()}, x)
    parts = [_polynomial(a) for a in args] if kind in _operators() else []
    if kind not in _operators() or any(p is None for p in parts):
        return {(x.get_id(),): 1} if kind not in _operators() else None
    known = [p for p in parts if p is not None]
    out = known[0]
    if kind in (k.Z3_OP_BNEG, k.Z3_OP_UMINUS):
        return _clean(_sum({}, out, -1), x)
    for p in known[1:]:
        if kind in (k.Z3_OP_BADD, k.Z3_OP_ADD):
            out = _sum(out, p, 1)
        elif kind in (k.Z3_OP_BSUB, k.Z3_OP_SUB):
            out = _sum(out, p, -1)
        else:
            out = _product(out, p)
        if len(out) > _MOST:
            return None
    return _clean(out, x)


def _operators() -> tuple[int, ...]:
    k = z3()
    return (
        k.Z3_OP_BADD, k.Z3_OP_BSUB, k.Z3_OP_BMUL, k.Z3_OP_BNEG, k.Z3_OP_ADD, k.Z3_OP_SUB, k.Z3_OP_MUL, k.Z3_OP_UMINUS,
    )  # fmt: skip


def _sum(x: Polynomial, y: Polynomial, factor: int) -> Polynomial:
    out = dict(x)
    for unknowns, n in y.items():
        out[unknowns] = out.get(unknowns, 0) + factor * n
    return out


def _product(x: Polynomial, y: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for a, n in x.items():
        for b, m in y.items():
            key = tuple(sorted((*a, *b)))
            out[key] = out.get(key, 0) + n * m
    return out


def _clean(x: Polynomial, like: Any) -> Polynomial:
    """The polynomial without zero coefficients, modulo the power of two of a bit-vector."""
    size = 2 ** like.size() if z3().is_bv(like) else None
    numbers = {k: n % size if size else n for k, n in x.items()}
    return {k: n for k, n in numbers.items() if n != 0}
