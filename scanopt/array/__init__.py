"""Symbolic arrays: types, variables and the one table of operators."""
