"""Transformations of Python functions of arrays, in the manner of JAX."""
