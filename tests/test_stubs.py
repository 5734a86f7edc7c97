"""What editors and type checkers see of the public names is what there is, and types a user's program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from stubs import ROOT, stubs

import scanopt

USER = """
import scanopt
import scanopt.tensor as T

x = T.dvector("x")
h, updates = scanopt.scan(lambda v, s: v + s, x, T.zeros_like(x[0]))
f = scanopt.function([x], x.sum())
reveal_type(T.exp(x))  # scanopt.array.variable.Variable
reveal_type(x + 1)  # scanopt.array.variable.Variable
reveal_type(x == 0)  # Any
reveal_type(T.dvectors("x", "y"))  # list[scanopt.array.variable.Variable]
reveal_type(f)  # scanopt.compilation.compiled_function.Function
reveal_type(f.report.optimal)  # bool
"""


def test_stubs_are_up_to_date() -> None:
    made = stubs()
    assert len(made) == 3
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python tests/stubs.py"


def test_a_checker_sees_the_types_of_a_users_program(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text(USER, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", str(file)]
    path = Path(scanopt.__file__).parents[
        1
    ]  # where that is what `make types` checks, so is what is known of it already
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT.parent, env={"MYPYPATH": str(path)}
    )
    assert done.returncode == 0, done.stdout
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert revealed == re.findall(r"# (.*)", USER), done.stdout
