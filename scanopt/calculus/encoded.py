"""What the terms of a program are called: one form per class, and the type of each."""

from __future__ import annotations

from dataclasses import dataclass

from scanopt.array.types import TensorType
from scanopt.calculus.forms import TermGraph

__all__ = ["Encoded"]


@dataclass
class Encoded(TermGraph):
    """The terms of a program as the user wrote it: one form per class, and the type of each.

    locations: per loop the line of the user's call.
    """

    def __post_init__(self) -> None:
        self.types: dict[int, TensorType] = {}
        self.locations: dict[int, str] = {}
