"""One world: what was chosen in it, what is assumed, and what entries may be; `model` adds the values of terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, TypeVar

import numpy as np

from scanopt.calculus.terms import Clock, Int
from scanopt.lab.proving.arrays import SymbolicArray, array, filled
from scanopt.lab.proving.choices import Choices, NoProgramError
from scanopt.lab.proving.entries import lifted, symbol, unknown_function
from scanopt.lab.proving.loops import At
from scanopt.records import dataclass

__all__ = ["THEORIES", "Bounds", "Error", "World"]

T = TypeVar("T")

THEORIES = {"free": ("A", "B"), "int": ("int64", "int8"), "bool": ("bool",), "real": ("real",), "fp": ("fp",)}
"""The kinds of entries, and the dtypes of each."""

_NUMPY = {"A": "float32", "B": "float64", "real": "float64", "fp": "float64"}


@dataclass(frozen=True)
class Bounds:
    """The sizes up to which worlds are looked at.

    steps: the most steps of a loop, and rows of an array.  rows: shapes of what a loop computes at each step; further:
    those of arrays.  ints, counts: values of integers of the law, and of inputs that say where or how many.
    """

    steps: int = 4
    rows: tuple[tuple[int, ...], ...] = ((), (2,))
    further: tuple[tuple[int, ...], ...] = ((0, 2), (1, 1), (1, 2), (2, 1), (2, 2), (3, 2))
    ints: tuple[int, ...] = (1, 2, 3, 0, -1, -2, -3)
    counts: tuple[int, ...] = (0, 1, 2, 3, -1)


@dataclass(frozen=True)
class Error:
    """A value computed in some loops raises where the condition `when` holds.  needed: whether a result needs it."""

    when: Any
    loops: frozenset[Clock]
    needed: bool


@dataclass
class World:
    """A world: what was chosen in it, and what is assumed.

    floats: dtypes of floats that operators make of entries of other dtypes.  exact: whether rounding counts.
    abstracted: operators that unknown functions stand for, see `operators`.  errors: what is raised, and when.
    always: whether the left side is computed whenever the program is; None is not yet chosen.
    """

    choices: Choices
    theory: str
    bounds: Bounds
    floats: tuple[str, ...] = ("A", "B")
    exact: bool = False
    assumptions: list[Any] = field(default_factory=list[Any])
    abstracted: set[str] = field(default_factory=set[str])
    errors: list[Error] = field(default_factory=list[Error])
    always: bool | None = None
    kinds: dict[str, str] = field(default_factory=dict[str, str])
    _ints: dict[str, int] = field(default_factory=dict[str, int])
    _at: At = field(default_factory=dict[Clock, int | None])
    _number: int = 0
    _needed: bool = True

    # Choices and assumptions

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that entries may have."""
        return THEORIES[self.theory]

    def choose(self, name: str, options: Sequence[T]) -> T:
        """Choose one of some options; all of them are tried in turn."""
        return self.choices.choose(name, options)

    def assume(self, condition: Any) -> None:
        """Assume a condition: worlds in which it does not hold are left out."""
        if condition is False or condition is np.False_:
            raise NoProgramError("a condition does not hold")
        if condition is not True and condition is not np.True_:
            self.assumptions.append(condition)

    def raises(self, condition: Any) -> None:
        """Note that what is being computed raises an error where the condition holds."""
        if condition is not False and None not in self._at.values():
            self.errors.append(Error(condition, frozenset(self._at), self._needed))

    def is_always(self) -> bool:
        """Whether the left side is computed whenever the program is."""
        if self.always is None:
            self.always = self.choose("the left side is computed", (True, False))
        return self.always

    def rounds(self, dtype: str) -> bool:
        """Whether the order in which entries of a dtype are added up matters."""
        return self.exact and dtype not in ("bool", "int8", "int64")

    # dtypes

    def numpy_dtype(self, dtype: str) -> str:
        """A dtype of NumPy that stands for this one in the rules of operators."""
        return _NUMPY.get(dtype, dtype)

    def own_dtype(self, dtype: str) -> str:
        """The dtype that one of NumPy stands for."""
        if dtype in ("bool", "int64", "int8"):
            return dtype
        for d in (*self.dtypes, *self.floats):
            if self.numpy_dtype(d) == dtype:
                return d
        raise NotImplementedError(f"entries of dtype {dtype}")

    def kind(self, dtype: str) -> str:
        """The kind of a dtype: "bool", "int8", "int" or "float"."""
        fixed = {"bool": "bool", "int8": "int8", "int64": "int", "real": "float", "fp": "float"}
        if self.theory != "free":
            return fixed.get(dtype, "float")
        if dtype not in fixed and dtype not in self.kinds:
            below = dtype == "B" and self.kind("A") == "float"  # B is the dtype that A is promoted to
            self.kinds[dtype] = self.choose(f"{dtype} is of", ("float",) if below else ("float", "int"))
        return fixed.get(dtype) or self.kinds[dtype]

    def promoted(self, dtypes: Sequence[str]) -> str:
        """The dtype that operators compute in for operands of these dtypes."""
        return self.own_dtype(np.result_type(*(np.dtype(self.numpy_dtype(d)) for d in dtypes)).name)

    # Unknowns

    def junk(self, dtype: str, shape: tuple[int, ...]) -> SymbolicArray:
        """An array about which nothing is known, a new one each time."""
        self._number += 1
        return self.symbols(f"anything {self._number}", dtype, shape)

    def symbols(self, name: str, dtype: str, shape: tuple[int, ...]) -> SymbolicArray:
        """An array of unknowns of this name."""
        places = [",".join(map(str, i)) for i in np.ndindex(*shape)]
        return filled(dtype, shape, [symbol(f"{name}[{i}]" if i else name, dtype) for i in places])

    def function_of(self, name: str, dtype: str, shape: tuple[int, ...], xs: Sequence[SymbolicArray]) -> SymbolicArray:
        """An unknown function of whole arrays."""
        read = [lifted(e, x.dtype) for x in xs for e in x.entries]
        dtypes = tuple(x.dtype for x in xs for _ in x.entries)
        shapes = " ".join(str(x.shape) for x in xs)
        out = []
        for i in np.ndindex(*shape):
            told = f"{name}{list(i) if i else ''} of {shapes}"
            out.append(unknown_function(told, dtypes, dtype)(*read) if read else symbol(told, dtype))
        return filled(dtype, shape, out)

    def number(self, k: Int | int) -> int:
        """The value of an integer of the law."""
        if isinstance(k, int):
            return k
        if k.args is None:
            if k.head not in self._ints:
                self._ints[k.head] = self.choose(k.head, self.bounds.ints)
            return self._ints[k.head]
        one, other = (self.number(a) for a in k.args if isinstance(a, int | Int))
        return one + other if k.head == "+" else one - other

    def numbers(self, x: Any) -> Any:
        """A parameter of an operator, with numbers in place of the integers of the law."""
        match x:
            case ("slice", start, stop, step):
                return "slice", self._bound(start), self._bound(stop), self.numbers(step)
            case tuple():
                return tuple(map(self.numbers, x))
            case _:
                return self.number(x) if isinstance(x, Int) else x

    def _bound(self, k: Any) -> Any:
        """A bound of a slice: k counts from the start, -k from the end."""
        n = self.numbers(k)
        if isinstance(k, Int):
            self.assume((n < 0) == (k.head == "-" and k.args is not None and k.args[0] == 0))
        return n

    def known_number(self, dtype: str, written: str) -> SymbolicArray:
        """A number as it is written in the key of a constant."""
        if dtype == "float64":
            return filled(self.own_dtype(dtype), (), [float.fromhex(written)])
        return array(np.int64(written))

    def set_number(self, k: Int, n: int) -> None:
        """Set the value of an integer of the law."""
        self.assume(self._ints.setdefault(k.head, n) == n)
