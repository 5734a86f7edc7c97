"""What kernels need of the machine at least: operations and bytes that can be counted by hand, and measured rates."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import MADE, branching, documented

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op, Operand
from scanopt.calculus.forms import Batched
from scanopt.extraction.calibrated_cost import read_limits, write_costs
from scanopt.extraction.cost import NUMPY
from scanopt.extraction.roofline import MachineLimits, Need, operations
from scanopt.history.measured import seconds_of_kernels
from scanopt.lab import machine_limits
from scanopt.lab.machine_limits import limits_of, measured_limits

LIMITS = MachineLimits({"float64": 1e9, "float32": 4e9}, ((1e3, 1e11), (1e6, 1e10)), "by hand")


def f8(*shape: int) -> Operand:
    return Operand("float64", shape)


@pytest.mark.parametrize(
    ("operator", "args", "found"),
    [
        (Op.make("add"), [f8(10, 20), f8(20)], 200),
        (Op.make("exp"), [f8(7)], 7),
        (Op.make("sum", axis=(0,), keepdims=False), [f8(10, 20)], 200),
        (Op.make("dot"), [f8(10, 20), f8(20, 5)], 2 * 10 * 20 * 5),
        (Op.make("dot"), [f8(20), f8(20, 5)], 2 * 20 * 5),
        (Batched(Op.make("dot"), "10"), [f8(50, 20), f8(20, 5)], 2 * 50 * 20 * 5),
        (Batched(Op.make("add"), "11"), [f8(50, 20), f8(50, 20)], 50 * 20),
        (Op.make("concatenate", axis=0), [f8(100)], 0),
    ],
    ids=str,
)  # fmt: skip
def test_operations_are_counted(operator: Any, args: list[Operand], found: float) -> None:
    assert sum(operations(operator, args).values()) == pytest.approx(found)


def test_operations_know_their_dtype() -> None:
    x = Operand("float32", (8, 8))
    assert operations(Op.make("dot"), [x, x]) == {"float32": 1024.0}
    n = Operand("int64", (5,))
    assert operations(Op.make("divide"), [n, n]) == {"float64": 5.0}


def test_the_limit_is_what_takes_longer() -> None:
    assert LIMITS.seconds(Need({"float64": 1e6}, 8.0)) == (1e-3, "operations")
    assert LIMITS.seconds(Need({"float64": 1.0, "float32": 1.0}, 1e6)) == (1e-4, "bytes")
    assert LIMITS.seconds(Need({"int64": 1e6}))[0] == 1e-3
    assert LIMITS.seconds(Need()) == (0.0, "bytes")
    # What fits into a cache is as fast as what was measured there; more is no faster than the next measurement below.
    assert [LIMITS.bandwidth(n) for n in (1.0, 1e3, 9e5, 1e6, 1e12)] == [1e11, 1e11, 1e11, 1e10, 1e10]


def test_a_machine_is_measured() -> None:
    found = measured_limits(seconds=0.001)
    assert {*found.operations} == {"float64", "float32"}
    assert all(1e7 < x < 1e16 for x in found.operations.values())
    sizes = [size for size, _ in found.bytes]
    assert sizes == sorted(sizes)
    assert all(1e7 < rate < 1e15 for _, rate in found.bytes)


def test_the_best_of_many_batches_counts() -> None:
    """One that was slowed down does not: a clock that takes turns of a second, and of ten now and then."""
    ticks, now = count(), [0.0]

    def clock() -> float:
        now[0] += 10.0 if next(ticks) % 7 == 0 else 1.0
        return now[0]

    assert machine_limits._fastest(lambda: None, 100.0, clock) == 1.0


def test_limits_are_kept_with_the_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_costs(NUMPY, tmp_path / "costs.json", limits=LIMITS)
    kept = read_limits(path)
    assert kept is not None
    assert (kept.operations, kept.bytes, kept.source) == (LIMITS.operations, LIMITS.bytes, "calibrated")
    monkeypatch.setenv("SCANOPT_CACHE", str(tmp_path))
    assert limits_of("auto") == limits_of("numpy") == kept
    data = json.loads(path.read_text(encoding="utf-8"))
    for bad in (3, {}, {"operations": {"float64": 1.0, "float32": 1.0}, "bytes": []},
                {"operations": {"float64": 0, "float32": 1.0}, "bytes": [[1, 1]]},
                {"operations": {"float64": 1.0, "float32": 1.0}, "bytes": [[1, True]]}):  # fmt: skip
        path.write_text(json.dumps(data | {"limits": bad}), encoding="utf-8")
        with pytest.raises(ValueError, match="limits must be"):
            read_limits(path)
        assert limits_of("auto").source == "measured"
    path.write_text(json.dumps({k: x for k, x in data.items() if k != "limits"}), encoding="utf-8")
    assert read_limits(path) is None
    assert limits_of("auto").source == "measured"
    with pytest.raises(ValueError, match="no executor named"):
        limits_of("no such")


def kernels(f: Any, measure: bool = False) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    h = f.history(measure)
    return h, h["programs"][0]["kernels"], h["programs"][-1]["kernels"]


def test_kernels_of_the_documents_network() -> None:
    """By hand: 100 rows of 30, a matrix of 30 x 20; the product leaves the loop, which only adds and takes tanh."""
    X, W, h0 = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h0")
    hs, _ = scanopt.scan(lambda x, h, W: T.tanh(T.dot(x, W) + h), X, h0, W, name="rnn")
    values = [np.ones((100, 30)), np.ones((30, 20)), np.ones(20)]
    h, before, after = kernels(scanopt.function([X, W, h0], hs[-1], example=values))

    def text(k: dict[str, Any]) -> str:
        return str(h["lines"][k["line"]]["text"])

    (written,) = [k for k in before if "loop" in text(k)]
    (runs,) = [k for k in after if "loop" in text(k)]
    (product,) = [k for k in after if "dot" in text(k)]
    multiply_adds = 2 * 100 * 30 * 20
    assert written["operations"] == multiply_adds + 2 * 100 * 20
    assert runs["operations"] == 2 * 100 * 20
    assert product["operations"] == multiply_adds
    assert product["bytes"] == 8 * (100 * 30 + 30 * 20 + 100 * 20)
    # It reads X or the product, W, h0 and the number of steps, and leaves all rows, or one.
    assert written["bytes"] == 8 * (100 * 30 + 30 * 20 + 20 + 1 + 100 * 20)
    assert runs["bytes"] == 8 * (100 * 20 + 20 + 1 + 20)
    assert product["makes"] == h["lines"][product["line"]]["makes"]


@pytest.mark.share(3)
@pytest.mark.parametrize("name", MADE)
def test_costs_of_kernels_are_those_of_the_program(name: str) -> None:
    h, before, after = kernels(MADE[name]())
    limits = MachineLimits(h["report"]["limits"]["operations"], tuple(map(tuple, h["report"]["limits"]["bytes"])))
    for found, cost in ((before, h["report"]["cost_before"]), (after, h["report"]["cost_after"])):
        assert sum(k["cost"] for k in found) == pytest.approx(cost, rel=0.02)
        for k in found:
            assert k["least_seconds"] >= 0
            assert k["limited_by"] in ("operations", "bytes")
            assert k["least_seconds"] >= k["bytes"] / limits.bandwidth(k["bytes"]) * 0.999


def test_a_branch_needs_what_its_lesser_side_does() -> None:
    x, flag = T.dvector("x"), T.bscalar("flag")
    y = scanopt.ifelse(flag, T.exp(T.exp(x)).sum(), x[0])
    h, _, after = kernels(scanopt.function([x, flag], y, example=[np.ones(1000), np.int8(1)]))
    (branch,) = [k for k in after if h["lines"][k["line"]]["kind"] == "branch"]
    assert branch["operations"] == 0
    assert kernels(branching())[2]


def test_gathered_rows_are_read_and_no_more() -> None:
    """A table of a million numbers, of which each step reads two."""
    table, at = T.dmatrix("table"), T.lvector("at")
    rows, _ = scanopt.scan(lambda i, s, table: s * 0.5 + table[i], at, T.zeros((2,)), table)
    f = scanopt.function([table, at], rows[-1], example=[np.ones((500_000, 2)), np.arange(10)])
    assert all(k["bytes"] < 10_000 for found in kernels(f)[1:] for k in found)


def test_kernels_are_timed_each_by_itself() -> None:
    X, W, h0 = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h0")
    hs, _ = scanopt.scan(lambda x, h, W: T.tanh(T.dot(x, W) + h), X, h0, W, name="rnn")
    f = scanopt.function([X, W, h0], hs[-1], example=[np.ones((200, 64)), np.ones((64, 64)), np.ones(64)])
    _, before, after = kernels(f, measure=True)
    for found in (before, after):
        timed = [k for k in found if "seconds" in k]
        assert sum(k["cost"] for k in timed) > 0.9 * sum(k["cost"] for k in found)
        assert all(0 < k["seconds"] < 1 for k in timed)


def test_kernels_that_nobody_has_values_for_are_not_timed() -> None:
    f = documented()
    assert seconds_of_kernels(f, f.program, []) == {}
    assert not any("seconds" in k for k in kernels(f, measure=True)[2])


def test_shared_variables_stay_as_they_are_while_kernels_are_timed() -> None:
    total = scanopt.shared(np.zeros(3), "total")
    x = T.dmatrix("x")
    rows, _ = scanopt.scan(lambda r, s: T.tanh(r + s), x, T.zeros((3,)))
    f = scanopt.function([x], rows, updates={total: total + rows[-1]}, example=[np.ones((50, 3))])
    assert any("seconds" in k for k in kernels(f, measure=True)[2])
    assert not total.get_value().any()
