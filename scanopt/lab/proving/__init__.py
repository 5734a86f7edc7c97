"""Laws, proved for small sizes: both sides of each are computed on arrays of unknowns, and z3 shows them equal."""

from scanopt.lab.proving.page import proofs_page, proved
from scanopt.lab.proving.prover import Proof, prove

__all__ = ["Proof", "proofs_page", "prove", "proved"]
