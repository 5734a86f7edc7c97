"""All entries of the operator table and all functions of symbolic arrays: importing adds them."""

from scanopt.array import (
    constants,
    ops_axes,
    ops_control,
    ops_creation,
    ops_elementwise,
    ops_indexing,
    ops_joining,
    ops_nnet,
    ops_products,
    ops_reductions,
    ops_rows,
    ops_selecting,
    ops_shaping,
    ops_subtensor,
    ops_sum_to,
    random_ops,
)
from scanopt.array.variable import FUNCTIONS

__all__ = [
    "FUNCTIONS",
    "constants",
    "ops_axes",
    "ops_control",
    "ops_creation",
    "ops_elementwise",
    "ops_indexing",
    "ops_joining",
    "ops_nnet",
    "ops_products",
    "ops_reductions",
    "ops_rows",
    "ops_selecting",
    "ops_shaping",
    "ops_subtensor",
    "ops_sum_to",
    "random_ops",
]
