"""Gradients of decompositions, and functions that take their packed results apart.

Where a result is not unique (the signs of singular vectors, vectors of equal eigenvalues), the gradient is right for
losses that do not depend on the choice: two equal values contribute nothing for rotations between their vectors.

Sources: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; J. Townsend, "Differentiating the singular value decomposition", 2016; G. Golub and
V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973; for complex numbers
every transpose is a conjugate one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import dim, dims_of, expand
from scanopt.array.derivatives import fitting, smooth
from scanopt.array.gradients.linalg import adjoint, half_below, part_of, swapped, times, triangular
from scanopt.array.gradients.products import conj
from scanopt.array.op import Op
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable, apply

__all__ = [
    "eigen_parts", "of_eig", "of_eigh", "of_expm", "of_lstsq", "of_pinv", "of_qr", "of_spectrum", "of_svd", "qr_parts",
    "smaller", "svd_parts",
]  # fmt: skip

Args = Sequence[Variable]
Parts = list[Variable | None]
Length = int | Variable


# Parts


def smaller(n: Length, m: Length) -> Length:
    """The smaller one of two lengths."""
    if isinstance(n, int) and isinstance(m, int):
        return min(n, m)
    least: Variable = FUNCTIONS["minimum"](n, m)
    return least


def _block(packed: Variable, rows: Any, columns: Any = slice(None)) -> Variable:
    found: Variable = packed[(..., rows, columns)]
    return found


def _real(x: Variable) -> Variable:
    part: Variable = FUNCTIONS["real"](x)
    return part


def svd_parts(packed: Variable, a: Variable, full: bool) -> tuple[Variable, Variable, Variable]:
    """U, S and Vh, from the packed result of the operator svd of a."""
    m, n = dims_of(a)[-2:]
    own, u, vh = (slice(smaller(m, n)), slice(m), slice(n)) if full else (slice(None),) * 3
    first, rest = slice(1, m + 1), slice(m + 1, None)
    return _block(packed, first, u), _real(_block(packed, 0, own)), swapped(_block(packed, rest, vh))


def qr_parts(packed: Variable, a: Variable) -> tuple[Variable, Variable]:
    """Q and R, from the packed result of the operator qr of a."""
    m = dim(a, -2)
    return _block(packed, slice(m)), swapped(_block(packed, slice(m, None)))


def eigen_parts(packed: Variable) -> tuple[Variable, Variable]:
    """Eigenvalues and eigenvectors, from the packed result of the operators eig and eigh."""
    return _block(packed, 0), _block(packed, slice(1, None))


# Helpers for formulas


def _columns(x: Variable, factors: Variable) -> Variable:
    """Multiply each column of a matrix by a factor."""
    return x * expand(factors, (factors.ndim - 1,))


def _diagonal(v: Variable) -> Variable:
    """A vector as the diagonal of a matrix."""
    n = dim(v, -1)
    matrix: Variable = FUNCTIONS["where"](FUNCTIONS["eye"](n, dtype="bool"), expand(v, (v.ndim - 1,)), 0)
    return matrix


def _on_diagonal(x: Variable) -> Variable:
    """The diagonal of a square matrix."""
    found: Variable = FUNCTIONS["diagonal"](x, 0, -2, -1)
    return found


def _reciprocal(x: Variable) -> Variable:
    """1 / x, and 0 where x is 0."""
    zero = FUNCTIONS["eq"](x, 0)
    found: Variable = FUNCTIONS["where"](zero, 0, 1 / FUNCTIONS["where"](zero, 1, x))
    return found


def _gaps(w: Variable) -> Variable:
    """w[j] - w[i] in row i and column j."""
    return expand(w, (w.ndim - 1,)) - expand(w, (w.ndim,))


def _turning(x: Variable) -> Variable:
    return x - adjoint(x)


# Eigenvalues


def of_eigh(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """V (diag(gw) + V^H gV / (w_j - w_i)) V^H, as a gradient of the one triangle that is read."""
    (w, v), (gw, gv) = eigen_parts(out), eigen_parts(g)
    turned = times(adjoint(v), gv) * _reciprocal(_gaps(_real(w)))
    return [_by_triangle(v, turned + _diagonal(_real(gw)), op.options["lower"], args[0])]


def _by_triangle(v: Variable, middle: Variable, lower: bool, a: Variable) -> Variable:
    both = times(times(v, middle), adjoint(v))
    half = half_below(both + adjoint(both))
    return fitting(half if lower else adjoint(half), a)


def of_eig(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """V^-H (diag(gw) + (V^H gV - V^H V diag(Re(V^H gV))) / conj(w_j - w_i)) V^H."""
    (w, v), (gw, gv) = eigen_parts(out), eigen_parts(g)
    other = adjoint(v)
    moved = times(other, gv)
    moved = moved - _columns(times(other, v), FUNCTIONS["cast"](_real(_on_diagonal(moved)), moved.dtype))
    return [_from_left(v, moved * _reciprocal(conj(_gaps(w))) + _diagonal(gw), args[0])]


def _from_left(v: Variable, middle: Variable, a: Variable) -> Variable:
    other = adjoint(v)
    return fitting(apply(Op.make("solve"), other, times(middle, other)), a)


def of_spectrum(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """The gradient of eigenvalues or singular values alone: their vectors are computed here, as it needs them."""
    a, of = args[0], op.options["of"]
    if of == "svd":
        u, _, vh = svd_parts(apply(Op.make("svd", full=False), a), a, False)
        return [fitting(times(_columns(u, g), vh), a)]
    if of == "eig":
        _, v = eigen_parts(apply(Op.make("eig"), a))
        return [_from_left(v, _diagonal(g), a)]
    lower = of == "eigvalsh_lower"
    _, v = eigen_parts(apply(Op.make("eigh", lower=lower), a))
    both = times(_columns(v, g), adjoint(v))
    half = half_below(both + adjoint(both))
    return [fitting(half if lower else adjoint(half), a)]


# Singular values


def of_svd(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """U (S sv + su S + diag(gS)) V^H, plus the parts of gU and gV outside the spaces of the columns of U and V.

    su and sv: U^H gU and V^H gV less their adjoints, divided by s_j^2 - s_i^2.
    """
    a, full = args[0], op.options["full"]
    (u, s, vh), (gu, gs, gvh) = svd_parts(out, a, full), svd_parts(g, a, full)
    v, gv = adjoint(vh), adjoint(gvh)
    if full:
        k = smaller(*dims_of(a)[-2:])
        (u, gu), (v, gv) = _narrow(u, gu, k), _narrow(v, gv, k)
    gaps = _reciprocal(_gaps(s) * (expand(s, (s.ndim - 1,)) + expand(s, (s.ndim,))))
    inverse = _reciprocal(s)
    by_u, by_v = _turning(times(adjoint(u), gu)), _turning(times(adjoint(v), gv))
    middle = _columns(by_u * gaps, s) + expand(s, (s.ndim,)) * (by_v * gaps) + _diagonal(gs)
    if np.dtype(a.dtype).kind == "c":  # the phases, half of which U and half of which V takes
        middle = middle + _diagonal(_on_diagonal(by_u - by_v) * inverse / 4)
    whole = times(times(u, middle), adjoint(v))
    whole = whole + times(_columns(_beside(u, gu), inverse), adjoint(v))
    whole = whole + times(u, adjoint(_columns(_beside(v, gv), inverse)))
    return [fitting(whole, a)]


def _narrow(q: Variable, g: Variable, k: Length) -> tuple[Variable, Variable]:
    """The first k columns of a unitary matrix, with a gradient that accounts for that of the other columns."""
    first, others = _block(q, slice(None), slice(k)), _block(q, slice(None), slice(k, None))
    turned = times(others, times(adjoint(_block(g, slice(None), slice(k, None))), first))
    return first, _block(g, slice(None), slice(k)) - turned


def _beside(q: Variable, g: Variable) -> Variable:
    """The part of g outside the space that the columns of q span."""
    return g - times(q, times(adjoint(q), g))


# Q and R


def of_qr(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """(gQ + Q sym(gR R^H - Q^H gQ)) R^-H of the first columns; the others are Q times their part of R.

    sym: the upper triangle, and its adjoint below the diagonal.  Raises where R is singular.
    """
    a = args[0]
    (q, r), (gq, gr) = qr_parts(out, a), qr_parts(g, a)
    k = smaller(*dims_of(a)[-2:])
    if op.options["complete"]:
        q, gq = _narrow(q, gq, k)
        r, gr = _block(r, slice(k)), _block(gr, slice(k))
    right = _block(gr, slice(None), slice(k, None))
    gq = gq + times(_block(a, slice(None), slice(k, None)), adjoint(right))
    r, gr = _block(r, slice(None), slice(k)), FUNCTIONS["triu"](_block(gr, slice(None), slice(k)))
    half = adjoint(half_below(adjoint(times(gr, adjoint(r)) - times(adjoint(q), gq))))
    left = adjoint(triangular(r, adjoint(gq + times(q, half + adjoint(half))), False))
    return [fitting(FUNCTIONS["concatenate"]([left, times(q, right)], a.ndim - 1), a)]


# Pseudo-inverses


def of_pinv(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """- P^H g P^H + (I - A P) g^H P P^H + P^H P g^H (I - P A), if all singular values that count as 0 are 0."""
    a, rcond = args
    found = _by_cut_pinv(a, rcond, out, g) if op.options.get("cut") else _by_pinv(a, out, g)
    return [fitting(half_below(found + adjoint(found)) if op.options["hermitian"] else found, a), None]


def _by_pinv(a: Variable, p: Variable, g: Variable) -> Variable:
    a = FUNCTIONS["cast"](a, p.dtype)
    other, back = adjoint(p), adjoint(g)
    left = times(back, times(p, other))
    right = times(times(other, p), back)
    through = times(times(other, g), other)
    return (left - times(a, times(p, left))) + (right - times(right, times(p, a))) - through


def _by_cut_pinv(a: Variable, rcond: Variable, p: Variable, g: Variable) -> Variable:
    """The gradient of pinv where singular values other than 0 count as 0, from a = U S V^H and h = U^H g^H V.

    f: 1 / s for values that count, else 0.  apart: 1 / |s_i^2 - s_j^2| where exactly one of the two counts, else 0.
    U (apart h - (f_i f_j - apart (f_i s_j + s_i f_j)) h^H) V^H, plus the parts of g^H outside U and V, times f^2.
    """
    where, back = FUNCTIONS["where"], adjoint(g)
    a = FUNCTIONS["cast"](a, p.dtype)
    u, s, vh = svd_parts(apply(Op.make("svd", full=False), a), a, False)
    v = adjoint(vh)
    counts = s > expand(rcond, (rcond.ndim,)) * s[(..., slice(1))]
    f = where(counts, 1 / where(counts, s, 1), 0)
    (f_i, f_j), (s_i, s_j), (one, other) = ((expand(x, (x.ndim,)), expand(x, (x.ndim - 1,))) for x in (f, s, counts))
    apart = where(FUNCTIONS["neq"](one, other), _reciprocal(abs(s_i * s_i - s_j * s_j)), 0)
    h = times(times(adjoint(u), back), v)
    whole = times(times(u, apart * h - (f_i * f_j - apart * (f_i * s_j + s_i * f_j)) * adjoint(h)), vh)
    whole = whole + times(_columns(times(_beside(u, back), v), f * f), vh)
    return whole + times(u, adjoint(_columns(times(_beside(v, adjoint(back)), u), f * f)))


def of_lstsq(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """The gradient of the product of the pseudo-inverse and b."""
    a, b, rcond = args
    p = apply(Op.make("pinv", hermitian=False, **op.options), a, rcond)
    vector = b.ndim == 1
    right, back = (expand(x, (1,)) if vector else x for x in (b, g))
    by_p = times(back, adjoint(right))
    by_a = _by_cut_pinv(a, rcond, p, by_p) if op.options.get("cut") else _by_pinv(a, p, by_p)
    by_b = times(adjoint(p), back)
    by_b = apply(Op.make("squeeze", axis=(1,)), by_b) if vector else by_b
    return [part_of(by_a, a) if smooth(a) else None, fitting(by_b, b) if smooth(b) else None, None]


# Exponential


def of_expm(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """The block beside the diagonal of exp([[A^H, g], [0, A^H]])."""
    a = FUNCTIONS["cast"](adjoint(args[0]), g.dtype)
    join, axis, n = FUNCTIONS["concatenate"], a.ndim - 1, dim(a, -1)
    rows = join([a, g], axis), join([FUNCTIONS["zeros_like"](a), a], axis)
    whole = apply(Op.make("expm"), join(rows, axis - 1))
    return [fitting(_block(whole, slice(n), slice(n, None)), args[0])]
