"""Graphs with variables replaced: clone, givens, eval, and Function.copy."""

import random
from typing import Any

import numpy as np
import pytest
from random_programs import build, generate

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Variable
from scanopt.loops.graph import leaves, schedule
from scanopt.loops.node import Scan

Array = np.ndarray[Any, Any]


def same(found: list[Array], expected: list[Array]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)


# ---- clone ----


def test_all_replacements_happen_at_once() -> None:
    x, y, z = T.dscalars("x", "y", "z")
    assert scanopt.interpret(scanopt.clone(x - y, {x: y, y: x}), {x: 1, y: 10}) == 9
    assert scanopt.interpret(scanopt.clone(x + y, [(x, x * y), (y, z)]), {x: 2, y: 3, z: 4}) == 10


def test_what_does_not_depend_on_it_is_shared() -> None:
    x, y, z = T.dscalars("x", "y", "z")
    a, b = T.exp(x), T.exp(y)
    b.name = "b"
    one, two, three = scanopt.clone([a, b, a + b], {y: z})
    assert one is a
    assert two is not b
    assert two.name == "b"
    assert three.owner is not None
    assert three.owner.inputs == (a, two)
    assert scanopt.clone(a, {y: z}) is a
    assert scanopt.clone(a) is a
    assert scanopt.clone(x, {x: y}) is y


def test_replacements_by_numbers_and_arrays() -> None:
    x, X = T.fscalar("x"), T.dmatrix("X")
    assert scanopt.clone(x * 2, {x: 3}).eval() == 6
    assert scanopt.clone(x * 2, {x: 3}).dtype == "float32"
    assert scanopt.clone(X.sum(), {X: np.ones((2, 3))}).eval() == 6


def test_inputs_of_ones_own() -> None:
    x, s = T.dvector("x"), scanopt.shared(2.0, "s")
    total, _ = scanopt.scan(lambda v, h: h * s + v, x, T.constant(0.0, dtype="float64"))
    copy = scanopt.clone(total, share_inputs=False)
    found = leaves([copy])
    (own,) = (v for v in found if v is not s)
    assert s in set(found)
    assert (own.name, own.type) == ("x", x.type)
    assert own is not x
    same([scanopt.interpret(copy, {own: [1.0, 2.0]})], [scanopt.interpret(total, {x: [1.0, 2.0]})])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (T.dscalar("x"), T.fscalar("y"), ["'x' float64[]", "'y' float32[]", "astype('float64')"]),
        (T.dvector("x"), T.dmatrix("y"), ["'x' float64[?]", "'y' float64[?, ?]", "number of axes"]),
        (T.TensorType("float64", (3,))("x"), T.dvector("y"), ["float64[3]", "float64[?]", "known before the run"]),
        (T.TensorType("float64", (3,))("x"), np.ones(4), ["float64[3]", "float64[4]"]),
        (T.iscalar("x"), 0.5, ["'x' int32[]", "0.5"]),
        (T.iscalar("x"), "one", ["'x' int32[]", "'one'"]),
    ],
    ids=str,
)
def test_replacements_must_fit(old: Variable, new: Any, words: list[str]) -> None:
    for replace in (
        lambda: scanopt.clone(old + 1, {old: new}),
        lambda: scanopt.function([], old + 1, givens=[(old, new)]),
    ):
        with pytest.raises(TypeError) as caught:
            replace()
        assert [w for w in words if w not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ("x", TypeError, "dict or pairs"), ([1], TypeError, "pairs"), ({"x": 1}, TypeError, "'x' .str., which is no"),
        ([(T.dscalar("x"), 1)] * 2, ValueError, "twice"),
    ],
)  # fmt: skip
def test_givens_are_checked(given: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"givens .*{text}" if text != "twice" else text):
        scanopt.function([], T.dscalar("y"), givens=given)


def test_other_dtypes_where_allowed() -> None:
    x, y = T.fvector("x"), T.dvector("y")
    trace, _ = scanopt.scan(lambda v, h: h + v, x, outputs_info=x[0])
    wide = scanopt.clone(trace, {x: y}, strict=False)
    assert wide.dtype == "float64"
    assert scanopt.interpret(wide, {y: [0.1, 0.2]}).tolist() == [0.2, 0.1 + 0.1 + 0.2]
    h = T.fscalar("h")
    trace, _ = scanopt.scan(lambda v, h: T.where(h > 0, v, -v), x, outputs_info=h)
    with pytest.raises(TypeError, match=r"starts as .* but after the replacement the step gives"):
        scanopt.clone(trace, {h: T.dscalar("h64")}, strict=False)


def test_graphs_of_any_depth() -> None:
    x, y = T.dscalars("x", "y")
    z: Any = x
    for _ in range(5_000):
        z = z + 1
    assert scanopt.interpret(scanopt.clone(z, {x: y}), {y: 1}) == 5_001


# ---- loops ----


