"""What tests of merged and removed parts of loops share: inputs, their values, and how a program is checked."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from scanopt.program.ir import Loop

__all__ = ["X", "a", "b", "checked", "k", "loops", "n", "reads", "scan", "states", "text", "x", "y"]

x, y = T.dvectors("x", "y")
a, b = T.dscalars("a", "b")
n, k = T.lscalars("n", "k")
X = T.dmatrix("X")

_VALUES: dict[Any, Callable[[int], Any]] = {
    x: lambda m: np.linspace(-1.0, 2.0, m),
    y: lambda m: np.linspace(0.5, -0.25, m),
    X: lambda m: np.linspace(-1.0, 1.0, m * m).reshape(m, m),
    a: lambda m: np.array(0.75),
    b: lambda m: np.array(-0.5),
    n: lambda m: np.array(m),
    k: lambda m: np.array(max(m - 1, 0)),
}


def scan(step: Callable[..., Any], sequences: Any, start: Any, **options: Any) -> list[Any]:
    """The outputs of scan as a list."""
    return list(scanopt.scan(step, sequences, start, return_list=True, **options)[0])


def checked(*outputs: Any, lengths: Sequence[int] = (0, 1, 2, 7), **options: Any) -> Any:
    """The function of all inputs there are: it gives what the interpreter gives, bit for bit, or the same error."""
    f = scanopt.function(list(_VALUES), list(outputs), fp="exact", on_unused_input="ignore", **options)
    for m in lengths:
        values = [make(m) for make in _VALUES.values()]
        expected = _outcome(f.unoptimized, values)
        found = _outcome(f, values)
        if isinstance(expected, type):
            assert found is expected
            continue
        assert not isinstance(found, type), found
        for p, q in zip(found, expected, strict=True):
            assert (p.dtype, p.shape) == (q.dtype, q.shape)
            np.testing.assert_array_equal(p, q)
            assert p.dtype.kind != "f" or np.array_equal(np.signbit(p), np.signbit(q))
    return f


def _outcome(f: Any, values: list[Any]) -> Any:
    try:
        return f(*values)
    except (IndexError, ValueError) as error:
        return type(error)


def text(inputs: Sequence[Any], *outputs: Any) -> str:
    """The optimized program after its inputs, as it is printed."""
    checked(*outputs)
    lines = str(scanopt.function(list(inputs), list(outputs)).program).splitlines()[len(inputs) :]
    return "\n".join(line.rstrip() for line in lines)


def loops(f: Any) -> list[Loop]:
    """All loops of the optimized program."""
    return [step for step in f.program.walk() if isinstance(step, Loop)]


def states(f: Any) -> int:
    """How many states its loops carry."""
    return sum(len(loop.states) for loop in loops(f))


def reads(f: Any) -> int:
    """How many sequences its loops read."""
    return sum(len(loop.reads) for loop in loops(f))
