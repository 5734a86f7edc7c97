"""The first things that a newcomer tries: the README's example, the main job, and the command line."""

import io
import json
import os
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scanopt.cli import main

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


def process(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    command = [sys.executable, "-P", "-m", "scanopt", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def scanopt_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The same in this process, which has imported everything and has an engine."""
    out, told = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(told):
        try:
            status = main([*map(str, arguments)])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    return subprocess.CompletedProcess([*map(str, arguments)], status, out.getvalue(), told.getvalue())


def user_file(folder: Path, text: str) -> Path:
    file = folder / "mine.py"
    file.write_text(text, encoding="utf-8")
    return file


# ---- README ----


def blocks(page: Path) -> list[tuple[str, str | None]]:
    """The Python blocks of a page, each with the text block right below it, if there is one."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", text, re.M | re.S)
    return [(code, output or None) for code, output in found]


# Runs the blocks of each page one after the other, and gives the texts that they print.
RUN_BLOCKS = """
import contextlib, io, json, sys
found = {}
for page, codes in json.load(sys.stdin).items():
    names, found[page] = {"__name__": "__main__"}, []
    for code in codes:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        found[page].append(printed.getvalue())
print(json.dumps(found))
"""


# Pages with examples, and how many of them print something; the last one makes laws, which stay.
PAGES = {
    "README.md": 2,
    "docs/queries.md": 3,
    "docs/gradients.md": 3,
    "docs/arrays.md": 4,
    "docs/linalg.md": 1,
    "docs/jax.md": 1,
    "docs/tour.md": 8,
    "docs/writing-laws.md": 6,
}


def test_examples_print_what_the_page_says() -> None:
    shown = {page: [(code, output) for code, output in blocks(ROOT / page) if output] for page in PAGES}
    command = [sys.executable, "-P", "-c", RUN_BLOCKS]
    codes = json.dumps({page: [code for code, _ in some] for page, some in shown.items()})
    # What pages print is so on machines without a compiler, too.
    flags = os.environ | {"SCANOPT_FLAGS": "cost=numpy,compilation_cache=False"}
    done = subprocess.run(command, input=codes, capture_output=True, text=True, check=False, timeout=120, env=flags)
    assert done.returncode == 0, done.stderr
    for page, printed in json.loads(done.stdout).items():
        assert [x.strip() for x in printed] == [output.strip() for _, output in shown[page] if output], page
    assert {page: len(some) for page, some in shown.items()} == PAGES


def test_law_of_the_readme_is_a_law_of_the_project() -> None:
    (law,) = (code for code, output in blocks(ROOT / "README.md") if not output)
    assert law in (ROOT / "rewrites" / "push_out_seq.py").read_text(encoding="utf-8")


def test_page_of_laws_is_up_to_date() -> None:
    # In a process of its own: laws and facts of other tests are not on the page.
    done = process("laws", "--markdown")
    page = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")
    assert done.stdout == page, "write it again: scanopt laws --markdown > docs/laws.md"


def test_saved_programs_run_with_numpy_alone() -> None:
    code = """
import sys
import numpy as np
import scanopt, scanopt.tensor as T
from scanopt.program.serial import to_json

x, W = T.dvector("x"), scanopt.shared(np.eye(2), "W")
total, _ = scanopt.scan(lambda v, h, W: T.tanh(h @ W) + v, x, T.zeros_like(W[0]), W)
f = scanopt.function([x], total[-1])
print(to_json(f.program))
print(f([1.0, 2.0]).tolist())
"""
    made = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=120)
    program, _, result = made.stdout.rstrip().rpartition("\n")
    code = """
import sys
sys.modules.update(dict.fromkeys(["egglog", "scipy", "networkx"]))
import numpy as np
import scanopt.backends, scanopt.program.serial

run = scanopt.backends.executor("numpy").compile(scanopt.program.serial.from_json(sys.stdin.read()))
(output,) = run([np.array([1.0, 2.0]), np.eye(2)])
print(output.tolist())
"""
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.strip(), done.stderr) == (result, "")


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
    done = process("run", "--html", tmp_path / "report.html", EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    expected = (
        "year  forecast",
        "\n2009 ",
        "\n2020 ",
        "before:",
        "after:",
        "laws that fired:",
        "cost  ",
        ": forecast =",
    )
    for text in expected:
        assert text in done.stdout
    assert "z float64[309] (of the example)" in done.stdout
    assert "W_in_1 float64[1, 16] (its value)" in done.stdout
    assert done.stdout.count("optimization  ") == done.stdout.count("unoptimized, ") == 3
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["report-1.html", "report-2.html", "report-3.html"]
    pages = [
        f"page of {name}: {tmp_path / f'report-{n}.html'}" for n, name in enumerate(("fit", "forecast", "network"), 1)
    ]
    assert done.stdout.rstrip().splitlines()[-3:] == pages
    assert "picture: build/examples/sunspots.svg" in done.stdout
    picture = (ROOT / "build" / "examples" / "sunspots.svg").read_text(encoding="utf-8")
    assert "two standard errors" in picture


# ---- the command line ----


def test_run_a_file_of_ones_own(tmp_path: Path) -> None:
    done = scanopt_command("run", user_file(tmp_path, CUBE), "a", "--", "-b")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("arguments ['a', '-b'] [1. 8.]")
    assert "function 1 of 1" in done.stdout


def test_a_function_without_an_example_is_timed_on_its_last_call(tmp_path: Path) -> None:
    text = """
import scanopt
import scanopt.tensor as T

x, s = T.dvector("x"), scanopt.shared(1.0, "s")
f = scanopt.function([x], x * s, updates={s: s * 2}, name="doubling")
print(f([1.0]), f([1.0]))
scanopt.function([x], x + 1, name="not called")
"""
    done = scanopt_command("run", user_file(tmp_path, text))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[1.] [2.]")
    assert "function 1 of 2: doubling" in done.stdout
    assert done.stdout.count("as written but compiled, ") == 1
    assert "largest difference of results 0.0e+00" in done.stdout
    assert "not measured: it was not called" in done.stdout


LAWS = """
import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation
from scanopt.calculus.terms import Value, ops
from scanopt.facts.values import floating

exp, add, multiply = ops.exp, ops.add, ops.multiply


@scanopt.law(
    licence="fast",
    example=lambda x, y: T.exp(x) * T.exp(y),
    never=(lambda x, m: T.exp(m) * T.exp(x), lambda x, m: T.exp(x) * T.exp(m)),
)
def right(x: Value, y: Value) -> Equation:
    return Equation(multiply(exp(x), exp(y)), exp(add(x, y)), when=[floating(x), floating(y)])
"""
WRONG_LAW = LAWS.replace("def right", "def wrong").replace("add(x, y)", "multiply(x, y)")


def test_laws_are_printed() -> None:
    done = scanopt_command("laws")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:5] == ["law", "formula", "when", "licence", "source"]
    assert "stack_of_sequence" in done.stdout
    one = scanopt_command("laws", "stack_of_sequence").stdout
    assert "push_out_seq: stack_of_sequence  [exact]" in one
    assert "    stack(c, seq(c, X)) = X\n    when runs_all(c)\n" in one
    assert one.count("[exact]") == 1
    assert one.strip() in scanopt_command("laws", "push_out_seq").stdout
    assert "push_out_output: " not in scanopt_command("laws", "push_out_seq").stdout


def test_laws_of_no_such_name() -> None:
    done = scanopt_command("laws", "scan_save_mem")
    assert done.returncode == 2
    assert "no law or ruleset is named 'scan_save_mem'" in done.stderr
    assert "save_mem" in done.stderr


def test_laws_of_a_file_are_attacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanopt.lab.checking._INSTANCES", 12)
    monkeypatch.setattr("scanopt.lab.checking.LOOPS", {})
    done = scanopt_command("check", user_file(tmp_path, LAWS))
    assert (done.returncode, done.stdout, done.stderr) == (0, "right: stands\n", "")
    done = scanopt_command("check", user_file(tmp_path, WRONG_LAW))
    assert done.returncode == 1
    assert "wrong: soundness: program 0: 1 steps: expected" in done.stdout
    assert "more findings" in done.stdout


def test_a_file_without_laws(tmp_path: Path) -> None:
    done = scanopt_command("check", user_file(tmp_path, "x = 1"))
    assert done.returncode == 2
    assert "defines no law" in done.stderr


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
    assert re.fullmatch(r"scanopt \d+\.\d+\.\d+\n", process("--version").stdout)
