"""Entries of symbolic arrays: numbers that are known, and z3 terms for those that are not; what operators make of them.

dtypes: bool; int8 and int64 as bit-vectors; "real" for floats where rounding may differ, "fp" for floats of few bits
where it may not; "A" and "B" for entries about which nothing is known: what holds for them holds for every dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from scanopt.libraries import library

__all__ = [
    "BITS", "FP", "cast", "compute", "conjunction", "disjunction", "lifted", "same", "symbol", "unknown_function", "z3",
]  # fmt: skip

BITS = {"int8": 8, "int64": 64}
FP = (3, 3)
"""Bits of the exponent, and of the fraction with the sign, of the small floats whose rounding is modelled."""


@functools.cache
def z3() -> Any:
    """The module z3.  Raises ImportError, saying what to install, where it is missing."""
    return library("z3", "prove", "a proof of a law")


@functools.cache
def sort(dtype: str) -> Any:
    """The z3 sort of entries of a dtype."""
    if dtype in BITS:
        return z3().BitVecSort(BITS[dtype])
    made = {"bool": z3().BoolSort, "real": z3().RealSort, "fp": lambda: z3().FPSort(*FP)}
    return made.get(dtype, lambda: z3().DeclareSort(dtype))()


def symbol(name: str, dtype: str) -> Any:
    """An unknown entry."""
    return z3().Const(name, sort(dtype))


def lifted(x: Any, dtype: str) -> Any:
    """An entry as a z3 term."""
    if not isinstance(x, (bool, int, float)):
        return x
    if dtype == "bool":
        return z3().BoolVal(bool(x))
    if dtype in BITS:
        return z3().BitVecVal(int(x), BITS[dtype])
    if dtype == "fp":
        return z3().FPVal(float(x), sort(dtype))
    return z3().RealVal(x) if dtype == "real" else symbol(f"the {dtype} {x}", dtype)


def same(x: Any, y: Any, dtype: str) -> Any:
    """Whether two entries are equal: a bool where that is decided already, else a z3 condition."""
    if isinstance(x, (bool, int, float)) and isinstance(y, (bool, int, float)):
        return x == y
    x, y = lifted(x, dtype), lifted(y, dtype)
    return True if x.eq(y) else x == y


def conjunction(*conditions: Any) -> Any:
    """The conjunction of conditions: a bool where that is decided already."""
    left = [c for c in conditions if c is not True]
    if any(c is False for c in left):
        return False
    return z3().And(*left) if left else True


def disjunction(*conditions: Any) -> Any:
    """The disjunction of conditions: a bool where that is decided already."""
    left = [c for c in conditions if c is not False]
    if any(c is True for c in left):
        return True
    return z3().Or(*left) if left else False


def unknown_function(name: str, dtypes: tuple[str, ...], dtype: str) -> Any:
    """A function of entries about which nothing is known."""
    return z3().Function(f"{name}:{','.join(dtypes)}", *map(sort, dtypes), sort(dtype))


def cast(x: Any, old: str, new: str) -> Any:
    """An entry in another dtype, as NumPy promotes it."""
    if old == new:
        return x
    if isinstance(x, (bool, int)) and new in (*BITS, "real"):
        return _wrapped(int(x), new)
    x = lifted(x, old)
    if old == "bool":
        return z3().If(x, lifted(1, new), lifted(0, new))
    if old in BITS and new in BITS:
        wider = BITS[new] - BITS[old]
        return z3().SignExt(wider, x) if wider > 0 else z3().Extract(BITS[new] - 1, 0, x)
    if old in BITS and new == "real":
        return z3().ToReal(z3().BV2Int(x, True))
    return unknown_function("cast", (old,), new)(x)


def compute(name: str, dtype: str, *xs: Any) -> Any | None:
    """An operator of entries of one dtype; None where it has no exact meaning in that dtype."""
    if all(isinstance(x, (bool, int)) for x in xs) and name in _KNOWN:
        return _wrapped(_KNOWN[name](*xs), dtype)
    kind = "int" if dtype in BITS else dtype
    found = _MEANINGS.get((name, kind))
    return None if found is None else found(*(lifted(x, dtype) for x in xs))


def _wrapped(x: Any, dtype: str) -> Any:
    """A known number as integers of a dtype wrap it around."""
    if dtype not in BITS or isinstance(x, bool):
        return x
    half = 1 << (BITS[dtype] - 1)
    return (x + half) % (2 * half) - half


_KNOWN: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "minimum": min,
    "maximum": max,
    "negative": lambda x: -x,
    "remainder": lambda x, y: x % y if y else 0,
    "logical_not": lambda x: not x,
    "positive": lambda x: x,
}


def _if(condition: Any, x: Any, y: Any) -> Any:
    return z3().If(condition, x, y)


def _even() -> Any:
    return z3().RoundNearestTiesToEven()


# Sums and products of floats in one form: their operands can be swapped, x - y is x + -y, and the sign of a product can
# be taken out of it, bit for bit (the sign of a NaN aside).


def _ordered(x: Any, y: Any) -> tuple[Any, Any]:
    return (x, y) if x.get_id() <= y.get_id() else (y, x)


def _opposite(x: Any) -> Any:
    return x.arg(0) if x.decl().kind() == z3().Z3_OP_FPA_NEG else z3().fpNeg(x)


def _sum(x: Any, y: Any) -> Any:
    """x + y; 0.0 + y is y, except that 0.0 + -0.0 is 0.0."""
    zero = lifted(0, "fp")
    x, y = (y, x) if y.eq(zero) else (x, y)
    if x.eq(zero):
        return _if(z3().And(z3().fpIsZero(y), z3().fpIsNegative(y)), x, y)
    return z3().fpAdd(_even(), *_ordered(x, y))


def _product(x: Any, y: Any) -> Any:
    negative = [v.decl().kind() == z3().Z3_OP_FPA_NEG for v in (x, y)]
    x, y = (v.arg(0) if n else v for v, n in zip((x, y), negative, strict=True))
    found = z3().fpMul(_even(), *_ordered(x, y))
    return _opposite(found) if sum(negative) == 1 else found


def _extreme(below: bool) -> Callable[[Any, Any], Any]:
    """The smaller or greater of two floats, NaN where one is; of two equal ones the first."""

    def of(x: Any, y: Any) -> Any:
        first = z3().fpLEQ(x, y) if below else z3().fpGEQ(x, y)
        return _if(z3().fpIsNaN(x), x, _if(z3().fpIsNaN(y), y, _if(first, x, y)))

    return of


_MEANINGS: dict[tuple[str, str], Callable[..., Any]] = {
    **{("add", k): lambda x, y: x + y for k in ("int", "real")},
    **{("subtract", k): lambda x, y: x - y for k in ("int", "real")},
    **{("multiply", k): lambda x, y: x * y for k in ("int", "real")},
    **{("square", k): lambda x: x * x for k in ("int", "real")},
    **{("absolute", k): lambda x: _if(x < 0, -x, x) for k in ("int", "real")},
    ("divide", "real"): lambda x, y: x / y,
    ("reciprocal", "real"): lambda x: 1 / x,
    ("sigmoid", "real"): lambda x: 1 / (1 + unknown_function("exp", ("real",), "real")(-x)),
    **{("negative", k): lambda x: -x for k in ("int", "real")},
    **{("minimum", k): lambda x, y: _if(x <= y, x, y) for k in ("int", "real")},
    **{("maximum", k): lambda x, y: _if(x >= y, x, y) for k in ("int", "real")},
    **{("positive", k): lambda x: x for k in ("int", "real", "fp", "A", "B")},
    **{("less", k): lambda x, y: x < y for k in ("int", "real", "fp")},
    **{("less_equal", k): lambda x, y: x <= y for k in ("int", "real", "fp")},
    **{("greater", k): lambda x, y: x > y for k in ("int", "real", "fp")},
    **{("greater_equal", k): lambda x, y: x >= y for k in ("int", "real", "fp")},
    **{("equal", k): lambda x, y: x == y for k in ("int", "real", "bool")},
    **{("not_equal", k): lambda x, y: x != y for k in ("int", "real", "bool")},
    ("less", "bool"): lambda x, y: z3().And(z3().Not(x), y),
    ("less_equal", "bool"): lambda x, y: z3().Or(z3().Not(x), y),
    ("greater", "bool"): lambda x, y: z3().And(x, z3().Not(y)),
    ("greater_equal", "bool"): lambda x, y: z3().Or(x, z3().Not(y)),
    ("bitwise_and", "int"): lambda x, y: x & y,
    ("bitwise_or", "int"): lambda x, y: x | y,
    ("bitwise_xor", "int"): lambda x, y: x ^ y,
    ("invert", "int"): lambda x: ~x,
    ("bitwise_and", "bool"): lambda x, y: z3().And(x, y),
    ("bitwise_or", "bool"): lambda x, y: z3().Or(x, y),
    ("bitwise_xor", "bool"): lambda x, y: z3().Xor(x, y),
    ("invert", "bool"): lambda x: z3().Not(x),
    ("add", "bool"): lambda x, y: z3().Or(x, y),
    ("multiply", "bool"): lambda x, y: z3().And(x, y),
    ("maximum", "bool"): lambda x, y: z3().Or(x, y),
    ("minimum", "bool"): lambda x, y: z3().And(x, y),
    ("logical_or", "bool"): lambda x, y: z3().Or(x, y),
    ("logical_and", "bool"): lambda x, y: z3().And(x, y),
    ("logical_xor", "bool"): lambda x, y: z3().Xor(x, y),
    ("logical_not", "bool"): lambda x: z3().Not(x),
    ("add", "fp"): lambda x, y: _sum(x, y),
    ("subtract", "fp"): lambda x, y: _sum(x, _opposite(y)),
    ("multiply", "fp"): lambda x, y: _product(x, y),
    ("square", "fp"): lambda x: _product(x, x),
    ("divide", "fp"): lambda x, y: z3().fpDiv(_even(), x, y),
    ("reciprocal", "fp"): lambda x: z3().fpDiv(_even(), lifted(1, "fp"), x),
    ("negative", "fp"): lambda x: _opposite(x),
    ("absolute", "fp"): lambda x: z3().fpAbs(x),
    ("minimum", "fp"): _extreme(True),
    ("maximum", "fp"): _extreme(False),
}
