"""Programs kept for facts: each goes wrong as soon as a rule of some fact has one atom less.

They are functions of named inputs, as the examples of laws are; the comment above each says what must not be taken for
granted.  `scanopt check-facts` says which atoms each of them protects.
"""

from __future__ import annotations

from scanopt.lab.fact_programs_of_sums import FACT_PROGRAMS

__all__ = ["FACT_PROGRAMS"]
