"""Measured costs: a small JSON file for this machine, and the cost model read from it.

`scanopt calibrate` writes it; `function(..., cost="calibrated")` and `config.cost` read it.  The file contains what was
measured; the rest is as in the default model.  It also contains the limits of the machine, which pages compare kernels
with.
"""

from __future__ import annotations

import json
import os
import reprlib
import shlex
import sys
from collections.abc import Mapping
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import scanopt.extraction.device_cost  # noqa: F401  # a cost model known by name
from scanopt.config import config
from scanopt.extraction.cost import NUMPY, CostModel, CostTable, numpy_cost, registered_cost
from scanopt.extraction.roofline import MachineLimits

__all__ = ["as_cost", "calibration_file", "read_costs", "read_limits", "unit_of", "write_costs"]

FORMAT = "scanopt costs"
VERSION = 1
PARTS = (FORMAT, "unit", "machine", "call", "element", "kind", "operators", "held", "limits")
MOST = 1e12
"""The greatest cost in nanoseconds: no call takes a quarter of an hour; sums and products of costs stay finite."""
_FASTEST = 1e18
"""The greatest rate, in operations or bytes a second."""


def calibration_file() -> Path:
    """The file with the measured costs of this machine.

    SCANOPT_CACHE names the folder; else it is `scanopt` in the user's folder for caches.
    Raises RuntimeError where the user has none.
    """
    given = os.environ.get("SCANOPT_CACHE")
    if given:
        return Path(given) / "costs.json"
    try:
        return _caches() / "scanopt" / "costs.json"
    except RuntimeError as error:
        raise RuntimeError(
            f"there is no folder for measured costs ({error}): name one in the environment variable SCANOPT_CACHE"
        ) from None


def _caches() -> Path:
    """The user's folder for caches."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def write_costs(
    table: CostTable, path: str | PathLike[str], machine: str = "", limits: MachineLimits | None = None
) -> Path:
    """Write a table of costs as JSON, creating folders as needed.  Returns the path.

    machine: a description of the machine that was measured.  limits: of that machine.
    """
    target = Path(path)
    rounded = {
        name: {k: _short(v) for k, v in sorted(getattr(table, name).items())} for name in ("call", "element", "kind")
    }
    operators = {k: [_short(x) for x in v] for k, v in sorted(table.operators.items())}
    text = {FORMAT: VERSION, "unit": "ns", "machine": machine, **rounded, "operators": operators, "held": table.held}
    if limits is not None:
        rates = {k: _short(x) for k, x in limits.operations.items()}
        text["limits"] = {"operations": rates, "bytes": [[_short(a), _short(b)] for a, b in limits.bytes]}
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    return target


def _short(x: float) -> float:
    return float(f"{x:.4g}")


def read_costs(path: str | PathLike[str]) -> CostTable:
    """The cost model in a file of measured costs.

    Raises FileNotFoundError if there is no file, and ValueError, which names the wrong part, if it is not such a file.
    """
    return _parsed(*_text_of(path))[0]


def read_limits(path: str | PathLike[str]) -> MachineLimits | None:
    """The limits of a machine, from its file of measured costs; None if the file has none.

    Raises as `read_costs` does.
    """
    return _parsed(*_text_of(path))[1]


def _text_of(path: str | PathLike[str]) -> tuple[str, str]:
    """The text of a cost file, and a name for it in messages."""
    file = Path(path)
    try:
        return file.read_text(encoding="utf-8"), str(file)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{file}: there are no measured costs; write them with: scanopt calibrate --out {shlex.quote(str(file))}"
        ) from None
    except (OSError, ValueError) as error:  # a folder, one that may not be read, no UTF-8, no path
        raise ValueError(f"{file}: not a cost file: it cannot be read ({error})") from None


@lru_cache(maxsize=8)
def _parsed(text: str, where: str) -> tuple[CostTable, MachineLimits | None]:
    """Parse a cost file, cached by its text, so that functions can tell whether two models are the same."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: not a cost file: it is not JSON ({error})") from None
    if not isinstance(data, dict) or data.get(FORMAT) != VERSION:
        raise ValueError(f'{where}: not a cost file: expected {{"{FORMAT}": {VERSION}, ...}}')
    if unknown := sorted(data.keys() - {*PARTS}):
        raise ValueError(f"{where}: it has {unknown[0]!r}; its parts are {', '.join(PARTS)}")
    tables = {
        name: _table(where, name, data.get(name, {}), getattr(NUMPY, name)) for name in ("call", "element", "kind")
    }
    operators = data.get("operators", {})
    if not isinstance(operators, dict):
        raise ValueError(f"{where}: operators must be a table by name, found {reprlib.repr(operators)}")
    measured = {k: _pair(where, k, v) for k, v in operators.items()}
    held = _number(f"{where}: held", data.get("held", NUMPY.held))
    return CostTable(**tables, operators={**NUMPY.operators, **measured}, held=held), _limits(where, data.get("limits"))


