"""Optimized programs on disk: what is read is what was found, and nothing is read where anything differs."""

import itertools
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from corpus.text import built
from corpus.wide.program import generate

import scanopt
import scanopt.tensor as T
from scanopt import cached_files, config, function
from scanopt import installation as installed_files
from scanopt.array.op import TABLE, Op, OpSpec, register
from scanopt.array.variable import Variable, apply
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value, ops
from scanopt.compilation import optimize, program_cache
from scanopt.compilation.compiled_function import watching
from scanopt.program.storage.placement import storage_of


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, which is used."""
    known = cached_files.private_folder
    monkeypatch.setattr(cached_files, "private_folder", lambda name: tmp_path if name == "programs" else known(name))
    with config.change_flags(compilation_cache=True):
        yield tmp_path


@pytest.fixture
def no_optimizer(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when it is called on, nothing can be optimized."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("optimized again")

    return lambda: monkeypatch.setattr(optimize, "optimize", refuse)


def recurrence(name: str = "s", factor: float = 0.5, **options: Any) -> tuple[list[Variable], Variable]:
    x = T.dvector("x")
    step = lambda v, s: (T.tanh(v + factor * s)).copy()  # noqa: E731
    return [x], scanopt.scan(step, x, [T.constant(0.0, dtype="float64")], name=name, **options)[0]


def test_what_is_read_is_what_was_found(no_optimizer: Callable[[], None]) -> None:
    first = function(*recurrence())
    no_optimizer()
    second = function(*recurrence())
    assert (first.report.cached, second.report.cached) == (False, True)
    assert str(first.program) == str(second.program)
    assert second.program.origins == first.program.origins
    assert storage_of(second.program) == storage_of(first.program)
    assert (second.cost, second.cost_before, second.laws) == (first.cost, first.cost_before, first.laws)
    assert [*second.seconds] == ["encode", "load"]
    assert str(second.report).startswith(str(first.report))
    assert "read from the cache" in str(second.report)
    values = np.linspace(0, 1, 9)
    assert np.array_equal(first(values), second(values))


def test_programs_for_other_sizes_are_chosen_from_what_is_kept(no_optimizer: Callable[[], None]) -> None:
    A, k = T.dvector("A"), T.lscalar("k")
    ones = T.ones_like(A)
    powers = scanopt.scan(lambda p, A: p * A, outputs_info=ones, non_sequences=A, n_steps=k)[0][-1]
    first = function([A, k], powers)
    no_optimizer()
    second, alone = function([A, k], powers), pickle.loads(pickle.dumps(first))
    assert second.report.cached
    for rows, times in ((100_000, 2), (1000, 10), (64, 64)):
        args = np.linspace(1, 1 + 1e-6, rows), times
        expected = first(*args)
        assert expected.tobytes() == second(*args).tobytes() == alone(*args).tobytes()
    assert [*map(str, second.programs)] == [*map(str, alone.programs)] == [*map(str, first.programs)]
    assert len(first.programs) == 3


def test_one_program_for_all_sizes_is_another_file() -> None:
    function(*recurrence(), adapt=False)
    assert not function(*recurrence(), adapt=True).report.cached
    assert function(*recurrence(), adapt=False).report.cached


def test_questions_are_answered_by_optimizing_after_all() -> None:
    first, second = function(*recurrence()), function(*recurrence())
    assert second.report.cached
    assert str(second.explain()) == str(first.explain())
    assert second.egraph.same(first.egraph)
    assert str(second.why_not("push_out_seq")) == str(first.why_not("push_out_seq"))


def test_what_is_watched_is_optimized() -> None:
    function(*recurrence())
    with watching() as made:
        function(*recurrence())
    assert not made[0].report.cached
    assert function(*recurrence()).report.cached


def test_errors_name_the_same_loops() -> None:
    def gather(backend: str) -> tuple[Any, str]:
        i, y = T.lvector("i"), T.dvector("y")
        start = T.constant(0.0, dtype="float64")
        sums = scanopt.scan(lambda k, s, v: s + v[k], i, [start], y, name="gather")[0]
        f = function([i, y], sums[-1], backend=backend)
        with pytest.raises(IndexError) as error:
            f([0, 7], [1.0, 2.0])
        return f, "\n".join([str(error.value), *error.value.__notes__])

    for backend in ("numpy", "auto"):
        (first, one), (second, other) = gather(backend), gather(backend)
        assert (first.report.cached, second.report.cached) == (False, True)
        assert one == other
        assert "gather" in one


@pytest.mark.share(4)
@pytest.mark.parametrize("chunk", range(4))
def test_random_programs(chunk: int) -> None:
    compared = 0
    for seed in range(5000 + 8 * chunk, 5008 + 8 * chunk):
        try:
            made = built(generate(seed))
        except (TypeError, ValueError, IndexError):  # refused when it is written
            continue
        fp = ("exact", "reassoc", "fast")[seed % 3]
        first, second = (
            function(list(made.values), made.outputs, made.updates, fp=fp, on_unused_input="ignore") for _ in range(2)
        )
        if not second.report.cached:
            assert first.report.stopped_by or not first.report.fits
            continue
        compared += 1
        assert str(first.program) == str(second.program)
        assert storage_of(first.program) == storage_of(second.program)
    assert compared > 4


def differing() -> dict[str, Callable[[], Any]]:
    x, n = T.dvector("x"), T.lscalar("n")
    power = lambda: scanopt.scan(lambda s, a: s * a, None, [T.ones_like(x)], x, n)[0][-1]  # noqa: E731
    named = T.dvector("named")

    def freed(keep: bool) -> Any:
        with config.change_flags({"scan.allow_gc": keep}):
            return function(*recurrence())

    return {
        "loop": lambda: function(*recurrence()),
        "label": lambda: function(*recurrence("another")),
        "number": lambda: function(*recurrence(factor=0.25)),
        "buffers": lambda: freed(False),
        "mode of a loop": lambda: function(*recurrence(mode=scanopt.Mode(excluding=["save_mem"]))),
        "mode": lambda: function(*recurrence(), mode=scanopt.Mode(excluding=["save_mem"])),
        "laws": lambda: function(*recurrence(), exclude=["algebra"]),
        "licence": lambda: function(*recurrence(), fp="exact"),
        "cost": lambda: function(*recurrence(), cost="numpy", backend="numpy"),
        "cost and executor": lambda: function(*recurrence(), cost="cupy", backend="numpy"),
        "sizes": lambda: function(*recurrence(), example=[np.zeros(7)]),
        "place": lambda: function(*recurrence(), exclude=["inplace"]),
        "budget": lambda: function(*recurrence(), memory="1GB"),
        "zero": lambda: function([x], x + T.constant(0.0, dtype="float64")),
        "negative zero": lambda: function([x], x + T.constant(-0.0, dtype="float64")),
        "name of an input": lambda: function([named], named + T.constant(0.0, dtype="float64")),
        "count": lambda: function([x, n], power()),
        "count of an example": lambda: function([x, n], power(), example=[np.zeros(3), 5]),
        "other count": lambda: function([x, n], power(), example=[np.zeros(3), 6]),
        "type": lambda: function([x], (x + 1).astype("float32")),
        "shape": lambda: function([v := T.TensorType("float64", (3,))("x")], v + T.constant(0.0, dtype="float64")),
    }


def test_whatever_differs_is_another_program(folder: Path) -> None:
    for count, (what, make) in enumerate(differing().items(), 1):
        assert not make().report.cached, what
        assert len([*folder.glob("*.program")]) == count, what
    for what, make in differing().items():
        assert make().report.cached, what


@law(licence="exact", example=lambda x: T.floor(T.ceil(x)), never=lambda x: T.floor(T.exp(x)))
def floor_of_a_ceiling(x: Value) -> Equation:
    """A whole number is its own floor."""
    return Equation(ops.floor(ops.ceil(x)), ops.ceil(x))


def test_what_files_do_not_tell_is_not_kept(folder: Path) -> None:
    schedule = scanopt.Schedule(scanopt.Phase("algebra", rounds=2))
    register(OpSpec("of_a_test", lambda xp: xp.negative, lambda x: x.type))
    try:
        x = T.dvector("x")
        own = apply(Op.make("of_a_test"), x)
        for options in ({"rules": [floor_of_a_ceiling]}, {"cost": lambda _: 1.0}, {"schedule": schedule},
                        {"profile": True}, {"mode": "unoptimized"}):  # fmt: skip
            function(*recurrence(), **options)
        function([x], own)
        with config.change_flags(compilation_cache=False):
            function(*recurrence())
    finally:
        del TABLE["of_a_test"]
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("harm", ["cut", "changed", "readable", "no pickle"])
def test_what_cannot_be_trusted_is_made_anew(folder: Path, harm: str) -> None:
    function(*recurrence())
    (file,) = folder.iterdir()
    data = file.read_bytes()
    if harm == "cut":
        file.write_bytes(data[:-10])
    elif harm == "changed":
        file.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    elif harm == "readable":
        os.chmod(file, 0o666)
    else:
        cached_files.published(file, b"not a pickle")
    assert not function(*recurrence()).report.cached
    assert function(*recurrence()).report.cached


def test_a_full_disk_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cached_files, "published", refuse)
    assert not function(*recurrence()).report.cached
    monkeypatch.setattr(cached_files, "private_folder", refuse)
    assert function(*recurrence())([0.0]).shape == (1,)


def test_those_not_used_for_longest_are_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_cache, "PROGRAMS", replace(program_cache.PROGRAMS, most=3))
    for i, made in enumerate(itertools.islice(differing().values(), 5)):
        made()
        for file in folder.iterdir():
            if file.stat().st_mtime > 1e6:
                os.utime(file, (1000 + i, 1000 + i))
    assert len([*folder.iterdir()]) == 3


def test_a_change_of_the_library_changes_every_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = folder.with_name(f"{folder.name}-library")
    library.mkdir()
    law = library / "law.py"
    law.write_text("1")
    os.utime(law, (1000, 1000))
    monkeypatch.setattr(installed_files, "PACKAGES", ("a_library",))
    monkeypatch.setattr(installed_files, "find_spec", lambda _: SimpleNamespace(
        submodule_search_locations=[str(library)], origin=None))  # fmt: skip

    def installed() -> str:
        installed_files.installation.cache_clear()
        return installed_files.installation()

    try:
        before = installed()
        os.utime(law, (1000, 1001))
        assert "" != installed() != before
        law.write_text("2")  # since it was loaded
        assert installed() == ""
        assert not function(*recurrence()).report.cached
        assert [*folder.iterdir()] == []
        law.unlink()
        assert installed() == ""
    finally:
        installed_files.installation.cache_clear()


UNUSED = [
    f"scanopt.{name}" for name in ("rewrites.merge", "egraph.engine", "extraction.extract", "backends.kernels.lower")
]
"""What a program that is read from disk does not need, and takes longer to import than to read it."""

CODE = f"""
import json, sys
import scanopt, scanopt.tensor as T
from scanopt import function
x = T.dvector("x")
f = function([x], scanopt.scan(lambda v, s: T.tanh(v + s), x, [T.constant(0.0, dtype="float64")])[0])
print(json.dumps([f.report.cached, [x for x in {UNUSED} if x in sys.modules], f([1.0, 2.0]).tolist()]))
"""


def test_another_process_reads_it(tmp_path: Path) -> None:
    def run() -> Any:
        flags = {"XDG_CACHE_HOME": str(tmp_path), "SCANOPT_FLAGS": "", "PYTHONHASHSEED": "random"}
        done = subprocess.run(
            [sys.executable, "-P", "-c", CODE], capture_output=True, text=True, check=True, env={**os.environ, **flags}
        )
        return json.loads(done.stdout)

    os.chmod(tmp_path, 0o700)
    (*first, values), second = run(), run()
    assert first == [False, UNUSED]
    assert second == [True, [], values]
