"""The laws, one file per documented optimization.  Laws only: no control flow, no input or output.

Examples are programs of named inputs: x, y are float64 vectors, X, Y, W matrices, a, b scalars,
n an int64 scalar, p, q int64 vectors.

Files import the package alone, like files of laws outside of the project, so what examples have in common (`_decay`) is
written in each of them.
"""
