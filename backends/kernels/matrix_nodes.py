"""What nodes have in common, and those of products and of linear algebra."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AffineRows", "Contract", "Convolve", "Factored", "Made", "One", "Powers", "Product", "Products", "Solve"]


class One:
    """A node that makes one value."""

    out: str

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it makes."""
        return (self.out,)


@dataclass(frozen=True)
class Made(One):
    """A node given by that value, its arguments and its dtype."""

    out: str
    args: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class Product(Made):
    """The product of two matrices or vectors, by NumPy's inner loop.

    as_they_lie: with their own strides.  by_dot: as `np.dot`, to which a factor of one element is a number.
    """

    as_they_lie: bool = False
    by_dot: bool = False


@dataclass(frozen=True)
class Products(Made):
    """The products of two stacks of matrices that broadcast, or of one and a vector, by NumPy's inner loop."""


@dataclass(frozen=True)
class AffineRows(One):
    """All rows of a recurrence of one number, eight steps at once.  args: a sequence is the second of them."""

    out: str
    args: tuple[str, ...]
    op: str
    dtype: str


@dataclass(frozen=True)
class Convolve(Made):
    """All of the convolution of two vectors."""


@dataclass(frozen=True)
class Contract(One):
    """The sum of products over pairs of axes, by NumPy's inner loop for matrices."""

    out: str
    args: tuple[str, ...]
    axes: tuple[tuple[int, ...], tuple[int, ...]]
    dtype: str


@dataclass(frozen=True)
class Powers(Made):
    """A number raised to 0, 1, 2 ...: its second argument, which must be this range."""


@dataclass(frozen=True)
class Factored(One):
    """A factorization, or a solution by one, by a routine of LAPACK.  options: letters that the routine is given."""

    out: str
    args: tuple[str, ...]
    op: str
    options: str
    dtype: str


@dataclass(frozen=True)
class Solve(One):
    """The solution of a system, an inverse, a Cholesky factor or a determinant (its op), by NumPy's inner loop.

    Or all those of a stack of matrices.
    """

    out: str
    args: tuple[str, ...]
    op: str
    dtype: str
