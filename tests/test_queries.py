"""Queries on Scan nodes: tables by hand, their algebra on random loops, connections against values."""

import contextlib
import gc
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pytest
from query_tables import CASES
from random_loops import random_loop
from random_programs import build, generate
from shares import tries

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Constant, SharedVariable, Variable
from scanopt.egraph import queries
from scanopt.loops.graph import loops_of, schedule
from scanopt.loops.node import Scan
from scanopt.loops.scan_args import LISTS, ScanArgs, scan_args
from scanopt.loops.scan_info import ScanInfo

NAMES = [
    "outer_inp_from_outer_out", "inner_inp_from_outer_out", "inner_out_from_outer_out",
    "inner_inp_from_outer_inp", "inner_out_from_outer_inp", "outer_out_from_outer_inp",
    "outer_inp_from_inner_inp", "inner_out_from_inner_inp", "outer_out_from_inner_inp",
    "outer_inp_from_inner_out", "inner_inp_from_inner_out", "outer_out_from_inner_out",
]  # fmt: skip
SEEDS = range(500)


def words(pattern: list[list[bool]]) -> str:
    return " ".join("".join(str(int(x)) for x in row) for row in pattern)


@cache
def made(seed: int) -> Scan:
    return random_loop(seed)[0]


# ---- by hand ----


@pytest.mark.parametrize("name", CASES)
def test_tables_by_hand(name: str) -> None:
    case = CASES[name]
    tables = [*case.outer_out, *case.outer_inp, *case.inner_inp, *case.inner_out]
    found = case.build().var_mappings
    assert list(found) == NAMES
    assert found == {name: dict(enumerate(table)) for name, table in zip(NAMES, tables, strict=True)}


@pytest.mark.parametrize("name", CASES)
def test_patterns_by_hand(name: str) -> None:
    case = CASES[name]
    node = case.build()
    assert words(node.inner_connection_pattern()) == case.inner
    assert words(node.connection_pattern()) == case.connected


def test_what_reads_only_a_shape_is_made_of_it() -> None:
    xs, _ = scanopt.scan(lambda u, x: x + u.shape[0], T.dmatrix("u"), T.dscalar("x"))
    assert words(xs.owner.inner_connection_pattern()) == "1 1"


# ---- the algebra of the tables ----


def relations(node: Scan) -> dict[tuple[str, str], dict[int, set[int]]]:
    """(source, target) -> what of the target belongs to each index of the source; -1 as nothing."""
    out: dict[tuple[str, str], dict[int, set[int]]] = {}
    for name, table in node.var_mappings.items():
        target, _, source = name.partition("_from_")
        out[source, target] = {i: set(x) if isinstance(x, list) else {x} - {-1} for i, x in table.items()}
    return out


class Slot(NamedTuple):
    outer: Variable
    inner_in: tuple[Variable, ...] = ()
    inner_out: tuple[Variable, ...] = ()
    output: Variable | None = None


def by_slot(node: Scan) -> list[Slot]:
    """The slots in the documented order of outer inputs."""
    traces = iter(node.outputs)
    nit_sots = [Slot(node.n_steps, (), (s.output,)) for s in node.nit_sots]
    return [
        Slot(node.n_steps),
        *(Slot(s.u_outer, (s.u_inner,)) for s in node.sequences),
        *(
            Slot(s.buffer_outer, s.input_states, s.output_states, v)
            for s, v in zip(node.mit_mots, node.mit_mot_outputs, strict=True)
        ),
        *(Slot(s.init_outer, s.input_states, (s.output_state,), next(traces)) for s in node.states),
        *(s._replace(output=next(traces)) for s in nit_sots),
        *(Slot(s.w_outer, (s.w_inner,)) for s in node.non_sequences),
    ]


