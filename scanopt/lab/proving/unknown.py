"""Operators about which a law says nothing, except by its conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from scanopt.lab.proving.arrays import SymbolicArray, broadcast, filled
from scanopt.lab.proving.entries import lifted, unknown_function
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.lab.proving.model import Model

__all__ = ["UnknownFunction"]

_SHAPES: tuple[tuple[int, ...], ...] = ((), (2,))


@dataclass
class UnknownFunction:
    """An operator: an unknown function of whole arrays, or (`pointwise`) of entries of arrays that broadcast.

    fails: whether it may raise; exact: whether its batched form is equal bit for bit.  None: not yet chosen.
    dtypes, shapes: those of results, by those of arguments.
    """

    m: Model
    name: str
    pointwise: bool = False
    fails: bool | None = None
    exact: bool | None = None
    dtypes: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])
    shapes: dict[tuple[tuple[int, ...], ...], tuple[int, ...]] = field(
        default_factory=dict[tuple[tuple[int, ...], ...], tuple[int, ...]]
    )

    def __call__(self, *xs: SymbolicArray) -> SymbolicArray:
        """The result for arrays, by the unknown function."""
        dtype = self.dtype(tuple(x.dtype for x in xs))
        if self.pointwise:
            shape, entries = broadcast(*xs)
            f = self.function(tuple(x.dtype for x in xs))
            out = filled(dtype, shape, [
                f(*(lifted(e, x.dtype) for e, x in zip(es, xs, strict=True))) for es in zip(*entries, strict=True)
            ])  # fmt: skip
        else:
            out = self.m.function_of(self.name, dtype, self.shape(tuple(x.shape for x in xs)), xs)
        if self.may_raise():
            self.m.raises(self.m.function_of(f"{self.name} raises", "bool", (), xs).entries[0])
        return out

    def function(self, dtypes: tuple[str, ...]) -> Any:
        """The z3 function that computes an entry from entries of these dtypes."""
        return unknown_function(self.name, dtypes, self.dtype(dtypes))

    def dtype(self, dtypes: tuple[str, ...]) -> str:
        """The dtype of its result."""
        if dtypes not in self.dtypes:
            self.dtypes[dtypes] = self.m.choose(f"{self.name} of {', '.join(dtypes)} is of dtype", self.m.dtypes)
        return self.dtypes[dtypes]

    def shape(self, shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
        """The shape of its result."""
        if shapes not in self.shapes:
            told = ", ".join(map(str, shapes))
            self.shapes[shapes] = self.m.choose(f"{self.name} of shapes {told} is of shape", _SHAPES)
        return self.shapes[shapes]

    def may_raise(self) -> bool:
        """Whether it may raise."""
        if self.fails is None:
            self.fails = self.m.choose(f"{self.name} may raise", (False, True))
        return self.fails

    def batched(self) -> Callable[..., SymbolicArray]:
        """The function that its batched form applies to each row: the same one, if that form is exact."""
        if self.exact is None:
            self.exact = self.m.choose(f"the batched form of {self.name} is exact", (True, False))
        return self if self.exact else UnknownFunction(self.m, f"{self.name} batched", self.pointwise, self.fails, True,
                                               self.dtypes, self.shapes)  # fmt: skip


def never_raises(*ops: UnknownFunction) -> None:
    """Let these operators raise nothing."""
    for op in ops:
        op.fails = False


def of_entries(m: Model, ops: Sequence[UnknownFunction]) -> None:
    """Let these operators be functions of entries, which raise nothing."""
    never_raises(*ops)
    for op in ops:
        op.pointwise = True
