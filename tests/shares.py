"""How much is tried: `make test` tries a share of what is random or alike, `make test-all` everything."""

import os

EVERYTHING = os.environ.get("SCANOPT_TESTS") == "all"
"""Whether this is `make test-all`."""


def tries(n: int) -> int:
    """How many of n random cases are tried."""
    return n if EVERYTHING else max(1, n // 5)
