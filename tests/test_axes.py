"""Independence along axes is derived: what the kinds say holds of every program, and refusals name the dependence."""

import itertools
from typing import Any

import numpy as np
import pytest
from lane_programs import put_together, random_program

import scanopt
import scanopt.tensor as T
from scanopt.scale.axes import kinds_of
from scanopt.scale.kinds import LAST, WHOLE, LaneKind, Mixed, Partial


@pytest.mark.share(4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", [*range(0, 200, 40), 520, 1560])
def test_parts_put_together_are_the_whole(first: int) -> None:
    """Random programs, computed by the interpreter for parts of the lanes, and for lanes in another order."""
    met: set[str] = set()
    for seed in range(first, first + 40):
        inputs, made, values = random_program(seed)
        for lanes in ({inputs[0]: 0, inputs[1]: 0}, {inputs[0]: 0}, {inputs[0]: 1, inputs[2]: 0}):
            flow = kinds_of(made, lanes)
            sure = [v for v in made if not isinstance(flow.kinds[v], Mixed)]
            n = 3 if 1 in lanes.values() else 6
            try:
                whole = scanopt.interpret(sure, dict(zip(inputs, values, strict=True)))
            except (ValueError, IndexError):
                continue  # shapes that do not fit
            for cut in [(0, 1, n), (0, 2, n)]:
                parts = [
                    scanopt.interpret(sure, _part(inputs, values, lanes, slice(a, b)))
                    for a, b in itertools.pairwise(cut)
                ]
                for v, expected, found in zip(sure, whole, zip(*parts, strict=True), strict=True):
                    kind = flow.kinds[v]
                    together = put_together(kind, found)
                    np.testing.assert_allclose(together, expected, 1e-9, 1e-12, err_msg=f"{seed} {kind} {v!r}")
                    met.add(str(kind))
            _permuted(inputs, values, lanes, sure, whole, flow, n)
    assert len(met) >= 5, met


def _part(inputs: Any, values: Any, lanes: Any, part: Any) -> dict[Any, Any]:
    cut = {
        v: np.take(x, np.arange(x.shape[lanes[v]])[part], lanes[v])
        for v, x in zip(inputs, values, strict=True)
        if v in lanes
    }
    return dict(zip(inputs, values, strict=True)) | cut


def _permuted(inputs: Any, values: Any, lanes: Any, sure: Any, whole: Any, flow: Any, n: int) -> None:
    order = np.random.default_rng(0).permutation(n)
    found = scanopt.interpret(sure, _part(inputs, values, lanes, order))
    for v, expected, y in zip(sure, whole, found, strict=True):
        if isinstance(flow.kinds[v], LaneKind):
            np.testing.assert_allclose(y, np.take(expected, order, flow.kinds[v].axis), 1e-9, 1e-12)


def test_lanes_of_a_recurrent_network() -> None:
    """The batch is independent, the gradient of a sum a sum of gradients, time is neither."""
    X, W, U = T.dtensor3("X"), T.dmatrix("W"), T.dmatrix("U")
    h, _ = scanopt.scan(lambda x, h, W, U: T.tanh(x @ W + h @ U), X, T.zeros((X.shape[1], U.shape[0])), [W, U])
    g = T.grad(h.sum(), W)
    found = kinds_of([h, h[-1], g], {X: 1}).kinds
    assert (found[h], found[g]) == (LaneKind(1), Partial("add"))
    assert isinstance(kinds_of([h], {X: 0}).kinds[h], Mixed)
    carried = kinds_of([h, h[-1], h.sum()], {X: 0}, carries=True)
    assert carried.kinds[h] == LaneKind(0)
    assert carried.loops == [h.owner]


def test_the_pattern_is_a_table() -> None:
    x, w = T.dmatrix("x"), T.dvector("w")
    f = scanopt.function([x, w], {"y": x * w, "total": (x * w).sum(axis=0), "last": x[-1]})
    pattern = scanopt.axis_pattern(f)
    assert pattern["x", 0] == {"y": LaneKind(0), "total": Partial("add"), "last": LAST}
    assert isinstance(pattern["w", 0]["y"], Mixed)
    assert pattern["w", 0]["last"] == WHOLE
    assert "w along axis 0 -> y: dependent (multiply of 'x'" in str(pattern)


def test_a_saved_program_is_asked_too(tmp_path: Any) -> None:
    x = T.dmatrix("x")
    f = scanopt.function([x], scanopt.scan(lambda r, s: s * 0.5 + r, x, T.zeros_like(x[0]))[0])
    f.save(tmp_path / "f.json")
    pattern = scanopt.axis_pattern(scanopt.load(tmp_path / "f.json"))
    assert pattern["x", 1] == {"output 0": LaneKind(1)}
    assert isinstance(pattern["x", 0]["output 0"], Mixed)


def test_operators_that_nobody_knows_are_dependent() -> None:
    x = T.dvector("x")
    found = kinds_of([T.arange(x.shape[0])], {x: 0}).kinds
    (kind,) = [k for v, k in found.items() if v.ndim == 1 and v is not x]
    assert isinstance(kind, Mixed)
    assert "not known" in kind.dependence.why


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_lanes_have_the_same_bits_in_any_company() -> None:
    """Unless it is noted where they may not: of random programs, whole and in parts."""
    checked = 0
    for seed in range(80):
        inputs, made, values = random_program(seed)
        lanes = {inputs[0]: 0, inputs[1]: 0}
        flows = [(v, kinds_of([v], lanes)) for v in made]
        steady = [v for v, flow in flows if isinstance(flow.kinds[v], LaneKind) and not flow.noted]
        try:
            whole = scanopt.interpret(steady, dict(zip(inputs, values, strict=True)))
        except (ValueError, IndexError):
            continue  # shapes that do not fit
        parts = [
            scanopt.interpret(steady, _part(inputs, values, lanes, slice(a, b)))
            for a, b in itertools.pairwise((0, 1, 4, 6))
        ]
        for v, expected, found in zip(steady, whole, zip(*parts, strict=True), strict=True):
            together = put_together(kinds_of([v], lanes).kinds[v], found)
            assert np.ascontiguousarray(together).tobytes() == np.ascontiguousarray(expected).tobytes(), (seed, v)
            checked += 1
    assert checked > 50
