"""The programs that are changed: every operator in a loop, random programs, programs in which much lives in place."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import storage_programs as cases
from mutants import places
from programs import Builder, gated, nested, power, rnn
from test_executor_random import Random
from test_ops import CASES
from test_program import zoo

import scanopt
import scanopt.tensor as T
from scanopt.compilation.saving import text_of
from scanopt.program.ir import Program
from scanopt.program.serial import to_json

IN_PLACE = [
    cases.onto_what_is_read, cases.onto_another_type, cases.onto_an_array_of_another_life, cases.onto_what_is_kept,
    cases.initial_rows_that_overlap, cases.shapes_that_change, cases.states_that_hand_on, cases.deep_taps,
    cases.state_in_a_view_of_a_buffer, cases.onto_what_an_inner_loop_reads_again,
]  # fmt: skip


def with_operator(name: str, seed: int) -> Program | None:
    """An operator of constants and of arguments, before a loop and inside, its result added to itself."""
    op, args = CASES[name](np.random.default_rng(seed))
    b, pick = Builder(), random.Random(seed)
    given = [_given(b, f"x{i}", np.asarray(x), pick) for i, x in enumerate(args)]
    kept = [b(op.name, *given, **op.options)]
    with b.loop(b.const(np.int64(3))) as loop:
        inside = b(op.name, *given, **op.options)
        if b.types[inside].dtype != "bool":
            inside = b("add", inside, inside)
        kept += [loop.keep(inside, rows) for rows in (None, 1)]
    return b.program(*kept)


def _given(b: Builder, label: str, value: np.ndarray[Any, Any], pick: random.Random) -> str:
    if pick.random() < 0.6:
        return b.const(value)
    shape = [n if pick.random() < 0.5 else None for n in value.shape]
    return b.input(label, *shape, dtype=value.dtype.name)


def programs(count: int) -> Iterator[str]:
    """The texts of so many programs."""
    made = [lambda f=f: f()[0] for f in IN_PLACE] + [rnn, nested, gated, zoo, lambda: power(None)]
    names = sorted(CASES)
    random.Random(0).shuffle(names)
    made += [lambda seed=seed: Random(seed).program() for seed in range(20)]
    made += [lambda name=name: with_operator(name, 0) for name in names]
    made += [lambda seed=seed: Random(seed).program() for seed in range(20, 200)]
    for make in made[:count]:
        try:
            program = make()
        except (TypeError, ValueError, IndexError):  # an operator that needs its argument's value
            continue
        yield to_json(program)


def functions() -> Iterator[str]:
    """Saved functions: default values, updates, shared variables, named outputs, and a single one."""
    x, h0, n = T.dmatrix("x"), T.dvector("h0"), T.dscalar("n")
    W, calls = scanopt.shared(np.eye(3) * 0.5, "W"), scanopt.shared(0, "calls")
    h, _ = scanopt.scan(lambda v, h: (T.tanh(T.dot(h, W) + v), scanopt.until(v[0] > 0.9)), x, h0)
    start = scanopt.In(h0, value=np.zeros(3), name="start")
    outputs: dict[str, Any] = {"last": h[-1], "all": h}
    yield text_of(scanopt.function([x, start], outputs, updates={calls: calls + 1}, name="net", mode="FAST_COMPILE"))
    yield text_of(scanopt.function([x, scanopt.In(n, value=1, update=n * 2)], x.sum() + n, mode="FAST_COMPILE"))


def operators(texts: Sequence[str]) -> list[str]:
    """The operators of some programs."""
    found: set[str] = set()
    for text in texts:
        data = json.loads(text)
        for path in places(data):
            if path[-1] == "op":
                value: Any = data
                for key in path:
                    value = value[key]
                found.add(value)
    return sorted(found)
