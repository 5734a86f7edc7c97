"""What the processor can do, as NumPy says: its loops and its BLAS depend on that."""

from __future__ import annotations

import numpy as np

__all__ = ["has"]


def has(*features: str) -> bool:
    """Whether the processor has all of these, by NumPy's names; what this version of NumPy does not know it has not.

    >>> has("no such feature")
    False
    """
    module = getattr(getattr(np, "_core", None), "_multiarray_umath", None)
    known = getattr(module, "__cpu_features__", {})
    return all(known.get(name, False) for name in features)
