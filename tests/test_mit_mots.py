"""Mit-mots: buffers read and written at several places per step, as the interpreter and the optimizer run them."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import scanopt
from scanopt import interpret
from scanopt import tensor as T
from scanopt.array.types import TensorType
from scanopt.array.variable import Constant, SharedVariable, Variable
from scanopt.loops.flat import flatten
from scanopt.loops.graph import loops_of
from scanopt.loops.mit_mots import desugared, without_mit_mots
from scanopt.loops.node import MitMot, MitSot, NitSot, NonSequence, Scan, Sequence, SharedState, SitSot
from scanopt.loops.profile import reset_profiles, scan_profile
from scanopt.loops.rebuild import clone


def steps(n: int) -> Constant:
    return Constant(np.int64(n))


def sums(n: Variable, buffer: Variable, **more: Any) -> Scan:
    """Running sums in a buffer, as the gradient of a state has them: row t is added to row t + 1."""
    old, new = (Variable(buffer.type.row()) for _ in range(2))
    return Scan(n, mit_mots=(MitMot(buffer, (0, 1), (1,), (old, new), (old + new,)),), **more)


# ---- by hand ----

TABLES: list[tuple[tuple[int, ...], tuple[int, ...], int, list[float], list[float]]] = [
    # in-taps, out-taps, steps, buffer before and after; out-tap number i is given the sum of what is read, plus 100 * i
    ((0, 1), (1,), 3, [1, 2, 4, 8], [1, 3, 7, 15]),
    ((0, 1), (1,), 0, [5], [5]),
    ((0, 1), (1,), 1, [1, 2, 4, 8], [1, 3, 4, 8]),
    ((-1, 0), (0,), 3, [1, 2, 4, 8], [1, 3, 7, 15]),
    ((0,), (0,), 2, [1, 2, 4], [1, 2, 4]),
    ((1,), (0,), 3, [1, 2, 4, 8], [2, 4, 8, 8]),
    ((0,), (1, 2), 1, [1, 2, 4, 8], [1, 1, 101, 8]),
    ((0,), (1, 2), 3, [1, 0, 0, 0, 0, 7], [1, 1, 1, 1, 101, 7]),
    ((0,), (2, 1), 3, [1, 0, 0, 0, 0, 7], [1, 101, 201, 301, 301 - 100, 7]),
    ((0, 2), (2,), 3, [1, 2, 4, 8, 16], [1, 2, 5, 10, 21]),
    ((0,), (3,), 2, [1, 2, 4, 8, 16], [1, 2, 4, 1, 2]),
    ((2, 0), (), 2, [1, 2, 4, 8], [1, 2, 4, 8]),
    ((), (-5,), 2, [1, 2, 4], [0, 0, 4]),
    ((0,), (0, 3), 2, [1, 2, 0, 0, 0, 0], [1, 2, 0, 101, 102, 0]),
]


@pytest.mark.share(6)
@pytest.mark.parametrize(("ins", "outs", "n", "before", "after"), TABLES)
def test_hand_computed(
    ins: tuple[int, ...], outs: tuple[int, ...], n: int, before: list[float], after: list[float]
) -> None:
    buffer, k = T.dvector("B"), T.lscalar("k")
    reads = tuple(T.dscalar() for _ in ins)
    total = sum(reads, Constant(np.float64(0)))
    writes = tuple(total + 100.0 * i for i in range(len(outs)))
    for count in (k, steps(n)):
        scan = Scan(count, mit_mots=(MitMot(buffer, ins, outs, reads, writes),))
        values = {buffer: before, k: n}
        np.testing.assert_array_equal(interpret(scan.outputs[0], values), np.array(after))
        (plain,) = without_mit_mots(scan.outputs)
        assert not any(node.mit_mots for node in loops_of([plain]))
        np.testing.assert_array_equal(interpret(plain, values), np.array(after))
        f = scanopt.function([buffer, k], scan.outputs[0], on_unused_input="ignore")
        np.testing.assert_array_equal(f(before, n), np.array(after))


# ---- the node ----


def full_loop() -> tuple[dict[str, Variable], Scan]:
    """A loop with slots of all kinds, in which outputs and results have different orders."""
    x, b, s, m, w = T.dvector("x"), T.dvector("B"), T.dscalar("s"), T.dvector("m"), T.dscalar("w")
    count = SharedVariable(np.float64(3.0), "count")
    item, old, new, state, back, held = (T.dscalar() for _ in range(6))
    node = Scan(
        T.lscalar("n"),
        sequences=(Sequence(x, item),),
        mit_mots=(MitMot(b, (0, 1), (1,), (old, new), (old + new * held,)),),
        mit_sots=(MitSot(m, (-2,), (back,), back + new),),
        sit_sots=(SitSot(s, state, state + item),),
        shared=(SharedState(count, count + old),),
        nit_sots=(NitSot(old * 10.0),),
        non_sequences=(NonSequence(w, held),),
        labels=("deep", "flat", "count", "tens"),
        order=(3, 1, 0),
        name="loop",
    )
    return {"x": x, "B": b, "s": s, "m": m, "w": w, "n": node.n_steps}, node


VALUES: dict[str, Any] = {"x": [1, 2], "B": [1, 2, 4, 8], "s": 5, "m": [7, 9], "w": 3, "n": 2}
# B: 1, 1 + 2*3 = 7, 7 + 4*3 = 19, 8
EXPECTED = [[9, 13], [6, 8], [4, 11], [10, 70], [1, 7, 19, 8]]


def values_of(inputs: dict[str, Variable]) -> dict[Variable, Any]:
    return {v: VALUES[name] for name, v in inputs.items()}


def test_slots_of_all_kinds() -> None:
    inputs, node = full_loop()
    assert [np.array(v).tolist() for v in interpret(list(node.outputs), values_of(inputs))] == EXPECTED
    m, s = node.mit_mots[0], node.mit_sots[0]
    names = ["n", "x", "B", "m", "s", "count", "w"]
    assert [v.name for v in node.inputs] == names
    assert node.inner_inputs[:4] == (node.sequences[0].u_inner, *m.input_states, *s.input_states)
    assert node.inner_outputs == (*m.output_states, *node.traced)
    assert node.mit_mot_outputs == node.outputs[4:]
    assert len(node.traced) == 4
    assert node.returned == (node.outputs[3], node.outputs[1], node.outputs[0])
    assert node.outputs[4].type == m.buffer_outer.type
    as_found = replace(node, order=None)
    assert as_found.returned == as_found.outputs[:4]
    again: Any = clone(list(as_found.outputs), {inputs["B"]: T.dvector("C")})
    assert list(again[0].owner.returned) == again[:4]


def test_desugared_keeps_the_step_and_the_outputs() -> None:
    inputs, node = full_loop()
    plain, outputs = desugared(node)
    assert [v.tolist() for v in interpret(outputs, values_of(inputs))] == EXPECTED
    assert set(plain.inner_inputs) == set(node.inner_inputs)
    assert set(plain.inner_outputs) == set(node.inner_outputs)
    assert [plain.label(v.index) for v in outputs[:4]] == ["deep", "flat", "count", "tens"]
    assert plain.label(2) == "the buffer 'B'"
    assert plain.returned == (outputs[3], outputs[1], outputs[0])
    assert desugared(plain) == (plain, list(plain.outputs))
    assert without_mit_mots(outputs) == outputs


def test_lean_where_the_buffer_is_as_long_as_it_must_be() -> None:
    """A buffer that ends with the last tap is its first rows and the trace; a tap that nothing writes reads all."""
    n, buffer = T.lscalar("n"), T.dvector("B")
    old, new = T.dscalar(), T.dscalar()
    node = Scan(n, mit_mots=(MitMot(buffer, (0, 1), (1,), (old, new), (old + new,), exact=True),))
    plain, (joined,) = desugared(node)
    assert [v.owner is plain for v in joined.owner.inputs] == [False, True]
    node = Scan(n, mit_mots=(MitMot(buffer, (0,), (), (old,), (), exact=True),), nit_sots=(NitSot(old + 1.0),))
    plain, (_, after) = desugared(node)
    assert after is buffer
    assert plain.sequences[0].u_outer is buffer


def test_replaced_surroundings() -> None:
    inputs, node = full_loop()
    longer = T.dvector("C")
    again = clone(list(node.outputs), {inputs["B"]: longer * 2.0, inputs["w"]: Constant(np.float64(3.0))})
    values = {v: x for v, x in values_of(inputs).items() if v.name not in "Bw"} | {longer: [0.5, 1, 2, 4]}
    assert [v.tolist() for v in interpret(again, values)] == EXPECTED
    assert again[4].owner.label(1) == "flat"
    assert again[4].owner.returned[0] is again[3]
    f = scanopt.function(
        [v for v in inputs.values() if v.name != "w"],
        again,
        givens={longer: inputs["B"] / 2.0},
        no_default_updates=True,
    )
    assert [v.tolist() for v in f(*(VALUES[name] for name in inputs if name != "w"))] == EXPECTED


def test_replaced_by_another_dtype() -> None:
    buffer, wide = T.fvector("B"), T.dvector("wide")
    (after,) = clone(list(sums(steps(2), buffer).outputs), {buffer: wide}, strict=False)
    assert after.dtype == "float64"
    assert interpret(after, {wide: [1, 2, 4]}).tolist() == [1, 3, 7]
    one = Constant(np.float32(1))
    node = Scan(steps(2), mit_mots=(MitMot(buffer, (), (0,), (), (one,)),))
    with pytest.raises(TypeError, match=r"a row of the buffer 'wide' .* is float64\[\], but the step has 1.0 float32"):
        clone(list(node.outputs), {buffer: wide}, strict=False)


def test_inside_the_step_of_another_loop() -> None:
    """A buffer made anew at each step, in a loop in a loop."""

    def rows(row: Variable, total: Variable) -> Variable:
        return sums(steps(2), T.concatenate([row, total[:1]])).outputs[0]

    x, s = T.dmatrix("x"), T.dvector("s")
    (totals), _ = scanopt.scan(lambda row, s: rows(row, s), x, s)
    values = {x: [[1, 2], [4, 8]], s: [1, 0, 0]}
    assert interpret(totals, values).tolist() == [[1, 3, 4], [4, 12, 13]]
    outer, _ = scanopt.scan(lambda x, s: scanopt.scan(rows, x, s)[0][-1], T.dtensor3("y"), s)
    for graph, given in ((totals, [[[1, 2], [4, 8]], [1, 0, 0]]), (outer, [[[[1, 2], [4, 8]]] * 2, [1, 0, 0]])):
        inputs = [v for v in (x, s, *outer.owner.inputs) if v.name in ("s", "x" if graph is totals else "y")]
        inputs = sorted(set(inputs), key=lambda v: v.name == "s")
        (plain,) = without_mit_mots([graph])
        assert not any(node.mit_mots for node in loops_of([plain]))
        expected = interpret(graph, zip(inputs, given, strict=True))
        np.testing.assert_array_equal(interpret(plain, zip(inputs, given, strict=True)), expected)
        np.testing.assert_array_equal(scanopt.function(inputs, graph)(*given), expected)


def test_a_step_may_give_back_what_it_read() -> None:
    """The row is given as it was, though the loop writes it later."""
    buffer, old, new = T.dvector("B"), T.dscalar(), T.dscalar()
    node = Scan(
        steps(3),
        mit_mots=(MitMot(buffer, (0, 1), (0, 1), (old, new), (old * 0.0, old + new)),),
        nit_sots=(NitSot(new), NitSot(old)),
    )
    expected = [[2, 4, 8], [1, 3, 7], [0, 0, 0, 15]]
    assert [v.tolist() for v in interpret(list(node.outputs), {buffer: [1, 2, 4, 8]})] == expected
    assert [v.tolist() for v in scanopt.function([buffer], list(node.outputs))([1, 2, 4, 8])] == expected


def test_stored_and_restored() -> None:
    inputs, node = full_loop()
    *again, x, b, s, m, w, n = flatten([*node.outputs, *inputs.values()]).restore()
    values = dict(zip((x, b, s, m, w, n), VALUES.values(), strict=True))
    assert [v.tolist() for v in interpret(again, values)] == EXPECTED
    f = scanopt.function(list(inputs.values()), list(node.outputs))
    g = pickle.loads(pickle.dumps(f))
    for h in (f, g):
        assert [v.tolist() for v in h(*VALUES.values())] == EXPECTED
        assert [v.tolist() for v in h.unoptimized(*VALUES.values())] == EXPECTED


def test_profile_counts_its_steps() -> None:
    buffer = T.dvector("B")
    (after,) = sums(steps(4), buffer, profile="running sums").outputs
    assert interpret(after, {buffer: [1, 2, 4, 8, 16]}).tolist() == [1, 3, 7, 15, 31]
    f = scanopt.function([buffer], after)  # of which no loop is left
    assert f([1, 2, 4, 8, 16]).tolist() == f.as_written([1, 2, 4, 8, 16]).tolist() == [1, 3, 7, 15, 31]
    found = scan_profile("running sums")
    assert (found.calls, found.steps) == (3, 8)
    reset_profiles()


# ---- what does not fit ----


def test_buffers_that_do_not_fit() -> None:
    n, buffer, v = T.lscalar("n"), T.dvector("B"), T.dscalar("v")
    with pytest.raises(ValueError, match=r"'B' .* is a mit-mot, which a loop that ends early cannot have"):
        Scan(n, mit_mots=(MitMot(buffer, (0,), (1,), (v,), (v,)),), until=v > 1)
    for ins, outs, message in (
        ((0,), (1, 1), r"the out-taps \[1, 1\] for 2 variables of the step: expected one variable for each tap"),
        ((0, 0), (1,), r"the in-taps \[0, 0\] for 2 variables"),
        ((), (), "must have a first axis of rows and be read or written at some tap"),
    ):
        with pytest.raises(ValueError, match=message):
            Scan(n, mit_mots=(MitMot(buffer, ins, outs, (v,) * len(ins), (v,) * len(outs)),))
    with pytest.raises(ValueError, match=r"the in-taps \[0\] for 0 variables"):
        Scan(n, mit_mots=(MitMot(buffer, (0,), (1,), (), (v,)),))
    with pytest.raises(ValueError, match="must have a first axis"):
        Scan(n, mit_mots=(MitMot(v, (0,), (), (v,), ()),))
    with pytest.raises(TypeError, match=r"a row of the buffer 'B' .* is float64\[\], but the step has 'f' float32"):
        Scan(n, mit_mots=(MitMot(buffer, (0,), (1,), (v,), (T.fscalar("f"),)),))


def test_buffers_of_a_wrong_length() -> None:
    n, buffer = T.lscalar("n"), T.dvector("B")
    (after,) = sums(n, buffer, location="model.py:3").outputs
    message = (
        r"'B' float64\[\?\] of a scan \(model.py:3\) has 2 rows, but 2 steps with the in-taps \[0, 1\] and "
        r"out-taps \[1\] need at least 3: start from"
    )
    with pytest.raises(ValueError, match=message):
        interpret(after, {buffer: [1, 2], n: 2})
    with pytest.raises(ValueError, match=r"has 0 rows, but 0 steps .* need at least 1"):
        interpret(after, {buffer: [], n: 0})
    with pytest.raises(ValueError, match="has 2 rows, but 2 steps"):
        sums(steps(2), Variable(TensorType("float64", (2,)), "B"))
    v = T.dscalar()
    node = Scan(n, mit_mots=(MitMot(buffer, (0,), (1,), (v,), (v,), exact=True),))
    assert interpret(node.outputs[0], {buffer: [1, 2, 4], n: 2}).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"has 4 rows, but 2 steps .* need exactly 3"):
        interpret(node.outputs[0], {buffer: [1, 2, 4, 8], n: 2})


@pytest.mark.parametrize("n", [0, 2])
def test_rows_of_another_shape(n: int) -> None:
    """Whether or not a step runs, and whether or not the loop is optimized."""
    buffer, w, row = T.dmatrix("B"), T.dvector("w"), T.dvector()
    k = T.lscalar("k")
    held = T.dvector()
    node = Scan(
        k,
        mit_mots=(MitMot(buffer, (0,), (1,), (row,), (held * 2.0,)),),
        nit_sots=(NitSot(row.sum()),),
        non_sequences=(NonSequence(w, held),),
    )
    values = {buffer: np.ones((4, 2)), w: np.ones(3), k: n}
    with pytest.raises(ValueError, match=r"writes rows of shape \(3,\) into its buffer 'B' .* have shape \(2,\)"):
        interpret(list(node.outputs), values)
    with pytest.raises(ValueError, match=r"shape|axis"):
        interpret(without_mit_mots(node.outputs), values)
    with pytest.raises(ValueError, match=r"shape|axis"):
        scanopt.function([buffer, w, k], list(node.outputs))(*values.values())
