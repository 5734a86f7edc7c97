"""The kernel language, the last form of a loop before C or CUDA text: typed scalars, arrays in memory, loops, calls.

Lowering writes it, passes on statements rewrite it, and `print_c`, `print_rows`, `print_grid` and `print_lanes` print
it.  It does not depend on Python or on NumPy's arrays.  All names in it are generated.  An index counts elements of the
array, not bytes.
"""

from __future__ import annotations

from scanopt.records import dataclass

__all__ = [
    "INDEX",
    "NAME",
    "ONE",
    "ZERO",
    "Break",
    "Cast",
    "Declare",
    "Do",
    "Expr",
    "Fail",
    "For",
    "Helper",
    "If",
    "Inner",
    "Kernel",
    "KernelParam",
    "Let",
    "Lit",
    "Load",
    "Point",
    "Set",
    "Steps",
    "Stmt",
    "Store",
    "Var",
    "plus",
    "product",
    "times",
]  # fmt: skip

INDEX = "int64"
"""The dtype of lengths and indices."""
NAME = "scanopt_kernel"
"""The name of a kernel in its text."""


@dataclass(frozen=True)
class Lit:
    """A number."""

    value: bool | int | float
    dtype: str = INDEX


@dataclass(frozen=True)
class Var:
    """The value of a scalar variable."""

    name: str
    dtype: str = INDEX


@dataclass(frozen=True)
class Do:
    """A scalar operation, by its name in the table of operators; all of `args` are of dtype `of`."""

    op: str
    args: tuple[Expr, ...]
    dtype: str
    of: str


@dataclass(frozen=True)
class Cast:
    """A scalar in another dtype."""

    arg: Expr
    dtype: str


@dataclass(frozen=True)
class Load:
    """An element of an array."""

    array: str
    index: Expr
    dtype: str


Expr = Lit | Var | Do | Cast | Load
ZERO, ONE = Lit(0), Lit(1)


@dataclass(frozen=True)
class Declare:
    """Declare a variable that is set later; `elements`: an array of that many; `pointer`: a pointer into an array."""

    name: str
    dtype: str
    elements: int = 0
    pointer: bool = False


@dataclass(frozen=True)
class Let:
    """Define a variable that keeps its value."""

    name: str
    value: Expr
    dtype: str


@dataclass(frozen=True)
class Set:
    """Assign to a declared variable."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Point:
    """Set a declared pointer to an element of an array."""

    name: str
    array: str
    index: Expr
    dtype: str


@dataclass(frozen=True)
class Store:
    """Write an element of an array."""

    array: str
    index: Expr
    value: Expr


@dataclass(frozen=True)
class For:
    """Runs `body` for var = 0 .. count - 1, in any order: no iteration reads what another one writes."""

    var: str
    count: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Steps:
    """Runs `body` for var = 0 .. count - 1, one after the other, up to a step where `until` holds.

    Afterwards `var` is the number of steps taken.
    """

    var: str
    count: Expr
    body: tuple[Stmt, ...]
    until: Expr | None = None


@dataclass(frozen=True)
class If:
    """Runs one of two bodies."""

    test: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class Inner:
    """A call of an inner loop of NumPy's, the `slot`-th of the kernel.

    arrays: those that it reads, then those that it writes; dims: its numbers of elements; strides: of all arrays, in
    bytes.  by_element: whether it belongs to a ufunc, which reads each element before it writes the same element of the
    result, the last array.  direct: the slot of the function that may be called for these few elements in place of the
    loop; -1 where there is none.
    """

    slot: int
    arrays: tuple[str, ...]
    dims: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    by_element: bool = False
    direct: int = -1


@dataclass(frozen=True)
class Helper:
    """A call of a function in `random_words`, `c_extremes` or `c_affine`, with the arrays that it writes and reads."""

    name: str
    arrays: tuple[str, ...]
    numbers: tuple[Expr, ...]


@dataclass(frozen=True)
class Fail:
    """End the kernel: it cannot handle this call."""

    status: int = -1


@dataclass(frozen=True)
class Break:
    """End the innermost `Steps`."""


Stmt = Declare | Let | Set | Point | Store | For | Steps | If | Inner | Helper | Fail | Break


@dataclass(frozen=True)
class KernelParam:
    """An array argument of the kernel.  offset: the name of the number of bytes at which it begins; "": 0."""

    name: str
    dtype: str
    offset: str = ""


@dataclass(frozen=True)
class Kernel:
    """A function of arrays, lengths and inner loops; it returns the variable `result`, or a negative status.

    numbers: the names of its numeric arguments, in order.
    """

    params: tuple[KernelParam, ...]
    numbers: tuple[str, ...]
    slots: int
    body: tuple[Stmt, ...]
    result: str


def plus(a: Expr, b: Expr) -> Expr:
    """The sum of two indices.

    >>> plus(Var("i"), ZERO)
    Var(name='i', dtype='int64')
    """
    if isinstance(a, Lit) and isinstance(b, Lit):
        return Lit(int(a.value) + int(b.value))
    return b if a == ZERO else a if b == ZERO else Do("add", (a, b), INDEX, INDEX)


def times(a: Expr, b: Expr) -> Expr:
    """The product of two indices."""
    if isinstance(a, Lit) and isinstance(b, Lit):
        return Lit(int(a.value) * int(b.value))
    if ZERO in (a, b):
        return ZERO
    if a == Lit(-1) and isinstance(b, Do) and b.op == "multiply" and b.args[0] == a:
        return b.args[1]
    return b if a == ONE else a if b == ONE else Do("multiply", (a, b), INDEX, INDEX)


def product(lengths: tuple[Expr, ...]) -> Expr:
    """The product of some lengths."""
    found: Expr = ONE
    for n in lengths:
        found = times(found, n)
    return found
