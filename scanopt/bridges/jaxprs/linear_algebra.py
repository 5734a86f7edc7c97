"""Primitives of JAX for matrices: factorizations, and systems solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.jaxprs.calls import read_closed
from scanopt.bridges.jaxprs.reading import JaxprEquation, rule
from scanopt.loops.carry import loop


def _turned(x: Variable) -> Variable:
    return T.swapaxes(x, -1, -2)


@rule("cholesky")
def _cholesky(eq: JaxprEquation) -> Variable:
    return T.linalg.cholesky(eq.inputs[0])


@rule("triangular_solve")
def _triangular_solve(eq: JaxprEquation) -> Variable:
    (a, b), p = eq.inputs, eq.params
    if p["conjugate_a"] and not p["transpose_a"]:
        a = T.conj(a)
    trans = 0 if not p["transpose_a"] else 2 if p["conjugate_a"] else 1
    options = {"lower": bool(p["lower"]), "unit_diagonal": bool(p["unit_diagonal"])}
    if p["left_side"]:
        return T.linalg.solve_triangular(a, b, trans=trans, **options)
    if p["conjugate_a"]:
        raise eq.refused("triangular_solve with the conjugate on the right side")
    return _turned(T.linalg.solve_triangular(a, _turned(b), trans=1 - trans, **options))


@rule("lu")
def _lu(eq: JaxprEquation) -> list[Variable]:
    """The factors in one matrix, the pivots, and the permutation of rows."""
    found = T.linalg.lu_factor(eq.inputs[0])
    if None in found.type.shape or eq.types[0].shape[-1] != eq.types[0].shape[-2]:
        raise eq.refused("factors of a matrix that is not square")
    lu, pivots = _turned(found[..., :-1, :]), T.cast(found[..., -1, :], "int32")
    return [lu, pivots, _permutation(eq, pivots, eq.types[2].shape)]


@rule("lu_pivots_to_permutation")
def _of_pivots(eq: JaxprEquation) -> Variable:
    return _permutation(eq, eq.inputs[0], eq.types[0].shape)


def _permutation(eq: JaxprEquation, pivots: Variable, shape: tuple[int | None, ...]) -> Variable:
    """The permutation of rows from pivots: a loop that exchanges two rows per step."""
    if len(shape) != 1:
        raise eq.refused("permutations of stacks of matrices")
    n = int(shape[0] or 0)
    start = Constant(np.arange(n))

    def step(carry: Variable, x: tuple[Variable, Variable]) -> tuple[Variable, None]:
        i, j = x
        a, b = carry[i], carry[j]
        return T.set_subtensor(T.set_subtensor(carry[i], b)[j], a), None

    k = pivots.type.shape[0]
    found: Variable = loop(step, start, (T.arange(k), T.cast(pivots, "int64")))[0]
    return found


@rule("custom_linear_solve")
def _linear_solve(eq: JaxprEquation) -> list[Variable]:
    """Run the solver of a custom_linear_solve; its rule for derivatives is not used.

    A solver that uses the factors of a single matrix becomes our own solve of that matrix.
    """
    lengths, jaxprs = eq.params["const_lengths"], eq.params["jaxprs"]
    axis = _solved_axis(lengths, jaxprs)
    if axis is not None and len(eq.types) == 1:
        a, b = eq.inputs[0], eq.inputs[-1]
        return [T.linalg.solve(a, b) if axis == 0 else T.transpose(T.linalg.solve(a, T.transpose(b)))]
    before = lengths.matvec + lengths.vecmat
    consts = eq.inputs[before : before + lengths.solve]
    rights = eq.inputs[before + lengths.solve + lengths.transpose_solve :]
    return read_closed(jaxprs.solve, [*consts, *rights])


@rule("eigh")
def _eigh(eq: JaxprEquation) -> list[Variable]:
    """Eigenvectors first, then eigenvalues, as in JAX."""
    values, vectors = T.linalg.eigh(eq.inputs[0], "L" if eq.params.get("lower", True) else "U")
    return [vectors, values]


@rule("qr")
def _qr(eq: JaxprEquation) -> list[Variable]:
    if eq.params.get("pivoting"):
        raise eq.refused("qr with pivots")
    return list(T.linalg.qr(eq.inputs[0], "complete" if eq.params["full_matrices"] else "reduced"))


@rule("svd")
def _svd(eq: JaxprEquation) -> list[Variable]:
    """Singular values first, as in JAX."""
    full, vectors = bool(eq.params["full_matrices"]), bool(eq.params["compute_uv"])
    if not vectors:
        return [T.linalg.svd(eq.inputs[0], compute_uv=False)]
    u, s, vh = T.linalg.svd(eq.inputs[0], full_matrices=full)
    return [s, u, vh]


@rule("fft")
def _fft(eq: JaxprEquation) -> Variable:
    x, lengths = eq.inputs[0], [int(n) for n in eq.params["fft_lengths"]]
    name = str(eq.params["fft_type"]).rpartition(".")[2].lower()
    if name.isdigit():
        name = ("fft", "ifft", "rfft", "irfft")[int(name)]
    axes = list(range(x.ndim - len(lengths), x.ndim))
    if name == "rfft":
        x = T.fft.rfft(x, lengths[-1], axes[-1])
        lengths, axes, name = lengths[:-1], axes[:-1], "fft"
    elif name == "irfft":
        for n, axis in zip(lengths[:-1], axes[:-1], strict=True):
            x = T.fft.ifft(x, n, axis)
        return T.fft.irfft(x, lengths[-1], axes[-1])
    for n, axis in zip(lengths, axes, strict=True):
        x = getattr(T.fft, name)(x, n, axis)
    return x


def _solved_axis(lengths: Any, jaxprs: Any) -> int | None:
    """The axis of the right sides over which a matrix is multiplied, if a single matrix is solved by its factors."""
    product, named = jaxprs.matvec.jaxpr, jaxprs.solve.jaxpr.eqns
    if lengths.matvec != 1 or not named or named[0].params.get("name") != "_lu_solve":
        return None
    first = next((e for e in product.eqns if e.primitive.name == "dot_general"), None)
    if first is None or list(first.invars) != [*product.invars]:
        return None
    (of_a, of_b), batch = first.params["dimension_numbers"]
    plain = tuple(of_a) == (1,) and not any(batch) and all(v.aval.ndim <= 2 for v in product.invars)
    others = {e.primitive.name for e in product.eqns} - {"dot_general", "transpose", "reduce_sum"}
    return int(of_b[0]) if plain and not others else None