def check_algebra(node: Scan) -> None:
    args, found = scan_args(node), relations(node)
    lists: dict[str, tuple[Variable, ...]] = {
        "outer_inp": args.outer_inputs,
        "inner_inp": args.inner_inputs,
        "inner_out": args.inner_outputs,
        "outer_out": args.outer_outputs,
    }
    for (source, target), table in found.items():
        assert list(table) == list(range(len(lists[source])))
        back = found[target, source]
        for i, xs in table.items():  # there and back again
            assert all(i in back[x] for x in xs)
    for a, b, c in permutations(LISTS, 3):  # by a detour nothing else is found, and all of it where there is one
        for i, xs in found[a, b].items():
            detour = {z for x in xs for z in found[b, c][x]}
            assert detour == (found[a, c][i] if xs else set())
    tables = node.var_mappings
    for i, slot in enumerate(by_slot(node)):
        out = tables["outer_out_from_outer_inp"][i]
        assert slot == (
            args.outer_inputs[i],
            tuple(args.inner_inputs[k] for k in tables["inner_inp_from_outer_inp"][i]),
            tuple(args.inner_outputs[k] for k in tables["inner_out_from_outer_inp"][i]),
            None if out == -1 else args.outer_outputs[out],
        )


@pytest.mark.parametrize("first", SEEDS[::100])
def test_algebra(first: int) -> None:
    for seed in range(first, first + tries(100)):
        check_algebra(made(seed))


# ---- connections ----


@cache
def read(result: Variable, inputs: tuple[Variable, ...]) -> set[Variable]:
    """The inputs that a result is made of, by walking the graph back."""
    todo, seen = [result], set[Variable]()
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if v.owner is None or any(v is x for x in inputs):
            continue
        if isinstance(v.owner, Scan):
            todo += [s.outer for i, s in enumerate(by_slot(v.owner)) if v in spread(v.owner, i)]
        else:
            todo += v.owner.inputs
    return seen & set(inputs)


@cache
def spread(node: Scan, i: int) -> set[Variable]:
    """The outputs that outer input i spreads to as the loop runs: once for each slot is long enough."""
    slots = by_slot(node)
    inputs = tuple(v for s in slots for v in s.inner_in)
    reached = {slots[i]}
    outputs = {slots[i].output} & set(node.mit_mot_outputs)
    for _ in slots:
        dirty = {v for s in reached for v in s.inner_in}
        now = [s for s in slots if any(read(v, inputs) & dirty for v in s.inner_out)]
        reached |= set(now)
        outputs |= {s.output for s in now}
    return outputs


def check_patterns(node: Scan) -> None:
    args = scan_args(node)
    assert node.inner_connection_pattern() == [
        [v in read(result, args.inner_inputs) for result in args.inner_outputs] for v in args.inner_inputs
    ]
    assert node.connection_pattern() == [
        [v in spread(node, i) for v in args.outer_outputs] for i in range(len(args.outer_inputs))
    ]


@pytest.mark.parametrize("first", SEEDS[::100])
def test_patterns_of_random_loops(first: int) -> None:
    for seed in range(first, first + 100):
        check_patterns(made(seed))


def test_loops_of_random_programs() -> None:
    loops: list[Scan] = []
    for seed in range(60):
        with contextlib.suppress(ValueError, TypeError, IndexError):  # a few cannot be built
            loops += loops_of(build(generate(seed))[1])
    assert len(loops) > 60
    for node in loops:
        check_algebra(node)
        check_patterns(node)


def test_what_is_not_connected_changes_nothing() -> None:
    """And much of what is connected changes something, though inputs cancel out and steps are few."""
    changed = connected = 0
    for seed in range(100):
        node, values = random_loop(seed)
        args, pattern = scan_args(node), node.connection_pattern()
        before = run(args, values)
        for i, v in enumerate(args.outer_inputs):
            if isinstance(v, Constant):
                continue
            for o, (x, y) in enumerate(zip(before, run(args, values, v), strict=True)):
                rows = min(len(x), len(y))  # of a loop that ends early
                differs = not np.array_equal(x[:rows], y[:rows], equal_nan=True)
                assert pattern[i][o] or not differs, (seed, i, o)
                changed += differs
                connected += pattern[i][o]
    assert changed > connected / 3


def run(args: ScanArgs, values: dict[Variable, Any], change: Variable | None = None) -> list[Any]:
    """The outer outputs, with one of the inputs changed."""
    values = dict(values)
    if isinstance(change, SharedVariable):
        old = change.get_value()
        change.set_value(old + 0.3)
    elif change is not None:
        values[change] = values[change] + 0.3
    found: list[Any] = scanopt.interpret(list(args.outer_outputs), values)
    if isinstance(change, SharedVariable):
        change.set_value(old)
    return found


