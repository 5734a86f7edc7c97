"""Scalar operations as C text, with NumPy's results for every value of every dtype.

An operation of the kernel language is either an infix expression, a builtin of the compiler, or a call of a helper
whose text is made here.  Variants of one operation (`maximum_in_step`, `maximum_of_rows`, ...) differ only in speed:
which one compilers turn into the best instructions depends on where it stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from scanopt.backends.kernels.complex_operations import PARTS, complex_helper
from scanopt.backends.kernels.ir import Lit
from scanopt.backends.kernels.numpy_loops import DTYPES

__all__ = ["HEAD", "TYPES", "cast_helper", "literal", "operation", "operation_helper"]

TYPES = {name: "bool8" if name == "bool" else name for name in DTYPES}
"""The names of types in C; no variable has such a name, since variables are one letter and a number."""
HEAD = """\
typedef signed char int8; typedef short int16; typedef int int32; typedef long long int64;
typedef unsigned char uint8; typedef unsigned short uint16; typedef unsigned int uint32;
typedef unsigned long long uint64; typedef unsigned char bool8; typedef float float32; typedef double float64;
typedef _Complex float complex64; typedef _Complex double complex128;
typedef void inner(char **, const int64 *, const int64 *, void *);
#define DATA(i) (*(char **)(G[i] + %d))
#if defined(__clang__)
#define ANY_ORDER _Pragma("clang loop vectorize(assume_safety)")
#define UNROLLED _Pragma("clang loop unroll_count(8)")
#define GROUPED _Pragma("clang loop unroll(full)")
#define AS_VECTORS
#else
#define ANY_ORDER _Pragma("GCC ivdep")
#define UNROLLED _Pragma("GCC unroll 8")
#define GROUPED _Pragma("GCC unroll 4")
#define AS_VECTORS _Pragma("GCC unroll 1")
#endif
#define ONE_BY_ONE __asm__ volatile ("");
"""
"""What texts of kernels begin with: types, and what compilers are asked for."""
NARROW = {"int8", "int16", "uint8", "uint16"}
"""Dtypes narrower than `int`, in which C computes them: results are cast back."""

_COMPARED = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
_TESTS: dict[str, str] = {
    **{name: f"({{0}} {sign} {{1}})" for name, sign in _COMPARED.items()},
    "logical_and": "(({0} != 0) & ({1} != 0))", "logical_or": "(({0} != 0) | ({1} != 0))",
    "logical_xor": "(({0} != 0) ^ ({1} != 0))", "logical_not": "({0} == 0)",
}  # fmt: skip
_NUMBERS = {
    "add": "({0} + {1})", "subtract": "({0} - {1})", "multiply": "({0} * {1})", "negative": "(-{0})",
    "one_more": "({0} + 1)", "positive": "{0}",
}  # fmt: skip
_WHOLE = {
    **_NUMBERS, "floor": "{0}", "ceil": "{0}", "trunc": "{0}", "rint": "{0}", "isnan": "0", "isinf": "0",
    "isfinite": "1", "bitwise_and": "({0} & {1})", "bitwise_or": "({0} | {1})", "bitwise_xor": "({0} ^ {1})",
    "invert": "(~{0})",
}  # fmt: skip
_BITS = {"bitwise_and": "({0} & {1})", "bitwise_or": "({0} | {1})", "bitwise_xor": "({0} ^ {1})", "invert": "(!{0})"}

INFIX: dict[str, dict[str, str]] = {
    "b": {**_TESTS, **_BITS, "add": "({0} | {1})", "multiply": "({0} & {1})", "maximum": "({0} | {1})",
          "minimum": "({0} & {1})", "absolute": "{0}"},
    "i": {**_TESTS, **_WHOLE},
    "u": {**_TESTS, **_WHOLE, "absolute": "{0}"},
    "f": {**_TESTS, **_NUMBERS, "divide": "({0} / {1})", "reciprocal": "(1 / {0})", "isnan": "({0} != {0})",
          "unordered": "__builtin_isunordered({0}, {1})"},
    "c": {**_TESTS, **PARTS, "add": "({0} + {1})", "subtract": "({0} - {1})", "negative": "(-{0})", "positive": "{0}",
          "isnan": "({0} != {0})"},
}  # fmt: skip
"""For each kind of dtype, the text of operations, with places for the texts of their arguments."""

BUILTIN = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "fabs": "fabs",
    "absolute": "fabs", "copysign": "copysign", "fma": "fma",
}  # fmt: skip
"""Functions of C on floats that round at most once."""

_EXTREME = """({{ T n = {}; I u, v, w = -(I)(a != a); __builtin_memcpy(&u, &a, sizeof(a)); \
__builtin_memcpy(&v, &n, sizeof(n)); v = (v & ~w) | (u & w); __builtin_memcpy(&n, &v, sizeof(n)); n; }})"""
_SIGN = """({ T n = (T)(a > 0) - (T)(a < 0); I u, v, w = -(I)(a != a); __builtin_memcpy(&u, &a, sizeof(a)); \
__builtin_memcpy(&v, &n, sizeof(n)); v = (v & ~w) | (u & w); __builtin_memcpy(&n, &v, sizeof(n)); n; })"""
_HEAVISIDE = """({ T n = a > 0; I u, v, w, x = -(I)(a == 0), y = -(I)(a != a); __builtin_memcpy(&u, &a, sizeof(a)); \
__builtin_memcpy(&v, &b, sizeof(b)); __builtin_memcpy(&w, &n, sizeof(n)); w = (w & ~(x | y)) | (v & x) | (u & y); \
__builtin_memcpy(&n, &w, sizeof(n)); n; })"""
_FLOATS = {
    "clip_of_rows": "({ T r = b > a ? b : a, h = b != b ? b : c, n = r != r ? r : h; r <= n ? r : n; })",
    "maximum_of_rows": _EXTREME.format("a > b ? a : b"),
    "minimum_of_rows": _EXTREME.format("a < b ? a : b"),
    "clip_to_numbers": "({ T r = b > a ? b : a; c < r ? c : r; })",
    "clip": "a != a ? a : b != b ? b : c != c ? c : (a < b ? b : a) > c ? c : (a < b ? b : a)",
    "maximum": "(a > b) | (a != a) ? a : b",
    "minimum": "(a < b) | (a != a) ? a : b",
    "maximum_in_step": "({ T r = a > b ? a : b; if (a != a) { ONE_BY_ONE r = a; } r; })",
    "minimum_in_step": "({ T r = a < b ? a : b; if (a != a) { ONE_BY_ONE r = a; } r; })",
    "maximum_of_few": "a > b ? a : b",
    "minimum_of_few": "a < b ? a : b",
    "maximum_of_number": "b > a ? b : a",
    "minimum_of_number": "b < a ? b : a",
    "maximum_of_zero": "a <= b ? b : a",
    "minimum_of_zero": "a >= b ? b : a",
    "square": "a * a",
    "sign": "a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a",
    "sign_of_rows": _SIGN,
    "heaviside": "a != a ? a : a == 0 ? b : a < 0 ? (T)0 : (T)1",
    "heaviside_of_rows": _HEAVISIDE,
    **dict.fromkeys(("deg2rad", "radians"), "a * ((T)3.141592653589793238462643383279502884 / (T)180)"),
    **dict.fromkeys(("rad2deg", "degrees"), "a * ((T)180 / (T)3.141592653589793238462643383279502884)"),
    "isinf": "__builtin_fabs(a) == __builtin_inf()",
    "isfinite": "__builtin_fabs(a) < __builtin_inf()",
    "signbit": "__builtin_copysign(1.0, a) < 0",
}
"""x86 has one instruction for an extreme; if one of its two arguments is NaN, it gives the second.  For `a` and a
number `b` nothing else is needed.  In steps that depend on each other, gcc turns other forms into branches, which are
often mispredicted.  For rows, in loops that may run in any order, gcc makes good vectors only of plain choices between
two values, and none of `__builtin_signbit`; a NaN is put in by bit masks, since gcc 12 joins two choices into one with
many masks, or makes no vectors."""
_START = "(b < 0 ? (b + a < 0 ? 0 : b + a) : b > a ? a : b)"
_STOP = "(c < 0 ? (c + a < 0 ? 0 : c + a) : c > a ? a : c)"
_ROWS = {
    "row_read": "b < 0 ? b + a + 1 : b + 1",
    "row_read_near": "b < 0 || b >= a ? a : b + 1",
    "row_left_near": "b < 0 ? (b < -a ? a : -b) : b >= a ? a : b + 1",
    "slice_read": f"{_STOP} > {_START} ? {_STOP} : a > 1 ? 1 : a",
    "slice_left": f"{_STOP} > {_START} ? {_STOP} - {_START} : 0",
    "slice_read_near": "b < 0 || c < 0 || c > a ? a : c < 1 ? (a > 1 ? 1 : a) : c",
    "slice_left_near": "b < 0 ? (c < 0 ? (b < -a ? a : -b) : a) : c < 0 || c > a ? a : c < 1 ? (a > 1 ? 1 : a) : c",
}  # fmt: skip
"""Numbers of rows, for `a` rows and the row b or the rows [b:c]: see `scanopt.array.operators.parts`."""
_IN_STEP = {
    "maximum_in_step": "({ T r = a; if (!(a > b)) { ONE_BY_ONE r = b; } r; })",
    "minimum_in_step": "({ T r = a; if (!(a < b)) { ONE_BY_ONE r = b; } r; })",
    "clip_in_step": "({ T r = a; if (r < b) { ONE_BY_ONE r = b; } if (r > c) { ONE_BY_ONE r = c; } r; })",
}  # fmt: skip
"""For integers: a branch, so that a step goes on with the likely value and does not wait for the comparison."""
_OF_FEW = {"maximum_of_few": "a > b ? a : b", "minimum_of_few": "a < b ? a : b"}
"""For integers where a branch would often be mispredicted: a choice without a branch."""
_REST = "b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0)"
_INTEGERS = {
    **_ROWS,
    "clip": "(a > b ? a : b) < c ? (a > b ? a : b) : c",
    "maximum": "a > b ? a : b", "minimum": "a < b ? a : b", "square": "a * a", "sign": "(a > 0) - (a < 0)",
    **_IN_STEP, **_OF_FEW,
    "absolute": "a < 0 ? -a : a",
    "floor_divide": "b == 0 ? 0 : b == -1 ? -a : a / b - (a % b != 0 && (a < 0) != (b < 0))",
    "remainder": _REST,
    "remainder_of_number": "a % b < 0 ? a % b + b : a % b",
    "remainder_in_step": "({ T r = a % b; if (r < 0) { ONE_BY_ONE r += b; } r; })",
    "floor_divide_of_number": "a / b - (a % b < 0)",
    "remainder_near": f"(a >= 0 && a < b) ? a : (a < 0 && b > 0 && a >= -b) ? a + b : {_REST}",
    "left_shift": "b < 0 || b >= (T)(8 * sizeof(T)) ? 0 : a << b",
    "right_shift": "b < 0 || b >= (T)(8 * sizeof(T)) ? (a < 0 ? -1 : 0) : a >> b",
}  # fmt: skip
_UNSIGNED = {
    "clip": "(a > b ? a : b) < c ? (a > b ? a : b) : c",
    "maximum": "a > b ? a : b", "minimum": "a < b ? a : b", "square": "a * a", "sign": "a > 0", **_IN_STEP, **_OF_FEW,
    "floor_divide": "b == 0 ? 0 : a / b", "remainder": "b == 0 ? 0 : a % b",
    "left_shift": "b >= 8 * sizeof(T) ? 0 : a << b", "right_shift": "b >= 8 * sizeof(T) ? 0 : a >> b",
}  # fmt: skip
_WHERE = """\
static inline T where_of_rows_T(bool8 a, T b, T c)
{
#if defined(__AVX512F__)
    return a ? b : c;
#else
    I u, v, w = -(I)(a != 0);
    __builtin_memcpy(&u, &b, sizeof(b));
    __builtin_memcpy(&v, &c, sizeof(c));
    u = (u & w) | (v & ~w);
    __builtin_memcpy(&b, &u, sizeof(b));
    return b;
#endif
}
"""
"""Without masks of vectors gcc computes one side only where it is chosen, and then makes no vectors."""
_POWER = """\
static inline T power_T(T a, T b)
{
    T found = 1;
    for (; b > 0; b >>= 1) {
        if (b & 1) found = (T)(found * a);
        a = (T)(a * a);
    }
    return found;
}
"""
"""For integers; a negative exponent was rejected before."""
FUNCTIONS = {"f": _FLOATS, "i": _INTEGERS, "u": _UNSIGNED, "b": dict[str, str]()}
"""For each kind of dtype, the body of helper functions of a, b and c."""
_TRUE = {"isinf", "isfinite", "signbit"}


def operation(op: str, dtype: str, args: Sequence[str]) -> str:
    """The C text of an operation that computes in a dtype.

    >>> operation("add", "int8", ["x", "y"]), operation("less", "float64", ["x", "y"])
    ('((int8)(x + y))', '(x < y)')
    """
    if op == "where":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    kind = np.dtype(dtype).kind
    if op in INFIX[kind]:
        text = INFIX[kind][op].format(*args)
        narrow = kind in "iu" and op not in _TESTS and dtype in NARROW and text not in ("0", "1", *args)
        return f"(({TYPES[dtype]}){text})" if narrow else text
    if kind == "f" and op in BUILTIN:
        return f"__builtin_{BUILTIN[op]}{'f' if dtype == 'float32' else ''}({', '.join(args)})"
    return f"{op}_{TYPES[dtype]}({', '.join(args)})"


LOW = {
    ("float64", "int32"): "> -2147483649.0", ("float32", "int32"): ">= -2147483648.0f",
    ("float64", "int64"): ">= -9223372036854775808.0", ("float32", "int64"): ">= -9223372036854775808.0f",
}  # fmt: skip
HIGH = {"int32": "< 2147483648.0", "int64": "< 9223372036854775808.0"}


_CONVERTED = """\
static inline {b} {a}_to_{b}_in_step({a} x)
{{
#if defined(__x86_64__) && defined(__AVX__)
    {b} r;
    __asm__ ("vcvtts{s}2si %1, %{w}0" : "=r"(r) : "x"(x));
    return r;
#else
    return {test} ? ({b})x : {least};
#endif
}}
"""
"""The x86 instruction gives the least integer for a value out of range; compilers would compare first."""


def cast_helper(old: str, new: str, in_step: bool = False) -> str:
    """The text of the function that casts one dtype to another; "" if C's own cast is right.

    A value out of range becomes the least integer, as by x86 instructions; in C it is undefined.  in_step: the cast is
    of one number in a step, not of the elements of a row, which compilers may vectorize.
    """
    if (old, new) not in LOW:
        return ""
    a, b = TYPES[old], TYPES[new]
    least = "-2147483647 - 1" if new == "int32" else "-9223372036854775807LL - 1"
    test = f"x {LOW[old, new]} && x {HIGH[new]}{'f' if old == 'float32' else ''}"
    if in_step:
        s, w = "s" if old == "float32" else "d", "k" if new == "int32" else "q"
        return _CONVERTED.format(a=a, b=b, s=s, w=w, test=test, least=least)
    return f"static inline {b} {a}_to_{b}({a} x) {{ return {test} ? ({b})x : {least}; }}\n"


def operation_helper(op: str, dtype: str) -> str:
    """The text of the function that an operation calls; "" if it calls none."""
    kind = np.dtype(dtype).kind
    if op == "power":
        return re.sub(r"\bT\b", TYPES[dtype], _POWER).replace("power_T", f"power_{TYPES[dtype]}")
    if op == "where_of_rows":
        bits = f"int{8 * np.dtype(dtype).itemsize}"
        return re.sub(r"\bI\b", bits, re.sub(r"\bT\b|(?<=_)T\b", TYPES[dtype], _WHERE))
    if kind == "c":
        return complex_helper(op, dtype)
    body = FUNCTIONS[kind].get(op, "")
    if not body or op in INFIX[kind]:
        return ""
    t = TYPES[dtype]
    result = "bool8" if op in _TRUE else t
    args = ", ".join(f"{t} {x}" for x in "abc" if re.search(rf"\b{x}\b", body))
    value = re.sub(r"\bI\b", f"int{8 * np.dtype(dtype).itemsize}", re.sub(r"\bT\b", t, body))
    return f"static inline {result} {op}_{t}({args}) {{ return ({result})({value}); }}\n"


def literal(x: Lit) -> str:
    """A number as C text, to the last bit.

    >>> literal(Lit(0.1, "float32")), literal(Lit(-(2**63)))
    ('0x1.99999a0000000p-4f', '(-9223372036854775807LL - 1)')
    """
    kind = np.dtype(x.dtype).kind
    if kind == "f":
        value, end = float(np.dtype(x.dtype).type(x.value)), "f" if x.dtype == "float32" else ""
        if math.isnan(value):
            return f'__builtin_nan{end}("")'
        text = f"__builtin_inf{end}()" if math.isinf(value) else f"{abs(value).hex()}{end}"
        return f"(-{text})" if math.copysign(1.0, value) < 0 else text
    number = int(x.value)
    if number == -(2**63):
        return "(-9223372036854775807LL - 1)"
    end = "ULL" if x.dtype == "uint64" else "LL" if abs(number) > 2**31 - 1 else ""
    return f"({number}{end})" if number < 0 else f"{number}{end}"
