"""Calls the function behind a NumPy inner loop directly, without the loop, where a step needs it for few numbers.

For one number, the loop takes as long again as the function that it calls: a function of a vector register, where NumPy
brings one, else a function of the C library.  Which one it calls depends on NumPy's build and the processor.  So a
kernel compares the function with the loop once, for some thousand numbers of all kinds, and calls the loop if any bit
differs.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache

import numpy as np

from scanopt.backends.kernels.ir import ZERO, Inner
from scanopt.backends.kernels.processor import has
from scanopt.backends.kernels.written_tanh import tanh_address, tanh_text

__all__ = ["direct_address", "direct_test", "directly", "lanes_of"]

_NAMES = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "cbrt": "cbrt", "cos": "cos", "cosh": "cosh", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
    "fmod": "fmod", "hypot": "hypot", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "power": "pow",
    "sin": "sin", "sinh": "sinh", "tan": "tan",
}  # fmt: skip
"""The name of each ufunc's function in C."""
_WRITTEN_OUT = {("exp", "float32"), ("log", "float32"), ("sin", "float32"), ("cos", "float32")}
"""NumPy's loops for these call no function: the computation is part of the loop."""
_OF_C = {("sin", "float64"), ("cos", "float64")}
"""NumPy's loops for these call the C library, although NumPy brings vector functions."""
_LANES = {"float64": "8", "float32": "f16"}
_AVX512 = ("AVX512_SKX", "X86_V4")
"""How versions of NumPy name what the processor must have for its vector functions."""
_BYTES = 64
_TEST = """\
#if WIDTH == 1
typedef T lanes_NAME;
#else
typedef T lanes_NAME __attribute__((vector_size(WIDTH * sizeof(T))));
#endif
typedef lanes_NAME call_NAME(LANES);
static int same_NAME(void *loop, void *data, void *f, T *x, T *y, int64 count)
{
    T *a[] = {ARRAYS};
    const int64 s[] = {sizeof(T), sizeof(T), sizeof(T)};
    ((inner *)loop)((char **)a, &count, s, data);
    for (int64 i = 0; i < count; i += WIDTH) {
        lanes_NAME v, w;
        __builtin_memcpy(&v, x + i, sizeof(v));
        __builtin_memcpy(&w, x + count + i, sizeof(w));
        v = CALLED(VALUES);
        for (int k = 0; k < WIDTH; k++) {
            const T found = ((T *)&v)[k], wanted = y[i + k];
            if (__builtin_memcmp(&found, &wanted, sizeof(T)) && (found == found || wanted == wanted)) return 0;
        }
    }
    return 1;
}
static __attribute__((noinline)) int try_NAME(void *loop, void *data, void *f)
{
#if defined(__AVX512F__) || WIDTH == 1
    enum { COUNT = 1024, ROUNDS = 4, ODD = 16 };
    T x[2 * COUNT], y[COUNT];
    const T inf = __builtin_inf(), nan = __builtin_nan("");
    const T odd[ODD] = {0, -0.0, 1, -1, inf, -inf, nan, 0x1p-140, -0x1p-140, 700, 0.5, -0.5, 1.5, 2, -2, 3};
    uint64 seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2 * COUNT; i++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            const int kind = (seed >> 32) % 8;
            const BITS bits = seed >> (64 - 8 * sizeof(T));
            const T part = (T)(int64)seed * (T)0x1p-63;
            const T near[] = {part, part * 4, part * 30, part * 800, 1 + part * part};
            if (kind == 0) x[i] = odd[(seed >> 40) % ODD];
            else if (kind < 4) __builtin_memcpy(x + i, &bits, sizeof(T));
            else x[i] = near[(seed >> 40) % 5];
        }
        if (!same_NAME(loop, data, f, x, y, COUNT)) return 0;
    }
    return 1;
#else
    return 0;
#endif
}
static inline int is_NAME(void *loop, void *data, void *f)
{
    static int known;
    if (!known) known = f && try_NAME(loop, data, f) ? 1 : 2;
    return known == 1;
}
"""
"""C functions that compare a function with the loop.  Without AVX-512, 64-byte vectors would be passed in memory, so
vector functions are not used there."""


@cache
def _library() -> ctypes.CDLL | None:
    """NumPy's shared library, and with it the libraries that it links to."""
    try:
        return ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except (AttributeError, OSError):
        return None


