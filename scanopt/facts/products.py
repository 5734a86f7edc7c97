"""Facts about products that share their left operand, found in the text of a program."""

from __future__ import annotations

from scanopt.calculus.condition import fact
from scanopt.calculus.terms import Clock, Int, Op, Value

__all__ = ["last_beside", "numbered_beside"]


@fact
def numbered_beside(c: Clock, x: Value, W: Value, op: Op, g: Int, k: Int) -> None:
    """W is matrix number k of group g, the matrices that x is multiplied by in c; op takes columns of a product
    (given)."""


@fact
def last_beside(W: Value, g: Int, k: Int) -> None:
    """W, number k, is the last matrix of group g (given)."""
