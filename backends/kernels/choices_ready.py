"""Finds the choices of a step that are made without a branch: both values are ready before one is taken.

A compiler decides for itself whether a choice is a branch, and often makes one of a condition that nothing predicts: a
step of a few operations then takes several times as long.  An empty instruction of assembler that "changes" both values
keeps the compiler from computing either where it is chosen, so it takes the instruction for a choice.  Where the
condition takes long to compute, a branch that is predicted well saves more, and the compiler decides (or
`late_choices.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from scanopt.backends.kernels.ir import Do, Expr, Let, Lit, Set, Stmt, Var
from scanopt.backends.kernels.known_tests import COMPARED
from scanopt.backends.kernels.late_choices import LONG, cycles_taken
from scanopt.backends.kernels.walks import inside, loads, variables

__all__ = ["READY", "choices_ready", "mask_of_numbers"]

READY = """\
#if defined(__x86_64__)
#define INTEGER_READY(x) __asm__ ("" : "+r"(x));
#define FLOAT_READY(x) __asm__ ("" : "+x"(x));
#elif defined(__aarch64__)
#define INTEGER_READY(x) __asm__ ("" : "+r"(x));
#define FLOAT_READY(x) __asm__ ("" : "+w"(x));
#else
#define INTEGER_READY(x)
#define FLOAT_READY(x)
#endif
"""
"""Compilers take the value of such a variable to be unknown, though nothing changes it."""
Lets = Mapping[str, Let]


def choices_ready(body: Sequence[Stmt], waits: Collection[str], late: Collection[str]) -> dict[str, str]:
    """The choices of a step to make without a branch, and the macro for their values.

    Two conditions that are one condition of a choice are combined first, so that it is one branch at most.
    waits: variables that depend on the step before.  late: choices that are branches.  If no float is carried, a
    compiler may do many steps at once, so only choices that wait count.
    """
    lets = {x.name: x for x in inside(body) if isinstance(x, Let)}
    in_order = any(isinstance(x, Set) and _kind(x.value) == "f" and x.name in waits for x in inside(body))
    choices = [x for x in lets.values() if x.name not in late and (in_order or x.name in waits) and _is_choice(x)]
    tests = {v for x in choices for v in variables(_args(x)[0])}
    found = {name: "INTEGER_READY" for name in tests if _is_both(lets.get(name)) and (in_order or name in waits)}
    cycles = _cycles(lets, waits)
    for x in choices:
        test, *sides = _args(x)
        early = all(cycles.get(v, 0) < LONG for v in variables(test))
        if early and not _is_extreme(test, sides, lets) and not _counts(x.name, test, sides, lets, waits):
            if np.dtype(x.dtype).kind in "iu":
                found[x.name] = "INTEGER_READY"
            elif _is_of_floats(_made(test, lets)):
                found[x.name] = "FLOAT_READY"
    return found


def mask_of_numbers(value: Expr) -> tuple[Expr, int, int] | None:
    """For a choice between two integers that are known: its condition, the second integer, and the bits that differ.

    >>> mask_of_numbers(Do("where", (Var("v1", "bool"), Lit(1), Lit(-1)), "int64", "int64"))
    (Var(name='v1', dtype='bool'), -1, -2)
    """
    match value:
        case Do(op="where", args=(test, Lit(value=a), Lit(value=b)), dtype="int64"):
            return test, int(b), int(a) ^ int(b)
    return None


def _is_choice(x: Let) -> bool:
    """Whether a statement chooses one of two values of at least four bytes, neither of which is an element."""
    value, dtype = x.value, np.dtype(x.dtype)
    if not isinstance(value, Do) or value.op != "where" or dtype.itemsize < 4 or dtype.kind not in "iuf":
        return False
    return not any(True for y in value.args[1:] for _ in loads(y))


def _is_both(x: Let | None) -> bool:
    """Whether a statement combines two conditions."""
    return (
        x is not None and isinstance(x.value, Do) and x.value.op in ("bitwise_and", "bitwise_or") and x.dtype == "bool"
    )


def _cycles(lets: Lets, waits: Collection[str]) -> dict[str, int]:
    """About how many cycles after the step before each variable that depends on it is there."""
    found = dict.fromkeys(waits, 0)
    for name, x in lets.items():
        before = [found[v] for v in variables(x.value) if v in found]
        if before:
            found[name] = max(before) + cycles_taken(x.value)
    return found


def _is_extreme(test: Expr, sides: Sequence[Expr], lets: Lets) -> bool:
    """Whether a choice takes the greater or the less of two values, for which there are instructions."""
    made = _made(test, lets)
    return isinstance(made, Do) and made.op in COMPARED and {*made.args} == {*sides}


def _counts(name: str, test: Expr, sides: Sequence[Expr], lets: Lets, waits: Collection[str]) -> bool:
    """Whether a choice adds a number to an integer where a condition holds that does not depend on the step before."""
    if lets[name].dtype[0] == "f" or any(v in waits for v in variables(test)):
        return False
    for more, same in (sides, sides[::-1]):
        made = _made(more, lets)
        if isinstance(made, Do) and made.op in ("add", "subtract") and same in made.args:
            return True
    return False


def _is_of_floats(test: Expr) -> bool:
    """Whether a condition compares floats: only these set a mask by which a processor chooses between floats."""
    return isinstance(test, Do) and test.op in COMPARED and np.dtype(test.of).kind == "f"


def _made(x: Expr, lets: Lets) -> Expr:
    """The expression that makes a variable."""
    return lets[x.name].value if isinstance(x, Var) and x.name in lets else x


def _args(x: Let) -> tuple[Expr, ...]:
    return x.value.args if isinstance(x.value, Do) else ()


def _kind(x: Expr) -> str:
    return np.dtype(x.dtype).kind
