"""Implementations of operators for which NumPy has no single function."""
