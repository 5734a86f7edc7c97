"""CUDA text for the functions of NumPy's and SciPy's inner loops, which a device cannot call: one element at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanopt.array.random.on_device import PHILOX
from scanopt.backends.kernels.c_operations import FUNCTIONS, INFIX, TYPES, operation

__all__ = ["DRAWS", "HEAD", "functor"]

HEAD = """\
typedef signed char int8; typedef short int16; typedef int int32; typedef long long int64;
typedef unsigned char uint8; typedef unsigned short uint16; typedef unsigned int uint32;
typedef unsigned long long uint64; typedef unsigned char bool8; typedef float float32; typedef double float64;
#define INLINE __device__ __forceinline__
#define BARRIER __syncthreads()
#define UNROLLED _Pragma("unroll 8")
#define ALL_THREADS(i, n) for (int64 i = threadIdx.x; i < (n); i += blockDim.x)
INLINE float64 b_inf() { return __longlong_as_double(0x7ff0000000000000LL); }
INLINE float32 b_inff() { return __int_as_float(0x7f800000); }
INLINE float64 b_nan(const char *) { return nan(""); }
INLINE float32 b_nanf(const char *) { return nanf(""); }
INLINE bool b_signbit(float64 x) { return signbit(x); }
INLINE bool b_signbit(float32 x) { return signbit(x); }
INLINE float64 b_fabs(float64 x) { return fabs(x); }
INLINE float32 b_fabs(float32 x) { return fabsf(x); }
template <class T, class F> INLINE void each(const char *x, char *y, int64 n, int64 s, int64 d, int64 i, int64 by) {
    for (; i < n; i += by) *(typename F::result *)(y + i * d) = F::of(*(const T *)(x + i * s));
}
template <class T, class F>
INLINE void pairs(const char *x, const char *y, char *z, int64 n, int64 s, int64 r, int64 d, int64 i, int64 by) {
    for (; i < n; i += by) *(typename F::result *)(z + i * d) = F::of(*(const T *)(x + i * s), *(const T *)(y + i * r));
}
template <class T, class F>
INLINE void folded(const char *x, char *y, int64 n, int64 s) {
    T sum = *(T *)y;
    for (int64 i = 0; i < n; i++) sum = F::of(sum, *(const T *)(x + i * s));
    *(T *)y = sum;
}
INLINE void *folding() {
    __shared__ float64 part[512];
    return part;
}
template <class T, class F>
INLINE void folded_by_all(const char *x, char *y, int64 n, int64 s, int64 k, int64 by, int64 row) {
    T *part = (T *)folding() + row * by;
    int64 m = n < by ? n : by;
    if (k < m) {
        T sum = *(const T *)(x + k * s);
        for (int64 i = k + by; i < n; i += by) sum = F::of(sum, *(const T *)(x + i * s));
        part[k] = sum;
    }
    BARRIER;
    while (m > 1) {
        int64 half = (m + 1) / 2;
        if (k + half < m) part[k] = F::of(part[k], part[k + half]);
        BARRIER;
        m = half;
    }
    if (k == 0 && n > 0) *(T *)y = F::of(*(T *)y, part[0]);
    BARRIER;
}
template <class T>
INLINE void products(const char *a, const char *b, char *c, int64 m, int64 k, int64 n, int64 ar, int64 ac, int64 br,
                     int64 bc, int64 cr, int64 cc, int64 at, int64 by) {
    for (; at < m * n; at += by) {
        const char *x = a + at / n * ar, *y = b + at % n * bc;
        T sum = 0;
        for (int64 i = 0; i < k; i++, x += ac, y += br) sum += *(const T *)x * *(const T *)y;
        *(T *)(c + at / n * cr + at % n * cc) = sum;
    }
}
"""
"""The start of every text: types, and functions that one thread runs (at = 0, by = 1) or all threads of a block."""

DRAWS = f"""{PHILOX}\
template <class T> INLINE void uniform(T *x, const uint64 *s, int64 n, int64 i, int64 by, int unused, T unit) {{
    uint64 w[4];
    for (; i < n; i += by) {{
        philox(w, s[0], s[1], i / 4 + 1, 0, s[2], 0);
        x[i] = (T)(w[i % 4] >> unused) * unit;
    }}
}}
INLINE void uniform_float64(float64 *x, const uint64 *s, int64 n, int64 i, int64 by) {{
    uniform(x, s, n, i, by, 11, 1.1102230246251565e-16);
}}
INLINE void uniform_float32(float32 *x, const uint64 *s, int64 n, int64 i, int64 by) {{
    uniform(x, s, n, i, by, 40, 5.9604644775390625e-08f);
}}
INLINE void arrows_float64(float64 *x, float64 *y, const uint64 *s, int64 n, int64 i, int64 by) {{
    uint64 w[4];
    for (; i < n; i += by) {{
        philox(w, s[0], s[1], i / 2 + 1, 0, s[2], 0);
        x[i] = (float64)(w[i % 2 * 2] >> 11) * 1.1102230246251565e-16;
        y[i] = (float64)(w[i % 2 * 2 + 1] >> 11) * 1.1102230246251565e-16;
    }}
}}
"""
"""Philox, and functions in which each thread makes its share of the random numbers of a draw."""

_SAME = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "cbrt",
    "fmod", "hypot", "sqrt", "floor", "ceil", "trunc", "rint", "copysign", "nextafter", "fmax", "fmin",
    "erf", "erfc", "j0", "j1",
}  # fmt: skip
_MATH = {
    **{name: f"{name}{{f}}" for name in sorted(_SAME)}, "arcsin": "asin{f}", "arccos": "acos{f}", "arctan": "atan{f}",
    "arcsinh": "asinh{f}", "arccosh": "acosh{f}", "arctanh": "atanh{f}", "arctan2": "atan2{f}", "power": "pow{f}",
    "float_power": "pow{f}", "fabs": "fabs{f}",
    "absolute": "fabs{f}", "gammaln": "lgamma{f}", "gamma": "tgamma{f}",
}  # fmt: skip
"""CUDA's functions by the names of NumPy's and SciPy's; {f}: the suffix of single precision."""
_TEXT = {
    "logaddexp": "a == b ? a + (T)0.693147180559945309417232121458176568 : a > b ? a + log1p{f}(exp{f}(b - a)) "
    ": a < b ? b + log1p{f}(exp{f}(a - b)) : a - b",
    "logaddexp2": "a == b ? a + 1 : a > b ? a + log1p{f}(exp2{f}(b - a)) * (T)1.44269504088896340735992468100189214 "
    ": a < b ? b + log1p{f}(exp2{f}(a - b)) * (T)1.44269504088896340735992468100189214 : a - b",
}  # fmt: skip
_DIVIDED = """\
        if (b == 0) return {zero};
        T m = fmod{f}(a, b), d = (a - m) / b;
        if (m != 0) {{ if ((b < 0) != (m < 0)) {{ m += b; d -= 1; }} }} else m = copysign{f}((T)0, b);
        T w = d != 0 ? floor{f}(d) : copysign{f}((T)0, a / b);
        if (d != 0 && d - w > (T)0.5) w += 1;
        return {which};"""
