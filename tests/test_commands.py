"""The commands that show what was done and what works, from end to end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scanopt.cli import main
from scanopt.lab import doctor
from scanopt.lab.doctor import Diagnosis

FILE = """
import scanopt, scanopt.tensor as T
print("said by the file")
x = T.dvector("x")
f = scanopt.function([x], T.exp(x * 1.0), name="once")
g = scanopt.function([x], T.exp(x), name="twice")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "model.py"
    made.write_text(FILE, encoding="utf-8")
    return made


def test_show_writes_a_page_for_each_function(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--out", str(file.with_name("page.html")), str(file)]) == 0
    said = capsys.readouterr().out
    for name, page in (("once", "page-1.html"), ("twice", "page-2.html")):
        assert f"{name}: {file.with_name(page)}" in said
        assert "</html>" in file.with_name(page).read_text(encoding="utf-8")


def test_show_says_what_cannot_be_written_or_read(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--out", str(file / "below" / "page.html"), str(file)]) == 2
    assert "the page cannot be written" in capsys.readouterr().err
    assert main(["show", str(file.with_name("none.py"))]) == 2
    assert "no such file" in capsys.readouterr().err
    file.write_text("x = 1", encoding="utf-8")
    assert main(["show", str(file)]) == 2
    assert "compiled no function" in capsys.readouterr().err


def test_explain_prints_histories_and_nothing_else(file: Path) -> None:
    command = [sys.executable, "-m", "scanopt", "explain", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    once, twice = json.loads(done.stdout)
    assert "said by the file" in done.stderr
    assert [once["name"], twice["name"]] == ["once", "twice"]
    assert [s["law"] for s in once["steps"]] == ["right_identity"]
    assert twice["steps"] == []


def test_doctor_says_what_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = {x["name"]: x for x in json.loads(capsys.readouterr().out)}
    assert found["backend numpy"]["state"] == "works"
    assert found["egglog"]["says"]
    assert all(x["advice"] for x in found.values() if x["state"] == "missing")


def test_doctor_fails_where_something_needed_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = [Diagnosis("backend numpy", "fails", "a loop gave a wrong result", "report it, with this text")]
    monkeypatch.setattr("scanopt.cli.examined", lambda: bad)
    assert main(["doctor"]) == 1
    assert "-> report it" in capsys.readouterr().out


def test_cache_tells_and_clears(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "_kernels", lambda: tmp_path)
    (tmp_path / "a.so").write_bytes(b"12345")
    assert main(["cache"]) == 0
    assert "1 compiled kernels, 5 bytes" in capsys.readouterr().out
    assert main(["cache", "--clear"]) == 0
    assert not [*tmp_path.iterdir()]
