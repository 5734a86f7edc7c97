"""The doctor: versions, executors tried on a loop, installed extras, cache folders."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from scanopt import tensor as T
from scanopt.backends.kernels.cache import KERNELS
from scanopt.compilation.function import function
from scanopt.compilation.program_cache import PROGRAMS
from scanopt.egraph.kept_rules import RULES
from scanopt.extraction.calibrated_cost import calibration_file, read_costs
from scanopt.loops.derived import map as scan_map
from scanopt.memory import bytes_text
from scanopt.records import dataclass

__all__ = ["CACHED", "Diagnosis", "examined", "findings_text", "size_of"]

_NEEDED = ("numpy", "scipy", "egglog", "networkx")
_EXTRAS = {
    "cupy": "cupy",
    "ziglang": "kernels",
    "anywidget": "notebook",
    "rich": "progress",
    "z3": "prove",
    "sklearn": "examples",
    "jax": "bench",
}
"""The extra that installs each module."""
CACHED = {x.directory: x for x in (KERNELS, PROGRAMS, RULES)}
"""The caches on disk: kernels, optimized programs, rules of all laws."""


@dataclass(frozen=True)
class Diagnosis:
    """The result of one check.  state: "works", "missing" or "fails".  advice: what to do, "" for nothing."""

    name: str
    state: str
    says: str
    advice: str = ""


def examined() -> list[Diagnosis]:
    """All diagnoses: versions, executors, extras, caches."""
    return [*_versions(), *_executors(), *_extras(), *_caches()]


def findings_text(findings: Sequence[Diagnosis]) -> str:
    """One line for each finding, with its advice below."""
    width = max(len(x.name) for x in findings)
    lines: list[str] = []
    for x in findings:
        lines.append(f"{x.name:<{width}}  {x.state:<7}  {x.says}".rstrip())
        if x.advice:
            lines.append(f"{'':<{width}}  -> {x.advice}")
    return "\n".join(lines)


def _versions() -> Iterator[Diagnosis]:
    yield Diagnosis("python", "works", platform.python_version())
    for name in _NEEDED:
        try:
            yield Diagnosis(name, "works", version(name))
        except PackageNotFoundError:
            yield Diagnosis(name, "missing", "needed", f"pip install {name}")


def _executors() -> Iterator[Diagnosis]:
    """Each executor runs a loop whose result is known."""
    x = T.dvector("x")
    outputs, _ = scan_map(lambda v: T.tanh(v) * 2.0, x)
    value = np.linspace(-1.0, 1.0, 7)
    advice = {
        "c": "install a C compiler, or pip install scanopt[kernels]",
        "cupy": "pip install scanopt[cupy], with a GPU",
    }
    for backend in ("numpy", "c", "cupy"):
        try:
            found = function([x], outputs, backend=backend)(value)
            right = np.allclose(found.get() if hasattr(found, "get") else found, np.tanh(value) * 2.0)
        except Exception as error:  # the reason why it does not run is the diagnosis
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            yield Diagnosis(f"backend {backend}", "missing", text, advice.get(backend, ""))
            continue
        state, says = ("works", "ran a loop") if right else ("fails", "a loop gave a wrong result")
        yield Diagnosis(f"backend {backend}", state, says, "" if right else "report it, with this text")


def _extras() -> Iterator[Diagnosis]:
    for module, extra in _EXTRAS.items():
        there = importlib.util.find_spec(module) is not None
        advice = "" if there else f"pip install scanopt[{extra}]"
        yield Diagnosis(f"extra {extra}", "works" if there else "missing", module, advice)


def _caches() -> Iterator[Diagnosis]:
    for what, cached in CACHED.items():
        files = cached.files()
        size = bytes_text(float(sum(map(size_of, files))))
        yield Diagnosis(f"cache of {what}", "works", f"{len(files)} files, {size}, in {cached.folder()}")
    yield _costs()


def size_of(file: Path) -> int:
    """The bytes of a file; none of one that another process has just removed."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _costs() -> Diagnosis:
    name, advice = "measured costs", "scanopt calibrate"
    try:
        path = calibration_file()
        read_costs(path)
    except FileNotFoundError:
        return Diagnosis(name, "missing", "none", advice)
    except RuntimeError as error:
        return Diagnosis(name, "missing", str(error), f"{advice} --out FILE")
    except ValueError as error:
        return Diagnosis(name, "fails", str(error), f"{advice} writes them anew")
    return Diagnosis(name, "works", str(path))
