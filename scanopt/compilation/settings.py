"""The settings of an optimization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from scanopt.egraph.saturation import Limits
from scanopt.egraph.schedule import EVERYTHING, Schedule
from scanopt.extraction.cost import CostModel, numpy_cost
from scanopt.records import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of one optimization, beside the laws.

    example: values of inputs by key, for sizes.  extraction_seconds: limit of the exact search, which also takes no
    longer than three hundred calls of the program if costs are nanoseconds (but three seconds are always allowed).
    in_place: once the program is chosen, results may be written onto arrays that nobody reads any more.  memory: the
    bytes that a program may hold, None for what the machine has free.  matmul_precision: see `Program`.
    """

    fp: str = "reassoc"
    cost: CostModel = numpy_cost
    example: Mapping[str, np.ndarray[Any, Any]] | None = None
    limits: Limits = field(default_factory=Limits)
    schedule: Schedule = EVERYTHING
    extraction_seconds: float = 10.0
    exact: bool = True
    in_place: bool = True
    memory: float | None = None
    matmul_precision: str = "float32"
