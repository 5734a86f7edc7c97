"""Loops of all kinds of slots, each with its query tables written out by hand.

A loop's mappings are four lines, one for each list that they start from, of three tables each:

    outer_out = outer_inp, inner_inp, inner_out
    outer_inp = inner_inp, inner_out, outer_out
    inner_inp = outer_inp, inner_out, outer_out
    inner_out = outer_inp, inner_inp, outer_out

Entry i of a table belongs to variable i.  Patterns have a word for each input, a digit for each output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from scanopt.loops.graph import loops_of
from scanopt.loops.node import MitMot, NitSot, NonSequence, Scan, Sequence, SitSot

Table = list[Any]
Three = tuple[Table, Table, Table]


@dataclass(frozen=True)
class Case:
    build: Callable[[], Scan]
    outer_out: Three
    outer_inp: Three
    inner_inp: Three
    inner_out: Three
    inner: str
    connected: str


CASES: dict[str, Case] = {}


def case(**tables: Any) -> Callable[[Callable[[], Scan]], Callable[[], Scan]]:
    def add(build: Callable[[], Scan]) -> Callable[[], Scan]:
        CASES[build.__name__] = Case(build, **tables)
        return build

    return add


def loop(*args: Any, **options: Any) -> Scan:
    outputs, updates = scanopt.scan(*args, **options, return_list=True)
    (found,) = loops_of([*(outputs or []), *updates.values()])[:1]
    return found


def scalars(names: str) -> list[Any]:
    return [T.dscalar(name) for name in names.split()]


@case(
    outer_out=([2], [[]], [[0]]),
    outer_inp=([[], [0], []], [[], [], [0]], [-1, -1, 0]),
    inner_inp=([1], [[]], [-1]),
    inner_out=([2], [[]], [0]),
    inner="1",
    connected="0 1 0",
)
def sequence_and_nit_sot() -> Scan:
    return loop(lambda u: u * 2, T.dvector("u"))


@case(
    outer_out=([4, 5], [[], []], [[0], [1]]),
    outer_inp=([[], [0], [1], [2], [], []], [[], [], [], [], [0], [1]], [-1, -1, -1, -1, 0, 1]),
    inner_inp=([1, 2, 3], [[], [], []], [-1, -1, -1]),
    inner_out=([4, 5], [[], []], [0, 1]),
    inner="10 01 10",
    connected="00 10 01 10 00 00",
)
def sequence_with_taps() -> Scan:
    return loop(lambda u_tm1, u, u_tp2: [u_tm1 + u_tp2, u], dict(input=T.dvector("u"), taps=[-1, 0, 2]))


@case(
    outer_out=([1], [[0]], [[0]]),
    outer_inp=([[], [0]], [[], [0]], [-1, 0]),
    inner_inp=([1], [[0]], [0]),
    inner_out=([1], [[0]], [0]),
    inner="1",
    connected="0 1",
)
def sit_sot_alone() -> Scan:
    return loop(lambda x: x + 1, outputs_info=T.dscalar("x"), n_steps=T.iscalar("n"))


@case(
    outer_out=([2], [[1]], [[0]]),
    outer_inp=([[], [0], [1]], [[], [], [0]], [-1, -1, 0]),
    inner_inp=([1, 2], [[], [0]], [-1, 0]),
    inner_out=([2], [[1]], [0]),
    inner="1 1",
    connected="0 1 1",
)
def no_steps() -> Scan:
    return loop(lambda u, x: u * x, T.dvector("u"), T.dscalar("x"), n_steps=0)


@case(
    outer_out=([1], [[0, 1]], [[0]]),
    outer_inp=([[], [0, 1]], [[], [0]], [-1, 0]),
    inner_inp=([1, 1], [[0], [0]], [0, 0]),
    inner_out=([1], [[0, 1]], [0]),
    inner="1 0",
    connected="0 1",
)
def mit_sot_that_reads_one_tap() -> Scan:
    return loop(lambda x_tm3, x_tm1: x_tm3 * 2, outputs_info=dict(initial=T.dvector("x"), taps=[-3, -1]), n_steps=4)


@case(
    outer_out=([1, 2, 3, 4], [[0, 1], [2, 3], [4], []], [[0], [1], [2], [3]]),
    outer_inp=([[], [0, 1], [2, 3], [4], []], [[], [0], [1], [2], [3]], [-1, 0, 1, 2, 3]),
    inner_inp=([1, 1, 2, 2, 3], [[0], [0], [1], [1], [2]], [0, 0, 1, 1, 2]),
    inner_out=([1, 2, 3, 4], [[0, 1], [2, 3], [4], []], [0, 1, 2, 3]),
    inner="1000 0010 0100 0001 0110",
    connected="0000 1111 0101 0111 0000",
)
def mit_sots_before_the_sit_sot() -> Scan:
    """x feeds s, s feeds y, y feeds the nit-sot; the user's order is s, nit-sot, x, y."""
    return loop(
        lambda s, x_tm2, x_tm1, y_tm1, y_tm4: [s + x_tm1, y_tm4, x_tm2, y_tm1 * s],
        outputs_info=[
            T.dscalar("s"),
            None,
            dict(initial=T.dvector("x"), taps=[-2, -1]),
            dict(initial=T.dvector("y"), taps=[-1, -4]),
        ],
        n_steps=5,
    )


