"""The examples beside the main job: a small machine is trained on made-up data, without scikit-learn."""

import re
import runpy
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

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


# ---- Everyday programs ----

# What each says that it found, and how many marks its chart has (or the width and height of its picture).
EVERYDAY = {
    "ar2": (r"z\[t\] = 1\.391\d z\[t-1\] -0\.690\d z\[t-2\].*least squares: \[ 1\.391\d -0\.690\d\]", 5),
    "binomial_tree": (r"American 9\.6\d\d, European 9\.1\d\d\ndelta -0\.38\d", 3),
    "game_of_life": (r"the gun is as it was after \[30, 60\] generations", (512, 384)),
    "gibbs": (r"most likely 1891, of chance 0\.2\d \(exactly 1891, 0\.24\)", 4),
    "hidden_markov": (r"guessed rightly for 9\d% of the words", 2),
    "kalman": (r"error of the measurements 4\.91 m\nerror of the filter       2\.62 m, 2\.54 m", 4),
    "lstm": (r"error 0\.[12]\d+ at first, 0\.00\d\d after 400 updates", 2),
    "mandelbrot": (r"172800 points, 22\.9% of them still near .*\narea of the set about 1\.543", (480, 360)),
    "metropolis": (r"20000 steps, 2\d% of the proposals accepted", 2),
    "particle_filter": (r"error of the filter [34]\.\d\d, as it says itself 3\.\d\d", 3),
    "pid": (r"mean error 3\.49 degrees before, 2\.\d\d after", 3),
    "power_iteration": (r"largest eigenvalue 5\.2878967735 after 5\d\d steps, by LAPACK 5\.2878967735", 2),
    "runge_kutta": (r"5000 steps, equal to NumPy's to the last bit", 1),
    "seir": (r"to 14\.6 boys; each infects 11\.2\n32 hours until they are ill, 2\.1 days in bed", 3),
    "viterbi": (r"guessed rightly 96%; log-probability of the way -452\.4", 3),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EVERYDAY)
def test_everyday_program_finds_what_numpy_finds_and_draws_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each compares what it computes with a plain NumPy loop by itself."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    found, marks = EVERYDAY[name]
    printed = capsys.readouterr().out
    assert re.search(found, printed), printed
    (picture,) = (tmp_path / "build" / "examples").iterdir()
    assert printed.endswith(f"{picture.relative_to(tmp_path)} written\n")
    if isinstance(marks, tuple):
        assert struct.unpack(">II", picture.read_bytes()[16:24]) == marks
    else:
        drawn = re.findall(r"<(?:polyline|polygon)|stroke-linecap", picture.read_text(encoding="utf-8"))
        assert len(drawn) == marks
        ElementTree.parse(picture)


def test_everyday_programs_are_all_of_them() -> None:
    """Those that `make examples` runs, each with a row of the page, and short."""
    others = {"sunspots", "text_lstm", "rbm", "pictures"}
    files = {path.stem: path for path in (ROOT / "examples").glob("*.py") if path.stem not in others}
    assert files.keys() == EVERYDAY.keys()
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    for name, path in files.items():
        assert f"[examples/{name}.py](../examples/{name}.py)" in page
        assert 40 <= len(path.read_text(encoding="utf-8").splitlines()) <= 110


def test_make_examples_runs_them() -> None:
    done = subprocess.run(["make", "-n", "examples"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    (names,) = re.findall(r"for name in (.*?);", done.stdout)
    assert names.split() == sorted(EVERYDAY)
