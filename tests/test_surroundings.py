"""Odd surroundings: folders, files and terminals that are not as usual either work or are named in a clear error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scanopt.cli import main
from scanopt.extraction.calibrated_cost import MOST, as_cost, calibration_file, read_costs
from scanopt.lab.targets import UnknownTargetError, find_laws

ROOT = Path(__file__).parents[1]
FILE = """
import scanopt, scanopt.tensor as T
x = T.dvector("größe")
f = scanopt.function([x], scanopt.map(T.exp, x)[0] * 2, name="Würfel\U0001f600")
print(f([0.0]))
"""


def python(*arguments: str, cwd: Path | None = None, before: str = "", **environment: str) -> tuple[int, str, str]:
    """Exit status, output and errors of Python, with other variables set, in a shell that first runs `before`."""
    shell = ["bash", "-c", f'{before} exec "$@"', "-", sys.executable, "-P", *arguments]
    path = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
    env = os.environ | {"PYTHONPATH": path} | environment
    done = subprocess.run(shell, capture_output=True, check=False, timeout=120, cwd=cwd, env=env)
    return done.returncode, *(x.decode("ascii", "backslashreplace") for x in (done.stdout, done.stderr))  # type: ignore[return-value]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A program under an odd name."""
    path = tmp_path / 'it\'s "odd"\n\\n %s{0} ü' / "m'i \"n\ne.py"
    path.parent.mkdir()
    path.write_text(FILE, encoding="utf-8")
    return path


# ---- folders ----


def test_the_folder_for_temporary_files_may_have_any_name_in_utf8(file: Path) -> None:
    assert python("-c", FILE, TMPDIR=str(file.parent)) == (0, "[2.]\n", "")


