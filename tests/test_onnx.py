"""ONNX models give the numbers of onnxruntime here, and optimized programs give ours there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed (the extra 'onnx')")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (the extra 'onnx')")

from onnx_programs import HEAD, MODELS, arguments, model  # noqa: E402

import scanopt  # noqa: E402
import scanopt.tensor as T  # noqa: E402


def run(made: Any, given: dict[str, Any]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, {k: np.asarray(v) for k, v in given.items()}))


def same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", MODELS)
def test_gives_the_numbers_of_onnxruntime(name: str) -> None:
    made = model(name)
    given = arguments(made)
    expected = run(made, given)
    f = scanopt.from_onnx(made)
    same(f(**given), expected)
    same(f.unoptimized(**given), expected)


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name: str) -> None:
    made = model(name)
    given = arguments(made)
    back = scanopt.from_onnx(made).to_onnx()
    onnx.checker.check_model(back, full_check=True)
    same(run(back, given), run(made, given))


def test_loaded_programs_are_written_too(tmp_path: Path) -> None:
    made = model("scan_sum")
    f = scanopt.from_onnx(made)
    f.save(tmp_path / "f.json")
    given = arguments(made)
    same(run(scanopt.load(tmp_path / "f.json").to_onnx(), given), f(**given))


def test_names_and_positions_and_files(tmp_path: Path) -> None:
    made = model("mlp")
    given = arguments(made)
    f = scanopt.from_onnx(made)
    onnx.save(made, tmp_path / "m.onnx")
    for g in (scanopt.from_onnx(tmp_path / "m.onnx"), scanopt.from_onnx(made.SerializeToString())):
        same(g(*given.values()), f(**given))
    assert [x.name for x in f.to_onnx().graph.input] == list(given)


def test_our_programs_run_in_onnxruntime() -> None:
    x, w, v1 = T.fmatrix("x"), T.fmatrix("w"), T.fvector("v1")
    h, _ = scanopt.scan(lambda x, h, w: T.tanh(x + h @ w), x, T.zeros_like(x[0]), [w])
    y = T.set_subtensor(T.concatenate([h, T.exp(h)], 1)[1:3, ::2], T.log1p(abs(v1)))
    n = T.iscalar("n")
    power, _ = scanopt.scan(lambda p, a: p * a, None, T.ones_like(v1), v1, n)
    fib, _ = scanopt.scan(lambda a, b: a + b, None, [dict(initial=v1[:2], taps=[-2, -1])], n_steps=6)
    ended, _ = scanopt.scan(lambda s: (s * 2.0, scanopt.until(s > 30)), outputs_info=[v1[0]], n_steps=20)
    side = scanopt.ifelse(n > 2, v1 + 1, v1 * 2)
    out = [y, power[-1], fib, ended, side, h.argmax(1), T.sort(v1), v1[::-1][T.argsort(v1)], (x > 0).any(0), x.mean(1)]
    f = scanopt.function([x, w, v1, n], out)
    made = f.to_onnx()
    assert {node.op_type for node in made.graph.node} >= {"Scan", "Loop", "If"}
    rng = np.random.default_rng(0)
    args = [rng.normal(size=(5, 3)), rng.normal(size=(3, 3)) / 2, np.abs(rng.normal(size=3)) + 0.5]
    given = [*(a.astype("float32") for a in args), np.int32(4)]
    same(run(made, dict(zip(["x", "w", "v1", "n"], given, strict=True))), f(*given))


def test_gradients_run_in_onnxruntime() -> None:
    x, w = T.dmatrix("x"), T.dmatrix("w")
    h, _ = scanopt.scan(lambda x, h, w: T.tanh(x + h @ w), x, T.zeros_like(x[0]), [w])
    f = scanopt.function([x, w], T.grad((h**2).sum(), [x, w]))
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
    same(run(f.to_onnx(), {"x": a, "w": b}), f(a, b))


def test_what_it_does_not_know_is_named() -> None:
    text = "f (float[3] x) => (float[3] y) { y = NonMaxSuppression(x, x) }"
    made = onnx.parser.parse_model(HEAD + text)
    with pytest.raises(NotImplementedError, match="'NonMaxSuppression'"):
        scanopt.from_onnx(made)
    x = T.dvector("x")
    with pytest.raises(NotImplementedError, match="to_onnx: ONNX has no operator arctan2"):
        scanopt.function([x], T.arctan2(x, x)).to_onnx()
    s = scanopt.shared(0.0, "s")
    with pytest.raises(ValueError, match="'s'"):
        scanopt.function([], s, updates={s: s + 1}).to_onnx()
