"""Error functions of doubles for four numbers at a time, with the bits of SciPy's loops.

They are computed by the operations of Stephen Moshier's functions (Cephes), in their order, and with the exponential of
the C library.  SciPy computes those of single precision in double precision, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.vector_exponentials import EXPONENTIALS

__all__ = ["ERRORS"]

_NEAR = ("9.60497373987051638749e0", "9.00260197203842689217e1", "2.23200534594684319226e3", "7.00332514112805075473e3",
         "5.55923013010394962768e4")  # fmt: skip
_UNDER_NEAR = ("3.35617141647503099647e1", "5.21357949780152679795e2", "4.59432382970980127987e3",
               "2.26290000613890934246e4", "4.92673942608635921086e4")  # fmt: skip
_TAIL = ("2.46196981473530512524e-10", "5.64189564831068821977e-1", "7.46321056442269912687e0",
         "4.86371970985681366614e1", "1.96520832956077098242e2", "5.26445194995477358631e2", "9.34528527171957607540e2",
         "1.02755188689515710272e3", "5.57535335369399327526e2")  # fmt: skip
_UNDER_TAIL = ("1.32281951154744992508e1", "8.67072140885989742329e1", "3.54937778887819891062e2",
               "9.75708501743205489753e2", "1.82390916687909736289e3", "2.24633760818710981792e3",
               "1.65666309194161350182e3", "5.57535340817727675546e2")  # fmt: skip
_FAR = ("5.64189583547755073984e-1", "1.27536670759978104416e0", "5.01905042251180477414e0", "6.16021097993053585195e0",
        "7.40974269950448939160e0", "2.97886665372100240670e0")  # fmt: skip
_UNDER_FAR = ("2.26052863220117276590e0", "9.39603524938001434673e0", "1.20489539808096656605e1",
              "1.70814450747565897222e1", "9.60896809063285878198e0", "3.36907645100081516050e0")  # fmt: skip


def _polynomial(coefficients: Sequence[str], x: str, monic: bool = False) -> str:
    """The C text of a polynomial, its highest power first.  monic: that of one power more, with the coefficient 1."""
    found = f"({x} + {coefficients[0]})" if monic else f"ALL({coefficients[0]})"
    for c in coefficients[1:]:
        found = f"({found} * {x} + {c})"
    return found


ERRORS = (
    EXPONENTIALS
    + f"""\
/* erf for numbers of at most 1 in size. */
static inline __attribute__((always_inline)) numbers erf_near(numbers x)
{{
    const numbers z = x * x;
    return x * {_polynomial(_NEAR, "z")} / {_polynomial(_UNDER_NEAR, "z", True)};
}}

/* erfc for numbers of at least 1. */
static inline __attribute__((always_inline)) numbers erfc_far(const float64 *table, numbers x)
{{
    const numbers power = -x * x, e = exp_of(table, power);
    numbers p = {_polynomial(_TAIL, "x")};
    numbers q = {_polynomial(_UNDER_TAIL, "x", True)};
    const bits far = x >= 8.0;
    if (ANY(far)) {{
        p = choice(far, {_polynomial(_FAR, "x")}, p);
        q = choice(far, {_polynomial(_UNDER_FAR, "x", True)}, q);
    }}
    return choice(power < -7.09782712893383996732e2, ALL(0.0), e * p / q);
}}

static inline __attribute__((always_inline)) numbers erfc_of(const float64 *table, numbers x)
{{
    const numbers size = (numbers)((bits)x & MAGNITUDE);
    const bits far = size >= 1.0;
    numbers found = 1.0 - erf_near(x);
    if (ANY(far)) {{
        const numbers tail = erfc_far(table, size);
        found = choice(far, choice(x < 0.0, 2.0 - tail, tail), found);
    }}
    return found;
}}

static inline __attribute__((always_inline)) numbers erf_of(const float64 *table, numbers x)
{{
    const numbers size = (numbers)((bits)x & MAGNITUDE);
    const bits far = size > 1.0;
    numbers found = erf_near(size);
    if (ANY(far)) found = choice(far, 1.0 - erfc_far(table, size), found);
    return (numbers)((bits)found ^ ((bits)x & SIGN));
}}

/* The distribution of the standard normal one. */
static inline __attribute__((always_inline)) numbers ndtr_of(const float64 *table, numbers a)
{{
    const numbers x = a * 0x1.6a09e667f3bcdp-1, size = (numbers)((bits)x & MAGNITUDE);
    const bits far = size >= 1.0;
    numbers found = 0.5 + 0.5 * erf_near(x);
    if (ANY(far)) {{
        const numbers tail = 0.5 * erfc_far(table, size);
        found = choice(far, choice(x > 0.0, 1.0 - tail, tail), found);
    }}
    return found;
}}
"""
)
"""`erf_of`, `erfc_of` and `ndtr_of`, in the words of `vector_functions.py`."""
