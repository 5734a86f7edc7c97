"""A clone runs as it stands, installed or not, from its own folder and from any other one."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("scanopt", "rewrites", "backends", "tests", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")
NOT_OURS = ("scanopt", "__editable__", "__pycache__")

PROGRAM = """
import sys
import scanopt, scanopt.tensor as T
x = T.dvector("x")
f = scanopt.function([x], scanopt.scan(lambda v, s: s + v, [x], [0.0])[0][-1])
print(f([1.0, 2.0]), scanopt.__file__)
"""

MODULES = """
import importlib, sys
import scanopt.rewrites.merge, scanopt.backends.numpy
from scanopt import backends, function, rewrites
from scanopt.calculus.law import standard_laws
assert scanopt.rewrites is rewrites is sys.modules["scanopt.rewrites"]
assert scanopt.backends is importlib.import_module("scanopt.backends") is backends
assert scanopt.rewrites.merge.loops_of_equal_length in standard_laws()
files = [m.__file__ for m in [*sys.modules.values()] if getattr(m, "__file__", None) and "scanopt" in m.__name__]
assert len(files) == len(set(files)), "a module was imported under two names"
for name in ("tests", "docs", "benchmarks", "examples", "scanopt", "build", "test_clone", "conftest"):
    try:
        importlib.import_module(f"scanopt.{name}")
    except ModuleNotFoundError:
        continue
    raise AssertionError(f"scanopt.{name} can be imported")
"""


class Place:
    """A copy of the clone, and a Python with nothing but its dependencies and what is installed of it."""

    def __init__(self, folder: Path) -> None:
        self.clone, self.elsewhere = folder / "clone", folder / "elsewhere"
        self.elsewhere.mkdir()
        self.clone.mkdir()
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, self.clone / part)
        (self.clone / "program.py").write_text(PROGRAM, encoding="utf-8")
        (self.elsewhere / "program.py").write_text(PROGRAM, encoding="utf-8")
        venv.create(folder / "env", symlinks=True)
        self.python = str(folder / "env" / "bin" / "python")
        self.site = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env")}))
        for known in Path(sysconfig.get_path("purelib")).iterdir():
            if not known.name.startswith(NOT_OURS):
                (self.site / known.name).symlink_to(known)

    def install(self, *how: str) -> None:
        """What `pip install` does in the clone."""
        quiet = ("-qq", "--disable-pip-version-check", "--python", self.python)
        command = [sys.executable, "-m", "pip", *quiet, "install", "--no-deps", "--no-build-isolation", *how]
        subprocess.run(command, cwd=self.clone, check=True, timeout=120, env=_environment())

    def run(self, cwd: Path, *arguments: str) -> str:
        """What Python prints in a folder."""
        done = subprocess.run(
            [self.python, *arguments], cwd=cwd, env=_environment(), capture_output=True, text=True, check=False,
            timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def runs(self, cwd: Path, home: Path) -> None:
        """Check what a user does in a folder.  home: where the package comes from."""
        assert self.run(cwd, "-c", PROGRAM + MODULES) == f"3.0 {home / 'scanopt' / '__init__.py'}\n"
        assert "fired" in self.run(cwd, "-m", "scanopt", "run", "program.py")


def _environment() -> dict[str, str]:
    """As of a user who set nothing."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_", "SCANOPT_"))}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


@pytest.mark.thorough
def test_not_installed(place: Place) -> None:
    place.runs(place.clone, place.clone)
    assert place.run(place.elsewhere, str(place.clone / "program.py")).startswith("3.0 ")


@pytest.mark.thorough
def test_installed(place: Place) -> None:
    place.install(".")
    place.runs(place.elsewhere, place.site)
    place.runs(place.clone, place.clone)


@pytest.mark.thorough
def test_editable(place: Place) -> None:
    place.install("-e", ".")
    place.runs(place.elsewhere, place.clone)
    other = place.clone.with_name("other")  # in which one may stand while the first one is installed
    shutil.copytree(place.clone, other)
    place.runs(other, other)
