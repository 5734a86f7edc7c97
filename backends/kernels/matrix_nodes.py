"""The base classes of nodes, and the nodes of products and of linear algebra (the others are in `nodes.py`)."""

from __future__ import annotations

from scanopt.records import dataclass

__all__ = [
    "DETERMINANTS", "LOOPS_OF_TWO", "AffineRows", "Contract", "Convolve", "Decomposed", "Factored", "Made", "One",
    "Powers", "Product", "Products", "Solve", "Summing", "Transform",
]  # fmt: skip


class One:
    """A node with one result."""

    out: str

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it makes."""
        return (self.out,)


@dataclass(frozen=True)
class Made(One):
    """A node with one result that is given by its arguments and dtype alone."""

    out: str
    args: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class Product(Made):
    """The product of two matrices or vectors, by NumPy's inner loop.

    as_they_lie: factors keep their own strides.  by_dot: as by `np.dot`, for which a factor of one element is a number.
    rows_of: the array whose rows, of all steps together, are multiplied in array steps, where these are not one step's.
    """

    as_they_lie: bool = False
    by_dot: bool = False
    rows_of: str = ""


@dataclass(frozen=True)
class Products(Made):
    """The products of two stacks of matrices that broadcast, or of one and a vector, by NumPy's inner loop."""


@dataclass(frozen=True)
class AffineRows(One):
    """All rows of a recurrence of one number, eight steps at once.  args: the second one is a sequence."""

    out: str
    args: tuple[str, ...]
    op: str
    dtype: str


@dataclass(frozen=True)
class Convolve(Made):
    """The full convolution of two vectors."""


@dataclass(frozen=True)
class Contract(One):
    """The sum of products over pairs of axes, by NumPy's inner loop for matrices."""

    out: str
    args: tuple[str, ...]
    axes: tuple[tuple[int, ...], tuple[int, ...]]
    dtype: str


@dataclass(frozen=True)
class Summing:
    """A product that adds up rows that a loop keeps, by their first axes.

    rows: their name; kept: which factor they are; cut: how many axes of them are added up.
    """

    node: Product | Contract
    rows: str
    kept: int
    cut: int


@dataclass(frozen=True)
class Powers(Made):
    """A number (the first argument) raised to the exponents in the second one."""


@dataclass(frozen=True)
class Factored(One):
    """A factorization, or a solution by one, by a routine of LAPACK.  options: letters passed to the routine."""

    out: str
    args: tuple[str, ...]
    op: str
    options: str
    dtype: str


LOOPS_OF_TWO = {"det_sign": "slogdet", "logabsdet": "slogdet"}
"""By operator an inner loop that gives two results, of which it is one."""
DETERMINANTS = ("det", *LOOPS_OF_TWO)
"""What every matrix has."""


@dataclass(frozen=True)
class Solve(One):
    """The solution of a system, an inverse, a Cholesky factor or one of `DETERMINANTS` (its op), by NumPy's inner loop.

    For a stack of matrices, it has the results of all.
    """

    out: str
    args: tuple[str, ...]
    op: str
    dtype: str


@dataclass(frozen=True)
class Decomposed(Made):
    """The parts of a decomposition of a matrix under one another, by NumPy's inner loops.  op: the first of these."""

    op: str = "eigh_lo"


@dataclass(frozen=True)
class Transform(Made):
    """Discrete Fourier transforms along the last axis (op: fft, ifft, rfft or irfft), by NumPy's inner loop."""

    op: str = "fft"
    norm: str = "backward"

    def results(self, points: int | None) -> int | None:
        """How many elements a transform of so many has."""
        if points is None:
            return None
        return points // 2 + 1 if self.op == "rfft" else 2 * (points - 1) if self.op == "irfft" else points