def _calls_vectors() -> bool:
    """Whether NumPy's loops call its functions of a vector register here: these need AVX-512."""
    return any(map(has, _AVX512))


@cache
def _found(ufunc: str, dtype: str) -> tuple[int, int]:
    """The address of the function (tanh: of its coefficients) and how many numbers it takes; zeros if there is none."""
    if ufunc == "tanh" and (table := tanh_address(dtype)):
        return table, 1
    library, name = _library(), _NAMES.get(ufunc)
    if library is None or name is None or dtype not in _LANES or (ufunc, dtype) in _WRITTEN_OUT:
        return 0, 0
    end, by_vectors = _LANES[dtype], _calls_vectors() and (ufunc, dtype) not in _OF_C
    own = [f"__svml_{name}{end}_ha", f"__svml_{name}{end}"] if by_vectors else []
    lanes = _BYTES // np.dtype(dtype).itemsize
    for symbol, count in (*((s, lanes) for s in own), (name if dtype == "float64" else f"{name}f", 1)):
        if hasattr(library, symbol):
            return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0, count
    return 0, 0


def direct_address(name: str, dtype: str) -> int:
    """The address of the function behind a loop, by a name such as "direct exp"; 0 for another name.

    >>> direct_address("exp", "float64"), direct_address("direct sqrt", "float64")
    (0, 0)
    """
    first, _, ufunc = name.partition(" ")
    return _found(ufunc, dtype)[0] if first == "direct" else 0


def direct_call(ufunc: str, dtype: str, f: str) -> str:
    """The start of the C text of a call.  f: the text of the function's address.

    >>> direct_call("tanh", "float64", "f")
    'tanh_float64(f, '
    """
    return f"tanh_{dtype}({f}, " if ufunc == "tanh" else f"((call_{ufunc}_{dtype} *){f})("


def lanes_of(ufunc: str, dtypes: tuple[str, ...]) -> int:
    """How many numbers the function behind a loop takes at once; 0 where there is none."""
    return _found(ufunc, dtypes[0])[1] if len({*dtypes}) == 1 else 0


def direct_test(ufunc: str, dtype: str, two: bool) -> str:
    """The C text of the function that compares a function with its loop.  two: whether it has two arguments."""
    bits = f"uint{8 * np.dtype(dtype).itemsize}"
    words = {"T": dtype, "WIDTH": str(_found(ufunc, dtype)[1]), "BITS": bits}
    words |= {"ARRAYS": "x, x + count, y", "VALUES": "v, w"} if two else {"ARRAYS": "x, y", "VALUES": "v"}
    words["LANES"] = ", ".join([f"lanes_{ufunc}_{dtype}"] * (1 + two))
    text = _TEST.replace("NAME", f"{ufunc}_{dtype}").replace("CALLED(", direct_call(ufunc, dtype, "f"))
    written = tanh_text(dtype) if ufunc == "tanh" else ""
    return written + re.sub(r"\b(T|WIDTH|BITS|ARRAYS|VALUES|LANES)\b", lambda m: words[m[0]], text)


def directly(x: Inner, ufunc: str, dtypes: tuple[str, ...], count: int) -> tuple[str, list[str]]:
    """The test whether a function may replace a loop, and the lines of its call; unused lanes get the first number."""
    *sources, out = x.arrays
    name, lanes = f"{ufunc}_{dtypes[0]}", lanes_of(ufunc, dtypes)
    loop, function = f"F[{2 * x.slot}], F[{2 * x.slot + 1}]", f"F[{2 * x.direct}]"
    given = [
        ", ".join(f"{a}[{i if i < count and step != ZERO else 0}]" for i in range(lanes))
        for a, step in zip(sources, x.strides, strict=False)
    ]
    args = ", ".join(f"(lanes_{name}){{{g}}}" if lanes > 1 else g for g in given)
    apart = f" && {sources[1]}[0] * 2 != __builtin_trunc({sources[1]}[0] * 2)" if ufunc == "power" else ""
    return f"is_{name}({loop}, {function})", [
        f"if (alike{x.slot}{apart}) {{",
        f"    const lanes_{name} r = {direct_call(ufunc, dtypes[0], function)}{args});",
        *(f"    {out}[{i}] = {f'r[{i}]' if lanes > 1 else 'r'};" for i in range(count)),
        "} else",
    ]
