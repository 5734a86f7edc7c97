"""The laws, one file per documented optimization.  Laws only: no control flow, no input or output.

Examples are programs of named inputs: x, y are float64 vectors, X, Y, W matrices, a, b scalars,
n an int64 scalar, p, q int64 vectors.

No file imports another one, as laws outside of the project could not either: what examples have in common (`_decay`) is
written in each of them.
"""
