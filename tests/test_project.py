"""The first things that a newcomer tries: the README's example, the main job, and the command line."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "sunspots.py"
CUBE = """
import sys
import scanopt
import scanopt.tensor as T

x = T.dvector("x")
cubes, _ = scanopt.map(lambda element: element**3, sequences=x)
cube = scanopt.function([x], cubes, example=[[1.0, 2.0, 3.0]])
print("arguments", sys.argv[1:], cube([1.0, 2.0]))
"""


def scanopt_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "scanopt", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def user_file(folder: Path, text: str) -> Path:
    file = folder / "mine.py"
    file.write_text(text, encoding="utf-8")
    return file


# ---- README ----


def test_readme_example_prints_what_it_says() -> None:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    (language, code), (kind, output) = blocks[:2]
    assert (language, kind) == ("python", "text")
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip() == output.rstrip()


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


# ---- the main job ----


@pytest.fixture(scope="module")
def sunspots() -> dict[str, Any]:
    """What the example's file defines."""
    return runpy.run_path(str(EXAMPLE))


def test_series_is_complete(sunspots: dict[str, Any]) -> None:
    assert sunspots["years"].tolist() == list(range(1700, 2009))
    assert sunspots["numbers"][[0, -1]].tolist() == [5.0, 2.9]
    assert sunspots["numbers"].max() == 190.2  # 1957


def test_fit_is_least_squares(sunspots: dict[str, Any]) -> None:
    z = sunspots["centred"]
    lagged = np.stack([z[1:-1], z[:-2]], axis=1)
    coefficients, squares, _, _ = np.linalg.lstsq(lagged, z[2:])
    expected = [*coefficients, np.sqrt(squares[0] / (len(lagged) - 2))]
    np.testing.assert_allclose(sunspots["fit"](z), expected, rtol=1e-9)


def test_forecast_is_the_recurrence(sunspots: dict[str, Any]) -> None:
    (a1, a2, sd), latest = (1.4, -0.7, 16.0), [3.0, -5.0]
    values, effects, variances = list(latest), [0.0, 1.0], [0.0]
    for _ in range(20):
        values.append(a1 * values[-1] + a2 * values[-2])
        variances.append(variances[-1] + (sd * effects[-1]) ** 2)
        effects.append(a1 * effects[-1] + a2 * effects[-2])
    expected, errors = sunspots["forecast"](latest, a1, a2, sd, 20)
    np.testing.assert_allclose(expected, values[2:], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(errors, np.sqrt(variances[1:]), rtol=1e-9)


def test_network_is_the_one_of_the_documents(sunspots: dict[str, Any]) -> None:
    u = sunspots["normalised"]
    W, W_in_1, W_in_2, W_feedback, W_out = (w.get_value() for w in sunspots["parameters"])
    x, y = [np.zeros(len(W))] * 3, [np.zeros(1)]
    for t in range(4, len(u)):
        y.append(x[-3] @ W_out)
        x.append(np.tanh(x[-1] @ W + u[t] @ W_in_1 + u[t - 4] @ W_in_2 + y[-2] @ W_feedback))
    np.testing.assert_allclose(sunspots["network"](u), y[1:], rtol=1e-9, atol=1e-12)


def test_main_job(tmp_path: Path) -> None:
    done = scanopt_command("run", "--html", tmp_path / "report.html", EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for text in ("year  forecast", "\n2009 ", "\n2020 ", "before:", "after:", "laws that fired:", "cost  "):
        assert text in done.stdout
    assert done.stdout.count("optimization  ") == done.stdout.count("unoptimized, ") == 3
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["report-1.html", "report-2.html", "report-3.html"]


# ---- the command line ----


def test_run_a_file_of_ones_own(tmp_path: Path) -> None:
    done = scanopt_command("run", user_file(tmp_path, CUBE), "a", "--", "-b")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("arguments ['a', '-b'] [1. 8.]")
    assert "function 1 of 1" in done.stdout


def test_explain_writes_one_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = scanopt_command("explain", user_file(tmp_path, CUBE), "--html", page)
    assert done.returncode == 0, done.stderr
    assert "before:" in done.stdout
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")


def test_errors_of_the_file_start_at_its_own_lines(tmp_path: Path) -> None:
    done = scanopt_command("run", user_file(tmp_path, "def f():\n    return 1 / 0\n\nf()\n"))
    assert done.returncode == 1
    assert done.stderr.count('File "') == 2
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_a_file_that_does_not_parse(tmp_path: Path) -> None:
    done = scanopt_command("run", user_file(tmp_path, "f(\n"))
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr
    assert "runpy" not in done.stderr


def test_exit_status_of_the_file_is_kept(tmp_path: Path) -> None:
    done = scanopt_command("run", user_file(tmp_path, "import sys\nsys.exit(7)\n"))
    assert (done.returncode, done.stderr) == (7, "")


def test_no_such_file(tmp_path: Path) -> None:
    done = scanopt_command("explain", tmp_path / "missing.py")
    assert done.returncode == 2
    assert done.stderr == f"scanopt: {tmp_path / 'missing.py'}: no such file\n"


def test_nothing_compiled(tmp_path: Path) -> None:
    done = scanopt_command("run", user_file(tmp_path, "print('hello')\n"))
    assert done.returncode == 2
    assert "compiled no function" in done.stderr


def test_version() -> None:
    assert re.fullmatch(r"scanopt \d+\.\d+\.\d+\n", scanopt_command("--version").stdout)