def _limits(where: str, found: Any) -> MachineLimits | None:
    if found is None:
        return None
    parts: dict[str, Any] = found if isinstance(found, dict) else {}
    rates: Any = parts.get("operations")
    moved: Any = parts.get("bytes")
    shaped = isinstance(rates, dict) and {*rates} == {"float64", "float32"} and isinstance(moved, list) and moved
    if not shaped or not all(isinstance(x, list) and len(x) == 2 for x in moved):
        raise ValueError(
            f"{where}: limits must be {{'operations': {{'float64': a second, 'float32': a second}}, "
            f"'bytes': [[moved, a second], ...]}}, found {reprlib.repr(found)}"
        )
    pairs = tuple((_rate(where, a), _rate(where, b)) for a, b in moved)
    return MachineLimits({k: _rate(where, x) for k, x in rates.items()}, tuple(sorted(pairs)), "calibrated")


def _rate(where: str, found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= _FASTEST:
        raise ValueError(f"{where}: limits must be numbers above 0, up to {_FASTEST:.0e}, found {reprlib.repr(found)}")
    return float(found)


def _table(where: str, name: str, found: Any, known: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(found, dict):
        raise ValueError(f"{where}: {name} must be a table by name, found {reprlib.repr(found)}")
    if unknown := sorted(found.keys() - known.keys()):
        raise ValueError(f"{where}: {name} has {unknown[0]!r}; there are {', '.join(known)}")
    return {**known, **{k: _number(f"{where}: {name}[{k!r}]", v) for k, v in found.items()}}


def _pair(where: str, name: str, found: Any) -> tuple[float, float]:
    if not isinstance(found, list) or len(found) != 2:
        raise ValueError(
            f"{where}: operators[{name!r}] must be [of a call, of an element], found {reprlib.repr(found)}"
        )
    call, element = (_number(f"{where}: operators[{name!r}]", x) for x in found)
    return call, element


def _number(where: str, found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= MOST:
        raise ValueError(f"{where} must be a number of nanoseconds from 0 to {MOST:.0e}, found {reprlib.repr(found)}")
    return float(found)


def as_cost(cost: CostModel | str | PathLike[str] | None) -> CostModel:
    """A cost model: itself, by its name, from a file, or that of `config.cost` for None.

    A name is one of `register_cost`, or "calibrated" for the measured costs of this machine; a path
    ends in ".json".  Raises TypeError, ValueError or FileNotFoundError for anything else.

    >>> as_cost(None) is numpy_cost
    True
    """
    if cost is None:
        cost = config.cost
    if isinstance(cost, str) and cost == "calibrated":
        return read_costs(calibration_file())
    if isinstance(cost, str | PathLike):
        path = os.fspath(cost)
        return read_costs(path) if path.endswith(".json") else registered_cost(path)
    if callable(cost):
        return cost
    raise TypeError(
        f"cost must be a function of Work that returns a number, the name of one, or a .json file, found {cost!r}"
    )


def unit_of(cost: CostModel) -> str:
    """ "ns" for models of nanoseconds, "" for a user's own model."""
    return "ns" if cost is numpy_cost or isinstance(cost, CostTable) else ""