def test_a_loop_reads_replacements_from_outside() -> None:
    """What enters by a slot, what scan found by itself, and a value computed inside from outer variables."""
    x, w, u, z = T.dvectors("x", "w", "u", "z")
    twice = w * 2
    trace, _ = scanopt.scan(lambda v, h, k: h * k + v + twice.sum() + w[0], x, np.float64(0), non_sequences=u[1])
    values = {x: [1.0, 2.0, 3.0], w: [5.0, 7.0], u: [0.0, 0.5], z: [9.0]}
    for replace in ({x: u}, {u: x}, {w: u}, {w: x, x: w}, {u: w * 2}, {x: twice}, {w: T.exp(u)}):
        given = scanopt.interpret(list(replace.values()), values)
        other = {**values, **dict(zip(replace, given, strict=True))}
        same([scanopt.interpret(scanopt.clone(trace, replace), values)], [scanopt.interpret(trace, other)])
    cut = scanopt.clone(trace, {twice: z})
    assert scanopt.interpret(cut, values).tolist() == [15.0, 23.5, 28.75]
    assert z in set(leaves([cut]))


def test_a_value_replaced_inside_needs_its_inputs_no_more() -> None:
    x, w, z = T.dvectors("x", "w", "z")
    norm = (w * w).sum()
    trace, _ = scanopt.map(lambda v: v / norm, x)
    f = scanopt.function([x, z], trace, givens={norm: z[0]})
    assert f([2.0, 4.0], [2.0]).tolist() == [1, 2]


def test_loops_in_loops() -> None:
    X, w, y = T.dmatrix("X"), T.dvector("w"), T.dvector("y")
    scale = T.exp(w)

    def row(r: Any, total: Any) -> Any:
        inner, _ = scanopt.scan(lambda v, h: h + v * scale.sum() + total, r, np.float64(0))
        return inner[-1]

    trace, _ = scanopt.scan(row, X, np.float64(1))
    values = {X: np.arange(6.0).reshape(3, 2), w: np.array([0.1, 0.2]), y: np.array([0.3])}
    expected = scanopt.interpret(trace, {**values, w: np.array([0.3])})
    same([scanopt.interpret(scanopt.clone(trace, {w: y}), values)], [expected])
    same([scanopt.interpret(scanopt.clone(trace, {scale: T.exp(y)}), values)], [expected])
    f = scanopt.function([X, y], trace, givens={w: y + 0})
    np.testing.assert_allclose(f(values[X], values[y]), expected)


def test_ends_and_checks_of_loops_follow() -> None:
    x, n, m, stop = T.dvector("x"), T.lscalar("n"), T.lscalar("m"), T.dscalar("stop")
    trace, _ = scanopt.scan(lambda v, h: (h + v, scanopt.until(h + v > stop)), x, np.float64(0), n_steps=n)
    again = scanopt.clone(trace, {n: m, stop: m * 1.0})
    assert scanopt.interpret(again, {x: np.ones(9), m: 3}).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"9 rows but n_steps is 12"):
        scanopt.interpret(again, {x: np.ones(9), m: 12})


def test_shared_variables_that_a_loop_changes() -> None:
    a, b, c = (scanopt.shared(i, name) for i, name in ((1, "a"), (10, "b"), (100, "c")))
    n = T.lscalar("n")
    trace, updates = scanopt.scan(lambda: ([a + b], {a: a + 1, b: b * 2}), n_steps=3)
    wanted = [trace, updates[a], updates[b]]
    same(scanopt.interpret(wanted), [np.array([11, 22, 43]), np.array(4), np.array(80)])
    swapped = scanopt.clone(wanted, {a: c})
    same(scanopt.interpret(swapped), [np.array([110, 121, 142]), np.array(103), np.array(80)])
    computed = scanopt.clone(wanted, {b: n * 5})
    same(scanopt.interpret(computed, {n: 1}), [np.array([6, 12, 23]), np.array(4), np.array(40)])
    node = computed[0].owner
    assert isinstance(node, Scan)
    assert [s.shared for s in node.shared] == [a]
    assert node.returned == (computed[0],)
    with pytest.raises(ValueError, match="change one shared variable twice"):
        scanopt.clone(wanted, {a: c, b: c})
    with pytest.raises(TypeError, match="number of axes"):
        scanopt.clone(wanted, {a: np.arange(2)})


def test_branches_follow() -> None:
    x, y, k = T.dscalar("x"), T.dscalar("y"), T.lscalar("k")
    z = scanopt.clone(scanopt.ifelse(k > 0, x, -x), {x: y, k: k - 1})
    assert [scanopt.interpret(z, {y: 2, k: n}) for n in (2, 1)] == [2, -2]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """Some values of a program become inputs: given what they were, the results are what they were."""
    try:
        values, outputs = build(generate(seed, pure=True))
        expected = scanopt.interpret(outputs, values)
    except (IndexError, ValueError):
        return
    computed = [v for node in schedule(outputs) for v in node.outputs]
    chosen = random.Random(seed).sample(computed, min(3, len(computed)))
    known = dict(zip(chosen, scanopt.interpret(chosen, values), strict=True)) | values
    new = {v: Variable(v.type) for v in known}
    found = scanopt.interpret(scanopt.clone(outputs, new), {new[v]: value for v, value in known.items()})
    same(found, expected)