def test_a_folder_for_temporary_files_that_is_not_named_in_utf8(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    os.mkdir(folder)
    status, _, error = python("-c", FILE, TMPDIR=folder)
    assert status == 1
    assert "has no name in UTF-8: set TMPDIR to another" in error.splitlines()[-1]


@pytest.mark.thorough
def test_the_present_folder_may_be_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    check = "from scanopt.cli import main; main(['check-law', 'scanopt.rewrites.merge:length_of_sequence'])"
    status, out, error = python("-c", FILE + check, cwd=gone, before='rmdir "$PWD";')
    assert (status, out, error) == (0, "[2.]\nlength_of_sequence: stands\n", "")


def test_no_folder_for_measured_costs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("SCANOPT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(RuntimeError, match=r"Could not determine home.*name one in the environment variable SCANOPT_C"):
        calibration_file()
    assert main(["calibrate", "--operators", "add", "--seconds", "0.001"]) == 2
    shown = capsys.readouterr()
    assert "nanoseconds of" in shown.out  # what was measured is not lost
    assert "the costs cannot be written (there is no folder" in shown.err


# ---- files of costs ----


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe{}", "it cannot be read .*utf-8"),
        (DEEP, "it is not JSON .*recursion"),
        ('{"scanopt costs": 1, "call": ' + DEEP + "}", "it is not JSON .*recursion"),
        ('{"scanopt costs": 1, "call": {"sort": 1' + 300 * "0" + "}}", "must be a number .*found 10+[.]{3}"),
        ('{"scanopt costs": 1, "call": {"sort": 1' + 400 * "0" + "}}", r"call\['sort'\] must be a number of nanosec"),
        ('{"scanopt costs": 1, "call": {"sort": 1' + 9999 * "0" + "}}", "it is not JSON .*digits"),
        ('{"scanopt costs": 1, "call": {"sort": 1e308}}', r"from 0 to 1e\+12, found 1e\+308"),
        ('{"scanopt costs": 1, "call": {"sort": Infinity}}', "found inf"),
        ('{"scanopt costs": 1, "call": {"sort": NaN}}', "found nan"),
        ('{"scanopt costs": 1, "call": "' + 10_000 * "x" + '"}', "must be a table by name, found 'x+...x+'$"),
        ('{"scanopt costs": 1, "calls": {"sort": 1}}', "it has 'calls'; its parts are scanopt costs, unit, machine"),
        ('{"scanopt costs": 1, "call": {"sort": 1', "it is not JSON"),
        ("", "it is not JSON"),
        ("null", "expected"),
        (None, "it cannot be read .*directory"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_costs_is_named(content: str | bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=message) as error:
        as_cost(path)
    assert str(error.value).startswith(str(path))
    assert len(str(error.value)) < len(str(path)) + 300


def test_paths_that_are_no_paths() -> None:
    for path in ("a\0b.json", f"{'x' * 300}.json"):
        with pytest.raises(ValueError, match="it cannot be read"):
            as_cost(path)


def test_the_largest_cost_is_no_trouble(tmp_path: Path) -> None:
    import scanopt
    import scanopt.tensor as T

    path = tmp_path / "costs.json"
    every = {"call": dict.fromkeys(read_kinds(tmp_path), MOST), "kind": {"step": MOST, "loop": MOST}}
    path.write_text(json.dumps({"scanopt costs": 1, **every}), encoding="utf-8")
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.scan(lambda v, s: T.tanh(s + v), [x], [0.0])[0], cost=path)
    assert "inf" not in str(f.report)
    assert f([0.0]) == [0.0]


def read_kinds(folder: Path) -> list[str]:
    """The classes of cost."""
    path = folder / "none.json"
    path.write_text('{"scanopt costs": 1}', encoding="utf-8")
    return list(read_costs(path).call)


# ---- the command line ----


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_terminal_that_knows_ascii_alone(command: str, file: Path) -> None:
    page = file.with_name("page ü.html")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    status, out, error = python("-m", "scanopt", command, "--html", str(page), str(file), **ascii_only)
    assert (status, error) == (0, "")
    assert "function 1 of 1: W\\xfcrfel\\U0001f600 " in out
    assert page.is_file()


@pytest.mark.parametrize("command", ["laws", "run"])
def test_a_reader_that_goes_away(command: str, file: Path) -> None:
    """As in `scanopt laws | head`."""
    end, pipe = os.pipe()
    os.close(end)
    line = [sys.executable, "-P", "-m", "scanopt", command, *([] if command == "laws" else [str(file)])]
    done = subprocess.run(line, stdout=pipe, stderr=subprocess.PIPE, check=False, timeout=120)
    os.close(pipe)
    assert (done.returncode, done.stderr) == (1, b"")


def test_what_cannot_be_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], file: Path) -> None:
    for name, content, told in (
        ("latin.py", b"x = '\xff'\n", "SyntaxError: (unicode error) 'utf-8' codec can't decode"),
        ("nul.py", b"\0\0", "SyntaxError: source code string cannot contain null bytes"),
        ("raises.py", b"1 / 0\n", "ZeroDivisionError: division by zero"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        for command in ("run", "explain", "ablate", "check", "check-law"):
            assert main([command, str(path)]) == 1
            error = capsys.readouterr().err
            assert told in error
            assert "cli.py" not in error
            assert "targets.py" not in error
    assert main(["run", str(tmp_path)]) == 2
    assert main(["run", str(tmp_path / "a\x1b[31m\nb.py")]) == 2
    assert capsys.readouterr().err.endswith("a\\x1b[31m\\nb.py: no such file\n")
    assert main(["run", "--html", str(tmp_path), str(file)]) == 2
    assert "the report page cannot be written" in capsys.readouterr().err
    assert main(["calibrate", "--operators", "add", "--seconds", "0.001", "--out", str(tmp_path)]) == 2
    assert "the costs cannot be written" in capsys.readouterr().err


def test_targets_that_are_no_module() -> None:
    for target in ("..", ":x", "a b:x", ".mod:x", "a..b:c"):
        with pytest.raises(UnknownTargetError, match="is not a module"):
            find_laws([target])


def test_flags_that_are_garbage() -> None:
    for flags, told in (
        ("garbage", "SCANOPT_FLAGS must be name=value,name=value, found 'garbage'"),
        ("floatX=float31", "SCANOPT_FLAGS: config.floatX: expected 'float32' or 'float64', found 'float31'"),
        ("\udcff=1", "SCANOPT_FLAGS: config has no flag '\\udcff'"),
    ):
        status, _, error = python("-c", "import scanopt.config", SCANOPT_FLAGS=flags)
        assert status == 1
        assert told in error.splitlines()[-1]
