"""The documents' homes of scan: scan_module, scan's attributes, node.op, scan_args in both forms."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import scan_module
from scanopt.loops.graph import loops_of
from scanopt.loops.node import Scan
from scanopt.loops.scan_args import ScanArgs
from scanopt.loops.scan_info import INFO, ScanInfo


def loop_of_all_kinds() -> Scan:
    u, y0, x0, w = T.dvector("u"), T.dvector("y0"), T.dscalar("x0"), T.dscalar("w")
    c = scanopt.shared(0.0, "c")

    def step(u: Any, u1: Any, y2: Any, y1: Any, x: Any, w: Any) -> Any:
        return [y2 + u, x * w, u1 + y1], {c: c + x}, scanopt.until(c > 3)

    states = [dict(initial=y0, taps=[-2, -1]), x0, None]
    (xs, *_), _ = scanopt.scan(step, dict(input=u, taps=[0, 1]), states, w, name="all kinds")
    node: Scan = xs.owner
    return node


def loop_of_gradient() -> Scan:
    x = T.dvector("x")
    ys, _ = scanopt.scan(lambda v, a, b: T.tanh(v * a * b), x, dict(initial=T.dvector("h0"), taps=[-3, -1]))
    return next(n for n in loops_of([T.grad(ys.sum(), x)]) if n.mit_mots)


LOOPS = {"all kinds": loop_of_all_kinds, "a gradient's": loop_of_gradient}
HOMES = {
    "scan_module": "scan map reduce foldl foldr until clone scan_args scan_op scan_utils scan_views scan_checkpoints",
    "scan_module.scan_utils": "scan_args clone until",
    "scan_module.scan_views": "map reduce foldl foldr",
    "scan_module.scan_op": "Scan",
    "scan_module.scan_opt": "OPTIMIZATIONS",
    "scan": "scan until map reduce foldl foldr filter scan_checkpoints scan_args utils op basic views",
    "scan.utils": "ScanArgs until",
    "scan.op": "Scan ScanInfo",
    "scan.basic": "scan",
    "scan.views": "map reduce foldl foldr filter",
    "scan.checkpoints": "scan_checkpoints",
    "tensor": "scan",
}


@pytest.mark.share(2)
@pytest.mark.parametrize("home", HOMES)
def test_names_of_the_documents(home: str) -> None:
    code = f"import scanopt\nfor name in {HOMES[home].split()}: assert getattr(scanopt.{home}, name), name"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


@pytest.mark.parametrize(
    "line",
    [
        "from scanopt.scan.utils import until, ScanArgs",
        "from scanopt.scan import until, foldl",
        "import scanopt.scan.views as views; from scanopt.scan.basic import scan",
        "from scanopt.scan.op import Scan; import scanopt.scan.checkpoints",
    ],
)
def test_imports_from_the_function_scan(line: str) -> None:
    code = f"{line}\nimport scanopt, scanopt.scan\nassert scanopt.scan is scanopt.scan_module.scan"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_one_function_has_one_home() -> None:
    assert scan_module.scan is scanopt.scan is scanopt.scan.scan is T.scan  # type: ignore[attr-defined]
    assert scan_module.scan_utils.scan_args is scan_module.scan_args
    assert scan_module.until is scanopt.until
    assert scan_module.scan_op.Scan is Scan


def test_optimizations_of_the_documents_are_rulesets() -> None:
    x = T.dvector("x")
    for name in scan_module.scan_opt.OPTIMIZATIONS.values():
        scanopt.function([x], x, exclude=[name])


def test_info_by_attribute_and_by_key() -> None:
    node = loop_of_all_kinds()
    info = node.op.info
    assert isinstance(info, ScanInfo)
    assert {name: getattr(info, name) for name in INFO} == {
        "n_seqs": 2, "mit_mot_in_slices": (), "mit_mot_out_slices": (), "mit_sot_in_slices": ((-2, -1),),
        "sit_sot_in_slices": ((-1,),), "n_nit_sot": 1, "n_shared_outs": 1, "n_non_seqs": 1, "as_while": True,
        "n_mit_mot": 0, "n_mit_mot_outs": 0, "n_mit_sot": 1, "n_sit_sot": 1, "n_outs": 2,
        "tap_array": ((-2, -1), (-1,)),
    }  # fmt: skip
    for name in INFO:
        assert info[name] == getattr(info, name) == getattr(node, name) == getattr(node.op, name)
    with pytest.raises(KeyError, match="n_sequences"):
        info["n_sequences"]
    gradient = loop_of_gradient()
    assert gradient.op.mit_mot_out_slices == gradient.mitmot_out_taps() != ()


@pytest.mark.parametrize("loop", LOOPS)
def test_op_says_what_the_node_says(loop: str) -> None:
    node = LOOPS[loop]()
    op = node.op
    assert op.var_mappings == node.var_mappings == op.get_oinp_iinp_iout_oout_mappings()
    assert op.connection_pattern(node) == node.connection_pattern()
    assert op.inner_connection_pattern() == node.inner_connection_pattern()
    assert (op.name, op.truncate_gradient, op.allow_gc) == (node.name, -1, None)
    for name in dir(op):
        assert hasattr(op, name)
    for kind in ("seqs", "mitmot", "mitsot", "sitsot", "nitsot", "shared", "non_seqs"):
        whole = getattr(node, f"outer_{kind}")()
        for given in (node, node.inputs, scan_module.scan_args(node).outer_inputs):
            assert_same(getattr(op, f"outer_{kind}")(given), whole)
    assert_same(op.inner_seqs(op.inputs), node.inner_seqs())
    assert_same(op.inner_nitsot_outs(op.outputs), node.inner_nitsot_outs())
    assert_same(op.outer_sitsot_outs(node.outputs), node.outer_sitsot_outs())
    with pytest.raises(ValueError, match="of another node"):
        op.connection_pattern(loop_of_all_kinds())
    with pytest.raises(AttributeError, match="no attribute 'n_sequences'"):
        _ = op.n_sequences


def assert_same(a: Any, b: Any) -> None:
    assert len(a) == len(b)
    assert all(x is y for x, y in zip(a, b, strict=True))


def assert_same_args(a: ScanArgs, b: ScanArgs) -> None:
    for name in vars(b):
        assert repr(vars(a)[name]) == repr(vars(b)[name]), name
    for name in ("outer_inputs", "inner_inputs", "inner_outputs", "outer_outputs"):
        assert_same(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("loop", LOOPS)
def test_scan_args_of_five_arguments(loop: str) -> None:
    node = LOOPS[loop]()
    args = scan_module.scan_args(node)
    lists = args.outer_inputs, args.outer_outputs, args.inner_inputs, args.inner_outputs
    assert_same_args(scan_module.scan_args(*lists, args.info), args)
    assert_same_args(ScanArgs.from_node(node), args)
    assert_same_args(scan_module.scan_args(node.inputs, node.outputs, node.op.inputs, node.op.outputs, node.info), args)


def test_scan_args_of_other_variables() -> None:
    args = scan_module.scan_args(loop_of_all_kinds())
    others = [T.dscalar(str(i)) for i in range(len(args.outer_inputs))]
    made = scan_module.scan_args(others, args.outer_outputs, args.inner_inputs, args.inner_outputs, args.info)
    assert [v.name for v in (made.n_steps, *made.outer_in_seqs, *made.outer_in_non_seqs)] == ["0", "1", "2", "7"]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (dict(info=None), TypeError, "info must say how many slots"),
        (dict(info={"n_seqs": 1}), TypeError, "info must say how many slots"),
        (dict(inner_inputs=5), TypeError, "inner_inputs must be a list of variables"),
        (dict(inner_inputs=[]), ValueError, "inner_inputs has 0 variables, but info says that there are 7"),
    ],
)
def test_scan_args_that_do_not_fit(change: dict[str, Any], error: type[Exception], text: str) -> None:
    args = scan_module.scan_args(loop_of_all_kinds())
    given: dict[str, Any] = {
        name: getattr(args, name) for name in ("outer_inputs", "outer_outputs", "inner_inputs", "inner_outputs", "info")
    }
    with pytest.raises(error, match=text):
        scan_module.scan_args(**{**given, **change})


def test_a_program_of_the_documents_with_scan_module() -> None:
    top = T.dscalar("top")
    powers, _ = scan_module.scan(
        lambda p, top: (p * 2, scanopt.scan.until(p * 2 > top)),  # type: ignore[attr-defined]
        outputs_info=T.constant(1.0, dtype="float64"),
        non_sequences=top,
        n_steps=1024,
    )
    np.testing.assert_array_equal(scanopt.function([top], powers)(45), [2, 4, 8, 16, 32, 64])
