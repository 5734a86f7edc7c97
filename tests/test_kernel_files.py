"""Shared objects of kernels: made beside the program, checked before they are loaded, never needed."""

import errno
import os
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import Builder

from scanopt.backends import executor
from scanopt.backends.kernels import build, cache
from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.compilers import Compiler, compiler
from scanopt.backends.kernels.ir import NAME

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
TEXT = f"long long {NAME}(char **G, const long long *N, void **F) {{ return %d; }}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no compiler at work for anybody else."""
    os.chmod(tmp_path, 0o700)
    monkeypatch.setattr(build, "_RUNNING", set())
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(cache, "_LOADED", {})
    return tmp_path


def value(text: str) -> int | None:
    f = Build(text).poll(wait=100.0)
    return None if f is None else int(f(0, 0, 0))


def one_file(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def test_published_once(folder: Path) -> None:
    assert value(TEXT % 3) == 3
    file = one_file(folder)
    assert stat.S_IMODE(file.stat().st_mode) == 0o700
    before = file.stat().st_ino
    cache._LOADED.clear()
    assert value(TEXT % 3) == 3
    assert file.stat().st_ino == before


@pytest.mark.parametrize("harm", ["cut", "changed", "empty", "another", "readable", "link"])
def test_what_cannot_be_trusted_is_made_anew(folder: Path, harm: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert value(TEXT % 4) == 4
    file = one_file(folder)
    data = file.read_bytes()
    if harm == "readable":
        os.chmod(file, 0o777)
    elif harm == "link":
        target = tmp_path_factory.mktemp("elsewhere") / "k.so"
        target.write_bytes(data)
        os.chmod(target, 0o700)
        file.unlink()
        file.symlink_to(target)
    else:
        middle = len(data) // 2
        changed = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        file.write_bytes({"cut": data[:-100], "changed": changed, "empty": b"", "another": b"x" * 5000}[harm])
    cache._LOADED.clear()
    assert cache.load(file.name, NAME) is None
    assert value(TEXT % 4) == 4
    assert file.read_bytes()[-32:] == data[-32:]
    assert stat.S_IMODE(file.lstat().st_mode) == 0o700
    assert not file.is_symlink()


@pytest.mark.refused
def test_a_text_that_is_no_c(folder: Path) -> None:
    made = Build("no C\n")
    assert made.poll(wait=100.0) is None
    while made.poll(wait=100.0) is None and not made.trouble:
        pass
    assert "status 1" in made.trouble
    assert not list(folder.iterdir())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_nothing_can_be_written(folder: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(build.tempfile, "mkdtemp", refuse)
    made = Build(TEXT % 5)
    assert made.poll(wait=100.0) is None
    assert os.strerror(number) in made.trouble


def test_a_full_disk_at_the_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(cache.os, "replace", refuse)
    made = Build(TEXT % 6)
    assert made.poll(wait=100.0) is None
    assert "full" in made.trouble
    assert not list(folder.iterdir())


def test_a_compiler_that_is_killed_is_tried_again(folder: Path) -> None:
    made = Build(TEXT % 7)
    assert made.poll(wait=0.0) is None
    assert made._run is not None
    made._run.process.kill()
    for _ in range(3):
        made.poll(wait=100.0)
    assert made.function is not None
    assert len(list(folder.iterdir())) == 1


def test_what_nobody_waits_for_is_tidied_up(folder: Path) -> None:
    late = Build(TEXT % 8)
    assert late.poll() is None
    assert late._run is not None
    late._run.process.wait()
    assert value(TEXT % 9) == 9
    assert late.function is not None
    assert sorted(x.suffix for x in folder.iterdir()) == [".so", ".so"]


def test_old_files_are_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "KERNELS", replace(cache.KERNELS, most=3))
    for i in range(5):
        assert value(TEXT % (10 + i)) == 10 + i
        for file in folder.iterdir():
            os.utime(file, (1000 + i, 1000 + i) if file.stat().st_mtime > 10**6 else None)
    (folder / "build-left").mkdir()
    os.utime(folder / "build-left", (1000, 1000))
    assert value(TEXT % 16) == 16
    assert sorted(x.suffix for x in folder.iterdir()) == [".so"] * 3


def test_threads_and_forks(folder: Path) -> None:
    made = Build(TEXT % 20)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(made.poll(wait=100.0))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(f is made.function is not None for f in found)
    assert len(found) == 8
    late = Build(TEXT % 21)
    late.poll(wait=0.0)
    child = os.fork()
    if not child:  # the compiler is the parent's
        os._exit(0 if (f := late.poll(wait=100.0)) is not None and f(0, 0, 0) == 21 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert late.poll(wait=100.0) is not None


SCRIPT = """
from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.cache import folder
f = Build({text!r}).poll(wait=100.0)
print(f(0, 0, 0), folder())
"""


def run(text: str, **env: str) -> list[str]:
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT.format(text=text)], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": root, **env},
    )  # fmt: skip
    return done.stdout.split()


def test_a_folder_of_others_is_not_used(tmp_path: Path) -> None:
    place = tmp_path / "scanopt" / "kernels"
    place.mkdir(parents=True)
    os.chmod(place, 0o777)
    number, used = run(TEXT % 30, XDG_CACHE_HOME=str(tmp_path))
    assert number == "30"
    assert not Path(used).is_relative_to(tmp_path)
    assert not Path(used).exists()  # a folder of the process ends with it


def test_many_processes(tmp_path: Path) -> None:
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(run(TEXT % 31, XDG_CACHE_HOME=str(tmp_path)))) for _ in range(4)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [number for number, _ in found] == ["31"] * 4
    assert [x.suffix for x in (tmp_path / "scanopt" / "kernels").iterdir()] == [".so"]


# Without a compiler, or with a bad one


def halving() -> Any:
    b = Builder()
    x, n = b.input("x", 1), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        (s,) = loop.state(x)
        loop.update(0, b("multiply", s, b.const(np.float64(0.5))))
        kept = loop.keep(loop.states[0].update)
    return b.program(kept)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="no C compiler was found: neither cc, gcc, clang nor the package ziglang"):
        executor("c")
    auto = executor("auto")
    f = auto.compile(halving())
    assert f([np.ones(1), np.int64(3)])[0].tolist() == [0.5, 0.25, 0.125]
    assert "no C compiler" in str(getattr(auto, "description", ""))
    assert [k.state for k in f.kernels] == [  # type: ignore[attr-defined]
        "array steps: no C compiler was found: neither cc, gcc, clang nor the package ziglang"
    ]


@pytest.mark.refused
def test_a_bad_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f: Any = executor("c").compile(halving())
    monkeypatch.setattr(build, "compiler", lambda: Compiler("bad", ("false",), "bad"))
    for _ in range(3):
        assert f([np.ones(1), np.int64(3)])[0].tolist() == [0.5, 0.25, 0.125]
    assert "bad gave status 1" in f.kernels[0].state
