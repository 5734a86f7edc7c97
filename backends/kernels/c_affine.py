"""C functions for affine recurrences of numbers, eight steps at once: `scanopt.array.numerics.regrouped`, bit for bit.

Eight elements are one value of the compiler's vector type, whatever registers the machine has.  A stretch of steps in
which a factor is beyond 1, or a row is not finite, is run step by step: there rounding differences could grow.
"""

from __future__ import annotations

from string import Template

from scanopt.array.numerics.regrouped import STRETCH

__all__ = ["AFFINE"]

_EIGHT = """\
#ifndef ONES_$T
#define ONES_$T ALL_$T(1)
#if defined(__clang__) || defined(__AVX512F__) || (defined(__AVX__) && $SIZE == 4)
typedef $T eight_$T __attribute__((vector_size(8 * sizeof($T)), aligned(sizeof($T)), may_alias));
#define EIGHT_$T(x) (*(const eight_$T *)(x))
#define STORE_$T(y, x) (*(eight_$T *)(y) = (x))
#define ALL_$T(x) ((eight_$T){x, x, x, x, x, x, x, x})
#define ADD_$T(x, y) ((x) + (y))
#define MULTIPLY_$T(x, y) ((x) * (y))
#define ELEMENT_$T(x, i) (x)[i]
#if defined(__clang__) || __GNUC__ >= 12
#define BEHIND1_$T(x, y) __builtin_shufflevector(y, x, 7, 8, 9, 10, 11, 12, 13, 14)
#define BEHIND2_$T(x, y) __builtin_shufflevector(y, x, 6, 7, 8, 9, 10, 11, 12, 13)
#define BEHIND4_$T(x, y) __builtin_shufflevector(y, x, 4, 5, 6, 7, 8, 9, 10, 11)
#else
typedef $I places_of_$T __attribute__((vector_size(8 * sizeof($T))));
#define BEHIND1_$T(x, y) __builtin_shuffle(y, x, (places_of_$T){7, 8, 9, 10, 11, 12, 13, 14})
#define BEHIND2_$T(x, y) __builtin_shuffle(y, x, (places_of_$T){6, 7, 8, 9, 10, 11, 12, 13})
#define BEHIND4_$T(x, y) __builtin_shuffle(y, x, (places_of_$T){4, 5, 6, 7, 8, 9, 10, 11})
#endif
#else
typedef $T four_$T __attribute__((vector_size(4 * sizeof($T)), aligned(sizeof($T)), may_alias));
typedef $I places_of_$T __attribute__((vector_size(4 * sizeof($T))));
typedef struct { four_$T low, high; } eight_$T;
#define HALVES_$T(a, b) ((eight_$T){a, b})
#define EIGHT_$T(x) HALVES_$T(((const four_$T *)(x))[0], ((const four_$T *)(x))[1])
#define STORE_$T(y, x) (((four_$T *)(y))[0] = (x).low, ((four_$T *)(y))[1] = (x).high)
#define ALL_$T(x) HALVES_$T(((four_$T){x, x, x, x}), ((four_$T){x, x, x, x}))
#define ELEMENT_$T(x, i) ((i) < 4 ? (x).low[(i) & 3] : (x).high[(i) & 3])
#define SHIFT1_$T(x, y) __builtin_shuffle(x, y, (places_of_$T){3, 4, 5, 6})
#define SHIFT2_$T(x, y) __builtin_shuffle(x, y, (places_of_$T){2, 3, 4, 5})
static inline eight_$T ADD_$T(eight_$T x, eight_$T y) { return HALVES_$T(x.low + y.low, x.high + y.high); }
static inline eight_$T MULTIPLY_$T(eight_$T x, eight_$T y) { return HALVES_$T(x.low * y.low, x.high * y.high); }
static inline eight_$T BEHIND1_$T(eight_$T x, eight_$T y)
{
    return HALVES_$T(SHIFT1_$T(y.high, x.low), SHIFT1_$T(x.low, x.high));
}
static inline eight_$T BEHIND2_$T(eight_$T x, eight_$T y)
{
    return HALVES_$T(SHIFT2_$T(y.high, x.low), SHIFT2_$T(x.low, x.high));
}
static inline eight_$T BEHIND4_$T(eight_$T x, eight_$T y) { return HALVES_$T(y.high, x.low); }
#endif
#endif
"""
"""BEHIND2(x, y): eight elements of y followed by x, beginning two elements before x.  gcc keeps vectors that are longer
than a register in memory, so there eight elements are two vectors of four."""

