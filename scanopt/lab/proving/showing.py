"""A world in which a law is wrong, in words: its sizes, its steps, the values of its variables, and both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scanopt.array.op import Op
from scanopt.calculus.law import Law
from scanopt.calculus.terms import State
from scanopt.lab.proving.arrays import SymbolicArray
from scanopt.lab.proving.entries import lifted
from scanopt.lab.proving.loops import At

if TYPE_CHECKING:
    from scanopt.lab.proving.model import Model

__all__ = ["counterexample"]


def counterexample(
    m: Model, law: Law, case: Any, at: At, left: SymbolicArray | None, right: SymbolicArray | None
) -> str:
    """The world, and both sides at some steps of its loops."""
    lines = [f"{name}: {_option(x)}" for name, x in m.choices.told.items() if not name.startswith(("dtype", "shape"))]
    for (name, where), x in m.variables.items():
        if None not in where:
            steps = f" at step {', '.join(map(str, where))}" if where else ""
            lines.append(f"{name}{steps} = {_shown(x, case)}  ({x.dtype}, shape {x.shape})")
    here = "".join(f" at step {t} of {c}" for c, t in at.items() if t is not None)
    for side, found in ((law.equation.left, left), (law.equation.right, right)):
        if found is not None:
            lines.append(f"{_name(side)}{here} = {_shown(found, case)}")
    return "\n".join(lines)


def _name(side: Any) -> str:
    return f"the state {side}" if isinstance(side, State) else str(side)


def _option(x: Any) -> str:
    if isinstance(x, Op) or not isinstance(x, tuple) or not x or isinstance(x[0], int):
        return str(x)
    return ", ".join(map(str, x))


def _shown(x: SymbolicArray, case: Any) -> str:
    """The entries of an array in one case, row by row."""
    entries = [_entry(e, x.dtype, case) for e in x.entries]

    def rows(shape: tuple[int, ...], start: int) -> str:
        if not shape:
            return entries[start]
        size = 1
        for n in shape[1:]:
            size *= n
        return f"[{', '.join(rows(shape[1:], start + i * size) for i in range(shape[0]))}]"

    return rows(x.shape, 0)


def _entry(x: Any, dtype: str, case: Any) -> str:
    if isinstance(x, (bool, int)) or case is None:
        return str(x)
    found = case.eval(lifted(x, dtype), model_completion=True)
    signed = getattr(found, "as_signed_long", None)
    return str(signed() if signed is not None else found).replace("!val!", "")
