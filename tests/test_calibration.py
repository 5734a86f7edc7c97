"""Measured costs: a small file that can stand in place of the default cost model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op, Operand, load
from scanopt.cli import main
from scanopt.config import config
from scanopt.extraction.calibrated_cost import as_cost, calibration_file, read_costs, unit_of, write_costs
from scanopt.extraction.cost import NUMPY, CostTable, Work, numpy_cost, register_cost
from scanopt.lab.calibration import calibrate, calibration_text
from scanopt.lab.samples import SAMPLES, sample


@pytest.fixture(scope="module")
def tiny() -> CostTable:
    return calibrate(["add", "exp", "dot"], seconds=0.001)


def work(name: str, *shape: int) -> Work:
    x = Operand("float64", shape)
    return Work("apply", Op.make(name), (x,) * (2 if name == "add" else 1), x)


def test_few_operators_are_measured(tiny: CostTable) -> None:
    for name in ("add", "exp", "dot"):
        call, element = tiny.operators[name]
        assert 1.0 <= call < 1e6
        assert 0.0 <= element < 1e4
    assert tiny.call["sort"] == NUMPY.call["sort"]  # not measured
    assert tiny.call["product"] == tiny.operators["dot"][0]  # the only one of its class
    assert tiny(work("exp", 100_000)) > tiny(work("exp", 10)) > 0
    assert all(v >= 1.0 for v in (tiny.kind[k] for k in ("step", "loop", "seq", "delay", "stack", "tail")))


def test_loops_may_be_left_out() -> None:
    found = calibrate(["add"], seconds=0.001, loops=False)
    assert found.kind == NUMPY.kind
    assert found.element["stack"] == NUMPY.element["stack"]


def test_every_sample_is_a_use_of_its_operator() -> None:
    for name in SAMPLES():
        op, values = sample(name, 4)
        assert op.name == name
        with np.errstate(all="ignore"):
            op.bind(np)(*values)
    assert {"add", "sum", "dot", "getitem", "concatenate", "where", "sort"} <= SAMPLES().keys()
    assert len(SAMPLES()) > 0.6 * len(load())


def test_an_operator_without_a_sample() -> None:
    with pytest.raises(ValueError, match="no sample of an operator 'tan_h' to measure; near: tanh"):
        calibrate(["tan_h"])


def test_the_file_is_the_table(tiny: CostTable, tmp_path: Path) -> None:
    path = write_costs(tiny, tmp_path / "folder" / "costs.json", "a machine")
    again = read_costs(path)
    assert json.loads(path.read_text(encoding="utf-8"))["machine"] == "a machine"
    assert path.stat().st_size < 4000
    assert again.operators.keys() == tiny.operators.keys()
    for kind in NUMPY.kind:
        assert again(Work(kind)) == pytest.approx(tiny(Work(kind)), rel=1e-3)
    assert again(work("exp", 1000)) == pytest.approx(tiny(work("exp", 1000)), rel=1e-3)
    assert read_costs(path) is again  # so that two functions can be told to have one model
    assert "a call: product" in calibration_text(again)


def compiled(**settings: Any) -> Any:
    x = T.dvector("x")
    return scanopt.function([x], scanopt.map(T.exp, x)[0], **settings)


def test_functions_take_measured_costs(tiny: CostTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = compiled()
    path = write_costs(tiny, tmp_path / "costs.json")
    by_path = compiled(cost=path)
    assert by_path.report.unit == "ns"
    assert by_path.cost != usual.cost
    assert compiled(cost=str(path)).cost == by_path.cost
    with config.change_flags(cost=str(path)):
        assert compiled().cost == by_path.cost
        assert compiled(cost="default").cost == usual.cost
    monkeypatch.setenv("SCANOPT_CACHE", str(tmp_path))
    assert calibration_file() == path
    assert compiled(cost="calibrated").cost == by_path.cost
    with config.change_flags(cost="calibrated"):
        assert compiled().cost == by_path.cost


def test_a_model_that_prices_one_operator_is_obeyed(tmp_path: Path) -> None:
    """An exp of many elements that costs a fortune is computed one element at a time."""
    path = tmp_path / "costs.json"
    costs = {"scanopt costs": 1, "operators": {"exp": [1.0, 1e9]}, "kind": {"step": 0.0, "loop": 0.0}}
    path.write_text(json.dumps(costs), encoding="utf-8")
    x = T.dvector("x")
    last = scanopt.map(T.exp, x)[0][-1]
    assert "exp" in str(scanopt.function([x], last, cost=path).program)
    assert read_costs(path).operators["exp"] == (1.0, 1e9)


def test_where_the_costs_of_a_machine_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SCANOPT_CACHE", raising=False)
    for platform, variable, tail in (
        ("linux", "XDG_CACHE_HOME", ("scanopt", "costs.json")),
        ("win32", "LOCALAPPDATA", ("scanopt", "costs.json")),
    ):
        monkeypatch.setattr("sys.platform", platform)
        monkeypatch.setenv(variable, str(tmp_path))
        assert calibration_file() == tmp_path.joinpath(*tail)
    monkeypatch.setattr("sys.platform", "darwin")
    assert calibration_file().parts[-4:] == ("Library", "Caches", "scanopt", "costs.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is not JSON"),
        ("[]", "not a cost file: expected"),
        ('{"scanopt costs": 2}', "not a cost file: expected"),
        ('{"scanopt costs": 1, "call": []}', "call must be a table by name"),
        ('{"scanopt costs": 1, "call": {"arith": -1}}', r"call\['arith'\] must be a number"),
        ('{"scanopt costs": 1, "call": {"arith": true}}', r"call\['arith'\] must be a number"),
        ('{"scanopt costs": 1, "kind": {"stp": 1}}', "kind has 'stp'; there are seq, delay"),
        ('{"scanopt costs": 1, "element": {"arith": 1e999}}', "must be a number"),
        ('{"scanopt costs": 1, "operators": 3}', "operators must be a table by name"),
        ('{"scanopt costs": 1, "operators": {"add": 3}}', r"operators\['add'\] must be \[of a call"),
        ('{"scanopt costs": 1, "operators": {"add": [1, "2"]}}', r"operators\['add'\] must be a number"),
    ],
)
def test_files_that_are_no_costs(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        read_costs(path)
    assert str(path) in str(error.value)


def test_no_file_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCANOPT_CACHE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="scanopt calibrate --out"):
        compiled(cost="calibrated")


def test_cost_models_have_names() -> None:
    def by_call(work: Work) -> float:
        return 1.0

    register_cost("by call", by_call)
    register_cost("by call", by_call)  # the same again
    assert as_cost("by call") is by_call
    assert compiled(cost="by call").report.unit == ""
    with config.change_flags(cost="by call"):
        assert as_cost(None) is by_call
    with pytest.raises(ValueError, match="already a cost model named 'by call'"):
        register_cost("by call", numpy_cost)
    with pytest.raises(TypeError, match="a cost model is a function"):
        register_cost("other", 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no cost model is named 'by calls'; near: by call"):
        compiled(cost="by calls")
    with pytest.raises(ValueError, match=r"config.cost: expected the name"):
        config.cost = 3
    assert unit_of(by_call) == ""
    assert unit_of(numpy_cost) == unit_of(NUMPY) == "ns"


def test_a_pickled_function_keeps_measured_costs(tmp_path: Path) -> None:
    import pickle

    path = tmp_path / "costs.json"
    path.write_text('{"scanopt costs": 1, "call": {"transcendental": 123.0}}', encoding="utf-8")
    again = pickle.loads(pickle.dumps(compiled(cost=path)))
    assert again._plan.settings.cost == read_costs(path)
    assert again.explain().cost_after == pytest.approx(again.cost)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "costs.json"
    assert main(["calibrate", "--out", str(path), "--operators", "add, tanh", "--seconds", "0.001"]) == 0
    out = capsys.readouterr().out
    assert "nanoseconds of" in out
    assert f"written to {path}; use it with scanopt.function(..., cost='{path}')" in out
    assert {"add", "tanh"} <= read_costs(path).operators.keys()
    assert main(["calibrate", "--operators", "ad"]) == 2
    assert "no sample of an operator 'ad'" in capsys.readouterr().err
    assert main(["calibrate", "--seconds", "0"]) == 2