_ROWS = """\
static void ${NAME}_$T($T *y, $T *state, $ARGUMENTS, int64 n)
{
    const eight_$T none = ALL_$T(0);
    $STATES
    $RESPONSES
    for (int64 t = 0; t < n;) {
        const int64 end = n - t < $STRETCH ? n : t + $STRETCH, first = t;
        $KEEP
        eight_$T total = none;
        $WILD
        for (; !wild && t + 8 <= end; t += 8) {
            const eight_$T X = EIGHT_$T(x + t);
            $EIGHT
            STORE_$T(y + t, row);
            total = ADD_$T(total, row);
            $AFTER
        }
        $T odd = 0;
        for (int i = 0; i < 8; i++) odd += ELEMENT_$T(total, i) - ELEMENT_$T(total, i);
        if (odd != 0) { t = first; $BACK }
        for (; t < end; t++) { $STEP y[t] = s; }
    }
    $LAST
}
"""
_ONE_STATE = {
    "STATES": "$T s = *state;",
    "KEEP": "const $T before = s;",
    "AFTER": "s = ELEMENT_$T(row, 7);",
    "BACK": "s = before;",
    "LAST": "*state = s;",
    "RESPONSES": "",
    "WILD": "",
}
_WILD = """\
int wild = 0;
        for (int64 i = t; i < end; i++) wild |= !((FACTOR <= 1) & (FACTOR >= -1));"""
"""A stretch in which any factor is beyond 1 runs step by step."""
_COMPOSED = "".join(
    f"V = ADD_$T(V, MULTIPLY_$T(F, BEHIND{k}_$T(V, none))); F = MULTIPLY_$T(F, BEHIND{k}_$T(F, ONES_$T));\n            "
    for k in (1, 2, 4)
) + "const eight_$T row = ADD_$T(V, MULTIPLY_$T(F, ALL_$T(s)));"  # fmt: skip
_RESPONDED = "eight_$T V = MULTIPLY_$T(ALL_$T(x[t]), H[0]);" + "".join(
    f"\n            V = ADD_$T(V, MULTIPLY_$T(ALL_$T(x[t + {i}]), H[{i}]));" for i in range(1, 8)
)
_EIGHT_RESPONDED = f"{_RESPONDED}\n            const eight_$T row = ADD_$T(V, MULTIPLY_$T(P, ALL_$T(s)));"
_RESPONSES = """\
eight_$T H[8];
    for (int i = 0; i < 8; i++) {
        $T row[8];
        for (int k = 0; k < 8; k++) row[k] = k < i ? 0 : h[k - i + 1]TIMES;
        H[i] = EIGHT_$T(row);
    }"""
"""The responses of eight steps to each element, by those of one element."""


def _responses(factor: str, times: str = "") -> str:
    """Text of the responses of eight steps by a fixed factor: to each element, times a number, and to the state."""
    return f"""\
const $T f = {factor};
    const int wild = !(f <= 1 && f >= -1);
    $T h[10] = {{0, 1}};
    for (int i = 2; i < 10; i++) h[i] = h[i - 1] * f;
    const eight_$T P = EIGHT_$T(h + 2);
    {_RESPONSES.replace("TIMES", times)}"""


