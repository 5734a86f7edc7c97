"""C functions that reduce a packed row, with the bits of NumPy's inner loops but without a call for each row.

NumPy adds up to 128 floats in eight sums, which a trial confirms, and longer rows in halves: for these its loop is
called.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from scanopt.backends.kernels.c_extremes import EXTREMES, extreme
from scanopt.backends.kernels.c_operations import TYPES, operation

__all__ = ["reduction"]

IN_ORDER = ("multiply", "logical_and", "logical_or")
_SUM = """\
static inline int reduce_add_T(T *y, const T *x, int64 n)
{
    if (n > 128) return 0;
    T sum = -0.0;
    int64 i = 0;
    if (n >= 8) {
        T a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], f = x[5], g = x[6], h = x[7];
        for (i = 8; i < n - n % 8; i += 8) {
            a += x[i]; b += x[i + 1]; c += x[i + 2]; d += x[i + 3];
            e += x[i + 4]; f += x[i + 5]; g += x[i + 6]; h += x[i + 7];
        }
        sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    }
    for (; i < n; i++) sum += x[i];
    *y = *y + sum;
    return 1;
}
"""
_PLAIN = """\
static inline int reduce_OP_T(T *y, const T *x, int64 n)
{
    T found = *y;
    for (int64 i = 0; i < n; i++) found = DO;
    *y = found;
    return 1;
}
"""


def reduction(op: str, dtype: str) -> tuple[str, str] | None:
    """The name and the C text of a function that reduces a row; it returns 0 where NumPy's loop must run instead.

    None where there is no such function.
    """
    t, kind = TYPES[dtype], np.dtype(dtype).kind
    if kind == "c":
        return None
    if op == "add" and kind == "f":
        text = _SUM if adds_in_eight_sums() else ""
    elif op in EXTREMES and kind == "f":
        return f"reduce_{op}_{t}", extreme(op, dtype)
    elif op in IN_ORDER or (kind in "iu" and op in ("add", *EXTREMES)):
        element = "(x[i] != 0)" if dtype == "bool" else "x[i]"
        either = f"found {EXTREMES.get(op, '')} x[i] ? found : x[i]"
        text = _PLAIN.replace("DO", either if op in EXTREMES else operation(op, dtype, ["found", element]))
    else:
        text = ""
    name = f"reduce_{op}_{t}"
    return (name, text.replace("OP", op).replace("T ", f"{t} ").replace("_T(", f"_{t}(")) if text else None


@cache
def adds_in_eight_sums() -> bool:
    """Whether NumPy adds up to 128 floats in eight sums: tried with numbers for which other orders give other bits.

    >>> adds_in_eight_sums()
    True
    """
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        x = (rng.normal(size=128) * 10.0 ** rng.integers(-6, 7, 128)).astype(dtype)
        if any(np.add.reduce(x[:n]) != _in_eight_sums(x[:n]) for n in (3, 7, 8, 15, 77, 121, 128)):
            return False
    return True


def _in_eight_sums(x: Any) -> Any:
    whole = len(x) - len(x) % 8
    total = x.dtype.type(-0.0)
    if whole:
        a, b, c, d, e, f, g, h = (_in_order(x[i:whole:8]) for i in range(8))
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    return _in_order(x[whole:], total)


def _in_order(x: Any, total: Any = None) -> Any:
    for element in x:
        total = element if total is None else total + element
    return total