@case(
    outer_out=([2, 3, 4], [[1], [2], [3]], [[0], [1], [2]]),
    outer_inp=([[], [0], [1], [2], [3]], [[], [], [0], [1], [2]], [-1, -1, 0, 1, 2]),
    inner_inp=([1, 2, 3, 4], [[], [0], [1], [2]], [-1, 0, 1, 2]),
    inner_out=([2, 3, 4], [[1], [2], [3]], [0, 1, 2]),
    inner="001 000 100 010",
    connected="000 111 000 100 110",
)
def states_in_a_chain() -> Scan:
    """Each forgets its own past, so its own initial state never shows."""
    return loop(lambda u, x, y, z: [y, z, u], T.dvector("u"), scalars("x y z"))


@case(
    outer_out=([3, 2], [[], [1]], [[0], [1]]),
    outer_inp=([[], [0], [1], []], [[], [], [1], [0]], [-1, -1, 1, 0]),
    inner_inp=([1, 2], [[], [1]], [-1, 1]),
    inner_out=([3, 2], [[], [1]], [0, 1]),
    inner="10 11",
    connected="00 10 11 00",
)
def shared_and_nit_sot() -> Scan:
    """Shared states come before nit-sots where they go in, after them where they come out."""
    c = scanopt.shared(np.float64(1), "c")
    return loop(lambda u: (u * c, {c: c + 1}), T.dvector("u"))


@case(
    outer_out=([1], [[0]], [[0]]),
    outer_inp=([[], [0]], [[], [0]], [-1, 0]),
    inner_inp=([1], [[0]], [0]),
    inner_out=([1], [[0]], [0]),
    inner="1",
    connected="0 1",
)
def shared_alone() -> Scan:
    c = scanopt.shared(np.float64(1), "c")
    return loop(lambda: {c: c * 2}, n_steps=3)


@case(
    outer_out=([2], [[1]], [[0]]),
    outer_inp=([[], [0], [1], [2], [3], [4]], [[], [], [0], [], [], []], [-1, -1, 0, -1, -1, -1]),
    inner_inp=([1, 2, 3, 4, 5], [[], [0], [], [], []], [-1, 0, -1, -1, -1]),
    inner_out=([2], [[1]], [0]),
    inner="0 1 1 1 0",
    connected="0 0 1 1 1 0",
)
def unused_and_cancelled() -> Scan:
    """u and the last parameter are not used; the first two cancel out, and are connected all the same."""
    return loop(lambda u, x, w, v, z: x + w * 0 + (v - v), T.dvector("u"), T.dscalar("x"), scalars("w v z"))


@case(
    outer_out=([3], [[]], [[0]]),
    outer_inp=([[], [0], [1], [], [2], [3]], [[], [], [], [0], [], []], [-1, -1, -1, 0, -1, -1]),
    inner_inp=([1, 2, 4, 5], [[], [], [], []], [-1, -1, -1, -1]),
    inner_out=([3], [[]], [0]),
    inner="1 0 1 0",
    connected="0 1 0 0 1 0",
)
def one_variable_in_two_slots() -> Scan:
    """The step gets w itself, twice: it reads it by the first slot."""
    u, w = T.dvector("u"), T.dscalar("w")
    return loop(lambda a, b, w_a, w_b: a * w_b, [u, u], non_sequences=[w, w])


@case(
    outer_out=([3], [[2]], [[0]]),
    outer_inp=([[], [0], [1], [2]], [[], [], [], [0]], [-1, -1, -1, 0]),
    inner_inp=([1, 2, 3], [[], [], [0]], [-1, -1, 0]),
    inner_out=([3, -1], [[2], []], [0, -1]),
    inner="10 01 10",
    connected="0 1 0 1",
)
def ended_by_a_sequence() -> Scan:
    """v decides how many rows there are, as n_steps does, and no value in them."""
    return loop(lambda u, v, x: (u + x, scanopt.until(v > 0)), [T.dvector("u"), T.dvector("v")], T.dscalar("x"))


