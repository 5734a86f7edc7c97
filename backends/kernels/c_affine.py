"""C functions for affine recurrences of numbers, eight steps at once: `scanopt.array.numerics.regrouped`, bit for bit.

Eight elements are one value of the compiler's vector type, whatever registers the machine has.  A stretch of steps in
which a factor is beyond 1, or a row is not finite, is run step by step: there rounding differences could grow.
"""

from __future__ import annotations

from string import Template

from scanopt.array.numerics.regrouped import STRETCH

__all__ = ["AFFINE"]

_EIGHT = """\
#ifndef EIGHT_$T
#define EIGHT_$T(x) (*(const eight_$T *)(x))
typedef $T eight_$T __attribute__((vector_size(8 * sizeof($T)), aligned(sizeof($T)), may_alias));
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
#endif
"""
"""BEHIND2(x, y): eight elements of y followed by x, beginning two elements before x."""

_ROWS = """\
static void ${NAME}_$T($T *y, $T *state, $ARGUMENTS, int64 n)
{
    const eight_$T none = {0}, one = none + 1;
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
            *(eight_$T *)(y + t) = row;
            total += row;
            $AFTER
        }
        $T odd = 0;
        for (int i = 0; i < 8; i++) odd += total[i] - total[i];
        if (odd != 0) { t = first; $BACK }
        for (; t < end; t++) { $STEP y[t] = s; }
    }
    $LAST
}
"""
_ONE_STATE = {
    "STATES": "$T s = *state;",
    "KEEP": "const $T before = s;",
    "AFTER": "s = row[7];",
    "BACK": "s = before;",
    "LAST": "*state = s;",
    "RESPONSES": "",
    "WILD": "",
}
_WILD = """\
int wild = 0;
        for (int64 i = t; i < end; i++) wild |= !((FACTOR <= 1) & (FACTOR >= -1));"""
"""A stretch in which any factor is beyond 1 runs step by step."""
_COMPOSED = """\
V += F * BEHIND1_$T(V, none); F *= BEHIND1_$T(F, one);
            V += F * BEHIND2_$T(V, none); F *= BEHIND2_$T(F, one);
            V += F * BEHIND4_$T(V, none); F *= BEHIND4_$T(F, one);
            const eight_$T row = V + F * s;"""
_RESPONDED = "eight_$T V = x[t] * H[0];" + "".join(f"\n            V += x[t + {i}] * H[{i}];" for i in range(1, 8))

_EIGHT_RESPONDED = f"{_RESPONDED}\n            const eight_$T row = V + P * s;"


def _responses(factor: str, times: str = "") -> str:
    """Text of the responses of eight steps by a fixed factor: to each element, times a number, and to the state."""
    return f"""\
const $T f = {factor};
    const int wild = !(f <= 1 && f >= -1);
    $T h[10] = {{0, 1}};
    for (int i = 2; i < 10; i++) h[i] = h[i - 1] * f;
    eight_$T H[8], P;
    for (int i = 0; i < 8; i++) {{
        P[i] = h[i + 2];
        for (int k = 0; k < 8; k++) H[i][k] = k < i ? 0 : h[k - i + 1]{times};
    }}"""


_FUNCTIONS: dict[str, dict[str, str]] = {
    "linear_recurrence": {
        "ARGUMENTS": "const $T *a, const $T *x",
        "EIGHT": f"eight_$T F = EIGHT_$T(a + t), V = X;\n            {_COMPOSED}",
        "WILD": _WILD.replace("FACTOR", "a[i]"),
        "STEP": "s = s * a[t] + x[t];",
    },
    "smoothing": {
        "ARGUMENTS": "const $T *a, const $T *x",
        "EIGHT": "const eight_$T A = EIGHT_$T(a + t);\n            eight_$T F = one - A, V = X * A;\n"
        f"            {_COMPOSED}",
        "WILD": _WILD.replace("FACTOR", "1 - a[i]"),
        "STEP": "s = s + (x[t] - s) * a[t];",
    },
    "regrouped_sum": {
        "ARGUMENTS": "const $T *x",
        "RESPONSES": "const int wild = 0;",
        "EIGHT": "eight_$T V = X;\n            V += BEHIND1_$T(V, none); V += BEHIND2_$T(V, none); "
        "V += BEHIND4_$T(V, none);\n            const eight_$T row = V + s;",
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
    eight_$T H[8], P, Q;
    for (int i = 0; i < 8; i++) {
        P[i] = h[i + 2];
        Q[i] = q[i + 2];
        for (int k = 0; k < 8; k++) H[i][k] = k < i ? 0 : h[k - i + 1];
    }""",
        "KEEP": "const $T before = s, early = r;",
        "EIGHT": f"{_RESPONDED}\n            const eight_$T row = (V + P * s) + Q * r;",
        "AFTER": "s = row[7]; r = row[6];",
        "BACK": "s = before; r = early;",
        "LAST": "state[0] = r; state[1] = s;",
        "STEP": "const $T v = (s * *a + r * *b) + x[t]; r = s; s = v;",
    },
}
"""For each operator: its arguments, what is computed before its steps, the text of eight steps, and of one step."""


def _text(name: str, dtype: str) -> str:
    words = {"T": dtype, "I": f"int{dtype[-2:]}", "STRETCH": STRETCH, "NAME": name}
    parts = {k: Template(v).substitute(words) for k, v in (_ONE_STATE | _FUNCTIONS[name]).items()}
    return Template(_EIGHT + _ROWS).substitute(words | parts)


AFFINE = {f"{name}_{dtype}": _text(name, dtype) for name in _FUNCTIONS for dtype in ("float32", "float64")}
"""The C text of each function, by name."""