_FUNCTIONS: dict[str, dict[str, str]] = {
    "linear_recurrence": {
        "ARGUMENTS": "const $T *a, const $T *x",
        "EIGHT": f"eight_$T F = EIGHT_$T(a + t), V = X;\n            {_COMPOSED}",
        "WILD": _WILD.replace("FACTOR", "a[i]"),
        "STEP": "s = s * a[t] + x[t];",
    },
    "smoothing": {
        "ARGUMENTS": "const $T *a, const $T *x",
        "EIGHT": "const eight_$T A = EIGHT_$T(a + t);\n            "
        "eight_$T F = ADD_$T(ONES_$T, MULTIPLY_$T(ALL_$T(-1), A)), V = MULTIPLY_$T(X, A);\n"
        f"            {_COMPOSED}",
        "WILD": _WILD.replace("FACTOR", "1 - a[i]"),
        "STEP": "s = s + (x[t] - s) * a[t];",
    },
    "regrouped_sum": {
        "ARGUMENTS": "const $T *x",
        "RESPONSES": "const int wild = 0;",
        "EIGHT": "eight_$T V = X;\n            "
        + "".join(f"V = ADD_$T(V, BEHIND{k}_$T(V, none)); " for k in (1, 2, 4))
        + "\n            const eight_$T row = ADD_$T(V, ALL_$T(s));",
        "STEP": "s = s + x[t];",
    },
    "regrouped_filter": {
        "ARGUMENTS": "const $T *x, const $T *a",
        "RESPONSES": _responses("*a"),
        "EIGHT": _EIGHT_RESPONDED,
        "STEP": "s = s * *a + x[t];",
    },
    "regrouped_smoothing": {
        "ARGUMENTS": "const $T *x, const $T *a",
        "RESPONSES": _responses("1 - *a", " * *a"),
        "EIGHT": _EIGHT_RESPONDED,
        "STEP": "s = s + (x[t] - s) * *a;",
    },
    "regrouped_filter2": {
        "ARGUMENTS": "const $T *x, const $T *a, const $T *b",
        "STATES": "$T s = state[1], r = state[0];",
        "RESPONSES": """\
const int wild = !(*b < 1 && *b >= -1 && *a <= 1 - *b && *a >= *b - 1);
    $T h[10] = {0, 1}, q[10] = {1, 0};
    for (int i = 2; i < 10; i++) {
        h[i] = h[i - 1] * *a + h[i - 2] * *b;
        q[i] = q[i - 1] * *a + q[i - 2] * *b;
    }
    const eight_$T P = EIGHT_$T(h + 2), Q = EIGHT_$T(q + 2);
    """
        + _RESPONSES.replace("TIMES", ""),
        "KEEP": "const $T before = s, early = r;",
        "EIGHT": f"{_RESPONDED}\n            "
        "const eight_$T row = ADD_$T(ADD_$T(V, MULTIPLY_$T(P, ALL_$T(s))), MULTIPLY_$T(Q, ALL_$T(r)));",
        "AFTER": "s = ELEMENT_$T(row, 7); r = ELEMENT_$T(row, 6);",
        "BACK": "s = before; r = early;",
        "LAST": "state[0] = r; state[1] = s;",
        "STEP": "const $T v = (s * *a + r * *b) + x[t]; r = s; s = v;",
    },
}
"""For each operator: its arguments, what is computed before its steps, the text of eight steps, and of one step."""


def _text(name: str, dtype: str) -> str:
    words = {"T": dtype, "I": f"int{dtype[-2:]}", "SIZE": str(int(dtype[-2:]) // 8), "STRETCH": STRETCH, "NAME": name}
    parts = {k: Template(v).substitute(words) for k, v in (_ONE_STATE | _FUNCTIONS[name]).items()}
    return Template(_EIGHT + _ROWS).substitute(words | parts)


AFFINE = {f"{name}_{dtype}": _text(name, dtype) for name in _FUNCTIONS for dtype in ("float32", "float64")}
"""The C text of each function, by name."""
