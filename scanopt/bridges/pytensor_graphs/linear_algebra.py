"""Operators of PyTensor for matrices: products, factorizations and systems."""

from __future__ import annotations

from typing import Any

import scanopt.tensor as T
from scanopt.array.variable import Apply, Variable
from scanopt.bridges.pytensor_graphs.reading import TensorNode, rule


@rule("Dot", "BatchedDot")
def _dot(node: TensorNode) -> Variable:
    """Dot; undoes PyTensor's form of products with vectors, as products with matrices of one column or row."""
    x, y = node.inputs
    if x.ndim > 2 or y.ndim > 2:
        stacks: Variable = T.matmul(x, y)
        return stacks
    column, row = _without(y, "expand_dims", (1,)), _without(x, "expand_dims", (0,))
    if column is not None and x.ndim == 2:
        return T.expand_dims(_times_vector(x, column), 1)
    if row is not None and y.ndim == 2:
        return T.expand_dims(T.dot(row, y), 0)
    found: Variable = T.dot(x, y)
    return found


def _without(x: Variable, name: str, axes: tuple[int, ...]) -> Variable | None:
    """The argument of x's operator, if that has this name and these axes; else None."""
    made = x.owner
    if isinstance(made, Apply) and made.op.name == name and tuple(dict(made.op.params).values()) == (axes,):
        return made.inputs[0]
    return None


def _times_vector(a: Variable, v: Variable) -> Variable:
    """The product a v, as v times the original matrix if a is a transpose, so that laws see a single form."""
    turned = _without(a, "transpose", (1, 0))
    found: Variable = T.dot(a, v) if turned is None else T.dot(v, turned)
    return found


@rule("Cholesky")
def _cholesky(node: TensorNode) -> Variable:
    found: Variable = T.linalg.cholesky(node.inputs[0], upper=not node.op.lower)
    return found


@rule("Solve")
def _solve(node: TensorNode) -> Variable:
    a, b = node.inputs
    return _by_rank(node, lambda a, b: T.linalg.solve(a, b), a, b)


@rule("SolveTriangular")
def _solve_triangular(node: TensorNode) -> Variable:
    op = node.op
    trans = getattr(op, "trans", 0)

    def solved(a: Variable, b: Variable) -> Variable:
        return T.linalg.solve_triangular(a, b, trans=trans, lower=op.lower, unit_diagonal=op.unit_diagonal)

    return _by_rank(node, solved, *node.inputs)


def _by_rank(node: TensorNode, f: Any, a: Variable, b: Variable) -> Variable:
    """f(a, b) of stacks; right sides that are vectors get a last axis for the call."""
    if getattr(node.op, "b_ndim", 2) == 1 and b.ndim > 1:
        column: Variable = f(a, T.expand_dims(b, -1))[..., 0]
        return column
    found: Variable = f(a, b)
    return found


@rule("MatrixInverse")
def _inverse(node: TensorNode) -> Variable:
    found: Variable = T.linalg.inv(node.inputs[0])
    return found


@rule("Det")
def _det(node: TensorNode) -> Variable:
    found: Variable = T.linalg.det(node.inputs[0])
    return found


@rule("ExtractDiag")
def _extract_diag(node: TensorNode) -> Variable:
    op = node.op
    found: Variable = T.diagonal(node.inputs[0], op.offset, op.axis1, op.axis2)
    return found