# ---- givens ----


def test_minibatches() -> None:
    """The use that Theano's tutorials make of givens: a part of a shared variable for an input."""
    data, i, x = scanopt.shared(np.arange(12.0).reshape(6, 2), "data"), T.lscalar("i"), T.dmatrix("x")
    total = scanopt.shared(0.0, "total")
    f = scanopt.function([i], x.sum(axis=1), updates={total: total + x.sum()}, givens={x: data[2 * i : 2 * i + 2]})
    assert [f(0).tolist(), f(2).tolist(), total.get_value()] == [[1, 5], [17, 21], 44]
    assert f.unoptimized(1).tolist() == [9, 13]


def test_givens_reach_default_updates() -> None:
    count, n = scanopt.shared(0, "count"), T.lscalar("n")
    step = scanopt.shared(1, "step")
    count.default_update = count + step
    f = scanopt.function([n], count * 2, givens={step: n})
    assert [int(f(3)), int(f(4)), int(count.get_value())] == [0, 6, 7]
    scanopt.function([], count * 1, no_default_updates=True)()
    scanopt.function([], count * 1, no_default_updates=[count])()
    assert int(count.get_value()) == 7


# ---- eval ----


def test_eval_compiles_once_for_each_set_of_inputs() -> None:
    x, y = T.dvectors("x", "y")
    z = x + 2 * y
    assert z.eval({x: [1.0], y: [2.0]}).tolist() == [5]
    (kept,) = z.__dict__["_compiled"].values()
    assert z.eval({y: [3.0], x: [1.0]}).tolist() == [7]
    assert list(z.__dict__["_compiled"].values()) == [kept]
    s = scanopt.shared(2.0, "s")
    total = scanopt.scan(lambda v, h: h * s + v, x, np.float64(0))[0]
    assert total.eval({x: [1, 2]}).tolist() == [1, 4]
    s.set_value(3.0)
    assert total.eval({x: [1, 2]}).tolist() == [1, 5]
    assert T.constant([1.0, 2.0]).eval().tolist() == [1, 2]


def test_eval_is_checked() -> None:
    x = T.dvector("x")
    with pytest.raises(TypeError, match="the key 'x'"):
        (x + 1).eval({"x": [1.0]})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="'x' float64"):
        (x + 1).eval()


# ---- copies of functions ----


@pytest.mark.parametrize("mode", [None, "unoptimized"])
def test_copies_with_other_shared_variables(mode: str | None) -> None:
    n, m, w, x = scanopt.shared(0, "n"), scanopt.shared(5, "m"), scanopt.shared(2.0, "w"), T.dvector("x")
    trace, _ = scanopt.scan(lambda v, h: h * w + v, x, np.float64(0))
    f = scanopt.function([x], trace, updates={n: n + 1, w: w + n}, mode=mode, name="f")
    g = f.copy(swap={n: m})
    assert (g.name, f.copy(name="h").name) == ("f copy", "h")
    assert set(g.shared) != set(f.shared)
    assert g([1.0, 1.0]).tolist() == [1, 3]
    assert [v.get_value().item() for v in (n, m, w)] == [0, 6, 7]
    assert g.unoptimized([1.0, 1.0]).tolist() == f.unoptimized([1.0, 1.0]).tolist() == [1, 8]
    still = f.copy(share_memory=True, delete_updates=True)
    assert still([1.0, 1.0]).tolist() == [1, 8]
    assert still.updates == {}
    assert [v.get_value().item() for v in (n, m, w)] == [0, 6, 7]
    f([1.0])
    assert [v.get_value().item() for v in (n, m, w)] == [1, 6, 7]


def test_copies_are_checked() -> None:
    n, m, x = scanopt.shared(0, "n"), scanopt.shared(5, "m"), T.lscalar("x")
    f = scanopt.function([x], n + x, updates={n: n + 1})
    with pytest.raises(ValueError, match=r"'m' int64.*not a shared variable of f"):
        f.copy(swap={m: n})
    with pytest.raises(TypeError, match=r"'x' int64\[\] for 'n'.*must be a shared variable"):
        f.copy(swap={n: x})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"'n' int64.*'w' float64"):
        f.copy(swap={n: scanopt.shared(1.0, "w")})
    both = scanopt.function([], updates={n: n + 1, m: m + 1})
    with pytest.raises(ValueError, match="two updates of one shared variable"):
        both.copy(swap={n: m})
