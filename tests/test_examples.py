"""The examples beside the main job: a small machine is trained on made-up data, without scikit-learn."""

import runpy
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "rbm.py"
PROTOTYPES = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]], float)


@pytest.fixture(scope="module")
def rbm() -> dict[str, Any]:
    """What the example's file defines."""
    return runpy.run_path(str(EXAMPLE))


def patterns(n: int) -> Any:
    """Two patterns, one three times as frequent as the other, with three pixels in twenty turned over."""
    rng = np.random.default_rng(0)
    rows = PROTOTYPES[(rng.random(n) < 0.25).astype(int)]
    return np.where(rng.random(rows.shape) < 0.15, 1 - rows, rows)


@pytest.fixture(scope="module")
def trained(rbm: dict[str, Any]) -> tuple[Any, list[float]]:
    machine = rbm["RBM"](8, 6, chain=10)
    return machine, machine.fit(patterns(300), epochs=40, rate=0.1, batch=10)


def test_error_of_reconstruction_falls(trained: tuple[Any, list[float]]) -> None:
    _, errors = trained
    assert errors[-1] < 0.14
    assert errors[0] > 0.18
    assert np.mean(errors[-5:]) < 0.8 * np.mean(errors[:5])


def test_samples_are_like_the_data(trained: tuple[Any, list[float]]) -> None:
    """Chains that start from noise end near one of the two patterns, and each pixel is on as often as in the data."""
    machine, _ = trained
    noise = np.random.default_rng(1).integers(0, 2, (1000, 8)).astype(float)
    samples = machine.sample(noise, 200)
    assert samples.shape == noise.shape
    assert set(samples.ravel()) == {0.0, 1.0}
    away = np.abs(samples[:, None] - PROTOTYPES).sum(axis=2).min(axis=1)
    assert away.mean() < 1.6  # the data 1.26, noise 2.88
    np.testing.assert_allclose(samples.mean(axis=0), patterns(300).mean(axis=0), atol=0.15)
    assert (machine.sample(noise, 200) != samples).any()


def test_one_update_is_contrastive_divergence(rbm: dict[str, Any]) -> None:
    """The weights change by the outer product of data and hidden means, less that of the chain's last sample."""
    machine = rbm["RBM"](8, 6, chain=3, seed=5)
    variables = (machine.W, machine.bvis, machine.bhid)
    W, bvis, bhid = (v.get_value() for v in variables)

    def hidden(v: Any) -> Any:
        return 1 / (1 + np.exp(-(v @ W + bhid)))

    (v0,) = batch = patterns(1)
    error = machine.train(batch, 0.5)
    to_W, to_bvis, to_bhid = (v.get_value() - old for v, old in zip(variables, (W, bvis, bhid), strict=True))
    sample = v0 - to_bvis / 0.5
    np.testing.assert_allclose(sample, np.round(sample), atol=1e-12)
    assert set(np.round(sample)) <= {0.0, 1.0}
    np.testing.assert_allclose(to_bhid, 0.5 * (hidden(v0) - hidden(sample)), atol=1e-12)
    np.testing.assert_allclose(to_W, 0.5 * (np.outer(v0, hidden(v0)) - np.outer(sample, hidden(sample))), atol=1e-12)
    smooth = 1 / (1 + np.exp(-(hidden(v0) @ W.T + bvis)))
    assert error == pytest.approx(((v0 - smooth) ** 2).mean(), rel=1e-12)


def test_picture_is_a_png(rbm: dict[str, Any]) -> None:
    images = np.stack([np.zeros(64), np.ones(64)])
    data = rbm["picture"](images, images, columns=2)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, color = struct.unpack(">IIBB", data[16:26])
    assert (width, height, depth, color) == (76, 82, 8, 0)
    length = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + length]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()  # no filter
    assert rows[10, [10, 50]].tolist() == [255, 0]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    code = f"import runpy, sys; sys.modules['sklearn'] = None; runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')"
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert done.stderr.strip().endswith('pip install "scanopt[examples]"')
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def lstm() -> dict[str, Any]:
    """What the example of the text defines."""
    return runpy.run_path(str(ROOT / "examples" / "text_lstm.py"))


def test_the_lstm_learns_a_text_by_heart(lstm: dict[str, Any]) -> None:
    verse = "the loop runs on and on, and the law stays the same. " * 4
    writer = lstm["Writer"]("".join(sorted(set(verse))), hidden=16)
    losses = writer.fit(verse, 150, length=12, batch=8, rate=0.03)
    assert losses[0] > 2.5
    assert np.mean(losses[-10:]) < 0.6
    written = writer.write(30, start="the ", sharp=4)
    assert len(written) == 34
    assert set(written) <= set(verse)
    picture = lstm["curve"](losses)
    assert picture.count("<polyline") == 2
    assert "150 updates" in picture


def test_text_of_the_lstm_comes_with_python(lstm: dict[str, Any]) -> None:
    written = lstm["text"]()
    assert len(written) > 50_000
    assert len(set(written)) < 100