@case(
    outer_out=([3, 4, 6, 5], [[2, 3], [4], [], [5]], [[0], [1], [2], [3]]),
    outer_inp=(
        [[], [0], [1], [2, 3], [4], [5], [], [6]],
        [[], [], [], [0], [1], [3], [2], []],
        [-1, -1, -1, 0, 1, 3, 2, -1],
    ),
    inner_inp=([1, 2, 3, 3, 4, 5, 7], [[], [], [0], [0], [1], [3], []], [-1, -1, 0, 0, 1, 3, -1]),
    inner_out=([3, 4, 6, 5, -1], [[2, 3], [4], [], [5], []], [0, 1, 2, 3, -1]),
    inner="10000 00100 10000 00000 01010 00011 01000",
    connected="0000 1000 0010 1000 0101 0001 0000 0101",
)
def all_that_scan_makes() -> Scan:
    c = scanopt.shared(np.float64(0), "c")
    return loop(
        lambda u, u_tp1, y_tm2, y_tm1, x, w: ([y_tm2 + u, x * w, u_tp1], {c: c + x}, scanopt.until(c > 3)),
        dict(input=T.dvector("u"), taps=[0, 1]),
        [dict(initial=T.dvector("y"), taps=[-2, -1]), T.dscalar("x"), None],
        T.dscalar("w"),
    )


@case(
    outer_out=([2, 3], [[1], []], [[0], [1]]),
    outer_inp=([[], [0], [1], [], [2]], [[], [], [0], [1], []], [-1, -1, 0, 1, -1]),
    inner_inp=([1, 2, 4], [[], [0], []], [-1, 0, -1]),
    inner_out=([2, 3], [[1], []], [0, 1]),
    inner="01 10 10",
    connected="00 01 10 00 10",
)
def nested() -> Scan:
    """The inner loop's second state is made of x and w alone; its steps are as many as the row has entries."""
    w = T.dscalar("w")

    def step(row: Any, x: Any) -> Any:
        (ys, zs), _ = scanopt.scan(lambda u, y, z: [y * u, z + w], row, [np.float64(1), x])
        return [zs[-1], ys[-1]]

    return loop(step, T.dmatrix("u"), [T.dscalar("x"), None])


@case(
    outer_out=([1], [[0, 1]], [[0]]),
    outer_inp=([[], [0, 1]], [[], [0]], [-1, 0]),
    inner_inp=([1, 1], [[0], [0]], [0, 0]),
    inner_out=([1], [[0, 1]], [0]),
    inner="1 0",
    connected="0 1",
)
def mit_mot_alone() -> Scan:
    a, b = scalars("a b")
    return Scan(T.constant(3), mit_mots=(MitMot(T.dvector("B"), (0, 1), (1,), (a, b), (a * 2,)),))


@case(
    outer_out=([2, 3, 4, 5], [[1, 2], [3], [4], []], [[0], [1, 2], [3], [4]]),
    outer_inp=([[], [0], [1, 2], [3], [4], [], [5]], [[], [], [0], [1, 2], [3], [4], []], [-1, -1, 0, 1, 2, 3, -1]),
    inner_inp=([1, 2, 2, 3, 4, 6], [[], [0], [0], [1, 2], [3], []], [-1, 0, 0, 1, 2, -1]),
    inner_out=([2, 3, 3, 4, 5], [[1, 2], [3], [3], [4], []], [0, 1, 1, 2, 3]),
    inner="11010 10100 10000 00101 00010 00010",
    connected="0000 1111 1101 0101 0010 0000 0010",
)
def mit_mots_among_others() -> Scan:
    g, a_0, a_1, c_0, s, w = scalars("g a_0 a_1 c_0 s w")
    return Scan(
        T.constant(3),
        sequences=(Sequence(T.dvector("G"), g),),
        mit_mots=(
            MitMot(T.dvector("A"), (0, 1), (1,), (a_0, a_1), (a_0 * g + a_1,)),
            MitMot(T.dvector("C"), (0,), (2, 1), (c_0,), (g * 1, c_0 + a_0)),
        ),
        sit_sots=(SitSot(T.dscalar("S"), s, s + g * w),),
        nit_sots=(NitSot(c_0 * 2),),
        non_sequences=(NonSequence(T.dscalar("W"), w),),
    )


@case(
    outer_out=([1, 2], [[], [0]], [[0], [1]]),
    outer_inp=([[], [], [0], [1]], [[], [0], [1], []], [-1, 0, 1, -1]),
    inner_inp=([2, 3], [[1], []], [1, -1]),
    inner_out=([1, 2], [[], [0]], [0, 1]),
    inner="01 10",
    connected="00 10 01 10",
)
def mit_mot_that_is_only_written() -> Scan:
    """What no step writes of the buffer stays, so it is connected."""
    x, w = scalars("x w")
    return Scan(
        T.constant(3),
        mit_mots=(MitMot(T.dvector("B"), (), (0,), (), (w * 2,)),),
        sit_sots=(SitSot(T.dscalar("X"), x, x * 2),),
        non_sequences=(NonSequence(w, w),),
    )
