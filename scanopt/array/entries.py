"""All entries of the operator table and all functions of symbolic arrays: importing adds them."""

from scanopt.array import constants, fft, functions, linalg, nnet_convolutions, special, statistics, theano_functions
from scanopt.array.operators import every_operator
from scanopt.array.registry import FUNCTIONS

__all__ = [
    "FUNCTIONS",
    "constants",
    "every_operator",
    "fft",
    "functions",
    "linalg",
    "nnet_convolutions",
    "special",
    "statistics",
    "theano_functions",
]