# ---- views ----

PARTS = {
    "seqs": "seqs", "mit_mot": "mitmot", "mit_sot": "mitsot", "sit_sot": "sitsot", "nit_sot": "nitsot",
    "shared": "shared", "non_seqs": "non_seqs",
}  # fmt: skip


def test_parts_of_the_lists() -> None:
    """`inner_nitsot_outs()` and the others, alone and of a list, are the fields of `scan_args`; none is left out."""
    for seed in range(50):
        node, _ = random_loop(seed)
        args = scan_args(node)
        for name, kinds in LISTS.items():
            side, _, way = name.partition("_")
            whole = getattr(args, f"{name.removesuffix('p')}puts")
            parts: list[Variable] = []
            for kind in kinds:
                if kind == "n_steps":
                    parts += [node.n_steps]
                elif kind == "cond":
                    parts += args.cond
                else:
                    part = getattr(node, f"{side}_{PARTS[kind]}{'_outs' if way == 'out' else ''}")
                    field = getattr(args, f"{name.removesuffix('p')}_{kind}")
                    flat = [v for x in field for v in (x if isinstance(x, tuple) else (x,))]
                    assert list(part()) == list(part(list(whole))) == flat
                    parts += flat
            assert tuple(parts) == whole
        assert node.mitmot_taps() == tuple(m.in_taps for m in node.mit_mots)
        assert node.mitmot_out_taps() == tuple(m.out_taps for m in node.mit_mots)
        assert node.mitsot_taps() == tuple(m.taps for m in node.mit_sots)


def test_info() -> None:
    info = scan_args(CASES["all_that_scan_makes"].build()).info
    assert info == ScanInfo(2, (), (), ((-2, -1),), ((-1,),), 1, 1, 1, True)
    info = scan_args(CASES["mit_mots_among_others"].build()).info
    assert info == ScanInfo(1, ((0, 1), (0,)), ((1,), (2, 1)), (), ((-1,),), 1, 0, 1, False)


def test_lists_of_another_length_are_refused() -> None:
    node = CASES["all_that_scan_makes"].build()
    message = r"a scan \(.*\) has 5 inner_outputs but was given 4 variables"
    with pytest.raises(ValueError, match=message):
        node.inner_nitsot_outs(node.inner_outputs[:4])


def test_other_things_are_no_scan_nodes() -> None:
    xs, _ = scanopt.scan(lambda u: u * 2, T.dvector("u"))
    with pytest.raises(TypeError, match="scan_args takes a Scan node, the owner of an output of scan, found 'xs'"):
        scan_args(T.dvector("xs"))  # type: ignore[arg-type]
    assert scanopt.scan_module.scan_args(xs.owner).outer_outputs == (xs,)


def test_answers_are_the_callers_own() -> None:
    node = CASES["nested"].build()
    node.var_mappings["inner_inp_from_outer_inp"][1].append(7)
    node.connection_pattern()[0][0] = True
    node.inner_connection_pattern().clear()
    case = CASES["nested"]
    assert node.var_mappings["inner_inp_from_outer_inp"][1] == case.outer_inp[0][1]
    assert words(node.connection_pattern()) == case.connected
    assert words(node.inner_connection_pattern()) == case.inner


def test_answers_are_kept_as_long_as_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    node = CASES["nested"].build()
    node.connection_pattern()
    (inside,) = (x for x in schedule(node.inner_outputs) if isinstance(x, Scan))
    monkeypatch.setattr(queries, "_derive", None)
    assert words(inside.connection_pattern()) == "00 10 10 01 01"  # n_steps, row, 1, x, w
    assert node.var_mappings
    there = len(queries._FOUND)
    del node, inside
    gc.collect()
    assert len(queries._FOUND) <= there - 2


def test_any_thread_may_ask() -> None:
    nodes = [random_loop(seed)[0] for seed in range(20)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(Scan.connection_pattern, nodes))
    assert found == [random_loop(seed)[0].connection_pattern() for seed in range(20)]
