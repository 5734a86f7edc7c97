"""docs/theano.md: both columns of each table run, and say the same; every name of the documents is there."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scanopt
from scanopt.array.variable import SharedVariable, Variable
from scanopt.loops.graph import leaves

PAGE = (Path(__file__).parents[1] / "docs" / "theano.md").read_text(encoding="utf-8")
SETUP = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)[0]
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
OTHER = "Written in another way"
NAMES = """
theano.scan theano.map theano.reduce theano.foldl theano.foldr theano.scan_checkpoints theano.scan_module.until T.scan
aesara.scan aesara.config.scan__allow_gc theano.config.scan.allow_gc theano.config.allow_gc theano.config.floatX
theano.function theano.shared theano.dot theano.tensor.vector get_value .value T.shared_randomstreams.RandomStreams
trng.binomial T.nnet.sigmoid T.ones_like T.zeros_like T.arange T.set_subtensor T.constant T.as_tensor_variable T.tanh
T.scalar T.imatrix fn sequences outputs_info non_sequences n_steps truncate_gradient go_backwards name mode profile
allow_gc strict return_list save_every_N taps initial input inplace scan_utils scan_op scan_views scan_opt scan_args
var_mappings connection_pattern inner_connection_pattern inner_nitsot_outs mitmot_out_taps canonical_arguments
one_step_scan remove_constants_and_unused_inputs_scan PushOutNonSeqScan PushOutSeqScan PushOutScanOutput PushOutDot1
ScanInplaceOptimizer ScanSaveMem ScanMerge scan_merge_inouts updates eval grad
"""


def rows(section: str) -> list[tuple[str, str]]:
    """The code in the two columns of the tables of a section."""
    found = re.findall(r"^\| `(.*?)` \| `(.*?)` \|$", SECTIONS[section], re.M)
    return [(a.replace(r"\|", "|"), b.replace(r"\|", "|")) for a, b in found]


ROWS = [(name, *row) for name in SECTIONS for row in rows(name)]
RULESETS = [row for row in ROWS if re.fullmatch(r"\w+", row[1]) and "OPTIM" not in row[1]]
SAME = [row for row in ROWS if row[0] != OTHER and row not in RULESETS]


def namespace() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(SETUP, names)
    return names


def values(x: Any) -> Any:
    """A value that can be compared: of variables theirs, for arguments made by their names."""
    if isinstance(x, Variable):
        given: dict[Variable, Any] = {}
        for v in leaves([x]):
            if not isinstance(v, SharedVariable):
                rng = np.random.default_rng(sum(map(ord, v.name or "")))
                given[v] = 3 if v.dtype.startswith("int") else rng.normal(size=(2, 2, 2)[: v.ndim])
                given[v] = np.abs(given[v]) if v.ndim != 1 else np.resize(given[v], 3 if "k" in names_in(x) else 2)
        return scanopt.interpret(x, given)
    if isinstance(x, list | tuple):
        return [values(v) for v in x]
    return x


def names_in(x: Variable) -> set[str | None]:
    return {v.name for v in leaves([x])}


def assert_same(a: Any, b: Any) -> None:
    if isinstance(a, np.ndarray):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        assert a.dtype == np.asarray(b).dtype
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        assert a == b


@pytest.mark.parametrize(("section", "theirs", "ours"), SAME, ids=[row[1] for row in SAME])
def test_both_columns_say_the_same(section: str, theirs: str, ours: str) -> None:
    names = namespace()
    assert_same(values(eval(theirs, names)), values(eval(ours, names)))


@pytest.mark.parametrize(("theirs", "ours"), rows(OTHER))
def test_what_is_written_in_another_way(theirs: str, ours: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = namespace()
    with pytest.raises((AttributeError, TypeError, ValueError)) as info:
        eval(theirs, names)
    assert len(str(info.value)) > 30
    eval(ours, names)


def test_rulesets() -> None:
    optimizations = scanopt.scan_module.scan_opt.OPTIMIZATIONS
    assert {theirs: ours for _, theirs, ours in RULESETS} == optimizations


def test_every_name_of_the_documents_is_on_the_page() -> None:
    lost = [name for name in NAMES.split() if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", PAGE)]
    lost = [name for name in lost if name.removeprefix("T.") not in PAGE]
    assert not lost