_DIVISOR = """\
        uint64 x = a < 0 ? 0 - (uint64)a : (uint64)a, y = b < 0 ? 0 - (uint64)b : (uint64)b, m = x, n = y;
        while (n) {{ const uint64 left = m % n; m = n; n = left; }}
        return (result)({which});"""


def functor(name: str, ufunc: str, dtypes: Sequence[str]) -> str:
    """The text of a struct with a function `of` that computes a ufunc; "" if it has no form.

    >>> print(functor("F0", "exp", ("float32", "float32")))
    struct F0 { typedef float32 result; typedef float32 T; static INLINE result of(T a) { return (result)(expf(a)); } };
    <BLANKLINE>
    """
    of, result = dtypes[0], TYPES[dtypes[-1]]
    count = len(dtypes) - 1
    if len(set(dtypes[:-1])) != 1 or count > 3:
        return ""
    args = ", ".join(f"T {x}" for x in "abc"[:count])
    body = _statements(ufunc, of, count)
    if not body:
        return ""
    types = f"typedef {result} result; typedef {TYPES[of]} T;"
    return f"struct {name} {{ {types} static INLINE result of({args}) {{ {body} }} }};\n"


def _statements(ufunc: str, of: str, count: int) -> str:
    kind, f = np.dtype(of).kind, "f" if of == "float32" else ""
    if ufunc == "clip" and count == 3:
        nan = "a != a ? a : b != b ? b : c != c ? c : " if kind == "f" else ""
        return f"return {nan}a < b ? (b < c ? b : c) : a > c ? c : a;"
    if kind == "f" and ufunc in ("floor_divide", "remainder"):
        which = ("a / b", "w") if ufunc == "floor_divide" else (f"fmod{f}(a, b)", "m")
        return " ".join(_DIVIDED.format(f=f, zero=which[0], which=which[1]).split())
    if kind in "iu" and ufunc in ("gcd", "lcm"):
        return " ".join(_DIVISOR.format(which="m" if ufunc == "gcd" else "m ? x / m * y : 0").split())
    if ufunc in INFIX[kind] or ufunc in FUNCTIONS[kind]:
        own = FUNCTIONS[kind].get(ufunc) if ufunc not in INFIX[kind] else None
        return f"return (result)({own or operation(ufunc, of, list('abc'[:count]))});"
    if kind != "f":
        return ""
    if ufunc in _MATH:
        return f"return (result)({_MATH[ufunc].format(f=f)}({', '.join('abc'[:count])}));"
    return f"return (result)({_TEXT[ufunc].format(f=f)});" if ufunc in _TEXT else ""
