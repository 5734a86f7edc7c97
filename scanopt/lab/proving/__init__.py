"""Laws, proved for small sizes: both sides of each are computed on arrays of unknowns, and z3 shows them equal.

What is chosen in one world (sizes, steps, dtypes) is in `choices`; what terms mean is in `model`, `loops` and
`operators`, what conditions mean in `facts`; `prover` compares both sides in all worlds up to a bound.
"""

from scanopt.lab.proving.page import mutants, proofs_record, proved, proved_mutants
from scanopt.lab.proving.prover import MOST_STEPS, Proof, prove

__all__ = ["MOST_STEPS", "Proof", "mutants", "proofs_record", "prove", "proved", "proved_mutants"]
