"""Each thing from outside in one short file, passed per call, or installed and found by an entry point."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scanopt.calculus.condition import fact
from scanopt.calculus.terms import Clock

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
FILES = ("a_law", "a_fact", "an_operator", "a_cost_model", "a_schedule")


def blocks() -> list[tuple[str, str]]:
    """The Python blocks of the page with the text below each."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$\n\n^```text\n(.*?)^```$", text, re.M | re.S)


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder, outside of the repository; the folder is on its path."""
    path = os.pathsep.join([str(folder), *(p for p in sys.path if p and Path(p) != Path(__file__).parent)])
    env = os.environ | {"PYTHONPATH": path} | environment
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=folder, env=env)


def files(folder: Path) -> None:
    for name, (code, _) in zip(FILES, blocks(), strict=False):
        (folder / f"{name}.py").write_text(code, encoding="utf-8")


def install(folder: Path, entry_points: str, name: str = "five-things") -> None:
    """What an installed distribution leaves beside its modules."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def five(folder: Path) -> None:
    files(folder)
    group = re.search(r'^\[project.entry-points."(.*?)"\]\n(.*?)\n\n', PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert group is not None
    install(folder, f"[{group[1]}]\n{group[2].replace(chr(34), '')}\n")


@pytest.mark.parametrize("number", range(len(FILES)), ids=FILES)
def test_each_file_runs_by_itself(number: int, tmp_path: Path) -> None:
    code, text = blocks()[number]
    assert f"### {FILES[number]}.py" in PAGE.read_text(encoding="utf-8")
    assert len(code.splitlines()) < 45
    file = tmp_path / f"{FILES[number]}.py"
    file.write_text(code, encoding="utf-8")
    done = run(tmp_path, str(file))
    assert (done.stdout, done.stderr) == (text, "")


@pytest.mark.thorough
def test_all_of_them_installed(tmp_path: Path) -> None:
    five(tmp_path)
    code, text = blocks()[len(FILES)]
    file = tmp_path / "program.py"
    file.write_text(code, encoding="utf-8")
    done = run(tmp_path, str(file))
    assert (done.stdout, done.stderr) == (text, "")
    file.write_text(code.replace('fp="fast"', 'fp="fast", exclude=["a_law"]'), encoding="utf-8")
    assert run(tmp_path, str(file)).stdout.splitlines()[-1] == "['floor_of_whole']"
    laws = run(tmp_path, "-m", "scanopt", "laws", "root_of_square")
    assert laws.stdout.startswith("a_law: root_of_square  [fast]"), laws.stderr
    assert run(tmp_path, "-m", "scanopt", "check-law", "a_fact").stdout == "floor_of_whole: stands\n"


def test_the_answer_to_why_not(tmp_path: Path) -> None:
    code, text = blocks()[len(FILES) + 1]
    file = tmp_path / "program.py"
    file.write_text(code, encoding="utf-8")
    done = run(tmp_path, str(file))
    assert (done.stdout, done.stderr) == (text, "")


def test_extensions_are_loaded_when_they_are_needed(tmp_path: Path) -> None:
    five(tmp_path)
    code = """
import sys
import scanopt, scanopt.tensor as T
x = T.dvector("x")
y = scanopt.map(T.tanh, x)[0]
assert not {"a_law", "an_operator", "importlib.metadata"} & set(sys.modules), set(sys.modules)
from scanopt.array.op import Op
assert Op.parse("hardtanh").spec.doc == "x between -1 and 1"
assert {"a_law", "an_operator"} <= set(sys.modules)
"""
    done = run(tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr


def test_a_saved_program_finds_its_operator(tmp_path: Path) -> None:
    five(tmp_path)
    code = """
import scanopt, scanopt.tensor as T
import an_operator
from scanopt.program.serial import to_json
x = T.dvector("x")
print(to_json(scanopt.function([x], an_operator.hardtanh(x)).program))
"""
    saved = run(tmp_path, "-c", code)
    assert saved.returncode == 0, saved.stderr
    (tmp_path / "program.json").write_text(saved.stdout, encoding="utf-8")
    code = """
import numpy as np
import scanopt.backends, scanopt.program.serial
program = scanopt.program.serial.from_json(open("program.json").read())
print(*scanopt.backends.executor("numpy").compile(program)([np.array([-3.0, 0.5])]))
"""
    done = run(tmp_path, "-c", code)
    assert (done.stdout, done.stderr) == ("[-1.   0.5]\n", "")


COMPILE = """
import scanopt, scanopt.tensor as T
x = T.dvector("x")
scanopt.function([x], x + 1)
"""


def test_without_extensions_nothing_is_looked_up(tmp_path: Path) -> None:
    code = COMPILE + "import sys; print('importlib.metadata' in sys.modules)"
    assert run(tmp_path, "-c", code).stdout == "False\n"


def test_a_broken_extension_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_module_at_all\n", encoding="utf-8")
    install(tmp_path, "[scanopt.extensions]\nmine = broken\n", "broken-thing")
    done = run(tmp_path, "-c", COMPILE)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: the extension 'mine' of the distribution 'broken-thing' cannot be loaded")
    assert "no_such_module_at_all" in last


@pytest.mark.parametrize(
    ("entry", "module", "told"),
    [
        ("mine = odd", "import sys; sys.exit(0)", "the extension 'mine' of .*odd-thing.*SystemExit: 0"),
        ("mine = odd", "raise GeneratorExit", "the extension 'mine' of .*GeneratorExit"),
        ("mine = odd", "x = 1\0", "the extension 'mine' of .*SyntaxError"),
        ("mine = odd", "def f(): f()\nf()", "the extension 'mine' of .*RecursionError"),
        ("mine = odd\nother = two", "import two", "the extension 'mine' of .*'odd' has no attribute 'missing'"),
        ("mine = ..", "", "the extension 'mine' of .*TypeError"),
        ("mine =", "", "the extension 'mine' of .*Empty module name"),
        ("\x1b[31m = a\x1b[0mb", "", r"the extension '\\x1b\[31m' of .* from 'a\\x1b\[0mb'"),
        ("garbage", "", "the extensions that are installed cannot be listed: what is written in '.*odd_thing-1.0"),
        ("mine = \udcff", "", "the extensions that are installed cannot be listed.*UnicodeDecodeError"),
    ],
)  # fmt: skip
def test_whatever_is_wrong_with_an_extension(entry: str, module: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(module, encoding="utf-8")
    (tmp_path / "two.py").write_text("import odd; odd.missing", encoding="utf-8")
    install(tmp_path, "", "odd-thing")
    text = f"[scanopt.extensions]\n{entry}\n"
    (tmp_path / "odd_thing-1.0.dist-info" / "entry_points.txt").write_bytes(text.encode("utf-8", "surrogateescape"))
    code = "from scanopt.extensions import load_extensions; load_extensions()"
    done = run(tmp_path, "-c", code)
    assert done.returncode == 1
    assert re.match(f"ImportError: {told}", done.stderr.splitlines()[-1]), done.stderr


def test_who_interrupts_an_extension_is_heard(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    install(tmp_path, "[scanopt.extensions]\nmine = slow\n", "slow")
    code = (
        "from scanopt.extensions import load_extensions\n"
        "try: load_extensions()\nexcept KeyboardInterrupt: print('interrupted')"
    )
    assert run(tmp_path, "-c", code).stdout == "interrupted\n"


def test_two_distributions_may_use_one_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("", encoding="utf-8")
        install(tmp_path, f"[scanopt.extensions]\nlaws = {name}\n", name)
    code = "from scanopt.extensions import extension_modules; print([m.__name__ for m in extension_modules()])"
    assert run(tmp_path, "-c", code).stdout == "['one', 'two']\n"


LAW = """
import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation
from scanopt.calculus.terms import Value, ops

@scanopt.law(licence="exact", example=lambda x: T.exp(T.exp(x)), never=())
def right_identity(x: Value) -> Equation:
    return Equation(ops.exp(ops.exp(x)), ops.exp(x))
"""


def test_a_law_whose_name_is_taken(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(LAW, encoding="utf-8")
    install(tmp_path, "[scanopt.extensions]\nmine = twice\n", "twice")
    done = run(tmp_path, "-c", COMPILE)
    assert done.returncode == 1
    assert "two laws are named 'right_identity', one of them in twice" in done.stderr


def test_a_fact_whose_name_is_taken(tmp_path: Path) -> None:
    text = (
        "from scanopt.calculus.condition import fact\nfrom scanopt.calculus.terms import Clock\n"
        "import scanopt.facts.loops\n"
        "@fact\ndef runs_all(c: Clock) -> None:\n    'Something else.'\n"
    )
    (tmp_path / "taken.py").write_text(text, encoding="utf-8")
    install(tmp_path, "[scanopt.extensions]\nmine = taken\n", "taken")
    done = run(tmp_path, "-c", COMPILE)
    assert "the extension 'mine'" in done.stderr
    assert "there is already a fact named 'runs_all'" in done.stderr


def test_a_fact_with_the_name_of_a_term() -> None:
    def stack(c: Clock) -> None:
        """Something else."""

    with pytest.raises(ValueError, match="a fact cannot be named 'stack', which is the name of a kind of term"):
        fact(stack)


def test_an_extension_may_compile_while_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "early.py").write_text(COMPILE + LAW.replace("right_identity", "late_law"), encoding="utf-8")
    install(tmp_path, "[scanopt.extensions]\nmine = early\n", "early")
    code = (
        COMPILE
        + "from scanopt.calculus.law import standard_laws; print('late_law' in [x.name for x in standard_laws()])"
    )
    assert run(tmp_path, "-c", code).stdout == "True\n"


def test_other_entry_points_are_left_alone(tmp_path: Path) -> None:
    install(tmp_path, "[console_scripts]\nscanopt.extensions.fake = nowhere:main\n", "other")
    done = run(tmp_path, "-c", COMPILE)
    assert (done.returncode, done.stderr) == (0, "")
