"""Prints a loop of few operations that wait for the step before: four steps at a time, which saves jumps and copies.

gcc does not do so by itself, nor when asked to, where a step has a branch: the four steps are a loop of their own, of a
known length.  If choices wait for the step before, the steps are printed once more with these choices as branches
(`choices_tried.py`): long loops time some steps both ways, and go on in the way that takes less time, for a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scanopt.backends.kernels.ir import Do, Expr, Fail, If, Let, Lit, Point, Set, Steps, Stmt, Store, Var
from scanopt.backends.kernels.walks import dependencies, expressions, inside, loads, variables

__all__ = ["CLOCK", "IN_ANY_ORDER", "looped", "looped_in_two_ways", "one_by_one", "trial", "waits_in_order"]

AT_ONCE, MOST_STATEMENTS, FEWEST_STEPS = 4, 40, 16
"""The steps of a group; the most statements of such a step; loops known to have fewer steps have no groups."""
IN_ANY_ORDER = {"add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"}
"""Operations on integers by which compilers reduce what many steps compute at once."""
_CHOOSING = {"where", "maximum", "minimum", "clip"}
"""Operations that may be branches: a step without one takes as long as its operations, which wait for one another."""

BLOCK, BLOCKS, ROUND = 512, 4, 128
"""The steps that are timed together; the fewest such blocks of a loop that tries two ways; after how many it tries
again: a processor learns anew what to predict after each try."""
CLOCK = """\
#if defined(__x86_64__)
#define CLOCK __builtin_ia32_rdtsc()
#elif defined(__aarch64__)
#define CLOCK ({ uint64 c; __asm__ volatile ("mrs %0, cntvct_el0" : "=r"(c)); c; })
#else
#define CLOCK 0
#endif
"""
"""A clock that is read in a few nanoseconds."""


def waits_in_order(x: Steps) -> bool:
    """Whether a loop has few statements, chooses, cannot end early, and compilers must take its steps in order."""
    every = [*inside(x.body)]
    few = isinstance(x.count, Lit) and x.count.value < FEWEST_STEPS
    if few or x.until is not None or len(every) > MOST_STATEMENTS:
        return False
    if not all(isinstance(y, Let | Set | Point | Store | If | Fail) for y in every):
        return False
    made = {y.name: y.value for y in every if isinstance(y, Let)}
    if not any(isinstance(v, Do) and v.op in _CHOOSING for v in made.values()):
        return False
    return any(_in_order(name, made, every) for name in _carried(every, made))


def looped(x: Steps, count: str, step: Sequence[str], space: str) -> Iterator[str]:
    """The lines of a loop that takes four steps at a time.  step: the lines of one step."""
    yield from _grouped(x, count, step, space)
    yield from one_by_one(x, count, step, space)


def _grouped(x: Steps, count: str, step: Sequence[str], space: str) -> Iterator[str]:
    """The lines of a loop that takes four steps at a time, as long as there are four."""
    yield f"{space}while ({x.var} < {count} - {AT_ONCE - 1}) {{"
    yield f"{space}    GROUPED"
    yield f"{space}    for (int64 group = 0; group < {AT_ONCE}; group++) {{"
    yield f"{space}        ONE_BY_ONE"
    yield from (f"    {line}" for line in step)
    yield f"{space}    }}"
    yield f"{space}}}"


def looped_in_two_ways(
    x: Steps, count: str, step: Sequence[str], branching: Sequence[str], space: str
) -> Iterator[str]:
    """The lines of a loop whose step has two texts of the same meaning: the second one is tried in long loops.

    Of 128 blocks, the second one is timed with branches, after the first one has taught the processor what to predict,
    and the third one without them.  Only steps with branches are taken four at a time: the others wait for one another.
    A block of a short loop inside another one is made of several of its runs.
    """
    t = x.var
    yield f"{space}while ({t} < {count}) {{"
    yield f"{space}    const int64 stop = {count} - {t} > {BLOCK} ? {t} + {BLOCK} : {count};"
    yield f"{space}    const bool8 timed = turn{t} == 1 || turn{t} == 2;"
    yield f"{space}    const uint64 start = timed ? CLOCK : 0;"
    yield f"{space}    taken{t} += stop - {t};"
    yield f"{space}    if (turn{t} < 2 || (turn{t} > 2 && better{t})) {{"
    yield from _grouped(x, "stop", [f"        {line}" for line in branching], f"{space}        ")
    yield f"{space}    }}"
    yield from one_by_one(x, "stop", [f"    {line}" for line in step], f"{space}    ")
    yield f"{space}    if (timed) spent{t} += CLOCK - start;"
    yield f"{space}    if (taken{t} >= {BLOCK}) {{"
    yield f"{space}        if (turn{t} == 2) better{t} = took{t} * taken{t} < spent{t} * of{t};"
    yield f"{space}        took{t} = spent{t};"
    yield f"{space}        of{t} = taken{t};"
    yield f"{space}        turn{t} = (turn{t} + 1) % {ROUND};"
    yield f"{space}        spent{t} = taken{t} = 0;"
    yield f"{space}    }}"
    yield f"{space}}}"


def trial(var: str) -> str:
    """The line that defines the variables of a loop with two ways, at the beginning of its function.

    The first blocks run without branches: loops of few steps try nothing.
    """
    others = ", ".join(f"{name}{var} = 0" for name in ("taken", "spent", "took", "of", "better"))
    return f"    uint64 turn{var} = {ROUND - BLOCKS // 2}, {others};"


def one_by_one(x: Steps, count: str, step: Sequence[str], space: str) -> Iterator[str]:
    """The lines of a loop that takes one step at a time."""
    yield f"{space}while ({x.var} < {count}) {{"
    yield from step
    yield f"{space}}}"


def _carried(every: Sequence[Stmt], made: dict[str, Expr]) -> dict[str, Expr]:
    """The loop-carried variables that depend on themselves, with their new values."""
    found = {y.name: y.value for y in every if isinstance(y, Set)}
    return {name: value for name, value in found.items() if name in dependencies(value, made)}


def _in_order(name: str, made: dict[str, Expr], every: Sequence[Stmt]) -> bool:
    """Whether a variable is more than a reduction: of floats, by other operations, or read by others on the way."""
    value = next(y.value for y in every if isinstance(y, Set) and y.name == name)
    waits = {v for v in made if name in dependencies(made[v], made)} | {name}
    if value.dtype[:5] == "float" or any(v in waits for y in every for v in _written(y)):
        return True
    mine = dependencies(value, made)
    return not mine >= waits or any(v in waits and not _reduces(made[v], waits) for v in mine - {name})


def _reduces(value: Expr, waits: set[str]) -> bool:
    match value:
        case Var():
            return True
        case Do(op="where", args=(test, *_)):
            return waits.isdisjoint(variables(test))
        case Do(op=op, args=args):
            return op in {*IN_ANY_ORDER, "where"} and sum(not waits.isdisjoint(variables(a)) for a in args) == 1
    return False


def _written(x: Stmt) -> Iterator[str]:
    """The variables in places and values of elements that a statement writes, and in places that it reads."""
    if isinstance(x, Store | Point):
        yield from (v for y in expressions(x) for v in variables(y))
    yield from (v for y in expressions(x) for read in loads(y) for v in variables(read.index))
